import AgentTrace
import Testing
import TraceStorage

@Suite("Reading from the middle of a log")
struct RandomAccessTests {
  @Test(
    "from any event's checkpoint on, states and events are those of the whole", arguments: 0..<4)
  func startingAtCheckpoint(seed: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = RandomRun.events(seed: UInt64(seed), count: 60)
    try writeLog(
      events, to: path,
      options: .init(blockBytes: 3000, checkpointBytes: 12_000, durability: .none))
    var starts: Set<Int> = []
    for seq in stride(from: 0, through: 70, by: 7) {
      var reader = try LogReader(path: path, startingAtCheckpointBefore: seq)
      let first = reader.nextSeq
      starts.insert(first)
      #expect(first <= seq)
      var state = AgentState()
      for event in events[..<first] { state.apply(event) }
      #expect(reader.startState == state)
      for event in events[first...] {
        let read = try reader.next()
        #expect(read == event)
        if read != event { return }
      }
      #expect(try reader.next() == nil)
      #expect(reader.ending == .closed)
    }
    #expect(starts.count > 3)
  }

  @Test("with no memory for what was said before, it is read again", arguments: 0..<4)
  func withoutCache(seed: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = RandomRun.events(seed: UInt64(seed), count: 40)
    try writeLog(
      events, to: path,
      options: .init(blockBytes: 3000, checkpointBytes: 12_000, durability: .none))
    #expect(try readEvents(path, options: .init(cacheBytes: 0)) == events)
    var reader = try LogReader(
      path: path, startingAtCheckpointBefore: 30, options: .init(cacheBytes: 0))
    let first = reader.nextSeq
    for event in events[first...] { #expect(try reader.next() == event) }
  }

  @Test("packets that nobody asked for are read when a later one needs them", arguments: 0..<4)
  func skippedPackets(seed: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = RandomRun.events(seed: UInt64(seed), count: 60)
    try writeLog(events, to: path, options: .init(blockBytes: 3000, durability: .none))
    var reader = try LogReader(path: path)
    while let head = try reader.advance() {
      guard case .event(let seq, _, let type) = head, type != .contextBuilt || seq % 5 == 0 else {
        continue
      }
      #expect(try reader.line() == .event(events[seq]))
    }
  }
}
