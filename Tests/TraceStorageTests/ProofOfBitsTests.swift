import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

@Suite("A log of 64 KiB, any bit of it changed")
struct ProofOfBitsTests {
  /// A closed log of at least 64 KiB on disk: text that hardly compresses, in blocks of about 6 KiB.
  private static func makeLog(at path: String) throws -> [Event] {
    var generator = Seeded(seed: 60)
    let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/".utf8)
    func noise(_ count: Int) -> String {
      String(
        decoding: (0..<count).map { _ in letters[Int.random(in: 0..<64, using: &generator)] },
        as: UTF8.self)
    }
    let writer = try LogWriter(
      creating: path,
      options: .init(blockBytes: 8_000, checkpointBytes: 40_000, durability: .none))
    var events: [Event] = []
    func put(_ type: EventType, _ data: JSONObject) throws {
      let event = Event(
        seq: events.count, step: 0, type: type, runId: "r", t: events.count, data: data)
      try writer.append(event, isEffectAhead: false)
      events.append(event)
    }
    try put(
      .runStarted,
      RunStarted(
        agentName: "a", goal: .string(noise(300)), limits: Limits(), policyContext: PolicyContext()
      ).encoded)
    var said = [noise(300)]
    while (try Data(contentsOf: URL(filePath: path + ".open"))).count < 64 * 1024 {
      said.append(noise(2_600))
      // New text, and some that was said in another block.
      try put(.humanReplied, ["text": .string(said[said.count - 1]), "by": "somebody"])
      let message: JSONValue = ["role": "user", "content": .string(said[said.count / 2])]
      try put(.contextBuilt, ManyBlocks.packet([message]).encoded)
    }
    try put(
      .stop,
      Stop(
        reason: .success, answer: "done", stateFormat: AgentState.format,
        stateDigest: writer.state.digest.hex
      ).encoded)
    _ = try writer.close()
    return events
  }

  /// Reads on behind damage; returns the events that were read.
  private static func read(_ path: String, skipping: Bool) throws -> (seqs: [Int], error: LogError?)
  {
    var reader = try LogReader(path: path, options: .init(skipsDamaged: skipping))
    var seqs: [Int] = []
    do throws(LogError) {
      while let event = try reader.next() { seqs.append(event.seq) }
    } catch {
      return (seqs, error)
    }
    return (seqs, reader.damage.first)
  }

  @Test(
    "is found with its block and its byte, and costs no event of another block",
    .timeLimit(.minutes(240)), arguments: 0..<proofParts)
  func everyBit(part: Int) async throws {
    let log = try Self.log.get()
    try await apart { try Self.everyBit(of: log.bytes, events: log.events, part: part) }
  }

  /// Made once for all parts.
  private static let log = Result {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = try Self.makeLog(at: path)
    return (bytes: Array(try Data(contentsOf: URL(filePath: path))), events: events)
  }

  private static func everyBit(of bytes: [UInt8], events: [Event], part: Int) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    try Data(bytes).write(to: URL(filePath: path))
    let starts = try DamageTests.memberStarts(path)
    try #require(bytes.count >= 64 * 1024 && starts.count > 8)
    #expect(LogVerifier.verify(path: path).status == .whole)
    let firsts = try starts.map { start in
      Int(try MemberHeader(decoding: bytes[start...]).firstSeq)
    }
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    var generator = Seeded(seed: 61)
    // A bit of every byte and all bits of the members' headers and ends, or a sample of both. Within compressed bytes one
    // bit is as good as another: the checksum finds each.
    var places = (0..<bytes.count).map { $0 * 8 + $0 % 8 }
    for start in starts {
      places += max(0, (start - 8) * 8)..<min(bytes.count, start + 46) * 8
    }
    places = Set(places).sorted().enumerated().filter { $0.offset % proofParts == part }.map(
      \.element)
    if !isLongRun {
      places = (0..<80).map { _ in Int.random(in: 0..<(bytes.count * 8), using: &generator) }
      places += (0..<80).map { _ in
        (starts.randomElement(using: &generator) ?? 0) * 8
          + Int.random(in: 0..<(46 * 8), using: &generator)
      }
    }
    for place in places {
      let (index, bit) = (place / 8, UInt8(place % 8))
      pwrite(file.fileDescriptor, [bytes[index] ^ 1 << bit], 1, off_t(index))
      defer { pwrite(file.fileDescriptor, [bytes[index]], 1, off_t(index)) }
      let block = starts.lastIndex { $0 <= index } ?? 0
      let report = LogVerifier.verify(path: path)
      guard report.status == .damaged || report.status == .unreadable,
        report.findings.contains(where: { $0.block == block && $0.offset == starts[block] })
      else {
        Issue.record("bit \(bit) of byte \(index) in block \(block): \(report)")
        return
      }
      // The blocks before are read as ever; and behind it all but the block itself.
      let (before, error) = try Self.read(path, skipping: false)
      let (all, _) = try Self.read(path, skipping: true)
      let next = block + 1 < firsts.count ? firsts[block + 1] : events.count
      let others = Array(0..<firsts[block]) + Array(next..<events.count)
      guard before.starts(with: 0..<firsts[block]), before == Array(0..<before.count),
        error != nil || before.count == events.count,
        Set(all).isSuperset(of: others), all == all.sorted(), all.count <= events.count
      else {
        Issue.record("bit \(bit) of byte \(index) in block \(block): read \(before), then \(all)")
        return
      }
    }
    #expect(LogVerifier.verify(path: path).status == .whole)
    if isLongRun {
      print(
        "proof: \(places.count) of the \(bytes.count * 8) bits flipped in \(starts.count) members")
    }
  }
}
