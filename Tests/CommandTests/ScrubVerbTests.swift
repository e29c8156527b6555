import AgentTrace
import Foundation
import TestSupport
import Testing

@Suite("agent-eval scrub")
struct ScrubVerbTests {
  private static let secret = "ghp_" + String(repeating: "a1B2", count: 9)
  private static let password = "Zk3x9QwLp7"

  /// A run that was recorded without anything withheld, in which a person approves a call with a secret.
  private static let agent = """
    name: open
    redaction: {credentials: false}
    system: Early says \(password) too.
    tools:
      - name: fetch
        sideEffect: read
        scripted: [{ok: {text: "use \(secret)", list: [1, "DB_PASSWORD=\(password)"]}}]
      - name: drop
        sideEffect: write
        scripted: [{ok: {}}]
    policy:
      rules: [{id: ask, tool: drop, verdict: approval_required}]
    human:
      approvals: [{tool: drop, granted: true, by: bo}]
    model:
      script:
        - call: {tool: fetch, input: {}}
        - call: {tool: drop, input: {key: "\(secret)"}}
        - answer: "Done with \(secret)."
    """

  private static func record(in folder: TemporaryFolder) async throws {
    try folder.write("agent.yaml", agent)
    try await Binary.run(
      ["record", "agent.yaml", "go", "--out", "old.jsonl.gz", "--seed", "1", "--fixed-clock"],
      in: folder.path)
  }

  private static func text(_ log: String, in folder: TemporaryFolder) async throws -> String {
    try await shell("zcat \(log)", in: folder.path).output
  }

  @Test("the new log holds no secret, is whole, names the old one, and is told by every verb")
  func scrubbed() async throws {
    let folder = try TemporaryFolder()
    try await Self.record(in: folder)
    let before = try folder.read("old.jsonl.gz")
    #expect(try await Self.text("old.jsonl.gz", in: folder).contains(Self.secret))
    let digest = try await Binary.run(["verify", "old.jsonl.gz", "--json"], in: folder.path)
      .jsonLines().first?["sealDigest"]
    let made = try await Binary.run(["scrub", "old.jsonl.gz", "--json"], in: folder.path).json()
    #expect(made["scrubbed"] == "old-scrubbed.jsonl.gz" && made["fromDigest"] == digest)
    #expect(made["withheld"]?["github"] == 1 && made["withheld"]?["password"] == 1, "\(made)")
    let log = try await Self.text("old-scrubbed.jsonl.gz", in: folder)
    #expect(!log.contains(Self.secret) && !log.contains(Self.password))
    #expect(log.contains("Early says «redacted:password:"))
    let started = try await Binary.run(
      ["show", "old-scrubbed.jsonl.gz", "--json"], in: folder.path
    ).jsonLines().first
    #expect(started?["data"]?["scrubbedFrom"]?["digest"] == digest)
    #expect(started?["data"]?["scrubbedFrom"]?["log"] == "old.jsonl.gz")
    #expect(try folder.read("old.jsonl.gz") == before)
    try folder.write(
      "case.yaml",
      """
      caseId: open
      input: x
      recording: old-scrubbed.jsonl.gz
      expected: {stopReason: success, toolsCalled: [fetch, drop], noApprovalBypass: true}
      """)
    for command in [
      ["verify", "old-scrubbed.jsonl.gz"], ["show", "old-scrubbed.jsonl.gz"],
      ["replay", "old-scrubbed.jsonl.gz", "--step", "2"], ["run", "case.yaml"],
      ["diff", "old.jsonl.gz", "old-scrubbed.jsonl.gz"],
    ] {
      let outcome = try await Binary.run(command, in: folder.path, status: nil)
      #expect(outcome.status == (command[0] == "diff" ? 1 : 0), "\(outcome)")
    }
  }

  @Test(
    "scrubbed again nothing more is withheld, and with a key the same values have the same tokens")
  func again() async throws {
    let folder = try TemporaryFolder()
    try await Self.record(in: folder)
    let environment = ["AGENT_EVAL_REDACTION_KEY": "k"]
    for out in ["a", "b"] {
      try await Binary.run(
        ["scrub", "old.jsonl.gz", "--out", "\(out).jsonl.gz"], in: folder.path,
        environment: environment)
    }
    #expect(try folder.read("a.jsonl.gz") == folder.read("b.jsonl.gz"))
    let made = try await Binary.run(["scrub", "a.jsonl.gz", "--json"], in: folder.path).json()
    #expect(made["withheld"] == [:], "\(made)")
    func events(_ log: String) async throws -> [JSONValue?] {
      try await Binary.run(["show", log, "--json"], in: folder.path).jsonLines()
        .filter { $0["type"] != nil && $0["type"] != "run_started" && $0["type"] != "stop" }
        .map { $0["data"] }
    }
    #expect(try await events("a.jsonl.gz") == events("a-scrubbed.jsonl.gz"))
  }

  @Test("patterns and the rules of an agent file hold as well")
  func rules() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile(result: "{order: ORD-123456, name: Ana}"))
    try await Binary.run(["record", "agent.yaml", "go", "--out", "old.jsonl.gz"], in: folder.path)
    try folder.write(
      "rules.yaml",
      agentFile(
        extra: "redaction: {places: [{kind: name, in: result, pointer: /name}]}"))
    try await Binary.run(
      [
        "scrub", "old.jsonl.gz", "--agent", "rules.yaml", "--redact", "order=ORD-[0-9]{6}", "--out",
        "new.jsonl.gz",
      ], in: folder.path)
    let log = try await Self.text("new.jsonl.gz", in: folder)
    #expect(log.contains("«redacted:order:") && log.contains("«redacted:name:"))
    #expect(!log.contains("ORD-123456") && !log.contains("\"Ana\""))
  }

  @Test("a log that is damaged or unfinished, or a name that is taken, leaves no file behind")
  func refused() async throws {
    let folder = try TemporaryFolder()
    try await Self.record(in: folder)
    var bytes = try folder.read("old.jsonl.gz")
    bytes[bytes.count / 2] ^= 1
    try folder.write("damaged.jsonl.gz", bytes)
    try folder.write("none.jsonl.gz", [])
    try folder.write("torn.jsonl.gz.open", Array(try folder.read("old.jsonl.gz").dropLast(60)))
    let files = folder.listing
    for arguments in [
      ["damaged.jsonl.gz"], ["none.jsonl.gz"], ["torn.jsonl.gz"], ["missing.jsonl.gz"],
      ["old.jsonl.gz", "--out", "old.jsonl.gz"],
    ] {
      let outcome = try await Binary.run(["scrub"] + arguments, in: folder.path, status: 2)
      #expect(!outcome.errors.isEmpty)
    }
    for arguments in [["old.jsonl.gz", "--out", ""], ["old.jsonl.gz", "--redact", "nothing"]] {
      try await Binary.run(["scrub"] + arguments, in: folder.path, status: 64)
    }
    #expect(folder.listing == files)
  }
}
