import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching

@Suite("What a policy knows of earlier calls")
struct PolicyHistoryTests {
  /// Decisions of one call each, all of them run, folded into what a policy keeps.
  private struct Past {
    var history: PolicyHistory
    var seq = 0

    mutating func take(_ payload: EventPayload, t: Int = 0) {
      history.take(
        Event(seq: seq, step: 1, type: payload.type, runId: "r", t: t, data: payload.encoded))
      seq += 1
    }

    mutating func run(
      _ tool: String, _ input: JSONValue = [:], _ result: ToolResult = .ok(data: [:]), t: Int = 0
    ) {
      let callId = "\(seq).1.0"
      take(
        .decision(DecisionPayload(.tool([.init(callId: callId, name: tool, input: input)]))), t: t)
      take(
        .policyDecision(Verdict(callId: callId, tool: tool, status: .allow, reason: "")), t: t)
      take(
        .toolStarted(
          ToolStartedPayload(callId: callId, tool: tool, attempt: 1, idempotencyKey: "")), t: t)
      take(.toolResult(ToolResultPayload(callId: callId, tool: tool, result: result)), t: t)
    }
  }

  private static func says(
    _ rule: Policy.Rule, behind past: Past, about call: ProposedCall, t: Int = 0
  ) -> String {
    let verdict = PolicyGate(Policy(rules: [rule])).ruleCheck(
      on: call, tool: ToolDefinition(name: call.name, sideEffect: .read),
      at: PolicyGate.KnownState(run: PolicyContext(), t: t, history: past.history)
    ).verdict
    return verdict.ruleId == nil
      ? "no" : verdict.context["notKnown"] == nil ? "yes" : "not known"
  }

  private static let call = ProposedCall(callId: "x", name: "pay", input: ["n": 1])

  @Test(
    "calls of a decision that were allowed and have yet to begin are none of those that are left")
  func remainingCalls() throws {
    var rule = Policy.Rule(id: "reserve", verdict: .allow)
    rule.remaining = [.init(.calls, try Matcher(compiling: ["$gte": 2]))]
    let policy = Policy(rules: [rule, Policy.Rule(id: "no", verdict: .deny)])
    let calls = (0..<3).map { ProposedCall(callId: "1.1.\($0)", name: "pay", input: [:]) }
    var past = Past(history: PolicyHistory(for: policy))
    past.take(.decision(DecisionPayload(.tool(calls))))
    var rules: [String?] = []
    for call in calls {
      let moment = PolicyGate.KnownState(
        run: PolicyContext(), limits: Limits(maxToolCalls: 3), state: AgentState(),
        history: past.history)
      let verdict = PolicyGate(policy).ruleCheck(
        on: call, tool: ToolDefinition(name: "pay"), at: moment
      ).verdict
      past.take(.policyDecision(verdict))
      rules.append(verdict.ruleId)
    }
    #expect(rules == ["reserve", "reserve", "no"])
  }

  @Test("of hostile numbers of calls the memory is bounded, and what is forgotten is not known")
  func bounds() throws {
    func rule(_ past: Policy.PastCalls) -> Policy.Rule {
      var rule = Policy.Rule(id: "r", verdict: .deny)
      rule.calls = [past]
      return rule
    }
    let total = 30_000
    let plain = rule(.init(tool: try Glob("pay"), statuses: [.ok], times: total...total))
    let matched = rule(
      .init(
        tool: try Glob("pay"), input: try Matcher(compiling: ["n": 1]), times: total...total))
    let newest = rule(.init(tool: try Glob("pay"), withinSeconds: 1))
    let long = rule(.init(tool: try Glob("pay"), times: 20_000...Int.max, withinSeconds: 25_000))
    var past = Past(history: PolicyHistory(for: Policy(rules: [plain, matched, newest])))
    for number in 0..<total { past.run("pay", ["n": 1], t: number * 1_000_000) }
    let now = total * 1_000_000
    // Numbers are known for ever, what a matcher must see is not.
    #expect(Self.says(plain, behind: past, about: Self.call, t: now) == "yes")
    #expect(Self.says(matched, behind: past, about: Self.call, t: now) == "not known")
    #expect(Self.says(newest, behind: past, about: Self.call, t: now) == "yes")
    #expect(Self.says(newest, behind: past, about: Self.call, t: now + 2_000_000) == "no")
    #expect(Self.says(long, behind: past, about: Self.call, t: now) == "not known")
    let kept = Mirror(reflecting: past.history).descendant("kept") as? Int ?? .max
    #expect(kept <= PolicyHistory.callLimit && kept >= PolicyHistory.callLimit / 2)
  }

