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

  @Test("notes are found by words and tags, say when they were kept and by what, and run out")
  func search() async throws {
    let folder = try TemporaryFolder()
    func agent(_ calls: [String], tenant: String = "acme") -> String {
      """
      name: keeper
      policyContext: {actorId: ana, tenantId: \(tenant)}
      memory: [{scope: tenant, key: house, value: none}]
      policy: {rules: [{id: free, verdict: allow}]}
      tools:
        - {name: keep, sideEffect: write, memory: write}
        - {name: find, sideEffect: read, memory: search}
        - {name: recall, sideEffect: read, memory: read}
      model:
        script:
      \(calls.map { "    - call: \($0)" }.joined(separator: "\n"))
          - answer: done
      """
    }
    try folder.write(
      "write.yaml",
      agent([
        "{tool: keep, input: {scope: actor, key: food, value: \"Allergic to nuts, no milk\", tags: [health]}}",
        "{tool: keep, input: {scope: agent, key: lesson, value: Nuts are common, tags: [work]}}",
        "{tool: keep, input: {scope: tenant, key: house, value: Green Street 5}}",
        "{tool: keep, input: {scope: actor, key: soon, value: nuts today, expiresInSeconds: 0.001}}",
        "{tool: keep, input: {scope: run, key: mine, value: nutshell}}",
        "{tool: find, input: {text: nut}}",
        "{tool: keep, input: {scope: actor, key: many, value: 1, tags: [\"\"]}}",
      ]))
    let searches = [
      "{text: nut}", "{text: NUTS milk}", "{text: uts}", "{tag: work}", "{text: nut, tag: health}",
      "{scope: tenant}", "{text: nut, limit: 1}", "{}", "{scope: run}", "{text: \"* OR nuts\"}",
    ]
    try folder.write("read.yaml", agent(searches.map { "{tool: find, input: \($0)}" }))
    try folder.write("other.yaml", agent(["{tool: find, input: {text: green}}"], tenant: "bolt"))
    for name in ["write", "read", "other"] {
      try await Binary.run(
        ["record", "\(name).yaml", "x", "--out", "\(name).jsonl.gz"], in: folder.path)
      let again = try await Binary.run(
        ["replay", "--reexecute", "\(name).jsonl.gz", "--agent", "\(name).yaml"], in: folder.path)
      #expect(again.output.contains("faithful"))
      try await Binary.run(["verify", "\(name).jsonl.gz"], in: folder.path)
    }
    func results(_ name: String) async throws -> [JSONValue] {
      try await Binary.run(["show", "\(name).jsonl.gz", "--json"], in: folder.path).jsonLines()
        .filter { $0["type"] == "tool_result" }.compactMap { $0["data"] }
    }
    func keys(_ result: JSONValue) -> [String] {
      (result["data"]?["notes"]?.arrayValue ?? []).map {
        "\($0["scope"]?.stringValue ?? "")/\($0["key"]?.stringValue ?? "")"
      }.sorted()
    }
    let written = try await results("write")
    // A tag of nothing is no input of the tool.
    try #require(written.count == 6)
    #expect(keys(written[5]) == ["actor/food", "agent/lesson", "run/mine"])
    let found = try await results("read")
    try #require(found.count == searches.count)
    #expect(
      found.map(keys) == [
        ["actor/food", "agent/lesson"], ["actor/food"], [], ["agent/lesson"], ["actor/food"],
        ["tenant/house"],
        [found[6]["data"]?["notes"]?[0]?["key"] == "food" ? "actor/food" : "agent/lesson"],
        ["actor/food", "agent/lesson", "tenant/house"], [], [],
      ])
    #expect(found[6]["data"]?["hasMore"] == true && found[0]["data"]?["hasMore"] == false)
    let food = found[1]["data"]?["notes"]?[0]
    let run = try await Binary.run(["show", "write.jsonl.gz", "--json"], in: folder.path)
      .jsonLines()
    let event = try #require(
      run.first { $0["type"] == "memory_written" && $0["data"]?["key"] == "food" })
    #expect(food?["from"] == ["runId": event["runId"] ?? .null, "seq": event["seq"] ?? .null])
    #expect(food?["tags"] == ["health"] && food?["keptAt"]?.stringValue != nil)
    #expect(try await results("other").map(keys) == [[]])
    let packet = try await Binary.run(["replay", "read.jsonl.gz", "--step", "1"], in: folder.path)
    #expect(packet.output.contains("Memory tenant/house (kept just now): Green Street 5"))
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

  @Test("what a note says is withheld where its key says that it is secret, whoever wrote it")
  func secretKeys() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      """
      name: a
      memory: [{scope: actor, key: db_password, value: fromFile7Plain}, {scope: actor, key: food, value: plainly nuts}]
      policyContext: {actorId: z}
      tools: [{name: keep, sideEffect: draft, memory: {access: write, scopes: [actor]}}]
      model:
        script:
          - call: {tool: keep, input: {scope: actor, key: webhook_secret, value: fromTool7Plain}}
          - answer: ok
      """)
    try folder.write(
      "case.yaml",
      "caseId: c\nagent: agent.yaml\ninput: x\nmemory: [{scope: actor, key: api_key, value: fromCase7Plain}]\nexpected: {maxSteps: 5}\n"
    )
    try await Binary.run(["run", "--live", "case.yaml", "--out", "runs"], in: folder.path)
    try await Binary.run(
      ["record", "agent.yaml", "x", "--memory", "none", "--out", "runs/r.jsonl.gz"], in: folder.path
    )
    let logs = folder.listing.filter { $0.hasSuffix(".jsonl.gz") }
    #expect(logs.count == 2)
    for log in logs {
      let text = try await Binary.run(["show", log, "--json"], in: folder.path).output
      #expect(!text.contains("7Plain") && text.contains("plainly nuts"), "\(log)")
      #expect(text.contains("«redacted:"))
    }
  }
}
