import AgentTrace
import TestSupport
import Testing

@Suite("Runs that went on with something else, through the program")
struct MadeAgainVerbTests {
  private static let parent = Fixture.run("refund-approved")
  private static let ana = Fixture.agent("support-with-ana")

  /// A folder with the agent, one that says something else, and a policy that denies.
  private static func folder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let text = try Project.text("Fixtures/agents/support-with-ana.yaml")
    try folder.write("agent.yaml", text)
    try folder.write(
      "other one.yaml", text.replacing("maxSteps: 8", with: "maxSteps: 7") + "\nparallelCalls: 2\n")
    try folder.write(
      "deny.yaml", "rules: [{id: no, tool: issue_refund, verdict: deny, reason: not today}]\n")
    try folder.write("decision.json", "{\"text\": \"Enough.\"}")
    try folder.write("result.json", "{\"status\": \"ok\", \"data\": {\"orderId\": \"1234\"}}")
    return folder
  }

  @Test(
    "the command that a fork prints makes it again",
    arguments: [
      ["--agent", "agent.yaml"], ["--agent", "agent.yaml", "--policy", "deny.yaml"],
      ["--agent", "other one.yaml"], ["--agent", "other one.yaml", "--policy", "deny.yaml"],
      ["--agent", "agent.yaml", "--set", "decision=decision.json"],
      ["--agent", "other one.yaml", "--set", "decision=decision.json"],
      ["--agent", "agent.yaml", "--drop-context", "1.1.0"],
    ], [true, false])
  func forks(options: [String], isLive: Bool) async throws {
    let folder = try Self.folder()
    let arguments =
      ["fork", Self.parent, "--at", "step:2", "--out", "one.jsonl.gz"] + options
      + (isLive ? ["--live"] : [])
    let outcome = try await Binary.run(arguments, in: folder.path, status: nil)
    let line = try #require(
      outcome.errors.split(separator: "\n").first { $0.hasPrefix("again  agent-eval ") })
    // As a person does who takes the line over.
    let again = try await shell(
      "\"$0\" " + line.dropFirst("again  agent-eval ".count), in: folder.path, status: 0)
    #expect(again.output.hasPrefix("faithful  one.jsonl.gz: "), "\(again)")
    let isOther = options.contains("other one.yaml") || options.contains("deny.yaml")
    #expect(again.output.contains("were made with other files") == isOther, "\(again)")
  }

  @Test("a result that was put in place, and a run that was resumed with another agent and policy")
  func others() async throws {
    let folder = try Self.folder()
    let events = try await Binary.run(["show", Self.parent, "--json"]).jsonLines()
    let result = try #require(events.first { $0["type"] == "tool_result" }?["seq"]?.intValue)
    let forked = try await Binary.run(
      [
        "fork", Self.parent, "--at", "event:\(result)", "--set", "result=result.json", "--live",
        "--agent", "other one.yaml", "--out", "two.jsonl.gz", "--json",
      ], in: folder.path, status: nil
    ).json()
    let words = forked["again"]?.arrayValue?.compactMap(\.stringValue) ?? []
    try await Binary.run(words, in: folder.path)
    try await Binary.run(
      [
        "record", Fixture.agent("support"), "Refund order 1234 at once", "--out",
        "three.jsonl.gz",
      ], in: folder.path, status: 1)
    try await Binary.run(
      ["approve", "three.jsonl.gz", "issue_refund", "--by", "ana"], in: folder.path)
    let resumed = try await Binary.run(
      [
        "resume", "three.jsonl.gz", "--agent", "other one.yaml", "--policy", "deny.yaml",
        "--accept-changes", "--json",
      ], in: folder.path, status: nil
    ).json()
    let again = try await Binary.run(
      resumed["again"]?.arrayValue?.compactMap(\.stringValue) ?? [], in: folder.path)
    #expect(again.output.contains("were made with other files"))
    // With the files of both parts, all of it is made again.
    let both = try await Binary.run(
      [
        "replay", "three.jsonl.gz", "--reexecute", "--agent", Fixture.agent("support"), "--agent",
        "other one.yaml", "--json",
      ], in: folder.path, status: nil
    ).json()
    #expect(both["note"] == nil, "\(both)")
  }

  @Test("what was said beside the file counts, whatever became of the file, until it is said anew")
  func saidBeside() async throws {
    let folder = try Self.folder()
    try await Binary.run(
      [
        "record", "agent.yaml", "Refund order 1234", "--actor", "bo", "--route", "support",
        "--max-steps", "3", "--max-tool-calls", "2", "--out", "run.jsonl.gz",
      ], in: folder.path, status: nil)
    let text = try Project.text("Fixtures/agents/support-with-ana.yaml")
    try folder.write("agent.yaml", text + "\n# a word more\n")
    let replay = ["replay", "run.jsonl.gz", "--reexecute", "--agent", "agent.yaml"]
    try await Binary.run(replay, in: folder.path)
    try await Binary.run(replay + ["--actor", "bo", "--max-steps", "3"], in: folder.path)
    let other = try await Binary.run(
      replay + ["--actor", "cy", "--json"], in: folder.path, status: 1
    ).json()
    #expect(other["divergence"]?["input"]?["name"] == "policyContext.actorId", "\(other)")
    let stricter = try await Binary.run(
      replay + ["--max-steps", "1", "--json"], in: folder.path, status: 1
    ).json()
    #expect(stricter["divergence"]?["input"]?["name"] == "maxSteps")
  }

  @Test("all that has changed is listed, and what makes the difference is found by trying")
  func explained() async throws {
    let folder = try Self.folder()
    let text = try Project.text("Fixtures/agents/support-with-ana.yaml")
    try await Binary.run(
      ["record", "agent.yaml", "Refund order 1234 at once", "--out", "run.jsonl.gz"],
      in: folder.path, status: nil)
    // Two things more that are never met, and one that is.
    try folder.write(
      "agent.yaml",
      text + """

        parallelCalls: 9
        failures: {maxDenials: 7}
        context: {observationLimit: 1}
        """)
    let replay = ["replay", "run.jsonl.gz", "--reexecute", "--agent", "agent.yaml"]
    let found = try await Binary.run(replay + ["--json"], in: folder.path, status: 1).json()
    let divergence = try #require(found["divergence"])
    #expect(divergence["cause"] == "context")
    #expect(divergence["input"]?["name"] == "context.observationLimit", "\(divergence)")
    let keys = divergence["changes"]?.arrayValue?.compactMap { $0["key"]?.stringValue } ?? []
    #expect(
      Set(keys) == ["parallelCalls", "failures.maxDenials", "context.observationLimit"], "\(keys)")
    let told = try await Binary.run(replay, in: folder.path, status: 1)
    #expect(told.lines.contains { $0.hasPrefix("  changed   ") }, "\(told)")
    let plain = try await Binary.run(
      replay + ["--explain", "none", "--json"], in: folder.path, status: 1
    ).json()
    #expect(plain["divergence"]?["changes"] == nil)
  }
}
