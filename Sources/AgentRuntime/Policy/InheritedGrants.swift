import AgentTrace

/// What people granted in the run that a fork came from, folded from the fork's events.
///
/// It covers what was recorded there and is taken over. A call that the fork makes itself needs a word of its own:
/// else one approval would let as many calls run as there are forks behind it.
struct InheritedGrants: Sendable {
  /// The last event that both share; `nil` for a run that is no fork.
  private var shared: Int?
  private var lastSeq = -1
  private var granted: Set<String> = []

  /// The calls that they were given to, by their ids; `nil` for a run that is no fork, and up to the last event that
  /// it shares.
  var calls: Set<String>? {
    guard let shared, lastSeq >= shared else { return nil }
    return granted
  }

  mutating func take(_ event: Event) {
    lastSeq = event.seq
    switch event.type {
    case .runStarted where event.data["parent"]?["relation"] == "fork":
      shared = event.data["parent"]?["seq"]?.intValue
    case .approval:
      guard let shared, let callId = event.data["callId"]?.stringValue else { return }
      if event.seq <= shared { granted.insert(callId) } else { granted.remove(callId) }
    default: break
    }
  }
}
