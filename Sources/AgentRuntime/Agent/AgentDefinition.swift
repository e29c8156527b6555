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
  /// Its instructions where they are more than one plain text: parts that name something of the run, stand in files
  /// of their own, or are said at times. They are one message, behind ``systemPrompt``.
  public var instructions: [PromptPart] = []
  /// Turns that show how it is done; they stand before the goal.
  public var examples: [ExampleTurn] = []
  /// How it plans before it decides; `nil` where it does not.
  public var plan: ThoughtSettings?
  /// How it looks back at what came of a decision before the next; `nil` where it does not.
  public var reflect: ThoughtSettings?
  /// What the agent is to do where a run does not say.
  public var goal: String?
  /// Which model decides.
  public var model: ModelDefinition
  /// The tools it has, each name once; ``ToolRegistry`` refuses a name that stands twice.
  public var tools: [ToolRegistration]
  /// Where it has further tools from, which each run asks for them; each name once.
  public var sources: [SourceRegistration] = []
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
  /// What its model is called for, step by step: for decisions, or, of a judge, for grades.
  public var purpose = ModelPurpose.decide
  /// Says what is wrong with a decision that could be read, in words that the model is told when it is
  /// asked again; `nil` where every decision will do. No agent file says it.
  public var decisionFault: (@Sendable (Decision) -> String?)?
  /// What an agent file says under `decisions`; ``tools`` holds what comes of it.
  package var enabledDecisions = EnabledDecisions()
  /// What is asked of its answers.
  public var answers = AnswerSettings()
  /// The folder that relative paths in the agent file start from.
  public var folder: String
  /// The agent file as it stands; empty for an agent made in code.
  public var source: JSONObject = [:]
  /// What of the agent is not as its file says, by its key there, and who said it; in the order of
  /// saying, each key once.
  public private(set) var origins: [(key: String, origin: Origin)] = []

  /// Who said something of a run that its agent file does not say, or says otherwise.
  public enum Origin: String, Sendable, Hashable, CaseIterable {
    /// The case that the run was made for.
    case evalCase = "case"
    /// Options of the command that started it.
    case commandLine = "command_line"
    /// The run whose call it is, or the pipeline whose task it is.
    case parent
    /// The run that it was forked from.
    case fork
    /// The run that went on.
    case resume
  }

  /// Notes who said what is kept under a key of the agent file: the last one counts.
  public mutating func note(_ origin: Origin, of key: String) {
    origins.removeAll { $0.key.hasSameUTF8(as: key) }
    origins.append((key, origin))
  }

  /// Takes what a run may use down to further limits, and notes who gave those that count.
  public mutating func tighten(by given: Limits, _ origin: Origin) {
    let before = limits.encoded
    limits = limits.tightened(by: given)
    for member in limits.encoded where before[member.key] != member.value {
      note(origin, of: "limits.\(member.key)")
    }
  }

  /// ``Runtime`` checks the tools; fewer than one of parallel calls counts as one. The defaults are those of an
  /// agent file that leaves the key out.
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
    return tools.allSatisfy(\.isInPlace) && sources.allSatisfy(\.isInPlace)
      && policy.authorizers.allSatisfy(\.isInPlace)
  }
}

extension AgentDefinition {
  /// What of the agent cannot be done without the network, in words for a message: `the tool “search”`;
  /// `nil` where nothing of it needs the network.
  public var networkNeed: String? {
    model.networkNeed ?? human?.model?.model.networkNeed
      ?? tools.lazy.compactMap(\.networkNeed).first
      ?? sources.lazy.compactMap(\.networkNeed).first
      ?? policy.authorizers.lazy.compactMap(\.networkNeed).first
  }

  /// The variables of the environment whose values go into requests to models, each with what needs it
  /// in words for a message: `the model “x”`.
  public var modelVariables: [(need: String, variable: String)] {
    let own = [model, human?.model?.model].flatMap { model -> [(need: String, variable: String)] in
      guard let model, case .provider(let provider) = model.implementation else { return [] }
      return provider.variables.map { ("the model “\(model.name)”", $0) }
    }
    return own + children.flatMap(\.modelVariables)
  }

  /// The agent that a row of calls leads to, as those that call it have it watched and what it says withheld; `nil` where there is none.
  ///
  /// - Parameter tools: the names of the tools, outermost first.
  public func agent(calledBy tools: some Collection<String>) -> AgentDefinition? {
    guard let name = tools.first else { return self }
    for tool in self.tools where tool.definition.name.hasSameUTF8(as: name) {
      guard case .agent(let child) = tool.implementation else { return nil }
      return child.seen(by: self, as: name).agent(calledBy: tools.dropFirst())
    }
    return nil
  }

  /// The worst that a call of its tools may do to the world: of those that it names, of those that servers have, as far
  /// as its file says it of them, and of the agents that it may call.
  public var worstSideEffect: SideEffect {
    .worst(
      of: tools.map(\.definition.sideEffect) + sources.map(\.worstSideEffect)
        + children.map(\.worstSideEffect))
  }

  /// The agents that it may call, in the order of its tools.
  public var children: [AgentDefinition] {
    tools.compactMap { tool in
      if case .agent(let child) = tool.implementation { child.agent } else { nil }
    }
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

  /// Retries below 0 count as 0, the limits of denials and errors below 1 as 1. The defaults are those of an
  /// agent file that leaves the key out.
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
