import AgentTrace

/// The actions that a run began and of which nobody knows whether they had their effect, folded from its
/// events.
///
/// An equal call would do twice what may have been done: it is held back, in the run as where another
/// process goes on with it, until a person says what happened.
struct EffectDoubts: Sendable, Hashable {
  /// The calls of the current decision.
  private var calls: [ProposedCall] = []
  /// Tools with their inputs, as ``ProposedCall/actionId`` says them.
  private var actions: Set<String> = []

  /// Whether an equal call was begun before, with an effect that nobody knows.
  func hold(_ call: ProposedCall) -> Bool {
    !actions.isEmpty && actions.contains(call.actionId)
  }

  mutating func take(_ event: Event) {
    switch event.type {
    case .decision:
      calls = (try? DecisionPayload(decoding: event.data))?.decision.calls ?? []
    case .toolResult: take(result: event.data)
    case .approval where event.data["granted"] == true:
      // Who lets it run has been told, and says that it has not happened.
      if !actions.isEmpty, let call = call(event.data) { actions.remove(call.actionId) }
    default: break
    }
  }

  private mutating func take(result data: JSONObject) {
    let isUnknown = data["status"] == "error" && data["effect"] == "unknown"
    guard isUnknown || !actions.isEmpty, data["status"] != "refused", let call = call(data) else {
      return
    }
    if isUnknown { actions.insert(call.actionId) } else { actions.remove(call.actionId) }
  }

  private func call(_ data: JSONObject) -> ProposedCall? {
    guard let callId = data["callId"]?.stringValue else { return nil }
    return calls.first { $0.callId.hasSameUTF8(as: callId) }
  }
}
