extension EventType {
  /// What came of undoing an effect.
  public static let compensationFinished = EventType(rawValue: "compensation_finished")
}

/// The data of a `compensation_finished` event: what came of undoing an effect.
public struct CompensationFinished: Sendable, Hashable {
  /// Whose effect.
  public var node: TaskNode
  /// The `task_started` of the attempt whose effect it is.
  public var of: Int
  /// From 1; 0 where a person did it.
  public var attempt: Int
  /// Why it failed; `nil` where it is undone.
  public var error: String?
  /// The person who says that it is undone; `nil` where a command did it.
  public var by: String?

  /// All of it.
  public init(node: TaskNode, of: Int, attempt: Int, error: String? = nil, by: String? = nil) {
    self.node = node
    self.of = of
    self.attempt = attempt
    self.error = error
    self.by = by
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    of = try reader.int("of")
    attempt = try reader.int("attempt")
    error = object["error"] == nil ? nil : try reader.text("error")
    by = try reader.optionalString("by")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("of", JSONValue(of)), ("attempt", JSONValue(attempt)),
        ("status", error == nil ? "ok" : "error"), ("error", error.map(JSONValue.string)),
        ("by", by.map(JSONValue.string)),
      ])
  }
}

extension CompensationFinished: EventData {
  package static var keys: [DataKey] {
    DataKey.node + [
      DataKey("of!", .count, "The event with which the attempt began."),
      DataKey("attempt!", .count, "From 1; 0 where a person did it."),
      DataKey("status!", .words(["ok", "error"]), "Whether it is undone."),
      DataKey("error", .text, "Why it is not."), DataKey("by", .string, "The person."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    guard let error else {
      let who = by.map { " by \($0)" } ?? ""
      return [EventLine("undone", .good, "\(node)\(who)")]
    }
    return [EventLine("open", .bad, "\(node): \(error)", isWhole: true)]
  }
}
