import AgentRuntime
import AgentTrace
import EvalLoading
import TraceJudging

/// Cases for which an agent is run, a program started or a model asked.
extension EvalRunner {
  func run(_ evalCase: EvalCase) async -> CaseResult {
    var result = CaseResult(evalCase)
    do {
      if evalCase.hasAgent, options.isLive {
        try await makeTrials(of: evalCase, &result)
      } else {
        for log in try logs(of: evalCase) {
          var trial = try await judge(log, evalCase)
          trial.judgement.warnings += Self.otherInput(of: log, than: evalCase)
          result.trials.append(trial)
        }
        result.plan = plan(ofRecordings: result.trials.count, evalCase)
        if result.trials.isEmpty, evalCase.hasAgent {
          result.trials = [try await judge(try await record(evalCase).log, evalCase)]
        }
      }
      if result.trials.isEmpty, result.notRun == nil { result.error = nothingToJudge }
    } catch {
      result.error = "\(error)"
    }
    return result
  }

  /// - Parameter isLive: whether the run was made just now, so that what stopped it may have been no doing
  ///   of the agent's.
  func judge(
    _ log: String, _ evalCase: EvalCase, isLive: Bool = false
  ) async throws -> TrialResult {
    let run = try read(log, evalCase)
    var aids = try aids(for: run, in: log, evalCase)
    if !evalCase.expected.isToldByLogs {
      if let runProgram = options.runProgram {
        try await aids.run(programsOf: evalCase.expected, on: run, with: runProgram)
      }
      try await aids.judge(
        run, evalCase.expected, with: judges,
        keptIn: JudgementFiles(
          folder: options.judgementsFolder ?? evalCase.judgements ?? JudgementFiles.defaultFolder))
    }
    var trial = trial(of: run, evalCase, aids, isLive: isLive)
    if isLive, let stop = run.trajectory.stop,
      let words = Self.infrastructureFailure(stop, evalCase.expected)
    {
      let cause = try FailedRequest(lastOf: log)
      // What the run had done by then is excused by nothing that came after it.
      let shown = run.judgementWithoutEnd(evalCase.expected, aids: aids)
      if shown.outcome == .fail {
        trial.judgement = shown
        trial.judgement.warnings.append(
          words + (cause.map { ": \($0.words)" } ?? "") + "; what it had done by then fails")
        return trial
      }
      trial.error = words + (cause.map { ": \($0.words)" } ?? "")
      trial.isLasting = stop.reason == .modelFailure && cause?.isLasting ?? false
    }
    return trial
  }

  /// Runs a case as often as its plan asks for and its outcome is open.
  private func makeTrials(
    of evalCase: EvalCase, _ result: inout CaseResult
  ) async throws {
    result.plan = evalCase.plan ?? options.plan
    let plan = result.plan ?? TrialPlan(trials: 1)
    repeat {
      if let reason = spending?.refusal {
        result.notRun = reason
        return
      }
      let number = result.plan == nil ? nil : result.trials.count + 1
      let finished = options.journal?.finishedRun(of: evalCase, trial: number ?? 1)
      let made =
        if let finished { MadeRun(log: finished) } else {
          try await record(evalCase, trial: number)
        }
      if try !isScripted(evalCase) { try spending?.take(made.log, of: evalCase.caseId) }
      var trial = try await judge(made.log, evalCase, isLive: true)
      // A case may be about just that end.
      if trial.outcome != .pass { trial.judgement.warnings += made.warnings }
      result.trials.append(trial)
      // A run that says nothing of the agent is made again where the suite is taken up.
      if trial.error == nil { options.journal?.note(made.log, of: evalCase, trial: number ?? 1) }
      // What no other try mends is not tried.
    } while result.plan != nil && cancellation.signal == nil
      && result.trials.last?.isLasting != true
      && plan.needsMore(
        after: result.trials.map(\.outcome), makesAll: options.makesAllTrials)
  }

  /// Why a run that was made just now says nothing of the agent; `nil` where it does, or where the case is
  /// about just that.
  private static func infrastructureFailure(
    _ stop: Trajectory.StopFact, _ expected: Expectations
  ) -> String? {
    let detail = stop.detail.map { " (\($0))" } ?? ""
    let expects = ([expected] + expected.parts.map(\.expectations))
      .contains { $0.stopReasons?.contains(stop.reason) ?? false }
    switch stop.reason {
    case .modelFailure where !expects: return "the model was out of reach\(detail)"
    case .cancelled where !expects: return "the run was cancelled\(detail)"
    default: return nil
    }
  }

  /// A run that was made just now.
  private struct MadeRun {
    var log: String
    /// What its log does not hold and whoever reads the outcome needs.
    var warnings: [String] = []
  }

