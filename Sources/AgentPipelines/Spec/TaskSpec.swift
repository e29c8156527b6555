public import AgentTrace

/// What does a task.
public enum TaskKind: String, Sendable, Hashable, CaseIterable {
  /// An agent: each attempt is a run with a log of its own.
  case agent
  /// A program.
  case command
  /// Code of this process.
  case closure
  /// A person.
  case human
  /// Another pipeline: each attempt is a run with a log of its own.
  case pipeline

  /// Whether each attempt is a run with a log of its own.
  public var isRun: Bool { self == .agent || self == .pipeline }
}

/// Which failures something holds for.
public struct FailureKinds: Sendable, Hashable {
  /// Names of kinds, or `*` for all.
  public var names: [String]

  /// All of them unless named.
  public init(_ names: [String] = ["*"]) { self.names = names }

  /// Whether a failure is among them.
  public func contains(_ kind: String) -> Bool {
    names.contains { $0 == "*" || $0.hasSameUTF8(as: kind) }
  }
}

/// How often a task is attempted again by itself.
public struct RetrySpec: Sendable, Hashable {
  /// How many attempts follow the first at most.
  public var max: Int
  /// The failures that another attempt follows.
  public var on: FailureKinds
  /// How long to wait before the first retry; twice as long before each further one, at most an hour, less
  /// up to half of it by chance.
  public var backoffMicroseconds: Int

  /// No retry unless a number is given; of a failure of any kind, at once.
  public init(max: Int = 0, on: FailureKinds = FailureKinds(), backoffMicroseconds: Int = 0) {
    self.max = max
    self.on = on
    self.backoffMicroseconds = backoffMicroseconds
  }
}

/// When a task that keeps failing is left alone.
public struct BreakerSpec: Sendable, Hashable {
  /// How many failures in a row open it.
  public var failures: Int
  /// How long it stays open; then one attempt is let through.
  public var coolMicroseconds: Int

  /// Both.
  public init(failures: Int, coolMicroseconds: Int) {
    self.failures = failures
    self.coolMicroseconds = coolMicroseconds
  }
}

/// What is done about a failure that no retry takes.
public struct RecoverRule: Sendable, Hashable {
  /// The failures that it holds for.
  public var on: FailureKinds
  /// What is done.
  public var action: TaskRecovery.Action
  /// Of `fallback`: the task that stands in.
  public var task: String?
  /// Of `substitute`: the value.
  public var value: JSONValue?
  /// Of `retry`: how many attempts it gives at most.
  public var max: Int
  /// Of `retry`: how long to wait, as ``RetrySpec/backoffMicroseconds``.
  public var backoffMicroseconds: Int
  /// Of `retry`: whether the next attempt is told what was wrong.
  public var tellsFeedback: Bool

  /// What does not belong to the action is not looked at.
  public init(
    on: FailureKinds, _ action: TaskRecovery.Action, task: String? = nil, value: JSONValue? = nil,
    max: Int = 1, backoffMicroseconds: Int = 0, tellsFeedback: Bool = false
  ) {
    self.on = on
    self.action = action
    self.task = task
    self.value = value
    self.max = max
    self.backoffMicroseconds = backoffMicroseconds
    self.tellsFeedback = tellsFeedback
  }
}

/// What a task runs once for each of.
public enum FanOutSource: Sendable, Hashable {
  /// The elements of a list, which is whole before the first starts. Where the reference names each
  /// element of a fan-out (`${refactor.*}`), one starts as soon as the one that it is for has ended.
  case list(TaskReference)
  /// The parts of another task's output, each as it comes.
  case parts(of: String)
}

/// What a task gives as parts of its output, before its end. Code of this process gives what it gives.
public enum PartsSource: Sendable, Hashable {
  /// Each line that a program prints, as JSON. What the program returns is the list of them.
  case lines
  /// The input of each call of a tool that an agent's run made and that went well, in the order in which they ended.
  case calls(of: String)
}

/// What a person is asked.
public struct HumanSpec: Sendable, Hashable {
  /// The question.
  public var ask: TaskTemplate
  /// What is shown beside it.
  public var show: TaskTemplate?

  /// Both.
  public init(ask: TaskTemplate, show: TaskTemplate? = nil) {
    self.ask = ask
    self.show = show
  }
}

/// What undoes what a task has done.
public enum CompensationSpec: Sendable, Hashable {
  /// A program and its arguments.
  case command(TaskTemplate)
  /// Code of this process: the task's own `compensate`.
  case closure
}

