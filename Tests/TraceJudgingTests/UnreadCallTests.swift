import AgentTrace
import Testing
import TraceJudging

/// Runs of imports in which calls may have gone unread, beyond what `conformance` judges.
struct UnreadCallTests {
  private static func run(_ recorded: RecordedChannels) -> [Event] {
    var run = RecordedRun(recorded: recorded)
    run.answer("done")
    run.stop()
    return run.events
  }

  private static func outline(_ events: [Event]) throws -> RunOutline {
    var summary = RunSummary()
    for event in events { summary.apply(event) }
    let stop = try #require(events.last)
    return try #require(RunOutline(summary: summary.encoded(totals: Totals()), stop: stop))
  }

  @Test("what a run of which calls may have gone unread shares with itself forbids no call")
  func suggestions() throws {
    let whole = try #require(SharedExpectations(of: [Self.run([:])]).json)
    #expect(whole["toolsNotCalled"] == ["*"])
    let partial = try #require(SharedExpectations(of: [Self.run(["calls": "partial"])]).json)
    #expect(partial.objectValue?.keys == ["stopReason"])
  }

  @Test("the state of a run of which calls may have gone unread says not how many there were")
  func state() throws {
    // In the order in which they are judged.
    let places = [
      "/steps", "/stop/reason", "/totals/inputTokens", "/totals/steps", "/totals/toolCalls",
    ]
    var asked = JSONObject()
    for place in places { asked[place] = ["$any": true] }
    let expectations = try Expectations(parsing: ["state": .object(asked)])
    func outcomes(_ events: [Event]) -> [Outcome] {
      Judge.judge(events, against: expectations).outcomes.map(\.outcome)
    }
    let whole = Self.run([:])
    #expect(outcomes(whole) == places.map { _ in Outcome.pass })
    let open = places.map { $0.hasPrefix("/stop") ? Outcome.pass : .unverifiable }
    #expect(outcomes(Self.run(["calls": "partial"])) == open)
    // Of a run below whose log is missing the run's own state does not tell.
    for (what, expected) in [
      (Unseen.Kind.reply, open), (.child, places.map { _ in Outcome.pass }),
    ] as [(Unseen.Kind, [Outcome])] {
      var events = whole
      let unseen = Unseen(what, ["calls": "partial"], reason: "lost")
      events.insert(
        Event(seq: 0, step: 0, type: .unseen, runId: "run", data: unseen.encoded), at: 1)
      for index in events.indices { events[index].seq = index }
      #expect(outcomes(events) == expected)
    }
  }

  @Test("the summary of a log says it as its body does")
  func summary() throws {
    let expectations = try Expectations(
      parsing: ["toolsNotCalled": ["delete_*"], "maxToolCalls": 0, "toolsNotProposed": ["x"]])
    let cases: [(RecordedChannels, Outcome)] = [
      ([:], .pass), (["calls": "partial"], .unverifiable),
    ]
    for (recorded, outcome) in cases {
      let events = Self.run(recorded)
      let told = Trajectory(try Self.outline(events))
      for trajectory in [told, Trajectory(of: events)] {
        let outcomes = Judge.judge(trajectory, against: expectations).outcomes.map(\.outcome)
        #expect(outcomes == [outcome, outcome, outcome])
      }
    }
  }

