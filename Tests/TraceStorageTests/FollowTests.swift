import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

@Suite("Following a log while it is written")
struct FollowTests {
  /// All lines that can be had now, and whether the log has ended.
  private static func drain(
    _ follower: inout LogFollower, into lines: inout [LogLine]
  ) throws -> Bool {
    while true {
      switch try follower.next() {
      case .line(let line): lines.append(line)
      case .nothingYet: return false
      case .ended: return true
      }
    }
  }

  private static func lines(_ path: String) throws -> [LogLine] {
    var reader = try LogReader(path: path)
    var lines: [LogLine] = []
    while let line = try reader.nextLine() { lines.append(line) }
    return lines
  }

  private static func seqs(_ lines: [LogLine]) -> [Int] {
    lines.compactMap { line in if case .event(let event) = line { event.seq } else { nil } }
  }

  @Test(
    "each event is seen once it is appended, across blocks, checkpoints and the closing",
    arguments: 30...34 as ClosedRange<UInt64>)
  func eachEvent(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    var generator = Seeded(seed: seed)
    let writer = try LogWriter(
      creating: path,
      options: .init(
        blockBytes: [300, 3000, 30_000].randomElement(using: &generator) ?? 300,
        checkpointBytes: 9000, durability: .none))
    // Before the first byte of the first block.
    var follower = try LogFollower(path: path)
    #expect(try follower.next() == .nothingYet)
    #expect(follower.isHeld)
    var seen: [LogLine] = []
    for (index, event) in lawfulRun(seed: seed, count: 60).enumerated() {
      try writer.append(event, isEffectAhead: false)
      guard Int.random(in: 0..<3, using: &generator) > 0 else { continue }
      #expect(try !Self.drain(&follower, into: &seen))
      #expect(Self.seqs(seen) == Array(0...index))
      #expect(try follower.next() == .nothingYet)
    }
    // The last event is a final stop, but its writer still holds the log.
    #expect(try !Self.drain(&follower, into: &seen))
    _ = try writer.close()
    #expect(try Self.drain(&follower, into: &seen))
    #expect(try follower.next() == .ended)
    #expect(follower.ending == .closed)
    #expect(try seen == Self.lines(path))
  }

