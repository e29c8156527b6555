import AgentTrace
import Testing

@testable import TraceJudging

/// A run of a suite in few words: its commit, and the trials of its one case as letters `p f i e`.
private struct Told {
  var commit: String?
  var trials: String
  var subject = "s"
  var isLive = true
  var threshold: Int?

  init(_ commit: String?, _ trials: String, subject: String = "s", isLive: Bool = true) {
    (self.commit, self.trials, self.subject, self.isLive) = (commit, trials, subject, isLive)
  }

  static func recorded(_ commit: String?, _ outcome: String) -> Told {
    Told(commit, outcome, isLive: false)
  }
}

private func made(of told: [Told]) -> CaseTrend? {
  SuiteHistory(
    told.enumerated().map { index, one in
      var run = SuiteHistory.Run(
        path: "\(index)", startedAt: "2026-01-01T00:00:\(index < 10 ? "0" : "")\(index).000000Z")
      run.commit = one.commit
      let outcomes: [Character: CaseOutcome] = [
        "p": .pass, "f": .fail, "i": .inconclusive, "e": .error,
      ]
      let trials = one.trials.compactMap { outcomes[$0] }
      let worst =
        [CaseOutcome.error, .fail, .inconclusive, .pass].first { trials.contains($0) } ?? .error
      var record = CaseRecord(caseId: "c", outcome: worst)
      record.trials = trials
      record.isLive = one.isLive
      record.subject = one.subject
      return (run, [record])
    }
  ).trend(of: "c")
}

@Suite("What became of a case")
struct CaseTrendTests {
  @Test(
    "a recorded case is known by one outcome, and is never flaky",
    arguments: [
      ("p", "stable-pass"), ("f", "stable-fail"), ("pf", "stable-fail"), ("fp", "stable-pass"),
      ("pfpf", "stable-fail"), ("i", "unknown"), ("e", "unknown"), ("pie", "stable-pass"),
      ("fie", "stable-fail"),
    ])
  func recorded(outcomes: String, state: String) throws {
    for commit in ["one", nil] {
      let trend = try #require(made(of: outcomes.map { .recorded(commit, String($0)) }))
      #expect(trend.state.rawValue == state)
      #expect(trend.flipRate == nil)
    }
  }

  @Test(
    "a live case is known by two trials on end, and flaky where nothing was changed between",
    arguments: [
      ([Told("a", "p")], "unknown"), ([Told("a", "f")], "unknown"),
      ([Told("a", "pp")], "stable-pass"), ([Told("a", "ff")], "stable-fail"),
      ([Told("a", "pfp")], "flaky"), ([Told("a", "p"), Told("a", "f")], "flaky"),
      // Another commit, or one that nobody knows, may be another program.
      ([Told("a", "p"), Told("b", "f")], "unknown"),
      ([Told("a", "pp"), Told("b", "ff")], "stable-fail"),
      ([Told(nil, "p"), Told(nil, "f")], "unknown"), ([Told(nil, "pf")], "flaky"),
      // What flipped once is flaky as long as agent and case are the same.
      ([Told("a", "pf"), Told("b", "pppp")], "flaky"),
      ([Told("a", "pf", subject: "old"), Told("b", "pp")], "stable-pass"),
      ([Told("a", "pp", subject: "old"), Told("a", "f")], "unknown"),
      // What decides nothing says nothing.
      ([Told("a", "ie")], "unknown"), ([Told("a", "pe"), Told("a", "ip")], "stable-pass"),
    ])
  fileprivate func live(told: [Told], state: String) throws {
    #expect(try #require(made(of: told)).state.rawValue == state)
  }

  @Test(
    "the flip rate is changes by pairs, within one commit and one agent",
    arguments: [
      ([Told("a", "p")], 0, 0), ([Told("a", "pfpf")], 3, 3), ([Told("a", "ppff")], 1, 3),
      ([Told("a", "pp"), Told("b", "ff")], 0, 2), ([Told("a", "pp"), Told("a", "ff")], 1, 3),
      // The runs of a commit count together, whatever stood between them.
      ([Told("a", "p"), Told("b", "f"), Told("a", "p")], 0, 1),
      ([Told("a", "peif")], 1, 1), ([Told(nil, "pp"), Told(nil, "ff")], 0, 2),
      ([Told("a", "pf", subject: "old"), Told("a", "pp")], 0, 1),
    ])
  fileprivate func flipRate(told: [Told], flips: Int, pairs: Int) throws {
    let trend = try #require(made(of: told))
    #expect(trend.flips == flips && trend.pairs == pairs)
    #expect(trend.flipRate == (pairs == 0 ? nil : Double(flips) / Double(pairs)))
  }

