import AgentTrace
import TestSupport
import Testing
import TraceStorage

@Suite("Programs and sub-runs that judging needs")
struct JudgingAidsTests {
  private func judge(
    _ folder: TemporaryFolder, _ expected: String, _ more: [String] = ["--exec"],
    status: Int32
  ) async throws -> JSONValue {
    try folder.write(
      "cases/case.yaml",
      "{caseId: a, recording: \(Fixture.run("refund-approved")), expected: {\(expected)}}")
    let outcome = try await Binary.run(
      ["run", "cases/case.yaml", "--json"] + more, in: folder.path, status: status)
    return try outcome.json()["cases"]?[0] ?? .null
  }

  // MARK: Programs

  @Test(
    "a program that does not say what it should makes the case an error",
    arguments: [
      ("exit 3", "exited with 3"), ("echo nonsense", "not JSON"),
      ("echo '{}'", "printed no outcome"),
      ("echo '{\"outcome\": \"fine\"}'", "printed no outcome"), ("sleep 30", "time"),
      ("yes", "more than 1000 bytes"), ("kill -9 $$", "killed"),
    ])
  func badPrograms(script: String, message: String) async throws {
    let folder = try TemporaryFolder()
    try folder.script("cases/judge.sh", script)
    let result = try await judge(
      folder, "exec: [{command: [./judge.sh], timeoutSeconds: 1, maxOutputBytes: 1000}]", status: 2)
    #expect(result["outcome"] == "error")
    #expect(result["error"]?.stringValue?.contains(message) == true, "\(result)")
  }

  @Test("a program gets the trajectory and its outcome counts")
  func program() async throws {
    let folder = try TemporaryFolder()
    try folder.script(
      "cases/judge.sh",
      """
      if grep -q '"tool":"issue_refund"' && [ "$1" = strict ]; then
        echo '{"outcome": "fail", "message": "no refunds", "events": [9, 14]}'
      else
        echo '{"outcome": "pass"}'
      fi
      """)
    let failed = try await judge(folder, "exec: [{command: [./judge.sh, strict]}]", status: 1)
    let outcome = failed["trials"]?[0]?["expectations"]?[0]
    #expect(outcome?["expectation"] == "exec[0]")
    #expect(outcome?["message"] == "no refunds")
    #expect(outcome?["events"] == [9, 14])
    _ = try await judge(folder, "exec: [{command: [./judge.sh, lax]}]", status: 0)
  }

  @Test("without --exec nothing is started, and the outcome is open")
  func notStarted() async throws {
    let folder = try TemporaryFolder()
    try folder.script("cases/judge.sh", "touch ../started; echo '{\"outcome\": \"pass\"}'")
    _ = try await judge(folder, "exec: [{command: [./judge.sh]}]", [], status: 3)
    #expect(!folder.listing.contains("started"))
  }

  // MARK: Sub-runs

  private func write(
    _ folder: TemporaryFolder, _ runId: String, parent: String?, relation: String = "subagent",
    tokens: Int
  ) throws {
    let writer = try LogWriter(creating: folder.path("runs/\(runId).jsonl.gz"))
    var started = RunStarted(agentName: "a", goal: "g").encoded
    if let parent {
      started["parent"] = ["runId": .string(parent), "seq": 0, "relation": .string(relation)]
    }
    let usage = ModelResult(reply: "x", inputTokens: tokens, outputTokens: 0, cost: 0.5).encoded
    for (seq, (type, data)) in [
      (EventType.runStarted, started), (.modelResult, usage),
      (.stop, Stop(reason: .success).encoded),
    ].enumerated() {
      try writer.append(
        Event(seq: seq, step: 0, type: type, runId: runId, data: data), isEffectAhead: false)
    }
    _ = try writer.close()
  }

  @Test(
    "a budget with sub-runs counts those of those too, and no forks",
    arguments: [(100, true, 0), (99, true, 1), (10, false, 0), (9, false, 1)]
      as [(Int, Bool, Int32)])
  func subRuns(limit: Int, subRuns: Bool, status: Int32) async throws {
    let folder = try TemporaryFolder()
    try folder.write("runs/readme.txt", "logs")
    try write(folder, "top", parent: nil, tokens: 10)
    try write(folder, "child", parent: "top", tokens: 20)
    try write(folder, "grandchild", parent: "child", tokens: 70)
    try write(folder, "fork", parent: "top", relation: "fork", tokens: 1000)
    try write(folder, "stranger", parent: "elsewhere", tokens: 1000)
    try folder.write(
      "case.yaml",
      "{caseId: a, recording: runs/top.jsonl.gz, expected: {budget: {tokens: \(limit), subRuns: \(subRuns)}}}"
    )
    try await Binary.run(["run", "case.yaml"], in: folder.path, status: status)
  }

  @Test("a case is left out until its day has passed")
  func skipped() async throws {
    let folder = try TemporaryFolder()
    for (until, skipped) in [("2001-01-01", 0), ("2999-12-31", 1)] {
      try folder.write(
        "case.yaml",
        "{caseId: a, recording: \(Fixture.run("refund-approved")), skip: {reason: x, until: \(until)}, expected: {maxSteps: 5}}"
      )
      let results = try await Binary.run(
        ["run", "case.yaml", "--json"], in: folder.path, status: skipped == 1 ? 2 : 0
      ).json()
      #expect(results["skipped"]?.arrayValue?.count == skipped)
    }
  }
}
