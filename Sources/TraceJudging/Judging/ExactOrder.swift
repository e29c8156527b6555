import AgentTrace
import TraceMatching

/// Judges a positive list as the whole of what was executed: in order, and no other call.
///
/// The calls of each decision fill a run of the places that come next. How far each decision can
/// get is kept as a set of positions; whether its calls can fill a run of places is a matching that
/// covers both sides' needs, and there is one wherever each side alone can be covered (Mendelsohn
/// and Dulmage 1958).
struct ExactOrder {
  /// How far along the entries: how many calls the entry has had.
  private struct Position: Hashable, Comparable {
    var entry: Int
    var count: Int

    static func < (left: Position, right: Position) -> Bool {
      (left.entry, left.count) < (right.entry, right.count)
    }
  }

  /// The calls of one decision that matter.
  private struct Group {
    var certain: [Int]
    /// Those of which nobody knows whether they ran.
    var unsure: [Int]
  }

  private static let workLimit = 2_000_000

  private let entries: [CallEntry]
  private let name: String
  private let view: CallView
  private let candidates: [[Int: Trilean]]
  private let groups: [Group]

  init(_ entries: [CallEntry], _ name: String, _ view: CallView) {
    self.entries = entries
    self.name = name
    self.view = view
    candidates = entries.map { entry in
      Dictionary(
        uniqueKeysWithValues: view.candidates(for: entry, .executed).map { ($0.index, $0.answer) })
    }
    groups = Self.groups(entries, view)
  }

  /// The executed calls by those whom the entries speak of; without entries, by all but a simulated
  /// user.
  private static func groups(_ entries: [CallEntry], _ view: CallView) -> [Group] {
    func isSpokenOf(_ caller: String) -> Bool {
      entries.isEmpty
        ? !caller.hasSameUTF8(as: CallEntry.simulatedUser)
        : entries.contains { $0.speaks(of: caller) }
    }
    var groups: [Group] = []
    var last: Int?
    for (index, call) in view.calls.enumerated() {
      let executed = view.executed(call)
      guard executed != .no, isSpokenOf(call.caller) else {
        continue
      }
      if last != call.group { groups.append(Group(certain: [], unsure: [])) }
      last = call.group
      if executed == .yes {
        groups[groups.count - 1].certain.append(index)
      } else {
        groups[groups.count - 1].unsure.append(index)
      }
    }
    return groups
  }

  // MARK: The outcome

  func outcome() -> ExpectationOutcome {
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
    var work = Self.workLimit
    let certain = walk(unknownToo: false, &work)
    let hidden = view.mayHideCalls
    let isSure = groups.allSatisfy { $0.unsure.isEmpty }
    if certain.isWhole, isSure, !hidden, work >= 0 {
      return outcome(
        .pass, executed.flatMap(\.events),
        entries.isEmpty ? "No call was executed." : "These calls were executed, and no other.")
    }
    let possible = walk(unknownToo: true, &work)
    guard work >= 0 else {
      return outcome(.unverifiable, [], "There are too many ways to be tried.")
    }
    if hidden ? couldBeWhole(possible) : possible.isWhole {
      let unsure = groups.flatMap(\.unsure).first ?? firstUnknown
      return outcome(
        .unverifiable, hidden ? [] : unsure.map { view.calls[$0].events } ?? [],
        "Whether these calls were executed, and no other, cannot be seen"
          + (hidden ? ": \(view.whyHidden)." : "."))
    }
    return failure(possible, outcome)
  }

