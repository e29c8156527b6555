/// The calls of a run beside those of the accepted one, so that as few as possible differ.
struct CallAlignment {
  /// One place where the two are beside each other. Indices count calls from 0.
  enum Pair: Equatable {
    /// The same call, or one of the same tool that differs.
    case both(accepted: Int, actual: Int)
    /// An accepted call that was not made.
    case missing(Int)
    /// A call that was not accepted.
    case added(Int)
  }

  /// In the order of the calls.
  private(set) var pairs: [Pair] = []
  /// Whether there were too many calls to look for the best way.
  private(set) var isRough = false

  /// Cells of the table of costs at most.
  private static let cellLimit = 4_000_000
  private static let gap: Int32 = 100
  /// The same tool with something else about it: less than leaving one out and putting one in.
  private static let change: Int32 = 101

  init(_ accepted: [AcceptedCall], _ actual: [AcceptedCall]) {
    var numbers = Numbers()
    let left = accepted.map { numbers.number(of: $0) }
    let right = actual.map { numbers.number(of: $0) }
    let head = zip(left, right).prefix { $0.call == $1.call }.count
    let room = min(left.count, right.count) - head
    let tail = zip(left.reversed(), right.reversed()).prefix(room).prefix { $0.call == $1.call }
      .count
    for index in 0..<head { pairs.append(.both(accepted: index, actual: index)) }
    align(left, head..<(left.count - tail), right, head..<(right.count - tail))
    for index in 0..<tail {
      pairs.append(
        .both(accepted: left.count - tail + index, actual: right.count - tail + index))
    }
  }

  /// Numbers in place of calls and tools, so that comparing them is cheap.
  private struct Numbers {
    typealias Number = (call: Int, tool: Int)
    private var known: [[UInt8]: Int] = [:]

    mutating func number(of call: AcceptedCall) -> Number {
      (number(of: call.key), number(of: Array("\(call.tool)\n\(call.caller)".utf8) + [0]))
    }

    private mutating func number(of key: [UInt8]) -> Int {
      if let number = known[key] { return number }
      known[key] = known.count
      return known.count - 1
    }
  }

  /// The cheapest way through the table of Needleman and Wunsch (1970).
  private mutating func align(
    _ left: [Numbers.Number], _ rows: Range<Int>, _ right: [Numbers.Number], _ columns: Range<Int>
  ) {
    let (height, width) = (rows.count, columns.count)
    guard height < Self.cellLimit, width < Self.cellLimit,
      (height + 1) * (width + 1) <= Self.cellLimit
    else {
      isRough = true
      pairs += rows.map(Pair.missing) + columns.map(Pair.added)
      return
    }
    func cost(_ row: Int, _ column: Int) -> Int32? {
      let (a, b) = (left[rows.lowerBound + row], right[columns.lowerBound + column])
      return a.call == b.call ? 0 : a.tool == b.tool ? Self.change : nil
    }
    // Of what is left behind each place, so that the way can be walked forwards.
    let stride = width + 1
    var table = [Int32](repeating: 0, count: (height + 1) * stride)
    for column in descending(width) {
      table[height * stride + column] = Int32(width - column) * Self.gap
    }
    for row in descending(height) {
      table[row * stride + width] = Int32(height - row) * Self.gap
      for column in descending(width) {
        var best =
          min(table[(row + 1) * stride + column], table[row * stride + column + 1]) + Self.gap
        if let cost = cost(row, column) {
          best = min(best, table[(row + 1) * stride + column + 1] + cost)
        }
        table[row * stride + column] = best
      }
    }
    var (row, column) = (0, 0)
    while row < height || column < width {
      let here = table[row * stride + column]
      if row < height, column < width, let cost = cost(row, column),
        here == table[(row + 1) * stride + column + 1] + cost
      {
        pairs.append(.both(accepted: rows.lowerBound + row, actual: columns.lowerBound + column))
        row += 1
        column += 1
      } else if row < height, here == table[(row + 1) * stride + column] + Self.gap {
        pairs.append(.missing(rows.lowerBound + row))
        row += 1
      } else {
        pairs.append(.added(columns.lowerBound + column))
        column += 1
      }
    }
  }
}

/// The numbers below a count, the largest first.
private func descending(_ count: Int) -> ReversedCollection<Range<Int>> { (0..<count).reversed() }
