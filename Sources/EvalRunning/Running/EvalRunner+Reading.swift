import AgentTrace
import EvalLoading
import TraceJudging
import TraceStorage

/// What recorded runs tell of a case, with no agent run, no program started and no model asked.
extension EvalRunner {
  /// Whether recorded runs tell all of a case: no agent is run for it, no program started, no model asked.
  func isToldByReading(_ evalCase: EvalCase) -> Bool {
    evalCase.fault != nil
      || !options.isLive && (evalCase.recording != nil || !evalCase.hasAgent)
        && evalCase.expected.isToldByLogs
  }

  func judgedByReading(_ evalCase: EvalCase) -> CaseResult {
    var result = CaseResult(evalCase)
    if let fault = evalCase.fault {
      result.error = fault
      return result
    }
    do {
      for log in try logs(of: evalCase) {
        let run = try read(log, evalCase)
        var trial = trial(of: run, evalCase, try aids(for: run, in: log, evalCase))
        trial.judgement.warnings += Self.otherInput(of: log, than: evalCase)
        result.trials.append(trial)
      }
      result.plan = plan(ofRecordings: result.trials.count, evalCase)
      if result.trials.isEmpty { result.error = nothingToJudge }
    } catch {
      result.error = "\(error)"
    }
    return result
  }

  /// The recorded runs that show what became of a case.
  func logs(of evalCase: EvalCase) throws -> [String] {
    // Where agents are run, models judge recordings too.
    if options.isLive, evalCase.expected.judges.isEmpty { return [] }
    if let recording = evalCase.recording { return [recording] }
    return try catalogue?.logs(of: evalCase.caseId) ?? []
  }

  /// What several recordings of a case have to show: as many passes among them as its plan asks for among
  /// its trials, in proportion; all where it has none. `nil` where there are not several.
  func plan(ofRecordings count: Int, _ evalCase: EvalCase) -> TrialPlan? {
    guard count > 1 else { return nil }
    guard let plan = evalCase.plan else { return TrialPlan(trials: count) }
    let needed = (plan.passThreshold * count + plan.trials - 1) / plan.trials
    return TrialPlan(
      trials: count, passThreshold: needed, isSafety: plan.isSafety, rates: plan.rates)
  }

  var nothingToJudge: String {
    if options.isLive { return "the case names no agent to run; add “agent: FILE”" }
    if let folder = options.runsFolder { return "no run of this case in \(folder)" }
    return
      "the case names neither a recording nor an agent; add one, or give recorded runs with --on PATH or --runs DIR"
  }

  /// What a log tells of its run, as far as a case asks.
  func read(_ log: String, _ evalCase: EvalCase) throws(LogError) -> RecordedRun {
    if options.usesSummaries, !options.outlinesRuns,
      let run = RecordedRun(endOf: log, for: evalCase.expected)
    {
      return run
    }
    if options.verifiesLogs { try Self.verify(log) }
    return try RecordedRun(path: log, for: evalCase.expected, takesNotes: options.outlinesRuns)
  }

  /// Holds a log against all that it says of itself: its summary and the digests of its stops too. What
  /// cannot be read at all, or was cut off, is for the reader to say.
  private static func verify(_ log: String) throws(LogError) {
    let report = LogVerifier.verify(path: log)
    guard report.status == .damaged, let finding = report.findings.first else { return }
    throw LogError(
      .badLine(finding.message), path: report.path, offset: finding.offset, block: finding.block)
  }

  /// A warning where a recorded run was made for another input than its case says; none where either says
  /// nothing, or the log withholds what it was.
  static func otherInput(of log: String, than evalCase: EvalCase) -> [String] {
    let wanted = evalCase.pipelineInput ?? .string(evalCase.input)
    guard wanted != "", let started = try? LogHead(path: log, withOnly: ["goal", "input"]).started
    else { return [] }
    let said = [started.data["input"], started.data["goal"]].compactMap { $0 }.filter {
      $0 != .null && $0 != ""
    }
    // What is no text may say the same in a form of its own.
    guard said.contains(where: { $0.typeName == wanted.typeName }),
      !said.contains(where: { RedactionToken.isIn($0) || isSame($0, wanted) })
    else { return [] }
    let other = said.first { $0.typeName == wanted.typeName } ?? .null
    return [
      "the recorded run was made for another input than “input” says: \(shown(other)), not \(shown(wanted))"
    ]
  }

  /// Whether two inputs are the same but for white space around them, which files add.
  private static func isSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
    guard let left = left.stringValue, let right = right.stringValue else { return left == right }
    func plain(_ text: String) -> ArraySlice<UInt8> {
      let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
      let bytes = Array(text.utf8)
      let start = bytes.firstIndex { !isBlank($0) } ?? bytes.endIndex
      let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
      return bytes[start..<end]
    }
    return plain(left) == plain(right)
  }

  private static func shown(_ input: JSONValue) -> String {
    let text = CanonicalJSON.string(input)
    let head = text.prefix(utf8Bytes: 80)
    return head.utf8.count < text.utf8.count ? head + "…" : head
  }

  /// What other logs tell of a run.
  func aids(
    for run: RecordedRun, in log: String, _ evalCase: EvalCase
  ) throws -> Judge.Aids {
    try Judge.Aids(
      for: run, evalCase.expected,
      folders: [RunFiles.folder(ofLog: log)] + [options.runsFolder].compactMap { $0 })
  }

  /// - Parameter isLive: whether the run was made just now.
  func trial(
    of run: RecordedRun, _ evalCase: EvalCase, _ aids: Judge.Aids, isLive: Bool = false
  ) -> TrialResult {
    let judgement = run.judgement(evalCase.expected, aids: aids)
    var trial = TrialResult(
      runId: run.trajectory.runId, log: run.path, judgedFrom: run.source, judgement: judgement)
    if options.outlinesRuns {
      trial.outline = AcceptedRun(
        of: run.trajectory, run.notes, trial.judgement, asked: evalCase.expected, isLive: isLive)
    }
    return trial
  }
}
