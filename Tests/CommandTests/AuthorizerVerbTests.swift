import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("Authorizers of a policy")
struct AuthorizerVerbTests {
  private static func agent(_ authorizer: String, amounts: [Int]) -> String {
    """
    name: cashier
    policyContext: {actorId: guest-3, tenantId: acme}
    failures: {maxDenials: 99}
    tools:
      - {name: refund, sideEffect: write, scripted: [{ok: {paid: true}}]}
    policy:
      authorizers:
        pdp: \(authorizer)
      rules:
        - {id: ask-pdp, tool: refund, authorizer: pdp}
    model:
      script:
    \(amounts.map { "    - call: {tool: refund, input: {amount: \($0)}}" }.joined(separator: "\n"))
        - answer: done
    """
  }

  private static func verdicts(_ log: String) throws -> [String] {
    try readLog(log).filter { $0.type == .policyDecision }.map {
      "\($0.data["status"]?.stringValue ?? "") \($0.data["reason"]?.stringValue ?? "")"
    }
  }

  @Test("a program decides, and what it says is made again without it")
  func command() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agents/pdp.sh",
      """
      read -r question
      echo "$question" >> "$PWD/../asked"
      case $question in
        *'"amount":1}'*) echo '{"decision": true}';;
        *'"amount":2}'*) echo '{"decision": false, "context": {"reason": "not today"}}';;
        *'"amount":3}'*) echo 'no';;
        *'"amount":4}'*) sleep 60;;
        *'"amount":5}'*) echo 'out of order' >&2; exit 1;;
      esac
      """)
    try folder.write(
      "agents/agent.yaml",
      Self.agent("{command: [sh, pdp.sh], timeoutSeconds: 1}", amounts: [1, 2, 3, 4, 5, 6]))
    try await Binary.run(
      ["record", "agents/agent.yaml", "go", "--out", "run.jsonl.gz"], in: folder.path)
    let log = folder.path("run.jsonl.gz")
    let found = try Self.verdicts(log)
    try #require(found.count == 6)
    for (verdict, beginning) in zip(
      found,
      [
        "allow the authorizer pdp allows it", "deny not today",
        "deny no word of the authorizer pdp: standard output is not JSON",
        "deny no word of the authorizer pdp: timed out after 1 seconds",
        "deny no word of the authorizer pdp: exited with 1: out of order",
        "deny no word of the authorizer pdp: the answer is no object",
      ])
    {
      #expect(verdict.hasPrefix(beginning), "\(verdict)")
    }
    #expect(try readLog(log).count { $0.type == .toolStarted } == 1)
    let asked = try #require(folder.text("asked")).split(separator: "\n")
    #expect(asked.count == 6)
    let first = try JSONValue(parsing: Array(asked[0].utf8))
    #expect(first["subject"]?["id"] == "guest-3" && first["resource"]?["id"] == "refund")
    try await Binary.run(["verify", "run.jsonl.gz"], in: folder.path)
    // Nobody is asked: there is nobody any more.
    try FileManager.default.removeItem(atPath: folder.path("agents/pdp.sh"))
    let again = try await Binary.run(
      ["replay", "--reexecute", "run.jsonl.gz", "--agent", "agents/agent.yaml"], in: folder.path)
    #expect(again.output.contains("faithful"))
    #expect(try #require(folder.text("asked")).split(separator: "\n").count == 6)
  }

  @Test(
    "a backtest takes an answer for the same question alone, and counts what nobody was asked: 3 where that was denied"
  )
  func backtest() async throws {
    let folder = try TemporaryFolder()
    let scripted = """
      {scripted: [{when: {input: {resource: {properties: {input: {amount: 1}}}}}, ok: {decision: true}}, {ok: {decision: false}}]}
      """
    try folder.write("agent.yaml", Self.agent(scripted, amounts: [1, 2, 1]))
    try await Binary.run(["record", "agent.yaml", "go", "--out", "run.jsonl.gz"], in: folder.path)
    func policy(_ rules: String) -> String {
      "authorizers: {pdp: {command: [\"false\"]}, other: {command: [\"false\"]}}\nrules: [\(rules)]\n"
    }
    for (rules, unanswered, changed, status) in [
      ("{id: ask-pdp, tool: refund, authorizer: pdp}", 0, 0, 0),
      // Another rule asks, so it is another question.
      ("{id: another, tool: refund, authorizer: pdp}", 3, 0, 3),
      ("{id: ask-pdp, tool: refund, authorizer: other}", 3, 0, 3),
      (
        "{id: none, tool: refund, input: {amount: 2}, verdict: allow}, {id: ask-pdp, tool: refund, authorizer: pdp}",
        0, 1, 1
      ),
    ] as [(String, Int, Int, Int32)] {
      try folder.write("policy.yaml", policy(rules))
      let arguments = [
        "policy", "backtest", "run.jsonl.gz", "--policy", "policy.yaml", "--json",
      ]
      let report = try await Binary.run(arguments, in: folder.path, status: status).json()
      try await Binary.run(arguments + ["--allow-widening"], in: folder.path)
      // One of the three was denied: what another would say of it nobody knows.
      #expect(report["undecided"] == JSONValue(unanswered / 3), "\(rules)")
      #expect(report["unanswered"] == JSONValue(unanswered), "\(rules)")
      let counts = report["changed"]?.objectValue ?? [:]
      #expect(counts.reduce(0) { $0 + ($1.value.intValue ?? 0) } == changed, "\(rules)")
    }
  }

  @Test(
    "a policy that asks nobody who is there is told with its place",
    arguments: [
      (
        "authorizers: {pdp: {command: [a]}}\nrules: [{id: r, authorizer: pbp}]",
        "p.yaml:2:29: error: rules[0].authorizer: there is no authorizer “pbp”; did you mean “pdp”?"
      ),
      (
        "rules: [{id: r, authorizer: pdp}]",
        "there is no authorizer “pdp”; name it under “authorizers”, beside “rules”"
      ),
      (
        "authorizers: {pdp: {command: [a]}}\nrules: [{id: r, authorizer: pdp, verdict: allow}]",
        "has “verdict” and “authorizer”; one of them is allowed"
      ),
      ("rules: [{id: r}]", "needs “verdict” or “authorizer”"),
      (
        "authorizers: {pdp: {timeoutSeconds: 1}}\nrules: [{id: r, authorizer: pdp}]",
        "nobody answers; add “command”, “http” or “scripted”"
      ),
      (
        "authorizers: {pdp: {command: [a], scripted: [{ok: 1}]}}\nrules: [{id: r, authorizer: pdp}]",
        "has “command” and “scripted”; one of them is allowed"
      ),
      (
        "authorizers: {pdp: {command: [a]}}\nrules: [{id: r, verdict: allow}]",
        "warning: authorizers.pdp: no rule asks it"
      ),
    ])
  func mistakes(policy: String, message: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write("p.yaml", policy)
    let outcome = try await Binary.run(["policy", "check", "p.yaml"], in: folder.path, status: nil)
    #expect(
      (outcome.output + outcome.errors).contains(message), "\(outcome.output)\(outcome.errors)")
    #expect(outcome.status == (message.contains("warning") ? 0 : 2))
  }

  #if Live
    private static let service: FakeServer.Handler = { request, reply in
      let question = (try? JSONValue(parsing: request.body)) ?? .null
      switch question["resource"]?["properties"]?["input"]?["amount"]?.intValue {
      case 1: reply.finish(body: #"{"decision": true}"#)
      case 2: reply.finish(503, type: "text/plain", body: "later")
      case 3: reply.finish(type: "text/html", body: "<b>yes</b>")
      case 4: reply.close()
      default: reply.finish(body: #"{"decision": false}"#)
      }
    }

    @Test("a service decides, asked as AuthZEN says, and a key of its requests is in no log")
    func service() async throws {
      let server = try FakeServer(Self.service)
      let folder = try TemporaryFolder()
      try folder.write(
        "agent.yaml",
        Self.agent(
          "{http: {url: \"\(server.url)/access/v1/evaluation\", allowedAddresses: [127.0.0.1], "
            + "headers: {Authorization: \"Bearer ${PDP_KEY}\"}}, timeoutSeconds: 20}",
          amounts: [1, 2, 3, 4, 5]))
      let key = "pdp-key-4711-of-ours"
      try await Binary.run(
        ["record", "agent.yaml", "go", "--out", "run.jsonl.gz"], in: folder.path,
        environment: ["PDP_KEY": key])
      let log = folder.path("run.jsonl.gz")
      #expect(
        try Self.verdicts(log).map { $0.split(separator: " ")[0] }
          == ["allow", "deny", "deny", "deny", "deny"])
      #expect(
        server.requests.allSatisfy {
          $0.method == "POST" && $0.target == "/access/v1/evaluation"
            && $0.header("Authorization") == "Bearer \(key)"
        })
      for event in try readLog(log) {
        #expect(!CanonicalJSON.string(.object(event.data), form: .plain).contains(key))
      }
      try await Binary.run(
        ["replay", "--reexecute", "run.jsonl.gz", "--agent", "agent.yaml"], in: folder.path)
    }

    @Test(
      "of an agent of any kind a program decides which calls reach it",
      .enabled("needs python3") { await hasPython() })
    func proxied() async throws {
      let server = try FakeServer { request, reply in
        let body = (try? JSONValue(parsing: request.body)) ?? .null
        let amount = body["messages"]?[0]?["content"]?.stringValue ?? "0"
        reply.finish(
          body:
            #"{"id":"r","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"pay","arguments":"{\"amount\":\#(amount)}"}}]},"finish_reason":"tool_calls"}]}"#
        )
      }
      let folder = try TemporaryFolder()
      try folder.write(
        "agent.py",
        """
        import json, os, urllib.request
        for amount in ("20", "500", "7"):
            body = json.dumps({"model": "m", "messages": [{"role": "user", "content": amount}]}).encode()
            request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, {"Content-Type": "application/json"})
            message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
            print(amount, len(message.get("tool_calls") or []))
        """)
      try folder.write(
        "policy/pdp.py",
        """
        import json, sys
        amount = json.load(sys.stdin)["resource"]["properties"]["input"]["amount"]
        print("no answer" if amount == 7 else json.dumps({"decision": amount <= 50}))
        """)
      try folder.write(
        "policy/policy.yaml",
        """
        authorizers: {pdp: {command: [python3, pdp.py]}}
        rules: [{id: ask, tool: pay, authorizer: pdp}]
        """)
      let outcome = try await Binary.run(
        [
          "record", "--proxy", "--upstream", "openai=\(server.url)/v1", "--policy",
          "policy/policy.yaml", "--out", "run.jsonl.gz", "--", "python3", "agent.py",
        ], in: folder.path)
      #expect(outcome.output == "20 1\n500 0\n7 0\n")
      let verdicts = try Self.verdicts(folder.path("run.jsonl.gz"))
      #expect(verdicts.map { $0.split(separator: " ")[0] } == ["allow", "deny", "deny"])
      try await Binary.run(["verify", "run.jsonl.gz"], in: folder.path)
    }
  #endif
}
