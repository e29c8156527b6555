import AgentTrace
import CZlib
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

@Suite("A log that was cut or damaged")
struct DamageTests {
  @Test("A log that ends before its first event is said to, and is not called damaged in a block")
  func sayWhereNothingIsHeld() {
    for intact in [nil, 0] {
      let error = LogError(.noTrailer, path: "a", offset: 0, block: 0, intactEvents: intact)
      #expect(error.description.contains("the file is empty, or ends before its first event"))
      #expect(!error.description.contains("damaged in block"))
    }
    let cut = LogError(.noTrailer, path: "a", offset: 0, block: 0, intactEvents: 3)
    #expect(cut.description.contains("the end is missing; the 3 events before it are intact"))
  }

  /// Whole lines of a prefix, by zlib alone.
  static func wholeLines(_ bytes: [UInt8]) -> [[UInt8]] {
    var text: [UInt8] = []
    var rest = bytes[...]
    while rest.count > 36 {
      guard let inflater = Inflater() else { break }
      var ended = false
      var position = rest.startIndex + 36
      rest.withUnsafeBufferPointer { buffer in
        let input = UnsafeBufferPointer(rebasing: buffer[36...])
        text.append(addingCapacity: 1 << 20) { space in
          let result = inflater.inflate(input, into: &space)
          if case .streamEnd = result.progress { ended = true }
          position += result.read
        }
      }
      guard ended, rest.endIndex - position >= 8 else { break }
      rest = rest[(position + 8)...]
    }
    let end = text.lastIndex(of: 0x0a) ?? -1
    return text[0..<(end + 1)].split(separator: 0x0a).map(Array.init)
  }

  static func lines(_ path: String) throws -> (lines: [[UInt8]], events: [Event]) {
    var reader = try LogReader(path: path, options: LogReader.Options(checksLinks: true))
    var lines: [[UInt8]] = []
    var events: [Event] = []
    while try reader.advance() != nil {
      lines.append(Array(reader.cursor.bytes))
      if case .event(let event) = try reader.line() { events.append(event) }
    }
    return (lines, events)
  }

  /// A run whose log is a few kilobytes, in several blocks.
  static func smallRun() -> [Event] {
    let long = String(repeating: "all work and no play. ", count: 14)
    var events = [
      Event(
        seq: 0, step: 0, type: .runStarted, runId: "run-1",
        data: RunStarted(
          agentName: "a", goal: .string(long), limits: Limits(), policyContext: PolicyContext()
        ).encoded)
    ]
    var messages: [JSONValue] = []
    for index in 1...6 {
      messages.append(["role": "user", "content": .string("message \(index % 5)")])
      let packet = ContextPacket(
        runId: "run-1", goal: .string(long), stateSummary: [:], observations: [],
        toolsDisclosed: ["t"], evidenceRefs: [], memoryRefs: [], included: [], omittedRefs: [],
        messages: messages, tokenEstimate: index, tokenBudget: nil)
      events.append(
        Event(
          seq: index, step: index, type: .contextBuilt, runId: "run-1", data: packet.encoded))
    }
    var state = AgentState()
    for event in events { state.apply(event) }
    events.append(
      Event(
        seq: 7, step: 6, type: .stop, runId: "run-1",
        data: Stop(
          reason: .success, answer: long, totals: state.totals, stateFormat: AgentState.format,
          stateDigest: state.digest.hex
        ).encoded))
    return events
  }

