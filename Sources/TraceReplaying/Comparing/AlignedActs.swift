import AgentTrace
import TraceMatching

/// One run's acts with the keys that they are compared by, acts of one group in an order of their own.
struct Side {
  struct Keyed {
    var act: ComparedRun.Act
    /// All that counts.
    var whole: [UInt8]
    /// What it is known by: the first part.
    var part: [UInt8]
    /// What may stand beside it.
    var kind: [UInt8]
  }

  let acts: [Keyed]

  /// - Parameter leftOut: names of parts that do not count.
  init(_ run: ComparedRun, leftOut: Set<String>) {
    let keyed = run.acts.map { act in
      var act = act
      act.parts.removeAll { leftOut.contains($0.name) }
      let kind = Array("\(act.kind.rawValue)\n\(act.name)\n\(act.caller)".utf8)
      var whole = kind + [0]
      for part in act.parts { whole += Array(part.name.utf8) + [0] + part.value.digest.bytes }
      // By what was asked of the tool, or said; never by what became of it.
      let first =
        act.parts.first { !["verdict", "approval", "result"].contains($0.name) }
        .map { $0.value.digest.bytes } ?? []
      return Keyed(act: act, whole: whole, part: kind + [0] + first, kind: kind)
    }
    acts = keyed.sorted { left, right in
      if left.act.group != right.act.group { return left.act.group < right.act.group }
      if left.part != right.part { return left.part.lexicographicallyPrecedes(right.part) }
      return left.whole.lexicographicallyPrecedes(right.whole)
    }
  }

  /// Any total order over what counts does: it makes the comparison symmetric.
  func precedes(_ other: Side) -> Bool {
    acts.lexicographicallyPrecedes(other.acts) { $0.whole.lexicographicallyPrecedes($1.whole) }
  }
}

/// The rows of two runs' acts.
struct AlignedActs {
  private(set) var rows: [RunDiff.Row] = []
  let isRough: Bool

  /// A place in the alignment: one side, or both.
  private struct Place {
    var left: Int?
    var right: Int?
    var isMove = false
  }

  private let left: [Side.Keyed]
  private let right: [Side.Keyed]
  private var places: [Place] = []

  init(_ left: Side, _ right: Side) {
    self.left = left.acts
    self.right = right.acts
    var numbers: [[UInt8]: Int] = [:]
    func number(_ key: [UInt8]) -> Int {
      if let number = numbers[key] { return number }
      numbers[key] = numbers.count
      return numbers.count - 1
    }
    func item(_ act: Side.Keyed) -> SequenceAlignment.Item {
      SequenceAlignment.Item(
        whole: number(act.whole), part: number(act.part), kind: number(act.kind))
    }
    let alignment = SequenceAlignment(self.left.map(item), self.right.map(item))
    isRough = alignment.isRough
    places = alignment.pairs.map { pair in
      switch pair {
      case .both(let left, let right): Place(left: left, right: right)
      case .left(let index): Place(left: index)
      case .right(let index): Place(right: index)
      }
    }
    pairWithinGroups()
    findMoves()
    pairReplacements()
    makeRows()
  }

  // MARK: What the alignment leaves open

  /// Acts of one group have no order, so that one of them may not be beside the one that took its place
  /// where that sorts elsewhere: of two groups that belong together, what is left over and of one kind
  /// is one thing that differs.
  private mutating func pairWithinGroups() {
    var partners: [Int: Int] = [:]
    for place in places {
      if let left = place.left, let right = place.right {
        let group = self.left[left].act.group
        if partners[group] == nil { partners[group] = self.right[right].act.group }
      }
    }
    // The same with another outcome before one of the same tool, and that before any other.
    let keys: [(Side.Keyed) -> [UInt8]] = [{ $0.part }, { $0.kind }, { _ in [] }]
    for key in keys {
      merge { this, left in
        guard let partner = partners[this.left[left].act.group] else { return nil }
        return Array("\(partner)\n".utf8) + key(this.left[left])
      } right: { this, right in
        Array("\(this.right[right].act.group)\n".utf8) + key(this.right[right])
      }
    }
  }

