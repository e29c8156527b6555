public import AgentTrace

/// What judging looks at beyond calls, stop and answer. A reader passes over what is not needed.
public struct Facts: OptionSet, Sendable, Hashable {
  /// One bit for each.
  public let rawValue: Int

  /// Each bit is one of the facts below.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Verdicts, approvals, replies, decisions, and the steps and times they stand at.
  public static let timeline = Facts(rawValue: 1)
  /// Tokens and cost of model calls.
  public static let usage = Facts(rawValue: 2)
  /// What went into each model call.
  public static let contexts = Facts(rawValue: 4)
  /// Notes that were read and written.
  public static let memory = Facts(rawValue: 8)
  /// The state of the run, folded from every event.
  public static let state = Facts(rawValue: 16)
  /// What became of the tasks of a pipeline.
  public static let tasks = Facts(rawValue: 32)
  /// What each of them returned.
  public static let taskOutputs = Facts(rawValue: 64)
  /// What runs below the root did, each by itself.
  public static let runsBelow = Facts(rawValue: 128)

  /// The types of events that must be read whole; `nil` for all of them, and empty where what a
  /// trajectory needs is enough.
  public var eventTypes: Set<EventType>? {
    if contains(.state) || contains(.runsBelow) { return nil }
    if isEmpty { return [] }
    var types = Trajectory.types.union([
      .approval, .humanReplied, .taskAnswered, TreeEvents.ownType,
    ])
    if contains(.usage) { types.insert(.modelResult) }
    if contains(.contexts) { types.insert(.contextBuilt) }
    if contains(.memory) { types.formUnion([.memoryRead, .memoryWritten]) }
    if contains(.tasks) { types.formUnion(EventType.ofPipelines) }
    return types
  }
}
