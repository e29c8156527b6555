import AgentTrace
import Foundation
import TestSupport
import Testing

/// Names and texts chosen to leave their folder or to act on a terminal.
@Suite("Hostile names and texts")
struct HostileTextTests {
  /// Escape sequences of every kind: CSI, OSC, a bell, a C1 control, carriage returns, direction.
  private static let escape = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\r\u{8}\u{202e}\0"
  private static let yamlEscape = #""\e[2J\e]0;owned\a\x9b31m\r\b\u202e\0""#

  private static func isHarmless(_ outcome: Command.Outcome) -> Bool {
    controlBytes(in: outcome.outputBytes).isEmpty && controlBytes(in: outcome.errorBytes).isEmpty
  }

  @Test(
    "a run goes where --out says, whatever its agent is called",
    arguments: [
      "../../x", "/etc/x", "..", ".hidden", "a/b/../../../c", "-rf", "x\u{0}y", escape,
      String(repeating: "long", count: 200), "~", "con", "日本/..",
    ])
  func agentName(_ name: String) async throws {
    let folder = try TemporaryFolder()
    let agent: JSONValue = [
      "name": .string(name),
      "model": ["script": [["answer": .string("I am \(name)")]]],
    ]
    try folder.write("work/agent.json", CanonicalJSON.encode(agent, form: .plain))
    let outcome = try await Binary.run(
      ["record", "agent.json", "who are you"], in: folder.path("work"), status: nil)
    #expect(Self.isHarmless(outcome), "\(outcome)")
    let files = folder.listing.filter { $0.contains(".jsonl") }
    // An agent file may refuse a name; it may not let it lead anywhere.
    if outcome.status == 0 {
      #expect(files.count == 1)
    } else {
      #expect(outcome.status == 2 && files.isEmpty, "\(outcome)")
    }
    #expect(files.allSatisfy { $0.hasPrefix("work/.agent-eval/runs/") }, "\(files)")
    #expect(files.allSatisfy { $0.split(separator: "/").count == 5 }, "\(files)")
    let expected = Set(["work", "work/agent.json"])
    #expect(folder.listing.allSatisfy { expected.contains($0) || $0.hasPrefix("work/.agent-eval") })
  }

  /// An agent file in which every text is hostile.
  private static let agent = """
    name: drafter
    tools:
      - name: draft
        description: \(yamlEscape)
        sideEffect: draft
        scripted: [{when: {attempt: 1, input: {what: good}}, ok: {text: \(yamlEscape)}}, {error: \(yamlEscape)}]
    model:
      name: m
      script:
        - call: {tool: draft, input: {what: good}}
          say: \(yamlEscape)
        - call: {tool: draft, input: {what: \(yamlEscape)}}
        - ask: \(yamlEscape)
        - answer: \(yamlEscape)
    human:
      answers: [{text: \(yamlEscape), by: \(yamlEscape)}]
    """

