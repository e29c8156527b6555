import AgentTrace
import EvalLoading
import Foundation
import TestSupport
import Testing
import TraceMatching

@Suite("agent-eval diff and agent-eval policy backtest")
struct DiffVerbTests {
  private static let approved = Fixture.run("refund-approved")
  private static let refused = Fixture.run("refund-refused-by-person")

  @Test("every recorded run is the same as itself")
  func identity() async throws {
    for run in Fixture.runs {
      let outcome = try await Binary.run(["diff", run, run, "--json"])
      #expect(try outcome.json()["same"] == true)
      #expect(try await Binary.run(["diff", run, run]).output.contains("the same: "))
    }
  }

  @Test("what differs is told within the width, as JSON by its schema, and ends in 1")
  func different() async throws {
    let schema = try JSONSchema(compiling: FileSchema.diff.json)
    for run in Fixture.runs {
      let outcome = try await Binary.run(["diff", Self.approved, run], status: nil)
      #expect(outcome.lines.allSatisfy { $0.count <= 120 }, "\(outcome)")
      let json = try await Binary.run(["diff", Self.approved, run, "--json"], status: nil)
      #expect(outcome.status == json.status)
      #expect(outcome.status == (run.hasSuffix("/refund-approved.jsonl.gz") ? 0 : 1))
      #expect(schema.validate(try json.json()).isEmpty, "\(json)")
    }
  }

  @Test("the first act that differs is named, and --ignore takes it out")
  func first() async throws {
    let json = try await Binary.run(["diff", Self.approved, Self.refused, "--json"], status: 1)
      .json()
    #expect(json["first"]?["kind"] == "start")
    #expect(json["firstAct"]?["left"]?["tool"] == "issue_refund")
    let fields = ["start", "/verdict", "approval", "result"].flatMap { ["--ignore", $0] }
    let rest = try await Binary.run(
      ["diff", Self.approved, Self.refused, "--json"] + fields, status: 1
    ).json()
    #expect(rest["first"]?["standing"] == "right")
    #expect(rest["first"]?["right"]?["tool"] == "draft_refund_request")
  }

  @Test("where children's logs are missing it cannot be told whether the runs are the same")
  func missingChildren() async throws {
    let folder = try TemporaryFolder()
    func child(_ tool: String) throws {
      try folder.write(
        "child.yaml",
        """
        name: child
        tools:
          - {name: look, sideEffect: read, scripted: [{ok: 1}]}
          - {name: wipe, sideEffect: read, scripted: [{ok: 1}]}
        model: {script: [{call: {tool: \(tool), input: {}}}, {answer: done}]}
        """)
    }
    for answer in ["done", "otherwise"] {
      try folder.write(
        "root-\(answer).yaml",
        """
        name: root
        tools: [{agent: child.yaml, name: ask}]
        model: {script: [{call: {tool: ask, input: {task: go}}}, {answer: \(answer)}]}
        """)
    }
    func record(_ tool: String, _ answer: String, to out: String) async throws -> String {
      try child(tool)
      try await Binary.run(
        ["record", "root-\(answer).yaml", "go", "--out", out, "--seed", "1", "--fixed-clock"],
        in: folder.path)
      var root: String?
      for log in folder.listing where log.hasPrefix("\(out)/") && log.hasSuffix(".jsonl.gz") {
        let shown = try await Binary.run(["show", log, "--json"], in: folder.path).jsonLines()
        if shown.first?["data"]?["parent"] == nil { root = log }
      }
      return try #require(root)
    }
    let good = try await record("look", "done", to: "good")
    let bad = try await record("wipe", "done", to: "bad")
    let other = try await record("look", "otherwise", to: "other")
    try await Binary.run(["diff", good, bad], in: folder.path, status: 1)
    func alone(_ log: String, _ name: String) throws -> String {
      try folder.write("\(name)/\(name).jsonl.gz", folder.read(log))
      return "\(name)/\(name).jsonl.gz"
    }
    let (a, b) = (try alone(good, "a"), try alone(bad, "b"))
    for (left, right) in [(a, b), (good, a), (b, good), (a, a)] {
      let told = try await Binary.run(["diff", left, right], in: folder.path, status: 2)
      #expect(told.output.contains("cannot be told"), "\(told)")
      #expect(!told.output.contains("the same: ") && !told.output.contains("imported"), "\(told)")
      #expect(told.output.contains("“ask” started is not there"), "\(told)")
      let json = try await Binary.run(["diff", left, right, "--json"], in: folder.path, status: 2)
        .json()
      #expect(json["same"] == false && json["missing"]?.arrayValue?.isEmpty == false)
    }
    // What the roots themselves did is another thing.
    try await Binary.run(["diff", a, other], in: folder.path, status: 1)
  }

