import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching

@Suite("Conditions of policy rules")
struct PolicyRuleTests {
  @Test("random rules say of random calls behind random histories what a plain oracle says")
  func oracle() async throws {
    let count = TestRun.count(12_000, long: 1_000_000)
    let seen = try await withThrowingTaskGroup(of: [String: Int].self) { group in
      for part in 0..<4 {
        group.addTask { try Self.ask(count / 4, seed: UInt64(100 + part)) }
      }
      return try await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
    }
    // Every verdict by a rule and by the default, known and not known, is among them.
    for key in ["allow rule", "deny rule", "approval_required rule", "allow –", "not known"] {
      #expect(seen[key, default: 0] > count / 200, "\(key) of \(seen)")
    }
  }

  private static func ask(_ count: Int, seed: UInt64) throws -> [String: Int] {
    var maker = PolicyOracle.Maker(random: SeededGenerator(seed: seed))
    var seen: [String: Int] = [:]
    var rules: [PolicyOracle.Rule] = []
    var policy = Policy()
    for number in 0..<count {
      if number % 8 == 0 {
        rules = (0..<maker.number(1...6)).map { maker.rule($0) }
        policy = Policy(rules: try rules.map { try $0.rule() })
      }
      let question = maker.question()
      let name = PolicyOracle.tools[question.tool]
      let call = ProposedCall(callId: question.callId, name: name, input: question.input)
      var tool = ToolDefinition(name: name, sideEffect: PolicyOracle.effects[question.tool])
      tool.sensitivity = PolicyOracle.sensitivities[question.tool]
      let found = PolicyGate(policy).ruleCheck(
        on: call, tool: tool, at: question.moment(for: policy, call)
      ).verdict
      let expected = PolicyOracle.verdict(rules, question)
      guard found.status == expected.0, found.ruleId == expected.1 else {
        Issue.record(
          """
          call \(number) of seed \(seed): \(found.status) by \(found.ruleId ?? "–"), not \(expected)
          \(rules.map { "\($0)" }.joined(separator: "\n"))
          \(question)
          """)
        return seen
      }
      seen["\(found.status.rawValue) \(found.ruleId == nil ? "–" : "rule")", default: 0] += 1
      if found.context["notKnown"] != nil { seen["not known", default: 0] += 1 }
    }
    return seen
  }
}
