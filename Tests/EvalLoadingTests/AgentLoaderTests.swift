import AgentRuntime
import AgentTrace
import EvalLoading
import Foundation
import Glibc
import TestSupport
import Testing

/// Loads an agent from text.
func loadAgent(_ text: String, path: String = "agent.yaml") -> Loaded<AgentDefinition> {
  AgentLoader.load(Array(text.utf8), path: path)
}

@Suite("Agent files")
struct AgentLoaderTests {
  @Test("An agent file that uses every key gives the agent that it describes")
  func everyKey() throws {
    let loaded = loadAgent(
      #"""
      name: support
      version: "1"
      system: |
        Be kind.
      goal: Help.
      model:
        provider: scripted
        name: support-script
        script:
          - call: {tool: lookup, input: {orderId: "1234"}}
          - calls: [{tool: lookup, input: {}}, {tool: refund, id: x, input: {amount: 1.50}}]
            say: both
            usage: {inputTokens: 10, outputTokens: 5, cost: 0.01}
          - unreachable: connection refused
            repeat: 3
          - choose:
              - when: {last: {status: error}}
                ask: Which order?
              - answer: "Done: ${last.data.status}"
                evidence: ["1.1.0"]
          - stop: blocked
          - reply: {text: ""}
      tools:
        - name: lookup
          description: Looks up an order.
          sideEffect: read
          sensitivity: internal
          inputSchema: {type: object, properties: {orderId: {type: string}}}
          outputSchema: {type: object}
          timeoutSeconds: 5
          idempotent: false
          onError: retry
          maxAttempts: 2
          routes: [billing]
          scripted:
            - when: {input: {orderId: "1234"}, attempt: 1}
              ok: {status: shipped}
              delaySeconds: 0.2
              raise: SIGTERM
            - error: no such order
        - name: refund
          sideEffect: write
          command: [./refund.py, --now]
      policy:
        rules:
          - {id: no-refunds, tool: [refund, "delete_*"], sideEffect: write, actor: "guest-*", route: billing, verdict: deny, onDeny: stop, reason: no}
      policyContext: {actorId: guest-1, tenantId: t, route: billing, attributes: {a: 1}}
      limits: {maxSteps: 9, maxToolCalls: 8, maxTokens: 7, maxCost: 6, timeoutSeconds: 5}
      context: {tokenBudget: 100, observationLimit: 10}
      failures: {invalidDecisionRetries: 0, modelRetries: 1, maxDenials: 2, maxToolErrors: 4}
      parallelCalls: 2
      memory: [{scope: actor, key: likes, value: [tea]}]
      human:
        approvals: [{tool: refund, input: {amount: {$lt: 5}}, granted: true, by: ann, reason: small}]
        answers: [{question: {$regex: order}, text: "1234", by: bob}]
      """#)
    let warnings = loaded.diagnostics.map(\.description)
    #expect(
      warnings == [
        "agent.yaml:46:39: warning: policy.rules[0].tool[1]: the agent has no tool that “delete_*” fits"
      ])
    let agent = try #require(loaded.value)
    #expect(agent.name == "support")
    #expect(agent.systemPrompt == "Be kind.\n")
    #expect(agent.limits.maxSteps == 9)
    guard case .scripted(let script) = agent.model.implementation else { return }
    #expect(script.turns.count == 6)
    #expect(script.turns[2].repeats == 3)
    guard case .reply(let reply) = script.turns[1].choices[0].answer else {
      Issue.record("no reply")
      return
    }
    #expect(
      reply == [
        "calls": [
          ["name": "lookup", "input": [:]],
          ["id": "x", "name": "refund", "input": ["amount": .number(JSONNumber(token: "1.50")!)]],
        ], "text": "both",
      ])
    #expect(agent.tools[0].maxAttempts == 2)
    #expect(agent.policy.rules[0].onDeny == .stop)
    #expect(agent.human?.approvals[0].by == "ann")
  }

  @Test("All mistakes of a file are told at once, each at its line")
  func allMistakes() {
    let loaded = loadAgent(
      """
      nmae: x
      model:
        provider: opnai
        script:
          - call: {tool: a, imput: {}}
          - answer: yes
            ask: 1
          - {}
      tools:
        - name: a
          sideEffect: reads
          scripted: []
        - name: a
          sideEffect: read
          inputSchema: {type: objekt}
          command: []
      parallelCalls: 100
      limits: {maxSteps: -1}
      """)
    #expect(loaded.value == nil)
    #expect(
      loaded.diagnostics.map(\.description) == [
        "agent.yaml:1:1: error: nmae: unknown key “nmae”; did you mean “name”?",
        "agent.yaml:3:13: error: model.provider: should be scripted, openai, anthropic, openai-responses, gemini, ollama or bedrock, not “opnai”; did you mean “openai”?",
        "agent.yaml:5:23: error: model.script[0].call.imput: unknown key “imput”; did you mean “input”?",
        "agent.yaml:7:12: error: model.script[1].ask: should be text, not the number 1",
        "agent.yaml:8:7: error: model.script[2]: decides nothing; add one of call, calls, answer, ask, stop, reply, unreachable or choose",
        "agent.yaml:11:17: error: tools[0].sideEffect: should be read, draft or write, not “reads”; did you mean “read”?",
        "agent.yaml:12:15: error: tools[0].scripted: should not be empty",
        "agent.yaml:13:11: error: tools[1].name: the tool “a” is there already, as number 1",
        "agent.yaml:15:25: error: tools[1].inputSchema.type: no usable JSON Schema: the keyword “type” needs one or more of null, boolean, integer, number, string, array, object",
        "agent.yaml:16:14: error: tools[1].command: should not be empty",
        "agent.yaml:17:16: error: parallelCalls: should be a whole number from 1 to 64, not the number 100",
        "agent.yaml:18:20: error: limits.maxSteps: should be a whole number from 0 to 1000000000000, not the number -1",
      ])
  }

  @Test("A condition that looks at what is never there is told with the nearest name")
  func conditionsOnNothing() {
    let loaded = loadAgent(
      """
      name: a
      tools:
        - name: look
          sideEffect: read
          disclose: [{id: d, show: false, when: {actorID: guest}}]
          scripted:
            - {when: {inptu: {id: 1}}, ok: 1}
            - {when: {$anyOf: [{input: {id: 2}}]}, ok: 2}
      model:
        script:
          - choose:
              - when: {lst: {status: ok}, step: 1}
                answer: x
              - when: {last: {anything: 1}}
                answer: y
      """)
    #expect(
      loaded.diagnostics.map { "\($0.line ?? 0) \($0.severity) \($0.key) \($0.hint ?? "")" } == [
        "5 warning tools[0].disclose[0].when.actorID did you mean “actorId”?",
        "7 warning tools[0].scripted[0].when.inptu did you mean “input”?",
        "12 warning model.script[0].choose[0].when.lst did you mean “last”?",
      ])
  }

  @Test("A matcher that is none is an error at the part at fault")
  func badMatcher() {
    let loaded = loadAgent(
      """
      name: a
      model:
        script:
          - choose:
              - when:
                  last:
                    data: {$regexp: x}
                answer: x
              - when: {last: {$regex: "("}}
                answer: y
      """)
    #expect(
      loaded.diagnostics.map { "\($0.line ?? 0):\($0.column ?? 0) \($0.key) \($0.hint ?? "")" } == [
        "7:22 model.script[0].choose[0].when.last.data.$regexp did you mean “$regex”?",
        "9:33 model.script[0].choose[1].when.last.$regex ",
      ])
  }

  @Test(
    "What is no agent file at all is one clear error",
    arguments: [
      ("", "agent.yaml:1: error: empty; it should hold an agent"),
      ("# nothing", "agent.yaml:1: error: empty; it should hold an agent"),
      (
        "[1]",
        "agent.yaml:1:1: error: should be an agent, a mapping with “name” and “model”, not a list"
      ),
      (
        "name: a\n---\nname: b",
        "agent.yaml:3:1: error: a second document; a file holds an agent and no more"
      ),
    ])
  func noAgent(text: String, message: String) {
    #expect(loadAgent(text).diagnostics.map(\.description) == [message])
  }

  @Test("A call of a tool that is not there is a warning that names the nearest")
  func unknownTool() {
    let loaded = loadAgent(
      """
      name: a
      model: {script: [{call: {tool: lokup}}, {call: {tool: "${goal}"}}, {call: {tool: zzz}}]}
      tools: [{name: lookup, sideEffect: read, scripted: [{ok: 1}]}]
      human: {approvals: [{tool: refund, granted: true}]}
      """)
    #expect(loaded.value != nil)
    #expect(
      loaded.diagnostics.map(\.description) == [
        "agent.yaml:2:32: warning: model.script[0].call.tool: the agent has no tool “lokup”; the call will be an invalid decision; did you mean “lookup”?",
        "agent.yaml:2:82: warning: model.script[2].call.tool: the agent has no tool “zzz”; the call will be an invalid decision",
        "agent.yaml:4:28: warning: human.approvals[0].tool: the agent has no tool that “refund” fits",
      ])
  }

  @Test("What has no effect is a warning")
  func noEffect() {
    let loaded = loadAgent(
      """
      name: a
      model: {script: [{answer: x}]}
      tools: [{name: t, sideEffect: write, onError: retry, scripted: [{ok: 1}]}]
      policy: {rules: [{id: r, verdict: allow, onDeny: stop}]}
      """)
    #expect(loaded.value != nil)
    #expect(loaded.diagnostics.map(\.key) == ["tools[0].onError", "policy.rules[0].onDeny"])
    #expect(loaded.diagnostics.allSatisfy { $0.severity == .warning })
  }

  @Test("A file of a thousand mistakes says the first of them and that there are more")
  func manyMistakes() {
    let tools = Array(repeating: "{nam: x}", count: 1_000).joined(separator: ", ")
    let loaded = loadAgent("name: a\nmodel: {script: [{answer: x}]}\ntools: [\(tools)]")
    #expect(loaded.value == nil)
    #expect(loaded.diagnostics.count == 201)
    #expect(loaded.diagnostics.contains { $0.message.hasPrefix("more mistakes") })
  }

  @Test("JSON agent files are read as well, with places")
  func json() {
    let text = "{\"name\": \"a\",\n \"model\": {\"script\": [{\"answr\": \"x\"}]}}"
    let loaded = loadAgent(text, path: "agent.json")
    #expect(
      loaded.diagnostics.map(\.description) == [
        "agent.json:2:24: error: model.script[0].answr: unknown key “answr”; did you mean “answer”?"
      ])
  }

  @Test("Digests are of the files' bytes, and the folder is the file's own")
  func digests() throws {
    let folder = try TemporaryFolder()
    let policy = "rules: [{id: r, tool: t, verdict: deny}]"
    let agent = "name: a\nmodel: {script: [{answer: x}]}\npolicy: ../p/policy.yaml\n"
    try folder.write("p/policy.yaml", policy)
    let path = try folder.write("a/agent.yaml", agent)
    let loaded = AgentLoader.load(path)
    let value = try #require(loaded.value)
    #expect(value.digest == Digest(of: Array(agent.utf8)).hex)
    #expect(value.policy.digest == Digest(of: Array(policy.utf8)).hex)
    #expect(value.policy.rules.map(\.id) == ["r"])
    #expect(value.folder == folder.path("a"))
    #expect(
      loaded.diagnostics.map(\.description) == [
        "\(folder.path("p/policy.yaml")):1:23: warning: rules[0].tool: the agent has no tool that “t” fits"
      ])
  }

  @Test("A policy file that cannot be used is told at its own lines and where it is named")
  func brokenPolicy() throws {
    let folder = try TemporaryFolder()
    try folder.write("policy.yaml", "rules:\n  - {id: r, verdit: deny}\n  - {id: r, verdict: deny}")
    let path = try folder.write(
      "agent.yaml", "name: a\nmodel: {script: [{answer: x}]}\npolicy: policy.yaml\n")
    let loaded = AgentLoader.load(path)
    #expect(loaded.value == nil)
    #expect(
      loaded.diagnostics.map { $0.description.replacing(folder.path, with: "F") } == [
        "F/agent.yaml:3:9: error: policy: the policy file “\(folder.path)/policy.yaml” has errors"
          .replacing(folder.path, with: "F"),
        "F/policy.yaml:2:13: error: rules[0].verdit: unknown key “verdit”; did you mean “verdict”?",
        "F/policy.yaml:3:10: error: rules[1].id: the id “r” is there already, at rule 1",
      ])
    let missing = loadAgent("name: a\nmodel: {script: [{answer: x}]}\npolicy: nowhere.yaml\n")
    #expect(
      missing.diagnostics.map(\.description) == [
        "agent.yaml:3:9: error: policy: the policy file “nowhere.yaml” has errors",
        "nowhere.yaml: error: cannot be opened: no such file",
      ])
  }

  @Test(
    "A value of the input that nothing fills in, in a tool's URL or command, is warned of",
    arguments: [
      ("http: {url: 'https://h/${id}'}", "write {key}"),
      ("http: {url: 'https://h/$filter?id={id}'}", nil),
      ("command: [look, '${input.id}']", "on standard input"),
      ("command: {arguments: [look], environment: {set: {ID: 'a ${input}'}}}", "on standard input"),
      ("command: [sh, -c, 'echo ${HOME} ${inputs}']", nil),
    ])
  func literals(tool: String, hint: String?) {
    let loaded = loadAgent(
      """
      name: a
      model: {script: [{answer: x}]}
      tools: [{name: t, sideEffect: read, \(tool)}]
      """)
    #expect(loaded.value != nil)
    let hints = loaded.diagnostics.compactMap(\.hint)
    #expect(hints.count == (hint == nil ? 0 : 1), "\(loaded.diagnostics)")
    #expect(hint.map { hint in hints.allSatisfy { $0.contains(hint) } } ?? true)
  }

  @Test("A limit in money of a model without prices is warned of; with prices, or of a script, not")
  func costWithoutPrices() {
    let served = "provider: openai, name: m"
    for (model, isTold) in [
      (served, true), ("\(served), prices: {input: 1, output: 2}", false),
      ("script: [{answer: x}]", false),
    ] {
      let loaded = loadAgent("name: a\nmodel: {\(model)}\nlimits: {maxCost: 0.5}\n")
      #expect(loaded.value != nil, "\(loaded.diagnostics)")
      let told = loaded.diagnostics.map(\.description).filter { $0.contains("limits.maxCost") }
      #expect(told.count == (isTold ? 1 : 0), "\(model): \(loaded.diagnostics)")
      #expect(told.allSatisfy { $0.hasPrefix("agent.yaml:3:19: warning: ") }, "\(told)")
    }
  }

  @Test("Control characters never reach a message as they are")
  func controlCharacters() {
    let loaded = loadAgent("name: a\nmodel: {script: [{answer: x}]}\n\"\\e[31m\\u202e\": 1")
    let text = loaded.diagnostics.map(\.description).joined()
    #expect(text.contains("\\u001b[31m\\u202e"))
    #expect(!text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202e })
  }

  @Test(
    "Files that cannot be read are errors, never a wait or a crash",
    arguments: ["missing", "folder", "pipe", "loop", "unreadable", "nul"])
  func unreadable(kind: String) throws {
    let folder = try TemporaryFolder()
    var path = folder.path("x.yaml")
    switch kind {
    case "folder":
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    case "pipe": mkfifo(path, 0o600)
    case "loop": symlink(path, path)
    case "unreadable":
      try folder.write("x.yaml", "name: a")
      chmod(path, 0)
      if access(path, R_OK) == 0 { return }  // root reads everything
    case "nul": path += "\0"
    default: break
    }
    let loaded = AgentLoader.load(path)
    #expect(loaded.value == nil)
    #expect(loaded.diagnostics.count == 1)
    #expect(loaded.diagnostics.first?.line == nil)
  }

  @Test("Every shipped agent file can be used")
  func shipped() {
    let files = Project.files(below: "Fixtures/agents", ending: ".yaml")
    #expect(!files.isEmpty)
    for file in files {
      let loaded = AgentLoader.load(Project.path(file))
      #expect(loaded.value != nil, "\(loaded.diagnostics)")
    }
  }
}