  @Test(
    "torn logs are compared with a note, and never the same; damaged, missing and no logs end in 2")
  func unreadable() async throws {
    let torn = try await Binary.run(["diff", Fixture.torn[0], Fixture.torn[0]], status: 2)
    #expect(torn.output.contains("note: ") && torn.output.contains("cannot be told"))
    #expect(!torn.output.contains("the same: "))
    for path in [Fixture.damaged[0], "/nowhere.jsonl.gz", "Package.swift"] {
      let outcome = try await Binary.run(["diff", Self.approved, path], status: 2)
      #expect(outcome.errors.contains(path))
    }
    try await Binary.run(["diff", Self.approved], status: 64)
    try await Binary.run(["diff", Self.approved, Self.refused, "--ignore", "/~"], status: 64)
  }

  @Test("what a trace says does not act on the terminal")
  func hostile() async throws {
    let folder = try TemporaryFolder()
    let escape = "\u{1b}[2J\u{9b}31m\r\u{8}\u{202e}</script>"
    func log(_ name: String, _ text: String) throws -> String {
      let word = String(repeating: "w", count: 1 << 20)
      let call: JSONValue = [
        "callId": "1.1.0", "name": .string("t" + text),
        "input": [text: .string(word + text)],
      ]
      return try writeLog(
        [
          Event(
            seq: 0, step: 0, type: .runStarted, runId: "r" + text,
            data: ["formatVersion": 2, "goal": .string(text), "agent": ["name": .string(text)]]),
          Event(
            seq: 1, step: 1, type: .decision, runId: "r", data: ["kind": "tool", "calls": [call]]),
          Event(
            seq: 2, step: 1, type: .decision, runId: "r",
            data: ["kind": "answer", "text": .string(text + word)]),
        ], to: folder.path(name))
    }
    let (a, b) = (try log("a.jsonl.gz", escape), try log("b.jsonl.gz", escape + "2"))
    let outcome = try await Binary.run(["diff", a, b], status: 1)
    #expect(controlBytes(in: outcome.outputBytes).isEmpty)
    #expect(outcome.outputBytes.count < 20_000)
    #expect(try await Binary.run(["diff", a, b, "--json"], status: 1).outputBytes.count < 60_000)
    let backtest = try await Binary.run(
      ["policy", "backtest", a, b, "--policy", Project.path("Fixtures/policies/refunds.yaml")])
    #expect(controlBytes(in: backtest.outputBytes).isEmpty)
  }

  @Test("a backtest counts a log once, however often and by whatever path it is named")
  func namedTwice() async throws {
    let policy = Project.path("Fixtures/policies/refunds.yaml")
    let folder = try TemporaryFolder()
    let log = Project.path("Fixtures/runs/hidden-deletion.jsonl.gz")
    let link = folder.path("link.jsonl.gz")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: log)
    let arguments = ["--policy", policy, "--json"]
    let once = try await Binary.run(["policy", "backtest", log] + arguments)
    let often = try await Binary.run(
      [
        "policy", "backtest", log, link, log,
        Project.path("Fixtures/runs/../runs/hidden-deletion.jsonl.gz"),
      ]
        + arguments)
    #expect(once.output == often.output)
    #expect(often.errors.contains("3 runs named more than once"), "\(often.errors)")
  }

  @Test("a policy that allows more ends in 1, unless that is wanted; a stricter one in 0")
  func backtest() async throws {
    let folder = try TemporaryFolder()
    let open = try folder.write(
      "open.yaml", "rules:\n  - {id: all, verdict: allow, reason: trust}\n")
    let strict = try folder.write("strict.yaml", "rules:\n  - {id: none, verdict: deny}\n")
    let runs = Project.path("Fixtures/runs")
    let schema = try JSONSchema(compiling: FileSchema.backtest.json)
    for (policy, extra, status) in [
      (open, [], 1), (open, ["--allow-widening"], 0), (strict, [], 0),
    ] as [(String, [String], Int32)] {
      let outcome = try await Binary.run(
        ["policy", "backtest", runs, "--policy", policy, "--json"] + extra, status: status)
      let json = try outcome.json()
      #expect(schema.validate(json).isEmpty, "\(outcome)")
      #expect(json["widens"] == .bool(policy == open))
      #expect(json["logs"]?.intValue == Fixture.runs.count)
    }
    let text = try await Binary.run(
      ["policy", "backtest", runs, "--policy", open, "--examples", "1", "--jobs", "1"], status: 1)
    #expect(text.output.contains("newly allowed"))
    #expect(text.output.contains("agent-eval replay "))
    let many = try await Binary.run(
      ["policy", "backtest", runs, "--policy", open, "--examples", "1", "--jobs", "3"], status: 1)
    #expect(many.output == text.output)
    // A log that cannot be read does not hide what the others show.
    let damaged = Project.path(Fixture.damaged[0])
    try await Binary.run(["policy", "backtest", damaged, runs, "--policy", open], status: 1)
    try await Binary.run(["policy", "backtest", damaged, "--policy", strict], status: 2)
    try await Binary.run(["policy", "backtest", runs, "--policy", "/none.yaml"], status: 2)
    try await Binary.run(["policy", "backtest", runs], status: 64)
    try await Binary.run(
      ["policy", "backtest", runs, "--policy", open, "--jobs", "0"], status: 64)
  }
}
