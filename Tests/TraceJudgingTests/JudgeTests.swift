import AgentTrace
import Testing
import TraceJudging

@Suite("The judge")
struct JudgeTests {
  private func judgement(_ text: String, _ run: Trajectory) throws -> Judgement {
    Judge.judge(run, against: try Expectations(parsing: JSONValue(parsing: text)))
  }

  private func outcome(_ text: String, _ run: Trajectory) throws -> Outcome? {
    try judgement(text, run).outcomes.first?.outcome
  }

  // MARK: What the log hides

  /// look, then two calls at once, then issue, an answer and a stop: events 0…12.
  private static let run = {
    var run = RecordedRun(tools: ["look", "draft", "issue"])
    run.decide([.init("look", ["id": "1"], .ok(["total": 5]))])
    run.decide([.init("draft", ["id": "1"]), .init("issue", ["id": "1"], .refused)])
    run.decide([.init("issue", ["id": "2"], .error("no such order"))])
    run.answer("Done, 5 euros.")
    run.stop()
    return run
  }()

  @Test(
    "a torn log passes what is shown already, fails what is broken already, and leaves the rest open",
    arguments: [
      (#"{"toolsCalled":["look"]}"#, 4, .pass), (#"{"toolsCalled":["look"]}"#, 3, .unverifiable),
      (#"{"toolsCalled":["look"]}"#, 1, .unverifiable),
      (#"{"toolsCalled":["issue"]}"#, 4, .unverifiable),
      (#"{"toolsNotCalled":["look"]}"#, 4, .fail), (#"{"toolsNotCalled":["look"]}"#, 3, .fail),
      (#"{"toolsNotCalled":["look"]}"#, 2, .unverifiable),
      (#"{"toolsNotCalled":["x"]}"#, 12, .unverifiable),
      (#"{"toolsProposed":["look"]}"#, 2, .pass), (#"{"toolsNotProposed":["look"]}"#, 2, .fail),
      (#"{"toolsNotProposed":["issue"]}"#, 4, .unverifiable),
      (#"{"toolsCalled":[{"tool":"look","times":1}]}"#, 4, .unverifiable),
      (#"{"toolsCalled":[{"tool":"look","times":0}]}"#, 4, .fail),
      (#"{"toolsCalled":[{"tool":"look","times":{"min":1}}]}"#, 4, .pass),
      (#"{"toolsCalled":["look","draft"],"order":"in_order"}"#, 7, .pass),
      (#"{"toolsCalled":["look","draft"],"order":"in_order"}"#, 4, .unverifiable),
      (#"{"toolsCalled":["look","draft","issue"],"order":"exact"}"#, 7, .unverifiable),
      (#"{"toolsCalled":["draft"],"order":"exact"}"#, 4, .fail),
      (#"{"toolsCalled":["look"],"order":"exact"}"#, 7, .fail),
      (#"{"toolsCalled":[],"order":"exact"}"#, 4, .fail),
      (#"{"toolsCalled":[],"order":"exact"}"#, 1, .unverifiable),
      (#"{"maxSteps":1}"#, 7, .fail), (#"{"maxSteps":9}"#, 7, .unverifiable),
      (#"{"maxToolCalls":1}"#, 7, .fail), (#"{"maxToolCalls":9}"#, 7, .unverifiable),
      (#"{"stopReason":"success"}"#, 12, .unverifiable), (#"{"stopReason":"success"}"#, 13, .pass),
      (#"{"stopReason":"blocked"}"#, 13, .fail), (#"{"answer":{"$contains":"5"}}"#, 13, .pass),
      (#"{"answer":{"$contains":"5"}}"#, 12, .unverifiable), (#"{"answer":"x"}"#, 13, .fail),
      (#"{"toolsNotCalled":["x"]}"#, 13, .pass), (#"{"toolsCalled":["x"]}"#, 13, .fail),
    ] as [(String, Int, Outcome)])
  func torn(expected: String, events: Int, outcome: Outcome) throws {
    #expect(try self.outcome(expected, Self.run.torn(after: events)) == outcome)
  }

  @Test("a gap in the middle hides what may have stood there")
  func gap() throws {
    let events = Self.run.events.filter { !(4...6).contains($0.seq) }
    let run = Trajectory(of: events)
    #expect(try outcome(#"{"toolsCalled":["draft"]}"#, run) == .unverifiable)
    #expect(try outcome(#"{"toolsNotCalled":["draft"]}"#, run) == .unverifiable)
    #expect(try outcome(#"{"toolsCalled":["look"]}"#, run) == .pass)
    #expect(try outcome(#"{"toolsCalled":["look","x"],"order":"in_order"}"#, run) == .unverifiable)
    #expect(try outcome(#"{"toolsCalled":["look","issue"],"order":"exact"}"#, run) == .unverifiable)
    #expect(try outcome(#"{"toolsCalled":["draft","issue"],"order":"exact"}"#, run) == .fail)
    #expect(try outcome(#"{"stopReason":"success"}"#, run) == .pass)
    #expect(try outcome(#"{"answer":{"$regex":"^Done"}}"#, run) == .pass)
  }

  @Test(
    "a channel that was never recorded cannot be judged",
    arguments: [
      (#"{"toolsNotCalled":["look"]}"#, ["tools": "none"], .unverifiable),
      (#"{"toolsCalled":["look"]}"#, ["tools": "none"], .unverifiable),
      (#"{"toolsProposed":["look"]}"#, ["tools": "none"], .pass),
      (#"{"toolsNotCalled":["other"]}"#, ["tools": "none"], .pass),
      (#"{"toolsNotProposed":["other"]}"#, ["model": "none"], .unverifiable),
      (#"{"answer":"x"}"#, ["model": "none"], .unverifiable),
      (#"{"stopReason":"success"}"#, ["stop": "none"], .unverifiable),
      (#"{"toolsCalled":["look"]}"#, ["tools": "partial"], .unverifiable),
      (#"{"toolsNotCalled":["look"]}"#, ["policy": "none", "context": "partial"], .pass),
    ] as [(String, RecordedChannels, Outcome)])
  func channels(expected: String, recorded: RecordedChannels, outcome: Outcome) throws {
    var run = RecordedRun(recorded: recorded)
    run.decide([.init("look", [:], .untouched)])
    #expect(try self.outcome(expected, Trajectory(of: run.events)) == outcome)
  }

  @Test(
    "a call whose effect is unknown may have happened: it is no proof, and no alibi",
    arguments: [
      (#"{"toolsCalled":["pay"]}"#, .unverifiable), (#"{"toolsNotCalled":["pay"]}"#, .fail),
      (#"{"toolsCalled":[{"tool":"pay","status":"unknown"}]}"#, .pass),
      (#"{"toolsCalled":[{"tool":"pay","status":"ok"}]}"#, .unverifiable),
      (#"{"toolsCalled":[{"tool":"pay","times":1}]}"#, .unverifiable),
      (#"{"toolsCalled":["pay"],"order":"exact"}"#, .unverifiable),
      (#"{"toolsCalled":["pay"],"order":"in_order"}"#, .unverifiable),
      (#"{"toolsProposed":["pay"]}"#, .pass),
      (#"{"maxToolCalls":0}"#, .fail), (#"{"toolsCalled":[],"order":"exact"}"#, .fail),
      (#"{"toolsNotCalled":[{"tool":"pay","input":{"x":2}}]}"#, .pass),
    ] as [(String, Outcome)])
  func unknownEffect(expected: String, outcome: Outcome) throws {
    for fate in [RecordedRun.Fate.effectUnknown, .started] {
      let run = RecordedRun.whole([[.init("pay", ["x": 1], fate)]])
      #expect(try self.outcome(expected, run) == outcome, "\(fate)")
    }
  }

  @Test("a value that is lost, cut or withheld leaves open what depends on it, and nothing else")
  func hiddenValues() throws {
    for hidden in [
      JSONValue.lost("3/x"), .cut(bytes: 9000, head: "ab"), "«redacted:email:0a1b»",
    ] {
      let run = RecordedRun.whole([[.init("send", ["to": hidden, "n": 1])]])
      let to = #"{"tool":"send","input":{"to":{"$regex":"@example"}}}"#
      #expect(try outcome(#"{"toolsCalled":[\#(to)]}"#, run) == .unverifiable)
      #expect(try outcome(#"{"toolsNotCalled":[\#(to)]}"#, run) == .unverifiable)
      #expect(try outcome(#"{"toolsCalled":[\#(to)],"order":"exact"}"#, run) == .unverifiable)
      #expect(try outcome(#"{"toolsCalled":[{"tool":"send","input":{"n":1}}]}"#, run) == .pass)
      #expect(try outcome(#"{"toolsNotCalled":[{"tool":"send","input":{"n":2}}]}"#, run) == .pass)
    }
  }

  @Test("a lost answer is unverifiable, and a decision that cannot be read hides calls")
  func lostDecision() throws {
    var events = Self.run.events
    let answer = try #require(events.firstIndex { $0.data["kind"] == "answer" })
    events[answer].data["text"] = .lost("4/x")
    #expect(try outcome(#"{"answer":{"$contains":"5"}}"#, Trajectory(of: events)) == .unverifiable)
    events[answer].data["kind"] = 7
    #expect(try outcome(#"{"toolsNotCalled":["x"]}"#, Trajectory(of: events)) == .unverifiable)
  }

  @Test("a paused run that may have gone on is not judged by its pause")
  func pause() throws {
    var run = RecordedRun()
    run.decide([.init("issue", [:], .untouched)])
    run.stop(.approvalRequired, isFinal: false)
    #expect(
      try outcome(#"{"stopReason":"approval_required"}"#, Trajectory(of: run.events)) == .pass)
    #expect(
      try outcome(#"{"stopReason":"approval_required"}"#, run.torn(after: run.events.count))
        == .unverifiable)
    #expect(try outcome(#"{"toolsNotCalled":["issue"]}"#, Trajectory(of: run.events)) == .pass)
  }

  @Test("a log without a stop and without a tear has no stop to judge")
  func noStop() throws {
    let run = Trajectory(of: Self.run.events.dropLast())
    #expect(try outcome(#"{"stopReason":"success"}"#, run) == .unverifiable)
  }

  // MARK: Whole logs

  @Test(
    "on a whole log everything passes or fails",
    arguments: [
      (#"{"stopReason":["blocked","success"]}"#, .pass),
      (#"{"stopReason":"policy_denied"}"#, .fail),
      (#"{"toolsCalled":["l*",{"tool":"draft"}]}"#, .pass),
      (
        #"{"toolsCalled":[{"tool":"look","input":{"id":"1"},"status":"ok","result":{"total":{"$gt":4}},"times":1}]}"#,
        .pass
      ),
      (#"{"toolsCalled":[{"tool":"look","result":{"total":6}}]}"#, .fail),
      (
        #"{"toolsCalled":[{"tool":"issue","status":"error","result":{"$contains":"no such"}}]}"#,
        .pass
      ),
      (#"{"toolsCalled":[{"tool":"issue","input":{"id":"1"}}]}"#, .fail),
      (#"{"toolsProposed":[{"tool":"issue","input":{"id":"1"},"status":"refused"}]}"#, .pass),
      (#"{"toolsNotCalled":[{"tool":"issue","status":"ok"}]}"#, .pass),
      (#"{"toolsNotCalled":["issue"]}"#, .fail),
      (#"{"toolsNotCalled":[{"tool":"*","times":{"min":4}}]}"#, .pass),
      (#"{"toolsNotCalled":[{"tool":"*","times":{"min":3}}]}"#, .fail),
      (#"{"toolsCalled":["look","draft","issue"],"order":"exact"}"#, .pass),
      (#"{"toolsCalled":["draft","look"],"order":"in_order"}"#, .fail),
      (#"{"toolsProposed":["look","issue","draft","issue"],"order":"in_order"}"#, .pass),
      (#"{"toolsProposed":["look","issue","issue","draft"],"order":"in_order"}"#, .fail),
      (#"{"maxSteps":4}"#, .pass), (#"{"maxSteps":3}"#, .fail), (#"{"maxToolCalls":3}"#, .pass),
      (#"{"maxToolCalls":2}"#, .fail),
      (#"{"answer":{"$regex":"^Done"}}"#, .pass), (#"{"answer":"Done, 5 euros."}"#, .pass),
      (#"{"answer":"Done"}"#, .fail),
      (#"{"answer":{"$absent":true}}"#, .fail),
    ] as [(String, Outcome)])
  func wholeLog(expected: String, outcome: Outcome) throws {
    #expect(try self.outcome(expected, Trajectory(of: Self.run.events)) == outcome)
  }

  @Test("calls of a simulated user count only where an entry says so")
  func callers() throws {
    var run = RecordedRun()
    run.decide([.init("toggle")], by: "user", isOfUser: true)
    run.decide([.init("look")], by: "helper")
    run.stop()
    let trajectory = Trajectory(of: run.events)
    for (expected, outcome) in [
      (#"{"toolsCalled":["toggle"]}"#, Outcome.fail), (#"{"toolsNotCalled":["toggle"]}"#, .pass),
      (#"{"toolsCalled":[{"tool":"toggle","caller":"user"}]}"#, .pass),
      (#"{"toolsNotCalled":[{"tool":"toggle","caller":"user"}]}"#, .fail),
      (#"{"toolsCalled":["look"],"order":"exact"}"#, .pass), (#"{"maxToolCalls":1}"#, .pass),
      (#"{"toolsCalled":[{"tool":"look","caller":"agent"}]}"#, .fail),
      (#"{"toolsCalled":[{"tool":"*","caller":"*","times":2}],"order":"exact"}"#, .pass),
      (#"{"toolsCalled":[{"tool":"toggle","caller":"user"}],"order":"exact"}"#, .pass),
      (#"{"toolsCalled":[],"order":"exact"}"#, .fail),
    ] {
      #expect(try self.outcome(expected, trajectory) == outcome, "\(expected)")
    }
  }

  @Test("a call of an invalid decision was proposed, and never executed")
  func invalidDecision() throws {
    var run = RecordedRun()
    run.decide([.init("nope", [:], .untouched)], isInvalid: true)
    run.stop(.invalidDecision)
    let trajectory = Trajectory(of: run.events)
    #expect(try outcome(#"{"toolsProposed":["nope"]}"#, trajectory) == .pass)
    #expect(try outcome(#"{"toolsNotCalled":["nope"]}"#, trajectory) == .pass)
    #expect(try outcome(#"{"toolsCalled":["nope"]}"#, run.torn(after: 2)) == .unverifiable)
    #expect(try outcome(#"{"toolsNotCalled":["other"]}"#, trajectory) == .pass)
  }

  @Test("an exact order of proposals forbids executed calls that are none of them")
  func exactProposals() throws {
    let run = RecordedRun.whole([[.init("a")], [.init("b", [:], .refused)], [.init("c")]])
    func judge(_ text: String) throws -> CaseOutcome { try judgement(text, run).outcome }
    #expect(try judge(#"{"toolsProposed":["a","b","c"],"order":"exact"}"#) == .pass)
    #expect(try judge(#"{"toolsProposed":["a","c"],"order":"exact"}"#) == .pass)
    #expect(try judge(#"{"toolsProposed":["a","b"],"order":"exact"}"#) == .fail)
    #expect(
      try judge(#"{"toolsProposed":["a","b"],"toolsCalled":["a","c"],"order":"exact"}"#) == .pass)
  }

  @Test("an entry with times shares its calls; one without needs a call of its own")
  func sharing() throws {
    let run = RecordedRun.whole([[.init("a")]])
    #expect(try judgement(#"{"toolsCalled":["a",{"tool":"a","times":1}]}"#, run).outcome == .pass)
    #expect(try judgement(#"{"toolsCalled":["a","a"]}"#, run).outcome == .fail)
    #expect(
      try judgement(#"{"toolsCalled":[{"tool":"a","times":1},{"tool":"*","times":1}]}"#, run)
        .outcome == .pass)
  }

  @Test(
    "in an ordered mode calls are shared out, and none like an entry with a maximum is left over")
  func orderedTimes() throws {
    let run = RecordedRun.whole([[.init("a")], [.init("b")], [.init("a")], [.init("a")]])
    for (entries, order, outcome) in [
      (#"{"tool":"a","times":3}"#, "in_order", CaseOutcome.pass),
      (#"{"tool":"a","times":2}"#, "in_order", .fail),
      (#""b",{"tool":"a","times":2}"#, "in_order", .fail),
      (#""a","b",{"tool":"a","times":2}"#, "in_order", .pass),
      (#"{"tool":"a","times":1},"b",{"tool":"a","times":2}"#, "in_order", .pass),
      (#"{"tool":"a","times":1},"b",{"tool":"a","times":1}"#, "in_order", .fail),
      (#"{"tool":"a","times":1}"#, "in_order", .fail),
      (#"{"tool":"a","times":0}"#, "in_order", .fail),
      (#"{"tool":"c","times":0},"b""#, "in_order", .pass),
      (#""b",{"tool":"a","times":{"min":2}}"#, "in_order", .pass),
      (#"{"tool":"a","times":{"min":1}},"b""#, "in_order", .pass),
      (#"{"tool":"*","times":4}"#, "in_order", .pass),
      (#"{"tool":"*","times":3}"#, "in_order", .fail),
      (#""b",{"tool":"a","times":3}"#, "in_order", .fail),
      (#"{"tool":"a","times":{"max":2}}"#, "in_order", .fail),
      (#"{"tool":"a","times":{"min":1,"max":3}}"#, "in_order", .pass),
      (#""a","b",{"tool":"a","times":2}"#, "exact", .pass),
      (#""a","b",{"tool":"a","times":{"min":1}}"#, "exact", .pass),
      (#""a","b",{"tool":"a","times":1}"#, "exact", .fail),
      (#"{"tool":"*","times":{"min":0}}"#, "exact", .pass),
      (#"{"tool":"a","times":{"max":1}},"b",{"tool":"a","times":{"max":2}}"#, "exact", .pass),
    ] {
      let text = #"{"toolsCalled":[\#(entries)],"order":"\#(order)"}"#
      #expect(try judgement(text, run).outcome == outcome, "\(text)")
      guard order == "in_order" else { continue }
      // What was proposed is counted alike, also where the executed calls are to be no others.
      let proposed = #"{"toolsProposed":[\#(entries)],"order":"\#(order)"}"#
      #expect(try judgement(proposed, run).outcome == outcome, "\(proposed)")
    }
    let twice = RecordedRun.whole([[.init("pay")], [.init("pay")]])
    for order in ["in_order", "exact"] {
      let text = #"{"toolsProposed":[{"tool":"pay","times":1}],"order":"\#(order)"}"#
      #expect(try judgement(text, twice).outcome == .fail)
    }
  }

  @Test(
    "a call that returned was executed, and nobody knows whether it succeeded",
    arguments: [
      (#"{"toolsCalled":["pay"]}"#, [Outcome.pass]), (#"{"toolsNotCalled":["pay"]}"#, [.fail]),
      (#"{"maxToolCalls":1}"#, [.fail]), (#"{"maxToolCalls":2}"#, [.pass]),
      (#"{"toolsCalled":[{"tool":"pay","times":2}]}"#, [.pass]),
      (#"{"toolsCalled":[{"tool":"pay","status":"ok"}]}"#, [.unverifiable]),
      (#"{"toolsCalled":[{"tool":"pay","status":"error"}]}"#, [.unverifiable]),
      (#"{"toolsCalled":[{"tool":"pay","status":["ok","returned"]}]}"#, [.pass]),
      (#"{"toolsProposed":[{"tool":"pay","status":"refused"}]}"#, [.fail]),
      (#"{"toolsCalled":[{"tool":"pay","status":"unknown"}]}"#, [.fail]),
      (#"{"toolsNotCalled":[{"tool":"pay","status":"error"}]}"#, [.unverifiable]),
      (#"{"toolsCalled":[{"tool":"pay","result":{"id":7}}]}"#, [.pass]),
      (#"{"eachCall":[{"tool":"pay","status":"ok"}]}"#, [.unverifiable]),
      (#"{"eachCall":[{"tool":"pay","input":{}}]}"#, [.pass]),
      (#"{"budget":{"errors":5}}"#, [.unverifiable]),
      (#"{"budget":{"retries":5}}"#, [.unverifiable]),
      (#"{"budget":{"calls":2}}"#, [.pass]), (#"{"maxRetries":5}"#, [.unverifiable]),
      (#"{"budget":{"tools":{"pay":{"errors":5,"calls":2}}}}"#, [.unverifiable, .pass]),
      (#"{"noRepeatedSideEffect":["pay"]}"#, [.unverifiable]),
      (#"{"toolsCalled":["pay","pay"],"order":"exact"}"#, [.pass]),
      (#"{"toolsCalled":[{"tool":"pay","times":1}],"order":"in_order"}"#, [.fail]),
    ])
  func returned(text: String, outcomes: [Outcome]) throws {
    let run = RecordedRun.events([
      [.init("pay", [:], .returned(["id": 7]))], [.init("pay", [:], .returned([]))],
    ])
    let expectations = try Expectations(parsing: try JSONValue(parsing: text))
    let found = Judge.judge(run, against: expectations).outcomes
    #expect(
      found.map(\.outcome).sorted { $0.rawValue < $1.rawValue }
        == outcomes.sorted { $0.rawValue < $1.rawValue }, "\(text): \(found)")
  }

  @Test("whether a call failed that nobody answered is not known, and one of unknown effect failed")
  func unansweredErrors() throws {
    for (fate, outcome) in [
      (RecordedRun.Fate.started, Outcome.unverifiable), (.effectUnknown, .fail), (.ok(), .pass),
    ] {
      let run = RecordedRun.events([[.init("pay", [:], fate)]])
      for text in [#"{"budget":{"errors":0}}"#, #"{"budget":{"tools":{"pay":{"errors":0}}}}"#] {
        let expectations = try Expectations(parsing: try JSONValue(parsing: text))
        let found = Judge.judge(run, against: expectations).outcomes
        #expect(found.map(\.outcome) == [outcome], "\(fate) \(text): \(found)")
      }
    }
  }

  @Test("a call that is under way where a log ends has no status yet")
  func underWay() throws {
    var run = RecordedRun()
    run.decide([.init("pay", [:], .started)])
    for (status, outcome) in [("unknown", Outcome.unverifiable), ("ok", .unverifiable)] {
      let text = #"{"toolsCalled":[{"tool":"pay","status":"\#(status)"}]}"#
      #expect(try judgement(text, run.torn(after: run.events.count)).outcomes[0].outcome == outcome)
    }
    // Where the run has ended for good, nothing comes behind it.
    run.stop()
    let text = #"{"toolsCalled":[{"tool":"pay","status":"unknown"}]}"#
    #expect(try judgement(text, Trajectory(of: run.events)).outcomes[0].outcome == .pass)
  }

  @Test(
    "without an answer what it must not be is not exercised, what must be fails, and absence passes",
    arguments: [
      (#"{"answer":{"$not":{"$contains":"sorry"}}}"#, Outcome.notExercised),
      (#"{"answer":{"$allOf":[{"$not":"a"},{"$not":"b"}]}}"#, .notExercised),
      (#"{"answer":{"$absent":true}}"#, .pass), (#"{"answer":{"$contains":"a"}}"#, .fail),
      (#"{"answer":{"$anyOf":[{"$absent":true},"a"]}}"#, .pass),
      (#"{"answer":{"$any":true}}"#, .fail),
    ])
  func noAnswer(text: String, outcome: Outcome) throws {
    let run = RecordedRun.whole([[.init("a")]], answer: nil)
    #expect(try judgement(text, run).outcomes.map(\.outcome) == [outcome], "\(text)")
    let answered = RecordedRun.whole([[.init("a")]], answer: "fine")
    if outcome == .notExercised { #expect(try judgement(text, answered).outcome == .pass) }
  }

  @Test(
    "in an ordered mode a call that cannot be told is neither counted nor forgotten",
    arguments: [
      // The second was cut off: nobody knows whether it happened.
      (#"{"tool":"pay","times":1}"#, Outcome.unverifiable),
      (#"{"tool":"pay","times":2}"#, .unverifiable), (#"{"tool":"pay","times":0}"#, .fail),
      (#"{"tool":"pay","times":3}"#, .fail), (#"{"tool":"pay","times":{"max":2}}"#, .pass),
      (#"{"tool":"pay","times":{"max":1}}"#, .unverifiable),
      (#"{"tool":"pay","times":{"min":1}}"#, .pass),
      (#""pay",{"tool":"pay","times":0}"#, .unverifiable),
      (#"{"tool":"look","times":0}"#, .pass),
    ])
  func orderedDoubt(entry: String, outcome: Outcome) throws {
    let run = RecordedRun.whole([
      [.init("pay")], [.init("pay", [:], .effectUnknown)],
    ])
    let found = try judgement(#"{"toolsCalled":[\#(entry)],"order":"in_order"}"#, run)
    #expect(found.outcomes.map(\.outcome) == [outcome], "\(entry): \(found.outcomes)")
  }

  // MARK: Evidence

  @Test(
    "an outcome names the fewest events that show it",
    arguments: [
      (#"{"stopReason":"success"}"#, [12]), (#"{"toolsCalled":["look"]}"#, [1, 2, 3]),
      (#"{"toolsProposed":["look"]}"#, [1]),
      (#"{"toolsNotCalled":["draft"]}"#, [4, 5, 6]), (#"{"toolsNotCalled":["x"]}"#, []),
      (#"{"toolsNotProposed":["issue"]}"#, [4]),
      (#"{"toolsCalled":[{"tool":"look","input":{"id":"2"}}]}"#, [1, 2, 3]),
      (#"{"toolsCalled":["x"]}"#, [12]),
      (#"{"toolsCalled":[{"tool":"*","times":1}]}"#, [4, 5, 6]),
      (#"{"maxToolCalls":2}"#, [8, 9, 10]), (#"{"maxSteps":2}"#, [8]),
      (#"{"answer":"x"}"#, [11]),
      (#"{"toolsCalled":["issue","look"],"order":"in_order"}"#, [1, 2, 3, 8, 9, 10]),
      (#"{"toolsCalled":["look","issue"],"order":"exact"}"#, [4, 5, 6]),
    ])
  func evidence(expected: String, events: [Int]) throws {
    #expect(try judgement(expected, Trajectory(of: Self.run.events)).outcomes[0].events == events)
  }

  @Test(
    "a failure puts expected and actual side by side and says what keeps the nearest call apart")
  func explanation() throws {
    let failure = try judgement(
      #"{"toolsCalled":[{"tool":"look","input":{"id":"2"}}]}"#, Trajectory(of: Self.run.events)
    ).outcomes[0]
    #expect(failure.expectation == "toolsCalled[0]")
    #expect(failure.expected == #"called: look with input {"id":"2"}"#)
    #expect(failure.actual == #"look {"id":"1"} → ok (event 1)"#)
    #expect(
      failure.message
        == #"look was not called as expected. Nearest is event 1: its input differs, /id: expected "2", found "1"."#
    )
    #expect(
      failure.json
        == [
          "expectation": "toolsCalled[0]", "outcome": "fail", "events": [1, 2, 3],
          "message": .string(failure.message), "expected": .string(failure.expected ?? ""),
          "actual": .string(failure.actual ?? ""),
        ])
    let refused = try judgement(
      #"{"toolsCalled":[{"tool":"issue","input":{"id":"1"},"status":"ok"}]}"#,
      Trajectory(of: Self.run.events)
    ).outcomes[0]
    #expect(refused.message.hasPrefix("issue was not called as expected. Nearest is event "))
  }

  @Test("a name that no tool of the run has is a warning with the nearest")
  func warnings() throws {
    let judged = try judgement(
      #"{"toolsCalled":["look"],"toolsNotCalled":["isue","delete_*","draft"]}"#,
      Trajectory(of: Self.run.events))
    #expect(
      judged.warnings
        == ["toolsNotCalled[0]: no tool of this run is named “isue”; did you mean “issue”?"])
    let unnamed = RecordedRun.whole([[.init("a")]])
    #expect(try judgement(#"{"toolsNotCalled":["isue"]}"#, unnamed).warnings == [])
    #expect(
      try judgement(#"{"toolsNotCalled":[""]}"#, unnamed).warnings
        == ["toolsNotCalled[0]: an empty name is that of no tool"])
  }

  /// A run whose tools say what arguments they take.
  private static let described: Trajectory = {
    let call = ProposedCall(callId: "1.1.0", name: "issue", input: ["orderId": "1", "note": "x"])
    return Trajectory(of: [
      Event(
        seq: 0, step: 0, type: .runStarted, runId: "r", t: 0,
        data: [
          "formatVersion": 2, "agent": ["name": "a"], "goal": "go", "limits": [:],
          "tools": [
            [
              "name": "issue", "sideEffect": "write",
              "inputSchema": ["type": "object", "properties": ["orderId": ["type": "string"]]],
            ],
            [
              "name": "open", "sideEffect": "read",
              "inputSchema": ["properties": ["path": [:]], "additionalProperties": true],
            ],
            ["name": "delete_all", "sideEffect": "write"],
          ],
        ]),
      Event(
        seq: 1, step: 1, type: .decision, runId: "r", t: 1,
        data: DecisionPayload(.tool([call])).encoded),
    ])
  }()

  @Test(
    "an argument that no schema of the tool names is a warning, wherever it is spoken of",
    arguments: [
      (#"{"toolsNotCalled":[{"tool":"issue","input":{"orderID":"2"}}]}"#, "orderID", "orderId"),
      (
        #"{"toolsCalled":[{"tool":"iss*","input":{"$anyOf":[{"oderId":"1"}]}}]}"#, "oderId",
        "orderId"
      ),
      (#"{"eachCall":[{"tool":"issue","input":{"$exact":{"zebra":[]}}}]}"#, "zebra", nil),
      (#"{"time":[{"never":{"tool":"issue","input":{"orderld":"1"}}}]}"#, "orderld", "orderId"),
      (
        #"{"toolsCalled":[{"tool":"issue","input":{"orderId":"1"},"ignore":["orderID"]}]}"#,
        "orderID", "orderId"
      ),
      (#"{"toolsNotCalled":[{"tool":"issue","input":{"orderId":"1"}}]}"#, nil, nil),
      (#"{"toolsNotCalled":[{"tool":"issue","input":{"note":"y"}}]}"#, nil, nil),
      (#"{"toolsNotCalled":[{"tool":"issue","input":{"orderID":{"$absent":true}}}]}"#, nil, nil),
      (#"{"toolsNotCalled":[{"tool":"open","input":{"file":"1"}}]}"#, nil, nil),
      (#"{"toolsNotCalled":[{"tool":"delete_all","input":{"file":"1"}}]}"#, nil, nil),
      (#"{"toolsNotCalled":[{"tool":"*","input":{"file":"1"}}]}"#, nil, nil),
    ] as [(String, String?, String?)])
  func arguments(expected: String, odd: String?, nearest: String?) throws {
    let warnings = try judgement(expected, Self.described).warnings
    guard let odd else {
      #expect(warnings == [])
      return
    }
    #expect(warnings.count == 1 && warnings[0].contains("is named “\(odd)”"), "\(warnings)")
    #expect(
      warnings.first?.hasSuffix(nearest.map { "did you mean “\($0)”?" } ?? "“\(odd)”") == true)
  }

  @Test(
    "an argument that is asked to be of a type that it never has is a warning",
    arguments: [
      (#"{"toolsNotCalled":[{"tool":"issue","input":{"orderId":1}}]}"#, true),
      (#"{"toolsNotCalled":[{"tool":"iss*","input":{"$exact":{"orderId":{"$gt":5}}}}]}"#, true),
      (#"{"eachCall":[{"tool":"issue","input":{"orderId":{"$not":77}}}]}"#, true),
      (#"{"time":[{"never":{"tool":"issue","input":{"orderId":true}}}]}"#, true),
      (#"{"toolsNotCalled":[{"tool":"issue","input":{"orderId":"2"}}]}"#, false),
      (#"{"toolsNotCalled":[{"tool":"issue","input":{"orderId":{"$regex":"2"}}}]}"#, false),
      (#"{"toolsNotCalled":[{"tool":"issue","input":{"note":5}}]}"#, false),
      (#"{"toolsNotCalled":[{"tool":"open","input":{"path":5}}]}"#, false),
      (#"{"toolsNotCalled":[{"tool":"delete_all","input":{"id":5}}]}"#, false),
    ])
  func argumentTypes(expected: String, isTold: Bool) throws {
    let warnings = try judgement(expected, Self.described).warnings
    #expect(
      warnings.map { $0.contains("is string and no ") } == (isTold ? [true] : []), "\(warnings)")
  }

  @Test("an input that is asked to be no mapping is a warning where the tool takes one")
  func wholeInputs() throws {
    for (tool, input, count) in [
      ("issue", #"["orderId"]"#, 1), ("issue", #""orderId""#, 1), ("issue", "{}", 0),
      ("open", "5", 0), ("delete_all", #""x""#, 0),
    ] {
      let expected = #"{"toolsNotCalled":[{"tool":"\#(tool)","input":\#(input)}]}"#
      #expect(try judgement(expected, Self.described).warnings.count == count, "\(tool) \(input)")
    }
  }

  @Test(
    "a result that is asked to be of a type that none has is a warning where it is written the same"
  )
  func resultTypes() throws {
    let run = RecordedRun.whole([
      [.init("pay", [:], .ok(["ok": "true", "n": 5])), .init("look", [:], .ok("7"))]
    ])
    for (tool, result, count) in [
      ("pay", #"{"ok":true}"#, 1), ("pay", #"{"ok":{"$not":true}}"#, 1),
      ("pay", #"{"$exact":{"n":"5"}}"#, 1), ("pay", #"{"ok":"true","n":5}"#, 0),
      ("pay", #"{"ok":false}"#, 0), ("pay", #"{"other":true}"#, 0), ("look", "7", 1),
      ("look", "8", 0), ("look", #""7""#, 0),
    ] {
      let expected = #"{"toolsNotCalled":[{"tool":"\#(tool)","result":\#(result)}]}"#
      #expect(try judgement(expected, run).warnings.count == count, "\(tool) \(result)")
    }
  }

  @Test("an argument of no schema is of another type where a call has it written the same")
  func unknownArgumentTypes() throws {
    let run = RecordedRun.whole([[.init("pay", ["amount": 50])]])
    for (amount, count) in [(#""50""#, 1), ("50", 0), (#""51""#, 0), (#""fifty""#, 0)] {
      let expected = #"{"toolsNotCalled":[{"tool":"pay","input":{"amount":\#(amount)}}]}"#
      #expect(try judgement(expected, run).warnings.count == count, "\(amount)")
    }
  }

  @Test(
    "a regular expression where a glob stands is a warning, with the glob that was meant",
    arguments: [
      ("delete_.*", "delete_*"), ("^delete_all_.+$", "delete_all_?*"),
      ("(issue|draft)_x", "{issue,draft}_x"),
      ("delete_\\\\d", nil), ("wipe|shred", nil),
    ] as [(String, String?)])
  func regularExpressions(text: String, glob: String?) throws {
    for list in ["toolsNotCalled", "toolsNotProposed"] {
      let warnings = try judgement(#"{"\#(list)":["\#(text)"]}"#, Self.described).warnings
      #expect(warnings.count == 1 && warnings[0].contains("is a glob here"), "\(warnings)")
      #expect(warnings.first?.hasSuffix(glob.map { "did you mean “\($0)”?" } ?? "this run") == true)
    }
    #expect(
      try judgement(#"{"budget":{"tools":{"\#(text)":{"calls":1}}}}"#, Self.described).warnings
        .count
        == 1)
  }

  @Test("a glob that fits no tool but for case or hyphens is a warning")
  func otherwiseWrittenGlobs() throws {
    for glob in ["delete-*", "Delete_*", "DELETE-?ll"] {
      let warnings = try judgement(#"{"toolsNotCalled":["\#(glob)"]}"#, Self.described).warnings
      #expect(warnings.count == 1 && warnings[0].contains("“delete_all”"), "\(warnings)")
    }
    #expect(
      try judgement(#"{"toolsNotCalled":["wipe-*","*-user","[d-e]elete-*"]}"#, Self.described)
        .warnings == [])
  }

  @Test("a glob that matches no tool is none, nor is one of names with dots, nor what was called")
  func globs() throws {
    #expect(
      try judgement(#"{"toolsNotCalled":["delete_*","{wipe,shred}","is?ue"]}"#, Self.described)
        .warnings == [])
    let dotted = RecordedRun.whole([[.init("fs.read")]])
    #expect(try judgement(#"{"toolsNotCalled":["db.*"]}"#, dotted).warnings == [])
    let plain = RecordedRun.whole([[.init("read")]])
    #expect(try judgement(#"{"toolsNotCalled":["db.*"]}"#, plain).warnings.count == 1)
    #expect(
      try judgement(#"{"context":{"neverOffers":["delete_al"]}}"#, Self.described).warnings
        == [
          "context.neverOffers[0]: no tool of this run is named “delete_al”; did you mean “delete_all”?"
        ])
  }

  @Test(
    "a case's outcome follows from those of its expectations",
    arguments: [
      ([], .inconclusive), ([.pass], .pass), ([.pass, .fail, .unverifiable], .fail),
      ([.pass, .unverifiable], .inconclusive), ([.notExercised], .inconclusive),
      ([.notExercised, .pass], .pass),
    ] as [([Outcome], CaseOutcome)])
  func aggregation(outcomes: [Outcome], expected: CaseOutcome) {
    #expect(CaseOutcome(of: outcomes) == expected)
  }

  @Test("a long run against long lists is judged in time")
  func large() throws {
    let calls = (0..<3000).map { [RecordedRun.Call("t\($0 % 7)", ["n": JSONValue($0 % 50)])] }
    let run = RecordedRun.whole(calls)
    let entries = JSONValue.array(
      (0..<300).map { ["tool": .string("t\($0 % 7)"), "input": ["n": JSONValue($0 % 50)]] })
    let elapsed = ContinuousClock().measure {
      for order: JSONValue in ["any", "in_order", "exact"] {
        #expect(throws: Never.self) {
          _ = Judge.judge(
            run, against: try Expectations(parsing: ["toolsCalled": entries, "order": order]))
        }
      }
    }
    #expect(elapsed < .seconds(60))
  }

  @Test(
    "a list as long as may be is held against a long run call by call, whether it is met or not")
  func longList() throws {
    let calls = (0..<4000).map { [RecordedRun.Call("read", ["n": JSONValue($0)])] }
    let run = RecordedRun.whole(calls)
    var outcomes: [Outcome?] = []
    let elapsed = try ContinuousClock().measure {
      for numbers in [Array(0..<1000), Array((0..<1000).reversed())] {
        let entries = JSONValue.array(
          numbers.map { ["tool": "read", "input": ["n": JSONValue($0)]] })
        let expectations = try Expectations(parsing: ["toolsCalled": entries, "order": "in_order"])
        outcomes.append(Judge.judge(run, against: expectations).outcomes.first?.outcome)
      }
    }
    #expect(outcomes == [.pass, .fail])
    #expect(elapsed < .seconds(20))
  }

  @Test("lists that could be matched in endlessly many ways are given up, or judged, in time")
  func hostileLists() throws {
    let run = RecordedRun.whole([(0..<200).map { RecordedRun.Call("t\($0 % 2)") }])
    let entries = JSONValue.array(
      (0..<200).map { ["tool": .string($0 % 3 == 0 ? "t0" : "*"), "times": ["min": 0, "max": 3]] })
    let elapsed = ContinuousClock().measure {
      #expect(throws: Never.self) {
        let expectations = try Expectations(parsing: ["toolsCalled": entries, "order": "exact"])
        #expect(Judge.judge(run, against: expectations).outcome != .error)
      }
    }
    #expect(elapsed < .seconds(60))
  }

  @Test("an approval of an older log covers a call by the value of its input, not by its text")
  func olderApprovals() throws {
    func events(_ second: String) throws -> [Event] {
      var events: [Event] = []
      func add(_ type: EventType, _ step: Int, _ data: JSONObject) {
        events.append(
          Event(seq: events.count, step: step, type: type, runId: "r", t: 0, data: data))
      }
      add(
        .runStarted, 0, ["formatVersion": 1, "agent": ["name": "a"], "goal": "go", "limits": [:]])
      for (step, text) in [(1, "5.0"), (2, second)] {
        let call = ProposedCall(
          callId: "\(step).1.0", name: "pay", input: try JSONValue(parsing: "{\"amount\":\(text)}"))
        let id = JSONValue.string(call.callId)
        let name = JSONValue.string(call.olderActionId ?? call.actionId)
        add(.decision, step, DecisionPayload(.tool([call])).encoded)
        add(.policyDecision, step, ["callId": id, "tool": "pay", "status": "approval_required"])
        if step == 1 {
          add(.approval, step, ["callId": id, "actionId": name, "granted": true, "by": "ana"])
        }
        add(.policyDecision, step, ["callId": id, "tool": "pay", "status": "allow"])
        add(.toolStarted, step, ["callId": id, "tool": "pay", "attempt": 1])
        add(.toolResult, step, ["callId": id, "tool": "pay", "status": "ok", "data": 1])
      }
      add(.stop, 2, ["reason": "success", "final": true])
      return events
    }
    let expected = try Expectations(parsing: ["noApprovalBypass": true])
    for (text, outcome) in [("5", Outcome.pass), ("5.0", .pass), ("0.5e1", .pass), ("6", .fail)] {
      var gathered = GatheredFacts(for: expected)
      let events = try events(text)
      for event in events { gathered.apply(event) }
      let judged = Judge.judge(Trajectory(of: events), gathered, against: expected)
      #expect(judged.outcomes.map(\.outcome) == [outcome], "\(text): \(judged.outcomes)")
    }
  }
}
