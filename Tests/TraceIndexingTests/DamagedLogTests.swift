import AgentRuntime
import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceStorage

@testable import TraceIndexing

@Suite("Logs that cannot be read whole")
struct DamagedLogTests {
  @Test("are rows that say what is wrong")
  func faulty() throws {
    let folder = try TemporaryFolder()
    try writeLog(.everything(), "whole.jsonl.gz", in: folder)
    let bytes = try folder.read("whole.jsonl.gz")
    try folder.write("empty.jsonl.gz", [])
    try folder.write("noise.jsonl.gz", "not a log\n")
    try folder.write("cut.jsonl.gz", bytes.dropLast(60))
    try folder.write("torn.jsonl.gz.open", bytes.prefix(400))
    try folder.write("more.jsonl.gz", bytes + [0])
    try folder.write("folder.jsonl.gz/x", "")
    try folder.link("nowhere.jsonl.gz", to: "gone")
    try folder.link("round.jsonl.gz", to: "round.jsonl.gz")
    try folder.link("device.jsonl.gz", to: "/dev/zero")
    #expect(mkfifo(folder.path("pipe.jsonl.gz"), 0o600) == 0)
    let (index, report) = try refreshed(folder)
    let rows = try index.rows("SELECT path, status, error FROM runs ORDER BY path")
    let statuses = Dictionary(
      uniqueKeysWithValues: rows.map { ($0[0].stringValue ?? "", $0[1].stringValue ?? "") })
    #expect(
      statuses == [
        "whole.jsonl.gz": "closed", "empty.jsonl.gz": "damaged", "noise.jsonl.gz": "damaged",
        "cut.jsonl.gz": "damaged", "torn.jsonl.gz.open": "torn", "more.jsonl.gz": "damaged",
        "nowhere.jsonl.gz": "unreadable", "round.jsonl.gz": "unreadable",
        "device.jsonl.gz": "unreadable", "pipe.jsonl.gz": "unreadable",
      ])
    #expect(report.faulty == 8)
    for row in rows where ["damaged", "unreadable"].contains(row[1].stringValue) {
      #expect(row[2].stringValue?.hasPrefix(row[0].stringValue ?? "?") == true)
    }
    #expect(
      try index.value("SELECT goal FROM runs WHERE path = 'cut.jsonl.gz'") == "File the letter")
  }

  @Test("cut anywhere, are a row, and the index lives")
  func cutAnywhere() throws {
    let folder = try TemporaryFolder()
    let bytes = try folder.read(
      String(
        try writeLog(.everything(), "whole.jsonl.gz", in: folder, blockBytes: 600)
          .dropFirst(folder.path.count + 1)))
    for length in stride(from: 0, to: bytes.count, by: TestRun.count(7, long: 1)) {
      try folder.write("\(length).jsonl.gz", bytes.prefix(length))
      try folder.write("\(length).jsonl.gz.open", bytes.prefix(length))
    }
    let (index, report) = try refreshed(folder)
    #expect(try index.value("SELECT count(*) FROM runs") == JSONValue(report.logs))
    #expect(
      try index.value(
        "SELECT count(*) FROM runs WHERE path LIKE '%.gz' AND status <> 'damaged'") == 1)
    #expect(
      try index.value(
        "SELECT count(*) FROM runs WHERE path LIKE '%.open' AND status NOT IN ('torn', 'unfinished')"
      ) == 0)
  }

  @Test("with one bit flipped, are found out when bodies are read")
  func flipped() throws {
    let folder = try TemporaryFolder()
    try writeLog(.everything(), "whole.jsonl.gz", in: folder, blockBytes: 600)
    let bytes = try folder.read("whole.jsonl.gz")
    var generator = Seeded(seed: 5)
    var names: [String] = []
    // Header bytes of later members and padding are for `verify`; text is for every reader.
    for _ in 0..<TestRun.count(40, long: 400) {
      let index = Int.random(in: 60..<200, using: &generator)
      var copy = bytes
      copy[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      names.append("\(names.count).jsonl.gz")
      try folder.write(names[names.count - 1], copy)
    }
    let (index, _) = try refreshed(folder, fromSummary: false)
    #expect(
      try index.value("SELECT count(*) FROM runs WHERE status = 'damaged'")
        == JSONValue(names.count))
  }

  @Test("whose summary is damaged, are read from their bodies")
  func damagedTail() throws {
    let folder = try TemporaryFolder()
    try writeLog(.everything(), "a.jsonl.gz", in: folder)
    var bytes = try folder.read("a.jsonl.gz")
    bytes[bytes.count - 60] ^= 1
    try folder.write("a.jsonl.gz", bytes)
    let (index, _) = try refreshed(folder)
    #expect(try index.rows("SELECT readFrom, status FROM runs") == [["body", "damaged"]])
    #expect(try index.value("SELECT count(*) FROM calls") == 5)
  }
}

