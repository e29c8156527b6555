import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

@Suite("replay --reexecute")
struct ReexecuteVerbTests {
  private static let drafted = "Fixtures/runs/refund-drafted.jsonl.gz"

  @Test(
    "what does not go together is wrong usage",
    arguments: [
      ["--agent", "a.yaml"], ["--policy", "p.yaml"], ["--jobs", "2"], ["--bisect"],
      ["--reexecute", "--step", "1"], ["--reexecute", "--event", "1"],
      ["--reexecute", "--jobs", "0"], ["--reexecute", "-c", "next"],
      ["Fixtures/runs/refund-approved.jsonl.gz", "--step", "1"],
    ])
  func usage(arguments: [String]) async throws {
    try await Binary.run(["replay", Self.drafted] + arguments, status: 64)
  }

  @Test(
    "what cannot be made again is told with 2, or 125 for git bisect",
    arguments: [
      (["nothing.jsonl.gz"], "no such log"), (["empty"], "no logs below"),
      (["imported.jsonl.gz"], "was imported from"),
      (["drafted.jsonl.gz"], "no agent file below the current folder has the name “support”"),
      (["drafted.jsonl.gz", "--agent", "bad.yaml"], "bad.yaml:2"),
      (["drafted.jsonl.gz", "--agent", "missing.yaml"], "missing.yaml"),
      (["drafted.jsonl.gz", "--agent", "support.yml", "--policy", "bad.yaml"], "bad.yaml:2"),
      (["damaged.jsonl.gz", "--agent", "support.yml"], "damaged in block"),
    ])
  func cannot(arguments: [String], word: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write("drafted.jsonl.gz", try Self.bytes(Self.drafted))
    try folder.write(
      "damaged.jsonl.gz", try Self.bytes("Fixtures/damaged/error-recovered.jsonl.gz"))
    try folder.write("bad.yaml", "name: [\n")
    try folder.write("empty/notes.txt", "no log")
    try await Binary.run(
      [
        "import", "openai-messages", Project.path("Fixtures/traces/weather.openai.json"), "--out",
        "made",
      ],
      in: folder.path)
    let imported = folder.listing.first { $0.hasPrefix("made/") && $0.hasSuffix(".gz") }
    try folder.write("imported.jsonl.gz", try folder.read(try #require(imported)))
    // Under a name that the search does not find, in a folder that it passes over.
    try folder.write(".hidden/support.yaml", try Project.text("Fixtures/agents/support.yaml"))
    var arguments = arguments
    if arguments.contains("support.yml") {
      try folder.write("support.yml", try Project.text("Fixtures/agents/support.yaml"))
    }
    arguments = ["replay"] + arguments + ["--reexecute"]
    let outcome = try await Binary.run(arguments, in: folder.path, status: 2)
    #expect(outcome.errors.contains(word), "\(outcome)")
    #expect(outcome.output.isEmpty)
    try await Binary.run(arguments + ["--bisect"], in: folder.path, status: 125)
  }

  @Test(
    "the agent file is found by the recorded name, the one that is the same byte for byte first")
  func search() async throws {
    let folder = try TemporaryFolder()
    let log = try folder.write("drafted.jsonl.gz", try Self.bytes(Self.drafted))
    let text = try Project.text("Fixtures/agents/support.yaml")
    try folder.write("new/a.yaml", text.replacing("maxSteps: 8", with: "maxSteps: 9"))
    try folder.write("new/b.txt", text)
    try folder.write("node.json", "{\"name\": \"support\", \"version\": \"1\"}")
    let only = try await Binary.run(
      ["replay", log, "--reexecute", "--json"], in: folder.path, status: 1
    ).json()
    #expect(only["agentFile"] == "new/a.yaml" && only["divergence"]?["cause"] == "context")
    try folder.write("new/c.yaml", text.replacing("maxSteps: 8", with: "maxSteps: 10"))
    let several = try await Binary.run(["replay", log, "--reexecute"], in: folder.path, status: 2)
    #expect(several.errors.contains("new/a.yaml, new/c.yaml"))
    try folder.write("new/deep/er/d.yml", text)
    let exact = try await Binary.run(["replay", log, "--reexecute"], in: folder.path)
    #expect(exact.errors.contains("new/deep/er/d.yml"))
    #expect(exact.output == "faithful  \(log): 17 events made again\n")
  }

  @Test("every fixture is faithful, a torn one as far as it goes")
  func fixtures() async throws {
    let outcome = try await Binary.run(
      ["replay", "Fixtures/runs", "Fixtures/torn", "--reexecute", "--jobs", "2"])
    let count = Fixture.runs.count + Fixture.torn.count
    #expect(
      outcome.lines.last
        == "\(count) runs: \(count) faithful, 0 diverged, 0 could not be made again")
    #expect(outcome.lines.count { $0.contains("torn at byte") } == Fixture.torn.count)
  }

  @Test("every run that the shipped cases record is faithful")
  func cases() async throws {
    let folder = try TemporaryFolder()
    try await Binary.run(["run", "EvalCases", "--json", "--out", folder.path])
    let logs = folder.listing.filter { $0.hasSuffix(".jsonl.gz") }
    #expect(logs.count > 1)
    let lines = try await Binary.run(
      ["replay", folder.path, "--reexecute", "--json"], timeoutSeconds: 120
    ).jsonLines()
    #expect(lines.dropLast().allSatisfy { $0["result"] == "faithful" && $0["note"] == nil })
    #expect(lines.last?["summary"]?["faithful"]?.intValue == logs.count)
  }

  @Test(
    "a run that was recorded now is faithful, whatever its clock, actor and policy",
    arguments: [
      ("guarded", "Refund order 1234", ["--actor", "ana", "--route", "sales"], []),
      ("guarded", "I insist: refund order 1234", ["--fixed-clock"], []),
      ("researcher", "Do heat pumps outsell boilers?", [], []),
      ("fetcher", "What does a kettle cost? Use the mirror.", [], []),
      ("fetcher", "What does a kettle cost? Be stubborn.", [], []),
      ("interrupted", "Export everything", [], []), ("asker-answered", "Where?", [], []),
      ("counter", "How many words are in \"a b\"?", [], []),
      (
        "support", "Refund order 1234",
        ["--policy", "Fixtures/policies/refunds.yaml"],
        ["--policy", "Fixtures/policies/refunds.yaml"]
      ),
    ] as [(String, String, [String], [String])])
  func recorded(agent: String, goal: String, options: [String], again: [String]) async throws {
    let folder = try TemporaryFolder()
    try await Binary.run(
      ["record", "Fixtures/agents/\(agent).yaml", goal, "--out", folder.path("run.jsonl.gz")]
        + options, status: nil)
    let outcome = try await Binary.run(
      ["replay", folder.path("run.jsonl.gz"), "--reexecute"] + again, status: nil)
    #expect(outcome.output.hasPrefix("faithful") && outcome.status == 0, "\(outcome)")
  }

  @Test(
    "a fork is made again like any other run, whatever was set or left out in it",
    arguments: [
      ["event:8"], ["step:2"], ["event:7", "--drop-context", "1.1.0", "--live"],
      ["event:5", "--set", "result=r.json", "--live"],
      ["event:2", "--set", "decision=d.json", "--live"],
    ])
  func forks(arguments: [String]) async throws {
    let folder = try TemporaryFolder()
    try folder.write("r.json", #"{"status":"ok","data":{"orderId":"1234","total":1}}"#)
    try folder.write(
      "d.json",
      #"{"kind":"tool","calls":[{"name":"lookup_order_summary","input":{"orderId":"5678"}}]}"#)
    let agent = ["--agent", Project.path("Fixtures/agents/support.yaml")]
    try await Binary.run(
      ["fork", Project.path(Self.drafted), "--out", "fork.jsonl.gz", "--at"] + arguments + agent,
      in: folder.path, status: nil)
    let outcome = try await Binary.run(
      ["replay", "fork.jsonl.gz", "--reexecute"] + agent, in: folder.path)
    #expect(outcome.output.hasPrefix("faithful"))
  }

  @Test(
    "a changed agent diverges by the cause its name says",
    arguments: Project.files(below: "Fixtures/changed", ending: ".yaml"))
  func changed(path: String) async throws {
    let name = String(path.split(separator: "/")[2].dropLast(".yaml".count))
    let told = try await Binary.run(
      ["replay", Self.drafted, "--reexecute", "--agent", path, "--json"], status: 1
    ).json()
    let divergence = try #require(told["divergence"])
    #expect(divergence["cause"]?.stringValue.map(name.hasPrefix) == true)
    #expect(divergence["input"]?["message"]?.stringValue?.isEmpty == false)
    #expect(divergence["fields"]?.arrayValue?.isEmpty == false)
    #expect(told["runId"] != nil && told["eventsMade"] == divergence["seq"])
  }

  @Test("many runs give a line for each that diverged, a table by cause, and the worst exit code")
  func table() async throws {
    let folder = try TemporaryFolder()
    for (index, name) in Fixture.runs.filter({ $0.contains("/refund-") }).enumerated() {
      try folder.write("runs/\(index).jsonl.gz", try Self.bytes(name))
    }
    let agent = Project.path("Fixtures/changed/policy-rule.yaml")
    let told = try await Binary.run(
      ["replay", "runs", "--reexecute", "--agent", agent], in: folder.path, status: 1)
    #expect(told.lines.contains { $0.hasPrefix("cause") && $0.contains("runs") })
    #expect(told.lines.contains { $0.hasPrefix("policy") && $0.contains("drafts-wait") })
    let diverged = told.lines.count { $0.hasPrefix("diverged  runs/") }
    #expect(diverged > 0)
    #expect(told.lines.last?.contains("\(diverged) diverged") == true)
    try folder.write("runs/z.jsonl.gz", "no log")
    let worst = try await Binary.run(
      ["replay", "runs", "--reexecute", "--agent", agent, "--bisect"], in: folder.path, status: 1)
    #expect(worst.errors.contains("runs/z.jsonl.gz"))
    let lines = try await Binary.run(
      ["replay", "runs", "--reexecute", "--agent", agent, "--json"], in: folder.path, status: 1
    ).jsonLines()
    #expect(lines.last?["summary"]?["failed"] == 1)
    #expect(
      lines.compactMap { $0["log"]?.stringValue }
        == lines.compactMap { $0["log"]?.stringValue }.sorted())
  }

  @Test("git bisect run finds the commit that changed what an agent does")
  func bisect() async throws {
    let folder = try TemporaryFolder()
    let log = try folder.write("drafted.jsonl.gz", try Self.bytes(Self.drafted))
    let text = try Project.text("Fixtures/agents/support.yaml")
    let git = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main"
    func commit(_ text: String, _ message: String) async throws {
      try folder.write("work/support.yaml", text)
      try await shell("cd \(folder.path)/work && git add -A && \(git) commit -qm '\(message)'")
    }
    try folder.write("work/README", "agents")
    try await shell("cd \(folder.path)/work && \(git) init -q .")
    try await commit(text, "first")
    for number in 1...3 { try await commit(text + "# \(number)\n", "note \(number)") }
    try await commit("name: [\n", "broken")
    try await commit(text + "# mended\n", "mended")
    let changed = text.replacing("Look an order up", with: "Guess")
    try await commit(changed, "guess")
    for number in 4...6 { try await commit(changed + "# \(number)\n", "note \(number)") }
    let told = try await shell(
      "cd \(folder.path)/work && \(git) bisect start HEAD HEAD~9 >/dev/null && \(git) bisect run "
        + "\(Binary.path) replay \(log) --reexecute --agent support.yaml --bisect 2>&1 || true")
    let found = told.lines.drop { !$0.contains("first bad commit") && !$0.contains("only skipped") }
    #expect(found.joined(separator: "\n").contains("guess"), "\(told)")
    #expect(!found.joined(separator: "\n").contains("note"))
  }

  @Test("what a log says does nothing to the terminal it is shown on")
  func hostile() async throws {
    let folder = try TemporaryFolder()
    let name = "\u{1b}[2J\u{202e}"
    let events = [
      Event(
        seq: 0, step: 0, type: .runStarted, runId: "r",
        data: [
          "formatVersion": 2, "goal": .string(name), "input": .string(name),
          "agent": ["name": .string(name)], "limits": ["maxSteps": 50, "\u{1b}]0;x\u{7}": 1],
          "model": ["name": .string(name)],
          "tools": [["name": .string(name), "description": .string(name)]],
        ])
    ]
    let writer = try LogWriter(creating: folder.path("run.jsonl.gz"), options: .init())
    for event in events { try writer.append(event, isEffectAhead: false) }
    _ = try writer.close()
    for arguments in [["--agent", "Fixtures/agents/support.yaml"], []] {
      let outcome = try await Binary.run(
        ["replay", folder.path("run.jsonl.gz"), "--reexecute"] + arguments, status: nil)
      #expect([1, 2].contains(outcome.status))
      let text = outcome.output + outcome.errors
      #expect(!text.unicodeScalars.contains { $0 == "\u{1b}" || $0 == "\u{202e}" || $0 == "\u{7}" })
    }
  }

  private static func bytes(_ path: String) throws -> [UInt8] {
    Array(
      try Data(contentsOf: URL(fileURLWithPath: path.hasPrefix("/") ? path : Project.path(path))))
  }
}
