import AgentTrace
import Testing
import TraceJudging

/// Logs that do not fit themselves, or say what nobody understands: never a pass of what hangs on that.
struct ContradictingLogTests {
  private static func outcomes(_ events: [Event], _ expected: JSONValue) throws -> [Outcome] {
    Judge.judge(events, against: try Expectations(parsing: expected)).outcomes.map(\.outcome)
  }

  /// A run that calls `pay` once, with more events behind what became of the call.
  private static func paid(
    _ fate: RecordedRun.Fate = .ok(), effect: String = "write", isIdempotent: Bool = false,
    then more: [(type: EventType, data: JSONObject)] = []
  ) throws -> [Event] {
    var run = RecordedRun()
    run.decide([.init("pay", ["amount": 5], fate)])
    run.answer("done")
    run.stop()
    var events = run.events
    events[0].data["tools"] = [
      [
        "name": "pay", "description": "", "inputSchema": [:], "sideEffect": .string(effect),
        "idempotent": .bool(isIdempotent),
      ]
    ]
    let place = try #require(events.lastIndex { $0.type == .decision })
    for (offset, one) in more.enumerated() {
      events.insert(
        Event(seq: 0, step: 1, type: one.type, runId: "run", data: one.data), at: place + offset)
    }
    return numbered(events)
  }

  private static func numbered(_ events: [Event]) -> [Event] {
    var events = events
    for index in events.indices { events[index].seq = index }
    return events
  }

  private static func start(
    attempt: Int, tool: String = "pay"
  ) -> (type: EventType, data: JSONObject) {
    (.toolStarted, ["callId": "1.1.0", "tool": .string(tool), "attempt": JSONValue(attempt)])
  }

  private static func result(
    _ status: String = "ok", tool: String = "pay"
  ) -> (type: EventType, data: JSONObject) {
    (.toolResult, ["callId": "1.1.0", "tool": .string(tool), "status": .string(status)])
  }

  private static func mayHideCalls(_ events: [Event]) -> Bool {
    var summary = RunSummary()
    for event in events { summary.apply(event) }
    return summary.encoded(totals: Totals())["mayHideCalls"] == true
  }

  @Test(
    "a call that begins once more, as an attempt that has begun or behind its result, is another")
  func begunAgain() throws {
    let once: JSONValue = ["noRepeatedSideEffect": true]
    for events in [
      try Self.paid(then: [Self.start(attempt: 1), Self.result()]),
      try Self.paid(then: [Self.start(attempt: 2), Self.result()]),
      try Self.paid(.started, then: [Self.start(attempt: 1), Self.result()]),
    ] {
      #expect(try Self.outcomes(events, once) == [.fail])
      #expect(try Self.outcomes(events, ["maxToolCalls": 1]) == [.fail])
      let one = try Self.outcomes(events, ["toolsCalled": [["tool": "pay", "times": 1]]])
      // Of the one that was started and left nobody knows whether it did anything.
      #expect(one == [events[3].type == .toolResult ? .fail : .unverifiable])
      #expect(Self.mayHideCalls(events))
    }
  }

