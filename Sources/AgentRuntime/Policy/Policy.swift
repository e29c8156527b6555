public import AgentTrace
public import TraceMatching

/// Ordered rules about which calls may run. The first that matches decides.
///
/// Without a matching rule, tools that read or draft are allowed and tools that write need approval.
public struct Policy: Sendable {
  /// One rule. Each condition that it names must hold.
  public struct Rule: Sendable {
    /// What happens to the run when this rule denies a call.
    public enum OnDeny: String, Sendable, Hashable, CaseIterable {
      /// The call is refused and the model is told.
      case `continue`
      /// No call of the decision runs, and the run stops as `policy_denied`.
      case stop
    }

    /// What verdicts and stop details name the rule by.
    public var id: String
    /// Names or globs of tools; `nil` for every tool.
    public var tools: [Glob]?
    /// What a tool may do to the world; `nil` for anything.
    public var sideEffects: [SideEffect]?
    /// Globs of the actor's id; `nil` for every actor, also none.
    public var actors: [Glob]?
    /// Globs of the route; `nil` for every route, also none.
    public var routes: [Glob]?
    /// What a call that the rule fits gets.
    public var verdict: VerdictStatus
    /// What a denial does to the run; without meaning for another verdict.
    public var onDeny: OnDeny
    /// Why, in words; told to the model when the call is refused.
    public var reason: String?

    /// Nothing is checked. Without a condition, the rule fits every call.
    public init(
      id: String, tools: [Glob]? = nil, sideEffects: [SideEffect]? = nil, actors: [Glob]? = nil,
      routes: [Glob]? = nil, verdict: VerdictStatus, onDeny: OnDeny = .continue,
      reason: String? = nil
    ) {
      self.id = id
      self.tools = tools
      self.sideEffects = sideEffects
      self.actors = actors
      self.routes = routes
      self.verdict = verdict
      self.onDeny = onDeny
      self.reason = reason
    }
  }

  /// In order: the first that matches decides.
  public var rules: [Rule]
  /// SHA-256 of the policy file's bytes; `nil` where it stands in the agent file.
  public var digest: String?

  /// Nothing is checked. Without rules, the default of ``Policy`` decides alone.
  public init(rules: [Rule] = [], digest: String? = nil) {
    self.rules = rules
    self.digest = digest
  }
}

/// Gives a verdict on each call before any of its decision runs.
public struct PolicyGate: Sendable {
  private let policy: Policy

  /// A gate that knows these rules and keeps nothing between calls.
  public init(_ policy: Policy) { self.policy = policy }

  /// What the gate knows besides the call.
  public struct Moment: Sendable {
    /// Who the run acts for.
    public var run: PolicyContext
    /// The actions that people granted so far; see ``ProposedCall/actionId``.
    public var approvedActionIds: [String]
    /// Steps the run may still make, recorded with the verdict; `nil` for no limit.
    public var remainingSteps: Int?
    /// Calls the run may still execute, recorded with the verdict; `nil` for no limit.
    public var remainingToolCalls: Int?

    /// Nothing is checked.
    public init(
      run: PolicyContext, approvedActionIds: [String] = [], remainingSteps: Int? = nil,
      remainingToolCalls: Int? = nil
    ) {
      self.run = run
      self.approvedActionIds = approvedActionIds
      self.remainingSteps = remainingSteps
      self.remainingToolCalls = remainingToolCalls
    }
  }

  /// A verdict, and whether a denial ends the run.
  public struct Ruling: Sendable, Hashable {
    /// What is recorded, with what the gate knew.
    public var verdict: Verdict
    /// Whether the run is to stop as `policy_denied` at once.
    public var stopsRun: Bool
  }

  /// The verdict on one call. Pure: the same call at the same moment gets the same verdict.
  ///
  /// An approval covers its action id and nothing else; it lifts `approval_required`, never `deny`.
  public func ruling(
    on call: ProposedCall, tool: ToolDefinition, at moment: Moment
  ) -> Ruling {
    let rule = policy.rules.first { $0.matches(tool: tool, run: moment.run) }
    var status = rule?.verdict ?? (tool.sideEffect == .write ? .approvalRequired : .allow)
    var reason =
      rule?.reason ?? rule.map { "rule \($0.id)" }
      ?? "no rule matches, and \(tool.sideEffect.rawValue) tools "
      + (status == .allow ? "are allowed" : "need approval")
    if status == .approvalRequired, moment.approvedActionIds.contains(call.actionId) {
      status = .allow
      reason = "approved by a person"
    }
    let verdict = Verdict(
      callId: call.callId, tool: call.name, status: status, reason: reason, ruleId: rule?.id,
      context: moment.encoded(for: call))
    return Ruling(verdict: verdict, stopsRun: status == .deny && rule?.onDeny == .stop)
  }

  /// A verdict that was given before, with what its rule says about the run today.
  func ruling(recorded verdict: Verdict) -> Ruling {
    let rule = policy.rules.first { rule in
      verdict.ruleId.map { rule.id.hasSameUTF8(as: $0) } ?? false
    }
    return Ruling(
      verdict: verdict, stopsRun: verdict.status == .deny && rule?.onDeny == .stop)
  }
}

extension Policy.Rule {
  /// Whether every condition that the rule names holds.
  func matches(tool: ToolDefinition, run: PolicyContext) -> Bool {
    guard sideEffects?.contains(tool.sideEffect) ?? true else { return false }
    return Self.matches(tools, tool.name) && Self.matches(actors, run.actorId)
      && Self.matches(routes, run.route)
  }

  private static func matches(_ globs: [Glob]?, _ text: String?) -> Bool {
    guard let globs else { return true }
    guard let text else { return false }
    return globs.contains { $0.matches(text) }
  }
}

extension PolicyGate.Moment {
  /// What of the moment a verdict records: of the approvals only whether they cover this call.
  func encoded(for call: ProposedCall) -> JSONObject {
    let remaining = JSONObject(
      [
        remainingToolCalls.map { ("maxToolCalls", JSONValue($0)) }
      ].compactMap { $0 })
    var object: JSONObject = [
      "approvedActionIds": approvedActionIds.contains(call.actionId)
        ? [.string(call.actionId)] : []
    ]
    object["remainingSteps"] = remainingSteps.map { JSONValue($0) }
    if !remaining.isEmpty { object["remaining"] = .object(remaining) }
    return object
  }
}
