public import AgentRuntime
import AgentTrace
public import EvalLoading
public import TraceJudging

/// Judges cases against recorded runs, or runs their agents first.
public struct EvalRunner: Sendable {
  /// How cases are run.
  public struct Options: Sendable {
    /// Where to look for the runs of cases that name no recording.
    public var runsFolder: String?
    /// What is known of those runs without reading them: an index, for example.
    public var knownRuns: RunCatalogue.Known = { _ in nil }
    /// Whether agents are run, rather than their recordings judged.
    public var isLive: Bool
    /// How many cases are worked on side by side.
    public var jobs: Int
    /// Whether the end of a log is enough, where it tells all that a case asks. Outcomes and warnings are
    /// the same; a message may show less of a call.
    public var usesSummaries: Bool
    /// Whether a log whose body is read is verified first, so that one which was changed and sealed anew is an
    /// error and not judged. It is read twice then.
    public var verifiesLogs = false
    /// Whether each trial is told with its ``TrialResult/outline``, as baselines need it. Then the
    /// bodies of logs are read.
    public var outlinesRuns = false
    /// Where runs that are made now are recorded.
    public var files: RunFiles
    /// Told what a run that is made now is at, by the id of its case; from any task.
    public var observeLive: @Sendable (String, RunUpdate) -> Void = { _, _ in }
    /// Told the log's path of each agent's run that is made now, before its first event; from any task.
    public var willRecord: @Sendable (String) -> Void = { _ in }
    /// The same, and noted where runs are written down.
    var begins: @Sendable (String) -> Void {
      { [willRecord, journal] log in
        journal?.begins(log)
        willRecord(log)
      }
    }
    /// Runs agents that are commands; `nil` where none may be started.
    public var runCommand: CommandRunner?
    /// Starts the programs that judge along; `nil` where none may be started.
    public var runProgram: ProgramRunner?
    /// Whether models by which cases are judged are asked where no judgement of theirs is kept. Where
    /// agents are run, they are.
    public var asksJudges = false
    /// How often cases are run live that say nothing of it themselves; `nil` for once.
    public var plan: TrialPlan?
    /// Whether trials are made that cannot change an outcome any more.
    public var makesAllTrials = false
    /// What all live runs may use together; `nil` for no limit.
    public var budget: SuiteBudget?
    /// Where runs that are made are written down, and taken from where a suite is taken up; `nil` for nowhere.
    public var journal: RunJournal?
    /// Where judgements of models are kept, in place of what cases say.
    public var judgementsFolder: String?
    /// What the identifiers of runs that are made now are made from, with the case and the trial, so that
    /// they are the same each time, whichever runs stand beside them; scripted agents then run on a fixed
    /// clock. `nil` for random ones.
    public var seed: Int?
    /// The day, `2026-12-31`, on which it is decided which cases are still left out; `nil` leaves
    /// out all that say so.
    public var today: String?

    /// Fewer jobs than one count as one.
    public init(
      runsFolder: String? = nil, isLive: Bool = false, jobs: Int = 1, usesSummaries: Bool = false,
      files: RunFiles = RunFiles()
    ) {
      self.runsFolder = runsFolder
      self.isLive = isLive
      self.jobs = jobs
      self.usesSummaries = usesSummaries
      self.files = files
    }
  }

  let options: Options
  let catalogue: RunCatalogue?
  let makeBoundary: BoundaryMaker
  let makeTool: ToolMaker?
  let makeSecrets: @Sendable ([CommandDefinition]) -> RunSecrets
  let cancellation: Cancellation
  let makeClock: @Sendable () -> any RunClock
  let judges: JudgingModels
  /// What was used of the budget; `nil` without one.
  let spending: SuiteSpending?

  /// - Parameters:
  ///   - makeClock: the clock of a live run.
  ///   - makeBoundary: what a run that is made now reaches the outside world through.
  ///   - makeTool: makes the commands of pipelines; `nil` where none may be started.
  ///   - makeSecrets: what is withheld from the logs of pipelines with these programs.
  /// - Throws: where the folder of runs cannot be read.
  public init(
    options: Options, cancellation: Cancellation = Cancellation(),
    makeClock: @escaping @Sendable () -> any RunClock,
    makeBoundary: @escaping BoundaryMaker, makeTool: ToolMaker? = nil,
    makeSecrets: @escaping @Sendable ([CommandDefinition]) -> RunSecrets = { _ in RunSecrets() }
  ) throws {
    self.options = options
    self.makeTool = makeTool
    self.makeSecrets = makeSecrets
    self.cancellation = cancellation
    self.makeClock = makeClock
    self.makeBoundary = makeBoundary
    judges = JudgingModels(
      asks: options.isLive || options.asksJudges, cancellation: cancellation, makeClock: makeClock,
      makeBoundary: makeBoundary)
    spending = options.budget.map { SuiteSpending($0, clock: makeClock()) }
    catalogue = try options.runsFolder.map {
      try RunCatalogue(folder: $0, known: options.knownRuns)
    }
  }

