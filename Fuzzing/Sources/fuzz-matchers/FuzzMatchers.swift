import AgentTrace
import FuzzSupport
import TraceMatching

/// Holds patterns, globs, matchers and JSON Schema to laws that each answer must obey. libFuzzer's
/// time limit stands for "bounded time".
///
/// The first byte chooses; then come the pattern, glob, matcher or schema, a line feed, and what it
/// is tried on.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMatchers(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  var input = FuzzInput(start, count)
  let kind = input.byte()
  let (before, behind) = input.split(at: 0x0a)
  switch kind % 4 {
  case 0: checkPattern(text(before), text(behind))
  case 1: checkGlob(text(before), text(behind))
  case 2: withValues(before, behind, checkMatcher)
  default: withValues(before, behind, checkSchema)
  }
  return 0
}

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

private func withValues(
  _ before: [UInt8], _ behind: [UInt8], _ check: (JSONValue, JSONValue) -> Void
) {
  guard let left = try? JSONValue(parsing: before) else { return }
  let options = JSONValue.ParseOptions(keepsForeignText: true)
  guard let right = try? JSONValue(parsing: behind, options: options) else {
    return check(left, .string(text(behind)))
  }
  check(left, right.withForms)
}

// MARK: - Patterns

private func checkPattern(_ source: String, _ subject: String) {
  checkLiteral(subject)
  for dialect in [Pattern.Dialect.unicode, .ecmaScript] {
    let pattern: Pattern
    do { pattern = try Pattern(source, dialect: dialect) } catch {
      require(!error.description.isEmpty, "an error without words")
      require(
        error.offset >= 0 && error.offset <= source.unicodeScalars.count,
        "an error outside of the pattern")
      require((try? Pattern(source, dialect: dialect)) == nil, "an error comes and goes")
      continue
    }
    guard let isFound = pattern.isFound(in: subject) else {
      require(subject.utf8.count > 1000, "a short text was too much work")
      continue
    }
    require(pattern.isFound(in: subject) == isFound, "the same question has two answers")
    require(
      (try? Pattern(source, dialect: dialect))?.isFound(in: subject) == isFound,
      "a pattern compiled twice answers differently")
    for wrapped in [
      "(?:\(source))", "(\(source))", "(?:\(source)){1}", "(?:\(source))|(?:\(source))",
    ]
    where !endsOpen(source) {
      // What stands around it may be too much for a limit, which is no answer.
      guard let same = try? Pattern(wrapped, dialect: dialect),
        let answer = same.isFound(in: subject)
      else { continue }
      require(answer == isFound, "\(wrapped) answers differently")
    }
    if let loose = try? Pattern("(?:\(source))*", dialect: dialect), !endsOpen(source) {
      require(loose.isFound(in: subject) != false, "a pattern that may match nothing is not found")
    }
  }
}

/// Whether what is put behind a pattern may become part of it: behind `(?x)` a comment runs on.
private func endsOpen(_ source: String) -> Bool {
  source.contains("x") && source.contains("#")
}

/// A text whose every scalar is escaped is found in itself and wherever it is put.
private func checkLiteral(_ subject: String) {
  let scalars = subject.unicodeScalars.prefix(200)
  var source = ""
  for scalar in scalars { source += "\\x{\(String(scalar.value, radix: 16))}" }
  guard let pattern = try? Pattern(source) else {
    require(source.unicodeScalars.count > 4000, "an escaped text is no pattern")
    return
  }
  require(pattern.isFound(in: subject) == true, "a text is not found in itself")
  require(pattern.isFound(in: "x\(subject)y") != false || subject.isEmpty, "nor in a longer one")
  if let last = scalars.last {
    let shorter = String(String.UnicodeScalarView(scalars.dropLast()))
    require(
      pattern.isFound(in: shorter) == false || shorter.unicodeScalars.last == last,
      "a text is found in a shorter one")
    if let folded = try? Pattern("(?i)" + source) {
      require(folded.isFound(in: subject) == true, "a text is not found in itself, case or not")
    }
  }
}

// MARK: - Globs

private func checkGlob(_ source: String, _ name: String) {
  var escaped = ""
  for scalar in name.unicodeScalars {
    if "*?[]{},\\!^-".unicodeScalars.contains(scalar) { escaped += "\\" }
    escaped.unicodeScalars.append(scalar)
  }
  if let glob = try? Glob(escaped) {
    require(glob.matches(name), "an escaped name does not match itself")
    require(!glob.matches(name + "x"), "an escaped name matches more")
    require((try? Glob(escaped + "*"))?.matches(name + "x") != false, "a prefix does not match")
  }
  let glob: Glob
  do { glob = try Glob(source) } catch {
    require(!error.description.isEmpty, "an error without words")
    return
  }
  let answer = glob.matches(name)
  require(glob.matches(name) == answer, "the same question has two answers")
  require((try? Glob(source)) == glob, "a glob compiled twice is another")
  require((try? Glob(source))?.matches(name) == answer, "a glob compiled twice answers differently")
  require(Glob.isLiteral(source) == (glob.literal != nil), "a literal glob is one or not")
  if let literal = glob.literal {
    require(literal.hasSameUTF8(as: name) == answer, "a literal matches something else")
  }
  if let same = try? Glob("{\(source)}"), !source.contains(","), !source.contains("}") {
    require(same.matches(name) == answer, "a choice of one answers differently")
  }
  if answer, let longer = try? Glob(source + "*") {
    require(longer.matches(name + "tail"), "a longer name does not match a longer glob")
  }
  require((try? Glob("*"))?.matches(name) == true, "a star does not match everything")
}

