public import AgentRuntime
import AgentTrace

/// The door to the real world: processes, the machine's clock, signals.
///
/// Scripted models, tools and people are answered from their scripts here too; what makes the boundary
/// live is what an agent asks for beyond them.
public enum LiveBoundary {
  /// Whether this build reaches over the network: it was made with the package trait `Live`.
  public static var hasHTTP: Bool {
    #if Live
      true
    #else
      false
    #endif
  }

  /// What keeps an agent from being run here, in words that say what to do; `nil` where nothing does.
  ///
  /// Looks at the environment and at what sandbox the system allows: whether a server answers is not known
  /// before it is asked.
  public static func fault(of agent: AgentDefinition) -> String? {
    for (need, variable) in agent.modelVariables where ProcessVariables[variable]?.isEmpty ?? true {
      return
        "\(need) takes a key or a header from the variable \(variable), which is not set; set it, "
        + "or name another one in the agent file"
    }
    for child in agent.children {
      if let fault = fault(of: child) { return fault }
    }
    for tool in agent.tools {
      guard case .code(let code) = tool.implementation, let fault = code.fault(in: code.sandbox)
      else { continue }
      return "the tool “\(tool.definition.name)” runs programs that a model writes, and \(fault)"
    }
    return nil
  }

  /// The boundary of one agent.
  ///
  /// - Parameters:
  ///   - agent: Says which models, tools, servers, person and authorizers there are.
  ///   - clock: ``SystemClock`` where it is left out, or a fixed one for runs that must give the same bytes each time.
  ///   - identifiers: Where identifiers of runs come from.
  ///   - person: Who is asked in place of the agent's own person: one at a terminal, for example.
  ///   - cancellation: What ends the run early; see ``SignalListener``. Tools that run are cut off.
  ///   - children: Runs the agents that it calls; where nobody does, a call of one fails.
  ///   - secrets: What is withheld beside what the agent and the environment say.
  ///   - memory: Where notes of agents and actors are kept; they end with the boundary where it is left
  ///     out.
  public static func make(
    for agent: AgentDefinition, clock: (any RunClock)? = nil,
    identifiers: any RunIDs = RandomRunIDs(), cancellation: Cancellation = Cancellation(),
    person: (any Person)? = nil, memory: any MemoryStore = InMemoryStore(),
    children: (any ChildRunner)? = nil, secrets: RunSecrets = RunSecrets()
  ) -> any Boundary {
    let clock = clock ?? SystemClock(cancellation: cancellation)
    return AssembledBoundary(
      for: agent, clock: clock, identifiers: identifiers, cancellation: cancellation,
      secrets: .inEnvironment(for: agent).adding(secrets), person: person, memory: memory,
      children: children,
      raise: { await SignalListener.raise($0, awaiting: cancellation) },
      makeModel: { model in
        #if Live
          guard case .provider(let provider) = model.implementation else { return nil }
          return HTTPModel(provider, name: model.name, clock: clock, cancellation: cancellation)
        #else
          return nil
        #endif
      },
      makeTool: { tool($0, folder: $1 ?? agent.folder, clock, cancellation) },
      makeSource: {
        source(for: $0, folder: agent.folder, clock: clock, cancellation: cancellation)
      })
  }

  /// The authorizers of a policy, asked without an agent's boundary.
  ///
  /// - Parameters:
  ///   - policy: The policy whose rules ask them.
  ///   - folder: what programs of authorizers that do not say one are relative to.
  ///   - clock: ``SystemClock`` where it is left out.
  ///   - cancellation: What cuts off whoever is being asked.
  public static func authorizers(
    of policy: Policy, folder: String, clock: (any RunClock)? = nil,
    cancellation: Cancellation = Cancellation()
  ) -> Authorizers {
    let clock = clock ?? SystemClock(cancellation: cancellation)
    return Authorizers(
      policy.authorizers, clock: clock, cancellation: cancellation
    ) { tool($0, folder: $1 ?? folder, clock, cancellation) }
  }

  /// Makes what runs as a process or over a network; `nil` for whatever else a tool may be.
  private static func tool(
    _ tool: ToolRegistration, folder: String, _ clock: any RunClock, _ cancellation: Cancellation
  ) -> (any Tool)? {
    switch tool.implementation {
    case .scripted, .memory, .tool, .listed, .decision, .agent: nil
    case .command(let command):
      CommandTool(command, folder: folder, clock: clock, cancellation: cancellation)
    case .code(let code):
      CodeTool(code, folder: folder, clock: clock, cancellation: cancellation)
    case .http(let http): httpTool(http, clock, cancellation)
    }
  }

  private static func httpTool(
    _ http: HTTPDefinition, _ clock: any RunClock, _ cancellation: Cancellation
  ) -> (any Tool)? {
    #if Live
      HTTPTool(http, clock: clock, cancellation: cancellation)
    #else
      nil
    #endif
  }

  /// What reaches the servers of an agent file; `nil` where this build cannot.
  ///
  /// - Parameters:
  ///   - registration: The server, as the agent file names it.
  ///   - folder: the agent file's.
  ///   - clock: Tells how long the server takes.
  ///   - cancellation: What cuts off what it is being asked.
  public static func source(
    for registration: SourceRegistration, folder: String, clock: any RunClock,
    cancellation: Cancellation
  ) -> (any ToolSource)? {
    switch registration.implementation {
    case .source(let source): return source
    case .command(let command):
      let edges = CutEdges(CommandEnvironment(pass: registration.variables))
      let folder = CommandTool.absolute(folder)
      return MCPSource(registration, clock: clock, cancellation: cancellation) {
        try await StdioLink.open(
          ProgramStart(serving: command, folder: folder), trimming: edges, until: cancellation)
      }
    #if Live
      case .endpoint(let endpoint):
        return MCPSource(registration, clock: clock, cancellation: cancellation) {
          try HTTPLink(endpoint, until: cancellation)
        }
    #else
      case .endpoint: return nil
    #endif
    }
  }
}
