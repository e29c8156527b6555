import AgentRuntime
import AgentTrace
import Synchronization
import Testing
import TraceMatching

@Suite("Cancelling the task of a run")
struct CancellingTests {
  enum Clock: CaseIterable {
    case fixed, running

    func made() -> any RunClock { self == .fixed ? FixedClock() : TickingClock() }
  }

  /// Two writes beside a read that fails once, a wait, a person who is asked, and an answer.
  private static func agent(_ points: Points) throws -> AgentDefinition {
    func tool(_ name: String, _ sideEffect: SideEffect, failing: Bool = false) -> ToolRegistration {
      ToolRegistration(
        definition: ToolDefinition(name: name, sideEffect: sideEffect),
        implementation: .tool(
          ClosureTool { request in
            points.pass("tool \(request.callId) \(request.attempt)")
            try await Task.sleep(for: .milliseconds(1))
            if failing, request.attempt == 1 { throw Busy() }
            return ["done": true]
          }),
        retry: failing ? RetrySettings(maxAttempts: 3, backoffSeconds: 0.001) : nil)
    }
    var agent = AgentDefinition.replying(
      calls("pay 1", "look 2", "pay 3"), ["question": "which?"], calls("send 4"), answer("done"),
      tools: [tool("pay", .write), tool("look", .read, failing: true), tool("send", .write)])
    agent.policy = Policy(rules: [
      .init(id: "pay", tools: [try Glob("pay")], verdict: .allow)
    ])
    agent.limits.maxSteps = 20
    return agent
  }

  /// What one session of a run came to.
  private struct Session {
    var events: [Event]
    var state: AgentState
    var effects: [String]
  }

  /// Lives a session, whose task is cancelled at the n-th point.
  private static func live(
    _ clock: Clock, cancelledAt number: Int?, behind past: [Event] = []
  ) async throws -> Session {
    let points = Points(number)
    let agent = try agent(points)
    let base = AssembledBoundary(
      for: agent, clock: clock.made(), identifiers: SeededRunIDs(seed: 1), person: Person(points))
    let boundary = PassedBoundary(base, points)
    let task = Task {
      await points.wait()
      let sink = PassedSink(points)
      let runtime = try Runtime(agent: agent, boundary: boundary)
      let state: AgentState
      if past.isEmpty {
        state = try await runtime.run(goal: "pay", into: sink)
      } else {
        var runPast = RunPast(for: agent)
        for event in past { try runPast.take(event) }
        state = try await runtime.goOn(from: runPast, into: sink)
      }
      return Session(events: sink.events, state: state, effects: [])
    }
    points.open { task.cancel() }
    var session = try await task.value
    session.effects = points.names.filter { $0.hasPrefix("tool") }
    return session
  }

  @Test(
    "at whatever point it comes, the run stops as cancelled, nothing happens twice, and it goes on",
    .timeLimit(.minutes(2)), arguments: Clock.allCases)
  func everyPoint(clock: Clock) async throws {
    let whole = try await Self.live(clock, cancelledAt: nil)
    #expect(whole.state.stop?.reason == "success")
    let count = Set(whole.events.map(\.seq)).count
    #expect(whole.effects.count == 5, "\(whole.effects)")
    var cancelled = 0
    // Beyond the last point nothing is cancelled.
    for number in 1...(3 * count) {
      let first = try await Self.live(clock, cancelledAt: number)
      var effects = first.effects
      let stop = try #require(first.state.stop)
      #expect(["cancelled", "success"].contains(stop.reason), "\(number): \(stop)")
      var events = first.events
      #expect(events.last?.type == .stop, "\(number)")
      if stop.reason == "cancelled" {
        cancelled += 1
        #expect(!stop.isFinal && stop.detail == "signal:task", "\(number)")
        events.append(
          Event(
            seq: events.count, step: events.last?.step ?? 0, type: .runResumed,
            runId: first.state.runId, t: first.state.elapsedMicroseconds,
            data: ["why": "cancelled"]))
        let rest = try await Self.live(clock, cancelledAt: nil, behind: events)
        effects += rest.effects
        events += rest.events
        #expect(rest.state.stop?.reason == "success", "\(number): \(rest.state.stop.debug)")
      }
      #expect(Set(effects).count == effects.count, "\(number): \(effects)")
      let starts = events.filter { $0.type == .toolStarted }.map {
        "\($0.data["callId"]?.stringValue ?? "") \($0.data["attempt"]?.intValue ?? 0)"
      }
      #expect(Set(starts).count == starts.count, "\(number): \(starts)")
      // A call whose start is recorded may have been held back by the wish; none runs without one.
      #expect(Set(effects).isSubset(of: Set(starts.map { "tool \($0)" })), "\(number)")
      #expect(events.map(\.seq) == Array(events.indices), "\(number)")
      #expect(events.count { $0.type == .decision } == 4, "\(number)")
    }
    #expect(cancelled > count)
  }

