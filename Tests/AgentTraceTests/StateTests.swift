import AgentTrace
import TestSupport
import Testing

/// Events of a run with two parallel calls, as small as they can be.
private struct Sample {
  var events: [Event] = []

  mutating func add(_ payload: EventPayload, step: Int, t: Int = 0) {
    events.append(
      Event(
        seq: events.count, step: step, type: payload.type, runId: "r", t: t, data: payload.encoded))
  }

  static func result(_ callId: String, _ result: ToolResult) -> EventPayload {
    .toolResult(ToolResultPayload(callId: callId, tool: "t", result: result, attempts: 1))
  }

  static func started(_ callId: String) -> EventPayload {
    .toolStarted(
      ToolStartedPayload(callId: callId, tool: "t", attempt: 1, idempotencyKey: "r/\(callId)"))
  }

  /// A step with `count` calls whose starts and results stand in the orders given.
  static func run(starts: [Int], results: [Int]) -> [Event] {
    var sample = Sample()
    sample.add(.runStarted(RunStarted(agentName: "a", goal: "g")), step: 0)
    let calls = starts.indices.map {
      ProposedCall(callId: "1.1.\($0)", name: "t", input: ["n": JSONValue($0)])
    }
    sample.add(.decision(DecisionPayload(.tool(calls))), step: 1)
    for index in starts { sample.add(started("1.1.\(index)"), step: 1, t: 5) }
    for index in results {
      sample.add(
        result("1.1.\(index)", index == 1 ? .error("no") : .ok(data: JSONValue(index))), step: 1,
        t: index)
    }
    sample.add(
      .decision(DecisionPayload(.answer(text: "done", evidenceRefs: []))), step: 2, t: 9)
    sample.add(.stop(Stop(reason: .success)), step: 2, t: 10)
    return sample.events
  }
}

private func state(after events: [Event]) -> AgentState {
  var state = AgentState()
  for event in events { state.apply(event) }
  return state
}

@Suite("The state")
struct StateTests {
  static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

  @Test(
    "results of one decision leave the same state in whatever order they came", arguments: orders,
    orders)
  func completionOrder(starts: [Int], results: [Int]) {
    let inOrder = state(after: Sample.run(starts: [0, 1, 2], results: [0, 1, 2]))
    let other = state(after: Sample.run(starts: starts, results: results))
    #expect(other.digest == inOrder.digest)
    #expect(other.observations.recent.map(\.id) == inOrder.observations.recent.map(\.id))
    #expect(other.counters.toolErrorsInARow == 0)
    #expect(other.totals.toolCalls == 3)
    #expect(other.steps == 2)
  }

