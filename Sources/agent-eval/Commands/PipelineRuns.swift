import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import LiveBoundary
import TraceReporting
import TraceStorage

/// What `record`, `resume` and `rollback` share where it is a pipeline that runs.
enum PipelineRuns {
  /// What pipelines are run with.
  private static func means(
    pausing: Cancellation, seed: Int?, _ writing: WritingOptions
  ) -> PipelineMeans {
    let isFixed = writing.fixedClock
    return PipelineMeans(
      makeTool: { makeTool($0, in: $1, cancellation: $2, isFixed: isFixed) },
      makeBoundary: RunTreeBoundaries.each,
      clock: { elapsed -> any RunClock in
        if isFixed { return FixedClock(elapsedMicroseconds: elapsed) }
        return SystemClock(elapsedMicroseconds: elapsed)
      },
      identifiers: seed.map { SeededRunIDs(seed: $0) } ?? RandomRunIDs(), pausing: pausing,
      logOptions: .init(durability: writing.durability),
      secrets: { .inEnvironment(forPrograms: $0) })
  }

  /// The tool that a command of a task is.
  static func makeTool(
    _ command: CommandDefinition, in folder: String, cancellation: Cancellation, isFixed: Bool
  ) -> any Tool {
    CommandTool(
      command, folder: folder,
      clock: isFixed ? FixedClock() : SystemClock(cancellation: cancellation),
      cancellation: cancellation)
  }

  /// The pipeline of a file, checked; exits with 2 and everything that is wrong.
  static func load(_ path: String) throws -> PipelineDefinition {
    let definition = try Diagnostics.unwrap(PipelineLoader.load(path))
    try LiveBuild.require(for: definition.agents)
    return definition
  }

  /// The pipeline that a log was recorded with: of the file that is given, or the one below this folder
  /// that the log names.
  static func load(of log: String, file: String?) throws -> (PipelineDefinition, String) {
    let path =
      try file
      ?? WaitingPipeline.definitionFile(of: log, among: AgentSearch(pipelines: true))
    if file == nil { Output.error("pipeline  \(Visible.line(path))") }
    return (try load(path), path)
  }

  /// The value of `--input`: JSON, a file of it behind `@`, or plain text.
  static func input(_ text: String?) throws -> JSONValue? {
    guard let text else { return nil }
    if text.hasPrefix("@") { return try EditFile.read(String(text.dropFirst())) { $0 } }
    return (try? JSONValue(parsing: text, options: .init(depthLimit: 64))) ?? .string(text)
  }

  /// Prints events as they happen: a line each, and on a terminal what goes on beneath them. What the log held before
  /// is taken in and not printed.
  private static func printer(json: Bool) -> Printer {
    guard !json else { return ({ _ in }, { _ in }) }
    var view = PipelineView(
      painter: Screen.painter, width: Screen.width, foldsElements: Screen.isTerminal)
    return (
      { _ = view.lines(for: $0) },
      { event in
        LiveView.print(view.lines(for: event))
        if let progress = view.progress { Output.progress(progress) }
      }
    )
  }

  /// Takes in what the log held before, and prints what is new.
  typealias Printer = (past: (Event) -> Void, now: (Event) -> Void)

  /// What a pipeline comes to that a signal pauses.
  static func recording(
    _ writing: WritingOptions, seed: Int? = nil,
    _ record: (PipelineMeans, Printer) async throws -> PipelineRecording
  ) async throws -> PipelineRecording {
    let pausing = Cancellation()
    let listener = SignalListener(pausing)
    defer { listener.stop() }
    return try await record(
      means(pausing: pausing, seed: seed, writing), printer(json: writing.json))
  }

  /// Says how a run went, and what comes next; exits with 1 where it did not end well.
  static func report(_ recording: PipelineRecording, json: Bool) throws {
    let state = recording.state
    if json {
      Output.json([
        "runId": .string(state.runId), "log": .string(recording.log),
        "stopReason": state.stop.map { .string($0.reason) } ?? .null,
        "stopDetail": state.stop?.detail.map(JSONValue.string) ?? .null,
        "tasks": .object(state.result), "newEvents": JSONValue(recording.newEvents),
        "waiting": JSONValue(state.questions.map { "\($0.node)" }),
        "sealDigest": .string(recording.sealDigest.hex),
      ])
    } else {
      Output.line("log    \(Visible.line(recording.log))")
      for step in try nextSteps(recording) { Output.error(step) }
    }
    if !recording.isSuccess { throw ExitCode(1) }
  }

