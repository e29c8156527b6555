import AgentRuntime
import AgentTrace
import Synchronization
import TestSupport
import Testing
import TraceMatching

@Suite("Going on from any event")
struct GoingOnTests {
  @Test("whatever event a run goes on from, it goes on as it went, and asks for nothing twice")
  func everyEvent() async throws {
    var seen: Set<String> = []
    var boundaries = 0
    // With 234, a call reads a note that one beside it takes away; with 790, time is over while a call is
    // under way and others wait; with 1382, an approved write fails with an unknown effect before an equal one that
    // waits; with 1876, a write fails with an unknown effect, which ends the run, before an equal one begins; with 1978,
    // a breaker opens behind a signal that left a call of its tool for whoever goes on.
    for seed in Array(0..<UInt64(TestRun.count(120, long: 3_000))) + [
      234, 790, 1382, 1876, 1978, 5801,
    ] {
      let agent = try RandomAgent.make(seed: seed)
      let whole = try await agent.run().events
      for event in whole {
        seen.insert(event.type.rawValue)
        if event.type == .breakerChanged { seen.insert(event.data["state"]?.stringValue ?? "") }
        if event.data["attempt"] == 4 { seen.insert("attempt 4") }
        let reason = event.data["reason"]?.stringValue ?? ""
        for start in ["breaker open", "result of", "limit: "]
        where reason.hasPrefix(start) {
          seen.insert(start)
        }
      }
      seen.insert(whole.last?.data["reason"]?.stringValue ?? "none")
      seen.insert(whole.last?.data["detail"]?.stringValue ?? "none")
      for index in whole.indices {
        let rest = try await agent.goOn(from: whole[...index])
        boundaries += 1
        #expect(
          rest.firstDifference(from: whole[(index + 1)...]) == nil,
          "seed \(seed), event \(index) of \(whole.count), next \(rest.next)")
        #expect(rest.askedTwice(after: whole[...index]) == [], "seed \(seed), event \(index)")
        #expect(rest.state == AgentState(after: whole))
        guard rest.events.last == whole.last || index == whole.count - 1 else { return }
      }
    }
    #expect(boundaries > 1_500)
    let expected =
      EventType.known.filter {
        ![.toolsListed, .runResumed, .requestForwarded, .replyChanged, .unseen].contains($0)
          && !EventType.ofPipelines.contains($0)
      }.map(\.rawValue) + StopReason.names
      + [
        "max_steps", "max_tool_calls", "max_tokens", "max_cost", "timeout", "max_denials", "human",
        "rule:no wiping", "rule:guard:steps", "rule:guard:decision", "open",
        "attempt 4", "result of", "limit: ",
      ]
    #expect(expected.filter { !seen.contains($0) } == [])
  }

  @Test("a breaker that opened, or lets one call through, is the same after any event")
  func breaker() async throws {
    let agent = try ExecutorTests.agentWithBreaker()
    let whole = try await agent.run().events
    for index in whole.indices {
      let rest = try await agent.goOn(from: whole[...index])
      #expect(rest.firstDifference(from: whole[(index + 1)...]) == nil, "event \(index)")
    }
  }

  @Test("what a run does next follows from the events of its step, at each of them")
  func progress() async throws {
    var agent = AgentDefinition.playing(
      [
        .init(choices: [.init(answer: .unreachable("down"))]),
        .init(choices: [.init(answer: .reply(["calls": [["name": "nothing"]]]))]),
        .init(choices: [.init(answer: .reply(calls("look 1", "pay 2")))]),
        .init(choices: [.init(answer: .reply(["question": "Shall I?"]))]),
        .init(choices: [.init(answer: .reply(answer("done")))]),
      ])
    agent.memory = [MemoryNote(scope: "run", key: "a", value: 1)]
    agent.human = ScriptedPerson(
      approvals: [.init(granted: true, by: "Ana")], answers: [.init(text: "yes", by: "Ana")])
    let events = try await agent.run().events
    var progress = StepProgress()
    var lines: [String] = []
    for event in events {
      try progress.observe(event)
      let callId = event.data["callId"]?.stringValue
      lines.append(
        "\(event.step) \(event.type)\(callId.map { " \($0)" } ?? ""): \(progress.next)")
    }
    #expect(
      lines == [
        "0 run_started: notes", "0 memory_read: notes", "1 context_built: model",
        "1 model_result: model", "1 model_result: decision", "1 decision: context",
        "1 context_built: model", "1 model_result: decision", "1 decision: verdicts",
        "1 policy_decision 1.2.0: verdicts", "1 policy_decision 1.2.1: results",
        "1 tool_started 1.2.0: results", "1 tool_result 1.2.0: approval",
        "1 approval 1.2.1: approval", "1 policy_decision 1.2.1: results",
        "1 tool_started 1.2.1: results", "1 tool_result 1.2.1: step", "2 context_built: model",
        "2 model_result: decision", "2 decision: person", "2 human_replied: step",
        "3 context_built: model", "3 model_result: decision", "3 decision: stop", "3 stop: nothing",
      ])
  }

  @Test("an event whose data are not what its type promises is refused, and nothing is taken in")
  func damage() async throws {
    let events = try await AgentDefinition.replying(calls("look 1", "pay 2"), answer("x")).run()
      .events
    for type in [
      EventType.contextBuilt, .modelResult, .decision, .policyDecision, .toolStarted, .toolResult,
    ] {
      var past = RunPast(for: .replying(answer("x")))
      let index = try #require(events.firstIndex { $0.type == type })
      for event in events[..<index] { try past.take(event) }
      var broken = events[index]
      for key in broken.data.map(\.key) where key != "callId" { broken.data[key] = [[]] }
      #expect(throws: PayloadError.self, "\(type)") { try past.take(broken) }
      #expect(past.nextSeq == index)
      #expect(past.state == AgentState(after: events[..<index]))
    }
  }

  @Test("a run that paused goes on once it was resumed, and asks again whoever was silent")
  func resumed() async throws {
    var agent = AgentDefinition.replying(
      calls("pay 1", "look 2", "pay 3"), ["question": "Shall I?"], answer("x"))
    var events = try await agent.run().events
    #expect(events.last?.data["reason"] == "approval_required")
    func resume() {
      events.append(
        Event(
          seq: events.count, step: events.last?.step ?? 0, type: .runResumed,
          runId: events[0].runId, t: events.last?.t ?? 0,
          data: RunResumed(why: "a person came").encoded))
    }
    #expect(try await agent.goOn(from: events).events == [])
    resume()
    agent.human = ScriptedPerson(
      approvals: [.init(input: try Matcher(compiling: ["n": 3]), granted: true, by: "Ana")])
    let half = try await agent.goOn(from: events)
    let outline = SampleRun(events: half.events, state: half.state).outline
    #expect(
      outline == [
        "approval 1.1.2", "policy_decision 1.1.2 allow", "tool_started 1.1.2",
        "tool_result 1.1.2 ok", "stop",
      ])
    events += half.events
    resume()
    agent.human?.approvals.append(.init(granted: true, by: "Bo"))
    let asked = try await agent.goOn(from: events)
    #expect(asked.asked.prefix(2) == ["approval 1.1.0", "tool 1.1.0"])
    #expect(asked.events.last?.data["reason"] == "blocked")
    events += asked.events
    resume()
    agent.human?.answers.append(.init(text: "yes", by: "Ana"))
    let rest = try await agent.goOn(from: events)
    // Told the answer, the person has nothing more to say.
    #expect(rest.asked == ["answer", "decide 3", "answer"])
    #expect(rest.events.last?.data["reason"] == "success")
    #expect(rest.state.totals.toolCalls == 3)
  }

  @Test(
    "a call left open runs again, waits for a person, or blocks the run, as the caller decides",
    arguments: [
      (UnfinishedCall.runAgain, "success", ["tool_result 1.1.0"]),
      (.askAgain, "approval_required", []), (.block, "blocked", []),
    ])
  func unfinished(choice: UnfinishedCall, reason: String, results: [String]) async throws {
    var agent = AgentDefinition.replying(calls("pay 1"), answer("x"))
    agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)])
    let whole = try await agent.run().events
    let start = try #require(whole.firstIndex { $0.type == .toolStarted })
    let rest = try await agent.goOn(
      from: whole[...start], Continuation(unfinished: { _, _ in choice }))
    #expect(rest.events.last?.data["reason"]?.stringValue == reason)
    #expect(rest.events.last?.data["final"] == .bool(choice == .runAgain))
    let found = rest.events.filter { $0.type == .toolResult }.compactMap {
      $0.data["callId"]?.stringValue.map { "tool_result \($0)" }
    }
    #expect(found == results)
    if choice == .block {
      #expect(rest.events.last?.data["detail"] == "unknown_effect:pay")
    }
  }

  @Test("a person who grants an open call lets it start anew, as its next attempt")
  func openCallGranted() async throws {
    var agent = AgentDefinition.replying(calls("pay 1", "look 2"), answer("x"))
    agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)])
    let whole = try await agent.run().events
    let start = try #require(whole.firstIndex { $0.type == .toolStarted })
    agent.human = ScriptedPerson(approvals: [.init(granted: true, by: "Ana")])
    let continuation = Continuation(unfinished: { $1.isSafeTwice ? .runAgain : .askAgain })
    let rest = try await agent.goOn(from: whole[...start], continuation)
    let outline = SampleRun(events: rest.events, state: rest.state).outline
    #expect(
      outline == [
        "tool_started 1.1.1", "tool_result 1.1.1 ok", "approval 1.1.0",
        "policy_decision 1.1.0 allow", "tool_started 1.1.0", "tool_result 1.1.0 ok",
        "decision answer", "stop",
      ])
    let second = try #require(
      rest.events.first { $0.data["callId"] == "1.1.0" && $0.type == .toolStarted })
    #expect(second.data["attempt"] == 2)
    // That run again goes on from each of its events as it went.
    let all = Array(whole[...start]) + rest.events
    for index in start..<all.count {
      let again = try await agent.goOn(from: all[...index], continuation)
      guard all[index].type != .toolStarted || all[index].data["callId"] != "1.1.0" else {
        continue  // Open again: the person is asked once more.
      }
      #expect(again.firstDifference(from: all[(index + 1)...]) == nil, "event \(index)")
    }
  }

  @Test(
    "a call that needs approval again waits for it though policy allows it, until it is granted")
  func asksAgain() async throws {
    var agent = AgentDefinition.replying(calls("pay 1"), calls("pay 1"), answer("x"))
    agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)])
    let whole = try await agent.run().events
    let first = whole.prefix(1)
    let continuation = Continuation(asksAgain: {
      $0.name == "pay" && $1.sideEffect == .write ? "done before" : nil
    })
    // A verdict that was given is no approval.
    let ruled = try #require(whole.firstIndex { $0.type == .policyDecision })
    let held = try await agent.goOn(from: whole[...ruled], continuation)
    #expect(held.events.map(\.type) == [.stop])
    #expect(held.events.last?.data["reason"] == "approval_required")
    let paused = try await agent.goOn(from: first, continuation)
    #expect(paused.events.last?.data["reason"] == "approval_required")
    let verdict = try #require(paused.events.first { $0.type == .policyDecision })
    #expect(verdict.data["reason"] == "done before")
    for (scope, count) in [(.once, 2), (.calls(2), 1), (.input, 1)] as [(ApprovalScope, Int)] {
      agent.human = ScriptedPerson(approvals: [.init(granted: true, by: "Ana", scope: scope)])
      let granted = try await agent.goOn(from: first, continuation)
      #expect(granted.events.filter { $0.type == .approval }.count == count)
      #expect(granted.events.filter { $0.type == .toolStarted }.count == 2)
      #expect(granted.events.last?.data["reason"] == "success")
    }
  }
}

