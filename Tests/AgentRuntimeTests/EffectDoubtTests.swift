import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching

@Suite("Calls after one whose effect nobody knows")
struct EffectDoubtTests {
  /// A tool that fails the first time, for all that its agent knows after having done its work.
  private static func pay(
    _ sideEffect: SideEffect = .write, idempotent: Bool = false, isEffectUnknown: Bool = true
  ) throws -> ToolRegistration {
    .tool(
      "pay", sideEffect, idempotent: idempotent,
      rules: [
        .init(
          condition: try Matcher(compiling: ["step": 1]),
          outcome: .error("lost", isEffectUnknown: isEffectUnknown)),
        .init(outcome: .ok(["paid": "${input.n}"])),
      ])
  }

  private static func agent(
    _ tool: ToolRegistration, _ replies: JSONValue...
  ) -> AgentDefinition {
    var agent = AgentDefinition.playing(
      (replies + [answer("done")]).map { .init(choices: [.init(answer: .reply($0))]) },
      tools: [tool, .read])
    agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)])
    return agent
  }

  @Test(
    "an equal call is held back, unless the tool only reads, takes keys, or said what it did",
    arguments: [
      (SideEffect.write, false, true, true), (.draft, false, true, true),
      (.read, false, true, false), (.write, true, true, false), (.write, false, false, false),
    ])
  func equalCall(
    sideEffect: SideEffect, idempotent: Bool, isEffectUnknown: Bool, isHeld: Bool
  ) async throws {
    let tool = try Self.pay(sideEffect, idempotent: idempotent, isEffectUnknown: isEffectUnknown)
    let run = try await Self.agent(tool, calls("pay 1"), calls("look 1"), calls("pay 1")).run()
    #expect(run.stop == (isHeld ? ("blocked", "unknown_effect:pay") : ("success", "final_answer")))
    #expect(
      run.events.filter { $0.type == .toolStarted && $0.data["tool"] == "pay" }.count
        == (isHeld ? 1 : 2))
    #expect(run.events.last?.data["final"]?.boolValue == !isHeld)
  }

  @Test(
    "a call that was begun by a tool that writes is not made again because the tool is another now",
    arguments: [(SideEffect.read, false), (.write, true)], [EventType.toolStarted, .toolResult])
  func changedTool(now: (SideEffect, Bool), last: EventType) async throws {
    let whole = try await Self.agent(Self.pay(), calls("pay 1"), calls("pay 1")).run().events
    let place = try #require(whole.firstIndex { $0.type == last })
    let other = Self.agent(
      try Self.pay(now.0, idempotent: now.1), calls("pay 1"), calls("pay 1"))
    for changes in 0...2 {
      var past = Array(whole[...place])
      for change in 0..<changes {
        var resumed = RunResumed(why: "it goes on")
        resumed.agentDigest = "\(change)"
        past.append(
          Event(
            seq: past.count, step: 1, type: .runResumed, runId: past[0].runId, time: past[0].time,
            t: whole[place].t, data: resumed.encoded))
      }
      let rest = try await other.goOn(from: past, Continuation())
      #expect(rest.events.last?.data["detail"] == "unknown_effect:pay")
      #expect(!rest.events.contains { $0.type == .toolStarted || $0.type == .toolResult })
    }
  }

  @Test("what a tool was that the log does not hold is taken from a file that is still the same")
  func untoldTool() async throws {
    let agent = Self.agent(try Self.pay(idempotent: true), calls("pay 1"))
    let whole = try await agent.run().events
    let place = try #require(whole.firstIndex { $0.type == .toolStarted })
    func change(_ past: [Event]) -> Event {
      var resumed = RunResumed(why: "it goes on")
      resumed.agentDigest = "other"
      return Event(
        seq: past.count, step: past.last?.step ?? 0, type: .runResumed, runId: whole[0].runId,
        time: whole[0].time, t: past.last?.t ?? 0, data: resumed.encoded)
    }
    // Started behind a change of files.
    var past = Array(whole[..<place])
    past.append(change(past))
    var start = whole[place]
    start.seq = past.count
    past.append(start)
    let same = try await agent.goOn(from: past, Continuation())
    #expect(same.events.last?.data["reason"] == "success")
    past.append(change(past))
    let another = try await agent.goOn(from: past, Continuation())
    #expect(another.events.last?.data["detail"] == "unknown_effect:pay")
  }

  @Test("a call of another input, and of another tool, goes on", arguments: ["pay 2", "look 1"])
  func otherCall(call: String) async throws {
    let run = try await Self.agent(Self.pay(), calls("pay 1"), calls(call)).run()
    #expect(run.stop == ("success", "final_answer"))
  }

  @Test("what is free beside a call that is held back runs, and what follows on it does not")
  func besides() async throws {
    let run = try await Self.agent(
      Self.pay(), calls("pay 1"), calls("pay 2", "pay 1", "look 1"), calls("pay 3")
    ).run()
    #expect(run.stop == ("blocked", "unknown_effect:pay"))
    #expect(run.results() == ["1.1.0": "error", "2.1.0": "ok", "2.1.2": "ok"])
  }

  @Test("of equal calls of one decision that run one behind the other, the second is held back")
  func sameDecision() async throws {
    var agent = Self.agent(try Self.pay(), calls("pay 1", "pay 1", "look 1"))
    agent.parallelCalls = 1
    let run = try await agent.run()
    #expect(run.stop == ("blocked", "unknown_effect:pay"))
    #expect(run.results() == ["1.1.0": "error", "1.1.2": "ok"])
  }

  @Test("a failure of known effect ends no doubt about an equal call that ran beside it")
  func failureBeside() async throws {
    struct Pay: Tool {
      func run(_ request: ToolRequest) async -> ToolAnswer {
        request.step > 1
          ? ToolAnswer(result: .ok(data: "paid"))
          : ToolAnswer(result: .error("failed", isEffectUnknown: request.callId == "1.1.0"))
      }
    }
    var agent = Self.agent(
      ToolRegistration(
        definition: ToolDefinition(name: "pay", sideEffect: .write), implementation: .tool(Pay())),
      calls("pay 1", "pay 1"), calls("pay 1"))
    agent.parallelCalls = 2
    let run = try await agent.run()
    #expect(run.stop == ("blocked", "unknown_effect:pay"))
    #expect(run.results() == ["1.1.0": "error", "1.1.1": "error"])
  }

  @Test("whatever event the run goes on from, it is held back the same")
  func anyEvent() async throws {
    var agent = Self.agent(
      try Self.pay(), calls("pay 1", "pay 1", "look 1"), calls("pay 1"))
    for parallel in [1, 4] {
      agent.parallelCalls = parallel
      let whole = try await agent.run().events
      #expect(whole.last?.data["detail"] == "unknown_effect:pay")
      for index in whole.indices {
        let rest = try await agent.goOn(from: whole[...index])
        #expect(
          rest.firstDifference(from: whole[(index + 1)...]) == nil, "event \(index), \(parallel)")
      }
    }
  }

  // MARK: Attempts

  /// A tool that takes keys and is called again until it succeeds or has no more answers, from the first attempt on.
  private struct Trying: Tool {
    var answers: [ToolAnswer]

    func run(_ request: ToolRequest) async -> ToolAnswer {
      answers.indices.contains(request.attempt - 1)
        ? answers[request.attempt - 1] : ToolAnswer(result: .ok(data: "paid"))
    }
  }

  private static func failed(unknown: Bool, saysNoEffect: Bool = false) -> ToolAnswer {
    var answer = ToolAnswer(result: .error("failed", isEffectUnknown: unknown))
    answer.saysNoEffect = saysNoEffect
    return answer
  }

  private static func trying(_ answers: [ToolAnswer], maxAttempts: Int) -> AgentDefinition {
    agent(
      ToolRegistration(
        definition: ToolDefinition(name: "pay", sideEffect: .write, idempotent: true),
        implementation: .tool(Trying(answers: answers)), onError: .retry, maxAttempts: maxAttempts),
      calls("pay 1"))
  }

  @Test(
    "an effect that an attempt left unknown stays so until another succeeds, from any event on",
    arguments: [
      ([true, false], 2, true), ([false, true, false], 3, true), ([false, true], 2, true),
      ([false, false], 2, false), ([true, false], 3, false),
    ])
  func laterAttempt(unknown: [Bool], maxAttempts: Int, isUnknown: Bool) async throws {
    let agent = Self.trying(unknown.map { Self.failed(unknown: $0) }, maxAttempts: maxAttempts)
    let whole = try await agent.run().events
    let result = try #require(whole.first { $0.type == .toolResult })
    #expect((result.data["effect"] == "unknown") == isUnknown)
    #expect(result.data["attempts"]?.intValue == maxAttempts)
    let told = whole.filter { $0.type == .toolStarted }.map { $0.data["earlierEffect"] }
    #expect(told.map { $0 == "unknown" } == told.indices.map { unknown.prefix($0).contains(true) })
    for index in whole.indices {
      let rest = try await agent.goOn(from: whole[...index])
      #expect(rest.firstDifference(from: whole[(index + 1)...]) == nil, "event \(index)")
    }
  }

  @Test("a tool that says itself that nothing was done ends the doubt about its earlier attempts")
  func ownWord() async throws {
    let agent = Self.trying(
      [
        Self.failed(unknown: true), Self.failed(unknown: false, saysNoEffect: true),
        Self.failed(unknown: false),
      ], maxAttempts: 3)
    let run = try await agent.run()
    let starts = run.events.filter { $0.type == .toolStarted }
    #expect(starts.map { $0.data["earlierEffect"] } == [nil, "unknown", nil])
    #expect(run.events.first { $0.type == .toolResult }?.data["effect"] == nil)
  }

  @Test(
    "what a call did that its process died under stays unknown until it succeeds",
    arguments: [(1, true), (2, false)])
  func leftOpen(maxAttempts: Int, isUnknown: Bool) async throws {
    let agent = Self.trying([Self.failed(unknown: false)], maxAttempts: maxAttempts)
    let whole = try await agent.run().events
    let place = try #require(whole.firstIndex { $0.type == .toolStarted })
    let resumed = Event(
      seq: place + 1, step: 1, type: .runResumed, runId: whole[0].runId, time: whole[0].time,
      t: whole[place].t, data: RunResumed(why: "its process had died").encoded)
    let rest = try await agent.goOn(from: Array(whole[...place]) + [resumed], Continuation())
    let result = try #require(rest.events.first { $0.type == .toolResult })
    #expect((result.data["effect"] == "unknown") == isUnknown)
    let later = rest.events.filter { $0.type == .toolStarted }
    #expect(later.count == maxAttempts - 1)
    #expect(later.allSatisfy { $0.data["earlierEffect"] == "unknown" })
  }

  @Test(
    "a machine on which no tool can run ends the run with that error, and what has ended is recorded"
  )
  func machineFault() async throws {
    struct Broken: Tool {
      func run(_ request: ToolRequest) async -> ToolAnswer {
        var answer = ToolAnswer(result: .error("not started: too few"))
        answer.machineFault = "too few"
        return answer
      }
    }
    let tool = ToolRegistration(
      definition: ToolDefinition(name: "pay"), implementation: .tool(Broken()))
    var agent = Self.agent(tool, calls("pay", "pay", "look 1"))
    agent.parallelCalls = 2
    let sink = InMemoryEventSink()
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1),
      cancellation: Cancellation(), raise: { _ in })
    let runtime = try Runtime(agent: agent, boundary: boundary)
    await #expect(throws: MachineFault(description: "too few")) {
      _ = try await runtime.run(goal: "do it", into: sink)
    }
    let results = sink.events.filter { $0.type == .toolResult }
    #expect(results.map { $0.data["reason"] } == ["not started: too few", "not started: too few"])
    #expect(results.allSatisfy { $0.data["effect"] == nil })
    #expect(!sink.events.contains { $0.type == .stop })
  }
}
