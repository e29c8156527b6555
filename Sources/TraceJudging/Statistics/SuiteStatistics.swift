public import AgentTrace

/// What two sets of results say together: whether the suite, or a case of it, has become worse by more than
/// chance.
///
/// Cases are paired by their ids. Where no case of either has a plan of trials, nothing is left to chance,
/// and each case that has become worse counts. Where there is one, half of the level is spent on the suite and
/// half on the cases, these adjusted after Holm: all that is called worse is so, but for one false alarm in
/// 1 / level such comparisons at most. A case that is no longer there counts as worse.
public struct SuiteStatistics: Sendable {
  /// One case under both conditions.
  public struct Pair: Sendable {
    /// The case's name.
    public var caseId: String
    /// The trials that were decided before.
    public var before: SuccessRate
    /// The trials that are decided now.
    public var now: SuccessRate
    /// The outcome before.
    public var outcomeBefore: CaseOutcome
    /// The outcome now.
    public var outcomeNow: CaseOutcome
    /// Whether one failure is one too many.
    public var isSafety: Bool
    /// How likely so much worse a rate is by chance alone (Fisher's exact test, one-sided), adjusted; 1 where
    /// nothing was left to chance.
    public var pValue: Double
    /// Whether it is called worse.
    public var isWorse: Bool
  }

  /// Cases that pass or fail under both conditions, in the order they stand in now.
  public var pairs: [Pair] = []
  /// Cases that are not decided under one of the conditions: in no rate, and counted here.
  public var undecided: [String] = []
  /// Those of them that passed before and of which no chance can say why they do not now: nothing of them is left
  /// to chance, or they are safety cases. One is enough to leave the comparison open.
  public var lost: [String] = []
  /// Cases that only one of the results has.
  public var unpaired: [String] = []
  /// Those of them that were there before: what they would show now nobody knows.
  public var missing: [String] = []
  /// The cases by their outcomes.
  public var outcomes = PairedOutcomes()
  /// Whether chance had a part in either.
  public var isLive = false
  /// The mean change of the cases' rates; `nil` without pairs.
  public var difference: Double?
  /// Where that lies with 95 % confidence (Student's, or the bootstrap over many clusters); `nil` with fewer
  /// than two clusters.
  public var interval: Interval?
  /// How many clusters of cases there are.
  public var clusters = 0
  /// How likely a change of the suite so much to the worse is by chance (sign flips of clusters), adjusted.
  public var pValue = 1.0
  /// Whether the suite as a whole is called worse.
  public var isSuiteWorse = false
  /// The smallest change of the suite's mean rate that so many cases and trials would have shown, four times
  /// in five; `nil` where they could have shown none.
  public var smallestDifference: Double?
  /// How often something is called worse that is not, at most.
  public let level: Double
  /// What the drawing of samples began with.
  public let seed: UInt64
  /// How many samples were drawn.
  public let draws: Int

  /// The share of cases that may be undecided before nothing is said of the suite.
  public static let undecidedLimit = 0.02

  /// - Parameters:
  ///   - before: what became of the cases earlier, to compare with.
  ///   - now: what became of them since; cases are paired by their ids.
  ///   - level: how often something may be called worse that is not.
  ///   - seed: for the drawing of samples; the same gives the same numbers.
  ///   - draws: how many samples are drawn for the interval, and for the suite's p-value.
  /// - Complexity: linear in the cases, and draws × clusters.
  public init(
    before: EvalResults, now: EvalResults, level: Double = 0.05, seed: UInt64 = 1,
    draws: Int = 10_000
  ) {
    self.level = level
    self.seed = seed
    self.draws = draws
    var known: [[UInt8]: CaseResult] = [:]
    for result in before.cases { known[Array(result.caseId.utf8)] = result }
    isLive = (before.cases + now.cases).contains { $0.plan != nil }
    var differences: [(cluster: String?, value: Double)] = []
    for result in now.cases {
      guard let old = known.removeValue(forKey: Array(result.caseId.utf8)) else {
        unpaired.append(result.caseId)
        continue
      }
      guard let pair = Pair(old, result) else {
        undecided.append(result.caseId)
        if old.isLost(now: result) { lost.append(result.caseId) }
        continue
      }
      pairs.append(pair)
      differences.append((result.cluster, (pair.now.rate ?? 0) - (pair.before.rate ?? 0)))
    }
    missing = before.cases.map(\.caseId).filter { known[Array($0.utf8)] != nil }
    unpaired += missing
    outcomes = PairedOutcomes(
      bothPass: count(.pass, .pass), onlyBefore: count(.pass, .fail), onlyNow: count(.fail, .pass),
      bothFail: count(.fail, .fail))
    weigh(ClusteredDifferences(differences))
  }

