extension EventType {
  /// What stands behind a checkpoint is undone, and runs anew.
  public static let rolledBack = EventType(rawValue: "rolled_back")
}

/// The data of a `rolled_back` event: every effect behind the checkpoint is undone, or left with somebody's
/// word, and what stands behind it runs anew.
public struct RolledBack: Sendable, Hashable {
  /// What stays of a task.
  public struct Kept: Sendable, Hashable {
    /// The task's id.
    public var task: String
    /// How many elements it has, where it is a fan-out and that was known.
    public var elements: Int?
    /// Elements that stay finished.
    public var finished: IndexRanges
    /// Elements that stay skipped.
    public var skipped: IndexRanges
    /// Elements that stay failed.
    public var failed: IndexRanges

    /// All of it.
    public init(
      task: String, elements: Int?, finished: IndexRanges, skipped: IndexRanges,
      failed: IndexRanges
    ) {
      self.task = task
      self.elements = elements
      self.finished = finished
      self.skipped = skipped
      self.failed = failed
    }

    init(_ reader: PayloadReader) throws(PayloadError) {
      task = try reader.string("task")
      elements = try reader.optionalInt("elements")
      finished = try Self.ranges("finished", reader)
      skipped = try Self.ranges("skipped", reader)
      failed = try Self.ranges("failed", reader)
    }

    private static func ranges(
      _ key: String, _ reader: PayloadReader
    ) throws(PayloadError) -> IndexRanges {
      try reader.optional(key, "a list of pairs") { IndexRanges(decoding: $0) } ?? IndexRanges()
    }

    var encoded: JSONValue {
      .object(
        JSONObject(present: [
          ("task", .string(task)), ("elements", elements.map { JSONValue($0) }),
          ("finished", finished.isEmpty ? JSONValue?.none : finished.encoded),
          ("skipped", skipped.isEmpty ? JSONValue?.none : skipped.encoded),
          ("failed", failed.isEmpty ? JSONValue?.none : failed.encoded),
        ]))
    }
  }

  /// The task whose end is the checkpoint; `nil` for the beginning.
  public var checkpoint: String?
  /// The last event that stays as it is.
  public var toSeq: Int
  /// The tasks that run anew, whole or in part, and what stays of each.
  public var tasks: [Kept]
  /// How many effects were undone.
  public var compensated: Int
  /// How many were left.
  public var left: Int

  /// All of it.
  public init(checkpoint: String?, toSeq: Int, tasks: [Kept], compensated: Int, left: Int) {
    self.checkpoint = checkpoint
    self.toSeq = toSeq
    self.tasks = tasks
    self.compensated = compensated
    self.left = left
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    checkpoint = try reader.optionalString("checkpoint")
    toSeq = try reader.int("toSeq")
    tasks = []
    for kept in try reader.objects("tasks") { tasks.append(try Kept(kept)) }
    compensated = try reader.int("compensated")
    left = try reader.int("left")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(present: [
      ("checkpoint", checkpoint.map(JSONValue.string)), ("toSeq", JSONValue(toSeq)),
      ("tasks", .array(tasks.map(\.encoded))), ("compensated", JSONValue(compensated)),
      ("left", JSONValue(left)),
    ])
  }
}

extension RolledBack: EventData {
  package static var keys: [DataKey] {
    [
      DataKey("checkpoint", .string, "The task whose end it is; the beginning without it."),
      DataKey("toSeq!", .count, "The last event that stays."),
      DataKey(
        "tasks!",
        .list(
          .object([
            DataKey("task!", .string, "The task."), DataKey("elements", .count, "How many."),
            DataKey("finished", .list(.list(.integer)), "First and last of each run that stays."),
            DataKey("skipped", .list(.list(.integer)), "Likewise."),
            DataKey("failed", .list(.list(.integer)), "Likewise."),
          ])), "What runs anew, and what stays of it."),
      DataKey("compensated!", .count, "How many effects were undone."),
      DataKey("left!", .count, "How many were left."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let count = Figures.count(tasks.count, "task")
    return [
      EventLine(
        "back", .good,
        "to \(checkpoint ?? "start"): \(compensated) undone, \(left) left, \(count) to run anew")
    ]
  }
}
