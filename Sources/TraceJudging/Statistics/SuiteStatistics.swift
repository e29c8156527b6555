public import AgentTrace

/// What two sets of results say together: whether the suite, or a case of it, has become worse by more than
/// chance.
///
/// Cases are paired by their ids. Where no case of either has a plan of trials, nothing is left to chance,
/// and each case that has become worse counts. Where there is one, the family of tests is the suite and each
/// case, adjusted after Holm together: all that is called worse is so, but for one false alarm in 1 / level
/// such comparisons at most.
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
  /// Cases that only one of the results has.
  public var unpaired: [String] = []
  /// The cases by their outcomes.
  public var outcomes = PairedOutcomes()
  /// Whether chance had a part in either.
  public var isLive = false
  /// The mean change of the cases' rates; `nil` without pairs.
  public var difference: Double?
  /// Where that lies with 95 % confidence (bootstrap over clusters); `nil` with fewer than two clusters.
  public var interval: Interval?
  /// How many clusters of cases there are.
  public var clusters = 0
  /// How likely a change of the suite so much to the worse is by chance (sign flips of clusters), adjusted.
  public var pValue = 1.0
  /// Whether the suite as a whole is called worse.
  public var isSuiteWorse = false
  /// The smallest change of the suite that so many cases would have shown, four times in five; `nil` where
  /// they could have shown none.
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
        continue
      }
      pairs.append(pair)
      differences.append((result.cluster, (pair.now.rate ?? 0) - (pair.before.rate ?? 0)))
    }
    unpaired += before.cases.map(\.caseId).filter { known[Array($0.utf8)] != nil }
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
    let adjusted = ManyTests.holm(
      [changes.worseningPValue(draws: draws, seed: seed)] + pairs.map { $0.chanceOfWorsening })
    pValue = adjusted[0]
    isSuiteWorse = pValue < level
    for (index, value) in adjusted.dropFirst().enumerated() {
      pairs[index].pValue = value
      // A safety case is never excused by chance.
      let isUnsafe = pairs[index].isSafety && pairs[index].outcomeNow == .fail
      pairs[index].isWorse = value < level || isUnsafe
    }
    guard outcomes.count > 0 else { return }
    // Where nothing differs yet, as if one case did.
    let discordant = Double(max(1, outcomes.differing)) / Double(outcomes.count)
    smallestDifference = PairedPower.smallestDifference(
      pairs: outcomes.count, discordant: max(discordant, 0.1))
  }

  /// Whether the suite or a case of it is called worse.
  public var isWorse: Bool { isSuiteWorse || pairs.contains(where: \.isWorse) }

  /// Whether too much is undecided to say that it is not.
  public var isOpen: Bool {
    let all = pairs.count + undecided.count
    return all == 0 || Double(undecided.count) > Self.undecidedLimit * Double(all)
  }

  /// 1 where something is called worse, 3 where too much is undecided, else 0.
  public var exitCode: Int32 { isWorse ? 1 : isOpen ? 3 : 0 }

  /// The wire form, `agent-eval/comparison/1`.
  public var json: JSONValue {
    var object: JSONObject = [
      "schema": "agent-eval/comparison/1", "live": .bool(isLive), "worse": .bool(isWorse),
      "cases": .array(pairs.map(\.json)), "undecided": JSONValue(undecided),
      "unpaired": JSONValue(unpaired), "level": JSONValue(level),
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
        "sign flips of clusters; interval by bootstrap over clusters; Holm over suite and cases",
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
    isSafety = now.plan?.isSafety ?? false
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
    return "the mean rate of \(pairs.count) cases changed by \(points) points, more than chance: "
      + "p = \(Self.short(pValue))"
  }

  /// A number with three digits behind the point, the same in every locale.
  fileprivate static func short(_ value: Double) -> String {
    JSONNumber((value * 1_000).rounded() / 1_000).map { JSONValue.number($0).description } ?? "?"
  }
}