  private func record(_ evalCase: EvalCase, trial: Int? = nil) async throws -> MadeRun {
    if let path = evalCase.pipeline {
      return MadeRun(log: try await record(pipeline: path, evalCase, trial: trial))
    }
    var agent = try agent(of: evalCase)
    if agent.command != nil { return try await record(command: agent, evalCase, trial: trial) }
    guard options.isLive || agent.isScripted else { throw needsLive(evalCase) }
    if let human = evalCase.human {
      agent.human = human
      agent.note(.evalCase, of: "human")
    }
    try apply(evalCase.conditions, to: &agent)
    // Where nothing outside is reached time need not pass either.
    let isScript = agent.isScripted && agent.networkNeed == nil
    let isFixed = !options.isLive || ((evalCase.conditions.seed ?? options.seed) != nil && isScript)
    let clock: any RunClock = isFixed ? FixedClock() : makeClock()
    let seed = (evalCase.conditions.seed ?? options.seed).map {
      Self.seed($0, evalCase.caseId, trial ?? 1)
    }
    let identifiers: any RunIDs = seed.map { SeededRunIDs(seed: $0) } ?? RandomRunIDs()
    let (caseId, tell) = (evalCase.caseId, options.observeLive)
    let makeLiveClock = makeClock
    let children = RecordedChildren(
      folder: options.files.folder(of: caseId), cancellation: cancellation,
      clock: { elapsed in
        isFixed ? FixedClock(elapsedMicroseconds: elapsed) : makeLiveClock()
      }, boundary: makeBoundary)
    let conditions = RunConditions(
      clock: clock, identifiers: identifiers, cancellation: cancellation, children: children)
    var request = AgentRecording.Request(
      goal: .string(evalCase.input), files: options.files, seed: seed, caseId: evalCase.caseId)
    request.trial = trial
    request.tags = evalCase.tags
    return try await MadeRun(
      log: AgentRecording(
        of: agent, request, on: makeBoundary(agent, conditions), willRecord: options.begins,
        report: { tell(caseId, .progress($0)) }, observe: { tell(caseId, .event($0)) }
      ).log)
  }

  /// Runs a command behind the proxy.
  private func record(
    command agent: AgentDefinition, _ evalCase: EvalCase, trial: Int?
  ) async throws -> MadeRun {
    guard options.isLive else { throw needsLive(evalCase) }
    guard let run = options.runCommand else {
      throw CaseError(reason: "the agent is a command, and none is started here")
    }
    var agent = agent
    if let human = evalCase.human { agent.human = human }
    try apply(evalCase.conditions, toCommand: &agent)
    var request = CommandRequest(
      input: evalCase.input, files: options.files, caseId: evalCase.caseId,
      cancellation: cancellation)
    request.trial = trial
    request.tags = evalCase.tags
    let (caseId, tell) = (evalCase.caseId, options.observeLive)
    request.observe = { tell(caseId, .event($0)) }
    request.willRecord = options.begins
    let recording = try await run(agent, request)
    return MadeRun(log: recording.log, warnings: recording.lastWords.map { [$0] } ?? [])
  }

  /// A command is kept from calls by a policy, and runs for whom the case says. What its own loop would have to heed
  /// is refused.
  private func apply(
    _ conditions: CaseConditions, toCommand agent: inout AgentDefinition
  ) throws {
    for (key, isSaid) in [
      ("limits", conditions.limits != Limits()), ("memory", !conditions.memory.isEmpty),
      ("seed", conditions.seed != nil),
    ] where isSaid {
      throw CaseError(
        reason: "the agent is a command, whose loop is its own: “\(key)” has no effect")
    }
    try apply(conditions, to: &agent)
    guard conditions.policy != nil, var command = agent.command else { return }
    command.isGuarded = true
    agent.model.implementation = .command(command)
  }

  private func apply(_ conditions: CaseConditions, to agent: inout AgentDefinition) throws {
    do {
      try conditions.apply(to: &agent)
    } catch {
      throw CaseError(reason: error.description)
    }
  }

  private func isScripted(_ evalCase: EvalCase) throws -> Bool {
    if let path = evalCase.pipeline { return try pipeline(path).isScripted }
    return try agent(of: evalCase).isScripted
  }

  private func agent(of evalCase: EvalCase) throws -> AgentDefinition {
    if let written = evalCase.writtenAgent { return written.agent }
    return try AgentLoader.load(evalCase.agent ?? "").orThrow()
  }

  func needsLive(_ evalCase: EvalCase) -> CaseError {
    let agent = evalCase.runFile ?? "the agent of the case"
    return CaseError(
      reason: "\(agent) starts processes or asks a model; give --live to let it run")
  }

  /// A seed of a run's own: neither the order of cases nor which of them are run changes it.
  static func seed(_ seed: Int, _ caseId: String, _ trial: Int) -> Int {
    let digest = Digest(of: [JSONValue(seed), .string(caseId), JSONValue(trial)])
    let bits = digest.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    // As JSON holds it whole everywhere.
    return Int(bits >> 11)
  }
}