  private func failure(
    _ walk: Walk, _ outcome: (Outcome, [Int], String) -> ExpectationOutcome
  ) -> ExpectationOutcome {
    if let stray = stray {
      let call = view.calls[stray]
      return outcome(
        .fail, call.events, "A call was executed that no entry matches: \(CallWording.of(call)).")
    }
    if let stuck = walk.stuckAt {
      let calls = groups[stuck].certain.map { view.calls[$0] }
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

  private var executed: [Trajectory.Call] { groups.flatMap(\.certain).map { view.calls[$0] } }

  /// The first executed call that no entry can match.
  private var stray: Int? {
    groups.lazy.flatMap(\.certain).first { call in candidates.allSatisfy { $0[call] == nil } }
  }

  /// The first executed call whose match is not certain.
  private var firstUnknown: Int? {
    groups.lazy.flatMap(\.certain).first { call in
      candidates.allSatisfy { $0[call] != .yes }
    }
  }

  /// Whether hidden calls could make the list whole. Exact where they can only stand behind the
  /// calls that are seen; else it errs on the side of yes.
  private func couldBeWhole(_ walk: Walk) -> Bool {
    if view.hidesOnlyBehind { return walk.stuckAt == nil }
    let most = entries.reduce(0) { sum, entry in
      let (total, overflows) = sum.addingReportingOverflow(Self.maximum(of: entry))
      return overflows ? .max : total
    }
    return stray == nil && executed.count <= most
  }

  // MARK: The walk

  /// What the walk over the decisions came to.
  private struct Walk {
    var isWhole: Bool
    /// The first decision whose calls fit nowhere.
    var stuckAt: Int?
    /// The farthest position reached before that.
    var farthest: Position
  }

  private static func minimum(of entry: CallEntry) -> Int { entry.times?.minimum ?? 1 }

  private static func maximum(of entry: CallEntry) -> Int {
    entry.times.map { $0.maximum ?? .max } ?? 1
  }

  private func walk(unknownToo: Bool, _ work: inout Int) -> Walk {
    var positions: Set<Position> = [normalized(Position(entry: 0, count: 0))]
    for (number, group) in groups.enumerated() {
      var next: Set<Position> = []
      for position in positions.sorted() {
        next.formUnion(advance(from: position, over: group, unknownToo: unknownToo, &work))
      }
      let farthest = positions.max() ?? Position(entry: 0, count: 0)
      if next.isEmpty { return Walk(isWhole: false, stuckAt: number, farthest: farthest) }
      positions = next
    }
    return Walk(
      isWhole: positions.contains(where: isEnd), stuckAt: nil,
      farthest: positions.max() ?? Position(entry: 0, count: 0))
  }

  /// A full entry counts as the start of the next.
  private func normalized(_ position: Position) -> Position {
    var position = position
    while position.entry < entries.count,
      position.count >= Self.maximum(of: entries[position.entry])
    {
      position = Position(entry: position.entry + 1, count: 0)
    }
    return position
  }

  /// Whether every entry from here on may go without further calls.
  private func isEnd(_ position: Position) -> Bool {
    guard position.entry < entries.count else { return true }
    return position.count >= Self.minimum(of: entries[position.entry])
      && entries[(position.entry + 1)...].allSatisfy { Self.minimum(of: $0) == 0 }
  }

  /// Every position that a decision's calls can lead to.
  private func advance(
    from start: Position, over group: Group, unknownToo: Bool, _ work: inout Int
  ) -> [Position] {
    let calls = group.certain + (unknownToo ? group.unsure : [])
    var found: [Position] = []
    // Nothing is taken where no call of the decision is sure to have run.
    if group.certain.isEmpty { found.append(start) }
    // What the entries between must have, and what they may have beyond that.
    var (needed, optional): ([Int], [Int]) = ([], [])
    var (entry, had) = (start.entry, start.count)
    while entry < entries.count {
      let most = min(Self.maximum(of: entries[entry]) - had, calls.count)
      for taken in stride(from: 1, through: most, by: 1) {
        work -= 1 + calls.count
        guard work >= 0, needed.count + taken <= calls.count else { break }
        let lefts = needed + [Int](repeating: entry, count: taken)
        if lefts.count + optional.count >= group.certain.count,
          fits(lefts, optional, group.certain, calls, unknownToo, &work)
        {
          found.append(normalized(Position(entry: entry, count: had + taken)))
        }
      }
      work -= calls.count
      // Going past this entry: it must have what it needs.
      let owed = max(0, Self.minimum(of: entries[entry]) - had)
      guard owed + needed.count <= calls.count, work >= 0 else { break }
      needed += [Int](repeating: entry, count: owed)
      optional += [Int](repeating: entry, count: max(0, most - owed))
      entry += 1
      had = 0
    }
    return found
  }

  /// Whether the calls can be given to places so that every needed place has one, and every certain
  /// call has a place.
  private func fits(
    _ needed: [Int], _ optional: [Int], _ certain: [Int], _ calls: [Int], _ unknownToo: Bool,
    _ work: inout Int
  ) -> Bool {
    func takes(_ entry: Int, _ call: Int) -> Bool {
      candidates[entry][call].map { $0 == .yes || unknownToo } ?? false
    }
    var byPlace = BipartiteMatching()
    for entry in needed {
      work -= calls.count
      guard byPlace.augment(calls.filter { takes(entry, $0) }) else { return false }
    }
    let places = needed + optional
    var byCall = BipartiteMatching()
    for call in certain {
      work -= places.count
      guard byCall.augment(places.indices.filter { takes(places[$0], call) }) else { return false }
    }
    return true
  }
}
