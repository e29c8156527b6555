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

  private static func log(_ goal: String, _ answer: String, at path: String) throws {
    let data: [(EventType, JSONObject)] = [
      (
        .runStarted,
        [
          "formatVersion": 1, "agent": ["name": "a", "version": "1"], "goal": .string(goal),
          "limits": [:], "policyContext": [:], "tools": [],
        ]
      ), (.stop, ["reason": "success", "answer": .string(answer), "final": true]),
    ]
    let events = data.enumerated().map { index, entry in
      Event(seq: index, step: index, type: entry.0, runId: "run", data: entry.1)
    }
    try writeLog(events, to: path)
  }

  @Test(
    "no field of a table is a formula to a spreadsheet, and numbers stay numbers",
    arguments: [
      ("=1+1", "'=1+1"), ("@x", "'@x"), ("+x", "'+x"), ("-x", "'-x"), ("-1.5", "-1.5"),
      ("+2", "+2"), ("-2+3", "'-2+3"), ("\tx", "\"'\tx\""), ("a=b", "a=b"),
      ("=\"a\"", "\"'=\"\"a\"\"\""),
    ])
  func formulas(_ text: String, _ field: String) async throws {
    let folder = try TemporaryFolder()
    try Self.log(text, text, at: folder.path("a.jsonl.gz"))
    let csv = try await Binary.run(["export", "csv", "a.jsonl.gz"], in: folder.path)
    #expect(csv.output.contains(",\(field),\(field),"), "\(csv.output)")
    let line = try await Binary.run(["export", "ndjson", "a.jsonl.gz"], in: folder.path)
    #expect(try line.jsonLines().first?["goal"] == .string(text))
  }

  @Test("in a step of GitHub Actions bytes go to a file as they are, and not into its log")
  func workflow() async throws {
    let folder = try TemporaryFolder()
    try Self.log("::error::x", "##[error]y", at: folder.path("a.jsonl.gz"))
    for format in ["otlp", "inspect", "csv"] {
      let verb = "GITHUB_ACTIONS=true \"$0\" export \(format) a.jsonl.gz"
      try await shell("\(verb) >step && \"$0\" export \(format) a.jsonl.gz >plain", in: folder.path)
      #expect(try folder.read("step") == folder.read("plain"), "\(format)")
      let piped = try await shell(
        "\(verb) | cat; exit ${PIPESTATUS[0]}", in: folder.path, status: 64)
      #expect(piped.output.isEmpty && piped.errors.contains("--output"), "\(piped)")
    }
    let json = try await shell(
      "GITHUB_ACTIONS=true \"$0\" export openai a.jsonl.gz | cat", in: folder.path)
    #expect(!json.output.contains("::") && !json.output.contains("##["))
  }

  @Test(
    "printed JSON holds no control characters of Unicode and no marks of direction, and says the same"
  )
  func printed() async throws {
    let folder = try TemporaryFolder()
    let text = "a\u{85}\u{9b}31mb\u{202e}c\u{2066}d\u{61c}e\u{2028}f é€😀"
    try Self.log(text, text, at: folder.path("a.jsonl.gz"))
    for arguments in [["show", "a.jsonl.gz", "--json"], ["export", "openai", "a.jsonl.gz"]] {
      let printed = try await Binary.run(arguments, in: folder.path)
      #expect(
        !printed.output.unicodeScalars.contains {
          (0x80...0x9f).contains($0.value) || (0x2028...0x202e).contains($0.value)
            || [0x61c, 0x2066].contains($0.value)
        }, "\(arguments)")
      #expect(printed.output.contains("é€😀"))
    }
    let events = try await Binary.run(["show", "a.jsonl.gz", "--json"], in: folder.path).jsonLines()
    #expect(events.first?["data"]?["goal"] == .string(text))
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
