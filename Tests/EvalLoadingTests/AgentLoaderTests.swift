import AgentRuntime
import AgentTrace
import EvalLoading
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
        provider: openai
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
    for d in loaded.diagnostics { print(d) }
    #expect(loaded.value == nil)
  }
}
