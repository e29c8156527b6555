import AgentTrace
import TestSupport
import Testing
import TraceJudging
import TraceMatching

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
        "formatVersion": 2, "agent": ["name": "a"], "goal": "go", "limits": [:],
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

  private static func mutants(
    _ expected: [JSONValue], of events: [Event] = run, tolerances: [ToleratedChange] = [],
    limit: Int = 1_000
  ) throws -> RunMutants {
    RunMutants(
      log: "l", of: events,
      judgedBy: try expected.enumerated().map { index, expected in
        RunMutants.JudgingCase(
          caseId: "c\(index)", expected: try Expectations(parsing: expected),
          tolerances: index == 0 ? tolerances : [])
      }, limit: limit)
  }

  private static func score(
    _ expected: JSONValue..., of events: [Event] = run, tolerances: [ToleratedChange] = [],
    limit: Int = 1_000
  ) throws -> MutationScore.RunScore {
    try mutants(expected, of: events, tolerances: tolerances, limit: limit).score
  }

  /// Of every kind there are in ``MutantTableTests``.
  private static let kinds: [RunMutation.Kind] = [
    .dropCall, .repeatCall, .swapCalls, .forbiddenCall, .argument, .failedResult, .verdict,
    .missingApproval, .stopReason, .cost, .answer, .retry, .loop, .invalidDecision, .approver,
    .slow,
  ]

  @Test("of every kind a change is made, and a case that asks for one thing misses the others")
  func weak() throws {
    let score = try Self.score(["stopReason": "success"])
    #expect(Set(score.kinds.keys) == Set(Self.kinds))
    #expect(score.kinds[.stopReason]?.noticed == 1)
    #expect(score.counts.noticed == 1 && score.survivors.count == score.counts.changes - 1)
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
    #expect(strict.counts.changes > 20)
    #expect(strict.survivors.map(\.mutation.words) == [])
  }

  /// Expectations of which each notices something that the others do not.
  private static let all: JSONObject = [
    "toolsCalled": [["tool": "look", "times": 2], ["tool": "pay", "input": ["amount": 5]]],
    "toolsNotCalled": ["wipe"], "stopReason": "success", "answer": "Paid.",
    "noApprovalBypass": true, "budget": ["cost": 0.1],
  ]

  @Test("an expectation less notices less of the same changes", arguments: all.keys)
  func removal(key: String) throws {
    let whole = try Self.score(.object(Self.all))
    var less = Self.all
    less[key] = nil
    let score = try Self.score(.object(less))
    #expect(score.counts.noticed < whole.counts.noticed)
    #expect(score.counts.changes == whole.counts.changes)
  }

  @Test("a change is noticed if any case of its run notices it, and counts once")
  func suite() throws {
    let whole = try Self.score(.object(Self.all))
    let parts = Self.all.map { member in
      JSONValue.object(JSONObject([(member.key, member.value), ("stopReason", "success")]))
    }
    let mutants = try Self.mutants(parts)
    let suite = mutants.score
    #expect(suite.counts == whole.counts && suite.kinds == whole.kinds)
    #expect(suite.survivors.map(\.mutation) == whole.survivors.map(\.mutation))
    let single = suite.cases.map { $0.noticed.values.reduce(0, +) }
    #expect(single.count == parts.count && single.allSatisfy { $0 < suite.counts.noticed })
    #expect(single.reduce(0, +) >= suite.counts.noticed)
  }

  @Test("what a case tolerates is told apart, and never counts as noticed")
  func tolerance() throws {
    let plain = try Self.score(["stopReason": "success"])
    let repeats = ToleratedChange(
      kinds: [.repeatCall, .stopReason], tool: try Glob("loo*"), why: "looking costs nothing")
    let idle = ToleratedChange(kinds: [.stopReason], why: "any end will do")
    let score = try Self.score(["stopReason": "success"], tolerances: [repeats, idle])
    #expect(
      score.tolerated.map(\.mutation.words) == ["look is called twice", "look is called twice"])
    #expect(score.tolerated.allSatisfy { $0.why == repeats.why && $0.caseId == "c0" })
    #expect(score.counts.noticed == plain.counts.noticed)
    #expect(score.counts.survivors == plain.counts.survivors - 2)
    #expect(score.survivors.count == score.counts.survivors)
    let suite = MutationScore(runs: [score])
    #expect(suite.idleReasons == [idle.why])
    #expect(suite.score == MutationScore(runs: [plain]).score)
  }

  @Test("a tool that was never called is called, whatever the case forbids; writing ones first")
  func forbidden() throws {
    let weak = try Self.score(["toolsNotCalled": ["shred", "rm_*"]])
    #expect(weak.kinds[.forbiddenCall].map { $0.noticed == 0 && $0.changes == 3 } == true)
    let strict = try Self.score(["toolsNotCalled": ["wipe"]])
    #expect(strict.kinds[.forbiddenCall].map { $0.noticed == 3 && $0.changes == 3 } == true)
  }

  @Test("a case that does not pass is left out, and so is one that only programs judge")
  func leftOut() throws {
    let exec: JSONValue = ["exec": [["command": ["true"]]]]
    let mutants = try Self.mutants([["stopReason": "blocked"], ["stopReason": "success"], exec])
    #expect(mutants.leftOut.map(\.caseId) == ["c0", "c2"])
    #expect(mutants.score.cases.map(\.caseId) == ["c1"])
    #expect(try Self.mutants([exec]).isEmpty)
    #expect(try Self.score(["stopReason": "success"], of: []).counts.changes == 0)
  }

  @Test("a limit takes mutants from all of the run")
  func limits() throws {
    let all = try Self.score(["stopReason": "success"])
    let some = try Self.score(["stopReason": "success"], limit: 10)
    #expect(some.counts.changes == 10 && all.counts.changes > 20)
    #expect(some.kinds.count > 4)
  }

  @Test("damaged runs are changed without harm, and folding once for many is folding each whole")
  func hostile() throws {
    let suites: [[JSONValue]] = [
      [["toolsNotCalled": ["shred"]]], [["toolsNotCalled": ["shred"]], .object(Self.all)],
      [
        ["maxToolCalls": 9], ["budget": ["cost": 1]], ["budget": ["steps": 9]],
        ["state": ["/totals/steps": ["$any": true]]], ["evidence": ["observed": true]],
        ["context": [["steps": 2, "contains": "go"]]], ["context": ["neverContains": "x"]],
        ["policy": ["notGiven": [["verdict": "deny"]]]], ["noLoops": true],
        ["time": [["expect": "pay", "after": "look"]]],
      ],
    ]
    var generator = SeededGenerator(seed: 21)
    for round in 0..<TestRun.count(200, long: 5_000) {
      var events = Self.run
      for _ in 0..<Int.random(in: 0...6, using: &generator) {
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
      let mutants = try Self.mutants(suites[round % suites.count], of: events)
      let score = mutants.score
      #expect(score.counts.survivors == score.survivors.count)
      let plain = MutationScore(runs: [mutants.score(.plain)])
      #expect(MutationScore(runs: [score]).json == plain.json)
      #expect(score.counts.changes > 0 || score.cases.isEmpty || events.count < 5)
    }
  }
}
