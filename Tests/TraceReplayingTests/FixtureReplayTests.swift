import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

@Suite("Replay of the recorded fixtures")
struct FixtureReplayTests {
  @Test("there are at least fourteen, and every stop reason is among them")
  func coverage() throws {
    #expect(Fixture.all.count >= 14)
    let reasons = try Fixture.all.map { try $0.events().last?.data["reason"]?.stringValue }
    #expect(Set(reasons.compactMap { $0 }) == Set(StopReason.names))
  }

  @Test(
    "every context packet is made again from agent file, replayed state and earlier events, byte for byte",
    arguments: Fixture.all)
  func packets(fixture: Fixture) throws {
    let events = try fixture.events()
    let assembler = ContextAssembler(agent: try fixture.agent())
    var state = AgentState()
    var count = 0
    for event in events {
      if event.type == .contextBuilt {
        let packet = assembler.assemble(state: state) { seq in
          // Only what stood in the log by then may be looked at.
          seq < event.seq ? events[seq] : nil
        }
        #expect(
          CanonicalJSON.encode(.object(packet.encoded))
            == CanonicalJSON.encode(.object(event.data)),
          "step \(event.step), event \(event.seq)")
        count += 1
      }
      state.apply(event)
    }
    #expect(count > 0)
  }

  @Test(
    "changing any payload field but times and event numbers changes the final state digest",
    arguments: Fixture.all)
  func everyFieldCounts(fixture: Fixture) throws {
    let events = try fixture.events()
    let digest = AgentState(after: events).digest
    var generator = SeededGenerator(seed: UInt64(fixture.name.utf8.count))
    var states: [AgentState] = [AgentState()]
    for event in events { states.append(AgentState(after: [event], from: states[event.seq])) }
    let places = events.indices.flatMap { index in
      JSONValue.object(events[index].data).digestedLeaves.map { (index, $0) }
    }
    let sample = TestRun.count(40, long: places.count)
    for (index, path) in places.shuffled(using: &generator).prefix(sample) {
      var changed = events[index]
      changed.data = JSONValue.object(changed.data).changing(path[...]).objectValue ?? [:]
      let rest = [changed] + events[(index + 1)...]
      #expect(
        AgentState(after: rest, from: states[index]).digest != digest,
        "event \(index), \(path.joined(separator: "/"))")
    }
  }

  @Test("times and event numbers do not reach the final state digest", arguments: Fixture.all)
  func timesDoNotCount(fixture: Fixture) throws {
    let events = try fixture.events()
    let changed = events.map { event in
      var event = event
      event.t += 17
      event.time = nil
      event.data["elapsedMicroseconds"] = event.data["elapsedMicroseconds"].map { _ in 1 }
      for key in ["modelResult", "replyTo"] where event.data[key] != nil { event.data[key] = 4_711 }
      return event
    }
    #expect(AgentState(after: changed).digest == AgentState(after: events).digest)
  }

  @Test("the stop names the digest of the state before it", arguments: Fixture.all)
  func stopDigest(fixture: Fixture) throws {
    let events = try fixture.events()
    let stop = try #require(events.last)
    #expect(stop.type == .stop)
    #expect(
      stop.data["stateDigest"]?.stringValue == AgentState(after: events.dropLast()).digest.hex)
  }

  @Test("a step is replayed with its own events and the state after them", arguments: Fixture.all)
  func steps(fixture: Fixture) throws {
    let events = try fixture.events()
    let last = events.map(\.step).max() ?? 0
    for step in Set([0, 1, last / 2, last]).filter({ $0 <= last }) {
      let replay = try StepReplay(of: step, in: fixture.path)
      #expect(replay.events == events.filter { $0.step == step })
      #expect(replay.state == AgentState(after: events.filter { $0.step <= step }))
      for event in replay.events.suffix(1) {
        #expect(try StepReplay(ofEvent: event.seq, in: fixture.path).state == replay.state)
      }
    }
    #expect(throws: ReplayError.self) { try StepReplay(of: last + 1, in: fixture.path) }
    #expect(throws: ReplayError.self) { try StepReplay(ofEvent: events.count, in: fixture.path) }
  }
}