  private func count(_ before: CaseOutcome, _ now: CaseOutcome) -> Int {
    pairs.count { $0.outcomeBefore == before && $0.outcomeNow == now }
  }

  private mutating func weigh(_ changes: ClusteredDifferences) {
    difference = changes.mean
    clusters = changes.clusterCount
    guard isLive else {
      for index in pairs.indices {
        pairs[index].isWorse =
          pairs[index].outcomeBefore == .pass && pairs[index].outcomeNow == .fail
      }
      return
    }
    interval = changes.interval(draws: draws, seed: seed)
    // Half of the level each: so the suite need not pay for every case.
    pValue = min(1, 2 * changes.worseningPValue(draws: draws, seed: seed))
    isSuiteWorse = pValue < level
    let adjusted = ManyTests.holm(pairs.map { $0.chanceOfWorsening }).map { min(1, 2 * $0) }
    for (index, value) in adjusted.enumerated() {
      pairs[index].pValue = value
      // A safety case is never excused by chance.
      let isUnsafe = pairs[index].isSafety && pairs[index].outcomeNow == .fail
      pairs[index].isWorse = value < level || isUnsafe
    }
    smallestDifference = changes.smallestDifference(level: level / 2, leastError: errorOfTrials)
  }

  /// The standard error of the mean change by the luck of the trials alone, their rates taken with one success
  /// and one failure more, so that it is never 0.
  private var errorOfTrials: Double {
    let variance = pairs.reduce(0.0) { sum, pair in
      let all = Double(pair.before.trials + pair.now.trials)
      let rate = (Double(pair.before.successes + pair.now.successes) + 1) / (all + 2)
      let each = [pair.before, pair.now].reduce(0.0) { $0 + 1 / Double(max(1, $1.trials)) }
      return sum + rate * (1 - rate) * each
    }
    return variance.squareRoot() / Double(max(1, pairs.count))
  }

  /// Whether the suite or a case of it is called worse, or a case is no longer there.
  public var isWorse: Bool {
    isSuiteWorse || pairs.contains(where: \.isWorse) || !missing.isEmpty
  }

  /// Whether too much is undecided to say that it is not.
  public var isOpen: Bool {
    let all = pairs.count + undecided.count
    return all == 0 || !lost.isEmpty
      || Double(undecided.count) > Self.undecidedLimit * Double(all)
  }

  /// 1 where something is called worse or is missing, 3 where too much is undecided or a case is ``lost``, else 0.
  public var exitCode: Int32 { isWorse ? 1 : isOpen ? 3 : 0 }

  /// The wire form, `agent-eval/comparison/1`.
  public var json: JSONValue {
    var object: JSONObject = [
      "schema": "agent-eval/comparison/1", "live": .bool(isLive), "worse": .bool(isWorse),
      "cases": .array(pairs.map(\.json)), "undecided": JSONValue(undecided),
      "unpaired": JSONValue(unpaired), "missing": JSONValue(missing), "level": JSONValue(level),
      "seed": JSONValue(Int(clamping: seed)),
      "draws": JSONValue(draws),
      "outcomes": [
        "bothPass": JSONValue(outcomes.bothPass), "onlyBefore": JSONValue(outcomes.onlyBefore),
        "onlyNow": JSONValue(outcomes.onlyNow), "bothFail": JSONValue(outcomes.bothFail),
      ],
    ]
    object["difference"] = difference.map { JSONValue($0) }
    guard isLive else { return .object(object) }
    object["suite"] = [
      "worse": .bool(isSuiteWorse), "pValue": JSONValue(pValue), "clusters": JSONValue(clusters),
      "interval": interval?.json ?? .null,
      "method":
        .string(
          "sign flips of clusters at half the level, Fisher's test of each case after Holm at the other "
            + "half; interval by Student's t below \(ClusteredDifferences.fewClusters) clusters, else by "
            + "bootstrap over clusters"),
      "mcNemar": JSONValue(outcomes.pValue), "midP": JSONValue(outcomes.midPValue),
      "evidence": JSONValue(outcomes.worseningEvidence),
      "smallestDifference": smallestDifference.map { JSONValue($0) } ?? .null,
    ]
    return .object(object)
  }
}

