/// A run of list items by their numbers.
struct ItemRun: Equatable, Sendable {
  var first: Int
  var count: Int

  /// The number behind the last.
  var end: Int { first + count }

  /// As a log writes it.
  var text: String { "[\(first),\(count)]" }
}

extension [ItemRun] {
  /// Takes in items that come next in a list; together with the run before them where they follow on it.
  mutating func add(_ run: ItemRun) {
    if let last = indices.last, self[last].end == run.first {
      self[last].count += run.count
    } else {
      append(run)
    }
  }

  /// How many items they are.
  var itemCount: Int { reduce(0) { $0 + $1.count } }

  /// How many items two lists have in common at their beginnings; both as ``add(_:)`` makes them.
  func commonCount(with other: [ItemRun]) -> Int {
    var common = 0
    for (run, otherRun) in zip(self, other) {
      guard run.first == otherRun.first else { break }
      common += Swift.min(run.count, otherRun.count)
      guard run.count == otherRun.count else { break }
    }
    return common
  }

  /// The same numbers, each once, in the order in which they grow.
  var sorted: [ItemRun] {
    var isSorted = true
    for index in indices.dropFirst() where self[index - 1].end > self[index].first {
      isSorted = false
      break
    }
    if isSorted { return self }
    var result: [ItemRun] = []
    for run in sorted(by: { $0.first < $1.first }) {
      guard let last = result.indices.last, run.first <= result[last].end else {
        result.append(run)
        continue
      }
      result[last].count = Swift.max(result[last].end, run.end) - result[last].first
    }
    return result
  }

  /// The numbers that others do not have. Both must be ``sorted``.
  func subtracting(_ others: [ItemRun]) -> [ItemRun] {
    var result: [ItemRun] = []
    var index = 0
    for run in self {
      var first = run.first
      while index < others.count, others[index].end <= first { index += 1 }
      var next = index
      while first < run.end {
        guard next < others.count, others[next].first < run.end else {
          result.append(ItemRun(first: first, count: run.end - first))
          break
        }
        if others[next].first > first {
          result.append(ItemRun(first: first, count: others[next].first - first))
        }
        first = Swift.max(first, others[next].end)
        next += 1
      }
    }
    return result
  }
}

/// A place in a list, by the runs of its items.
struct RunPlace {
  private let runs: [ItemRun]
  private var index = 0
  private var offset = 0
  /// So many items stand before it.
  private(set) var position = 0

  /// The beginning.
  init(of runs: [ItemRun]) {
    self.runs = runs
    // Behind runs of none.
    skip(0)
  }

  /// The place behind so many items; `nil` where it is the end, or behind it.
  init?(of runs: [ItemRun], at position: Int) {
    self.init(of: runs)
    skip(position)
    guard self.position == position, number != nil else { return nil }
  }

  /// The first place from a position on at which an item stands; `nil` where it does not.
  ///
  /// - Complexity: O(runs).
  init?(of runs: [ItemRun], at position: Int, orBehindWhereIs number: Int?) {
    guard let number else { return nil }
    self.init(of: runs, at: position)
    while let here = self.number {
      if (here..<here + left).contains(number) {
        skip(number - here)
        return
      }
      skip(left)
    }
    return nil
  }

  /// The number of the item that stands here; `nil` at the end.
  var number: Int? { index < runs.count ? runs[index].first + offset : nil }

  /// How many items of the run are left, the one that stands here among them.
  var left: Int { index < runs.count ? runs[index].count - offset : 0 }

  /// The run that it stands in; before the end only.
  var run: ItemRun { runs[index] }

  /// Whether no other run follows.
  var isInLastRun: Bool { index + 1 == runs.count }

  /// Goes on by so many items, or to the end.
  mutating func skip(_ count: Int) {
    var count = count
    while index < runs.count, count >= left {
      count -= left
      position += left
      (index, offset) = (index + 1, 0)
    }
    guard index < runs.count else { return }
    position += count
    offset += count
  }

}
