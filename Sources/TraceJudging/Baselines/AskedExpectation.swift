public import AgentTrace

/// One thing that a case asks, as it was written: a single value, or one entry of a list.
public struct AskedExpectation: Sendable, Hashable {
  /// The set, or the place in a list of mappings, that it belongs to; empty for the case's own.
  public var part: String
  /// Its place below `expected`: `stopReason`, `toolsCalled[1]`, `budget.steps`.
  public var name: String
  /// What it means if it is not met.
  public var severity: Severity
  /// What was asked, as ``AcceptedText`` writes values.
  public var text: String

  /// Nothing is checked.
  public init(part: String, name: String, severity: Severity, text: String) {
    self.part = part
    self.name = name
    self.severity = severity
    self.text = text
  }

  /// Its name with that of its set, as the judge tells it.
  public var fullName: String { part.isEmpty ? name : "\(part).\(name)" }

  /// The key below `expected` that it stands under.
  var key: String { String(name.prefix { $0 != "." && $0 != "[" && $0 != " " }) }

  /// The list or mapping that it stands in, without its place there.
  var list: String {
    guard name.hasSuffix("]"), let start = name.utf8.lastIndex(of: UInt8(ascii: "[")) else {
      return name
    }
    return String(name[..<start])
  }

  /// What was asked as JSON; `nil` where only its digest is known.
  var value: JSONValue? {
    text.hasPrefix("sha256:") ? nil : try? JSONValue(parsing: text)
  }
}

extension Expectations {
  /// What is asked, one by one, in the order in which it is judged: the case's own first.
  public var asked: [AskedExpectation] {
    var asked = own(part: "", severity: .error)
    for part in parts {
      asked += part.expectations.own(
        part: AcceptedText.name(for: part.name), severity: part.severity)
    }
    return asked
  }

  private func own(part: String, severity: Severity) -> [AskedExpectation] {
    guard let source = written.source.objectValue else { return [] }
    var entries: [(name: String, value: JSONValue)] = []
    for key in Expectations.keyNames where key != "severity" {
      guard let value = source[key] else { continue }
      entries += Self.entries(key, value)
    }
    return entries.map { name, value in
      AskedExpectation(
        part: part, name: AcceptedText.name(for: name), severity: severity,
        text: AcceptedText.expectation(value))
    }
  }

  /// What one key asks: one by one where it holds a list, or a mapping of lists and limits.
  private static func entries(_ key: String, _ value: JSONValue) -> [(
    name: String, value: JSONValue
  )] {
    switch (key, value) {
    case (_, .array(let elements)) where lists.contains(key): return listed(key, elements)
    case ("exec", .array(let elements)) where elements.allSatisfy({ $0.objectValue != nil }):
      return listed(key, elements)
    case ("policy", .object(let object)), ("memory", .object(let object)),
      ("evidence", .object(let object)):
      return object.flatMap { member in
        let name = "\(key).\(member.key)"
        guard case .array(let elements) = member.value else { return [(name, member.value)] }
        return listed(name, elements)
      }
    case ("budget", .object(let object)):
      return object.flatMap { member -> [(name: String, value: JSONValue)] in
        guard member.key == "tools", let tools = member.value.objectValue else {
          return [("budget.\(member.key)", member.value)]
        }
        return tools.flatMap { tool in
          (tool.value.objectValue ?? [:]).map {
            ("budget.tools.\(tool.key).\($0.key)", $0.value)
          }
        }
      }
    case ("judge", _): return judged(value)
    case ("state", .object(let object)):
      return object.map { ("state \($0.key)", $0.value) }
    default: return [(key, value)]
    }
  }

  /// The keys that hold a list of things to expect.
  private static let lists = [
    "toolsCalled", "toolsNotCalled", "toolsProposed", "toolsNotProposed", "eachCall", "time",
    "context",
  ]

  /// What a model is asked, statement by statement, each with what else the rubric says.
  private static func judged(_ value: JSONValue) -> [(name: String, value: JSONValue)] {
    (value.arrayValue ?? [value]).flatMap { rule -> [(name: String, value: JSONValue)] in
      guard var shared = rule.objectValue, let rubric = shared["rubric"] else {
        return [("judge", rule)]
      }
      shared["rubric"] = nil
      let statements = rubric.objectValue ?? [JudgeRule.onlyName: rubric]
      return statements.map { statement in
        var own = shared
        own["statement"] = statement.value
        return ("judge.\(statement.key)", .object(own))
      }
    }
  }

  private static func listed(
    _ name: String, _ elements: [JSONValue]
  ) -> [(name: String, value: JSONValue)] {
    guard !elements.isEmpty else { return [(name, .array([]))] }
    return elements.enumerated().map { ("\(name)[\($0)]", $1) }
  }
}

/// The JSON that expectations were read from. It is no part of what they say, so that all are equal.
public struct WrittenExpectations: Sendable, Hashable {
  /// A mapping; `null` where they were not read from one.
  public var source: JSONValue = .null

  /// Not read from anything.
  public init() {}

  public static func == (left: WrittenExpectations, right: WrittenExpectations) -> Bool { true }
  public func hash(into hasher: inout Hasher) {}
}