/// What came of going on.
struct GoneOn {
  var events: [Event]
  var state: AgentState
  var next: StepProgress.Next
  var asked: [String]

  /// The first event that is not as expected, beside what was.
  func firstDifference(from expected: some Sequence<Event>) -> String? {
    let found = events.map(\.line)
    let expected = expected.map(\.line)
    let index = zip(found, expected).enumerated().first { $1.0 != $1.1 }?.offset
    if let index { return "\(found[index])\n\(expected[index])" }
    return found.count == expected.count ? nil : "\(found.count) events, not \(expected.count)"
  }

  /// What was asked though its answer stands in the events before.
  func askedTwice(after past: ArraySlice<Event>) -> [String] {
    var answered: Set<String> = []
    var models: [String: Int] = [:]
    for event in past {
      let callId = event.data["callId"]?.stringValue ?? ""
      if event.type == .modelResult, let purpose = event.data["purpose"]?.stringValue {
        models[purpose, default: 0] += 1
        answered.insert("\(purpose) \(models[purpose] ?? 0)")
      }
      if event.type == .toolResult { answered.insert("tool \(callId)") }
      if event.type == .approval { answered.insert("approval \(callId)") }
    }
    return asked.filter(answered.contains)
  }
}

extension Event {
  var line: String { String(decoding: encodedLine(), as: UTF8.self) }
}

