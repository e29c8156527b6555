import AgentTrace
import TestSupport
import Testing
import TraceJudging
import TraceStorage

@testable import TraceDebugging

@Suite("Breakpoints")
struct BreakpointTests {
  private static let conditions = [
    "tool look", "tool delete_*", "tool *", "verdict deny", "verdict allow", "event tool_result",
    "event *e*", "stop", "step 2", "step 60", "step 0", "when {\"status\":\"error\"}",
    "when {\"kind\":\"tool\",\"calls\":{\"$contains\":{\"name\":\"issue_refund\"}}}",
    "when {\"toolsNotCalled\":[\"delete_*\"]}", "when {\"maxSteps\":2}",
    "when {\"maxToolCalls\":1}",
    "when {\"stopReason\":\"blocked\"}", "when {\"toolsCalled\":[\"never\"]}",
    "when {\"toolsCalled\":[{\"tool\":\"*\",\"times\":{\"max\":2}}]}",
    "when [{\"maxSteps\":1},{\"noLoops\":true},{\"maxInvalidDecisions\":1}]",
  ]

  private static func breakpoint(
    _ text: String, in breakpoints: inout Breakpoints
  ) throws {
    let parser = BreakpointParser(readValue: DebugSession.readJSON)
    _ = breakpoints.add(try parser.condition(text), text: text)
  }

  /// Every event to stop at, found by going through all of them one by one.
  private static func stops(_ text: String, _ path: String) throws -> [Int] {
    var breakpoints = Breakpoints()
    try breakpoint(text, in: &breakpoints)
    let cursor = try RunCursor(path: path)
    var found: [Int] = []
    var seq = -1
    while let hit = try breakpoints.next(after: seq, in: cursor) {
      #expect(!hit.reasons.isEmpty, "\(text) at \(hit.seq)")
      found.append(hit.seq)
      seq = hit.seq
    }
    return found
  }

  @Test(
    "going on and going back stop at the same events, from wherever one begins",
    arguments: [
      "hidden-deletion", "refund-approved", "guest-insists", "hundred-steps", "tool-failure",
    ])
  func bothWays(name: String) throws {
    let path = Project.path("Fixtures/runs/\(name).jsonl.gz")
    let cursor = try RunCursor(path: path)
    let last = try cursor.last().seq
    var generator = Seeded(seed: 5)
    for text in Self.conditions {
      let expected = try Self.stops(text, path)
      for _ in 0..<6 {
        let seq = Int.random(in: 0...last, using: &generator)
        var breakpoints = Breakpoints()
        try Self.breakpoint(text, in: &breakpoints)
        // Also where the end was judged before the beginning is asked for.
        if Bool.random(using: &generator) { _ = try breakpoints.last(before: last + 1, in: cursor) }
        #expect(
          try breakpoints.next(after: seq, in: cursor)?.seq == expected.first { $0 > seq },
          "\(text) behind \(seq)")
        #expect(
          try breakpoints.last(before: seq, in: cursor)?.seq == expected.last { $0 < seq },
          "\(text) before \(seq)")
      }
    }
  }

  @Test("several breakpoints stop at what any of them stops at")
  func together() throws {
    let path = Project.path("Fixtures/runs/hidden-deletion.jsonl.gz")
    var all = Breakpoints()
    var expected: Set<Int> = []
    for text in Self.conditions {
      try Self.breakpoint(text, in: &all)
      expected.formUnion(try Self.stops(text, path))
    }
    let cursor = try RunCursor(path: path)
    var (forwards, seq) = ([Int](), -1)
    while let hit = try all.next(after: seq, in: cursor) {
      forwards.append(hit.seq)
      seq = hit.seq
    }
    var backwards: [Int] = []
    seq = try cursor.last().seq + 1
    while let hit = try all.last(before: seq, in: cursor) {
      backwards.append(hit.seq)
      seq = hit.seq
    }
    #expect(forwards == expected.sorted() && backwards == forwards.reversed())
  }

  /// What can be decided before the end, judged anew at each event.
  private static func firstFailure(_ value: JSONValue, _ events: [Event]) throws -> Int? {
    let expectations = try Expectations(parsing: value)
    var trajectory = Trajectory()
    var gathered = GatheredFacts(for: expectations)
    for event in events {
      trajectory.apply(event)
      gathered.apply(event)
      let outcomes = Judge.judge(trajectory, gathered, against: expectations).outcomes
      if outcomes.contains(where: { $0.outcome == .fail }) { return event.seq }
    }
    return nil
  }

  private static let early: [JSONValue] = [
    ["toolsNotCalled": ["*"]], ["toolsNotCalled": [["tool": "look", "status": "ok"]]],
    ["toolsNotProposed": ["delete_*"]], ["maxSteps": 1], ["maxSteps": 7], ["maxToolCalls": 3],
    ["maxToolCalls": 0], ["maxInvalidDecisions": 0], ["noLoops": true], ["maxRetries": 0],
    ["budget": ["modelCalls": 2]], ["budget": ["inputTokens": 20]],
    ["eachCall": [["tool": "*", "status": "ok"]]],
  ]

  @Test(
    "an expectation becomes false where judging each beginning of the run first finds it false",
    arguments: RecordedLog.whole)
  func oracle(log: RecordedLog) throws {
    let events = try log.folded().map(\.event)
    for value in Self.early {
      guard let expectations = try? Expectations(parsing: value) else { continue }
      try #require(expectations.isDecidableEarly, "\(value)")
      let found = try Self.stops("when expected \(value)", log.path).first
      #expect(try found == Self.firstFailure(value, events), "\(value)")
    }
  }

  @Test(
    "and so in a long run, which is not judged at each event", arguments: [1, 2, 3] as [UInt64])
  func longOracle(seed: UInt64) throws {
    var generator = Seeded(seed: seed)
    let folder = try TemporaryFolder()
    let path = folder.path("a.jsonl.gz")
    try writeRandomLog(
      to: path, events: TestRun.count(700, long: 4_000), using: &generator, textBytes: 20)
    let events = try foldedLog(path).map(\.event)
    for count in [1, 5, 20, 60, 100, 150] {
      for value in [["maxToolCalls": JSONValue(count)], ["maxSteps": JSONValue(count)]]
        as [JSONValue]
      {
        let found = try Self.stops("when \(value)", path).first
        #expect(try found == Self.firstFailure(value, events), "\(value)")
      }
    }
  }

  @Test("what only the end decides becomes false at the stop, and a call too many at that call")
  func positive() throws {
    let path = Project.path("Fixtures/runs/hidden-deletion.jsonl.gz")
    #expect(try Self.stops("when {\"toolsCalled\":[\"never\"]}", path) == [22])
    #expect(try Self.stops("when {\"stopReason\":\"blocked\"}", path) == [22])
    #expect(try Self.stops("when {\"answer\":{\"$contains\":\"deleted\"}}", path) == [22])
    #expect(
      try Self.stops("when {\"toolsCalled\":[{\"tool\":\"archive_message\",\"times\":1}]}", path)
        == [18])
    #expect(
      try Self.stops("when {\"toolsCalled\":[{\"tool\":\"archive_message\",\"times\":3}]}", path)
        == [22])
    #expect(try Self.stops("when {\"toolsCalled\":[\"archive_message\"]}", path) == [])
  }
}
