import AgentRuntime
import AgentTrace
import Foundation
import Synchronization
import TestSupport
import Testing
import TraceJudging

@testable import LiveBoundary

/// Random replies with a forbidden call in them, each changed in one way that no decoder knows.
@Suite("Replies of unknown kinds")
struct UnseenMutationTests {
  /// How a reply comes.
  struct Form: Sendable, CustomTestStringConvertible {
    var dialect: Dialect
    var isStream: Bool
    var testDescription: String { "\(dialect.rawValue)\(isStream ? ", streamed" : "")" }
  }

  static let forms = Dialect.allCases.flatMap {
    [Form(dialect: $0, isStream: false), Form(dialect: $0, isStream: true)]
  }

  private final class Log: ClosableSink, Sendable {
    let events = Mutex<[Event]>([])
    func append(_ event: Event, isEffectAhead: Bool) { events.withLock { $0.append(event) } }
    func closeLog() -> String { "memory" }
    func settle() {}
    func takeBack() { events.withLock { $0 = [] } }
  }

  /// What is recorded of one exchange.
  static func record(_ reply: WireReply, _ dialect: Dialect) async throws -> [Event] {
    let log = Log()
    let recorder = ExchangeRecorder(
      .init(runId: "0193c2a4-0000-8000-8000-000000000000", name: "test"), clock: FixedClock(),
      redactor: Redactor(RedactionSettings()), makeSink: { log })
    let request = ObservedRequest(
      dialect: dialect.rawValue, model: "m", streams: false,
      messages: [["role": "user", "content": [["type": "text", "text": "go"]]]], tools: [],
      parameters: [:])
    let turn = await recorder.begin(request)
    let outcome = ExchangeRecorder.Outcome(
      reply, error: nil, dialect,
      wire: WireRecord(upstream: "u", method: "POST", path: "/x", dialect: dialect.rawValue),
      requestId: nil, elapsedMicroseconds: 1)
    await recorder.end(turn, outcome)
    _ = try await recorder.finish(.exited(0))
    return log.events.withLock { $0 }
  }

  private static let forbidden: [JSONValue] = [
    ["toolsNotCalled": ["pay"]], ["toolsNotProposed": ["pay"]], ["maxToolCalls": 0],
    ["toolsNotCalled": [["tool": "pay", "input": ["amount": 250]]]],
    ["toolsNotProposed": [["tool": "pay", "input": ["amount": 250]]]],
  ]

  private static func passing(_ events: [Event]) throws -> [JSONValue] {
    try forbidden.filter { expected in
      let expectations = try Expectations(parsing: expected)
      return Judge.judge(Trajectory(of: events), against: expectations).outcome == .pass
    }
  }

  @Test(
    "a forbidden call never passes, whatever one thing about its reply is of an unknown kind",
    arguments: forms)
  func mutated(_ form: Form) async throws {
    var random = Seeded(seed: 22)
    for round in 0..<TestRun.count(1_500, long: 12_000) {
      let sample = ReplySample(form.dialect, isStream: form.isStream, &random)
      if round < 20 {
        // The reply as it is shows the call, and nothing beside it is unknown.
        let events = try await Self.record(sample.reply(), form.dialect)
        #expect(try Self.passing(events).isEmpty)
        #expect(!events.contains { $0.type == .unseen }, "\(sample)")
        #expect(Trajectory(of: events).calls.contains { $0.tool == "pay" })
      }
      let (reply, change) = sample.mutated(&random)
      let passing = try Self.passing(try await Self.record(reply, form.dialect))
      if !passing.isEmpty {
        Issue.record(
          "\(change): \(passing) passes on \(String(decoding: reply.body, as: UTF8.self))")
        return
      }
    }
  }
}
