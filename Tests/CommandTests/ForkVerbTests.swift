import AgentTrace
import TestSupport
import Testing

@Suite("fork and bisect")
struct ForkVerbTests {
  private static let parent = Fixture.run("refund-approved")
  private static let ana = ["--agent", Fixture.agent("support-with-ana")]

  @Test(
    "wrong use ends with 64, and no log is made",
    arguments: [
      ["--at", "3"], ["--at", "step:x"], [], ["--at", "step:2", "--set", "decision"],
      ["--at", "step:2", "--set", "reply=a.json"], ["--at", "step:2", "--out", ""],
      ["--at", "step:2", "--set", "result=a.yaml", "--set", "decision=a.yaml"],
      ["--at", "step:2", "--live", "--recorded"],
    ])
  func wrongUse(options: [String]) async throws {
    let folder = try TemporaryFolder()
    try folder.write("a.yaml", "{status: ok, data: 1}")
    let outcome = try await Binary.run(
      ["fork", Self.parent] + Self.ana + options, in: folder.path, status: 64)
    #expect(outcome.output == "")
    #expect(folder.listing == ["a.yaml"])
  }

  @Test(
    "what cannot be forked ends with 2, says why, and no log is made",
    arguments: [
      (["--at", "step:9"], "there is no step 9; the log holds steps 0 to 3"),
      (["--at", "event:99"], "there is no event 99; the log holds events 0 to 18"),
      (["--at", "event:18"], "the run stopped at event 18"),
      (["--at", "step:0"], "the first place is step:1"),
      (["--at", "step:2", "--set", "decision=none.json"], "none.json"),
      (
        ["--at", "step:2", "--set", "decision=broken.json"],
        "broken.json:1:10: error: not valid JSON"
      ),
      (["--at", "step:2", "--set", "decision=other.yaml"], "unknown tool “pay_back”"),
      (["--at", "step:2", "--set", "result=good.yaml"], "a result is replaced at its event"),
      (["--at", "event:9", "--set", "result=good.yaml"], "event 9 (decision) is no result"),
      (
        ["--at", "event:6", "--set", "result=other.yaml"],
        "other.yaml: this is no result: “status” should be"
      ),
      (
        ["--at", "step:2", "--drop-context", "7.1.0"],
        "no packet up to there knows the item “7.1.0”"
      ),
    ])
  func impossible(options: [String], message: String) async throws {
    let folder = try TemporaryFolder()
    try folder.write("broken.json", "{\"calls\":")
    try folder.write("other.yaml", "calls: [{name: pay_back, input: {}}]")
    try folder.write("good.yaml", "{status: ok, data: 1}")
    let outcome = try await Binary.run(
      ["fork", Self.parent] + Self.ana + options, in: folder.path, status: 2)
    #expect(outcome.errors.contains(message), "\(outcome)")
    #expect(outcome.output == "")
    #expect(folder.listing == ["broken.json", "good.yaml", "other.yaml"])
  }

