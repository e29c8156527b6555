import AgentTrace
import ArgumentParser
import EvalRunning
import TraceReplaying
import TraceReporting

/// Steps through a run, prints one of its steps and the state it left, or makes whole runs again.
struct Replay: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Replay a recorded run, step by step or to one of its steps.",
    discussion: """
      Opens a debugger on a terminal; elsewhere, or with --commands or -c, it takes commands line by \
      line ("help" lists them) and ends with 2 at the first that cannot be followed.

      With --step or --event it prints what the model saw at that step, what it decided, the verdicts \
      and results, and the state after it, folded from the log's events alone.

      With --reexecute it makes runs again with the agent and the policy of today, on recorded answers \
      alone: no model is asked and no tool is started. It exits with 0 where every run is faithful, \
      with 1 where one diverged, with 2 where one could not be made again.
      """
        + Example.list([
          "replay latest": "step through the newest run",
          "replay latest -s 3": "what the model saw at step 3, and what came of it",
          "replay latest -c 'goto 12; why'": "why event 12 came about",
          "replay runs/ -x": "make every run again with the agent of today",
        ]))

  @Argument(
    help: "A run log; with --reexecute any number of logs, and folders of them.",
    completion: .file())
  var logs: [String]

  private var log: String { logs.first ?? "" }

  @Option(
    name: .shortAndLong, help: "The step to replay to, from 1; 0 is what came before the first.")
  var step: Int?

  @Option(
    name: .shortAndLong,
    help: "Replay to the step that holds this event; with --json, to this event.")
  var event: Int?

  @Flag(
    help: """
      Print the step as one JSON object; with --event, the state after that event and nothing else.
      """)
  var json = false

  @OptionGroup var debugging: DebugOptions

  // Side by side, not one in another; see `ConditionOptions`.
  @OptionGroup var reexecution: ReexecutionOptions

  @OptionGroup var conditions: ConditionOptions

  @OptionGroup var remaking: RemakingOptions

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    try requireReexecution()
    if reexecution.reexecute {
      guard !printsStep, !debugging.isGiven else {
        throw ValidationError("--step, --event and commands do not go with --reexecute.")
      }
      return
    }
    guard logs.count == 1 else {
      throw ValidationError("Give one log; only --reexecute takes more.")
    }
    guard step == nil || event == nil else {
      throw ValidationError("Give either --step N or --event SEQ.")
    }
    if printsStep {
      if debugging.isGiven {
        throw ValidationError("Commands do not go with --step and --event; say “goto” instead.")
      }
    } else if json {
      throw ValidationError("--json goes with --step N or --event SEQ.")
    }
    guard step ?? event ?? 0 >= 0 else {
      throw ValidationError("Steps and events are numbered from 0.")
    }
  }

  /// Looks that nothing is said of making runs again where none is.
  private func requireReexecution() throws {
    let isGiven =
      reexecution.isGiven || conditions.isGiven || remaking.jobs != nil || remaking.bisect
    guard reexecution.reexecute || !isGiven else {
      throw ValidationError(
        "--agent, --cases, --policy, --approve, --actor, --route, limits, --explain, --jobs and --bisect go with "
          + "--reexecute.")
    }
  }

  /// Whether one step is printed, rather than the run stepped through.
  private var printsStep: Bool { step != nil || event != nil }

  func run() async throws {
    if reexecution.reexecute {
      return try await ReexecutionCommand(
        options: reexecution, conditions: conditions, remaking: remaking, json: json
      ).run(logs)
    }
    guard printsStep else { return try Debugging(log: log).start(debugging) }
    if try WaitingPipeline.isPipeline(log) { return try printPipeline() }
    if json, let event {
      return Output.json(try StepReplay.state(afterEvent: event, in: log).encoded)
    }
    let replay =
      if let event {
        try StepReplay(ofEvent: event, in: log)
      } else {
        try StepReplay(of: step ?? 0, in: log)
      }
    if json { return Output.json(replay.json) }
    Paging.begin()
    let report = StepReport(
      painter: Screen.painter, width: Screen.width, isFull: Screen.isFull)
    Output.lines(report.lines(step: replay.step, events: replay.events, state: replay.state))
  }

  /// Prints a pipeline at one of its events.
  private func printPipeline() throws {
    guard let event else {
      throw ValidationError(
        "\(log) is a pipeline's log, which has no steps of its own: say --event SEQ, or --step of the log of a "
          + "task's run beside it.")
    }
    let (found, state) = try PipelineRecording.moment(event, of: log)
    if json { return Output.json(state.encoded) }
    Paging.begin()
    let report = PipelineReport(
      painter: Screen.painter, width: Screen.width, isFull: Screen.isFull)
    Output.lines(report.lines(event: found, state: state))
  }
}
