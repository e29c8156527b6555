import AgentTrace

/// The tool errors in a row as their results are recorded, folded from a run's events.
///
/// The state counts them in call order, once a call's turn has come: that says how a decision has ended,
/// not whether more of its calls may begin meanwhile. So a row is counted on within each decision, from
/// where the state stood before it, and stays noted whatever is recorded behind it.
///
/// What a signal cut off says nothing about its tool: a run that goes on behind the signal does not end for it.
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
  /// What became of ``calls``; `nil` for those that have yet to end.
  private var ends: [End?] = []
  /// ``cutOff`` before the current decision.
  private var cutOffBefore = 0

  private enum End {
    case ok
    case cutOff
    case other
  }

  /// How many of the errors in a row, as the state counts them, are of calls that a signal cut off.
  var cutOff: Int {
    var count = cutOffBefore
    for end in ends {
      switch end {
      case .ok?: count = 0
      case .cutOff?: count += 1
      case .other?: break
      case nil: return count
      }
    }
    return count
  }

  init(limit: Int) { self.limit = limit }

  /// Whether a signal cut a call of the current decision off.
  func isCutOff(_ callId: String) -> Bool {
    calls.firstIndex { $0.hasSameUTF8(as: callId) }.map { ends[$0] == .cutOff } ?? false
  }

  /// Takes in an event that was applied to the state.
  mutating func take(_ event: Event, leaving state: AgentState) {
    switch event.type {
    case .decision:
      guard let payload = try? DecisionPayload(decoding: event.data), !payload.isTold else {
        return
      }
      cutOffBefore = cutOff
      calls = payload.decision.calls.map(\.callId)
      ends = calls.map { _ in nil }
      count = state.counters.toolErrorsInARow - cutOffBefore
      reachedBy = nil
      failed = []
    case .toolResult where event.data["executedBy"] == nil: take(result: event.data)
    default: break
    }
  }

  private mutating func take(result data: JSONObject) {
    guard let callId = data["callId"]?.stringValue,
      let index = calls.firstIndex(where: { $0.hasSameUTF8(as: callId) })
    else { return }
    ends[index] = .other
    switch data["status"]?.stringValue {
    case "error" where data["signal"] != nil: ends[index] = .cutOff
    case "error":
      // What a log claims may be more than can be added.
      count = max(count, count &+ 1)
      guard let tool = data["tool"]?.stringValue else { return }
      if !failed.contains(where: { $0.hasSameUTF8(as: tool) }) { failed.append(tool) }
      if count >= limit { reachedBy = reachedBy ?? tool }
    case "ok": (count, ends[index]) = (0, .ok)
    default: break  // A refused call says nothing about the tools.
    }
  }
}