  @Test(
    "of many calls, results that come late leave the state of those that come at once, and as soon",
    arguments: [40, 9_000])
  func manyCalls(count: Int) throws {
    let inOrder = Array(0..<count)
    let first = state(after: Sample.run(starts: inOrder, results: inOrder))
    let (begun, late) = (
      ContinuousClock.now, Sample.run(starts: inOrder, results: inOrder.reversed())
    )
    var folded = AgentState()
    for (index, event) in late.enumerated() {
      folded.apply(event)
      // Behind the last result stand an answer and the stop.
      let waitsForLast = index == late.count - 4
      if waitsForLast { #expect(folded.pendingCalls.count == count) }
      guard waitsForLast || count < 100 else { continue }
      #expect(try AgentState(decoding: try #require(folded.encoded.objectValue)) == folded)
    }
    #expect(folded.digest == first.digest && folded.pendingCalls.isEmpty)
    #expect(begun.duration(to: .now) < .seconds(20))
  }

  @Test("many calls of one id, which no runtime makes, are left behind as soon as others")
  func callsOfOneID() {
    let count = 20_000
    var sample = Sample()
    sample.add(.runStarted(RunStarted(agentName: "a", goal: "g")), step: 0)
    for conversation in [1, 2, 2, 1] {
      let calls = (0..<count).map {
        ProposedCall(callId: "same", name: "t", input: ["n": JSONValue($0)])
      }
      var data = DecisionPayload(.tool(calls)).encoded
      data["conversation"] = JSONValue(conversation)
      sample.events.append(
        Event(seq: sample.events.count, step: 1, type: .decision, runId: "r", t: 0, data: data))
    }
    let begun = ContinuousClock.now
    let folded = state(after: sample.events)
    // What nobody answers does not pile up.
    #expect((1...count).contains(folded.pendingCalls.count))
    #expect(folded.pendingCalls.last?.conversation == 1)
    #expect(begun.duration(to: .now) < .seconds(30))
  }

  @Test(
    "conversations side by side each keep the order of their own calls, few as many",
    arguments: [3, 200])
  func conversations(count: Int) throws {
    var sample = Sample()
    sample.add(.runStarted(RunStarted(agentName: "a", goal: "g")), step: 0)
    func decision(_ conversation: Int) -> Event {
      let calls = (0..<2).map {
        ProposedCall(callId: "\(conversation).\($0)", name: "t", input: ["n": JSONValue($0)])
      }
      var data = DecisionPayload(.tool(calls)).encoded
      data["conversation"] = JSONValue(conversation)
      return Event(
        seq: sample.events.count, step: 1, type: .decision, runId: "r", t: 0, data: data)
    }
    for conversation in 0..<count { sample.events.append(decision(conversation)) }
    // The second of each waits for the first.
    for conversation in (0..<count).reversed() {
      sample.add(Sample.result("\(conversation).1", .ok(data: 1)), step: 1)
    }
    var folded = state(after: sample.events)
    #expect(folded.pendingCalls.count == 2 * count)
    let last = JSONValue(count - 1)
    folded.apply(
      Event(
        seq: sample.events.count, step: 1, type: .toolResult, runId: "r", t: 0,
        data: Sample.result("\(count - 1).0", .ok(data: 1)).encoded))
    #expect(folded.pendingCalls.count == 2 * count - 2)
    #expect(folded.pendingCalls.allSatisfy { $0.conversation.map { JSONValue($0) } != last })
    // Another decision of the first one leaves its calls behind, and no other's.
    folded.apply(decision(0))
    #expect(folded.pendingCalls.first?.callId == (count > 2 ? "1.0" : "0.0"))
    #expect(folded.pendingCalls.suffix(2).map(\.callId) == ["0.0", "0.1"])
    #expect(try AgentState(decoding: try #require(folded.encoded.objectValue)) == folded)
  }

  @Test("changing any payload field but times and event numbers changes the digest")
  func everyFieldCounts() {
    let events = Sample.run(starts: [0, 1, 2], results: [2, 0, 1])
    let digest = state(after: events).digest
    for index in events.indices {
      for path in JSONValue.object(events[index].data).digestedLeaves {
        var changed = events
        changed[index].data =
          JSONValue.object(events[index].data).changing(path[...]).objectValue ?? [:]
        #expect(state(after: changed).digest != digest, "event \(index), \(path)")
      }
      var renamed = events
      renamed[index].step += 1
      #expect(state(after: renamed).digest != digest, "step of event \(index)")
    }
  }

  @Test("times and event numbers never reach the digest")
  func timesDoNotCount() {
    let events = Sample.run(starts: [0, 1, 2], results: [0, 1, 2])
    var changed = events
    for index in changed.indices {
      changed[index].seq += 7
      changed[index].t += 1_000
      changed[index].time = "2026-01-01T00:00:00.000000Z"
      changed[index].data["elapsedMicroseconds"] = 99
      if changed[index].type == .decision { changed[index].data["modelResult"] = 12 }
    }
    #expect(state(after: changed).digest == state(after: events).digest)
  }

  @Test("a state reads back from its wire form after every event, also with results that wait")
  func wireForm() throws {
    let events = Sample.run(starts: [2, 1, 0], results: [2, 1, 0])
    var folded = AgentState()
    for event in events {
      folded.apply(event)
      let object = try #require(folded.encoded.objectValue)
      var again = try AgentState(decoding: object)
      #expect(again == folded)
      again.apply(events[events.count - 1])
      var expected = folded
      expected.apply(events[events.count - 1])
      #expect(again.digest == expected.digest)
    }
  }

  @Test("an unknown event, and one whose data are nonsense, change the history and nothing else")
  func unknownEvents() {
    let before = state(after: Sample.run(starts: [0], results: [0]))
    for type in [
      "later_version", "decision", "tool_result", "approval", "memory_written", "breaker_changed",
    ] {
      var after = before
      after.apply(
        Event(seq: 9, step: 2, type: EventType(rawValue: type), runId: "r", data: ["x": [1, nil]]))
      #expect(after.history != before.history)
      #expect(after.totals == before.totals)
      #expect(after.approvedActionIds == before.approvedActionIds)
      #expect(after.memory == before.memory)
    }
  }

  @Test("observations are bounded: the last thousand stay, the older ones are counted and digested")
  func boundedObservations() {
    var folded = AgentState()
    var digests: Set<Digest> = []
    for index in 0..<2_500 {
      let replied = HumanReplied(text: .string(String(repeating: "x", count: 2_000) + "\(index)"))
      folded.apply(
        Event(seq: index, step: 1, type: .humanReplied, runId: "r", data: replied.encoded))
      digests.insert(folded.observations.olderDigest)
    }
    #expect(folded.observations.recent.count == 1_000)
    #expect(folded.observations.olderCount == 1_500)
    #expect(folded.observations.recent.first?.id == "1.human.1501")
    #expect(digests.count == 1_501)
    #expect(folded.observations.recent.allSatisfy { $0.summary.utf8.count <= 512 })
  }

  @Test("the sum of costs is unknown once one call's is, and stays so")
  func unknownCost() {
    var folded = AgentState()
    func apply(_ result: ModelResult) {
      folded.apply(Event(seq: 0, step: 1, type: .modelResult, runId: "r", data: result.encoded))
    }
    apply(ModelResult(reply: "x", inputTokens: 3, cost: 0.5))
    #expect(folded.totals.cost == 0.5)
    apply(ModelResult(error: "out of reach"))
    #expect(folded.totals.cost == 0.5)
    apply(ModelResult(reply: "x", inputTokens: 4))
    #expect(folded.totals.cost == nil)
    apply(ModelResult(reply: "x", cost: 0.5))
    #expect(folded.totals.cost == nil)
    #expect(folded.totals.inputTokens == 7)
  }

  @Test("tokens add up to the largest number at most, however large the figures")
  func tokenOverflow() {
    var folded = AgentState()
    for _ in 0..<3 {
      folded.apply(
        Event(
          seq: 0, step: 1, type: .modelResult, runId: "r",
          data: ModelResult(reply: "x", inputTokens: .max, outputTokens: -5).encoded))
    }
    #expect(folded.totals.inputTokens == .max)
    #expect(folded.totals.outputTokens == 0)
  }
}

@Suite("Trajectories and summaries")
struct TrajectoryTests {
  @Test("a call's status follows from its start and its result")
  func statuses() {
    func status(_ payloads: EventPayload...) -> (CallStatus?, Bool) {
      var events = [
        Event(
          seq: 0, step: 1, type: .decision, runId: "r",
          data: DecisionPayload(.tool([ProposedCall(callId: "1.1.0", name: "t", input: [:])]))
            .encoded)
      ]
      for payload in payloads {
        events.append(
          Event(seq: events.count, step: 1, type: payload.type, runId: "r", data: payload.encoded))
      }
      let call = Trajectory(of: events).calls[0]
      return (call.status, call.isExecuted)
    }
    let start = Sample.started("1.1.0")
    #expect(status() == (nil, false))
    #expect(status(start) == (.unknown, true))
    #expect(status(start, Sample.result("1.1.0", .ok(data: 1))) == (.ok, true))
    #expect(status(Sample.result("1.1.0", .ok(data: 1))) == (.ok, true))
    #expect(status(Sample.result("1.1.0", .refused(reason: "no"))) == (.refused, false))
    #expect(status(start, Sample.result("1.1.0", .error("no"))) == (.error, true))
    #expect(
      status(start, Sample.result("1.1.0", .error("cut", isEffectUnknown: true))) == (
        .unknown, true
      ))
  }

