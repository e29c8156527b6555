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
