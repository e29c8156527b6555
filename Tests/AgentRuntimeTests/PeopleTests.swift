import AgentRuntime
import AgentTrace
import Synchronization
import Testing
import TraceMatching

@Suite("People in a run")
struct PeopleTests {
  private static func person(_ replies: JSONValue...) -> SimulatedPerson {
    SimulatedPerson(
      model: ModelDefinition(
        provider: "scripted", name: "customer",
        implementation: .scripted(
          ModelScript(turns: replies.map { .init(choices: [.init(answer: .reply($0))]) }))),
      systemPrompt: "You are in a hurry.", name: "Cy")
  }

  private static func words(_ run: SampleRun) -> [String] {
    run.events.filter { $0.type == .humanReplied }.map {
      "\($0.data["by"]?.stringValue ?? ""): \($0.data["text"]?.stringValue ?? "")"
    }
  }

  // MARK: Nobody, and silence

  @Test("nobody there: an answer ends the run, a question blocks it, a call pauses it")
  func nobody() async throws {
    #expect(try await AgentDefinition.replying(answer("x")).run().stop.reason == "success")
    let asked = try await AgentDefinition.replying(["question": "Which?"]).run()
    #expect(asked.stop == ("blocked", "human"))
    let paused = try await AgentDefinition.replying(calls("pay 1")).run()
    #expect(paused.stop == ("approval_required", "tool:pay"))
  }

  @Test("a simulated person who is out of reach or says neither yes nor no is nobody")
  func silence() async throws {
    for reply in [["text": "perhaps"], ["text": ""], "hm", ["stop": "success"], [:]] as [JSONValue]
    {
      var agent = AgentDefinition.replying(calls("pay 1"), answer("x"))
      agent.human = ScriptedPerson(model: Self.person(reply))
      let run = try await agent.run()
      #expect(run.stop == ("approval_required", "tool:pay"), "\(reply)")
      #expect(run.events.filter { $0.type == .approval }.isEmpty)
    }
    var agent = AgentDefinition.replying(["question": "Which?"])
    agent.human = ScriptedPerson(model: Self.person())
    let run = try await agent.run()
    #expect(run.stop == ("blocked", "human"))
    let tries = run.events.filter { $0.data["purpose"] == "human" }
    #expect(tries.map { $0.data["attempt"]?.intValue } == [1, 2, 3])
    #expect(run.state.totals.modelCalls == 4)
  }

  // MARK: Turns