@Suite("The cause of each stop")
struct StopCauseTests {
  @Test(
    "a recorded run stopped for the reason it names, and the causing event is there",
    arguments: Fixture.all)
  func cause(fixture: Fixture) throws {
    let events = try fixture.events()
    let stop = try Stop(decoding: try #require(events.last).data)
    let limits = try fixture.agent().limits
    let step = events.filter { $0.step == events.last?.step }
    let state = AgentState(after: events.dropLast())

    func last(_ type: EventType) -> JSONObject? { events.last { $0.type == type }?.data }
    func statuses(_ type: EventType, in events: [Event]) -> [JSONValue?] {
      events.filter { $0.type == type }.map { $0.data["status"] }
    }

    switch (stop.reason, stop.detail) {
    case (.success, "final_answer"):
      #expect(last(.decision)?["kind"] == "answer")
      #expect(last(.decision)?["text"]?.stringValue == stop.answer)
    case (.blocked, "human"):
      #expect(last(.decision)?["kind"] == "ask_human")
      #expect(step.last { $0.type == .humanReplied } == nil)
      #expect(!stop.isFinal)
    case (.approvalRequired, _):
      let waiting = step.filter { $0.data["status"] == "approval_required" }.map {
        $0.data["callId"]
      }
      #expect(!waiting.isEmpty)
      #expect(!step.contains { $0.type == .approval })
      #expect(!step.contains { $0.type == .toolStarted && waiting.contains($0.data["callId"]) })
      #expect(state.pendingCalls.map { JSONValue.string($0.callId) } == waiting)
      #expect(!stop.isFinal)
    case (.budgetExhausted, "max_steps"): #expect(state.steps == limits.maxSteps)
    case (.budgetExhausted, "max_tool_calls"):
      #expect(state.totals.toolCalls == limits.maxToolCalls)
      #expect(step.contains { $0.data["reason"] == "limit: max_tool_calls" })
    case (.budgetExhausted, "timeout"):
      #expect(Double(state.elapsedMicroseconds) >= (limits.timeoutSeconds ?? .infinity) * 1e6)
      #expect(
        last(.toolResult)?["reason"]?.stringValue?.hasPrefix("the run's time was over") == true)
    case (.budgetExhausted, "max_tokens"):
      #expect(state.totals.inputTokens + state.totals.outputTokens >= limits.maxTokens ?? .max)
    case (.budgetExhausted, "max_cost"):
      #expect(try #require(state.totals.cost) >= limits.maxCost ?? .infinity)
    case (.invalidDecision, _):
      let kinds = step.filter { $0.type == .decision }.map { $0.data["kind"] }
      #expect(kinds == ["invalid", "invalid", "invalid"])
    case (.policyDenied, "max_denials"):
      #expect(statuses(.policyDecision, in: events).filter { $0 == "deny" }.count == 3)
      #expect(statuses(.policyDecision, in: step).contains("deny"))
    case (.policyDenied, let detail):
      let rule = step.first { $0.data["status"] == "deny" }?.data["ruleId"]?.stringValue
      #expect(detail == rule.map(StopDetail.rule))
      #expect(!step.contains { $0.type == .toolStarted })
    case (.toolFailure, let detail):
      #expect(statuses(.toolResult, in: events).suffix(3) == ["error", "error", "error"])
      #expect(detail == last(.toolResult)?["tool"]?.stringValue.map(StopDetail.tool))
    case (.modelFailure, _):
      let results = step.filter { $0.type == .modelResult }
      #expect(results.count == 3)
      #expect(results.allSatisfy { $0.data["error"] != nil && $0.data["reply"] == nil })
    case (.cancelled, "signal:SIGTERM"):
      let tool = try #require(last(.toolStarted)?["tool"]?.stringValue)
      let registration = try fixture.agent().tools.first { $0.definition.name == tool }
      guard case .scripted(let script)? = registration?.implementation else {
        Issue.record("\(tool) is not scripted")
        return
      }
      #expect(script.rules.contains { $0.raises == "SIGTERM" })
      #expect(!stop.isFinal)
    default: Issue.record("no cause is known for \(stop.reason.rawValue), \(stop.detail ?? "-")")
    }
  }
}

extension AgentState {
  init(after events: some Sequence<Event>, from state: AgentState) {
    self = state
    for event in events { apply(event) }
  }
}
