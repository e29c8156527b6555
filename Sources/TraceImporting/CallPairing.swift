import AgentTrace

/// Finds the call that a result belongs to: by position, as ids may be missing or repeated.
///
/// A caller's results answer the calls of its latest decision, in order. Where an id says clearly
/// otherwise (one open call of that decision has it, and no other call does) the id decides, since
/// interfaces let parallel results come back in any order.
struct CallPairing {
  /// A call that waits for its result.
  struct OpenCall: Hashable {
    var callId: String
    var tool: String
    var step: Int
    var providerCallId: String?
  }

  private struct Turn {
    var calls: [OpenCall?]
    /// Everything before it is answered.
    var first = 0
    /// Where a call stands by its id's UTF-8; -1 for an id that several calls have.
    var indexByID: [[UInt8]: Int] = [:]
  }

  private var turns: [String: Turn] = [:]

  /// A new decision of a caller: results from here on are its own. `nil` is the agent.
  mutating func begin(_ calls: [OpenCall], caller: String?) {
    var turn = Turn(calls: calls)
    for (index, call) in calls.enumerated() {
      guard let id = call.providerCallId else { continue }
      turn.indexByID[Array(id.utf8), default: index] =
        turn.indexByID[Array(id.utf8)] == nil ? index : -1
    }
    turns[caller ?? ""] = turn
  }

  /// Takes the call that a result answers; `nil` where none is open.
  mutating func take(caller: String?, providerCallId: String?) -> OpenCall? {
    guard var turn = turns[caller ?? ""] else { return nil }
    defer { turns[caller ?? ""] = turn }
    if let id = providerCallId, let index = turn.indexByID[Array(id.utf8)], index >= 0,
      let call = turn.calls[index]
    {
      turn.calls[index] = nil
      return call
    }
    while turn.first < turn.calls.count {
      defer { turn.first += 1 }
      if let call = turn.calls[turn.first] {
        turn.calls[turn.first] = nil
        return call
      }
    }
    return nil
  }
}

extension CallPairing {
  /// Whether every call has a result, but those of the last message: there the run ended.
  static func isWhole(_ messages: [ParsedMessage]) -> Bool {
    // Callers are the agent and a simulated user.
    var open: [(caller: String?, count: Int)] = []
    for (index, message) in messages.enumerated() {
      let place = open.firstIndex { $0.caller == message.caller }
      if !message.calls.isEmpty {
        if let place, open[place].count > 0 { return false }
        if index == messages.count - 1 { return open.allSatisfy { $0.count == 0 } }
        if let place { open.remove(at: place) }
        open.append((message.caller, message.calls.count))
      } else if message.result != nil, let place {
        open[place].count = max(0, open[place].count - 1)
      }
    }
    return open.allSatisfy { $0.count == 0 }
  }
}
