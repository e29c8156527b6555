import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

@Suite("How much the lines of a log may come to for the bytes of its file")
struct LogVolumeTests {
  /// As for every log, but so small that kilobytes meet them.
  static let small = LogVolume.Limits(textBytes: 32 << 10, values: 1_000, uncountedBytes: 1 << 10)

  /// What compresses to next to nothing.
  enum Kind: CaseIterable, Sendable {
    case zeros, objects, deep, results, text, escapes, numbers

    /// About 20 kB of JSON, other than that of any other event.
    func value(_ seq: Int) -> JSONValue {
      switch self {
      case .zeros: .array(Array(repeating: JSONValue(0), count: 10_000))
      case .objects: .array(Array(repeating: ["a": JSONValue(seq)], count: 2_500))
      case .deep:
        .array(
          Array(
            repeating: (0..<30).reduce(JSONValue.array([])) { inner, _ in .array([inner]) },
            count: 330))
      case .results:
        .array(
          Array(
            repeating: ["line": JSONValue(seq), "path": "src/a.swift", "text": "let a = 1"],
            count: 400))
      case .text: .string("\(seq)" + String(repeating: "a", count: 20_000))
      case .escapes: .string("\(seq)" + String(repeating: "\n", count: 10_000))
      case .numbers: .array(Array(repeating: JSONValue(111_111_111), count: 2_000))
      }
    }
  }

  static func event(_ seq: Int, _ kind: Kind) -> Event {
    Event(
      seq: seq, step: 1, type: EventType(rawValue: "tidings"), runId: "run-1", t: seq * 1_000,
      data: ["x": kind.value(seq)])
  }

  static func resumed(_ seq: Int) -> Event {
    Event(
      seq: seq, step: 1, type: .runResumed, runId: "run-1", t: seq * 1_000,
      data: RunResumed(why: "torn").encoded)
  }

  static func events(_ kind: Kind, count: Int = 24) -> [Event] {
    RandomRun.events(seed: 50, count: 1, endsWithStop: false)
      + (1..<count).map { event($0, kind) }
  }

  static func size(_ path: String) throws -> Int { try Data(contentsOf: URL(filePath: path)).count }

  /// Whether each reader takes a log, and finds these events in it.
  static func check(_ path: String, holds events: [Event]) throws {
    let report = LogVerifier.verify(path: path)
    #expect(report.status == .whole && report.findings.isEmpty, "\(report.findings)")
    #expect(report.events == events.count)
    #expect(try readEvents(path) == events)
    var scan = try LogReader(path: path)
    while try scan.advance() != nil {}
    #expect(scan.nextSeq == events.count)
    var late = try LogReader(path: path, startingAtCheckpointBefore: events.count - 1)
    while try late.next() != nil {}
    #expect(late.nextSeq == events.count)
    let repaired = try LogRepair.repair(path)
    #expect(repaired.events == events.count && repaired.gaps.isEmpty && repaired.damage.isEmpty)
    #expect(try readEvents(repaired.output) == events)
    try FileManager.default.removeItem(atPath: repaired.output)
  }

