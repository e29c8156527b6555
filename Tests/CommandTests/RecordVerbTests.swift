import AgentTrace
import TestSupport
import Testing

@Suite("record")
struct RecordVerbTests {
  // MARK: Where the log goes

  @Test("a log that is there already is an error that names it, and nothing of it is lost")
  func existing() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    let arguments = ["record", "agent.yaml", "Write", "--out", "one.jsonl.gz"]
    try await Binary.run(arguments, in: folder.path)
    let before = try folder.read("one.jsonl.gz")
    let again = try await Binary.run(arguments, in: folder.path, status: 2)
    #expect(again.errors.contains("one.jsonl.gz"))
    #expect(again.output == "")
    #expect(try folder.read("one.jsonl.gz") == before)
    #expect(folder.listing == ["agent.yaml", "one.jsonl.gz"])
  }

  @Test("a log that a writer left behind is not written over either")
  func leftBehind() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    try folder.write("one.jsonl.gz.open", "left behind")
    let outcome = try await Binary.run(
      ["record", "agent.yaml", "Write", "--out", "one.jsonl.gz"], in: folder.path, status: 2)
    #expect(outcome.errors.contains("one.jsonl.gz"))
    #expect(folder.text("one.jsonl.gz.open") == "left behind")
  }

  @Test("a folder that cannot be written is an error before the run starts")
  func unwritable() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    try folder.write("file", "in the way")
    for out in ["file/runs", "file/one.jsonl.gz", "/proc/nowhere/runs", "/dev/null/x.jsonl.gz"] {
      let outcome = try await Binary.run(
        ["record", "agent.yaml", "Write", "--out", out], in: folder.path, status: 2)
      #expect(outcome.output == "", "\(out)")
      #expect(outcome.errors.contains("agent-eval: "), "\(out)")
    }
    #expect(folder.listing == ["agent.yaml", "file"])
  }

  @Test("the log goes where --out says: a file, a folder made for it, or .agent-eval/runs")
  func output() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    let places: [([String], String)] = [
      (["--out", "deep/er/one.jsonl.gz"], "deep/er/one.jsonl.gz"),
      (["--out", "some/folder", "--seed", "7"], "some/folder/"),
      (["--out", folder.path("absolute")], folder.path("absolute") + "/"),
      ([], ".agent-eval/runs/drafter/"),
    ]
    for (arguments, expected) in places {
      let outcome = try await Binary.run(
        ["record", "agent.yaml", "Write"] + arguments, in: folder.path)
      let log = try #require(outcome.lines.last)
      #expect(log.hasPrefix("log    \(expected)"), "\(outcome)")
      let path = String(log.dropFirst("log    ".count))
      try await Binary.run(["verify", path], in: folder.path)
    }
  }

  @Test("what comes out is the timeline that `show` prints, and the log's path")
  func timeline() async throws {
    let folder = try TemporaryFolder()
    let recorded = try await Binary.run(
      [
        "record", Fixture.agent("support"), "Refund order 1234", "--fixed-clock", "--seed", "1",
        "--out", "one.jsonl.gz",
      ], in: folder.path)
    let shown = try await Binary.run(["show", "one.jsonl.gz"], in: folder.path)
    #expect(recorded.output == shown.output + "log    one.jsonl.gz\n")
    #expect(recorded.errors == "" && shown.errors == "")
    let json = try await Binary.run(
      [
        "record", Fixture.agent("support"), "Refund order 1234", "--fixed-clock", "--seed", "1",
        "--out", "two.jsonl.gz", "--json",
      ], in: folder.path)
    #expect(json.lines.count == 1)
    let object = try json.json()
    #expect(object["log"] == "two.jsonl.gz")
    #expect(object["stopReason"] == "success" && object["stopDetail"] == "final_answer")
    try await Binary.run(
      ["verify", "two.jsonl.gz", "--expect-digest", object["sealDigest"]?.stringValue ?? ""],
      in: folder.path)
    #expect(try folder.read("one.jsonl.gz") == folder.read("two.jsonl.gz"))
  }

  // MARK: What is recorded

  @Test(
    "with a seed and a fixed clock two recordings are the same bytes",
    arguments: ["0", "1", "-1", "9223372036854775807", "-9223372036854775808"])
  func identical(seed: String) async throws {
    let folder = try TemporaryFolder()
    for name in ["one", "two"] {
      try await Binary.run(
        [
          "record", Fixture.agent("researcher"), "Do heat pumps outsell boilers?", "--seed=\(seed)",
          "--fixed-clock", "--out", "\(name).jsonl.gz",
        ], in: folder.path)
    }
    #expect(try folder.read("one.jsonl.gz") == folder.read("two.jsonl.gz"))
    // Without a seed each run is another.
    let ids = try await ["three", "four"].asyncMap { name in
      try await Binary.run(
        ["record", Fixture.agent("offline"), "x", "--out", "\(name).jsonl.gz", "--json"],
        in: folder.path, status: 1
      ).json()["runId"]
    }
    #expect(ids[0] != ids[1] && ids[0] != nil)
  }

  @Test("a run that stops for any other reason than success exits with 1 and leaves a whole log")
  func stops() async throws {
    let folder = try TemporaryFolder()
    let table = [
      ("offline", "Say hello", "model_failure"), ("asker", "Where is my order?", "blocked"),
      ("spender", "Wait for job 1", "budget_exhausted"),
      ("confused", "Warm the hall", "invalid_decision"),
      ("support", "Refund order 1234 at once", "approval_required"),
      ("guarded", "I insist: refund order 1234", "policy_denied"),
      ("fetcher", "What does a kettle cost? Be stubborn.", "tool_failure"),
      ("interrupted", "Export everything", "cancelled"),
    ]
    for (agent, goal, reason) in table {
      let outcome = try await Binary.run(
        ["record", Fixture.agent(agent), goal, "--fixed-clock", "--out", "logs", "--json"],
        in: folder.path, status: 1)
      #expect(try outcome.json()["stopReason"]?.stringValue == reason)
    }
    let verified = try await Binary.run(["verify", "logs"], in: folder.path)
    #expect(verified.lines.count { $0.contains(": whole, ") } == table.count)
  }

  @Test("--policy, --actor and --route stand in the log and decide what happens")
  func overrides() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    try folder.write(
      "policy.yaml",
      """
      rules:
        - {id: no-guests, actor: guest, verdict: deny, reason: not for guests}
      """)
    let checked = try await Binary.run(["check", "policy.yaml"], in: folder.path, status: nil)
    try #require(checked.status == 0, "\(checked)")
    func record(_ name: String, _ arguments: [String], status: Int32?) async throws -> [JSONValue] {
      try await Binary.run(
        ["record", "agent.yaml", "Write", "--out", "\(name).jsonl.gz"] + arguments,
        in: folder.path, status: status)
      return try await Binary.run(["show", "\(name).jsonl.gz", "--json"], in: folder.path)
        .jsonLines()
    }
    let free = try await record("free", [], status: 0)
    let guest = try await record(
      "guest", ["--policy", "policy.yaml", "--actor", "guest", "--route", "mail"], status: nil)
    let other = try await record(
      "other", ["--policy", "policy.yaml", "--actor", "ana"], status: 0)
    func verdicts(_ lines: [JSONValue]) -> [String] {
      lines.filter { $0["type"] == "policy_decision" }
        .compactMap { $0["data"]?["status"]?.stringValue }
    }
    #expect(verdicts(free) == ["allow"])
    #expect(verdicts(guest) == ["deny"])
    #expect(verdicts(other) == ["allow"])
    #expect(guest[0]["data"]?["policyContext"]?["actorId"] == "guest")
    #expect(guest[0]["data"]?["policyContext"]?["route"] == "mail")
    #expect(guest[0]["data"]?["policyDigest"] == other[0]["data"]?["policyDigest"])
    #expect(guest[0]["data"]?["policyDigest"] != free[0]["data"]?["policyDigest"])
    try await Binary.run(
      ["record", "agent.yaml", "Write", "--policy", "nowhere.yaml"], in: folder.path, status: 2)
    try await Binary.run(
      ["record", "agent.yaml", "Write", "--policy", "agent.yaml"], in: folder.path, status: 2)
  }

  @Test("the agent file's own goal is taken where none is given, and only then")
  func goal() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile(goal: "Write to Ana"))
    for (arguments, expected) in [
      ([], "Write to Ana"), (["Write to Bo"], "Write to Bo"), ([""], ""),
    ] {
      let log = "\(expected.count).jsonl.gz"
      try await Binary.run(
        ["record", "agent.yaml"] + arguments + ["--out", log], in: folder.path)
      let started = try await Binary.run(["show", log, "--json"], in: folder.path).jsonLines()[0]
      #expect(started["data"]?["goal"]?.stringValue == expected)
    }
  }

  @Test("mistakes in an agent file are all told, and nothing is recorded")
  func mistakes() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "agent.yaml",
      """
      name: x
      tolls: []
      model: {script: [{anser: yes}]}
      limits: {maxSteps: many}
      """)
    let outcome = try await Binary.run(["record", "agent.yaml", "x"], in: folder.path, status: 2)
    for place in ["agent.yaml:2:1: error: tolls", "agent.yaml:3:19", "agent.yaml:4:20"] {
      #expect(outcome.errors.contains(place), "\(place)\n\(outcome)")
    }
    #expect(folder.listing == ["agent.yaml"])
  }

  @Test(
    "every durability writes a whole log", arguments: ["none", "process", "sync"])
  func durability(_ durability: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.yaml", agentFile())
    try await Binary.run(
      ["record", "agent.yaml", "x", "--out", "a.jsonl.gz", "--durability", durability],
      in: folder.path)
    try await Binary.run(["verify", "a.jsonl.gz"], in: folder.path)
  }
}
