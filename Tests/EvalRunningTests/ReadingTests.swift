import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceJudging
import TraceStorage

@testable import EvalRunning

@Suite("What of a log is read for a judgement")
struct ReadingTests {
  /// The plain way: every event is read whole.
  private static func plainly(_ path: String) throws -> Trajectory {
    var reader = try LogReader(path: path)
    var trajectory = Trajectory()
    while let event = try reader.next() { trajectory.apply(event) }
    if trajectory.stop?.isFinal != true,
      reader.ending != .closed || reader.nextSeq > trajectory.lastSeq + 1
        || (trajectory.stop == nil && trajectory.recorded["stop"] == nil)
    {
      trajectory.markTorn()
    }
    return trajectory
  }

  /// Expectations of every kind about the tools of a run and about others.
  private static func expectations(_ run: Trajectory, seed: UInt64) -> [Expectations] {
    var numbers = Seeded(seed: seed)
    let names =
      Array(Set(run.calls.map(\.tool))).sorted() + ["delete_*", "no_such_tool", "delete_.*", "*"]
    let extras: [JSONObject] = [
      [:], ["status": "ok"], ["status": ["error", "unknown"]], ["status": "refused"], ["times": 1],
      ["times": ["min": 0, "max": 2]], ["caller": "user"], ["caller": "*"],
      ["input": ["id": ["$absent": true]]], ["result": ["$any": true]],
    ]
    func entry() -> JSONValue {
      var entry = extras.randomElement(using: &numbers) ?? [:]
      entry["tool"] = .string(names.randomElement(using: &numbers) ?? "*")
      return .object(entry)
    }
    let orders = ["any", "in_order", "exact"]
    return (0..<60).compactMap { number in
      var expected: JSONObject = [:]
      for key in ["toolsCalled", "toolsNotCalled", "toolsProposed", "toolsNotProposed"]
      where Bool.random(using: &numbers) {
        expected[key] = .array((0...Int.random(in: 0...2, using: &numbers)).map { _ in entry() })
      }
      if expected["toolsCalled"] != nil || expected["toolsProposed"] != nil {
        expected["order"] = .string(orders[number % 3])
      }
      if number % 2 == 0 { expected["stopReason"] = ["success", "blocked"] }
      if number % 5 == 0 { expected["maxToolCalls"] = JSONValue(number / 10) }
      if number % 7 == 0 { expected["maxSteps"] = JSONValue(number / 7) }
      if number % 11 == 0 { expected["answer"] = ["$contains": "a"] }
      if expected.isEmpty { return nil }
      // Some combinations are mistakes in a case, which the loader refuses.
      return try? Expectations(parsing: .object(expected))
    }
  }

  /// Judges one log all three ways; returns how often its end was enough.
  private static func compare(_ path: String, seed: UInt64) throws -> Int {
    let plain = try plainly(path)
    var fromSummary = 0
    let all = expectations(plain, seed: seed)
    #expect(all.count > 10)
    for expected in all {
      let judged = Judge.judge(plain, against: expected)
      let body = try RecordedRun(path: path, for: expected)
      #expect(Judge.judge(body.trajectory, against: expected) == judged, "\(path)")
      guard let end = RecordedRun(endOf: path, for: expected) else { continue }
      fromSummary += 1
      let short = Judge.judge(end.trajectory, against: expected)
      #expect(short.outcomes.map(\.expectation) == judged.outcomes.map(\.expectation), "\(path)")
      #expect(short.outcomes.map(\.outcome) == judged.outcomes.map(\.outcome), "\(path)")
      #expect(short.warnings == judged.warnings, "\(path)")
      #expect(end.trajectory.runId == plain.runId)
    }
    return fromSummary
  }

  @Test("changes no judgement of a fixture")
  func fixtures() throws {
    var (count, fromSummary) = (0, 0)
    for path in Project.files(below: "Fixtures", ending: ".jsonl.gz") {
      // A pipeline is judged with what its tasks did, which stands in other logs.
      guard (try? Self.plainly(Project.path(path))) != nil,
        (try? WaitingPipeline.isPipeline(Project.path(path))) == false
      else { continue }
      count += 1
      fromSummary += try Self.compare(Project.path(path), seed: UInt64(count))
    }
    #expect(count >= 14)
    #expect(fromSummary > 50)
  }

