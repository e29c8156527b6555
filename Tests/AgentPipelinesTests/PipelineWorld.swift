import AgentRuntime
import AgentTesting
import AgentTrace
import Synchronization
import Testing

@testable import AgentPipelines

/// A clock that moves with each look at it, and by what is waited for; attempts end in any order.
final class TickingClock: RunClock {
  private let now: Mutex<Int>

  init(_ now: Int) { self.now = Mutex(now) }

  var isFixed: Bool { false }

  func reading() -> ClockReading {
    let t = now.withLock { now in
      now += 1_000
      return now
    }
    return ClockReading(t: t, time: "")
  }

  func wait(microseconds: Int) async { now.withLock { $0 += microseconds } }

  func advance(to t: Int) { now.withLock { $0 = max($0, t) } }
}

/// A pipeline and its log in memory: run, cut off, gone on with and answered as a test says.
struct PipelineWorld {
  var pipeline: Pipeline
  var executor: any Executor
  var events: [Event] = []
  var state = PipelineState()
  var seed = 0

  /// Keeps events, and fails behind so many of them, as a process does that is killed.
  private final class Sink: EventSink {
    struct Killed: Error {}
    var events: [Event]
    let limit: Int

    init(_ events: [Event], limit: Int) {
      self.events = events
      self.limit = limit
    }

    func append(_ event: Event, isEffectAhead: Bool) throws {
      guard events.count < limit else { throw Killed() }
      #expect(event.seq == events.count)
      events.append(event)
    }
  }

  init(_ pipeline: Pipeline, executor: any Executor = LocalExecutor(), seed: Int = 0) {
    self.pipeline = pipeline
    self.executor = executor
    self.seed = seed
  }

  private func runtime(_ pausing: Cancellation) -> PipelineRuntime {
    PipelineRuntime(
      pipeline, executor: executor,
      clock: TickingClock(state.elapsedMicroseconds),
      identifiers: SeededRunIDs(seed: seed), pausing: pausing)
  }

  /// Runs, or goes on, until the run stops or the process is killed.
  ///
  /// - Parameters:
  ///   - limit: how many events the log may have.
  ///   - pauseAt: the event behind which a pause is wished for.
  ///   - pauseOn: events of a type behind which it is wished for.
  /// - Returns: whether it was killed.
  @discardableResult
  mutating func go(
    input: JSONValue? = nil, limit: Int = .max, pauseAt: Int = .max, pauseOn: EventType? = nil
  ) async throws -> Bool {
    let pausing = Cancellation()
    let sink = Sink(events, limit: limit)
    let runtime = runtime(pausing)
    let observe: (Event) async -> Void = {
      if $0.seq >= pauseAt || $0.type == pauseOn { pausing.cancel(signal: "pause") }
    }
    do {
      if events.isEmpty {
        var start = PipelineRuntime.Start(input: input)
        start.seed = seed
        state = try await runtime.run(start, into: sink, observe: observe)
      } else {
        let past = PipelinePast(of: pipeline, events)
        let all = events
        state = try await runtime.resume(
          past, RunResumed(why: "test"), into: sink, stateAt: { Self.state(of: all, at: $0) },
          observe: observe)
      }
      events = sink.events
    } catch is Sink.Killed {
      events = sink.events
      state = Self.state(of: events)
      return true
    }
    // What the log says is what the run says.
    #expect(Self.state(of: events) == state)
    return false
  }

  mutating func rollback(
    to checkpoint: String?, leaving: Bool = true, limit: Int = .max
  ) async throws {
    let sink = Sink(events, limit: limit)
    let all = events
    do {
      state = try await runtime(Cancellation()).rollback(
        PipelinePast(of: pipeline, events), RunResumed(why: "rollback"), to: checkpoint,
        by: "test", leavesUndeclared: leaving, into: sink,
        stateAt: { Self.state(of: all, at: $0) })
    } catch is Sink.Killed {}
    events = sink.events
    state = Self.state(of: events)
  }

  static func state(of events: [Event], at seq: Int = .max) -> PipelineState {
    var state = PipelineState()
    for event in events where event.seq <= seq { state.apply(event) }
    return state
  }

  /// Puts what a person says into the log.
  mutating func answer(_ answer: TaskAnswered) {
    let change = PipelineEvent.answered(answer)
    let event = Event(
      seq: events.count, step: 1, type: change.type, runId: state.runId,
      t: state.elapsedMicroseconds, data: change.encoded)
    events.append(event)
    state.apply(event)
  }

  /// Answers all that waits for a person as a seed says, where the run stands still.
  mutating func answerAll(seed: UInt64) {
    guard state.stop != nil else { return }
    for (node, why) in state.questions {
      var word = Answers.word(for: node, why: why, seed: seed)
      if why == .doubt, state[node.task]?.node(node.element)?.error?.kind == "interrupted" {
        word.word = .didNotHappen
      }
      answer(word)
    }
  }

  /// Whether nothing waits for a person, and the run has stopped by itself.
  var isOver: Bool {
    guard let stop = state.stop else { return false }
    return stop.isFinal || stop.reason == StopReason.toolFailure.rawValue
  }

  var types: [String] { events.map(\.type.rawValue) }

  func changes() -> [PipelineEvent] {
    events.compactMap { try? PipelineEvent(type: $0.type, data: $0.data) }
  }
}
