import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

@testable import TraceDebugging

@Suite("The cursor")
struct CursorTests {
  /// Goes everywhere in every way, and holds event and state against those folded from the beginning.
  private static func check(
    _ path: String, _ expected: [Folded], jumps: Int,
    _ generator: inout Seeded
  ) throws {
    func isRight(_ cursor: RunCursor, _ index: Int, _ how: String) {
      let (event, state) = (expected[index].event, expected[index].state)
      guard cursor.event != event || cursor.state != state else { return }
      Issue.record("\(path): event \(event.seq) reached \(how), at \(cursor.seq)")
    }
    let forward = try RunCursor(path: path)
    for index in expected.indices {
      isRight(forward, index, "forwards")
      let isLast = index == expected.count - 1
      #expect(try forward.next() == !isLast)
    }
    #expect(try forward.last().seq == expected.last?.event.seq)
    for index in expected.indices.reversed() {
      isRight(forward, index, "backwards")
      #expect(try forward.back() == (index > 0))
    }
    let jumping = try RunCursor(path: path)
    jumping.widen(to: Int.random(in: 0...40, using: &generator))
    for _ in 0..<jumps {
      let index = Int.random(in: 0..<expected.count, using: &generator)
      try jumping.go(to: expected[index].event.seq)
      isRight(jumping, index, "by a jump")
      // And on from there, a few either way.
      for _ in 0..<Int.random(in: 0...3, using: &generator) where try jumping.next() {}
      for _ in 0..<Int.random(in: 0...6, using: &generator) where try jumping.back() {}
      let place = expected.firstIndex { $0.event.seq == jumping.seq }
      isRight(jumping, try #require(place), "around a jump")
      #expect(try jumping.state(after: expected[index].event.seq) == expected[index].state)
    }
  }

  private static func checkSteps(
    _ path: String, _ expected: [Folded], sample: Int,
    _ generator: inout Seeded
  ) throws {
    var firsts: [(step: Int, seq: Int)] = []
    for event in expected.map(\.event)
    where firsts.last.map({ $0.step < event.step }) ?? true {
      firsts.append((event.step, event.seq))
    }
    let cursor = try RunCursor(path: path)
    for (step, seq) in firsts.shuffled(using: &generator).prefix(sample) {
      try cursor.go(toStep: step)
      #expect(cursor.seq == seq, "step \(step)")
    }
    for step in 0...((firsts.last?.step ?? 0) + 1)
    where !firsts.contains(where: { $0.step == step }) {
      #expect(throws: ReplayError.self) { try cursor.go(toStep: step) }
    }
    try cursor.go(to: 0)
    for (_, seq) in firsts.dropFirst() {
      #expect(try cursor.nextStep() && cursor.seq == seq)
    }
    #expect(try !cursor.nextStep())
    for (_, seq) in firsts.dropLast().reversed() {
      #expect(try cursor.previousStep() && cursor.seq == seq)
    }
    #expect(try !cursor.previousStep())
  }

  @Test("a torn log is shown up to its tear, and a note says so", arguments: RecordedLog.torn)
  func torn(log: RecordedLog) throws { try Self.checkBroken(log.path, isDamaged: false) }

  @Test("a damaged log is shown up to its damage, and a note says so")
  func damaged() throws {
    let folder = try TemporaryFolder()
    let writer = try LogWriter(creating: folder.path("a.jsonl.gz"), options: .init(blockBytes: 300))
    for seq in 0..<30 {
      try writer.append(
        Event(
          seq: seq, step: seq / 4, type: .humanReplied, runId: "r",
          data: ["text": .string("word \(seq)")]),
        isEffectAhead: false)
    }
    _ = try writer.close()
    var bytes = try folder.read("a.jsonl.gz")
    bytes[bytes.count / 2] ^= 0x10
    try Self.checkBroken(try folder.write("b.jsonl.gz", bytes), isDamaged: true)
  }

  private static func checkBroken(_ path: String, isDamaged: Bool) throws {
    var generator = Seeded(seed: 3)
    let expected = try foldedLog(path)
    #expect(expected.count > 2)
    try Self.check(path, expected, jumps: 10, &generator)
    let cursor = try RunCursor(path: path)
    try cursor.goToEnd()
    #expect(try !cursor.next())
    #expect(try #require(cursor.note).contains("at byte"))
    #expect(cursor.isDamaged == isDamaged)
    #expect(throws: ReplayError.self) { try cursor.go(to: expected.count) }
    #expect(cursor.seq == expected.count - 1)
  }

  @Test(
    "event and state are those of folding from the beginning, however one comes there",
    arguments: RecordedLog.whole)
  func states(log: RecordedLog) throws {
    var generator = Seeded(seed: UInt64(log.file.utf8.count))
    let expected = try log.folded()
    try Self.check(log.path, expected, jumps: TestRun.count(12, long: 150), &generator)
    try Self.checkSteps(log.path, expected, sample: 100, &generator)
    let cursor = try RunCursor(path: log.path)
    try cursor.goToEnd()
    #expect(try !cursor.next())
    #expect(cursor.note == nil && !cursor.isDamaged)
    for seq in [-1, expected.count, .max] {
      #expect(throws: ReplayError.self) { try cursor.go(to: seq) }
    }
  }

  @Test(
    "and so in long random runs with many checkpoints, closed or still open",
    arguments: [(1, true), (2, false)])
  func random(seed: UInt64, closes: Bool) throws {
    var generator = Seeded(seed: seed)
    let folder = try TemporaryFolder()
    let path = folder.path("a.jsonl.gz")
    // About 6 KiB an event: a checkpoint stands before each 4 MiB.
    let count = TestRun.count(900, long: 8_000)
    try writeRandomLog(
      to: path, events: count, using: &generator, closes: closes, textBytes: 16_000)
    let expected = try foldedLog(path)
    #expect(expected.count >= count)
    try Self.check(path, expected, jumps: TestRun.count(15, long: 150), &generator)
    try Self.checkSteps(path, expected, sample: TestRun.count(10, long: 150), &generator)
  }

  @Test("events larger than the window may hold are given up and read again")
  func largeEvents() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.jsonl.gz")
    let writer = try LogWriter(creating: path)
    for seq in 0..<24 {
      try writer.append(
        Event(
          seq: seq, step: 1, type: .humanReplied, runId: "r",
          data: ["text": .string(String(repeating: "\(seq) ", count: 1 << 19))]),
        isEffectAhead: false)
    }
    _ = try writer.close()
    let expected = try foldedLog(path)
    let cursor = try RunCursor(path: path)
    cursor.widen(to: 40)
    for seq in [23, 0, 12, 13, 14, 11, 2, 22, 23, 1] {
      try cursor.go(to: seq)
      #expect(cursor.event == expected[seq].event && cursor.state == expected[seq].state)
      #expect(cursor.slots.contains { $0.seq == max(0, seq - 10) })
      #expect(cursor.slots.reduce(0) { $0 + ($1.event == nil ? 0 : $1.bytes) } < 8 << 20)
    }
  }

