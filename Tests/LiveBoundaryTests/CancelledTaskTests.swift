import AgentRuntime
import AgentTrace
import LiveBoundary
import TestSupport
import Testing

@Suite("Cancelling the task of a live run")
struct CancelledTaskTests {
  /// An agent that makes three calls of a command that writes its input down, and then takes its time.
  private static func agent(_ folder: TemporaryFolder, seconds: String) -> AgentDefinition {
    let replies: [JSONValue] =
      (1...3).map { ["calls": [["name": "pay", "input": ["n": JSONValue($0)]]]] }
      + [["text": "paid"]]
    var agent = AgentDefinition(
      name: "payer",
      model: ModelDefinition(
        provider: "scripted", name: "payer",
        implementation: .scripted(
          ModelScript(turns: replies.map { .init(choices: [.init(answer: .reply($0))]) }))),
      tools: [
        ToolRegistration(
          definition: ToolDefinition(
            name: "pay", inputSchema: ["type": "object"], sideEffect: .write),
          implementation: .command(
            CommandDefinition(arguments: [
              "/bin/sh", "-c", "cat >> effects; echo >> effects; sleep \(seconds); echo 1",
            ])))
      ])
    agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)])
    agent.folder = folder.path
    agent.failures.maxToolErrors = 99
    return agent
  }

  private static func effects(_ folder: TemporaryFolder) -> [Substring] {
    (folder.text("effects") ?? "").split(separator: "\n")
  }

  @Test("a command under way is ended and waited for, and started no second time")
  func underWay() async throws {
    let folder = try TemporaryFolder()
    let agent = Self.agent(folder, seconds: "3600")
    let start = ContinuousClock.now
    let task = Task {
      let sink = InMemoryEventSink()
      let state = try await Runtime(agent: agent, boundary: LiveBoundary.make(for: agent)).run(
        goal: "pay", into: sink)
      return (state.stop, sink.events.count { $0.type == .toolStarted })
    }
    // Beside tests that hold every thread it may be long before the command begins.
    #expect(await eventually(withinSeconds: 300) { Self.effects(folder).count == 1 })
    task.cancel()
    let (stop, starts) = try await task.value
    #expect(stop?.reason == "cancelled" && stop?.detail == "signal:task" && stop?.isFinal == false)
    #expect(starts == 1 && Self.effects(folder).count == 1)
    #expect(ContinuousClock.now - start < .seconds(600))
  }

  @Test("whenever it comes, no effect comes twice, also when the run goes on")
  func anytime() async throws {
    var cancelled = 0
    for number in 0..<24 {
      let folder = try TemporaryFolder()
      let agent = Self.agent(folder, seconds: "0.02")
      let task = Task {
        let sink = InMemoryEventSink()
        _ = try await Runtime(agent: agent, boundary: LiveBoundary.make(for: agent)).run(
          goal: "pay", into: sink)
        return sink.events
      }
      try await Task.sleep(for: .milliseconds(number * 6))
      task.cancel()
      let events = try await task.value
      let stop = try #require(events.last)
      #expect(stop.type == .stop)
      if stop.data["reason"] == "cancelled" {
        cancelled += 1
        var past = RunPast(for: agent)
        for event in events { try past.take(event) }
        try past.take(
          Event(
            seq: events.count, step: stop.step, type: .runResumed, runId: stop.runId, t: stop.t,
            data: ["why": "cancelled"]))
        let boundary = LiveBoundary.make(
          for: agent, clock: SystemClock(elapsedMicroseconds: stop.t))
        let state = try await Runtime(agent: agent, boundary: boundary).goOn(
          from: past, into: InMemoryEventSink())
        #expect(state.stop?.reason == "success", "\(number)")
      }
      let effects = Self.effects(folder)
      #expect(Set(effects).count == effects.count, "\(number): \(effects)")
    }
    #expect(cancelled > 0)
  }
}
