import ArgumentParser
import TraceReporting

/// Judges cases.
struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Judge recorded runs by eval cases, or run the agents first.",
    discussion: """
      Exits with 0 where every case passed, 1 where one failed, 2 where one could not be judged or \
      there was nothing to judge, 3 where one is inconclusive (1 outranks 2 outranks 3).
      """)

  @Argument(help: "Case files, or folders of them.")
  var paths: [String]

  @Option(help: "A folder of recorded runs, for cases that name no recording.")
  var runs: String?

  @Flag(help: "Run the agents that the cases name, and judge those runs.")
  var live = false

  @Option(help: "Cases to work on side by side; 0 for one a core.")
  var jobs = 0

  @Option(help: "Only cases whose id matches this glob, or that have this tag.")
  var filter: String?

  @Option(help: "Where runs that are made now are recorded. Default: .agent-eval/runs.")
  var out: String?

  @Flag(
    help: """
      Read every log whole. Without it, the end of a log is enough where it tells all that a case \
      asks, except where CI is set.
      """)
  var noSummary = false

  @Flag(help: "Start the programs by which cases are judged (exec).")
  var exec = false

  @Flag(help: "Print the results as one JSON object.")
  var json = false

  @Option(
    help: ArgumentHelp(
      """
      Write a report, to standard output where no file is named; may be given several times. \
      Formats: \(ReportFormat.allCases.map(\.rawValue).joined(separator: ", ")).
      """, valueName: "format[:file]"))
  var report: [String] = []

  /// What is asked for.
  var request: RunRequest {
    RunRequest(
      paths: paths, runs: runs, live: live, jobs: jobs, filter: filter, out: out,
      noSummary: noSummary, exec: exec, json: json, report: report)
  }

  func validate() throws { try request.validate() }

  func run() async throws { try await request.perform() }
}
