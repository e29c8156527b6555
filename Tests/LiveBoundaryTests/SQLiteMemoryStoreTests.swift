import AgentRuntime
import AgentTrace
import Foundation
import LiveBoundary
import TestSupport
import Testing

@Suite("Notes in a file")
struct SQLiteMemoryStoreTests {
  private static func address(_ key: String, _ owner: String = "o") -> MemoryAddress {
    MemoryAddress(scope: .agent, owner: owner, key: key)
  }

  @Test("whatever is written, the file holds what a dictionary would, also when it is opened again")
  func oracle() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("deep/er/memory.sqlite")
    var random = Seeded(seed: 4)
    // Words that only look the same are two, so that the key is their bytes.
    var kept: [[UInt8]: JSONValue] = [:]
    func place(_ address: MemoryAddress) -> [UInt8] {
      Array("\(address.scope) \(address.key) \(address.owner)".utf8)
    }
    var addresses: [MemoryAddress] = []
    var store = SQLiteMemoryStore(path: path)
    #expect(try store.value(at: Self.address("a")) == nil)
    #expect(folder.listing.isEmpty)
    for number in 0..<TestRun.count(200, long: 5_000) {
      let address = MemoryAddress(
        scope: .allCases.randomElement(using: &random) ?? .agent,
        owner: ["a", "A", "é", "e\u{301}", "", "a\u{0}", "a\u{0}b", "\u{0}"].randomElement(
          using: &random) ?? "",
        key: "k\(Int.random(in: 0...3, using: &random))")
      addresses.append(address)
      switch Int.random(in: 0..<8, using: &random) {
      case 0: store = SQLiteMemoryStore(path: path)
      case 1..<3:
        try store.write(MemoryWriting(address: address, value: nil, runId: "r", seq: number))
        kept[place(address)] = nil
      case 3..<6:
        let value: JSONValue = ["n": JSONValue(number), "t": "\u{0}\"'; DROP TABLE note --"]
        try store.write(MemoryWriting(address: address, value: value, runId: "r", seq: number))
        kept[place(address)] = value
      default: #expect(try store.value(at: address) == kept[place(address)])
      }
    }
    for address in addresses { #expect(try store.value(at: address) == kept[place(address)]) }
  }

  @Test("what was written for an event is not written for it again, nor for an earlier one")
  func idempotent() throws {
    let folder = try TemporaryFolder()
    let store = SQLiteMemoryStore(path: folder.path("m"))
    func write(_ value: JSONValue, _ run: String, _ seq: Int) throws {
      try store.write(
        MemoryWriting(address: Self.address("k"), value: value, runId: run, seq: seq))
    }
    try write(1, "a", 5)
    try write(2, "b", 2)
    try write(1, "a", 5)
    try write(0, "a", 4)
    #expect(try store.value(at: Self.address("k")) == 2)
    try write(3, "a", 6)
    #expect(try store.value(at: Self.address("k")) == 3)
  }

