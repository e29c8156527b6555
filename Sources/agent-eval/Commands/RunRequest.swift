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
  var live = false
  var jobs = 0
  var filter: String?
  var out: String?
  var noSummary = false
  var exec = false
  var json = false
  var report: [String] = []

  func validate() throws {
    guard (0...1024).contains(jobs) else { throw ValidationError("--jobs takes 0 to 1024.") }
    try out.map(OutputOption.check)
    do {
      _ = try ReportRequest.all(report, takesOutput: json)
    } catch {
      throw ValidationError("--report: \(error).")
    }
    guard let filter else { return }
    do {
      _ = try Glob(filter)
    } catch {
      throw ValidationError(Visible.line("--filter takes a glob or a tag: \(error)."))
    }
  }

  /// Judges, tells of it, and ends the process; returns only by throwing.
  func perform() async throws {
    let cases = try load()
    let cancellation = Cancellation()
    let listener = SignalListener(cancellation)
    defer { listener.stop() }
    var options = EvalRunner.Options(
      runsFolder: runs, isLive: live, jobs: jobs == 0 ? Screen.processorCount : jobs,
      usesSummaries: !noSummary && !Screen.isCI, files: RunFiles(output: out))
    options.today = Screen.today
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
    let runner = try EvalRunner(
      options: options,
      cancellation: cancellation, makeClock: { SystemClock(cancellation: cancellation) },
      makeBoundary: { agent, conditions in
        LiveBoundary.make(
          for: agent, clock: conditions.clock, identifiers: conditions.identifiers,
          cancellation: conditions.cancellation)
      })
    let done = Mutex(0)
    let results = await runner.run(cases) { result in
      done.withLock { done in
        done += 1
        Output.progress("\(done) of \(cases.count)  \(Visible.line(result.caseId, width: 60))")
      }
    }
    Output.progress("")
    try report(results)
    withExtendedLifetime((cases, runner, results)) { AgentEval.end(results.exitCode) }
  }

  /// The cases to judge; exits with 2 and everything that is wrong where a file has a mistake.
  private func load() throws -> [EvalCase] {
    let loaded = CaseLoader.load(paths, areRunsElsewhere: runs != nil)
    Diagnostics.print(loaded.diagnostics)
    if loaded.diagnostics.hasErrors { throw ExitCode(2) }
    guard let filter else {
      return try nonEmpty(loaded.cases, "no cases in \(paths.joined(separator: ", "))")
    }
    let glob = try Glob(filter)
    let chosen = loaded.cases.filter { evalCase in
      glob.matches(evalCase.caseId) || evalCase.tags.contains { $0.hasSameUTF8(as: filter) }
    }
    return try nonEmpty(
      chosen, "none of \(loaded.cases.count) cases has an id or a tag like \(filter)")
  }

  private func nonEmpty(_ cases: [EvalCase], _ message: String) throws -> [EvalCase] {
    guard cases.isEmpty else { return cases }
    Output.error(Visible.line("agent-eval: \(message)."))
    throw ExitCode(2)
  }

  /// Files first, so that they are there even where nobody reads the output to its end. A case that
  /// failed outranks a report that is lost.
  private func report(_ results: EvalResults) throws {
    let requests = try ReportRequest.all(report, takesOutput: json)
    let context = ReportContext.here
    var isLost = false
    for request in requests {
      guard let file = request.file else { continue }
      do {
        try ReportFiles.write(request.format.bytes(of: results, in: context), to: file)
      } catch {
        Output.error(Visible.line("agent-eval: \(error)"))
        isLost = true
      }
    }
    let requested = requests.first { $0.file == nil && $0.format != .github }
    if json {
      Output.jsonLine(results.encoded)
    } else if let requested {
      Output.bytes(requested.format.bytes(of: results, in: context))
    } else {
      let report = ResultsReport(painter: Screen.painter, width: Screen.width)
      let lines = report.lines(for: results)
      Output.lines(GitHubActions.isHere ? Workflow.quoting(lines) : lines)
    }
    if requests.contains(where: { $0.file == nil && $0.format == .github }) {
      isLost =
        !GitHubActions.tell(
          results, in: context, besideResults: !json && requested == nil) || isLost
    }
    if isLost, results.exitCode != 1 { throw ExitCode(2) }
  }
}
