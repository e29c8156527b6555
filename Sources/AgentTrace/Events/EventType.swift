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
  /// A log was opened again to go on.
  public static let runResumed = EventType(rawValue: "run_resumed")
  /// The run ended or paused.
  public static let stop = EventType(rawValue: "stop")

  /// Every type of format version 1, in the order a run meets them.
  public static let known: [EventType] = [
    .runStarted, .toolsListed, .contextBuilt, .modelResult, .decision, .policyDecision,
    .toolStarted, .toolResult, .approval, .humanReplied, .memoryRead, .memoryWritten,
    .breakerChanged, .requestForwarded, .replyChanged, .unseen, .runResumed, .stop,
  ]
}

extension EventType: CustomStringConvertible {
  public var description: String { rawValue }
}