  /// Puts one-sided places with the same key together, where the first of the two stands.
  private mutating func merge(
    left leftKey: (AlignedActs, Int) -> [UInt8]?, right rightKey: (AlignedActs, Int) -> [UInt8]?
  ) {
    var waiting: [[UInt8]: [Int]] = [:]
    for (index, place) in places.enumerated().reversed() {
      if place.left == nil, let right = place.right, let key = rightKey(self, right) {
        waiting[key, default: []].append(index)
      }
    }
    guard !waiting.isEmpty else { return }
    var isGone = [Bool](repeating: false, count: places.count)
    for index in places.indices {
      guard let left = places[index].left, places[index].right == nil,
        let key = leftKey(self, left), let other = waiting[key]?.popLast()
      else { continue }
      let (first, second) = (min(index, other), max(index, other))
      places[first] = Place(left: left, right: places[other].right)
      isGone[second] = true
    }
    places = zip(places, isGone).compactMap { $1 ? nil : $0 }
  }

  /// The same thing on both sides at different places.
  private mutating func findMoves() {
    var waiting: [[UInt8]: [Int]] = [:]
    for (index, place) in places.enumerated().reversed() {
      if place.left == nil, let right = place.right {
        waiting[self.right[right].part, default: []].append(index)
      }
    }
    for index in places.indices {
      guard let left = places[index].left, places[index].right == nil,
        let other = waiting[self.left[left].part]?.popLast()
      else { continue }
      places[index].isMove = true
      places[other].isMove = true
    }
  }

  /// Between two places that both sides have, what one has stands beside what the other has.
  private mutating func pairReplacements() {
    var paired: [Place] = []
    var (lefts, rights): ([Int], [Int]) = ([], [])
    func flush() {
      let common = min(lefts.count, rights.count)
      paired += (0..<common).map { Place(left: lefts[$0], right: rights[$0]) }
      paired += lefts.dropFirst(common).map { Place(left: $0) }
      paired += rights.dropFirst(common).map { Place(right: $0) }
      (lefts, rights) = ([], [])
    }
    for place in places {
      switch (place.left, place.right) {
      case (let left?, nil) where !place.isMove: lefts.append(left)
      case (nil, let right?) where !place.isMove: rights.append(right)
      default:
        flush()
        paired.append(place)
      }
    }
    flush()
    places = paired
  }

  // MARK: Rows

  private mutating func makeRows() {
    var before: (left: Int, right: Int)?
    for place in places {
      var row = RunDiff.Row(
        kind: .act, standing: .same, left: place.left.map { left[$0].act },
        right: place.right.map { right[$0].act })
      switch (place.left, place.right) {
      case (let old?, let new?) where left[old].kind == right[new].kind:
        compare(left[old].act, right[new].act, &row)
        let groups = (left[old].act.group, right[new].act.group)
        if let before {
          let (onLeft, onRight) = (groups.0 == before.left, groups.1 == before.right)
          if onLeft != onRight { row.togetherOnLeft = onLeft }
        }
        before = (groups.0, groups.1)
      case (_?, _?): row.standing = .replaced
      case (_?, nil): row.standing = place.isMove ? .movedLeft : .left
      default: row.standing = place.isMove ? .movedRight : .right
      }
      rows.append(row)
    }
  }

  private func compare(
    _ left: ComparedRun.Act, _ right: ComparedRun.Act, _ row: inout RunDiff.Row
  ) {
    let names = left.parts.map(\.name)
    let all = names + right.parts.map(\.name).filter { !names.contains($0) }
    for name in all.sorted(by: { ComparedRun.Reading.rank($0) < ComparedRun.Reading.rank($1) }) {
      let (fields, untold) = FieldDifference.all(
        left.parts.first { $0.name == name }?.value, right.parts.first { $0.name == name }?.value,
        at: name)
      row.fields += fields
      row.untoldFields += untold
    }
    if !row.fields.isEmpty { row.standing = .changed }
  }

  /// The same with sides exchanged.
  var mirrored: AlignedActs {
    var mirrored = self
    mirrored.rows = rows.map { row in
      var row = row
      (row.left, row.right) = (row.right, row.left)
      row.fields = row.fields.map(\.mirrored)
      row.togetherOnLeft = row.togetherOnLeft.map { !$0 }
      row.standing =
        switch row.standing {
        case .left: .right
        case .right: .left
        case .movedLeft: .movedRight
        case .movedRight: .movedLeft
        default: row.standing
        }
      return row
    }
    return mirrored
  }
}
