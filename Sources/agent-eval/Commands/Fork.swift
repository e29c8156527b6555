import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import LiveBoundary
import TraceReplaying
import TraceReporting
import TraceStorage

/// Goes on from inside a recorded run.
struct Fork: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "fork",
    abstract: "Make a new run that shares its beginning with a recorded one.",
    discussion: """
      Copies the run up to a place into a new log that names its parent, with an edit if asked, and \
      goes on from there. The recorded answers serve while the fork asks the same questions. At the \
      first new one it ends with exit code 2 and says which it was, or with --live goes on with the \
      agent's own model, tools and people. Prints the timeline of what is new and the path of the log. \
      Exits with 0 where the run stopped with success, with 1 for any other stop.
      """
        + Example.list([
          "fork latest --at step:3 --live": "go on from step 3 with the agent's own model",
          "fork latest --at event:7 --set result=other.json":
            "and what if the result had been another?",
        ]))

  @Argument(help: .log("A run log"), completion: .file())
  var log: String

  @Option(
    help: "Where to fork: step:N, before the first event of a step, or event:N, behind an event.")
  var at: ForkPoint

  @Option(
    help:
      "decision=FILE puts another decision in the place of the step's, result=FILE another result in the place of the event's; JSON or YAML."
  )
  var set: [String] = []

  @Option(help: "Leave this item out of every packet from there on, by its ref. May be repeated.")
  var dropContext: [String] = []

  @Option(
    help: "The agent file that goes on. Default: the one below this folder that the log names.",
    completion: .file())
  var agent: String?

  @Option(help: "A policy file in place of the agent's own policy.", completion: .file())
  var policy: String?

  @Flag(help: "What answers questions that the recording does not.")
  var answers = Answers.recorded

  @Option(
    name: .shortAndLong,
    help:
      "Where the log goes: a folder, or a file that ends in .jsonl.gz. Default: .agent-eval/runs.",
    completion: .file())
  var out: String?

  @Option(help: "A seed for the run's identifier, so that it is the same each time.")
  var seed: Int?

  @Flag(help: "Let time stand still but for recorded times, so that the log is the same each time.")
  var fixedClock = false

  @OptionGroup var memory: MemoryOption

  @Flag(help: "Print one JSON object at the end instead of the timeline.")
  var json = false

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  /// What answers questions that the recording does not.
  enum Answers: String, EnumerableFlag {
    /// The agent's own model, tools and people.
    case live
    /// Nobody.
    case recorded

    static func help(for value: Answers) -> ArgumentHelp? {
      switch value {
      case .live: "Go on live behind the first question that the recording does not answer."
      case .recorded: "End at the first question that the recording does not answer."
      }
    }
  }

  func validate() throws { try out.map(OutputOption.check) }

  func run() async throws {
    let edits = try edits()
    let (definition, path) = try RecordedAgent.load(of: log, agent: agent, policy: policy)
    let cancellation = Cancellation()
    let listener = SignalListener(cancellation)
    defer { listener.stop() }
    let identifiers: any RunIDs = seed.map { SeededRunIDs(seed: $0) } ?? RandomRunIDs()
    if answers == .live { try LiveBuild.require(for: [definition]) }
    let runId = identifiers.next()
    let isFixed = fixedClock
    var request = RunFork.Request(
      parent: log, at: at, edits: edits, agent: definition, runId: runId, seed: seed,
      log: RunFiles(output: out ?? Settings.here.out).path(of: definition.name, runId: runId),
      cancellation: cancellation,
      clock: { elapsed -> any RunClock in
        if isFixed { return FixedClock(elapsedMicroseconds: elapsed) }
        return SystemClock(elapsedMicroseconds: elapsed, cancellation: cancellation)
      })
    request.secrets = .inEnvironment(for: definition)
    if answers == .live {
      request.ancestorFolders = RunLogs.knownFolders
      let store = try memory.store(for: definition)
      let makeBoundary = RunTreeBoundaries.maker(person: nil, memory: store)
      let children = RunTreeBoundaries.children(
        in: RunFiles.folder(ofLog: request.log), isFixed: isFixed, durability: .process,
        showsEvents: !json, cancellation, makeBoundary)
      request.live = { agent, clock in
        makeBoundary(
          agent,
          RunConditions(
            clock: clock, identifiers: identifiers, cancellation: cancellation, children: children))
      }
    }
    var timeline = Timeline(painter: Screen.painter, width: Screen.width, isFull: Screen.isFull)
    let fork = try await RunFork(
      request, observeShared: { _ = timeline.lines(for: $0) },
      observe: { event in if !json { LiveView.print(timeline.lines(for: event)) } })
    try report(fork, MakingAgain(of: fork.log, agent: path, policy: policy))
  }

  private func edits() throws -> ForkEdits {
    var edits = ForkEdits(droppedRefs: dropContext)
    for edit in set {
      let parts = edit.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[1].isEmpty else {
        throw ValidationError("--set takes decision=FILE or result=FILE.")
      }
      let path = String(parts[1])
      switch parts[0] {
      case "decision" where edits.reply == nil && edits.result == nil:
        edits.reply = try EditFile.read(path, ForkEdits.reply(from:))
      case "result" where edits.reply == nil && edits.result == nil:
        edits.result = try EditFile.read(path, ForkEdits.result(from:))
      case "decision", "result": throw ValidationError("Give one --set: a fork has one edit.")
      default:
        throw ValidationError(
          "--set takes decision=FILE or result=FILE, not “\(Visible.line(String(parts[0])))”.")
      }
    }
    return edits
  }

  private func report(_ fork: RunFork, _ again: MakingAgain) throws {
    if json {
      var object = fork.json.objectValue ?? [:]
      object["again"] = JSONValue(again.arguments)
      Output.json(.object(object))
    } else {
      Output.line("log    \(Visible.line(fork.log))")
      Output.error("again  \(Visible.line(again.line))")
      for line in try WhatWaits.lines(of: fork.log) { Output.error(line) }
    }
    if let question = fork.unanswered {
      Output.error(
        "agent-eval: \(Visible.line("\(log): \(question)")). "
          + "The fork ends there; with --live it goes on.")
      throw ExitCode(2)
    }
    if fork.state.stop?.reason != StopReason.success.rawValue { throw ExitCode(1) }
  }
}

extension ForkPoint: ExpressibleByArgument {
  /// Reads the word of the command line.
  public init?(argument: String) { self.init(argument) }
}

extension RunFork {
  /// What became of the fork as one JSON object.
  var json: JSONValue {
    [
      "runId": .string(state.runId), "log": .string(log), "parent": .object(parent.encoded),
      "newEvents": JSONValue(newEvents), "unanswered": unanswered.map(JSONValue.string) ?? .null,
      "stopReason": state.stop.map { .string($0.reason) } ?? .null,
      "stopDetail": state.stop?.detail.map(JSONValue.string) ?? .null,
      "sealDigest": .string(sealDigest.hex),
    ]
  }
}

/// A file with an edit: one value, in JSON or YAML.
enum EditFile {
  /// - Throws: an error that names the file.
  static func read<Edit>(
    _ path: String, _ read: (JSONValue) throws(ForkEditError) -> Edit
  ) throws -> Edit {
    let value = try Diagnostics.unwrap(WrittenValue.load(path))
    do { return try read(value) } catch {
      throw ForkEditError("\(path): \(error)")
    }
  }
}
