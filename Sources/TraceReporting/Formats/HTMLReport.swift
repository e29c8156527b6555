import AgentTrace
import TraceJudging

/// Results as one HTML page that needs nothing else: a summary, filters, and each case that did not
/// pass with its evidence and its timeline.
///
/// The page reaches no network. Its policy allows its own style and its own script, by their digests,
/// and nothing besides, so that a text which got past the escaping could still do nothing. Names that
/// the page refers to itself by are counted, never taken from data.
struct HTMLReport {
  let context: ReportContext
  /// As ``MarkdownReport/whole``.
  var whole: EvalResults?

  /// Timelines on one page; runs beyond that are told without.
  private static let mostTimelines = 100

  func text(of results: EvalResults) -> String {
    var timelines = 0
    var sections = ""
    for (index, result) in results.worstFirst.enumerated() {
      sections += section(result, id: "c\(index)", timelines: &timelines)
    }
    sections += skipped(results.skipped)
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta http-equiv="Content-Security-Policy" content="\(policy)">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="referrer" content="no-referrer">
      <title>agent-eval: \((whole ?? results).sentence)</title>
      <style>\(style)</style>
      </head>
      <body>
      \(filters(results))<main>
      \(chart?.section() ?? "")\(sections)<p id="none" hidden>Nothing matches.</p>
      </main>
      <footer>agent-eval \(HTML.line(context.version))</footer>
      <script>\(HTMLPage.script)</script>
      </body>
      </html>

      """
  }

  /// The pictures of what became of the cases before; `nil` where nobody gave a history.
  private var chart: TrendChart? { context.history.map(TrendChart.init) }

  private var style: String { HTMLPage.style + (context.history == nil ? "" : TrendChart.style) }

  /// Only what the page itself brings along; no address of any kind.
  private var policy: String {
    "default-src 'none'; style-src '\(HTML.source(style))'; "
      + "script-src '\(HTML.source(HTMLPage.script))'; base-uri 'none'; form-action 'none'"
  }

  /// The counts of the outcomes, each a switch that hides its cases; without a line of script.
  private func filters(_ results: EvalResults) -> String {
    var (inputs, labels) = ("", "")
    let counts =
      CaseOutcome.allCases.sorted { $0.rank < $1.rank }.map {
        (outcome: CaseOutcome) in
        (
          outcome.rawValue, outcome.words, results.cases.count { $0.standing == outcome }
        )
      } + [("skipped", "skipped", results.skipped.count)]
    for (name, words, count) in counts where count > 0 {
      inputs += "<input type=\"checkbox\" class=\"filter\" id=\"show-\(name)\" checked>\n"
      labels +=
        "<label class=\"chip \(name)\" for=\"show-\(name)\"><b>\(count)</b> \(words)</label>\n"
    }
    return """
      \(inputs)<header>
      <h1>\(Figures.count(results.cases.count, "case"))</h1>
      <div class="chips">
      \(labels)</div>
      <input type="search" id="search" placeholder="Filter by name or text" aria-label="Filter">
      </header>

      """
  }

  // MARK: One case

  private func section(_ result: CaseResult, id: String, timelines: inout Int) -> String {
    let caseText = CaseText(of: result, in: context)
    let isOpen = result.standing != .pass || result.differs
    let checks =
      caseText.checks == 0
      ? "" : "<span class=\"checks\">\(caseText.passed) of \(caseText.checks) checks</span>"
    let strip = chart?.strip(of: result.caseId) ?? ""
    var body = chart?.sentence(of: result.caseId) ?? ""
    if let error = result.error { body += "<pre class=\"error\">\(HTML.text(error))</pre>\n" }
    if let comparison = result.comparison {
      let lines = ComparisonLines(painter: Painter(isColoured: false)).lines(for: comparison)
      if !lines.isEmpty {
        body += "<pre class=\"comparison\">\(HTML.text(lines.joined(separator: "\n")))</pre>\n"
      }
    }
    for line in ResultsReport(painter: Painter(isColoured: false), width: 120)
      .trialLines(of: result)
    {
      body += "<p class=\"trials\">\(HTML.line(line))</p>\n"
    }
    for (index, trial) in result.trials.prefix(CaseText.mostTrials).enumerated() {
      if result.trials.count > 1 {
        body += "<h3>Run \(index + 1) of \(result.trials.count): \(trial.outcome.words)</h3>\n"
      }
      body += self.trial(trial, id: "\(id)t\(index)", timelines: &timelines)
    }
    if result.trials.count > CaseText.mostTrials {
      body += "<p>and \(result.trials.count - CaseText.mostTrials) more runs</p>\n"
    }
    return """
      <details class="case \(result.standing.rawValue)\(result.changeClass)"\(isOpen ? " open" : "")>
      <summary><span class="badge">\(result.words)</span>
      <span class="name">\(HTML.line(caseText.name))</span> \(checks)\(strip)
      <span class="place">\(HTML.line(caseText.place.path)):\(caseText.place.line)</span></summary>
      \(body)</details>

      """
  }

  private func trial(_ trial: TrialResult, id: String, timelines: inout Int) -> String {
    let outcomes = trial.judgement.outcomes
    let told = outcomes.filter { $0.outcome != .pass }
    let evidence = Set(told.flatMap { $0.events.prefix(20) }.prefix(100))
    var rows = ""
    if trial.outcome != .pass, timelines < Self.mostTimelines, context.readEvents != nil {
      timelines += 1
      rows = timeline(of: trial, id: id, evidence: evidence)
    }
    var html = told.prefix(CaseText.mostOutcomes)
      .map { check($0, id: id, hasTimeline: !rows.isEmpty) }.joined()
    if told.count > CaseText.mostOutcomes {
      html += "<p>and \(told.count - CaseText.mostOutcomes) more checks</p>\n"
    }
    for warning in trial.judgement.warnings.prefix(CaseText.mostOutcomes) {
      html += "<p class=\"warning\"><b>warning</b> \(HTML.line(warning))</p>\n"
    }
    let passed = outcomes.filter { $0.outcome == .pass }
    if !passed.isEmpty {
      let names = passed.prefix(200).map { "<code>\(HTML.line($0.expectation))</code>" }
      html += "<p class=\"passed\">passed: \(names.joined(separator: " "))</p>\n"
    }
    if trial.outcome != .pass {
      html +=
        "<pre class=\"command\">agent-eval show \(HTML.line(ShellWord.path(trial.log)))\(trial.judgedFrom == "tree" ? " --tree" : "")</pre>\n"
    }
    return html + rows
  }

  private func check(_ outcome: ExpectationOutcome, id: String, hasTimeline: Bool) -> String {
    let word =
      switch outcome.outcome {
      case .pass: "passed"
      case .fail: outcome.severity == .warning ? "warns" : "failed"
      case .notExercised: "not exercised"
      case .unverifiable: "unverifiable"
      }
    let events = outcome.events.prefix(20).map { seq in
      hasTimeline ? "<a href=\"#\(id)e\(seq)\">\(seq)</a>" : "\(seq)"
    }
    var pair = ""
    for (label, text) in [("expected", outcome.expected), ("actual", outcome.actual)] {
      guard let text else { continue }
      pair += "<div class=\"\(label)\"><b>\(label)</b><pre>\(HTML.text(text))</pre></div>\n"
    }
    let judgements = outcome.judgements.prefix(25).map {
      "<p class=\"events\">judged by event \($0.seq) of <code>\(HTML.line($0.log))</code></p>\n"
    }
    return """
      <div class="check \(outcome.outcome == .fail ? "fail" : "open")">
      <p><code>\(HTML.line(outcome.expectation))</code> <b class="word">\(word)</b></p>
      <p>\(HTML.line(outcome.message))</p>
      \(pair.isEmpty ? "" : "<div class=\"pair\">\n\(pair)</div>\n")\
      \(events.isEmpty ? "" : "<p class=\"events\">events \(events.joined(separator: " "))</p>\n")\
      \(judgements.joined())\
      </div>

      """
  }

  private func skipped(_ cases: [SkippedCase]) -> String {
    cases.map { skipped in
      """
      <details class="case skipped">
      <summary><span class="badge">skipped</span>
      <span class="name">\(HTML.line(skipped.caseId))</span></summary>
      <p>\(HTML.line(skipped.reason))</p>
      </details>

      """
    }.joined()
  }

  // MARK: Its timeline

  private func timeline(of trial: TrialResult, id: String, evidence: Set<Int>) -> String {
    var timeline = HTMLTimeline(id: id, evidence: evidence)
    var problem = ""
    do {
      try context.readEvents?(trial.log) { timeline.add($0) }
    } catch {
      problem = "<p class=\"warning\">\(HTML.line("\(error)"))</p>\n"
    }
    let rows = timeline.finished()
    guard !rows.isEmpty else { return problem }
    return """
      <details class="timeline" open>
      <summary>Timeline</summary>
      <table>
      \(rows)</table>
      </details>
      \(problem)
      """
  }
}

/// The rows of one timeline: the first of a run, those around the evidence, and the last.
private struct HTMLTimeline {
  private static let first = 60
  private static let around = 6
  private static let last = 12

  private let id: String
  private let evidence: Set<Int>
  private let near: Set<Int>
  private let teller = Timeline(painter: Painter(isColoured: false))
  private var rows = ""
  private var count = 0
  private var step = 0
  /// The newest events that have not been told, in case they turn out to be the last.
  private var pending: [Event] = []
  private var leftOut = 0

  init(id: String, evidence: Set<Int>) {
    self.id = id
    self.evidence = evidence
    near = evidence.reduce(into: []) { near, seq in
      for other in (seq - min(seq, Self.around))...(seq + Self.around) { near.insert(other) }
    }
  }

  mutating func add(_ event: Event) {
    guard count < Self.first || near.contains(event.seq) else {
      pending.append(event)
      if pending.count > Self.last {
        pending.removeFirst()
        leftOut += 1
      }
      return
    }
    flush()
    write(event)
  }

  mutating func finished() -> String {
    flush()
    return rows
  }

  /// Writes what is still held back, behind a word on what was left out before it.
  private mutating func flush() {
    if leftOut > 0 {
      rows +=
        "<tr class=\"gap\"><td></td><td colspan=\"2\">\(Figures.count(leftOut, "event")) "
        + "left out</td></tr>\n"
      leftOut = 0
    }
    for event in pending { write(event) }
    pending = []
  }

  private mutating func write(_ event: Event) {
    let entries = teller.tell(event)
    let isEvidence = evidence.contains(event.seq)
    // What the timeline tells by another line is told here where it is evidence: a link leads to it.
    guard !entries.isEmpty || isEvidence else { return }
    count += 1
    if event.step != step, event.step > 0 {
      step = event.step
      rows += "<tr class=\"step\"><td></td><td colspan=\"2\">step \(step)</td></tr>\n"
    }
    let told = entries.isEmpty ? [Self.plainly(event)] : entries
    for (index, entry) in told.enumerated() {
      let anchor = index == 0 && isEvidence ? " id=\"\(id)e\(event.seq)\"" : ""
      let mark = isEvidence ? " class=\"evidence\"" : ""
      let tail = entry.tail.isEmpty ? "" : " <small>\(HTML.line(entry.tail, width: 80))</small>"
      rows +=
        "<tr\(anchor)\(mark)><td>\(index == 0 ? "\(event.seq)" : "")</td>"
        + "<td class=\"\(HTML.role(entry.role))\">\(HTML.line(entry.label, width: 40))</td>"
        + "<td>\(HTML.line(entry.text, width: 600))\(tail)</td></tr>\n"
    }
  }
}

extension HTMLTimeline {
  /// An event that the timeline passes over, by its type and the call that it belongs to.
  private static func plainly(_ event: Event) -> Timeline.Entry {
    Timeline.Entry(
      event.type.rawValue, .faint, event.data["tool"]?.stringValue ?? "",
      tail: event.data["callId"]?.stringValue ?? "")
  }
}

/// Text as HTML shows it: in elements and in quoted attributes alike, outside of scripts and styles.
enum HTML {
  /// A text on one line.
  static func line(_ text: String, width: Int = 4_096) -> String {
    Markup.escape(Visible.line(text, width: width))
  }

  /// A text on the lines it has, of 4,000 scalars at most.
  static func text(_ text: String) -> String {
    Markup.escape(Visible.lines(CaseText.cut(text, 4_000)).joined(separator: "\n"))
  }

  /// What a page's policy allows its own style or script by (Content Security Policy, hash-source).
  static func source(_ text: String) -> String {
    var bytes: [UInt8] = []
    Base64.append(Digest(of: Array(text.utf8)).bytes, to: &bytes)
    return "sha256-" + String(decoding: bytes, as: UTF8.self)
  }

  static func role(_ role: Painter.Role) -> String {
    switch role {
    case .heading: "heading"
    case .faint: "faint"
    case .good: "good"
    case .bad: "bad"
    case .warning: "warning"
    }
  }
}

extension CaseResult {
  /// A word for a page's style: what has changed has a colour of its own where it fails nothing.
  fileprivate var changeClass: String {
    standing == .pass && comparison?.kind == .changed ? " changed" : ""
  }
}
