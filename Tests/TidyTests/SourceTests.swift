import TestSupport
import Testing

@Suite("How the sources are written")
struct SourceTests {
  /// What a line must not hold, and why.
  struct Rule: Sendable, CustomTestStringConvertible {
    var name: String
    /// A regular expression over code without comments and the text of strings.
    var pattern: String
    /// A line without any of these words cannot match: most lines need no regular expression.
    var words: [String]
    /// Folders of `Sources` where it is allowed.
    var exempt: [String] = []

    var testDescription: String { name }

    /// The numbers of the lines that break the rule.
    func broken(in source: SwiftText) throws -> [Int] {
      let regex = try Regex(pattern)
      return source.lines.enumerated().filter { _, line in
        words.contains { line.contains($0) } && !line.matches(of: regex).isEmpty
      }.map { $0.offset + 1 }
    }
  }

  static let rules: [Rule] = [
    Rule(name: "try!", pattern: #"\btry!"#, words: ["try!"]),
    Rule(name: "as!", pattern: #"\bas!"#, words: ["as!"]),
    Rule(
      name: "fatalError", pattern: #"\b(fatalError|preconditionFailure|assertionFailure)\b"#,
      words: ["fatalError", "Failure"]),
    Rule(name: "a force unwrap", pattern: #"[\w)\]}>"`]!(?!=)"#, words: ["!"]),
    Rule(
      name: "printing", pattern: #"\b(print|debugPrint|dump|puts|fputs|putchar|printf|fprintf)\("#,
      words: ["rint", "dump(", "put"], exempt: ["agent-eval", "TraceReporting"]),
    Rule(
      name: "standard output",
      pattern: #"\bSTD(OUT|ERR)_FILENO\b|\bFileDescriptor\.standard(Output|Error)\b"#,
      words: ["STD", ".standard"], exempt: ["agent-eval", "TraceReporting"]),
    // Where the compiler cannot see it, a comment there names the lock that makes it true.
    Rule(
      name: "unchecked Sendable", pattern: "@unchecked", words: ["@unchecked"],
      exempt: ["TraceStorage/ReadingBuffers.swift"]),
  ]

  @Test("no source holds what can crash or print where it should not", arguments: rules)
  func isKept(_ rule: Rule) throws {
    for (file, source) in try SwiftText.sources() {
      if rule.exempt.contains(where: { file.hasPrefix("Sources/\($0)") }) { continue }
      #expect(try rule.broken(in: source) == [], "\(file)")
    }
  }

  @Test(
    "each rule sees what it is for",
    arguments: [
      ("try!", "let a = try! b()"), ("as!", "let a = b as! C"), ("fatalError", "fatalError(a)"),
      ("a force unwrap", "let a = b!"), ("a force unwrap", "let a = b()!.c"),
      ("a force unwrap", "let a = b[0]!"), ("a force unwrap", "var a: String!"),
      ("a force unwrap", #"let a = Int("1")!"#), ("a force unwrap", #"let a = "\(b!)""#),
      ("printing", "print(a)"), ("printing", "  dump(a)"),
      ("standard output", "write(STDOUT_FILENO, a, 1)"),
    ])
  func broken(name: String, source: String) throws {
    let rule = try #require(Self.rules.first { $0.name == name })
    #expect(try !rule.broken(in: SwiftText(source)).isEmpty)
  }

  @Test(
    "no rule sees what is only said",
    arguments: [
      "a != b", "if !a { }", "// try! b!", "/// fatalError", "let a = \"b! try! fatalError(\"",
      "let a = #\"b\"!\"#", "let a = \"\"\"\n b! print(\n\"\"\"", "/* a! /* b! */ c! */",
      "a !== b", "let a = \"\\\"b!\"", "blueprint(a)",
    ])
  func kept(source: String) throws {
    for rule in Self.rules {
      #expect(try rule.broken(in: SwiftText(source)) == [], "\(rule.name)")
    }
  }

  // MARK: Documentation

  /// Names whose meaning a protocol of the standard library gives.
  private static let witnesses: Set<String> = [
    "description", "debugDescription", "hash", "rawValue", "makeIterator", "next", "startIndex",
    "endIndex", "index", "subscript",
  ]

  /// Public declarations without a doc comment: `line: name`.
  ///
  /// Not asked of fields, whose names speak where there is nothing to add, of operators, and of what
  /// another declaration documents: a protocol's requirement where it is met.
  static func undocumented(in source: SwiftText, documentedElsewhere: Set<String> = []) -> [String]
  {
    let declaration =
      #/^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public|open)\s+(?:(?:static|final|indirect|mutating|nonisolated)\s+)*(struct|enum|class|actor|protocol|func|typealias|var)\s+(\w+)/#
    return source.lines.enumerated().compactMap { index, line in
      guard line.contains("public ") || line.contains("open "),
        let match = line.firstMatch(of: declaration)
      else { return nil }
      let name = String(match.2)
      let isField = match.1 == "var" && !line.contains("{")
      guard !isField, !witnesses.contains(name), !documentedElsewhere.contains(name) else {
        return nil
      }
      return isDocumented(index, in: source) ? nil : "\(index + 1): \(name)"
    }
  }

  private static func isDocumented(_ index: Int, in source: SwiftText) -> Bool {
    var above = index - 1
    while above >= 0, source.original[above].trimmed.hasPrefix("@") { above -= 1 }
    return above >= 0 && source.original[above].trimmed.hasPrefix("///")
  }

  /// Names of the requirements of public protocols, each with a doc comment of its own.
  private static func requirements() throws -> Set<String> {
    var names: Set<String> = []
    for (_, source) in try SwiftText.sources() {
      var isInside = false
      for (index, line) in source.lines.enumerated() {
        if line.hasPrefix("public protocol ") { isInside = !line.contains("}") }
        if line.hasPrefix("}") { isInside = false }
        guard isInside,
          let match = line.firstMatch(of: #/^\s+(?:static |mutating )*(?:func|var) (\w+)/#)
        else { continue }
        if isDocumented(index, in: source) { names.insert(String(match.1)) }
      }
    }
    return names
  }

  @Test("every public type, function and computed value of a library has a doc comment")
  func documentation() throws {
    let requirements = try Self.requirements()
    #expect(requirements.contains("moment"))
    for (file, source) in try SwiftText.sources() {
      #expect(Self.undocumented(in: source, documentedElsewhere: requirements) == [], "\(file)")
    }
  }

  @Test(
    "a missing doc comment is seen",
    arguments: [
      "public struct A {}", "  public static func a() {}", "public enum A: B {",
      "@frozen\npublic struct A {", "// no doc comment\npublic func a() {",
      "public var a: Int { 1 }",
    ])
  func undocumentedIsSeen(source: String) {
    #expect(Self.undocumented(in: SwiftText(source)).count == 1)
    let documented = SwiftText("/// What it is.\n" + source)
    #expect(Self.undocumented(in: documented).isEmpty != source.hasPrefix("//"))
  }
}

extension StringProtocol {
  fileprivate var trimmed: Substring { Substring(self).drop { $0 == " " } }
}
