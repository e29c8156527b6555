import AgentRuntime
import AgentTrace
import Testing
import TraceMatching

@Suite("Why a run stops")
struct StopTests {
  @Test(
    "a reply that cannot be read as a decision is invalid, and the third of them ends the run",
    arguments: [
      .array([]), "text", .null, [:], ["text": ""], ["stop": "tool_failure"], ["stop": 3],
      calls("unknown"), calls("unknown", "unknown2"), ["calls": [["name": "look", "input": [1]]]],
      ["calls": [["name": "look", "arguments": "{"]]],
      ["calls": [["name": "look", "input": ["m": 1]]]],
      ["calls": [["input": [:]]]], ["calls": ["look"]],
    ] as [JSONValue])
  func invalidDecision(reply: JSONValue) async throws {
    let run = try await AgentDefinition.playing(
      [.init(choices: [.init(answer: .reply(reply))], repeats: 9)]
    ).run()
    #expect(run.stop == ("invalid_decision", "error"))
    #expect(run.outline == ["decision invalid", "decision invalid", "decision invalid", "stop"])
    #expect(run.state.counters.invalidDecisionsInARow == 3)
  }

  @Test("a model that will not reply, or may not, ends the run as blocked, and is not asked again")
  func refused() async throws {
    for (words, detail) in [
      ("no", "refusal"), ("content_filter", "content_filter"), ("SAFETY", "content_filter"),
      ("guardrail_intervened", "content_filter"), ("cyber", "refusal"),
    ] {
      let reply: JSONValue = ["refusal": .string(words), "text": "well"]
      let run = try await AgentDefinition.replying(reply, answer("ok")).run()
      #expect(run.stop == ("blocked", detail))
      #expect(run.outline == ["decision stop", "stop"])
      let decision = try #require(run.events.first { $0.type == .decision })
      #expect(decision.data["detail"]?.stringValue == detail)
    }
  }

  @Test("a call of an unknown tool beside good ones is refused, and the others run")
  func unknownBesideGood() async throws {
    let run = try await AgentDefinition.replying(calls("look 1", "unknown", "look 2"), answer("ok"))
      .run()
    #expect(run.stop == ("success", "final_answer"))
    #expect(run.results() == ["1.1.0": "ok", "1.1.1": "refused", "1.1.2": "ok"])
    #expect(run.events.count { $0.type == .policyDecision } == 2)
    let second = try ContextPacket(decoding: run.events.filter { $0.type == .contextBuilt }[1].data)
    #expect(second.messages.description.contains("unknown tool"))
  }

  @Test("a repaired reply goes on in the same step, and the model was told what was wrong")
  func repair() async throws {
    let run = try await AgentDefinition.replying(calls("lok 1"), calls("look 1"), answer("ok"))
      .run()
    #expect(run.stop == ("success", "final_answer"))
    #expect(run.state.steps == 2)
    let second = try ContextPacket(decoding: run.events.filter { $0.type == .contextBuilt }[1].data)
    #expect(second.messages.last?.description.contains("did it mean “look”") == true)
    #expect(run.results() == ["1.2.0": "ok"])
  }

  @Test("a model out of reach is asked again, then ends the run", arguments: 0...3)
  func modelFailure(failures: Int) async throws {
    let run = try await AgentDefinition.playing([
      .init(choices: [.init(answer: .unreachable("refused"))], repeats: failures),
      .init(choices: [.init(answer: .reply(answer("ok")))]),
    ]).run()
    #expect(run.stop.reason == (failures < 3 ? "success" : "model_failure"))
    #expect(run.state.totals.modelCalls == min(failures + 1, 3))
  }

  @Test("a model may stop with success or blocked")
  func modelStops() async throws {
    for reason in ["success", "blocked"] {
      let run = try await AgentDefinition.replying(["stop": .string(reason)]).run()
      #expect(run.stop == (reason, "model"))
    }
  }

  @Test("a question with nobody there blocks the run, which may go on later")
  func nobodyThere() async throws {
    let run = try await AgentDefinition.replying(["question": "which?"]).run()
    #expect(run.stop == ("blocked", "human"))
    #expect(run.state.stop?.isFinal == false)
    #expect(run.state.question == "which?")
  }

  @Test("an answered question goes on in the next step")
  func answered() async throws {
    var agent = AgentDefinition.replying(["question": "which?"], answer("${replies.0}"))
    agent.human = ScriptedPerson(answers: [.init(text: "the blue one", by: "ana")])
    let run = try await agent.run()
    #expect(run.stop == ("success", "final_answer"))
    #expect(run.events.last?.data["answer"] == "the blue one")
    #expect(run.state.question == nil)
  }

  @Test("the limit on steps stops before the step beyond it", arguments: 1...4)
  func maxSteps(limit: Int) async throws {
    var agent = AgentDefinition.playing(
      [.init(choices: [.init(answer: .reply(calls("look 1")))], repeats: 99)])
    agent.limits = Limits(maxSteps: limit)
    let run = try await agent.run()
    #expect(run.stop == ("budget_exhausted", "max_steps"))
    #expect(run.state.steps == limit)
    #expect(run.state.totals.toolCalls == limit)
  }

