@_spi(Scanning) import AgentTrace
import TestSupport
import Testing

@testable import TraceStorage

@Suite("The form of a packet, told from its text")
struct PacketFormTests {
  /// What may stand under a key, in canonical form.
  private static let values = [
    #""text""#, "0", "-1", "1.5", "1e400", "null", "true", "[]", #"["a"]"#, "{}", #"{"a":1}"#,
    #"{"$list":[]}"#, #"{"$list":["a"]}"#, #"{"$list":["a",[0,2],1]}"#, #"{"$list":[[0,2]]}"#,
    #"{"$list":[{"reason":"why","ref":"system"}]}"#, #"{"$list":[{"reason":1,"ref":"system"}]}"#,
    #"{"$list":[{"reason":"why"}]}"#, #"{"$list":[{"$same":"0/goal"}]}"#, #"{"$same":"0/goal"}"#,
    #"{"$cut":{"bytes":9,"head":"t"}}"#, #"{"messages":{"$list":[{"content":[],"role":"user"}]}}"#,
    #"{"messages":[]}"#, #"{"messages":"none"}"#, #"{"budget":9,"estimate":3}"#,
    #"{"estimate":"3"}"#, #"{"estimate":-3}"#, #"{"budget":12345678901234567890}"#,
  ]
  private static let keys = [
    "evidenceRefs", "goal", "included", "memoryRefs", "observations", "omittedRefs", "prompt",
    "runId", "stateSummary", "tokens", "toolsDisclosed", "unknown",
  ]
  /// What a writer puts there, by key.
  private static let sound = [
    #"{"$list":[[0,2],"a"]}"#, #""goal""#, #"{"$list":[{"reason":"why","ref":"system"}]}"#,
    #"{"$list":[]}"#, #"{"$list":[{"id":"1","summary":{"$same":"0/goal"}}]}"#,
    #"{"$list":[[0,2]]}"#,
    #"{"messages":{"$list":[{"content":[],"role":"user"}]}}"#, #""r""#,
    #"{"a":{"$same":"0/goal"}}"#,
    #"{"budget":9,"estimate":3}"#, #"{"$list":["a"]}"#, "1",
  ]

  private static func isSound(_ line: String) -> Bool {
    Array(line.utf8).withUnsafeBufferPointer { PacketForm.isSound($0) }
  }

  private static func canBeRead(_ line: String) throws -> Bool {
    let raw = try Array(line.utf8).withUnsafeBufferPointer { try RawLine(parsing: $0) }
    guard case .event(var event) = raw else { return false }
    event.data = event.data.saidHere
    return (try? EventPayload(of: event)) != nil
  }

  @Test("A packet in whose text nothing is seen to be wrong can be read, whatever stands in it")
  func isReadWhereSound() throws {
    var random = Seeded(seed: 7)
    var (sound, unreadable) = (0, 0)
    for _ in 0..<(isLongRun ? 60_000 : 6_000) {
      // Mostly what a writer writes, with a few keys left out and a few values changed.
      let members = zip(Self.keys, Self.sound).compactMap { key, value -> String? in
        switch Int.random(in: 0..<12, using: &random) {
        case 0: nil
        case 1: Self.values.randomElement(using: &random).map { "\"\(key)\":\($0)" }
        default: key == "unknown" ? nil : "\"\(key)\":\(value)"
        }
      }
      let line =
        #"{"seq":7,"step":1,"type":"context_built","runId":"r","t":0,"data":{"#
        + members.joined(separator: ",") + "}}"
      let canBeRead = try Self.canBeRead(line)
      if Self.isSound(line) {
        sound += 1
        #expect(canBeRead, "\(line)")
      }
      if !canBeRead { unreadable += 1 }
    }
    #expect(sound > 1_000 && unreadable > 1_000)
  }

  @Test("Every packet that a writer writes is seen to be sound", arguments: 0..<8 as Range<UInt64>)
  func ownPackets(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    let path = folder.file("run.jsonl.gz")
    let writer = try LogWriter(creating: path, options: .init(durability: .none))
    for event in RandomRun.events(seed: seed, count: 60) {
      try writer.append(event, isEffectAhead: false)
    }
    _ = try writer.close()
    let reader = try LogReader(path: path)
    var state = AgentState()
    var packets = 0
    while let head = try reader.cursor.advance() {
      guard case .event(let seq, let step, .contextBuilt) = head else {
        try reader.cursor.fold(into: &state)
        continue
      }
      try reader.cursor.fold(into: &state)
      guard reader.cursor.isFoldedCanonical else { continue }
      packets += 1
      let packet = try #require(reader.cursor.soundPacket)
      #expect(packet.seq == seq && packet.step == step && packet.runId == state.runId)
    }
    #expect(packets > 0)
  }
}
