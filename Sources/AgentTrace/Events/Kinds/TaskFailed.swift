extension EventType {
  /// An attempt at a task failed, and what is done about it.
  public static let taskFailed = EventType(rawValue: "task_failed")
}

/// The data of a `task_failed` event: an attempt failed, or a task cannot be attempted; and what is done
/// about it. Both stand in one event, so that no recovery is decided twice.
public struct TaskFailed: Sendable, Hashable {
  /// Which task, and which element of it.
  public var node: TaskNode
  /// The attempt; 0 where none was made.
  public var attempt: Int
  /// Why.
  public var error: TaskError
  /// Whether nobody can be sure what the attempt did.
  public var isEffectUnknown = false
  /// What is done about it.
  public var recovery: TaskRecovery
  /// How long the attempt took.
  public var elapsedMicroseconds: Int?
  /// The run of its own that the attempt was.
  public var run: TaskRun?

  /// What is not given can be set afterwards.
  public init(node: TaskNode, attempt: Int, error: TaskError, recovery: TaskRecovery) {
    self.node = node
    self.attempt = attempt
    self.error = error
    self.recovery = recovery
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    attempt = try reader.int("attempt")
    error = try TaskError(
      PayloadReader(try reader.required("error", "an object", \.objectValue), path: "error"))
    isEffectUnknown = try reader.optionalString("effect") == "unknown"
    recovery = try TaskRecovery(
      PayloadReader(try reader.required("recovery", "an object", \.objectValue), path: "recovery"))
    elapsedMicroseconds = try reader.optionalInt("elapsedMicroseconds")
    run = try TaskRun(reader)
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("attempt", JSONValue(attempt)), ("error", .object(error.encoded)),
        ("effect", isEffectUnknown ? .string("unknown") : nil),
        ("recovery", .object(recovery.encoded)),
        ("elapsedMicroseconds", elapsedMicroseconds.map { JSONValue($0) }), ("run", run?.encoded),
      ])
  }
}

/// What is done about a failure.
public struct TaskRecovery: Sendable, Hashable {
  /// The kinds of it.
  public enum Action: String, Sendable, Hashable, CaseIterable {
    /// Another attempt, which counts as a retry.
    case retry
    /// Another attempt, because the last was interrupted; it counts as none.
    case again
    /// Another task stands in.
    case fallback
    /// A fixed value stands for the output.
    case substitute
    /// The output is absent.
    case skip
    /// A person is asked.
    case ask
    /// What was done is undone, and the pipeline stops.
    case compensate
    /// The task has failed.
    case fail
  }

  /// What.
  public var action: Action
  /// The rule of the task that says so, from 0; `nil` where none does.
  public var rule: Int?
  /// How long to wait before the next attempt.
  public var waitMicroseconds: Int?
  /// Of a fallback, the task that stands in.
  public var task: String?
  /// Of a substitute, the value.
  public var value: JSONValue?
  /// Of an attempt that is made again, whether it is told what was wrong.
  public var tellsFeedback = false
  /// Whether the task's own code said so, in place of its rules.
  public var isByTask = false

  /// Only what is done, unless more is set.
  public init(_ action: Action, rule: Int? = nil) {
    self.action = action
    self.rule = rule
  }

  init(_ reader: PayloadReader) throws(PayloadError) {
    action = try reader.enumeration("do", Action.self, "a way to recover")
    rule = try reader.optionalInt("rule")
    waitMicroseconds = try reader.optionalInt("waitMicroseconds")
    task = try reader.optionalString("task")
    value = reader.object["value"]
    tellsFeedback = try reader.optionalBool("feedback") ?? false
    isByTask = try reader.optionalString("by") == "task"
  }

  var encoded: JSONObject {
    JSONObject(present: [
      ("do", .string(action.rawValue)), ("rule", rule.map { JSONValue($0) }),
      ("waitMicroseconds", waitMicroseconds.map { JSONValue($0) }),
      ("task", task.map(JSONValue.string)), ("value", value),
      ("feedback", tellsFeedback ? .bool(true) : nil),
      ("by", isByTask ? .string("task") : nil),
    ])
  }
}

extension TaskFailed: EventData {
  package static var keys: [DataKey] {
    DataKey.node + [
      DataKey("attempt!", .count, "The attempt; 0 where none was made."),
      DataKey(
        "error!",
        .object([
          DataKey(
            "kind!", .string, "The kind: \(TaskError.Kind.allCases.map(\.rawValue).alternatives)."),
          DataKey("message!", .text, "In words."),
        ]), "Why."),
      DataKey("effect", .words(["unknown"]), "unknown where nobody can be sure what it did."),
      DataKey("recovery!", .recovery, "What is done about it."),
      DataKey("elapsedMicroseconds", .count, "How long it took."),
      DataKey("run", .taskRun, "Its run."),
    ]
  }

  package func lines(in event: Event) -> [EventLine] {
    let effect = isEffectUnknown ? ", effect unknown" : ""
    let failure = EventLine(
      "failed", .bad, "\(node): \(error.kind)\(effect): \(error.message)", isWhole: true)
    guard recovery.action != .fail else { return [failure] }
    let task = recovery.task.map { " \($0)" } ?? ""
    let wait = recovery.waitMicroseconds.map { " in \(Figures.duration(microseconds: $0))" } ?? ""
    return [
      failure,
      EventLine("recovers", .warning, "\(node): \(recovery.action.rawValue)\(task)\(wait)"),
    ]
  }
}

extension DataShape {
  /// What follows a failure.
  package static let recovery = DataShape.object(
    "What is done about a failure.",
    [
      DataKey("do!", .words(TaskRecovery.Action.allCases.map(\.rawValue)), "What."),
      DataKey("rule", .count, "The rule of the task that says so."),
      DataKey("waitMicroseconds", .count, "How long the next attempt waits."),
      DataKey("task", .string, "The task that stands in."),
      DataKey("value", .any, "The substitute."),
      DataKey("feedback", .boolean, "Whether the next attempt is told what was wrong."),
      DataKey("by", .words(["task"]), "task where the task's own code said so."),
    ])
}
