import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceStorage

/// A log of 400 small events in many small blocks, with checkpoints, text said once and lists, that
/// paused once and went on, and what every prefix of its file must hold.
struct ManyBlocks {
  static let options = LogWriter.Options(
    blockBytes: 2_400, checkpointBytes: 16_000, durability: .none)

  let bytes: [UInt8]
  /// The text of all lines, each with its `\n`.
  let text: [UInt8]
  /// Where each line begins in the text, and where the last one ends.
  let starts: [Int]
  /// Whether each line is an event.
  let isEvent: [Bool]
  let members: [Int]
  let sealDigest: Digest
  /// Where the file ended while the run was paused.
  let pauseEnd: Int

  init(events count: Int, in folder: TemporaryFolder) throws {
    let path = folder.file("many-blocks.jsonl.gz")
    var events = Self.events(count)
    var pauseEnd = 0
    var writer = try LogWriter(creating: path, options: Self.options)
    for index in events.indices {
      if events[index].type == .stop {
        events[index].data["stateDigest"] = .string(writer.state.digest.hex)
      }
      try writer.append(events[index], isEffectAhead: false)
      if events[index].type == .stop, index < count - 1 {
        _ = try writer.close()
        pauseEnd = try Data(contentsOf: URL(filePath: path)).count
        writer = try LogWriter.reopening(path, options: Self.options).writer
      }
    }
    sealDigest = try writer.close().sealDigest
    self.pauseEnd = pauseEnd
    #expect(LogVerifier.verify(path: path).status == .whole)
    bytes = Array(try Data(contentsOf: URL(filePath: path)))
    members = try DamageTests.memberStarts(path)
    let lines = DamageTests.wholeLines(bytes)
    text = Array(lines.map { $0 + [0x0a] }.joined())
    starts = lines.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.count + 1) }
    isEvent = lines.map { $0.starts(with: Array("{\"seq\"".utf8)) }
  }

  static func packet(_ messages: [JSONValue]) -> ContextPacket {
    ContextPacket(
      runId: "r", goal: "count", stateSummary: [:], observations: [], toolsDisclosed: ["t"],
      evidenceRefs: [], memoryRefs: [], included: [], omittedRefs: [], messages: messages,
      tokenEstimate: 1, tokenBudget: nil)
  }

  private static func events(_ count: Int) -> [Event] {
    var messages: [JSONValue] = []
    return (0..<count).map { seq in
      let make = { (type: EventType, data: JSONObject) in
        Event(seq: seq, step: seq / 8, type: type, runId: "r", t: seq, data: data)
      }
      if seq == 0 {
        return make(
          .runStarted,
          RunStarted(
            agentName: "a", goal: "count", limits: Limits(), policyContext: PolicyContext()
          ).encoded)
      }
      if seq == count - 1 || seq == count / 2 {
        return make(
          .stop,
          Stop(
            reason: seq == count / 2 ? .blocked : .success, isFinal: seq != count / 2,
            stateFormat: AgentState.format, stateDigest: AgentState().digest.hex
          ).encoded)
      }
      if seq == count / 2 + 1 { return make(.runResumed, RunResumed(why: "answered").encoded) }
      if seq % 40 == 7 {
        let text = String(repeating: "as was said at \(seq % 200), ", count: 20)
        return make(.humanReplied, ["text": .string(text)])
      }
      if seq % 25 == 3 {
        messages.append(["role": "user", "content": .string("message \(seq)")])
        return make(.contextBuilt, packet(messages).encoded)
      }
      return make(.memoryRead, ["key": "k", "scope": "s", "value": JSONValue(seq * seq % 1009)])
    }
  }

  /// How many lines, and how many of them events, zlib alone finds whole in a prefix of the file.
  func whole(in cut: Int, _ inflater: Inflater, _ room: UnsafeMutableBufferPointer<UInt8>) -> Int {
    // Blocks before the cut are whole; only the last one has to be inflated.
    guard let last = members.last(where: { $0 + 36 <= cut }) else { return 0 }
    inflater.reset()
    let written = bytes[..<cut].withUnsafeBufferPointer { bytes in
      inflater.inflate(UnsafeBufferPointer(rebasing: bytes[(last + 36)...]), into: room).written
    }
    let before = lineCount(before: last)
    return before + room[..<written].count { $0 == 0x0a }
  }

  /// Lines of the blocks before a member.
  private func lineCount(before member: Int) -> Int { linesBefore[member] ?? 0 }

  /// For each member the number of lines before it; made once.
  var linesBefore: [Int: Int] = [:]

  mutating func countLines() throws {
    for (index, member) in members.enumerated() {
      let end = index + 1 < members.count ? members[index + 1] : bytes.count
      linesBefore[member, default: 0] += 0
      let count = DamageTests.wholeLines(Array(bytes[member..<end])).count
      if end < bytes.count { linesBefore[end] = (linesBefore[member] ?? 0) + count }
    }
  }
}