  @Test("the n-th word of the run is the person's n-th, whatever it is said to")
  func turns() async throws {
    var agent = AgentDefinition.replying(
      ["question": "Which?"], answer("That one."), answer("Done."))
    agent.human = ScriptedPerson(turns: [
      .says("the first", by: "Ana"), .approves(true, by: "Bo", reason: nil),
      .says("and then?", by: "Ana"),
    ])
    let run = try await agent.run()
    #expect(Self.words(run) == ["Ana: the first", "Ana: and then?"])
    #expect(run.stop.reason == "success" && run.state.totals.steps == 3)
    let stop = try #require(run.events.last)
    #expect(stop.data["answer"] == "Done.")
    // The answer that was replied to stands before the model as what it said.
    let packet = try #require(run.events.last { $0.type == .contextBuilt })
    let messages = packet.data["prompt"]?["messages"]?.arrayValue ?? []
    #expect(
      messages.suffix(2).map { $0["content"]?[0]?["text"] } == ["That one.", "and then?"])
    #expect(messages.suffix(2).map { $0["role"] } == ["assistant", "user"])
  }

  @Test(
    "a person's approvals are said in order, each for one call; behind the last the rules speak")
  func approvals() async throws {
    var agent = AgentDefinition.replying(
      calls("pay 1", "pay 2"), calls("pay 3"), calls("pay 4"), answer("x"))
    agent.human = ScriptedPerson(
      turns: [
        .approves(true, by: "Bo", reason: nil), .approves(false, by: "Bo", reason: "enough"),
      ],
      approvals: [.init(input: try Matcher(compiling: ["n": 3]), granted: true, by: "Ana")])
    let run = try await agent.run()
    let results = run.results()
    #expect(results == ["1.1.0": "ok", "1.1.1": "refused", "2.1.0": "ok"])
    #expect(run.stop == ("approval_required", "tool:pay"))
  }

  @Test("rules answer questions, never answers: a run with them ends")
  func rules() async throws {
    var agent = AgentDefinition.replying(["question": "Which?"], answer("x"))
    agent.human = ScriptedPerson(answers: [.init(text: "any", by: "Ana")])
    let run = try await agent.run()
    #expect(Self.words(run) == ["Ana: any"] && run.stop.reason == "success")
  }

  // MARK: A person that a model plays

  @Test("a simulated person hears what the agent says and nothing of its calls")
  func transcript() async throws {
    var agent = AgentDefinition.replying(
      calls("look 7"), ["question": "Which?"], calls("pay 1"), answer("Paid."), answer("Bye."))
    agent.human = ScriptedPerson(
      model: Self.person(
        ["text": "That one."], ["granted": false, "reason": "too much"], ["text": "Really?"],
        ["stop": "success"]))
    let boundary = HearingBoundary(agent)
    let sink = InMemoryEventSink()
    let state = try await Runtime(agent: agent, boundary: boundary).run(
      .init(goal: "do it", runId: "r"), into: sink)
    #expect(state.stop?.reason == "success")
    let heard = boundary.heard.map { request in
      request.messages.map {
        "\($0["role"]?.stringValue ?? ""): \($0["content"]?[0]?["text"]?.stringValue ?? "")"
      }
    }
    let opening = ["system: You are in a hurry.", "assistant: do it"]
    let first = opening + ["user: Which?"]
    let second = first + ["assistant: That one."]
    #expect(heard.count == 4)
    #expect(heard.first == first)
    #expect(heard[1].dropLast() == second[...])
    #expect(heard[1].last?.hasPrefix("user: May I call pay with {\"n\":1}?") == true)
    #expect(heard[2] == second + ["user: Paid."])
    #expect(heard[3] == second + ["user: Paid.", "assistant: Really?", "user: Bye."])
    #expect(boundary.heard.map(\.number) == [1, 2, 3, 4])
    let said = sink.events.filter { $0.data["by"] == "Cy" }
    #expect(said.map(\.type) == [.humanReplied, .approval, .humanReplied])
    for event in said {
      let reply = try #require(event.data["modelResult"]?.intValue)
      #expect(sink.events[reply].data["purpose"] == "human")
    }
  }

  @Test(
    "a word that begins with yes or no is about a call, and what stands behind it is why",
    arguments: [
      ("y", true, nil), ("Yes.", true, nil), ("  no, too much ", false, "too much"),
      ("N: later", false, "later"), ("yes – a known customer", true, "a known customer"),
    ] as [(String, Bool, String?)])
  func spoken(text: String, granted: Bool, reason: String?) {
    let word = SpokenApproval(text)
    #expect(word?.granted == granted && word?.reason == reason)
  }

  @Test(
    "any other word is neither", arguments: ["", " ", "yesterday", "nothing", "\u{1b}[2J", "1"])
  func unspoken(text: String) { #expect(SpokenApproval(text) == nil) }
}

/// Notes what a person that a model plays is asked.
private final class HearingBoundary: Boundary {
  private let inner: AssembledBoundary
  private let log = InMemoryRequests()

  init(_ agent: AgentDefinition) {
    inner = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1))
  }

  var heard: [ModelRequest] { log.all }
  var clock: any RunClock { inner.clock }
  var cancellation: Cancellation { inner.cancellation }

  func makeRunID() -> String { inner.makeRunID() }

  func reply(to request: ModelRequest) async -> ModelAnswer {
    if request.purpose == .human { log.add(request) }
    return await inner.reply(to: request)
  }

  func run(_ request: ToolRequest) async -> ToolAnswer { await inner.run(request) }
  func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? { await inner.approve(request) }
  func answer(_ request: QuestionRequest) async -> PersonAnswer? { await inner.answer(request) }

  func simulatedPerson(step: Int, question: Int) -> SimulatedPerson? {
    inner.simulatedPerson(step: step, question: question)
  }
}

/// Requests in the order in which they came.
private final class InMemoryRequests: Sendable {
  private let requests = Mutex<[ModelRequest]>([])

  var all: [ModelRequest] { requests.withLock { $0 } }
  func add(_ request: ModelRequest) { requests.withLock { $0.append(request) } }
}
