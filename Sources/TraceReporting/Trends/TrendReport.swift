import AgentTrace
public import TraceJudging

/// What became of cases over runs of their suite, for a terminal.
public struct TrendReport {
  private let painter: Painter
  private let width: Int
  private let sparkline: Sparkline
  /// Runs of a case in one sparkline at most: the newest.
  private static let mostMarks = 60

  /// - Parameters:
  ///   - width: characters of a line.
  ///   - isASCII: whether sparklines are made of characters of ASCII alone.
  public init(painter: Painter, width: Int = 120, isASCII: Bool = false) {
    self.painter = painter
    self.width = max(60, width)
    sparkline = Sparkline(painter: painter, isASCII: isASCII)
  }

  // MARK: All cases

  /// A line for each case, what needs a look first; for each of its branches, where there are several.
  public func lines(for trends: [CaseTrend]) -> [String] {
    guard !trends.isEmpty else { return [] }
    let marks = min(Self.mostMarks, max(12, width / 4))
    let branch = trends[0].branch
    let hasBranches = trends.contains { $0.branch != branch }
    var headings = ["CASE", "TREND", "STATE", "FLIPS", "NEWEST", "FAILS SINCE"]
    if hasBranches { headings.insert("BRANCH", at: 1) }
    let rows = trends.map { row($0, marks: marks, hasBranch: hasBranches) }
    let widths = headings.indices.map { column in
      rows.reduce(headings[column].count) { max($0, $1[column].width) }
    }
    let heading = zip(headings, widths).map { Cell($0, painter: painter, role: .heading, $1) }
    return ([heading] + rows).map { Self.line($0, widths) } + [
      "", painter.paint(sparkline.legend, .faint),
    ]
  }

  /// A text with its colours, and how many columns it takes.
  private struct Cell {
    var text: String
    var width: Int

    init(_ text: String, painter: Painter, role: Painter.Role? = nil, _ limit: Int) {
      let visible = Visible.line(text, width: limit)
      width = CellWidth.of(visible)
      self.text = role.map { painter.paint(visible, $0) } ?? visible
    }

    init(painted: String, width: Int) {
      text = painted
      self.width = width
    }
  }

  private func row(_ trend: CaseTrend, marks: Int, hasBranch: Bool) -> [Cell] {
    func cell(_ text: String, _ role: Painter.Role? = nil, _ limit: Int = 60) -> Cell {
      Cell(text, painter: painter, role: role, limit)
    }
    let shown = trend.points.suffix(marks)
    let branch = hasBranch ? [cell(trend.branch ?? "–", nil, 40)] : []
    return [cell(trend.caseId, trend.isInNewestRun ? nil : .faint)] + branch + [
      Cell(painted: sparkline.outcomes(shown), width: shown.count),
      cell(trend.state.rawValue, trend.state.role),
      cell(trend.flipRate.map(Self.percent) ?? "–"),
      cell(
        "\(trend.newest.record.outcome.rawValue) \(Self.day(trend.newest.run))",
        trend.newest.record.outcome.role),
      cell(trend.firstFailing.map { Self.place($0.run) } ?? ""),
    ]
  }

  private static func line(_ cells: [Cell], _ widths: [Int]) -> String {
    var line = ""
    for (index, cell) in cells.enumerated() {
      if index > 0 { line += "  " }
      line += cell.text
      guard index < cells.count - 1, cells[(index + 1)...].contains(where: { $0.width > 0 }) else {
        break
      }
      line += String(repeating: " ", count: max(0, widths[index] - cell.width))
    }
    return line
  }

  // MARK: One case

  /// A row for each run of the suite on the trend's branch that has the case, newest first; then its
  /// sparklines.
  ///
  /// - Parameter namesBranch: whether the branch is told beside the case: where there are others.
  public func lines(for trend: CaseTrend, namesBranch: Bool = false) -> [String] {
    var lines = [headline(trend, namesBranch: namesBranch), ""]
    let isLive = trend.points.contains { $0.record.isLive }
    var headings = ["BEGAN", "COMMIT", "BRANCH", "OUTCOME"]
    if isLive { headings += ["PASSED", "95 % INTERVAL"] }
    var table = TextTable(
      headings: headings + ["COST", "STEPS", "TIME", "WHAT"],
      rightAligned: Set((headings.count)...(headings.count + 2)))
    for point in trend.points.reversed() { table.append(cells(point, isLive: isLive)) }
    lines += table.lines(painter: painter, width: width) + [""]
    return lines + sparklines(trend.points.suffix(max(12, width - 40)))
  }

