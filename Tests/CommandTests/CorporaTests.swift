import AgentTrace
import Foundation
import TestSupport
import Testing

/// Other people's trajectories, end to end through the program; skipped where they are not at hand.
@Suite("Corpora", .enabled(if: TestRun.corpora != nil, "AGENT_EVAL_CORPORA names no folder"))
struct CorporaTests {
  @Test(
    "everything is imported, verifies whole, and comes out the same the second time",
    .timeLimit(.minutes(10)), arguments: ["tau2-bench", "tau-bench", "agentdojo"])
  func everything(corpus: String) async throws {
    let root = try #require(TestRun.corpora)
    let source = try #require(
      ["\(root)/\(corpus)/runs", "\(root)/\(corpus)"].first(where: FileManager.default.fileExists))
    let folder = try TemporaryFolder()
    // Files that are no trajectories (tasks, labels) lie among them and are reported; the exit code
    // says so.
    let first = try await Binary.run(
      ["import", source, "--out", "one", "--json"], in: folder.path, status: nil,
      timeoutSeconds: 300)
    let logs = try first.jsonLines().compactMap { $0["log"]?.stringValue }
    #expect(logs.count > 20, "\(first.errors)")
    #expect(first.status == 0 || first.status == 2)
    let verified = try await Binary.run(
      ["verify", "one", "--json"], in: folder.path, timeoutSeconds: 300
    ).jsonLines()
    #expect(verified.count == logs.count)
    #expect(verified.allSatisfy { $0["status"] == "whole" && $0["findings"] == [] })

    try await Binary.run(
      ["import", source, "--out", "two", "--json"], in: folder.path, status: first.status,
      timeoutSeconds: 300)
    try await shell("diff -r one two", in: folder.path, timeoutSeconds: 120)
  }
}
