extension EventType {
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

/// An event's data, read as its type promises.
public enum EventPayload: Sendable, Hashable {
  case runStarted(RunStarted)
  case toolsListed(ToolsListed)
  case contextBuilt(ContextPacket)
  case modelResult(ModelResult)
  case decision(DecisionPayload)
  case policyDecision(Verdict)
  case toolStarted(ToolStartedPayload)
  case toolResult(ToolResultPayload)
  case approval(Approval)
  case humanReplied(HumanReplied)
  case memoryRead(MemoryNote)
  case memoryWritten(MemoryNote)
  case breakerChanged(BreakerChanged)
  case requestForwarded(RequestForwarded)
  case replyChanged(ReplyChanged)
  case unseen(Unseen)
  case runResumed(RunResumed)
  case stop(Stop)
  /// One of those that only pipelines have.
  case pipeline(PipelineEvent)
  /// A type written by a newer version: kept, passed on, changes nothing.
  case unknown(JSONObject)

  /// Reads the data of an event.
  ///
  /// - Throws: ``PayloadError`` where a key that the type promises is missing or of another kind.
  public init(of event: Event) throws(PayloadError) {
    let data = event.data
    switch event.type {
    case .runStarted: self = .runStarted(try RunStarted(decoding: data))
    case .toolsListed: self = .toolsListed(try ToolsListed(decoding: data))
    case .contextBuilt: self = .contextBuilt(try ContextPacket(decoding: data))
    case .modelResult: self = .modelResult(try ModelResult(decoding: data))
    case .decision: self = .decision(try DecisionPayload(decoding: data))
    case .policyDecision: self = .policyDecision(try Verdict(decoding: data))
    case .toolStarted: self = .toolStarted(try ToolStartedPayload(decoding: data))
    case .toolResult: self = .toolResult(try ToolResultPayload(decoding: data))
    case .approval: self = .approval(try Approval(decoding: data))
    case .humanReplied: self = .humanReplied(try HumanReplied(decoding: data))
    case .memoryRead: self = .memoryRead(try MemoryNote(decoding: data))
    case .memoryWritten: self = .memoryWritten(try MemoryNote(decoding: data))
    case .breakerChanged: self = .breakerChanged(try BreakerChanged(decoding: data))
    case .requestForwarded: self = .requestForwarded(try RequestForwarded(decoding: data))
    case .replyChanged: self = .replyChanged(try ReplyChanged(decoding: data))
    case .unseen: self = .unseen(try Unseen(decoding: data))
    case .runResumed: self = .runResumed(try RunResumed(decoding: data))
    case .stop: self = .stop(try Stop(decoding: data))
    default:
      self = try PipelineEvent(type: event.type, data: data).map { .pipeline($0) } ?? .unknown(data)
    }
  }

  /// The type of event that carries this.
  public var type: EventType {
    switch self {
    case .runStarted: .runStarted
    case .toolsListed: .toolsListed
    case .contextBuilt: .contextBuilt
    case .modelResult: .modelResult
    case .decision: .decision
    case .policyDecision: .policyDecision
    case .toolStarted: .toolStarted
    case .toolResult: .toolResult
    case .approval: .approval
    case .humanReplied: .humanReplied
    case .memoryRead: .memoryRead
    case .memoryWritten: .memoryWritten
    case .breakerChanged: .breakerChanged
    case .requestForwarded: .requestForwarded
    case .replyChanged: .replyChanged
    case .unseen: .unseen
    case .runResumed: .runResumed
    case .stop: .stop
    case .pipeline(let event): event.type
    case .unknown: EventType(rawValue: "unknown")
    }
  }

  /// The wire form.
  public var encoded: JSONObject {
    if case .unknown(let data) = self { return data }
    return data?.encoded ?? [:]
  }

  /// The data themselves; `nil` where the type is not known.
  package var data: (any EventData)? {
    switch self {
    case .runStarted(let data): data
    case .toolsListed(let data): data
    case .contextBuilt(let data): data
    case .modelResult(let data): data
    case .decision(let data): data
    case .policyDecision(let data): data
    case .toolStarted(let data): data
    case .toolResult(let data): data
    case .approval(let data): data
    case .humanReplied(let data): data
    case .memoryRead(let data): data
    case .memoryWritten(let data): data
    case .breakerChanged(let data): data
    case .requestForwarded(let data): data
    case .replyChanged(let data): data
    case .unseen(let data): data
    case .runResumed(let data): data
    case .stop(let data): data
    case .pipeline(let event): event.data
    case .unknown: nil
    }
  }
}
