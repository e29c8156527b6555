import AgentTrace
import TestSupport
import Testing

@Suite("How ready an agent is")
struct ReadinessVerbTests {
  /// An agent of which nothing is missing, and the cases for it.
  private static let agent = """
    name: desk
    system: You help.
    limits: {maxSteps: 9, maxToolCalls: 5, timeoutSeconds: 60}
    tools:
      - name: look
        description: Looks an order up.
        sideEffect: read
        inputSchema: {type: object, properties: {order: {type: string}}, additionalProperties: false}
        scripted: [{ok: {state: sent}}]
      - name: refund
        description: Pays back.
        sideEffect: write
        idempotent: true
        inputSchema: {type: object, properties: {amount: {type: integer}}, additionalProperties: false}
        scripted: [{ok: {done: true}}]
    policy:
      rules:
        - {id: own-tenant, tool: refund, tenant: acme, verdict: allow}
        - {id: others, tool: refund, verdict: approval_required}
    model: {script: [{call: {tool: look, input: {order: "7"}}}, {answer: sent}]}
    """
  private static let cases = """
    - caseId: looks
      input: Where is 7?
      agent: agent.yaml
      expected: {toolsCalled: [look], toolsNotCalled: [refund]}
    """

  private struct Told {
    var level: String?
    var missing: [String]
    var status: Int32
  }

