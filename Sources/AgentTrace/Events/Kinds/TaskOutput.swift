extension EventType {
  /// A part of a task's output came before its end.
  public static let taskOutput = EventType(rawValue: "task_output")
}

/// The data of a `task_output` event: a part of a task's output came before its end.
public struct TaskOutput: Sendable, Hashable {
  /// Which task, and which element of it.
  public var node: TaskNode
  /// The attempt that gave it.
  public var attempt: Int
  /// Which part, from 0.
  public var part: Int
  /// What came.
  public var value: JSONValue

  /// All of it.
  public init(node: TaskNode, attempt: Int, part: Int, value: JSONValue) {
    self.node = node
    self.attempt = attempt
    self.part = part
    self.value = value
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    attempt = try reader.int("attempt")
    part = try reader.int("part")
    value = object["value"] ?? .null
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("attempt", JSONValue(attempt)), ("part", JSONValue(part)), ("value", value),
      ])
  }
}

extension TaskOutput: EventData {
  package static var keys: [DataKey] {
    DataKey.node + [
      DataKey("attempt!", .count, "The attempt."), DataKey("part!", .count, "From 0."),
      DataKey("value!", .any, "What came."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    [EventLine("part", .faint, "\(node) \(part): \(value)")]
  }
}
