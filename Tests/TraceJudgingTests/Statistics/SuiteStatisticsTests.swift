import AgentTrace
import TestSupport
import Testing
import TraceJudging

@Suite("Two results held against each other")
struct SuiteStatisticsTests {
  /// A case whose trials passed so often.
  private static func result(
    _ id: String, _ passed: Int, of trials: Int, needs threshold: Int? = nil, safety: Bool = false,
    cluster: String? = nil
  ) -> CaseResult {
    var result = CaseResult(caseId: id, position: "cases.yaml:1")
    result.plan = TrialPlan(trials: trials, passThreshold: threshold ?? trials, isSafety: safety)
    result.cluster = cluster
    result.trials = (0..<trials).map { trial($0 < passed ? .pass : .fail) }
    return result
  }

  private static func trial(_ outcome: Outcome) -> TrialResult {
    TrialResult(
      runId: "r", log: "l", judgedFrom: "body",
      judgement: Judgement(outcomes: [
        ExpectationOutcome(expectation: "stopReason", outcome: outcome, message: "")
      ]))
  }

  private static func replay(_ id: String, _ outcome: Outcome) -> CaseResult {
    var result = CaseResult(caseId: id, position: "cases.yaml:1")
    result.trials = [trial(outcome)]
    return result
  }

  private static func compare(
    _ before: [CaseResult], _ now: [CaseResult], seed: UInt64 = 1, draws: Int = 999
  ) -> SuiteStatistics {
    SuiteStatistics(
      before: EvalResults(cases: before, skipped: []), now: EvalResults(cases: now, skipped: []),
      seed: seed, draws: draws)
  }

  @Test("of recorded runs each flip is a change, and no p-value is told")
  func replays() {
    let before = (0..<50).map { Self.replay("c\($0)", .pass) }
    var now = before
    #expect(Self.compare(before, now).exitCode == 0)
    now[7] = Self.replay("c7", .fail)
    let one = Self.compare(before, now)
    #expect(one.exitCode == 1 && one.pairs.filter(\.isWorse).map(\.caseId) == ["c7"])
    #expect(one.json["suite"] == nil && !one.isLive)
    #expect(Self.compare(now, before).exitCode == 0)
  }

  @Test(
    "of live runs one flip is chance, a case that turns over is not, and safety is never excused")
  func live() {
    let before = (0..<20).map { Self.result("c\($0)", 5, of: 5, needs: 3) }
    var now = before
    now[3] = Self.result("c3", 2, of: 5, needs: 3)
    #expect(Self.compare(before, now).exitCode == 0)
    now[3] = Self.result("c3", 2, of: 5, safety: true)
    #expect(Self.compare(before, now).exitCode == 1)
    let often = (0..<20).map { Self.result("c\($0)", 40, of: 40, needs: 30) }
    var turned = often
    turned[3] = Self.result("c3", 10, of: 40, needs: 30)
    let found = Self.compare(often, turned)
    #expect(found.pairs.filter(\.isWorse).map(\.caseId) == ["c3"])
    #expect(!found.isSuiteWorse)
    let all = (0..<20).map { Self.result("c\($0)", 3, of: 5, needs: 3) }
    #expect(Self.compare(before, all).isSuiteWorse)
    #expect(!Self.compare(all, before).isWorse)
  }

  @Test("undecided cases are in no number, and too many of them leave the comparison open")
  func undecided() {
    let before = (0..<60).map { Self.result("c\($0)", 5, of: 5) }
    var now = before
    var broken = Self.result("c0", 0, of: 0)
    broken.trials = [Self.trial(.pass)]
    broken.trials[0].error = "the model was out of reach"
    now[0] = broken
    let one = Self.compare(before, now)
    #expect(one.undecided == ["c0"] && one.pairs.count == 59 && one.exitCode == 0)
    for index in 1..<10 {
      var other = broken
      other.caseId = "c\(index)"
      now[index] = other
    }
    #expect(Self.compare(before, now).exitCode == 3)
    #expect(Self.compare([], []).exitCode == 3)
    now.append(Self.result("new", 1, of: 1))
    #expect(Self.compare(before, now).unpaired == ["new"])
    #expect(Self.compare(now, before).unpaired == ["new"])
  }

