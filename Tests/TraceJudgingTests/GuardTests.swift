import AgentTrace
import TestSupport
import Testing
import TraceJudging

@Suite("Guards: the same judge, while a run goes on")
struct GuardTests {
  @Test(
    "What only the end decides is refused, each with its place",
    arguments: [
      (#"{"stopReason":"success"}"#, "/stopReason"), (#"{"toolsCalled":["a"]}"#, "/toolsCalled"),
      (#"{"answer":"x"}"#, "/answer"), (#"{"state":{"/stop":1}}"#, "/state"),
      (#"{"time":[{"never":"a"},{"eventually":"a"}]}"#, "/time/1"),
      (#"{"time":[{"expect":"a","after":"b"}]}"#, "/time/0"),
      (#"{"time":[{"never":"a","until":"b"}]}"#, "/time/0"),
      (#"{"toolsNotCalled":[{"tool":"a","times":1}]}"#, "/toolsNotCalled/0"),
      (#"{"toolsNotCalled":["a",{"tool":"a","status":["unknown","ok"]}]}"#, "/toolsNotCalled/1"),
      (#"{"policy":{"given":[{"verdict":"deny"}]}}"#, "/policy"),
      (#"{"context":{"contains":"x"}}"#, "/context"), (#"{"memory":{"read":["x"]}}"#, "/memory"),
      (#"{"budget":{"calls":1,"subRuns":true}}"#, "/budget/subRuns"),
      (#"[{"severity":"warning","maxSteps":1}]"#, "/0/severity"),
    ])
  func undecidable(text: String, pointer: String) throws {
    let expectations = try Expectations(parsing: JSONValue(parsing: text))
    #expect(!expectations.isDecidableEarly)
    do {
      _ = try ExpectationGuard(expectations)
      Issue.record("\(text) was accepted")
    } catch {
      #expect(error.problems.map(\.pointer.description) == [pointer])
    }
  }

  /// Everything that a guard takes, on tools a, b and c, of which c writes.
  private static let rules: [JSONValue] = [
    ["toolsNotCalled": ["a"]], ["toolsNotCalled": [["tool": "b", "times": ["min": 2]]]],
    ["toolsNotCalled": [["tool": "c", "input": ["x": 1]]]], ["toolsNotProposed": ["b"]],
    ["toolsNotCalled": [["tool": "*", "status": "error"]]],
    ["toolsNotProposed": [["tool": "a", "status": "refused"]]], ["maxSteps": 3],
    ["maxToolCalls": 2], ["eachCall": [["tool": "c", "input": ["x": 1]]]],
    ["eachCall": [["tool": "a", "status": "ok"]]],
    ["eachCall": [["tool": "c", "input": ["x": ["$from": ["tool": "a", "path": "/x"]]]]]],
    ["time": [["never": "c", "after": "a"]]], ["time": [["never": "b", "before": "a"]]],
    ["time": [["never": "b", "after": "a", "within": 1]]], ["time": [["only": ["a", "b"]]]],
    ["time": [["only": "a", "after": "b"]]], ["time": [["expect": "a", "before": "c"]]],
    ["time": [["expect": ["approval": "granted"], "before": "c"]]],
    ["time": [["never": "*", "after": ["verdict": "deny"]]]],
    ["time": [["never": "b", "after": ["returned": ["tool": "a", "status": "error"]]]]],
    ["time": [["never": ["invalidDecision": true]]]],
    ["budget": ["calls": 3, "tools": ["a": ["calls": 1, "errors": 0]]]],
    ["budget": ["errors": 0]], ["noRepeatedSideEffect": true], ["noLoops": 2],
    ["maxInvalidDecisions": 0], ["maxRetries": 0], ["noApprovalBypass": true],
    ["policy": ["notGiven": [["verdict": "deny", "tool": "a"]]]],
  ]

  /// What only the end decides.
  private static let others: [JSONValue] = [
    ["toolsCalled": ["a", "b"]], ["toolsCalled": [["tool": "c", "times": 1]]],
    ["toolsCalled": ["a", "c"], "order": "in_order"], ["toolsCalled": ["a"], "order": "exact"],
    ["toolsCalled": ["a", "b", ["tool": "c", "times": ["max": 1]]], "extra": "forbid"],
    ["time": [["eventually": "b"]]], ["time": [["eventually": "b", "within": 1]]],
    ["time": [["expect": "b", "after": "a"]]],
    ["time": [["expect": "b", "after": "a", "within": 1]]],
    ["time": [["expect": ["returned": "c"], "after": ["verdict": "allow", "tool": "c"]]]],
    ["time": [["never": "c", "until": "a"]]], ["time": [["only": "a", "until": "b"]]],
    ["time": [["expect": "a", "before": "b", "within": 1]]],
    ["time": [["expect": ["verdict": "allow"], "before": "b"]]],
    ["time": [["expect": ["stop": "success"], "after": "a"]]],
    ["policy": ["given": [["verdict": "deny"]], "approvals": [["approval": "granted"]]]],
    ["policy": ["notGiven": [["verdict": "allow", "times": ["min": 3]]]]],
    ["state": ["/totals/toolCalls": ["$lte": 2]]],
    ["toolsCalled": [["tool": "a", "status": "ok"]]],
  ]

  @Test(
    "what a judge is sure of in part of a log, it says of the whole log too",
    arguments: [false, true])
  func soundness(inTheMiddle: Bool) throws {
    let all = try (Self.rules + Self.others).map { try Expectations(parsing: $0) }
    var generator = Seeded(seed: inTheMiddle ? 5 : 6)
    var sure = 0
    for number in 0..<TestRun.count(all.count * 15, long: all.count * 300) {
      let events = Self.trace(&generator)
      let expectations = all[number % all.count]
      func outcomes(_ shown: some Sequence<Event>, isTorn: Bool) -> [ExpectationOutcome] {
        var (trajectory, gathered) = (Trajectory(), GatheredFacts(for: expectations))
        for event in shown {
          trajectory.apply(event)
          gathered.apply(event)
        }
        if isTorn { trajectory.markTorn() }
        return Judge.judge(trajectory, gathered, against: expectations).outcomes
      }
      let whole = outcomes(events, isTorn: false)
      for cut in 1..<events.count {
        let end = min(events.count - 1, cut + Int(generator.next() % 6) + 1)
        let part =
          inTheMiddle
          ? outcomes(events[..<cut] + events[end...], isTorn: false)
          : outcomes(events[..<cut], isTorn: true)
        for (said, truth) in zip(part, whole) where said.outcome != .unverifiable {
          sure += 1
          if said.outcome != truth.outcome {
            Issue.record(
              "\((Self.rules + Self.others)[number % all.count]): \(said.outcome) without \(cut)..<\(inTheMiddle ? end : events.count), but \(truth.outcome): \(said) on \(events.map { "\($0.seq) \($0.type.rawValue) \(JSONValue.object($0.data))" }.joined(separator: "\n"))"
            )
          }
        }
      }
    }
    #expect(sure > 500)
  }

  @Test("a result that is missing may have been something new, wherever it stood")
  func missingResultInALoop() throws {
    func event(_ seq: Int, _ type: EventType, _ data: JSONObject) -> Event {
      Event(seq: seq, step: 0, type: type, runId: "r", t: seq, data: data)
    }
    func call(_ id: String, _ tool: String) -> JSONValue {
      ["callId": .string(id), "input": [:], "name": .string(tool)]
    }
    let refused: JSONObject = ["reason": "no", "status": "refused", "tool": "a"]
    func refusal(of id: String) -> JSONObject {
      JSONObject(Array(refused).map { ($0.key, $0.value) } + [("callId", .string(id))])
    }
    let events = [
      event(0, .runStarted, RunStarted(agentName: "t", goal: "g").encoded),
      event(1, .decision, ["kind": "tool", "calls": [call("1", "a")]]),
      event(2, .toolResult, refusal(of: "1")),
      event(3, .decision, ["kind": "tool", "calls": [call("2", "b"), call("3", "a")]]),
      event(4, .toolResult, refusal(of: "3")),
      // The last result of its decision, and the only thing that is new.
      event(5, .toolResult, ["callId": "2", "data": 1, "status": "ok", "tool": "b"]),
      event(6, .decision, ["kind": "tool", "calls": [call("4", "b")]]),
      event(7, .toolResult, ["callId": "4", "data": 2, "status": "ok", "tool": "b"]),
      event(8, .stop, Stop(reason: .success).encoded),
    ]
    let expectations = try Expectations(parsing: ["noLoops": 2])
    func outcome(without missing: Int?) -> Outcome? {
      var (trajectory, gathered) = (Trajectory(), GatheredFacts(for: expectations))
      for event in events where event.seq != missing {
        trajectory.apply(event)
        gathered.apply(event)
      }
      return Judge.judge(trajectory, gathered, against: expectations).outcomes.first?.outcome
    }
    #expect(outcome(without: nil) == .pass)
    #expect(outcome(without: 5) == .unverifiable)
  }

  @Test(
    "a call whose start was never recorded began before its result, whatever a log hides behind that",
    arguments: [
      (["time": [["never": "a", "before": ["returned": "b"]]]], .fail),
      (["time": [["never": "a", "before": "b"]]], .fail),
      (["time": [["never": "a", "after": ["returned": "b"]]]], .unverifiable),
      (["time": [["expect": "a", "before": "b"]]], .pass),
      (["time": [["expect": "b", "before": "a"]]], .fail),
      (["noRepeatedSideEffect": ["b"]], .fail),
    ] as [(JSONValue, Outcome)])
  func startsThatWereNotRecorded(text: JSONValue, outcome: Outcome) throws {
    let expectations = try Expectations(parsing: text)
    var run = RecordedRun()
    for tool in ["a", "b", "b"] { run.decide([.init(tool, [:], .ok())]) }
    var (trajectory, gathered) = (Trajectory(), GatheredFacts(for: expectations))
    // As imports and the proxy have it.
    for (seq, event) in run.events.filter({ $0.type != .toolStarted }).enumerated() {
      var event = event
      event.seq = seq
      trajectory.apply(event)
      gathered.apply(event)
    }
    trajectory.markTorn()
    let found = Judge.judge(trajectory, gathered, against: expectations).outcomes.map(\.outcome)
    #expect(found == [outcome])
  }

  @Test("a call that is begun again is one more attempt, not as many as there could be")
  func nextAttempt() throws {
    var run = RecordedRun()
    run.decide([.init("a", [:], .started)])
    for (most, isBroken) in [(0, true), (1, false)] {
      for text in [["maxRetries": JSONValue(most)], ["budget": ["retries": JSONValue(most)]]]
        as [JSONValue]
      {
        var watch = try ExpectationGuard(Expectations(parsing: text))
        for event in run.events { watch.apply(event) }
        #expect(watch.breach() == nil)
        #expect((watch.breach(ifStarted: ["1.1.0"]) != nil) == isBroken, "\(text)")
      }
    }
  }

  /// The events of a run made at random: decisions with up to three calls, verdicts, approvals,
  /// starts, retries and results in an order of their own, invalid decisions, a stop.
  private static func trace(_ generator: inout Seeded) -> [Event] {
    var events: [Event] = []
    var step = 0
    func roll(_ sides: UInt64) -> Int { Int(generator.next() % sides) }
    func add(_ type: EventType, _ data: JSONObject) {
      events.append(
        Event(seq: events.count, step: step, type: type, runId: "r", t: events.count, data: data))
    }
    add(
      .runStarted,
      RunStarted(
        agentName: "t", goal: "g",
        tools: ["a", "b", "c"].map {
          ToolDefinition(name: $0, sideEffect: $0 == "c" ? .write : .read)
        }
      ).encoded)
    for _ in 0..<roll(5) {
      step += 1
      if roll(8) == 0 { add(.decision, DecisionPayload(.invalid(reason: "x", calls: [])).encoded) }
      let calls = (0...roll(3)).map { index in
        ProposedCall(
          callId: "\(step).1.\(index)", name: ["a", "b", "c"][roll(3)],
          input: ["x": JSONValue(roll(2))])
      }
      add(.decision, DecisionPayload(.tool(calls)).encoded)
      var running: [ProposedCall] = []
      for call in calls {
        let verdict = [VerdictStatus.allow, .allow, .allow, .deny, .approvalRequired][roll(5)]
        add(
          .policyDecision,
          Verdict(callId: call.callId, tool: call.name, status: verdict, reason: "r").encoded)
        if verdict == .approvalRequired, roll(3) > 0 {
          add(
            .approval,
            Approval(
              callId: call.callId, actionId: call.actionId, granted: roll(3) > 0, by: "ana"
            ).encoded)
        }
        // Now and then a denied call runs all the same: that is what a judge is for.
        if verdict == .deny, roll(6) > 0 {
          add(
            .toolResult,
            ToolResultPayload(callId: call.callId, tool: call.name, result: .refused(reason: "no"))
              .encoded)
        } else if roll(8) > 0 {
          running.append(call)
        }
      }
      var started: [ProposedCall] = []
      while !running.isEmpty || !started.isEmpty {
        if !running.isEmpty, started.isEmpty || roll(2) == 0 {
          let call = running.removeFirst()
          for attempt in 1...(roll(6) == 0 ? 2 : 1) {
            add(
              .toolStarted,
              ToolStartedPayload(
                callId: call.callId, tool: call.name, attempt: attempt, idempotencyKey: "k"
              ).encoded)
          }
          if roll(12) > 0 { started.append(call) }
        } else {
          let call = started.remove(at: roll(UInt64(started.count)))
          let result: ToolResult =
            switch roll(6) {
            case 0: .error("failed", isEffectUnknown: false)
            case 1: .error("cut", isEffectUnknown: true)
            default: .ok(data: ["x": JSONValue(roll(2))])
            }
          add(
            .toolResult,
            ToolResultPayload(callId: call.callId, tool: call.name, result: result).encoded)
        }
      }
    }
    add(.stop, Stop(reason: .success).encoded)
    return events
  }

  @Test(
    "a guard and the judge of the whole log give the same answer on random traces",
    arguments: 0..<10)
  func agreement(seed: Int) throws {
    let all = try Self.rules.map { try Expectations(parsing: $0) }
    var generator = Seeded(seed: UInt64(seed) + 77)
    var broken = 0
    // 100,000 traces in all; each against one of the rules in turn, so that every rule meets
    // thousands.
    let count = TestRun.count(150, long: 10_000)
    for number in 0..<count {
      let events = Self.trace(&generator)
      let expectations = all[(number * 10 + seed) % all.count]
      var watch = try ExpectationGuard(expectations)
      var firstBreach: Int?
      for event in events {
        if event.type == .toolStarted, event.data["attempt"] == 1, firstBreach == nil,
          let callId = event.data["callId"]?.stringValue
        {
          // What the guard says before a call is what it says once the call has begun.
          let before = watch.breach(ifStarted: [callId])
          var after = watch
          after.apply(event)
          #expect(
            before?.expectation == after.breach()?.expectation, "\(expectations.all.map(\.key))")
        }
        watch.apply(event)
        if firstBreach == nil, watch.breach() != nil { firstBreach = event.seq }
      }
      var (trajectory, gathered) = (Trajectory(), GatheredFacts(for: expectations))
      for event in events {
        trajectory.apply(event)
        gathered.apply(event)
      }
      let judged = Judge.judge(trajectory, gathered, against: expectations).outcomes
      let fails = judged.contains { $0.outcome == .fail }
      if fails { broken += 1 }
      if fails != (firstBreach != nil) {
        Issue.record(
          "\(Self.rules[(number * 10 + seed) % all.count]): guard \(firstBreach as Any), judge \(judged) on \(events.map { "\($0.seq) \($0.type.rawValue) \(JSONValue.object($0.data))" }.joined(separator: "\n"))"
        )
      }
    }
    #expect(broken > count / 10 && broken < count * 9 / 10)
    print("guard and judge: \(count) traces, \(broken) of them broken")
  }
}