  @Test("of hostile sizes of inputs and results the memory is bounded too")
  func sizes() throws {
    var rule = Policy.Rule(id: "r", verdict: .deny)
    rule.calls = [
      .init(tool: try Glob("*"), result: try Matcher(compiling: ["never": true]))
    ]
    var past = Past(history: PolicyHistory(for: Policy(rules: [rule])))
    for number in 0..<200 {
      past.run(
        "pay", ["n": 1], .ok(data: .string(String(repeating: "x", count: 1 << 20 - number))))
    }
    let kept = Mirror(reflecting: past.history).descendant("bytes") as? Int ?? .max
    #expect(kept <= PolicyHistory.byteLimit)
    #expect(Self.says(rule, behind: past, about: Self.call) == "not known")
    for number in 0..<3_000 { past.run("tool \(number)") }
    let tools = Mirror(reflecting: past.history).descendant("past") as? [Any] ?? []
    #expect(tools.count == PolicyHistory.toolLimit)
  }

  @Test("names that Unicode takes for the same are other tools where their bytes differ")
  func bytes() throws {
    var rule = Policy.Rule(id: "r", verdict: .deny)
    rule.calls = [.init(tool: try Glob("caf\u{e9}"))]
    var past = Past(history: PolicyHistory(for: Policy(rules: [rule])))
    past.run("cafe\u{301}")
    #expect(Self.says(rule, behind: past, about: Self.call) == "no")
    past.run("caf\u{e9}")
    #expect(Self.says(rule, behind: past, about: Self.call) == "yes")
  }

  @Test(
    "where only what models are told is seen, a call that may have run counts, and what came of it is learned late"
  )
  func hidden() throws {
    var once = Policy.Rule(id: "once", verdict: .deny)
    once.calls = [.init(tool: try Glob("pay"))]
    var after = Policy.Rule(id: "after", verdict: .deny)
    after.after = [.init(tool: try Glob("look"), statuses: [.ok])]
    var past = Past(history: PolicyHistory(for: Policy(rules: [once, after])))
    past.history.take(
      Event(
        seq: 0, step: 0, type: .runStarted, runId: "r", t: 0,
        data: ["recorded": ["tools": "partial"]]))
    func propose(_ callId: String, _ tool: String, _ status: VerdictStatus) {
      past.take(
        .decision(DecisionPayload(.tool([.init(callId: callId, name: tool, input: [:])]))))
      past.take(
        .policyDecision(Verdict(callId: callId, tool: tool, status: status, reason: "")))
    }
    func end(_ callId: String, _ tool: String, _ result: ToolResult) {
      past.take(.toolResult(ToolResultPayload(callId: callId, tool: tool, result: result)))
    }
    propose("1", "pay", .deny)
    #expect(Self.says(once, behind: past, about: Self.call) == "no")
    propose("2", "look", .allow)
    #expect(Self.says(once, behind: past, about: Self.call) == "no")
    propose("3", "pay", .allow)
    #expect(Self.says(once, behind: past, about: Self.call) == "yes")
    #expect(Self.says(after, behind: past, about: Self.call) == "not known")
    propose("4", "pay", .approvalRequired)
    #expect(Self.says(once, behind: past, about: Self.call) == "not known")
    // Others have decided meanwhile.
    end("2", "look", .ok(data: [:]))
    end("3", "pay", .refused(reason: "no"))
    #expect(Self.says(after, behind: past, about: Self.call) == "yes")
    #expect(Self.says(once, behind: past, about: Self.call) == "no")
    propose("5", "look", .allow)
    let waiting = ProposedCall(callId: "4", name: "pay", input: [:])
    #expect(Self.says(once, behind: past, about: waiting) == "no")
    #expect(Self.says(once, behind: past, about: Self.call) == "not known")
  }

  @Test("events whose data are not what their type promises say nothing, and nothing breaks")
  func damage() throws {
    var rule = Policy.Rule(id: "r", verdict: .deny)
    rule.calls = [.init(tool: try Glob("*"))]
    var history = PolicyHistory(for: Policy(rules: [rule]))
    var random = SeededGenerator(seed: 3)
    for _ in 0..<2_000 {
      let type = PolicyHistory.types.sorted { $0.rawValue < $1.rawValue }.randomElement(
        using: &random)
      let values: [JSONValue] = [[], [:], 1, "1.1.0", .null, [[:]], ["kind": "tool"], .lost("x")]
      var data: JSONObject = [:]
      for key in ["callId", "kind", "calls", "status", "caller", "recorded", "data", "tool"] {
        data[key] = values.randomElement(using: &random)
      }
      history.take(
        Event(
          seq: -1, step: 0, type: type ?? .decision, runId: "",
          t: [Int.min, -1, 0, Int.max].randomElement(using: &random) ?? 0, data: data))
    }
    let moment = PolicyGate.KnownState(run: PolicyContext(), t: .max, history: history)
    _ = PolicyGate(Policy(rules: [rule])).ruleCheck(
      on: Self.call, tool: ToolDefinition(name: "pay"), at: moment)
  }

