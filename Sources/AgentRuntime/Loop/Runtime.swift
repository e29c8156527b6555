public import AgentTrace

/// Runs agents: goal, context, decision, policy, tools, observation, stop.
///
/// The model proposes, the runtime decides: a decision is validated, then every call gets its
/// verdict, then the allowed calls run. State changes in one way, by an event that is appended to the
/// log and applied.
public struct Runtime: Sendable {
  private let agent: AgentDefinition
  private let registry: ToolRegistry
  private let answerCheck: AnswerCheck
  private let boundary: any Boundary
  private let redactor: Redactor
  private let listeners = RunListeners()

  /// - Parameters:
  ///   - agent: what runs: its model, tools, policy and limits.
  ///   - boundary: answers whatever comes from outside: replies, results, approvals, times.
  ///   - redactor: what withholds secrets from the run; one made of the agent's settings and the
  ///     boundary's secrets where it is left out.
  ///   - report: told what no log holds, from any task; see ``events`` for the same as a sequence.
  /// - Throws: ``ToolRegistry/RegistryError`` where the agent's tools cannot be used; ``AnswerSchemaFault``;
  ///   ``PromptFault`` where the description of a tool names what it does not have; ``CommandAgentFault`` where it is
  ///   a command, whose loop is its own.
  public init(
    agent: AgentDefinition, boundary: any Boundary, redactor: Redactor? = nil,
    report: @escaping @Sendable (RunProgress) -> Void = { _ in }
  ) throws {
    if agent.command != nil { throw CommandAgentFault(name: agent.name) }
    let agent = try agent.describingTools()
    let redactor = redactor ?? Redactor(agent.redaction, boundary.secrets)
    self.redactor = redactor
    redactor.keep(toolNames: agent.tools.map(\.definition.name))
    self.agent = agent.redacted(by: redactor)
    // Inputs are held against what the agent file says.
    registry = try ToolRegistry(agent.tools)
    answerCheck = try AnswerCheck(agent)
    let listeners = listeners
    self.boundary = RedactingBoundary(
      base: boundary, redactor: redactor,
      listeners: ProgressListeners(
        tellLine: { progress in
          report(progress)
          listeners.tell(progress, inWords: false)
        },
        hearsWords: { listeners.hearWords },
        tellWords: { listeners.tell($0, inWords: true) }))
  }

  /// What runs of this runtime tell while they go on: from the moment this is asked for until the run
  /// ends or pauses. Each time it is asked for it is another row of all of it. Asked for behind the end
  /// of a run, while no other goes on, it is empty.
  ///
  /// A row waits in memory for whoever reads it, and holds no run up.
  public var events: AsyncStream<RunUpdate> { events(inWords: false) }

  /// The same, with what is still coming in by the word rather than by the line: for whoever shows a model's answer
  /// as it is written.
  ///
  /// The texts of one source, one behind the other, are what it says, secrets aside. A word is told once white space
  /// follows it; what a quotation mark opens waits until it is closed or its line ends, and where the agent file has
  /// patterns of its own (`redaction`) each line waits until it is whole.
  public func events(inWords: Bool) -> AsyncStream<RunUpdate> { listeners.listen(inWords: inWords) }

  /// What a run is started with.
  public struct Start: Sendable {
    /// What the agent is to do. Cut with a marker above 1 MiB or 64 levels of nesting.
    public var goal: JSONValue
    /// The run's identifier; taken from the boundary before a log is opened.
    public var runId: String
    /// What the run's identifier was made from, for the record; `nil` where it is random.
    public var seed: Int?
    /// The case that the run is for; `nil` outside of one.
    public var caseId: String?
    /// Which trial of the case; `nil` outside of one.
    public var trial: Int?
    /// Words to find the run by later.
    public var tags: [String] = []
    /// What the run was started with, where that is something else than the goal.
    public var input: JSONValue?
    /// The run that this one came from; `nil` for one that stands by itself.
    public var parent: ParentRun?
    /// The pipeline that the run belongs to, and its task there; `nil` outside of one.
    public var pipeline: (id: String, task: String)?

    /// Case, trial and tags can be set afterwards.
    public init(goal: JSONValue, runId: String, seed: Int? = nil) {
      self.goal = goal
      self.runId = runId
      self.seed = seed
    }
  }

  /// Runs the agent to its end or to a pause.
  ///
  /// Where the task that waits for it is cancelled, the boundary's cancellation hears of that as of a
  /// signal: what is under way is ended and waited for, and the run stops as `cancelled` and may go on.
  ///
  /// - Parameters:
  ///   - start: What the run is to do, and what it is known by: its identifier, case and tags.
  ///   - continuation: What else calls are held back for; nothing where it is left out.
  ///   - sink: Gets each event before what follows from it.
  ///   - observe: Called with each event once it is kept; for showing a run as it happens.
  /// - Returns: the last state. Why it stopped is in there, however badly it went.
  /// - Throws: what the sink throws; ``PromptFault``, before anything is recorded; ``MachineFault``; ``LoopFault``,
  ///   which is a fault of this program.
  public func run(
    _ start: Start, _ continuation: Continuation = Continuation(), into sink: any EventSink,
    observe: @escaping (Event) -> Void = { _ in }
  ) async throws -> AgentState {
    try check(start)
    let recorder = Recorder(
      runId: start.runId, after: RunPast(for: agent), sink: sink, clock: boundary.clock,
      observe: observing(observe))
    let loop = AgentLoop(
      agent: agent, registry: registry, answerCheck: answerCheck, boundary: boundary,
      recorder: recorder, continuation: continuation)
    var start = start
    start.goal = redactor.redacted(start.goal, .goal)
    start.input = start.input.map { redactor.redacted($0) }
    let started = agent.started(start, withheldBy: redactor)
    return try await live(loop) { try await $0.run(from: started) }
  }

