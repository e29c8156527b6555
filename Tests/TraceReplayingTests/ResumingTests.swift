import AgentRuntime
import AgentTrace
import Foundation
import TestSupport
import Testing
import TraceMatching
import TraceReplaying
import TraceStorage

/// A log that is resumed by a scripted agent, without a file or a process.
private struct Resuming {
  let agent: AgentDefinition
  let folder: TemporaryFolder
  var log: String { folder.path("run.jsonl.gz") }

  /// Leaves a log as a writer does that dies behind these events.
  func leave(_ events: some Sequence<Event>) throws {
    for name in [log, log + ".open"] { try? FileManager.default.removeItem(atPath: name) }
    _ = try writeLog(events, in: folder, closes: false)
  }

  @discardableResult
  func resume(
    with other: AgentDefinition? = nil, acceptsChanges: Bool = false
  ) async throws -> RunResumption {
    let cancellation = Cancellation()
    return try await RunResumption(
      .init(
        log: log, agent: other ?? agent, acceptsChanges: acceptsChanges,
        logOptions: .init(durability: .none),
        clock: { FixedClock(elapsedMicroseconds: $0) },
        boundary: { agent, clock in
          AssembledBoundary(
            for: agent, clock: clock, identifiers: SeededRunIDs(seed: 1),
            cancellation: cancellation, raise: { cancellation.cancel(signal: $0) })
        }))
  }

  @discardableResult
  func say(
    _ word: SpokenWord, about call: String, reason: String? = nil, scope: ApprovalScope = .once,
    until: String? = nil
  ) throws -> Event {
    try WaitingRun(path: log).record(
      word, about: call, by: "ana", reason: reason, scope: scope, until: until,
      options: .init(durability: .none),
      at: { FixedClock(elapsedMicroseconds: $0).reading() })
  }

  func answer(_ text: String) throws {
    try WaitingRun(path: log).record(
      answer: text, by: "bo", options: .init(durability: .none),
      at: { FixedClock(elapsedMicroseconds: $0).reading() })
  }

  func events() throws -> [Event] { try readLog(log) }

  /// What every log must be, however often its run was resumed.
  func check(_ about: String) async throws {
    let found = LogVerifier.verify(path: log)
    #expect(found.status == .whole && found.findings.isEmpty, "\(about): \(found)")
    let events = try events()
    let again = try await Reexecution(of: log, with: agent)
    #expect(
      again.isFaithful && again.made == events.count && again.ending == .stop,
      "\(about): \(again.made) of \(events.count), \(again.ending) \(String(describing: again.divergence))\n\(events.outline)"
    )
    var state = AgentState()
    var past = RunPast(for: agent)
    let assembler = ContextAssembler(agent: agent)
    var seen: [Int: Event] = [:]
    var history = ContextHistory()
    for event in events {
      if event.type == .contextBuilt {
        let packet = assembler.assemble(
          state: state, history: history, at: event.seq, lookup: { seen[$0] })
        #expect(packet.encoded == event.data, "\(about): packet \(event.seq)")
      }
      seen[event.seq] = event
      history.take(event)
      state.apply(event)
      try past.take(event)
    }
    #expect(past.state == state)
    let last = try #require(events.last)
    let step = try StepReplay(of: last.step, in: log)
    #expect(step.state == state && step.events.last == last, "\(about)")
  }
}

extension [Event] {
  fileprivate var outline: [String] {
    map { event in
      let word = event.data["callId"] ?? event.data["kind"] ?? event.data["reason"]
      return "\(event.seq) \(event.step) \(event.type.rawValue) \(word?.stringValue ?? "")"
    }
  }
}

@Suite("Resuming a run")
struct ResumingTests {
  private static func call(_ tool: String, _ n: Int) -> JSONValue {
    ["name": .string(tool), "input": ["n": JSONValue(n)]]
  }

