import AgentTrace
import TraceMatching

/// The call that comes nearest to an entry that nothing matches, and what keeps it apart.
struct NearMiss {
  let events: [Int]
  /// One sentence, empty where there is nothing to say.
  let message: String
  let actual: String
  /// Whether there is a call of the right tool.
  let isNamed: Bool

  init(
    _ entry: CallEntry, _ scope: CallView.Scope, _ view: CallView,
    excluding taken: [Trajectory.Call] = []
  ) {
    // By index: copying a call costs more than looking at it.
    let others = taken.isEmpty ? [] : Set(taken.map(\.outline.callId))
    var nearest: (call: Trajectory.Call, reason: (rank: Int, text: String))?
    for index in view.calls.indices
    where entry.tool.matches(view.calls[index].tool)
      && (others.isEmpty || !others.contains(view.calls[index].outline.callId))
    {
      let reason = Self.reason(entry, view.calls[index], scope, view)
      if nearest.map({ reason.rank < $0.reason.rank }) ?? true {
        nearest = (view.calls[index], reason)
      }
    }
    if let (call, reason) = nearest {
      events = scope == .executed ? call.events : [call.outline.seq]
      message = "Nearest is event \(call.outline.seq): \(reason.text)."
      actual = CallWording.of(call)
      isNamed = true
      return
    }
    let seen = view.calls.indices.filter { index in
      entry.speaks(of: view.calls[index])
        && (scope == .proposed || view.executed(view.calls[index]) == .yes)
    }
    events =
      taken.last.map { scope == .executed ? $0.events : [$0.outline.seq] }
      ?? view.trajectory.stop.map { [$0.seq] } ?? []
    message = ""
    isNamed = false
    actual = CallWording.names(seen.lazy.map { view.calls[$0].tool })
  }

  /// A sentence, and behind it what there is to say of the call.
  func told(behind sentence: String) -> String {
    message.isEmpty ? sentence : sentence + " " + message
  }

  /// Why a call of the right tool does not match; the lower the rank, the nearer it is.
  private static func reason(
    _ entry: CallEntry, _ call: Trajectory.Call, _ scope: CallView.Scope, _ view: CallView
  ) -> (rank: Int, text: String) {
    guard entry.speaks(of: call) else {
      return (4, "it was made by \(CallWording.short(call.caller))")
    }
    if scope == .executed, view.executed(call) == .no {
      return (3, "it was not executed (\(CallWording.fate(of: call)))")
    }
    if let input = entry.input,
      case .mismatch(let mismatch) = input.match(
        entry.arguments.map { $0.seen(call.input) } ?? call.input,
        from: { view.values(of: $0, before: call.outline.seq) })
    {
      return (2, "its input differs, \(mismatch)")
    }
    if let statuses = entry.statuses, !statuses.contains(where: { $0 == call.status }) {
      return (1, "it ended as \(CallWording.fate(of: call))")
    }
    if let result = entry.result,
      case .mismatch(let mismatch) = result.match(CallView.resultValue(of: call))
    {
      return (1, "its result differs, \(mismatch)")
    }
    return (0, "another entry needs it, and each entry needs a call of its own")
  }
}
