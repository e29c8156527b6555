import AgentTrace

/// What stands between two parts of a run that were lived by two processes.
struct SessionBreak {
  /// What people said while the run stood still, and the `run_resumed` where it went on; nothing where a
  /// fork goes on from a call that its parent left open.
  var events: [Event]
  /// Whether a fork begins there.
  var isFork = false
  /// Whether the run went on behind them.
  var goesOn: Bool { isFork || events.last?.type == .runResumed }

  /// Whether an event may stand there: what people said, and that the run goes on.
  static func mayHold(_ event: Event) -> Bool {
    switch event.type {
    case .approval, .humanReplied, .runResumed: true
    case .toolResult: event.data["by"]?.stringValue != nil
    default: false
    }
  }
}
