/// A set of indexes, kept as the runs that they form: as small as there are gaps in it, however many it
/// holds. What finished of a fan-out of 100,000 elements is mostly one run.
public struct IndexRanges: Sendable, Hashable {
  /// The runs: sorted, apart from each other by at least one index.
  public private(set) var ranges: [ClosedRange<Int>] = []
  /// How many indexes there are.
  public private(set) var count = 0

  /// Nothing.
  public init() {}

  /// Reads the wire form: pairs of the first and the last index of each run, in order.
  ///
  /// - Returns: `nil` where that is something else, or the runs overlap or are out of order.
  public init?(decoding value: JSONValue) {
    guard let pairs = value.arrayValue else { return nil }
    for pair in pairs {
      guard let first = pair[0]?.intValue, let last = pair[1]?.intValue, pair[2] == nil,
        first >= 0, last >= first, last != Int.max, (ranges.last?.upperBound ?? -2) + 1 < first
      else { return nil }
      ranges.append(first...last)
      let (sum, overflows) = count.addingReportingOverflow(last - first + 1)
      guard !overflows else { return nil }
      count = sum
    }
  }

  /// The wire form.
  public var encoded: JSONValue {
    .array(ranges.map { [JSONValue($0.lowerBound), JSONValue($0.upperBound)] })
  }

  /// Whether it holds none.
  public var isEmpty: Bool { ranges.isEmpty }

  /// Whether an index is in it. Logarithmic in the number of runs.
  public func contains(_ index: Int) -> Bool {
    let place = self.place(of: index)
    return place < ranges.count && ranges[place].contains(index)
  }

  /// Adds an index; says whether it was not there. Negative ones are never added.
  @discardableResult
  public mutating func insert(_ index: Int) -> Bool {
    guard index >= 0, index < Int.max - 1 else { return false }
    let place = self.place(of: index)
    guard place >= ranges.count || !ranges[place].contains(index) else { return false }
    count += 1
    let joinsBefore = place > 0 && ranges[place - 1].upperBound + 1 == index
    let joinsBehind = place < ranges.count && ranges[place].lowerBound - 1 == index
    switch (joinsBefore, joinsBehind) {
    case (true, true):
      ranges[place - 1] = ranges[place - 1].lowerBound...ranges[place].upperBound
      ranges.remove(at: place)
    case (true, false): ranges[place - 1] = ranges[place - 1].lowerBound...index
    case (false, true): ranges[place] = index...ranges[place].upperBound
    case (false, false): ranges.insert(index...index, at: place)
    }
    return true
  }

  /// The number of runs that end before an index.
  private func place(of index: Int) -> Int {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < index { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
