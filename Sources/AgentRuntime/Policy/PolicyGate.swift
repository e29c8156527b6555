public import AgentTrace
import TraceMatching

/// Gives a verdict on each call before any of its decision runs.
public struct PolicyGate: Sendable {
  private let policy: Policy
  /// The resources whose rest some rule looks at, so that verdicts record it.
  private let resources: Set<Policy.Resource>

  /// A gate that knows these rules and keeps nothing between calls.
  public init(_ policy: Policy) {
    self.policy = policy
    resources = Set(policy.rules.flatMap { $0.remaining.map(\.resource) })
  }

  /// What the gate knows besides the call.
  public struct KnownState: Sendable {
    /// Who the run acts for.
    public var run: PolicyContext
    /// What people granted so far and is not used up.
    public var approvals: Approvals
    /// The time in UTC, by which approvals run out; `nil` where it is not known, and those have run out
    /// that ever do.
    public var time: String?
    /// Steps the run may still make, this one included; `nil` for no limit.
    public var remainingSteps: Int?
    /// Calls the run may still execute; `nil` for no limit.
    public var remainingToolCalls: Int?
    /// Tokens the run may still use; `nil` for no limit.
    public var remainingTokens: Int?
    /// Money the run may still spend; `nil` for no limit.
    public var remainingCost: Money?
    /// Seconds of active run time that are left; `nil` for no limit.
    public var remainingSeconds: Double?
    /// Microseconds of active run time so far.
    public var t: Int
    /// The calls before this one, the verdicts on this decision so far included.
    public var history: PolicyHistory
    /// The run; empty where nobody says.
    public var runId = ""
    /// The calls that people granted in the run that this one was forked from: what was granted here comes first.
    var inherited: Set<String> = []
    /// Whether what was granted there covers a call at all.
    var countsInherited = true

    /// What is left of the money.
    public enum Money: Sendable, Hashable {
      /// So much, never below 0.
      case left(Double)
      /// What the run has cost so far is not known.
      case unknown
    }

    /// A moment of a run without limits.
    public init(
      run: PolicyContext, approvals: Approvals = Approvals(), time: String? = nil, t: Int = 0,
      history: PolicyHistory = PolicyHistory()
    ) {
      self.run = run
      self.approvals = approvals
      self.time = time
      self.t = t
      self.history = history
    }

    /// The moment behind the events of a state, for a run with these limits.
    public init(
      run: PolicyContext, limits: Limits, state: AgentState, history: PolicyHistory,
      time: String? = nil
    ) {
      let totals = state.totals
      self.init(
        run: run, approvals: state.approvals, time: time, t: state.elapsedMicroseconds,
        history: history)
      runId = state.runId
      // What a log claims may be less than nothing, and more than can be added.
      func left(_ limit: Int, _ used: Int) -> Int { max(0, max(0, limit) - max(0, used)) }
      remainingSteps = limits.maxSteps.map { left($0, totals.steps) }
      remainingToolCalls = limits.maxToolCalls.map {
        left(left($0, totals.toolCalls), history.ahead)
      }
      remainingTokens = limits.maxTokens.map {
        left(left($0, totals.inputTokens), totals.outputTokens)
      }
      remainingCost = limits.maxCost.map { limit in
        totals.cost.map { .left(max(0, limit - $0)) } ?? .unknown
      }
      remainingSeconds = limits.timeoutSeconds.map { limit in
        let micros = min(max(0, limit), 1e9) * 1_000_000
        return max(0, (micros - Double(state.elapsedMicroseconds)) / 1_000_000)
      }
    }