  @Test("a summary holds the calls that no decision does, and says where a tool has no name")
  func strays() throws {
    func events(_ tool: String) -> [Event] {
      var events = Self.run([:])
      let stray = ToolResultPayload(callId: "x", tool: tool, result: .ok(data: 1)).encoded
      events.insert(Event(seq: 0, step: 0, type: .toolResult, runId: "run", data: stray), at: 1)
      for index in events.indices { events[index].seq = index }
      return events
    }
    let named = events("delete_all")
    #expect(
      try Self.outline(named).calls == Trajectory(of: named).calls.map(\.outline))
    let expectations = try Expectations(parsing: ["toolsNotCalled": ["delete_*"]])
    let told = Judge.judge(Trajectory(try Self.outline(named)), against: expectations)
    #expect(told.outcomes.map(\.outcome) == [.fail])
    var summary = RunSummary()
    for event in events("") { summary.apply(event) }
    #expect(summary.encoded(totals: Totals())["mayHideCalls"] == true)
    // As it was written before such calls were calls.
    let older = try #require(summary.withoutStrays).encoded(totals: Totals())
    #expect(older["calls"] == [] && older["mayHideCalls"] == nil)
  }

  @Test("a guard stops a run for what it sees, not for what it may not see")
  func guarded() throws {
    let expectations = try Expectations(parsing: ["toolsNotCalled": ["delete_*"]])
    var watch = try ExpectationGuard(expectations)
    var run = RecordedRun(recorded: ["calls": "partial"])
    run.decide([.init("search")])
    for event in run.events { watch.apply(event) }
    #expect(watch.breach() == nil)
    watch.apply(
      Event(
        seq: run.events.count, step: 1, type: .toolStarted, runId: "run",
        data: ToolStartedPayload(callId: "x", tool: "delete_all", attempt: 1, idempotencyKey: "")
          .encoded))
    #expect(watch.breach()?.outcome == .fail)
  }

  @Test(
    "a reply that went unread may have been any answer, and hides none behind it",
    arguments: [
      (#"{"never":{"answer":{"$contains":"paid"}}}"#, Outcome.unverifiable),
      (#"{"only":{"answer":{"$contains":"done"}}}"#, .unverifiable),
      (#"{"never":{"answer":{"$contains":"done"}}}"#, .fail),
      (#"{"eventually":{"answer":{"$contains":"done"}}}"#, .pass),
      (#"{"expect":{"answer":{"$contains":"done"}},"before":{"stop":true}}"#, .pass),
    ])
  func unreadAnswers(rule: String, outcome: Outcome) throws {
    var events = Self.run([:])
    let unseen: JSONObject = [
      "what": "reply", "channels": ["calls": "partial", "model": "partial"], "reason": "odd",
    ]
    events.insert(Event(seq: 0, step: 0, type: .unseen, runId: "run", data: unseen), at: 1)
    for index in events.indices { events[index].seq = index }
    let expectations = try Expectations(parsing: ["time": [JSONValue(parsing: rule)]])
    #expect(Judge.judge(events, against: expectations).outcomes.map(\.outcome) == [outcome])
  }

  @Test(
    "what was said to a person in a run that was only seen to go by may have been an answer",
    arguments: [
      (#"{"never":{"called":"*"},"after":{"answer":{"$regex":"."}}}"#, Outcome.unverifiable),
      (#"{"never":{"called":"*"},"after":{"answer":{"$contains":"done"}}}"#, .pass),
      (#"{"only":{"answer":{"$contains":"done"}}}"#, .unverifiable),
      (#"{"only":{"answer":{"$regex":"(?i)which|done"}}}"#, .pass),
      (#"{"only":{"answer":{"$regex":"(?i)which"}},"before":"search"}"#, .pass),
      (#"{"eventually":{"answer":{"$contains":"done"}}}"#, .pass),
    ])
  func possibleAnswers(rule: String, outcome: Outcome) throws {
    let expectations = try Expectations(parsing: ["time": [JSONValue(parsing: rule)]])
    for isImport in [true, false] {
      var run = RecordedRun(recorded: isImport ? ["model": "partial"] : [:])
      run.ask("Which one?")
      run.decide([.init("search")])
      run.answer("done")
      run.stop()
      let judged = Judge.judge(run.events, against: expectations).outcomes.map(\.outcome)
      #expect(judged == [isImport ? outcome : .pass])
    }
  }

  @Test("rules about time see the answer of whoever the agent's own conversation was handed to")
  func handedOver() throws {
    for isOfAgent in [true, false] {
      var events = Self.run([:])
      let answer = try #require(events.firstIndex { $0.type == .decision })
      events[answer].data["caller"] = "billing"
      if isOfAgent { events[answer].data["ofAgent"] = true }
      let expectations = try Expectations(
        parsing: ["time": [["never": ["answer": ["$contains": "done"]]]]])
      let outcomes = Judge.judge(events, against: expectations).outcomes.map(\.outcome)
      #expect(outcomes == [isOfAgent ? .fail : .pass])
    }
  }

  @Test("what an answer cites that was handed over is not held against what the agent was shown")
  func handedOverEvidence() throws {
    var events = Self.run([:])
    let place = try #require(events.firstIndex { $0.type == .decision })
    var own = DecisionPayload(.answer(text: "seen", evidenceRefs: []))
    events.insert(
      Event(seq: 0, step: 1, type: .decision, runId: "run", data: own.encoded), at: place)
    own = DecisionPayload(.answer(text: "done", evidenceRefs: ["9.1.0"]), caller: "billing")
    own.isOfAgent = true
    events[place + 1].data = own.encoded
    for index in events.indices { events[index].seq = index }
    let expectations = try Expectations(parsing: ["evidence": ["observed": true]])
    let outcomes = Judge.judge(events, against: expectations).outcomes.map(\.outcome)
    #expect(outcomes == [.unverifiable])
  }
}
