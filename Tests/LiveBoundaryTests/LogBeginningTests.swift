import AgentRuntime
import AgentTrace
import Synchronization
import Testing

@testable import LiveBoundary

/// Logs of commands that nobody knows yet whom they are about.
@Suite("How the log of a command begins")
struct LogBeginningTests {
  /// What stands in a log, and how often one was begun.
  private final class Log: ClosableSink, Sendable {
    let events = Mutex<[Event]>([])
    let begun = Mutex(0)
    let isSettled = Mutex(false)

    func append(_ event: Event, isEffectAhead: Bool) { events.withLock { $0.append(event) } }
    func closeLog() -> String { "memory" }
    func settle() { isSettled.withLock { $0 = true } }
    func takeBack() { events.withLock { $0 = [] } }

    var types: [EventType] { events.withLock { $0.map(\.type) } }
    var goal: JSONValue? { events.withLock { $0.first?.data["goal"] } }
  }

  private static func recorder(_ log: Log) -> ExchangeRecorder {
    ExchangeRecorder(
      .init(runId: "0193c2a4-0000-8000-8000-000000000000", name: "test"), clock: FixedClock(),
      redactor: Redactor(RedactionSettings())
    ) {
      log.begun.withLock { $0 += 1 }
      return log
    }
  }

  private static func exchange(
    _ recorder: ExchangeRecorder, _ words: String, tools: [JSONValue] = []
  ) async {
    let request = ObservedRequest(
      dialect: Dialect.openai.rawValue, model: "m", streams: false,
      messages: [["role": "user", "content": [["type": "text", "text": .string(words)]]]],
      tools: tools, parameters: [:])
    let turn = await recorder.begin(request)
    let body =
      #"{"choices":[{"index":0,"message":{"role":"assistant","content":"Fine."},"finish_reason":"stop"}]}"#
    let reply = WireReply(status: 200, headers: [], pieces: [Array(body.utf8)], ending: .whole)
    await recorder.end(
      turn,
      ExchangeRecorder.Outcome(
        reply, error: nil, .openai,
        wire: WireRecord(upstream: "u", method: "POST", path: "/x", dialect: "openai"),
        requestId: nil, elapsedMicroseconds: 1))
  }

  @Test("what went by is in the log before it is known which conversation is the agent's own")
  func beforeItIsKnown() async throws {
    let log = Log()
    let recorder = Self.recorder(log)
    await Self.exchange(recorder, "How is Graz?")
    #expect(log.types == [.runStarted, .contextBuilt, .modelResult, .decision])
    #expect(log.goal == "How is Graz?" && !log.isSettled.withLock { $0 })
    _ = try await recorder.finish(.exited(0))
    #expect(log.types == [.runStarted, .contextBuilt, .modelResult, .decision, .stop])
    #expect(log.begun.withLock { $0 } == 1 && log.isSettled.withLock { $0 })
  }

  @Test("a log about another conversation than the agent's own is made anew, with all that went by")
  func madeAnew() async throws {
    let log = Log()
    let recorder = Self.recorder(log)
    await Self.exchange(recorder, "A title, please.")
    #expect(log.goal == "A title, please.")
    await Self.exchange(recorder, "How is Graz?", tools: [["name": "look"], ["name": "ask"]])
    #expect(log.goal == "How is Graz?" && log.isSettled.withLock { $0 })
    let events = log.events.withLock { $0 }
    #expect(events.map(\.seq) == Array(0..<events.count))
    let decisions = events.filter { $0.type == .decision }
    #expect(decisions.map { $0.data["caller"] == nil } == [false, true])
    #expect(log.begun.withLock { $0 } == 2)
  }
}
