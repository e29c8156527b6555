/// The data of a `pause_requested` event: what is under way ends by itself, and nothing new begins.
public struct PauseRequested: Sendable, Hashable {
  /// How the wish came: the name of a signal, or `pause` for a word of another process.
  public var by: String

  /// Nothing else is known.
  public init(by: String) { self.by = by }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` where the key is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    by = try PayloadReader(object).string("by")
  }

  /// The wire form.
  public var encoded: JSONObject { ["by": .string(by)] }
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
