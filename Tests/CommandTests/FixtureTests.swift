import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("Fixtures")
struct FixtureTests {
  @Test("the script makes every fixture anew, byte for byte the same", .timeLimit(.minutes(3)))
  func regenerate() async throws {
    let folder = try TemporaryFolder()
    try await Command(
      program: Project.path("Fixtures/regenerate"), arguments: [folder.path("out")], folder: "/",
      environment: ["AGENT_EVAL": Binary.path], timeoutSeconds: 150
    ).run()
    var made: [String] = []
    for kind in [
      "runs", "policy-runs", "context-runs", "pipeline-runs", "forks", "judgements", "torn",
      "damaged", "changed",
      "diverged",
      "goldens",
    ] {
      // Logs that diverge are written by DivergedFixtureTests; whoever lists runs leaves an index.
      for file in Project.files(below: "Fixtures/\(kind)")
      where (kind != "diverged" || file.hasSuffix(".txt")) && !file.contains("/.index.sqlite") {
        let name = "out/" + file.dropFirst("Fixtures/".count)
        made.append(name)
        let kept = try Array(Data(contentsOf: URL(fileURLWithPath: Project.path(file))))
        let isSame = (try? folder.read(name)) == kept
        #expect(isSame, "\(file)")
      }
    }
    // And it makes nothing else.
    let files = folder.listing.filter { $0.split(separator: "/").count == 3 }
    #expect(files.sorted() == made.sorted())
    #expect(made.count { $0.hasPrefix("out/runs/") } >= 14)
  }

  @Test("every fixture verifies: whole, torn with a note, damaged with the place")
  func verify() async throws {
    let whole = try await Binary.run(["verify", "Fixtures/runs", "--json"]).jsonLines()
    #expect(whole.count == Fixture.runs.count)
    #expect(whole.allSatisfy { $0["status"] == "whole" && $0["notes"] == [] })
    let forks = try await Binary.run(["verify", "Fixtures/forks", "--json"]).jsonLines()
    #expect(forks.count == 5 && forks.allSatisfy { $0["status"] == "whole" })
    let torn = try await Binary.run(["verify", "Fixtures/torn", "--json"]).json()
    #expect(torn["status"] == "torn" && torn["notes"]?.arrayValue?.count == 1)
    let damaged = try await Binary.run(["verify", "Fixtures/damaged", "--json"], status: 1).json()
    #expect(damaged["status"] == "damaged")
    #expect(damaged["findings"]?[0]?["offset"]?.intValue != nil)
  }

  @Test("every agent and policy of the fixtures is in order, and every case of EvalCases passes")
  func inOrder() async throws {
    try await Binary.run(["check", "Fixtures/agents", "Fixtures/policies", "EvalCases"])
    let folder = try TemporaryFolder()
    let passed = try await Binary.run(
      ["run", "EvalCases", "--json", "--out", folder.path]
    ).json()
    #expect(passed["summary"]?["pass"]?.intValue == passed["cases"]?.arrayValue?.count)
    let failed = try await Binary.run(["run", "Fixtures/failing-cases", "--json"], status: 1).json()
    #expect(failed["summary"]?["fail"]?.intValue == failed["cases"]?.arrayValue?.count)
  }