  /// The commands of which one says something to what waits, a line each.
  static func hints(for open: WaitingPipeline.Open, in log: String) -> [String] {
    // An element's brackets are a pattern to a shell.
    let log = ShellWord.path(log)
    let name = ShellWord.quote(open.name)
    if open.isQuestion { return ["next   agent-eval answer \(log) TEXT --task \(name)"] }
    let word = "agent-eval approve \(log) \(name) --by NAME"
    return open.why == .doubt ? WhatWaits.doubt(word) : ["next   \(word)"]
  }

  private static func nextSteps(_ recording: PipelineRecording) throws -> [String] {
    let log = ShellWord.path(recording.log)
    guard recording.state.stop?.isFinal == false else { return [] }
    let waiting = try WaitingPipeline(log: recording.log)
    if let first = try waiting.open().first { return hints(for: first, in: recording.log) }
    if recording.state.rollback != nil { return ["next   agent-eval resume \(log)"] }
    switch recording.state.stop?.reason {
    case StopReason.cancelled.rawValue, StopReason.blocked.rawValue:
      return ["next   agent-eval resume \(log)"]
    case StopReason.toolFailure.rawValue:
      return ["next   agent-eval rollback \(log) --to CHECKPOINT"]
    default: return []
    }
  }
}

/// Goes back in a pipeline.
struct Rollback: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    abstract: "Roll a pipeline that stands still back to a checkpoint, and undo what it did since.",
    discussion: """
      Nothing is erased: what was done behind the checkpoint is undone by what its tasks declare, what was \
      done last first, and each step is recorded. "resume" then runs the tasks behind the checkpoint \
      anew; those that write ask a person first. Where undoing fails, "resume" tries again, and "approve \
      LOG TASK --happened" says that a person has done it. Exits with 0 once it is rolled back, with 1 where \
      something is still to be undone.
      """
        + Example.list([
          "rollback latest --to draft": "undo what was done behind the task “draft”"
        ]))

  @Argument(help: .log("The log of a pipeline"), completion: .file())
  var log: String

  @Option(help: "The task whose end is the checkpoint, or start.")
  var to: String

  @Option(
    help: "The pipeline file. Default: the one below this folder that the log names.",
    completion: .file())
  var agent: String?

  @Option(help: "Who asks for it.")
  var by: String?

  @Option(help: "Why.")
  var reason: String?

  @Flag(help: "Leave effects as they are of which nothing is declared that undoes them.")
  var leaveUndeclared = false

  @OptionGroup var writing: WritingOptions

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func run() async throws {
    guard try WaitingPipeline.isPipeline(log) else {
      throw ValidationError("\(log) is no pipeline's log; fork goes on from inside a run.")
    }
    let (definition, _) = try PipelineRuns.load(of: log, file: agent)
    let recording = try await PipelineRuns.recording(writing) { means, print in
      try await PipelineRecording(
        rollingBack: log, with: definition, to: to == "start" ? nil : to, by: by, reason: reason,
        leavesUndeclared: leaveUndeclared, means, observePast: print.past, observe: print.now)
    }
    let isBack = recording.state.stop?.detail == "rolled_back"
    if writing.json || !isBack {
      return try PipelineRuns.report(recording, json: writing.json)
    }
    Output.line("log    \(Visible.line(recording.log))")
    Output.error("next   agent-eval resume \(ShellWord.path(recording.log))")
  }
}

/// Asks a pipeline that runs elsewhere to pause.
struct Pause: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Ask a pipeline that another process runs to pause.",
    discussion: """
      What is under way ends by itself, nothing new begins, and the process ends with the log closed; \
      "resume" goes on. Waits for that, as long as --timeout says. Exits with 0 once the pipeline stands \
      still, with 1 where it does not yet, with 2 where nobody runs it.
      """
        + Example.list([
          "pause latest": "let what is under way end, then stand still"
        ]))

  @Argument(help: .log("The log of a pipeline that runs"), completion: .file())
  var log: String

  @Option(help: "Seconds to wait for what is under way.")
  var timeout = 60.0

  func validate() throws {
    guard (0...1e9).contains(timeout) else {
      throw ValidationError("--timeout takes 0 to 1000000000 seconds.")
    }
  }

  func run() async throws {
    let request = PauseRequest(log: log)
    guard try request.isRunning() else {
      Output.error(
        "\(Visible.line(log)) is left open, but no process runs it: agent-eval resume goes on with it"
      )
      throw ExitCode(2)
    }
    try request.make()
    let clock = ContinuousClock()
    let end = clock.now + .seconds(timeout)
    while !request.isClosed {
      guard clock.now < end else {
        Output.error("what is under way has not ended yet; the pipeline pauses once it has")
        throw ExitCode(1)
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    request.withdraw()
    Output.line("paused \(Visible.line(log))")
  }
}
