/// A list of a packet, known by the runs of its items.
protocol ListOfRuns {
  /// As `[ItemRun].add(_:)` makes them.
  var runs: [ItemRun] { get }
}

/// The lists that the next packet most likely goes on from: the last of each conversation, as far as they
/// take turns. Who writes and who reads keep the same.
struct LatestLists<List: ListOfRuns> {
  /// The latest last.
  private(set) var all: [List] = []
  /// So many conversations may take turns.
  private static var limit: Int { 16 }

  /// The list that shares the longest beginning with one of these runs, and how many items that has; `nil`
  /// where none shares any.
  func longest(sharedWith runs: [ItemRun]) -> (list: List, common: Int)? {
    var best: (list: List, common: Int)?
    for known in all.reversed() {
      let common = runs.commonCount(with: known.runs)
      if common > best?.common ?? 0 { best = (known, common) }
    }
    return best
  }

  /// Takes in a list, in the place of the one that it goes on from.
  mutating func keep(_ new: List) {
    let count = new.runs.itemCount
    let before = all.lastIndex { known in
      2 * new.runs.commonCount(with: known.runs) >= min(known.runs.itemCount, count)
    }
    if let before { all.remove(at: before) }
    all.append(new)
    if all.count > Self.limit { all.removeFirst() }
  }
}
