import AgentTrace
import TestSupport
import Testing

@Suite("Guards of agents")
struct GuardTests {
  private struct Scenario: Sendable, CustomStringConvertible {
    var guarding: String
    var script: String
    /// Tool and status of each result, in order.
    var results: [String]
    var stop: String
    var detail: String

    var description: String { "\(guarding) on \(script)" }
  }

  private static let lookup = "{call: {tool: lookup, input: {}}}"
  private static func pay(_ amount: Int) -> String {
    "{call: {tool: pay, input: {amount: \(amount)}}}"
  }

  private static let scenarios: [Scenario] = [
    .init(
      guarding: "time: [{expect: lookup, before: pay}]",
      script: "\(pay(1)), \(lookup), \(pay(1)), {answer: x}",
      results: ["pay refused", "lookup ok", "pay ok"], stop: "success", detail: "final_answer"),
    .init(
      guarding: "noRepeatedSideEffect: true",
      script: "\(pay(1)), \(pay(2)), \(pay(1)), {answer: x}",
      results: ["pay ok", "pay ok", "pay refused"], stop: "success", detail: "final_answer"),
    .init(
      guarding: "noRepeatedSideEffect: true",
      script:
        "{calls: [{tool: pay, input: {amount: 1}}, {tool: pay, input: {amount: 1}}]}, {answer: x}",
      results: ["pay refused", "pay ok"], stop: "success", detail: "final_answer"),
    .init(
      guarding:
        "eachCall: [{tool: pay, input: {amount: {$from: {tool: lookup, path: /amount}}}}]",
      script: "\(lookup), \(pay(5)), \(pay(7)), {answer: x}",
      results: ["lookup ok", "pay refused", "pay ok"], stop: "success", detail: "final_answer"),
    .init(
      guarding: "toolsNotProposed: [pay]", script: "\(lookup), \(pay(1)), {answer: x}",
      results: ["lookup ok", "pay refused"], stop: "policy_denied",
      detail: "rule:guard:toolsNotProposed[0]"),
    .init(
      guarding: "policy: {notGiven: [{verdict: allow, tool: pay}]}",
      script: "\(lookup), \(pay(1)), {answer: x}", results: ["lookup ok", "pay refused"],
      stop: "success", detail: "final_answer"),
    .init(
      guarding: "time: [{never: {verdict: allow, tool: pay}}]",
      script: "\(lookup), \(pay(1)), {answer: x}", results: ["lookup ok", "pay refused"],
      stop: "success", detail: "final_answer"),
    .init(
      guarding: "policy: {notGiven: [{verdict: deny, rule: 'guard:*'}]}, toolsNotCalled: [pay]",
      script: "\(pay(1)), \(lookup), {answer: x}", results: ["pay refused"],
      stop: "policy_denied", detail: "rule:guard:policy.notGiven[0]"),
    .init(
      guarding: "maxSteps: 2", script: "\(lookup), \(lookup), \(lookup), {answer: x}",
      results: ["lookup ok", "lookup ok"], stop: "policy_denied", detail: "rule:guard:maxSteps"),
    .init(
      guarding: "context: {neverContains: amount}", script: "\(lookup), {answer: x}",
      results: ["lookup ok"], stop: "policy_denied",
      detail: "rule:guard:context.neverContains[0]"),
  ]

  /// Records the agent of a folder, and returns the events of a run that came to what the scenario says.
  private static func events(
    of scenario: Scenario, in folder: TemporaryFolder
  ) async throws -> [JSONValue] {
    try await Binary.run(
      ["record", "agent.yaml", "go", "--out", "run.jsonl.gz"], in: folder.path,
      status: scenario.stop == "success" ? 0 : 1)
    let events = try await Binary.run(["show", "run.jsonl.gz", "--json"], in: folder.path)
      .jsonLines()
    let results = events.filter { $0["type"] == "tool_result" }.compactMap { $0["data"] }
      .map { "\($0["tool"]?.stringValue ?? "") \($0["status"]?.stringValue ?? "")" }
    #expect(results == scenario.results)
    let stop = events.last { $0["type"] == "stop" }?["data"]
    #expect(stop?["reason"]?.stringValue == scenario.stop)
    #expect(stop?["detail"]?.stringValue == scenario.detail)
    return events
  }

  /// Holds the log against what the guard was to keep.
  private static func judge(_ scenario: Scenario, in folder: TemporaryFolder) async throws {
    try folder.write(
      "case.yaml",
      "{caseId: a, recording: run.jsonl.gz, expected: {\(scenario.guarding)}}")
    try await Binary.run(["run", "case.yaml"], in: folder.path)
  }