  @Test("what events say reaches the last call with their id, of few calls as of many")
  func callsById() {
    var seeded = Seeded(seed: 5)
    for count in [1, 2, 15, 16, 17, 18, 40] {
      var events: [Event] = []
      var expected: [CallStatus?] = []
      var places: [String: Int] = [:]
      func add(_ payload: EventPayload) {
        events.append(
          Event(
            seq: events.count, step: 1, type: payload.type, runId: "r", data: payload.encoded))
      }
      while expected.count < count {
        // Some ids come again; some results speak of a call that no decision holds.
        let callId = "\(Int.random(in: 0..<(count + count / 4 + 1), using: &seeded))"
        if Bool.random(using: &seeded) {
          places[callId] = expected.count
          expected.append(nil)
          add(
            .decision(
              DecisionPayload(.tool([ProposedCall(callId: callId, name: "t", input: [:])]))))
        } else {
          add(Sample.result(callId, .ok(data: 1)))
          if let place = places[callId] {
            expected[place] = .ok
          } else {
            places[callId] = expected.count
            expected.append(.ok)
          }
        }
      }
      #expect(Trajectory(of: events).calls.map(\.status) == expected)
    }
  }

  @Test(
    "a channel is found by its name, whatever the order it came in, and the last word on it counts")
  func channels() {
    var seeded = Seeded(seed: 9)
    for _ in 0..<200 {
      var channels = RecordedChannels()
      var oracle: [String: String] = [:]
      for _ in 0..<Int.random(in: 0...12, using: &seeded) {
        let name =
          ["model", "tools", "time", "context", "policy", "é", "e\u{301}", ""]
          .randomElement(using: &seeded) ?? ""
        let extent = ["none", "partial", nil].randomElement(using: &seeded) ?? nil
        channels[name] = extent
        oracle = oracle.filter { !$0.key.hasSameUTF8(as: name) }
        if let extent, !name.unicodeScalars.contains("\u{301}") { oracle[name] = extent }
        #expect(channels[name] == extent)
      }
      for (name, extent) in oracle { #expect(channels[name] == extent) }
      let names = channels.all.map(\.name)
      #expect(names.filter { !$0.unicodeScalars.contains("\u{301}") }.count == oracle.count)
      #expect(zip(names, names.dropFirst()).allSatisfy { $0.precedesByUTF8($1) })
      #expect(channels.isEmpty == names.isEmpty)
      var started = RunStarted(agentName: "a", goal: "g")
      started.recorded = channels
      #expect((try? RunStarted(decoding: started.encoded))?.recorded == channels)
    }
  }

  @Test("holes in the numbers and a torn end are gaps")
  func gaps() {
    var trajectory = Trajectory()
    for seq in [0, 1, 4, 5] {
      trajectory.apply(Event(seq: seq, step: 0, type: .humanReplied, runId: "r", data: [:]))
    }
    trajectory.markTorn()
    #expect(trajectory.gaps == [.init(first: 2, last: 3), .init(first: 6, last: nil)])
  }

  @Test(
    "a summary holds at most 16 KiB: first the calls are left out, then the answer",
    arguments: [1, 100, 1_000])
  func summaryLimit(count: Int) {
    var summary = RunSummary()
    for index in 0..<count {
      let call = ProposedCall(callId: "\(index).1.0", name: "tool", input: [:])
      summary.apply(
        Event(
          seq: index, step: index, type: .decision, runId: "r",
          data: DecisionPayload(.tool([call])).encoded))
    }
    let answer = String(repeating: "a", count: count == 1_000 ? 20_000 : 10)
    summary.apply(
      Event(
        seq: count, step: count, type: .stop, runId: "r",
        data: Stop(reason: .success, answer: answer).encoded))
    let encoded = summary.encoded(totals: Totals())
    #expect(CanonicalJSON.encode(encoded).count <= RunSummary.limitBytes)
    #expect((encoded["calls"] != nil) == (count < 1_000))
    #expect((encoded["answer"] != nil) == (count < 1_000))
    #expect(encoded["stop"]?["reason"] == "success")
  }
}
