import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

@testable import TraceIndexing

@Suite("Refreshing an index")
struct RefreshTests {
  @Test("reads nothing again where nothing changed")
  func unchanged() throws {
    let folder = try IndexFileTests.folder()
    try folder.write("bad.jsonl.gz", "noise")
    #expect(try refreshed(folder).report.read == 4)
    #expect(try refreshed(folder).report.read == 0)
  }

  @Test("sees a file changed in place, with its old size and its old time")
  func inPlace() throws {
    let folder = try TemporaryFolder()
    var first = SampleRun(goal: "one")
    first.stop()
    var second = SampleRun(goal: "two")
    second.stop()
    let path = try writeLog(first, "a.jsonl.gz", in: folder)
    let old = try FileManager.default.attributesOfItem(atPath: path)
    try refreshed(folder)
    try writeLog(second, "b.jsonl.gz", in: folder)
    let bytes = try folder.read("b.jsonl.gz")
    try FileManager.default.removeItem(atPath: folder.path("b.jsonl.gz"))
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.write(contentsOf: Data(bytes))
    try handle.truncate(atOffset: UInt64(bytes.count))
    try handle.close()
    try FileManager.default.setAttributes(
      [.modificationDate: try #require(old[.modificationDate])], ofItemAtPath: path)
    let (index, report) = try refreshed(folder)
    #expect(report.read == 1)
    #expect(try index.value("SELECT goal FROM runs") == "two")
  }

  @Test("follows a log while it is written, and when it is closed")
  func growing() throws {
    let folder = try TemporaryFolder()
    let run = SampleRun.everything()
    let path = folder.path("a.jsonl.gz")
    let writer = try LogWriter(creating: path, options: .init(durability: .none))
    for event in run.events.dropLast() {
      try writer.append(event, isEffectAhead: false)
      let (index, _) = try refreshed(folder)
      #expect(
        try index.rows("SELECT path, status, events, stopReason FROM runs")
          == [["a.jsonl.gz.open", "unfinished", JSONValue(event.seq + 1), .null]])
    }
    for event in run.events.suffix(1) { try writer.append(event, isEffectAhead: false) }
    let closed = try writer.close()
    let (index, report) = try refreshed(folder)
    #expect(report.removed == 1)
    #expect(
      try index.rows("SELECT path, status, stopReason, sealDigest FROM runs")
        == [["a.jsonl.gz", "closed", "success", .string(closed.sealDigest.hex)]])
    #expect(try index.value("SELECT count(*) FROM calls") == 5)
  }

  @Test("says the same from summaries as from bodies", arguments: 0..<40)
  func summaryAgainstBody(seed: Int) throws {
    let folder = try TemporaryFolder()
    try writeLog(.random(seed: UInt64(seed), isReadable: true), "a.jsonl.gz", in: folder)
    try writeLog(.everything(seed), "b.jsonl.gz", in: folder)
    let (summaries, _) = try refreshed(folder)
    // A summary leaves its calls out where a decision of the random log cannot be read.
    let isWhole = try summaries.rows("SELECT readFrom FROM runs ORDER BY path")
    #expect(isWhole.last == ["summary"])
    let quick = try summaries.dump(without: ["readFrom"])
    let (bodies, report) = try refreshed(folder, fromSummary: false)
    #expect(report.read == isWhole.count { $0 == ["summary"] })
    #expect(try bodies.rows("SELECT DISTINCT readFrom FROM runs") == [["body"]])
    #expect(try bodies.dump(without: ["readFrom"]) == quick)
  }

  @Test("says the same from summaries as from bodies of every fixture")
  func fixtures() throws {
    let folder = try TemporaryFolder()
    for path in ["Fixtures/runs", "Fixtures/torn"] {
      for file in Project.files(below: path) where file.contains(".jsonl.gz") {
        try folder.write(file, Data(contentsOf: URL(fileURLWithPath: Project.path(file))))
      }
    }
    let quick = try refreshed(folder).index.dump(without: ["readFrom"])
    let (bodies, report) = try refreshed(folder, fromSummary: false)
    #expect(report.logs > 20)
    #expect(try bodies.dump(without: ["readFrom"]) == quick)
  }