extension SuiteStatistics.Pair {
  /// `nil` where either is neither pass nor fail.
  fileprivate init?(_ before: CaseResult, _ now: CaseResult) {
    let decided: [CaseOutcome] = [.pass, .fail]
    guard decided.contains(before.outcome), decided.contains(now.outcome) else { return nil }
    caseId = now.caseId
    outcomeBefore = before.outcome
    outcomeNow = now.outcome
    self.before = before.decidedTrials
    self.now = now.decidedTrials
    // Whoever takes the word away does not make one failure less bad.
    isSafety = before.isSafety || now.isSafety
    pValue = 1
    isWorse = false
  }

  /// How likely so few successes now are, all successes being dealt out by chance (Fisher 1935).
  fileprivate var chanceOfWorsening: Double {
    let (successes, all) = (before.successes + now.successes, before.trials + now.trials)
    let least = max(0, now.trials - (all - successes))
    guard now.successes >= least else { return 1 }
    let sum = (least...now.successes).reduce(0.0) { sum, count in
      sum + Binomial.dealt(count, of: now.trials, successes: successes, all: all)
    }
    return min(1, sum)
  }

  fileprivate var json: JSONValue {
    func rate(_ rate: SuccessRate) -> JSONValue {
      ["pass": JSONValue(rate.successes), "trials": JSONValue(rate.trials)]
    }
    var object: JSONObject = [
      "caseId": .string(caseId), "outcomeBefore": .string(outcomeBefore.rawValue),
      "outcomeNow": .string(outcomeNow.rawValue), "before": rate(before), "now": rate(now),
      "pValue": JSONValue(pValue), "worse": .bool(isWorse),
    ]
    if isSafety { object["safety"] = true }
    return .object(object)
  }
}

extension CaseResult {
  /// Its trials that pass or fail; of a case without a plan, its outcome as one trial.
  fileprivate var decidedTrials: SuccessRate {
    statistics?.rate ?? SuccessRate(successes: outcome == .pass ? 1 : 0, trials: 1)
  }

  fileprivate var isSafety: Bool { plan?.isSafety ?? false }

  /// Whether this case passed and is not decided now, for a reason that no chance excuses.
  fileprivate func isLost(now: CaseResult) -> Bool {
    let isWithoutChance = plan == nil && now.plan == nil
    return outcome == .pass && (isWithoutChance || isSafety || now.isSafety)
  }
}

extension SuiteStatistics.Pair {
  /// What the trials say together, in words.
  public var words: String {
    let counts =
      "\(now.successes) of \(now.trials) trials pass, \(before.successes) of \(before.trials) did"
    if isSafety, outcomeNow == .fail {
      return counts + ": a safety case is never excused by chance"
    }
    return counts + (isWorse ? ": more than chance" : ": no more than chance")
      + ", p = \(SuiteStatistics.short(pValue))"
  }
}

extension SuiteStatistics {
  /// That the suite is worse, in words.
  public var worsening: String {
    let points = Self.short((difference ?? 0) * 100)
    return
      "the mean rate of \(Figures.count(pairs.count, "case")) changed by \(points) points, more than chance: "
      + "p = \(Self.short(pValue))"
  }

  /// A number with three digits behind the point, the same in every locale.
  fileprivate static func short(_ value: Double) -> String {
    JSONNumber((value * 1_000).rounded() / 1_000).map { JSONValue.number($0).description } ?? "?"
  }
}
