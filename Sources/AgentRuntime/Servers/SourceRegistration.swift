public import AgentTrace
public import TraceMatching

/// A source of tools, and what an agent takes of it.
public struct SourceRegistration: Sendable {
  /// Where the tools are.
  public enum Implementation: Sendable {
    /// A process that speaks MCP over its standard input and output.
    case command(ServerCommand)
    /// An address that speaks MCP over HTTP.
    case endpoint(ServerEndpoint)
    /// A value of the program that uses this library. No agent file says it.
    case source(any ToolSource)
  }

  /// What the source's own words about the effects of its tools are worth.
  public enum Annotations: String, Sendable, Hashable, CaseIterable {
    /// A tool that says that it only reads is a tool that reads.
    case trust
    /// Every tool writes, and none is idempotent, unless the agent file says else.
    case ignore
  }

  /// What becomes of a tool that is not, or no longer, what it was when the run started.
  public enum OnChange: String, Sendable, Hashable, CaseIterable {
    /// The model is not told of it, and calls of it are refused.
    case refuse
    /// It is taken as it is now.
    case accept
    /// The run stops as `tool_failure`.
    case stop
  }

  /// What logs call it.
  public var name: String
  /// Where the tools are.
  public var implementation: Implementation
  /// What stands before the names of its tools.
  public var prefix: String
  /// Which of its tools the agent takes, and as what: the first that fits counts. `nil` for all as they
  /// are.
  public var choices: [ToolChoice]?
  /// What the source's own words about effects are worth.
  public var annotations: Annotations
  /// What becomes of a tool that changes during a run.
  public var onChange: OnChange
  /// `ToolsListed.digest` that its list must have when a run starts or goes on; `nil` for any.
  public var digest: String?
  /// Seconds until it has answered what it offers; its start is in them.
  public var startTimeoutSeconds: Double
  /// Seconds until a call is cut off, for tools that say nothing else.
  public var timeoutSeconds: Double?
  /// Seconds without a word after which a call is cut off before its time; each word of its progress
  /// begins them anew. `nil` for none.
  public var idleSeconds: Double?

  /// The defaults are those of an agent file that leaves the key out.
  public init(
    name: String, implementation: Implementation, prefix: String? = nil,
    choices: [ToolChoice]? = nil, annotations: Annotations = .trust, onChange: OnChange = .refuse,
    digest: String? = nil, startTimeoutSeconds: Double = 30, timeoutSeconds: Double? = nil,
    idleSeconds: Double? = nil
  ) {
    self.name = name
    self.implementation = implementation
    self.prefix = prefix ?? "\(name)."
    self.choices = choices
    self.annotations = annotations
    self.onChange = onChange
    self.digest = digest
    self.startTimeoutSeconds = startTimeoutSeconds
    self.timeoutSeconds = timeoutSeconds
    self.idleSeconds = idleSeconds
  }

  /// Whether neither a process nor the network is needed to reach it.
  var isInPlace: Bool {
    switch implementation {
    case .command, .endpoint: false
    case .source: true
    }
  }

  /// What of it needs the network; see ``AgentDefinition/networkNeed``.
  var networkNeed: String? {
    if case .endpoint = implementation { "the server “\(name)”" } else { nil }
  }

  /// The variables of the environment that it is given the values of.
  public var variables: [String] {
    switch implementation {
    case .command(let command): command.environment.values.flatMap(\.variables)
    case .endpoint(let endpoint): endpoint.headers.flatMap(\.value.variables)
    case .source: []
    }
  }

  /// The names under which its tools may be called, as far as that is known without asking it.
  public var knownNames: [String] {
    (choices ?? []).compactMap { choice in
      choice.name ?? choice.tool.literal.map { prefix + $0 }
    }
  }

  /// The worst that a call of its tools may do: what a choice says, and a write where only the server could say it.
  var worstSideEffect: SideEffect {
    .worst(of: choices?.map { $0.sideEffect ?? .write } ?? [.write])
  }

  /// Whether it may have tools beyond ``knownNames``.
  public var mayHaveOthers: Bool { choices?.contains { $0.tool.literal == nil } ?? true }
}

/// Tools of a source that an agent takes, and what is said of them in place of the source.
public struct ToolChoice: Sendable {
  /// The name that the source calls the tool by, or a glob for many.
  public var tool: Glob
  /// What the tool is called by; `nil` for the source's name behind the source's prefix.
  public var name: String?
  /// What the model is told of it; `nil` for what the source says.
  public var description: String?
  /// What a call does to the world; `nil` for what the source says.
  public var sideEffect: SideEffect?
  /// A word for policy.
  public var sensitivity: String?
  /// Whether a call may be made again; `nil` for what the source says.
  public var isIdempotent: Bool?
  /// Seconds until a call is cut off; `nil` for what holds for the source.
  public var timeoutSeconds: Double?
  /// What happens when a call fails, and when the model is told of the tool.
  public var handling: Handling

  /// What happens when a call fails, and when the model is told of a tool; see ``ToolRegistration``.
  public struct Handling: Sendable {
    /// What happens when a call fails.
    public var onError = ToolRegistration.OnError.continue
    /// How often a call is started at most.
    public var maxAttempts = 3
    /// How a failed call is made again.
    public var retry: RetrySettings?
    /// When calls are no longer let through.
    public var breaker: BreakerSettings?
    /// The routes on which the model is told of it.
    public var routes: [String]?
    /// Rules about when the model is told of it.
    public var disclose: [DisclosureRule]?

    /// As a tool that says nothing.
    public init() {}
  }

  /// What is left out is as the source says.
  public init(
    _ tool: Glob, name: String? = nil, description: String? = nil, sideEffect: SideEffect? = nil,
    sensitivity: String? = nil, isIdempotent: Bool? = nil, timeoutSeconds: Double? = nil,
    handling: Handling = Handling()
  ) {
    self.tool = tool
    self.name = name
    self.description = description
    self.sideEffect = sideEffect
    self.sensitivity = sensitivity
    self.isIdempotent = isIdempotent
    self.timeoutSeconds = timeoutSeconds
    self.handling = handling
  }
}
