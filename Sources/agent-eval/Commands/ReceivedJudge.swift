#if Live
  import AgentRuntime
  import AgentTrace
  import ArgumentParser
  import EvalLoading
  import EvalRunning
  import LiveBoundary
  import Synchronization
  import TraceJudging
  import TraceReceiving
  import TraceReporting
  import TraceStorage

  /// Judges runs as they are written, keeps their outcomes and tells of failures. Nothing that goes wrong here ends the
  /// receiver.
  final class ReceivedJudge: Sendable {
    private let rules: [EvalCase]
    private let runner: EvalRunner
    private let results: String
    private let notices: FailureNotices
    private let isJSON: Bool
    private let tally = Mutex(
      (passed: 0, failed: 0, others: 0, ofNoRule: Set<String>()))

    /// - Throws: exit code 2, behind words, where the rules cannot be read or are none.
    init(rules path: String, results: String, notices: FailureNotices, isJSON: Bool) throws {
      let loaded = CaseLoader.load([path], areRunsElsewhere: true)
      Diagnostics.print(loaded.diagnostics)
      if loaded.diagnostics.hasErrors { throw ExitCode(2) }
      rules = loaded.cases
      guard !rules.isEmpty else {
        throw ReceiveFailure(description: Visible.line("no cases in \(path)"))
      }
      // Told now rather than with the first run.
      _ = try RuleSuite.cases(of: rules, on: [], tellsUnused: false)
      let request = RunRequest(paths: [path])
      // What ends the receiver does not end its judging: that is finished.
      let cancellation = Cancellation()
      runner = try request.makeRunner(request.runnerOptions(cancellation), cancellation)
      self.results = results
      self.notices = notices
      self.isJSON = isJSON
    }

    /// How many outcomes there were.
    var summary: String {
      tally.withLock {
        "\(Figures.count($0.passed + $0.failed + $0.others, "outcome")): \($0.passed) passed, "
          + "\($0.failed) failed" + ($0.others > 0 ? ", \($0.others) could not be told" : "")
          + ($0.ofNoRule.isEmpty
            ? "" : "; no rule is for \(Figures.count($0.ofNoRule.count, "run"))")
      }
    }

    /// Judges a run by every rule that is for it.
    ///
    /// - Returns: what is to be told of it; `nil` where it does not fail, or nobody wants to know.
    func judge(_ log: WrittenRuns.Log) async -> JSONValue? {
      let cases: [EvalCase]
      do throws(RuleSuite.Refusal) {
        cases = try RuleSuite.cases(
          of: rules, on: [FoundRun(name: log.name, log: .success(log.path))], tellsUnused: false)
      } catch {
        Output.error(Visible.line("agent-eval: \(error)"))
        return nil
      }
      guard !cases.isEmpty else { return nil }
      let outcome = await runner.run(cases)
      count(outcome)
      // What a run is can be told better when more of it has come.
      tally.withLock {
        if cases.contains(where: \.isOfNoRule) {
          $0.ofNoRule.insert(log.name)
        } else {
          $0.ofNoRule.remove(log.name)
        }
      }
      let told: JSONValue = [
        "run": .string(log.name), "log": .string(log.path), "version": JSONValue(log.version),
        "results": outcome.json,
      ]
      keep(told)
      if isJSON {
        Output.json(told)
      } else {
        let report = ResultsReport(painter: Screen.painter, width: Screen.width)
        Output.lines(outcome.cases.flatMap(report.lines(for:)) + report.skipped(in: outcome))
      }
      return outcome.count(.fail) > 0 && notices.tellsAnybody ? told : nil
    }

    /// Tells of a run that failed, behind the receiver's back.
    ///
    /// - Parameters:
    ///   - failure: its outcomes.
    ///   - whenTold: called once that is told, or given up.
    func tell(_ failure: JSONValue, whenTold: @escaping @Sendable () -> Void) async {
      await notices.tell(failure, whenTold: whenTold)
    }

    private func count(_ outcome: EvalResults) {
      tally.withLock { tally in
        tally.passed += outcome.count(.pass)
        tally.failed += outcome.count(.fail)
        tally.others += outcome.count(.inconclusive) + outcome.count(.error)
      }
    }

    private func keep(_ told: JSONValue) {
      WholeFile.makeFolders(for: results)
      do throws(WholeFile.Failure) {
        try WholeFile.append(CanonicalJSON.encode(told, form: .plain) + [0x0a], to: results)
      } catch {
        Output.error(Visible.line("agent-eval: \(results) cannot be written: \(error)"))
      }
    }

    /// Waits for what is being told, not for ever.
    func finish() async { await notices.finish() }
  }

  /// Tells a program, or a server, of runs that failed: one after the other, behind the receiver's back.
  actor FailureNotices {
    private static let waitingLimit = 1_000
    private static let secondsEach = 30.0
    private static let secondsAtEnd = 30.0

    private let command: String?
    private let url: String?
    private var waiting: [(notice: JSONValue, whenTold: @Sendable () -> Void)] = []
    private var lost = 0
    private var worker: Task<Void, Never>?

    init(command: String?, url: String?) {
      self.command = command
      self.url = url
    }

    nonisolated var tellsAnybody: Bool { command != nil || url != nil }

    /// Takes a notice; where too many wait, it is counted and dropped.
    func tell(_ notice: JSONValue, whenTold: @escaping @Sendable () -> Void) {
      guard waiting.count < Self.waitingLimit else {
        lost += 1
        if lost == 1 { warn("too many failures wait to be told; some are left out") }
        return whenTold()
      }
      waiting.append((notice, whenTold))
      if worker == nil { worker = Task { await work() } }
    }

    private func work() async {
      while !Task.isCancelled, let (notice, whenTold) = waiting.first {
        if let command { await run(command, notice) }
        if let url { await post(url, notice) }
        guard !Task.isCancelled else { break }
        waiting.removeFirst()
        whenTold()
      }
      worker = nil
    }

    /// Waits for what is waiting, and ends what takes too long.
    func finish() async {
      if let worker {
        let limit = Task {
          try? await Task.sleep(for: .seconds(Self.secondsAtEnd))
          worker.cancel()
        }
        await worker.value
        limit.cancel()
      }
      if !waiting.isEmpty {
        warn(
          "\(Figures.count(waiting.count, "failure")) not told yet; the next receiver on the folder tells them"
        )
      }
      if lost > 0 { warn("\(Figures.count(lost, "failure")) were not told") }
    }

    private func run(_ command: String, _ notice: JSONValue) async {
      let cancellation = Cancellation()
      // What it prints is nobody's result.
      let tool = CommandTool(
        CommandDefinition(
          arguments: ["/bin/sh", "-c", #"exec >/dev/null; eval "$1""#, "sh", command]), folder: ".",
        clock: SystemClock(cancellation: cancellation), cancellation: cancellation)
      let request = ToolRequest(
        callId: "on-failure", tool: ToolDefinition(name: "on-failure", sideEffect: .write),
        input: notice, idempotencyKey: notice["run"]?.stringValue ?? "",
        timeoutMicroseconds: Int(Self.secondsEach * 1_000_000))
      let answer = await withTaskCancellationHandler {
        await tool.run(request)
      } onCancel: {
        cancellation.cancel(signal: "SIGTERM")
      }
      if case .error(let reason, _) = answer.result {
        warn("--on-failure: \(reason.stringValue ?? CanonicalJSON.string(reason))")
      }
    }

    private func post(_ url: String, _ notice: JSONValue) async {
      let call = HTTPCall(
        url: url, headers: [HTTPHeader("content-type", "application/json")],
        body: CanonicalJSON.encode(notice, form: .plain),
        timeouts: HTTPTimeouts(
          firstByte: Self.secondsEach, idle: Self.secondsEach, total: Self.secondsEach))
      do {
        let status = try await HTTPConnector.shared.perform(call) { head, _ in head.status }
        if !(200..<300).contains(status) { warn("--on-failure-url: answered with \(status)") }
      } catch {
        warn("--on-failure-url: \(error)")
      }
    }

    private func warn(_ words: String) { Output.error(Visible.line("agent-eval: \(words)")) }
  }
#endif
