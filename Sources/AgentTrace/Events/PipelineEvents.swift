/// A node of a pipeline: a task, or one element of a task that runs for each of many.
public struct TaskNode: Hashable, Sendable, Comparable, CustomStringConvertible {
  /// The task's id.
  public var task: String
  /// Which element, from 0; `nil` for a task that runs once, and for a fan-out as a whole.
  public var element: Int?

  /// The task itself unless an element is given.
  public init(_ task: String, element: Int? = nil) {
    self.task = task
    self.element = element
  }

  /// `refactor`, or `refactor[3]`.
  public var description: String { element.map { "\(task)[\($0)]" } ?? task }

  /// Reads ``description``.
  public init(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.last == UInt8(ascii: "]"),
      let open = bytes.lastIndex(of: UInt8(ascii: "[")), open > 0,
      let index = Int(String(decoding: bytes[(open + 1)..<(bytes.count - 1)], as: UTF8.self)),
      index >= 0
    else {
      self.init(text, element: nil)
      return
    }
    self.init(String(decoding: bytes[..<open], as: UTF8.self), element: index)
  }

  /// By the bytes of the id, then by element.
  public static func < (left: TaskNode, right: TaskNode) -> Bool {
    left.task.hasSameUTF8(as: right.task)
      ? (left.element ?? -1) < (right.element ?? -1)
      : left.task.utf8.lexicographicallyPrecedes(right.task.utf8)
  }

  /// Equal where the ids' bytes and the elements are.
  public static func == (left: TaskNode, right: TaskNode) -> Bool {
    left.element == right.element && left.task.hasSameUTF8(as: right.task)
  }

  init(_ reader: PayloadReader) throws(PayloadError) {
    task = try reader.string("task")
    element = try reader.optionalInt("element")
    if let element, element < 0 { throw reader.error("element", "a whole number from 0") }
  }

  var members: [(String, JSONValue?)] {
    [("task", .string(task)), ("element", element.map { JSONValue($0) })]
  }
}

/// Why an attempt at a task, or the task, failed.
public struct TaskError: Error, Sendable, Hashable {
  /// The kind: one of ``Kind``, or a word that this version does not know.
  public var kind: String
  /// In words.
  public var message: String

  /// The kinds that the runtime itself gives.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The output is not what `validate` asks for.
    case invalid
    /// The attempt took too long.
    case timeout
    /// All attempts together took too long.
    case totalTimeout = "total_timeout"
    /// The work itself failed.
    case toolFailure = "tool_failure"
    /// A model could not be reached.
    case modelFailure = "model_failure"
    /// A policy, or a person in the task's run, said no.
    case policyDenied = "policy_denied"
    /// The task's run stands still: a person has to answer it.
    case blocked
    /// The task failed too often of late and is left alone for a while.
    case breakerOpen = "breaker_open"
    /// What the pipeline may use is used up.
    case budgetExhausted = "budget_exhausted"
    /// A task that this one needs failed.
    case upstreamFailed = "upstream_failed"
    /// Elements of a fan-out failed.
    case elementFailed = "element_failed"
    /// What the task is given cannot be made of what its edges bring.
    case input
    /// A person said no.
    case denied
    /// The process ended while the attempt was under way.
    case interrupted
  }

  /// An error of a kind that the runtime knows.
  public init(_ kind: Kind, _ message: String) {
    self.kind = kind.rawValue
    self.message = message
  }

  /// An error of any kind.
  public init(kind: String, message: String) {
    self.kind = kind
    self.message = message
  }

  /// Whether it speaks of the work, not of what came before it or cut it off.
  public var countsForBreaker: Bool {
    switch Kind(rawValue: kind) {
    case .breakerOpen, .budgetExhausted, .upstreamFailed, .elementFailed, .input, .denied,
      .interrupted, .totalTimeout, .blocked:
      false
    case .invalid, .timeout, .toolFailure, .modelFailure, .policyDenied, nil: true
    }
  }

  init(_ reader: PayloadReader) throws(PayloadError) {
    kind = try reader.string("kind")
    message = try reader.text("message")
  }

  var encoded: JSONObject { ["kind": .string(kind), "message": .string(message)] }
}

/// The run of its own that an attempt at a task is.
public struct TaskRun: Sendable, Hashable {
  /// Its identifier.
  public var runId: String
  /// Its log, relative to the folder of the pipeline's; `nil` where it has none.
  public var log: String?
  /// Why it stopped; `nil` while it has not.
  public var stopReason: String?
  /// The digest of its log's last seal; `nil` while it runs.
  public var sealDigest: String?
  /// What it used, in the form of a `stop`'s `totals`; empty while it runs.
  public var totals: JSONObject = [:]

