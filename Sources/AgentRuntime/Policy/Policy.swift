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
    /// Globs of the tool's `ToolDefinition.sensitivity`; `nil` for every tool, also one without.
    public var sensitivities: [Glob]?
    /// Globs of the actor's id; `nil` for every actor, also none.
    public var actors: [Glob]?
    /// Globs of the tenant's id; `nil` for every tenant, also none.
    public var tenants: [Glob]?
    /// Globs of the route; `nil` for every route, also none.
    public var routes: [Glob]?
    /// Looks at `PolicyContext.attributes`.
    public var attributes: Matcher?
    /// Looks at the call's input. `$from` speaks of results that stood before the decision.
    public var input: Matcher?
    /// Whether an approval that is not used up covers the call; `nil` where that does not matter.
    public var approved: Bool?
    /// What the run may still use.
    public var remaining: [Remaining] = []
    /// Earlier calls that were executed, and how many of them.
    public var calls: [PastCalls] = []
    /// Earlier calls that were proposed, whatever became of them, and how many of them.
    public var proposals: [PastCalls] = []
    /// Calls of which each must have begun before.
    public var after: [PastCalls] = []
    /// Calls of which none may have begun before.
    public var notAfter: [PastCalls] = []
    /// What a call that the rule fits gets; with an ``authorizer``, what it gets where that cannot be asked.
    public var verdict: VerdictStatus
    /// Who decides about a call that the rule fits, by its name in ``Policy/authorizers``; `nil` where ``verdict``
    /// stands.
    public private(set) var authorizer: String?
    /// What a denial does to the run; without meaning for another verdict.
    public var onDeny: OnDeny
    /// Why, in words; told to the model when the call is refused.
    public var reason: String?

    /// Without a condition, the rule fits every call; those that are no argument can be set afterwards.
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

    /// Leaves the verdict to an authorizer. Where a condition of the rule cannot be known nobody is asked, and the
    /// rule denies.
    public mutating func ask(_ authorizer: String) {
      self.authorizer = authorizer
      verdict = .deny
    }
  }

  /// Something that a run has a limited amount of.
  public enum Resource: String, Sendable, Hashable, CaseIterable {
    /// Steps, this one included.
    case steps
    /// Executed calls.
    case calls
    /// Input and output tokens together.
    case tokens
    /// Money, in the currency of the model's prices.
    case cost
    /// Seconds of active run time.
    case seconds
  }

  /// A condition on what is left of a limit.
  public struct Remaining: Sendable, Hashable {
    /// Of what.
    public var resource: Resource
    /// Looks at the number that is left, never below 0; at nothing where there is no limit.
    public var amount: Matcher

    /// What has to be true of how much of a resource is left.
    public init(_ resource: Resource, _ amount: Matcher) {
      self.resource = resource
      self.amount = amount
    }
  }

  /// A condition on earlier calls of the run.
  public struct PastCalls: Sendable, Hashable {
    /// The name or a glob of the tool.
    public var tool: Glob
    /// Looks at what went into the earlier call. Compiled with `Matcher.OriginScope.ownInput`, its
    /// `$from` speaks of the input of the call that the rule is asked about.
    public var input: Matcher?
    /// What became of the earlier call; `nil` for anything.
    public var statuses: [CallStatus]?
    /// Looks at the data of a result that is `ok`, else at its reason.
    public var result: Matcher?
    /// How many such calls there have to be; without meaning in `after` and `notAfter`.
    public var times: ClosedRange<Int>
    /// Only calls of the last so many seconds of active run time; `nil` for all.
    public var withinSeconds: Double?

    /// Without `times`, at least one.
    public init(
      tool: Glob, input: Matcher? = nil, statuses: [CallStatus]? = nil, result: Matcher? = nil,
      times: ClosedRange<Int> = 1...Int.max, withinSeconds: Double? = nil
    ) {
      self.tool = tool
      self.input = input
      self.statuses = statuses
      self.result = result
      self.times = times
      self.withinSeconds = withinSeconds
    }
  }

  /// In order: the first that matches decides.
  public var rules: [Rule]
  /// Who may be asked by rules, each name once.
  public var authorizers: [AuthorizerRegistration] = []
  /// SHA-256 of the policy file's bytes; `nil` where it stands in the agent file.
  public var digest: String?
  /// The policy file as it stands, or the part of an agent file; empty for a policy made in code.
  public var source: JSONObject = [:]

  /// Without rules, the default of ``Policy`` decides alone.
  public init(rules: [Rule] = [], digest: String? = nil) {
    self.rules = rules
    self.digest = digest
  }
}

extension Policy.Rule {
  /// Every condition on earlier calls.
  var pastCalls: [Policy.PastCalls] { calls + proposals + after + notAfter }

  /// Whether what came before in the run matters to the rule.
  var looksBack: Bool {
    !pastCalls.isEmpty || input?.usesOrigins == true || countsRemainingCalls
  }

  /// Whether it looks at how many calls are left, of which those take some that were allowed and have yet to begin.
  var countsRemainingCalls: Bool { remaining.contains { $0.resource == .calls } }
}

extension Policy {
  /// Whether what came before in a run matters to any rule.
  public var looksBack: Bool { rules.contains(where: \.looksBack) }
}

extension VerdictStatus {
  /// How much a verdict keeps from happening: the safer of two is the stricter one.
  var strictness: Int {
    switch self {
    case .allow: 0
    case .approvalRequired: 1
    case .deny: 2
    }
  }
}
