import AgentTrace
import TestSupport
import Testing

@testable import TraceStorage

@Suite("What is said again and again")
struct RepetitionCostTests {
  /// Packets that show the model the latest messages, which are long, and name all that they leave out.
  private static func events(steps: Int) -> [Event] {
    var events = [
      Event(
        seq: 0, step: 0, type: .runStarted, runId: "r",
        data: RunStarted(agentName: "a", goal: "g").encoded)
    ]
    for step in 1...steps {
      let messages: [JSONValue] = (max(1, step - 3)...step).map { number in
        [
          "role": "user",
          "content": [
            [
              "type": "text",
              "text": .string("\(number) " + String(repeating: "long ", count: 900)),
            ]
          ],
        ]
      }
      let omitted = (0..<max(0, step - 4)).suffix(300).map {
        ContextItem(ref: "\($0).1.0", reason: "older than what fits the token budget")
      }
      let packet = ContextPacket(
        runId: "r", goal: "g", stateSummary: [:], observations: [], toolsDisclosed: [],
        evidenceRefs: [], memoryRefs: [], included: [], omittedRefs: omitted, messages: messages,
        tokenEstimate: 1, tokenBudget: nil)
      events.append(
        Event(
          seq: step, step: step, type: .contextBuilt, runId: "r", t: step, data: packet.encoded))
    }
    return events
  }

  @Test("a log is read and folded in proportion to its size, however much its packets leave out")
  func proportion() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.jsonl.gz")
    let events = Self.events(steps: 400)
    try writeLog(events, to: path, options: .init(blockBytes: 64 << 10, durability: .none))
    let options = LogReader.Options(cacheBytes: 512 << 10)
    var reader = try LogReader(path: path, options: options)
    var (count, bytes) = (0, 0)
    while let event = try reader.next() {
      #expect(event.data == events[count].data)
      bytes += reader.cursor.bytes.count
      count += 1
    }
    #expect(count == events.count)
    #expect(reader.cursor.repeatedBytes <= bytes, "\(reader.cursor.repeatedBytes) of \(bytes)")

    let folding = try LogReader(path: path, options: options)
    var (folded, plain) = (AgentState(), AgentState())
    while try folding.cursor.advance() != nil { try folding.cursor.fold(into: &folded) }
    for event in events { plain.apply(event) }
    #expect(folded.digest == plain.digest)
    #expect(folding.cursor.repeatedBytes <= bytes, "\(folding.cursor.repeatedBytes) of \(bytes)")

    let report = LogVerifier.verify(path: path)
    #expect(!report.findings.contains { $0.message.contains("again") }, "\(report)")
  }
}
