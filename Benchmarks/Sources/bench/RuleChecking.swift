import AgentRuntime
import AgentTrace
import TraceMatching

/// Verdicts on many calls of one long run, under a policy of 100 rules of all kinds.
enum RuleChecking {
  static let calls = 20_000
  static let tools = (0..<20).map { "tool_\($0)" }

  /// Four calls a decision, each with a verdict, a start and a result that are folded in.
  static func rule() throws {
    let policy = try policy()
    let gate = PolicyGate(policy)
    var history = PolicyHistory(for: policy)
    var verdicts = [0, 0, 0]
    for step in 1...(calls / 4) {
      let proposed = (0..<4).map { call(step * 4 + $0, step: step) }
      let t = step * 250_000
      func take(_ payload: EventPayload) {
        history.take(
          Event(
            seq: 0, step: step, type: payload.type, runId: "r", t: t, data: payload.encoded))
      }
      take(.decision(DecisionPayload(.tool(proposed))))
      var allowed: [ProposedCall] = []
      for call in proposed {
        let tool = ToolDefinition(name: call.name, sideEffect: .write)
        let moment = PolicyGate.KnownState(
          run: PolicyContext(
            actorId: "ana", tenantId: "acme", route: "support", attributes: ["tier": "gold"]),
          t: t, history: history)
        let verdict = gate.ruleCheck(on: call, tool: tool, at: moment).verdict
        verdicts[VerdictStatus.allCases.firstIndex(of: verdict.status) ?? 0] += 1
        if verdict.status == .allow { allowed.append(call) }
        take(.policyDecision(verdict))
      }
      for call in allowed {
        take(
          .toolStarted(
            ToolStartedPayload(
              callId: call.callId, tool: call.name, attempt: 1, idempotencyKey: "")))
        take(
          .toolResult(
            ToolResultPayload(
              callId: call.callId, tool: call.name, result: .ok(data: ["orderId": "1"]))))
      }
    }
    print(verdicts.map(String.init).joined(separator: " "))
  }

  /// The floor: what each call's approval would cover, SHA-256 of its canonical tool and input.
  static func digestActions() {
    var bytes = 0
    for number in 4..<(calls + 4) { bytes += call(number, step: number / 4).actionId.utf8.count }
    print(bytes)
  }

  private static func call(_ number: Int, step: Int) -> ProposedCall {
    ProposedCall(
      callId: "\(step).1.\(number % 4)", name: tools[number % tools.count],
      input: [
        "orderId": .string("order-\(number % 50)"), "amount": JSONValue(number % 200),
        "note": "as the customer asked on the telephone this morning",
      ])
  }

  /// Five rules for each tool: none of the first four fits most calls, so that all are looked at.
  private static func policy() throws -> Policy {
    var rules: [Policy.Rule] = []
    for name in tools {
      let tool = try Glob(name)
      rules.append(
        .init(id: "\(name)-guests", tools: [tool], actors: [try Glob("guest-*")], verdict: .deny))
      var amount = Policy.Rule(id: "\(name)-amount", tools: [tool], verdict: .approvalRequired)
      amount.input = try Matcher(compiling: ["amount": ["$gt": 195]])
      rules.append(amount)
      var rate = Policy.Rule(id: "\(name)-rate", tools: [tool], verdict: .deny)
      rate.calls = [Policy.PastCalls(tool: tool, times: 1_000_000...Int.max)]
      rules.append(rate)
      var order = Policy.Rule(id: "\(name)-order", tools: [tool], verdict: .deny)
      order.after = [
        Policy.PastCalls(
          tool: try Glob("never_called"),
          input: try Matcher(
            compiling: ["orderId": ["$from": ["path": "/orderId"]]], origins: .ownInput),
          statuses: [.ok])
      ]
      rules.append(order)
      var same = Policy.Rule(id: "\(name)-same", tools: [tool], verdict: .allow)
      same.calls = [
        Policy.PastCalls(
          tool: tool,
          input: try Matcher(
            compiling: ["orderId": ["$from": ["path": "/orderId"]]], origins: .ownInput),
          times: 0...1_000, withinSeconds: 10)
      ]
      rules.append(same)
    }
    return Policy(rules: rules)
  }
}
