public import AgentTrace

/// How often a case is run live, and when it passes. A run that is recorded has no chance in it and needs no
/// plan: judged twice, it comes out the same.
public struct TrialPlan: Sendable, Hashable {
  /// How many trials are decided at most. Those that are neither pass nor fail are made again,
  /// ``spareTrials`` of them at most.
  public var trials: Int
  /// How many of them have to pass.
  public var passThreshold: Int
  /// Whether one failure fails the case, whatever the threshold: a safety case is never excused.
  public var isSafety: Bool
  /// Rates between which trials are to decide, and nothing sooner; `nil` where the threshold decides.
  public var rates: SequentialRates?

  /// Trials that may be made beyond ``trials`` in place of those that failed for reasons of their own.
  public static let spareTrials = 2

  /// What the sequential test tells apart; see ``SequentialTest``.
  public struct SequentialRates: Sendable, Hashable {
    /// The rate that is good enough.
    public var good: Double
    /// The rate that is not.
    public var bad: Double
    /// How often a good rate may be called bad.
    public var falseAlarms: Double
    /// How often a bad rate may be called good.
    public var misses: Double

    /// ``SequentialTest`` refuses rates that make no test.
    public init(good: Double, bad: Double, falseAlarms: Double = 0.05, misses: Double = 0.05) {
      self.good = good
      self.bad = bad
      self.falseAlarms = falseAlarms
      self.misses = misses
    }

    /// A test that has seen nothing; `nil` where the rates make none.
    public var test: SequentialTest? {
      SequentialTest(good: good, bad: bad, falseAlarms: falseAlarms, misses: misses)
    }
  }

  /// Fewer trials than one count as one; a threshold is brought between 1 and their number.
  public init(
    trials: Int, passThreshold: Int? = nil, isSafety: Bool = false, rates: SequentialRates? = nil
  ) {
    self.trials = max(1, trials)
    self.passThreshold = min(max(1, passThreshold ?? trials), self.trials)
    self.isSafety = isSafety
    self.rates = rates
  }

  /// The word on a case whose trials came out like this, in the order they were made.
  public func outcome(of trials: some Sequence<CaseOutcome>) -> CaseOutcome {
    standing(of: trials).outcome
  }

  /// Whether further trials are to be made: they could change the outcome, and some are left.
  ///
  /// - Parameters:
  ///   - trials: how those made so far came out.
  ///   - makesAll: whether those are made as well that could not.
  public func needsMore(
    after trials: some Collection<CaseOutcome>, makesAll: Bool = false
  ) -> Bool {
    let standing = standing(of: trials)
    let decided = standing.passes + standing.fails
    return (makesAll || !standing.isDecided) && decided < self.trials
      && trials.count < self.trials + Self.spareTrials
  }

  /// How many more trials decide the case at least; 0 where it is decided.
  public func moreTrials(after trials: some Sequence<CaseOutcome>) -> Int {
    let standing = standing(of: trials)
    if standing.isDecided { return 0 }
    if let test = standing.test { return test.trialsToDecide }
    let toPass = passThreshold - standing.passes
    let toFail = isSafety ? 1 : self.trials - passThreshold + 1 - standing.fails
    return max(1, min(toPass, toFail))
  }

  // MARK: Counting

  private struct Standing {
    var passes = 0
    var fails = 0
    var open = 0
    var errors = 0
    var outcome = CaseOutcome.inconclusive
    var isDecided = false
    var test: SequentialTest?
  }

  private func standing(of trials: some Sequence<CaseOutcome>) -> Standing {
    var standing = Standing()
    standing.test = rates?.test
    for outcome in trials {
      switch outcome {
      case .pass:
        standing.passes += 1
        standing.test?.take(isSuccess: true)
      case .fail:
        standing.fails += 1
        standing.test?.take(isSuccess: false)
      case .inconclusive: standing.open += 1
      case .error: standing.errors += 1
      }
    }
    let verdict = self.verdict(standing)
    standing.isDecided = verdict != nil
    let undecided: CaseOutcome =
      standing.errors > 0 && standing.passes + standing.fails + standing.open == 0
      ? .error : .inconclusive
    standing.outcome = verdict ?? undecided
    return standing
  }

  private func verdict(_ standing: Standing) -> CaseOutcome? {
    if isSafety, standing.fails > 0 { return .fail }
    if let test = standing.test {
      switch test.verdict {
      case .good: return .pass
      case .bad: return .fail
      case .open: return nil
      }
    }
    if standing.passes >= passThreshold, !isSafety || standing.passes >= trials { return .pass }
    return standing.fails > trials - passThreshold ? .fail : nil
  }

  // MARK: Wire form

  /// The wire form.
  public var json: JSONValue {
    var object: JSONObject = [
      "trials": JSONValue(trials), "passThreshold": JSONValue(passThreshold),
    ]
    if isSafety { object["safety"] = true }
    if let rates {
      object["rates"] = [
        "good": JSONValue(rates.good), "bad": JSONValue(rates.bad),
        "falseAlarms": JSONValue(rates.falseAlarms), "misses": JSONValue(rates.misses),
      ]
    }
    return .object(object)
  }
}

/// What the trials of one case say together.
public struct TrialStatistics: Sendable, Hashable {
  /// How many trials came out in each way.
  public var counts: [CaseOutcome: Int]
  /// Of those that were decided.
  public var rate: SuccessRate
  /// How many more trials decide the case at least; 0 where it is decided.
  public var moreTrials: Int

  /// Counts the trials of a case.
  public init(of trials: [CaseOutcome], plan: TrialPlan) {
    var counts: [CaseOutcome: Int] = [:]
    for outcome in trials { counts[outcome, default: 0] += 1 }
    self.counts = counts
    let passes = counts[.pass] ?? 0
    rate = SuccessRate(successes: passes, trials: passes + (counts[.fail] ?? 0))
    moreTrials = plan.moreTrials(after: trials)
  }

  /// Whether some trials passed and some failed: the same agent, model and input did both.
  public var isFlaky: Bool { rate.successes > 0 && rate.successes < rate.trials }

  /// The wire form.
  public var json: JSONValue {
    var object: JSONObject = [:]
    for outcome in CaseOutcome.allCases {
      object[outcome.rawValue] = JSONValue(counts[outcome] ?? 0)
    }
    object["rate"] = rate.rate.map { JSONValue($0) }
    object["interval"] = rate.interval().json
    let ks = rate.trials == 0 ? [] : Array(1...min(rate.trials, 10))
    object["passAt"] = .object(
      JSONObject(ks.map { (String($0), rate.passAt($0).map { JSONValue($0) } ?? .null) }))
    object["passAll"] = .object(
      JSONObject(ks.map { (String($0), rate.passAll($0).map { JSONValue($0) } ?? .null) }))
    object["failureBound"] = rate.failureBound().map { JSONValue($0) }
    object["flaky"] = .bool(isFlaky)
    object["moreTrials"] = JSONValue(moreTrials)
    return .object(object)
  }
}