  @Test("calls beyond the limit on calls are refused, those within it run", arguments: 0...4)
  func maxToolCalls(limit: Int) async throws {
    var agent = AgentDefinition.replying(calls("look 0", "look 1", "look 2"), answer("done"))
    agent.limits = Limits(maxToolCalls: limit)
    let run = try await agent.run()
    #expect(run.stop.reason == (limit < 3 ? "budget_exhausted" : "success"))
    #expect(run.stop.detail == (limit < 3 ? "max_tool_calls" : "final_answer"))
    for index in 0..<3 {
      #expect(run.results()["1.1.\(index)"] == (index < limit ? "ok" : "refused"))
    }
  }

  @Test("tokens and cost are limits too")
  func tokensAndCost() async throws {
    for (limits, detail) in [
      (Limits(maxTokens: 30), "max_tokens"), (Limits(maxCost: 0.03), "max_cost"),
    ] {
      let usage = ModelScript.Usage(inputTokens: 8, outputTokens: 2, cost: 0.01)
      var agent = AgentDefinition.playing([
        .init(choices: [.init(answer: .reply(calls("look 1")), usage: usage)], repeats: 99)
      ])
      agent.limits = limits
      let run = try await agent.run()
      #expect(run.stop == ("budget_exhausted", detail))
      #expect(run.state.steps == 3)
    }
  }

  @Test(
    "money is used up where prices add up to its limit as decimals, whatever doubles leave over")
  func decimalCost() async throws {
    let usage = ModelScript.Usage(inputTokens: 8, outputTokens: 2, cost: 0.1)
    var agent = AgentDefinition.playing([
      .init(choices: [.init(answer: .reply(calls("look 1")), usage: usage)], repeats: 99)
    ])
    agent.limits = Limits(maxCost: 1)
    let run = try await agent.run()
    #expect(run.stop == ("budget_exhausted", "max_cost"))
    #expect(run.state.totals.modelCalls == 10)
    // What is recorded is the sum as it came.
    #expect(run.state.totals.cost == 0.9999999999999999)
  }

  @Test("time is a limit: the call that reaches it is cut off, and the run stops")
  func timeout() async throws {
    let slow = ToolRegistration.tool(
      "look", .read, rules: [.init(outcome: .ok(1), delaySeconds: 3)])
    var agent = AgentDefinition.playing(
      [.init(choices: [.init(answer: .reply(calls("look 1")))], repeats: 99)], tools: [slow])
    agent.limits = Limits(timeoutSeconds: 7)
    let run = try await agent.run()
    #expect(run.stop == ("budget_exhausted", "timeout"))
    #expect(run.results() == ["1.1.0": "ok", "2.1.0": "ok", "3.1.0": "error"])
    #expect((7_000_000..<7_100_000).contains(run.state.elapsedMicroseconds))
  }

  @Test("the third error in a row, in call order, ends the run")
  func toolErrors() async throws {
    let flaky = ToolRegistration.tool(
      "look", .read,
      rules: [
        .init(condition: try Matcher(compiling: ["input": ["n": 0]]), outcome: .ok(1)),
        .init(outcome: .error("no")),
      ])
    for (replies, expected) in [
      ([calls("look 1"), calls("look 2"), calls("look 3")], "tool_failure"),
      ([calls("look 1", "look 2", "look 3")], "tool_failure"),
      ([calls("look 1", "look 2", "look 0"), calls("look 1", "look 2")], "success"),
      ([calls("look 1", "look 0", "look 2"), calls("look 1")], "success"),
    ] {
      let turns = (replies + [answer("done")]).map {
        ModelScript.Turn(choices: [.init(answer: .reply($0))])
      }
      let run = try await AgentDefinition.playing(turns, tools: [flaky]).run()
      #expect(run.stop.reason == expected)
      if expected == "tool_failure" { #expect(run.stop.detail == "tool:look") }
    }
  }

  @Test(
    "behind the last error that may be, no further call of the decision begins, and nothing mends it",
    arguments: 1...4, 1...4)
  func toolErrorsWithinDecision(limit: Int, parallel: Int) async throws {
    let flaky = ToolRegistration.tool(
      "look", .read,
      rules: [
        .init(condition: try Matcher(compiling: ["input": ["n": 0]]), outcome: .ok(1)),
        .init(outcome: .error("no")),
      ])
    var agent = AgentDefinition.replying(
      calls("look 1", "look 2", "look 3", "look 0"), calls("look 0"), answer("done"),
      tools: [flaky])
    agent.failures.maxToolErrors = limit
    agent.parallelCalls = parallel
    let run = try await agent.run()
    let begun = limit > 3 ? 4 : min(4, limit - 1 + parallel)
    for (index, status) in ["error", "error", "error", "ok"].enumerated() {
      #expect(run.results()["1.1.\(index)"] == (index < begun ? status : "refused"))
    }
    #expect(
      run.stop == (limit > 3 ? ("success", "final_answer") : ("tool_failure", "tool:look")))
    for index in run.events.indices {
      let rest = try await agent.goOn(from: run.events[...index])
      #expect(rest.firstDifference(from: run.events[(index + 1)...]) == nil, "event \(index)")
    }
  }