/// What a task of a pipeline is, but for what does the work.
public struct TaskSpec: Sendable, Hashable {
  /// Its name in the pipeline.
  public var id: String
  /// What does it.
  public var kind: TaskKind
  /// What of the work itself is compared when a pipeline goes on: a command's words, an agent file's digest,
  /// a version of code.
  public var implementation: JSONValue?
  /// What it is given; `nil` for nothing.
  public var input: TaskTemplate?
  /// What it runs once for each of; `nil` for once.
  public var forEach: FanOutSource?
  /// What it gives as parts before its end; `nil` where it is code, and where it gives none.
  public var parts: PartsSource?
  /// Of a command, words that stand for what the task is given; `nil` for those of the work itself.
  public var arguments: TaskTemplate?
  /// Of a person's task, what is asked.
  public var human: HumanSpec?
  /// The JSON Schema of what the task needs to be given; an attempt that is given anything else is not begun.
  public var inputSchema: JSONValue?
  /// The JSON Schema of what it returns; an attempt that returns anything else has failed as `invalid`.
  public var outputSchema: JSONValue?
  /// The JSON Schema of what it returns where that follows from what it is, and is held to elsewhere.
  public var knownOutput: JSONValue?
  /// The JSON Schema of each of its parts where that follows from what it is.
  public var knownPart: JSONValue?
  /// What the output has to be, as a matcher.
  public var validate: JSONValue?
  /// How long one attempt may take.
  public var timeoutMicroseconds: Int?
  /// How long all attempts together may take, waiting between them counted.
  public var totalTimeoutMicroseconds: Int?
  /// How often it is attempted again by itself.
  public var retry = RetrySpec()
  /// When it is left alone.
  public var breaker: BreakerSpec?
  /// What is done about failures; the first rule that holds counts.
  public var recover: [RecoverRule] = []
  /// What undoes it.
  public var compensate: CompensationSpec?
  /// What it does to the world outside.
  public var sideEffect: SideEffect
  /// Whether doing it twice with the same key is as doing it once.
  public var isIdempotent = false
  /// How many of its elements run at the same time.
  public var concurrency: Int?
  /// What it needs of that there is only so much.
  public var labels: [String] = []

  /// What is not given can be set afterwards. Agents, commands and code are taken to write unless more is
  /// said; a person's task does nothing.
  public init(
    _ id: String, _ kind: TaskKind, input: JSONValue? = nil, sideEffect: SideEffect? = nil
  ) {
    self.id = id
    self.kind = kind
    self.input = input.map { TaskTemplate($0) }
    self.sideEffect = sideEffect ?? (kind == .human ? .read : .write)
  }

  /// Everything it names, and where that is written.
  var references: [(key: String, reference: TaskReference)] {
    var found: [(String, TaskReference)] = []
    for reference in input?.references ?? [] { found.append(("input", reference)) }
    if case .list(let reference)? = forEach { found.append(("forEach", reference)) }
    for reference in arguments?.references ?? [] { found.append(("command", reference)) }
    for reference in human?.ask.references ?? [] { found.append(("human/ask", reference)) }
    for reference in human?.show?.references ?? [] { found.append(("human/show", reference)) }
    if case .command(let template)? = compensate {
      for reference in template.references { found.append(("compensate", reference)) }
    }
    return found
  }

  /// Whether it runs once for each of many.
  public var isFanOut: Bool { forEach != nil }

  /// Whether others can take parts of its output before its end.
  var givesParts: Bool { kind == .closure || parts != nil }

  /// Whether an attempt that was cut off may simply be made again.
  public var mayRepeat: Bool { sideEffect == .read || isIdempotent }
}

extension TaskSpec {
  /// Everything that decides what the task does, for the log.
  public var encoded: JSONObject {
    let fanOut: JSONValue? =
      switch forEach {
      case .list(let reference): .string("${\(reference.text)}")
      case .parts(let task): ["partsOf": .string(task)]
      case nil: nil
      }
    let undoing: JSONValue? =
      switch compensate {
      case .command(let template): template.source
      case .closure: "closure"
      case nil: nil
      }
    return JSONObject(present: [
      ("id", .string(id)), ("kind", .string(kind.rawValue)), ("implementation", implementation),
      ("input", input?.source), ("forEach", fanOut), ("parts", parts?.encoded),
      ("arguments", arguments?.source),
      ("ask", human?.ask.source), ("show", human?.show?.source), ("validate", validate),
      ("inputSchema", inputSchema), ("outputSchema", outputSchema),
      ("timeoutMicroseconds", timeoutMicroseconds.map { JSONValue($0) }),
      ("totalTimeoutMicroseconds", totalTimeoutMicroseconds.map { JSONValue($0) }),
      ("retry", retry.max == 0 ? JSONValue?.none : retry.encoded), ("breaker", breaker?.encoded),
      ("recover", recover.isEmpty ? nil : .array(recover.map(\.encoded))),
      ("compensate", undoing), ("sideEffect", .string(sideEffect.rawValue)),
      ("idempotent", isIdempotent ? .bool(true) : nil),
      ("concurrency", concurrency.map { JSONValue($0) }),
      ("labels", labels.isEmpty ? JSONValue?.none : JSONValue(labels)),
    ])
  }
}

extension PartsSource {
  var encoded: JSONValue {
    switch self {
    case .lines: "lines"
    case .calls(let tool): ["calls": .string(tool)]
    }
  }
}

extension RetrySpec {
  var encoded: JSONValue {
    [
      "max": JSONValue(max), "on": JSONValue(on.names),
      "backoffMicroseconds": JSONValue(backoffMicroseconds),
    ]
  }
}

extension BreakerSpec {
  var encoded: JSONValue {
    ["failures": JSONValue(failures), "coolMicroseconds": JSONValue(coolMicroseconds)]
  }
}

extension RecoverRule {
  var encoded: JSONValue {
    let isRetry = action == .retry
    return .object(
      JSONObject(present: [
        ("on", JSONValue(on.names)), ("do", .string(action.rawValue)),
        ("task", task.map(JSONValue.string)), ("value", value),
        ("max", isRetry ? JSONValue(max) : JSONValue?.none),
        ("backoffMicroseconds", isRetry ? JSONValue(backoffMicroseconds) : JSONValue?.none),
        ("feedback", tellsFeedback ? .bool(true) : nil),
      ]))
  }
}
