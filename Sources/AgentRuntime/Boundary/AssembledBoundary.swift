public import AgentTrace

/// A boundary put together from its parts.
public struct AssembledBoundary: Boundary {
  public let clock: any RunClock
  public let cancellation: Cancellation
  public let secrets: RunSecrets
  private let identifiers: any RunIDs
  private let model: any Model
  private let tools: [String: any Tool]
  private let person: (any Person)?
  private let simulated: SimulatedPerson?
  private let memory: any MemoryStore
  private let sources: SourcedTools
  private let authorizers: Authorizers
  private let children: (any ChildRunner)?

  /// Tools are found by their names; a tool without an implementation fails when it is called.
  ///
  /// - Parameters:
  ///   - clock: where the run's times come from.
  ///   - cancellation: what ends the run early; a person who was asked is not waited for any longer then.
  ///   - identifiers: gives new runs their identifiers.
  ///   - model: replies to all requests but those in which a model plays a person.
  ///   - tools: what runs, by the names of the tools.
  ///   - person: who approves and answers; `nil` for nobody.
  ///   - simulated: who speaks where the person says nothing.
  ///   - secrets: what is known of secrets before the run begins.
  ///   - memory: keeps notes that outlive the run; in memory alone where it is left out.
  ///   - sources: where further tools come from.
  ///   - authorizers: whom rules of the policy ask.
  ///   - children: what runs the agents among the tools.
  public init(
    clock: any RunClock, cancellation: Cancellation = Cancellation(), identifiers: any RunIDs,
    model: any Model, tools: [String: any Tool], person: (any Person)?,
    simulated: SimulatedPerson? = nil, secrets: RunSecrets = RunSecrets(),
    memory: any MemoryStore = InMemoryStore(),
    sources: [(registration: SourceRegistration, source: any ToolSource)] = [],
    authorizers: Authorizers = Authorizers(), children: (any ChildRunner)? = nil
  ) {
    self.children = children
    self.authorizers = authorizers
    self.memory = memory
    self.sources = SourcedTools(sources)
    self.clock = clock
    self.cancellation = cancellation
    self.identifiers = identifiers
    self.model = model
    self.tools = tools
    self.person = person
    self.secrets = secrets
    self.simulated = simulated
  }

  public func makeRunID() -> String { identifiers.next() }

  public func reply(to request: ModelRequest) async -> ModelAnswer {
    guard request.purpose == .human else { return await model.reply(to: request) }
    switch simulated?.model.implementation {
    case .scripted(let script)?: return await ScriptedModel(script).reply(to: request)
    case .model(let model)?: return await model.reply(to: request)
    case .provider?, .command?, nil: return ModelAnswer(error: "no model plays a person here")
    }
  }

  public func run(_ request: ToolRequest) async -> ToolAnswer {
    if let tool = tools[request.tool.name] { return await tool.run(request) }
    return await sources.run(request)
  }

  public func reasonNotToBegin(_ child: ChildStart, as tool: String) -> String? {
    children?.reasonNotToBegin(child, as: tool)
  }

  public func tools(_ request: ToolListRequest) async -> ToolOffer? {
    await sources.offer(request)
  }

  public func authorize(_ request: AuthorizationRequest) async -> Authorization {
    await authorizers.authorize(request)
  }

  public func close() async { await sources.close() }

  public func recall(_ address: MemoryAddress) async -> KeptNote? {
    guard let note = try? memory.note(at: address) else { return nil }
    return note.expires == nil || note.isKept(at: clock.reading().time) ? note : nil
  }

  public func remember(_ request: MemoryRequest) async -> String? {
    do { try memory.write(request.writing) } catch { return "\(error)" }
    return nil
  }

  public func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
    guard let person, !(person is ScriptedPerson) else { return await person?.approve(request) }
    return await cancellation.leaving { await person.approve(request) } ?? nil
  }

  public func answer(_ request: QuestionRequest) async -> PersonAnswer? {
    guard let person, !(person is ScriptedPerson) else { return await person?.answer(request) }
    return await cancellation.leaving { await person.answer(request) } ?? nil
  }

  public func simulatedPerson(step: Int, question: Int) -> SimulatedPerson? { simulated }
}

