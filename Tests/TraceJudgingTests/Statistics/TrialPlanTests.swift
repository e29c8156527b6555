import AgentTrace
import TestSupport
import Testing
import TraceJudging

@Suite("Trials of a case")
struct TrialPlanTests {
  private static let infrastructure: [CaseOutcome] = [.error, .inconclusive]

  @Test("what is neither pass nor fail never turns into one, wherever it comes in")
  func infrastructure() {
    var generator = SeededGenerator(seed: 3)
    for _ in 0..<TestRun.count(2_000, long: 100_000) {
      let plan = TrialPlan(
        trials: .random(in: 1...6, using: &generator),
        passThreshold: .random(in: 1...6, using: &generator),
        isSafety: .random(using: &generator))
      let decided = (0..<Int.random(in: 0...plan.trials, using: &generator)).map { _ in
        Bool.random(using: &generator) ? CaseOutcome.pass : .fail
      }
      var mixed = decided
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let other = Self.infrastructure.randomElement(using: &generator) ?? .error
        mixed.insert(other, at: .random(in: 0...mixed.count, using: &generator))
      }
      let (before, after) = (plan.outcome(of: decided), plan.outcome(of: mixed))
      if before == .pass || before == .fail { #expect(after == before) }
      if after == .pass || after == .fail { #expect(after == before, "\(decided), \(mixed)") }
      let (one, other) = (
        TrialStatistics(of: decided, plan: plan), TrialStatistics(of: mixed, plan: plan)
      )
      #expect(one.rate == other.rate && one.isFlaky == other.isFlaky)
    }
  }

  /// Passes and failures as letters, and what a plan says of them.
  struct Sample: Sendable, CustomTestStringConvertible {
    var plan: TrialPlan
    var trials: String
    var outcome: CaseOutcome
    var more: Int

    var testDescription: String { "\(trials) of \(plan.trials)" }

    var outcomes: [CaseOutcome] {
      trials.map { ["p": .pass, "f": .fail, "i": .inconclusive][$0] ?? .error }
    }
  }

  private static let fourOfFive = TrialPlan(trials: 5, passThreshold: 4)
  private static let safety = TrialPlan(trials: 5, isSafety: true)
  private static let rates = TrialPlan(trials: 100, rates: .init(good: 0.95, bad: 0.8))

  static let samples: [Sample] = [
    Sample(plan: fourOfFive, trials: "", outcome: .inconclusive, more: 2),
    Sample(plan: fourOfFive, trials: "e", outcome: .error, more: 2),
    Sample(plan: fourOfFive, trials: "ee", outcome: .error, more: 2),
    Sample(plan: fourOfFive, trials: "ei", outcome: .inconclusive, more: 2),
    Sample(plan: fourOfFive, trials: "ppp", outcome: .inconclusive, more: 1),
    Sample(plan: fourOfFive, trials: "pppp", outcome: .pass, more: 0),
    Sample(plan: fourOfFive, trials: "pfppp", outcome: .pass, more: 0),
    Sample(plan: fourOfFive, trials: "pfpef", outcome: .fail, more: 0),
    Sample(plan: fourOfFive, trials: "ff", outcome: .fail, more: 0),
    Sample(plan: fourOfFive, trials: "pppeeee", outcome: .inconclusive, more: 1),
    Sample(plan: safety, trials: "pppp", outcome: .inconclusive, more: 1),
    Sample(plan: safety, trials: "ppppp", outcome: .pass, more: 0),
    Sample(plan: safety, trials: "ppfpp", outcome: .fail, more: 0),
    Sample(plan: rates, trials: "fff", outcome: .fail, more: 0),
    Sample(plan: rates, trials: "fp", outcome: .inconclusive, more: 2),
    Sample(plan: rates, trials: String(repeating: "p", count: 18), outcome: .pass, more: 0),
  ]

  @Test(
    "threshold, safety and rates decide as soon as nothing can change any more", arguments: samples)
  func outcomes(_ sample: Sample) {
    #expect(sample.plan.outcome(of: sample.outcomes) == sample.outcome)
    #expect(sample.plan.moreTrials(after: sample.outcomes) == sample.more)
  }

  @Test("stopping early saves trials and never changes an outcome")
  func early() {
    var generator = SeededGenerator(seed: 9)
    var (made, planned) = (0, 0)
    for round in 0..<2_000 {
      let plan = TrialPlan(
        trials: .random(in: 1...9, using: &generator),
        passThreshold: .random(in: 1...9, using: &generator), isSafety: round % 5 == 0)
      let all = (0..<plan.trials).map { _ in
        Double.random(in: 0..<1, using: &generator) < 0.8 ? CaseOutcome.pass : .fail
      }
      var seen: [CaseOutcome] = []
      repeat { seen.append(all[seen.count]) } while plan.needsMore(after: seen)
      #expect(plan.outcome(of: seen) == plan.outcome(of: all), "\(plan), \(all)")
      made += seen.count
      planned += all.count
    }
    #expect(made < planned * 9 / 10)
  }

  @Test("trials that decide nothing are made again, and not for ever")
  func spares() {
    let plan = TrialPlan(trials: 3)
    var trials: [CaseOutcome] = []
    repeat { trials.append(.error) } while plan.needsMore(after: trials)
    #expect(trials.count == 3 + TrialPlan.spareTrials)
    #expect(plan.outcome(of: trials) == .error)
  }

  @Test("results with plans survive being written and read")
  func wireForm() throws {
    for sample in Self.samples where !sample.trials.isEmpty {
      var result = CaseResult(caseId: "one", position: "cases.yaml:1")
      result.plan = sample.plan
      for outcome in sample.outcomes {
        var trial = TrialResult(
          runId: "r", log: "l", judgedFrom: "body",
          judgement: Judgement(outcomes: [
            ExpectationOutcome(
              expectation: "stopReason",
              outcome: outcome == .pass ? .pass : outcome == .fail ? .fail : .unverifiable,
              message: "")
          ]))
        if outcome == .error { trial.error = "the model was out of reach" }
        result.trials.append(trial)
      }
      let results = EvalResults(cases: [result], skipped: [])
      let read = try EvalResults(decoding: results.json)
      #expect(read.json == results.json)
      #expect(read.cases[0].outcome == sample.outcome)
    }
  }
}
