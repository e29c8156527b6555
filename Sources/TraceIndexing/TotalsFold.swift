import AgentTrace

/// What a run used, folded from the few events that count: as ``AgentState`` does it, without the
/// digests that a state keeps, and in constant time for each event.
struct TotalsFold {
  private(set) var totals = Totals()
  private var pending: [Pending] = []
  /// Calls of `pending` by id; of those with the same id the first that has not settled.
  private var places: [ExactText: Int] = [:]
  /// How many of `pending` have settled: the first ones.
  private var settled = 0

  private struct Pending {
    var callId: ExactText
    /// The next call with the same id.
    var next: Int?
    var isStarted = false
    var hasResult = false
  }

  /// Takes in a decision; `nil` where it cannot be read.
  mutating func apply(_ decision: Decision?, step: Int) {
    pending = []
    places = [:]
    settled = 0
    switch decision {
    case .tool(let calls) where !calls.isEmpty:
      pending = calls.map { Pending(callId: ExactText($0.callId)) }
      for place in pending.indices.reversed() {
        pending[place].next = places[pending[place].callId]
        places[pending[place].callId] = place
      }
    case .invalid, nil: break
    default: totals.steps = max(totals.steps, step)
    }
  }

  /// Takes in the reply of a model, or that there was none.
  mutating func apply(modelResult data: JSONObject) {
    // What carries the id of a pending call is an event of that call, as for a state.
    if let callId = data["callId"]?.stringValue, places[ExactText(callId)] != nil { return }
    totals.count(modelResult: data)
  }

  /// Takes in that a call was started or has its result.
  mutating func apply(toCall event: Event) {
    guard let callId = event.data["callId"]?.stringValue, let place = places[ExactText(callId)]
    else { return }
    if event.type == .toolStarted {
      if !pending[place].isStarted { totals.toolCalls += 1 }
      pending[place].isStarted = true
      return
    }
    let status = event.data["status"]?.stringValue
    if !pending[place].isStarted, ["ok", "error", "returned"].contains(status) {
      totals.toolCalls += 1
    }
    pending[place].hasResult = true
    settle(step: event.step)
  }

  /// Lets results in whose turn has come; the last of them completes the step.
  private mutating func settle(step: Int) {
    while settled < pending.count, pending[settled].hasResult {
      places[pending[settled].callId] = pending[settled].next
      settled += 1
      if settled == pending.count { totals.steps = max(totals.steps, step) }
    }
  }
}
