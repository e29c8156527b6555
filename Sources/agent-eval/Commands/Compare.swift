import AgentTrace
import ArgumentParser
import TraceJudging
import TraceReporting

/// Holds two sets of results against each other.
struct Compare: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    abstract: "Compare two results of `run --json`: is it worse by more than chance?",
    discussion: """
      Cases are paired by their ids. Where trials were made, the suite and each case are tested, \
      half of the level each, and a safety case that fails counts always; where none were, each case that \
      passed and fails now counts. Exits with 0, with 1 where something has become worse or a case of \
      the results before is missing, with 3 where \
      more than 2 % of the cases are undecided or one is that passed and has no chance in it, with 2 where a \
      file cannot be read or holds another part of the suite.
      """
        + Example.list([
          "compare before.json now.json":
            "whether results of `run --live --json` became worse by more than chance"
        ]))

  @Argument(
    help: "The results before: a file that `run --json` or `--report json:FILE` wrote.",
    completion: .file())
  var before: String

  @Argument(help: "The results now.", completion: .file())
  var now: String

  @Option(help: "How often something may be called worse that is not.")
  var level = 0.05

  @Option(help: "What the drawing of samples begins with.")
  var seed = 1

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    guard level > 0, level < 0.5 else {
      throw ValidationError("--level takes a number between 0 and 0.5.")
    }
    guard seed >= 0 else { throw ValidationError("--seed takes 0 or more.") }
  }

  func run() throws {
    let (earlier, later) = (try results(before), try results(now))
    guard earlier.extent.hasSameUTF8(as: later.extent) else {
      throw failure(
        "\(before) holds \(earlier.extent) and \(now) \(later.extent), whose cases are others: put the "
          + "shards together with `agent-eval merge`")
    }
    let statistics = SuiteStatistics(
      before: earlier, now: later, level: level, seed: UInt64(seed))
    if json {
      Output.json(statistics.json)
    } else {
      let report = StatisticsReport(painter: Screen.painter, width: Screen.width)
      Output.lines(report.lines(for: statistics))
    }
    if statistics.exitCode != 0 { throw ExitCode(statistics.exitCode) }
  }

  private func results(_ path: String) throws -> EvalResults {
    let results: EvalResults
    do {
      results = try EvalResults(decoding: try JSONValue(parsing: try InputFiles.all(of: path)))
    } catch let error as InputFiles.Failure {
      // It names the file itself.
      throw failure("\(error)")
    } catch {
      throw failure("\(path): \(error)")
    }
    if let lack = results.lack { throw failure("\(path) \(lack)") }
    return results
  }

  private func failure(_ words: String) -> ExitCode {
    Output.error(Visible.line("agent-eval: \(words)", width: 2_000))
    return ExitCode(2)
  }
}
