import AgentTrace
import TraceReporting

extension EventRow {
  /// The row's lines as a timeline has them: number, word, text, call.
  func lines(numberColumns: Int = 5, gap: Int = 2) -> [TextLine] {
    let space = String(repeating: " ", count: gap)
    return
      entries.enumerated().map { index, entry in
        let number = index == 0 ? String(seq) : ""
        let label = entry.label + String(repeating: " ", count: max(0, 9 - entry.label.count))
        return TextLine([
          .init(
            String(repeating: " ", count: max(0, numberColumns - number.count)) + number, .faint),
          .init(space + label, entry.role), .init(space + entry.text),
          .init(entry.tail.isEmpty ? "" : "  " + entry.tail, .faint),
        ])
      }
  }
}
