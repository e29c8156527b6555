import AgentRuntime
import AgentTrace
import Synchronization
import TestSupport
import Testing
import TraceMatching

@Suite("Rules that ask an authorizer")
struct AuthorizerTests {
  /// A Swift authorizer that notes what it was asked.
  private final class Noting: Authorizer {
    let asked = Mutex<[AuthorizationRequest]>([])
    private let answer: @Sendable (AuthorizationRequest) async throws -> AuthorizationAnswer

    init(_ answer: @escaping @Sendable (AuthorizationRequest) async throws -> AuthorizationAnswer) {
      self.answer = answer
    }

    func authorize(_ request: AuthorizationRequest) async throws -> AuthorizationAnswer {
      asked.withLock { $0.append(request) }
      return try await answer(request)
    }
  }

  /// An agent whose calls of `pay` an authorizer decides about.
  private static func agent(
    _ replies: [JSONValue], _ implementation: AuthorizerRegistration.Implementation,
    seconds: Double = 10, _ change: (inout Policy.Rule) throws -> Void = { _ in }
  ) throws -> AgentDefinition {
    var agent = AgentDefinition.playing(
      replies.map { .init(choices: [.init(answer: .reply($0))]) }, tools: [.read, .draft, .write])
    var rule = Policy.Rule(id: "ask-pdp", tools: [try Glob("pay")], verdict: .allow)
    rule.ask("pdp")
    try change(&rule)
    agent.policy = Policy(rules: [rule])
    agent.policy.authorizers = [
      AuthorizerRegistration("pdp", implementation, timeoutSeconds: seconds)
    ]
    agent.failures.maxDenials = 99
    return agent
  }

  private static func scripted(_ answer: JSONValue) -> AuthorizerRegistration.Implementation {
    .scripted(ScriptedTool(rules: [.init(outcome: .ok(answer))]))
  }

  private static func verdict(_ run: SampleRun, _ index: Int = 0) throws -> Verdict {
    let verdicts = run.events.filter { $0.type == .policyDecision }
    try #require(index < verdicts.count)
    return try Verdict(decoding: verdicts[index].data)
  }