extension AssembledBoundary {
  /// The boundary of an agent whose model and tools are scripted: no process, no network.
  ///
  /// - Parameters:
  ///   - agent: Says which model, tools, sources, person and authorizers answer.
  ///   - clock: Where the run's times come from; what is scripted waits by it.
  ///   - identifiers: Gives new runs their identifiers.
  ///   - cancellation: What ends the run early; calls, replies and waits that are under way end with it.
  ///   - secrets: What is known of secrets before the run begins.
  ///   - person: Who is asked in place of the agent's own person.
  ///   - memory: Keeps notes that outlive the run; in memory alone where it is left out.
  ///   - children: Runs the agents that it calls; where nobody does, a call of one fails.
  ///   - raise: Sends a signal to this process by its name, for scripted tools that say so; sends none where
  ///     it is left out.
  ///   - makeModel: Makes what is served by a provider, or `nil` where that is not allowed.
  ///   - makeTool: Makes what runs as a process or over a network, or `nil` where that is not allowed; a program is
  ///     relative to the folder, or to the agent file's where that is `nil`.
  ///   - makeSource: Makes what reaches a server, or `nil` where that is not allowed.
  public init(
    for agent: AgentDefinition, clock: any RunClock, identifiers: any RunIDs,
    cancellation: Cancellation = Cancellation(), secrets: RunSecrets = RunSecrets(),
    person: (any Person)? = nil, memory: any MemoryStore = InMemoryStore(),
    children: (any ChildRunner)? = nil,
    raise: @escaping @Sendable (String) async -> Void = { _ in },
    makeModel: (ModelDefinition) -> (any Model)? = { _ in nil },
    makeTool: (ToolRegistration, _ folder: String?) -> (any Tool)? = { _, _ in nil },
    makeSource: (SourceRegistration) -> (any ToolSource)? = { _ in nil }
  ) {
    var tools: [String: any Tool] = [:]
    for registration in agent.tools {
      switch registration.implementation {
      case .scripted(let script):
        tools[registration.definition.name] = ScriptedToolRunner(
          script, until: cancellation,
          wait: { await clock.wait(microseconds: $0, until: cancellation) }, raise: raise)
      case .tool(let tool):
        tools[registration.definition.name] = SupervisedTool(
          tool: tool, clock: clock, cancellation: cancellation)
      case .memory(let access):
        tools[registration.definition.name] = MemoryTool(access: access, store: memory)
      case .decision: break  // Nothing runs.
      case .agent(let child):
        tools[registration.definition.name] = children.map {
          AgentTool(agent: child, parent: agent, runner: $0)
        }
      case .command, .http, .code, .listed:
        tools[registration.definition.name] = makeTool(registration, nil)
      }
    }
    let sources = agent.sources.compactMap { registration in
      switch registration.implementation {
      case .source(let source): (registration, source)
      case .command, .endpoint: makeSource(registration).map { (registration, $0) }
      }
    }
    let model: any Model =
      switch agent.model.implementation {
      case .scripted(let script): ScriptedModel(script)
      case .model(let model): SupervisedModel(model: model, cancellation: cancellation)
      case .provider: makeModel(agent.model) ?? UnreachableModel()
      case .command: UnreachableModel()
      }
    var simulated = person == nil ? agent.human?.model : nil
    switch simulated?.model.implementation {
    case .provider?:
      if let played = simulated?.model {
        simulated?.model.implementation = .model(makeModel(played) ?? UnreachableModel())
      }
    case .model(let model)?:
      simulated?.model.implementation = .model(
        SupervisedModel(model: model, cancellation: cancellation))
    case .scripted?, .command?, nil: break
    }
    self.init(
      clock: clock, cancellation: cancellation, identifiers: identifiers, model: model,
      tools: tools, person: person ?? agent.human,
      simulated: simulated, secrets: secrets, memory: memory, sources: sources,
      authorizers: Authorizers(
        agent.policy.authorizers, clock: clock, cancellation: cancellation, raise: raise,
        makeTool: makeTool),
      children: children)
  }
}

/// Leaves a model behind that does not end by itself when the run is to end.
private struct SupervisedModel: Model {
  let model: any Model
  let cancellation: Cancellation

  func reply(to request: ModelRequest) async -> ModelAnswer {
    let model = model
    return await cancellation.leaving { await model.reply(to: request) }
      ?? ModelAnswer(error: "cancelled by \(cancellation.signal ?? "a signal")")
  }
}

/// A model that nothing here can reach.
private struct UnreachableModel: Model {
  func reply(to request: ModelRequest) async -> ModelAnswer {
    var answer = ModelAnswer(
      error: "this model is served over a network, which is not reached here")
    answer.retry = .never
    return answer
  }
}
