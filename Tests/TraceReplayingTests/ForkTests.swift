import AgentRuntime
import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

@Suite("Forking")
struct ForkTests {
  // MARK: Wrong use

  @Test(
    "a place is a step or an event by its number, and nothing else",
    arguments: [
      "", "3", "step", "step:", "step:-1", "step:1:2", "event: 4", "event:4x", "Step:1",
      "event:99999999999999999999", "event:٣",
    ])
  func places(text: String) {
    #expect(ForkPoint(text) == nil)
    #expect(ForkPoint("step:3") == .step(3))
    #expect(ForkPoint("event:12") == .event(12))
  }

  @Test("a place that is not there is named with what there is, and nothing is written")
  func noSuchPlace() async throws {
    let folder = try TemporaryFolder()
    let sample = try ForkSample("refund-approved")
    for (point, code) in [
      (ForkPoint.step(0), ForkError.Code.nothingBefore),
      (.step(4), .noSuchStep(4, last: 3)),
      (.event(19), .noSuchEvent(19, last: 18, tornAt: nil)),
      (.event(18), .stopped(18)),
    ] {
      await #expect(throws: ForkError(code: code, path: sample.path), "\(point)") {
        try await sample.fork(at: point, in: folder)
      }
    }
    await #expect(throws: ForkError(code: .resultNeedsEvent, path: sample.path)) {
      try await sample.fork(at: .step(2), ForkEdits(result: .ok(data: 1)), in: folder)
    }
    for seq in [0, 1, 10, 11, 15] {
      await #expect(throws: ForkError.self, "event \(seq)") {
        try await sample.fork(at: .event(seq), ForkEdits(result: .ok(data: 1)), in: folder)
      }
    }
    for seq in [0, 4, 5, 6, 11] {
      await #expect(throws: ForkError(code: .noDecision(seq), path: sample.path), "event \(seq)") {
        try await sample.fork(at: .event(seq), ForkEdits(reply: ["text": "x"]), in: folder)
      }
    }
    await #expect(throws: ForkError.self) {
      try await sample.fork(at: .step(2), ForkEdits(droppedRefs: ["1.1.7"]), in: folder)
    }
    #expect(try folder.names() == [])
  }

  @Test("a decision that this agent could not make there is refused, with the reason")
  func invalidDecision() async throws {
    let folder = try TemporaryFolder()
    let sample = try ForkSample("refund-approved")
    for reply: JSONValue in [
      [:], ["calls": [["name": "issue_refunds", "input": ["orderId": "1"]]]],
      ["calls": [["name": "issue_refund", "input": ["orderId": 1]]]], ["stop": "tired"],
    ] {
      for point in [ForkPoint.step(2), .event(8), .event(9)] {
        await #expect(throws: ForkError.self, "\(reply)") {
          try await sample.fork(at: point, ForkEdits(reply: reply), in: folder)
        }
      }
    }
    #expect(try folder.names() == [])
  }

  @Test("what is no decision or no result is refused with the key that is wrong")
  func edits() throws {
    for value: JSONValue in [
      1, "x", [], ["kind": "jump"], ["kind": "tool", "calls": [1]], ["kind": "invalid"],
      ["kind": "tool", "calls": [["name": "a"]]], ["kind": "stop", "reason": "tired"],
    ] {
      #expect(throws: ForkEditError.self, "\(value)") { try ForkEdits.reply(from: value) }
    }
    for value: JSONValue in [
      1, [:], ["status": "fine"], ["status": "ok"], ["status": "error"],
      ["status": "refused", "reason": "no"],
      ["status": "ok", "data": .string(String(repeating: "x", count: 1 << 20))],
    ] {
      #expect(throws: ForkEditError.self) { try ForkEdits.result(from: value) }
    }
    #expect(
      try ForkEdits.reply(
        from: ["kind": "tool", "calls": [["name": "a", "input": ["n": 1]]]])
        == ["calls": [["name": "a", "input": ["n": 1]]]])
    #expect(
      try ForkEdits.reply(from: ["kind": "answer", "text": "x"]) == ["text": "x", "evidence": []])
    #expect(
      try ForkEdits.result(from: ["status": "error", "reason": "late", "effect": "unknown"])
        == .error(reason: "late", isEffectUnknown: true))
  }

  @Test("a log that another tool's trace was imported into cannot be forked")
  func imported() async throws {
    let folder = try TemporaryFolder()
    var sample = try ForkSample("refund-approved")
    var events = try readLog(sample.path)
    events[0].data["recorded"] = ["context": "none"]
    sample.path = try writeLog(events, in: folder, named: "imported")
    await #expect(throws: RecordingError.self) { try await sample.fork(at: .step(2), in: folder) }
    #expect(try folder.names() == ["imported.jsonl.gz"])
  }

  @Test("a log that claims numbers beyond reason is refused or forked, and never more than that")
  func beyondReason() async throws {
    let folder = try TemporaryFolder()
    var sample = try ForkSample("refund-approved")
    let fixture = try readLog(sample.path)
    var tried = 0
    for number in [Int.max, Int.min, -1, 1 << 41] {
      let value = JSONValue(number)
      for change in 0..<9 {
        var events = fixture
        for index in events.indices {
          switch (change, events[index].type) {
          case (0, _): events[index].t = max(0, number)
          case (1, _) where index > 5: events[index].step = max(0, number)
          case (2, .modelResult), (2, .toolStarted): events[index].data["attempt"] = value
          case (3, .runStarted):
            events[index].data["limits"] = [
              "maxSteps": value, "maxToolCalls": value, "maxTokens": value,
            ]
          case (4, .modelResult):
            events[index].data["usage"] = ["inputTokens": value, "outputTokens": value]
          case (5, .modelResult), (5, .toolResult):
            events[index].data["elapsedMicroseconds"] = value
            events[index].data["attempts"] = value
          case (6, .decision): events[index].data["modelResult"] = value
          case (7, .runStarted):
            events[index].data["parent"] = [
              "runId": "x", "seq": value, "relation": "fork",
              "edit": ["dropContext": [["ref": "goal", "seq": value], 1]],
            ]
          case (8, .toolStarted): events[index].data["callId"] = "7.7.7"
          default: break
          }
        }
        let name = "p\(number)-\(change)"
        guard let path = try? writeLog(events, in: folder, named: name) else { continue }
        sample.path = path
        for seq in [3, 5, 6, 11, 13] {
          tried += 1
          _ = try? await sample.fork(at: .event(seq), in: folder, named: "\(name)-\(seq)")
          _ = try? await sample.fork(
            at: .event(seq), in: folder, named: "\(name)-\(seq)-live", isLive: true)
        }
        _ = try? await Bisection(good: path, bad: fixturePath(sample), agent: sample.agent) {
          StopOutcome()
        }
        _ = try? await Bisection(good: fixturePath(sample), bad: path, agent: sample.agent) {
          StepOutcome()
        }
      }
    }
    #expect(tried > 100)
  }

  private func fixturePath(_ sample: ForkSample) -> String {
    Fixture.all.first { $0.name == "refund-refused-by-person" }?.path ?? sample.path
  }

  @Test("a torn parent is forked where it is whole, and says where it ends")
  func torn() async throws {
    let folder = try TemporaryFolder()
    var sample = try ForkSample("parallel-search")
    sample.path = Project.path("Fixtures/torn/parallel-search.jsonl.gz.open")
    let events = try readLog(sample.path)
    let fork = try await sample.fork(at: .event(events.count - 1), in: folder)
    #expect(fork.unanswered != nil)
    let error = await #expect(throws: ForkError.self) {
      try await sample.fork(at: .event(events.count), in: folder, named: "second")
    }
    guard case .noSuchEvent(_, last: events.count - 1, .some) = error?.code else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test("a fork never replaces a log")
  func taken() async throws {
    let folder = try TemporaryFolder()
    let sample = try ForkSample("refund-approved")
    let first = try await sample.fork(at: .step(2), in: folder)
    let bytes = try folder.read("fork.jsonl.gz")
    await #expect(throws: LogError.self) { try await sample.fork(at: .step(3), in: folder) }
    #expect(try folder.read("fork.jsonl.gz") == bytes)
    #expect(first.parent.seq == 6)
  }

  // MARK: The same questions

  @Test(
    "forked at any event, a run whose recording answers goes on as its parent did",
    arguments: Fixture.all)
  func everyEvent(fixture: Fixture) async throws {
    let folder = try TemporaryFolder()
    let sample = try ForkSample(fixture.name)
    let events = try fixture.events()
    let step = TestRun.isLong ? 1 : max(1, events.count / 6)
    for seq in stride(from: 0, to: events.count - 1, by: step) where events[seq].type != .stop {
      let fork = try await sample.fork(at: .event(seq), in: folder, named: "fork-\(seq)")
      #expect(fork.unanswered == nil, "event \(seq)")
      let made = try readLog(fork.log)
      // What people said while the parent stood still is there at once: the fork does not pause.
      if events[seq...].contains(where: { $0.type == .runResumed }) {
        #expect(made.last?.data["answer"] == events.last?.data["answer"], "event \(seq)")
        // But where it stood still then, and people had spoken: there it goes on as the parent did.
        let isPaused =
          events[...seq].last { [.stop, .runResumed].contains($0.type) }?.type == .stop
        let resumed = made.dropFirst(seq + 1).filter { $0.type == .runResumed }
        #expect(resumed.map(\.seq) == (isPaused ? [seq + 1] : []), "event \(seq)")
        let again = try await Reexecution(of: fork.log, with: sample.agent)
        #expect(again.divergence == nil, "event \(seq)")
      } else {
        #expect(made.map(\.withoutRun) == events.map(\.withoutRun), "event \(seq)")
        #expect(fork.newEvents == events.count - seq - 1)
      }
      #expect(LogVerifier.verify(path: fork.log).status == .whole, "event \(seq)")
      #expect(
        AgentState(after: made[...seq]).withoutRun == AgentState(after: events[...seq]).withoutRun)
      let started = try RunStarted(decoding: made[0].data)
      #expect(
        started.parent == ParentRun(runId: events[0].runId, seq: seq, relation: "fork"))
      #expect(
        made.last?.data["stateDigest"]?.stringValue
          == AgentState(after: made.dropLast()).digest.hex)
    }
  }

  @Test("the packets of a fork can be made again from its own events, byte for byte")
  func packets() async throws {
    let folder = try TemporaryFolder()
    let sample = try ForkSample("parallel-search")
    let fork = try await sample.fork(at: .step(2), in: folder)
    let events = try readLog(fork.log)
    let assembler = ContextAssembler(agent: sample.agent)
    var state = AgentState()
    for event in events {
      if event.type == .contextBuilt {
        let packet = assembler.assemble(state: state) { events[$0] }
        #expect(event.data == packet.encoded, "event \(event.seq)")
        #expect(packet.runId == fork.state.runId)
      }
      state.apply(event)
    }
    #expect(
      !events.contains { CanonicalJSON.string(.object($0.data)).contains("\(sample.runId)/") })
  }

  // MARK: Edits

  @Test("another decision is put in its place, and without anybody live its question is named")
  func otherDecision() async throws {
    let folder = try TemporaryFolder()
    let sample = try ForkSample("refund-approved")
    let edits = ForkEdits(
      reply: ["calls": [["name": "draft_refund_request", "input": ["orderId": "1234"]]]])
    for (index, point) in [ForkPoint.step(2), .event(7), .event(9)].enumerated() {
      let fork = try await sample.fork(at: point, edits, in: folder, named: "recorded-\(index)")
      #expect(
        fork.unanswered?.contains("call 2.1.0 of draft_refund_request has no recorded result")
          == true)
      let events = try readLog(fork.log)
      #expect(events.last?.type == .policyDecision)
      #expect(!events.contains { $0.type == .stop })
      #expect(LogVerifier.verify(path: fork.log).status == .whole)
      #expect(fork.parent.edit == ["decision": 8])
      #expect(events[8].type == .modelResult && events[8].data["reply"] == edits.reply)
      let live = try await sample.fork(
        at: point, edits, in: folder, named: "live-\(index)", isLive: true)
      #expect(live.unanswered == nil)
      #expect(live.state.stop?.reason != nil)
    }
  }

  @Test("another result is put in its place, also where its start is named")
  func otherResult() async throws {
    let folder = try TemporaryFolder()
    let sample = try ForkSample("refund-approved")
    let edits = ForkEdits(result: .error("the order is gone"))
    for seq in [5, 6] {
      let fork = try await sample.fork(
        at: .event(seq), edits, in: folder, named: "fork-\(seq)", isLive: true)
      let events = try readLog(fork.log)
      #expect(events[6].data["status"] == "error")
      #expect(events[6].data["reason"] == "the order is gone")
      #expect(events[6].data["callId"] == "1.1.0")
      #expect(fork.parent.edit == ["result": 6])
      #expect(fork.parent.seq == 5)
      #expect(fork.unanswered == nil)
      #expect(LogVerifier.verify(path: fork.log).status == .whole)
    }
  }

  @Test("what is dropped is in no later packet, and each says that it left it out")
  func dropped() async throws {
    let folder = try TemporaryFolder()
    let sample = try ForkSample("parallel-search")
    let events = try readLog(sample.path)
    let packet = try ContextPacket(
      decoding: try #require(events.last { $0.type == .contextBuilt }).data)
    for ref in packet.included.map(\.ref) {
      let edits = ForkEdits(droppedRefs: [ref])
      let fork = try await sample.fork(
        at: .step(2), edits, in: folder, named: "fork-\(ref)", isLive: true)
      let made = try readLog(fork.log)
      let changed = try #require(made.last { $0.type == .contextBuilt && $0.step >= 2 })
      let found = try ContextPacket(decoding: changed.data)
      #expect(!found.included.contains { $0.ref == ref }, "\(ref)")
      #expect(
        found.omittedRefs.contains(ContextItem(ref: ref, reason: "left out by the fork")), "\(ref)")
      #expect(!found.observations.contains { $0["id"]?.stringValue == ref })
      #expect(!found.evidenceRefs.contains(ref))
      // Every call that is shown has its result, and the other way round.
      let calls = found.parts("tool_call")
      let results = found.parts("tool_result")
      #expect(calls.sorted() == results.sorted(), "\(ref)")
      #expect(fork.parent.edit == ["dropContext": [["ref": .string(ref), "seq": 12]]])
      #expect(try await Reexecution(of: fork.log, with: sample.agent).isFaithful, "\(ref)")
    }
  }

  @Test("a fork of a fork leaves out what its parent left out")
  func inherited() async throws {
    let folder = try TemporaryFolder()
    var sample = try ForkSample("parallel-search")
    let first = try await sample.fork(
      at: .step(1), ForkEdits(droppedRefs: ["goal"]), in: folder, named: "first", isLive: true)
    sample.path = first.log
    let second = try await sample.fork(at: .step(1), in: folder, named: "second")
    #expect(second.unanswered == nil)
    #expect(second.parent.edit == ["dropContext": [["ref": "goal", "seq": 0]]])
    #expect(second.parent.runId == first.state.runId)
  }

  // MARK: Writes

  @Test("what the parent did later is not done again without a person")
  func writes() async throws {
    let folder = try TemporaryFolder()
    var sample = try ForkSample("refund-approved")
    sample.agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)])
    // The same refund, proposed a step earlier: a new question, and the parent did it later.
    let edits = ForkEdits(
      reply: ["calls": [["name": "issue_refund", "input": ["orderId": "1234"]]]])
    sample.agent.human = nil
    let paused = try await sample.fork(at: .step(1), edits, in: folder, isLive: true)
    #expect(paused.state.stop?.reason == "approval_required")
    let events = try readLog(paused.log)
    let verdict = try #require(events.last { $0.type == .policyDecision })
    #expect(verdict.data["status"] == "approval_required")
    #expect(verdict.data["reason"]?.stringValue?.contains("did it later, at its event 13") == true)
    #expect(!events.contains { $0.type == .toolStarted })
    let same = try PolicyBacktester(policy: sample.agent.policy).run(paused.log)
    #expect(!same.widens && same.changed == 0 && same.askedByFork == 1)
    #expect(try await Reexecution(of: paused.log, with: sample.agent).divergence == nil)
    var agreed = sample
    agreed.agent.human = ScriptedPerson(approvals: [.init(granted: true, by: "ana")])
    let asked = try await agreed.fork(at: .step(1), edits, in: folder, named: "asked", isLive: true)
    #expect(try readLog(asked.log).contains { $0.type == .approval })
    #expect(try await Reexecution(of: asked.log, with: agreed.agent).divergence == nil)
    // Another order was never refunded: policy alone decides.
    let other = ForkEdits(
      reply: ["calls": [["name": "issue_refund", "input": ["orderId": "77"]]]])
    let free = try await sample.fork(at: .step(1), other, in: folder, named: "free", isLive: true)
    #expect(try readLog(free.log).contains { $0.type == .toolStarted })
  }

  @Test("a write that the parent had begun when it died is not made by a fork without a person")
  func begunInParent() async throws {
    let folder = try TemporaryFolder()
    var sample = try ForkSample("refund-approved")
    var events = try readLog(sample.path)
    let start = try #require(events.last { $0.type == .toolStarted }?.seq)
    // It says no more whether a second call does harm.
    for index in sample.agent.tools.indices {
      sample.agent.tools[index].definition.idempotent = false
    }
    events = Array(events[...start])
    sample.path = try writeLog(events, in: folder, named: "died", closes: false)
    for (human, reason) in [(nil, "approval_required"), (sample.agent.human, "success")] {
      sample.agent.human = human
      for seq in (start - 4)...start {
        let fork = try await sample.fork(
          at: .event(seq), in: folder, named: "fork-\(seq)-\(reason)", isLive: true)
        #expect(fork.state.stop?.reason == reason, "event \(seq)")
        let made = try readLog(fork.log).filter { $0.seq > seq }
        #expect(made.contains { $0.type == .approval } == (human != nil), "event \(seq)")
        #expect(made.count { $0.type == .toolStarted } == (human == nil ? 0 : 1), "event \(seq)")
        let again = try await Reexecution(of: fork.log, with: sample.agent)
        #expect(again.divergence == nil, "event \(seq), \(reason)")
        let whole = try readLog(fork.log).count
        #expect(again.made == whole)
      }
    }
  }

  /// Refunds an order, by policy's leave or a person's.
  private static func paying(_ turns: [JSONValue], isFree: Bool) -> AgentDefinition {
    var agent = AgentDefinition(
      name: "sample",
      model: ModelDefinition(
        provider: "scripted", name: "sample",
        implementation: .scripted(
          ModelScript(turns: turns.map { .init(choices: [.init(answer: .reply($0))]) }))),
      tools: [
        ToolRegistration(
          definition: ToolDefinition(
            name: "pay", inputSchema: ["type": "object"], sideEffect: .write),
          implementation: .scripted(ScriptedTool(rules: [.init(outcome: .ok(1))])))
      ])
    if isFree { agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)]) }
    return agent
  }

  private static let pay: JSONValue = ["calls": [["name": "pay", "input": ["n": 1]]]]

  private func record(_ agent: AgentDefinition) async throws -> [Event] {
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1))
    let sink = InMemoryEventSink()
    _ = try await Runtime(agent: agent, boundary: boundary).run(
      .init(goal: "go", runId: "first"), into: sink)
    return sink.events
  }

  @Test(
    "what a person granted in the parent lets no live call of a fork run, nor of the fork resumed",
    arguments: [ApprovalScope.once, .calls(3), .input])
  func grantsOfParent(scope: ApprovalScope) async throws {
    let folder = try TemporaryFolder()
    var sample = try ForkSample("refund-approved")
    sample.agent = Self.paying([Self.pay, Self.pay, ["text": "x"]], isFree: false)
    sample.path = try writeLog(try await record(sample.agent), in: folder, named: "parent")
    try WaitingRun(path: sample.path).record(
      .granted, about: "1.1.0", by: "ana", reason: nil, scope: scope, until: nil,
      options: .init(durability: .none), at: { FixedClock(elapsedMicroseconds: $0).reading() })
    let approval = try #require(try readLog(sample.path).last)
    #expect(approval.type == .approval)
    let fork = try await sample.fork(at: .event(approval.seq), in: folder, isLive: true)
    #expect(fork.state.stop?.reason == "approval_required")
    #expect(try !readLog(fork.log).contains { $0.type == .toolStarted })
    #expect(try await Reexecution(of: fork.log, with: sample.agent).divergence == nil)
    let agent = sample.agent
    let resumed = try await RunResumption(
      .init(
        log: fork.log, agent: agent, logOptions: .init(durability: .none),
        clock: { FixedClock(elapsedMicroseconds: $0) },
        boundary: { agent, clock in
          AssembledBoundary(for: agent, clock: clock, identifiers: SeededRunIDs(seed: 1))
        }))
    #expect(resumed.state.stop?.reason == "approval_required")
    #expect(try !readLog(fork.log).contains { $0.type == .toolStarted })
    #expect(try await Reexecution(of: fork.log, with: agent).divergence == nil)
  }

  @Test("a fork of a fork asks before it does what the first run did, or may have done")
  func forkOfFork() async throws {
    let folder = try TemporaryFolder()
    var sample = try ForkSample("refund-approved")
    sample.agent = Self.paying(
      [["calls": [["name": "pay", "input": ["n": 2]]]], Self.pay, ["text": "x"]], isFree: true)
    sample.path = try writeLog(try await record(sample.agent), in: folder, named: "parent")
    let reply: JSONValue = ["calls": [["name": "pay", "input": ["n": 3]]]]
    let first = try await sample.fork(
      at: .step(1), ForkEdits(reply: reply), in: folder, named: "one", isLive: true)
    #expect(first.state.stop?.reason == "approval_required")
    var second = sample
    second.path = first.log
    let again = try await second.fork(at: .step(2), in: folder, named: "two", isLive: true)
    #expect(again.state.stop?.reason == "approval_required")
    let asked = try readLog(again.log).last { $0.type == .policyDecision }
    #expect(asked?.data["reason"]?.stringValue?.contains("did it later: first") == true)
    #expect(try await Reexecution(of: again.log, with: sample.agent).divergence == nil)
    // The same without the first run's log: nobody knows.
    try FileManager.default.removeItem(atPath: sample.path)
    let blind = try await second.fork(at: .step(2), in: folder, named: "three", isLive: true)
    #expect(blind.state.stop?.reason == "approval_required")
    let unknown = try readLog(blind.log).last { $0.type == .policyDecision }
    #expect(unknown?.data["reason"]?.stringValue?.contains("nobody knows") == true)
  }

  @Test("another policy rules on what is to come, and what was ruled stands")
  func otherPolicy() async throws {
    let folder = try TemporaryFolder()
    var sample = try ForkSample("refund-approved")
    sample.agent.policy = Policy(
      rules: [.init(id: "never", verdict: .deny, onDeny: .stop)], digest: "d")
    let early = try await sample.fork(at: .step(2), in: folder, named: "early")
    #expect(early.state.stop?.reason == "policy_denied")
    #expect(try readLog(early.log)[0].data["policyDigest"] == "d")
    let late = try await sample.fork(at: .event(12), in: folder, named: "late")
    #expect(late.state.stop?.reason == "success")
  }
}