  @Test("a log that is being written is followed to its end")
  func following() throws {
    var generator = Seeded(seed: 8)
    let folder = try TemporaryFolder()
    let path = folder.path("a.jsonl.gz")
    let events = randomEvents(60, using: &generator)
    let writer = try LogWriter(creating: path)
    for event in events.prefix(3) { try writer.append(event, isEffectAhead: false) }
    let cursor = try RunCursor(path: path)
    try cursor.goToEnd()
    var state = AgentState()
    for event in events.prefix(3) { state.apply(event) }
    #expect(try !cursor.next() && cursor.mayGrow && cursor.state == state)
    #expect(!cursor.refresh())
    for event in events.dropFirst(3) {
      // A file that is between two names takes nobody from the end.
      try FileManager.default.moveItem(atPath: path + ".open", toPath: path + ".away")
      #expect(!cursor.refresh() && cursor.isAtEnd)
      try FileManager.default.moveItem(atPath: path + ".away", toPath: path + ".open")
      try writer.append(event, isEffectAhead: false)
      #expect(cursor.refresh())
      #expect(try cursor.next())
      state.apply(event)
      #expect(cursor.event == event && cursor.state == state)
      #expect(try !cursor.next())
    }
    _ = try writer.close()
    #expect(cursor.refresh())
    #expect(try !cursor.next() && !cursor.mayGrow && cursor.note == nil)
    #expect(cursor.event == events.last && cursor.state == state)
  }

  @Test("no log, an empty one and one of other bytes are refused")
  func noLog() throws {
    let folder = try TemporaryFolder()
    #expect(throws: LogError.self) { try RunCursor(path: folder.path("none.jsonl.gz")) }
    try folder.write("empty.jsonl.gz.open", [])
    #expect(throws: LogError.self) { try RunCursor(path: folder.path("empty.jsonl.gz.open")) }
    try folder.write("other.jsonl.gz", Array("something else\n".utf8))
    #expect(throws: LogError.self) { try RunCursor(path: folder.path("other.jsonl.gz")) }
  }
}
