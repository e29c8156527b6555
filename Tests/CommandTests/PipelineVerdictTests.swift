import AgentTrace
import TestSupport
import Testing

@Suite("Verdicts on what people and stand-ins did in pipelines")
struct PipelineVerdictTests {
  /// Judges a recording by one expectation, written in YAML.
  private static func outcome(
    _ expected: String, of log: String, in folder: TemporaryFolder
  ) async throws -> JSONValue {
    try folder.write("case.yaml", "{caseId: a, recording: \(log), expected: \(expected)}")
    let results = try await Binary.run(
      ["run", "case.yaml", "--json"], in: folder.path, status: nil
    ).json()
    return results["cases"]?[0]?["trials"]?[0] ?? .null
  }

  @Test(
    "a person’s yes, no or words at a task are approvals and replies",
    arguments: [
      (
        "approve p.jsonl.gz sign --by ana",
        "{time: [{expect: {approval: granted}, before: pay.sh}]}", "pass"
      ),
      (
        "approve p.jsonl.gz sign --by ana",
        "{time: [{expect: {approval: granted, by: ana, caller: sign}, before: {called: {tool: pay.sh}}}]}",
        "pass"
      ),
      (
        "approve p.jsonl.gz sign --by ana",
        "{time: [{expect: {approval: granted, tool: pay.sh}, before: pay.sh}]}", "fail"
      ),
      (
        "approve p.jsonl.gz sign --by ana",
        "{time: [{expect: {approval: granted, by: bob}, before: pay.sh}]}", "fail"
      ),
      ("approve p.jsonl.gz sign --by ana", "{policy: {noApprovals: [{approval: any}]}}", "fail"),
      (
        "approve p.jsonl.gz sign --by ana --deny",
        "{policy: {approvals: [{approval: denied, times: 1}]}}", "pass"
      ),
      (
        "approve p.jsonl.gz sign --by ana --deny",
        "{time: [{never: pay.sh, after: {approval: denied}}]}", "fail"
      ),
      ("approve p.jsonl.gz sign --by ana --deny", "{time: [{never: {approval: granted}}]}", "pass"),
      (
        "answer p.jsonl.gz stop --by ana",
        "{time: [{never: pay.sh, after: {reply: {$contains: stop}}}]}", "fail"
      ),
      ("answer p.jsonl.gz fine --by ana", "{time: [{eventually: {reply: fine, by: ana}}]}", "pass"),
      (
        "answer p.jsonl.gz fine --by ana",
        "{time: [{expect: {approval: granted}, before: pay.sh}]}", "fail"
      ),
    ])
  func people(_ said: String, _ expected: String, _ verdict: String) async throws {
    let folder = try TemporaryFolder()
    _ = try folder.script("pay.sh", "echo 1")
    try folder.write(
      "inner.yaml",
      """
      pipeline: inner
      tasks:
        - {id: sign, human: {ask: "Pay?"}, recover: [{on: denied, do: skip}]}
        - {id: pay, command: [./pay.sh], input: {by: "${sign.by}"}, sideEffect: write}
      """)
    try folder.write("outer.yaml", "{pipeline: outer, tasks: [{id: in, pipeline: inner.yaml}]}")
    for isInside in [false, true] {
      let file = isInside ? "outer.yaml" : "inner.yaml"
      let name = isInside ? "o/q.jsonl.gz" : "p.jsonl.gz"
      try await Binary.run(["record", file, "--out", name], in: folder.path, status: 1)
      let words = said.replacing("p.jsonl.gz", with: name).split(separator: " ").map(String.init)
      try await Binary.run(words, in: folder.path)
      try await Binary.run(["resume", name], in: folder.path)
      let asked = isInside ? expected.replacing("caller: sign", with: "caller: in/sign") : expected
      let found = try await Self.outcome(asked, of: name, in: folder)
      #expect(found["outcome"]?.stringValue == verdict, "\(isInside): \(found)")
    }
  }

  @Test(
    "what stood in for another task began, and ended, in an order",
    arguments: [
      ("[refund, after]", true), ("[[refund], [after]]", true), ("[after, refund]", false),
      ("[first, refund]", true), ("[refund, first]", false),
    ])
  func standIns(_ order: String, _ holds: Bool) async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "p.yaml",
      """
      pipeline: p
      tasks:
        - {id: first, command: [echo, "1"], sideEffect: read}
        - id: book
          command: ["false"]
          input: {x: "${first}"}
          sideEffect: read
          recover: [{on: "*", do: fallback, task: refund}]
        - {id: refund, command: [echo, "2"], sideEffect: read}
        - {id: after, command: [cat], input: {x: "${book}"}, sideEffect: read}
      """)
    try await Binary.run(["record", "p.yaml", "--out", "p.jsonl.gz"], in: folder.path)
    let found = try await Self.outcome("{tasks: {order: \(order)}}", of: "p.jsonl.gz", in: folder)
    #expect(found["outcome"]?.stringValue == (holds ? "pass" : "fail"), "\(found)")
    // What became of it is told of the task in whose place it ran.
    for asked in ["status: {refund: finished}", "attempts: {refund: 0}", "undone: {refund: 0}"] {
      let found = try await Self.outcome("{tasks: {\(asked)}}", of: "p.jsonl.gz", in: folder)
      #expect(found["outcome"]?.stringValue == "inconclusive", "\(asked): \(found)")
      #expect("\(found)".contains("in the place of book"), "\(asked): \(found)")
    }
  }

  @Test("of a pipeline with one log, verdicts tell the numbers of that log’s events")
  func numbers() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "p.yaml",
      """
      pipeline: p
      tasks:
        - {id: a, command: [echo, "1"], sideEffect: read}
        - {id: b, command: [echo, "2"], input: {x: "${a}"}, sideEffect: read}
        - {id: c, command: [echo, "3"], input: {x: "${b}"}, sideEffect: read}
      """)
    try await Binary.run(["record", "p.yaml", "--out", "p.jsonl.gz"], in: folder.path)
    let events = try await Binary.run(["show", "p.jsonl.gz", "--json"], in: folder.path)
      .jsonLines().filter { $0["type"] != nil }
    func seq(_ type: String, _ task: String) -> Int? {
      events.first { $0["type"]?.stringValue == type && $0["data"]?["task"]?.stringValue == task }?[
        "seq"]?.intValue
    }
    let last = try #require(events.last?["seq"]?.intValue)
    for (expected, shown) in [
      ("{tasks: {status: {c: failed}}}", [seq("task_finished", "c"), last]),
      ("{tasks: {notRan: [b]}}", [seq("task_started", "b")]),
      ("{time: [{never: {called: {tool: echo, caller: c}}}]}", [seq("task_started", "c")]),
    ] {
      let found = try await Self.outcome(expected, of: "p.jsonl.gz", in: folder)
      let failed = found["expectations"]?.arrayValue?.first { $0["outcome"] == "fail" }
      let numbers = failed?["events"]?.arrayValue?.compactMap(\.intValue) ?? []
      #expect(!numbers.isEmpty && numbers.allSatisfy { $0 <= last }, "\(found)")
      for seq in shown { #expect(numbers.contains(try #require(seq)), "\(expected): \(found)") }
    }
  }
}