  @Test(
    "one undecided case that passed leaves the comparison open where no chance has a part in it")
  func lost() {
    func suite(_ first: CaseResult) -> [CaseResult] {
      [first] + (1..<100).map { Self.result("c\($0)", 5, of: 5) }
    }
    func undecided(_ result: CaseResult) -> CaseResult {
      var result = result
      result.trials = []
      result.error = "the log is gone"
      return result
    }
    let recorded = Self.replay("c0", .pass)
    let safe = Self.result("c0", 5, of: 5, safety: true)
    for before in [recorded, safe] {
      let found = Self.compare(suite(before), suite(undecided(before)))
      #expect(found.exitCode == 3 && found.lost == ["c0"] && found.undecided == ["c0"])
    }
    // Of what could not be said before nothing is lost, and of a live case chance may be the reason.
    #expect(Self.compare(suite(undecided(recorded)), suite(undecided(recorded))).exitCode == 0)
    let live = Self.result("c0", 5, of: 5)
    #expect(Self.compare(suite(live), suite(undecided(live))).exitCode == 0)
  }

  @Test("a safety case stays one where only the results before say so")
  func safetyTakenAway() {
    let before = (0..<20).map { Self.result("c\($0)", 5, of: 5, needs: 5, safety: $0 == 0) }
    var now = before
    now[0] = Self.result("c0", 4, of: 5)
    let found = Self.compare(before, now)
    #expect(found.exitCode == 1 && found.pairs.filter(\.isWorse).map(\.caseId) == ["c0"])
  }

  @Test("a case that is no longer there is worse, with trials or without; a new one is not")
  func missing() {
    for make in [
      { Self.replay($0, .pass) }, { Self.result($0, 5, of: 5) },
    ] as [(String) -> CaseResult] {
      let before = (0..<20).map { make("c\($0)") }
      let fewer = Self.compare(before, Array(before.dropLast()))
      #expect(fewer.exitCode == 1 && fewer.missing == ["c19"] && fewer.isWorse)
      #expect(fewer.json["missing"] == ["c19"])
      let more = Self.compare(before, before + [make("new")])
      #expect(more.exitCode == 0 && more.missing == [] && more.unpaired == ["new"])
    }
  }

  /// Suites whose cases pass at these rates, compared; how often something is called worse.
  private static func alarms(
    _ runs: Int, cases: Int, trials: Int, _ before: Double, _ now: Double, seed: UInt64
  ) -> Double {
    var generator = SeededGenerator(seed: seed)
    var alarms = 0
    for round in 0..<runs {
      func results(_ rate: Double) -> [CaseResult] {
        (0..<cases).map { index in
          let passed = (0..<trials).count { _ in
            Double.random(in: 0..<1, using: &generator) < rate
          }
          return Self.result("c\(index)", passed, of: trials)
        }
      }
      let found = Self.compare(results(before), results(now), seed: UInt64(round), draws: 399)
      if found.isWorse { alarms += 1 }
    }
    return Double(alarms) / Double(runs)
  }

  @Test(
    "at the documented sizes a drop is found as often as the document says",
    arguments: [
      (20, 5, 0.75, 0.58), (40, 5, 0.8, 0.62), (20, 10, 0.8, 0.58), (15, 5, 0.7, 0.62),
    ])
  func documentedPower(cases: Int, trials: Int, now: Double, least: Double) {
    let runs = TestRun.count(200, long: 2_000)
    let found = Self.alarms(runs, cases: cases, trials: trials, 0.9, now, seed: 21)
    if TestRun.isLong { print("power of \(cases) × \(trials), 0.9 → \(now): \(found)") }
    #expect(found >= least, "\(cases) × \(trials), 0.9 → \(now): \(found)")
    let nulls = TestRun.count(200, long: 2_500)
    let nothing = Self.alarms(nulls, cases: cases, trials: trials, 0.9, 0.9, seed: 22)
    if TestRun.isLong { print("false alarms of \(cases) × \(trials) at 0.9: \(nothing)") }
    #expect(nothing <= monteCarloBound(0.05, of: nulls))
  }

