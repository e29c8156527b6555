import AgentTrace
import TraceJudging

/// What became of a suite and of each of its cases over time, as pictures on a page.
///
/// They are made of SVG that stands in the page itself: no script, no address, and nothing from a record
/// but text that was escaped. Each tells in words what it shows.
struct TrendChart {
  let history: SuiteHistory

  /// Runs on one page: the newest.
  static let mostRuns = 200
  /// Runs of one case beside its name.
  static let mostMarks = 40

  /// What stands above the cases; nothing where there is no history.
  func section() -> String {
    let runs = Array(history.runs.suffix(Self.mostRuns))
    guard let first = runs.first, let last = runs.last else { return "" }
    let left = history.runs.count - runs.count
    let span =
      runs.count == 1
      ? TrendReport.day(first) : "\(TrendReport.day(first)) to \(TrendReport.day(last))"
    return """
      <section class="history">
      <h2>\(Figures.count(runs.count, "run")) of the suite</h2>
      <p class="faint">\(HTML.line(span))\(left > 0 ? "; \(left) older are not shown" : "")</p>
      \(chart(of: runs))<p class="legend"><span class="p"></span> passed
      <span class="i"></span> inconclusive <span class="e"></span> could not be judged
      <span class="f"></span> failed</p>
      <details class="runs">
      <summary>The runs in figures</summary>
      <table>
      <thead><tr><th>began</th><th>commit</th><th>branch</th><th>passed</th><th>failed</th>
      <th>inconclusive</th><th>not judged</th><th>time</th></tr></thead>
      <tbody>
      \(runs.reversed().map(row).joined())</tbody>
      </table>
      </details>
      </section>

      """
  }

  private func row(_ run: SuiteHistory.Run) -> String {
    let cells = [
      String(run.startedAt.prefix(19)), TrendReport.commit(run), run.branch ?? "–", "\(run.pass)",
      "\(run.fail)", "\(run.inconclusive)", "\(run.error)",
      Figures.duration(microseconds: run.elapsedMicroseconds),
    ]
    return "<tr>" + cells.map { "<td>\(HTML.line($0, width: 100))</td>" }.joined() + "</tr>\n"
  }

  // MARK: The suite

  private static let width = 1_000.0
  private static let height = 120.0
  /// What the words at the left take.
  private static let margin = 44.0
  /// A piece that there is at all is seen, however small its share.
  private static let leastHeight = 2.0

  /// A bar for each run: failed at the bottom, then what could not be judged, what is open, passed.
  private func chart(of runs: [SuiteHistory.Run]) -> String {
    let slot = min(32, (Self.width - Self.margin) / Double(runs.count))
    let gap = min(4, slot / 5)
    var bars = ""
    for (index, run) in runs.enumerated() where run.cases > 0 {
      let x = Self.margin + Double(index) * slot
      bars += "<g><title>\(HTML.line(words(run), width: 400))</title>"
      for (name, y, height) in Self.pieces(of: run) {
        bars +=
          "<rect class=\"\(name)\" x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" "
          + "width=\"\(Self.number(slot - gap))\" height=\"\(Self.number(height))\"/>"
      }
      bars += "</g>\n"
    }
    let newest = runs.last.map(words) ?? ""
    let label =
      "Outcomes of \(Figures.count(runs.count, "run")), oldest at the left. Newest: \(newest)"
    return """
      <svg class="chart" viewBox="0 0 1000 128" role="img" aria-label="\(HTML.line(label, width: 800))">
      <text x="38" y="14">100 %</text><text x="38" y="120">0 %</text>
      <path class="axis" d="M40 4H1000M40 124H1000"/>
      <g transform="translate(0 4)">
      \(bars)</g>
      </svg>

      """
  }

  /// From the bottom: the class of each piece, where it begins and how high it is.
  private static func pieces(of run: SuiteHistory.Run) -> [(
    name: String, y: Double, height: Double
  )] {
    let counts = [("f", run.fail), ("e", run.error), ("i", run.inconclusive), ("p", run.pass)]
      .filter { $0.1 > 0 }
    var heights = counts.map {
      max(leastHeight, height * Double($0.1) / Double(max(1, run.cases)))
    }
    // What small pieces have too much the largest has less.
    let excess = heights.reduce(0, +) - height
    if let largest = heights.indices.max(by: { heights[$0] < heights[$1] }) {
      heights[largest] -= excess
    }
    var (y, pieces) = (height, [(name: String, y: Double, height: Double)]())
    for (count, pieceHeight) in zip(counts, heights) {
      y -= pieceHeight
      pieces.append((count.0, y, pieceHeight))
    }
    return pieces
  }

  private func words(_ run: SuiteHistory.Run) -> String {
    var parts = ["\(run.pass) of \(run.cases) passed"]
    for (count, words) in [
      (run.fail, "failed"), (run.inconclusive, "inconclusive"), (run.error, "could not be judged"),
    ] where count > 0 {
      parts.append("\(count) \(words)")
    }
    return "\(run.startedAt.prefix(19)), commit \(TrendReport.commit(run)): "
      + parts.joined(separator: ", ")
  }

