import AgentTrace
import TestSupport
import Testing
import TraceMatching

@Suite("Output and its JSON Schemas")
struct SchemaTests {
  private static func schema(_ kind: String) async throws -> JSONSchema {
    try JSONSchema(compiling: try await Binary.run(["schema", kind]).json())
  }

  @Test("every line of every fixture, as `show --json` prints it, is valid by `schema event`")
  func events() async throws {
    let schema = try await Self.schema("event")
    let torn = try await Fixture.torn.asyncMap { try await Binary.run(["show", $0, "--json"]) }
    for shown in try await Fixture.shown + torn {
      for line in try shown.jsonLines() {
        #expect(schema.validate(line) == [], "\(shown.command.arguments): \(line)")
      }
    }
    // A schema that takes anything would pass all the same.
    #expect(schema.validate(["seq": 0]) != [])
    #expect(
      schema.validate(
        ["seq": 0, "step": 0, "type": "stop", "runId": "r", "t": 0, "data": ["reason": "tired"]])
        != [])
  }

  @Test("the results of passing, failing, torn and damaged cases are valid by `schema results`")
  func results() async throws {
    let schema = try await Self.schema("results")
    let folder = try TemporaryFolder()
    try folder.write(
      "case.yaml",
      """
      cases:
        - caseId: torn
          recording: \(Project.path("Fixtures/torn/parallel-search.jsonl.gz"))
          expected: {stopReason: success}
        - caseId: damaged
          recording: \(Project.path("Fixtures/damaged/error-recovered.jsonl.gz"))
          expected: {stopReason: success}
        - caseId: left
          skip: later
          recording: x.jsonl.gz
          expected: {stopReason: success}
      """)
    let results = try await Binary.run(
      [
        "run", Project.path("EvalCases"), Project.path("Fixtures/failing-cases"), "case.yaml",
        "--json",
      ], in: folder.path, environment: ["CI": "true"], status: 1
    ).json()
    #expect(schema.validate(results) == [])
    #expect(results["summary"]?["fail"]?.intValue == 6)
    #expect(results["summary"]?["error"]?.intValue == 1)
    #expect(results["summary"]?["inconclusive"]?.intValue == 1)
    #expect(results["skipped"]?.arrayValue?.count == 1)
    #expect(schema.validate(["schema": "agent-eval/results/1", "cases": [["caseId": 1]]]) != [])
  }

  @Test(
    "the schemas beside the files are what `schema` prints",
    arguments: ["case", "agent", "policy", "pipeline", "event", "results", "diff", "backtest"])
  func files(kind: String) async throws {
    let printed = try await Binary.run(["schema", kind]).output
    #expect(printed == (try Project.text("Schemas/\(kind).schema.json")))
  }

  @Test("every case, agent and policy file of the project names its schema")
  func shippedFiles() throws {
    let files =
      Project.files(below: "EvalCases", ending: ".yaml")
      + Project.files(below: "Fixtures", ending: ".yaml").filter { !$0.contains("mistaken") }
    for file in files {
      let kind =
        ["/agents/", "/changed/"].contains(where: file.contains)
        ? "agent"
        : file.contains("/policies/")
          ? "policy" : file.contains("/pipelines/") ? "pipeline" : "case"
      let first = try Project.text(file).split(separator: "\n").first ?? ""
      let depth = file.split(separator: "/").count - 1
      let way = String(repeating: "../", count: depth)
      #expect(
        first == "# yaml-language-server: $schema=\(way)Schemas/\(kind).schema.json", "\(file)")
    }
    #expect(files.count >= 20)
  }
}
