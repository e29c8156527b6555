import AgentTrace
import TraceMatching

/// How what is asked now relates to what was asked when a case was accepted.
enum Strictness {
  /// Everything meets the one that meets the other.
  case same
  /// Everything that met what was asked then meets what is asked now, and perhaps more does.
  case looser
  /// The other way round.
  case stricter
  /// Neither could be shown.
  case unknown

  /// What holds for the opposite statement.
  var reversed: Strictness {
    switch self {
    case .looser: .stricter
    case .stricter: .looser
    default: self
    }
  }

  /// What holds of two statements that must both be met.
  static func all(_ parts: some Sequence<Strictness>) -> Strictness {
    var whole = Strictness.same
    for part in parts where part != .same {
      if part == .unknown || (whole != .same && whole != part) { return .unknown }
      whole = part
    }
    return whole
  }

  /// Of an upper limit.
  static func limit(_ old: Double, _ new: Double) -> Strictness {
    old == new ? .same : new > old ? .looser : .stricter
  }

  /// Of a choice of words, one or a list.
  static func choice(_ old: JSONValue, _ new: JSONValue) -> Strictness {
    func words(_ value: JSONValue) -> Set<JSONValue> { Set(value.arrayValue ?? [value]) }
    let (old, new) = (words(old), words(new))
    if old == new { return .same }
    if old.isSubset(of: new) { return .looser }
    return new.isSubset(of: old) ? .stricter : .unknown
  }

  /// Of a name or a glob of names.
  static func glob(_ old: JSONValue, _ new: JSONValue) -> Strictness {
    guard let before = old.stringValue, let after = new.stringValue else { return .unknown }
    if before.hasSameUTF8(as: after) { return .same }
    if includes(after, before) { return .looser }
    return includes(before, after) ? .stricter : .unknown
  }

  /// Whether a glob matches all that another does, as far as that can be seen at once.
  private static func includes(_ wide: String, _ narrow: String) -> Bool {
    if wide.utf8.elementsEqual("*".utf8) { return true }
    guard let glob = try? Glob(wide), let other = try? Glob(narrow) else { return false }
    if let literal = other.literal { return glob.matches(literal) }
    // `ab*` is within `a*`.
    guard wide.hasSuffix("*"), narrow.hasSuffix("*"), Glob.isLiteral(String(wide.dropLast())),
      Glob.isLiteral(String(narrow.dropLast()))
    else { return false }
    return narrow.utf8.starts(with: wide.utf8.dropLast())
  }
}

// MARK: - What is asked

extension Strictness {
  /// Of two expectations under one key.
  init(of old: AskedExpectation, to new: AskedExpectation) {
    guard let before = old.value, let after = new.value else {
      self = old.text.hasSameUTF8(as: new.text) ? .same : .unknown
      return
    }
    let value = before == after ? .same : Self.value(old.list, old.key, before, after)
    let severity: Strictness =
      old.severity == new.severity ? .same : new.severity == .warning ? .looser : .stricter
    self = Self.all([value, severity])
  }

  private static func value(
    _ list: String, _ key: String, _ old: JSONValue, _ new: JSONValue
  ) -> Strictness {
    switch list {
    case "stopReason": return choice(old, new)
    case "order": return rank(["any", "in_order", "exact"], old, new)
    case "extra": return rank(["allow", "forbid"], old, new)
    case "toolsCalled", "toolsProposed", "policy.given", "policy.approvals", "memory.read",
      "memory.written":
      return entry(old, new)
    case "toolsNotCalled", "toolsNotProposed", "policy.notGiven", "policy.noApprovals",
      "memory.notRead", "memory.notWritten":
      return entry(old, new).reversed
    case "answer", "answerJson": return matcher(old, new)
    case "eachCall": return eachCall(old, new)
    case "time": return within(old, new)
    default: break
    }
    switch key {
    case "state": return matcher(old, new)
    case "maxSteps", "maxToolCalls", "maxInvalidDecisions", "maxRetries", "budget":
      return number(old, new)
    case "noRepeatedSideEffect", "noApprovalBypass", "noLoops", "evidence":
      guard let before = old.boolValue, let after = new.boolValue else { return number(old, new) }
      return before == after ? .same : before ? .looser : .stricter
    default: return .unknown
    }
  }

  private static func number(_ old: JSONValue, _ new: JSONValue) -> Strictness {
    guard let before = old.doubleValue, let after = new.doubleValue else { return .unknown }
    return limit(before, after)
  }