  @Test("an imported, a damaged and a missing log are refused, and a log that is there is kept")
  func unfit() async throws {
    let folder = try TemporaryFolder()
    try await Binary.run(
      [
        "import", "openai-messages", Project.path("Fixtures/traces/weather.openai.json"), "--out",
        "imported",
      ],
      in: folder.path)
    let imported = try #require(folder.listing.first { $0.hasSuffix(".jsonl.gz") })
    let weather = ["--agent", Fixture.agent("weather"), "--at", "step:1"]
    let refused = try await Binary.run(
      ["fork", imported] + weather, in: folder.path, status: 2)
    #expect(refused.errors.contains("was imported from openai-messages"))
    let damaged = Project.path(try #require(Fixture.damaged.first))
    let fetcher = ["--agent", Fixture.agent("fetcher")]
    let broken = try await Binary.run(
      ["fork", damaged, "--at", "event:18"] + fetcher, in: folder.path, status: 2)
    #expect(broken.errors.contains("agent-eval: "))
    _ = try await Binary.run(["fork", "none.jsonl.gz"] + weather, in: folder.path, status: 2)
    let twice = ["fork", Self.parent, "--at", "step:2", "--out", "one.jsonl.gz"] + Self.ana
    try await Binary.run(twice, in: folder.path)
    let kept = try folder.read("one.jsonl.gz")
    let again = try await Binary.run(twice, in: folder.path, status: 2)
    #expect(again.errors.contains("one.jsonl.gz"))
    #expect(try folder.read("one.jsonl.gz") == kept)
  }

  @Test("a question that the recording does not answer ends with 2, and the log is kept and whole")
  func unanswered() async throws {
    let folder = try TemporaryFolder()
    let edit = Project.path("Fixtures/edits/draft-instead.json")
    let arguments =
      ["fork", Self.parent, "--at", "step:2", "--set", "decision=\(edit)", "--out", "one.jsonl.gz"]
      + Self.ana
    let outcome = try await Binary.run(arguments + ["--json"], in: folder.path, status: 2)
    #expect(outcome.errors.contains("call 2.1.0 of draft_refund_request has no recorded result"))
    #expect(outcome.errors.contains("with --live it goes on"))
    let result = try outcome.json()
    #expect(result["stopReason"] == .null && result["newEvents"] == 4)
    #expect(result["parent"]?["edit"] == ["decision": 8])
    let verified = try await Binary.run(["verify", "one.jsonl.gz", "--json"], in: folder.path)
      .json()
    #expect(verified["status"] == "whole")
    let live = try await Binary.run(
      arguments.map { $0 == "one.jsonl.gz" ? "two.jsonl.gz" : $0 } + ["--live"], in: folder.path)
    #expect(live.output.contains("I drafted the refund as draft-1234"))
  }

  @Test("a fork prints what is new and where it is; its agent is found by the name in the log")
  func found() async throws {
    let folder = try TemporaryFolder()
    try folder.write("agents/a.yaml", try Project.text("Fixtures/agents/support-with-ana.yaml"))
    let outcome = try await Binary.run(
      ["fork", Self.parent, "--at", "step:3", "--seed", "1", "--fixed-clock"], in: folder.path)
    #expect(outcome.errors.hasPrefix("agent  agents/a.yaml\nagain  agent-eval replay .agent-eval/"))
    #expect(outcome.lines.first == "step 3")
    #expect(outcome.lines.count == 6)
    let log = try #require(outcome.lines.last?.split(separator: " ").last)
    #expect(log.hasPrefix(".agent-eval/runs/support-with-ana/"))
    let shown = try await Binary.run(["show", String(log), "--json"], in: folder.path).jsonLines()
    let old = try await Binary.run(["show", Self.parent, "--json"]).jsonLines()
    #expect(shown[0]["data"]?["parent"]?["runId"] == old[0]["runId"])
    #expect(shown[0]["data"]?["parent"]?["seq"] == 14)
    // A run that asks for approval is no success.
    let guest = try await Binary.run(
      [
        "fork", Fixture.run("refund-needs-approval"), "--at", "step:2", "--agent",
        Fixture.agent("support"),
      ], in: folder.path, status: 1)
    #expect(guest.output.contains("approval_required"))
  }

  @Test(
    "a fork that lies far from its parent finds it where runs go, and asks about nothing else when resumed"
  )
  func resumedFarAway() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "a.yaml",
      """
      name: payer
      model:
        script:
          - call: {tool: pay, input: {amount: 1}}
          - ask: Go on?
          - call: {tool: pay, input: {amount: 2}}
          - answer: done
      policy: {rules: [{id: free, tool: pay, verdict: allow}]}
      tools:
        - {name: pay, description: Pays., sideEffect: write, scripted: [{ok: paid}]}
      """)
    let agent = ["--agent", "a.yaml"]
    try await Binary.run(["record", "a.yaml", "Pay"], in: folder.path, status: 1)
    let made = try await Binary.run(
      ["fork", "latest", "--at", "step:2", "--live", "--out", "far/away", "--json"] + agent,
      in: folder.path, status: 1)
    let log = try #require(try made.json()["log"]?.stringValue)
    try await Binary.run(["answer", log, "yes"], in: folder.path)
    let resumed = try await Binary.run(["resume", log] + agent, in: folder.path)
    #expect(resumed.output.contains("pay → paid"))
    #expect(!resumed.output.contains("ask first"))
  }

  @Test("forks of the fixtures are made again faithfully, edits and all")
  func reexecuted() async throws {
    let forks = Project.files(below: "Fixtures/forks", ending: ".jsonl.gz")
    #expect(forks.count == 5)
    try await Binary.run(["replay", "--reexecute"] + forks, in: Project.root)
  }

  @Test("bisect names the step, shows it on both sides, and says what it tried")
  func bisect() async throws {
    let (good, bad) = (
      Project.path("Fixtures/runs/refund-drafted.jsonl.gz"), Fixture.run("refund-needs-approval")
    )
    let agent = ["--agent", Fixture.agent("support")]
    let outcome = try await Binary.run(["bisect", good, bad] + agent)
    #expect(outcome.lines.first == "turned in step 2 of 2: success → approval_required")
    #expect(outcome.lines.contains { $0.contains("draft_refund") && $0.contains("issue_refund") })
    let json = try await Binary.run(["bisect", good, bad, "--json"] + agent).json()
    #expect(json["step"] == 2 && json["probes"]?.arrayValue?.count == 2)
    let same = try await Binary.run(["bisect", good, good] + agent, status: 2)
    #expect(same.errors.contains("nothing turned"))
  }

  @Test("with a case, bisect finds the step that breaks what it expects")
  func bisectByCase() async throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "case.yaml", "{caseId: c, input: x, expected: {toolsNotCalled: [issue_refund]}}")
    try folder.write(
      "two.yaml",
      "- {caseId: a, input: x, expected: {stopReason: success}}\n"
        + "- {caseId: b, input: x, expected: {stopReason: success}}\n")
    let edit = Project.path("Fixtures/edits/draft-instead.json")
    try await Binary.run(
      ["fork", Self.parent, "--at", "step:2", "--set", "decision=\(edit)", "--live"] + Self.ana
        + ["--out", "good.jsonl.gz"], in: folder.path)
    let arguments = ["bisect", "good.jsonl.gz", Self.parent] + Self.ana
    let found = try await Binary.run(
      arguments + ["--case", "case.yaml", "--json"], in: folder.path
    ).json()
    #expect(found["step"] == 2 && found["goodOutcome"] == "pass" && found["badOutcome"] == "fail")
    let two = try await Binary.run(arguments + ["--case", "two.yaml"], in: folder.path, status: 64)
    #expect(two.errors.contains("holds 2 cases"))
    _ = try await Binary.run(arguments + ["--case", "none.yaml"], in: folder.path, status: 2)
  }
}