  // MARK: One case

  private static let step = 5

  /// A strip beside a case's name: what passed rises from its middle, what failed falls, by the share of
  /// trials; what is open is a dot, and what could not be judged is hollow. Nothing where it has no past.
  func strip(of caseId: String) -> String {
    guard let trend = history.trend(of: caseId) else { return "" }
    let points = trend.points.suffix(Self.mostMarks)
    var paths = ["p": "", "f": "", "i": "", "e": ""]
    for (index, point) in points.enumerated() {
      let x = index * Self.step
      let record = point.record
      switch record.outcome {
      case .error: paths["e", default: ""] += "M\(x).5 8.5h3v6h-3z"
      case .inconclusive: paths["i", default: ""] += "M\(x) 6h4v4h-4z"
      case .pass, .fail:
        let share =
          record.isLive ? record.rate.rate ?? 0 : record.outcome == .pass ? 1.0 : 0.0
        let up = Self.number(7 * share)
        let down = Self.number(7 * (1 - share))
        if share > 0 { paths["p", default: ""] += "M\(x) 8v-\(up)h4v\(up)z" }
        if share < 1 { paths["f", default: ""] += "M\(x) 8v\(down)h4v-\(down)z" }
      }
    }
    let shapes = ["p", "f", "i", "e"].compactMap { name -> String? in
      guard let path = paths[name], !path.isEmpty else { return nil }
      return "<path class=\"\(name)\" d=\"\(path)\"/>"
    }
    let width = points.count * Self.step
    let label = HTML.line(words(trend, Array(points)), width: 400)
    return """
      <svg class="strip" viewBox="0 0 \(width) 16" width="\(width)" height="16" role="img" \
      aria-label="\(label)"><title>\(label)</title>\(shapes.joined())</svg> \
      <span class="state \(trend.state.rawValue)">\(trend.state.rawValue)</span>
      """
  }

  private func words(_ trend: CaseTrend, _ points: [CaseTrend.Point]) -> String {
    let parts = [CaseOutcome.pass, .fail, .inconclusive, .error].compactMap { outcome -> String? in
      let count = points.count { $0.record.outcome == outcome }
      return count == 0 ? nil : "\(count) \(outcome.words)"
    }
    return "\(trend.state.rawValue); of \(Figures.count(points.count, "run")) "
      + parts.joined(separator: ", ")
  }

  /// What is said of a case's past in words; nothing where there is nothing to say.
  func sentence(of caseId: String) -> String {
    guard let trend = history.trend(of: caseId) else { return "" }
    var parts: [String] = []
    if let first = trend.firstFailing {
      var part =
        "fails since \(TrendReport.place(first.run))"
      if let last = trend.lastPassing {
        part += ", last passed at \(TrendReport.place(last.run))"
      }
      parts.append(part)
    }
    if let rate = trend.flipRate, trend.flips > 0 {
      parts.append(
        "\(trend.flips) of \(Figures.count(trend.pairs, "pair")) of trials flipped with nothing changed "
          + "(\(TrendReport.percent(rate)))")
    }
    guard !parts.isEmpty else { return "" }
    return "<p class=\"past\">\(HTML.line(parts.joined(separator: "; ")))</p>\n"
  }

  /// A coordinate, to a tenth.
  private static func number(_ value: Double) -> String {
    let tenths = Int((max(0, value) * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }

  /// How all that looks, besides ``HTMLPage/style``.
  static let style = """

    .history { margin: 1rem 0 1.5rem; }
    .history h2 { margin: 0; font-size: 1.1rem; }
    .history p { margin: 0 0 .4rem; }
    .chart { display: block; width: 100%; height: auto; }
    .chart text { font: 11px system-ui, sans-serif; fill: var(--faint); text-anchor: end; }
    .chart .axis { stroke: var(--line); fill: none; }
    rect.p, path.p { fill: var(--good); }
    rect.p, .legend .p { opacity: .6; }
    rect.f, path.f { fill: var(--bad); }
    rect.i, path.i { fill: var(--warning); }
    rect.e { fill: var(--faint); }
    path.e { fill: none; stroke: var(--bad); }
    .legend { color: var(--faint); font-size: .85rem; }
    .legend span { display: inline-block; width: .7rem; height: .7rem; margin-left: .8rem; }
    .legend .p { background: var(--good); margin-left: 0; }
    .legend .f { background: var(--bad); }
    .legend .i { background: var(--warning); }
    .legend .e { background: var(--faint); }
    .case > summary::after { content: ""; display: block; clear: both; }
    .strip { vertical-align: -3px; margin: 0 .4rem; }
    .state { color: var(--faint); font-size: .8rem; }
    .state.flaky { color: var(--warning); }
    .state.stable-fail { color: var(--bad); }
    .past { margin: .4rem 0; color: var(--faint); }
    .runs > summary { cursor: pointer; color: var(--faint); }
    .runs th { text-align: left; font-weight: 600; padding-right: .6rem; }
    .runs td:first-child, .runs td:nth-child(2) { width: auto; text-align: left; color: inherit; }
    """
}
