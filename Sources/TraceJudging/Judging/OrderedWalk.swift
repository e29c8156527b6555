import AgentTrace
import TraceMatching

/// Shares the calls of a run out to the entries of a list, in order: each entry gets as many as it may
/// have, and certain calls may not be left over. Calls of one decision have no order among themselves.
///
/// The calls of each decision fill a run of the places that come next. How far each decision can
/// get is kept as a set of positions; whether its calls can fill a run of places is a matching that
/// covers both sides' needs, and there is one wherever each side alone can be covered (Mendelsohn
/// and Dulmage 1958).
struct OrderedWalk {
  /// How far along the entries: how many calls the entry has had.
  struct Position: Hashable, Comparable {
    var entry: Int
    var count: Int

    static func < (left: Position, right: Position) -> Bool {
      (left.entry, left.count) < (right.entry, right.count)
    }
  }

  /// The calls of one decision that matter.
  struct Group {
    /// Those that an entry must take.
    var needing: [Int]
    /// Those that an entry may take.
    var spare: [Int]
    /// Whether other calls, which may be any, may stand between the decision before and this one.
    var mayFollowHidden = false
  }

  /// What the walk over the decisions came to.
  struct Result {
    var isWhole: Bool
    /// The first decision whose calls fit nowhere.
    var stuckAt: Int?
    /// The farthest position reached before that.
    var farthest: Position
  }

  /// Steps after which a walk gives up.
  static let workLimit = 2_000_000

  let entries: [CallEntry]
  /// For each entry, the calls that match it, and how sure that is.
  let candidates: [[Int: Trilean]]

  static func minimum(of entry: CallEntry) -> Int { entry.times?.minimum ?? 1 }

  static func maximum(of entry: CallEntry) -> Int {
    entry.times.map { $0.maximum ?? .max } ?? 1
  }

  /// Walks over the decisions, in order.
  ///
  /// - Parameters:
  ///   - unknownToo: whether a call may go to an entry that it perhaps matches.
  ///   - mayEndHidden: whether other calls, which may be any, may stand behind the last decision.
  ///   - work: the steps that are left; below 0 the result says nothing.
  func walk(
    _ groups: [Group], unknownToo: Bool, mayEndHidden: Bool = false, _ work: inout Int
  ) -> Result {
    var positions: Set<Position> = [normalized(Position(entry: 0, count: 0))]
    for (number, group) in groups.enumerated() {
      if group.mayFollowHidden {
        positions = withHidden(positions, calls: groups.count(from: number), &work)
      }
      var next: Set<Position> = []
      for position in positions.sorted() {
        next.formUnion(advance(from: position, over: group, unknownToo: unknownToo, &work))
      }
      let farthest = positions.max() ?? Position(entry: 0, count: 0)
      if next.isEmpty { return Result(isWhole: false, stuckAt: number, farthest: farthest) }
      positions = next
    }
    return Result(
      isWhole: mayEndHidden || positions.contains(where: isEnd), stuckAt: nil,
      farthest: positions.max() ?? Position(entry: 0, count: 0))
  }

  /// Every position that hidden calls may lead to: they fill any entry as far as it goes. Of an entry that needs
  /// many, only those positions matter from which the calls to come could be enough.
  private func withHidden(
    _ positions: Set<Position>, calls: Int, _ work: inout Int
  ) -> Set<Position> {
    var reached = positions
    var farthestBack: [Int: Int] = [:]
    for position in positions {
      farthestBack[position.entry] = min(farthestBack[position.entry] ?? .max, position.count)
    }
    guard let first = farthestBack.keys.min() else { return reached }
    for entry in first...max(first, entries.count) {
      guard entry < entries.count else {
        reached.insert(Position(entry: entry, count: 0))
        break
      }
      let minimum = Self.minimum(of: entries[entry])
      let from = entry == first ? farthestBack[entry] ?? 0 : 0
      for count in max(from, minimum - calls)...max(from, minimum) {
        work -= 1
        guard work >= 0 else { return reached }
        reached.insert(normalized(Position(entry: entry, count: count)))
      }
    }
    return reached
  }

  /// A full entry counts as the start of the next; what one without a limit has had beyond its need is
  /// no matter.
  private func normalized(_ position: Position) -> Position {
    var position = position
    while position.entry < entries.count,
      position.count >= Self.maximum(of: entries[position.entry])
    {
      position = Position(entry: position.entry + 1, count: 0)
    }
    if position.entry < entries.count, entries[position.entry].times?.maximum == nil {
      position.count = min(position.count, Self.minimum(of: entries[position.entry]))
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
    let calls = group.needing + group.spare
    var found: [Position] = []
    // Nothing is taken where no call of the decision has to be.
    if group.needing.isEmpty { found.append(start) }
    // What the entries between must have, and what they may have beyond that.
    var (needed, optional): ([Int], [Int]) = ([], [])
    var (entry, had) = (start.entry, start.count)
    while entry < entries.count {
      let most = min(Self.maximum(of: entries[entry]) - had, calls.count)
      for taken in stride(from: 1, through: most, by: 1) {
        work -= 1 + calls.count
        guard work >= 0, needed.count + taken <= calls.count else { break }
        let lefts = needed + [Int](repeating: entry, count: taken)
        if lefts.count + optional.count >= group.needing.count,
          fits(lefts, optional, group.needing, calls, unknownToo, &work)
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

  /// Whether the calls can be given to places so that every needed place has one, and every call that
  /// needs one has a place.
  private func fits(
    _ needed: [Int], _ optional: [Int], _ needing: [Int], _ calls: [Int], _ unknownToo: Bool,
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
    for call in needing {
      work -= places.count
      guard byCall.augment(places.indices.filter { takes(places[$0], call) }) else { return false }
    }
    return true
  }
}

extension [OrderedWalk.Group] {
  /// The calls of a run that matter, by their decisions.
  ///
  /// - Parameter needs: whether an entry must take a call; `nil` for one that does not matter.
  init(_ view: CallView, needs: (Int, Trajectory.Call) -> Bool?) {
    self = []
    var (last, seq): (Int?, Int) = (nil, -1)
    for (index, call) in view.calls.enumerated() {
      guard let needs = needs(index, call) else { continue }
      if last != call.group {
        let mayFollowHidden = view.mayHideCalls(between: seq, and: call.outline.seq)
        append(OrderedWalk.Group(needing: [], spare: [], mayFollowHidden: mayFollowHidden))
      }
      (last, seq) = (call.group, call.outline.seq)
      if needs {
        self[count - 1].needing.append(index)
      } else {
        self[count - 1].spare.append(index)
      }
    }
  }

  /// How many calls the groups from one on have.
  fileprivate func count(from first: Int) -> Int {
    self[first...].reduce(0) { $0 + $1.needing.count + $1.spare.count }
  }
}
