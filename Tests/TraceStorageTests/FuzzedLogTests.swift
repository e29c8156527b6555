import AgentTrace
import Foundation
import Testing

@testable import TraceStorage

/// What fuzzing found (Docs/fuzzing.md), as the smallest logs that show it.
@Suite("Logs that fuzzing found")
struct FuzzedLogTests {
  @Test("a reader that met a line it cannot read is at its end, unless it skips damage")
  func endBehindBadLine() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    var log = try ForgedLog()
    log.addBlock(
      [
        ForgedLog.line(0, #"{"text":"a"}"#), ForgedLog.line(1, #"{"text":{"$same":"0/text"}}"#),
        ForgedLog.line(2, #"{"text":"b"}"#),
      ], events: 3)
    log.addTrailer()
    try log.write(to: path)
    for readsLines in [false, true] {
      var reader = try LogReader(path: path)
      func isMore() throws -> Bool {
        readsLines ? try reader.nextLine() != nil : try reader.next() != nil
      }
      #expect(try isMore())
      #expect(throws: LogError.self) { try isMore() }
      #expect(try !isMore())
    }
    var skipping = try LogReader(path: path, options: .init(skipsDamaged: true))
    #expect(try skipping.next()?.seq == 0)
    #expect(try skipping.next()?.seq == 2)
    #expect(skipping.damage.map(\.code) == [.badReference("0/text")])
  }

  @Test(
    "a finished block without its seal is damage, also in a log that is not closed",
    arguments: [false, true])
  func unsealedBlock(hasTrailer: Bool) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let writer = try LogWriter(creating: path, options: .init(durability: .none))
    for event in DamageTests.smallRun().prefix(3) { try writer.append(event, isEffectAhead: false) }
    #expect(LogVerifier.verify(path: path).status == .torn)
    var bytes = Array(try Data(contentsOf: URL(filePath: path + ".open")))
    var text: [UInt8] = []
    for line in try DamageTests.lines(path).lines { text += line + [0x0a] }
    // The end of the deflate stream, and the checks of a gzip member.
    bytes += [3, 0]
    bytes.appendLittleEndian(CRC32.of(text))
    bytes.appendLittleEndian(UInt32(text.count))
    if hasTrailer {
      bytes +=
        MemberHeader(firstSeq: 3, previousLength: bytes.count, previousCRC: CRC32.of(bytes))
        .encoded
      bytes += Trailer.body
    }
    try Data(bytes).write(to: URL(filePath: path + ".open"))
    let report = LogVerifier.verify(path: path)
    #expect(report.status == .damaged)
    #expect(report.findings.map(\.message) == ["the block does not end in its seal"])
  }

  @Test(
    "what an event of another version said is found again, however its type is spelt",
    arguments: ["größe", "a\u{7f}b", "a\"b", "\u{1}", "plain"])
  func strangeType(type: String) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let text = JSONValue.string(String(repeating: "x", count: 300))
    let events = (0..<4).map { seq in
      Event(
        seq: seq, step: 0, type: EventType(rawValue: type), runId: "r",
        data: ["text": seq.isMultiple(of: 2) ? text : "short"])
    }
    try writeLog(events, to: path, options: .init(blockBytes: 1, durability: .none))
    #expect(try readEvents(path) == events)
    #expect(try readEvents(path, options: .init(cacheBytes: 0)) == events)
    #expect(try readEvents(path, options: .init(keepsLines: false, cacheBytes: 0)) == events)
    #expect(LogVerifier.verify(path: path).status == .whole)
  }
}
