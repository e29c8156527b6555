import AgentRuntime
import AgentTrace
import Testing

@Suite("Decisions that are called like tools")
struct DecisionToolTests {
  private static let deciding: [ToolRegistration] =
    [.read, .draft, .write]
    + [.askHuman, .stop([.success, .blocked]), .answer(schema: nil)].map {
      (tool: DecisionTool) in tool.registration
    }

  private static func reply(_ tool: String, _ input: JSONValue, _ text: String = "") -> JSONValue {
    [
      "text": .string(text),
      "calls": [["id": "p1", "name": .string(tool), "input": input]],
    ]
  }

  private static let asking = reply("ask_human", ["question": "Which one?"], "Wait.")
  private static func answering(_ evidence: JSONValue) -> JSONValue {
    reply("answer", ["answer": "That one.", "evidence": evidence])
  }

  private static func agent(_ replies: JSONValue..., isAnswered: Bool = true) -> AgentDefinition {
    var agent = AgentDefinition.playing(
      replies.map { .init(choices: [.init(answer: .reply($0))]) }, tools: deciding)
    if isAnswered {
      agent.human = ScriptedPerson(answers: [.init(text: "The red one", by: "ana")])
    }
    return agent
  }

  private static func messages(_ run: SampleRun) -> [JSONValue] {
    (run.events.last { $0.type == .contextBuilt }?.data["prompt"]?["messages"]?.arrayValue ?? [])
  }

  @Test(
    "a question is asked, and the model is shown its call and what the person said as what came of it"
  )
  func question() async throws {
    let run = try await Self.agent(Self.asking, answer("ok")).run()
    #expect(run.stop == ("success", "final_answer"))
    #expect(run.outline == ["decision ask_human", "human_replied", "decision answer", "stop"])
    let decision = try #require(run.events.first { $0.type == .decision })
    #expect(decision.data["question"] == "Which one?")
    let shown = Self.messages(run).suffix(2).map { $0["content"]?.arrayValue ?? [] }
    #expect(shown.first?.map { $0["type"] } == ["text", "tool_call"])
    #expect(shown.first?.last?["name"] == "ask_human")
    #expect(shown.first?.last?["callId"] == shown.last?.first?["callId"])
    #expect(shown.last?.first?["data"] == "The red one")
    // No call was made.
    #expect(run.state.totals.toolCalls == 0)
    #expect(Trajectory(of: run.events).calls.isEmpty)
  }

  @Test("a question that nobody answers blocks the run, which may go on")
  func unanswered() async throws {
    let run = try await Self.agent(Self.asking, answer("ok"), isAnswered: false).run()
    #expect(run.stop == ("blocked", "human"))
    #expect(run.state.stop?.isFinal == false)
  }

  @Test("a script hears what a person said to such a question")
  func heard() async throws {
    var agent = Self.agent(Self.asking)
    agent.model.implementation = .scripted(
      ModelScript(turns: [
        .init(choices: [.init(answer: .reply(Self.asking))]),
        .init(choices: [.init(answer: .reply(["text": "${heard} of ${replies.0}"]))]),
      ]))
    let run = try await agent.run()
    #expect(run.events.last?.data["answer"] == "The red one of The red one")
  }

  @Test("a stop ends the run for the reason that it names, where the agent allows it")
  func stops() async throws {
    for (reason, stop) in [("blocked", "blocked"), ("success", "success")] {
      let run = try await Self.agent(Self.reply("stop", ["reason": .string(reason)])).run()
      #expect(run.stop == (stop, "model"))
      #expect(run.outline == ["decision stop", "stop"])
    }
    for reason in ["cancelled", "policy_denied", ""] {
      let run = try await Self.agent(
        Self.reply("stop", ["reason": .string(reason)]), answer("ok")
      ).run()
      #expect(run.outline == ["decision invalid", "decision answer", "stop"])
    }
  }

  @Test(
    "an answer cites results that were shown, by ids that the model is told; of others it is asked again"
  )
  func evidence() async throws {
    let good = try await Self.agent(calls("look 1"), Self.answering(["1.1.0"])).run()
    #expect(good.stop == ("success", "final_answer"))
    let stop = try #require(good.events.last)
    #expect(stop.data["answer"] == "That one." && stop.data["evidenceRefs"] == ["1.1.0"])
    let result = Self.messages(good).last?["content"]?[0]
    #expect(result?["callId"] == "1.1.0" && result?["cite"] == true)
    for odd in [["1.1.1"], ["1.1.0", "call_1"], [""]] {
      let run = try await Self.agent(
        calls("look 1"), Self.answering(JSONValue(odd)), Self.answering(["1.1.0"])
      ).run()
      #expect(run.outline.suffix(3) == ["decision invalid", "decision answer", "stop"])
      let invalid = try #require(run.events.first { $0.data["kind"] == "invalid" })
      #expect(invalid.data["reason"]?.stringValue?.contains("the last ones are 1.1.0") == true)
    }
  }

