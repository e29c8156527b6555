import AgentTrace
import Testing
import TraceStorage

@Suite("A log gives back what was written")
struct RoundTripTests {
  @Test("random events come back equal, whatever the layout", arguments: 0..<20)
  func roundTrip(seed: Int) throws {
    let folder = try TemporaryFolder()
    let events = RandomRun.events(
      seed: UInt64(seed), count: 60, endsWithStop: seed % 2 == 0)
    let options = LogWriter.Options(
      level: seed % 10, blockBytes: [100, 3000, 256 * 1024][seed % 3],
      checkpointBytes: [5000, 20_000, 4 << 20][seed % 3], durability: .none)
    let closed = try writeLog(events, to: folder.file("a.jsonl.gz"), options: options)
    #expect(closed.events == events.count)
    var reader = try LogReader(
      path: closed.path, options: LogReader.Options(checksLinks: true))
    for event in events { #expect(try reader.next() == event) }
    #expect(try reader.next() == nil)
    #expect(reader.ending == .closed)
  }

  @Test("a log without events can be closed and read")
  func empty() throws {
    let folder = try TemporaryFolder()
    try writeLog([], to: folder.file("a.jsonl.gz"))
    #expect(try readEvents(folder.file("a.jsonl.gz")).isEmpty)
  }
}
