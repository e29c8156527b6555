import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceJudging

/// Whether two numbers agree to so many places.
private func agree(_ one: Double?, _ other: Double, _ tolerance: Double = 0.000_5) -> Bool {
  one.map { abs($0 - other) <= tolerance } ?? false
}

/// How far a share of simulations may lie above what it should be at most: four standard errors.
func monteCarloBound(_ rate: Double, of count: Int) -> Double {
  rate + 4 * (rate * (1 - rate) / Double(count)).squareRoot()
}

@Suite("Rates of success")
struct SuccessRateTests {
  @Test("without trials, or with fewer than k, nothing is claimed")
  func nothing() {
    let none = SuccessRate(successes: 3, trials: 0)
    #expect(none.rate == nil && none.passAt(1) == nil && none.failureBound() == nil)
    #expect(none.interval() == Interval(low: 0, high: 1))
    let few = SuccessRate(successes: 2, trials: 3)
    for k in [-1, 0, 4, .max] { #expect(few.passAt(k) == nil && few.passAll(k) == nil) }
    #expect(SuccessRate(successes: 9, trials: 5).successes == 5)
    #expect(SuccessRate(successes: -1, trials: -5).trials == 0)
  }

  @Test(
    "pass@k and pass^k of so many successes in so many trials",
    arguments: [
      (5, 3, [1: 0.6, 2: 0.9], [2: 0.3, 3: 0.1]),
      (4, 4, [1: 1, 2: 1, 3: 1, 4: 1], [1: 1, 2: 1, 3: 1, 4: 1]),
      (4, 0, [1: 0, 2: 0, 3: 0, 4: 0], [1: 0, 2: 0, 3: 0, 4: 0]),
    ])
  func passing(_ sample: (trials: Int, successes: Int, at: [Int: Double], all: [Int: Double])) {
    let rate = SuccessRate(successes: sample.successes, trials: sample.trials)
    for (k, value) in sample.at { #expect(agree(rate.passAt(k), value, 1e-12), "pass@\(k)") }
    for (k, value) in sample.all { #expect(agree(rate.passAll(k), value, 1e-12), "pass^\(k)") }
  }

  @Test("both are without bias: over all samples of eight trials their mean is the true chance")
  func unbiased() {
    for p in [0.2, 0.7, 0.95] {
      for k in 1...8 {
        var (all, any) = (0.0, 0.0)
        for c in 0...8 {
          let mass = Double(Self.choose(8, c)) * pow(p, Double(c)) * pow(1 - p, Double(8 - c))
          all += mass * (SuccessRate(successes: c, trials: 8).passAll(k) ?? .nan)
          any += mass * (SuccessRate(successes: c, trials: 8).passAt(k) ?? .nan)
        }
        #expect(agree(all, pow(p, Double(k)), 1e-9))
        #expect(agree(any, 1 - pow(1 - p, Double(k)), 1e-9))
      }
    }
  }

  private static func choose(_ n: Int, _ k: Int) -> Int {
    (0..<k).reduce(1) { $0 * (n - $1) / ($1 + 1) }
  }

  @Test(
    "Wilson's interval",
    arguments: [
      (9, 10, 0.596, 0.982), (10, 10, 0.722, 1.0), (0, 20, 0.0, 0.161), (1, 1, 0.207, 1.0),
    ])
  func interval(_ sample: (successes: Int, trials: Int, low: Double, high: Double)) {
    let interval = SuccessRate(successes: sample.successes, trials: sample.trials).interval()
    #expect(agree(interval.low, sample.low) && agree(interval.high, sample.high))
    #expect(interval.low >= 0 && interval.high <= 1)
  }

  @Test("twenty trials without a failure still allow a rate of .139")
  func failures() {
    #expect(agree(SuccessRate(successes: 20, trials: 20).failureBound(), 0.139))
    #expect(SuccessRate(successes: 19, trials: 20).failureBound() == nil)
  }
}

@Suite("Pairs of outcomes")
struct PairedOutcomesTests {
  @Test(
    "the exact test of McNemar",
    arguments: [
      (5, 0, 0.0625), (6, 0, 0.03125), (8, 1, 0.0390625), (10, 2, 0.03857), (0, 0, 1), (3, 3, 1),
      (1, 0, 1),
    ])
  func exact(_ sample: (b: Int, c: Int, p: Double)) {
    let pairs = PairedOutcomes(bothPass: 7, onlyBefore: sample.b, onlyNow: sample.c, bothFail: 2)
    #expect(agree(pairs.pValue, sample.p, 1e-5))
    let other = PairedOutcomes(onlyBefore: sample.c, onlyNow: sample.b)
    #expect(agree(other.pValue, pairs.pValue, 1e-12))
    #expect(pairs.midPValue <= pairs.pValue)
  }

  @Test("one-sided and mid-p")
  func sides() {
    #expect(agree(PairedOutcomes(onlyBefore: 5).worseningPValue, 0.03125, 1e-9))
    #expect(agree(PairedOutcomes(onlyNow: 5).worseningPValue, 1, 1e-9))
    #expect(agree(PairedOutcomes(onlyBefore: 5).midPValue, 0.03125, 1e-9))
  }

  @Test(
    "evidence that may be looked at after each case",
    arguments: [(5, 0, 5.33, 10.5), (6, 0, 9.14, 18.1), (7, 0, 16.0, 31.9), (8, 1, 5.69, 11.3)])
  func evidence(_ sample: (b: Int, c: Int, two: Double, one: Double)) {
    let pairs = PairedOutcomes(onlyBefore: sample.b, onlyNow: sample.c)
    #expect(agree(pairs.evidence, sample.two, 0.006))
    #expect(agree(pairs.worseningEvidence, sample.one, 0.06))
    #expect(PairedOutcomes(onlyNow: sample.b).worseningEvidence < 1)
  }

  @Test("large counts neither overflow nor lose the value")
  func large() {
    let pairs = PairedOutcomes(onlyBefore: 100_000, onlyNow: 100_000)
    #expect(agree(pairs.pValue, 1, 1e-6))
    #expect(PairedOutcomes(onlyBefore: 1_000).pValue < 1e-200)
    #expect(PairedOutcomes(onlyBefore: 60_000, onlyNow: 58_000).pValue < 1e-6)
    #expect(PairedOutcomes(onlyBefore: -5, onlyNow: -1).pValue == 1)
  }

  @Test("Holm: each smaller p-value has more to beat")
  func holm() {
    #expect(ManyTests.holm([]) == [])
    #expect(ManyTests.holm([0.01, 0.04, 0.03]).map { ($0 * 1_000).rounded() } == [30, 60, 60])
    #expect(ManyTests.holm([0.5, 0.9]) == [1, 1])
  }
}

@Suite("Clusters of cases")
struct ClusteredDifferencesTests {
  @Test("cases without clusters give the usual standard error")
  func plain() {
    let values = [0.0, 1, 0, 0, -1, 1, 0.5]
    let sample = ClusteredDifferences(values.map { (nil, $0) })
    let mean = values.reduce(0, +) / 7
    let squares = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
    #expect(agree(sample.mean, mean, 1e-12))
    #expect(agree(sample.standardError, squares.squareRoot() / 7, 1e-12))
  }

  @Test("twins are one piece of evidence")
  func twins() throws {
    let once = ClusteredDifferences((0..<10).map { ("c\($0)", $0 < 6 ? -1.0 : 0) })
    let twice = ClusteredDifferences((0..<20).map { ("c\($0 / 2)", $0 < 12 ? -1.0 : 0) })
    #expect(once.mean == twice.mean && twice.clusterCount == 10 && twice.cases == 20)
    #expect(agree(twice.standardError, try #require(once.standardError), 1e-12))
    #expect(once.worseningPValue() == twice.worseningPValue())
    #expect(once.interval() == twice.interval())
    let alone = ClusteredDifferences((0..<20).map { (nil, $0 < 12 ? -1.0 : 0) })
    #expect(alone.worseningPValue() < once.worseningPValue())
  }

  @Test("with one trial a case it is the one-sided exact test of McNemar")
  func sameAsMcNemar() {
    for (b, c) in [(0, 0), (5, 0), (0, 5), (8, 1), (7, 6), (3, 3)] {
      let values = Array(repeating: -1.0, count: b) + Array(repeating: 1.0, count: c) + [0, 0]
      let sample = ClusteredDifferences(values.map { (nil, $0) })
      #expect(
        agree(
          sample.worseningPValue(),
          PairedOutcomes(onlyBefore: b, onlyNow: c).worseningPValue, 1e-9), "\(b), \(c)")
    }
  }

  @Test("the same seed gives the same interval, and drawing agrees with counting out")
  func seeds() throws {
    let values = (0..<60).map { (nil as String?, Double($0 % 5) - 2.3) }
    let sample = ClusteredDifferences(values)
    #expect(sample.interval(seed: 7) == sample.interval(seed: 7))
    #expect(sample.interval(seed: 7) != sample.interval(seed: 8))
    #expect(sample.worseningPValue(seed: 3) == sample.worseningPValue(seed: 3))
    let few = ClusteredDifferences(Array(values.prefix(16)))
    let more = ClusteredDifferences(Array(values.prefix(16)) + [(nil, 1e-12)])
    #expect(agree(more.worseningPValue(draws: 100_000), few.worseningPValue(), 0.01))
    #expect(ClusteredDifferences([]).interval() == nil && ClusteredDifferences([]).mean == nil)
    #expect(ClusteredDifferences([(nil, 1)]).interval() == nil)
  }

  @Test(
    "Student's quantiles, as they stand in tables",
    arguments: [
      (1, 0.975, 12.7062), (2, 0.975, 4.3027), (3, 0.95, 2.3534), (4, 0.975, 2.7764),
      (5, 0.99, 3.3649), (9, 0.975, 2.2622), (10, 0.8, 0.8791), (19, 0.975, 2.0930),
      (30, 0.995, 2.7500), (120, 0.975, 1.9799), (5_000, 0.975, 1.9600),
    ])
  func student(degrees: Int, share: Double, quantile: Double) {
    #expect(agree(StudentT.quantile(share, degrees: degrees), quantile, 0.000_2))
    #expect(agree(StudentT.quantile(1 - share, degrees: degrees), -quantile, 0.000_2))
    #expect(agree(StudentT.below(quantile, degrees: degrees), share, 0.000_1))
  }

  @Test("the interval of few cases or clusters covers a true change as often as it says")
  func fewCoverage() {
    var generator = SeededGenerator(seed: 6)
    let runs = TestRun.count(2_000, long: 20_000)
    func rate(_ rate: Double, of trials: Int) -> Double {
      Double((0..<trials).count { _ in Double.random(in: 0..<1, using: &generator) < rate })
        / Double(trials)
    }
    for (count, size, trials) in [(10, 1, 5), (20, 1, 5), (8, 3, 5), (15, 1, 10)] {
      for (before, now) in [(0.8, 0.8), (0.9, 0.7), (0.6, 0.8)] {
        var covered = 0
        for _ in 0..<runs {
          var values: [(cluster: String?, value: Double)] = []
          for cluster in 0..<count {
            let shared = size == 1 ? 0 : Double.random(in: -0.1...0.1, using: &generator)
            for _ in 0..<size {
              values.append(
                ("c\(cluster)", rate(now + shared, of: trials) - rate(before, of: trials)))
            }
          }
          guard let interval = ClusteredDifferences(values).interval() else { continue }
          let change = now - before
          if interval.low <= change + 1e-12, interval.high >= change - 1e-12 { covered += 1 }
        }
        let share = Double(covered) / Double(runs)
        #expect(share > 0.935, "\(count) × \(size), \(before) → \(now): \(share)")
      }
    }
  }

  @Test("the interval covers a true change of clustered cases about as often as it says")
  func coverage() {
    var generator = SeededGenerator(seed: 5)
    let runs = TestRun.isLong ? 10_000 : 300
    var covered = 0
    for _ in 0..<runs {
      // Forty scenarios of five cases each, which move together for the most part.
      var values: [(cluster: String?, value: Double)] = []
      for cluster in 0..<40 {
        let shared = Double.random(in: -0.3...0.3, using: &generator) + 0.1
        for _ in 0..<5 {
          values.append(
            ("c\(cluster)", shared + Double.random(in: -0.05...0.05, using: &generator)))
        }
      }
      let interval = ClusteredDifferences(values).interval(
        draws: TestRun.isLong ? 1_000 : 400, seed: generator.next())
      if let interval, interval.low <= 0.1, interval.high >= 0.1 { covered += 1 }
    }
    #expect(Double(covered) / Double(runs) > 0.92, "\(covered) of \(runs)")
  }
}

@Suite("Stopping early")
struct SequentialTestTests {
  @Test(
    "rates and errors that make no test",
    arguments: [
      (0.8, 0.95, 0.05, 0.05), (0.9, 0.9, 0.05, 0.05), (1, 0.5, 0.05, 0.05), (0.5, 0, 0.05, 0.05),
      (0.9, 0.5, 0, 0.05), (0.9, 0.5, 0.05, 0.6), (.nan, 0.5, 0.05, 0.05),
    ])
  func refused(_ sample: (good: Double, bad: Double, alpha: Double, beta: Double)) {
    #expect(
      SequentialTest(
        good: sample.good, bad: sample.bad, falseAlarms: sample.alpha, misses: sample.beta) == nil)
  }

  @Test("each trial counts as Wald says, and nothing counts behind the decision")
  func steps() throws {
    var test = try #require(SequentialTest(good: 0.95, bad: 0.80))
    test.take(isSuccess: true)
    #expect(agree(test.score, -0.172))
    test.take(isSuccess: false)
    #expect(agree(test.score, -0.172 + 1.386, 0.001))
    #expect(test.verdict == .open && test.trialsToDecide == 2)
    test.take(isSuccess: false)
    test.take(isSuccess: false)
    #expect(test.verdict == .bad && test.trialsToDecide == 0)
    let decided = test
    test.take(isSuccess: true)
    #expect(test == decided)
    var lucky = try #require(SequentialTest(good: 0.95, bad: 0.80))
    #expect(lucky.trialsToDecide == 3)
    for _ in 0..<18 { lucky.take(isSuccess: true) }
    #expect(lucky.verdict == .good)
  }

  @Test("errors stay below what was asked for, and calls are saved, over 10,000 simulated suites")
  func simulation() throws {
    let runs = 10_000
    var generator = SeededGenerator(seed: 11)
    for (rate, expected) in [(0.95, 30.7), (0.80, 22.8)] {
      var (wrong, trials) = (0, 0)
      for _ in 0..<runs {
        var test = try #require(SequentialTest(good: 0.95, bad: 0.80))
        while test.verdict == .open {
          test.take(isSuccess: Double.random(in: 0..<1, using: &generator) < rate)
        }
        trials += test.trials
        if test.verdict == (rate > 0.9 ? .bad : .good) { wrong += 1 }
      }
      #expect(Double(wrong) / Double(runs) <= monteCarloBound(0.05, of: runs))
      let mean = Double(trials) / Double(runs)
      #expect(agree(mean, expected, 1), "\(mean) trials on average")
      // A test of a fixed number of trials with these errors needs 50 (by exact binomial tails).
      #expect(mean < 0.65 * 50)
    }
  }

  @Test("evidence looked at after each of 200 cases raises few false alarms, a p-value many")
  func continuousLooking() {
    let runs = 2_000
    var generator = SeededGenerator(seed: 12)
    var (byEvidence, byPValue) = (0, 0)
    for _ in 0..<runs {
      var pairs = PairedOutcomes()
      var (rang, rangOften) = (false, false)
      for _ in 0..<200 {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: pairs.onlyBefore += 1
        case 1: pairs.onlyNow += 1
        default: pairs.bothPass += 1
        }
        rang = rang || pairs.evidence >= 20
        rangOften = rangOften || pairs.pValue < 0.05
      }
      byEvidence += rang ? 1 : 0
      byPValue += rangOften ? 1 : 0
    }
    #expect(Double(byEvidence) / Double(runs) <= monteCarloBound(0.05, of: runs))
    #expect(Double(byPValue) / Double(runs) > 0.1)
  }
}
