import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import TraceJudging
import TraceReporting

/// Says how much a suite of cases would notice.
struct Mutate: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    abstract: "Change recorded runs in every way there is, and say which changes the cases miss.",
    discussion: """
      A call is left out, doubled, moved or added, an argument, a result, a verdict, an approval, the \
      stop, the answer or the cost is another: each changed run is judged by all cases of its run. What \
      passes them all is named, with an expectation that would have noticed, or with the reason that a \
      case gives under “tolerates”. No model is asked and no tool is started. Exits with 0; with 1 where \
      less than --min-score is noticed or more than --max-survivors pass; with 2 where a case could not \
      be judged or no run was changed.
      """
        + Example.list([
          "mutate EvalCases/ --min-score 0.9":
            "fail where the cases would miss more than a tenth of the changes"
        ]))

  @Argument(
    help: "Case files, or folders of them. Default: the setting “paths”, else EvalCases.",
    completion: .file())
  var paths: [String] = []

  @Option(
    help: "A folder of recorded runs, for cases that name no recording.", completion: .directory)
  var runs: String?

  @Option(
    name: .shortAndLong, help: "Only cases whose id matches this glob, or that have this tag.")
  var filter: String?

  @Option(name: .shortAndLong, help: "Pieces of work done side by side; 0 for one a core.")
  var jobs = 0

  @Option(help: "Changed runs of one run at most.")
  var limit = 1_000

  @Option(
    help: "The share of changed runs, from 0 to 1, that has to be noticed; no reason raises it.")
  var minScore: Double?

  @Option(help: "How many changed runs may pass without a case that says why.")
  var maxSurvivors: Int?

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    guard jobs >= 0 else { throw ValidationError("--jobs takes 0 or more.") }
    guard (1...1_000_000).contains(limit) else {
      throw ValidationError("--limit takes 1 to 1000000.")
    }
    if let maxSurvivors, maxSurvivors < 0 {
      throw ValidationError("--max-survivors takes 0 or more.")
    }
    if let minScore, !(0...1).contains(minScore) {
      throw ValidationError("--min-score takes a number from 0 to 1.")
    }
  }

  func run() async throws {
    var request = RunRequest(paths: paths, runs: runs, jobs: jobs, filter: filter)
    request.takeInputs(.here)
    if request.paths.isEmpty { request.paths = ["EvalCases"] }
    let loaded = try request.chosen(request.loadCases(areRunsElsewhere: request.runs != nil))
    let results = try await request.results(of: loaded, Cancellation())
    let open = loaded.cases.filter { evalCase in
      !results.skipped.contains { $0.caseId.hasSameUTF8(as: evalCase.caseId) }
    }
    let judged = zip(open, results.cases).flatMap { evalCase, result in
      result.trials.map { (evalCase: evalCase, log: $0.log) }
    }
    for result in results.cases {
      if let error = result.error {
        Output.error(Visible.line("agent-eval: \(result.caseId): \(error)", width: 2_000))
      }
    }
    let score = MutationSuite.score(
      judged, limit: limit, jobs: jobs == 0 ? Screen.processorCount : jobs)
    if json {
      Output.json(score.json)
    } else {
      Output.lines(MutationReport(painter: Screen.painter, width: Screen.width).lines(for: score))
    }
    if let minScore, let share = score.score, share < minScore { throw ExitCode(1) }
    if let maxSurvivors, score.counts.survivors > maxSurvivors { throw ExitCode(1) }
    if score.counts.changes == 0 || results.cases.contains(where: { $0.error != nil }) {
      throw ExitCode(2)
    }
  }
}
