extension EventType {
  /// The run that an attempt is goes on, behind the end of a process or a person's word.
  public static let taskResumed = EventType(rawValue: "task_resumed")
}

/// The data of a `task_resumed` event: the run that an attempt is goes on in its own log, behind the end of a process
/// or a person's word. On disk before it does.
public struct TaskResumed: Sendable, Hashable {
  /// Which task, and which element of it.
  public var node: TaskNode
  /// The attempt that goes on.
  public var attempt: Int
  /// The identifier of its run.
  public var runId: String

  /// All of it.
  public init(node: TaskNode, attempt: Int, runId: String) {
    self.node = node
    self.attempt = attempt
    self.runId = runId
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    attempt = try reader.int("attempt")
    runId = try reader.string("runId")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [("attempt", JSONValue(attempt)), ("runId", .string(runId))])
  }
}

extension TaskResumed: EventData {
  package static var keys: [DataKey] {
    DataKey.node + [
      DataKey("attempt!", .count, "The attempt."), DataKey("runId!", .string, "The run."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    [EventLine("goes on", .faint, "\(node), run \(runId)")]
  }
}
