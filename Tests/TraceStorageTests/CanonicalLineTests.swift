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
    let numbers = (0..<20).map { "number \($0)" }
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
      (.contextBuilt, packet(numbers)),
      (.contextBuilt, packet(numbers + ["four", first])),
      (.contextBuilt, packet(numbers.dropFirst() + ["five"])),
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
    var deduplicator = Deduplicator()
    return events.map { event in
      let line = deduplicator.encode(event)
      defer { deduplicator.commit(line) }
      guard event.seq == seq else { return line.bytes }
      return Array(change(String(decoding: line.bytes, as: UTF8.self)).utf8)
    }
  }

  private static func findings(
    in lines: [[UInt8]]
  ) throws -> [VerifyReport.Finding] {
    let folder = try TemporaryFolder()
    var workshop = Workshop()
    workshop.blocks = [.init(firstSeq: 0, lines: lines, seal: [])]
    workshop.nextSeq = lines.count
    let path = folder.file("a.jsonl.gz.open")
    try workshop.write(to: path, sealing: true, hasTrailer: false)
    return LogVerifier.verify(path: path).findings.filter { $0.message.contains("canonical") }
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
    Change(
      name: "a reference with a needless escape", seq: 2, from: #"{"$same":"0/text"}"#,
      to: #"{"$same":"0\/text"}"#),
    Change(name: "white space", seq: 4, from: "[0,20]", to: "[0, 20]"),
    Change(
      name: "a needless escape in a text", seq: 0, from: "first first", to: "first\\u0020first"),
    Change(
      name: "keys out of order", seq: 1, from: #""texts":"#, to: #""z":1,"texts":"#),
    Change(
      name: "a number with a zero before it", seq: 4, from: "[0,20]", to: "[00,20]"),
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
    guard change.to != "[00,20]" else { return }
    #expect(found.first?.seq == change.seq, "\(found)")
  }
}