    /// Which approval covers a call now.
    ///
    /// - Parameter fits: which of them count at all.
    func finding(
      for call: ProposedCall, among fits: (Approvals.Grant) -> Bool = { _ in true }
    ) -> Approvals.Finding {
      guard !approvals.isEmpty else { return .none }
      func finding(_ fits: (Approvals.Grant) -> Bool) -> Approvals.Finding {
        approvals.finding(
          for: call.callId, actionId: call.actionId, olderActionId: call.olderActionId,
          isOver: isOver, among: fits)
      }
      guard !inherited.isEmpty else { return finding(fits) }
      let own = finding { fits($0) && !inherited.contains($0.callId) }
      return own.isCovered || !countsInherited ? own : finding(fits)
    }

    private func isOver(_ until: String) -> Bool {
      guard let now = time.flatMap(UTC.microsecondsSince1970),
        let end = UTC.microsecondsSince1970(until)
      else { return true }
      return end <= now
    }
  }

  /// A verdict, and whether a denial ends the run.
  public struct RuleCheck: Sendable, Hashable {
    /// What is recorded, with what the gate knew.
    public var verdict: Verdict
    /// Whether the run is to stop as `policy_denied` at once.
    public var stopsRun: Bool
  }

  /// The verdict on one call. Pure: the same call in the same state gets the same verdict.
  ///
  /// An approval covers the call that it was given to, and what else it says; it lifts
  /// `approval_required`, never `deny`.
  ///
  /// Where a condition cannot be known (a value was withheld, lost or forgotten), the strictest of what
  /// might apply holds: a rule that would allow is passed over, one that would deny denies, one that
  /// would ask asks unless a rule behind it denies.
  ///
  /// - Parameters:
  ///   - call: what the model proposed, with its input.
  ///   - tool: as it is registered; its side effect decides where no rule does.
  ///   - known: whom the run acts for, what was granted, the time, and what is left of the limits.
  ///   - authorization: what the authorizer said that ``authorizationRequest(on:tool:at:)`` speaks of; where
  ///     nobody was asked, a rule that asks one denies.
  public func ruleCheck(
    on call: ProposedCall, tool: ToolDefinition, at known: KnownState,
    authorization: Authorization? = nil
  ) -> RuleCheck {
    let question = PolicyQuestion(call: call, tool: tool, known: known)
    let (rule, unknown) = decide(question)
    let isAsked = rule?.authorizer != nil && unknown.isEmpty
    let authorization = isAsked ? authorization : nil
    var status = authorization?.status ?? rule?.verdict ?? tool.sideEffect.verdictWithoutRule
    var reason =
      authorization?.reason ?? rule?.reason
      ?? rule.map { $0.reasonWithoutWords(authorization, isAsked: isAsked) }
      ?? "no rule matches, and \(tool.sideEffect.rawValue) tools "
      + (status == .allow ? "are allowed" : "need approval")
    if status == .approvalRequired, question.isApproved {
      status = .allow
      reason = "approved by a person"
    } else if status == .approvalRequired, case .over(let grant) = question.approval {
      reason += " (an approval of it ran out at \(grant.until ?? "some time"))"
    }
    let verdict = Verdict(
      callId: call.callId, tool: call.name, status: status, reason: reason, ruleId: rule?.id,
      context: question.recorded(resources, unknown: unknown), authorization: authorization)
    return RuleCheck(verdict: verdict, stopsRun: status == .deny && rule?.onDeny == .stop)
  }

  /// What an authorizer is to be asked before there is a verdict; `nil` where the rules decide alone.
  public func authorizationRequest(
    on call: ProposedCall, tool: ToolDefinition, at known: KnownState
  ) -> AuthorizationRequest? {
    guard policy.rules.contains(where: { $0.authorizer != nil }) else { return nil }
    let question = PolicyQuestion(call: call, tool: tool, known: known)
    let (rule, unknown) = decide(question)
    guard unknown.isEmpty, let rule, let authorizer = rule.authorizer else { return nil }
    return AuthorizationRequest(
      authorizer: authorizer, ruleId: rule.id, runId: known.runId, call: call, tool: tool,
      policyContext: known.run, isApproved: question.isApproved, remaining: known.remaining,
      timeoutMicroseconds: known.remainingSeconds.map { Int(min($0, 1e9) * 1_000_000) })
  }

