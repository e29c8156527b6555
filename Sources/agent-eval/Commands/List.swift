import AgentTrace
import ArgumentParser
import TraceIndexing
import TraceMatching
import TraceReporting

/// Lists runs.
struct List: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the recorded runs of a folder, newest first.",
    discussion: """
      Refreshes the index of the folder first. Exits with 0, or with 2 where a log of the folder could \
      not be read whole: then a run may be missing.
      """
        + Example.list([
          "list": "the runs below .agent-eval/runs, newest first",
          "list runs/ --stop tool_failure --since 7d": "those that a tool stopped this week",
        ]))

  @Argument(
    help: "A folder of run logs. Default: the setting “out”, else .agent-eval/runs.",
    completion: .directory)
  var folder = RunLogs.folder

  @Option(
    help: "Only runs that stopped so; “none”: have not stopped. May be given again.",
    completion: .list(Self.stops))
  var stop: [String] = []

  @Option(
    name: .shortAndLong,
    help: "Only runs that executed a call of this tool, or of one like this glob.")
  var tool: [String] = []

  @Option(help: "Only runs that executed no call of this tool, nor of one like this glob.")
  var notTool: [String] = []

  @Option(name: .customLong("case"), help: "Only runs of this case, or of one like this glob.")
  var caseId: String?

  @Option(help: "Only runs of this agent, or of one like this glob.")
  var agent: String?

  @Option(help: "Only runs whose decisions this model made, or one like this glob.")
  var model: String?

  @Option(
    help: ArgumentHelp(
      "Only runs in which a model was asked so: decide.temperature=0.2. May be given again.",
      valueName: "purpose.key=value"))
  var setting: [String] = []

  @Option(
    name: .shortAndLong,
    help: "Only runs that began since: 2026-01-31, a time of that day, or 90m, 12h, 7d, 4w.")
  var since: String?

  @Option(help: "Only runs that acted for this tenant, or for one like this glob.")
  var tenant: String?

  @Option(
    help: ArgumentHelp(
      "Only the runs that are parts of this run: calls of agents, tasks.", valueName: "run-id"))
  var parent: String?

  @Flag(help: "Show the runs of agents that others called, and of tasks, beside those.")
  var children = false

  @Flag(help: "Print a line of JSON for each run.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  /// What `--stop` takes.
  private static let stops = StopReason.allCases.map(\.rawValue) + ["none"]

  func validate() throws {
    let reasons = Self.stops
    for reason in stop where !reasons.contains(reason) {
      let nearest = Spelling.nearest(to: reason, among: reasons)
      throw ValidationError(
        "--stop takes \(reasons.joined(separator: ", "))"
          + (nearest.map { "; did you mean “\($0)”?" } ?? "."))
    }
    for setting in setting where ModelSetting(setting) == nil {
      throw ValidationError(
        "--setting takes PURPOSE.KEY=VALUE, for example decide.temperature=0.2, not “\(setting)”.")
    }
    if let since, SinceTime(since: since) == nil {
      throw ValidationError(
        "--since takes a date (2026-01-31), a time in UTC (2026-01-31T12:00) or 90m, 12h, 7d, 4w.")
    }
  }

  func run() throws {
    let (index, report) = try Indexing.refreshed(folder)
    var table = TextTable(
      headings: ["STARTED", "STOP", "CASE", "AGENT", "STEPS", "CALLS", "TOKENS", "TIME", "LOG"],
      rightAligned: [4, 5, 6, 7], keepsLast: true)
    var shown = 0
    try index.list(try filter()) { run in
      shown += 1
      if json { Output.json(run.json) } else { table.append(Self.cells(of: run)) }
      return true
    }
    Paging.begin()
    Output.lines(table.lines(painter: Screen.painter, width: Screen.width))
    if !json {
      Output.error(Visible.line("\(shown) of \(Figures.count(report.logs, "run")) in \(folder)"))
    }
    if report.faulty > 0 { throw ExitCode(2) }
  }

  private func filter() throws -> RunFilter {
    var filter = RunFilter()
    filter.stopReasons = stop
    filter.tools = try tool.map(Self.names)
    filter.toolsNot = try notTool.map(Self.names)
    filter.caseId = try caseId.map(Self.names)
    filter.agent = try agent.map(Self.names)
    filter.model = try model.map(Self.names)
    filter.settings = setting.compactMap(ModelSetting.init)
    filter.tenant = try tenant.map(Self.names)
    filter.parent = parent
    // Whoever asks for something finds it wherever it happened.
    filter.showsChildren =
      children || !tool.isEmpty || !notTool.isEmpty || agent != nil || model != nil
    filter.since = since.flatMap { SinceTime(since: $0)?.text }
    return filter
  }

  private static func names(like pattern: String) throws -> RunFilter.Names {
    let glob = try Glob(pattern)
    return { glob.matches($0) || $0.hasSameUTF8(as: pattern) }
  }

  private static func cells(of run: ListedRun) -> [String] {
    let text = { (column: String) in run[column].stringValue ?? "–" }
    let count = { (column: String) in run[column].intValue ?? 0 }
    let status = text("status")
    let stop = run["stopReason"].stringValue
    let (tokens, overflow) = count("inputTokens").addingReportingOverflow(count("outputTokens"))
    return [
      run["startedAt"].stringValue.map { String($0.prefix(19)) } ?? "–",
      status == "closed" ? stop ?? "–" : stop.map { "\($0), \(status)" } ?? status,
      text("caseId"), String(repeating: "  ", count: min(count("depth"), 8)) + text("agent"),
      "\(count("steps"))", "\(count("toolCalls"))",
      "\(overflow ? .max : tokens)",
      Figures.duration(microseconds: count("elapsedMicroseconds")), text("path"),
    ]
  }
}
