import AgentTrace
public import TraceReporting

/// What a terminal shows, row by row.
public struct Frame: Sendable, Equatable {
  /// One row: a text at its left, and perhaps one beside it.
  struct Row: Sendable, Equatable {
    var left = TextLine()
    /// Begins behind the columns of the left pane.
    var right: TextLine?
    /// Shown the other way round: dark on light where all else is light on dark.
    var isReversed = false
  }

  /// Columns of the terminal.
  public let columns: Int
  /// Columns of the left pane, where there are two.
  var leftColumns: Int
  var rows: [Row] = []
  /// Where somebody types; `nil` where nobody does.
  var typing: (row: Int, column: Int)?

  /// The rows as plain text, the panes in their columns: for tests.
  public var plain: [String] {
    rows.map { row in
      guard let right = row.right else { return row.left.plain }
      let padding = max(0, leftColumns - row.left.columns)
      return row.left.plain + String(repeating: " ", count: padding) + "│ " + right.plain
    }
  }

  /// What to send to a terminal that shows another frame: the rows that differ, each at its own place
  /// (ECMA-48 CUP, EL, SGR), so that no width that a terminal sees otherwise moves what is beside it.
  ///
  /// - Parameter previous: `nil` where nobody knows what it shows.
  public func painted(since previous: Frame?, by painter: Painter) -> String {
    var text = ""
    let isSameSize = previous?.columns == columns && previous?.rows.count == rows.count
    let old = isSameSize ? previous : nil
    if old == nil { text += "\u{1b}[0m\u{1b}[2J" }
    for (index, row) in rows.enumerated() {
      if let old, old.rows[index] == row, old.leftColumns == leftColumns { continue }
      text += "\u{1b}[\(index + 1);1H\u{1b}[0m\u{1b}[2K"
      if row.isReversed { text += "\u{1b}[7m" }
      text += row.isReversed ? row.left.plain : row.left.painted(by: painter)
      if row.isReversed {
        let room = row.right == nil ? columns : leftColumns
        text += String(repeating: " ", count: max(0, room - row.left.columns)) + "\u{1b}[0m"
      }
      guard let right = row.right else { continue }
      text += "\u{1b}[\(index + 1);\(leftColumns + 1)H\u{1b}[K"
      text += painter.paint("│", .faint) + " " + right.painted(by: painter)
    }
    if let typing {
      text += "\u{1b}[\(typing.row + 1);\(typing.column + 1)H\u{1b}[?25h"
    } else {
      text += "\u{1b}[?25l"
    }
    return text
  }

  public static func == (left: Frame, right: Frame) -> Bool {
    left.columns == right.columns && left.leftColumns == right.leftColumns
      && left.rows == right.rows && left.typing?.row == right.typing?.row
      && left.typing?.column == right.typing?.column
  }
}
