public import AgentRuntime
public import AgentTrace

/// A run of an agent in memory, for tests: nothing outside is reached but what the agent itself brings
/// along.
public struct TestedRun: Sendable {
  /// Every event, in order.
  public var events: [Event]
  /// The state after the last.
  public var state: AgentState

  /// Runs an agent.
  ///
  /// - Parameters:
  ///   - clock: one that moves with each event where it is left out.
  ///   - seed: what the run's identifier is made from.
  /// - Throws: `ToolRegistry.RegistryError` where the agent's tools cannot be used.
  public init(
    of agent: AgentDefinition, goal: JSONValue = "test", clock: any RunClock = FixedClock(),
    cancellation: Cancellation = Cancellation(), seed: Int = 1
  ) async throws {
    let sink = InMemoryEventSink()
    let boundary = AssembledBoundary(
      for: agent, clock: clock, identifiers: SeededRunIDs(seed: seed), cancellation: cancellation,
      raise: { cancellation.cancel(signal: $0) })
    state = try await Runtime(agent: agent, boundary: boundary).run(goal: goal, into: sink)
    events = sink.events
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
