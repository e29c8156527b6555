import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching

@Suite("What one approval lets run")
struct ApprovalTests {
  /// An agent that sends these replies, with a person who says yes to each call in these ways, in order.
  private static func agent(
    _ replies: [JSONValue], _ scopes: [ApprovalScope], policy: Policy = Policy(),
    tools: [ToolRegistration] = [.read, .draft, .write]
  ) -> AgentDefinition {
    var agent = AgentDefinition.playing(
      replies.map { .init(choices: [.init(answer: .reply($0))]) }, tools: tools)
    agent.policy = policy
    agent.human = ScriptedPerson(
      turns: scopes.map { .approves(true, by: "ana", reason: nil, scope: $0) })
    return agent
  }

  private static func started(_ run: SampleRun) -> [String] {
    run.events.filter { $0.type == .toolStarted }.compactMap { $0.data["callId"]?.stringValue }
  }

  @Test(
    "the same call proposed again is asked about again, unless the person said more",
    arguments: [
      ([.once], 1), ([.once, .once], 2), ([.once, .once, .once, .once], 4), ([.calls(2)], 2),
      ([.calls(3)], 3), ([.calls(2), .once], 3), ([.input], 4), ([.once, .input], 4),
    ] as [([ApprovalScope], Int)])
  func proposedAgain(scopes: [ApprovalScope], count: Int) async throws {
    let run = try await Self.agent(
      Array(repeating: calls("pay 1"), count: 4) + [answer("x")], scopes
    ).run()
    #expect(Self.started(run).count == count)
    #expect(
      run.stop == (count == 4 ? ("success", "final_answer") : ("approval_required", "tool:pay")))
    let asked = run.events.count { $0.type == .approval }
    #expect(asked == scopes.count)
    for approval in run.events where approval.type == .approval {
      #expect(approval.data["scope"] != nil)
    }
    if !scopes.contains(.input) { #expect(run.state.approvals.isEmpty) }
  }

  @Test("an approval is of its tool and input alone")
  func otherInput() async throws {
    let run = try await Self.agent(
      [calls("pay 1"), calls("pay 2"), answer("x")], [.calls(9)]
    ).run()
    #expect(Self.started(run) == ["1.1.0"] && run.stop.reason == "approval_required")
    #expect(run.state.approvedActionIds.count == 1)
  }

  @Test("of equal calls in one decision no more are let through than an approval covers")
  func together() async throws {
    let run = try await Self.agent(
      [calls("pay 1"), calls("pay 1", "pay 1", "pay 1", "pay 1"), answer("x")], [.calls(3)]
    ).run()
    #expect(Self.started(run) == ["1.1.0", "2.1.0", "2.1.1"])
    let statuses = run.events.filter { $0.type == .policyDecision && $0.step == 2 }
      .map { $0.data["status"]?.stringValue ?? "" }
    #expect(statuses == ["allow", "allow", "approval_required", "approval_required"])
  }

  @Test("equal calls that wait side by side are asked about one by one")
  func sideBySide() async throws {
    let run = try await Self.agent(
      [calls("pay 1", "pay 1"), answer("x")], [.once, .once]
    ).run()
    #expect(Self.started(run) == ["1.1.0", "1.1.1"] && run.stop.reason == "success")
    let paused = try await Self.agent([calls("pay 1", "pay 1"), answer("x")], [.once]).run()
    #expect(Self.started(paused) == ["1.1.0"] && paused.stop.reason == "approval_required")
  }

  @Test("further attempts of a call spend nothing more")
  func attempts() async throws {
    var tool = ToolRegistration.tool(
      "pay", .write, idempotent: true,
      rules: [
        .init(
          condition: try Matcher(compiling: ["attempt": ["$lte": 2]]), outcome: .error("busy")),
        .init(outcome: .ok(1)),
      ])
    tool.retry = RetrySettings(maxAttempts: 3)
    let run = try await Self.agent(
      [calls("pay 1"), calls("pay 1"), answer("x")], [.calls(2)], tools: [tool]
    ).run()
    #expect(Self.started(run) == ["1.1.0", "1.1.0", "1.1.0", "2.1.0", "2.1.0", "2.1.0"])
    #expect(run.stop.reason == "success" && run.state.approvals.isEmpty)
  }

  @Test("“approved: true” means an approval that is not used up")
  func condition() async throws {
    var approved = Policy.Rule(id: "approved", tools: [try Glob("pay")], verdict: .allow)
    approved.approved = true
    let ask = Policy.Rule(id: "ask", tools: [try Glob("pay")], verdict: .approvalRequired)
    let run = try await Self.agent(
      [calls("pay 1"), calls("pay 1"), answer("x")], [.once],
      policy: Policy(rules: [approved, ask])
    ).run()
    let rules = run.events.filter { $0.type == .policyDecision }
      .map { $0.data["ruleId"]?.stringValue ?? "" }
    #expect(rules == ["ask", "approved", "ask"] && Self.started(run).count == 1)
  }

