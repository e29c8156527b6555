import AgentTrace
import TraceMatching

/// Judges a positive list as a subsequence: the entries' calls stand in decisions that do not go
/// back, and each has a call of its own. Calls of one decision have no order among themselves.
///
/// Where no entry says how many calls at most, each decision takes as many of the next places as can be
/// matched to its calls. Being further along never hurts, so taking the most at each decision finds an
/// assignment wherever there is one. Else no call that such an entry matches may be left over, and
/// ``OrderedWalk`` shares them out.
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
  private let answers: Answers

  /// Which calls match which entries, looked at where it is asked and once: of calls that stand in order only the entry that
  /// is due is asked, and a list as long as the run would else be held against all of the run for each of its entries.
  private final class Answers {
    private let entries: [CallEntry]
    private let scope: CallView.Scope
    private let view: CallView
    private var known: [[Int: Trilean]]
    private var isWhole: [Bool]

    init(_ entries: [CallEntry], _ scope: CallView.Scope, _ view: CallView) {
      (self.entries, self.scope, self.view) = (entries, scope, view)
      known = Array(repeating: [:], count: entries.count)
      isWhole = Array(repeating: false, count: entries.count)
    }

    func answer(_ entry: Int, _ call: Int) -> Trilean {
      if let known = known[entry][call] { return known }
      if isWhole[entry] { return .no }
      let answer = view.isSuch(entries[entry], view.calls[call], scope)
      known[entry][call] = answer
      return answer
    }

    /// The calls that match an entry, and how sure that is.
    func candidates(for entry: Int) -> [Int: Trilean] {
      if !isWhole[entry] {
        known[entry] = Dictionary(
          uniqueKeysWithValues: view.candidates(for: entries[entry], scope).map {
            ($0.index, $0.answer)
          })
        isWhole[entry] = true
      }
      return known[entry]
    }
  }

  private init(
    _ entries: [CallEntry], _ name: String, _ scope: CallView.Scope, _ view: CallView
  ) {
    self.entries = entries
    self.name = name
    self.scope = scope
    self.view = view
    answers = Answers(entries, scope, view)
    // More places than calls can never be filled, so no more are made.
    let most = view.calls.count + 1
    var places: [Int] = []
    for (index, entry) in entries.enumerated() where places.count <= most {
      let count = min(entry.times?.minimum ?? 1, most)
      places.append(contentsOf: repeatElement(index, count: count))
    }
    self.places = places
  }

  /// Whether an entry says how many calls at most, so that none like it may be left over.
  private static func isBounded(_ entry: CallEntry) -> Bool { entry.times?.maximum != nil }

  /// The outcome, wherever those calls stand of which that cannot be seen.
  static func outcome(
    _ entries: [CallEntry], _ name: String, _ scope: CallView.Scope, _ view: CallView
  ) -> ExpectationOutcome {
    let anywhere = CallsAnywhere(view) { call in
      entries.contains { view.isSuch($0, call, scope) != .no }
    }
    return anywhere.outcome { InOrder(entries, name, scope, $0).outcome() }
  }

  private func outcome() -> ExpectationOutcome {
    if entries.contains(where: Self.isBounded) {
      let candidates = entries.indices.map { answers.candidates(for: $0) }
      return shared(walk(unknownToo: false), candidates)
    }
    let certain = walk(unknownToo: false)
    if certain.isWhole { return told(.pass, certain.calls, "The calls stand in this order.") }
    let possible = walk(unknownToo: true)
    if possible.isWhole {
      return told(
        .unverifiable, possible.calls.filter { !certain.calls.contains($0) },
        "Whether the calls stand in this order cannot be seen.")
    }
    if view.mayHideCalls { return hidden }
    return failure(certain)
  }

  private func told(
    _ outcome: Outcome, _ calls: [Int], _ message: String
  ) -> ExpectationOutcome {
    ExpectationOutcome(
      expectation: name, outcome: outcome, events: evidence(of: calls), message: message,
      expected: CallWording.short(entries.map(\.description).joined(separator: ", then ")),
      actual: CallWording.names(seen.lazy.map(\.tool)))
  }

  private var hidden: ExpectationOutcome {
    told(
      .unverifiable, [],
      "Whether the calls stand in this order cannot be seen: \(view.whyHidden).")
  }

  // MARK: Where none may be left over

  /// The calls that some entry matches, by decision.
  ///
  /// - Parameters:
  ///   - candidates: for each entry, the calls that match it, and how sure that is.
  ///   - isNeeding: whether a call that matches a bounded entry so may not be left over.
  ///   - isUsable: whether a call that matches an entry so may be taken.
  private func groups(
    of candidates: [[Int: Trilean]], isNeeding: (Trilean) -> Bool, isUsable: (Trilean) -> Bool
  ) -> [OrderedWalk.Group] {
    let bounded = entries.indices.filter { Self.isBounded(entries[$0]) }
    return [OrderedWalk.Group](view) { index, _ in
      if bounded.contains(where: { candidates[$0][index].map(isNeeding) ?? false }) { return true }
      return candidates.contains { $0[index].map(isUsable) ?? false } ? false : nil
    }
  }

  /// - Parameters:
  ///   - places: the walk that looks only for enough calls.
  ///   - candidates: for each entry, the calls that match it, and how sure that is.
  private func shared(_ places: Walk, _ candidates: [[Int: Trilean]]) -> ExpectationOutcome {
    let sharing = OrderedWalk(entries: entries, candidates: candidates)
    var work = OrderedWalk.workLimit
    if !view.mayHideCalls {
      let sure = groups(of: candidates, isNeeding: { $0 != .no }, isUsable: { $0 == .yes })
      if sharing.walk(sure, unknownToo: false, &work).isWhole, work >= 0 {
        return told(
          .pass, places.calls, "The calls stand in this order, and none like them is left over.")
      }
    }
    let possible = groups(of: candidates, isNeeding: { $0 == .yes }, isUsable: { $0 != .no })
    let end = possible.last.map { view.calls[($0.needing + $0.spare)[0]].outline.seq } ?? -1
    let walk = sharing.walk(
      possible, unknownToo: true, mayEndHidden: view.mayHideCalls(between: end, and: .max), &work)
    guard work >= 0 else {
      return told(.unverifiable, [], "There are too many ways to be tried.")
    }
    if walk.isWhole {
      guard !view.mayHideCalls else { return hidden }
      // What is not known of one call may come out so or so: where the calls stand in order every time, it is no
      // matter how.
      switch inEveryWorld(candidates, &work) {
      case .yes:
        return told(
          .pass, places.calls, "The calls stand in this order, and none like them is left over.")
      case .no:
        let seen = possible.flatMap(\.needing).prefix(1)
        return told(
          .fail, Array(seen),
          "The calls stand in no such order, whatever it is that cannot be seen.")
      case .unknown: break
      }
      let unsure = possible.flatMap { $0.needing + $0.spare }.filter { call in
        candidates.contains { $0[call] == .unknown }
      }
      return told(
        .unverifiable, Array(unsure.prefix(1)),
        "Whether the calls stand in this order, and no other like them, cannot be seen.")
    }
    return failure(walk, possible, places)
  }

  /// How many ways in which what cannot be seen may have been are tried.
  private static let worldLimit = 1 << 10

  /// Whether the calls stand in order whatever became of those of which that cannot be seen; unknown where they
  /// do in some ways only, or where there are too many ways.
  private func inEveryWorld(_ candidates: [[Int: Trilean]], _ work: inout Int) -> Trilean {
    // A call that perhaps was not executed is there for no entry, or for each that it fits.
    var doubtful: [Int] = []
    var cells: [(entry: Int, call: Int)] = []
    for (index, call) in view.calls.enumerated() {
      let isDoubtful = scope == .executed && view.executed(call) == .unknown
      var isCandidate = false
      for entry in entries.indices where candidates[entry][index] == .unknown {
        isCandidate = true
        if !isDoubtful || view.isSuch(entries[entry], call, .proposed) == .unknown {
          cells.append((entry, index))
        }
      }
      if isDoubtful, isCandidate { doubtful.append(index) }
    }
    let count = doubtful.count + cells.count
    guard count < Int.bitWidth - 1, 1 << count <= Self.worldLimit else { return .unknown }
    var found: Trilean?
    for world in 0..<(1 << count) {
      // Putting a way together costs a look at each call.
      work -= view.calls.count * entries.count
      guard work >= 0 else { return .unknown }
      var known = candidates
      for (entry, calls) in known.enumerated() {
        for (call, answer) in calls where answer == .unknown { known[entry][call] = .yes }
      }
      for (bit, cell) in cells.enumerated() where world >> (doubtful.count + bit) & 1 == 0 {
        known[cell.entry][cell.call] = nil
      }
      for (bit, call) in doubtful.enumerated() where world >> bit & 1 == 0 {
        for entry in known.indices { known[entry][call] = nil }
      }
      let sharing = OrderedWalk(entries: entries, candidates: known)
      let groups = groups(of: known, isNeeding: { $0 == .yes }, isUsable: { $0 == .yes })
      let isWhole = Trilean(sharing.walk(groups, unknownToo: false, &work).isWhole)
      guard work >= 0, found == nil || found == isWhole else { return .unknown }
      found = isWhole
    }
    return found ?? .unknown
  }

  private func failure(
    _ walk: OrderedWalk.Result, _ groups: [OrderedWalk.Group], _ places: Walk
  ) -> ExpectationOutcome {
    guard let stuck = walk.stuckAt else {
      if !places.isWhole { return failure(places) }
      let entry = min(walk.farthest.entry, entries.count - 1)
      return lacking(entry, places.calls)
    }
    let calls = groups[stuck].needing
    let names = CallWording.names(calls.lazy.map { view.calls[$0].tool })
    let verb = scope == .executed ? "called" : "proposed"
    let due =
      walk.farthest.entry < entries.count
      ? "entry \(walk.farthest.entry + 1), \(entries[walk.farthest.entry]), is due"
      : "no more such call may come"
    return told(.fail, calls, "\(names) \(calls.count == 1 ? "was" : "were") \(verb) where \(due).")
  }

  // MARK: Failures

  private func failure(_ walk: Walk) -> ExpectationOutcome {
    let entry = places[walk.calls.count]
    let last = walk.calls.max { view.calls[$0].outline.seq < view.calls[$1].outline.seq }
    // A call that would do, had it stood later: the smallest proof of a wrong order.
    let earlier = answers.candidates(for: entry)
      .filter { $0.value == .yes && !walk.calls.contains($0.key) }
      .keys.max()
    if let last, let earlier {
      return told(
        .fail, [earlier, last],
        "Entry \(entry + 1), \(entries[entry]), was called before event "
          + "\(view.calls[last].outline.seq), not behind it.")
    }
    return lacking(entry, walk.calls)
  }

  /// - Parameter calls: those that other entries have.
  private func lacking(_ entry: Int, _ calls: [Int]) -> ExpectationOutcome {
    let near = NearMiss(entries[entry], scope, view, excluding: calls.map { view.calls[$0] })
    var result = told(
      .fail, [],
      ["Entry \(entry + 1), \(entries[entry]), has no call behind the others.", near.message]
        .filter { !$0.isEmpty }.joined(separator: " "))
    result.events = near.events
    return result
  }

  private var seen: [Trajectory.Call] {
    view.calls.filter { call in
      entries.contains { $0.speaks(of: call) }
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
      let entry = places[first + taken]
      let calls = group.filter { call in
        let answer = answers.answer(entry, call)
        return answer == .yes || unknownToo && answer == .unknown
      }
      guard matching.augment(calls) else {
        matching.removeLast()
        break
      }
      taken += 1
    }
    return matching.call.compactMap { $0 }
  }
}