  @Test("a file that grows byte by byte gives each line when its last byte is there")
  func eachByte() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    try writeLog(
      DamageTests.smallRun(), to: path,
      options: .init(blockBytes: 500, checkpointBytes: 2200, durability: .none))
    let bytes = Array(try Data(contentsOf: URL(filePath: path)))
    let growing = folder.file("b.jsonl.gz")
    try Data().write(to: URL(filePath: growing + ".open"))
    let file = try #require(FileHandle(forWritingAtPath: growing + ".open"))
    var follower = try LogFollower(path: growing)
    var seen: [LogLine] = []
    // Reading on at a sample of lengths; at every one in a long run.
    let stride = isLongRun ? 1 : 7
    for length in 1...bytes.count {
      try file.write(contentsOf: bytes[(length - 1)..<length])
      guard length % stride == 0 || bytes.count - length < 60 else { continue }
      let isOver = try Self.drain(&follower, into: &seen)
      let expected = DamageTests.wholeLines(Array(bytes[..<length])).count
      #expect(seen.count == expected, "\(length) bytes")
      // Nobody holds this file, so its final stop is enough to end with.
      let hasStop = seen.contains { line in
        if case .event(let event) = line { event.type == .stop } else { false }
      }
      #expect(isOver == hasStop)
    }
    #expect(try seen == Self.lines(path))
  }

  @Test("what another writer goes on with behind a torn end is seen, and nothing twice")
  func resumed() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let options = LogWriter.Options(blockBytes: 2000, checkpointBytes: 6000, durability: .none)
    var generator = Seeded(seed: 40)
    var events = lawfulRun(seed: 40, count: 30, endsWithStop: false)
    do {
      let writer = try LogWriter(creating: path, options: options)
      for event in events { try writer.append(event, isEffectAhead: false) }
    }
    var follower = try LogFollower(path: path)
    var seen: [LogLine] = []
    #expect(try !Self.drain(&follower, into: &seen))
    #expect(!follower.isHeld)
    for _ in 0..<20 {
      let size = try Data(contentsOf: URL(filePath: path + ".open")).count
      // The last bytes of the last flush are lost with the machine: its marker, not its event.
      let end = try #require(FileHandle(forWritingAtPath: path + ".open"))
      try end.truncate(atOffset: UInt64(size - Int.random(in: 0...3, using: &generator)))
      _ = try Self.drain(&follower, into: &seen)
      let (writer, reopened) = try LogWriter.reopening(path, options: options)
      _ = try Self.drain(&follower, into: &seen)
      for seq in reopened.nextSeq..<(reopened.nextSeq + 3) {
        let event = WriterTests.event(seq, ["text": .string("again \(seq)")])
        if seq < events.count { events[seq] = event } else { events.append(event) }
        try writer.append(event, isEffectAhead: false)
        _ = try Self.drain(&follower, into: &seen)
      }
    }
    #expect(Self.seqs(seen) == Array(0..<events.count))
    #expect(try Self.seqs(Self.lines(path)) == Array(0..<events.count))
  }

  @Test("a pause that is closed is an end; a run that goes on behind it before one looks is not")
  func paused() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    func stop(_ seq: Int, isFinal: Bool) -> Event {
      Event(
        seq: seq, step: 0, type: .stop, runId: "run-1", t: seq * 1_000,
        data: Stop(reason: .blocked, isFinal: isFinal).encoded)
    }
    let first = try LogWriter(creating: path)
    var (patient, quick) = (try LogFollower(path: path), try LogFollower(path: path))
    var (lines, all): ([LogLine], [LogLine]) = ([], [])
    try first.append(WriterTests.event(0), isEffectAhead: false)
    try first.append(stop(1, isFinal: false), isEffectAhead: false)
    #expect(try !Self.drain(&quick, into: &lines))
    _ = try first.close()
    #expect(try Self.drain(&quick, into: &lines))
    let (writer, _) = try LogWriter.reopening(path)
    try writer.append(WriterTests.event(2), isEffectAhead: false)
    try writer.append(stop(3, isFinal: true), isEffectAhead: false)
    #expect(try !Self.drain(&patient, into: &all))
    _ = try writer.close()
    #expect(try Self.drain(&patient, into: &all))
    #expect(Self.seqs(lines) == [0, 1])
    #expect(try all == Self.lines(path))
  }

  /// What may become of a file that is followed.
  enum Fate: CaseIterable {
    case removed, moved, replaced, emptied, cut
  }

  @Test(
    "a file that goes, is replaced or shrinks ends it, and says how much was read",
    arguments: Fate.allCases)
  func fate(_ fate: Fate) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    // Many blocks, so that what is cut off held lines.
    let options = LogWriter.Options(blockBytes: 300, checkpointBytes: 9000, durability: .none)
    do {
      let writer = try LogWriter(creating: path, options: options)
      for event in lawfulRun(seed: 43, count: 20, endsWithStop: false) {
        try writer.append(event, isEffectAhead: false)
      }
    }
    let name = path + ".open"
    var follower = try LogFollower(path: path)
    var seen: [LogLine] = []
    #expect(try !Self.drain(&follower, into: &seen))
    #expect(Self.seqs(seen) == Array(0..<20))
    let bytes = Array(try Data(contentsOf: URL(filePath: name)))
    let expected: LogError.Code
    switch fate {
    case .removed:
      try FileManager.default.removeItem(atPath: name)
      expected = .fileGone
    case .moved:
      try FileManager.default.moveItem(atPath: name, toPath: folder.file("b.jsonl.gz.open"))
      expected = .fileGone
    case .replaced:
      // Kept under another name, so that the new one cannot get its number.
      try FileManager.default.moveItem(atPath: name, toPath: folder.file("b.jsonl.gz.open"))
      try Data(bytes).write(to: URL(filePath: name))
      expected = .fileReplaced
    case .emptied, .cut:
      let file = try #require(FileHandle(forWritingAtPath: name))
      try file.truncate(atOffset: fate == .cut ? UInt64(bytes.count / 2) : 0)
      expected = .fileShrank
    }
    let error = #expect(throws: LogError.self) {
      for _ in 0..<20 { _ = try Self.drain(&follower, into: &seen) }
    }
    #expect(error?.code == expected && error?.intactEvents == 20, "\(String(describing: error))")
    #expect(error?.description.contains("20 events were read before") == true)
    #expect(Self.seqs(seen) == Array(0..<20))
  }

  @Test("damage ends it with its place")
  func damage() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    try writeLog(lawfulRun(seed: 41, count: 40), to: path, options: RepairTests.options)
    let starts = try DamageTests.memberStarts(path)
    var bytes = Array(try Data(contentsOf: URL(filePath: path)))
    bytes[starts[2] + 50] ^= 1
    try Data(bytes).write(to: URL(filePath: path))
    var follower = try LogFollower(path: path)
    let error = #expect(throws: LogError.self) {
      var lines: [LogLine] = []
      for _ in 0..<20 { _ = try Self.drain(&follower, into: &lines) }
    }
    #expect(error?.block == 2 && error?.offset == starts[2])
    // A log with its plain name that lacks its end is damaged, not unfinished.
    try Data(bytes[..<starts[1]]).write(to: URL(filePath: path))
    var torn = try LogFollower(path: path)
    let cut = #expect(throws: LogError.self) { while try torn.next() != .ended {} }
    #expect(cut?.code == .noTrailer)
    #expect(throws: LogError.self) { try LogFollower(path: folder.file("nowhere.jsonl.gz")) }
  }
}
