extension EventType {
  /// What a person said of a task that waits.
  public static let taskAnswered = EventType(rawValue: "task_answered")
}

/// The data of a `task_answered` event: what a person said of a task that waits.
public struct TaskAnswered: Sendable, Hashable {
  /// What was said.
  public enum Word: String, Sendable, Hashable, CaseIterable {
    /// Yes: go on.
    case granted
    /// No.
    case denied
    /// An answer in words, or a value to stand for the output.
    case answered
    /// What is in doubt has happened.
    case happened
    /// What is in doubt has not happened.
    case didNotHappen = "did_not_happen"
    /// The output is to be absent.
    case skipped
  }

  /// Which task, and which element of it.
  public var node: TaskNode
  /// What was said.
  public var word: Word
  /// The answer, or the data of what happened.
  public var data: JSONValue?
  /// Who said it.
  public var by: String
  /// Why.
  public var reason: String?

  /// Data and reason can be left out.
  public init(
    node: TaskNode, word: Word, data: JSONValue? = nil, by: String, reason: String? = nil
  ) {
    self.node = node
    self.word = word
    self.data = data
    self.by = by
    self.reason = reason
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    word = try reader.enumeration("word", Word.self, "what a person said")
    data = object["data"]
    by = try reader.string("by")
    reason = try reader.optionalString("reason")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("word", .string(word.rawValue)), ("data", data), ("by", .string(by)),
        ("reason", reason.map(JSONValue.string)),
      ])
  }
}

extension TaskAnswered: EventData {
  package static var keys: [DataKey] {
    DataKey.node + [
      DataKey("word!", .words(TaskAnswered.Word.allCases.map(\.rawValue)), "What."),
      DataKey("data", .any, "The answer, or what came of what happened."),
      DataKey("by!", .string, "Who."), DataKey("reason", .string, "Why."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let why = reason.map { " (\($0))" } ?? ""
    let said: EventText =
      data.map { "\(node): \(word.rawValue) by \(by): \($0)\(why)" }
      ?? "\(node): \(word.rawValue) by \(by)\(why)"
    return [EventLine("answer", word == .denied ? .bad : .good, said)]
  }
}
