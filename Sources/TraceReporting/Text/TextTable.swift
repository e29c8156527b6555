import AgentTrace

/// Rows of text in columns, for a terminal. Untrusted text is made visible and kept to its column.
public struct TextTable: Sendable {
  /// The widest a column gets.
  public static let columnLimit = 60

  private let headings: [String]
  private var rows: [[String]] = []
  /// Columns of figures, which end at the same place.
  private let rightAligned: Set<Int>
  private let keepsLast: Bool

  /// - Parameters:
  ///   - rightAligned: columns of figures, from 0.
  ///   - keepsLast: whether the last column stands whole, whatever the width: paths, to be copied.
  public init(headings: [String], rightAligned: Set<Int> = [], keepsLast: Bool = false) {
    self.keepsLast = keepsLast
    self.headings = headings.map { Visible.line($0, width: Self.columnLimit) }
    self.rightAligned = rightAligned
  }

  /// Appends a row. Cells beyond the headings are left out.
  public mutating func append(_ row: [String]) {
    rows.append(
      row.prefix(headings.count).enumerated().map { column, cell in
        keepsLast && column == headings.count - 1
          ? Visible.line(cell) : Visible.line(cell, width: Self.columnLimit)
      })
  }

  /// The table, headings first; nothing where it has no rows. The last column is cut to what is left
  /// of the width unless it is kept, those before it never.
  public func lines(painter: Painter, width: Int) -> [String] {
    guard !rows.isEmpty else { return [] }
    let widths = headings.indices.map { column in
      rows.reduce(headings[column].count) { max($0, column < $1.count ? $1[column].count : 0) }
    }
    return [painter.paint(line(headings, widths, width), .heading)]
      + rows.map { line($0, widths, width) }
  }

  private func line(_ cells: [String], _ widths: [Int], _ width: Int) -> String {
    var line = ""
    for column in headings.indices {
      let cell = column < cells.count ? cells[column] : ""
      let padding = String(repeating: " ", count: max(0, widths[column] - cell.count))
      if column > 0 { line += "  " }
      if column == headings.count - 1 {
        let left = max(8, width - line.count)
        line += !keepsLast && cell.count > left ? cell.prefix(left - 1) + "…" : cell
      } else {
        line += rightAligned.contains(column) ? padding + cell : cell + padding
      }
    }
    while line.last == " " { line.removeLast() }
    return line
  }
}