  /// A run that is about to begin.
  public init(runId: String, log: String? = nil) {
    self.runId = runId
    self.log = log
  }

  init?(_ reader: PayloadReader) throws(PayloadError) {
    guard let object = try reader.optionalObject("run") else { return nil }
    let run = PayloadReader(object, path: "run")
    runId = try run.string("runId")
    log = try run.optionalString("log")
    stopReason = try run.optionalString("stopReason")
    sealDigest = try run.optionalString("sealDigest")
    totals = try run.optionalObject("totals") ?? [:]
  }

  var encoded: JSONValue {
    .object(
      JSONObject(present: [
        ("runId", .string(runId)), ("log", log.map(JSONValue.string)),
        ("stopReason", stopReason.map(JSONValue.string)),
        ("sealDigest", sealDigest.map(JSONValue.string)),
        ("totals", totals.isEmpty ? nil : .object(totals)),
      ]))
  }
}

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

/// The data of a `task_expanded` event: of a task that runs for each of many it is known how many.
public struct TaskExpanded: Sendable, Hashable {
  /// The task's id.
  public var task: String
  /// How many elements it has.
  public var elements: Int

  /// Both.
  public init(task: String, elements: Int) {
    self.task = task
    self.elements = elements
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    task = try reader.string("task")
    elements = try reader.int("elements")
    if elements < 0 { throw reader.error("elements", "a whole number from 0") }
  }

  /// The wire form.
  public var encoded: JSONObject { ["task": .string(task), "elements": JSONValue(elements)] }
}

/// The data of a `task_asked` event: a task waits for a person.
public struct TaskAsked: Sendable, Hashable {
  /// Why a person is asked.
  public enum Why: String, Sendable, Hashable, CaseIterable {
    /// The task is a person's.
    case human
    /// The task failed, and says that a person is to be asked then.
    case failed
    /// An attempt that may have changed something was cut off: did it happen?
    case doubt
    /// What the task writes was done once and undone: may it be done again?
    case again
    /// The run that the attempt is waits for a person: what is said stands in that run's log.
    case run
  }

  /// Which task, and which element of it.
  public var node: TaskNode
  /// Why.
  public var why: Why
  /// The question, in words.
  public var question: String
  /// What the person is shown beside it.
  public var show: JSONValue?
  /// The attempt whose run waits; `nil` where none does.
  public var attempt: Int?

  /// What is shown can be left out.
  public init(node: TaskNode, why: Why, question: String, show: JSONValue? = nil) {
    self.node = node
    self.why = why
    self.question = question
    self.show = show
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    why = try reader.enumeration("why", Why.self, "why a person is asked")
    question = try reader.text("question")
    show = object["show"]
    attempt = try reader.optionalInt("attempt")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("why", .string(why.rawValue)), ("question", .string(question)), ("show", show),
        ("attempt", attempt.map { JSONValue($0) }),
      ])
  }
}

/// The data of a `task_answered` event: what a person said of a task that waits.
public struct TaskAnswered: Sendable, Hashable {
  /// What was said.
  public enum Word: String, Sendable, Hashable, CaseIterable {
    /// Yes: go on.
    case granted
    /// No.
    case denied
    /// An answer in words, or a value to stand for the output.
    case answered
    /// What is in doubt has happened.
    case happened
    /// What is in doubt has not happened.
    case didNotHappen = "did_not_happen"
    /// The output is to be absent.
    case skipped
  }

  /// Which task, and which element of it.
  public var node: TaskNode
  /// What was said.
  public var word: Word
  /// The answer, or the data of what happened.
  public var data: JSONValue?
  /// Who said it.
  public var by: String
  /// Why.
  public var reason: String?

  /// Data and reason can be left out.
  public init(
    node: TaskNode, word: Word, data: JSONValue? = nil, by: String, reason: String? = nil
  ) {
    self.node = node
    self.word = word
    self.data = data
    self.by = by
    self.reason = reason
  }

  /// Reads the wire form.
  ///
  /// - Throws: ``PayloadError`` for the first key that is missing or of another kind.
  public init(decoding object: JSONObject) throws(PayloadError) {
    let reader = PayloadReader(object)
    node = try TaskNode(reader)
    word = try reader.enumeration("word", Word.self, "what a person said")
    data = object["data"]
    by = try reader.string("by")
    reason = try reader.optionalString("reason")
  }

  /// The wire form.
  public var encoded: JSONObject {
    JSONObject(
      present: node.members + [
        ("word", .string(word.rawValue)), ("data", data), ("by", .string(by)),
        ("reason", reason.map(JSONValue.string)),
      ])
  }
}
