import AgentTrace
import Testing

@testable import TraceStorage

/// What verification says of starts and results that no decision holds.
struct CallOrderTests {
  private static func notes(
    _ events: [(EventType, JSONObject)], source: RunSource? = nil, gapThrough gap: Int? = nil
  ) throws -> (VerifyReport.Status, [String]) {
    let folder = try TemporaryFolder()
    let writer = try LogWriter(creating: folder.file("a.jsonl.gz"))
    var started = RunStarted(agentName: "a", goal: "g")
    started.source = source
    var all = [(EventType.runStarted, started.encoded)] + events
    all.append((.stop, Stop(reason: .success).encoded))
    for (index, (type, data)) in all.enumerated() {
      if index == 1, let gap { try writer.appendGap(through: gap, reason: "lost") }
      let seq = index == 0 ? 0 : index + (gap ?? 0)
      try writer.append(
        Event(seq: seq, step: 1, type: type, runId: "r", data: data), isEffectAhead: false)
    }
    _ = try writer.close()
    let report = LogVerifier.verify(path: folder.file("a.jsonl.gz"))
    #expect(report.findings.isEmpty)
    return (report.status, report.notes)
  }

  private static let decision = (
    EventType.decision,
    DecisionPayload(.tool([ProposedCall(callId: "1.1.0", name: "f", input: [:])])).encoded
  )
  private static let start = (
    EventType.toolStarted,
    ToolStartedPayload(callId: "1.1.0", tool: "f", attempt: 1, idempotencyKey: "k").encoded
  )
  private static let result = (
    EventType.toolResult,
    ToolResultPayload(callId: "1.1.0", tool: "f", result: .ok(data: 1)).encoded
  )

  @Test("a result behind its decision is in order; one before it, or without one, is not")
  func order() throws {
    #expect(try Self.notes([Self.decision, Self.start, Self.result]) == (.whole, []))
    #expect(
      try Self.notes([Self.result, Self.decision])
        == (
          .whole,
          ["out of order: event 1 starts or ends a call that no decision before it holds"]
        ))
    #expect(
      try Self.notes([Self.start, Self.result]).1 == [
        "out of order: event 1, and 1 more, start or end calls that no decision before them holds"
      ])
  }

  @Test("an import may have lost the call of a result, and a gap may hold it")
  func excused() throws {
    let source = RunSource(format: "tau2", file: "a.json")
    #expect(try Self.notes([Self.result], source: source).1.isEmpty)
    #expect(try Self.notes([Self.result], gapThrough: 3).1.isEmpty)
  }
}