  @Test(
    "another attempt is none, nor one behind an error, nor one more of a tool that is safe twice")
  func spared() throws {
    for events in [
      try Self.paid(),
      try Self.paid(.started, then: [Self.start(attempt: 2), Self.result()]),
      try Self.paid(.error(), then: [Self.start(attempt: 2), Self.result()]),
      try Self.paid(.effectUnknown, then: [Self.start(attempt: 2), Self.result()]),
      try Self.paid(.started, isIdempotent: true, then: [Self.start(attempt: 1), Self.result()]),
      try Self.paid(.started, effect: "read", then: [Self.start(attempt: 1), Self.result()]),
    ] {
      #expect(
        try Self.outcomes(events, ["noRepeatedSideEffect": true, "maxToolCalls": 1])
          == [.pass, .pass])
    }
    #expect(!Self.mayHideCalls(try Self.paid(.started, then: [Self.start(attempt: 2)])))
  }

  @Test("a tool that is listed again as one that reads has written all the same")
  func listedAgain() throws {
    let again: JSONObject = [
      "source": "server",
      "tools": [["name": "pay", "description": "", "inputSchema": [:], "sideEffect": "read"]],
    ]
    var run = RecordedRun()
    for _ in 0..<2 { run.decide([.init("pay", ["amount": 5])]) }
    run.stop()
    var events = run.events
    events[0].data["tools"] = [
      ["name": "pay", "description": "", "inputSchema": [:], "sideEffect": "write"]
    ]
    for place in [1, events.count - 1] {
      var changed = events
      changed.insert(
        Event(seq: 0, step: 1, type: .toolsListed, runId: "run", data: again), at: place)
      changed = Self.numbered(changed)
      #expect(try Self.outcomes(changed, ["noRepeatedSideEffect": true]) == [.fail])
      var (trajectory, notes) = (Trajectory(), RunNotes())
      for event in changed {
        trajectory.apply(event)
        notes.apply(event)
      }
      let accepted = AcceptedRun(of: trajectory, notes, Judgement(outcomes: []))
      #expect(accepted.decisions.flatMap { $0 }.map(\.mayWrite) == [true, true])
    }
  }

  @Test("a second result may be of a second call; one of unknown effect may be told later")
  func endedAgain() throws {
    let twice = try Self.paid(then: [Self.result()])
    #expect(
      try Self.outcomes(twice, ["noRepeatedSideEffect": true, "maxToolCalls": 1])
        == [.unverifiable, .unverifiable])
    #expect(Self.mayHideCalls(twice))
    let later = try Self.paid(.effectUnknown, then: [Self.result()])
    #expect(try Self.outcomes(later, ["maxToolCalls": 1]) == [.pass])
  }

  @Test("what is told before the decision that holds its id may be that call or another")
  func toldTooEarly() throws {
    for early in [Self.start(attempt: 1), Self.result()] {
      for fate in [RecordedRun.Fate.untouched, .ok()] {
        var events = try Self.paid(fate)
        events.insert(
          Event(seq: 0, step: 1, type: early.type, runId: "run", data: early.data), at: 1)
        events = Self.numbered(events)
        #expect(try Self.outcomes(events, ["maxToolCalls": 2]) == [.unverifiable])
        #expect(try Self.outcomes(events, ["toolsNotCalled": ["search"]]) == [.unverifiable])
        #expect(
          try Self.outcomes(events, ["toolsProposed": [["tool": "pay", "times": 2]]])
            == [.unverifiable])
        #expect(Self.mayHideCalls(events))
      }
    }
  }

  @Test("a call without a result is none whose result is cited")
  func citedWithoutResult() throws {
    let cites: JSONValue = ["evidence": ["cites": ["pay"]]]
    let fates: [(RecordedRun.Fate, Outcome)] = [
      (.ok(), .pass), (.error(), .pass), (.started, .fail), (.untouched, .fail),
    ]
    for (fate, outcome) in fates {
      var events = try Self.paid(fate)
      let place = try #require(events.lastIndex { $0.type == .decision })
      events[place].data["evidenceRefs"] = ["1.1.0"]
      #expect(try Self.outcomes(events, cites) == [outcome])
      events[0].data["recorded"] = ["tools": "partial"]
      #expect(try Self.outcomes(events, cites) == [outcome == .fail ? .unverifiable : outcome])
    }
  }

  @Test("a start that says which attempt it is tells of those before it")
  func attemptsBefore() throws {
    let third = try Self.paid(.untouched, then: [Self.start(attempt: 3), Self.result()])
    #expect(try Self.outcomes(third, ["maxRetries": 1]) == [.fail])
    #expect(try Self.outcomes(third, ["maxRetries": 2]) == [.pass])
    let first = try Self.paid()
    #expect(try Self.outcomes(first, ["maxRetries": 0]) == [.pass])
  }

  @Test("a start or a result that names another tool tells of a call of that tool")
  func otherTool() throws {
    for events in [
      try Self.paid(.untouched, then: [Self.start(attempt: 1, tool: "wipe")]),
      try Self.paid(.started, then: [Self.result(tool: "wipe")]),
    ] {
      #expect(try Self.outcomes(events, ["toolsNotCalled": ["wipe"]]) == [.fail])
      #expect(try Self.outcomes(events, ["toolsCalled": ["pay"]]) == [.unverifiable])
      #expect(try Self.outcomes(events, ["toolsNotCalled": ["search"]]) == [.unverifiable])
      #expect(Self.mayHideCalls(events))
    }
  }

  @Test("equal calls that went on without a result may go in a circle")
  func withoutResults() throws {
    func polls(_ fates: [RecordedRun.Fate]) -> [Event] {
      RecordedRun.events(fates.map { [.init("poll", [:], $0)] })
    }
    let loops: JSONValue = ["noLoops": 3]
    #expect(
      try Self.outcomes(polls([.started, .started, .started]), loops) == [.unverifiable])
    #expect(try Self.outcomes(polls([.ok(), .started, .ok()]), loops) == [.unverifiable])
    #expect(try Self.outcomes(polls([.started, .started]), loops) == [.pass])
  }

  @Test("a start that says which attempt it is tells of those before it")
  func laterAttempt() throws {
    let events = try Self.paid(.untouched, then: [Self.start(attempt: 5), Self.result()])
    #expect(try Self.outcomes(events, ["maxRetries": 3]) == [.fail])
    #expect(try Self.outcomes(events, ["budget": ["retries": 3]]) == [.fail])
    #expect(try Self.outcomes(events, ["maxRetries": 4]) == [.pass])
  }

  @Test("numbers of attempts that nobody made cost no room for each", .timeLimit(.minutes(1)))
  func manyAttempts() throws {
    let starts = (0..<2_000).map { index -> (type: EventType, data: JSONObject) in
      (
        .toolStarted,
        ["callId": .string("1.1.\(index)"), "tool": "pay", "attempt": 1_000_000]
      )
    }
    let events = try Self.paid(.untouched, then: starts + [Self.result()])
    #expect(try Self.outcomes(events, ["maxRetries": 999_998]) == [.fail])
  }

  @Test("a summary as it was written before contradictions were seen is told apart")
  func olderSummary() throws {
    var summary = RunSummary()
    for event in try Self.paid(then: [Self.result()]) { summary.apply(event) }
    let older = try #require(summary.withoutContradictions).encoded(totals: Totals())
    #expect(older["mayHideCalls"] == nil)
    var plain = RunSummary()
    for event in try Self.paid() { plain.apply(event) }
    #expect(plain.withoutContradictions == nil)
  }

  @Test("words that nobody knows make unverifiable what hangs on them")
  func unknownWords() throws {
    let done = try Self.paid(.untouched, then: [Self.result("done")])
    #expect(try Self.outcomes(done, ["toolsNotCalled": ["pay"]]) == [.unverifiable])
    let verdict: JSONObject = [
      "callId": "1.1.0", "tool": "pay", "status": "blocked", "reason": "r",
    ]
    let blocked = try Self.paid(then: [(.policyDecision, verdict)])
    #expect(
      try Self.outcomes(blocked, ["policy": ["notGiven": [["verdict": "deny"]]]])
        == [.unverifiable])
    let note = try Self.paid(then: [(.memoryWritten, ["key": "password", "value": "x"])])
    #expect(try Self.outcomes(note, ["memory": ["notWritten": ["p*"]]]) == [.unverifiable])
    #expect(try Self.outcomes(note, ["memory": ["notRead": ["p*"]]]) == [.pass])
    let approval = try Self.paid(then: [(.approval, ["callId": "1.1.0", "granted": "yes"])])
    #expect(
      try Self.outcomes(approval, ["policy": ["noApprovals": [["approval": "granted"]]]])
        == [.unverifiable])
  }

  @Test("an answer that holds calls, or that the stop tells otherwise, is no sure one")
  func answers() throws {
    var held = try Self.paid()
    let place = try #require(held.lastIndex { $0.type == .decision })
    held[place].data["calls"] = [["callId": "2.1.0", "name": "wipe", "input": [:]]]
    #expect(try Self.outcomes(held, ["toolsNotProposed": ["wipe"]]) == [.unverifiable])
    for (answer, outcome) in [("done", Outcome.pass), ("failed", .unverifiable)] {
      var told = try Self.paid()
      told[told.count - 1].data["answer"] = .string(answer)
      #expect(try Self.outcomes(told, ["answer": "done"]) == [outcome])
    }
  }

  @Test("what goes on behind a final stop leaves open how the run ended")
  func behindTheEnd() throws {
    let whole = try Self.paid()
    let stop = try #require(whole.last)
    var otherStop = stop
    otherStop.data["reason"] = "blocked"
    for events in [whole + [otherStop, stop], whole + Array(whole[1...3])] {
      let row = Self.numbered(events)
      #expect(try Self.outcomes(row, ["stopReason": "success"]) == [.unverifiable])
      #expect(Self.mayHideCalls(row))
    }
    var resumed = stop
    resumed.type = .runResumed
    resumed.data = ["why": "approval_required"]
    let again = Self.numbered(whole + [resumed, stop])
    #expect(try Self.outcomes(again, ["stopReason": "success"]) == [.pass])
  }
}
