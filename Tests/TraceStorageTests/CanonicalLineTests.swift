import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

@Suite("Lines that say the same in another way")
struct CanonicalLineTests {
  private static let first = String(repeating: "first ", count: 50)
  private static let second = String(repeating: "second ", count: 50)

  private static func message(_ text: String) -> JSONValue {
    ["role": "user", "content": [["type": "text", "text": .string(text)]]]
  }

  /// Events with a text that is said again, one that an event has twice, and packets whose messages
  /// are in part those of an earlier one.
  private static let events: [Event] = {
    func packet(_ messages: [String]) -> JSONObject {
      ["prompt": ["messages": .array(messages.map(message))]]
    }
    let data: [(EventType, JSONObject)] = [
      (EventType(rawValue: "note"), ["text": .string(first)]),
      (EventType(rawValue: "note"), ["texts": [.string(second), .string(second)]]),
      (
        EventType(rawValue: "note"),
        ["a": .string(first), "b": .string(second), "~/\"": .string(second)]
      ),
      (.contextBuilt, packet(["one", "two", "three", "two"])),
      (.contextBuilt, packet(["one", "two", "four", "three", first, "four"])),
      (.contextBuilt, packet(["two", "three", "five", first])),
      (EventType(rawValue: "note"), ["b": .string(second)]),
    ]
    return data.enumerated().map { seq, data in
      Event(seq: seq, step: 0, type: data.0, runId: "r", t: 0, data: data.1)
    }
  }()

  /// The events' lines, each changed by a function of its own.
  private static func lines(
    changing seq: Int? = nil, _ change: (String) -> String = { $0 }
  ) -> [[UInt8]] {
    var saidOnce = SaidOnce()
    return events.map { event in
      let line = saidOnce.encode(event)
      defer { saidOnce.commit(line) }
      guard event.seq == seq else { return line.bytes }
      return Array(change(String(decoding: line.bytes, as: UTF8.self)).utf8)
    }
  }

  private static func findings(
    in lines: [[UInt8]], keys: KeySet = KeySet(), searchLimit: Int = 4
  ) throws -> [VerifyReport.Finding] {
    let folder = try TemporaryFolder()
    var workshop = Workshop()
    workshop.blocks = [.init(firstSeq: 0, lines: lines, seal: [])]
    workshop.nextSeq = lines.count
    let path = folder.file("a.jsonl.gz.open")
    try workshop.write(to: path, sealing: true, hasTrailer: false)
    return LogVerifier.verify(
      path: path, expectedDigest: nil, keys: keys, searchLimit: searchLimit
    ).findings.filter { $0.message.contains("canonical") }
  }

  /// A line that means the same, or that a reader takes for the same.
  struct Change: Sendable, CustomTestStringConvertible {
    var name: String
    var seq: Int
    var from: String
    var to: String

    var testDescription: String { name }
  }

  private static let changes: [Change] = [
    Change(name: "a text said again", seq: 2, from: #"{"$same":"0/text"}"#, to: "\"\(first)\""),
    Change(
      name: "the second place of a text that an event has twice", seq: 2,
      from: #""b":{"$same":"1/texts/0"}"#, to: #""b":{"$same":"1/texts/1"}"#),
    Change(
      name: "the same much later", seq: 6, from: #"{"$same":"1/texts/0"}"#,
      to: #"{"$same":"1/texts/1"}"#),
    Change(
      name: "a reference with a needless escape", seq: 2, from: #"{"$same":"0/text"}"#,
      to: #"{"$same":"0\/text"}"#),
    Change(name: "a run in two", seq: 4, from: "[0,2]", to: "[0,1],[1,1]"),
    Change(
      name: "an item said again", seq: 5, from: "[1,2]",
      to: CanonicalJSON.string(message("two")) + ",[2,1]"),
    Change(
      name: "a number with a zero before it", seq: 4, from: "[0,2]", to: "[00,2]"),
    Change(
      name: "an item of the same packet said again", seq: 3, from: ",[1,1]",
      to: "," + CanonicalJSON.string(message("two"))),
    Change(
      name: "a literal text in an item", seq: 4, from: #"{"$same":"0/text"}"#, to: "\"\(first)\""),
  ]

  @Test("a log of other lines is whole; each other way to write one is found", arguments: changes)
  func found(_ change: Change) throws {
    #expect(try Self.findings(in: Self.lines()).isEmpty)
    let altered = Self.lines(changing: change.seq) {
      let other = $0.replacing(change.from, with: change.to)
      #expect(other != $0)
      return other
    }
    let found = try Self.findings(in: altered)
    // Where numbers are no JSON, the line cannot be read at all.
    guard change.to != "[00,2]" else { return }
    #expect(found.first?.seq == change.seq, "\(found)")
  }

  @Test("keys that many texts share cost time, and no finding", arguments: 0..<6)
  func sharedKeys(seed: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    try writeLog(
      RandomRun.events(seed: UInt64(seed), count: 60), to: path,
      options: .init(blockBytes: 5_000, durability: .none))
    for bits in [UInt64.max, ~0b111] {
      let report = LogVerifier.verify(
        path: path, expectedDigest: nil, keys: KeySet(blurredBits: bits), searchLimit: .max)
      let plain = LogVerifier.verify(path: path)
      #expect(report.findings == plain.findings && report.status == plain.status)
      #expect(!plain.findings.contains { $0.message.contains("canonical") })
    }
    // And what is said twice is found then too.
    let altered = Self.lines(changing: 2) {
      $0.replacing(#"{"$same":"0/text"}"#, with: "\"\(Self.first)\"")
    }
    let found = try Self.findings(
      in: altered, keys: KeySet(blurredBits: .max), searchLimit: .max)
    #expect(found.map(\.seq) == [2])
  }

  @Test("a set of keys holds what was put in and nothing else")
  func keySet() {
    var generator = Seeded(seed: 3)
    var set = KeySet()
    var plain: Set<TextKey> = []
    func key() -> TextKey {
      TextKey(
        high: .random(in: 0 ... .max, using: &generator),
        middle: .random(in: 0 ... .max, using: &generator),
        low: .random(in: 0 ... .max, using: &generator))
    }
    for number in 0..<50_000 {
      let next = number % 5 == 0 ? plain.randomElement(using: &generator) ?? key() : key()
      #expect(set.contains(next) == plain.contains(next))
      let isNew = set.insert(next)
      #expect(isNew == plain.insert(next).inserted)
    }
    #expect(plain.allSatisfy(set.contains))
    #expect(!set.contains(TextKey(high: 0, middle: 0, low: 0)))
    set.insert(TextKey(high: 0, middle: 0, low: 0))
    #expect(set.contains(TextKey(high: 0, middle: 0, low: 0)))
  }
}
