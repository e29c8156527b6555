import AgentTrace
import ArgumentParser
import EvalRunning
import Glibc
import TraceIndexing
import TraceJudging
import TraceMatching
import TraceReporting

/// What became of cases over time.
struct History: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    abstract: "Show what became of cases over the runs of their suite.",
    discussion: """
      Reads what `run --history` and `merge --history` kept, a line for each case on each branch; with a \
      case, a line for each run of the suite that has it. Refreshes the index of the folder first. Exits with 0, or \
      with 2 where there is no such case, or where a file of the folder could not be read.
      """
        + Example.list([
          "history": "which cases fail, and since when",
          "history 'refund-*' --last 20": "the last twenty outcomes of some",
        ]))

  @Argument(help: "A case, or a glob for several.")
  var caseId: String?

  @Option(
    help:
      "The folder that --history named. Default: the setting “history”, else .agent-eval/history.",
    completion: .directory)
  var dir = Settings.here.history ?? HistoryFolder.defaultPath

  @Option(help: "Only runs that began since: 2026-01-31, a time of that day, or 90m, 12h, 7d, 4w.")
  var since: String?

  @Option(
    name: [.customShort("n"), .long], help: "Only so many runs of the suite, the newest; 0 for all."
  )
  var last = 100

  @Option(help: "Only runs of this branch.")
  var branch: String?

  @Flag(help: "Draw with characters of ASCII alone.")
  var ascii = false

  @Flag(help: "Print a line of JSON for each case on each branch; with a case, for each run.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  /// Runs that a page is made of.
  static let mostRunsOnPage = 200

  func validate() throws {
    if let since, SinceTime(since: since) == nil {
      throw ValidationError(
        "--since takes a date (2026-01-31), a time in UTC (2026-01-31T12:00) or 90m, 12h, 7d, 4w.")
    }
    guard last >= 0 else { throw ValidationError("--last takes 0 or more.") }
    guard !dir.isEmpty else { throw ValidationError("--dir takes a folder, and here it is empty.") }
  }

  func run() throws {
    let (index, found) = try Indexing.refreshed(
      dir, madeBy: "agent-eval run --history \(ShellWord.path(dir))")
    var filter = HistoryFilter()
    filter.since = since.flatMap { SinceTime(since: $0)?.text }
    filter.branch = branch
    filter.last = last == 0 ? nil : last
    let history = try index.history(filter)
    let report = TrendReport(
      painter: Screen.painter, width: Screen.columns, isASCII: ascii || !Screen.knowsUnicode)
    let ofCase = caseId.map(history.trends(of:)) ?? []
    if !ofCase.isEmpty {
      if json {
        let points = ofCase.flatMap(\.points).sorted { $0.index > $1.index }
        for point in points { Output.json(point.json) }
      } else {
        for (index, trend) in ofCase.enumerated() {
          Output.lines(
            (index > 0 ? [""] : []) + report.lines(for: trend, namesBranch: ofCase.count > 1))
        }
      }
    } else {
      let trends = try chosen(of: history)
      if json {
        for trend in trends { Output.json(trend.json) }
      } else {
        Output.lines(report.lines(for: trends))
        Output.error(
          Visible.line(
            "\(Figures.count(Set(trends.map { Array($0.caseId.utf8) }).count, "case")), "
              + "\(Figures.count(history.runs.count, "run")) of the suite in \(dir)"))
      }
    }
    if found.faulty + found.faultySuiteRuns > 0 { throw ExitCode(2) }
  }

  private func chosen(of history: SuiteHistory) throws -> [CaseTrend] {
    guard let caseId else { return history.trends }
    let glob = try? Glob(caseId)
    let trends = history.trends.filter { glob?.matches($0.caseId) ?? false }
    guard trends.isEmpty else { return trends }
    let nearest = Spelling.nearest(to: caseId, among: history.trends.map(\.caseId))
    let hint = nearest.map { "; did you mean “\($0)”?" } ?? "."
    Output.error(
      Visible.line("agent-eval: no run of the suite in \(dir) has a case “\(caseId)”\(hint)"))
    throw ExitCode(2)
  }
}
