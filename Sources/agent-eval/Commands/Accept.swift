import AgentRuntime
import ArgumentParser
import EvalLoading
import EvalRunning
import Glibc
import LiveBoundary
import TraceJudging

/// Writes down what cases do now as what they should do.
struct Accept: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    abstract: "Accept what cases do now as their baselines.",
    discussion: """
      Judges the cases as `run` does and writes a small text for each, accepted/<case>.txt beside its \
      case file: what is asked, the calls, verdicts, stop, outcomes and cost. On a terminal each \
      change is shown first and asked for. --all asks nothing; without it, where there is no terminal, \
      changes are only shown, as with --dry-run. Under CI nothing is written, unless --ci is given. \
      Exits with 0 where every case was dealt with, with 1 where something would change and nothing \
      was written, with 2 where one could not be judged or written.
      """
        + Example.list([
          "accept EvalCases/": "see each change and say whether it is meant",
          "accept EvalCases/ --all": "take them all",
        ]))

  @Argument(
    help: "Case files, or folders of them. Default: the setting “paths”, else EvalCases.",
    completion: .file())
  var paths: [String] = []

  @Flag(help: "Accept every change without asking.")
  var all = false

  @Flag(help: "Write nothing; show what would change, and exit with 1 where something would.")
  var dryRun = false

  @Flag(help: "Write even under CI; goes with --all.")
  var ci = false

  @Flag(help: "Remove the baselines of cases that are gone.")
  var deleteOrphans = false

  @OptionGroup var judging: JudgingOptions

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws { try request.validate() }

  /// What the verb that judges is asked to do.
  private var request: RunRequest {
    var request = judging.request(of: paths)
    request.takeInputs(.here)
    if request.paths.isEmpty { request.paths = ["EvalCases"] }
    request.baselines.against = BaselineFiles.folderName
    return request
  }

  func run() async throws {
    guard !Screen.isCI || ci || dryRun else {
      Output.error(
        "agent-eval: nothing is accepted under CI; accept on your machine and commit the "
          + "files, or give --ci.")
      throw ExitCode(2)
    }
    let request = request
    let loaded = try request.chosen(request.loadCases(areRunsElsewhere: request.runs != nil))
    let results = try await judge(loaded, request)
    // Nobody has seen what nobody was asked for.
    let isUnseen = !all && !dryRun && !Screen.canAsk
    let writes = !dryRun && !isUnseen
    var review = Review(asks: writes && !all, writes: writes)
    review.go(through: Acceptance(of: results, loaded.cases))
    if let suite = results.comparison { review.tell(ofOrphans: suite, deletes: deleteOrphans) }
    review.summarise()
    if isUnseen, review.leavesChanges {
      Output.error(
        "agent-eval: nothing was written, for there is no terminal to ask on; --all accepts every change."
      )
    }
    if let code = review.exitCode { throw ExitCode(code) }
  }

  /// Judges the cases; signals are listened for no longer than that takes, so that they end a review.
  private func judge(_ loaded: CaseLoader.Result, _ request: RunRequest) async throws -> EvalResults
  {
    let cancellation = Cancellation()
    let listener = SignalListener(cancellation)
    defer { listener.stop() }
    let results = try await request.results(of: loaded, cancellation)
    if let signal = cancellation.signal {
      Output.error("agent-eval: nothing was accepted: \(signal) came.")
      throw ExitCode(SignalListener.exitCode(of: signal))
    }
    return results
  }
}
