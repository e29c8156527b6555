import AgentTrace
import ArgumentParser
import TraceReplaying
import TraceReporting

/// Prints one step of a run and the state it left.
struct Replay: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Replay a recorded run to one of its steps.",
    discussion: """
      Prints what the model saw at that step, what it decided, the verdicts and results, and the \
      state after it, folded from the log's events alone.
      """)

  @Argument(help: "A run log.")
  var log: String

  @Option(help: "The step to replay to, from 1; 0 is what came before the first.")
  var step: Int?

  @Option(help: "Replay to the step that holds this event.")
  var event: Int?

  @Flag(help: "Print the step as one JSON object.")
  var json = false

  func validate() throws {
    guard (step == nil) != (event == nil) else {
      throw ValidationError("Give either --step N or --event SEQ.")
    }
    guard step ?? event ?? 0 >= 0 else {
      throw ValidationError("Steps and events are numbered from 0.")
    }
  }

  func run() throws {
    let replay =
      if let event {
        try StepReplay(ofEvent: event, in: log)
      } else {
        try StepReplay(of: step ?? 0, in: log)
      }
    if json { return Output.json(replay.json) }
    let report = StepReport(painter: Screen.painter, width: Screen.width)
    Output.lines(report.lines(step: replay.step, events: replay.events, state: replay.state))
  }
}
