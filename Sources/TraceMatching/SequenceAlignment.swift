import AgentTrace

/// Two sequences beside each other, so that as little as possible differs.
///
/// Leaving an item out and putting another in costs less than pairing two that have nothing in common,
/// and more than pairing two of one kind; two that are alike cost less still, and the same nothing.
/// Found as Needleman and Wunsch (1970) do, in the memory of a few rows (Hirschberg, 1975).
public struct SequenceAlignment: Sendable {
  /// What an item is, as numbers that are equal where the items are.
  public struct Item: Sendable, Hashable {
    /// All that counts about it.
    public var whole: Int
    /// The larger part of it: items that share it are alike.
    public var part: Int
    /// Items of different kinds are never paired.
    public var kind: Int

    /// The same `whole` should come with the same `part`, and that with the same `kind`.
    public init(whole: Int, part: Int, kind: Int) {
      self.whole = whole
      self.part = part
      self.kind = kind
    }
  }

  /// One place where the two are beside each other. Indices count from 0.
  public enum Pair: Sendable, Hashable {
    /// The same item, or two of one kind.
    case both(left: Int, right: Int)
    /// An item of the left alone.
    case left(Int)
    /// An item of the right alone.
    case right(Int)
  }

  /// In the order of both sequences.
  public private(set) var pairs: [Pair] = []
  /// Whether the sequences were too long to look for the best way everywhere.
  public private(set) var isRough = false

  /// Cells of the table of costs that are held at once.
  private static let tableLimit = 1_000_000
  private static let gap: Int32 = 100
  /// The same kind with something else about it: less than leaving one out and putting one in.
  private static let change: Int32 = 101
  /// The same but for the smaller part.
  private static let nearChange: Int32 = 20

  private let items: (left: [Item], right: [Item])
  /// Cells that may still be looked at.
  private var budget: Int

  /// - Parameters:
  ///   - left: The sequence that ``Pair`` calls the left one.
  ///   - right: The sequence that is put beside it.
  ///   - limitCells: Pairs of items that are compared at most, beyond those at both ends that are the
  ///     same. Where there are more, items that stand once in each sequence hold the others in place,
  ///     and what stands between two of them is aligned; what is too much even then is paired one after
  ///     the other.
  /// - Complexity: O(left · right) in time, up to twice the limit; O(left + right) in memory and 4 MB.
  public init(_ left: [Item], _ right: [Item], limitCells: Int = 200_000_000) {
    items = (left, right)
    budget = limitCells
    let head = zip(left, right).prefix { $0.whole == $1.whole }.count
    let room = min(left.count, right.count) - head
    let tail = zip(left.reversed(), right.reversed()).prefix(room)
      .prefix { $0.whole == $1.whole }.count
    for index in 0..<head { pairs.append(.both(left: index, right: index)) }
    alignWithinBudget(head..<(left.count - tail), head..<(right.count - tail))
    for index in 0..<tail {
      pairs.append(
        .both(left: left.count - tail + index, right: right.count - tail + index))
    }
  }

  private static func cells(_ rows: Range<Int>, _ columns: Range<Int>) -> Int {
    let (cells, overflow) = (rows.count + 1).multipliedReportingOverflow(by: columns.count + 1)
    return overflow ? .max : cells
  }

  private mutating func alignWithinBudget(_ rows: Range<Int>, _ columns: Range<Int>) {
    guard Self.cells(rows, columns) > budget else { return align(rows, columns) }
    isRough = true
    var (row, column) = (rows.lowerBound, columns.lowerBound)
    for anchor in anchors(rows, columns) + [(rows.upperBound, columns.upperBound)] {
      let between = (row..<anchor.0, column..<anchor.1)
      let cells = Self.cells(between.0, between.1)
      if cells <= budget {
        budget -= cells
        align(between.0, between.1)
      } else {
        pairInOrder(between.0, between.1)
      }
      if anchor.0 < rows.upperBound {
        pairs.append(.both(left: anchor.0, right: anchor.1))
        (row, column) = (anchor.0 + 1, anchor.1 + 1)
      }
    }
  }

  // MARK: The best way

  private func cost(_ row: Int, _ column: Int) -> Int32? {
    let (a, b) = (items.left[row], items.right[column])
    if a.whole == b.whole { return 0 }
    guard a.kind == b.kind else { return nil }
    return a.part == b.part ? Self.nearChange : Self.change
  }

  private mutating func align(_ rows: Range<Int>, _ columns: Range<Int>) {
    if rows.isEmpty || columns.isEmpty {
      pairs += rows.map(Pair.left) + columns.map(Pair.right)
    } else if Self.cells(rows, columns) <= Self.tableLimit {
      alignByTable(rows, columns)
    } else if rows.count == 1 {
      alignOne(rows.lowerBound, columns)
    } else {
      let middle = rows.lowerBound + rows.count / 2
      let ahead = lastRow(rows.lowerBound..<middle, columns)
      let behind = lastRowBackwards(middle..<rows.upperBound, columns)
      var (split, best) = (0, Int32.max)
      for column in ahead.indices where ahead[column] + behind[column] < best {
        (split, best) = (column, ahead[column] + behind[column])
      }
      let column = columns.lowerBound + split
      align(rows.lowerBound..<middle, columns.lowerBound..<column)
      align(middle..<rows.upperBound, column..<columns.upperBound)
    }
  }

