import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("promote")
struct PromoteVerbTests {
  private static let failed = Project.path("Fixtures/runs/hidden-deletion.jsonl.gz")

  @Test("a failing run becomes a case that fails, and the agent of the case runs live")
  func failing() async throws {
    let folder = try TemporaryFolder()
    let made = try await Binary.run(
      [
        "promote", Self.failed, "--expect", #"{"toolsNotCalled":["delete_*"],"maxSteps":90}"#,
        "--into", "cases", "--case-id", "no deletion", "--json",
      ], in: folder.path
    ).json()
    #expect(made["schema"] == "agent-eval/promotion/1")
    #expect(made["expected"] == ["toolsNotCalled": ["delete_*"]])
    #expect(made["calls"] == ["before": 4, "after": 1])
    let results = try await Binary.run(["run", "cases", "--json"], in: folder.path, status: 1)
      .json()
    #expect(results["cases"]?[0]?["caseId"] == "no deletion")
    let log = try #require(made["log"]?.stringValue)
    try await Binary.run(["verify", log], in: folder.path)
    try await Binary.run(["replay", log], in: folder.path)
    let shown = try await Binary.run(["show", log], in: folder.path)
    #expect(shown.output.contains("delete_message") && !shown.output.contains("archive_message  "))
    // Once more under the same name: what is there stays.
    let again = try await Binary.run(
      [
        "promote", Self.failed, "--expect", #"{"maxSteps":1}"#, "--into", "cases", "--case-id",
        "no deletion",
      ],
      in: folder.path, status: 2)
    #expect(again.errors.contains("is there already"))
  }

  @Test("each recorded run, also one that paused and went on, becomes a log that is whole")
  func isWhole() async throws {
    for run in Fixture.runs {
      let folder = try TemporaryFolder()
      let made = try await Binary.run(
        ["promote", run, "--into", "cases", "--json"], in: folder.path, status: nil)
      guard made.status == 0 else { continue }
      let log = try #require(try made.json()["log"]?.stringValue)
      try await Binary.run(["verify", log], in: folder.path)
    }
  }

  @Test("the case that a log names is found among the cases, with its agent seen from the new case")
  func byCase() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agents/drafter.yaml", agentFile())
    try folder.write(
      "evals/suite.yaml",
      """
      cases:
        - {caseId: one, input: go, agent: ../agents/drafter.yaml, expected: {toolsNotCalled: [draft], stopReason: success}}
        - {caseId: two, input: go, agent: ../agents/drafter.yaml, expected: {stopReason: success}}
      """)
    try await Binary.run(["run", "evals", "--out", "runs"], in: folder.path, status: 1)
    let runs = FileManager.default.enumerator(atPath: folder.path("runs"))?.allObjects as? [String]
    var made = 0
    for run in (runs ?? []).filter({ $0.hasSuffix(".jsonl.gz") }) {
      let outcome = try await Binary.run(
        [
          "promote", "runs/\(run)", "--cases", "evals", "--agent", "agents/drafter.yaml", "--into",
          "promoted/deep",
        ], in: folder.path, status: nil)
      made += outcome.status == 0 ? 1 : 0
      #expect(outcome.status == 0 || outcome.errors.contains("meets all"))
    }
    #expect(made == 1)
    // However the folder is written, the case finds the agent.
    let failing = (runs ?? []).filter { $0.hasSuffix(".jsonl.gz") }
    for (index, into) in [folder.path("absolute"), "evals/../beside", "./here"].enumerated() {
      for run in failing {
        try await Binary.run(
          [
            "promote", "runs/\(run)", "--expect", #"{"toolsNotCalled":["draft"]}"#, "--agent",
            "agents/../agents/drafter.yaml", "--into", into, "--case-id",
            "c\(index)-\(run.prefix(4))",
          ], in: folder.path)
      }
      try await Binary.run(["check", into], in: folder.path)
    }
    let live = try await Binary.run(
      ["run", "promoted", "--live", "--json"], in: folder.path, status: 1
    ).json()
    #expect(live["cases"]?[0]?["outcome"] == "fail")
  }

  @Test("mistakes in the options are told before anything is read or written")
  func options() async throws {
    let folder = try TemporaryFolder()
    for wrong in [
      [], [Self.failed, Self.failed, "--whole"], [Self.failed, "--redact", "x"],
      [Self.failed, "--redact", "a b=c"], [Self.failed, "--redact", "x=("],
      [Self.failed, "--expect", "{"], [Self.failed, "--expect", "{}"],
      [Self.failed, "--expect", "{}", "--cases", "."], [Self.failed, "--case", "x"],
    ] {
      try await Binary.run(["promote"] + wrong, in: folder.path, status: 64)
    }
    let missing = try await Binary.run(
      ["promote", "gone.jsonl.gz"], in: folder.path, status: 2)
    #expect(missing.errors.contains("gone.jsonl.gz"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }
}
