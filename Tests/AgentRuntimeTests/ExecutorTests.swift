import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching

@Suite("Running tools")
struct ExecutorTests {
  private static func failing(
    _ name: String = "look", times: Int, delaySeconds: Double = 0
  ) throws -> ToolRegistration {
    .tool(
      name, .read,
      rules: [
        .init(
          condition: try Matcher(compiling: ["attempt": ["$lte": JSONValue(times)]]),
          outcome: .error("busy"), delaySeconds: delaySeconds),
        .init(outcome: .ok("here")),
      ])
  }

  private static func starts(_ run: SampleRun) -> [Event] {
    run.events.filter { $0.type == .toolStarted }
  }

  private static func lastReason(_ run: SampleRun) -> String? {
    run.events.last { $0.type == .toolResult }?.data["reason"]?.stringValue
  }

  // MARK: Promised results

  @Test(
    "a result that breaks its schema is an error that says where, of unknown effect unless it says other",
    arguments: [
      ("{\"seen\":\"x\"}", "result of look/seen: ", "unknown"),
      ("[]", "result of look: ", "unknown"), ("{}", "result of look: ", "unknown"),
      ("{\"effect\":\"none\"}", "result of look: ", nil),
    ])
  func outputSchema(data: String, reason: String, effect: String?) async throws {
    var tool = ToolRegistration.tool(
      "look", .write, rules: [.init(outcome: .ok(try JSONValue(parsing: data)))])
    tool.definition.outputSchema = [
      "type": "object", "required": ["seen"], "properties": ["seen": ["type": "integer"]],
    ]
    var agent = AgentDefinition.replying(calls("look 1"), answer("x"), tools: [tool])
    agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)])
    let run = try await agent.run()
    let result = try #require(run.events.last { $0.type == .toolResult })
    #expect(result.data["status"] == "error" && result.data["effect"]?.stringValue == effect)
    #expect(Self.lastReason(run)?.hasPrefix(reason) == true, "\(Self.lastReason(run) ?? "")")
  }

  @Test("a result too large to be checked breaks its schema, unless that takes anything")
  func largeResult() async throws {
    let large = JSONValue.string(String(repeating: "x", count: 2 << 20))
    for (schema, status) in [(["type": "string"], "error"), ([:], "ok")] as [(JSONValue, String)] {
      var tool = ToolRegistration.tool("look", .read, rules: [.init(outcome: .ok(large))])
      tool.definition.outputSchema = schema
      let run = try await AgentDefinition.replying(calls("look 1"), answer("x"), tools: [tool])
        .run()
      #expect(run.results() == ["1.1.0": status])
    }
  }

  // MARK: Again

  @Test("waits between attempts double up to the longest, and count as run time")
  func backoff() async throws {
    var tool = try Self.failing(times: 4, delaySeconds: 0.1)
    tool.retry = RetrySettings(maxAttempts: 5, backoffSeconds: 0.5, maxBackoffSeconds: 1.5)
    let run = try await AgentDefinition.replying(calls("look 1"), answer("x"), tools: [tool]).run()
    let times = Self.starts(run).map(\.t)
    #expect(
      zip(times, times.dropFirst()).map { $1 - $0 } == [600_000, 1_100_000, 1_600_000, 1_600_000])
    #expect(Self.starts(run).compactMap { $0.data["attempt"]?.intValue } == [1, 2, 3, 4, 5])
    #expect(run.results() == ["1.1.0": "ok"])
    #expect(run.state.totals.toolCalls == 1)
  }

  @Test("a call that waits does not hold up the others, and keeps its place among them")
  func backoffBesideOthers() async throws {
    var tool = try Self.failing(times: 1)
    tool.retry = RetrySettings(backoffSeconds: 2)
    let other = ToolRegistration.tool(
      "sketch", .draft, rules: [.init(outcome: .ok(1), delaySeconds: 1)])
    let run = try await AgentDefinition.replying(
      calls("look 1", "sketch 1"), answer("x"), tools: [tool, other]
    ).run()
    #expect(
      run.outline.filter { $0.hasPrefix("tool") } == [
        "tool_started 1.1.0", "tool_started 1.1.1", "tool_result 1.1.1 ok", "tool_started 1.1.0",
        "tool_result 1.1.0 ok",
      ])
  }

  @Test("nothing is waited for that the time limit would not let happen")
  func backoffBeyondLimit() async throws {
    var tool = try Self.failing(times: 1)
    tool.retry = RetrySettings(backoffSeconds: 10)
    var agent = AgentDefinition.replying(calls("look 1"), answer("x"), tools: [tool])
    agent.limits.timeoutSeconds = 5
    let run = try await agent.run()
    #expect(run.results() == ["1.1.0": "error"] && Self.starts(run).count == 1)
    #expect(run.stop.reason == "success" && run.state.elapsedMicroseconds < 1_000_000)
  }

  @Test(
    "only what is safe to be done twice is tried again", arguments: SideEffect.allCases,
    [true, false])
  func safeRetries(sideEffect: SideEffect, idempotent: Bool) async throws {
    var tool = ToolRegistration.tool(
      "look", sideEffect, idempotent: idempotent, rules: [.init(outcome: .error("busy"))])
    tool.retry = RetrySettings(maxAttempts: 3)
    var agent = AgentDefinition.replying(calls("look 1"), answer("x"), tools: [tool])
    agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)])
    let isSafe = sideEffect == .read || idempotent
    #expect(Self.starts(try await agent.run()).count == (isSafe ? 3 : 1))
  }

  @Test("with retries an error may still end the run, once they are used up")
  func retryThenStop() async throws {
    var tool = try Self.failing(times: 9)
    tool.retry = RetrySettings(maxAttempts: 2)
    tool.onError = .stop
    let run = try await AgentDefinition.replying(calls("look 1"), answer("x"), tools: [tool]).run()
    #expect(run.stop.reason == "tool_failure" && Self.starts(run).count == 2)
  }

  // MARK: Breakers

  private static func breaking(
    _ rules: [ScriptedTool.Rule], failures: Int = 2, resetSeconds: Double = 10
  ) -> ToolRegistration {
    var tool = ToolRegistration.tool("look", .read, rules: rules)
    tool.breaker = BreakerSettings(failures: failures, resetSeconds: resetSeconds)
    return tool
  }

  /// An agent whose tool fails until its sixth step.
  static func agentWithBreaker() throws -> AgentDefinition {
    let tool = Self.breaking([
      .init(condition: try Matcher(compiling: ["step": ["$lt": 6]]), outcome: .error("busy")),
      .init(outcome: .ok("here")),
    ])
    let rest = ToolRegistration.tool(
      "sketch", .draft, rules: [.init(outcome: .ok(1), delaySeconds: 12)])
    var agent = AgentDefinition.replying(
      calls("look 1"), calls("look 1"), calls("look 1"), calls("sketch"), calls("look 1", "look 2"),
      calls("sketch"), calls("look 1"), calls("look 1", "look 2"), answer("x"), tools: [tool, rest])
    agent.failures.maxToolErrors = 99
    return agent
  }

  @Test("a breaker opens, refuses, lets one call through, and closes or opens again")
  func breaker() async throws {
    let agent = try Self.agentWithBreaker()
    let run = try await agent.run()
    let lines = run.events.compactMap { event -> String? in
      switch event.type {
      case .breakerChanged:
        "\(event.step) \(event.data["state"]?.stringValue ?? "") \(event.data["failures"]?.intValue ?? -1)"
      case .toolResult where event.data["tool"] == "look":
        "\(event.step) \(event.data["status"]?.stringValue ?? "")"
      default: nil
      }
    }
    #expect(
      lines == [
        "1 error", "2 error", "2 open 2", "3 refused", "5 half_open 2", "5 refused", "5 error",
        "5 open 3", "7 half_open 3", "7 ok", "7 closed 0", "8 ok", "8 ok",
      ])
    let reasons = run.events.filter { $0.data["status"] == "refused" }
      .compactMap { $0.data["reason"]?.stringValue }
    #expect(
      reasons == [
        "breaker open: look failed 2 times in a row",
        "breaker half open: another call of look shows first whether it works again",
      ])
    #expect(run.state.breakers["look"] == ["state": "closed", "failures": 0])
  }

  @Test(
    "calls of one decision all meet the breaker as it was before them, in whatever order they end")
  func breakerBesideOthers() async throws {
    let tool = Self.breaking([
      .init(
        condition: try Matcher(compiling: ["input": ["n": 1]]), outcome: .error("a"),
        delaySeconds: 3),
      .init(
        condition: try Matcher(compiling: ["input": ["n": 2]]), outcome: .ok(1), delaySeconds: 2),
      .init(outcome: .error("b"), delaySeconds: 1),
    ])
    // In call order the last two of each row count.
    for (row, opens) in [
      (calls("look 1", "look 3", "look 2"), false), (calls("look 2", "look 1", "look 3"), true),
      (calls("look 1", "look 2", "look 3"), false), (calls("look 3", "look 3", "look 3"), true),
    ] {
      let run = try await AgentDefinition.replying(row, answer("x"), tools: [tool]).run()
      #expect(!run.results().values.contains("refused"))
      #expect(run.events.contains { $0.type == .breakerChanged } == opens)
    }
  }

  // MARK: Limits

  @Test(
    "what is used up lets no tool start and no try be made",
    arguments: ["max_tokens", "max_cost"])
  func usedUp(limit: String) async throws {
    func turn(_ reply: JSONValue) -> ModelScript.Turn {
      .init(
        choices: [
          .init(answer: .reply(reply), usage: .init(inputTokens: 90, outputTokens: 20, cost: 2))
        ])
    }
    for (reply, results) in [
      (calls("look 1", "pay 2"), ["1.1.0": "refused"]), (["calls": [["name": "nothing"]]], [:]),
    ] as [(JSONValue, [String: String])] {
      var agent = AgentDefinition.playing([turn(reply), turn(answer("x"))])
      agent.limits = limit == "max_tokens" ? Limits(maxTokens: 100) : Limits(maxCost: 1.5)
      let run = try await agent.run()
      #expect(run.stop == ("budget_exhausted", limit))
      #expect(run.results() == results)
      #expect(run.state.totals.modelCalls == 1 && run.state.totals.toolCalls == 0)
      if !results.isEmpty { #expect(Self.lastReason(run) == "limit: \(limit)") }
    }
    // An answer is no effect.
    var agent = AgentDefinition.playing([turn(answer("x"))])
    agent.limits = Limits(maxTokens: 10, maxCost: 1)
    #expect(try await agent.run().stop.reason == "success")
  }

  @Test("a call whose turn comes after the time is up is refused, not begun")
  func timeUp() async throws {
    let slow = ToolRegistration.tool(
      "look", .read, rules: [.init(outcome: .ok(1), delaySeconds: 2)])
    var agent = AgentDefinition.replying(
      calls("look 1", "look 2", "look 3", "look 4"), answer("x"), tools: [slow])
    agent.parallelCalls = 1
    agent.limits.timeoutSeconds = 3
    let run = try await agent.run()
    #expect(
      run.results() == ["1.1.0": "ok", "1.1.1": "error", "1.1.2": "refused", "1.1.3": "refused"])
    #expect(run.stop == ("budget_exhausted", "timeout"))
    #expect(Self.lastReason(run) == "limit: timeout")
  }

  @Test("of two limits on the same thing the smaller counts")
  func tightened() {
    let left = Limits(maxSteps: 5, maxToolCalls: nil, maxTokens: 10, maxCost: 1)
    let right = Limits(maxSteps: 7, maxToolCalls: 3, maxTokens: 4, timeoutSeconds: 9)
    #expect(
      left.tightened(by: right)
        == Limits(maxSteps: 5, maxToolCalls: 3, maxTokens: 4, maxCost: 1, timeoutSeconds: 9))
    #expect(left.tightened(by: right) == right.tightened(by: left))
  }

  // MARK: Functions as tools

  private struct Oops: Error, CustomStringConvertible { var description: String { "oops" } }

  private static func closure(
    _ sideEffect: SideEffect = .write, seconds: Double? = nil,
    _ body: @escaping @Sendable (ToolRequest) async throws -> JSONValue
  ) -> AgentDefinition {
    let tool = ToolRegistration(
      definition: ToolDefinition(name: "look", sideEffect: sideEffect, timeoutSeconds: seconds),
      implementation: .tool(ClosureTool(body)))
    var agent = AgentDefinition.replying(calls("look 1"), answer("x"), tools: [tool])
    agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)])
    return agent
  }

  @Test("what a function returns is the result, what it throws the reason of an error")
  func closures() async throws {
    let run = try await Self.closure { ["twice": JSONValue(($0.input["n"]?.intValue ?? 0) * 2)] }
      .run()
    #expect(run.events.last { $0.type == .toolResult }?.data["data"] == ["twice": 2])
    let errors: [(any Error & Sendable, SideEffect, JSONValue?)] = [
      (Oops(), .write, "unknown"), (Oops(), .read, nil), (NothingDone("oops"), .write, nil),
    ]
    for (error, sideEffect, effect) in errors {
      let thrown = try await Self.closure(sideEffect) { _ in throw error }.run()
      #expect(thrown.results() == ["1.1.0": "error"] && Self.lastReason(thrown) == "oops")
      #expect(thrown.events.last { $0.type == .toolResult }?.data["effect"] == effect)
    }
  }

  @Test(
    "a call that is cut off names the limit that somebody set, never what was left of the run's time",
    arguments: [
      (nil, 1.0, "the run's time was over"), (0.5, 1.0, "timed out after 0.5 seconds"),
      (5.0, 1.0, "the run's time was over"), (0.5, nil, "timed out after 0.5 seconds"),
    ] as [(Double?, Double?, String)])
  func limitsInReasons(own: Double?, run: Double?, reason: String) async throws {
    for before in [0.0, 0.017, 0.217] {
      let tools = [("wait", before), ("look", 3.0)].map { name, seconds in
        ToolRegistration(
          definition: ToolDefinition(
            name: name, sideEffect: .read, timeoutSeconds: name == "look" ? own : nil),
          implementation: .scripted(
            ScriptedTool(rules: [.init(outcome: .ok(1), delaySeconds: seconds)])))
      }
      var agent = AgentDefinition.replying(
        calls("wait 1"), calls("look 1"), answer("x"), tools: tools)
      agent.limits.timeoutSeconds = run
      let made = try await agent.run()
      let results = made.events.filter { $0.type == .toolResult }
      #expect(
        results.last?.data["tool"] == "look" && results.last?.data["reason"] == .string(reason))
    }
  }

  @Test("a function that hangs is left behind when its time is up or the run is to end")
  func hangingClosures() async throws {
    for sideEffect in [SideEffect.read, .write] {
      let late = try await Self.closure(sideEffect, seconds: 0.05) { _ in
        // Nothing ends this wait but its end.
        await Task.detached { try? await Task.sleep(for: .seconds(2)) }.value
        return 1
      }.run(clock: RunningClock())
      let result = try #require(late.events.last { $0.type == .toolResult })
      #expect(result.data["reason"] == "timed out after 0.05 seconds")
      #expect((result.data["effect"] == "unknown") == (sideEffect == .write))
      #expect(result.data["signal"] == nil)
      let cancellation = Cancellation()
      let ended = try await Self.closure(sideEffect) { _ in
        cancellation.cancel(signal: "SIGTERM")
        await Task.detached { try? await Task.sleep(for: .seconds(2)) }.value
        return 1
      }.run(clock: RunningClock(), cancellation: cancellation)
      #expect(Self.lastReason(ended) == "cancelled by SIGTERM")
      #expect(ended.events.last { $0.type == .toolResult }?.data["signal"] == "SIGTERM")
      #expect(ended.stop == ("cancelled", "signal:SIGTERM"))
    }
  }
}

/// A clock that runs.
private final class RunningClock: RunClock {
  private let start = ContinuousClock.now
  var isFixed: Bool { false }
  func reading() -> ClockReading {
    ClockReading(t: Int((ContinuousClock.now - start) / .microseconds(1)), time: "now")
  }
  func wait(microseconds: Int) async { try? await Task.sleep(for: .microseconds(microseconds)) }
  func advance(to t: Int) {}
}
