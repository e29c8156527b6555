import AgentTrace
import TraceMatching

/// Judges a positive list as a subsequence: the entries' calls stand in decisions that do not go
/// back, and each has a call of its own. Calls of one decision have no order among themselves.
///
/// Each decision takes as many of the next places as can be matched to its calls. Being further
/// along never hurts, so taking the most at each decision finds an assignment wherever there is one.
struct InOrder {
  /// What the walk over the decisions came to.
  private struct Walk {
    /// The call of each place that was filled, in order.
    var calls: [Int]
    var isWhole: Bool
  }

  private let entries: [CallEntry]
  private let name: String
  private let scope: CallView.Scope
  private let view: CallView
  /// One for each call that is needed: the entry it belongs to.
  private let places: [Int]
  private let candidates: [[Int: Trilean]]

  init(_ entries: [CallEntry], _ name: String, _ scope: CallView.Scope, _ view: CallView) {
    self.entries = entries
    self.name = name
    self.scope = scope
    self.view = view
    candidates = entries.map { entry in
      Dictionary(
        uniqueKeysWithValues: view.candidates(for: entry, scope).map { ($0.index, $0.answer) })
    }
    // More places than calls can never be filled, so no more are made.
    let most = view.calls.count + 1
    var places: [Int] = []
    for (index, entry) in entries.enumerated() where places.count <= most {
      let count = min(entry.times?.minimum ?? 1, most)
      places.append(contentsOf: repeatElement(index, count: count))
    }
    self.places = places
  }

  func outcomes() -> [ExpectationOutcome] {
    var outcomes = [order()]
    for (index, entry) in entries.enumerated() {
      // A maximum in so many words bounds all calls; `times: n` is n places and leaves others free.
      guard let times = entry.times, times.isRange, let maximum = times.maximum else { continue }
      var bound = entry
      bound.times = .init(minimum: 0, maximum: maximum)
      outcomes.append(Counting(bound, "\(name)[\(index)]", scope, view).outcome())
    }
    return outcomes
  }

  private func order() -> ExpectationOutcome {
    let expected = entries.map(\.description).joined(separator: ", then ")
    func outcome(
      _ outcome: Outcome, _ calls: [Int], _ message: String, _ actual: String? = nil
    ) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: name, outcome: outcome, events: evidence(of: calls), message: message,
        expected: CallWording.short(expected),
        actual: actual ?? CallWording.names(seen.lazy.map(\.tool)))
    }
    let certain = walk(unknownToo: false)
    if certain.isWhole { return outcome(.pass, certain.calls, "The calls stand in this order.") }
    let possible = walk(unknownToo: true)
    if possible.isWhole {
      return outcome(
        .unverifiable, possible.calls.filter { !certain.calls.contains($0) },
        "Whether the calls stand in this order cannot be seen.")
    }
    if view.mayHideCalls {
      return outcome(
        .unverifiable, [],
        "Whether the calls stand in this order cannot be seen: \(view.whyHidden).")
    }
    return failure(certain, outcome)
  }

  private func failure(
    _ walk: Walk, _ outcome: (Outcome, [Int], String, String?) -> ExpectationOutcome
  ) -> ExpectationOutcome {
    let entry = places[walk.calls.count]
    let wanted = "Entry \(entry + 1), \(entries[entry]),"
    let last = walk.calls.max { view.calls[$0].outline.seq < view.calls[$1].outline.seq }
    // A call that would do, had it stood later: the smallest proof of a wrong order.
    let earlier = candidates[entry].filter { $0.value == .yes && !walk.calls.contains($0.key) }
      .keys.max()
    if let last, let earlier {
      return outcome(
        .fail, [earlier, last],
        "\(wanted) was called before event \(view.calls[last].outline.seq), not behind it.", nil)
    }
    let near = NearMiss(entries[entry], scope, view, excluding: walk.calls.map { view.calls[$0] })
    var result = outcome(
      .fail, [],
      ["\(wanted) has no call behind the others.", near.message].filter { !$0.isEmpty }
        .joined(separator: " "), nil)
    result.events = near.events
    return result
  }

  private var seen: [Trajectory.Call] {
    view.calls.filter { call in
      entries.contains { $0.speaks(of: call.caller) }
        && (scope == .proposed || view.executed(call) == .yes)
    }
  }

  private func evidence(of calls: [Int]) -> [Int] {
    calls.flatMap { scope == .executed ? view.calls[$0].events : [view.calls[$0].outline.seq] }
  }

  private func walk(unknownToo: Bool) -> Walk {
    var filled: [Int] = []
    var start = 0
    while start < view.calls.count, filled.count < places.count {
      let group = view.calls[start].group
      var end = start
      while end < view.calls.count, view.calls[end].group == group { end += 1 }
      filled += take(from: filled.count, start..<end, unknownToo: unknownToo)
      start = end
    }
    return Walk(calls: filled, isWhole: filled.count == places.count)
  }

  /// The calls of one decision that fill the next places, as many as can be.
  private func take(from first: Int, _ group: Range<Int>, unknownToo: Bool) -> [Int] {
    var matching = BipartiteMatching()
    var taken = 0
    while first + taken < places.count, taken < group.count {
      let known = candidates[places[first + taken]]
      let calls = group.filter { known[$0] == .yes || (unknownToo && known[$0] != nil) }
      guard matching.augment(calls) else {
        matching.removeLast()
        break
      }
      taken += 1
    }
    return matching.call.compactMap { $0 }
  }
}