  /// Judges every case; results stand in the order of the cases.
  ///
  /// - Parameter progress: told each result as it comes, from any task, one at a time.
  public func run(
    _ cases: [EvalCase], progress: @escaping @Sendable (CaseResult) -> Void = { _ in }
  ) async -> EvalResults {
    let (cases, skipped) = await results(cases, progress) { $0 }
    return EvalResults(cases: cases, skipped: skipped)
  }

  /// Judges every case and keeps of each result its text alone, which each job writes for itself.
  ///
  /// - Parameter progress: told each result as it comes, from any task, one at a time.
  public func encodedResults(
    _ cases: [EvalCase], progress: @escaping @Sendable (CaseResult) -> Void = { _ in }
  ) async -> EncodedResults {
    let (cases, skipped) = await results(cases, progress) { EncodedResult($0) }
    return EncodedResults(cases: cases, skipped: skipped)
  }

  private func results<Kept: Sendable>(
    _ cases: [EvalCase], _ progress: @escaping @Sendable (CaseResult) -> Void,
    _ keep: @escaping @Sendable (CaseResult) -> Kept
  ) async -> (cases: [Kept], skipped: [SkippedCase]) {
    let skipped = cases.indices.filter { cases[$0].skip != nil && isSkipped(cases[$0]) }
    let open = skipped.isEmpty ? cases : cases.filter { !isSkipped($0) }
    let slots = ResultSlots<Kept>(count: open.count)
    // Threads of their own are there sooner than those of a pool, and waiting for them takes this one
    // nowhere else.
    let (readAlone, made) = workLists(of: open)
    JobThreads.run(min(options.jobs, readAlone.count)) {
      while cancellation.signal == nil, let index = readAlone.take() {
        let result = judgedByReading(open[index])
        slots.put(keep(result), at: index) { progress(result) }
      }
    }
    @Sendable func work() async {
      while cancellation.signal == nil, let index = made.take() {
        let result = await run(open[index])
        slots.put(keep(result), at: index) { progress(result) }
      }
    }
    // The first job is this task's: a task group would take it off the thread that it runs on.
    let others = (1..<max(1, min(options.jobs, made.count))).map { _ in Task { await work() } }
    await work()
    for other in others { await other.value }
    let judged = slots.results
    return (
      judged.indices.map { judged[$0] ?? keep(notBegun(open[$0])) },
      skipped.map {
        SkippedCase(caseId: cases[$0].caseId, reason: cases[$0].skip?.reason ?? "")
      }
    )
  }

  /// The cases that recorded runs tell all of, and the others.
  private func workLists(of cases: [EvalCase]) -> (readAlone: WorkList, made: WorkList) {
    var (readAlone, made): ([Int], [Int]) = ([], [])
    for index in cases.indices {
      if isToldByReading(cases[index]) { readAlone.append(index) } else { made.append(index) }
    }
    return (WorkList(readAlone), WorkList(made))
  }

  /// Judges one log by each of some cases, whatever recordings or agents they name; none is run.
  public func judge(_ cases: [EvalCase], onLog log: String) async -> EvalResults {
    var results = EvalResults(cases: [], skipped: [])
    for var evalCase in cases {
      if isSkipped(evalCase), let skip = evalCase.skip {
        results.skipped.append(SkippedCase(caseId: evalCase.caseId, reason: skip.reason))
        continue
      }
      var result = CaseResult(
        caseId: evalCase.caseId, position: "\(evalCase.path):\(evalCase.position.line)")
      evalCase.recording = log
      do {
        result.trials = [try await judge(log, evalCase)]
      } catch {
        result.error = "\(error)"
      }
      results.cases.append(result)
    }
    return results
  }

  /// Whether a case is left out, by the day that it is.
  private func isSkipped(_ evalCase: EvalCase) -> Bool {
    guard let skip = evalCase.skip else { return false }
    guard let until = skip.until, let today = options.today else { return true }
    return !until.precedesByUTF8(today)
  }

  /// What never started is no pass, and no fault of the case's.
  private func notBegun(_ evalCase: EvalCase) -> CaseResult {
    var result = CaseResult(evalCase)
    result.notRun = "called off before it began (\(cancellation.signal ?? "cancelled"))"
    return result
  }
}

extension CaseResult {
  /// The result of a case that was not judged yet.
  init(_ evalCase: EvalCase) {
    self.init(
      caseId: evalCase.caseId, position: evalCase.path + ":" + String(evalCase.position.line))
    cluster = evalCase.cluster
  }
}

/// Why a case could not be judged.
struct CaseError: Error, CustomStringConvertible {
  var reason: String
  var description: String { reason }
}

extension Loaded {
  /// The value, or all that is said of its file.
  func orThrow() throws(CaseError) -> Value {
    if let value { return value }
    throw CaseError(reason: diagnostics.map(\.description).joined(separator: "\n"))
  }
}
