import AgentTrace
import TestSupport
import Testing

@Suite("mutate")
struct MutateVerbTests {
  @Test("of the shipped cases, each change is noticed or let pass for a reason that is needed")
  func shipped() async throws {
    let outcome = try await Binary.run(
      ["mutate", "EvalCases", "--json", "--max-survivors", "0"], timeoutSeconds: 120)
    let json = try outcome.json()
    #expect(json["schema"] == "agent-eval/mutations/1")
    let changes = try #require(json["summary"]?["changes"]?.intValue)
    let noticed = try #require(json["summary"]?["noticed"]?.intValue)
    #expect(changes > 1_000 && json["summary"]?["survivors"] == 0)
    #expect(json["score"]?.doubleValue == Double(noticed) / Double(changes))
    let runs = json["runs"]?.arrayValue ?? []
    let tolerated = runs.flatMap { $0["toleratedChanges"]?.arrayValue ?? [] }
    #expect(tolerated.count == changes - noticed)
    #expect(tolerated.allSatisfy { $0["why"]?.stringValue?.isEmpty == false })
    #expect(json["idleReasons"] == [])
    let other = try await Binary.run(
      ["mutate", "EvalCases", "--json", "--jobs", "1"], timeoutSeconds: 120)
    #expect(try other.json()["summary"] == json["summary"])
  }

  @Test("the same changes count once, by whatever path cases lead to their run")
  func shared() async throws {
    let folder = try TemporaryFolder()
    let log = Project.path("Fixtures/runs/refund-drafted.jsonl.gz")
    try folder.link("run.jsonl.gz", to: log)
    try folder.write(
      "case.yaml",
      """
      - {caseId: a, recording: run.jsonl.gz, expected: {stopReason: success}}
      - caseId: b
        recording: \(log)
        tolerates: [{change: [verdict, cost], why: seen elsewhere}]
        expected: {toolsNotCalled: [issue_refund]}
      """)
    let json = try await Binary.run(["mutate", ".", "--json"], in: folder.path).json()
    #expect(json["runs"]?.arrayValue?.count == 1)
    #expect(json["summary"]?["changes"] == 29 && json["summary"]?["noticed"] == 3)
    #expect(json["summary"]?["tolerated"] == 3 && json["summary"]?["survivors"] == 23)
    let told = try await Binary.run(
      ["mutate", ".", "--max-survivors", "22"], in: folder.path, status: 1)
    #expect(
      told.output.contains("3 of 29 changed runs are noticed: 10.3 %; 3 tolerated, 23 survive"))
    #expect(told.output.contains("tolerates 3 (verdict, cost): seen elsewhere"))
    try await Binary.run(["mutate", ".", "--max-survivors", "23"], in: folder.path)
  }

  @Test(
    "a tolerance without a reason or of an unknown change is told where it stands",
    arguments: [
      ("{change: cost}", "why"), ("{change: costs, why: x}", "did you mean “cost”"),
      ("{change: [], why: x}", "empty"), ("{change: cost, why: ''}", "why"),
    ])
  func mistakes(tolerance: String, words: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "case.yaml",
      "caseId: one\nrecording: r.jsonl.gz\ntolerates: [\(tolerance)]\nexpected: {maxSteps: 1}\n")
    let outcome = try await Binary.run(["check", "case.yaml"], in: folder.path, status: 2)
    #expect((outcome.output + outcome.errors).contains(words), "\(outcome.output)")
  }

  private static func folder(expected: String) async throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("drafter.yaml", agentFile())
    try folder.write(
      "case.yaml", "caseId: one\ninput: go\nagent: drafter.yaml\nexpected: \(expected)\n")
    return folder
  }

  @Test("a suite with an expectation removed scores lower, and --min-score fails it")
  func removal() async throws {
    var scores: [Double] = []
    for expected in [
      "{toolsCalled: [{tool: draft, times: 1, status: ok}], stopReason: success, answer: Done.}",
      "{toolsCalled: [{tool: draft, times: 1, status: ok}], stopReason: success}",
      "{stopReason: success}",
    ] {
      let folder = try await Self.folder(expected: expected)
      let outcome = try await Binary.run(["mutate", ".", "--json"], in: folder.path)
      scores.append(try #require(try outcome.json()["score"]?.doubleValue))
    }
    #expect(scores == scores.sorted(by: >) && Set(scores).count == 3)
    let folder = try await Self.folder(expected: "{stopReason: success}")
    let failed = try await Binary.run(
      ["mutate", ".", "--min-score", "0.9"], in: folder.path, status: 1)
    #expect(failed.output.contains("passes though draft is not called"))
    #expect(failed.output.contains(#"would notice: {"toolsCalled":[{"tool":"draft"}]}"#))
    try await Binary.run(["mutate", ".", "--min-score", "0.01"], in: folder.path)
  }

  @Test("nothing to change, or a case that cannot be judged, is 2; wrong options are 64")
  func faults() async throws {
    let folder = try await Self.folder(expected: "{stopReason: blocked}")
    let failing = try await Binary.run(["mutate", "."], in: folder.path, status: 2)
    #expect(failing.output.contains("left out"))
    try folder.write(
      "case.yaml", "caseId: one\nrecording: gone.jsonl.gz\nexpected: {maxSteps: 1}\n")
    try await Binary.run(["mutate", "."], in: folder.path, status: 2)
    for wrong in [
      ["--limit", "0"], ["--min-score", "2"], ["--jobs", "-1"], ["--max-survivors", "-1"],
    ] {
      try await Binary.run(["mutate", "."] + wrong, in: folder.path, status: 64)
    }
  }
}