  @Test("readers and a writer do not wait for each other, and what is written is on the disk")
  func ahead() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("m")
    let writer = SQLiteMemoryStore(path: path)
    try writer.write(
      MemoryWriting(address: Self.address("k"), value: 1, runId: "r", seq: 0))
    // The versions for reading and writing in the header: 2 is a write-ahead log
    // (sqlite.org/fileformat2.html, 1.3).
    #expect(try Array(folder.read("m")[18...19]) == [2, 2])
    let reader = SQLiteMemoryStore(path: path)
    for seq in 1...20 {
      try writer.write(
        MemoryWriting(
          address: Self.address("k"), value: JSONValue(seq), runId: "r", seq: seq))
      #expect(try reader.value(at: Self.address("k")) == JSONValue(seq))
    }
  }

  @Test("whatever is looked for, the file finds what a store in memory finds, in the same order")
  func search() throws {
    let folder = try TemporaryFolder()
    let file = SQLiteMemoryStore(path: folder.path("m"))
    let memory = InMemoryStore()
    var random = Seeded(seed: 9)
    let words = [
      "nuts", "Nuts", "nut", "über", "UBER", "Straße", "naïve", "日本", "a", "42", "4.2", "it's",
      "\"q\"", "*", "NEAR", "AND", "x-y", "-", "", "e\u{301}t", "ß", "ﬁ", "OR", "text:",
    ]
    func text(_ count: Int) -> String {
      (0..<count).map { _ in words.randomElement(using: &random) ?? "" }.joined(separator: " ")
    }
    var finds = 0
    for number in 0..<TestRun.count(400, long: 4_000) {
      let scope = MemoryAddress.Scope.allCases.randomElement(using: &random) ?? .agent
      let owner = ["a", "b"].randomElement(using: &random) ?? ""
      if Int.random(in: 0..<3, using: &random) > 0 {
        var writing = MemoryWriting(
          address: MemoryAddress(
            scope: scope, owner: owner, key: "k\(Int.random(in: 0..<9, using: &random)) \(text(1))"),
          value: Int.random(in: 0..<6, using: &random) == 0
            ? nil : Bool.random(using: &random) ? .string(text(6)) : ["t": .string(text(3))],
          runId: "r", seq: number)
        writing.tags = Bool.random(using: &random) ? ["food"] : ["food", "travel"]
        writing.time = "2026-01-01T00:00:0\(Int.random(in: 0..<9, using: &random))Z"
        if Bool.random(using: &random) { writing.expires = "2026-01-02T00:00:00Z" }
        try file.write(writing)
        try memory.write(writing)
      } else {
        let search = MemorySearch(
          scope: scope, owner: owner, text: text(Int.random(in: 0...2, using: &random)),
          tag: [nil, "food", "travel", "no"].randomElement(using: &random) ?? nil,
          now: ["2026-01-01T12:00:00Z", "2026-01-03T00:00:00Z"].randomElement(using: &random),
          limit: Int.random(in: 1...5, using: &random))
        let found = try file.notes(for: search)
        #expect(found == memory.notes(for: search), "\(search)")
        finds += found.count
      }
    }
    #expect(finds > 50)
  }

  @Test("a file of the format before is taken over with its notes, and their words are found")
  func earlier() async throws {
    let folder = try TemporaryFolder()
    let script = """
      import sqlite3
      file = sqlite3.connect("m")
      file.executescript(\"\"\"
        CREATE TABLE note (scope TEXT NOT NULL, owner TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
          PRIMARY KEY (scope, owner, key)) WITHOUT ROWID;
        CREATE TABLE written (run TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO note VALUES ('agent', 'o', 'k', '"allergic to nuts"'), ('actor', 'p', 'l', '[1]');
        INSERT INTO written VALUES ('r', 7);
        PRAGMA application_id = 0x41456d6d;
        PRAGMA user_version = 1
      \"\"\")
      """
    try await Command(
      program: "/usr/bin/env", arguments: ["python3", "-c", script], folder: folder.path
    ).run(status: 0)
    let store = SQLiteMemoryStore(path: folder.path("m"))
    try store.check()
    #expect(try store.value(at: Self.address("k")) == "allergic to nuts")
    let found = try store.notes(for: MemorySearch(scope: .agent, owner: "o", text: "NUT allerg"))
    #expect(found.map(\.address.key) == ["k"] && found[0].keptAt == nil && found[0].tags == [])
    // What was written for an event before is not written again.
    try store.write(MemoryWriting(address: Self.address("k"), value: 1, runId: "r", seq: 7))
    #expect(try store.value(at: Self.address("k")) == "allergic to nuts")
    let again = SQLiteMemoryStore(path: folder.path("m"))
    #expect(
      try again.value(at: MemoryAddress(scope: .actor, owner: "p", key: "l")) == [1])
  }

  @Test("an owner has a thousand notes at most")
  func full() throws {
    let folder = try TemporaryFolder()
    let store = SQLiteMemoryStore(path: folder.path("m"))
    let one = MemoryWriting(address: Self.address("k0"), value: 1, runId: "r", seq: 0)
    for number in 0..<MemoryLimits.notes {
      var writing = one
      writing.address.key = "k\(number)"
      writing.seq = number
      try store.write(writing)
    }
    var more = one
    more.address.key = "more"
    more.seq = 5_000
    #expect(throws: MemoryFault.full) { try store.write(more) }
    more.address.owner = "other"
    try store.write(more)
    // What has run out takes nobody's place, once somebody needs it and knows the time.
    for store in [store as any MemoryStore, InMemoryStore()] {
      for number in 0..<MemoryLimits.notes {
        var writing = one
        writing.address.owner = "short"
        writing.address.key = "k\(number)"
        writing.runId = "short"
        writing.seq = number
        if number % 2 == 0 { writing.expires = "2026-01-01T00:00:00Z" }
        try store.write(writing)
      }
      var next = one
      next.address = Self.address("next", "short")
      next.runId = "next"
      for (seq, time) in [nil, "2025-12-31T23:59:59Z"].enumerated() {
        (next.seq, next.time) = (seq, time)
        #expect(throws: MemoryFault.full) { try store.write(next) }
      }
      (next.seq, next.time) = (9, "2026-01-01T00:00:00Z")
      try store.write(next)
      #expect(try store.value(at: next.address) == 1)
      #expect(try store.note(at: Self.address("k1", "short")) != nil)
      #expect(try store.note(at: Self.address("k2", "short")) == nil)
    }
    var again = one
    again.seq = 5_001
    again.value = 2
    try store.write(again)
    #expect(try store.value(at: one.address) == 2)
  }

  @Test(
    "a file that is none of ours, or damaged, is an error that says what to do, and stays as it is",
    arguments: [
      ("text", "it is no SQLite file"), ("other", "of another program"),
      ("newer", "its format is 3"),
      ("damaged", "it is damaged"), ("folder", "unable to open"),
    ])
  func unusable(kind: String, reason: String) async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("m.sqlite")
    switch kind {
    case "text": try folder.write("m.sqlite", String(repeating: "no database ", count: 1_000))
    case "folder": try folder.write("m.sqlite/x", "")
    default:
      let store = SQLiteMemoryStore(path: path)
      for number in 0..<50 {
        try store.write(
          MemoryWriting(
            address: Self.address("k\(number)"), value: .string(String(repeating: "x", count: 500)),
            runId: "r", seq: number))
      }
      var bytes = try folder.read("m.sqlite")
      if FileManager.default.fileExists(atPath: path + "-wal") { return }
      // The header: sqlite.org/fileformat2.html, 1.3.
      if kind == "other" { bytes.replaceSubrange(68..<72, with: [0, 0, 0, 9]) }
      if kind == "newer" { bytes.replaceSubrange(60..<64, with: [0, 0, 0, 3]) }
      if kind == "damaged" { for index in 4_096..<bytes.count { bytes[index] = 0x5a } }
      try folder.write("m.sqlite", bytes)
    }
    let before = try? folder.read("m.sqlite")
    let store = SQLiteMemoryStore(path: path)
    for work in [
      { try store.check() }, { _ = try store.value(at: Self.address("k1")) },
      { try store.write(MemoryWriting(address: Self.address("k1"), value: 1, runId: "z", seq: 1)) },
    ] as [() throws -> Void] {
      do {
        try work()
        Issue.record("\(kind): no error")
      } catch {
        let text = "\(error)"
        #expect(
          text.contains(path) && text.contains(reason) && text.contains("--memory"), "\(text)")
      }
    }
    #expect((try? folder.read("m.sqlite")) == before)
  }
}
