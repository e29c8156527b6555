import AgentRuntime
import AgentTrace
import Foundation
import GRDB
import TestSupport
import Testing

@testable import TraceIndexing

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
    let foreign = {
      try FileManager.default.removeItem(atPath: path)
      let queue = try DatabaseQueue(path: path)
      try queue.write { try $0.execute(sql: "CREATE TABLE mine (x); INSERT INTO mine VALUES (1)") }
      try queue.close()
    }
    let change = { (sql: String) in
      let queue = try DatabaseQueue(path: path)
      try queue.write { try $0.execute(sql: sql) }
      try queue.close()
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
      let (index, report) = try refreshed(folder)
      if report.replaced != nil { #expect(try index.dump(without: volatile) == expected) }
    }
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
