import ArgumentParser
import TraceDebugging
import TraceReplaying
import TraceReporting

/// Compares two runs.
struct Diff: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Show in what two recorded runs differ, the first difference first.",
    discussion: """
      Aligns what was done and said: calls with their inputs, verdicts and results, answers, questions \
      and replies; then the stop, tokens and cost. Ids and times never count, nor does the order of the \
      calls of one decision. Exits with 0 where the runs are the same, with 1 where they differ, with 2 \
      where that cannot be told.
      """
        + Example.list([
          "diff good.jsonl.gz latest": "in what the newest run differs from a good one"
        ]))

  @Argument(help: .log("A run log, on the left"), completion: .file())
  var left: String

  @Argument(help: .log("A run log, on the right"), completion: .file())
  var right: String

  @Option(
    name: .shortAndLong,
    help: """
      A field that does not count: its name, wherever it stands (updatedAt, cost), or a JSON Pointer \
      from the act on (/input/traceId, /result/data/*/at). May be given again.
      """)
  var ignore: [String] = []

  @Flag(help: "Show every row, those that are the same too.")
  var all = false

  @Flag(help: "Print the differences as one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws { _ = try ignored() }

  private func ignored() throws -> IgnoredFields {
    var fields = IgnoredFields()
    for text in ignore where !fields.insert(text) {
      throw ValidationError(
        "--ignore takes a name or a JSON Pointer; “\(Visible.line(text, width: 80))” is neither.")
    }
    return fields
  }

  func run() throws {
    let fields = try ignored()
    let diff = RunDiff(
      try ComparedRun(path: left, ignoring: fields), try ComparedRun(path: right, ignoring: fields))
    if json {
      Output.json(diff.json())
    } else {
      Paging.begin()
      let report = DiffReport(painter: Screen.painter, width: Screen.columns, showsAll: all)
      Output.lines(report.lines(for: diff))
    }
    if !diff.isTold { throw ExitCode(2) }
    if !diff.isSame { throw ExitCode(1) }
  }
}