  private static func rank(
    _ words: [String], _ old: JSONValue, _ new: JSONValue
  ) -> Strictness {
    guard let before = old.stringValue.flatMap(words.firstIndex(of:)),
      let after = new.stringValue.flatMap(words.firstIndex(of:))
    else { return .unknown }
    return before == after ? .same : after < before ? .looser : .stricter
  }

  // MARK: Entries of lists

  /// Of two calls, verdicts, approvals or notes that must have been there: each condition that one has
  /// narrows what counts.
  static func entry(_ old: JSONValue, _ new: JSONValue) -> Strictness {
    func object(_ value: JSONValue) -> JSONObject? {
      value.stringValue.map { ["tool": .string($0)] } ?? value.objectValue
    }
    guard let before = object(old), let after = object(new) else { return .unknown }
    let keys = Set((before.keys + after.keys).map(ByteText.init))
    return all(keys.map { condition($0.text, before[$0.text], after[$0.text]) })
  }

  private static func condition(
    _ key: String, _ old: JSONValue?, _ new: JSONValue?
  ) -> Strictness {
    if old == new { return .same }
    switch key {
    case "tool", "rule", "by", "key":
      return optional(old, new, glob)
    case "scope", "verdict", "status", "approval": return optional(old, new, choice)
    case "input", "result", "reason", "value": return optional(old, new, matcher)
    case "times": return times(old, new)
    case "ignore":
      let (before, after) = (old ?? .array([]), new ?? .array([]))
      return choice(before, after)
    // Without a caller an entry speaks of all but the simulated user.
    case "caller": return old != nil && new != nil ? optional(old, new, glob) : .unknown
    default: return .unknown
    }
  }

  /// Of a condition that may be left out.
  private static func optional(
    _ old: JSONValue?, _ new: JSONValue?, _ both: (JSONValue, JSONValue) -> Strictness
  ) -> Strictness {
    switch (old, new) {
    case (let old?, let new?): both(old, new)
    case (nil, nil): .same
    case (_?, nil): .looser
    case (nil, _?): .stricter
    }
  }

  /// Of how often something happens. Without `times`, an entry needs a call of its own: at least one,
  /// and it is not lent to another entry.
  private static func times(_ old: JSONValue?, _ new: JSONValue?) -> Strictness {
    func range(_ value: JSONValue?) -> (least: Int, most: Int, isOwn: Bool)? {
      guard let value else { return (1, .max, true) }
      if let count = value.intValue { return (count, count, false) }
      guard let object = value.objectValue else { return nil }
      return (object["min"]?.intValue ?? 0, object["max"]?.intValue ?? .max, false)
    }
    guard let before = range(old), let after = range(new) else { return .unknown }
    let lower: Strictness =
      before.least == after.least ? .same : after.least < before.least ? .looser : .stricter
    let upper: Strictness =
      before.most == after.most ? .same : after.most > before.most ? .looser : .stricter
    let whole = all([lower, upper])
    // A call of its own asks for more than a count does; that entries share calls is rare beside that.
    if whole == .same, before.isOwn != after.isOwn { return before.isOwn ? .looser : .stricter }
    return whole
  }

  /// Of what each call of a tool must be: fewer calls spoken of, or a wider input, is looser.
  private static func eachCall(_ old: JSONValue, _ new: JSONValue) -> Strictness {
    guard let before = old.objectValue, let after = new.objectValue else { return .unknown }
    guard before["tool"] == after["tool"] else { return .unknown }
    return entry(old, new)
  }

  /// Of two statements on time that differ in how soon alone.
  private static func within(_ old: JSONValue, _ new: JSONValue) -> Strictness {
    guard var before = old.objectValue, var after = new.objectValue else { return .unknown }
    let (soon, later) = (before["within"], after["within"])
    before["within"] = nil
    after["within"] = nil
    guard before == after else { return .unknown }
    return optional(soon, later, number)
  }
}

// MARK: - Matchers

extension Strictness {
  /// Of two matchers, as far as it can be shown without trying values.
  static func matcher(_ old: JSONValue, _ new: JSONValue) -> Strictness {
    matcher(old, new, depth: 0)
  }