  @Test("what an agent says reaches a terminal as text, by every verb that shows it")
  func texts() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.agent)
    let recorded = try await Binary.run(
      [
        "record", "agent.yaml", "goal \(Self.escape.filter { $0 != "\0" })", "--out", "a.jsonl.gz",
        "--actor", Self.escape.filter { $0 != "\0" },
      ], in: folder.path, status: nil)
    try #require(recorded.status == 0 || recorded.status == 1, "\(recorded)")
    #expect(Self.isHarmless(recorded))
    #expect(recorded.output.contains("owned"))
    var commands = [["show", "a.jsonl.gz"], ["verify", "a.jsonl.gz"]]
    for step in 0...4 { commands.append(["replay", "a.jsonl.gz", "--step", "\(step)"]) }
    for command in commands {
      let outcome = try await Binary.run(command, in: folder.path, status: nil)
      #expect(Self.isHarmless(outcome), "\(outcome)")
    }
    // The log itself keeps what was said.
    let lines = try await Binary.run(["show", "a.jsonl.gz", "--json"], in: folder.path).jsonLines()
    let started = try #require(lines.first)
    #expect(started["data"]?["goal"]?.stringValue?.contains("\u{1b}[2J") == true)
  }

  @Test("a log made by somebody else is shown without acting on a terminal")
  func foreignLog() async throws {
    let folder = try TemporaryFolder()
    let text = JSONValue.string(Self.escape)
    let data: [(EventType, JSONObject)] = [
      (
        .runStarted,
        [
          "formatVersion": 2, "agent": ["name": text, "version": text], "goal": text,
          "limits": [:], "policyContext": [:], "tools": [],
          "case": ["caseId": .string("../../" + Self.escape), "trial": 1],
        ]
      ),
      (.decision, ["kind": "tool", "calls": [["callId": text, "name": text, "input": [text]]]]),
      (.policyDecision, ["callId": text, "tool": text, "status": "deny", "reason": text]),
      (.toolResult, ["callId": text, "tool": text, "status": "error", "reason": text]),
      (EventType(rawValue: Self.escape), ["x": text]),
      (.stop, ["reason": "success", "detail": text, "answer": text, "final": true]),
    ]
    let events = data.enumerated().map { index, entry in
      Event(seq: index, step: index == 0 ? 0 : 1, type: entry.0, runId: Self.escape, data: entry.1)
    }
    try writeLog(events, to: folder.path("runs/a.jsonl.gz"))
    let caseFile: JSONValue = [
      "caseId": .string("../../" + Self.escape),
      "expected": [
        "stopReason": "blocked",
        "toolsCalled": [text, ["tool": "x", "input": .object(JSONObject([(Self.escape, text)]))]],
        "toolsNotCalled": ["*"], "answer": ["$regex": "^x$"],
      ],
    ]
    try folder.write("case.json", CanonicalJSON.encode(caseFile, form: .plain))
    for command in [
      ["show", "runs/a.jsonl.gz"], ["verify", "runs"],
      ["replay", "runs/a.jsonl.gz", "--step", "1"],
      ["replay", "runs/a.jsonl.gz", "--step", "0"], ["run", "case.json", "--runs", "runs"],
      ["check", "case.json"], ["index", "runs"], ["list", "runs"],
      ["query", "runs", "select * from runs"], ["query", "runs", "select * from calls"],
      ["query", "runs", "select '\u{1b}[2J' as \"\u{1b}[31m\""],
      ["query", "runs", "select \u{1b}[2J"],
    ] {
      let outcome = try await Binary.run(command, in: folder.path, status: nil)
      #expect(Self.isHarmless(outcome), "\(outcome)")
      #expect(outcome.status != 64 && outcome.status >= 0, "\(outcome)")
    }
  }

  @Test("names of files and arguments are shown, not obeyed")
  func fileNames() async throws {
    let folder = try TemporaryFolder()
    let name = "a\u{1b}[31m\u{7}b"
    try folder.write("cases/\(name).yaml", "caseId: x\nexpectd: {}\n")
    try folder.write("logs/\(name).jsonl.gz", "no log")
    try folder.write("import/\(name).json", "[")
    for command in [
      ["run", "cases"], ["check", "cases"], ["verify", "logs"], ["show", "logs/\(name).jsonl.gz"],
      ["import", "openai-messages", "import", "--out", "out"],
      ["import", "openai-messages", "import", "--out", "out", "--json"],
      ["replay", "logs/\(name).jsonl.gz", "--step", "1"], ["record", "cases/\(name).yaml", "x"],
      ["record", "nowhere\(name)", "x"], ["run", "nowhere\(name)"],
      ["run", "cases", "--runs", "nowhere\(name)"], ["verify", "nowhere\(name)"], [name],
      ["list", "logs"], ["index", "logs"], ["list", "nowhere\(name)"], ["query", "logs", name],
    ] {
      let outcome = try await Binary.run(command, in: folder.path, status: nil)
      #expect(Self.isHarmless(outcome), "\(outcome)")
      #expect([1, 2, 64].contains(outcome.status), "\(outcome)")
    }
    #expect(!folder.listing.contains { $0.hasPrefix("out/") && $0.hasSuffix(".gz") })
  }

  @Test("an import keeps to its folder, whatever its files are called")
  func importedNames() async throws {
    let folder = try TemporaryFolder()
    let list = #"[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]"#
    let names = [
      ".json", "..json", "...json", "a b.json", "-x.json", "é.json", "a\nb.json", "x.y.json",
    ]
    for name in names { try folder.write("in/sub/\(name)", list) }
    try folder.link("in/link", to: "/etc")
    let outcome = try await Binary.run(
      ["import", "openai-messages", "in", "--out", "work/out", "--json"], in: folder.path,
      status: nil)
    let made = folder.listing.filter { $0.hasSuffix(".gz") }
    #expect(made.allSatisfy { $0.hasPrefix("work/out/") }, "\(made)")
    #expect(made.count >= 5, "\(outcome)")
    #expect(
      made.count
        == (try outcome.jsonLines().count { $0["log"] != nil && $0["error"] == nil }))
    try await Binary.run(["verify", "work/out"], in: folder.path)
  }
}
