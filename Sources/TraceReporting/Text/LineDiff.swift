import AgentTrace

/// Two texts beside each other, line by line, as a pull request shows them.
public struct LineDiff: Sendable {
  /// One line of it.
  public enum Line: Sendable, Hashable {
    /// It stands in both.
    case same(String)
    /// It stands in the old text alone.
    case removed(String)
    /// It stands in the new text alone.
    case added(String)
    /// So many lines that stand in both are not shown.
    case gap(Int)
  }

  /// The lines that differ, with some that do not around them.
  public let lines: [Line]

  /// Cells of the table of common lines at most; beyond that the middle is shown as replaced whole.
  private static let cellLimit = 4_000_000

  /// - Parameters:
  ///   - old: the lines of the old text; none where there is no old text.
  ///   - new: the lines of the new one.
  ///   - context: lines that are shown around those that differ.
  /// - Complexity: O(lines · lines) where many differ.
  public init(from old: [String], to new: [String], context: Int = 3) {
    let head = zip(old, new).prefix { $0.utf8.elementsEqual($1.utf8) }.count
    let room = min(old.count, new.count) - head
    let tail = zip(old.reversed(), new.reversed()).prefix(room)
      .prefix { $0.utf8.elementsEqual($1.utf8) }.count
    let middle = Self.middle(
      Array(old[head..<(old.count - tail)]), Array(new[head..<(new.count - tail)]))
    let all = old[..<head].map(Line.same) + middle + old[(old.count - tail)...].map(Line.same)
    lines = Self.cut(all, context)
  }

  /// A longest common subsequence, walked from the front; what is removed stands before what is added.
  private static func middle(_ old: [String], _ new: [String]) -> [Line] {
    let stride = new.count + 1
    guard !old.isEmpty, !new.isEmpty, old.count < cellLimit, stride < cellLimit,
      (old.count + 1) * stride <= cellLimit
    else { return old.map(Line.removed) + new.map(Line.added) }
    let (left, right) = (old.map { Array($0.utf8) }, new.map { Array($0.utf8) })
    var table = [Int32](repeating: 0, count: (old.count + 1) * stride)
    for row in old.indices.reversed() {
      for column in new.indices.reversed() {
        table[row * stride + column] =
          left[row] == right[column]
          ? table[(row + 1) * stride + column + 1] + 1
          : max(table[(row + 1) * stride + column], table[row * stride + column + 1])
      }
    }
    var lines: [Line] = []
    var (row, column) = (0, 0)
    while row < old.count || column < new.count {
      if row < old.count, column < new.count, left[row] == right[column] {
        lines.append(.same(old[row]))
        row += 1
        column += 1
      } else if row < old.count,
        column == new.count
          || table[(row + 1) * stride + column] >= table[row * stride + column + 1]
      {
        lines.append(.removed(old[row]))
        row += 1
      } else {
        lines.append(.added(new[column]))
        column += 1
      }
    }
    return lines
  }

  /// Leaves out what is the same, but for some lines around what is not.
  private static func cut(_ lines: [Line], _ context: Int) -> [Line] {
    var isShown = Array(repeating: false, count: lines.count)
    for (index, line) in lines.enumerated() {
      if case .same = line { continue }
      for near in max(0, index - context)..<min(lines.count, index + context + 1) {
        isShown[near] = true
      }
    }
    var cut: [Line] = []
    var hidden = 0
    for (index, line) in lines.enumerated() {
      if isShown[index] {
        if hidden > 0 { cut.append(.gap(hidden)) }
        hidden = 0
        cut.append(line)
      } else {
        hidden += 1
      }
    }
    if hidden > 0, !cut.isEmpty { cut.append(.gap(hidden)) }
    return cut
  }

  /// The lines for a terminal: `-` and `+` before what differs.
  public func painted(_ painter: Painter, width: Int) -> [String] {
    lines.map { line in
      switch line {
      case .same(let text): "    " + Visible.line(text, width: width - 4)
      case .removed(let text): painter.paint("  - " + Visible.line(text, width: width - 4), .bad)
      case .added(let text): painter.paint("  + " + Visible.line(text, width: width - 4), .good)
      case .gap(let count): painter.paint("  ⋯ \(Figures.count(count, "line"))", .faint)
      }
    }
  }
}