  @Test("the smallest change that could have been shown is shown about four times in five")
  func smallest() throws {
    let before = (0..<15).map { Self.result("c\($0)", $0 % 2 == 0 ? 5 : 4, of: 5) }
    let found = Self.compare(before, before)
    let smallest = try #require(found.smallestDifference)
    #expect(smallest > 0.1 && smallest < 0.25, "\(smallest)")
    let runs = TestRun.count(200, long: 2_000)
    let power = Self.alarms(runs, cases: 15, trials: 5, 0.9, 0.9 - smallest, seed: 23)
    #expect(power > 0.6, "\(power) at \(smallest)")
    // Five coins cannot fall so that it is rarer than one in forty.
    #expect(
      Self.compare(Array(before.prefix(5)), Array(before.prefix(5))).smallestDifference == nil)
    #expect(
      Self.compare(Array(before.prefix(8)), Array(before.prefix(8))).smallestDifference != nil)
  }

  @Test("the same results and seed give the same bytes, written, read and compared again")
  func determinism() throws {
    var generator = SeededGenerator(seed: 2)
    let before = (0..<40).map {
      Self.result("c\($0)", .random(in: 0...5, using: &generator), of: 5, cluster: "k\($0 / 4)")
    }
    let now = (0..<40).map {
      Self.result("c\($0)", .random(in: 0...5, using: &generator), of: 5, cluster: "k\($0 / 4)")
    }
    let first = Self.compare(before, now).json
    #expect(Self.compare(before, now).json == first)
    let read = try EvalResults(decoding: EvalResults(cases: now, skipped: []).json)
    #expect(Self.compare(before, read.cases).json == first)
    #expect(first["suite"]?["clusters"]?.intValue == 10)
  }

  @Test("where nothing changed, false alarms are no more than was asked for")
  func nullSuites() {
    var generator = SeededGenerator(seed: 14)
    let runs = TestRun.count(400, long: 10_000)
    for clustered in [false, true] {
      var alarms = 0
      for round in 0..<runs {
        let rates = (0..<20).map { _ in Double.random(in: 0.4...1, using: &generator) }
        func results() -> [CaseResult] {
          // Clustered cases rise and fall together, by luck of the day.
          let luck = (0..<5).map { _ in
            clustered ? Double.random(in: -0.3...0.3, using: &generator) : 0
          }
          return rates.enumerated().map { index, rate in
            let passed = (0..<5).count { _ in
              Double.random(in: 0..<1, using: &generator) < rate + luck[index / 4]
            }
            return Self.result(
              "c\(index)", passed, of: 5, needs: 4, cluster: clustered ? "k\(index / 4)" : nil)
          }
        }
        let found = Self.compare(results(), results(), seed: UInt64(round), draws: 199)
        // What a case of its own does that day is no chance of its trials: only the suite is asked here.
        if clustered ? found.isSuiteWorse : found.isWorse { alarms += 1 }
      }
      #expect(
        Double(alarms) / Double(runs) <= monteCarloBound(0.05, of: runs), "\(alarms) of \(runs)")
    }
  }

  @Test("at the planned number of cases a true change is found four times in five")
  func power() throws {
    var generator = SeededGenerator(seed: 15)
    let runs = TestRun.count(300, long: 10_000)
    // As many pairs as Connor (Biometrics 43, 1987) asks for.
    for (discordant, difference, needed) in [(0.2, 0.1, 155), (0.3, 0.15, 103)] {
      var found = 0
      for round in 0..<runs {
        var values: [(cluster: String?, value: Double)] = []
        for _ in 0..<needed {
          let chance = Double.random(in: 0..<1, using: &generator)
          let worse = (discordant + difference) / 2
          values.append((nil, chance < worse ? -1 : chance < discordant ? 1 : 0))
        }
        let p = ClusteredDifferences(values).worseningPValue(draws: 499, seed: UInt64(round))
        if p < 0.05 { found += 1 }
      }
      #expect(Double(found) / Double(runs) >= 0.8, "\(found) of \(runs) with \(needed) cases")
    }
  }
}