  @Test(
    "what is no plain yes lets nothing run",
    arguments: [
      (["decision": true], "allow", "the authorizer pdp allows it"),
      (["decision": false], "deny", "the authorizer pdp denies it"),
      (["decision": true, "context": ["reason": "fine"]], "allow", "fine"),
      (
        ["decision": false, "context": ["reason_user": ["de": "nein", "en": "no"]]], "deny", "nein"
      ),
      (["decision": false, "context": ["reason_admin": "no such grant"]], "deny", "no such grant"),
      (
        ["decision": true, "context": ["approval_required": true]], "approval_required",
        "the authorizer pdp asks for approval"
      ),
      (
        ["decision": false, "context": ["approval_required": true, "reason": "ask"]],
        "approval_required", "ask"
      ),
      (["decision": true, "context": ["approval_required": "no"]], "deny", "approval_required"),
      (["decision": "true"], "deny", "no “decision”"),
      (["Decision": true], "deny", "no “decision”"),
      (["decision": 1], "deny", "no “decision”"), (["decision": nil], "deny", "no “decision”"),
      ([:], "deny", "no “decision”"), (true, "deny", "no object"), (nil, "deny", "no object"),
      ([["decision": true]], "deny", "no object"), ("allow", "deny", "no object"),
    ] as [(JSONValue, String, String)])
  func answers(given: JSONValue, status: String, words: String) async throws {
    let run = try await Self.agent(
      [calls("pay 1"), answer("x")], Self.scripted(given)
    ).run()
    let verdict = try Self.verdict(run)
    #expect(verdict.status.rawValue == status && verdict.ruleId == "ask-pdp")
    #expect(verdict.reason.contains(words), "\(verdict.reason)")
    let said = try #require(verdict.authorization)
    #expect(said.status == verdict.status && said.answer == given && said.authorizer == "pdp")
    #expect(
      (said.error != nil)
        == (words.contains("no “") || words.contains("no object")
          || words == "approval_required"))
    #expect(run.events.contains { $0.type == .toolStarted } == (status == "allow"))
  }

  @Test("an answer that is too large, late or thrown away is none")
  func noAnswer() async throws {
    struct Fault: Error, CustomStringConvertible { var description: String { "out of order" } }
    let large = String(repeating: "x", count: 70_000)
    for (implementation, words) in [
      (.authorizer(Noting { _ in throw Fault() }), "out of order"),
      (Self.scripted(["decision": true, "context": ["reason": .string(large)]]), "65536 bytes"),
      (.scripted(ScriptedTool(rules: [.init(outcome: .error("503"))])), "503"),
      (.scripted(ScriptedTool(rules: [])), "no word of the authorizer pdp"),
      // Nothing here may start a process, or reach a network.
      (.command(CommandDefinition(arguments: ["true"])), "cannot be reached here"),
    ] as [(AuthorizerRegistration.Implementation, String)] {
      let run = try await Self.agent([calls("pay 1"), answer("x")], implementation).run()
      let verdict = try Self.verdict(run)
      #expect(verdict.status == .deny && verdict.reason.contains(words), "\(verdict.reason)")
      #expect(verdict.authorization?.error != nil)
      #expect(!run.events.contains { $0.type == .toolStarted })
    }
  }

  @Test(
    "it is asked with the whole policy context, and the verdict bears the digest of the question")
  func question() async throws {
    let pdp = Noting { _ in AuthorizationAnswer(.allow, reason: "yes") }
    var agent = try Self.agent([calls("pay 7"), answer("x")], .authorizer(pdp))
    agent.policyContext = PolicyContext(
      actorId: "ana", tenantId: "acme", route: "web", attributes: ["tier": "gold"])
    agent.limits = Limits(maxSteps: 5, maxToolCalls: 3, timeoutSeconds: 60)
    let run = try await agent.run()
    let asked = pdp.asked.withLock { $0 }
    try #require(asked.count == 1)
    #expect(
      .object(asked[0].evaluation) == [
        "subject": [
          "type": "actor", "id": "ana",
          "properties": ["tenantId": "acme", "attributes": ["tier": "gold"]],
        ],
        "action": ["name": "call", "properties": ["sideEffect": "write"]],
        "resource": ["type": "tool", "id": "pay", "properties": ["input": ["n": 7]]],
        "context": [
          "rule": "ask-pdp", "approved": false, "route": "web",
          "remaining": ["steps": 5, "calls": 3],
        ],
      ])
    #expect(asked[0].runId == run.state.runId && asked[0].call.callId == "1.1.0")
    let said = try #require(try Self.verdict(run).authorization)
    #expect(said.requestDigest == asked[0].digest)
    #expect(said.answer == ["decision": true, "context": ["reason": "yes"]])
  }

  @Test("whoever decides sees plain values, and the log their tokens")
  func withheld() async throws {
    let pdp = Noting { request in
      AuthorizationAnswer(.deny, reason: "not \(request.call.input)")
    }
    let secret = "sk-ant-" + "api03-" + String(repeating: "aB3dE5gH", count: 12) + "-QAAAAAA"
    var tool = ToolRegistration.tool("pay", .write)
    tool.definition.inputSchema = ["type": "object"]
    var agent = try Self.agent(
      [["calls": [["name": "pay", "input": ["key": .string(secret)]]]], answer("x")],
      .authorizer(pdp))
    agent.tools = [tool]
    let run = try await agent.run()
    #expect(pdp.asked.withLock { $0.first?.call.input } == ["key": .string(secret)])
    for event in run.events {
      #expect(!CanonicalJSON.string(.object(event.data), form: .plain).contains(secret))
    }
    #expect(try Self.verdict(run).reason.contains("«redacted"))
  }

  @Test("where a condition of its rule cannot be known nobody is asked, and the call is denied")
  func unknown() async throws {
    let pdp = Noting { _ in AuthorizationAnswer(.allow) }
    let agent = try Self.agent([calls("pay 1"), answer("x")], .authorizer(pdp)) {
      // What the run has cost its model does not say.
      $0.remaining = [.init(.cost, try Matcher(compiling: ["$gte": 0]))]
    }
    var limited = agent
    limited.limits.maxCost = 5
    let run = try await limited.run()
    #expect(pdp.asked.withLock { $0.isEmpty })
    let verdict = try Self.verdict(run)
    #expect(verdict.status == .deny && verdict.context["notKnown"] == ["remaining"])
    #expect(verdict.authorization == nil)
  }

  @Test("an approval that it asks for is one like any other, and it is asked again with it")
  func approval() async throws {
    let pdp = Noting { request in
      request.isApproved
        ? AuthorizationAnswer(request.call.input["n"] == 2 ? .deny : .allow)
        : AuthorizationAnswer(.approvalRequired)
    }
    var agent = try Self.agent(
      [calls("pay 1"), calls("pay 2"), answer("x")], .authorizer(pdp))
    agent.human = ScriptedPerson(
      turns: [.approves(true, by: "ana", reason: nil), .approves(true, by: "ana", reason: nil)])
    let run = try await agent.run()
    #expect(pdp.asked.withLock { $0.map(\.isApproved) } == [false, true, false, true])
    #expect(run.results() == ["1.1.0": "ok", "2.1.0": "refused"])
  }

  @Test("a run that is to end while it asks denies nothing: whoever goes on asks again")
  func cancelled() async throws {
    let cancellation = Cancellation()
    let pdp = Noting { request in
      cancellation.cancel(signal: "SIGTERM")
      return AuthorizationAnswer(.deny)
    }
    let run = try await Self.agent(
      [calls("look 1", "pay 1"), answer("x")], .authorizer(pdp)
    ).run(cancellation: cancellation)
    #expect(run.stop == ("cancelled", "signal:SIGTERM"))
    let ruled = run.events.filter { $0.type == .policyDecision }.map {
      $0.data["callId"]?.stringValue
    }
    #expect(ruled == ["1.1.0"])
    #expect(!run.events.contains { $0.type == .toolStarted || $0.type == .toolResult })
  }

  @Test("a rule before it spares the question, and one that stops the run does so on its word")
  func order() async throws {
    let pdp = Noting { _ in AuthorizationAnswer(.deny) }
    var agent = try Self.agent([calls("look 1"), calls("pay 1"), answer("x")], .authorizer(pdp)) {
      $0.onDeny = .stop
    }
    agent.policy.rules.insert(
      Policy.Rule(id: "free", tools: [try Glob("look")], verdict: .allow), at: 0)
    let run = try await agent.run()
    #expect(pdp.asked.withLock { $0.count } == 1)
    #expect(run.stop == ("policy_denied", "rule:ask-pdp"))
  }
}
