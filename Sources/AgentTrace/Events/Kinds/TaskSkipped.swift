extension EventType {
  /// A task's output is absent.
  public static let taskSkipped = EventType(rawValue: "task_skipped")
}

/// The data of a `task_skipped` event: whoever needs the task's output sees that it is absent.
public struct TaskSkipped: Sendable, Hashable {
  /// Which task, and which element of it.
  public var node: TaskNode
  /// Why.
  public var reason: String

  /// Both.
  public init(node: TaskNode, reason: String) {
    self.node = node
    self.reason = reason
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    reason = try reader.text("reason")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: node.members + [("reason", .string(reason))])
  }
}

extension TaskSkipped: EventData {
  package static var keys: [DataKey] {
    DataKey.node + [DataKey("reason!", .text, "Why.")]
  }

  package func lines(in event: Event) -> [EventLine] {
    [EventLine("skipped", .warning, "\(node): \(reason)")]
  }
}
