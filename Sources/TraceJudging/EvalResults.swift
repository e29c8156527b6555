public import AgentTrace

/// What became of one run of a case.
public struct TrialResult: Sendable {
  /// The identifier of the run that was judged.
  public var runId: String
  /// The path of the run's log.
  public var log: String
  /// `body` or `summary`: what of the log was looked at.
  public var judgedFrom: String
  /// All that the judge said of it.
  public var judgement: Judgement
  /// Why the run says nothing of the agent, such as a model that was out of reach: then it counts as neither
  /// pass nor fail. `nil` where it does say something.
  public var error: String?
  /// With ``error``: whether another trial would come to the same. Not part of the wire form.
  public var isLasting = false
  /// What a baseline would hold of it; `nil` where nobody asked for that. Not part of the wire form.
  public var outline: AcceptedRun?

  /// A run that says something of the agent, unless an error is set afterwards.
  public init(runId: String, log: String, judgedFrom: String, judgement: Judgement) {
    self.runId = runId
    self.log = log
    self.judgedFrom = judgedFrom
    self.judgement = judgement
  }

  /// The outcome of its judgement; `error` where the run says nothing of the agent.
  public var outcome: CaseOutcome { error == nil ? judgement.outcome : .error }

  /// The wire form.
  public var json: JSONValue {
    .object(
      JSONObject(
        [
          ("runId", .string(runId)), ("log", .string(log)), ("judgedFrom", .string(judgedFrom)),
          ("outcome", .string(outcome.rawValue)),
          ("expectations", .array(judgement.outcomes.map(\.json))),
          ("warnings", JSONValue(judgement.warnings)),
        ] + (error.map { [("error", .string($0))] } ?? [])))
  }
}

/// What became of one case.
public struct CaseResult: Sendable {
  /// The case's name.
  public var caseId: String
  /// Where the case stands: `path:line`.
  public var position: String
  /// What it shares with other cases, so that they are no evidence apart from each other; `nil` for nothing.
  public var cluster: String?
  /// The runs that were judged, in the order they were found.
  public var trials: [TrialResult] = []
  /// How often it was to be run, and when it passes; `nil` where the worst of its trials decides.
  public var plan: TrialPlan?
  /// Why the case could not be judged; then its outcome is `error`.
  public var error: String?
  /// Why no run of it, or no further one, was made, though it was to be; without any, its outcome is
  /// `inconclusive`.
  public var notRun: String?
  /// The case beside what was accepted of it; `nil` where nobody asked for that.
  public var comparison: CaseComparison?

  /// A case without trials, which counts as `error` until it has one.
  public init(caseId: String, position: String) {
    self.caseId = caseId
    self.position = position
  }

  /// What its plan says of its trials; without one the worst of them: `error` before `fail` before
  /// `inconclusive` before `pass`.
  public var outcome: CaseOutcome {
    guard error == nil else { return .error }
    if notRun != nil, trials.isEmpty { return .inconclusive }
    if let plan { return plan.outcome(of: trials.lazy.map(\.outcome)) }
    var worst = trials.isEmpty ? CaseOutcome.error : .pass
    for index in trials.indices {
      switch trials[index].outcome {
      case .error: return .error
      case .fail: worst = .fail
      case .inconclusive: if worst == .pass { worst = .inconclusive }
      case .pass: break
      }
    }
    return worst
  }

  /// What its trials say together; `nil` without a plan.
  public var statistics: TrialStatistics? {
    plan.map { TrialStatistics(of: trials.map(\.outcome), plan: $0) }
  }

  /// The wire form.
  public var json: JSONValue {
    .object(
      JSONObject(
        [
          ("caseId", .string(caseId)), ("position", .string(position)),
          ("outcome", .string(outcome.rawValue)), ("trials", .array(trials.map(\.json))),
        ] + (error.map { [("error", .string($0))] } ?? [])
          + (notRun.map { [("notRun", .string($0))] } ?? [])
          + (cluster.map { [("cluster", .string($0))] } ?? [])
          + (plan.map { [("trialPlan", $0.json)] } ?? [])
          + (statistics.map { [("statistics", $0.json)] } ?? [])
          + (comparison.map { [("comparison", $0.json)] } ?? [])))
  }
}

/// A case that was not judged because it says so.
public struct SkippedCase: Sendable {
  /// The case's name.
  public var caseId: String
  /// Why, in the author's words.
  public var reason: String
  /// The case beside what was accepted of it; `nil` where nobody asked for that.
  public var comparison: CaseComparison?

  /// Compared with nothing, unless that is set afterwards.
  public init(caseId: String, reason: String) {
    self.caseId = caseId
    self.reason = reason
  }

  /// The wire form.
  public var json: JSONValue {
    var object: JSONObject = ["caseId": .string(caseId), "reason": .string(reason)]
    object["comparison"] = comparison?.json
    return .object(object)
  }
}

/// What became of a whole set of cases, in the order they stand in their files.
public struct EvalResults: Sendable {
  /// The cases that were to be judged.
  public var cases: [CaseResult]
  /// The cases that were left out.
  public var skipped: [SkippedCase]
  /// Which part of a suite this is; `nil` for all of it.
  public var shard: ResultsShard?
  /// What the results were compared with; `nil` where nobody asked for that.
  public var comparison: SuiteComparison?

  /// Of a whole suite, unless a shard is named.
  public init(cases: [CaseResult], skipped: [SkippedCase], shard: ResultsShard? = nil) {
    self.cases = cases
    self.skipped = skipped
    self.shard = shard
  }

  /// The format's name; keys are added to it and never renamed.
  static let schema = "agent-eval/results/1"

  /// How many cases had each outcome.
  public func count(_ outcome: CaseOutcome) -> Int {
    cases.count { $0.outcome == outcome }
  }

  /// 0 all passed; 1 a case failed; 2 one could not be judged, or there was nothing to judge; 3
  /// inconclusive. 1 outranks 2, 2 outranks 3. A shard with nothing to judge is 0: small suites have
  /// such. Where they were compared with what was accepted, only what has become worse fails, see
  /// ``SuiteComparison``.
  public var exitCode: Int32 {
    if let comparison { return exitCode(comparedWith: comparison) }
    return CaseTally(of: cases.indices.lazy.map { cases[$0].outcome })
      .exitCode(isShard: shard != nil)
  }

  /// The wire form, `agent-eval/results/1`.
  public var json: JSONValue {
    var object: JSONObject = [
      "schema": .string(Self.schema), "cases": .array(cases.map(\.json)),
      "skipped": .array(skipped.map(\.json)),
      "summary": [
        "pass": JSONValue(count(.pass)), "fail": JSONValue(count(.fail)),
        "inconclusive": JSONValue(count(.inconclusive)), "error": JSONValue(count(.error)),
      ],
    ]
    if let shard { object["shard"] = shard.json }
    object["comparison"] = comparison.map(json(of:))
    return .object(object)
  }
}

/// How many cases had each outcome.
struct CaseTally {
  private(set) var pass = 0
  private(set) var fail = 0
  private(set) var inconclusive = 0
  private(set) var error = 0

  init(of outcomes: some Sequence<CaseOutcome>) {
    for outcome in outcomes {
      switch outcome {
      case .pass: pass += 1
      case .fail: fail += 1
      case .inconclusive: inconclusive += 1
      case .error: error += 1
      }
    }
  }

  /// See ``EvalResults/exitCode``.
  func exitCode(isShard: Bool) -> Int32 {
    if fail > 0 { return 1 }
    if error > 0 { return 2 }
    if inconclusive > 0 { return 3 }
    return pass > 0 || isShard ? 0 : 2
  }
}
