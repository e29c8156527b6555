import AgentTrace
public import TraceReplaying
public import TraceReporting

/// Two runs beside each other, for a terminal: what differs first, then all that differs in two columns.
public struct DiffReport {
  private let painter: Painter
  private let width: Int
  private let showsAll: Bool

  /// Rows that are the same and shown around those that are not.
  private static let context = 2

  /// - Parameters:
  ///   - width: characters of a line at most, no less than 60.
  ///   - showsAll: whether rows that are the same are shown wherever they stand.
  public init(painter: Painter, width: Int, showsAll: Bool = false) {
    self.painter = painter
    self.width = max(60, width)
    self.showsAll = showsAll
  }

  /// The lines of the report.
  public func lines(for diff: RunDiff) -> [String] {
    var lines = head(diff)
    if !diff.isTold {
      lines.append(
        painter.paint("that cannot be told", .warning)
          + (diff.missing.isEmpty
            ? ": nothing differs in what is there, and a log does not hold the whole run"
            : ": the logs of runs that are parts of them are missing"))
    }
    guard let first = diff.first else {
      guard diff.isTold else { return lines + notes(diff) }
      let count = diff.rows.count { $0.kind == .act }
      lines.append(
        painter.paint("the same", .good) + ": \(Figures.count(count, "act"))"
          + ", their results, stop and usage")
      return lines + notes(diff)
    }
    lines += ["", painter.paint("first difference", .heading) + ": " + words(for: first)]
    lines += fields(of: first, limit: 3)
    if first.kind == .start, let act = diff.firstAct {
      lines.append(painter.paint("first in what was done", .heading) + ": " + words(for: act))
      lines += fields(of: act, limit: 3)
    }
    let differing = diff.rows.count(where: \.differs)
    let same = diff.rows.count { $0.kind == .act && !$0.differs }
    lines += [
      "",
      painter.paint("side by side", .heading)
        + ": \(Figures.count(differing, "difference")), \(same) the same",
    ]
    return lines + table(diff) + notes(diff)
  }

  // MARK: Head

  private func head(_ diff: RunDiff) -> [String] {
    let left = facts(diff.left)
    let right = facts(diff.right)
    var lines = [row(" ", painter.paint(cell("A"), .heading), painter.paint("B", .heading))]
    for (a, b) in zip(left, right) { lines.append(row(" ", cell(a), cut(b))) }
    for (name, a, b) in labels(diff) {
      lines.append(row(" ", cell("\(name) \(a ?? "–")"), cut("\(name) \(b ?? "–")")))
    }
    return lines
  }

  private func facts(_ run: ComparedRun) -> [String] {
    let done =
      run.isPipeline
      ? Figures.count(run.acts.count { $0.kind == .task }, "task")
        + (run.calls > 0 ? ", \(Figures.count(run.calls, "call"))" : "")
      : "\(Figures.count(run.steps, "step")), \(Figures.count(run.calls, "call"))"
    return [
      run.path, "run \(run.runId)",
      "\(done), "
        + Figures.duration(microseconds: run.elapsedMicroseconds),
    ]
  }

  /// Names of files and versions that are not the same: they may explain what differs.
  private func labels(_ diff: RunDiff) -> [(String, String?, String?)] {
    var names = diff.left.labels.map(\.name)
    names += diff.right.labels.map(\.name).filter { !names.contains($0) }
    return names.compactMap { name in
      let left = diff.left.labels.first { $0.name == name }?.value
      let right = diff.right.labels.first { $0.name == name }?.value
      if let left, let right, left.hasSameUTF8(as: right) { return nil }
      return left == nil && right == nil
        ? nil : (name, left.map { String($0.prefix(40)) }, right.map { String($0.prefix(40)) })
    }
  }

  private func notes(_ diff: RunDiff) -> [String] {
    diff.notes.isEmpty
      ? [] : [""] + diff.notes.map { painter.paint("note", .warning) + ": " + Visible.line($0) }
  }

  // MARK: The table

  private func table(_ diff: RunDiff) -> [String] {
    var lines: [String] = []
    var hidden = 0
    let isNear = near(diff.rows)
    for (row, isNear) in zip(diff.rows, isNear) {
      // What is the same and no act has nothing to show.
      guard row.differs || row.kind == .act else { continue }
      guard isNear || showsAll else {
        hidden += 1
        continue
      }
      if hidden > 0 { lines.append(gap(hidden)) }
      hidden = 0
      lines += self.lines(of: row)
    }
    if hidden > 0 { lines.append(gap(hidden)) }
    return lines
  }

  private func near(_ rows: [RunDiff.Row]) -> [Bool] {
    var isNear = [Bool](repeating: false, count: rows.count)
    for (index, row) in rows.enumerated() where row.differs {
      for near in max(0, index - Self.context)...min(rows.count - 1, index + Self.context) {
        isNear[near] = true
      }
    }
    return isNear
  }

  private func gap(_ count: Int) -> String { painter.paint("    ⋯ \(count) the same", .faint) }

  private func lines(of row: RunDiff.Row) -> [String] {
    let (left, right) = (row.left.map(summary) ?? "", row.right.map(summary) ?? "")
    switch row.standing {
    case .same where row.togetherOnLeft == nil: return [self.row("=", cell(left), cut(right))]
    case .same, .changed:
      let head = row.kind == .act ? (left, right) : (row.kind.rawValue, row.kind.rawValue)
      var lines = [
        self.row(painter.paint("~", .warning), cell(head.0), cut(head.1))
      ]
      lines += fields(of: row, limit: 20)
      return lines
    case .replaced:
      return [
        self.row(
          painter.paint("~", .warning), painter.paint(cell(left), .bad),
          painter.paint(cut(right), .good))
      ]
    case .left: return [self.row(painter.paint("<", .bad), painter.paint(cell(left), .bad), "")]
    case .right:
      return [self.row(painter.paint(">", .good), cell(""), painter.paint(cut(right), .good))]
    case .movedLeft: return [self.row(painter.paint("<", .warning), cell(left), "(elsewhere in B)")]
    case .movedRight:
      return [self.row(painter.paint(">", .warning), cell("(elsewhere in A)"), cut(right))]
    }
  }

