import AgentTrace
import TestSupport
import Testing
import TraceMatching

@Suite("Matchers against a plain oracle")
struct MatcherOracleTests {
  @Test("literals, objects, arrays and combinations agree with the oracle", arguments: 0..<300)
  func agrees(seed: Int) throws {
    var generator = Seeded(seed: UInt64(seed))
    for _ in 0..<40 {
      let source = Self.matcher(depth: 3, using: &generator)
      let value = Self.value(depth: 3, using: &generator)
      let compiled = try Matcher(compiling: source)
      let expected = Self.oracle(source, value)
      #expect(compiled.matches(value) == expected, "\(source) on \(value)")
      do throws(MatcherError) { try compiled.refuseContradictions() } catch {
        #expect(!error.pointer.tokens.isEmpty || expected != true, "\(source) on \(value)")
      }
      switch compiled.match(value) {
      case .match: #expect(expected == true)
      case .mismatch: #expect(expected == false)
      case .unverifiable: #expect(expected == nil)
      }
    }
  }

  /// What a matcher says, written down as plainly as it can be; `nil` is unverifiable.
  private static func oracle(_ matcher: JSONValue, _ value: JSONValue?) -> Bool? {
    if case .object(let object) = matcher, let first = object.first, first.key.hasPrefix("$") {
      return and(object.map { oracle($0.key, $0.value, value) })
    }
    guard let value else { return false }
    if case .lost = value { return nil }
    switch (matcher, value) {
    case (.object(let wanted), .object(let found)):
      return and(wanted.map { oracle($0.value, found[$0.key]) })
    case (.array(let wanted), .array(let found)):
      guard wanted.count == found.count else { return false }
      return and(zip(wanted, found).map { oracle($0, $1) })
    default: return scalar(matcher, value)
    }
  }

  private static func oracle(_ name: String, _ operand: JSONValue, _ value: JSONValue?) -> Bool? {
    switch name {
    case "$not": return oracle(operand, value).map { !$0 }
    case "$absent": return (value == nil) == operand.boolValue
    case "$allOf": return and((operand.arrayValue ?? []).map { oracle($0, value) })
    case "$anyOf":
      return and((operand.arrayValue ?? []).map { oracle($0, value).map { !$0 } }).map { !$0 }
    case "$contains":
      guard let value else { return false }
      if case .lost = value { return nil }
      guard let elements = value.arrayValue else {
        guard let text = value.stringValue, let needle = operand.stringValue else { return false }
        return text.contains(needle)
      }
      return and(elements.map { oracle(operand, $0).map { !$0 } }).map { !$0 }
    case "$exact":
      guard let value else { return false }
      return deepEqual(operand, value)
    default: return false
    }
  }

  private static func deepEqual(_ a: JSONValue, _ b: JSONValue) -> Bool? {
    if case .lost = b { return nil }
    switch (a, b) {
    case (.array(let a), .array(let b)):
      return a.count == b.count ? and(zip(a, b).map { deepEqual($0, $1) }) : false
    case (.object(let a), .object(let b)):
      guard a.keys == b.keys else { return false }
      return and(a.keys.map { deepEqual(a[$0] ?? .null, b[$0] ?? .null) })
    default: return scalar(a, b)
    }
  }

  private static func scalar(_ a: JSONValue, _ b: JSONValue) -> Bool {
    if let a = a.doubleValue, let b = b.doubleValue { return a == b }
    return a == b
  }

  private static func and(_ answers: [Bool?]) -> Bool? {
    if answers.contains(where: { $0 == false }) { return false }
    return answers.contains(where: { $0 == nil }) ? nil : true
  }

  // MARK: Making

  private static let keys = ["a", "b", "c"]

  private static func leaf(using generator: inout Seeded) -> JSONValue {
    let tokens = ["1", "1.0", "10e-1", "2", "-0", "0", "true", "null", #""a""#, #""ab""#]
    let token = tokens[Int(generator.next() % UInt64(tokens.count))]
    return (try? JSONValue(parsing: token)) ?? .null
  }

  private static func value(depth: Int, using generator: inout Seeded) -> JSONValue {
    switch generator.next() % (depth > 0 ? 8 : 5) {
    case 0: return .lost("0/x")
    case 1...4: return leaf(using: &generator)
    case 5:
      return .array(
        (0..<Int(generator.next() % 3)).map { _ in value(depth: depth - 1, using: &generator) })
    default:
      var object = JSONObject()
      for key in keys where generator.next() % 2 == 0 {
        object[key] = value(depth: depth - 1, using: &generator)
      }
      return .object(object)
    }
  }

  private static func matcher(depth: Int, using generator: inout Seeded) -> JSONValue {
    guard depth > 0 else { return leaf(using: &generator) }
    func list() -> JSONValue {
      .array(
        (0..<Int(1 + generator.next() % 2)).map { _ in matcher(depth: depth - 1, using: &generator)
        })
    }
    switch generator.next() % 10 {
    case 0: return leaf(using: &generator)
    case 1: return ["$not": matcher(depth: depth - 1, using: &generator)]
    case 2: return ["$allOf": list()]
    case 3: return ["$anyOf": list()]
    case 4: return ["$contains": matcher(depth: depth - 1, using: &generator)]
    case 5: return ["$absent": .bool(generator.next() % 2 == 0)]
    case 6: return list()
    case 7: return ["$exact": exact(depth: depth - 1, using: &generator)]
    default:
      var object = JSONObject()
      for key in keys where generator.next() % 3 == 0 {
        object[key] = matcher(depth: depth - 1, using: &generator)
      }
      return .object(object)
    }
  }

  private static func exact(depth: Int, using generator: inout Seeded) -> JSONValue {
    let value = value(depth: depth, using: &generator)
    if case .lost = value { return 1 }
    return value.containsLost ? 2 : value
  }
}

extension JSONValue {
  fileprivate var containsLost: Bool {
    switch self {
    case .lost: true
    case .array(let elements): elements.contains { $0.containsLost }
    case .object(let object): object.contains { $0.value.containsLost }
    default: false
    }
  }
}