extension TemporaryFolder {
  /// The files in it.
  fileprivate func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }
}

/// Tells any two runs apart.
private struct StepOutcome: OutcomeFold {
  private var digests: [Digest] = []
  mutating func apply(_ event: Event) { digests.append(Digest(of: .object(event.data))) }
  func outcome() -> String { digests.last?.hex ?? "" }
}

/// A fixture, its agent, and how it is forked.
struct ForkSample {
  var path: String
  var agent: AgentDefinition
  var runId: String

  init(_ name: String) throws {
    let fixture = try #require(Fixture.all.first { $0.name == name })
    path = fixture.path
    agent = try fixture.agent()
    runId = try fixture.events()[0].runId
  }

  @discardableResult
  func fork(
    at point: ForkPoint, _ edits: ForkEdits = ForkEdits(), in folder: TemporaryFolder,
    named name: String = "fork", isLive: Bool = false
  ) async throws -> RunFork {
    var request = RunFork.Request(
      parent: path, at: point, edits: edits, agent: agent,
      runId: SeededRunIDs(seed: 4_711).next(),
      log: folder.path("\(name).jsonl.gz"), logOptions: .init(durability: .none),
      clock: { FixedClock(elapsedMicroseconds: $0) })
    if isLive {
      request.live = { agent, clock in
        AssembledBoundary(for: agent, clock: clock, identifiers: SeededRunIDs(seed: 1))
      }
    }
    return try await RunFork(request)
  }
}

extension Event {
  /// What of an event a fork has in common with its parent: type, step and what it says but for times,
  /// the run's own names, and what hangs on them.
  fileprivate var withoutRun: JSONValue {
    var data = data
    for key in [
      "parent", "seed", "case", "runId", "idempotencyKey", "stateDigest", "elapsedMicroseconds",
    ] {
      data[key] = nil
    }
    return [.string(type.rawValue), JSONValue(step), .object(data)]
  }
}

extension AgentState {
  /// The state but for the run's name, its times, and the digests that hang on them.
  fileprivate var withoutRun: JSONValue {
    var object = encoded.objectValue ?? [:]
    for key in ["runId", "history", "elapsedMicroseconds"] { object[key] = nil }
    object["pendingCalls"] = .array(
      (object["pendingCalls"]?.arrayValue ?? []).map { call in
        var call = call.objectValue ?? [:]
        call["history"] = nil
        return .object(call)
      })
    return .object(object)
  }
}

extension ContextPacket {
  fileprivate func parts(_ type: String) -> [String] {
    messages.flatMap { $0["content"]?.arrayValue ?? [] }
      .filter { $0["type"]?.stringValue == type }
      .compactMap { $0["callId"]?.stringValue }
  }
}