  private static func told(_ agent: String, _ cases: String = cases) async throws -> Told {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agent)
    if !cases.isEmpty { try folder.write("cases.yaml", cases) }
    let outcome = try await Binary.run(
      ["check", ".", "--ready", "--format", "json", "--require", "ready"], in: folder.path,
      status: nil)
    let record = try JSONValue(parsing: Array(outcome.output.utf8))[0]
    let missing = (record?["primitives"]?.arrayValue ?? []).flatMap { entry in
      (entry["missing"]?.arrayValue ?? []).map { finding in
        [entry["primitive"], finding["weight"], finding["message"]]
          .compactMap { $0?.stringValue }.joined(separator: " ")
      }
    }
    return Told(level: record?["level"]?.stringValue, missing: missing, status: outcome.status)
  }

  @Test("an agent of which nothing is missing is ready")
  func ready() async throws {
    let told = try await Self.told(Self.agent)
    #expect(told.level == "ready" && told.missing == [] && told.status == 0, "\(told)")
  }

  @Test("what the cases would miss of changes to their recorded runs is measured")
  func isMeasured() async throws {
    for (expected, level, message) in [
      (
        "{stopReason: success, toolsCalled: [look], toolsNotCalled: [refund]}", "guarded",
        "changes to recorded runs would pass unseen"
      ),
      (
        "{stopReason: blocked, toolsNotCalled: [refund, look]}", "guarded",
        "1 of its recordings do not pass"
      ),
    ] {
      let folder = try TemporaryFolder()
      try folder.write("agent.yaml", Self.agent)
      try await Binary.run(
        ["record", "agent.yaml", "Where is 7?", "--out", "runs/one.jsonl.gz"], in: folder.path)
      try folder.write(
        "cases.yaml",
        """
        - caseId: looks
          input: Where is 7?
          agent: agent.yaml
          recording: runs/one.jsonl.gz
          expected: \(expected)
        """)
      let outcome = try await Binary.run(
        ["check", "agent.yaml", "cases.yaml", "--ready", "--format", "json"], in: folder.path)
      let record = try JSONValue(parsing: Array(outcome.output.utf8))[0]
      #expect(
        record?["level"]?.stringValue == level && outcome.output.contains(message),
        "\(outcome.output)")
      let isMeasured = outcome.output.contains("changes to 1 recorded run the cases notice")
      #expect(isMeasured == !message.contains("do not pass"))
    }
  }

  @Test("each thing that is missing is found by itself, and what weighs most decides")
  func missing() async throws {
    let rows: [(String, String, String, String)] = [
      ("timeoutSeconds: 60", "maxTokens: 9", "guarded", "state gap a run has no limit on its time"),
      (
        "properties: {order: {type: string}}, additionalProperties: false", "maxProperties: 3",
        "guarded", "tools gap “look” takes any input"
      ),
      (
        "properties: {amount: {type: integer}}, additionalProperties: false", "maxProperties: 3",
        "draft", "tools risk “refund” takes any input"
      ),
      (
        "{order: {type: string}}", "{url: {type: string}}", "guarded",
        "tools gap “look” is broad: “url” is any address, and any text will do"
      ),
      (
        "{amount: {type: integer}}", "{command: {type: string}}", "draft",
        "tools risk “refund” is broad: “command” is a program or a command line, and any text will do"
      ),
      (
        "{order: {type: string}}, additionalProperties: false}\n    scripted: [{ok: {state: sent}}]",
        "{cmd: {type: string}}, additionalProperties: false}\n    timeoutSeconds: 5\n    command: [sh, -c, \"eval x\"]",
        "guarded",
        "tools gap “look” is broad: “cmd” is a program or a command line, and any text will do"
      ),
      (
        "idempotent: true", "idempotent: false", "guarded",
        "tools gap “refund” writes, and a call of it may not be made again"
      ),
      (
        "tool: refund, tenant: acme", "tool: look, tenant: acme", "ready", ""
      ),
      (
        "{id: own-tenant, tool: refund, tenant: acme, verdict: allow}",
        "{id: all, tool: refund, verdict: allow}", "draft",
        "policy risk the rule “all” lets anybody call “refund” with anything"
      ),
      (
        "system: You help.", "version: \"1\"", "ready", "context note the model has no instructions"
      ),
      (
        "system: You help.", "system: You help.\nredaction: {credentials: false}", "draft",
        "trace risk credentials that a run meets stand in its log"
      ),
      (
        "system: You help.",
        "system: \"Use the key sk-proj-Zt4Wq8Lx2Nc7Vb1Km5Js9Hd3Gf6Pa0Rw8Ey2Tu4Qi6Xo1Mz5\"", "draft",
        "trace risk what looks like a credential stands in the file, at /system"
      ),
    ]
    for (old, new, level, message) in rows {
      #expect(Self.agent.contains(old), "\(old)")
      let told = try await Self.told(Self.agent.replacing(old, with: new))
      #expect(told.level == level, "\(new): \(told)")
      if !message.isEmpty { #expect(told.missing == [message], "\(new)") }
      #expect(told.status == (level == "ready" ? 0 : 1))
    }
  }

  @Test("of a command what its file can say is asked, and that it is held back at all")
  func commands() async throws {
    let file = "name: desk\ncommand: [python3, agent.py]\n"
    let unnamed =
      "it is a program with a loop of its own: tools that the file does not name are known only from its runs"
    let bare = try await Self.told(file)
    #expect(bare.level == "draft" && bare.status == 1)
    #expect(
      bare.missing == [
        "state gap a run has no limit on what its model costs", "tools gap \(unnamed)",
        "policy risk nothing that its models ask for is held back: the file has no policy",
      ])
    let whole = try await Self.told(
      file + """
        limits: {maxTokens: 9}
        tools: [{name: look, sideEffect: read}, {name: refund, sideEffect: write}]
        policy: {rules: [{id: refunds, tool: refund, tenant: acme, verdict: allow}]}
        """)
    #expect(whole.missing == ["tools note \(unnamed)"])
    #expect(whole.level == "ready" && whole.status == 0)
  }

  @Test("cases that are not there, forbid nothing or leave tools out are told")
  func cases() async throws {
    let none = try await Self.told(Self.agent, "")
    #expect(none.missing == ["evals risk no case runs this agent"])
    let mild = try await Self.told(
      Self.agent, Self.cases.replacing(", toolsNotCalled: [refund]", with: ""))
    #expect(
      mild.missing == [
        "evals gap no case forbids anything", "evals gap no case speaks of “refund”",
      ])
    // A glob for everything speaks of no tool.
    let wide = try await Self.told(
      Self.agent, Self.cases.replacing("[refund]", with: "[\"*\"]"))
    #expect(wide.missing == ["evals gap no case speaks of “refund”"])
    // Cases of another agent do not count.
    let folder = try TemporaryFolder()
    try folder.write("a/agent.yaml", Self.agent)
    try folder.write("b/agent.yaml", Self.agent.replacing("name: desk", with: "name: other"))
    try folder.write("b/cases.yaml", Self.cases)
    let outcome = try await Binary.run(["check", "a", "b", "--ready"], in: folder.path)
    #expect(outcome.output.contains("desk (a/agent.yaml): draft"))
    #expect(outcome.output.contains("other (b/agent.yaml): ready"))
    // Cases bring the agents that they name.
    let brought = try await Binary.run(["check", "b/cases.yaml", "--ready"], in: folder.path)
    #expect(brought.output.contains("other (b/agent.yaml): ready"))
    let one = try await Binary.run(
      ["check", "b/agent.yaml", "--ready", "--cases", "b", "--require", "ready"], in: folder.path)
    #expect(one.output.contains("ready"))
  }

  @Test("a file with mistakes, a place without agents and options without --ready are refused")
  func misuse() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", Self.agent.replacing("limits:", with: "limit:"))
    let wrong = try await Binary.run(["check", ".", "--ready"], in: folder.path, status: 2)
    #expect(wrong.output.contains("unknown key “limit”"))
    try folder.write("agent.yaml", "rules: [{id: a, verdict: allow}]")
    for arguments in [
      ["check", ".", "--ready"], ["check", ".", "--require", "ready"],
      ["check", ".", "--ready", "--require", "perfect"],
    ] {
      let told = try await Binary.run(arguments, in: folder.path, status: nil)
      #expect(told.status != 0 && !told.errors.isEmpty, "\(arguments)")
    }
  }

  @Test("text of the file stands in Markdown and on terminals as text")
  func hostile() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      Self.agent.replacing("name: desk", with: "name: \"<b>|`x`\\e[31m\\u202e\"")
        .replacing("description: Looks an order up.", with: "sensitivity: a"))
    try folder.write("cases.yaml", Self.cases)
    let markdown = try await Binary.run(
      ["check", ".", "--ready", "--format", "markdown"], in: folder.path)
    #expect(!markdown.output.contains("\u{1b}") && !markdown.output.contains("\u{202e}"))
    #expect(markdown.output.contains("\\<b\\>\\|\\`x\\`"))
    let text = try await Binary.run(["check", ".", "--ready"], in: folder.path)
    #expect(!text.output.contains("\u{1b}") && !text.output.contains("\u{202e}"))
  }
}
