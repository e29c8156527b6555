public import AgentTrace

/// How much more a run may use than the accepted one, in per cent.
public struct Tolerance: Sendable, Hashable {
  /// What is measured. Raw values are the words of `--tolerance`.
  public enum Measure: String, Sendable, Hashable, CaseIterable {
    /// Steps that hold a decision.
    case steps
    /// Tokens in and out.
    case tokens
    /// What the model's calls cost.
    case cost
  }

  /// Per cent where nothing is said.
  public static let defaultPercent = 10.0

  /// Where it is not ``defaultPercent``.
  private var percents: [Measure: Double] = [:]

  /// ``defaultPercent`` for each measure.
  public init() {}

  /// Per cent that a measure may grow; at least 0.
  public subscript(measure: Measure) -> Double {
    get { percents[measure] ?? Self.defaultPercent }
    set {
      let percent = newValue.isFinite ? max(0, newValue) : 0
      percents[measure] = percent == Self.defaultPercent ? nil : percent
    }
  }

  /// The most that is within tolerance. What is counted is rounded up to a whole one, so that a run of
  /// three steps may take four at ten per cent.
  func limit(_ measure: Measure, of accepted: Double) -> Double {
    let limit = accepted * (100 + self[measure]) / 100
    // What is left over where doubles do not meet a decimal fraction is no growth.
    let slack = accepted.magnitude * 1e-9
    return measure == .cost ? limit + slack : (limit - slack).rounded(.up)
  }

  /// The wire form: per cent by measure.
  public var json: JSONValue {
    .object(JSONObject(Measure.allCases.map { ($0.rawValue, JSONValue(self[$0])) }))
  }
}

/// One thing that is not as it was accepted.
public struct Difference: Sendable, Hashable {
  /// What differs. Raw values are the wire format.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// An accepted call was not made.
    case callMissing = "call_missing"
    /// A call was made that was not accepted.
    case callAdded = "call_added"
    /// Another call was made in place of an accepted one.
    case callReplaced = "call_replaced"
    /// The same call stands at another place.
    case callMoved = "call_moved"
    /// Calls were made together that were made one after the other, or the other way round.
    case decision
    /// A part of a call's input.
    case argument
    /// Policy's word on a call.
    case verdict
    /// What became of a call.
    case status
    /// Whether a call's decision was valid.
    case validity
    /// What a person said of a call.
    case approval
    /// How often a call was tried.
    case attempts
    /// What the answer cites.
    case evidence
    /// What the run answered.
    case answer
    /// How many decisions were invalid.
    case invalidDecisions = "invalid_decisions"
    /// The model that decided.
    case model
    /// The policy that ruled.
    case policy
    /// What the run might use.
    case limits
    /// Whom the run acts for.
    case policyContext = "policy_context"
    /// What the agent is asked to do.
    case input
    /// Which agent is run.
    case agent
    /// What the agent's file says.
    case agentFile = "agent_file"
    /// The person who is written down.
    case human
    /// Whom the run is for, its policy, limits and notes, as the case says them.
    case conditions
    /// How many trials the case makes, and how many of them have to pass.
    case trials
    /// Which recorded run is judged.
    case recording
    /// How the run ended.
    case stop
    /// What the judge says of an expectation.
    case check
    /// What the judge says of the case.
    case outcome
    /// More steps than tolerated.
    case steps
    /// More tokens than tolerated.
    case tokens
    /// A higher cost than tolerated.
    case cost
    /// The case is left out.
    case skip
    /// An expectation is there no more.
    case expectationDeleted = "expectation_deleted"
    /// An expectation asks for less.
    case expectationWeakened = "expectation_weakened"
    /// An expectation asks for more.
    case expectationStrengthened = "expectation_strengthened"
    /// An expectation asks for something else.
    case expectationChanged = "expectation_changed"
    /// An expectation is new.
    case expectationAdded = "expectation_added"
  }

  /// What it means for the case. Raw values are the wire format.
  public enum Effect: String, Sendable, Hashable, CaseIterable {
    /// The case has become worse by it.
    case regression
    /// The case has become better by it.
    case improvement
    /// Neither.
    case neutral
  }

  /// What differs.
  public var kind: Kind
  /// What it means.
  public var effect: Effect
  /// Where: `call 2 (draft_refund_request) /orderId`, `toolsCalled[1]`.
  public var place: String
  /// What was accepted; `nil` where there was nothing.
  public var accepted: String?
  /// What is there now; `nil` where there is nothing.
  public var actual: String?
  /// The step of the run that was just judged; `nil` where it is in none.
  public var step: Int?
  /// The events that show it, by their numbers in the log that was just judged.
  public var events: [Int]

  /// Without more, it is in no step and no event shows it.
  public init(
    kind: Kind, effect: Effect, place: String, accepted: String? = nil, actual: String? = nil,
    step: Int? = nil, events: [Int] = []
  ) {
    self.kind = kind
    self.effect = effect
    self.place = place
    self.accepted = accepted
    self.actual = actual
    self.step = step
    self.events = events
  }

  /// The place of an ``Kind/input`` that is none of the case: what the log says that the run was to do.
  public static let goalPlace = "goal"

  /// Whether it is of what the agent did, rather than of how that is judged.
  public var isOfPath: Bool {
    switch kind {
    case .callMissing, .callAdded, .callReplaced, .callMoved, .decision, .argument, .verdict,
      .status, .validity, .approval, .attempts, .evidence, .answer, .invalidDecisions, .stop:
      true
    default: false
    }
  }

  /// Whether the run is another one by it, though no worse: then the case is changed.
  var isOfRun: Bool {
    switch kind {
    case .model, .policy, .limits, .agentFile: true
    default: isOfPath
    }
  }

  /// The wire form: an element of `differences`.
  public var json: JSONValue {
    var object: JSONObject = [
      "kind": .string(kind.rawValue), "effect": .string(effect.rawValue), "place": .string(place),
      "events": .array(events.map { JSONValue($0) }),
    ]
    object["accepted"] = accepted.map(JSONValue.string)
    object["actual"] = actual.map(JSONValue.string)
    object["step"] = step.map { JSONValue($0) }
    return .object(object)
  }
}

