public import AgentTrace

/// What the log of a run says of it beyond its outcome.
public struct RunFacts: Sendable, Hashable {
  /// What it used.
  public var totals = Totals()
  /// How long it took.
  public var elapsedMicroseconds = 0
  /// The agent's name.
  public var agent: String?
  /// The model's name.
  public var model: String?
  /// A digest of agent, model, policy, tools and limits.
  public var subject: String?

  /// Nothing is known.
  public init() {}
}

extension SuiteRecord {
  /// Takes in what became of cases.
  ///
  /// - Parameters:
  ///   - results: how each case came out, and which were skipped; what is beyond the most that a record keeps
  ///     is left out.
  ///   - isLive: whether the agent of a case was run, by the case's id.
  ///   - asked: a digest of what a case asks, by the case's id; `nil` where that is not known.
  ///   - facts: what the log of a run says, by its path; `nil` where it cannot be read.
  public mutating func take(
    _ results: EvalResults, isLive: (String) -> Bool, asked: (String) -> String?,
    facts: (String) -> RunFacts?
  ) {
    cases = results.cases.prefix(Self.mostCases).map { result in
      var record = CaseRecord(result, facts: facts)
      record.isLive = isLive(result.caseId)
      record.asked = asked(result.caseId)
      return record
    }
    skipped = results.skipped.prefix(Self.mostCases).map(\.caseId)
  }
}

extension CaseRecord {
  /// What a record keeps of a result.
  fileprivate init(_ result: CaseResult, facts: (String) -> RunFacts?) {
    self.init(caseId: result.caseId, outcome: result.outcome)
    let trials = result.trials.prefix(SuiteRecord.mostTrials)
    self.trials = trials.map(\.outcome)
    isSafety = result.plan?.isSafety ?? false
    passThreshold = result.plan?.passThreshold
    error = (result.error ?? trials.lazy.compactMap(\.error).first).map(Self.sentence)
    cluster = result.cluster
    let outcomes = result.trials.flatMap(\.judgement.outcomes)
    failedChecks = outcomes.count { $0.outcome == .fail && $0.severity == .error }
    warnedChecks = outcomes.count { $0.outcome == .fail && $0.severity == .warning }
    let deciding: Outcome? =
      switch outcome {
      case .fail: .fail
      case .inconclusive: .unverifiable
      case .pass, .error: nil
      }
    if let first = outcomes.first(where: { $0.outcome == deciding && $0.severity == .error }) {
      decisive = Check(
        expectation: Self.sentence(first.expectation), message: Self.sentence(first.message))
    }
    count(trials.compactMap { facts($0.log) })
  }

  private mutating func count(_ facts: [RunFacts]) {
    var usage = Usage()
    var (cost, isCostKnown) = (0.0, true)
    var subjects: [String?] = []
    for run in facts {
      usage.runs += 1
      usage.steps = Self.sum(usage.steps, run.totals.steps)
      usage.toolCalls = Self.sum(usage.toolCalls, run.totals.toolCalls)
      usage.inputTokens = Self.sum(usage.inputTokens, run.totals.inputTokens)
      usage.outputTokens = Self.sum(usage.outputTokens, run.totals.outputTokens)
      usage.elapsedMicroseconds = Self.sum(usage.elapsedMicroseconds, run.elapsedMicroseconds)
      if let amount = run.totals.cost { cost += amount } else { isCostKnown = false }
      if agent == nil { agent = run.agent }
      if model == nil { model = run.model }
      let isKnown = subjects.contains {
        switch ($0, run.subject) {
        case (nil, nil): true
        case (let known?, let new?): known.hasSameUTF8(as: new)
        default: false
        }
      }
      if !isKnown { subjects.append(run.subject) }
    }
    guard usage.runs > 0 else { return }
    usage.cost = isCostKnown && cost.isFinite && cost >= 0 ? Figures.money(cost) : nil
    self.usage = usage
    // Runs of several agents are those of no one agent.
    subject = subjects.count == 1 ? subjects[0] : nil
  }

  /// What a log says may be any number; records hold none beyond 2^53.
  private static func sum(_ a: Int, _ b: Int) -> Int {
    let (sum, overflow) = a.addingReportingOverflow(max(0, b))
    return overflow ? 1 << 53 : min(sum, 1 << 53)
  }

  private static func sentence(_ text: String) -> String {
    guard text.utf8.count > SuiteRecord.sentenceBytes else { return text }
    return text.prefix(utf8Bytes: SuiteRecord.sentenceBytes) + "…"
  }
}
