import AgentRuntime
import ArgumentParser
import EvalLoading
import EvalRunning
import Glibc
import LiveBoundary
import TraceJudging
import TraceReporting

/// Writes down what cases do now as what they should do.
struct Accept: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Accept what cases do now as their baselines.",
    discussion: """
      Judges the cases as `run` does and writes a small text for each, accepted/<case>.txt beside its \
      case file: what is asked, the calls, verdicts, stop, outcomes and cost. On a terminal each \
      change is shown first and asked for; --all asks nothing, and nothing is asked where there is no \
      terminal. Where CI is set nothing is written, unless --ci is given. Exits with 0 where every \
      case was dealt with, with 2 where one could not be judged or written.
      """)

  @Argument(help: "Case files, or folders of them. Default: EvalCases.")
  var paths: [String] = ["EvalCases"]

  @Flag(help: "Accept every change without asking.")
  var all = false

  @Flag(help: "Write nothing; show what would change, and exit with 1 where something would.")
  var dryRun = false

  @Flag(help: "Write even where CI is set.")
  var ci = false

  @Flag(help: "Remove the baselines of cases that are gone.")
  var deleteOrphans = false

  @Option(help: "A folder of recorded runs, for cases that name no recording.")
  var runs: String?

  @Flag(help: "Run the agents that the cases name, and accept those runs.")
  var live = false

  @Option(help: "Cases to work on side by side; 0 for one a core.")
  var jobs = 0

  @Option(help: "Only cases whose id matches this glob, or that have this tag.")
  var filter: String?

  @Option(help: "Where runs that are made now are recorded. Default: .agent-eval/runs.")
  var out: String?

  @Flag(help: "Start the programs by which cases are judged (exec).")
  var exec = false

  func validate() throws {
    do { _ = try judging() } catch { throw ValidationError(Run.message(for: error)) }
  }

  /// The verb that judges, with what was asked of this one.
  private func judging() throws -> RunRequest {
    var words = ["--jobs=\(jobs)", "--against=\(BaselineFiles.folderName)"]
    for (name, value) in [("runs", runs), ("filter", filter), ("out", out)] {
      if let value { words.append("--\(name)=\(value)") }
    }
    for (name, isSet) in [("live", live), ("exec", exec)] where isSet { words.append("--\(name)") }
    return try Run.parse(words + ["--"] + paths).request
  }

  func run() async throws {
    guard !Screen.isCI || ci || dryRun else {
      Output.error(
        "agent-eval: nothing is accepted where CI is set; accept on your machine and commit the "
          + "files, or give --ci.")
      throw ExitCode(2)
    }
    let judging = try judging()
    let loaded = try judging.chosen(judging.loadCases(areRunsElsewhere: runs != nil))
    let results = try await judge(loaded, judging)
    var review = Review(asks: Screen.canAsk && !all && !dryRun, writes: !dryRun)
    review.go(through: Acceptance(of: results, loaded.cases))
    if let suite = results.comparison { review.tell(ofOrphans: suite, deletes: deleteOrphans) }
    review.summarise()
    if let code = review.exitCode { throw ExitCode(code) }
  }

  /// Judges the cases; signals are listened for no longer than that takes, so that they end a review.
  private func judge(_ loaded: CaseLoader.Result, _ judging: RunRequest) async throws -> EvalResults
  {
    let cancellation = Cancellation()
    let listener = SignalListener(cancellation)
    defer { listener.stop() }
    let results = try await judging.results(of: loaded, cancellation)
    if let signal = cancellation.signal {
      Output.error("agent-eval: nothing was accepted: \(signal) came.")
      throw ExitCode(128 + (signal == "SIGINT" ? SIGINT : SIGTERM))
    }
    return results
  }
}