  @Test(
    "the seven agents of the documents are there, and each has the case that is named beside it")
  func sevenAgents() async throws {
    let document = try String(
      contentsOfFile: Project.path("Docs/agent-files.md"), encoding: .utf8)
    let row =
      /\| [^|]+ \| \[[^\]]+\]\(\.\.\/(Fixtures\/[^)]+)\) \| `([^`]+)` in \[[^\]]+\]\(\.\.\/(EvalCases\/[^)]+)\) \|/
    let rows = document.matches(of: row).map { (String($0.1), String($0.2), String($0.3)) }
    #expect(rows.count == 7)
    for (agent, caseId, cases) in rows {
      try await Binary.run(["check", agent])
      let folder = try TemporaryFolder()
      let results = try await Binary.run(
        ["run", cases, "--filter", caseId, "--json", "--out", folder.path]
      ).json()
      #expect(results["summary"]?["pass"] == 1, "\(caseId): \(results)")
    }
  }

  @Test("every stop reason has a fixture")
  func stopReasons() async throws {
    var reasons: Set<String> = []
    for shown in try await Fixture.shown {
      let stops = try shown.jsonLines().filter { $0["type"] == "stop" }
      reasons.formUnion(stops.compactMap { $0["data"]?["reason"]?.stringValue })
    }
    #expect(reasons == Set(StopReason.allCases.map(\.rawValue)))
  }
}

/// What the fixtures hold, counted by other programs from the files as they stand.
@Suite("Logs read with other tools")
struct OtherToolsTests {
  /// Whether a shell command succeeds.
  fileprivate static func succeeds(_ command: String) async -> Bool {
    (try? await shell(command)) != nil
  }

  /// Events by type, and results of tools by status, as agent-eval counts them.
  private static func ownCounts() async throws -> (types: [String: Int], statuses: [String: Int]) {
    var types: [String: Int] = [:]
    var statuses: [String: Int] = [:]
    for shown in try await Fixture.shown {
      for line in try shown.jsonLines() {
        let name = line["type"]?.stringValue ?? "mark " + (line["mark"]?.stringValue ?? "?")
        types[name, default: 0] += 1
        guard name == "tool_result" else { continue }
        statuses[line["data"]?["status"]?.stringValue ?? "?", default: 0] += 1
      }
    }
    return (types, statuses)
  }

  private static func counts(_ outcome: Command.Outcome) throws -> [String: Int] {
    try outcome.jsonLines().reduce(into: [:]) { counts, line in
      counts[line[0]?.stringValue ?? "?"] = line[1]?.intValue
    }
  }

  @Test(
    "zcat and jq read every line, and count what agent-eval counts",
    .enabled("needs zcat and jq") {
      await OtherToolsTests.succeeds("command -v zcat && command -v jq")
    })
  func jq() async throws {
    let own = try await Self.ownCounts()
    let count = "jq -s -c 'group_by(.)[] | [.[0], length]'"
    let types = try await shell(
      "set -o pipefail; zcat Fixtures/runs/*.jsonl.gz"
        + " | jq -c '.type // \"mark \\(.mark)\"' | \(count)")
    #expect(try Self.counts(types) == own.types)
    let statuses = try await shell(
      "set -o pipefail; zcat Fixtures/runs/*.jsonl.gz"
        + " | jq -c 'select(.type == \"tool_result\") | .data.status' | \(count)")
    #expect(try Self.counts(statuses) == own.statuses)
    #expect(own.types["stop", default: 0] >= Fixture.runs.count && own.statuses.count >= 3)
  }

  @Test(
    "DuckDB counts events by type and results by status as agent-eval does",
    .enabled("needs the Python module duckdb") {
      await OtherToolsTests.succeeds("python3 -c 'import duckdb'")
    })
  func duckDB() async throws {
    let own = try await Self.ownCounts()
    let columns =
      "columns={seq:'BIGINT',step:'BIGINT',type:'VARCHAR',runId:'VARCHAR',time:'VARCHAR',"
      + "t:'BIGINT',data:'JSON'}"
    let logs = "read_json('Fixtures/runs/**/*.jsonl.gz', format='newline_delimited', \(columns))"
    func query(_ column: String, _ condition: String) async throws -> [String: Int] {
      let sql =
        "select \(column) as name, count(*) from \(logs) where \(condition) group by name"
      let script = """
        import duckdb, json
        for row in duckdb.sql(\"\"\"\(sql)\"\"\").fetchall(): print(json.dumps(row))
        """
      return try Self.counts(
        try await Command(program: "/usr/bin/env", arguments: ["python3", "-c", script]).run())
    }
    let types = try await query("type", "type is not null")
    #expect(types == own.types.filter { !$0.key.hasPrefix("mark ") })
    let statuses = try await query("data->>'$.status'", "type = 'tool_result'")
    #expect(statuses == own.statuses)
  }
}