@Suite("A log of many blocks, cut at any byte")
struct ProofOfCutsTests {
  /// What a cut costs grows with the log, and so does their number.
  /// Fewer where every byte is a cut: each costs as much as the log is long.
  private static let eventCount = isLongRun ? 160 : 400

  /// The lines and events read of a file must be exactly the first so many.
  private static func read(
    _ path: String, _ log: ManyBlocks, count: Int
  ) throws -> (events: Int, isExact: Bool) {
    var reader = try LogReader(path: path)
    var (lines, events, isExact) = (0, 0, true)
    while let head = try reader.advance() {
      if case .event = head {
        // Not only its bytes: what it refers to must be there too.
        guard case .event = try reader.line() else { return (events, false) }
        events += 1
      }
      let range = log.starts[lines]..<(log.starts[lines + 1] - 1)
      let bytes = reader.cursor.bytes
      let isSame = log.text[range].withUnsafeBytes { expected in
        guard let expected = expected.baseAddress, let found = bytes.baseAddress else {
          return false
        }
        return memcmp(expected, found, range.count) == 0
      }
      isExact = isExact && lines < count && bytes.count == range.count && isSame
      lines += 1
    }
    return (events, isExact && lines == count)
  }

  private static func failure(
    _ cut: Int, _ log: ManyBlocks, _ folder: TemporaryFolder, _ inflater: Inflater,
    _ room: UnsafeMutableBufferPointer<UInt8>
  ) throws -> String? {
    let path = folder.file("cut.jsonl.gz")
    let (repaired, resumed) = (folder.file("repaired.jsonl.gz"), folder.file("on.jsonl.gz"))
    defer {
      for name in [path, repaired, resumed] { for end in ["", ".open"] { unlink(name + end) } }
    }
    try log.bytes[..<cut].withUnsafeBytes {
      try Data($0).write(to: URL(filePath: path + ".open"))
      try Data($0).write(to: URL(filePath: resumed + ".open"))
    }
    // Exactly the whole lines.
    let lines = log.whole(in: cut, inflater, room)
    let (events, isExact) = try read(path, log, count: lines)
    guard isExact, events == log.isEvent[..<lines].count(where: { $0 }) else {
      return "not the \(lines) whole lines"
    }
    // verify names the cut: the byte from which on nothing whole stands.
    let report = LogVerifier.verify(path: path)
    let isWhole = cut == log.bytes.count || log.members.contains(cut)
    guard report.status == .torn, report.findings.isEmpty, report.events == events,
      report.notes.count >= 1
    else { return "verify: \(report)" }
    if let place = report.notes.last?.split(separator: "byte ").last.flatMap({ Int($0) }) {
      guard place <= cut, !isWhole else { return "verify names byte \(place)" }
    } else if !report.notes.contains(where: { $0.contains("not closed") }) {
      return "verify says nothing of the cut: \(report.notes)"
    }
    // Under its plain name the same file is damaged, but where it was once closed: that only one who
    // knows the later digest can tell.
    try log.bytes[..<cut].withUnsafeBytes { try Data($0).write(to: URL(filePath: path)) }
    let closed = LogVerifier.verify(path: path, expectedDigest: log.sealDigest)
    let isKnown = cut == log.bytes.count
    guard (closed.status == .whole) == isKnown, closed.findings.isEmpty == isKnown,
      isKnown || closed.findings.contains(where: { ($0.offset ?? 0) <= cut })
    else { return "plain name: \(closed)" }
    let unexpected = LogVerifier.verify(path: path)
    guard (unexpected.status == .whole) == (isKnown || cut == log.pauseEnd) else {
      return "plain name without the digest: \(unexpected)"
    }
    unlink(path)
    // repair
    if events == 0 {
      let nothing = try? LogRepair.repair(path, to: repaired, options: ManyBlocks.options)
      guard nothing == nil, access(repaired, F_OK) != 0 else { return "repair of nothing" }
    } else {
      let repair = try LogRepair.repair(path, to: repaired, options: ManyBlocks.options)
      let mended = LogVerifier.verify(path: repaired, expectedDigest: repair.sealDigest)
      guard repair.gaps.isEmpty, repair.events == events, mended.status == .whole,
        mended.findings.isEmpty, mended.events == events
      else { return "repair: \(repair) \(mended)" }
    }
    // A writer goes on.
    let (writer, reopened) = try LogWriter.reopening(resumed, options: ManyBlocks.options)
    guard reopened.nextSeq == events else { return "reopened at \(reopened.nextSeq)" }
    if !reopened.runIsOver {
      try writer.append(
        Event(
          seq: events, step: 0, type: .runResumed, runId: "r", t: events * 1_000,
          data: RunResumed(
            why: "torn", cutAt: reopened.cutAt, bytesDropped: reopened.bytesDropped
          ).encoded), isEffectAhead: false)
      try writer.append(
        Event(
          seq: events + 1, step: 0, type: .humanReplied, runId: "r", t: (events + 1) * 1_000,
          data: ["text": .string(String(repeating: "as was said at 7, ", count: 20))]),
        isEffectAhead: false)
    }
    let end = try writer.close()
    let whole = LogVerifier.verify(path: resumed, expectedDigest: end.sealDigest)
    guard whole.status == .whole, whole.findings.isEmpty,
      whole.events == events + (reopened.runIsOver ? 0 : 2)
    else { return "resumed: \(whole)" }
    return nil
  }

