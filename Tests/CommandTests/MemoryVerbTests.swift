import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("Notes through the program")
struct MemoryVerbTests {
  private static func agent(_ calls: [String]) -> String {
    """
    name: keeper
    policyContext: {actorId: ana}
    memory: [{scope: actor, key: language, value: German}]
    policy: {rules: [{id: free, verdict: allow}]}
    tools:
      - {name: keep, sideEffect: write, memory: write}
      - {name: recall, sideEffect: read, memory: {access: read, scopes: [actor, agent]}}
      - name: learn
        sideEffect: draft
        scripted: [{ok: done, writes: [{scope: agent, key: "lesson-${input.n}", value: "${input}"}]}]
    limits: {maxSteps: 1000}
    model:
      script:
    \(calls.map { "    - call: \($0)" }.joined(separator: "\n"))
        - answer: "Found ${last.data}."
    """
  }

  private static func answer(_ outcome: Command.Outcome, _ folder: TemporaryFolder, _ log: String)
    async throws -> JSONValue?
  {
    let events = try await Binary.run(["show", log, "--json"], in: folder.path).jsonLines()
    return events.last { $0["type"] == "tool_result" }?["data"]?["data"]
  }

  @Test(
    "a note of one run is there in the next, replays open no store, and damage is told before a run"
  )
  func lifetime() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "write.yaml",
      Self.agent([
        "{tool: keep, input: {scope: actor, key: language, value: Basque}}",
        "{tool: learn, input: {n: 1}}", "{tool: recall, input: {scope: agent, key: lesson-1}}",
      ]))
    try folder.write(
      "read.yaml", Self.agent(["{tool: recall, input: {scope: agent, key: lesson-1}}"]))
    let first = try await Binary.run(
      ["record", "write.yaml", "x", "--out", "a.jsonl.gz"], in: folder.path)
    let found: JSONValue = ["found": true, "value": ["n": 1]]
    #expect(try await Self.answer(first, folder, "a.jsonl.gz") == found)
    #expect(folder.listing.contains(".agent-eval/memory.sqlite"))
    let second = try await Binary.run(
      ["record", "read.yaml", "x", "--out", "b.jsonl.gz"], in: folder.path)
    #expect(try await Self.answer(second, folder, "b.jsonl.gz") == found)
    let events = try await Binary.run(["show", "b.jsonl.gz", "--json"], in: folder.path).jsonLines()
    let note = events.first { $0["type"] == "memory_read" }?["data"]
    #expect(note?["value"] == "Basque" && note?["source"] == "store")
    // Notes that end with the run.
    let none = try await Binary.run(
      ["record", "read.yaml", "x", "--out", "c.jsonl.gz", "--memory", "none"], in: folder.path)
    #expect(try await Self.answer(none, folder, "c.jsonl.gz") == ["found": false])
    try folder.write(".agent-eval/memory.sqlite", "no database at all, whatever its name says")
    for (log, agent) in [("a", "write"), ("b", "read"), ("c", "read")] {
      try await Binary.run(["verify", "\(log).jsonl.gz"], in: folder.path)
      try await Binary.run(
        ["replay", "\(log).jsonl.gz", "--reexecute", "--agent", "\(agent).yaml"], in: folder.path)
    }
    let forked = try await Binary.run(
      ["fork", "a.jsonl.gz", "--agent", "write.yaml", "--at", "step:2", "--out", "d.jsonl.gz"],
      in: folder.path, status: nil)
    #expect(forked.status < 2, "\(forked)")
    let refused = try await Binary.run(
      ["record", "read.yaml", "x", "--out", "e.jsonl.gz"], in: folder.path, status: 2)
    #expect(refused.errors.contains("memory.sqlite") && refused.errors.contains("--memory"))
    #expect(!folder.listing.contains("e.jsonl.gz"))
  }

  @Test("processes that write to one store at once lose nothing")
  func together() async throws {
    let folder = try TemporaryFolder()
    let (writers, notes) = (4, TestRun.count(10, long: 60))
    for writer in 0..<writers {
      let calls = (0..<notes).map {
        "{tool: keep, input: {scope: agent, key: w\(writer)-\($0), value: \($0)}}"
      }
      try folder.write("w\(writer).yaml", Self.agent(calls))
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<writers {
        group.addTask {
          try await Binary.run(
            ["record", "w\(writer).yaml", "x", "--out", "w\(writer).jsonl.gz"], in: folder.path,
            timeoutSeconds: 120)
        }
      }
      try await group.waitForAll()
    }
    let keys = (0..<writers).flatMap { writer in (0..<notes).map { "w\(writer)-\($0)" } }
    try folder.write(
      "all.yaml", Self.agent(keys.map { "{tool: recall, input: {scope: agent, key: \($0)}}" }))
    try await Binary.run(
      ["record", "all.yaml", "x", "--out", "all.jsonl.gz"], in: folder.path, timeoutSeconds: 120)
    let found = try await Binary.run(["show", "all.jsonl.gz", "--json"], in: folder.path)
      .jsonLines().filter { $0["type"] == "tool_result" && $0["data"]?["data"]?["found"] == true }
    #expect(found.count == keys.count)
  }
}