  @Test("cut at any byte, it yields exactly the whole lines before the cut, and goes on")
  func everyCut() throws {
    let folder = try TemporaryFolder()
    let events = Self.smallRun()
    let options = LogWriter.Options(blockBytes: 500, checkpointBytes: 2200, durability: .none)
    let whole = folder.file("whole.jsonl.gz")
    try writeLog(events, to: whole, options: options)
    let bytes = Array(try Data(contentsOf: URL(filePath: whole)))
    #expect(bytes.count < 4500)
    // Going on from a cut is tried at a sample of them; from every one in a long run.
    let stride = isLongRun ? 1 : 16
    for cut in 0...bytes.count {
      let path = folder.file("cut\(cut).jsonl.gz")
      try Data(bytes[..<cut]).write(to: URL(filePath: path + ".open"))
      let read = try Self.lines(path)
      let expected = Self.wholeLines(Array(bytes[..<cut]))
      guard read.lines == expected else {
        Issue.record("cut \(cut): \(read.lines.count) lines, \(expected.count) expected")
        return
      }
      guard cut % stride == 0 || bytes.count - cut < 200 else { continue }
      let (writer, reopened) = try LogWriter.reopening(path, options: options)
      #expect(reopened.nextSeq == read.events.count)
      #expect(reopened.lastEvent == read.events.last)
      if !reopened.runIsOver {
        let resumed = Event(
          seq: reopened.nextSeq, step: 0, type: .runResumed, runId: "run-1",
          t: reopened.nextSeq * 1_000,
          data: RunResumed(
            why: "torn", cutAt: reopened.cutAt, bytesDropped: reopened.bytesDropped
          ).encoded)
        try writer.append(resumed, isEffectAhead: false)
        for event in events[min(3, events.count)...].prefix(3) {
          var event = event
          event.seq = writer.nextSeq
          event.t = event.seq * 1_000
          try writer.append(event, isEffectAhead: false)
        }
      }
      let closed = try writer.close()
      let report = LogVerifier.verify(path: path, expectedDigest: closed.sealDigest)
      guard report.status == .whole, report.findings.isEmpty else {
        Issue.record("cut \(cut): \(report.findings)")
        return
      }
      #expect(report.events == read.events.count + (reopened.runIsOver ? 0 : 4))
      // That the old events are still the same takes long to see, and little to doubt.
      if cut % 9 == 0 {
        let again = try readEvents(path, options: LogReader.Options(checksLinks: true))
        #expect(Array(again.prefix(read.events.count)) == read.events)
      }
      try FileManager.default.removeItem(atPath: path)
    }
  }