  private func headline(_ trend: CaseTrend, namesBranch: Bool) -> String {
    let branch = trend.branch.map { "on \(Visible.line($0, width: 80))" } ?? "on no known branch"
    var line =
      painter.paint(Visible.line(trend.caseId, width: 200), .heading) + "  "
      + (namesBranch ? branch + "  " : "")
      + painter.paint(trend.state.rawValue, trend.state.role)
    if let rate = trend.flipRate {
      line += ", \(Self.percent(rate)) flips (\(trend.flips) of \(trend.pairs))"
    }
    if let first = trend.firstFailing {
      line += ", fails since \(Self.place(first.run))"
      if let last = trend.lastPassing {
        line += ", last passed at \(Self.place(last.run))"
      }
    }
    return line
  }

  private func cells(_ point: CaseTrend.Point, isLive: Bool) -> [String] {
    let (run, record) = (point.run, point.record)
    var cells = [
      String(run.startedAt.prefix(19)), Self.commit(run), run.branch ?? "–",
      record.outcome.rawValue + (point.flip.map { " (\($0.rawValue))" } ?? ""),
    ]
    if isLive {
      let interval = record.rate.interval()
      cells +=
        record.isLive && record.rate.trials > 0
        ? [
          "\(record.rate.successes) of \(record.rate.trials)",
          "\(Self.percent(interval.low)) to \(Self.percent(interval.high))",
        ] : ["–", "–"]
    }
    cells += [
      record.usage?.costPerRun.map(Figures.cost) ?? "–",
      record.usage?.stepsPerRun.map(Self.number) ?? "–",
      record.usage?.microsecondsPerRun.map(Figures.duration(microseconds:)) ?? "–",
      Self.what(record),
    ]
    return cells
  }

  private func sparklines(_ points: some Collection<CaseTrend.Point>) -> [String] {
    var lines = ["outcome  \(sparkline.outcomes(points))"]
    let measures: [(String, [Double?], (Double) -> String)] = [
      ("cost", points.map { $0.record.usage?.costPerRun }, Figures.cost),
      ("steps", points.map { $0.record.usage?.stepsPerRun }, Self.number),
    ]
    for (name, values, words) in measures {
      let known = values.compactMap(\.self)
      guard let low = known.min(), let high = known.max() else { continue }
      let range = low < high ? "\(words(low)) to \(words(high))" : words(low)
      let pad = String(repeating: " ", count: 9 - name.count)
      lines.append(
        name + pad + sparkline.values(values) + "  " + painter.paint(range, .faint))
    }
    return lines
  }

  // MARK: Words

  /// What failed, in short.
  static func what(_ record: CaseRecord) -> String {
    if let check = record.decisive {
      let more = record.failedChecks > 1 ? " (and \(record.failedChecks - 1) more)" : ""
      return "\(check.expectation): \(check.message)\(more)"
    }
    if let error = record.error, record.outcome != .pass { return error }
    return record.isFlaky ? "flaky" : ""
  }

  /// The first digits of a commit.
  static func commit(_ run: SuiteHistory.Run) -> String {
    run.commit.map { String(Visible.line(String($0.unicodeScalars.prefix(12)))) } ?? "unknown"
  }

  /// Commit and day, or the day alone where the commit is not known.
  static func place(_ run: SuiteHistory.Run) -> String {
    run.commit == nil ? day(run) : "\(commit(run)) of \(day(run))"
  }

  /// The day that a run began.
  static func day(_ run: SuiteHistory.Run) -> String { String(run.startedAt.prefix(10)) }

  static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }

  /// A mean, to a tenth.
  private static func number(_ value: Double) -> String {
    let tenths = Int((min(value, 1e12) * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}

extension CaseTrend.State {
  var role: Painter.Role {
    switch self {
    case .stablePass: .good
    case .stableFail: .bad
    case .flaky: .warning
    case .unknown: .faint
    }
  }
}

extension CaseOutcome {
  /// How it looks.
  var role: Painter.Role {
    switch self {
    case .pass: .good
    case .fail, .error: .bad
    case .inconclusive: .warning
    }
  }
}
