/// What kind of fact an event states. Raw values are the wire format: add one, never rename one.
public struct EventType: RawRepresentable, Hashable, Sendable {
  /// The name in a log; one that this version does not know is kept as it is.
  public let rawValue: String

  /// Any name is allowed; see ``known`` for those of this version.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The first event of a log.
  public static let runStarted = EventType(rawValue: "run_started")
  /// A source of tools was asked what it offers.
  public static let toolsListed = EventType(rawValue: "tools_listed")
  /// A context packet was assembled; stands before each decision.
  public static let contextBuilt = EventType(rawValue: "context_built")
  /// A model answered, or failed to; one event per try.
  public static let modelResult = EventType(rawValue: "model_result")
  /// The reply was read as a decision.
  public static let decision = EventType(rawValue: "decision")
  /// The policy gate gave its verdict on one call.
  public static let policyDecision = EventType(rawValue: "policy_decision")
  /// A tool is about to run; on disk before it does.
  public static let toolStarted = EventType(rawValue: "tool_started")
  /// What became of a call.
  public static let toolResult = EventType(rawValue: "tool_result")
  /// A person granted or denied a call.
  public static let approval = EventType(rawValue: "approval")
  /// A person, or one simulated, spoke.
  public static let humanReplied = EventType(rawValue: "human_replied")
  /// A note was looked up.
  public static let memoryRead = EventType(rawValue: "memory_read")
  /// A note was kept.
  public static let memoryWritten = EventType(rawValue: "memory_written")
  /// A tool's circuit breaker opened, closed or let one call through.
  public static let breakerChanged = EventType(rawValue: "breaker_changed")
  /// A proxy passed on a request that is no call of a model.
  public static let requestForwarded = EventType(rawValue: "request_forwarded")
  /// Of a proxy: calls were taken out of a reply before whoever asked saw it.
  public static let replyChanged = EventType(rawValue: "reply_changed")
  /// Something went by that could not be read, and may have held what the log then lacks.
  public static let unseen = EventType(rawValue: "unseen")
  /// An attempt at a task of a pipeline begins; on disk before anything is done.
  public static let taskStarted = EventType(rawValue: "task_started")
  /// A part of a task's output came before its end.
  public static let taskOutput = EventType(rawValue: "task_output")
  /// An attempt at a task failed, and what is done about it.
  public static let taskFailed = EventType(rawValue: "task_failed")
  /// A task, or an element of one, has its output.
  public static let taskFinished = EventType(rawValue: "task_finished")
  /// A task's output is absent.
  public static let taskSkipped = EventType(rawValue: "task_skipped")
  /// Of a task that runs for each of many it is known how many.
  public static let taskExpanded = EventType(rawValue: "task_expanded")
  /// A task waits for a person.
  public static let taskAsked = EventType(rawValue: "task_asked")
  /// What a person said of a task that waits.
  public static let taskAnswered = EventType(rawValue: "task_answered")
  /// The run that an attempt is goes on, behind the end of a process or a person's word.
  public static let taskResumed = EventType(rawValue: "task_resumed")
  /// Of a pipeline it is wished that it pauses: nothing new begins.
  public static let pauseRequested = EventType(rawValue: "pause_requested")
  /// A pipeline goes back to a checkpoint.
  public static let rollbackStarted = EventType(rawValue: "rollback_started")
  /// An effect is about to be undone; on disk before it is.
  public static let compensationStarted = EventType(rawValue: "compensation_started")
  /// What came of undoing an effect.
  public static let compensationFinished = EventType(rawValue: "compensation_finished")
  /// What stands behind a checkpoint is undone, and runs anew.
  public static let rolledBack = EventType(rawValue: "rolled_back")
  /// A log was opened again to go on.
  public static let runResumed = EventType(rawValue: "run_resumed")
  /// The run ended or paused.
  public static let stop = EventType(rawValue: "stop")

  /// Every type of format version 1 with what is known of it, in the order a run meets them; those that only
  /// pipelines have behind the others.
  package static let kinds: [EventKind] =
    [
      EventKind(.runStarted, RunStarted.self, "The run began."),
      EventKind(.toolsListed, ToolsListed.self, "A source of tools was asked what it offers."),
      EventKind(.contextBuilt, ContextPacket.self, "What the model was given before a decision."),
      EventKind(.modelResult, ModelResult.self, "A try of a call to a model."),
      EventKind(.decision, DecisionPayload.self, "What the reply was read as."),
      EventKind(.policyDecision, Verdict.self, "The gate's verdict on a call."),
      EventKind(.toolStarted, ToolStartedPayload.self, "A tool is about to run."),
      EventKind(.toolResult, ToolResultPayload.self, "What became of a call."),
      EventKind(.approval, Approval.self, "A person granted or denied a call."),
      EventKind(.humanReplied, HumanReplied.self, "A person spoke."),
      EventKind(.memoryRead, MemoryNote.self, "A note was looked up."),
      EventKind(.memoryWritten, MemoryNote.self, "A note was kept."),
      EventKind(.breakerChanged, BreakerChanged.self, "A tool's circuit breaker changed."),
      EventKind(
        .requestForwarded, RequestForwarded.self,
        "A proxy passed on a request that is no call of a model."),
      EventKind(
        .replyChanged, ReplyChanged.self,
        "A proxy took calls out of a reply before whoever asked saw it."),
      EventKind(.unseen, Unseen.self, "Something went by that could not be read."),
      EventKind(.runResumed, RunResumed.self, "The log was opened again."),
      EventKind(.stop, Stop.self, "The run ended or paused."),
    ] + kindsOfPipelines

  private static let kindsOfPipelines: [EventKind] = [
    EventKind(.taskStarted, TaskStarted.self, "An attempt at a task begins."),
    EventKind(.taskOutput, TaskOutput.self, "A part of a task's output came before its end."),
    EventKind(
      .taskFailed, TaskFailed.self,
      "An attempt failed, or a task cannot be attempted; and what is done about it."),
    EventKind(.taskFinished, TaskFinished.self, "A task, or an element of one, has its output."),
    EventKind(.taskSkipped, TaskSkipped.self, "A task's output is absent."),
    EventKind(
      .taskExpanded, TaskExpanded.self, "Of a task that runs for each of many it is known how many."
    ),
    EventKind(.taskAsked, TaskAsked.self, "A task waits for a person."),
    EventKind(.taskAnswered, TaskAnswered.self, "What a person said of a task that waits."),
    EventKind(.taskResumed, TaskResumed.self, "The run that an attempt is goes on in its own log."),
    EventKind(.pauseRequested, PauseRequested.self, "Of a pipeline it is wished that it pauses."),
    EventKind(.rollbackStarted, RollbackStarted.self, "A pipeline goes back to a checkpoint."),
    EventKind(.compensationStarted, CompensationStarted.self, "An effect is about to be undone."),
    EventKind(.compensationFinished, CompensationFinished.self, "What came of undoing an effect."),
    EventKind(
      .rolledBack, RolledBack.self, "What stands behind a checkpoint is undone, and runs anew."),
  ]

  /// Every type of format version 1, in the order a run meets them.
  public static let known = kinds.map(\.type)
  /// The types that only logs of pipelines have.
  public static let ofPipelines = kindsOfPipelines.map(\.type)
}

extension EventType: CustomStringConvertible {
  public var description: String { rawValue }
}
