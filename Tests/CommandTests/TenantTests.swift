import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("Many tenants, one agent file")
struct TenantTests {
  @Test("twenty cases of two tenants in one table are judged, each for whom it is")
  func tenants() async throws {
    let folder = try TemporaryFolder()
    let outcome = try await Binary.run(
      ["run", Project.path("Fixtures/tenants"), "--live", "--report", "json:results.json"],
      in: folder.path)
    #expect(outcome.output.hasSuffix("20 cases: 20 passed\n"), "\(outcome.output)")
    let listed = try await Binary.run(["list", "--json"], in: folder.path)
    let runs = try listed.output.split(separator: "\n").map {
      try JSONValue(parsing: Array($0.utf8))
    }
    #expect(runs.count == 20, "\(listed.output)")
    for tenant in ["acme", "globex"] {
      let own = try await Binary.run(["list", "--json", "--tenant", tenant], in: folder.path)
      #expect(own.output.split(separator: "\n").count == 10, "\(own.output)")
    }
    // As many lines as a user writes: one for each case, and what they share.
    let lines = try String(
      contentsOfFile: Project.path("Fixtures/tenants/cases.yaml"), encoding: .utf8
    )
    .split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(lines.count == 28)
  }
}
