import AgentTrace
import Foundation
import Testing

@testable import TraceStorage

@Suite("The tail of a log")
struct LogTailTests {
  @Test("says what the events say", arguments: 0..<6)
  func tail(seed: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = RandomRun.events(seed: UInt64(seed), count: 30, endsWithStop: seed % 2 == 0)
    let closed = try writeLog(
      events, to: path, options: .init(blockBytes: 4000, durability: .none))
    var summary = RunSummary()
    var state = AgentState()
    for event in events {
      summary.apply(event)
      state.apply(event)
    }
    let tail = try LogTail(path: path)
    #expect(tail.events == events.count)
    #expect(tail.sealDigest == closed.sealDigest)
    #expect(tail.stop == (seed % 2 == 0 ? events.last : nil))
    #expect(tail.summary == summary.encoded(totals: state.totals))
  }

  @Test("is refused where a bit of it is flipped, or the log is not closed")
  func damaged() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    try writeLog(DamageTests.smallRun(), to: path)
    let bytes = Array(try Data(contentsOf: URL(filePath: path)))
    let starts = try DamageTests.memberStarts(path)
    for index in starts[starts.count - 2]..<bytes.count {
      var copy = bytes
      copy[index] ^= 1 << UInt8(index % 8)
      try Data(copy).write(to: URL(filePath: folder.file("b.jsonl.gz")))
      #expect(throws: LogError.self) { try LogTail(path: folder.file("b.jsonl.gz")) }
    }
    try Data(bytes.dropLast()).write(to: URL(filePath: folder.file("c.jsonl.gz")))
    #expect(
      #expect(throws: LogError.self) { try LogTail(path: folder.file("c.jsonl.gz")) }?.code
        == .noTrailer)
  }
}
