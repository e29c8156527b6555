extension EventType {
  /// An effect is about to be undone; on disk before it is.
  public static let compensationStarted = EventType(rawValue: "compensation_started")
}

/// The data of a `compensation_started` event: an effect is about to be undone. On disk before it is.
public struct CompensationStarted: Sendable, Hashable {
  /// Whose effect.
  public var node: TaskNode
  /// The `task_started` of the attempt whose effect it is.
  public var of: Int
  /// From 1.
  public var attempt: Int
  /// What names the undoing, whatever attempt it is.
  public var idempotencyKey: String
  /// What is run.
  public var command: JSONValue?

  /// All of it.
  public init(
    node: TaskNode, of: Int, attempt: Int, idempotencyKey: String, command: JSONValue?
  ) {
    self.node = node
    self.of = of
    self.attempt = attempt
    self.idempotencyKey = idempotencyKey
    self.command = command
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    of = try reader.int("of")
    attempt = try reader.int("attempt")
    idempotencyKey = try reader.string("idempotencyKey")
    command = object["command"]
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("of", JSONValue(of)), ("attempt", JSONValue(attempt)),
        ("idempotencyKey", .string(idempotencyKey)), ("command", command),
      ])
  }
}

extension CompensationStarted: EventData {
  package static var keys: [DataKey] {
    DataKey.node + [
      DataKey("of!", .count, "The event with which the attempt began."),
      DataKey("attempt!", .count, "From 1."),
      DataKey("idempotencyKey!", .string, "What names the undoing."),
      DataKey("command", .any, "What is run."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let again = attempt > 1 ? ", attempt \(attempt)" : ""
    return [EventLine("undoing", .faint, "\(node)\(again)")]
  }
}
