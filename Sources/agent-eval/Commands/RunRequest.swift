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

/// What ``Run`` is asked to do; each property is the argument of its name.
struct RunRequest: Hashable {
  var paths: [String] = []
  var runs: String?
  var on: [String] = []
  var importCache: String?
  var live = false
  var trials: Int?
  var passThreshold: Int?
  var allTrials = false
  var budget: String?
  var jobs: Int?
  var filter: String?
  var out: String?
  var seed: Int?
  var noSummary = false
  var verify = false
  var exec = false
  var judge = false
  var judgements: String?
  var shard: String?
  var filesFrom: String?
  var byCaseId = false
  var watch = false
  var debug = false
  /// The server that runs are handed to, with their outcomes.
  var otlp: String?
  var lastFailed = false
  var continues = false
  /// What the settings of the project decide here, and where they stand.
  var decided: [String] = []
  var output = ResultsDestination()
  var baselines = AgainstRequest()
  var history = HistoryRequest()

  func validate() throws {
    try output.validate()
    try baselines.validate()
    try output.checkKept([baselines.against].compactMap(\.self), "what --against compares with")
    try history.validate()
    guard (0...1024).contains(jobs ?? 0) else { throw ValidationError("--jobs takes 0 to 1024.") }
    try out.map(OutputOption.check)
    try checkTrials()
    if debug {
      guard !output.json, !watch, filesFrom == nil else {
        throw ValidationError("--debug does not go with --json, --watch and --files-from.")
      }
    }
    try checkHistory()
    try checkContinuing()
    try checkOn()
    try HandingOptions.check(otlp)
    if otlp != nil, watch || filesFrom != nil {
      throw ValidationError("--otlp does not go with --watch and --files-from.")
    }
    if filesFrom != nil {
      guard !watch else { throw ValidationError("--watch does not go with --files-from.") }
      try checkLineOptions()
    } else if byCaseId {
      throw ValidationError("--by-case-id goes with --files-from.")
    } else if paths.isEmpty {
      throw ValidationError(
        "Missing expected argument '<paths> ...': case files or folders; “paths” in .agent-eval.yaml may name them."
      )
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

  /// Judges, tells of it, and ends the process where results say with what code; else it returns, or
  /// throws what stopped it.
  func perform() async throws {
    tellDecided()
    if let filesFrom { return try await judgeLines(of: filesFrom) }
    if watch { return try await keepWatching() }
    try HandingOptions.require(otlp)
    let start = SuiteStart()
    let all = try loadCases(areRunsElsewhere: runs != nil)
    let loaded = try chosen(all)
    let lastRun = LastRun.Collector(
      isPart: shard != nil || loaded.cases.count < all.cases.count)
    try requireNetwork(for: loaded)
    let cancellation = Cancellation()
    let listener = SignalListener(cancellation)
    defer { listener.stop() }
    if asksForTextAlone {
      let summaries = Mutex(ResultsDestination.Summaries())
      let teller = ProgressTeller(total: loaded.cases.count, tellsEach: live)
      let journal = journal(of: loaded)
      let results = try await makeRunner(runnerOptions(cancellation, teller, journal), cancellation)
        .encodedResults(loaded.cases) { result in
          summaries.withLock { $0 = $0.adding(result) }
          lastRun.take(result)
          teller.take(result)
        }
      teller.end()
      end(journal, cancellation)
      lastRun.keep(among: all.cases)
      ResultsDestination.note(summaries.withLock { $0 })
      Output.jsonLine(results)
      withExtendedLifetime((loaded, results)) { AgentEval.end(results.exitCode) }
    }
    let handed = HandedRuns(to: otlp)
    let results = try await results(of: loaded, cancellation, handed: handed)
    results.cases.forEach(lastRun.take)
    lastRun.keep(among: all.cases)
    let code = try output.finish(results) { try keep(results, of: loaded, since: start) }
    await handed?.hand(
      results.cases.flatMap { $0.trials.map(\.log) }, results: results)
    if debug, let debugging = Debugging(firstFailureOf: results) { try debugging.explain() }
    // Not taken apart first: of thousands of cases that takes a while.
    withExtendedLifetime((loaded, results)) { AgentEval.end(code) }
  }

  /// Whether results are printed as JSON, and nothing else becomes of them.
  private var asksForTextAlone: Bool {
    output.json && output.report.isEmpty && shard == nil && otlp == nil && baselines.against == nil
      && history.folder == nil
  }

  /// Keeps the outcomes, where that is asked for.
  private func keep(
    _ results: EvalResults, of loaded: CaseLoader.Result, since start: SuiteStart
  ) throws -> SuiteHistory? {
    guard history.folder != nil else { return nil }
    var cases: [[UInt8]: EvalCase] = [:]
    for evalCase in loaded.cases { cases[Array(evalCase.caseId.utf8)] = evalCase }
    return try history.keep(
      results, since: start,
      isLive: { live && cases[Array($0.utf8)]?.hasAgent == true },
      asked: { cases[Array($0.utf8)].map(CaseRecord.asked(of:)) })
  }

  /// Judges the cases, or those of the shard, and shows how far it is.
  ///
  /// - Parameter handed: follows the runs that are made.
  func results(
    of loaded: CaseLoader.Result, _ cancellation: Cancellation, handed: HandedRuns? = nil
  ) async throws -> EvalResults {
    try requireNetwork(for: loaded)
    let shard = shard.flatMap(Shard.init(_:))
    let suite = try shard.map { _ in
      try Suite(
        loaded.cases, files: loaded.files, conditions: conditions,
        program: AgentEval.configuration.version, runsAgents: live)
    }
    let cases = shard.flatMap { suite?.cases(of: $0) } ?? loaded.cases
    let teller = ProgressTeller(total: cases.count, tellsEach: live)
    let journal = journal(of: loaded)
    var options = runnerOptions(cancellation, teller, journal)
    if let handed { options.willRecord = { handed.follow($0) } }
    let runner = try makeRunner(options, cancellation)
    var results = await runner.run(cases, progress: teller.take)
    teller.end()
    end(journal, cancellation)
    try baselines.compare(
      &results, of: cases, among: filter == nil && !lastFailed ? loaded.cases : nil, paths: paths,
      isPart: shard != nil)
    guard let shard, let suite else { return results }
    var marked = suite.mark(results, as: shard, isWhole: cancellation.signal == nil)
    marked.shard?.isLive = live
    return marked
  }

  /// The agents that the cases name, each once, and once more with each case's own person; what is wrong
  /// with a file is told when its case runs.
  private func agents(of loaded: CaseLoader.Result) -> [AgentDefinition] {
    var known: [String: AgentDefinition?] = [:]
    var agents: [AgentDefinition] = []
    for evalCase in loaded.cases {
      if let written = evalCase.writtenAgent { agents.append(written.agent) }
      if let path = evalCase.pipeline, known[path] == nil {
        known[path] = .some(nil)
        agents += PipelineLoader.load(path).value?.agents ?? []
      }
      guard let path = evalCase.agent else { continue }
      if known[path] == nil {
        known[path] = AgentLoader.load(path).value
        if let agent = known[path] ?? nil { agents.append(agent) }
      }
      guard let human = evalCase.human, human.model != nil, var agent = known[path] ?? nil else {
        continue
      }
      agent.human = human
      agents.append(agent)
    }
    return agents
  }

  /// What of the models that judge needs the network. Whether one of them is asked at all shows only once
  /// it is known which judgements are kept: so no key is looked for here.
  private func networkNeed(ofJudgesIn loaded: CaseLoader.Result) -> String? {
    loaded.cases.lazy.flatMap(\.expected.judges)
      .compactMap { JudgeLoader.load($0).value?.networkNeed }.first
  }

  /// Hands over to the build with the HTTP stack where agents that are run, or models that judge, need it.
  private func requireNetwork(for loaded: CaseLoader.Result) throws {
    if live { try LiveBuild.require(for: agents(of: loaded)) }
    if live || judge { try LiveBuild.require(for: networkNeed(ofJudgesIn: loaded)) }
  }

  /// How cases are run, as the options say.
  func runnerOptions(
    _ cancellation: Cancellation, _ teller: ProgressTeller? = nil, _ journal: RunJournal? = nil
  ) -> EvalRunner.Options {
    var options = EvalRunner.Options(
      runsFolder: runs, isLive: live, jobs: jobCount,
      usesSummaries: usesSummaries, files: RunFiles(output: out ?? Settings.here.out))
    options.verifiesLogs = verify
    options.today = Screen.today
    options.makesAllTrials = allTrials
    options.budget = budget.flatMap { try? SuiteBudget($0) }
    options.seed = seed
    options.plan = trials.map { TrialPlan(trials: $0, passThreshold: passThreshold) }
    if live, let teller { options.observeLive = { teller.note(LiveView.line($1, of: $0)) } }
    options.journal = journal
    options.outlinesRuns = baselines.against != nil
    options.asksJudges = judge
    options.judgementsFolder = judgements
    options.runCommand = CommandRuns.runner()
    if exec {
      options.runProgram = { program, input in
        await CommandTool(
          CommandDefinition(
            arguments: program.command, outputLimitBytes: program.outputLimitBytes,
            outputLimit: .error),
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
        case .part: .part
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
      makeBoundary: RunTreeBoundaries.each,
      makeTool: { command, folder, cancellation in
        PipelineRuns.makeTool(command, in: folder, cancellation: cancellation, isFixed: false)
      },
      makeSecrets: { .inEnvironment(forPrograms: $0) })
  }

  /// What shards that belong together have in common beside their cases.
  private var conditions: JSONObject {
    var conditions: JSONObject = [
      "live": .bool(live), "trials": trials.map { JSONValue($0) } ?? .null,
      "passThreshold": passThreshold.map { JSONValue($0) } ?? .null,
      "exec": .bool(exec), "usesSummaries": .bool(usesSummaries),
      "runs": runs.map(JSONValue.string) ?? .null, "against": baselines.conditions,
    ]
    conditions["budget"] = budget.map(JSONValue.string)
    if !on.isEmpty { conditions["on"] = JSONValue(on) }
    conditions["judgements"] = judgements.map(JSONValue.string)
    conditions["seed"] = seed.map { JSONValue($0) }
    return conditions
  }

  private var jobCount: Int {
    guard let jobs, jobs > 0 else { return Screen.processorCount }
    return jobs
  }

  private var usesSummaries: Bool { !noSummary && !verify && !Screen.isCI }
}
