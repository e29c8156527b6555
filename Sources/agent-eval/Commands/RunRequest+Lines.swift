import AgentRuntime
import ArgumentParser
import EvalLoading
import EvalRunning
import LiveBoundary

/// `run --files-from`: a log a line in, an outcome a line out.
extension RunRequest {
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
    while true {
      let lines = try input.next { cancellation.signal != nil }
      if let signal = cancellation.signal { throw Stopped(description: "called off by \(signal)") }
      guard !lines.isEmpty else { return }
      try await self.judge(lines, judge, jobs: options.jobs)
    }
  }

  /// Judges some lines side by side and writes their outcomes in order, each as soon as all before it
  /// are written.
  private func judge(_ lines: [InputLine], _ judge: LineJudge, jobs: Int) async throws {
    try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
      var (next, written) = (0, 0)
      var waiting: [Int: [UInt8]] = [:]
      func start() {
        guard next < lines.count else { return }
        let index = next
        group.addTask { (index, await judge.judge(lines[index]).encoded) }
        next += 1
      }
      for _ in 0..<max(1, jobs) { start() }
      while let (index, outcome) = try await group.next() {
        waiting[index] = outcome
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
    }
  }
}
