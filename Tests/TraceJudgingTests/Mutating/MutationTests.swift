import AgentTrace
import TestSupport
import Testing
import TraceJudging

@Suite("Changed runs")
struct MutationTests {
  /// A run of three calls: one that reads, one that a person approves, one that fails.
  private static let run: [Event] = {
    var events: [Event] = []
    func add(_ type: EventType, _ step: Int, _ data: JSONObject) {
      events.append(
        Event(seq: events.count, step: step, type: type, runId: "r", t: events.count, data: data))
    }
    func call(
      _ step: Int, _ tool: String, _ input: JSONValue, asks: Bool = false, fails: Bool = false
    ) {
      let callId = "\(step).1.0"
      let id = JSONValue.string(callId)
      let call = ProposedCall(callId: callId, name: tool, input: input)
      add(.contextBuilt, step, ["runId": "r", "goal": "go"])
      add(
        .modelResult, step,
        [
          "purpose": "decide", "attempt": 1, "reply": [:], "cost": 0.01,
          "usage": ["inputTokens": 100, "outputTokens": 10],
        ])
      add(.decision, step, DecisionPayload(.tool([call])).encoded)
      func verdict(_ status: String) {
        add(
          .policyDecision, step, ["callId": id, "tool": .string(tool), "status": .string(status)])
      }
      if asks {
        verdict("approval_required")
        add(
          .approval, step,
          ["callId": id, "actionId": .string(call.actionId), "granted": true, "by": "ana"])
      }
      verdict("allow")
      add(.toolStarted, step, ["callId": id, "tool": .string(tool), "attempt": 1])
      add(
        .toolResult, step,
        fails
          ? ["callId": id, "tool": .string(tool), "status": "error", "reason": "no"]
          : ["callId": id, "tool": .string(tool), "status": "ok", "data": ["found": 1]])
    }
    add(
      .runStarted, 0,
      [
        "formatVersion": 1, "agent": ["name": "a"], "goal": "go", "limits": [:],
        "tools": [
          ["name": "look", "sideEffect": "read"], ["name": "pay", "sideEffect": "write"],
          ["name": "wipe", "sideEffect": "write"],
        ],
      ])
    call(1, "look", ["id": 1, "deep": ["tags": ["x", true, nil]]])
    call(2, "pay", ["id": 1, "amount": 5], asks: true)
    call(3, "look", ["id": 2], fails: true)
    add(.decision, 4, ["kind": "answer", "text": "Paid.", "evidenceRefs": []])
    add(
      .stop, 4, ["reason": "success", "detail": "final_answer", "answer": "Paid.", "final": true])
    return events
  }()

  private static func score(_ expected: JSONValue, of events: [Event] = run, limit: Int = 1_000)
    throws -> MutationScore.CaseScore
  {
    MutationScore.CaseScore(
      caseId: "c", log: "l", of: events, against: try Expectations(parsing: expected), limit: limit)
  }

  @Test("every kind of change is made, and a case that asks for one thing misses the others")
  func weak() throws {
    let score = try Self.score(["stopReason": "success"])
    #expect(Set(score.kinds.keys) == Set(RunMutation.Kind.allCases))
    #expect(score.kinds[.stopReason]?.killed == 1)
    #expect(score.killed == 1 && score.survivors.count == score.mutants - 1)
    // What would notice is found for each, and is tried before it is named.
    for survivor in score.survivors {
      #expect(survivor.remedy != nil, "\(survivor.mutation)")
    }
  }

  @Test("with the remedies of all survivors in the case nothing survives")
  func remedies() throws {
    let weak = try Self.score(["stopReason": "success"])
    var remedies: [JSONValue] = []
    for remedy in weak.survivors.compactMap(\.remedy) where !remedies.contains(remedy) {
      remedies.append(remedy)
    }
    let strict = try Self.score(.array([["stopReason": "success"]] + remedies))
    #expect(strict.leftOut == nil && strict.mutants > 20)
    #expect(strict.survivors.map(\.mutation.words) == [])
  }

  @Test(
    "an expectation less notices less",
    arguments: [
      "toolsCalled", "toolsNotCalled", "stopReason", "answer", "noApprovalBypass", "budget",
    ])
  func removal(key: String) throws {
    let all: JSONObject = [
      "toolsCalled": [["tool": "look", "times": 2], ["tool": "pay", "input": ["amount": 5]]],
      "toolsNotCalled": ["wipe"], "stopReason": "success", "answer": "Paid.",
      "noApprovalBypass": true, "budget": ["cost": 0.1],
    ]
    let whole = try Self.score(.object(all))
    var less = all
    less[key] = nil
    #expect(try Self.score(.object(less)).killed < whole.killed)
  }

  @Test("a forbidden tool that the case names is the one that is called")
  func forbidden() throws {
    let score = try Self.score(["toolsNotCalled": ["shred", "rm_*"]])
    #expect(score.kinds[.forbiddenCall].map { $0.killed == $0.mutants && $0.mutants > 0 } == true)
  }

  @Test("a run that does not pass is left out, and so is one that only programs judge")
  func leftOut() throws {
    #expect(try Self.score(["stopReason": "blocked"]).leftOut != nil)
    let exec: JSONValue = ["exec": [["command": ["true"]]]]
    #expect(try Self.score(exec).leftOut != nil)
    #expect(try Self.score(["stopReason": "success"], of: []).mutants == 0)
  }

  @Test("a limit takes mutants from all of the run")
  func limits() throws {
    let all = try Self.score(["stopReason": "success"])
    let some = try Self.score(["stopReason": "success"], limit: 10)
    #expect(some.mutants == 10 && all.mutants > 20)
    #expect(some.kinds.count > 4)
  }

  @Test("runs that no runtime would write are changed without harm")
  func hostile() throws {
    var generator = SeededGenerator(seed: 21)
    for _ in 0..<TestRun.count(200, long: 5_000) {
      var events = Self.run
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        let index = Int.random(in: 0..<events.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: events.remove(at: index)
        case 1: events.insert(events[index], at: Int.random(in: 0...index, using: &generator))
        case 2: events[index].data["calls"] = [["callId": "1.1.0", "name": 5], 7, nil]
        default:
          let key = events[index].data.keys.randomElement(using: &generator) ?? ""
          events[index].data[key] = [nil, [:], 1e300]
        }
        if events.count < 3 { break }
      }
      let score = try Self.score(["toolsNotCalled": ["shred"]], of: events)
      #expect(score.killed + score.survivors.count == score.mutants)
    }
  }
}
