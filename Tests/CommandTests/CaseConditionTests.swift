import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

@Suite("A case says whom its run is for, and with what")
struct CaseConditionTests {
  private static let agent = """
    name: desk
    system: You help.
    policyContext: {actorId: nobody, route: desk, attributes: {tier: silver, region: eu}}
    limits: {maxSteps: 9, maxToolCalls: 5}
    memory: [{scope: actor, key: language, value: English}, {scope: agent, key: motto, value: brief}]
    tools:
      - name: refund
        sideEffect: write
        inputSchema: {type: object, properties: {amount: {type: integer}}}
        scripted: [{ok: {done: true}}]
    policy:
      rules:
        - {id: own-tenant, tool: refund, tenant: acme, verdict: allow}
        - {id: others, tool: refund, verdict: deny, reason: not yours}
    model:
      script:
        - call: {tool: refund, input: {amount: 5}}
        - answer: done
    """

  private static func started(_ log: String) throws -> RunStarted {
    var reader = try LogReader(path: log)
    let event = try #require(try reader.next())
    return try RunStarted(decoding: event.data)
  }

  private static func onlyLog(in folder: String) throws -> String {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    return folder + "/" + (try #require(names.first { $0.hasSuffix(".jsonl.gz") }, "\(names)"))
  }

  @Test("one agent file serves many tenants: a table of rows says whose run each is")
  func tenants() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.agent)
    try folder.write(
      "cases.yaml",
      """
      - caseId: "refund of ${tenant}"
        input: Refund 5.
        agent: agent.yaml
        policyContext: {tenantId: "${tenant}", actorId: "${actor}", attributes: {tier: gold}}
        table:
          - {tenant: acme, actor: ana, verdict: allow}
          - {tenant: other, actor: bo, verdict: deny}
        expected:
          policy: {given: [{tool: refund, verdict: "${verdict}"}]}
      """)
    let outcome = try await Binary.run(
      ["run", "cases.yaml", "--live", "--out", "runs", "--no-summary"], in: folder.path)
    #expect(outcome.output.contains("2 passed"), "\(outcome)")
  }

  @Test(
    "what a case says counts before the agent file; of limits the smaller; the log says who said it"
  )
  func recorded() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.agent)
    try folder.write(
      "case.yaml",
      """
      - caseId: all
        input: Refund 5.
        agent: agent.yaml
        seed: 7
        policyContext: {tenantId: acme, attributes: {tier: gold}}
        limits: {maxSteps: 20, maxToolCalls: 2, timeoutSeconds: 60}
        memory: [{scope: actor, key: language, value: German}, {scope: run, key: pet, value: cat}]
        policy: {rules: [{id: free, tool: refund, verdict: allow}]}
        expected:
          toolsCalled: [refund]
          policy: {given: [{tool: refund, verdict: allow, rule: free}]}
          memory: {read: [{key: language, value: German}, {key: pet}, {key: motto}]}
      """)
    for live in [[], ["--live"]] {
      try await Binary.run(
        ["run", "case.yaml", "--out", "runs\(live.count)", "--no-summary"] + live, in: folder.path)
      let log = try Self.onlyLog(in: folder.path("runs\(live.count)"))
      let started = try Self.started(log)
      #expect(
        started.policyContext
          == PolicyContext(
            actorId: "nobody", tenantId: "acme", route: "desk",
            attributes: ["region": "eu", "tier": "gold"]))
      #expect(started.limits.maxSteps == 9 && started.limits.maxToolCalls == 2)
      #expect(started.limits.timeoutSeconds == 60)
      #expect(
        Set(started.origins.keys) == [
          "policyContext.tenantId", "policyContext.attributes", "limits.maxToolCalls",
          "limits.timeoutSeconds", "memory", "policy",
        ])
      #expect(started.seed != nil)
      // Made again with what the case says.
      try await Binary.run(
        ["replay", log, "--reexecute", "--cases", "case.yaml", "--agent", "agent.yaml"],
        in: folder.path)
    }
  }

  @Test("a run is made again without its case, but for a policy of the case, which is named")
  func madeAgain() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.agent)
    let body = """
      - caseId: one
        input: Refund 5.
        agent: agent.yaml
        policyContext: {tenantId: acme}
        limits: {maxToolCalls: 2}
        memory: [{scope: actor, key: language, value: German}]
      """
    let expected = "\n  expected: {stopReason: success}\n"
    try folder.write("case.yaml", body + expected)
    try await Binary.run(
      ["run", "case.yaml", "--live", "--out", "runs", "--no-summary"], in: folder.path)
    try await Binary.run(
      [
        "replay", try Self.onlyLog(in: folder.path("runs")), "--reexecute", "--agent", "agent.yaml",
      ],
      in: folder.path)
    try folder.write(
      "case.yaml",
      body + "\n  policy: {rules: [{id: none, tool: refund, verdict: deny}]}" + expected)
    try await Binary.run(
      ["run", "case.yaml", "--live", "--out", "denied", "--no-summary"], in: folder.path)
    let told = try await Binary.run(
      [
        "replay", try Self.onlyLog(in: folder.path("denied")), "--reexecute", "--agent",
        "agent.yaml",
      ], in: folder.path, status: nil)
    #expect(told.status == 1 && told.output.contains("policy"), "\(told)")
  }

  @Test(
    "a run that a case's policy holds is not gone on with under the agent's own, unless that is said"
  )
  func goneOn() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.agent)
    try folder.write(
      "case.yaml",
      """
      - caseId: one
        input: Refund 5.
        agent: agent.yaml
        policyContext: {tenantId: acme}
        policy: {rules: [{id: ask, tool: refund, verdict: approval_required}]}
        expected: {stopReason: approval_required}
      """)
    try await Binary.run(
      ["run", "case.yaml", "--live", "--out", "runs", "--no-summary"], in: folder.path)
    let log = try Self.onlyLog(in: folder.path("runs"))
    let told = try await Binary.run(
      ["resume", log, "--agent", "agent.yaml"], in: folder.path, status: nil)
    #expect(told.status == 2 && told.errors.contains("policy"), "\(told)")
  }

  @Test("what a command's own loop would have to heed is refused, not passed over")
  func commands() async throws {
    let folder = try TemporaryFolder()
    for key in ["limits: {maxSteps: 2}", "memory: [{scope: run, key: a, value: 1}]", "seed: 3"] {
      try folder.write(
        "case.yaml",
        """
        - caseId: one
          input: Go.
          agent: {command: [sh, -c, "exit 0"]}
          \(key)
          expected: {stopReason: success}
        """)
      let told = try await Binary.run(
        ["run", "case.yaml", "--live", "--no-summary"], in: folder.path, status: nil)
      #expect(told.status != 0 && told.output.contains("has no effect"), "\(told)")
    }
  }

  @Test("mistakes are told with their places, before anything runs")
  func mistakes() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.agent)
    for (text, words) in [
      ("policyContext: {tenant: acme}", "tenantId"), ("limits: {maxStep: 3}", "maxSteps"),
      ("memory: [{scope: all, key: a, value: 1}]", "run, agent, actor or tenant"),
      ("policy: {rules: [{id: a}]}", "verdict"), ("policy: none.yaml", "none.yaml"),
      ("seed: x", "whole number"),
    ] {
      try folder.write(
        "case.yaml",
        """
        - caseId: one
          input: Go.
          agent: agent.yaml
          \(text)
          expected: {stopReason: success}
        """)
      let told = try await Binary.run(["check", "case.yaml"], in: folder.path, status: nil)
      #expect(told.status != 0 && (told.output + told.errors).contains(words), "\(text): \(told)")
    }
  }

  @Test("defaults, a case and a row say together whom a run is for: the nearest counts, key by key")
  func layers() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.agent)
    try folder.write(
      "defaults.yaml",
      """
      root: true
      defaults:
        policyContext: {actorId: ana, tenantId: other, attributes: {tier: free, region: us}}
        limits: {maxSteps: 7, maxToolCalls: 1}
        memory: [{scope: actor, key: language, value: German}, {scope: run, key: pet, value: cat}]
        seed: 3
      """)
    try folder.write(
      "case.yaml",
      """
      defaults: {agent: agent.yaml, input: Refund 5., policyContext: {tenantId: acme}}
      cases:
        - caseId: row
          limits: {maxToolCalls: 3}
          policyContext: {attributes: {tier: silver}}
          table:
            - {verdict: allow, limits: {maxSteps: 4}, policyContext: {attributes: {tier: gold}}, seed: 9}
            - {verdict: deny, policyContext: {tenantId: third}, memory: [{scope: run, key: pet, value: dog}]}
          expected:
            policy: {given: [{tool: refund, verdict: "${verdict}"}]}
      """)
    let outcome = try await Binary.run(
      ["run", "case.yaml", "--live", "--out", "runs", "--no-summary"], in: folder.path)
    #expect(outcome.output.contains("2 passed"), "\(outcome)")
    var found: [String] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path("runs"))
    where name.hasSuffix(".jsonl.gz") {
      let log = folder.path("runs/\(name)")
      let started = try Self.started(log)
      let notes = try await Binary.run(["show", log, "--json"], in: folder.path).output
      found.append(
        """
        \(started.caseId ?? "-") \(started.policyContext.tenantId ?? "-") \
        \(started.policyContext.actorId ?? "-") \(CanonicalJSON.string(.object(started.policyContext.attributes))) \
        \(CanonicalJSON.string(.object(started.limits.encoded))) \(notes.contains("dog")) \(notes.contains("German"))
        """)
      try await Binary.run(
        ["replay", log, "--reexecute", "--cases", "case.yaml", "--agent", "agent.yaml"],
        in: folder.path)
    }
    #expect(
      found.sorted() == [
        #"row-1 acme ana {"region":"us","tier":"gold"} {"maxSteps":4,"maxToolCalls":3} false true"#,
        #"row-2 third ana {"region":"us","tier":"silver"} {"maxSteps":7,"maxToolCalls":3} true true"#,
      ])
  }

  private static let asking = """
    name: desk
    system: You help.
    tools: [{name: refund, sideEffect: write, inputSchema: {type: object}, scripted: [{ok: {done: true}}]}]
    policy:
      rules: [{id: asked, tool: refund, authorizer: entitlements}]
      authorizers: {entitlements: {command: [sh, -c, "touch asked; echo nonsense"]}}
    model: {script: [{call: {tool: refund, input: {amount: 5}}}, {answer: done}]}
    """

  @Test(
    "an authorizer of defaults, case or row answers in place of the policy's own, which is not asked"
  )
  func authorizers() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.asking)
    let deny = "authorizers: {entitlements: {scripted: [{ok: {decision: false}}]}}"
    let allow = "authorizers: {entitlements: {scripted: [{ok: {decision: true}}]}}"
    let expected = "expected: {policy: {given: [{tool: refund, verdict: \"${verdict}\"}]}}"
    try folder.write(
      "case.yaml",
      """
      defaults: {agent: agent.yaml, input: Refund 5., \(deny)}
      cases:
        - {caseId: shared, table: [{verdict: deny}], \(expected)}
        - {caseId: own, \(allow), table: [{verdict: allow}], \(expected)}
        - {caseId: row, \(allow), table: [{verdict: deny, \(deny)}], \(expected)}
      """)
    let outcome = try await Binary.run(
      ["run", "case.yaml", "--live", "--out", "runs", "--no-summary"], in: folder.path)
    #expect(outcome.output.contains("3 passed"), "\(outcome)")
    #expect(!FileManager.default.fileExists(atPath: folder.path("asked")))
    let log = try Self.onlyLog(in: folder.path("runs"))
    let started = try Self.started(log)
    #expect(started.policyDigest != nil && started.origins["policy"] != nil)
    try await Binary.run(
      ["replay", log, "--reexecute", "--cases", "case.yaml", "--agent", "agent.yaml"],
      in: folder.path)
  }

  @Test("an authorizer that no rule asks is refused, with those that are asked")
  func unasked() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.asking)
    try folder.write(
      "case.yaml",
      """
      - caseId: slip
        input: Refund 5.
        agent: agent.yaml
        authorizers: {entitlement: {scripted: [{ok: {decision: true}}]}}
        expected: {stopReason: success}
      """)
    let told = try await Binary.run(
      ["run", "case.yaml", "--live", "--no-summary"], in: folder.path, status: nil)
    #expect(told.status != 0, "\(told)")
    #expect(
      told.output.contains("asks the authorizer “entitlement”")
        && told.output.contains("asks “entitlements”"), "\(told)")
    #expect(!FileManager.default.fileExists(atPath: folder.path("asked")))
  }

  @Test("record takes the tenant and further attributes")
  func record() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.agent)
    try await Binary.run(
      [
        "record", "agent.yaml", "Refund 5.", "--out", "run.jsonl.gz", "--tenant", "acme",
        "--attribute", "tier=gold", "--attribute", "seats=4",
      ], in: folder.path)
    let started = try Self.started(folder.path("run.jsonl.gz"))
    #expect(started.policyContext.tenantId == "acme")
    #expect(
      started.policyContext.attributes == ["region": "eu", "seats": 4, "tier": "gold"])
    try await Binary.run(
      ["replay", "run.jsonl.gz", "--reexecute", "--agent", "agent.yaml"], in: folder.path)
    let told = try await Binary.run(
      ["record", "agent.yaml", "x", "--attribute", "tier"], in: folder.path, status: nil)
    #expect(told.status != 0 && told.errors.contains("KEY=VALUE"))
  }
}