  @Test("where evidence is needed, an answer without it is no decision, however it is given")
  func neededEvidence() async throws {
    for bare in [Self.answering([]), answer("That one.")] {
      var agent = Self.agent(calls("look 1"), bare, Self.answering(["1.1.0"]))
      agent.answers.needsEvidence = true
      let run = try await agent.run()
      #expect(run.outline.suffix(3) == ["decision invalid", "decision answer", "stop"])
      var lazy = Self.agent(bare, bare, bare)
      lazy.answers.needsEvidence = true
      #expect(try await lazy.run().stop == ("invalid_decision", "error"))
    }
    // Results of scripts are cited beside the text, and need no tool.
    var plain = AgentDefinition.replying(
      calls("look 1"), ["text": "That one.", "evidence": ["1.1.0"]])
    plain.answers.needsEvidence = true
    #expect(try await plain.run().stop == ("success", "final_answer"))
  }

  @Test("such a call stands alone: beside others nothing runs and nothing is decided")
  func alone() async throws {
    for name in ["ask_human", "stop", "answer"] {
      let input: [String: JSONValue] = [
        "ask_human": ["question": "Which?"], "stop": ["reason": "success"],
        "answer": ["answer": "x", "evidence": []],
      ]
      let both: JSONValue = [
        "calls": [
          ["name": "pay", "input": ["n": 1]], ["name": .string(name), "input": input[name] ?? [:]],
        ]
      ]
      let run = try await Self.agent(both, answer("ok")).run()
      #expect(run.outline == ["decision invalid", "decision answer", "stop"])
      let invalid = try #require(run.events.first { $0.data["kind"] == "invalid" })
      #expect(invalid.data["reason"]?.stringValue?.contains("“\(name)” ends the turn") == true)
    }
  }

  @Test("an input that is not as it has to be is told, as of any tool")
  func inputs() async throws {
    for (name, input) in [
      ("ask_human", [:]), ("ask_human", ["question": ""]), ("ask_human", ["question": 3]),
      ("stop", [:]), ("answer", ["answer": "x"]), ("answer", ["answer": "", "evidence": []]),
      ("answer", ["answer": "x", "evidence": [1]]),
    ] as [(String, JSONValue)] {
      let run = try await Self.agent(Self.reply(name, input), answer("ok")).run()
      #expect(run.outline == ["decision invalid", "decision answer", "stop"], "\(name) \(input)")
    }
  }

  @Test("answers of a schema are JSON of it, in a fence or not")
  func schema() async throws {
    let schema: JSONValue = [
      "type": "object", "required": ["n"], "properties": ["n": ["type": "integer"]],
    ]
    for good in ["{\"n\":1}", "```json\n{\"n\":1}\n```"] {
      for bad in ["one", "{\"n\":\"1\"}", "[1]", "{\"n\":1} and so on"] {
        var agent = AgentDefinition.replying(answer(bad), answer(good))
        agent.answers.schema = schema
        let run = try await agent.run()
        #expect(run.outline == ["decision invalid", "decision answer", "stop"], "\(bad)")
        #expect(run.events.last?.data["answer"]?.stringValue == good)
      }
    }
    // A tool to answer with takes the value itself.
    var citing = Self.agent(
      Self.reply("answer", ["answer": ["n": "1"], "evidence": []]),
      Self.reply("answer", ["answer": ["n": 1], "evidence": []]))
    citing.tools = [.read, DecisionTool.answer(schema: schema).registration]
    citing.answers.schema = schema
    let run = try await citing.run()
    #expect(run.outline == ["decision invalid", "decision answer", "stop"])
    #expect(run.events.last?.data["answer"] == "{\"n\":1}")
  }

  @Test("a schema that is none is told before a run starts")
  func badSchema() {
    var agent = AgentDefinition.replying(answer("ok"))
    agent.answers.schema = ["type": "nonsense"]
    #expect(throws: AnswerSchemaFault.self) {
      try Runtime(
        agent: agent,
        boundary: AssembledBoundary(
          for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1)))
    }
  }

  @Test("whatever event such a run goes on from, it goes on as it went")
  func goingOn() async throws {
    let agent = Self.agent(
      Self.asking, calls("look 1"), Self.answering(["0"]), Self.answering(["2.1.0"]))
    let whole = try await agent.run().events
    #expect(whole.last?.data["reason"] == "success")
    for index in whole.indices {
      let rest = try await agent.goOn(from: whole[...index])
      #expect(rest.firstDifference(from: whole[(index + 1)...]) == nil, "event \(index)")
      #expect(rest.state == AgentState(after: whole))
    }
  }
}
