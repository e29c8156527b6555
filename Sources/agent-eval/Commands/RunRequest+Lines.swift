import AgentRuntime
import ArgumentParser
import EvalLoading
import EvalRunning
import LiveBoundary
import TraceJudging

/// `run --files-from`: a log a line in, an outcome a line out.
extension RunRequest {
  /// What the outcomes of lines say together, as those of cases do. No line at all is no failure: an engine may have
  /// nothing to send.
  private struct LineOutcomes {
    private var found: Set<CaseOutcome> = []

    var isEmpty: Bool { found.isEmpty }

    mutating func take(_ outcome: CaseOutcome) { found.insert(outcome) }

    mutating func take(_ others: LineOutcomes) { found.formUnion(others.found) }

    var exitCode: Int32 {
      if found.contains(.fail) { return 1 }
      if found.contains(.error) { return 2 }
      return found.contains(.inconclusive) ? 3 : 0
    }
  }

  /// What stops this kind of run; outcomes never do.
  private struct Stopped: Error, CustomStringConvertible {
    var description: String
  }

  /// Refuses what only makes sense for results that are told at the end.
  func checkLineOptions() throws {
    let others: [(String, Bool)] = [
      ("--live", live), ("--runs", runs != nil), ("--shard", shard != nil), ("--out", out != nil),
      ("--against", baselines.against != nil),
      ("--json", output.json), ("--report", !output.report.isEmpty),
    ]
    if let other = others.first(where: \.1)?.0 {
      throw ValidationError(
        "--files-from judges the logs that it reads of and prints a line for each; "
          + "\(other) does not go with it.")
    }
  }

  /// Judges the logs that the lines of `path` name. Each outcome is written before more is read than
  /// is there already, so that whoever waits for it before sending the next line gets it.
  func judgeLines(of path: String) async throws {
    let cases = paths.isEmpty ? [] : try chosen(loadCases(areRunsElsewhere: true)).cases
    let cancellation = Cancellation()
    let listener = SignalListener(cancellation)
    defer { listener.stop() }
    let options = runnerOptions(cancellation)
    let runner = try makeRunner(options, cancellation)
    var input = try LineInput(path: path)
    let judge = LineJudge(
      runner, cases: cases, choosesByCaseId: byCaseId, name: path == "-" ? "-" : path)
    var worst = LineOutcomes()
    while true {
      let lines = try input.next { cancellation.signal != nil }
      if let signal = cancellation.signal { throw Stopped(description: "called off by \(signal)") }
      guard !lines.isEmpty else {
        guard worst.exitCode == 0 else { throw ExitCode(worst.exitCode) }
        if worst.isEmpty { Output.error("note: no line came, so that no log was judged") }
        return
      }
      worst.take(try await self.judge(lines, judge, jobs: options.jobs))
    }
  }

  /// Judges some lines side by side and writes their outcomes in order, each as soon as all before it
  /// are written.
  private func judge(
    _ lines: [InputLine], _ judge: LineJudge, jobs: Int
  ) async throws -> LineOutcomes {
    try await withThrowingTaskGroup(of: (Int, CaseOutcome, [UInt8]).self) { group in
      var outcomes = LineOutcomes()
      var (next, written) = (0, 0)
      var waiting: [Int: [UInt8]] = [:]
      func start() {
        guard next < lines.count else { return }
        let index = next
        group.addTask {
          let outcome = await judge.judge(lines[index])
          return (index, outcome.outcome, outcome.encoded)
        }
        next += 1
      }
      for _ in 0..<max(1, jobs) { start() }
      while let (index, outcome, text) = try await group.next() {
        outcomes.take(outcome)
        waiting[index] = text
        while let outcome = waiting.removeValue(forKey: written) {
          Output.jsonLine(outcome)
          written += 1
        }
        guard !Output.hasEnded else {
          throw Stopped(description: "nobody reads the outcomes any more")
        }
        // Outcomes that wait for a slow one before them stay few.
        while next < lines.count, next - written < 2 * max(1, jobs) { start() }
      }
      return outcomes
    }
  }
}