  @Test("whatever a writer writes, every reader takes", arguments: Kind.allCases)
  func everyReader(_ kind: Kind) throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let events = Self.events(kind)
    try writeLog(events, to: folder.file("plain.jsonl.gz"))
    for (number, options) in [
      LogWriter.Options(blockBytes: 3_000, checkpointBytes: 90_000, durability: .none),
      LogWriter.Options(blockBytes: 100_000, durability: .none, flushesEachEvent: false),
      LogWriter.Options(level: 9, durability: .none),
    ].enumerated() {
      let path = folder.file("\(number).jsonl.gz")
      try LogVolume.$limits.withValue(Self.small) {
        try writeLog(events, to: path, options: options)
        try Self.check(path, holds: events)
      }
      // Some of its blocks are not compressed, and most are.
      #expect(try Self.size(path) > Self.size(folder.file("plain.jsonl.gz")))
      #expect(try Self.size(path) < 20_000 * events.count)
    }
  }

  @Test("a log that goes on, torn or closed, keeps to it as one that was never left")
  func goesOn() throws {
    for kind in Kind.allCases {
      try LogVolume.$limits.withValue(Self.small) { try goesOn(kind) }
    }
  }

  private func goesOn(_ kind: Kind) throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let options = LogWriter.Options(
      blockBytes: 50_000, checkpointBytes: 200_000, durability: .none)
    var events = Self.events(kind, count: 5)
    do {
      let writer = try LogWriter(creating: path, options: options)
      for event in events { try writer.append(event, isEffectAhead: false) }
    }
    var follower = try LogFollower(path: path)
    var seen: [Int] = []
    for round in 0..<5 {
      // The last bytes of the last flush are lost with the machine: of its marker, not of its event.
      let size = try Self.size(path + ".open")
      let end = try #require(FileHandle(forWritingAtPath: path + ".open"))
      try end.truncate(atOffset: UInt64(size - round % 4))
      let (writer, reopened) = try LogWriter.reopening(path, options: options)
      for seq in reopened.nextSeq..<(reopened.nextSeq + 4) {
        let event = seq == reopened.nextSeq ? Self.resumed(seq) : Self.event(seq, kind)
        if seq < events.count { events[seq] = event } else { events.append(event) }
        try writer.append(event, isEffectAhead: false)
        try Self.drain(&follower, into: &seen)
      }
    }
    for _ in 0..<2 {
      let (writer, reopened) = try LogWriter.reopening(path, options: options)
      #expect(reopened.nextSeq == events.count)
      for event in [Self.resumed(events.count), Self.event(events.count + 1, kind)] {
        try writer.append(event, isEffectAhead: false)
        events.append(event)
      }
      _ = try writer.close()
    }
    try Self.drain(&follower, into: &seen)
    #expect(seen == Array(0..<events.count), "\(kind)")
    try Self.check(path, holds: events)
  }

  private static func drain(_ follower: inout LogFollower, into seen: inout [Int]) throws {
    while case .line(let line) = try follower.next() {
      if case .event(let event) = line { seen.append(event.seq) }
    }
  }

  @Test("a log that comes to more is read no further, and its beginning is kept")
  func hostile() throws {
    for kind in Kind.allCases {
      let folder = try TraceStorageTests.TemporaryFolder()
      let path = folder.file("a.jsonl.gz")
      let events = Self.events(kind)
      try writeLog(events, to: path, options: .init(blockBytes: 50_000, durability: .none))
      try LogVolume.$limits.withValue(Self.small) {
        let error = #expect(throws: LogError.self) { try readEvents(path) }
        #expect(error?.isDamage == true && error?.endsReading == true, "\(kind)")
        var reader = try LogReader(path: path, options: .init(skipsDamaged: true))
        var read: [Event] = []
        while let event = try reader.next() { read.append(event) }
        #expect(read.count < 20 && read == Array(events.prefix(read.count)), "\(kind)")
        #expect(reader.damage.count == 1 && reader.damage.first?.code == error?.code)
        #expect(reader.ending == nil)
        let report = LogVerifier.verify(path: path)
        #expect(report.status == .damaged || report.status == .unreadable)
        #expect(report.findings.contains { $0.message.contains("nothing behind this is read") })
      }
      // By the limits of every log it is in order.
      #expect(LogVerifier.verify(path: path).status == .whole)
    }
  }

  /// Headers one close behind the other, each of which begins a member that reaches to the end of the file.
  static func nestedMembers(_ count: Int, textBytes: Int) throws -> [UInt8] {
    var log = try ForgedLog()
    log.addBlock([ForgedLog.line(0, #"{"text":"a"}"#)], events: 1)
    let header = MemberHeader(firstSeq: 1, previousLength: 0, previousCRC: 0).encoded
    var bytes = log.bytes + header
    for _ in 0..<count {
      let length = UInt16(header.count)
      bytes.append(0)
      bytes.appendLittleEndian(length)
      bytes.appendLittleEndian(~length)
      bytes += header
    }
    let deflater = try #require(Deflater(level: 9))
    deflater.deflate([UInt8](repeating: 0x20, count: textBytes), flush: .sync, into: &bytes)
    return bytes
  }

  @Test("of members that cannot be read no more is gone through than of those that can")
  func nested() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    try Data(Self.nestedMembers(300, textBytes: 60_000)).write(to: URL(filePath: path))
    try LogVolume.$limits.withValue(Self.small) {
      var reader = try LogReader(path: path, options: .init(skipsDamaged: true))
      var read = 0
      while try reader.next() != nil { read += 1 }
      #expect(read == 1)
      #expect((3..<60).contains(reader.damage.count))
      #expect(reader.damage.last?.endsReading == true)
      #expect(LogVerifier.verify(path: path).status == .damaged)
    }
    // Where it is not too much, each is looked into.
    var reader = try LogReader(path: path, options: .init(skipsDamaged: true))
    while try reader.next() != nil {}
    #expect(reader.damage.count > 250)
  }

  @Test("a stream that compresses nothing is one that inflates to its text")
  func storedStream() throws {
    var generator = Seeded(seed: 51)
    let text = (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
    for count in [0, 1, 65_535, 65_536, 200_000] {
      var stream: [UInt8] = []
      StoredStream.append(Array(text[..<count]), flush: .sync, to: &stream)
      #expect(stream.suffix(4) == [0, 0, 255, 255])
      StoredStream.append([7], flush: .finish, to: &stream)
      let inflater = try #require(Inflater())
      var room = [UInt8](repeating: 0, count: count + 10)
      let written = stream.withUnsafeBufferPointer { input in
        room.withUnsafeMutableBufferPointer { inflater.inflate(input, into: $0).written }
      }
      #expect(Array(room[..<written]) == Array(text[..<count]) + [7])
    }
  }
}