  @Test("behind a failure that ends the run no further call of the decision begins")
  func onErrorStopWithinDecision() async throws {
    let bad = ToolRegistration.tool(
      "bad", .read, onError: .stop, rules: [.init(outcome: .error("no"))])
    var agent = AgentDefinition.replying(
      calls("bad 1", "look 1"), answer("x"), tools: [bad, .read])
    agent.parallelCalls = 1
    let run = try await agent.run()
    #expect(run.results() == ["1.1.0": "error", "1.1.1": "refused"])
    #expect(run.stop == ("tool_failure", "tool:bad"))
  }

  @Test("a tool whose failure ends the run does so at once")
  func onErrorStop() async throws {
    let tool = ToolRegistration.tool(
      "look", .read, onError: .stop, rules: [.init(outcome: .error("no"))])
    let run = try await AgentDefinition.replying(calls("look 1"), answer("x"), tools: [tool]).run()
    #expect(run.stop == ("tool_failure", "tool:look"))
  }

  @Test("a signal cancels the run after the result it came with, and the run may go on later")
  func cancelled() async throws {
    let tool = ToolRegistration.tool(
      "look", .read, rules: [.init(outcome: .ok(1), raises: "SIGTERM")])
    let run = try await AgentDefinition.replying(calls("look 1"), answer("x"), tools: [tool]).run()
    #expect(run.stop == ("cancelled", "signal:SIGTERM"))
    #expect(run.state.stop?.isFinal == false)
    #expect(run.results() == ["1.1.0": "ok"])
  }

  @Test(
    "what a signal came before is left for who goes on, and what it cut off does not end that run")
  func leftBySignal() async throws {
    let tool = ToolRegistration.tool(
      "look", .read, onError: .stop,
      rules: [
        .init(
          condition: try Matcher(compiling: ["input": ["n": ["$lte": 2]]]),
          outcome: .error("cut off"), raises: "SIGTERM"),
        .init(outcome: .ok("here")),
      ])
    var agent = AgentDefinition.replying(
      calls("look 1", "look 2", "look 3", "look 4", "look 5"), answer("x"), tools: [tool])
    agent.parallelCalls = 2
    agent.failures.maxToolErrors = 2
    let run = try await agent.run()
    #expect(run.stop == ("cancelled", "signal:SIGTERM"))
    #expect(run.results() == ["1.1.0": "error", "1.1.1": "error"])
    #expect(
      run.events.allSatisfy { $0.type != .toolResult || $0.data["signal"] == "SIGTERM" })
    #expect(run.events.count { $0.type == .toolStarted } == 2)
    var past = RunPast(for: agent)
    for event in run.events { try past.take(event) }
    let t = run.state.elapsedMicroseconds
    try past.take(
      Event(
        seq: run.events.count, step: 1, type: .runResumed, runId: run.state.runId, t: t,
        data: ["why": "cancelled"]))
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(elapsedMicroseconds: t + 1_000),
      identifiers: SeededRunIDs(seed: 1))
    let sink = InMemoryEventSink()
    let state = try await Runtime(agent: agent, boundary: boundary).goOn(from: past, into: sink)
    let rest = SampleRun(events: sink.events, state: state)
    #expect(rest.stop == ("success", "final_answer"))
    #expect(rest.results() == ["1.1.2": "ok", "1.1.3": "ok", "1.1.4": "ok"])
  }

  @Test("a tool whose own words are those of a signal has failed like any other")
  func wordsOfSignal() async throws {
    for words in ["cancelled by SIGTERM", "not started: cancelled by SIGINT"] {
      var tool = ToolRegistration.tool(
        "look", .read, onError: .stop, rules: [.init(outcome: .error(words))])
      let stopped = try await AgentDefinition.replying(
        calls("look 1"), answer("x"), tools: [tool]
      ).run()
      #expect(stopped.stop == ("tool_failure", "tool:look"))
      tool.onError = .continue
      tool.breaker = BreakerSettings(failures: 2, resetSeconds: 60)
      var agent = AgentDefinition.replying(
        calls("look 1"), calls("look 2"), answer("x"), tools: [tool])
      agent.failures.maxToolErrors = 2
      let run = try await agent.run()
      #expect(run.stop == ("tool_failure", "tool:look"))
      #expect(run.events.contains { $0.type == .breakerChanged })
      #expect(run.events.allSatisfy { $0.data["signal"] == nil })
    }
  }

  @Test("the stop carries the digest of the state before it and the totals")
  func stopDigest() async throws {
    let run = try await AgentDefinition.replying(calls("look 1"), answer("x")).run()
    var state = AgentState()
    for event in run.events.dropLast() { state.apply(event) }
    let last = try #require(run.events.last)
    let stop = try Stop(decoding: last.data)
    #expect(stop.stateDigest == state.digest.hex)
    #expect(stop.totals?.steps == 2)
    #expect(stop.totals?.toolCalls == 1)
  }
}
