import AgentTrace
import TestSupport
import Testing

@Suite("Finding runs by how models were asked")
struct SettingsVerbTests {
  @Test("list takes a setting by purpose and key, query reads them, older logs hold none")
  func list() async throws {
    let folder = try TemporaryFolder()
    for name in ["refund-drafted", "conversation-simulated"] {
      try await Command(
        program: "/bin/cp", arguments: [Fixture.run(name), folder.path("\(name).jsonl.gz")]
      ).run()
    }
    try await Command(
      program: "/bin/cp",
      arguments: [
        Project.path("Fixtures/before-settings/refund-drafted.jsonl.gz"),
        folder.path("older.jsonl.gz"),
      ]
    ).run()
    func paths(_ options: [String]) async throws -> [String] {
      try await Binary.run(["list", folder.path, "--json"] + options).jsonLines()
        .compactMap { $0["path"]?.stringValue }.sorted()
    }
    #expect(try await paths([]).count == 3)
    #expect(
      try await paths(["--setting", "decide.name=support-script"]) == ["refund-drafted.jsonl.gz"])
    #expect(
      try await paths(["--model", "support-*"]) == ["older.jsonl.gz", "refund-drafted.jsonl.gz"])
    #expect(
      try await paths(["--setting", "human.provider=scripted"])
        == ["conversation-simulated.jsonl.gz"])
    #expect(
      try await paths(["--setting", "decide.temperature=null", "--setting", "human.by=null"])
        == ["refund-drafted.jsonl.gz"])
    #expect(try await paths(["--setting", "decide.temperature=0.2"]) == [])
    for wrong in ["decide=1", "decide.name", "decide..name=1", "=1"] {
      try await Binary.run(["list", folder.path, "--setting", wrong], status: 64)
    }
    let rows = try await Binary.run([
      "query", folder.path, "--json",
      "SELECT path, models ->> '$.decide.name' AS name FROM runs WHERE models IS NOT NULL ORDER BY path",
    ]).jsonLines()
    #expect(
      rows.map { $0["name"] } == ["travel-desk-script", "support-script"].map { $0 }, "\(rows)")
  }
}