  /// The rule that decides, and which of its conditions could not be known.
  private func decide(
    _ question: PolicyQuestion
  ) -> (rule: Policy.Rule?, unknown: [PolicyQuestion.Condition]) {
    var asks: (rule: Policy.Rule, unknown: [PolicyQuestion.Condition])?
    for index in policy.rules.indices {
      var unknown: [PolicyQuestion.Condition] = []
      switch question.fits(policy.rules[index], &unknown) {
      case .no: continue
      case .yes:
        let rule = policy.rules[index]
        if let asks, rule.verdict != .deny { return asks }
        return (rule, [])
      case .unknown:
        let rule = policy.rules[index]
        switch rule.verdict {
        case .deny: return (rule, unknown)
        case .approvalRequired: asks = asks ?? (rule, unknown)
        case .allow: break
        }
      }
    }
    return asks.map { ($0.rule, $0.unknown) } ?? (nil, [])
  }

  /// A verdict that was given before, with what its rule says about the run today.
  func ruleCheck(recorded verdict: Verdict) -> RuleCheck {
    let rule = policy.rules.first { rule in
      verdict.ruleId.map { rule.id.hasSameUTF8(as: $0) } ?? false
    }
    return RuleCheck(
      verdict: verdict, stopsRun: verdict.status == .deny && rule?.onDeny == .stop)
  }
}

extension Policy.Rule {
  /// Why, of a rule that has no words for it and an authorizer that gave none.
  fileprivate func reasonWithoutWords(_ authorization: Authorization?, isAsked: Bool) -> String {
    guard let authorizer else { return "rule \(id)" }
    guard isAsked else { return "rule \(id): what it asks about cannot be known" }
    switch authorization?.status {
    case nil: return "nobody asked the authorizer \(authorizer)"
    case .deny?:
      guard let error = authorization?.error else {
        return "the authorizer \(authorizer) denies it"
      }
      return "no word of the authorizer \(authorizer): \(error)"
    case .allow?: return "the authorizer \(authorizer) allows it"
    case .approvalRequired?: return "the authorizer \(authorizer) asks for approval"
    }
  }
}

extension PolicyGate.KnownState {
  /// What is left of the limits, by the names that rules give them. Seconds pass with each run in their own way.
  fileprivate var remaining: JSONObject {
    var object: JSONObject = [:]
    object["steps"] = remainingSteps.map { JSONValue($0) }
    object["calls"] = remainingToolCalls.map { JSONValue($0) }
    object["tokens"] = remainingTokens.map { JSONValue($0) }
    if case .left(let money)? = remainingCost { object["cost"] = JSONValue(money) }
    return object
  }
}

extension SideEffect {
  /// What a call gets that no rule fits.
  var verdictWithoutRule: VerdictStatus { self == .write ? .approvalRequired : .allow }
}

/// A call, the tool and the moment, as the conditions of rules look at them.
struct PolicyQuestion {
  /// What a condition is called in a policy file.
  enum Condition: String, Sendable, CaseIterable {
    case attributes, input, remaining, calls, proposals, after, notAfter
  }

  let call: ProposedCall
  let tool: ToolDefinition
  let known: PolicyGate.KnownState
  /// Which approval that is not used up covers the call.
  let approval: Approvals.Finding
  /// Whether there is one.
  var isApproved: Bool { approval.isCovered }

  init(call: ProposedCall, tool: ToolDefinition, known: PolicyGate.KnownState) {
    self.call = call
    self.tool = tool
    self.known = known
    approval = known.finding(for: call)
  }

