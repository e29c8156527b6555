import AgentRuntime
import AgentTrace
import Testing
import TraceMatching

@Suite("The policy gate")
struct PolicyTests {
  @Test("without a rule, reading and drafting are allowed and writing needs approval")
  func defaults() async throws {
    let run = try await AgentDefinition.replying(calls("look 1", "sketch 2", "pay 3")).run()
    let verdicts = run.events.filter { $0.type == .policyDecision }.map { $0.data["status"] }
    #expect(verdicts == ["allow", "allow", "approval_required"])
    #expect(run.stop == ("approval_required", "tool:pay"))
    #expect(run.results() == ["1.1.0": "ok", "1.1.1": "ok"])
    #expect(run.state.pendingCalls.map(\.callId) == ["1.1.2"])
    #expect(run.state.stop?.isFinal == false)
  }

  @Test("all verdicts of a decision stand before any of its calls runs")
  func verdictsFirst() async throws {
    let run = try await AgentDefinition.replying(calls("look 1", "look 2"), answer("x")).run()
    #expect(
      run.outline.prefix(5) == [
        "decision tool", "policy_decision 1.1.0 allow", "policy_decision 1.1.1 allow",
        "tool_started 1.1.0", "tool_started 1.1.1",
      ])
  }

  @Test("the first rule that matches decides", arguments: ["guest-7", "staff-1", nil])
  func firstMatch(actor: String?) async throws {
    var agent = AgentDefinition.replying(calls("pay 1"), answer("x"))
    agent.policyContext = PolicyContext(actorId: actor, route: "billing")
    agent.policy = Policy(rules: [
      .init(id: "other", tools: [try Glob("look*")], verdict: .deny),
      .init(id: "guests", sideEffects: [.write], actors: [try Glob("guest-*")], verdict: .deny),
      .init(id: "billing", routes: [try Glob("bill*")], verdict: .allow),
    ])
    let run = try await agent.run()
    let verdict = try #require(run.events.first { $0.type == .policyDecision })
    #expect(verdict.data["ruleId"] == (actor == "guest-7" ? "guests" : "billing"))
    #expect(run.results() == ["1.1.0": actor == "guest-7" ? "refused" : "ok"])
  }

  @Test("a denied call is refused and the model is told; the third ends the run")
  func denials() async throws {
    var agent = AgentDefinition.playing(
      [.init(choices: [.init(answer: .reply(calls("look 1", "pay 2")))], repeats: 9)])
    agent.policy = Policy(rules: [
      .init(id: "never", tools: [try Glob("pay")], verdict: .deny, reason: "payments are closed")
    ])
    let run = try await agent.run()
    #expect(run.stop == ("policy_denied", "max_denials"))
    #expect(run.state.totals.toolCalls == 2)
    #expect(run.results()["3.1.0"] == "refused")
    let second = try ContextPacket(decoding: run.events.filter { $0.type == .contextBuilt }[1].data)
    #expect(JSONValue.array(second.messages).description.contains("payments are closed"))
  }

  @Test("a rule whose denial stops the run lets no call of the decision run, and outranks a pause")
  func denialStops() async throws {
    var agent = AgentDefinition.replying(calls("look 1", "pay 2", "sketch 3"))
    agent.policy = Policy(rules: [
      .init(id: "no-sketch", tools: [try Glob("sketch")], verdict: .deny, onDeny: .stop)
    ])
    let run = try await agent.run()
    #expect(run.stop == ("policy_denied", "rule:no-sketch"))
    #expect(!run.events.contains { $0.type == .toolStarted })
    #expect(Set(run.results().values) == ["refused"])
  }

  @Test("a person's yes opens the gate for that very call, or for that action; a no refuses it")
  func approvals() async throws {
    for (granted, scope) in [(true, .once), (true, .input), (false, .once)]
      as [(Bool, ApprovalScope)]
    {
      var agent = AgentDefinition.replying(calls("pay 1", "look 2"), calls("pay 1", "pay 3"))
      agent.human = ScriptedPerson(approvals: [
        .init(input: try Matcher(compiling: ["n": 1]), granted: granted, by: "ana", scope: scope)
      ])
      let run = try await agent.run()
      #expect(run.results()["1.1.0"] == (granted ? "ok" : "refused"))
      #expect(run.stop == ("approval_required", "tool:pay"))
      // Approved for the run, the same action is allowed again; another input is another action.
      let again = run.events.filter { $0.type == .policyDecision && $0.step == 2 }
      #expect(again.first?.data["status"] == (scope == .input ? "allow" : "approval_required"))
      #expect(run.state.pendingCalls.last?.callId == "2.1.1")
    }
  }

  @Test("the calls that need nobody run before anybody is asked")
  func allowedFirst() async throws {
    var agent = AgentDefinition.replying(calls("pay 1", "look 2"), answer("x"))
    agent.human = ScriptedPerson(approvals: [.init(granted: true, by: "ana")])
    let run = try await agent.run()
    #expect(
      run.outline == [
        "decision tool", "policy_decision 1.1.0 approval_required", "policy_decision 1.1.1 allow",
        "tool_started 1.1.1", "tool_result 1.1.1 ok", "approval 1.1.0",
        "policy_decision 1.1.0 allow", "tool_started 1.1.0", "tool_result 1.1.0 ok",
        "decision answer", "stop",
      ])
  }
}