/// A case beside what was accepted of it.
public struct CaseComparison: Sendable, Hashable {
  /// The word on the whole. Raw values are the wire format.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// It has become worse.
    case regressed
    /// It could not be compared.
    case notCompared = "not_compared"
    /// Nothing was accepted of it yet.
    case new
    /// It has become better.
    case fixed
    /// The agent went another way, answered otherwise or was made with something else, and nothing is worse.
    case changed
    /// It is as it was accepted.
    case same

    /// The word on the wire; `nil` for what is none. Earlier versions called what has changed `other_path`.
    init?(wire word: String) {
      self.init(rawValue: word == "other_path" ? Kind.changed.rawValue : word)
    }
  }

  /// The word on the whole.
  public var kind: Kind
  /// What differs: first what the agent did, in its order, then what the judge said, then what was used
  /// and what is asked.
  public var differences: [Difference]
  /// Differences beyond those that are told.
  public var untold: Int
  /// Which of several runs the differences are of, from 1; `nil` where there is one.
  public var run: Int?
  /// Why it could not be compared, or is no good as a new case.
  public var reason: String?
  /// Of a case that could not be compared: whether that is a fault of the baseline or of the case,
  /// rather than of a log that does not show all. Of a new case: whether it should have a baseline.
  public var isFault: Bool
  /// The path of the baseline, as a person finds it.
  public var path: String?
  /// Whether what has changed counts as worse: asked for by the case or by who runs it.
  public private(set) var isStrict = false

  /// Lets what has changed count as worse.
  public mutating func beStrict() {
    isStrict = true
    // What is better may hide what is only otherwise.
    let isOtherwise = differences.contains { $0.isOfRun && $0.effect == .neutral }
    if kind == .fixed, isOtherwise { kind = .changed }
  }

  /// Whether it fails a build: something is worse, or has changed where nothing may.
  public var isRed: Bool { kind == .regressed || kind == .changed && isStrict }

  /// Without more, nothing differs, and there is one run.
  public init(
    kind: Kind, differences: [Difference] = [], untold: Int = 0, run: Int? = nil,
    reason: String? = nil, isFault: Bool = false, path: String? = nil
  ) {
    self.kind = kind
    self.differences = differences
    self.untold = untold
    self.run = run
    self.reason = reason
    self.isFault = isFault
    self.path = path
  }

  /// The wire form: `comparison` of a case in results.
  public var json: JSONValue {
    var object: JSONObject = [
      "kind": .string(kind.rawValue), "differences": .array(differences.map(\.json)),
    ]
    if untold > 0 { object["untold"] = JSONValue(untold) }
    object["run"] = run.map { JSONValue($0) }
    object["reason"] = reason.map(JSONValue.string)
    if isFault { object["fault"] = true }
    object["path"] = path.map(JSONValue.string)
    if isStrict { object["strict"] = true }
    return .object(object)
  }
}