  @Test("another outcome than before is a regression, a fix, a change or a flake")
  func flips() throws {
    let recorded = try #require(
      made(of: [
        .recorded("a", "p"), .recorded("b", "f"), .recorded("b", "e"), .recorded("b", "p"),
        .recorded("c", "f"), .recorded("d", "p"), .recorded(nil, "f"), .recorded(nil, "p"),
      ]))
    #expect(
      recorded.points.map { $0.flip?.rawValue ?? "" } == [
        "", "regression", "", "change", "regression", "fix", "regression", "fix",
      ])
    let live = try #require(made(of: [Told("a", "p"), Told("a", "f"), Told("b", "p")]))
    #expect(live.points.map { $0.flip?.rawValue ?? "" } == ["", "flake", "fix"])
    let changed = try #require(made(of: [Told("a", "p"), Told("a", "f", subject: "new")]))
    #expect(changed.points.last?.flip == .regression)
  }

  @Test(
    "the first failing run is the first since the last pass, past what decides nothing",
    arguments: [
      ("p", nil), ("f", 0), ("pf", 1), ("pffief", 1), ("pfpf", 3), ("pfp", nil), ("i", nil),
    ]
      as [(String, Int?)])
  func firstFailing(outcomes: String, index: Int?) throws {
    let trend = try #require(
      made(of: outcomes.enumerated().map { .recorded("c\($0)", String($1)) }))
    #expect(trend.firstFailing?.index == index)
  }

  @Test(
    "runs stand by time, then commit, then file, in whatever order they come", arguments: 0..<20)
  func order(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    var runs: [(run: SuiteHistory.Run, cases: [CaseRecord])] = []
    for (path, time, commit) in [
      ("1", "2026-01-01", "b"), ("2", "2026-01-01", "a"), ("3", "2026-01-01", nil),
      ("4", "2025-01-01", "z"), ("5", "2026-01-01", "b"), ("6", "2027-01-01", nil),
    ] as [(String, String, String?)] {
      var run = SuiteHistory.Run(path: path, startedAt: time)
      run.commit = commit
      runs.append(
        (
          run,
          [
            CaseRecord(caseId: "z", outcome: .pass), CaseRecord(caseId: "e\u{301}", outcome: .fail),
            CaseRecord(caseId: "\u{e9}", outcome: path == "6" ? .fail : .pass),
            CaseRecord(caseId: "z", outcome: .error),
          ]
        ))
    }
    runs.shuffle(using: &generator)
    let history = SuiteHistory(runs)
    #expect(history.runs.map(\.path) == ["4", "3", "2", "1", "5", "6"])
    // Two spellings of one letter are two cases; what fails comes first.
    #expect(
      history.trends.map { Array($0.caseId.utf8) }
        == ["e\u{301}", "\u{e9}", "z"].map { Array($0.utf8) })
    #expect(
      history.trend(of: "z")?.points.map(\.record.outcome) == Array(repeating: .pass, count: 6))
    #expect(history.trend(of: "\u{e9}")?.firstFailing?.run.path == "6")
  }

  @Test("a history without runs has no trends, and a case that left is told to have left")
  func absent() {
    #expect(SuiteHistory([]).trends.isEmpty && SuiteHistory([]).runs.isEmpty)
    let old = SuiteHistory.Run(path: "1", startedAt: "1")
    let new = SuiteHistory.Run(path: "2", startedAt: "2")
    let history = SuiteHistory([
      (old, [CaseRecord(caseId: "a", outcome: .pass), CaseRecord(caseId: "b", outcome: .pass)]),
      (new, [CaseRecord(caseId: "a", outcome: .pass)]),
    ])
    #expect(history.trend(of: "a")?.isInNewestRun == true)
    #expect(history.trend(of: "b")?.isInNewestRun == false)
    #expect(history.trend(of: "c") == nil)
  }
}
