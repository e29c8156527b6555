import AgentTrace
import EvalLoading
import TestSupport
import Testing
import TraceMatching

@Suite("agent-eval policy check")
struct PolicyCheckVerbTests {
  private static let mistaken = Project.path("Fixtures/mistaken-policies/orders.yaml")
  private static let cashier = Project.path("Fixtures/agents/cashier.yaml")

  @Test("what is found are warnings, told on standard output, with what each tool gets")
  func found() async throws {
    let outcome = try await Binary.run(
      ["policy", "check", Self.mistaken, "--agent", Self.cashier], status: 0)
    #expect(outcome.output.contains("the rule “no-second-look” never decides"))
    #expect(
      outcome.output.contains("between “small-refunds” (allow) and “refund-needs-lookup” (deny)"))
    #expect(outcome.output.contains("called send_mail, 3 times or more in the last 60 seconds"))
    let alone = try await Binary.run(["policy", "check", Self.mistaken], status: 0)
    #expect(!alone.output.contains("TOOL"))
    let agent = try await Binary.run(["policy", "check", Self.cashier], status: 0)
    #expect(agent.output.hasPrefix("every rule can decide\n"))
    let check = try await Binary.run(["check", Self.mistaken], status: 0)
    #expect(
      check.output.contains(":5:5: warning: rules[1]: the rule “no-second-look” never decides"))
  }

  @Test("as JSON it is what its schema describes")
  func json() async throws {
    let schema = try JSONSchema(compiling: FileSchema.policyCheck.json)
    for arguments in [[Self.mistaken, "--agent", Self.cashier], [Self.cashier], [Self.mistaken]] {
      let outcome = try await Binary.run(["policy", "check"] + arguments + ["--json"], status: 0)
      let json = try JSONValue(parsing: outcome.output)
      #expect(schema.validate(json).isEmpty)
      #expect(json["rules"] == (arguments[0] == Self.cashier ? 5 : 7))
    }
  }

  @Test("a file with errors is said to have them, and exits with 2")
  func errors() async throws {
    let folder = try TemporaryFolder()
    let bad = try folder.write(
      "bad.yaml",
      """
      rules:
        - {id: a, tool: x, calls: {tool: y, times: {min: 3, max: 2}}, verdict: deny}
        - {id: b, calls: {tool: y, status: refused}, verdict: deny}
        - {id: c, after: {tool: y, times: 2}, verdict: deny}
        - {id: d, remaining: {stepz: 1}, verdict: deny}
        - {id: e, remaining: {}, verdict: deny}
        - {id: f, input: {a: {$from: {path: /x}}}, verdict: deny}
        - {id: g, calls: {tool: y, input: {a: {$from: {tool: z, path: /x}}}}, verdict: deny}
        - {id: h, attributes: {a: {$from: {path: /x}}}, verdict: deny}
        - {id: i, calls: [], verdict: deny}
        - {id: j, calls: {status: ok}, verdict: deny}
      """)
    let outcome = try await Binary.run(["policy", "check", bad], status: 2)
    #expect(outcome.output.isEmpty)
    for message in [
      ":2:46: error: rules[0].calls.times: “min” is greater than “max”",
      "rules[1].calls.status: a refused call was never executed; say it under “proposals”",
      "rules[2].after.times: unknown key “times”", "did you mean “steps”?",
      "rules[4].remaining: should not be empty", "rules[5].input.a.$from",
      "rules[6].calls.input.a.$from", "rules[7].attributes.a.$from",
      "rules[8].calls: should not be empty", "rules[9].calls: the key “tool” is missing",
    ] {
      #expect(outcome.errors.contains(message), "\(message) in \(outcome.errors)")
    }
    try await Binary.run(["policy", "check", folder.path("nothing.yaml")], status: 2)
    try await Binary.run(["policy", "check", Self.mistaken, "--agent", bad], status: 2)
    try await Binary.run(["policy", "check"], status: 64)
  }
}