  /// One item beside many: at the first place where it costs least.
  private mutating func alignOne(_ row: Int, _ columns: Range<Int>) {
    var (place, best) = (Int?.none, 2 * Self.gap)
    for column in columns {
      if let cost = cost(row, column), cost < best { (place, best) = (column, cost) }
    }
    guard let place else {
      pairs += [.left(row)] + columns.map(Pair.right)
      return
    }
    pairs += (columns.lowerBound..<place).map(Pair.right)
    pairs.append(.both(left: row, right: place))
    pairs += ((place + 1)..<columns.upperBound).map(Pair.right)
  }

  /// What it costs to align all the rows with as many columns as the index says.
  private func lastRow(_ rows: Range<Int>, _ columns: Range<Int>) -> [Int32] {
    var line = (0...columns.count).map { Int32($0) * Self.gap }
    for row in rows {
      var diagonal = line[0]
      line[0] += Self.gap
      for offset in 1...columns.count {
        var best = min(line[offset], line[offset - 1]) + Self.gap
        if let cost = cost(row, columns.lowerBound + offset - 1) {
          best = min(best, diagonal + cost)
        }
        diagonal = line[offset]
        line[offset] = best
      }
    }
    return line
  }

  /// What it costs to align all the rows with the columns from an index on.
  private func lastRowBackwards(_ rows: Range<Int>, _ columns: Range<Int>) -> [Int32] {
    var line = (0...columns.count).map { Int32(columns.count - $0) * Self.gap }
    for row in rows.reversed() {
      var diagonal = line[columns.count]
      line[columns.count] += Self.gap
      for offset in (0..<columns.count).reversed() {
        var best = min(line[offset], line[offset + 1]) + Self.gap
        if let cost = cost(row, columns.lowerBound + offset) { best = min(best, diagonal + cost) }
        diagonal = line[offset]
        line[offset] = best
      }
    }
    return line
  }

  /// The cheapest way through the table of Needleman and Wunsch.
  private mutating func alignByTable(_ rows: Range<Int>, _ columns: Range<Int>) {
    let (height, width) = (rows.count, columns.count)
    // Of what is left behind each place, so that the way can be walked forwards.
    let stride = width + 1
    var table = [Int32](repeating: 0, count: (height + 1) * stride)
    for column in (0..<width).reversed() {
      table[height * stride + column] = Int32(width - column) * Self.gap
    }
    for row in (0..<height).reversed() {
      table[row * stride + width] = Int32(height - row) * Self.gap
      for column in (0..<width).reversed() {
        var best =
          min(table[(row + 1) * stride + column], table[row * stride + column + 1]) + Self.gap
        if let cost = cost(rows.lowerBound + row, columns.lowerBound + column) {
          best = min(best, table[(row + 1) * stride + column + 1] + cost)
        }
        table[row * stride + column] = best
      }
    }
    var (row, column) = (0, 0)
    while row < height || column < width {
      let here = table[row * stride + column]
      if row < height, column < width,
        let cost = cost(rows.lowerBound + row, columns.lowerBound + column),
        here == table[(row + 1) * stride + column + 1] + cost
      {
        pairs.append(.both(left: rows.lowerBound + row, right: columns.lowerBound + column))
        row += 1
        column += 1
      } else if row < height, here == table[(row + 1) * stride + column] + Self.gap {
        pairs.append(.left(rows.lowerBound + row))
        row += 1
      } else {
        pairs.append(.right(columns.lowerBound + column))
        column += 1
      }
    }
  }

  // MARK: Too much for that

  /// Items that stand once in each part and in the same order in both, as many as there are: what
  /// patience sorting finds.
  private func anchors(_ rows: Range<Int>, _ columns: Range<Int>) -> [(Int, Int)] {
    var places: [Int: (count: Int, row: Int)] = [:]
    for row in rows { places[items.left[row].whole, default: (0, row)].count += 1 }
    var columnCounts: [Int: Int] = [:]
    for column in columns { columnCounts[items.right[column].whole, default: 0] += 1 }
    var candidates: [(row: Int, column: Int)] = []
    for column in columns {
      let whole = items.right[column].whole
      if columnCounts[whole] == 1, let place = places[whole], place.count == 1 {
        candidates.append((place.row, column))
      }
    }
    // The longest growing row of rows, by the columns: piles, and what lay on top of the pile before.
    var tops: [Int] = []
    var before = [Int](repeating: -1, count: candidates.count)
    for (index, candidate) in candidates.enumerated() {
      let pile = tops.partitionPoint { candidates[$0].row < candidate.row }
      if pile > 0 { before[index] = tops[pile - 1] }
      if pile == tops.count { tops.append(index) } else { tops[pile] = index }
    }
    var chain: [(Int, Int)] = []
    var index = tops.last ?? -1
    while index >= 0 {
      chain.append((candidates[index].row, candidates[index].column))
      index = before[index]
    }
    return chain.reversed()
  }

  private mutating func pairInOrder(_ rows: Range<Int>, _ columns: Range<Int>) {
    let common = min(rows.count, columns.count)
    for offset in 0..<common {
      let (row, column) = (rows.lowerBound + offset, columns.lowerBound + offset)
      if items.left[row].kind == items.right[column].kind {
        pairs.append(.both(left: row, right: column))
      } else {
        pairs += [.left(row), .right(column)]
      }
    }
    pairs += rows.dropFirst(common).map(Pair.left) + columns.dropFirst(common).map(Pair.right)
  }
}
