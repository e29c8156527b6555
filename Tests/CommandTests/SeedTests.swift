import AgentTrace
import TestSupport
import Testing

@Suite("run --seed")
struct SeedTests {
  /// Live cases of scripted agents, some of which fail; results that come side by side among them.
  private static func makeSuite() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    for agent in ["researcher", "support", "fetcher"] {
      try folder.write(
        "cases/agents/\(agent).yaml", Project.text("Fixtures/agents/\(agent).yaml"))
    }
    let goals = [
      "researcher": "Do heat pumps outsell boilers?", "support": "Refund order 1234",
      "fetcher": "What does a kettle cost?",
    ]
    let lines = goals.sorted { $0.key < $1.key }.flatMap { agent, goal in
      (1...3).map { number in
        #"{"caseId": "\#(agent)-\#(number)", "agent": "agents/\#(agent).yaml", "input": "\#(goal)", "#
          + #""expected": {"stopReason": "\#(number == 2 ? "blocked" : "success")"}}"#
      }
    }
    try folder.write("cases/all.jsonl", lines.joined(separator: "\n"))
    return folder
  }

  private static func logs(_ folder: TemporaryFolder) throws -> [String: [UInt8]] {
    var logs: [String: [UInt8]] = [:]
    for name in folder.listing where name.hasSuffix(".jsonl.gz") {
      logs[name] = try folder.read(name)
    }
    return logs
  }

  private static let run = ["run", "cases", "--live", "--trials", "2", "--all-trials", "--json"]

  @Test("results and logs of live scripted suites are the same bytes each time, and in shards")
  func same() async throws {
    let first = try Self.makeSuite()
    let whole = try await Binary.run(Self.run + ["--seed", "7"], in: first.path, status: 1)
    let logs = try Self.logs(first)
    #expect(logs.count == 18)
    let second = try Self.makeSuite()
    let again = try await Binary.run(
      Self.run + ["--seed", "7", "--jobs", "1"], in: second.path, status: 1)
    #expect(again.outputBytes == whole.outputBytes)
    #expect(try Self.logs(second) == logs)
    let parts = try Self.makeSuite()
    for shard in 1...3 {
      try await Binary.run(
        Self.run + ["--seed", "7", "--shard", "\(shard)/3", "--report", "json:\(shard).json"],
        in: parts.path, status: nil)
    }
    let merged = try await Binary.run(
      ["merge", "--json", "1.json", "2.json", "3.json"], in: parts.path, status: 1)
    #expect(merged.outputBytes == whole.outputBytes)
    #expect(try Self.logs(parts) == logs)
  }

  @Test("another seed, and none, gives runs of other names; shards of two seeds are not merged")
  func other() async throws {
    let folder = try Self.makeSuite()
    for seed in ["7", "8", "0"] {
      try await Binary.run(Self.run + ["--seed", seed], in: folder.path, status: 1)
    }
    try await Binary.run(Self.run, in: folder.path, status: 1)
    try await Binary.run(Self.run, in: folder.path, status: 1)
    #expect(try Self.logs(folder).count == 5 * 18)
    for (shard, seed) in [("1", "7"), ("2", "8")] {
      try await Binary.run(
        Self.run + [
          "--seed", seed, "--shard", "\(shard)/2", "--report", "json:\(shard).json", "--out",
          "elsewhere-\(shard)",
        ], in: folder.path, status: nil)
    }
    let merged = try await Binary.run(
      ["merge", "--json", "1.json", "2.json"], in: folder.path, status: 2)
    #expect(merged.errors.contains("2.json"), "\(merged)")
  }

  @Test("a run that is there already is not replaced, and the case says so")
  func twice() async throws {
    let folder = try Self.makeSuite()
    try await Binary.run(Self.run + ["--seed", "7"], in: folder.path, status: 1)
    let logs = try Self.logs(folder)
    let again = try await Binary.run(Self.run + ["--seed", "7"], in: folder.path, status: 2)
    #expect(again.output.contains("a log of this name is there already"), "\(again)")
    #expect(try Self.logs(folder) == logs)
  }
}
