import AgentTrace
import TraceMatching

/// Judges a positive list as the whole of what was executed: in order, and no other call.
///
/// Every certain call needs a place; see ``OrderedWalk``.
struct ExactOrder {
  private let entries: [CallEntry]
  private let name: String
  private let view: CallView
  private let candidates: [[Int: Trilean]]
  private let walk: OrderedWalk
  /// Executed calls need a place; those of which nobody knows whether they ran may have one.
  private let groups: [OrderedWalk.Group]

  private init(_ entries: [CallEntry], _ name: String, _ view: CallView) {
    self.entries = entries
    self.name = name
    self.view = view
    candidates = entries.map { entry in
      Dictionary(
        uniqueKeysWithValues: view.candidates(for: entry, .executed).map { ($0.index, $0.answer) })
    }
    walk = OrderedWalk(entries: entries, candidates: candidates)
    groups = [OrderedWalk.Group](view) { _, call in
      let executed = view.executed(call)
      return executed != .no && Self.isSpokenOf(call, entries) ? executed == .yes : nil
    }
  }

  // MARK: The outcome

  /// The outcome, wherever those calls stand of which that cannot be seen.
  static func outcome(
    _ entries: [CallEntry], _ name: String, _ view: CallView
  ) -> ExpectationOutcome {
    let anywhere = CallsAnywhere(view) { view.executed($0) != .no && isSpokenOf($0, entries) }
    return anywhere.outcome { ExactOrder(entries, name, $0).outcome() }
  }

  /// Whether a call is by one of those whom the entries speak of; without entries, by any but a simulated user.
  private static func isSpokenOf(_ call: Trajectory.Call, _ entries: [CallEntry]) -> Bool {
    entries.isEmpty
      ? !call.outline.isOfSimulatedUser
      : entries.contains { $0.speaks(of: call) }
  }

  private func outcome() -> ExpectationOutcome {
    let expected =
      entries.isEmpty
      ? "no call" : entries.map(\.description).joined(separator: ", then ") + ", and no other call"
    func outcome(
      _ outcome: Outcome, _ events: [Int], _ message: String
    ) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: name, outcome: outcome, events: events, message: message,
        expected: CallWording.short(expected), actual: CallWording.names(executed.lazy.map(\.tool)))
    }
    var work = OrderedWalk.workLimit
    // For certain only where nothing is unsure: then there is nothing to spare.
    let certain = walk.walk(groups.map(\.certain), unknownToo: false, &work)
    let hidden = view.mayHideCalls
    let isSure = groups.allSatisfy { $0.spare.isEmpty }
    if certain.isWhole, isSure, !hidden, work >= 0 {
      return outcome(
        .pass, executed.flatMap(\.events),
        entries.isEmpty ? "No call was executed." : "These calls were executed, and no other.")
    }
    let end = groups.last.map { view.calls[($0.needing + $0.spare)[0]].outline.seq } ?? -1
    let possible = walk.walk(
      groups, unknownToo: true, mayEndHidden: view.mayHideCalls(between: end, and: .max), &work)
    guard work >= 0 else {
      return outcome(.unverifiable, [], "There are too many ways to be tried.")
    }
    if possible.isWhole {
      if !hidden, holdsWhateverRan(&work) {
        return outcome(
          .pass, executed.flatMap(\.events),
          "These calls were executed, and no other, whichever of those ran of which that cannot be seen."
        )
      }
      let unsure = groups.flatMap(\.spare).first ?? firstUnknown
      return outcome(
        .unverifiable, hidden ? [] : unsure.map { view.calls[$0].events } ?? [],
        "Whether these calls were executed, and no other, cannot be seen"
          + (hidden ? ": \(view.whyHidden)." : "."))
    }
    return failure(possible, outcome)
  }

  /// How many calls of which nobody knows whether they ran may be taken as run or not, each by itself.
  private static let doubtLimit = 10

  /// Whether the calls are the whole, and in order, whichever ran of those of which that cannot be seen.
  private func holdsWhateverRan(_ work: inout Int) -> Bool {
    let doubtful = groups.flatMap(\.spare)
    guard !doubtful.isEmpty, doubtful.count <= Self.doubtLimit else { return false }
    var known = candidates
    for (index, entry) in entries.enumerated() {
      for call in doubtful where known[index][call] != nil {
        known[index][call] = view.isSuch(entry, view.calls[call], .proposed)
      }
    }
    let walk = OrderedWalk(entries: entries, candidates: known)
    for way in 0..<(1 << doubtful.count) {
      let ran = Set(doubtful.enumerated().filter { way >> $0.offset & 1 == 1 }.map(\.element))
      let groups = groups.map {
        OrderedWalk.Group(needing: $0.needing + $0.spare.filter(ran.contains), spare: [])
      }.filter { !$0.needing.isEmpty }
      guard walk.walk(groups, unknownToo: false, &work).isWhole, work >= 0 else { return false }
    }
    return true
  }

  private func failure(
    _ walk: OrderedWalk.Result, _ outcome: (Outcome, [Int], String) -> ExpectationOutcome
  ) -> ExpectationOutcome {
    if let stray = stray {
      let call = view.calls[stray]
      return outcome(
        .fail, call.events, "A call was executed that no entry matches: \(CallWording.of(call)).")
    }
    if let stuck = walk.stuckAt {
      let calls = groups[stuck].needing.map { view.calls[$0] }
      let next = walk.farthest.entry
      let due =
        next < entries.count ? "entry \(next + 1), \(entries[next]), is due" : "no call is due"
      return outcome(
        .fail, calls.flatMap(\.events),
        "\(CallWording.names(calls.lazy.map(\.tool))) \(calls.count == 1 ? "was" : "were") executed where \(due)."
      )
    }
    let missing = min(walk.farthest.entry, entries.count - 1)
    let near = NearMiss(entries[missing], .executed, view, excluding: executed)
    return outcome(
      .fail, near.events,
      ["Entry \(missing + 1), \(entries[missing]), has too few calls.", near.message]
        .filter { !$0.isEmpty }.joined(separator: " "))
  }

  private var executed: [Trajectory.Call] { groups.flatMap(\.needing).map { view.calls[$0] } }

  /// The first executed call that no entry can match.
  private var stray: Int? {
    groups.lazy.flatMap(\.needing).first { call in candidates.allSatisfy { $0[call] == nil } }
  }

  /// The first executed call whose match is not certain.
  private var firstUnknown: Int? {
    groups.lazy.flatMap(\.needing).first { call in
      candidates.allSatisfy { $0[call] != .yes }
    }
  }
}

extension OrderedWalk.Group {
  /// The group without the calls of which nobody knows.
  fileprivate var certain: Self { Self(needing: needing, spare: []) }
}
