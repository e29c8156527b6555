import AgentTrace
import Foundation
import SQLite
import TestSupport
import Testing

@testable import TraceIndexing

@Suite("A list of runs")
struct ListTests {
  /// Five logs: three runs of two agents, one that has not stopped, and one that cannot be read.
  private static func folder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    var good = SampleRun(runId: "a", caseId: "refund", time: "2026-03-03T00:00:00Z")
    good.decide([("1", "lookup"), ("2", "issue_refund"), ("3", "unused")])
    good.result("1")
    good.result("2", status: "refused")
    good.stop()
    try writeLog(good, "good.jsonl.gz", in: folder)
    var bad = SampleRun(
      runId: "b", caseId: "refund-2", agent: "other", time: "2026-03-01T00:00:00Z")
    bad.decide([("1", "issue_refund")])
    bad.result("1", status: "error")
    bad.stop(.toolFailure)
    try writeLog(bad, "bad.jsonl.gz", in: folder)
    var user = SampleRun(runId: "c", time: nil)
    var decision = DecisionPayload(
      .tool([ProposedCall(callId: "1", name: "lookup", input: [:])]), caller: "user")
    decision.isOfUser = true
    user.add(.decision, decision.encoded)
    user.result("1")
    user.stop(.blocked, isFinal: false)
    try writeLog(user, "user.jsonl.gz", in: folder)
    try writeLog(SampleRun(runId: "d", time: "2026-03-02T12:00:00Z"), "on.jsonl.gz", in: folder)
    try folder.write("worse.jsonl.gz", "noise")
    return folder
  }

  @Test(
    "holds what its conditions let through, newest first",
    arguments: [
      ([], ["good", "on", "bad", "user", "worse"]),
      (["--stop", "success"], ["good"]), (["--stop", "none"], ["on"]),
      (["--stop", "blocked", "--stop", "tool_failure"], ["bad", "user"]),
      (["--tool", "lookup"], ["good"]), (["--tool", "issue_refund"], ["bad"]),
      (["--tool", "unused"], []), (["--tool", "*"], ["good", "bad"]),
      (["--tool", "look*", "--tool", "issue_*"], []),
      (["--not-tool", "issue_refund"], ["good", "on", "user"]),
      (["--not-tool", "*"], ["on", "user"]),
      (["--not-tool", "lookup", "--not-tool", "issue_*"], ["on", "user"]),
      (["--case", "refund"], ["good"]), (["--case", "refund*"], ["good", "bad"]),
      (["--agent", "other"], ["bad"]), (["--agent", "c*", "--stop", "success"], ["good"]),
      (["--since", "2026-03-02"], ["good", "on"]),
      (["--since", "2026-03-02T12:00Z"], ["good", "on"]),
      (["--since", "2026-03-02T12:00:01"], ["good"]),
      (["--since", "1000000w"], ["good", "on", "bad"]),
    ] as [([String], [String])])
  func filters(_ options: [String], _ expected: [String]) async throws {
    let folder = try Self.folder()
    let outcome = try await Binary.run(["list", folder.path, "--json"] + options, status: 2)
    let paths = try outcome.lines.map { line in
      let value = try JSONValue(parsing: Array(line.utf8))
      return value["path"]?.stringValue?.replacingOccurrences(of: ".jsonl.gz", with: "")
    }
    #expect(paths == expected)
  }

  @Test("an agent or a task that is called user is no simulated user")
  func calledUser() async throws {
    let folder = try TemporaryFolder()
    for format in ["otlp", "tau2"] {
      var run = SampleRun(runId: format)
      run.events[0].data["source"] = ["format": .string(format), "file": "a.json"]
      let decision = DecisionPayload(
        .tool([ProposedCall(callId: "1", name: "lookup", input: [:])]), caller: "user")
      run.add(.decision, decision.encoded)
      run.result("1")
      run.stop()
      try writeLog(run, "\(format).jsonl.gz", in: folder)
    }
    let outcome = try await Binary.run(["list", folder.path, "--json", "--tool", "lookup"])
    // Of logs without marks, those of formats in which no agent has a name.
    #expect(outcome.lines.count == 1 && outcome.output.contains("otlp.jsonl.gz"), "\(outcome)")
  }

  @Test("says how a run's tools fared, and when nothing is missing exits with 0")
  func json() async throws {
    let folder = try Self.folder()
    try FileManager.default.removeItem(atPath: folder.path("worse.jsonl.gz"))
    let outcome = try await Binary.run(["list", folder.path, "--json", "--case", "refund"])
    let run = try JSONValue(parsing: Array(outcome.output.utf8))
    #expect(
      run["tools"] == [
        ["tool": "issue_refund", "status": "refused", "count": 1],
        ["tool": "lookup", "status": "ok", "count": 1],
        ["tool": "unused", "status": "none", "count": 1],
      ])
    #expect(run["final"] == true)
    #expect(run["stopReason"] == "success")
    let table = try await Binary.run(["list", folder.path, "--stop", "none"])
    #expect(
      table.output == """
        STARTED              STOP  CASE  AGENT  STEPS  CALLS  TOKENS  TIME  LOG
        2026-03-02T12:00:00  –     –     clerk      0      0       0  0 µs  on.jsonl.gz

        """)
    #expect(table.errors == "1 of 4 runs in \(folder.path)\n")
  }

  @Test(
    "refuses what it does not understand",
    arguments: [
      ["--stop", "succes"], ["--since", "yesterday"], ["--since=-1d"],
      ["--since", "2026-13-01"],
      ["--since", "99999999999999999999d"], ["--since", ""], ["--since", "2026-01-01T"],
    ])
  func usage(_ options: [String]) async throws {
    let folder = try TemporaryFolder()
    let outcome = try await Binary.run(["list", folder.path] + options, status: 64)
    #expect(outcome.errors.contains("takes"))
  }

  @Test("is empty for an empty folder, and says so")
  func empty() async throws {
    let folder = try TemporaryFolder()
    let outcome = try await Binary.run(["list", folder.path])
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors == "0 of 0 runs in \(folder.path)\n")
  }
}

