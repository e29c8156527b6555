import AgentRuntime
import AgentTrace
import Foundation
import SQLite
import TestSupport
import Testing
import TraceJudging

@testable import TraceIndexing

extension TemporaryFolder {
  /// A record of a run of a suite of three cases.
  fileprivate func keepSuiteRun(_ number: Int) throws {
    var record = SuiteRecord(startedAt: "2026-03-01T09:00:\(10 + number)Z")
    record.commit = "c\(number)"
    record.cases = (0..<3).map {
      CaseRecord(caseId: "case-\($0)", outcome: number % 3 == $0 ? .fail : .pass)
    }
    try write("\(number).history.json", CanonicalJSON.string(record.json, form: .plain))
  }
}

@Suite("A file in the place of an index")
struct IndexFileTests {
  static func folder(logs: Int = 3) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    for number in 0..<logs { try writeLog(.everything(number), "\(number).jsonl.gz", in: folder) }
    return folder
  }

  /// Ways in which a file is no index.
  enum Intruder: CaseIterable {
    case noise, foreign, foreignWithJournal, cut, otherVersion, changedTables, trigger, folder, link
    case pipe
  }

  @Test("is moved aside with a note where it is no index of ours", arguments: Intruder.allCases)
  func intruder(_ intruder: Intruder) throws {
    let folder = try Self.folder()
    let expected = try refreshed(folder).index.dump()
    let path = folder.path(".index.sqlite")
    let change = { (sql: String) in try changeIndex(at: path, sql) }
    let foreign = {
      try FileManager.default.removeItem(atPath: path)
      try change("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)")
    }
    switch intruder {
    case .noise: try folder.write(".index.sqlite", Array(repeating: 0x41, count: 9000))
    case .foreign: try foreign()
    case .foreignWithJournal:
      try foreign()
      try folder.write(".index.sqlite-journal", "left by somebody")
      try folder.write(".index.sqlite-wal", "left by somebody")
    case .cut: try folder.write(".index.sqlite", try folder.read(".index.sqlite").prefix(5000))
    case .otherVersion: try change("PRAGMA user_version = 99")
    case .changedTables: try change("ALTER TABLE runs ADD COLUMN more TEXT")
    case .trigger:
      try change("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END")
    case .folder:
      try FileManager.default.removeItem(atPath: path)
      try folder.write(".index.sqlite/x", "y")
    case .link:
      try FileManager.default.moveItem(atPath: path, toPath: folder.path("elsewhere"))
      try folder.link(".index.sqlite", to: "elsewhere")
    case .pipe:
      try FileManager.default.removeItem(atPath: path)
      #expect(mkfifo(path, 0o600) == 0)
    }
    let (index, report) = try refreshed(folder)
    #expect(report.replaced != nil)
    #expect(FileManager.default.fileExists(atPath: path + ".replaced") || intruder == .pipe)
    #expect(try index.dump() == expected)
    #expect(try refreshed(folder).report.replaced == nil)
  }

  @Test("with bytes changed anywhere, never stops an indexer")
  func changedBytes() throws {
    let folder = try Self.folder(logs: 30)
    let volatile: Set = ["fingerprint", "modifiedAt"]
    let expected = try refreshed(folder).index.dump(without: volatile)
    let bytes = try folder.read(".index.sqlite")
    var generator = Seeded(seed: 9)
    for round in 0..<TestRun.count(60, long: 2000) {
      var copy = bytes
      // Anywhere, and often in the first page, which says what everything else is.
      let limit = round % 2 == 0 ? copy.count : 200
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        copy[Int.random(in: 0..<limit, using: &generator)] = UInt8.random(
          in: 0...255, using: &generator)
      }
      try folder.write(".index.sqlite", copy)
      // Something to write, too.
      try FileManager.default.setAttributes(
        [.modificationDate: Date()], ofItemAtPath: folder.path("\(round % 30).jsonl.gz"))
      let (index, _) = try refreshed(folder)
      #expect(try index.dump(without: volatile) == expected)
    }
  }

  /// Changes one bit of the index of a folder, and puts nothing beside it.
  static func flip(_ bytes: [UInt8], bit: Int, in folder: TemporaryFolder) throws {
    var copy = bytes
    copy[bit / 8] ^= 1 << (bit % 8)
    try folder.write(".index.sqlite", copy)
  }

  @Test("with one bit flipped is seen and built anew, wherever the bit stands")
  func flippedBits() throws {
    let folder = try Self.folder(logs: 30)
    for number in 0..<20 { try folder.keepSuiteRun(number) }
    let expected = try refreshed(folder).index.dump()
    let bytes = try folder.read(".index.sqlite")
    var generator = Seeded(seed: 19)
    for _ in 0..<TestRun.count(200, long: 2000) {
      let bit = Int.random(in: 0..<(bytes.count * 8), using: &generator)
      try Self.flip(bytes, bit: bit, in: folder)
      // Who only looks finds nothing to rest on.
      #expect(IndexedCases(folder: folder.path) == nil, "bit \(bit)")
      let (index, report) = try refreshed(folder)
      #expect(report.replaced != nil, "bit \(bit)")
      #expect(try index.dump() == expected, "bit \(bit)")
      #expect(try index.listed().count == 30)
      #expect(try index.history(HistoryFilter()).runs.count == 20)
    }
    let (_, report) = try refreshed(folder)
    #expect(report.replaced == nil && report.read == 0 && report.suiteRunsRead == 0)
  }

  @Test("with one bit flipped is listed, and its history told, as if nothing had been there")
  func flippedBitsInProgram() async throws {
    let folder = try Self.folder(logs: 30)
    for number in 0..<20 { try folder.keepSuiteRun(number) }
    let list = try await Binary.run(["list", folder.path, "--json"]).output
    let history = try await Binary.run(["history", "--dir", folder.path, "--json"]).output
    let bytes = try folder.read(".index.sqlite")
    var generator = Seeded(seed: 20)
    for _ in 0..<TestRun.count(8, long: 200) {
      let bit = Int.random(in: 0..<(bytes.count * 8), using: &generator)
      try Self.flip(bytes, bit: bit, in: folder)
      let listed = try await Binary.run(["list", folder.path, "--json"])
      #expect(listed.output == list && listed.errors.contains("made anew"), "bit \(bit)")
      try Self.flip(bytes, bit: bit, in: folder)
      let told = try await Binary.run(["history", "--dir", folder.path, "--json"])
      #expect(told.output == history && told.errors.contains("made anew"), "bit \(bit)")
    }
  }

  @Test("that went bad while it was open leaves no copy of it behind that cannot be asked")
  func copies() throws {
    let folder = try Self.folder(logs: 12)
    var index = try refreshed(folder).index
    let copy = index
    // Behind its back: nothing was read of these pages yet, and their sums were checked before.
    let size = try folder.read(".index.sqlite").count
    let file = try #require(FileHandle(forWritingAtPath: folder.path(".index.sqlite")))
    try file.seek(toOffset: 24)
    try file.write(contentsOf: Data([0xff, 0xff, 0xff, 0xff]))
    for place in stride(from: 4096, to: size, by: 4096) {
      try file.seek(toOffset: UInt64(place))
      try file.write(contentsOf: Data(repeating: 0xff, count: 4096))
    }
    try file.close()
    let report = try index.refresh()
    #expect(report.replaced != nil)
    #expect(try index.listed().count == 12)
    // What it says is no matter; it says it without ending the process.
    _ = try? copy.listed()
    _ = try? copy.history(HistoryFilter())
  }

  @Test("has a sum in each page, whatever wrote it, and in how many pieces")
  func sums() throws {
    let folder = try Self.folder(logs: 1)
    for round in 0..<12 {
      for number in 0..<10 {
        try writeLog(.everything(round * 10 + number), "\(round)-\(number).jsonl.gz", in: folder)
      }
      if round > 2 {
        for number in 0..<7 {
          try FileManager.default.removeItem(
            atPath: folder.path("\(round - 2)-\(number).jsonl.gz"))
        }
      }
      #expect(try refreshed(folder).report.replaced == nil)
      #expect(IndexedCases(folder: folder.path) != nil)
    }
    let expected = try refreshed(folder).index.dump()
    // A process that dies within a transaction leaves its journal, which the next one plays back.
    let whole = try folder.read(".index.sqlite")
    do {
      let connection = try Connection(
        path: folder.path(".index.sqlite"), for: .writing, busySeconds: 0)
      try connection.execute(
        "PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE calls SET tool = 'x'", to: "change half")
      try folder.write("journal", try folder.read(".index.sqlite-journal"))
      try folder.write("half", try folder.read(".index.sqlite"))
      try connection.execute("ROLLBACK", to: "change nothing")
    }
    #expect(try folder.read("half") != whole)
    try folder.write(".index.sqlite", try folder.read("half"))
    try folder.write(".index.sqlite-journal", try folder.read("journal"))
    let (index, report) = try refreshed(folder)
    #expect(report.replaced == nil)
    #expect(try index.dump() == expected)
  }

  @Test("may be gone at any time: the rows are the same again")
  func rebuilt() throws {
    let folder = try Self.folder(logs: 12)
    // First in pieces, so that rows have a past.
    try FileManager.default.moveItem(
      atPath: folder.path("3.jsonl.gz"), toPath: folder.path("3.aside"))
    try refreshed(folder)
    try FileManager.default.moveItem(
      atPath: folder.path("3.aside"), toPath: folder.path("3.jsonl.gz"))
    try FileManager.default.removeItem(atPath: folder.path("5.jsonl.gz"))
    try writeLog(.everything(100), "deeper/down/7.jsonl.gz", in: folder)
    let (before, report) = try refreshed(folder)
    #expect(report.read == 2)
    #expect(report.removed == 1)
    let rows = try before.dump()
    try FileManager.default.removeItem(atPath: folder.path(".index.sqlite"))
    let (after, again) = try refreshed(folder)
    #expect(again.read == 12)
    #expect(try after.dump() == rows)
  }

  @Test("is none where there is no such folder")
  func noFolder() async throws {
    let folder = try TemporaryFolder()
    try folder.write("file", "x")
    for name in ["gone", "file"] {
      for verb in ["index", "list"] {
        let outcome = try await Binary.run([verb, folder.path(name)], status: 2)
        #expect(outcome.errors.contains(folder.path(name)))
      }
    }
  }
}
