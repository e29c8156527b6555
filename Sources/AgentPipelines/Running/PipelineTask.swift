public import AgentRuntime
public import AgentTrace

/// A task of a pipeline: what it is, and what does it. (`Task` is Swift's own word.)
public protocol PipelineTask: Sendable {
  /// What it is.
  var spec: TaskSpec { get }
  /// Whether an attempt that is a run of its own goes on where it stopped, in the same run: after the end of a process,
  /// and once a person has answered it. ``TaskContext/isResumed`` says so then.
  var goesOn: Bool { get }
  /// Whether a run that waits for a person may go on: everything that it waited for is said.
  func mayGoOn(_ run: TaskRun) async -> Bool
  /// What a run of its own that has begun may use at most; `nil` where nobody knows, or it has not begun.
  func limits(of run: TaskRun) async -> Limits?
  /// Does the work once.
  ///
  /// - Returns: the output. A failure is a value; an error that is thrown counts as one of kind
  ///   `tool_failure`, after which nobody knows what was done.
  func execute(_ context: TaskContext) async throws -> TaskOutcome
  /// Says what is wrong with an output, or `nil`; asked after the spec's `validate`.
  func validate(_ output: JSONValue, _ context: TaskContext) async throws -> String?
  /// Says what is done about an attempt that failed, in place of the spec's `retry` and `recover`; `nil` leaves it
  /// to them. Not asked where nobody knows what the attempt did and it must not be made again.
  func recover(from error: TaskError, _ context: TaskContext) async throws -> TaskRecovery?
  /// Undoes what an attempt has done; only where the spec says so. It may be asked more than once for the
  /// same attempt, with the same key, and for an attempt that had no effect.
  func compensate(_ context: CompensationContext) async throws -> TaskOutcome
}

extension PipelineTask {
  /// Each attempt begins anew.
  public var goesOn: Bool { false }

  /// It never waits.
  public func mayGoOn(_ run: TaskRun) async -> Bool { false }

  /// Nobody knows.
  public func limits(of run: TaskRun) async -> Limits? { nil }

  /// Nothing is wrong.
  public func validate(_ output: JSONValue, _ context: TaskContext) async throws -> String? { nil }

  /// Its spec says so.
  public func recover(
    from error: TaskError, _ context: TaskContext
  ) async throws -> TaskRecovery? { nil }

  /// It cannot be undone.
  public func compensate(_ context: CompensationContext) async throws -> TaskOutcome {
    .failed(TaskError(.toolFailure, "nothing is declared that undoes \(context.node)"))
  }
}

/// What an attempt at a task is given: all that it sees of its pipeline.
public struct TaskContext: Sendable {
  /// What names the work of the pipeline.
  public var pipelineId: String
  /// The pipeline's run.
  public var pipelineRunId: String
  /// The event of the pipeline's log with which the attempt began.
  public var seq: Int
  /// Which task, and which element of it.
  public var node: TaskNode
  /// From 1.
  public var attempt: Int
  /// Its input; `nil` for none.
  public var input: JSONValue?
  /// Where each part of it came from; see `TaskStarted.origins`.
  public var origins: JSONObject
  /// Of a command, the words.
  public var arguments: JSONValue?
  /// What names the action, whatever attempt it is.
  public var idempotencyKey: String
  /// What was wrong with the attempt before, where it is to be told.
  public var feedback: String?
  /// The identifier of the run that the attempt is, where it is one.
  public var runId: String?
  /// Whether that run has begun, and is to go on.
  public var isResumed = false
  /// When to have ended, as far as the pipeline is concerned; `nil` for never. The runtime ends it then in
  /// any case.
  public var timeoutMicroseconds: Int?
  /// What the tasks of the pipeline may still use together.
  public var remaining: Limits
  /// What was withheld from the pipeline's log so far: an attempt that is a run of its own withholds it from that run's,
  /// too.
  public var secrets = RunSecrets()
  /// Gives a part of the output before the end. Returns once it is recorded; `false` where nobody waits
  /// for it any more.
  public var emit: @Sendable (JSONValue) async -> Bool
}

/// What undoing an attempt is given.
public struct CompensationContext: Sendable {
  /// Whose effect.
  public var node: TaskNode
  /// The event with which the attempt began.
  public var of: Int
  /// From 1.
  public var attempt: Int
  /// What is to be run, where that is a command.
  public var command: JSONValue?
  /// What names the undoing, whatever attempt it is.
  public var idempotencyKey: String
  /// The pipeline's run.
  public var pipelineRunId: String

  /// All of it.
  public init(
    node: TaskNode, of: Int, attempt: Int, command: JSONValue?, idempotencyKey: String,
    pipelineRunId: String
  ) {
    self.node = node
    self.of = of
    self.attempt = attempt
    self.command = command
    self.idempotencyKey = idempotencyKey
    self.pipelineRunId = pipelineRunId
  }
}

/// What came of an attempt.
public struct TaskOutcome: Sendable, Hashable {
  /// The output; `nil` where it failed.
  public var output: JSONValue?
  /// Why it failed; `nil` where it did not.
  public var error: TaskError?
  /// Whether nobody can be sure what a failed attempt did.
  public var isEffectUnknown = false
  /// The run that the attempt was.
  public var run: TaskRun?
  /// What that run waits for a person for; then there is neither output nor error, and the attempt is not over.
  public var waiting: Waiting?

  /// What a run waits for.
  public struct Waiting: Sendable, Hashable {
    /// In words.
    public var question: String
    /// What the person is shown beside it.
    public var show: JSONValue?

    /// Both.
    public init(question: String, show: JSONValue? = nil) {
      self.question = question
      self.show = show
    }
  }
  /// What was withheld from that run's log: the pipeline then puts it back into what later tasks are given.
  public var secrets = RunSecrets()
  /// What the task's own code says is to be done about a failure; `nil` leaves it to its spec.
  public var recovery: TaskRecovery?

  /// An attempt that succeeded.
  public static func finished(_ output: JSONValue) -> TaskOutcome {
    TaskOutcome(output: output, error: nil)
  }

  /// One whose run waits for a person.
  public static func waiting(_ waiting: Waiting) -> TaskOutcome {
    var outcome = TaskOutcome(output: nil, error: nil)
    outcome.waiting = waiting
    return outcome
  }

  /// One that failed.
  public static func failed(_ error: TaskError, isEffectUnknown: Bool = false) -> TaskOutcome {
    TaskOutcome(output: nil, error: error, isEffectUnknown: isEffectUnknown)
  }
}

/// Where attempts are made: in this process, in others, on other machines. The scheduler hands them over one
/// by one; what an executor does with them reaches no log but by their outcomes.
public protocol Executor: Sendable {
  /// Makes an attempt and says what came of it. Where its task is cancelled it ends early, once nothing of the attempt
  /// goes on; of what it says then its run counts, and that it ended well where its time was not over.
  func run(_ task: any PipelineTask, _ context: TaskContext) async -> TaskOutcome
  /// Undoes what an attempt did.
  func compensate(_ task: any PipelineTask, _ context: CompensationContext) async -> TaskOutcome
}
