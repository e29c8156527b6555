public import AgentRuntime
public import AgentTrace

/// A run of an agent in memory, for tests: nothing outside is reached but what the agent itself brings
/// along.
public struct TestedRun: Sendable {
  /// Every event, in order.
  public var events: [Event]
  /// The state after the last.
  public var state: AgentState
  /// The runs of the agents that it called, and of those that these called, in the order in which they began. The
  /// events of each say in its `run_started` which call it is.
  public var children: [Child] = []

  /// A run that a call of another is.
  public struct Child: Sendable {
    /// The tool that it was called by.
    public var tool: String
    /// Every event, in order.
    public var events: [Event]
    /// The state after the last.
    public var state: AgentState
  }

  /// Runs an agent, and the agents that it calls.
  ///
  /// - Parameters:
  ///   - agent: what runs, with the model and the tools that it brings along.
  ///   - goal: what the agent is to do; `"test"` where it is left out.
  ///   - clock: one that moves with each event where it is left out. Each child has such a one of its own.
  ///   - cancellation: what ends the run early, and its children with it.
  ///   - person: who answers and approves in place of the agent's own person.
  ///   - memory: where notes of agents and actors are kept.
  ///   - seed: what the run's identifier is made from.
  ///   - prepare: changes what the run is started with: its tags, its case, what it came from.
  /// - Throws: `ToolRegistry.RegistryError` where the agent's tools cannot be used.
  public init(
    of agent: AgentDefinition, goal: JSONValue = "test", clock: any RunClock = FixedClock(),
    cancellation: Cancellation = Cancellation(), person: (any Person)? = nil,
    memory: any MemoryStore = InMemoryStore(), seed: Int = 1,
    prepare: (inout Runtime.Start) -> Void = { _ in }
  ) async throws {
    let sink = InMemoryEventSink()
    let runner = InMemoryChildren(cancellation: cancellation, person: person, memory: memory)
    let boundary = runner.boundary(
      of: agent, clock: clock, identifiers: SeededRunIDs(seed: seed))
    var start = Runtime.Start(goal: goal, runId: boundary.makeRunID(), seed: seed)
    prepare(&start)
    state = try await Runtime(agent: agent, boundary: boundary).run(start, into: sink)
    events = sink.events
    children = runner.finished
  }

  /// The events of the run and of its children in one row, as a judge looks at them.
  public var tree: [Event] {
    TreeEvents.row(of: events) { runId in
      children.first { $0.state.runId.hasSameUTF8(as: runId) }?.events
    }
  }

  /// Why it stopped; `nil` where it did not.
  public var stopReason: StopReason? { state.stop.flatMap { StopReason(rawValue: $0.reason) } }

  /// The calls of a tool that were executed, by their inputs, in call order.
  public func inputs(of tool: String) -> [JSONValue] {
    let started = Set(
      events.filter { $0.type == .toolStarted }.compactMap { $0.data["callId"]?.stringValue })
    return events.filter { $0.type == .decision }
      .flatMap { (try? DecisionPayload(decoding: $0.data))?.decision.calls ?? [] }
      .filter { $0.name.hasSameUTF8(as: tool) && started.contains($0.callId) }.map(\.input)
  }
}

extension ModelScript {
  /// A script that sends these replies one after the other; see `ModelReply` for their form.
  public init(replies: JSONValue...) {
    self.init(turns: replies.map { Turn(choices: [Choice(answer: .reply($0))]) })
  }
}