  /// Sees whether a run may be started like this. ``run(_:_:into:observe:)`` does so too; whoever opens a log for it
  /// looks first, and leaves none behind.
  ///
  /// - Throws: ``PromptFault`` where the agent's instructions name something that the run would not have.
  public func check(_ start: Start) throws(PromptFault) {
    try agent.checkPrompts(startedWith: start)
  }

  /// Runs the agent towards a goal, with an identifier of the boundary's.
  ///
  /// - Returns: the last state.
  /// - Throws: what the sink throws; ``MachineFault``; ``LoopFault``, which is a fault of this program.
  public func run(
    goal: JSONValue, into sink: any EventSink, observe: @escaping (Event) -> Void = { _ in }
  ) async throws -> AgentState {
    try await run(Start(goal: goal, runId: boundary.makeRunID()), into: sink, observe: observe)
  }

  /// Goes on with a run behind its last event, to its end or to a pause.
  ///
  /// What is recorded is never made again: replies are not asked for twice, verdicts stand, calls with
  /// a result are not run. A run whose last event is a `stop` stays as it is.
  ///
  /// - Parameters:
  ///   - past: Every event of the run so far, taken in by ``RunPast/take(_:)``; the boundary's clock
  ///     must not be behind its `elapsedMicroseconds`.
  ///   - continuation: What becomes of calls that the events leave open.
  ///   - sink: Gets each new event before what follows from it.
  ///   - observe: Called with each new event once it is kept.
  /// - Returns: the last state.
  /// - Throws: what the sink throws; ``MachineFault``; ``LoopFault``, which is a fault of this program.
  public func goOn(
    from past: RunPast, _ continuation: Continuation = Continuation(), into sink: any EventSink,
    observe: @escaping (Event) -> Void = { _ in }
  ) async throws -> AgentState {
    let recorder = Recorder(
      runId: past.state.runId, after: past, sink: sink, clock: boundary.clock,
      observe: observing(observe))
    let loop = AgentLoop(
      agent: agent, registry: registry, answerCheck: answerCheck, boundary: boundary,
      recorder: recorder, continuation: continuation, breachAtDecision: past.breachAtDecision)
    return try await live(loop) { try await $0.goOn(from: past.progress) }
  }
}

extension Runtime {
  /// Lets a loop run to its end, whatever becomes of the task that waits for it.
  private func live(
    _ loop: AgentLoop, _ body: @escaping (inout AgentLoop) async throws -> Void
  ) async throws -> AgentState {
    listeners.begin()
    defer { listeners.finish() }
    return try await RunShield.run(endedBy: boundary.cancellation) {
      var loop = loop
      do { try await body(&loop) } catch {
        await boundary.close()
        throw error
      }
      await boundary.close()
      return loop.state
    }
  }

  /// Listeners are told of an event behind whoever observes it.
  private func observing(_ observe: @escaping (Event) -> Void) -> (Event) -> Void {
    { event in
      observe(event)
      listeners.tell(event)
    }
  }
}

extension AgentDefinition {
  /// What a run of the agent records of its start.
  ///
  /// - Parameters:
  ///   - start: what the run is to do; a goal or an input that is too large for a log is cut.
  ///   - redactor: withholds secrets that settings of models hold; nothing is withheld where it is left out.
  public func started(
    _ start: Runtime.Start, withheldBy redactor: Redactor? = nil
  ) -> RunStarted {
    var started = RunStarted(
      agentName: name, goal: start.goal.admitted, input: (start.input ?? start.goal).admitted,
      limits: limits,
      policyContext: policyContext, tools: tools.map(\.definition))
    started.agentVersion = version
    started.agentDigest = digest
    started.policyDigest = policy.digest
    started.modelProvider = model.provider
    started.modelName = model.name
    started.models = recordedModels(withheldBy: redactor)
    started.origins = recordedOrigins
    started.inputs = recordedInputs(withheldBy: redactor)
    started.seed = start.seed
    started.caseId = start.caseId
    started.trial = start.trial
    started.tags = start.tags
    started.parent = start.parent
    started.pipelineId = start.pipeline?.id
    started.taskId = start.pipeline?.task
    return started
  }
}

extension JSONValue {
  /// The most bytes of one value that enters a run, and the deepest it may nest; so that a line of
  /// the log that repeats it stays within its limits.
  static let admissionLimitBytes = 1 << 20
  static let admissionDepthLimit = 64

  /// The value as it may enter a run: cut with a marker where it is too large or too deep.
  var admitted: JSONValue {
    cut(toBytes: depth > Self.admissionDepthLimit ? 0 : Self.admissionLimitBytes)
  }
}