  @Test("changes no judgement of a random run", arguments: 1...60)
  func randomRuns(seed: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.path("run.jsonl.gz")
    var run = RandomCalls(seed: UInt64(seed))
    let log = try LogWriter(creating: path, options: .init(durability: .none))
    for event in run.events() { try log.append(event, isEffectAhead: false) }
    _ = try log.close()
    _ = try Self.compare(path, seed: UInt64(seed))
  }

  @Test(
    "a misspelt tool is warned of from the end of a log as from all of it, and a right one is not")
  func warnings() throws {
    let path = Project.path("Fixtures/runs/refund-drafted.jsonl.gz")
    for (name, count) in [
      ("issue_refund", 0), ("isue_refund", 1), ("issue_.*", 1), ("delete_*", 0),
      ("draft_refund_request", 0),
    ] {
      let expected = try Expectations(parsing: ["toolsNotProposed": [.string(name)]])
      let body = try RecordedRun(path: path, for: expected)
      let end = try #require(RecordedRun(endOf: path, for: expected))
      let warnings = Judge.judge(end.trajectory, against: expected).warnings
      #expect(warnings.count == count, "\(name)")
      #expect(warnings == Judge.judge(body.trajectory, against: expected).warnings, "\(name)")
    }
  }

  @Test(
    "where further tools may have been listed, or none were named, the end of a log is not enough")
  func unknownTools() throws {
    let folder = try TemporaryFolder()
    func log(_ name: String, tools: JSONValue, lists: Bool) throws -> String {
      let path = folder.path("\(name).jsonl.gz")
      let writer = try LogWriter(creating: path, options: .init(durability: .none))
      var seq = 0
      func add(_ type: EventType, _ step: Int, _ data: JSONObject) throws {
        try writer.append(
          Event(seq: seq, step: step, type: type, runId: "r", t: 0, data: data),
          isEffectAhead: false)
        seq += 1
      }
      try add(
        .runStarted, 0,
        ["formatVersion": 2, "agent": ["name": "a"], "goal": "go", "limits": [:], "tools": tools])
      if lists {
        let listed = ToolsListed(source: "s", tools: [ToolDefinition(name: "wipe")])
        try add(.toolsListed, 0, listed.encoded)
      }
      try add(.decision, 1, DecisionPayload(.answer(text: "x", evidenceRefs: [])).encoded)
      try add(.stop, 1, ["reason": "success", "final": true])
      _ = try writer.close()
      return path
    }
    let expected = try Expectations(parsing: ["toolsNotCalled": ["wipe"]])
    let look: JSONValue = [["name": "look", "sideEffect": "read"]]
    let plain = try log("plain", tools: look, lists: false)
    #expect(RecordedRun(endOf: plain, for: expected)?.trajectory.toolNames == ["look"])
    for path in [
      try log("listed", tools: look, lists: true), try log("none", tools: [], lists: false),
    ] {
      #expect(RecordedRun(endOf: path, for: expected)?.path == nil, "\(path)")
    }
    // What nobody asks is not looked for.
    let stops = try Expectations(parsing: ["stopReason": "success"])
    #expect(RecordedRun(endOf: plain, for: stops)?.trajectory.toolNames == nil)
  }
}

/// Makes runs in which anything may become of a call, also what no runtime would do.
private struct RandomCalls {
  var numbers: Seeded
  private var made: [Event] = []

  init(seed: UInt64) { numbers = Seeded(seed: seed) }

  private mutating func put(_ type: EventType, step: Int, _ data: JSONObject) {
    made.append(
      Event(seq: made.count, step: step, type: type, runId: "run-7", t: made.count, data: data))
  }

  private mutating func oneIn(_ count: Int) -> Bool {
    Int.random(in: 0..<count, using: &numbers) == 0
  }

