import AgentTrace
import EvalRunning
import Testing
import TraceJudging

@Suite("Conformance")
struct ConformanceTests {
  @Test("Every edge case has the outcome that it must have")
  func outcomes() async {
    let checks = await Conformance.checks()
    #expect(checks.count > 150)
    for check in checks {
      #expect(check.isRight, "\(check.rule): \(check.title): \(check.actual) \(check.messages)")
    }
  }

  @Test("Every word of the language has edge cases")
  func words() async {
    let rules = Set(await Conformance.checks().map(\.rule))
    for word in [
      "toolsCalled", "toolsNotCalled", "toolsProposed", "toolsNotProposed", "order", "extra",
      "eachCall", "$from", "budget", "noRepeatedSideEffect", "noLoops", "maxInvalidDecisions",
      "maxRetries", "answerJson", "evidence", "state", "policy", "noApprovalBypass", "context",
      "memory",
    ] {
      #expect(rules.contains(word), "\(word)")
    }
    #expect(rules.count { $0.hasPrefix("time: ") } == 8)
  }

  @Test("Every row of the table of other evaluators' mistakes is there")
  func peers() async {
    let peers = Set(await Conformance.checks().compactMap(\.peer))
    for name in [
      "agentevals 0.0.9 superset", "agentevals 0.0.9 subset", "agentevals 0.0.9 overrides",
      "DeepEval 4.3.1 ToolCorrectness", "DeepEval 4.3.1 default", "ADK 2.13.0",
      "Strands 1.7.0 exact", "Strands 1.7.0 with nothing expected", "Strands 1.7.0 any-order",
      "tau2", "MLflow", "Inspect 0.3.285, a log", "Inspect 0.3.285 eval", "Braintrust", "agentv",
      "record and replay",
    ] {
      #expect(peers.contains { $0.hasPrefix(name) }, "\(name)")
    }
  }
}
