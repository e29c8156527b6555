import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import TraceReplaying
import TraceReporting

/// Finds the step that turned a run.
struct Bisect: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "bisect",
    abstract: "Find the step of a bad run that turned its outcome, beside a good one.",
    discussion: """
      Tries runs that begin as the bad one, up to some step, and go on with the recorded answers of \
      the good one: no model is asked and no tool runs. Prints the step from which on they come out \
      bad, and its exchange in both. Exits with 0 where the step was found, with 2 where there is none \
      to find.
      """
        + Example.list([
          "bisect good.jsonl.gz latest": "the step from which on the newest run went wrong"
        ]))

  @Argument(help: .log("The log of the run that went well"), completion: .file())
  var good: String

  @Argument(help: .log("The log of the run that did not"), completion: .file())
  var bad: String

  @Option(
    help:
      "The agent file that both were recorded with. Default: the one below this folder that the log of the bad run names.",
    completion: .file()
  )
  var agent: String?

  @Option(help: "A policy file in place of the agent's own policy.", completion: .file())
  var policy: String?

  @Option(
    name: .customLong("case"),
    help: "A case file with one case, which tells good from bad. Default: the reason of the stop.",
    completion: .file())
  var caseFile: String?

  @Flag(help: "Print one JSON object.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func run() async throws {
    let definition = try RecordedAgent.load(of: bad, agent: agent, policy: policy).agent
    let evalCase = try caseFile.map(loadCase)
    let bisection = try await Bisection(good: good, bad: bad, agent: definition) {
      evalCase.map { CaseOutcomeFold($0) } ?? StopOutcome() as any OutcomeFold
    }
    let steps = BothSteps(
      good: try? StepReplay(of: bisection.step, in: good),
      bad: try? StepReplay(of: bisection.step, in: bad))
    if json { return Output.json(bisection.json(good: good, bad: bad, steps)) }
    Output.lines(bisection.lines(good: good, bad: bad, steps))
  }

  private func loadCase(_ path: String) throws -> EvalCase {
    let loaded = CaseLoader.load([path], areRunsElsewhere: true)
    Diagnostics.print(loaded.diagnostics)
    guard let evalCase = loaded.cases.first, loaded.cases.count == 1 else {
      guard !loaded.cases.isEmpty else { throw ExitCode(2) }
      throw ValidationError(
        "\(path) holds \(loaded.cases.count) cases; --case takes a file with one.")
    }
    return evalCase
  }
}

/// The turning step in both runs; `nil` where the run has no such step.
struct BothSteps {
  var good: StepReplay?
  var bad: StepReplay?
}

extension Bisection {
  /// The result for a person.
  func lines(good: String, bad: String, _ steps: BothSteps) -> [String] {
    let tried = probes.map { "\($0.step) \($0.outcome ?? "left the good run")" }
    let paths = [good, bad].map { Visible.line($0) }
    let half = SideBySide.half(ofWidth: Screen.columns)
    let columns = SideBySide(
      ["good: \(paths[0])"] + Self.exchange(steps.good, width: half),
      ["bad: \(paths[1])"] + Self.exchange(steps.bad, width: half))
    return [
      "turned in step \(step) of \(self.steps): \(Visible.line(goodOutcome)) → "
        + Visible.line(badOutcome),
      "tried  \(Figures.count(probes.count, "run")), by their steps of the bad one: "
        + Visible.line(tried.joined(separator: ", ")),
      "",
    ] + columns.lines(width: Screen.columns) + ["", "see more:"]
      + Self.commands(good: good, bad: bad, step: step).map { "  " + Visible.line($0) }
  }

  private static func exchange(_ replay: StepReplay?, width: Int) -> [String] {
    guard let replay else { return ["the run ended before this step"] }
    var timeline = Timeline(painter: Painter(isColoured: false), width: width)
    return replay.events.flatMap { timeline.lines(for: $0) }
  }

  private static func commands(good: String, bad: String, step: Int) -> [String] {
    [
      "agent-eval replay \(ShellWord.path(good)) --step \(step)",
      "agent-eval replay \(ShellWord.path(bad)) --step \(step)",
      "agent-eval diff \(ShellWord.path(good)) \(ShellWord.path(bad))",
    ]
  }

  /// The result as one JSON object.
  func json(good: String, bad: String, _ steps: BothSteps) -> JSONValue {
    [
      "good": .string(good), "bad": .string(bad), "goodOutcome": .string(goodOutcome),
      "badOutcome": .string(badOutcome), "step": JSONValue(step), "steps": JSONValue(self.steps),
      "probes": .array(
        probes.map {
          ["step": JSONValue($0.step), "outcome": $0.outcome.map(JSONValue.string) ?? .null]
        }), "goodStep": steps.good?.json ?? .null, "badStep": steps.bad?.json ?? .null,
      "commands": JSONValue(Self.commands(good: good, bad: bad, step: step)),
    ]
  }
}