extension AgentDefinition {
  func goOn(
    from past: some Sequence<Event>,
    _ continuation: Continuation = Continuation(unfinished: { _, _ in .runAgain })
  ) async throws -> GoneOn {
    let cancellation = Cancellation()
    var runPast = RunPast(for: self)
    var time = 0
    for event in past {
      try runPast.take(event)
      time = event.t
      if event.type == .toolResult, raises(in: past, event) {
        cancellation.cancel(signal: "SIGTERM")
      }
    }
    let boundary = AskedBoundary(
      AssembledBoundary(
        for: self, clock: FixedClock(elapsedMicroseconds: time + 1_000),
        identifiers: SeededRunIDs(seed: 1), cancellation: cancellation,
        raise: { cancellation.cancel(signal: $0) }))
    let sink = InMemoryEventSink()
    let state = try await Runtime(agent: self, boundary: boundary).goOn(
      from: runPast, continuation, into: sink)
    return GoneOn(
      events: sink.events, state: state, next: runPast.progress.next, asked: boundary.asked)
  }

  /// Whether the tool had sent its signal when this result was taken in.
  private func raises(in past: some Sequence<Event>, _ result: Event) -> Bool {
    let input = past.filter { $0.type == .decision }
      .flatMap { (try? DecisionPayload(decoding: $0.data))?.decision.calls ?? [] }
      .last { .string($0.callId) == result.data["callId"] }?.input
    guard let tool = tools.first(where: { .string($0.definition.name) == result.data["tool"] }),
      case .scripted(let script) = tool.implementation, let input,
      let attempts = result.data["attempts"]?.intValue, attempts > 0
    else { return false }
    return (1...attempts).contains { attempt in
      let view: JSONValue = [
        "input": input, "attempt": JSONValue(attempt), "step": JSONValue(result.step),
      ]
      return script.rules.first { $0.condition?.match(view).isMatch ?? true }?.raises != nil
    }
  }
}