// MARK: - Matchers

private func checkMatcher(_ source: JSONValue, _ value: JSONValue) {
  checkLiterals(value)
  let matcher: Matcher
  do { matcher = try Matcher(compiling: source) } catch {
    require(!"\(error)".isEmpty, "an error without words")
    require((try? Matcher(compiling: source)) == nil, "an error comes and goes")
    return
  }
  let answer = matcher.matches(value)
  checkAgreement(matcher, value, answer)
  require(
    (try? Matcher(compiling: source))?.matches(value) == answer,
    "a matcher compiled twice answers differently")
  checkAgreement(matcher, nil, matcher.matches(nil))
  for subject in [value, nil] {
    guard let answer = matcher.matches(subject) else { continue }
    expect(["$not": source], subject, !answer)
    expect(["$not": ["$not": source]], subject, answer)
    expect(["$allOf": [source]], subject, answer)
    expect(["$allOf": [source, source]], subject, answer)
    expect(["$anyOf": [source]], subject, answer)
    expect(["$anyOf": [source, ["$not": source]]], subject, true)
    expect(["$allOf": [source, ["$not": source]]], subject, false)
    expect(["$oneOf": [source, ["$not": source]]], subject, true)
  }
  if let answer {
    expect([source], [value], answer)
    expect(["key": source], ["key": value, "other": 1], answer)
    expect(["$contains": source], [value], answer, unlessText: source)
    expect(["$subsetOf": ["key": ["$allOf": [source]]]], ["key": value], answer)
  }
}

/// What a longer matcher must answer, unless it is too large or has no answer.
private func expect(
  _ source: JSONValue, _ value: JSONValue?, _ answer: Bool, unlessText text: JSONValue? = nil
) {
  if text?.stringValue != nil { return }
  guard let matcher = try? Matcher(compiling: source), let found = matcher.matches(value) else {
    return
  }
  require(found == answer, "\(source) on \(value?.description ?? "nothing")")
}

/// The short answer is the long one, and that says something short.
private func checkAgreement(_ matcher: Matcher, _ value: JSONValue?, _ answer: Bool?) {
  switch matcher.match(value) {
  case .match: require(answer == true, "a match is none")
  case .mismatch(let mismatch):
    require(answer == false, "a mismatch is none")
    require(
      mismatch.expected.utf8.count < 2000 && mismatch.actual.utf8.count < 2000,
      "an explanation of \(mismatch.expected.utf8.count) and \(mismatch.actual.utf8.count) bytes")
  case .unverifiable(let reason):
    require(answer == nil, "what has an answer is unverifiable")
    require(!reason.description.isEmpty, "no reason")
  }
}

/// A value that is there to be seen is equal to itself, however that is said.
private func checkLiterals(_ value: JSONValue) {
  guard value.isPlainJSON else { return }
  for source in [["$literal": value], ["$exact": value]] as [JSONValue] {
    guard let matcher = try? Matcher(compiling: source) else {
      require(value.depth > 100, "a value is no literal")
      continue
    }
    // A text that looks like a token of redaction is not there to be seen.
    require(matcher.matches(value) != false, "\(source) does not match itself")
  }
}

// MARK: - Schemas

private func checkSchema(_ source: JSONValue, _ value: JSONValue) {
  let schema: JSONSchema
  do { schema = try JSONSchema(compiling: source) } catch {
    require(!"\(error)".isEmpty, "an error without words")
    require((try? JSONSchema(compiling: source)) == nil, "an error comes and goes")
    return
  }
  let violations = schema.validate(value)
  require(schema.validate(value) == violations, "the same question has two answers")
  require(violations.count <= JSONSchema.violationLimit + 1, "\(violations.count) violations")
  require(
    (try? JSONSchema(compiling: source))?.validate(value) == violations,
    "a schema compiled twice answers differently")
  for violation in violations {
    require(violation.message.utf8.count < 4000, "a long message")
    // Keys that are too many, or a value that is not there, are told where the value is.
    require(
      value[violation.pointer] != nil || !value.isPlainJSON, "a violation outside of the value")
  }
  if let matcher = try? Matcher(compiling: ["$schema": source]) {
    if let answer = matcher.matches(value) {
      require(answer == violations.isEmpty, "$schema and the schema disagree")
    } else {
      require(!violations.isEmpty, "what is valid is unverifiable")
    }
    if let answer = matcher.matches(value) { expect(["$not": ["$schema": source]], value, !answer) }
  }
  guard !holdsReference(source), value.isPlainJSON else { return }
  let isValid = violations.isEmpty
  let isCertain = !violations.contains { $0.keyword.isEmpty }
  guard isCertain else { return }
  let laws: [(JSONValue, Bool)] = [
    (["allOf": [source]], isValid), (["anyOf": [source]], isValid), (["not": source], !isValid),
    (["not": ["not": source]], isValid), (["if": source, "else": false], isValid),
  ]
  for (wrapped, expected) in laws {
    guard let longer = try? JSONSchema(compiling: wrapped) else { continue }
    let found = longer.validate(value)
    guard !found.contains(where: { $0.keyword.isEmpty }) else { continue }
    require(found.isEmpty == expected, "\(wrapped) on \(value)")
  }
}

/// Whether a schema leads to another place of itself, which moves when it is wrapped.
private func holdsReference(_ schema: JSONValue) -> Bool {
  switch schema {
  case .array(let elements): elements.contains(where: holdsReference)
  case .object(let object):
    object.contains {
      $0.key.utf8.first == UInt8(ascii: "$") || holdsReference($0.value)
    }
  default: false
  }
}