  @Test("a task that was cancelled before runs nothing")
  func before() async throws {
    let points = Points(nil)
    let agent = try Self.agent(points)
    let run = try await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await agent.run()
    }.value
    #expect(run.stop == ("cancelled", "signal:task"))
    #expect(run.events.map(\.type) == [.runStarted, .stop] && points.names.isEmpty)
  }

  @Test(
    "a model, a person and a clock of somebody else's are left or ended, though they hear of nothing",
    .timeLimit(.minutes(1)))
  func deaf() async throws {
    struct Deaf: Model, AgentRuntime.Person {
      func sleep() async { await Task.detached { try? await Task.sleep(for: .seconds(20)) }.value }
      func reply(to request: ModelRequest) async -> ModelAnswer {
        await sleep()
        return ModelAnswer(reply: ["text": "late"])
      }
      func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
        await sleep()
        return nil
      }
      func answer(_ request: QuestionRequest) async -> PersonAnswer? {
        await sleep()
        return nil
      }
    }
    var hanging = AgentDefinition.replying(answer("x"), tools: [])
    hanging.model.implementation = .model(Deaf())
    let asking = AgentDefinition.replying(["question": "which?"], answer("x"), tools: [])
    let approving = AgentDefinition.replying(calls("pay 1"), answer("x"))
    var waiting = AgentDefinition.replying(
      calls("look 1"), answer("x"),
      tools: [.tool("look", .read, rules: [.init(outcome: .error("a"))])])
    waiting.tools[0].retry = RetrySettings(maxAttempts: 3, backoffSeconds: 1_000)
    let start = ContinuousClock.now
    for agent in [hanging, asking, approving, waiting] {
      let boundary = AssembledBoundary(
        for: agent, clock: TickingClock(), identifiers: SeededRunIDs(seed: 1), person: Deaf())
      let task = Task {
        try await Runtime(agent: agent, boundary: boundary).run(
          goal: "x", into: InMemoryEventSink())
      }
      try await Task.sleep(for: .milliseconds(50))
      task.cancel()
      #expect(try await task.value.stop?.reason == "cancelled")
    }
    #expect(ContinuousClock.now - start < .seconds(15))
  }

  @Test("no attempt of a call starts twice while a loop runs, whatever leads to it")
  func startGuard() throws {
    var starts = StartGuard()
    for (callId, attempt, step, isRefused) in [
      ("1.1.0", 1, 1, false), ("1.1.1", 1, 1, false), ("1.1.0", 1, 1, true), ("1.1.0", 2, 1, false),
      ("1.1.0", 2, 1, true), ("1.1.0", 1, 1, true), ("2.1.0", 1, 2, false), ("1.1.1", 2, 1, true),
      ("2.1.0", 1, 2, true), ("2.2.0", 3, 2, false),
    ] {
      var fault: LoopFault?
      do throws(LoopFault) {
        try starts.note(callId, attempt: attempt, step: step)
      } catch { fault = error }
      #expect(fault == (isRefused ? .startedTwice(callId: callId, attempt: attempt) : nil))
    }
  }
}

private struct Busy: Error {}

extension Optional {
  fileprivate var debug: String { map { "\($0)" } ?? "nil" }
}

/// Where a run may be cancelled, in the order in which it comes by.
private final class Points: Sendable {
  private struct State {
    var names: [String] = []
    var cancel: (@Sendable () -> Void)?
  }

  private let number: Int?
  private let state = Mutex(State())

  init(_ number: Int?) { self.number = number }

  var names: [String] { state.withLock { $0.names } }

  func open(_ cancel: @escaping @Sendable () -> Void) { state.withLock { $0.cancel = cancel } }

  func wait() async { while state.withLock({ $0.cancel == nil }) { await Task.yield() } }

  func pass(_ name: String) {
    let cancel = state.withLock { state in
      state.names.append(name)
      return state.names.count == number ? state.cancel : nil
    }
    cancel?()
  }
}

/// Says yes and answers.
private struct Person: AgentRuntime.Person {
  let points: Points

  init(_ points: Points) { self.points = points }

  func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
    ApprovalAnswer(granted: true, by: "ana")
  }

  func answer(_ request: QuestionRequest) async -> PersonAnswer? {
    request.kind == .question ? PersonAnswer(text: "that one", by: "ana") : nil
  }
}

private final class PassedSink: EventSink {
  private let points: Points
  private(set) var events: [Event] = []

  init(_ points: Points) { self.points = points }

  func append(_ event: Event, isEffectAhead: Bool) {
    points.pass("before \(event.seq)")
    events.append(event)
    points.pass("behind \(event.seq)")
  }
}

/// Passes a point whenever it is asked something.
private struct PassedBoundary: Boundary {
  let base: AssembledBoundary
  let points: Points

  init(_ base: AssembledBoundary, _ points: Points) { (self.base, self.points) = (base, points) }

  var clock: any RunClock { PassedClock(base: base.clock, points: points) }
  var cancellation: Cancellation { base.cancellation }
  func makeRunID() -> String { base.makeRunID() }

  func reply(to request: ModelRequest) async -> ModelAnswer {
    points.pass("model")
    await Task.yield()
    return await base.reply(to: request)
  }

  func run(_ request: ToolRequest) async -> ToolAnswer { await base.run(request) }

  func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
    points.pass("approve")
    return await base.approve(request)
  }

  func answer(_ request: QuestionRequest) async -> PersonAnswer? {
    points.pass("answer")
    return await base.answer(request)
  }
}

private struct PassedClock: RunClock {
  let base: any RunClock
  let points: Points

  var isFixed: Bool { base.isFixed }
  func reading() -> ClockReading { base.reading() }
  func advance(to t: Int) { base.advance(to: t) }

  func wait(microseconds: Int) async {
    points.pass("wait")
    await base.wait(microseconds: microseconds)
  }
}

/// A clock that runs.
private final class TickingClock: RunClock {
  private let start = ContinuousClock.now
  var isFixed: Bool { false }
  func reading() -> ClockReading {
    ClockReading(t: Int((ContinuousClock.now - start) / .microseconds(1)), time: "now")
  }
  func wait(microseconds: Int) async { try? await Task.sleep(for: .microseconds(microseconds)) }
  func advance(to t: Int) {}
}
