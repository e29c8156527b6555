import AgentTrace

/// The tool errors in a row as their results are recorded, folded from a run's events.
///
/// The state counts them in call order, once a call's turn has come: that says how a decision has ended,
/// not whether more of its calls may begin meanwhile. So a row is counted on within each decision, from
/// where the state stood before it, and stays noted whatever is recorded behind it.
struct ErrorRow: Sendable {
  /// How many in a row end the run.
  private let limit: Int
  /// The calls of the current decision.
  private var calls: [String] = []
  private var count = 0
  /// The tool whose error was the last that may be, since the last decision; `nil` while there is none.
  private(set) var reachedBy: String?
  /// The tools of which a call has failed since the last decision, in the order of their first errors.
  private(set) var failed: [String] = []

  init(limit: Int) { self.limit = limit }

  /// Takes in an event that was applied to the state.
  mutating func take(_ event: Event, leaving state: AgentState) {
    switch event.type {
    case .decision:
      guard let payload = try? DecisionPayload(decoding: event.data), !payload.isTold else {
        return
      }
      calls = payload.decision.calls.map(\.callId)
      count = state.counters.toolErrorsInARow
      reachedBy = nil
      failed = []
    case .toolResult where event.data["executedBy"] == nil: take(result: event.data)
    default: break
    }
  }

  private mutating func take(result data: JSONObject) {
    guard let callId = data["callId"]?.stringValue,
      calls.contains(where: { $0.hasSameUTF8(as: callId) })
    else { return }
    switch data["status"]?.stringValue {
    case "error":
      // What a log claims may be more than can be added.
      count = max(count, count &+ 1)
      guard let tool = data["tool"]?.stringValue else { return }
      if !failed.contains(where: { $0.hasSameUTF8(as: tool) }) { failed.append(tool) }
      if count >= limit { reachedBy = reachedBy ?? tool }
    case "ok": count = 0
    default: break  // A refused call says nothing about the tools.
    }
  }
}