  @Test("at most one holds inside one decision, and behind an approval")
  func parallel() async throws {
    var once = Policy.Rule(id: "once", tools: [try Glob("pay")], verdict: .deny)
    once.calls = [.init(tool: try Glob("pay"))]
    var agent = AgentDefinition.replying(calls("pay 1", "pay 2", "pay 3"), answer("x"))
    agent.policy = Policy(rules: [once, .init(id: "free", verdict: .allow)])
    #expect(
      try await agent.run().results() == ["1.1.0": "ok", "1.1.1": "refused", "1.1.2": "refused"])
    // Both wait for a person, who grants both: the second finds the first done.
    agent.policy.rules[1].verdict = .approvalRequired
    agent.human = ScriptedPerson(approvals: [.init(granted: true, by: "ana")])
    #expect(
      try await agent.run().results() == ["1.1.0": "ok", "1.1.1": "refused", "1.1.2": "refused"])
    agent.human = ScriptedPerson(approvals: [
      .init(input: try Matcher(compiling: ["n": 1]), granted: false, by: "ana"),
      .init(granted: true, by: "ana"),
    ])
    #expect(
      try await agent.run().results() == ["1.1.0": "refused", "1.1.1": "ok", "1.1.2": "refused"])
  }

  @Test(
    "a call in the same decision is no call before, and a lookup of another thing is none either")
  func order() async throws {
    var rule = Policy.Rule(id: "look first", tools: [try Glob("pay")], verdict: .deny)
    rule.notAfter = [
      .init(
        tool: try Glob("look"),
        input: try Matcher(compiling: ["n": ["$from": ["path": "/n"]]], origins: .ownInput),
        statuses: [.ok])
    ]
    var agent = AgentDefinition.replying(
      calls("look 1", "pay 1"), calls("pay 1", "pay 2"), answer("x"))
    agent.policy = Policy(rules: [rule, .init(id: "free", verdict: .allow)])
    let results = try await agent.run().results()
    #expect(results == ["1.1.0": "ok", "1.1.1": "refused", "2.1.0": "ok", "2.1.1": "refused"])
  }

  @Test("an approval covers one call: the next one waits again, of the same input and of another")
  func approved() async throws {
    var rule = Policy.Rule(id: "approved", tools: [try Glob("pay")], verdict: .allow)
    rule.approved = true
    var agent = AgentDefinition.replying(calls("pay 1"), calls("pay 1", "pay 2"))
    agent.policy = Policy(rules: [rule])
    agent.human = ScriptedPerson(approvals: [
      .init(input: try Matcher(compiling: ["n": 1]), granted: true, by: "ana")
    ])
    let run = try await agent.run()
    let verdicts = run.events.filter { $0.type == .policyDecision }
    #expect(verdicts.map { $0.data["ruleId"] } == [nil, "approved", nil, nil, "approved"])
    #expect(run.stop == ("approval_required", "tool:pay"))
  }

  @Test(
    "a redacted value fails towards safety: what allows is passed over, what denies denies",
    arguments: [
      (VerdictStatus.allow, "n", VerdictStatus.approvalRequired), (.deny, "n", .deny),
      (.approvalRequired, "n", .approvalRequired), (.allow, "m", .approvalRequired),
    ])
  func redacted(verdict: VerdictStatus, key: String, expected: VerdictStatus) throws {
    var rule = Policy.Rule(id: "r", verdict: verdict)
    rule.input = try Matcher(compiling: .object(JSONObject([(key, .object(["$lte": 5]))])))
    let call = ProposedCall(
      callId: "1", name: "pay", input: ["n": "«redacted:amount:0a1b»", "m": 6])
    let found = PolicyGate(Policy(rules: [rule])).ruleCheck(
      on: call, tool: ToolDefinition(name: "pay", sideEffect: .write),
      at: PolicyGate.KnownState(run: PolicyContext())
    ).verdict
    #expect(found.status == expected)
    #expect(found.context["notKnown"] == (found.ruleId == nil ? nil : ["input"]))
    // A rule behind it that denies is what may be meant, too.
    let strict = PolicyGate(Policy(rules: [rule, .init(id: "no", verdict: .deny)])).ruleCheck(
      on: call, tool: ToolDefinition(name: "pay", sideEffect: .write),
      at: PolicyGate.KnownState(run: PolicyContext())
    ).verdict
    #expect(strict.status == .deny)
  }
}
