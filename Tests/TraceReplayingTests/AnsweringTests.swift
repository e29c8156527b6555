import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

@Suite("Answers from a recorded run")
struct AnsweringTests {
  private static func fixture(_ name: String) throws -> Fixture {
    try #require(Fixture.all.first { $0.name == name })
  }

  private static func toolRequest(
    _ callId: String, _ tool: String, _ input: JSONValue, attempt: Int = 1, step: Int
  ) -> ToolRequest {
    ToolRequest(
      callId: callId, tool: ToolDefinition(name: tool), input: input, attempt: attempt, step: step,
      idempotencyKey: "k")
  }

  @Test(
    "a log that no run can be made again from is refused, and why is said",
    arguments: [
      ("nothing", []),
      (
        "begin", [Event(seq: 0, step: 1, type: .stop, runId: "r", data: ["reason": "success"])]
      ),
      ("imported", [.start(["source": ["format": "tau2", "file": "a.json"]])]),
      ("imported", [.start(["recorded": ["model": "none"]])]),
      ("tools/0/name", [.start(["tools": [["name": 3]]])]),
    ] as [(String, [Event])])
  func refused(word: String, events: [Event]) throws {
    let folder = try TemporaryFolder()
    let path = try writeLog(events, in: folder, closes: !events.isEmpty)
    do {
      _ = try RecordedSteps(path: path)
      Issue.record("not refused")
    } catch {
      #expect("\(error)".contains(word) || word == "nothing")
      #expect("\(error)".hasPrefix(path))
    }
  }

  @Test("what a log says of times and steps, however wild, is answered without a crash")
  func hostileTimes() throws {
    let folder = try TemporaryFolder()
    let call: JSONObject = [
      "kind": "tool", "calls": [["callId": "1.1.0", "name": "a", "input": [:]]],
    ]
    func started(_ attempt: Int, _ t: Int) -> Event {
      Event(
        seq: 0, step: 1, type: .toolStarted, runId: "r", t: t,
        data: [
          "callId": "1.1.0", "tool": "a", "attempt": JSONValue(attempt), "idempotencyKey": "k",
        ])
    }
    let path = try writeLog(
      [
        .start([:]), Event(seq: 0, step: 1, type: .decision, runId: "r", t: 5, data: call),
        started(1, 1 << 53), started(2, 0), started(7, 9),
        Event(
          seq: 0, step: 1, type: .toolResult, runId: "r", t: 1 << 53,
          data: ["callId": "1.1.0", "tool": "a", "status": "ok", "data": 1]),
        Event(seq: 0, step: 0, type: .toolResult, runId: "r", data: ["callId": "1.1.0"]),
        Event(seq: 0, step: 1 << 53, type: .decision, runId: "r", data: [:]),
      ].renumbered, in: folder)
    let answers = try RecordedAnswers(path: path)
    var elapsed: [Int?] = []
    for attempt in [-1, 0, 1, 2, 3, 7, .max] {
      let request = Self.toolRequest("1.1.0", "a", [:], attempt: attempt, step: 1)
      elapsed.append(try answers.answer(to: request)?.elapsedMicroseconds)
    }
    #expect(elapsed == [nil, nil, 0, 9, nil, (1 << 53) - 9, nil])
    #expect(try answers.answer(to: Self.toolRequest("1.1.0", "a", [:], step: .max)) == nil)
    #expect(try answers.answer(to: Self.toolRequest("1.1.0", "a", [:], step: .min)) == nil)
  }

  @Test("a torn log answers as far as it goes", arguments: [0.2, 0.5, 0.7, 0.9])
  func torn(share: Double) throws {
    let folder = try TemporaryFolder()
    let events = try Self.fixture("refund-drafted").events()
    let count = Int(Double(events.count) * share)
    let path = try writeLog(events.prefix(count), in: folder, closes: false)
    let steps = try RecordedSteps(path: path)
    var read: [Event] = []
    while let step = try steps.step(holding: read.count) { read += step.events }
    #expect(read == Array(events.prefix(count)))
    #expect(steps.ending == .unfinished(tornAt: nil))
    #expect(steps.current == nil)
  }