  @Test("a guard refuses what it can and stops the run on what it cannot", arguments: scenarios)
  private func scenario(_ scenario: Scenario) async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      """
      name: payer
      tools:
        - {name: lookup, sideEffect: read, scripted: [{ok: {amount: 7}}]}
        - {name: pay, sideEffect: write, scripted: [{ok: {done: true}}]}
      policy: {rules: [{id: all, verdict: allow}]}
      guard: {\(scenario.guarding)}
      model: {script: [\(scenario.script)]}
      """)
    let events = try await Self.events(of: scenario, in: folder)
    // The judge of the log agrees that nothing was broken that could be refused.
    guard scenario.stop == "success" else { return }
    try await Self.judge(scenario, in: folder)
    let denied = events.filter { $0["data"]?["status"] == "deny" }
    #expect(denied.allSatisfy { $0["data"]?["ruleId"]?.stringValue?.hasPrefix("guard:") == true })
    #expect(!denied.isEmpty)
  }

  @Test(
    "of a guard, what one run breaks for the tree is refused in the run of an agent that was called",
    arguments: [
      "time: [{never: pay}]", "time: [{never: pay, after: lookup}]", "time: [{only: lookup}]",
      "toolsNotCalled: [pay]", "policy: {notGiven: [{verdict: allow, tool: pay}]}",
    ])
  func below(_ guarding: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "child.yaml",
      """
      name: child
      tools:
        - {name: lookup, sideEffect: read, scripted: [{ok: {amount: 7}}]}
        - {name: pay, sideEffect: write, scripted: [{ok: {done: true}}]}
      policy: {rules: [{id: all, verdict: allow}]}
      model: {script: [\(Self.lookup), \(Self.pay(1)), {answer: x}]}
      """)
    try folder.write(
      "agent.yaml",
      """
      name: parent
      tools: [{agent: child.yaml, name: lookup_all, description: d}]
      policy: {rules: [{id: all, verdict: allow}]}
      guard: {\(guarding.replacing("only: lookup", with: "only: 'lookup*'"))}
      model: {script: [{call: {tool: lookup_all, input: {task: go}}}, {answer: x}]}
      """)
    try await Binary.run(["record", "agent.yaml", "go", "--out", "runs"], in: folder.path)
    var results: [String] = []
    for log in folder.listing where log.hasSuffix(".jsonl.gz") {
      results += try await Binary.run(["show", log, "--json"], in: folder.path)
        .jsonLines().filter { $0["type"] == "tool_result" }.compactMap { $0["data"] }
        .map { "\($0["tool"]?.stringValue ?? "") \($0["status"]?.stringValue ?? "")" }
    }
    #expect(results.contains("pay refused"))
    #expect(results.contains("lookup ok"))
    #expect(!results.contains("pay ok"))
  }

  /// What the guard keeps from beginning, though it let the call when policy ruled on it.
  private static let keptBack: [Scenario] = [
    .init(
      guarding: "time: [{never: '*', after: {verdict: deny}}]",
      script: "{calls: [{tool: pay, input: {}}, {tool: erase, input: {}}]}, {answer: x}",
      results: ["erase refused", "pay refused"], stop: "success", detail: "final_answer"),
    .init(
      guarding: "time: [{never: {returned: lookup}}]",
      script: "{calls: [{tool: lookup, input: {}}, {tool: mail, input: {}}]}, {answer: x}",
      results: ["lookup ok"], stop: "policy_denied", detail: "rule:guard:time[0]"),
    .init(
      guarding: "policy: {noApprovals: [{approval: denied}]}",
      script: "{calls: [{tool: fax, input: {}}, {tool: mail, input: {}}]}, {answer: x}",
      results: ["fax refused"], stop: "policy_denied",
      detail: "rule:guard:policy.noApprovals[0]"),
    .init(
      guarding: "maxRetries: 1", script: "{call: {tool: flaky, input: {}}}, {answer: x}",
      results: ["flaky error"], stop: "success", detail: "final_answer"),
  ]

  @Test(
    "what happens beside a call of one decision keeps it from beginning, being asked about or tried again",
    arguments: keptBack)
  private func meanwhile(_ scenario: Scenario) async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      """
      name: payer
      tools:
        - {name: lookup, sideEffect: read, scripted: [{ok: {amount: 7}}]}
        - {name: flaky, sideEffect: read, onError: retry, maxAttempts: 5, scripted: [{error: busy}]}
        - {name: pay, sideEffect: write, scripted: [{ok: {done: true}}]}
        - {name: erase, sideEffect: write, scripted: [{ok: {done: true}}]}
        - {name: fax, sideEffect: write, scripted: [{ok: {done: true}}]}
        - {name: mail, sideEffect: write, scripted: [{ok: {done: true}}]}
      policy:
        rules:
          - {id: no-erasing, tool: erase, verdict: deny}
          - {id: asked-first, tool: [fax, mail], verdict: approval_required}
          - {id: all, verdict: allow}
      human:
        approvals:
          - {tool: fax, granted: false, by: ana}
          - {tool: mail, granted: true, by: ana}
      guard: {\(scenario.guarding)}
      model: {script: [\(scenario.script)]}
      """)
    let events = try await Self.events(of: scenario, in: folder)
    // Nobody is asked about what is not to begin.
    let asked = events.filter { $0["type"] == "approval" && $0["data"]?["granted"] == true }
    #expect(asked.isEmpty)
    try await Binary.run(["replay", "run.jsonl.gz", "--reexecute"], in: folder.path)
    guard scenario.stop == "success" else { return }
    try await Self.judge(scenario, in: folder)
  }

  @Test("a guard that only the end could decide is an error of the agent file")
  func undecidable() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml", "{name: a, model: {script: [{answer: x}]}, guard: {stopReason: success}}")
    let outcome = try await Binary.run(["check", "agent.yaml"], in: folder.path, status: 2)
    #expect(outcome.output.contains("guard.stopReason: a guard cannot decide this"))
  }
}
