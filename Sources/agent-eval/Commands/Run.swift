import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import LiveBoundary
import Synchronization
import TraceIndexing
import TraceJudging
import TraceMatching
import TraceReporting

/// Judges cases.
struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Judge recorded runs by eval cases, or run the agents first.",
    discussion: """
      Exits with 0 where every case passed, 1 where one failed, 2 where one could not be judged or \
      there was nothing to judge, 3 where one is inconclusive (1 outranks 2 outranks 3). With \
      --against, 1 means that something regressed, and a case that fails as it was accepted is fine.
      """)

  @Argument(help: "Case files, or folders of them.")
  var paths: [String] = []

  @Option(help: "A folder of recorded runs, for cases that name no recording.")
  var runs: String?

  @Flag(help: "Run the agents that the cases name, and judge those runs.")
  var live = false

  @Option(help: "Cases to work on side by side; 0 for one a core.")
  var jobs = 0

  @Option(help: "Only cases whose id matches this glob, or that have this tag.")
  var filter: String?

  @Option(help: "Where runs that are made now are recorded. Default: .agent-eval/runs.")
  var out: String?

  @Flag(
    help: """
      Read every log whole. Without it, the end of a log is enough where it tells all that a case \
      asks, except where CI is set.
      """)
  var noSummary = false

  @Flag(help: "Start the programs by which cases are judged (exec).")
  var exec = false

  @Option(
    help: ArgumentHelp(
      "Judge one of so many parts of the cases; `merge` puts their results together.",
      valueName: "i/n"))
  var shard: String?

  @Option(
    help: ArgumentHelp(
      """
      Judge the logs whose paths stand in this file, one a line, or come on standard input (-); \
      print one outcome a line, in their order, each at once. Ends with 0 whatever the outcomes.
      """, valueName: "file"))
  var filesFrom: String?

  @Flag(
    help: """
      With --files-from: judge each log by the case that it was made for, rather than by every case.
      """)
  var byCaseId = false

  @Flag(
    help: """
      Judge again whenever a case file, an agent file or a log changes, until a signal comes.
      """)
  var watch = false

  @OptionGroup var output: ResultsOutput

  @OptionGroup var baselines: AgainstOptions

  func validate() throws {
    guard (0...1024).contains(jobs) else { throw ValidationError("--jobs takes 0 to 1024.") }
    try out.map(OutputOption.check)
    if filesFrom != nil {
      guard !watch else { throw ValidationError("--watch does not go with --files-from.") }
      try checkLineOptions()
    } else if byCaseId {
      throw ValidationError("--by-case-id goes with --files-from.")
    } else if paths.isEmpty {
      throw ValidationError("Missing expected argument '<paths> ...'")
    }
    if let shard, Shard(shard) == nil {
      throw ValidationError(
        Visible.line("--shard takes i/n: the i-th of n parts, as 2/4; not “\(shard)”."))
    }
    guard let filter else { return }
    do {
      _ = try Glob(filter)
    } catch {
      throw ValidationError(Visible.line("--filter takes a glob or a tag: \(error)."))
    }
  }

  func run() async throws {
    if let filesFrom { return try await judgeLines(of: filesFrom) }
    if watch { return try await keepWatching() }
    let loaded = try chosen(loadCases(areRunsElsewhere: runs != nil))
    let cancellation = Cancellation()
    let listener = SignalListener(cancellation)
    defer { listener.stop() }
    try output.finish(try await results(of: loaded, cancellation))
  }

  /// Judges the cases, or those of the shard, and shows how far it is.
  func results(
    of loaded: CaseLoader.Result, _ cancellation: Cancellation
  ) async throws -> EvalResults {
    let shard = shard.flatMap(Shard.init(_:))
    let suite = try shard.map { _ in
      try Suite(
        loaded.cases, files: loaded.files, conditions: conditions,
        program: AgentEval.configuration.version, runsAgents: live)
    }
    let cases = shard.flatMap { suite?.cases(of: $0) } ?? loaded.cases
    let runner = try makeRunner(runnerOptions(cancellation), cancellation)
    let done = Mutex(0)
    var results = await runner.run(cases) { result in
      done.withLock { done in
        done += 1
        Output.progress("\(done) of \(cases.count)  \(Visible.line(result.caseId, width: 60))")
      }
    }
    Output.progress("")
    try baselines.compare(
      &results, of: cases, among: filter == nil ? loaded.cases : nil, paths: paths)
    guard let shard, let suite else { return results }
    return suite.mark(results, as: shard, isWhole: cancellation.signal == nil)
  }

  /// How cases are run, as the options say.
  func runnerOptions(_ cancellation: Cancellation) -> EvalRunner.Options {
    var options = EvalRunner.Options(
      runsFolder: runs, isLive: live, jobs: jobs == 0 ? Screen.processorCount : jobs,
      usesSummaries: usesSummaries, files: RunFiles(output: out))
    options.today = Screen.today
    options.outlinesRuns = baselines.against != nil
    if exec {
      options.runProgram = { program, input in
        await CommandTool(
          CommandDefinition(
            arguments: program.command, outputLimitBytes: program.outputLimitBytes),
          folder: program.folder ?? ".", clock: SystemClock(cancellation: cancellation),
          cancellation: cancellation
        ).run(
          ToolRequest(
            callId: "exec", tool: ToolDefinition(name: "exec", sideEffect: .read), input: input,
            idempotencyKey: "exec", timeoutMicroseconds: Int(program.timeoutSeconds * 1_000_000))
        ).result
      }
    }
    if let index = runs.flatMap(IndexedCases.init(folder:)) {
      options.knownRuns = { path in
        switch index.answer(for: path) {
        case .caseId(let caseId): .caseId(caseId)
        case .noCase: .noCase
        case nil: nil
        }
      }
    }
    return options
  }

  /// Who judges, with what reaches the outside world.
  func makeRunner(
    _ options: EvalRunner.Options, _ cancellation: Cancellation
  ) throws -> EvalRunner {
    try EvalRunner(
      options: options,
      cancellation: cancellation, makeClock: { SystemClock(cancellation: cancellation) },
      makeBoundary: { agent, conditions in
        LiveBoundary.make(
          for: agent, clock: conditions.clock, identifiers: conditions.identifiers,
          cancellation: conditions.cancellation)
      })
  }

  /// What shards that belong together have in common beside their cases.
  private var conditions: JSONObject {
    [
      "live": .bool(live), "exec": .bool(exec), "usesSummaries": .bool(usesSummaries),
      "runs": runs.map(JSONValue.string) ?? .null, "against": baselines.conditions,
    ]
  }

  private var usesSummaries: Bool { !noSummary && !Screen.isCI }

  /// The cases of the arguments; what is wrong with them is printed.
  func loadCases(areRunsElsewhere: Bool) -> CaseLoader.Result {
    let loaded = CaseLoader.load(paths, areRunsElsewhere: areRunsElsewhere)
    Diagnostics.print(loaded.diagnostics)
    return loaded
  }

  /// The cases to judge; exits with 2 where a file has a mistake or none is left.
  func chosen(_ loaded: CaseLoader.Result) throws -> CaseLoader.Result {
    var loaded = loaded
    if loaded.diagnostics.hasErrors { throw ExitCode(2) }
    guard !loaded.cases.isEmpty else { throw none("no cases in \(paths.joined(separator: ", "))") }
    guard let filter else { return loaded }
    let glob = try Glob(filter)
    let count = loaded.cases.count
    loaded.cases.removeAll { evalCase in
      !glob.matches(evalCase.caseId) && !evalCase.tags.contains { $0.hasSameUTF8(as: filter) }
    }
    guard !loaded.cases.isEmpty else {
      throw none("none of \(count) cases has an id or a tag like \(filter)")
    }
    return loaded
  }

  private func none(_ message: String) -> ExitCode {
    Output.error(Visible.line("agent-eval: \(message)."))
    return ExitCode(2)
  }
}