  @Test("a run is answered up to its stop, and no further than where it was opened again")
  func beyondTheEnd() throws {
    let folder = try TemporaryFolder()
    let events = try Self.fixture("refund-needs-approval").events()
    let resumed = Event(
      seq: 0, step: 2, type: .runResumed, runId: events[0].runId, data: ["why": "again"])
    let paused = try RecordedSteps(
      path: try writeLog((events + [resumed]).renumbered, in: folder, named: "paused"))
    #expect(try paused.step(holding: events.count - 1)?.ending == .stop)
    #expect(try paused.step(holding: events.count) == nil)
    let broken = try RecordedSteps(
      path: try writeLog(
        (events.prefix(5) + [resumed] + events.dropFirst(5)).renumbered, in: folder,
        named: "broken"))
    #expect(try broken.step(holding: 5) == nil)
    #expect(broken.ending == .resumed(5))
  }

  @Test("the same question to the model is answered, another one is not")
  func model() async throws {
    let fixture = try Self.fixture("refund-drafted")
    let agent = try fixture.agent()
    let asked = try await Asked(agent: agent, path: fixture.path)
    #expect(asked.models.count == 3)
    let answers = try RecordedAnswers(path: fixture.path)
    let second = asked.models[1]
    #expect(try answers.answer(to: second)?.reply?["calls"] != nil)
    var other = second
    other.messages[0] = ["role": "system", "content": []]
    #expect(try answers.answer(to: other) == nil)
    other = second
    other.tools[0].description += "!"
    #expect(try answers.answer(to: other) == nil)
    other = second
    other.settings?["temperature"] = 1
    #expect(try answers.answer(to: other) == nil)
    other = second
    other.attempt = 2
    #expect(try answers.answer(to: other) == nil)
    other = second
    other.goal = "another goal, told by the messages if at all"
    #expect(try answers.answer(to: other)?.inputTokens == 260)
    // Reading goes forwards.
    #expect(try answers.answer(to: asked.models[2]) != nil)
    #expect(try answers.answer(to: second) == nil)
  }

  @Test("the same call is answered, one of another tool or input is not")
  func tool() throws {
    let answers = try RecordedAnswers(path: try Self.fixture("refund-drafted").path)
    let lookup = "lookup_order_summary"
    func answer(_ id: String, _ tool: String, _ input: JSONValue) throws -> ToolAnswer? {
      try answers.answer(to: Self.toolRequest(id, tool, input, step: 1))
    }
    #expect(try answer("1.1.0", lookup, ["orderId": "12"]) == nil)
    #expect(try answer("1.1.0", "draft_refund_request", ["orderId": "1234"]) == nil)
    #expect(try answer("1.1.1", lookup, ["orderId": "1234"]) == nil)
    let found = try #require(try answer("1.1.0", lookup, ["orderId": "1234"]))
    #expect(found.result.status == "ok")
    #expect(found.elapsedMicroseconds >= 30_000)
  }