  mutating func events() -> [Event] {
    var started: JSONObject = [
      "formatVersion": 2, "agent": ["name": "a"], "goal": "g",
      "tools": [["name": "look", "inputSchema": [:]], ["name": "send"], ["name": "delete_all"]],
    ]
    if oneIn(3) {
      let channels: [JSONObject] = [
        ["model": "none"], ["tools": "none"], ["stop": "none"], ["time": "partial"],
      ]
      started["recorded"] = channels.randomElement(using: &numbers).map { .object($0) }
    }
    if oneIn(12) { started["agent"] = "not an object" }
    put(.runStarted, step: 0, started)
    for step in 1...Int.random(in: 1...5, using: &numbers) { self.step(step) }
    if !oneIn(8) {
      var stop: JSONObject = [
        "reason": "success", "final": .bool(!oneIn(4)), "detail": "final_answer",
      ]
      if oneIn(4) { stop["reason"] = "blocked" }
      if oneIn(20) { stop["reason"] = "of_tomorrow" }
      if oneIn(2) { stop["answer"] = "Done. \"Really\"." }
      if oneIn(3) { stop["source"] = ["pointers": ["/messages/7"]] }
      if oneIn(3) {
        stop["totals"] = [
          "steps": 5, "toolCalls": 3, "modelCalls": 5, "inputTokens": 10, "outputTokens": 20,
        ]
        stop["stateFormat"] = 1
        stop["stateDigest"] = .string(String(repeating: "a", count: 64))
      }
      if oneIn(30) { stop["totals"] = ["steps": "many"] }
      if oneIn(30) { stop["answer"] = 7 }
      if oneIn(20) { stop["evidenceRefs"] = oneIn(2) ? ["1.1.0"] : [1] }
      put(.stop, step: 6, stop)
    }
    return made
  }

  private mutating func step(_ step: Int) {
    put(.contextBuilt, step: step, ["runId": "run-7"])
    let reply = String(repeating: "what to do next? ", count: 30)
    put(
      .modelResult, step: step,
      ["purpose": "decide", "attempt": 1, "reply": ["text": .string(reply)]])
    let count = Int.random(in: 0...3, using: &numbers)
    let calls = (0..<count).map { index -> JSONValue in
      [
        "callId": .string("\(step).1.\(index)"),
        "name": .string(
          ["look", "send", "delete_all", "é"].randomElement(using: &numbers) ?? "look"),
        "input": ["id": JSONValue(index), "text": .string(reply)],
      ]
    }
    var decision: JSONObject = ["kind": "tool", "calls": .array(calls)]
    if oneIn(6) { decision = ["kind": "invalid", "reason": "no", "calls": .array(calls)] }
    if oneIn(6) { decision["caller"] = "user" }
    if oneIn(8) { decision["ofUser"] = .bool(oneIn(2)) }
    if oneIn(8) { decision = ["kind": "answer", "text": .string(reply)] }
    if oneIn(20) {
      decision = ["kind": "answer", "text": "as \"asked\"", "evidenceRefs": ["1.1.0"]]
    }
    if oneIn(30) { decision = ["kind": "answer", "text": 7] }
    if oneIn(30) { decision = ["kind": "answer", "text": "é", "evidenceRefs": "1.1.0"] }
    if oneIn(3) { decision["source"] = ["pointers": [.string("/messages/\(step)")]] }
    if oneIn(3) { decision["modelResult"] = 3 }
    if oneIn(15) { decision["kind"] = "of_tomorrow" }
    put(.decision, step: step, decision)
    for index in 0..<count { fate(of: "\(step).1.\(index)", step: step) }
  }

  private mutating func fate(of callId: String, step: Int) {
    let id: JSONObject = ["callId": .string(callId), "tool": "look"]
    if !oneIn(4) {
      var verdict = id
      verdict["status"] = .string(
        ["allow", "allow", "deny", "approval_required"].randomElement(using: &numbers) ?? "allow")
      put(.policyDecision, step: step, verdict)
    }
    if !oneIn(3) { put(.toolStarted, step: step, id) }
    guard !oneIn(5) else { return }
    var result = id
    result["status"] = .string(
      ["ok", "ok", "error", "refused", "of_tomorrow"].randomElement(using: &numbers) ?? "ok")
    if oneIn(4) { result["effect"] = "unknown" }
    result["data"] = ["text": .string(String(repeating: "found \"it\" \\ ", count: 40))]
    result["reason"] = "because"
    put(.toolResult, step: step, result)
  }
}
