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

  /// The text is one that ``AcceptedText`` made.
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
    return Expectations.kinds.flatMap { kind in source[kind.key].map(kind.asked) ?? [] }.map {
      AskedExpectation(
        part: part, name: AcceptedText.name(for: $0.name), severity: severity,
        text: AcceptedText.expectation($0.value))
    }
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