  private func fields(of row: RunDiff.Row, limit: Int) -> [String] {
    var lines: [String] = []
    if let together = row.togetherOnLeft {
      let words = ["made together with the one before", "made after the one before"]
      lines.append(
        self.row(
          " ", cell("    " + words[together ? 0 : 1]), cut("    " + words[together ? 1 : 0])))
    }
    for field in row.fields.prefix(limit) {
      let (left, right, from) = pieces(field)
      let place = from > 0 ? " from byte \(from)" : ""
      lines.append(
        "    " + painter.paint(Visible.line("\(field.path)\(place)", width: width - 4), .faint))
      lines.append(
        self.row(
          " ", painter.paint(cell("    " + text(left)), .bad),
          painter.paint(cut("    " + text(right)), .good)))
    }
    let untold = max(0, row.fields.count - limit) + row.untoldFields
    if untold > 0 { lines.append("    and \(Figures.count(untold, "field")) more") }
    return lines
  }

  /// Each column's share of the line, between the mark and the bar.
  private var room: Int { (width - 5) / 2 }

  private func row(_ mark: String, _ left: String, _ right: String) -> String {
    "\(mark) \(left) │\(right.isEmpty ? "" : " ")\(right)"
  }

  private func cut(_ text: String) -> String { Visible.line(text, width: room) }

  private func cell(_ text: String) -> String {
    let line = cut(text)
    return line + String(repeating: " ", count: max(0, room - line.count))
  }

  // MARK: Words

  /// Of two texts where they begin to differ; of other values the beginning.
  private func pieces(_ field: FieldDifference) -> (JSONValue?, JSONValue?, Int) {
    guard case .string? = field.left, case .string? = field.right else {
      return (field.left, field.right, 0)
    }
    return field.pieces(bytes: max(16, room - 6))
  }

  private func text(_ value: JSONValue?) -> String {
    guard let value else { return "–" }
    return CanonicalJSON.prefix(of: value, limitBytes: 4 * room)
  }

  /// An act on one line.
  private func summary(_ act: ComparedRun.Act) -> String {
    func plain(_ part: String) -> JSONValue? { act.parts.first { $0.name == part }?.value.value }
    let step = "\(act.step)"
    let number =
      act.kind == .task
      ? "    " : String(repeating: " ", count: max(0, 4 - step.count)) + step
    guard act.kind == .call || act.kind == .task else {
      let value = act.parts.first?.value.value
      let said = value?["text"] ?? value
      return "\(number) \(act.name): " + (said?.stringValue ?? text(said))
    }
    let status = plain("result")?["status"]?.stringValue
    let verdict = (plain("verdict")?.arrayValue?.last ?? plain("verdict"))?["status"]?.stringValue
    var words = act.name
    if !act.caller.hasSameUTF8(as: "agent") { words += " by \(act.caller)" }
    if act.parts.contains(where: { $0.name == "invalid" }) { words += " (invalid)" }
    if let verdict, verdict != "allow" { words += " [\(verdict)]" }
    if let status { words += " → \(status)" }
    if let input = plain("input") { words += " " + text(input) }
    return "\(number) \(words)"
  }

  /// What differs in a row, in one sentence.
  private func words(for row: RunDiff.Row) -> String {
    let act = row.left ?? row.right
    let noun = act.map { act in
      switch act.kind {
      case .call: "call of \(act.name)"
      case .task: "task \(act.name)"
      default: act.kind.rawValue
      }
    }
    let words: String
    switch (row.kind, row.standing) {
    case (.start, _): words = "what the runs began with"
    case (.stop, _): words = "how the runs ended"
    case (.usage, _): words = "what the model's calls used"
    case (.act, .replaced):
      words = "another \(row.left?.kind == .call && row.right?.kind == .call ? "call" : "act")"
    case (.act, .left): words = "\(Self.article(noun)) that only A has"
    case (.act, .right): words = "\(Self.article(noun)) that only B has"
    case (.act, .movedLeft), (.act, .movedRight): words = "\(Self.article(noun)) at another place"
    case (.act, _):
      let parts = row.fields.compactMap { $0.path.tokens.first }
      let named = parts.indices.filter { $0 == 0 || parts[$0] != parts[$0 - 1] }.map { parts[$0] }
      let what = named.isEmpty ? "what it was made together with" : named.joined(separator: ", ")
      switch act?.kind {
      case .call?: words = "\(what) of \(Self.article(noun))"
      case .task?: words = "\(what) of \(noun ?? "a task")"
      default: words = "the \(noun ?? "act")"
      }
    }
    return Visible.line(words) + place(row)
  }

  private static func article(_ noun: String?) -> String {
    let noun = noun ?? "act"
    return (noun.first.map("aei".contains) == true ? "an " : "a ") + noun
  }

  private func place(_ row: RunDiff.Row) -> String {
    func place(_ act: ComparedRun.Act?) -> String? {
      act.map { ($0.kind == .task ? "" : "step \($0.step), ") + "event \($0.events.first ?? 0)" }
    }
    let places = [("A", place(row.left)), ("B", place(row.right))].compactMap { name, place in
      place.map { "\(name) \($0)" }
    }
    return places.isEmpty ? "" : painter.paint("  (" + places.joined(separator: "; ") + ")", .faint)
  }
}