  /// Whether every condition that the rule names holds; the cheap ones are looked at first.
  ///
  /// - Parameter unknown: gets the conditions that cannot be known.
  func fits(_ rule: Policy.Rule, _ unknown: inout [Condition]) -> Trilean {
    guard rule.sideEffects?.contains(tool.sideEffect) ?? true,
      rule.approved.map({ $0 == isApproved }) ?? true, Self.fits(rule.tools, tool.name),
      Self.fits(rule.sensitivities, tool.sensitivity), Self.fits(rule.actors, known.run.actorId),
      Self.fits(rule.tenants, known.run.tenantId), Self.fits(rule.routes, known.run.route)
    else { return .no }
    func holds(_ condition: Condition, _ answer: Trilean) -> Bool {
      if answer == .unknown { unknown.append(condition) }
      return answer != .no
    }
    if let attributes = rule.attributes,
      !holds(.attributes, Trilean(attributes.matches(.object(known.run.attributes))))
    {
      return .no
    }
    for condition in rule.remaining
    where !holds(.remaining, known.answer(condition)) { return .no }
    if let input = rule.input, !holds(.input, fits(input)) { return .no }
    for condition in rule.calls
    where !holds(.calls, past(condition, .executed)) { return .no }
    for condition in rule.proposals
    where !holds(.proposals, past(condition, .proposed)) { return .no }
    for condition in rule.after
    where !holds(.after, past(condition, .begun)) { return .no }
    for condition in rule.notAfter
    where !holds(.notAfter, !past(condition, .begun)) { return .no }
    return unknown.isEmpty ? .yes : .unknown
  }

  private static func fits(_ globs: [Glob]?, _ text: String?) -> Bool {
    guard let globs else { return true }
    guard let text else { return false }
    return globs.contains { $0.matches(text) }
  }

  private func fits(_ input: Matcher) -> Trilean {
    let history = known.history
    return Trilean(input.matches(call.input, from: { history.values(of: $0) }))
  }

  private func past(
    _ condition: Policy.PastCalls, _ scope: PolicyHistory.Scope
  ) -> Trilean {
    known.history.holds(condition, scope, for: call, at: known.t)
  }

  /// What of the moment a verdict records: of the approvals only the one that covers this call, of the
  /// limits those that rules look at, and which conditions of the rule that decided could not be known.
  func recorded(_ resources: Set<Policy.Resource>, unknown: [Condition]) -> JSONObject {
    var remaining: JSONObject = [:]
    remaining["maxToolCalls"] = known.remainingToolCalls.map { JSONValue($0) }
    if resources.contains(.tokens) {
      remaining["maxTokens"] = known.remainingTokens.map { JSONValue($0) }
    }
    if resources.contains(.cost), case .left(let money)? = known.remainingCost {
      remaining["maxCost"] = JSONValue(money)
    }
    if resources.contains(.seconds) {
      remaining["timeoutSeconds"] = known.remainingSeconds.map { JSONValue($0) }
    }
    var object: JSONObject = [
      "approvedActionIds": isApproved ? [.string(call.actionId)] : []
    ]
    object["approval"] = approval.recorded
    object["remainingSteps"] = known.remainingSteps.map { JSONValue($0) }
    if !remaining.isEmpty { object["remaining"] = .object(remaining) }
    if !unknown.isEmpty {
      let names = Condition.allCases.filter(unknown.contains).map(\.rawValue)
      object["notKnown"] = JSONValue(names)
    }
    return object
  }
}

extension PolicyGate.KnownState {
  fileprivate func answer(_ condition: Policy.Remaining) -> Trilean {
    let amount: JSONValue?
    switch condition.resource {
    case .steps: amount = remainingSteps.map { JSONValue($0) }
    case .calls: amount = remainingToolCalls.map { JSONValue($0) }
    case .tokens: amount = remainingTokens.map { JSONValue($0) }
    case .cost:
      switch remainingCost {
      case .unknown?: return .unknown
      case .left(let money)?: amount = JSONValue(Figures.money(money))
      case nil: amount = nil
      }
    case .seconds: amount = remainingSeconds.map { JSONValue($0) }
    }
    return Trilean(condition.amount.matches(amount))
  }
}