  @Test(
    "reader, verifier, repair and a writer that goes on agree on what is whole",
    .timeLimit(.minutes(240)), arguments: 0..<proofParts)
  func everyCut(part: Int) async throws {
    let log = try Self.log.get()
    try await apart { try Self.everyCut(of: log, part: part) }
  }

  /// Made once for all parts.
  private static let log = Result {
    let folder = try TemporaryFolder()
    var log = try ManyBlocks(events: Self.eventCount, in: folder)
    try log.countLines()
    return log
  }

  private static func everyCut(of log: ManyBlocks, part: Int) throws {
    let folder = try TemporaryFolder()
    try #require(log.members.count > 8 && log.isEvent.count(where: { $0 }) == Self.eventCount)
    let inflater = try #require(Inflater())
    let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 << 20)
    defer { room.deallocate() }
    var generator = Seeded(seed: 50)
    let cuts =
      isLongRun
      ? Array(stride(from: part, through: log.bytes.count, by: proofParts))
      : (0..<10).map { _ in Int.random(in: 0...log.bytes.count, using: &generator) }
        + log.members.shuffled(using: &generator).prefix(2) + [log.bytes.count]
    for cut in cuts {
      if let failure = try Self.failure(cut, log, folder, inflater, room) {
        Issue.record("cut \(cut): \(failure)")
        return
      }
    }
    if isLongRun {
      print(
        "proof: \(cuts.count) of \(log.bytes.count + 1) cuts of a log of \(eventCount) events in "
          + "\(log.members.count) members")
    }
  }
}
