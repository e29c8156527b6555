import AgentTrace
import TestSupport
import Testing
import TraceJudging

@testable import TraceIndexing

@Suite("Histories against a plain oracle")
struct HistoryOracleTests {
  private static let histories = TestRun.count(60, long: 2_000)

  @Test("state, flips and first failure of every case on every branch are what the document says")
  func equal() throws {
    var generator = Seeded(seed: 21)
    var states: [String: Int] = [:]
    var count = 0
    for number in 0..<Self.histories {
      let records = HistoryOracle.history(&generator)
      let folder = try TemporaryFolder()
      for (place, record) in records.enumerated() {
        try folder.write(
          "\(place).history.json", CanonicalJSON.string(record.json, form: .plain))
      }
      let trends = try refreshed(folder).index.history(HistoryFilter()).trends
      let found = trends.map { trend in
        HistoryOracle.Told(
          caseId: trend.caseId, branch: trend.branch, state: trend.state.rawValue,
          flips: trend.flips, pairs: trend.pairs, isInNewestRun: trend.isInNewestRun,
          failsSince: trend.firstFailing?.run.startedAt,
          lastPassed: trend.lastPassing?.run.startedAt,
          words: trend.points.map { $0.flip?.rawValue ?? "" })
      }
      let told = HistoryOracle.told(of: records)
      #expect(Set(found) == told && found.count == told.count, "history \(number)")
      count += found.count
      for one in told { states[one.state, default: 0] += 1 }
    }
    #expect(count > Self.histories * 3)
    #expect(Set(states.keys) == Set(CaseTrend.State.allCases.map(\.rawValue)), "\(states)")
  }

  @Test("a run on another branch, or with another prompt, takes nothing away from what is known")
  func between() throws {
    func run(_ second: Int, branch: String, subject: String, trials: [CaseOutcome]) -> SuiteRecord {
      var record = SuiteRecord(startedAt: "2026-03-01T09:00:0\(second).000000Z")
      (record.branch, record.commit) = (branch, "c1")
      var one = CaseRecord(caseId: "a", outcome: trials.contains(.fail) ? .fail : .pass)
      (one.trials, one.isLive, one.subject) = (trials, true, subject)
      record.cases = [one]
      return record
    }
    let folder = try TemporaryFolder()
    let records = [
      run(0, branch: "main", subject: "s", trials: [.pass, .fail]),
      run(1, branch: "main", subject: "other", trials: [.pass, .pass]),
      run(2, branch: "topic", subject: "s", trials: [.pass, .pass]),
      run(3, branch: "main", subject: "s", trials: [.pass]),
    ]
    for (place, record) in records.enumerated() {
      try folder.write(
        "\(place).history.json", CanonicalJSON.string(record.json, form: .plain))
    }
    let history = try refreshed(folder).index.history(HistoryFilter())
    #expect(history.trends(of: "a").map(\.branch) == ["main", "topic"])
    #expect(history.trends(of: "a").map(\.state) == [.flaky, .stablePass])
    #expect(history.trend(of: "a")?.flips == 2 && history.trend(of: "a")?.pairs == 2)
    var filter = HistoryFilter()
    filter.branch = "topic"
    #expect(try refreshed(folder).index.history(filter).trends.map(\.state) == [.stablePass])
  }
}
