import AgentTrace
import TraceReporting

/// The rows of a timeline around the selected event.
struct TimelinePane {
  /// One row.
  struct Row {
    var line: TextLine
    /// The event that it tells of; `nil` for the head of a step.
    var seq: Int?
    /// Whether it is the first of its event.
    var isFirst = true
  }

  private(set) var rows: [Row] = []
  /// The first row of the selected event.
  private(set) var selected = 0

  /// - Parameters:
  ///   - folded: steps that are told in one row each.
  ///   - isBreakpoint: whether an event is one to stop at.
  init(_ cursor: RunCursor, folded: (Int) -> Bool, isBreakpoint: (Event) -> Bool) {
    let digits = max(3, String(cursor.slots.last?.seq ?? 0).count)
    var step: Int?
    for slot in cursor.slots {
      let isNewStep = slot.step != step
      step = slot.step
      if folded(slot.step), slot.step > 0 {
        if isNewStep {
          rows.append(Row(line: TextLine(), seq: slot.seq))
          summary = StepSummary()
        }
        if slot.seq == cursor.seq { selected = rows.count - 1 }
        summary.add(slot)
        rows[rows.count - 1].line = summary.line(slot.step)
        continue
      }
      if isNewStep, slot.step > 0 {
        rows.append(
          Row(line: TextLine("▾ step \(slot.step)", .heading), seq: nil, isFirst: false))
      }
      if slot.seq == cursor.seq { selected = rows.count }
      let mark = Self.mark(slot, slot.event.map(isBreakpoint) ?? false)
      for (index, line) in slot.row.lines(numberColumns: digits, gap: 1).enumerated() {
        let sign = index == 0 ? mark : TextLine.Span(" ")
        rows.append(
          Row(line: TextLine([sign] + line.spans), seq: slot.seq, isFirst: index == 0))
      }
    }
  }

  private var summary = StepSummary()

  /// What catches the eye: a breakpoint, something refused, an error, the stop.
  private static func mark(_ slot: RunCursor.Slot, _ isBreakpoint: Bool) -> TextLine.Span {
    if isBreakpoint { return .init("●", .bad) }
    if slot.type == .stop { return .init("■", slot.row.entries.first?.role) }
    switch slot.row.entries.first?.role {
    case .bad: return .init("✗", .bad)
    case .warning: return .init("!", .warning)
    default: return .init(" ")
    }
  }
}

/// A step in one row: how many events, and what of them matters.
private struct StepSummary {
  private var count = 0
  private var calls: [String] = []
  private var bad: [String] = []

  mutating func add(_ slot: RunCursor.Slot) {
    count += 1
    for entry in slot.row.entries {
      if slot.type == .decision {
        calls.append(entry.label == "call" ? entry.text : "\(entry.label) \(entry.text)")
      }
      if entry.role == .bad || entry.role == .warning { bad.append(entry.label) }
    }
  }

  func line(_ step: Int) -> TextLine {
    TextLine([
      .init("▸ step \(step)", .heading), .init("  \(Figures.count(count, "event"))", .faint),
      .init(bad.isEmpty ? "" : "  " + bad.prefix(3).joined(separator: " "), .bad),
      .init("  " + calls.prefix(3).joined(separator: "; ")),
    ])
  }
}
