import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

/// A random run whose events have the data that their types promise.
func lawfulRun(seed: UInt64, count: Int, endsWithStop: Bool = true) -> [Event] {
  RandomRun.events(seed: seed, count: count, endsWithStop: endsWithStop).map { event in
    var event = event
    if event.data["memoryRefs"]?.stringValue != nil { event.data["memoryRefs"] = [] }
    return event
  }
}

@Suite("Repairing a log")
struct RepairTests {
  static let options = LogWriter.Options(
    blockBytes: 3000, checkpointBytes: 9000, durability: .none)

  static func bytes(_ path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: path)))
  }

  /// Repairs a log and holds the new one against everything that is promised of it; returns the report.
  @discardableResult
  static func repair(
    _ path: String, events: [Event], options: LogWriter.Options = options
  ) throws -> RepairReport {
    let old = try? bytes(path)
    let report = try LogRepair.repair(path, options: options)
    #expect((try? bytes(path)) == old, "the old log was changed")
    try check(report, events: events, options: options)
    return report
  }

  /// - Parameter events: those of the whole log.
  static func check(
    _ report: RepairReport, events: [Event], options: LogWriter.Options = options
  ) throws {
    let verified = LogVerifier.verify(path: report.output, expectedDigest: report.sealDigest)
    #expect(verified.findings.isEmpty, "\(verified.findings)")
    #expect(verified.status == (report.isClosed ? .whole : .torn))
    #expect(verified.events == report.events)
    var reader = try LogReader(path: report.output, options: .init(checksLinks: true))
    var read: [Event] = []
    while let event = try reader.next() { read.append(event) }
    #expect(reader.holes == report.gaps.map { $0.first...$0.last })
    #expect(reader.damage.isEmpty)
    let missing = Set(report.gaps.flatMap { Array($0.first...$0.last) })
    #expect(Set(read.map(\.seq)).isDisjoint(with: missing))
    #expect(read.count + missing.count == reader.nextSeq)
    var lost = 0
    for event in read where event != events[event.seq] {
      let text = CanonicalJSON.string(.object(event.data))
      #expect(text.contains("$lost"), "event \(event.seq)")
      lost += 1
    }
    #expect((lost > 0) == (report.lostValues > 0) || report.lostValues > 0)
    try goOn(report, from: reader.nextSeq, options: options)
  }

  /// A writer goes on in the new log, and all seals are still in order.
  static func goOn(
    _ report: RepairReport, from nextSeq: Int, options: LogWriter.Options
  ) throws {
    let copy = report.output.replacing(".jsonl.gz", with: "-resumed.jsonl.gz")
    try bytes(report.output).withUnsafeBytes { try Data($0).write(to: URL(filePath: copy)) }
    defer { for end in ["", ".open"] { unlink(LogFormat.plainName(copy) + end) } }
    do {
      let (writer, reopened) = try LogWriter.reopening(copy, options: options)
      #expect(reopened.nextSeq == nextSeq)
      if !reopened.runIsOver {
        try writer.append(
          Event(
            seq: nextSeq, step: 0, type: .runResumed, runId: "run-1", t: nextSeq * 1_000,
            data: RunResumed(why: "repaired").encoded), isEffectAhead: false)
        try writer.append(
          Event(
            seq: nextSeq + 1, step: 0, type: .humanReplied, runId: "run-1",
            t: (nextSeq + 1) * 1_000,
            data: ["text": .string(String(repeating: "on and on ", count: 40))]),
          isEffectAhead: false)
      }
      let closed = try writer.close()
      let verified = LogVerifier.verify(
        path: closed.path, expectedDigest: closed.sealDigest)
      #expect(verified.status == .whole && verified.findings.isEmpty, "\(verified.findings)")
    } catch {
      // Nothing goes on behind a final stop.
      #expect(error.code == .runIsOver)
    }
  }

  @Test(
    "what one block lost becomes a gap, what only it had said is lost, all else stays",
    arguments: (isLongRun ? [21, 22, 23, 24, 25] : [21]) as [UInt64])
  func everyBlock(seed: UInt64) throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = lawfulRun(seed: seed, count: 60)
    try writeLog(events, to: path, options: Self.options)
    let whole = try Self.bytes(path)
    let starts = try DamageTests.memberStarts(path) + [whole.count]
    try #require(starts.count > 5)
    var sawLost = false
    for block in 0..<(starts.count - 1) {
      var copy = whole
      copy[(starts[block] + starts[block + 1]) / 2] ^= 0x10
      try Data(copy).write(to: URL(filePath: path))
      let report = try Self.repair(path, events: events)
      #expect(report.damage.first?.block == block)
      #expect(report.events + report.missingEvents == 60 || report.mayLackEnd)
      #expect(report.gaps.count <= 1)
      if let gap = report.gaps.first {
        #expect(gap.reason.hasPrefix("block \(block), byte \(starts[block]): "))
      }
      sawLost = sawLost || report.lostValues > 0
    }
    #expect(sawLost)
  }

  @Test("damage that costs no event leaves no gap")
  func nothingLost() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = lawfulRun(seed: 3, count: 30)
    try writeLog(events, to: path, options: Self.options)
    var bytes = try Self.bytes(path)
    // Stray bytes behind a member, and a trailer that is none.
    let starts = try DamageTests.memberStarts(path)
    bytes[bytes.count - 1] = 1
    bytes.insert(contentsOf: Array("stray".utf8), at: starts[1])
    try Data(bytes).write(to: URL(filePath: path))
    #expect(LogVerifier.verify(path: path).status == .damaged)
    let report = try Self.repair(path, events: events)
    #expect(report.gaps.isEmpty && report.lostValues == 0 && report.events == 30)
    #expect(report.isClosed && !report.mayLackEnd && report.damage.count >= 2)
  }

  @Test("a whole log is copied with its digest, for it is written in one way alone")
  func whole() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = lawfulRun(seed: 4, count: 40)
    let closed = try writeLog(events, to: path, options: Self.options)
    let report = try Self.repair(path, events: events)
    #expect(report.sealDigest == closed.sealDigest)
    #expect(try Self.bytes(report.output) == Self.bytes(path))
  }

  @Test("several holes, the first and the last block among them")
  func severalHoles() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = lawfulRun(seed: 5, count: 80)
    try writeLog(events, to: path, options: Self.options)
    var bytes = try Self.bytes(path)
    let starts = try DamageTests.memberStarts(path)
    let last = starts.count - 2
    try #require(last > 5)
    for block in [0, 2, 3, last] { bytes[starts[block] + 60] ^= 0xff }
    try Data(bytes).write(to: URL(filePath: path))
    let report = try Self.repair(path, events: events)
    #expect(report.gaps.count == 3)
    #expect(report.gaps.first?.first == 0)
    #expect(report.gaps.last?.last == 79)
    #expect(report.isClosed && !report.mayLackEnd)
    #expect(report.events + report.missingEvents == 80)
  }

  @Test("a repaired log that is damaged again keeps its old gaps beside the new ones")
  func repairedTwice() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = lawfulRun(seed: 6, count: 60)
    try writeLog(events, to: path, options: Self.options)
    var bytes = try Self.bytes(path)
    var starts = try DamageTests.memberStarts(path)
    bytes[starts[3] + 60] ^= 0xff
    try Data(bytes).write(to: URL(filePath: path))
    let first = try Self.repair(path, events: events)
    #expect(first.gaps.count == 1)
    let repaired = try Self.bytes(first.output)
    starts = try DamageTests.memberStarts(first.output)
    for block in stride(from: 0, to: starts.count - 1, by: isLongRun ? 1 : 4) {
      let again = folder.file("again.jsonl.gz")
      bytes = repaired
      bytes[starts[block] + 50] ^= 0xff
      try Data(bytes).write(to: URL(filePath: again))
      let second = try Self.repair(again, events: events)
      let missing = Set(second.gaps.flatMap { Array($0.first...$0.last) })
      #expect(missing.isSuperset(of: Array(first.gaps[0].first...first.gaps[0].last)))
      #expect(second.events + missing.count == 60)
    }
  }

  @Test("the torn end of an unfinished log is no gap")
  func torn() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz.open")
    let events = lawfulRun(seed: 7, count: 40)
    try writeLog(events, to: folder.file("a.jsonl.gz"), options: Self.options)
    let whole = try Self.bytes(folder.file("a.jsonl.gz"))
    unlink(folder.file("a.jsonl.gz"))
    for part in 0..<40 {
      let cut = whole.count * part / 40
      try Data(whole[..<cut]).write(to: URL(filePath: path))
      guard try !readEvents(path).isEmpty else {
        #expect(throws: LogError(.noEvents, path: path)) { try LogRepair.repair(path) }
        continue
      }
      let report = try Self.repair(path, events: events)
      #expect(report.gaps.isEmpty && report.damage.isEmpty && report.lostValues == 0)
      #expect(report.isClosed)
      #expect(report.output.hasSuffix(".jsonl.gz"))
    }
  }

  @Test("a log that was closed and is cut short now may lack its end, and says so")
  func cutShort() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = lawfulRun(seed: 8, count: 40)
    try writeLog(events, to: path, options: Self.options)
    let whole = try Self.bytes(path)
    let starts = try DamageTests.memberStarts(path)
    for cut in [starts[1], starts[2] - 3, starts[2] + 300, starts.last ?? 0, whole.count - 1] {
      try Data(whole[..<cut]).write(to: URL(filePath: path))
      let report = try Self.repair(path, events: events)
      #expect(report.gaps.isEmpty)
      #expect(report.mayLackEnd == (report.events < 40))
      #expect(report.isClosed)
    }
  }

  @Test("behind a pause nobody knows whether the run went on: the new log stays open")
  func cutBehindPause() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    var events = lawfulRun(seed: 9, count: 20, endsWithStop: false)
    events.append(
      Event(
        seq: 20, step: 5, type: .stop, runId: "run-1", t: 20 * 1_000,
        data: Stop(reason: .blocked, isFinal: false).encoded))
    try writeLog(events, to: path, options: Self.options)
    let (writer, _) = try LogWriter.reopening(path, options: Self.options)
    for seq in 21..<40 {
      events.append(WriterTests.event(seq))
      try writer.append(events[seq], isEffectAhead: false)
    }
    _ = try writer.close()
    let whole = try Self.bytes(path)
    let starts = try DamageTests.memberStarts(path)
    let resumed = try #require(
      starts.dropFirst().first { start in
        (try? MemberHeader(decoding: whole[start...]))?.firstSeq == 21
          && whole[start + 36] != Trailer.body[0]
      })
    try Data(whole[..<(resumed + 40)]).write(to: URL(filePath: path))
    let report = try Self.repair(path, events: events)
    #expect(report.mayLackEnd && !report.isClosed)
    #expect(report.output.hasSuffix(".jsonl.gz.open"))
  }

  @Test("nothing is ever replaced")
  func names() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    try writeLog(lawfulRun(seed: 10, count: 9), to: path)
    for name in ["a-repaired", "a-repaired-2", "a-repaired-3"] {
      #expect(try LogRepair.repair(path).output == folder.file("\(name).jsonl.gz"))
    }
    try Data().write(to: URL(filePath: folder.file("a-repaired-4.jsonl.gz.open")))
    #expect(try LogRepair.repair(path).output == folder.file("a-repaired-5.jsonl.gz"))
    let taken = #expect(throws: LogError.self) { try LogRepair.repair(path, to: path) }
    #expect(taken?.code == .exists)
    let name = #expect(throws: LogError.self) { try LogRepair.repair(path, to: folder.file("b")) }
    #expect(name?.code == .badName)
  }

  @Test("where nothing can be read, nothing is written", arguments: ["text", "\u{1f}\u{8b}", ""])
  func unreadable(content: String) throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    try Data((content + "no log at all, but long enough for a header").utf8)
      .write(to: URL(filePath: path))
    #expect(throws: LogError.self) { try LogRepair.repair(path) }
    #expect(throws: LogError.self) { try LogRepair.repair(folder.file("nowhere.jsonl.gz")) }
    #expect(throws: LogError.self) { try LogRepair.repair(folder.path) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.jsonl.gz"])
  }

  @Test("a log that somebody writes is not repaired")
  func held() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let writer = try LogWriter(creating: path)
    try writer.append(WriterTests.event(0), isEffectAhead: false)
    let error = #expect(throws: LogError.self) { try LogRepair.repair(path) }
    #expect(error?.code == .inUse(holder: Int(getpid())))
    try writer.append(WriterTests.event(1), isEffectAhead: false)
    _ = try writer.close()
    #expect(try LogRepair.repair(path).events == 2)
  }

  @Test("a line that cannot be read costs its event alone")
  func badLine() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    var log = try ForgedLog()
    log.addBlock(
      [
        ForgedLog.line(0, #"{"text":"a"}"#), ForgedLog.line(1, #"{"text":{"$same":"0/none"}}"#),
        ForgedLog.line(2, #"{"text":"c"}"#),
      ], events: 3)
    log.addTrailer()
    try log.write(to: path)
    let report = try LogRepair.repair(path)
    #expect(report.gaps.map { [$0.first, $0.last] } == [[1, 1]])
    #expect(LogVerifier.verify(path: report.output).status == .whole)
    #expect(try readEvents(path, options: .init(skipsDamaged: true)).map(\.seq) == [0, 2])
  }

  @Test("a context that takes over an item that is none is passed over with the one that said it")
  func takenOver() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let lists = [
      #"{"reason":"r","ref":"a"}"#, #"[0,1],{"reason":"r","ref":5}"#,
      #"[0,2],{"reason":"r","ref":"c"}"#, "[0,1],[2,1]",
    ]
    var log = try ForgedLog()
    log.addBlock(
      [ForgedLog.line(0, #"{"text":"a"}"#)]
        + lists.enumerated().map { index, list in
          ForgedLog.line(
            index + 1, #"{"included":{"$list":[\#(list)]},"runId":"r"}"#, type: "context_built")
        }, events: 5)
    log.addTrailer()
    try log.write(to: path)
    let report = try LogRepair.repair(path)
    #expect(report.gaps.map { [$0.first, $0.last] } == [[2, 3]])
    // By its place in the whole list, wherever it was said.
    #expect(report.gaps.first?.reason.contains("“included/1/ref” should be a string") == true)
    let verified = LogVerifier.verify(path: report.output)
    #expect(verified.status == .whole && verified.findings.isEmpty, "\(verified.findings)")
    let included = try readEvents(report.output).last?.data["included"]?.arrayValue ?? []
    #expect(included.map { $0["ref"]?.stringValue } == ["a", "c"])
  }

  @Test("of a file without an event nothing is written", arguments: [0, 10, 40])
  func noEvents(bytes: Int) throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    try writeLog(lawfulRun(seed: 12, count: 5), to: path)
    let beginning = try Self.bytes(path).prefix(bytes)
    unlink(path)
    for name in ["a.jsonl.gz.open", "a.jsonl.gz"] {
      try Data(beginning).write(to: URL(filePath: folder.file(name)))
      let error = #expect(throws: LogError.self) { try LogRepair.repair(folder.file(name)) }
      #expect(error?.description.isEmpty == false)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [name])
      unlink(folder.file(name))
    }
  }

  @Test("whatever the lines of a sealed log say, what is written of them verifies")
  func resealed() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    var sawGap = false
    for seed in 0..<UInt64(isLongRun ? 1_000 : 60) {
      var generator = Seeded(seed: seed)
      var events = lawfulRun(seed: seed, count: 30)
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        let place = Int.random(in: 0..<events.count, using: &generator)
        let nonsense: [JSONValue] = [.null, 5, "x", [], [:], true, [["id": 1]], ["reason": [7]]]
        let value = nonsense.randomElement(using: &generator) ?? .null
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: events[place].data = [:]
        case 1:
          let types: [EventType] = [.stop, .decision, .toolResult, .contextBuilt, .runStarted]
          events[place].type = types.randomElement(using: &generator) ?? .stop
        default:
          guard let key = events[place].data.keys.randomElement(using: &generator) else { continue }
          events[place].data[key] = value
        }
      }
      var log = try ForgedLog()
      for piece in stride(from: 0, to: events.count, by: 10) {
        let block = events[piece..<min(piece + 10, events.count)]
        log.addBlock(block.map { $0.encodedLine() }, events: block.count)
      }
      log.addTrailer()
      let path = folder.file("\(seed).jsonl.gz")
      try log.write(to: path)
      guard let report = try? LogRepair.repair(path) else { continue }
      let verified = LogVerifier.verify(path: report.output, expectedDigest: report.sealDigest)
      #expect(verified.findings.isEmpty, "seed \(seed): \(verified.findings)")
      #expect(report.events + report.missingEvents == 30)
      sawGap = sawGap || !report.gaps.isEmpty
    }
    #expect(sawGap)
  }

  @Test(
    "damage says how many events before it can be read: neither its own nor those that are missing")
  func intactEvents() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let bad = #"{"text":{"$same":"0/none"}}"#
    for count in 0..<4 {
      var log = try ForgedLog()
      let lines = (0...count).map { ForgedLog.line($0, $0 == count ? bad : #"{"text":"a"}"#) }
      log.addBlock(lines, events: lines.count)
      log.addTrailer()
      try log.write(to: path)
      let error = #expect(throws: LogError.self) { try readEvents(path) }
      #expect(error?.intactEvents == count)
      let text = ["", "; the event before it is intact", "; the 2 events before it are intact"]
      if count < 3 { #expect(error?.description.hasSuffix(text[count]) == true) }
    }
    // Behind a gap of three events.
    let writer = try LogWriter(creating: folder.file("b.jsonl.gz"), options: Self.options)
    try writer.append(WriterTests.event(0), isEffectAhead: false)
    try writer.appendGap(through: 3, reason: "x")
    try writer.append(WriterTests.event(4), isEffectAhead: false)
    _ = try writer.close()
    var bytes = try Self.bytes(folder.file("b.jsonl.gz"))
    bytes[bytes.count - 60] ^= 1
    try Data(bytes).write(to: URL(filePath: path))
    let error = #expect(throws: LogError.self) { try readEvents(path) }
    #expect((error?.intactEvents ?? 9) <= 2)
  }

  @Test("marks and keys of tomorrow are passed on")
  func unknown() throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    var log = try ForgedLog()
    let mark = #"{"mark":"omen","data":[{"$$cut":1}],"more":true}"#
    log.addBlock(
      [
        ForgedLog.line(0, #"{"text":"a"}"#), Array(mark.utf8),
        ForgedLog.line(1, #"{"b":1,"text":"b"}"#),
      ],
      events: 2)
    log.addTrailer()
    try log.write(to: path)
    let report = try LogRepair.repair(path)
    #expect(LogVerifier.verify(path: report.output).status == .whole)
    var reader = try LogReader(path: report.output)
    var marks: [Mark] = []
    while let line = try reader.nextLine() { if case .mark(let mark) = line { marks.append(mark) } }
    #expect(marks.first == Mark(name: "omen", data: [["$cut": 1]], extra: ["more": true]))
  }

  /// Gaps that `repair` would never write, by the lines of a second block behind event 0.
  static let falseGaps: [(name: String, lines: [String], firstSeq: Int)] = [
    ("begins too late", [#"{"mark":"gap","data":{"first":2,"last":4,"reason":"x"}}"#], 5),
    ("begins too early", [#"{"mark":"gap","data":{"first":0,"last":4,"reason":"x"}}"#], 5),
    ("ends before it begins", [#"{"mark":"gap","data":{"first":1,"last":0,"reason":"x"}}"#], 1),
    (
      "is shorter than the header says",
      [#"{"mark":"gap","data":{"first":1,"last":3,"reason":"x"}}"#], 5
    ),
    (
      "is longer than the header says",
      [#"{"mark":"gap","data":{"first":1,"last":5,"reason":"x"}}"#], 5
    ),
    ("has no end", [#"{"mark":"gap","data":{"first":1,"last":9007199254740992,"reason":"x"}}"#], 5),
    (
      "stands twice",
      Array(repeating: #"{"mark":"gap","data":{"first":1,"last":4,"reason":"x"}}"#, count: 2), 5
    ),
    (
      "stands behind an event",
      [
        #"{"seq":1,"step":0,"type":"human_replied","runId":"r","t":0,"data":{"text":"b"}}"#,
        #"{"mark":"gap","data":{"first":2,"last":4,"reason":"x"}}"#,
      ], 1
    ),
  ]

  @Test("only the gaps that are really there are accepted", arguments: falseGaps.indices)
  func falseGap(index: Int) throws {
    let folder = try TraceStorageTests.TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let forgery = Self.falseGaps[index]
    let deflater = try #require(Deflater(level: 6))
    var blocks = BlockWriter(deflater: deflater)
    blocks.open(firstSeq: 0)
    blocks.add(ForgedLog.line(0, #"{"text":"a"}"#))
    blocks.close(nextSeq: 1)
    blocks.open(firstSeq: forgery.firstSeq)
    for line in forgery.lines { blocks.add(Array(line.utf8)) }
    blocks.add(ForgedLog.line(5, #"{"text":"b"}"#))
    blocks.close(nextSeq: 6)
    blocks.putTrailer(nextSeq: 6)
    try Data(blocks.pending).write(to: URL(filePath: path))
    #expect(LogVerifier.verify(path: path).status == .damaged, "\(forgery.name)")
  }
}
