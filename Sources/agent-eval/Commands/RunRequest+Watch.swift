import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning
import Glibc
import LiveBoundary
import TraceJudging
import TraceReporting

/// `run --watch`: judges again whenever a file changes that outcomes rest on.
extension RunRequest {
  /// How often files are looked at, in milliseconds.
  private static let pauseMilliseconds: Int32 = 200
  /// How many pauses a change may go on for before it is judged all the same.
  private static let mostPauses = 15

  /// Judges, waits for a change, and judges again until a signal comes: then it exits with 128 and the
  /// number of the signal, so that the end of watching is never taken for an outcome.
  func keepWatching() async throws {
    let cancellation = Cancellation()
    let listener = SignalListener(cancellation)
    defer { listener.stop() }
    var list = WatchList(paths: paths, runsFolder: runs)
    var stamps = FileStamps(of: list)
    while true {
      let before = stamps
      let loaded = try loadCases(areRunsElsewhere: runs != nil)
      // With mistakes in a file the cases in it are gone; what they rest on is watched on.
      if !loaded.diagnostics.hasErrors { list = WatchList(paths: paths, runsFolder: runs) }
      list.add(loaded)
      if let against = baselines.against { list.add(baselines: against, of: loaded.cases) }
      stamps = FileStamps(of: list)
      stamps.goBack(to: before)
      try await judgeOnce(loaded, list, cancellation, &stamps)
      if cancellation.signal == nil {
        Output.error("agent-eval: watching \(Figures.count(stamps.count, "file")); Ctrl-C ends it.")
      }
      guard let changed = wait(for: list, &stamps, cancellation) else { break }
      Output.error(Visible.line("agent-eval: \(changed) changed."))
    }
    guard let signal = cancellation.signal else { return }
    throw ExitCode(SignalListener.exitCode(of: signal))
  }

  /// Judges all cases and tells of it; what is wrong with their files is told instead.
  private func judgeOnce(
    _ loaded: CaseLoader.Result, _ list: WatchList, _ cancellation: Cancellation,
    _ stamps: inout FileStamps
  ) async throws {
    do {
      let results = try await results(of: try chosen(loaded), cancellation)
      stamps.expect(results.cases.flatMap(\.trials).map(\.log), on: list)
      _ = try output.write(results)
    } catch is ExitCode {
      // Told already; the next change may mend it.
    } catch {
      Output.error(Visible.lines("agent-eval: \(error)").joined(separator: "\n"))
    }
  }

  /// Waits until files have changed and stand still again; returns the first of them, or `nil` where
  /// watching ends.
  private func wait(
    for list: WatchList, _ stamps: inout FileStamps, _ cancellation: Cancellation
  ) -> String? {
    while cancellation.signal == nil, !Output.hasEnded {
      Output.wait(milliseconds: Self.pauseMilliseconds)
      var now = FileStamps(of: list)
      guard let changed = now.change(since: stamps) else { continue }
      for _ in 0..<Self.mostPauses where cancellation.signal == nil {
        Output.wait(milliseconds: Self.pauseMilliseconds)
        let next = FileStamps(of: list)
        if next == now { break }
        now = next
      }
      stamps = now
      return cancellation.signal == nil ? changed : nil
    }
    return nil
  }
}
