import ArgumentParser
import EvalRunning
import TraceJudging
import TraceReporting
import TraceStorage

/// Tells of many runs at a glance, whoever wrote them down.
struct Inspect: ParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "inspect",
    abstract: "Look at many runs at a glance, and get rules to begin with.",
    discussion: """
      Reads run logs, and other tools' traces by way of a cache, and tells of agents, tools, errors, stops, \
      loops, repeated writes, cost and unusual paths. With --write it also writes a file of rules that hold on \
      every one of these runs, for `run --on`. Exits with 2 where a run could not be read, or there is none.
      """
        + Example.list([
          "inspect runs/": "what a folder of logs holds, at a glance",
          "inspect traces/ --write rules.yaml":
            "the same of other tools' traces, and rules that hold on all of them",
        ]))

  @Argument(
    help: "Files and folders of runs: logs, and whatever `import` reads.", completion: .file())
  var paths: [String]

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Write what all runs have in common as a case file, which must not be there yet.",
      valueName: "rules.yaml"), completion: .file())
  var write: String?

  @Option(
    help: ArgumentHelp(
      "Where imported runs are kept. Default: .agent-eval/imports.", valueName: "dir"),
    completion: .directory)
  var importCache: String?

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    if paths.contains("") { throw ValidationError("A path is empty.") }
    try write.map(OutputOption.check)
    try importCache.map(OutputOption.check)
  }

  func run() throws {
    let runs = FoundRuns.all(of: paths, cache: importCache)
    let surveyor = FoundRuns.survey(of: runs, minesRules: write != nil)
    let report = SurveyReport(surveyor.survey, rules: surveyor.rules)
    if json {
      Output.json(report.json)
    } else {
      Output.lines(report.lines(painter: Screen.painter, width: Screen.width))
    }
    if runs.isEmpty { Output.error("agent-eval: there is no run to look at.") }
    var isWritten = true
    if let write { isWritten = try writeRules(surveyor, to: write) }
    if surveyor.survey.runs == 0 || !surveyor.survey.unreadable.isEmpty || !isWritten {
      throw ExitCode(2)
    }
  }

  /// Writes the rules; whether there are any.
  private func writeRules(_ surveyor: RunSurveyor, to path: String) throws -> Bool {
    guard let text = surveyor.rulesText(of: paths.joined(separator: " ")) else {
      Output.error("agent-eval: nothing holds on all of these runs; no rules were written.")
      return false
    }
    WholeFile.makeFolders(for: path)
    do throws(WholeFile.Failure) {
      try WholeFile.create(path, holding: Array(text.utf8))
    } catch {
      throw InspectFailure(description: "\(path) cannot be written: \(error)")
    }
    let paths = paths.map { ShellWord.path($0) }.joined(separator: " ")
    if let without = surveyor.withoutRules { Output.error(Visible.line("note: \(without).")) }
    Output.error(
      "rules in \(Visible.line(path)); next: agent-eval run \(ShellWord.path(path)) --on \(paths)")
    return true
  }
}

/// Why rules were not written.
private struct InspectFailure: Error, CustomStringConvertible {
  var description: String
}
