import AgentTrace
public import EvalLoading
public import TraceJudging
import TraceStorage

/// Changes the recorded runs of cases, and says which changes the cases notice.
public enum MutationSuite {
  /// The most events of a run that is changed: it is kept in memory.
  public static let eventLimit = 100_000

  /// Changes each run in every way there is, and judges what comes of it. No model is asked, and no tool or
  /// program is started.
  ///
  /// - Parameters:
  ///   - runs: each case with a log that it passes on.
  ///   - limit: changed runs of one run at most; see ``MutationScore/CaseScore``.
  ///   - jobs: how many runs are worked on side by side.
  public static func score(
    _ runs: [(evalCase: EvalCase, log: String)], limit: Int, jobs: Int
  ) async -> MutationScore {
    let board = Board<MutationScore.CaseScore>(count: runs.count)
    @Sendable func work() async {
      while let index = board.take() {
        let (evalCase, log) = runs[index]
        board.put(score(evalCase, log, limit), at: index) {}
      }
    }
    let others = (1..<max(1, min(jobs, runs.count))).map { _ in Task { await work() } }
    await work()
    for other in others { await other.value }
    return MutationScore(cases: board.results.compactMap { $0 })
  }

  private static func score(
    _ evalCase: EvalCase, _ log: String, _ limit: Int
  ) -> MutationScore.CaseScore {
    let caseId = evalCase.caseId
    let events: [Event]
    do { events = try read(log) } catch {
      return MutationScore.CaseScore(caseId: caseId, log: log, leftOut: "\(error)")
    }
    guard events.count <= eventLimit else {
      return MutationScore.CaseScore(
        caseId: caseId, log: log, leftOut: "the run has more than \(eventLimit) events")
    }
    return MutationScore.CaseScore(
      caseId: caseId, log: log, of: events, against: evalCase.expected, limit: limit)
  }

  private static func read(_ log: String) throws(LogError) -> [Event] {
    var reader = try LogReader(path: log)
    var events: [Event] = []
    while events.count <= eventLimit, let event = try reader.next() { events.append(event) }
    return events
  }
}
