/// The data of a `task_started` event: an attempt at a task begins. On disk before anything is done.
public struct TaskStarted: Sendable, Hashable {
  /// Which task, and which element of it.
  public var node: TaskNode
  /// From 1, over the whole life of the node.
  public var attempt: Int
  /// The task that stands in for it; `nil` for itself.
  public var acting: String?
  /// `agent`, `command`, `closure` or `pipeline`.
  public var kind: String
  /// What it is given: all that it sees.
  public var input: JSONValue?
  /// Of a command, its words; `nil` for anything else.
  public var arguments: JSONValue?
  /// The events that what it is given came from, by what its input and words name.
  public var origins: JSONObject = [:]
  /// What the task does to the world outside: `read`, `draft` or `write`.
  public var sideEffect: String
  /// Whether doing it twice with the same key is as doing it once.
  public var isIdempotent = false
  /// What names the action, whatever attempt it is; `nil` for a task that only reads.
  public var idempotencyKey: String?
  /// The command that undoes it, made before it is done; `nil` where none is declared.
  public var compensate: JSONValue?
  /// The run of its own that the attempt is.
  public var run: TaskRun?

  /// What is not given can be set afterwards.
  public init(
    node: TaskNode, attempt: Int, acting: String? = nil, kind: String, input: JSONValue? = nil,
    sideEffect: String
  ) {
    self.node = node
    self.attempt = attempt
    self.acting = acting
    self.kind = kind
    self.input = input
    self.sideEffect = sideEffect
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    attempt = try reader.int("attempt")
    acting = try reader.optionalString("acting")
    kind = try reader.string("kind")
    input = object["input"]
    arguments = object["arguments"]
    origins = try reader.optionalObject("origins") ?? [:]
    sideEffect = try reader.optionalString("sideEffect") ?? SideEffect.read.rawValue
    isIdempotent = try reader.optionalBool("idempotent") ?? false
    idempotencyKey = try reader.optionalString("idempotencyKey")
    compensate = object["compensate"]
    run = try TaskRun(reader)
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("attempt", JSONValue(attempt)), ("acting", acting.map(JSONValue.string)),
        ("kind", .string(kind)), ("input", input), ("arguments", arguments),
        ("origins", origins.isEmpty ? nil : .object(origins)),
        (
          "sideEffect",
          sideEffect == SideEffect.read.rawValue ? nil : .string(sideEffect)
        ),
        ("idempotent", isIdempotent ? .bool(true) : nil),
        ("idempotencyKey", idempotencyKey.map(JSONValue.string)), ("compensate", compensate),
        ("run", run?.encoded),
      ])
  }
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

/// The data of a `task_finished` event: a task, or an element of one, has its output.
public struct TaskFinished: Sendable, Hashable {
  /// Which task, and which element of it.
  public var node: TaskNode
  /// The attempt that gave the output; 0 where none did.
  public var attempt: Int
  /// The output; `nil` for a fan-out as a whole, whose elements have theirs.
  public var output: JSONValue?
  /// Where the output came from, if not from an attempt: `substitute` or `person`.
  public var via: String?
  /// Of a fan-out as a whole, how many elements it had.
  public var elements: Int?
  /// How many parts came before.
  public var parts: Int?
  /// Whether the pipeline can be rolled back to here.
  public var isCheckpoint = false
  /// How long the attempt took.
  public var elapsedMicroseconds: Int?
  /// The run of its own that the attempt was.
  public var run: TaskRun?

  /// What is not given can be set afterwards.
  public init(node: TaskNode, attempt: Int, output: JSONValue? = nil, via: String? = nil) {
    self.node = node
    self.attempt = attempt
    self.output = output
    self.via = via
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    attempt = try reader.int("attempt")
    output = object["output"]
    via = try reader.optionalString("via")
    elements = try reader.optionalInt("elements")
    parts = try reader.optionalInt("parts")
    isCheckpoint = try reader.optionalBool("checkpoint") ?? false
    elapsedMicroseconds = try reader.optionalInt("elapsedMicroseconds")
    run = try TaskRun(reader)
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("attempt", JSONValue(attempt)), ("output", output), ("via", via.map(JSONValue.string)),
        ("elements", elements.map { JSONValue($0) }), ("parts", parts.map { JSONValue($0) }),
        ("checkpoint", isCheckpoint ? .bool(true) : nil),
        ("elapsedMicroseconds", elapsedMicroseconds.map { JSONValue($0) }), ("run", run?.encoded),
      ])
  }
}