  private static func agent(
    _ replies: [JSONValue], policy: Policy = Policy(), human: ScriptedPerson? = nil
  ) -> AgentDefinition {
    func tool(_ name: String, _ effect: SideEffect, idempotent: Bool = false) -> ToolRegistration {
      ToolRegistration(
        definition: ToolDefinition(
          name: name, inputSchema: ["type": "object"], sideEffect: effect, idempotent: idempotent),
        implementation: .scripted(ScriptedTool(rules: [.init(outcome: .ok("${input.n}"))])))
    }
    return AgentDefinition(
      name: "sample", digest: "d1",
      model: ModelDefinition(
        provider: "scripted", name: "sample",
        implementation: .scripted(
          ModelScript(turns: replies.map { .init(choices: [.init(answer: .reply($0))]) }))),
      tools: [
        tool("look", .read), tool("pay", .write), tool("put", .write, idempotent: true),
      ], policy: policy, human: human)
  }

  private static let free = Policy(rules: [.init(id: "free", verdict: .allow)])

  private static func recorded(_ agent: AgentDefinition) async throws -> [Event] {
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: 1))
    let sink = InMemoryEventSink()
    _ = try await Runtime(agent: agent, boundary: boundary).run(
      .init(goal: "go", runId: "r"), into: sink)
    return sink.events
  }

  /// A log of the agent's run, closed, and what resumes it.
  private static func paused(_ agent: AgentDefinition) async throws -> Resuming {
    let resuming = Resuming(agent: agent, folder: try TemporaryFolder())
    _ = try writeLog(try await recorded(agent), in: resuming.folder)
    return resuming
  }

  // MARK: Any agent, killed anywhere

  @Test("a run that dies at any event, and again, goes on to an end that can be made again")
  func anywhere() async throws {
    var seen: Set<String> = []
    var (kills, words) = (0, 0)
    // A run that dies behind a failed call and a person's word, seed 259, was once made again otherwise.
    for seed in Array(0..<TestRun.count(20, long: 600)) + [259] {
      var generator = Seeded(seed: UInt64(seed) ^ 0xabc)
      let run = try await RandomRun(seed: seed)
      let resuming = Resuming(agent: run.agent, folder: try TemporaryFolder())
      var events = run.events
      for _ in 0..<8 {
        let kept = Int.random(in: 1...events.count, using: &generator)
        let isOver = events[kept - 1].data["final"] == true
        guard !isOver else { break }
        try resuming.leave(events.prefix(kept))
        kills += 1
        try await resuming.resume()
        events = try resuming.events()
        let about = "seed \(seed), killed behind \(kept - 1)"
        #expect(events[kept].type == .runResumed, "\(about)")
        try await resuming.check(about)
        for _ in 0..<6 where events.last?.data["final"] == false {
          seen.insert(events.last?.data["reason"]?.stringValue ?? "")
          if try Self.speak(resuming, &generator) { words += 1 }
          // What was said is in the log, and nothing more: the run made again holds it.
          try await resuming.check("\(about), spoken to")
          try await resuming.resume()
          events = try resuming.events()
          try await resuming.check("\(about), gone on")
        }
        #expect(Self.resultsTwice(events) == [], "\(about)")
      }
    }
    #expect(kills > 50 && words > 10, "\(kills) kills, \(words) words")
    #expect(seen.isSuperset(of: ["approval_required", "blocked", "cancelled"]), "\(seen)")
  }

  /// Says what there is to say; `false` where nobody is asked.
  private static func speak(_ resuming: Resuming, _ generator: inout Seeded) throws -> Bool {
    let run = try WaitingRun(path: resuming.log)
    if run.question != nil {
      try resuming.answer("yes")
      return true
    }
    guard let waiting = run.calls.randomElement(using: &generator) else { return false }
    let words: [SpokenWord] =
      waiting.reason == .approval
      ? [.granted, .denied] : [.happened(["n": 1]), .didNotHappen, .denied]
    let scopes: [ApprovalScope] = [.once, .calls(2), .input]
    let times = [nil, "2026-01-01T00:00:00.050000Z", "2099-01-01T00:00:00.000000Z"]
    try resuming.say(
      words.randomElement(using: &generator) ?? .denied, about: waiting.call.callId,
      scope: scopes.randomElement(using: &generator) ?? .once,
      until: times.randomElement(using: &generator) ?? nil)
    return true
  }

  private static func resultsTwice(_ events: [Event]) -> [String] {
    var seen: Set<String> = []
    return events.filter { $0.type == .toolResult }
      .compactMap { $0.data["callId"]?.stringValue }
      .filter { !seen.insert($0).inserted }
  }

  @Test("a torn end is cut off, and the log says where")
  func torn() async throws {
    let resuming = try await Self.paused(
      Self.agent([["calls": [Self.call("look", 1)]], ["text": "x"]]))
    let events = try resuming.events()
    try resuming.leave(events.prefix(7))
    let open = resuming.log + ".open"
    let bytes = try resuming.folder.read("run.jsonl.gz.open")
    try resuming.folder.write("run.jsonl.gz.open", bytes.dropLast(3))
    let resumption = try await resuming.resume()
    #expect(resumption.state.stop?.reason == "success")
    let made = try resuming.events()
    let resumed = try #require(made.first { $0.type == .runResumed })
    #expect(
      resumed.data["cutAt"]?.intValue ?? 0 > 0 && resumed.data["bytesDropped"] != nil, "\(open)")
    #expect(resumed.data["why"] == "after its process had died")
    try await resuming.check("torn")
  }

  @Test("active run time goes on from where it stood, and a pause takes none of it")
  func time() async throws {
    let resuming = try await Self.paused(
      Self.agent([["calls": [Self.call("pay", 1)]], ["text": "x"]]))
    try resuming.say(.granted, about: "pay")
    try await resuming.resume()
    let times = try resuming.events().map(\.t)
    #expect(times == times.sorted())
    let steps = zip(times, times.dropFirst()).map { $1 - $0 }
    #expect(steps.allSatisfy { $0 <= 1_000 }, "\(steps)")
  }

  // MARK: What people say

  @Test("an approval covers one call; the others go on waiting")
  func oneOfTwo() async throws {
    let agent = Self.agent(
      [["calls": [Self.call("pay", 1), Self.call("pay", 2)]], ["text": "done"]])
    let resuming = try await Self.paused(agent)
    try resuming.say(.granted, about: "1.1.1")
    var resumption = try await resuming.resume()
    #expect(resumption.state.stop?.reason == "approval_required")
    let results = try resuming.events().filter { $0.type == .toolResult }
    #expect(results.map { $0.data["callId"] } == ["1.1.1"])
    try resuming.say(.denied, about: "pay", reason: "too much")
    resumption = try await resuming.resume()
    #expect(resumption.state.stop?.reason == "success")
    let last = try #require(try resuming.events().last { $0.type == .toolResult })
    #expect(last.data["status"] == "refused" && last.data["reason"] == "too much")
    try await resuming.check("one of two")
  }

  @Test("what does not wait cannot be approved, and what waits is named")
  func refusals() async throws {
    let agent = Self.agent(
      [
        ["calls": [Self.call("look", 0), Self.call("pay", 1), Self.call("pay", 2)]],
        ["text": "done"],
      ])
    let resuming = try await Self.paused(agent)
    let before = (try? resuming.folder.read("run.jsonl.gz"))
    func failure(_ word: SpokenWord, _ call: String) -> String {
      do {
        try resuming.say(word, about: call)
        return "none"
      } catch {
        return "\(error)"
      }
    }
    #expect(failure(.granted, "9.1.0").contains("What waits: 1.1.1 pay {\"n\":1}; 1.1.2 pay"))
    #expect(failure(.granted, "pay").contains("several calls of pay wait; give the id of one"))
    #expect(failure(.granted, "look").contains("call 1.1.0 is over: its result is “ok”"))
    #expect(failure(.happened(1), "1.1.1").contains("was never started"))
    #expect(failure(.didNotHappen, "1.1.1").contains("was never started"))
    #expect(throws: ResumeError.self) { try resuming.answer("yes") }
    let deep = (0..<80).reduce(JSONValue.null) { value, _ in [value] }
    #expect(failure(.happened(deep), "1.1.1").contains("never started"))
    #expect((try? resuming.folder.read("run.jsonl.gz")) == before)
    try resuming.say(.granted, about: "1.1.1")
    #expect(failure(.denied, "1.1.1").contains("was approved by ana already"))
    #expect(failure(.granted, "pay") == "none")
    #expect(failure(.granted, "pay").contains("was approved by ana already"))
    let resumption = try await resuming.resume()
    #expect(resumption.state.stop?.reason == "success")
    #expect(failure(.granted, "1.1.1").contains("the run has ended for good: success"))
    do {
      try await resuming.resume()
      Issue.record("it went on")
    } catch {
      #expect("\(error)".contains("the run has ended for good"))
    }
    try await resuming.check("refusals")
  }

  @Test("a run that has not paused takes no word, and says how it gets there")
  func notPaused() async throws {
    let resuming = try await Self.paused(Self.agent([["calls": [Self.call("pay", 1)]]]))
    let events = try resuming.events()
    try resuming.leave(events.dropLast())
    #expect(throws: ResumeError(code: .notPaused, path: resuming.log)) {
      try resuming.say(.granted, about: "pay")
    }
    try resuming.leave(events)
    let notClosed = ResumeError(code: .notClosed, path: resuming.log)
    #expect(throws: notClosed) { try resuming.say(.granted, about: "pay") }
    #expect("\(notClosed)".contains("another one writes there now"))
    try await resuming.resume()
    try resuming.say(.granted, about: "pay")
  }

  // MARK: Effects that nobody knows

  @Test(
    "a call that was started and left blocks the run; a person says what happened",
    arguments: [
      (SpokenWord.happened(["paid": 1]), ["ok"], 1), (.didNotHappen, ["ok"], 2),
      (.denied, ["error"], 1),
    ])
  func unknown(word: SpokenWord, statuses: [String], starts: Int) async throws {
    var agent = Self.agent([["calls": [Self.call("pay", 1)]], ["text": "x"]], policy: Self.free)
    // The call is counted once, also where it is started twice.
    agent.limits.maxToolCalls = 1
    let events = try await Self.recorded(agent)
    let start = try #require(events.firstIndex { $0.type == .toolStarted })
    let resuming = Resuming(agent: agent, folder: try TemporaryFolder())
    try resuming.leave(events[...start])
    var resumption = try await resuming.resume()
    #expect(resumption.state.stop?.reason == "blocked")
    #expect(resumption.state.stop?.detail == "unknown_effect:pay")
    #expect(throws: ResumeError.self) { try resuming.say(.granted, about: "pay") }
    try resuming.say(word, about: "pay")
    resumption = try await resuming.resume()
    #expect(resumption.state.stop?.reason == "success")
    let made = try resuming.events()
    #expect(made.filter { $0.type == .toolStarted }.count == starts)
    #expect(
      made.filter { $0.type == .toolResult }.compactMap { $0.data["status"]?.stringValue }
        == statuses)
    #expect(
      made.filter { $0.type == .toolStarted }.map { $0.data["idempotencyKey"] }
        .allSatisfy { $0 == "r/1.1.0" })
    try await resuming.check("\(word)")
  }

  @Test("an idempotent tool is called again with the same key, and nobody is asked")
  func idempotent() async throws {
    let agent = Self.agent([["calls": [Self.call("put", 1)]], ["text": "x"]], policy: Self.free)
    let events = try await Self.recorded(agent)
    let start = try #require(events.firstIndex { $0.type == .toolStarted })
    let resuming = Resuming(agent: agent, folder: try TemporaryFolder())
    try resuming.leave(events[...start])
    let resumption = try await resuming.resume()
    #expect(resumption.state.stop?.reason == "success" && resumption.state.totals.toolCalls == 1)
    try await resuming.check("idempotent")
  }

  private struct Failing: Tool {
    func run(_ request: ToolRequest) async -> ToolAnswer { ToolAnswer(result: .error("409")) }
  }

  @Test(
    "an idempotent tool that fails behind a break leaves its effect unknown, made again as well")
  func idempotentThatFails() async throws {
    var agent = Self.agent([["calls": [Self.call("put", 1)]], ["text": "x"]], policy: Self.free)
    let index = try #require(agent.tools.firstIndex { $0.definition.name == "put" })
    agent.tools[index].implementation = .tool(Failing())
    agent.tools[index].onError = .retry
    agent.tools[index].maxAttempts = 2
    let events = try await Self.recorded(agent)
    let start = try #require(events.firstIndex { $0.type == .toolStarted })
    let resuming = Resuming(agent: agent, folder: try TemporaryFolder())
    try resuming.leave(events[...start])
    try await resuming.resume()
    let made = try resuming.events()
    #expect(
      made.filter { $0.type == .toolStarted }.map { $0.data["earlierEffect"] } == [nil, "unknown"])
    #expect(made.first { $0.type == .toolResult }?.data["effect"] == "unknown")
    try await resuming.check("idempotent that fails")
    // A log of before there was such a key.
    let old = try writeLog(
      made.map { event in
        var event = event
        for key in ["earlierEffect", "effect"] { event.data[key] = nil }
        return event
      }.withStateDigests, in: resuming.folder, named: "old")
    let again = try await Reexecution(of: old, with: agent)
    #expect(again.isFaithful, "\(String(describing: again.divergence))")
  }

  // MARK: Another agent

  @Test("another agent or policy goes on only where that is accepted, and the log says so")
  func changed() async throws {
    let agent = Self.agent([["calls": [Self.call("pay", 1)]], ["text": "x"]])
    let resuming = try await Self.paused(agent)
    var other = agent
    other.digest = "d2"
    other.policy.digest = "p2"
    do {
      try await resuming.resume(with: other)
      Issue.record("it went on")
    } catch {
      #expect("\(error)".contains("--accept-changes"))
    }
    try resuming.say(.granted, about: "pay")
    let resumption = try await resuming.resume(with: other, acceptsChanges: true)
    #expect(resumption.state.stop?.reason == "success")
    let resumed = try #require(try resuming.events().first { $0.type == .runResumed })
    #expect(resumed.data["agentDigest"] == "d2" && resumed.data["policyDigest"] == "p2")
  }

  @Test("the agent of the last part goes on, not the one of the first")
  func changedBefore() async throws {
    let agent = Self.agent([["question": "Shall I?"], ["question": "Really?"], ["text": "x"]])
    let resuming = try await Self.paused(agent)
    var other = agent
    other.digest = "d2"
    try resuming.answer("yes")
    try await resuming.resume(with: other, acceptsChanges: true)
    try resuming.answer("yes")
    await #expect(throws: ResumeError.self) { try await resuming.resume() }
    let resumption = try await resuming.resume(with: other)
    #expect(resumption.state.stop?.reason == "success")
  }

  // MARK: Logs that cannot go on

  @Test("a second process finds the log held, and changes nothing")
  func held() async throws {
    let resuming = try await Self.paused(Self.agent([["calls": [Self.call("pay", 1)]]]))
    let (writer, _) = try LogWriter.reopening(resuming.log)
    do {
      try await resuming.resume()
      Issue.record("it went on")
    } catch let error as LogError {
      guard case .inUse = error.code else {
        Issue.record("\(error)")
        return
      }
    }
    _ = try writer.close()
  }

  @Test("a run that ended but whose log was left open is closed, and gets no event")
  func leftOpen() async throws {
    let agent = Self.agent([["text": "x"]])
    let events = try await Self.recorded(agent)
    let resuming = Resuming(agent: agent, folder: try TemporaryFolder())
    try resuming.leave(events)
    let resumption = try await resuming.resume()
    #expect(resumption.newEvents == 0 && resumption.state.stop?.reason == "success")
    #expect(try resuming.events() == events)
    try await resuming.check("left open")
  }

  @Test("a log whose process died before the first event says that, and that nothing is to go on")
  func withoutEvents() async throws {
    let resuming = Resuming(agent: Self.agent([["text": "x"]]), folder: try TemporaryFolder())
    try resuming.folder.write("run.jsonl.gz.open", "")
    do {
      try await resuming.resume()
      Issue.record("it went on")
    } catch let error as RecordingError {
      #expect(error.code == .empty && "\(error)".contains("record the run anew"), "\(error)")
    }
  }

  @Test("an event that may not stand between two sessions is a difference where it stands")
  func stray() async throws {
    let agent = Self.agent([["calls": [Self.call("pay", 1)]], ["text": "x"]])
    let events = try await Self.recorded(agent)
    let folder = try TemporaryFolder()
    let odd = try #require(events.first { $0.type == .policyDecision })
    let path = try writeLog((events + [odd]).renumbered, in: folder)
    let found = try await Reexecution(of: path, with: agent)
    #expect(found.divergence?.seq == events.count && found.divergence?.cause == .code)
  }
}