  private static func matcher(_ old: JSONValue, _ new: JSONValue, depth: Int) -> Strictness {
    if old == new { return .same }
    guard depth < 32 else { return .unknown }
    // Any value, but one that is there.
    if isAny(new) { return takesAbsence(old) ? .unknown : .looser }
    if isAny(old) { return takesAbsence(new) ? .unknown : .stricter }
    // What asks for one value alone is within all that this value meets.
    let (before, after) = (onlyValue(of: old), onlyValue(of: new))
    let isWider = before.map { accepts(new, $0) } ?? false
    let isNarrower = after.map { accepts(old, $0) } ?? false
    if isWider || isNarrower {
      return isWider && isNarrower ? .same : isWider ? .looser : .stricter
    }
    guard let left = old.objectValue, let right = new.objectValue else { return .unknown }
    let keys = Set((left.keys + right.keys).map(ByteText.init))
    // `{}` is any object, not an operator without words.
    let isPlain = [left, right].map { object in !object.contains { $0.key.hasPrefix("$") } }
    if isPlain == [true, true] {
      return all(
        keys.map { key in
          optional(left[key.text], right[key.text]) { matcher($0, $1, depth: depth + 1) }
        })
    }
    if isPlain == [false, false], keys.allSatisfy({ $0.text.hasPrefix("$") }) {
      return all(
        keys.map { key in
          optional(left[key.text], right[key.text]) { operand(key.text, $0, $1, depth: depth) }
        })
    }
    return .unknown
  }

  private static func operand(
    _ name: String, _ old: JSONValue, _ new: JSONValue, depth: Int
  ) -> Strictness {
    if old == new { return .same }
    switch name {
    case "$gt", "$gte": return number(old, new).reversed
    case "$lt", "$lte": return number(old, new)
    case "$anyOf":
      guard old.arrayValue != nil, new.arrayValue != nil else { return .unknown }
      return choice(old, new)
    case "$oneOf":
      // Exactly one may match: only of texts and whole numbers is it plain that no two do.
      guard old.isListOfPlainValues, new.isListOfPlainValues else { return .unknown }
      return choice(old, new)
    case "$type": return choice(old, new)
    case "$allOf":
      guard old.arrayValue != nil, new.arrayValue != nil else { return .unknown }
      return choice(old, new).reversed
    case "$not": return matcher(old, new, depth: depth + 1).reversed
    case "$length": return matcher(old, new, depth: depth + 1)
    case "$contains":
      guard let before = old.stringValue, let after = new.stringValue else { return .unknown }
      if !after.isEmpty, Array(before.utf8).contains(Array(after.utf8)) { return .looser }
      return !before.isEmpty && Array(after.utf8).contains(Array(before.utf8))
        ? .stricter : .unknown
    case "$glob": return glob(old, new)
    default: return .unknown
    }
  }

  private static func isAny(_ matcher: JSONValue) -> Bool {
    matcher.objectValue.map { $0.count == 1 && $0["$any"]?.boolValue == true } ?? false
  }

  /// The one value that a matcher takes: a scalar, or one that must be equal all the way down.
  private static func onlyValue(of matcher: JSONValue) -> JSONValue? {
    switch matcher {
    case .string, .number, .bool, .null: return matcher
    case .object(let object) where object.count == 1:
      return object["$exact"] ?? object["$literal"]?.scalar
    default: return nil
    }
  }

  /// Whether a matcher may take a value that is not there.
  private static func takesAbsence(_ matcher: JSONValue) -> Bool {
    (try? Matcher(compiling: matcher, allowsOrigins: true))?.matches(nil) != false
  }

  private static func accepts(_ matcher: JSONValue, _ value: JSONValue) -> Bool {
    (try? Matcher(compiling: matcher, allowsOrigins: false))?.matches(value) ?? false
  }
}

extension JSONValue {
  fileprivate var isListOfPlainValues: Bool {
    guard let elements = arrayValue, Set(elements).count == elements.count else { return false }
    return elements.allSatisfy { element in
      element.stringValue != nil || element.intValue.map { JSONValue($0) == element } ?? false
    }
  }

  fileprivate var scalar: JSONValue? {
    switch self {
    case .string, .number, .bool, .null: self
    default: nil
    }
  }
}

/// A text whose bytes count, not its look.
struct ByteText: Hashable, Sendable {
  var text: String

  init(_ text: String) { self.text = text }

  static func == (left: ByteText, right: ByteText) -> Bool { left.text.hasSameUTF8(as: right.text) }
  func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
}
