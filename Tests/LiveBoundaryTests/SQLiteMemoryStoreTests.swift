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
      ("newer", "its format is 2"),
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
      if kind == "newer" { bytes.replaceSubrange(60..<64, with: [0, 0, 0, 2]) }
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