/// Notes what is asked of another boundary.
final class AskedBoundary: Boundary {
  private let inner: any Boundary
  private let log = Mutex<[String]>([])

  init(_ inner: any Boundary) { self.inner = inner }

  var asked: [String] { log.withLock { $0 } }
  var clock: any RunClock { inner.clock }
  var cancellation: Cancellation { inner.cancellation }

  func makeRunID() -> String { inner.makeRunID() }

  func reply(to request: ModelRequest) async -> ModelAnswer {
    log.withLock { $0.append("\(request.purpose.rawValue) \(request.number)") }
    return await inner.reply(to: request)
  }

  func run(_ request: ToolRequest) async -> ToolAnswer {
    log.withLock { $0.append("tool \(request.callId)") }
    return await inner.run(request)
  }

  func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
    log.withLock { $0.append("approval \(request.call.callId)") }
    return await inner.approve(request)
  }

  func answer(_ request: QuestionRequest) async -> PersonAnswer? {
    log.withLock { $0.append("answer") }
    return await inner.answer(request)
  }

  func simulatedPerson(step: Int, question: Int) -> SimulatedPerson? {
    inner.simulatedPerson(step: step, question: question)
  }
}

extension AgentState {
  init(after events: some Sequence<Event>) {
    self.init()
    for event in events { apply(event) }
  }
}