@Suite("Cases that an index knows")
struct IndexedCasesTests {
  @Test("are known of files that have not changed since, and of no others")
  func answers() throws {
    let folder = try IndexFileTests.folder()
    #expect(IndexedCases(folder: folder.path) == nil)
    try writeLog(SampleRun(), "none.jsonl.gz", in: folder)
    try writeLog(
      SampleRun(caseId: String(repeating: "c", count: 600)), "long.jsonl.gz", in: folder)
    try folder.write("bad.jsonl.gz", "noise")
    try refreshed(folder)
    try writeLog(.everything(9), "new.jsonl.gz", in: folder)
    try FileManager.default.removeItem(atPath: folder.path("1.jsonl.gz"))
    try writeLog(.everything(4), "1.jsonl.gz", in: folder)
    let cases = try #require(IndexedCases(folder: folder.path))
    #expect(cases.answer(for: folder.path("0.jsonl.gz")) == .caseId("case-0"))
    #expect(cases.answer(for: folder.path("none.jsonl.gz")) == .noCase)
    for name in ["1", "new", "bad", "long", "gone"] {
      #expect(cases.answer(for: folder.path("\(name).jsonl.gz")) == nil)
    }
    try folder.write(".index.sqlite", "noise")
    #expect(IndexedCases(folder: folder.path) == nil)
    #expect(folder.text(".index.sqlite") == "noise")
  }

  @Test("are used by run --runs, which judges the logs themselves")
  func run() async throws {
    let folder = try IndexFileTests.folder()
    let file = try folder.write(
      "cases/c.yaml", "caseId: case-1\nexpected: {stopReason: success}\n")
    let arguments = ["run", file, "--runs", folder.path, "--json"]
    let without = try await Binary.run(arguments)
    #expect(without.output.contains("1.jsonl.gz"))
    try refreshed(folder)
    #expect(try await Binary.run(arguments).output == without.output)
    let change = "UPDATE runs SET caseId = 'another' WHERE path = '1.jsonl.gz'"
    // What another program writes has no sums, and is not asked.
    let whole = try folder.read(".index.sqlite")
    try changeIndex(at: folder.path(".index.sqlite"), change)
    #expect(try await Binary.run(arguments).output == without.output)
    try folder.write(".index.sqlite", whole)
    // Only an index that is asked can be wrong.
    try RunIndex(folder: folder.path).connection.execute(change, to: "be wrong")
    let misled = try await Binary.run(arguments, status: 2)
    #expect(misled.output.contains("no run of this case"))
    // A file that has changed is looked at itself.
    try FileManager.default.setAttributes(
      [.modificationDate: Date()], ofItemAtPath: folder.path("1.jsonl.gz"))
    #expect(try await Binary.run(arguments).output == without.output)
  }
}
