public import AgentTrace

/// An agent as its file describes it: everything the loop needs but the outside world.
public struct AgentDefinition: Sendable {
  /// What logs and reports call the agent.
  public var name: String
  /// As its author counts; `nil` where the file does not say.
  public var version: String?
  /// SHA-256 of the agent file's bytes; `nil` for an agent made in code.
  public var digest: String?
  /// What the model is told before anything else.
  public var systemPrompt: String?
  /// What the agent is to do where a run does not say.
  public var goal: String?
  /// Which model decides.
  public var model: ModelDefinition
  /// The tools it has, each name once; ``ToolRegistry`` refuses a name that stands twice.
  public var tools: [ToolRegistration]
  /// What decides which calls may run.
  public var policy: Policy
  /// Who the agent runs for, unless the run says else.
  public var policyContext: PolicyContext
  /// What a run may use at most; where nothing is said, 50 steps and no other limit.
  public var limits: Limits
  /// How much of what was seen is put before the model.
  public var context: ContextSettings
  /// How much failure a run takes before it stops.
  public var failures: FailureSettings
  /// How many calls of one decision run side by side at most.
  public var parallelCalls: Int
  /// Notes that are read when a run starts.
  public var memory: [MemoryNote]
  /// A person written down: what they answer. `nil` where nobody is there.
  public var human: ScriptedPerson?
  /// What is withheld from a run's events.
  public var redaction = RedactionSettings()
  /// What watches each run as it happens; `nil` where nobody does.
  public var runGuard: (any RunGuard)?
  /// The folder that relative paths in the agent file start from.
  public var folder: String

  /// Nothing is checked; ``Runtime`` checks the tools. The defaults are those of an agent file that
  /// leaves the key out.
  public init(
    name: String, version: String? = nil, digest: String? = nil, systemPrompt: String? = nil,
    goal: String? = nil, model: ModelDefinition, tools: [ToolRegistration] = [],
    policy: Policy = Policy(), policyContext: PolicyContext = PolicyContext(),
    limits: Limits = Limits(maxSteps: 50), context: ContextSettings = ContextSettings(),
    failures: FailureSettings = FailureSettings(), parallelCalls: Int = 4,
    memory: [MemoryNote] = [], human: ScriptedPerson? = nil, folder: String = "."
  ) {
    self.name = name
    self.version = version
    self.digest = digest
    self.systemPrompt = systemPrompt
    self.goal = goal
    self.model = model
    self.tools = tools
    self.policy = policy
    self.policyContext = policyContext
    self.limits = limits
    self.context = context
    self.failures = failures
    self.parallelCalls = parallelCalls
    self.memory = memory
    self.human = human
    self.folder = folder
  }

  /// Whether neither a process nor the network is needed to run it.
  public var isScripted: Bool {
    guard case .scripted = model.implementation else { return false }
    return tools.allSatisfy(\.isInPlace)
  }
}

/// Which model decides.
public struct ModelDefinition: Sendable {
  /// Where its decisions come from.
  public enum Implementation: Sendable {
    /// A script of decisions; see ``ScriptedModel``.
    case scripted(ModelScript)
    /// A model made in Swift; no agent file says it.
    case model(any Model)
  }

  /// Who serves it, for example `scripted`.
  public var provider: String
  /// The model's name as its provider has it.
  public var name: String
  /// Where its decisions come from.
  public var implementation: Implementation

  /// Nothing is checked.
  public init(provider: String = "own", name: String, implementation: Implementation) {
    self.provider = provider
    self.name = name
    self.implementation = implementation
  }
}

/// How much of what was seen is put before the model.
public struct ContextSettings: Sendable, Hashable {
  /// Estimated tokens of a prompt at most; the oldest turns are left out beyond it.
  public var tokenBudget: Int
  /// How many observations a packet lists at most.
  public var observationLimit: Int
  /// What gives way where not everything fits the budget.
  public var strategy = Strategy.truncateOldest
  /// How tokens are counted; `nil` for what the model's provider and name say.
  public var tokenEstimate: TokenEstimate?

  /// What gives way where not everything that was seen fits the budget of a prompt.
  public enum Strategy: String, Sendable, Hashable, CaseIterable {
    /// The oldest turns.
    case truncateOldest = "truncate_oldest"
    /// What tools returned, the oldest first; then the oldest turns.
    case dropToolOutput = "drop_tool_output"
    /// The older turns, of which the model writes a summary; the oldest turns where it gives none.
    case summarize
  }

  /// What is not put before the model though it could be: for runs that ask what one item changes. No
  /// agent file says it.
  public var leftOut: [LeftOut] = []

  /// An item that is kept from the model.
  public struct LeftOut: Sendable, Hashable {
    /// See ``ContextItem/ref``.
    public var ref: String
    /// Recorded with each packet that leaves it out.
    public var reason: String
    /// Packets behind this event do without it; those before it may hold it.
    public var behind: Int

    /// Nothing is checked.
    public init(ref: String, reason: String, behind: Int) {
      self.ref = ref
      self.reason = reason
      self.behind = behind
    }
  }

  /// Nothing is checked. The defaults are those of an agent file that leaves the key out.
  public init(tokenBudget: Int = 32_000, observationLimit: Int = 50) {
    self.tokenBudget = tokenBudget
    self.observationLimit = observationLimit
  }
}

/// How much failure a run takes before it stops.
public struct FailureSettings: Sendable, Hashable {
  /// How often a model is asked again after an invalid decision.
  public var invalidDecisionRetries: Int
  /// How often a model that is out of reach is asked again.
  public var modelRetries: Int
  /// The denied call that ends the run.
  public var maxDenials: Int
  /// The error in a row that ends the run.
  public var maxToolErrors: Int

  /// Nothing is checked. The defaults are those of an agent file that leaves the key out.
  public init(
    invalidDecisionRetries: Int = 2, modelRetries: Int = 2, maxDenials: Int = 3,
    maxToolErrors: Int = 3
  ) {
    self.invalidDecisionRetries = invalidDecisionRetries
    self.modelRetries = modelRetries
    self.maxDenials = maxDenials
    self.maxToolErrors = maxToolErrors
  }
}
