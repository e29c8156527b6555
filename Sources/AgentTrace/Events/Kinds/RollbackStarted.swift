extension EventType {
  /// A pipeline goes back to a checkpoint.
  public static let rollbackStarted = EventType(rawValue: "rollback_started")
}

/// The data of a `rollback_started` event: a pipeline goes back to a checkpoint. What was done behind it is
/// undone first, the last first.
public struct RollbackStarted: Sendable, Hashable {
  /// The task whose end is the checkpoint; `nil` for the beginning.
  public var checkpoint: String?
  /// The last event that stays as it is.
  public var toSeq: Int
  /// Who asked for it; `nil` for a rule of the pipeline.
  public var by: String?
  /// Why.
  public var reason: String?
  /// How many effects behind the checkpoint are to be undone.
  public var compensations: Int
  /// Effects that are left as they are, because nothing is declared that undoes them: their nodes, at most
  /// 100 of them.
  public var left: [TaskNode]
  /// How many there are.
  public var leftCount: Int

  /// All of it.
  public init(
    checkpoint: String?, toSeq: Int, by: String? = nil, reason: String? = nil,
    compensations: Int, left: [TaskNode], leftCount: Int
  ) {
    self.checkpoint = checkpoint
    self.toSeq = toSeq
    self.by = by
    self.reason = reason
    self.compensations = compensations
    self.left = left
    self.leftCount = leftCount
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    checkpoint = try reader.optionalString("checkpoint")
    toSeq = try reader.int("toSeq")
    by = try reader.optionalString("by")
    reason = try reader.optionalString("reason")
    compensations = try reader.int("compensations")
    left = try reader.strings("left").map { TaskNode($0) }
    leftCount = try reader.optionalInt("leftCount") ?? left.count
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("checkpoint", checkpoint.map(JSONValue.string)), ("toSeq", JSONValue(toSeq)),
      ("by", by.map(JSONValue.string)), ("reason", reason.map(JSONValue.string)),
      ("compensations", JSONValue(compensations)),
      ("left", left.isEmpty ? JSONValue?.none : JSONValue(left.map(\.description))),
      ("leftCount", leftCount == left.count ? JSONValue?.none : JSONValue(leftCount)),
    ])
  }
}

extension RollbackStarted: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("checkpoint", .string, "The task whose end it is; the beginning without it."),
      DataKey("toSeq!", .count, "The last event that stays."), DataKey("by", .string, "Who."),
      DataKey("reason", .string, "Why."),
      DataKey("compensations!", .count, "How many effects are to be undone."),
      DataKey("left", .list(.string), "Effects that are left as they are."),
      DataKey("leftCount", .count, "How many, where that is more."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let undo = Figures.count(compensations, "effect")
    let who = by.map { " by \($0)" } ?? ""
    return [EventLine("rollback", .heading, "to \(checkpoint ?? "start")\(who): \(undo) to undo")]
      + left.map { EventLine("left", .warning, "\($0): nothing is declared that undoes it") }
  }
}
