import AgentRuntime
import AgentTrace
import ArgumentParser
import EvalLoading
import EvalRunning

/// `run --continue`: a suite that was interrupted is taken up.
extension RunRequest {
  func checkContinuing() throws {
    guard continues else { return }
    guard live, !watch, filesFrom == nil else {
      throw ValidationError(
        "--continue goes with --live, and not with --watch: judging recorded runs again takes no longer."
      )
    }
  }

  /// Where the runs of a suite are written down; `nil` where none are made.
  func journal(of loaded: CaseLoader.Result) -> RunJournal? {
    guard live, loaded.cases.contains(where: \.hasAgent) else { return nil }
    let ofCases = Set(loaded.cases.map { Array($0.path.utf8) })
    let journal = RunJournal(
      path: RunJournal.path(ofSuite: paths), continues: continues, seed: seed,
      program: AgentEval.configuration.version,
      shared: loaded.files.filter { !ofCases.contains(Array($0.utf8)) })
    if continues, journal.known == 0 {
      Output.error("note: no suite of these files was interrupted here: every case is run.")
    }
    return journal
  }

  /// Ends a journal, and says how to take up what is left.
  func end(_ journal: RunJournal?, _ cancellation: Cancellation) {
    guard let journal else { return }
    if continues, journal.known > 0 {
      Output.error(
        "note: \(Figures.count(journal.reused, "run")) of the suite that was interrupted, judged anew and not made again."
      )
    }
    let isKept = journal.isKept
    journal.end(isWhole: cancellation.signal == nil)
    if cancellation.signal != nil, isKept {
      Output.error(
        "note: interrupted; the same command with --continue goes on, and makes no finished run again."
      )
    }
  }
}