  @Test("an attempt that was followed by another failed, whatever became of the call")
  func attempts() throws {
    let fixture = try Self.fixture("retry-helps")
    let events = try fixture.events()
    let second = try #require(
      events.first { $0.type == .toolStarted && $0.data["attempt"] == 2 })
    let callId = try #require(second.data["callId"]?.stringValue)
    let steps = try RecordedSteps(path: fixture.path)
    let step = try #require(try steps.step(second.step))
    let count = step.events.count {
      $0.type == .toolStarted && $0.data["callId"]?.stringValue == callId
    }
    for attempt in 1..<count {
      #expect(step.answer(toCall: callId, attempt: attempt)?.result.status == "error")
    }
    #expect(step.answer(toCall: callId, attempt: count)?.result.status == "ok")
    #expect(step.answer(toCall: callId, attempt: count + 1) == nil)
  }

  @Test(
    "a call whose run came to a pause leaves its place when another begins that could not have otherwise",
    arguments: [true, false])
  func pausedBesideOthers(stops: Bool) async throws {
    let folder = try TemporaryFolder()
    let ids = ["1.1.0", "1.1.1", "1.1.2"]
    let proposed = ids.map { id -> JSONValue in
      ["callId": .string(id), "name": "a", "input": [:]]
    }
    func started(_ callId: String, _ t: Int) -> Event {
      var data: JSONObject = [
        "callId": .string(callId), "tool": "a", "attempt": 1, "idempotencyKey": "k",
      ]
      if callId == "1.1.0" { data["child"] = ["runId": "c", "limits": [:]] }
      return Event(seq: 0, step: 1, type: .toolStarted, runId: "r", t: t, data: data)
    }
    var events = [
      Event.start([:]),
      Event(
        seq: 0, step: 1, type: .decision, runId: "r", t: 5,
        data: ["kind": "tool", "calls": .array(proposed)]),
      started("1.1.0", 10), started("1.1.1", 20), started("1.1.2", 30),
      Event(
        seq: 0, step: 1, type: .toolResult, runId: "r", t: 40,
        data: ["callId": "1.1.1", "tool": "a", "status": "ok", "data": 1]),
    ]
    if stops {
      let stop = Stop(reason: .blocked, detail: "agent:a", isFinal: false)
      events.append(
        Event(seq: 0, step: 1, type: .stop, runId: "r", t: 50, data: stop.encoded))
    }
    let path = try writeLog(events.renumbered, in: folder, closes: false)
    for limit in 1...3 {
      let boundary = ReplayingBoundary(try RecordedSteps(path: path), parallelCalls: limit)
      let answer = await boundary.run(Self.toolRequest("1.1.0", "a", [:], step: 1))
      // Of three places none was needed.
      let leftAt = [1: 10, 2: 20][limit]
      let pause: StopReason? = stops || leftAt != nil ? .blocked : nil
      #expect(answer.pause == pause)
      #expect(boundary.unanswered.isEmpty == (pause != nil))
      if let leftAt {
        #expect(answer.elapsedMicroseconds == leftAt)
      } else {
        #expect(answer.elapsedMicroseconds > 1 << 50)
      }
    }
  }

  @Test("people say what they said, and nobody speaks for them")
  func people() throws {
    let approved = try RecordedAnswers(path: try Self.fixture("refund-approved").path)
    let call = ProposedCall(callId: "2.1.0", name: "issue_refund", input: ["orderId": "1234"])
    let steps = try RecordedSteps(path: try Self.fixture("refund-approved").path)
    #expect(try steps.step(2)?.approval(ofCall: "2.1.0")?.by == "ana")
    #expect(try steps.step(2)?.approval(ofCall: "2.1.1") == nil)
    #expect(try steps.step(2)?.personAnswer == nil)
    #expect(approved.started.agentName == "support-with-ana")
    #expect(steps.current?.call("2.1.0") == call)
    let asked = try RecordedSteps(path: try Self.fixture("question-answered").path)
    #expect(try asked.step(1)?.personAnswer?.text.isEmpty == false)
  }

  @Test(
    "the loop on recorded answers makes every event of a fixture again, its times too",
    arguments: Fixture.all)
  func everyFixture(fixture: Fixture) async throws {
    let agent = try fixture.agent()
    let boundary = ReplayingBoundary(
      try RecordedSteps(path: fixture.path), person: agent.human?.model)
    let sink = InMemoryEventSink()
    _ = try await Runtime(agent: agent, boundary: boundary).run(
      boundary.start, into: sink, observe: boundary.follow)
    // A run that was resumed is lived in parts; this is its first.
    let events = try fixture.events()
    let first = events.firstIndex { $0.type == .stop } ?? events.count - 1
    let recorded = events[...first].map(Self.withoutLatency)
    let made = sink.events.map(Self.withoutLatency)
    #expect(made.count == recorded.count)
    for (made, recorded) in zip(made, recorded) where made != recorded {
      Issue.record("event \(recorded.seq):\n\(made)\n\(recorded)")
      return
    }
    #expect(boundary.unanswered == [])
    #expect(boundary.failure == nil)
  }

  private static func withoutLatency(_ event: Event) -> Event {
    var event = event
    event.data["elapsedMicroseconds"] = nil
    if event.type == .stop { event.data["stateDigest"] = nil }
    return event
  }
}

/// Every model request of a run that is made again.
private struct Asked {
  var models: [ModelRequest] = []

  init(agent: AgentDefinition, path: String) async throws {
    let assembler = ContextAssembler(agent: agent)
    var state = AgentState()
    let events = try readLog(path)
    for event in events {
      if event.type == .contextBuilt {
        let packet = assembler.assemble(state: state) { $0 < event.seq ? events[$0] : nil }
        var request = ModelRequest(
          step: event.step, tryNumber: 1, attempt: 1, number: models.count + 1,
          goal: packet.goal, messages: packet.messages,
          tools: assembler.disclosedTools(route: agent.policyContext.route))
        request.settings = agent.model.settings
        models.append(request)
      }
      state.apply(event)
    }
  }
}

extension Event {
  static func start(_ more: JSONObject) -> Event {
    var data: JSONObject = ["formatVersion": 2, "goal": "g", "input": "g"]
    for member in more { data[member.key] = member.value }
    return Event(seq: 0, step: 0, type: .runStarted, runId: "r", data: data)
  }
}
