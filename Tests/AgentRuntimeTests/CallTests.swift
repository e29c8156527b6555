import AgentRuntime
import AgentTrace
import Testing
import TraceMatching

@Suite("Running calls")
struct CallTests {
  private static func delayed(_ limit: Int) throws -> AgentDefinition {
    let delays = [3.0, 1, 2, 1, 0]
    let rules = try delays.enumerated().map { index, delay in
      ScriptedTool.Rule(
        condition: try Matcher(compiling: ["input": ["n": JSONValue(index)]]), outcome: .ok(1),
        delaySeconds: delay)
    }
    var agent = AgentDefinition.replying(
      calls("look 0", "look 1", "look 2", "look 3", "look 4"), answer("x"),
      tools: [.tool("look", .read, rules: rules)])
    agent.parallelCalls = limit
    return agent
  }

  @Test(
    "on a fixed clock results come by their delay, then in call order, with so many side by side",
    arguments: [
      (1, [0, 1, 2, 3, 4]), (2, [1, 0, 2, 4, 3]), (3, [1, 2, 3, 4, 0]), (5, [4, 1, 3, 2, 0]),
    ])
  func order(limit: Int, expected: [Int]) async throws {
    let run = try await Self.delayed(limit).run()
    let order = run.events.filter { $0.type == .toolResult }.compactMap {
      $0.data["callId"]?.stringValue
    }
    #expect(order == expected.map { "1.1.\($0)" })
    #expect(
      run.state.observations.recent.filter { $0.kind == .tool }.map(\.id)
        == (0..<5).map { "1.1.\($0)" })
  }

  @Test("the same script gives the same events, every time", arguments: 1...5)
  func deterministic(limit: Int) async throws {
    let first = try await Self.delayed(limit).run()
    for _ in 0..<5 { #expect(try await Self.delayed(limit).run().events == first.events) }
  }

  @Test("a call is tried again only where that is safe and asked for")
  func retries() async throws {
    let rules: [ScriptedTool.Rule] = [
      .init(condition: try Matcher(compiling: ["attempt": 3]), outcome: .ok("third")),
      .init(outcome: .error("busy")),
    ]
    for (sideEffect, idempotent, onError, attempts) in [
      (SideEffect.read, false, ToolRegistration.OnError.retry, 3), (.draft, true, .retry, 3),
      (.draft, false, .retry, 1), (.read, false, .continue, 1),
    ] {
      let tool = ToolRegistration.tool(
        "look", sideEffect, onError: onError, idempotent: idempotent, rules: rules)
      let run = try await AgentDefinition.replying(calls("look 1"), answer("x"), tools: [tool])
        .run()
      let starts = run.events.filter { $0.type == .toolStarted }
      #expect(starts.count == attempts)
      #expect(Set(starts.map { $0.data["idempotencyKey"] }).count == 1)
      #expect(run.results() == ["1.1.0": attempts == 3 ? "ok" : "error"])
      #expect(run.state.totals.toolCalls == 1)
    }
  }

  @Test("a call cut off by its time limit has an unknown effect unless it only reads")
  func toolTimeout() async throws {
    for (sideEffect, effect) in [(SideEffect.read, nil), (.draft, "unknown" as JSONValue?)] {
      let tool = ToolRegistration.tool(
        "look", sideEffect, timeoutSeconds: 0.5,
        rules: [.init(outcome: .ok(1), delaySeconds: 2)])
      let run = try await AgentDefinition.replying(calls("look 1"), answer("x"), tools: [tool])
        .run()
      let result = try #require(run.events.first { $0.type == .toolResult })
      #expect(result.data["status"] == "error")
      #expect(result.data["effect"] == effect)
      #expect(result.data["elapsedMicroseconds"] == 500_000)
    }
  }

  @Test("an oversized or too deep result is cut before the state or the model sees it")
  func oversized() async throws {
    var deep: JSONValue = 1
    for _ in 0..<80 { deep = [deep] }
    for data in [.string(String(repeating: "x", count: 2 << 20)), deep] {
      let tool = ToolRegistration.tool("look", .read, rules: [.init(outcome: .ok(data))])
      let run = try await AgentDefinition.replying(calls("look 1"), answer("x"), tools: [tool])
        .run()
      let result = try #require(run.events.first { $0.type == .toolResult })
      guard case .cut = result.data["data"] else {
        Issue.record("not cut")
        continue
      }
      #expect(run.events.allSatisfy { $0.encodedLine().count < 1 << 20 })
    }
  }

  @Test("when the log cannot be written the run ends with that error, and no tool starts")
  func failingSink() async throws {
    struct DiskFull: Error {}
    final class FailingSink: EventSink {
      var rest: Int
      var types: [EventType] = []
      init(_ count: Int) { rest = count }
      func append(_ event: Event, isEffectAhead: Bool) throws {
        guard rest > 0 else { throw DiskFull() }
        rest -= 1
        types.append(event.type)
      }
    }
    let agent = AgentDefinition.replying(calls("look 1", "look 2"), answer("x"))
    let whole = try await agent.run().events
    for count in 0..<whole.count {
      let sink = FailingSink(count)
      let boundary = AssembledBoundary(
        for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1))
      await #expect(throws: DiskFull.self) {
        _ = try await Runtime(agent: agent, boundary: boundary).run(
          .init(goal: "do it", runId: "r"), into: sink)
      }
      #expect(sink.types == whole.prefix(count).map(\.type))
    }
  }

  @Test("an effect that cannot be undone is announced to the sink before it happens")
  func effectsAhead() async throws {
    final class Watching: EventSink {
      var ahead: [String] = []
      func append(_ event: Event, isEffectAhead: Bool) {
        if isEffectAhead { ahead.append(event.data["tool"]?.stringValue ?? "?") }
      }
    }
    var agent = AgentDefinition.replying(calls("look 1", "sketch 2", "pay 3"), answer("x"))
    agent.human = ScriptedPerson(approvals: [.init(granted: true, by: "ana")])
    let sink = Watching()
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1))
    _ = try await Runtime(agent: agent, boundary: boundary).run(
      .init(goal: "do it", runId: "r"), into: sink)
    #expect(sink.ahead == ["sketch", "pay"])
  }
}