/// A case of which a baseline is there and nothing else.
public struct GoneCase: Sendable, Hashable {
  /// The case's name, as its baseline tells it.
  public var caseId: String
  /// The path of the baseline.
  public var path: String

  /// The file at the path is not opened.
  public init(caseId: String, path: String) {
    self.caseId = caseId
    self.path = path
  }
}

/// What results were compared with, and what only the whole of it shows.
public struct SuiteComparison: Sendable, Hashable {
  /// What was asked for: `accepted`, or a path.
  public var against: String
  /// How much more a run may use.
  public var tolerance: Tolerance
  /// Whether a case without baseline fails, as it does in continuous integration.
  public var needsBaselines: Bool
  /// Baselines without a case.
  public var gone: [GoneCase]
  /// What is wrong with baselines of which nobody knows whose they are.
  public var unusable: [String]
  /// Whether what has changed counted as worse, whatever the cases say.
  public var isStrict = false
  /// In words, that the suite as a whole has become worse by more than chance, where trials were held against
  /// earlier ones; `nil` where it has not.
  public var worsened: String?

  /// Without more, every baseline has its case, and a case need not have one.
  public init(
    against: String, tolerance: Tolerance = Tolerance(), needsBaselines: Bool = false,
    gone: [GoneCase] = [], unusable: [String] = []
  ) {
    self.against = against
    self.tolerance = tolerance
    self.needsBaselines = needsBaselines
    self.gone = gone
    self.unusable = unusable
  }
}

extension CaseResult {
  /// What the case counts as: its outcome, or, where it was compared with what was accepted, `fail` for
  /// what has become worse and `pass` for what has not, also where it fails as it was accepted.
  public var standing: CaseOutcome { comparison?.standing(of: outcome) ?? outcome }
}

extension CaseComparison {
  func standing(of outcome: CaseOutcome) -> CaseOutcome {
    switch kind {
    case .regressed: .fail
    case .notCompared: isFault ? .error : .inconclusive
    case .new: isFault ? .fail : outcome
    case .changed: isStrict ? .fail : .pass
    case .fixed, .same: .pass
    }
  }
}

extension EvalResults {
  /// How many cases, those that were left out among them, compare in some way.
  public func count(_ kind: CaseComparison.Kind) -> Int {
    cases.count { $0.comparison?.kind == kind } + skipped.count { $0.comparison?.kind == kind }
  }

  /// The exit code of results that were compared: 1 where a case regressed or is gone, where one has
  /// changed and none may, where one has no baseline and needs one, or a new one fails; 2 where one could not be judged or compared, or
  /// there was nothing to judge; 3 where only the log is in the way, or a new one is inconclusive; 0
  /// else, also where a case fails as it was accepted. 1 outranks 2, 2 outranks 3.
  func exitCode(comparedWith suite: SuiteComparison) -> Int32 {
    let comparisons = cases.compactMap(\.comparison) + skipped.compactMap(\.comparison)
    func isNew(_ outcome: CaseOutcome) -> Bool {
      cases.contains { $0.comparison?.kind == .new && $0.outcome == outcome }
    }
    if !suite.gone.isEmpty || suite.worsened != nil
      || comparisons.contains(where: \.isRed)
      || isNew(.fail)
      || comparisons.contains(where: { $0.kind == .new && $0.isFault })
    {
      return 1
    }
    if cases.isEmpty && skipped.isEmpty || count(.error) > 0 || !suite.unusable.isEmpty
      || comparisons.contains(where: { $0.kind == .notCompared && $0.isFault })
    {
      return 2
    }
    return comparisons.contains { $0.kind == .notCompared } || isNew(.inconclusive) ? 3 : 0
  }

  /// What `comparison` of results is on the wire.
  func json(of suite: SuiteComparison) -> JSONValue {
    var object: JSONObject = [
      "against": .string(suite.against), "tolerance": suite.tolerance.json,
      "needsBaselines": .bool(suite.needsBaselines),
      "gone": .array(
        suite.gone.map { ["caseId": .string($0.caseId), "path": .string($0.path)] }),
      "unusable": JSONValue(suite.unusable),
      "summary": .object(
        JSONObject(
          CaseComparison.Kind.allCases.map { ($0.rawValue, JSONValue(count($0))) }
            + [("gone", JSONValue(suite.gone.count))])),
    ]
    object["worsened"] = suite.worsened.map(JSONValue.string)
    if suite.isStrict { object["strict"] = true }
    return .object(object)
  }
}
