import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching

@Suite("The context packet")
struct ContextTests {
  private static func packets(_ run: SampleRun) throws -> [ContextPacket] {
    try run.events.filter { $0.type == .contextBuilt }.map { try ContextPacket(decoding: $0.data) }
  }

  @Test("every packet can be made again from the state and the earlier events, byte for byte")
  func rebuilt() async throws {
    var agent = AgentDefinition.replying(
      calls("look 1", "sketch 2"), calls("nothing"), calls("look 3"), ["question": "who?"],
      calls("pay 1"), answer("done"))
    agent.human = ScriptedPerson(
      approvals: [.init(granted: false, by: "bo")], answers: [.init(text: "me", by: "ana")])
    agent.memory = [MemoryNote(scope: "actor", key: "language", value: "de")]
    agent.context = ContextSettings(tokenBudget: 400, observationLimit: 3)
    let run = try await agent.run()
    #expect(run.stop.reason == "success")
    var state = AgentState()
    for event in run.events {
      if event.type == .contextBuilt {
        let packet = ContextAssembler(agent: agent).assemble(state: state) { run.events[$0] }
        #expect(
          CanonicalJSON.encode(.object(packet.encoded)) == CanonicalJSON.encode(.object(event.data))
        )
      }
      state.apply(event)
    }
  }

  @Test("a context that slides is what it would be if nothing of the one before were at hand")
  func sliding() async throws {
    // Beyond what a state retains, by turns of one call and of several.
    let count = TestRun.count(450, long: 3_000)
    var agent = AgentDefinition.playing(
      (0..<count).map { step in
        let reply = step % 3 == 0 ? calls("look \(step)", "look 0") : calls("look \(step)")
        return .init(choices: [.init(answer: .reply(reply))])
      } + [.init(choices: [.init(answer: .reply(answer("x")))])])
    agent.limits = Limits(maxSteps: count + 1)
    agent.context.tokenBudget = 100_000_000
    let run = try await agent.run()
    #expect(run.stop.reason == "success")
    var (state, compared) = (AgentState(), 0)
    for event in run.events {
      if event.type == .contextBuilt, event.step % 40 == 0 || event.step > count - 5 {
        let packet = ContextAssembler(agent: agent).assemble(state: state) { run.events[$0] }
        #expect(packet.encoded == event.data, "step \(event.step)")
        compared += 1
      }
      state.apply(event)
    }
    #expect(compared > 10 && state.observations.olderCount > 0)
  }

  @Test(
    "everything that could have been shown stands in exactly one of the two lists, with a reason",
    arguments: [60, 200, 400, 5_000])
  func reasons(budget: Int) async throws {
    let hidden = ToolRegistration(
      definition: ToolDefinition(name: "hidden", sideEffect: .read),
      implementation: .scripted(ScriptedTool(rules: [])), routes: ["billing"])
    var agent = AgentDefinition.playing(
      (0..<8).map { .init(choices: [.init(answer: .reply(calls("look \($0)")))]) }
        + [.init(choices: [.init(answer: .reply(answer("x")))])],
      tools: [.read, hidden])
    agent.systemPrompt = "Be brief."
    agent.context.tokenBudget = budget
    let run = try await agent.run()
    for (index, packet) in try Self.packets(run).enumerated() {
      let refs = packet.included.map(\.ref) + packet.omittedRefs.map(\.ref)
      #expect(Set(refs).count == refs.count)
      let observed = (0..<index).flatMap { ["\($0 + 1).model.1", "\($0 + 1).1.0"] }
      #expect(Set(refs) == Set(["system", "goal", "tool:look", "tool:hidden"] + observed))
      #expect((packet.included + packet.omittedRefs).allSatisfy { !$0.reason.isEmpty })
      #expect(
        packet.omittedRefs.first { $0.ref == "tool:hidden" }?.reason == "only open on billing")
      #expect(packet.toolsDisclosed == ["look"])
      if index > 0 {
        // The latest turn is always shown, whatever it costs.
        #expect(packet.included.contains { $0.ref == "\(index).1.0" })
        if packet.included.count > 5 { #expect(packet.tokenEstimate <= budget) }
      }
      #expect(packet.evidenceRefs == packet.included.map(\.ref).filter { $0.hasSuffix(".1.0") })
    }
    let last = try #require(try Self.packets(run).last)
    #expect(last.omittedRefs.isEmpty == false)
    #expect((last.omittedRefs.count == 1) == (budget == 5_000))
  }

  @Test("no result is ever shown without its call")
  func pairs() async throws {
    for budget in stride(from: 50, through: 600, by: 25) {
      var agent = AgentDefinition.playing(
        [.init(choices: [.init(answer: .reply(calls("look 1", "look 2")))], repeats: 6)]
          + [.init(choices: [.init(answer: .reply(answer("x")))])])
      agent.context.tokenBudget = budget
      for packet in try Self.packets(try await agent.run()) {
        let parts = packet.messages.flatMap { $0["content"]?.arrayValue ?? [] }
        func ids(_ type: JSONValue) -> [JSONValue?] {
          parts.filter { $0["type"] == type }.map { $0["callId"] }
        }
        #expect(ids("tool_call") == ids("tool_result"))
      }
    }
  }

  @Test("what the model said beside its calls is shown to it again, before them")
  func textBesideCalls() async throws {
    var reply = calls("look 1").objectValue ?? [:]
    reply["text"] = "I look first."
    let run = try await AgentDefinition.replying(.object(reply), answer("done")).run()
    let second = try #require(try Self.packets(run).last)
    let parts = try #require(second.messages.dropLast().last?["content"]?.arrayValue)
    #expect(parts.map { $0["type"] } == ["text", "tool_call"])
    #expect(parts.first?["text"] == "I look first.")
  }

  @Test("a run of thousands of events still shows what its state names")
  func longRun() async throws {
    var reply = calls("look 1").objectValue ?? [:]
    reply["text"] = "On I go."
    var agent = AgentDefinition.playing([
      .init(choices: [.init(answer: .reply(.object(reply)))], repeats: 900),
      .init(choices: [.init(answer: .reply(answer("done")))]),
    ])
    agent.limits = Limits(maxSteps: 1_000)
    agent.context = ContextSettings(tokenBudget: 500, observationLimit: 5)
    let run = try await agent.run()
    #expect(run.stop.reason == "success")
    let packet = try #require(
      try run.events.last { $0.type == .contextBuilt }.map {
        try ContextPacket(decoding: $0.data)
      })
    #expect(!JSONValue.array(packet.messages).description.contains("no longer in the log"))
    #expect(JSONValue.array(packet.messages).description.contains("On I go."))
    var state = AgentState()
    for event in run.events.prefix(packet.observations.isEmpty ? 0 : run.events.count - 4) {
      state.apply(event)
    }
    let again = ContextAssembler(agent: agent).assemble(state: state) { run.events[$0] }
    #expect(again == packet)
  }

  @Test("the route decides which tools the model is told of, and a hidden one is unknown to it")
  func routes() async throws {
    let tool = ToolRegistration(
      definition: ToolDefinition(name: "refund", sideEffect: .read),
      implementation: .scripted(ScriptedTool(rules: [.init(outcome: .ok(1))])), routes: ["billing"])
    for (route, reason) in [("billing", "success"), ("sales", "invalid_decision")] {
      var agent = AgentDefinition.playing(
        [
          .init(
            choices: [
              .init(
                condition: try Matcher(compiling: ["results": ["$length": 1]]),
                answer: .reply(answer("done"))),
              .init(answer: .reply(calls("refund"))),
            ], repeats: 9)
        ], tools: [tool])
      agent.policyContext.route = route
      #expect(try await agent.run().stop.reason == reason)
    }
  }
}