  @Test("zeros behind the end, as a machine without power leaves them, are no damage")
  func zeros() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    var ends: [Int] = []
    do {
      let writer = try LogWriter(creating: path, options: .init(blockBytes: 900))
      for event in Self.smallRun() {
        try writer.append(event, isEffectAhead: false)
        ends.append(try Data(contentsOf: URL(filePath: path + ".open")).count)
      }
    }
    let bytes = Array(try Data(contentsOf: URL(filePath: path + ".open")))
    for (index, end) in ends.enumerated() {
      let torn = bytes[..<end] + [UInt8](repeating: 0, count: 5000)
      try Data(torn).write(to: URL(filePath: path + ".open"))
      #expect(LogVerifier.verify(path: path).status == .torn)
      #expect(try readEvents(path).count == index + 1)
    }
    let (writer, reopened) = try LogWriter.reopening(path)
    #expect(reopened.cutAt == ends.last)
    #expect(reopened.bytesDropped == 5000)
    _ = try writer.close()
    #expect(LogVerifier.verify(path: path).status == .whole)
  }

  @Test(
    "a log that is gone on with by a symbolic link is the file's own, and is held under both names")
  func linked() throws {
    let folder = try TemporaryFolder()
    let (path, link) = (folder.file("run.jsonl.gz"), folder.file("link.jsonl.gz"))
    do {
      let writer = try LogWriter(creating: path)
      for event in Self.smallRun() where event.type != .stop {
        try writer.append(event, isEffectAhead: false)
      }
      _ = try writer.close()
    }
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: "run.jsonl.gz")
    let (writer, reopened) = try LogWriter.reopening(link)
    #expect(reopened.wasClosed)
    #expect(FileManager.default.fileExists(atPath: path + ".open"))
    #expect(!FileManager.default.fileExists(atPath: path))
    for name in [path, link] {
      #expect(throws: LogError.self) { try LogWriter.reopening(name) }
    }
    #expect(try writer.close().path == path)
    for name in [path, link] { #expect(LogVerifier.verify(path: name).status == .whole) }
    #expect(!FileManager.default.fileExists(atPath: path + ".open"))
    #expect(!FileManager.default.fileExists(atPath: link + ".open"))
  }

  @Test("what one block lost does not cost the others")
  func skipping() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = RandomRun.events(seed: 21, count: 60)
    try writeLog(
      events, to: path,
      options: .init(blockBytes: 3000, checkpointBytes: 9000, durability: .none))
    let bytes = Array(try Data(contentsOf: URL(filePath: path)))
    let starts = try Self.memberStarts(path)
    for block in 0..<(starts.count - 1) {
      var copy = bytes
      copy[(starts[block] + starts[block + 1]) / 2] ^= 0x10
      try Data(copy).write(to: URL(filePath: path))
      let error = #expect(throws: LogError.self) { try readEvents(path) }
      #expect(error?.block == block)
      #expect(error?.offset == starts[block])
      var reader = try LogReader(path: path, options: .init(skipsDamaged: true))
      var read: [Event] = []
      while let event = try reader.next() { read.append(event) }
      #expect(reader.damage.count == 1)
      let lost = Set(reader.holes.flatMap { Array($0) })
      #expect(Set(read.map(\.seq)).union(lost) == Set(0..<60))
      for event in read where event != events[event.seq] {
        // Only what the lost block had said may be missing from it.
        #expect(CanonicalJSON.string(.object(event.data)).contains("$lost"))
      }
    }
  }

  @Test("blocks removed, exchanged, put in twice or from another log are found")
  func rearranged() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let options = LogWriter.Options(blockBytes: 500, durability: .none)
    try writeLog(Self.smallRun(), to: path, options: options)
    try writeLog(
      Self.smallRun().map { event in
        var event = event
        event.runId = "run-2"
        return event
      }, to: folder.file("other.jsonl.gz"), options: options)
    func members(_ name: String) throws -> [ArraySlice<UInt8>] {
      let bytes = Array(try Data(contentsOf: URL(filePath: folder.file(name))))
      let starts = try Self.memberStarts(folder.file(name)) + [bytes.count]
      return zip(starts, starts.dropFirst()).map { bytes[$0..<$1] }
    }
    let own = try members("a.jsonl.gz")
    let other = try members("other.jsonl.gz")
    try #require(own.count >= 4 && own.count == other.count)
    var forged: [[ArraySlice<UInt8>]] = []
    for index in own.indices {
      var copy = own
      copy.remove(at: index)
      forged.append(copy)
      copy = own
      copy.insert(own[index], at: index)
      forged.append(copy)
      copy = own
      copy[index] = other[index]
      if copy[index] != own[index] { forged.append(copy) }
      copy = own
      copy.swapAt(index, (index + 1) % own.count)
      forged.append(copy)
    }
    for (number, members) in forged.enumerated() {
      try Data(members.joined()).write(to: URL(filePath: path))
      let report = LogVerifier.verify(path: path)
      #expect(
        report.status == .damaged || report.status == .unreadable, "forgery \(number)")
    }
  }

  @Test("every flipped bit is found, with its block")
  func everyBit() throws {
    let folder = try TemporaryFolder()
    let whole = folder.file("whole.jsonl.gz")
    try writeLog(
      Self.smallRun(), to: whole,
      options: LogWriter.Options(blockBytes: 500, checkpointBytes: 2200, durability: .none))
    #expect(LogVerifier.verify(path: whole).status == .whole)
    let bytes = Array(try Data(contentsOf: URL(filePath: whole)))
    let starts = try Self.memberStarts(whole)
    let flipped = folder.file("flipped.jsonl.gz")
    var generator = Seeded(seed: 11)
    for index in Swift.stride(from: 0, to: bytes.count, by: isLongRun ? 1 : 5) {
      let block = starts.lastIndex { $0 <= index } ?? 0
      let bits = isLongRun ? Array(0..<8) : [UInt8.random(in: 0..<8, using: &generator)]
      for bit in bits {
        var copy = bytes
        copy[index] ^= 1 << bit
        try Data(copy).write(to: URL(filePath: flipped))
        let report = LogVerifier.verify(path: flipped)
        let named = report.findings.contains { $0.block == block && $0.offset == starts[block] }
        guard report.status == .damaged || report.status == .unreadable, named else {
          Issue.record("bit \(bit) of byte \(index) in block \(block): \(report)")
          return
        }
      }
    }
  }

  /// Where the members of a log begin.
  static func memberStarts(_ path: String) throws -> [Int] {
    let reader = try BlockReader(file: LogFile.open(path, 0))
    var starts: [Int] = []
    while let block = try reader.next() { starts.append(block.offset) }
    return starts
  }
}
