public import AgentTrace

/// What stands between two parts of a run that were lived by two processes.
public struct SessionBreak: Sendable, Hashable {
  /// What people said while the run stood still, and the `run_resumed` where it went on.
  public var events: [Event]
  /// Whether the run went on behind them.
  public var isResumed: Bool { events.last?.type == .runResumed }

  /// Whether an event may stand there: what people said, and that the run goes on.
  static func mayHold(_ event: Event) -> Bool {
    switch event.type {
    case .approval, .humanReplied, .runResumed: true
    case .toolResult: event.data["by"]?.stringValue != nil
    default: false
    }
  }
}