  @Test("adds up totals as a state does, with conversations side by side too", arguments: 0..<200)
  func totals(seed: Int) {
    var state = AgentState()
    var fold = TotalsFold()
    var random = SeededGenerator(seed: UInt64(seed))
    for var event in SampleRun.random(seed: UInt64(seed)).events {
      if event.type == .decision, seed % 2 == 1 {
        event.data["conversation"] = JSONValue(Int.random(in: 0..<3, using: &random))
      }
      state.apply(event)
      switch event.type {
      case .modelResult: fold.apply(modelResult: event.data)
      case .decision:
        fold.apply(try? DecisionPayload(decoding: event.data), of: event)
      case .toolStarted, .toolResult: fold.apply(toCall: event)
      default: break
      }
    }
    #expect(fold.totals == state.totals)
  }

  @Test("keeps what the first event says")
  func start() throws {
    let folder = try TemporaryFolder()
    try writeLog(.everything(3), "a.jsonl.gz", in: folder)
    var imported = SampleRun(
      goal: ["a": 1], time: nil, source: RunSource(format: "tau2", file: "x.json"))
    imported.add(.humanReplied, ["text": "hello"])
    try writeLog(imported, "b.jsonl.gz", in: folder)
    let (index, _) = try refreshed(folder)
    #expect(
      try index.rows(
        """
        SELECT runId, caseId, trial, agent, agentVersion, model, origin, goal, startedAt, steps,
          toolCalls, modelCalls, inputTokens, outputTokens, cost, allowed, denied, approvalRequired
        FROM runs WHERE path = 'a.jsonl.gz'
        """) == [
          [
            "run-3", "case-3", 2, "clerk", "3", "parrot-1", "recorded", "File the letter",
            "2026-03-01T09:00:00.500000Z", 0, 3, 1, 7, 3, 0.25, 1, 1, 1,
          ]
        ])
    #expect(
      try index.rows(
        """
        SELECT origin, goal, startedAt, stopReason, final, readFrom, elapsedMicroseconds FROM runs
        WHERE path = 'b.jsonl.gz'
        """) == [["tau2", #"{"a":1}"#, .null, .null, .null, "body", 10]])
    #expect(
      try index.rows("SELECT callId, caller, tool, status, verdict FROM calls ORDER BY n") == [
        ["1.1.0", "agent", "read", "ok", "allow"], ["1.1.1", "agent", "write", "error", .null],
        ["1.1.2", "agent", "drop", "refused", "deny"],
        ["1.1.3", "agent", "ask", .null, "approval_required"],
        ["1.1.4", "agent", "cut", "unknown", .null],
      ])
    #expect(try index.rows("SELECT tag FROM tags ORDER BY tag") == [["n3"], ["nightly"]])
  }

  @Test("holds money as its decimals add up, whatever doubles leave over")
  func money() throws {
    let folder = try TemporaryFolder()
    var run = SampleRun()
    for _ in 0..<3 {
      run.add(.modelResult, ["purpose": "decide", "attempt": 1, "cost": 0.1])
    }
    run.stop()
    try writeLog(run, "a.jsonl.gz", in: folder)
    let (index, _) = try refreshed(folder)
    #expect(try index.rows("SELECT cost FROM runs") == [[0.3]])
  }

  @Test("by several processes at once loses nothing, whatever stood in the index's place")
  func processes() async throws {
    let folder = try IndexFileTests.folder(logs: 700)
    let path = folder.path
    for round in 0..<TestRun.count(3, long: 20) {
      switch round % 3 {
      case 0: break
      case 1: try folder.write(".index.sqlite", "no database, but in the way of one")
      default: try folder.write(".index.sqlite", try folder.read(".index.sqlite").prefix(20_000))
      }
      // One that reads summaries, one that reads bodies, and two that come to look.
      try await withThrowingTaskGroup { group in
        for arguments in [
          ["index", path], ["index", path, "--no-summary"], ["list", path, "--json"],
          ["query", path, "SELECT count(*) AS n FROM runs", "--json"],
        ] {
          group.addTask { try await Binary.run(arguments) }
        }
        for try await outcome in group {
          if outcome.command.arguments.first == "query" {
            #expect(outcome.output == "{\"n\":700}\n")
          }
          if outcome.command.arguments.first == "list" { #expect(outcome.lines.count == 700) }
        }
      }
      let (index, report) = try refreshed(folder)
      #expect(report.read == 0)
      #expect(report.replaced == nil)
      let rows = try index.dump(without: ["readFrom"])
      try FileManager.default.removeItem(atPath: folder.path(".index.sqlite"))
      #expect(try refreshed(folder).index.dump(without: ["readFrom"]) == rows)
      try FileManager.default.removeItem(atPath: folder.path(".index.sqlite"))
      try refreshed(folder)
    }
  }
}
