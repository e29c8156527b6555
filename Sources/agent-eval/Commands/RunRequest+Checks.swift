import ArgumentParser
import EvalRunning
import TraceReporting

/// Which options of `run` go together.
extension RunRequest {
  /// Outcomes are kept of whole runs that end.
  func checkHistory() throws {
    guard history.folder != nil else { return }
    guard !watch, filesFrom == nil else {
      throw ValidationError("--history does not go with --watch and --files-from.")
    }
    guard shard == nil else {
      throw ValidationError("--history goes with `merge`, which has the results of all shards.")
    }
  }

  func checkOn() throws {
    guard !on.isEmpty else {
      guard importCache == nil else { throw ValidationError("--import-cache goes with --on.") }
      return
    }
    try importCache.map(OutputOption.check)
    guard !live, runs == nil, filesFrom == nil, !watch else {
      throw ValidationError("--on does not go with --live, --runs, --files-from and --watch.")
    }
  }

  func checkTrials() throws {
    if let budget {
      guard live else { throw ValidationError("--budget goes with --live.") }
      do { _ = try SuiteBudget(budget) } catch {
        throw ValidationError(Visible.line("--budget takes cost=5,minutes=20: \(error)."))
      }
    }
    if allTrials, !live { throw ValidationError("--all-trials goes with --live.") }
    guard let trials else {
      guard passThreshold == nil else {
        throw ValidationError("--pass-threshold goes with --trials.")
      }
      return
    }
    guard live else {
      throw ValidationError(
        "--trials goes with --live: a recorded run comes out the same each time.")
    }
    guard (1...1_000).contains(trials) else { throw ValidationError("--trials takes 1 to 1000.") }
    guard (1...trials).contains(passThreshold ?? trials) else {
      throw ValidationError("--pass-threshold takes 1 to the number of --trials.")
    }
  }
}