  @Test("an approval of a call that was refused after all has lapsed")
  func refused() async throws {
    var agent = Self.agent([calls("pay 1"), calls("pay 1"), answer("x")], [.once])
    agent.limits.maxToolCalls = 0
    let run = try await agent.run()
    #expect(Self.started(run).isEmpty && run.state.approvals.isEmpty)
    #expect(run.stop == ("budget_exhausted", "max_tool_calls"))
  }

  // MARK: Until

  /// Says yes until a time.
  private struct Until: Person {
    var time: String
    func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
      request.number == 1
        ? ApprovalAnswer(granted: true, by: "ana", scope: .input, until: time) : nil
    }
    func answer(_ request: QuestionRequest) async -> PersonAnswer? { nil }
  }

  @Test(
    "an approval runs out by the clock of whoever asks the gate, and the verdict says what was found",
    arguments: [
      ("2025-12-31T23:59:59Z", 0), ("2026-01-01T00:00:01Z", 1), ("2026-01-01T01:00:01+01:00", 1),
      ("2026-01-01T00:01:00Z", 2), ("soon", 0),
    ])
  func until(time: String, count: Int) async throws {
    let slow = ToolRegistration.tool(
      "pay", .write, rules: [.init(outcome: .ok(1), delaySeconds: 30)])
    var agent = Self.agent([calls("pay 1"), calls("pay 1"), answer("x")], [], tools: [slow])
    agent.human = nil
    let sink = InMemoryEventSink()
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1), person: Until(time: time)
    )
    let state = try await Runtime(agent: agent, boundary: boundary).run(goal: "x", into: sink)
    #expect(sink.events.count { $0.type == .toolStarted } == count)
    let found = sink.events.filter { $0.type == .policyDecision }.map {
      $0.data["context"]?["approval"]
    }
    let good: JSONValue = ["callId": "1.1.0", "until": .string(time)]
    let over: JSONValue = ["callId": "1.1.0", "until": .string(time), "expired": true]
    #expect(
      found
        == (count == 0 ? [nil, over, over] : count == 1 ? [nil, good, over] : [nil, good, good]))
    #expect(state.stop?.reason == (count == 2 ? "success" : "approval_required"))
    // What was ruled by the clock then is what the event's own time says.
    for event in sink.events where event.type == .policyDecision {
      guard let approval = event.data["context"]?["approval"],
        let end = UTC.microsecondsSince1970(time),
        let now = event.time.flatMap(UTC.microsecondsSince1970)
      else { continue }
      #expect((end <= now) == (approval["expired"] == true))
    }
  }

  @Test("times as people write them are read, and nothing else")
  func times() {
    for (text, microseconds) in [
      ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00Z", 0),
      ("1970-01-02T00:00:00.5Z", 86_400_500_000),
      ("2026-01-01T00:00:00.000000Z", 1_767_225_600_000_000),
      ("2026-01-01T01:30:00+01:30", 1_767_225_600_000_000),
      ("2025-12-31T19:00:00.0000009-05:00", 1_767_225_600_000_000),
      ("2024-02-29T00:00:00Z", 1_709_164_800_000_000),
    ] {
      #expect(UTC.microsecondsSince1970(text) == microseconds, "\(text)")
    }
    var generator = Seeded(seed: 3)
    for _ in 0..<2_000 {
      let moment = Int.random(in: 0...4_000_000_000_000_000, using: &generator)
      #expect(UTC.microsecondsSince1970(UTC.text(microsecondsSince1970: moment)) == moment)
    }
    for text in [
      "", "now", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z",
      "2026-02-29T00:00:00Z",
      "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:00Zx",
      "2026-01-01T00:00:00.Z",
      "2026-01-01T00:00:00+1:00", "2026-01-01T00:00:00+25:00", " 2026-01-01T00:00:00Z",
      "２026-01-01T00:00:00Z", "2026-01-01T00:00:00." + String(repeating: "1", count: 80) + "Z",
    ] {
      #expect(UTC.microsecondsSince1970(text) == nil, "\(text)")
    }
  }

  @Test(
    "what is said to a call at a terminal covers it once, or this input for the run",
    arguments: [
      ("y", true, ApprovalScope.once), ("Yes: fine", true, .once), ("always", true, .input),
      ("a, it is mine", true, .input), ("n", false, .once),
    ])
  func spoken(line: String, granted: Bool, scope: ApprovalScope) {
    let word = SpokenApproval(line, takesAlways: true)
    #expect(word?.granted == granted && word?.scope == scope)
    #expect((SpokenApproval(line) == nil) == (scope == .input))
  }
}
