import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("export")
struct ExportVerbTests {
  private static let log = Fixture.run("hidden-deletion")

  @Test("what is wrong with the arguments is said, with the nearest format")
  func mistakes() async throws {
    let folder = try TemporaryFolder()
    for (arguments, word) in [
      ([], "format"), (["atiff", Self.log], "atif"), (["atif"], "logs"),
      (["atif", Self.log, "--table", "calls"], "--table"),
      (["csv", Self.log, "--table", "x"], "runs"),
      (["atif", Self.log, Fixture.run("refund-drafted")], "folder"),
      (["otlp", Self.log, "--json"], "--output"),
      (["atif", Self.log, "--output", ""], "empty"),
    ] {
      let told = try await Binary.run(["export"] + arguments, in: folder.path, status: 64)
      #expect(told.errors.contains(word), "\(arguments)")
    }
    #expect(folder.listing.isEmpty)
  }

  @Test("a log that cannot be exported is told, the others are exported, and the exit code is 2")
  func damage() async throws {
    let folder = try TemporaryFolder()
    let damaged = Project.path("Fixtures/damaged/error-recovered.jsonl.gz")
    let told = try await Binary.run(
      ["export", "openai", damaged, Self.log, "--output", "out.json"], in: folder.path, status: 2)
    #expect(told.errors.contains("1 exported, 1 could not be."))
    #expect(try JSONValue(parsing: folder.read("out.json"))["messages"] != nil)
    try await Binary.run(
      ["export", "openai", damaged, "--output", "none.json"], in: folder.path, status: 2)
    #expect(folder.listing == ["out.json"])
    try folder.write("mine.json", "mine")
    try await Binary.run(
      ["export", "openai", Self.log, "--output", "mine.json"], in: folder.path, status: 2)
    #expect(try folder.read("mine.json") == Array("mine".utf8))
  }

  @Test("to standard output goes what a file would hold, and each format is listed")
  func output() async throws {
    let folder = try TemporaryFolder()
    let listed = try await Binary.run(["export", "--formats", "--json"]).jsonLines()
    #expect(listed.count == 9)
    for format in listed.compactMap({ $0["format"]?.stringValue }) {
      let printed = try await Binary.run(["export", format, Self.log], in: folder.path)
      try await Binary.run(
        ["export", format, Self.log, "--output", "\(format).x"], in: folder.path)
      let file = try Data(contentsOf: URL(fileURLWithPath: folder.path("\(format).x")))
      #expect(printed.outputBytes == Array(file), "\(format)")
    }
  }

  @Test("outcomes of a results file go along, as events and as rows")
  func outcomes() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "case.yaml",
      "{caseId: a, recording: \(Self.log), expected: {toolsNotCalled: [\"delete_*\"], stopReason: success}}"
    )
    let results = try await Binary.run(["run", "case.yaml", "--json"], in: folder.path, status: 1)
    try folder.write("results.json", results.outputBytes)
    let rows = try await Binary.run(
      ["export", "ndjson", Self.log, "--table", "outcomes", "--results", "results.json"],
      in: folder.path
    ).jsonLines()
    #expect(rows.map { $0["outcome"]?.stringValue } == ["pass", "fail"])
    let spans = try await Binary.run(
      ["export", "otlp-json", Self.log, "--results", "results.json"], in: folder.path)
    #expect(spans.output.contains("gen_ai.evaluation.result"))
    let none = try await Binary.run(
      ["export", "otlp-json", Self.log, "--results", "case.yaml"], in: folder.path, status: 2)
    #expect(!none.errors.isEmpty)
  }

  @Test(
    "judged by the cases that the project has, exported and imported runs come to the same outcomes"
  )
  func sameOutcomes() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "rules.yaml",
      """
      cases:
        - caseId: acts
          expected: {noLoops: 3, noRepeatedSideEffect: true, maxSteps: 5, toolsNotCalled: ["delete_*"]}
        - caseId: ends
          expected: {stopReason: success, maxToolCalls: 3, answer: {$regex: "e"}, noApprovalBypass: true}
      """)
    func outcomes(_ place: String) async throws -> [String] {
      let json = try await Binary.run(
        ["run", "rules.yaml", "--on", place, "--json"], in: folder.path, status: nil
      ).json()
      return (json["cases"]?.arrayValue ?? []).map { result in
        let trial = result["trials"]?[0]
        return CanonicalJSON.string([trial?["runId"] ?? "", trial?["expectations"] ?? ""])
      }.sorted()
    }
    let before = try await outcomes(Project.path("Fixtures/runs"))
    for format in ["otlp", "otlp-json", "atif", "inspect", "openai", "anthropic"] {
      try await Binary.run(
        ["export", format, Project.path("Fixtures/runs"), "--output", "\(format)/"], in: folder.path
      )
      // The cache keeps the logs as they were.
      let after = try await outcomes(format)
      #expect(after == before, "\(format)")
    }
  }
}