@Suite("Logs that mean harm")
struct HostileLogTests {
  static let names = [
    "'; DROP TABLE runs; --", "\"); DELETE FROM calls; --", "a\u{0}b", "a\u{0}c", "\u{1b}[2J", "",
    "é", "e\u{301}", "\u{202e}gpj", "line\nbreak", "%s%n", String(repeating: "x", count: 5000),
    String(repeating: "x", count: 4999) + "y",
  ]

  @Test("put only values into the index: SQL, NUL and control characters in names stay names")
  func names() throws {
    let folder = try TemporaryFolder()
    for (number, name) in Self.names.enumerated() {
      var run = SampleRun(runId: name, caseId: name, agent: name, goal: .string(name), tags: [name])
      run.decide([("1.1.0", name), ("1.1.1", name)])
      run.result("1.1.0")
      run.stop(answer: name)
      try writeLog(run, "\(number).jsonl.gz", in: folder)
    }
    for fromSummary in [true, false] {
      let (index, report) = try refreshed(folder, fromSummary: fromSummary)
      #expect(report.faulty == 0)
      for (number, name) in Self.names.enumerated() {
        let row = try index.rows(
          """
          SELECT caseId, agent, answer, tool, tag, cast(tool AS BLOB) FROM runs
          JOIN calls USING (path) JOIN tags USING (path) WHERE path = '\(number).jsonl.gz'
          """)
        #expect(row.count == 2)
        #expect(row.first?[0] == .string(IndexText.name(name)))
        #expect(row.first?[1] == .string(IndexText.name(name)))
        #expect(row.first?[2] == .string(String(name.prefix(512))))
        #expect(row.first?[3] == .string(IndexText.name(name)))
        #expect(row.first?[4] == .string(IndexText.name(name)))
        #expect(row.first?[5] == .bytes(Array(IndexText.name(name).utf8)))
      }
      #expect(
        try index.value("SELECT count(DISTINCT tool) FROM calls") == JSONValue(Self.names.count))
    }
  }

  @Test("do not act on the terminal")
  func terminal() async throws {
    let folder = try TemporaryFolder()
    var run = SampleRun(runId: "r", caseId: "\u{1b}[2J\u{7}", agent: "\u{202e}x\ny")
    run.stop()
    try writeLog(run, "a\u{1b}[31m.jsonl.gz", in: folder)
    try folder.write("b\u{1b}[2J.jsonl.gz", "x")
    let list = try await Binary.run(["list", folder.path], status: 2)
    let query = try await Binary.run(
      ["query", folder.path, "SELECT path, caseId, agent, error AS \"\u{1b}[1m\" FROM runs"],
      status: 2)
    for outcome in [list, query] {
      let bytes = outcome.outputBytes + outcome.errorBytes
      #expect(!bytes.contains { $0 < 0x20 && $0 != 0x0a })
      #expect(!outcome.output.unicodeScalars.contains("\u{202e}"))
      #expect(outcome.output.contains("\\u{1b}[2J\\u{7}"))
    }
    #expect(list.lines.count == 3)
  }

  @Test("with a hundred thousand calls, and with more than are listed, take bounded room")
  func manyCalls() throws {
    let folder = try TemporaryFolder()
    var run = SampleRun(goal: .string(String(repeating: "g", count: 3_000_000)))
    for step in 1...100 {
      run.decide((0..<1000).map { ("\(step).1.\($0)", "tool\($0 % 3)") }, step: step)
      for index in 0..<1000 { run.result("\(step).1.\(index)", step: step) }
    }
    run.stop()
    try writeLog(run, "many.jsonl.gz", in: folder, blockBytes: 262_144)
    let (index, _) = try refreshed(folder)
    #expect(
      try index.rows("SELECT readFrom, toolCalls, steps, unlistedCalls, length(goal) FROM runs")
        == [["body", 100_000, 100, 0, 512]])
    #expect(try index.value("SELECT count(*) FROM calls WHERE status = 'ok'") == 100_000)

    var calls = CallList()
    let some = (0..<1000).map { ProposedCall(callId: "\($0)", name: "t", input: .null) }
    for seq in 0..<(CallList.limit / 1000 + 3) {
      let event = Event(seq: seq, step: seq, type: .decision, runId: "r", data: [:])
      calls.append(DecisionPayload(.tool(some)), of: event, SimulatedUser())
    }
    #expect(calls.count == CallList.limit)
    #expect(calls.unlisted == 3000)
  }

  @Test(
    "give no time that is none",
    arguments: [
      "yesterday", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00+01:00",
      "2026-01-01T00:00:00.Z\u{0}", "2026-01-01T00:00:00.1xZ", "", "9999999999Z",
      String(repeating: "2", count: 1000) + "Z",
    ])
  func badTime(_ text: String) { #expect(IndexText.instant(text) == nil) }

  @Test(
    "times of every length become comparable",
    arguments: [
      ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000Z"),
      ("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.500000Z"),
      ("2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.123456Z"),
    ])
  func time(_ text: String, _ expected: String) { #expect(IndexText.instant(text) == expected) }
}
