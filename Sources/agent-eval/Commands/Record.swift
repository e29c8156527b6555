import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import LiveBoundary
import Synchronization
import TraceMatching
import TraceReporting
import TraceStorage

/// Runs one agent.
struct Record: AsyncParsableCommand, Verb {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Run an agent or a pipeline and record what it does.",
    usage: """
      agent-eval record <agent> [<goal>] [options]
      agent-eval record --proxy [--replay <log>] [options] -- <command> ...
      """,
    discussion: """
      Prints the timeline as it happens and the path of the log. Exits with 0 where the run stopped \
      with success, with 1 for any other stop.

      With --proxy it starts a command, whatever agent that is, and records what it asks of models: base-URL \
      variables lead its clients to a proxy on this machine, which passes everything on. Exits as the \
      command does. With --replay the command is answered from such a recording, without a key and a \
      network; exits with 1 where it asks what was not recorded, or does not ask what was.
      """
        + Example.list([
          "record agents/support.yaml \"Refund order 1234\"": "run an agent and keep its log",
          "record agents/support.yaml \"Refund order 1234\" --approve ask":
            "and be asked where policy wants a person",
          "record --proxy -- python agent.py": "record whatever a command asks of models",
        ]))

  @Argument(help: "An agent file, or a pipeline file.", completion: .file())
  var agent: String?

  @Argument(help: "What the agent is to do; the agent file's own goal where left out.")
  var goal: String?

  @Option(
    help: ArgumentHelp(
      "Of a pipeline, what it is given: JSON, a file of it behind @, or text.", valueName: "json"))
  var input: String?

  @Option(help: "A policy file in place of the agent's own policy.", completion: .file())
  var policy: String?

  @Option(
    name: .shortAndLong,
    help:
      "Where the log goes: a folder, or a file that ends in .jsonl.gz. Default: .agent-eval/runs.",
    completion: .file())
  var out: String?

  @OptionGroup var conditions: ConditionOptions
  @OptionGroup var people: PeopleOptions
  @OptionGroup var memory: MemoryOption

  @Option(help: "A seed for the run's identifier, so that it is the same each time.")
  var seed: Int?

  @OptionGroup var writing: WritingOptions

  @OptionGroup var handing: HandingOptions

  @Flag(help: "Record a command that talks to models, by way of a proxy on this machine.")
  var proxy = false

  @Option(
    help: ArgumentHelp("With --proxy: answer from this recording.", valueName: "log"),
    completion: .file())
  var replay: String?

  @Option(
    help: ArgumentHelp(
      """
      With --proxy: where a provider is, NAME=URL. openai, anthropic, gemini, ollama, azure and bedrock are found by their \
      variables; a command gets NAME_BASE_URL for any other name.
      """, valueName: "name=url"))
  var upstream: [String] = []

  @Option(
    help: ArgumentHelp(
      """
      With --proxy: what a caller other than the agent is called: NAME=MATCHER, where the matcher is \
      tool:NAME, model:NAME or a text that its instructions or its first message hold.
      """, valueName: "name=matcher"))
  var caller: [String] = []

  @Option(
    help: ArgumentHelp(
      "With --proxy: which conversation is the agent's own, by a matcher as in --caller. Default: the first that has tools, or goes on.",
      valueName: "matcher"))
  var main: String?

  @Option(
    help: ArgumentHelp(
      "With --proxy: the tool by which the agent answers, and the part of its input that is the answer, as in final_answer/answer.",
      valueName: "tool/path"))
  var answerFrom: String?

  @Flag(
    help:
      "With --proxy: give the command a network of its own, in which nothing but the proxy can be reached; exit with 2 where the system refuses that."
  )
  var isolate = false

  @Flag(
    help:
      "With --proxy: exit with 1 where something went by that was not seen, though the command succeeded."
  )
  var requireComplete = false

  @Option(
    help: """
      With --proxy: what the log calls the agent, and the id of the case that `run --runs` takes it for. \
      Default: the name of the command, and no case.
      """)
  var name: String?

  @Argument(
    parsing: .postTerminator, help: "With --proxy: the command and its arguments, behind --.")
  var command: [String] = []

  @OptionGroup(title: "Output options") var screen: ScreenOptions

  func validate() throws {
    try out.map(OutputOption.check)
    guard proxy else {
      guard replay == nil, upstream.isEmpty, name == nil, command.isEmpty, !requireComplete,
        caller.isEmpty, main == nil, answerFrom == nil, !isolate
      else {
        throw ValidationError(
          "--replay, --upstream, --name, --caller, --main, --answer-from, --isolate, "
            + "--require-complete and a command go with --proxy.")
      }
      guard agent != nil else { throw ValidationError("Missing expected argument '<agent>'") }
      return
    }
    guard agent == nil, goal == nil else {
      throw ValidationError("The command of --proxy stands behind --: record --proxy -- COMMAND …")
    }
    guard !command.isEmpty else {
      throw ValidationError("Say what to start: record --proxy -- COMMAND …")
    }
    guard seed == nil, !writing.fixedClock, !writing.json else {
      throw ValidationError(
        "--seed, --fixed-clock and --json are for agents whose loop is here, not for --proxy.")
    }
    guard
      policy != nil || conditions.actor == nil && conditions.route == nil && people.approve == nil
    else {
      throw ValidationError("With --proxy, --actor, --route and --approve go with --policy.")
    }
    guard people.approve != "ask" else {
      throw ValidationError(
        "--approve ask needs the terminal, which the command of --proxy has; name a file, or write an "
          + "agent file with a command.")
    }
    guard conditions.limits == Limits() else {
      throw ValidationError(
        "Limits of a command stand in an agent file; see Docs/command-agents.md.")
    }
    guard replay == nil || policy == nil else {
      throw ValidationError("--replay answers from a recording, which no policy changes.")
    }
    guard replay == nil || out == nil && handing.otlp == nil else {
      throw ValidationError("--replay records nothing, so it takes neither --out nor --otlp.")
    }
  }

  #if Live
    /// What a policy lets through; `nil` without one.
    private func proxyGuard() throws -> ProxyGuard? {
      guard let policy else { return nil }
      var guarding = ProxyGuard()
      let rules = try Diagnostics.unwrap(PolicyLoader.load(policy))
      guarding.policy = rules
      guarding.authorizers = LiveBoundary.authorizers(of: rules, folder: ".")
      guarding.policyContext = PolicyContext(actorId: conditions.actor, route: conditions.route)
      guarding.person = try people.approve.flatMap { try Diagnostics.unwrap(PersonLoader.load($0)) }
      return guarding
    }
  #endif

  private func runProxy() async throws {
    try LiveBuild.require(for: "record --proxy")
    #if Live
      let code = try await ProxiedRecording(
        command: command, upstreams: upstream, name: name, out: out, durability: writing.durability,
        replay: replay, guarding: try proxyGuard(), requiresComplete: requireComplete,
        callers: caller, main: main, answerFrom: answerFrom, isIsolated: isolate,
        otlp: handing.otlp
      ).run()
      if code != 0 { throw ExitCode(code) }
    #endif
  }

  func run() async throws {
    try HandingOptions.require(handing.otlp)
    if proxy { return try await runProxy() }
    if let agent, PipelineLoader.isPipeline(agent) { return try await recordPipeline(agent) }
    guard input == nil else {
      throw ValidationError("--input is for pipelines; an agent is given its goal.")
    }
    var definition = try loadAgent()
    guard let goal = try goal ?? definition.ownGoal() else {
      throw ValidationError("Say what the agent is to do: the agent file has no goal of its own.")
    }
    try LiveBuild.require(for: [definition])
    let cancellation = Cancellation()
    let listener = SignalListener(cancellation)
    defer { listener.stop() }
    if definition.command != nil { return try await record(definition, goal, cancellation) }
    let clock: any RunClock =
      writing.fixedClock ? FixedClock() : SystemClock(cancellation: cancellation)
    let identifiers: any RunIDs = seed.map { SeededRunIDs(seed: $0) } ?? RandomRunIDs()
    let person = try people.person(for: &definition, cancellation)
    let (isFixed, json) = (writing.fixedClock, writing.json)
    let files = RunFiles(output: out ?? Settings.here.out)
    let makeBoundary = RunTreeBoundaries.maker(
      person: person, memory: try memory.store(for: definition))
    let boundary = makeBoundary(
      definition,
      RunConditions(
        clock: clock, identifiers: identifiers, cancellation: cancellation,
        children: RunTreeBoundaries.children(
          in: files.folder(of: definition.name), isFixed: isFixed, durability: writing.durability,
          showsEvents: !json, cancellation, makeBoundary)))
    let request = AgentRecording.Request(
      goal: .string(goal), files: files, seed: seed,
      logOptions: .init(durability: writing.durability))
    var timeline = Timeline(painter: Screen.painter, width: Screen.width, isFull: Screen.isFull)
    var answer: String?
    let handed = HandedRuns(to: handing.otlp)
    let recording = try await AgentRecording(
      of: definition, request, on: boundary, willRecord: { handed?.follow($0) },
      report: LiveView.show,
      observe: { event in
        if !json { LiveView.print(timeline.lines(for: event)) }
        if event.type == .stop { answer = event.data["answer"]?.stringValue }
      })
    try report(recording, answer: answer, isJSON: definition.answers.schema != nil)
    await handed?.hand([recording.log])
    if !recording.isSuccess { throw ExitCode(1) }
  }

  /// Runs an agent that is a command.
  private func record(
    _ definition: AgentDefinition, _ goal: String, _ cancellation: Cancellation
  ) async throws {
    guard seed == nil, !writing.fixedClock, !writing.json else {
      throw ValidationError(
        "This agent is a command: --seed, --fixed-clock and --json are for agents whose loop is here."
      )
    }
    guard conditions.limits.maxToolCalls == nil, conditions.limits.timeoutSeconds == nil else {
      throw ValidationError(
        "This agent is a command: its calls are limited by a policy, its time by timeoutSeconds.")
    }
    var definition = definition
    if policy != nil, var command = definition.command {
      command.isGuarded = true
      definition.model.implementation = .command(command)
    }
    let person = try people.person(for: &definition, cancellation)
    var request = CommandRequest(
      input: goal, files: RunFiles(output: out ?? Settings.here.out), cancellation: cancellation)
    request.person = person
    let timeline = Mutex(
      Timeline(painter: Screen.painter, width: Screen.width, isFull: Screen.isFull))
    let handed = HandedRuns(to: handing.otlp)
    request.willRecord = { handed?.follow($0) }
    request.observe = { event in
      LiveView.print(timeline.withLock { $0.lines(for: event) })
    }
    let recording = try await CommandRuns.runner(durability: writing.durability)(
      definition, request)
    if !recording.isSuccess, !recording.errors.isEmpty {
      Output.error(Visible.lines(recording.errors).joined(separator: "\n"))
    }
    Output.line("log    \(Visible.line(recording.log))")
    await handed?.hand([recording.log])
    if !recording.isSuccess { throw ExitCode(1) }
  }

  /// Runs a pipeline.
  private func recordPipeline(_ file: String) async throws {
    guard handing.otlp == nil else {
      throw ValidationError(
        "This is a pipeline, whose runs --otlp does not hand on; `export otlp` writes them.")
    }
    guard goal == nil, policy == nil, people.approve == nil,
      conditions.actor == nil, conditions.route == nil, conditions.limits == Limits()
    else {
      throw ValidationError(
        "This is a pipeline: what it is given is --input, and limits, policies and people stand in its file and its agents' files."
      )
    }
    let definition = try PipelineRuns.load(file)
    var request = PipelineRecording.Request(
      input: try PipelineRuns.input(input), files: RunFiles(output: out ?? Settings.here.out))
    request.seed = seed
    let recording = try await PipelineRuns.recording(writing, seed: seed) { means, print in
      try await PipelineRecording(of: definition, request, means, observe: print.now)
    }
    try PipelineRuns.report(recording, json: writing.json)
  }

  private func loadAgent() throws -> AgentDefinition {
    var definition = try Diagnostics.unwrap(AgentLoader.load(agent ?? ""))
    if let policy { definition.policy = try Diagnostics.unwrap(PolicyLoader.load(policy)) }
    conditions.apply(to: &definition)
    return definition
  }

  /// - Parameter isJSON: whether the agent's answers are values.
  private func report(_ recording: AgentRecording, answer: String?, isJSON: Bool) throws {
    guard writing.json else {
      Output.line("log    \(Visible.line(recording.log))")
      return try WhatWaits.lines(of: recording.log).forEach(Output.error)
    }
    var report: JSONObject = [
      "runId": .string(recording.state.runId), "log": .string(recording.log),
      "stopReason": recording.state.stop.map { .string($0.reason) } ?? .null,
      "stopDetail": recording.state.stop?.detail.map(JSONValue.string) ?? .null,
      "sealDigest": .string(recording.sealDigest.hex),
    ]
    report["answer"] = answer.map(JSONValue.string)
    if isJSON, let answer {
      report["answerJson"] = try? JSONValue(parsing: FencedText.unfenced(answer))
    }
    Output.json(.object(report))
  }
}

extension LogWriter.Durability: ExpressibleByArgument {}