@Suite("Scripts")
struct ScriptTests {
  @Test("a turn branches on what was observed")
  func branches() async throws {
    for (n, text) in [(1, "good 1"), (2, "bad")] {
      let tool = ToolRegistration.tool(
        "look", .read,
        rules: [
          .init(
            condition: try Matcher(compiling: ["input": ["n": 1]]),
            outcome: .ok(["v": "${input.n}"])),
          .init(outcome: .error("no")),
        ])
      let run = try await AgentDefinition.playing(
        [
          .init(choices: [.init(answer: .reply(calls("look \(n)")))]),
          .init(choices: [
            .init(
              condition: try Matcher(compiling: ["last": ["status": "error"]]),
              answer: .reply(answer("bad"))),
            .init(answer: .reply(answer("good ${last.data.v}"))),
          ]),
        ], tools: [tool]
      ).run()
      #expect(run.events.last?.data["answer"] == .string(text))
    }
  }

  @Test("a script that ends too early counts as a model out of reach, and says so")
  func tooShort() async throws {
    let run = try await AgentDefinition.replying(calls("look 1")).run()
    #expect(run.stop == ("model_failure", "error"))
    #expect(run.events.contains { $0.data["error"] == "the script has no turn 2" })
  }

  @Test("identifiers from a seed are UUIDs, the same for the same seed")
  func identifiers() {
    let (first, second) = (SeededRunIDs(seed: 7), SeededRunIDs(seed: 7))
    var seen: Set<String> = []
    for _ in 0..<100 {
      let id = first.next()
      #expect(id == second.next())
      #expect(id.count == 36 && Array(id)[14] == "8" && "89ab".contains(Array(id)[19]))
      #expect(seen.insert(id).inserted)
    }
    #expect(SeededRunIDs(seed: 8).next() != SeededRunIDs(seed: 7).next())
  }

  @Test(
    "UTC text follows the calendar",
    arguments: [
      (0, "1970-01-01T00:00:00.000000Z"), (-1, "1969-12-31T23:59:59.999999Z"),
      (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
      (1_767_225_600_000_000, "2026-01-01T00:00:00.000000Z"),
      (4_107_542_399_123_456, "2100-02-28T23:59:59.123456Z"),
    ])
  func utc(microseconds: Int, text: String) {
    #expect(UTC.text(microsecondsSince1970: microseconds) == text)
  }
}
