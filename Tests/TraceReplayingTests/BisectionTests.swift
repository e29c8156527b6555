import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

@Suite("Bisecting two runs")
struct BisectionTests {
  @Test("two runs that came out the same have no turning step")
  func same() async throws {
    let folder = try TemporaryFolder()
    let good = try await PlantedRun(steps: 3, turning: nil, kind: .call).record(in: folder, "good")
    let bad = try await PlantedRun(steps: 4, turning: nil, kind: .call).record(in: folder, "bad")
    await #expect(
      throws: BisectionError(code: .sameOutcome("success"), good: good.path, bad: bad.path)
    ) {
      try await Bisection(good: good.path, bad: bad.path, agent: bad.agent) { StopOutcome() }
    }
  }

  @Test("an agent that does not make the good run again is named, before anything is searched")
  func otherAgent() async throws {
    let folder = try TemporaryFolder()
    let good = try await PlantedRun(steps: 3, turning: nil, kind: .tokens)
      .record(in: folder, "good")
    let bad = try await PlantedRun(steps: 3, turning: 2, kind: .tokens).record(in: folder, "bad")
    var agent = bad.agent
    agent.limits.maxTokens = 1
    await #expect(
      throws: BisectionError(
        code: .notReproduced(expected: "success", found: "budget_exhausted"), good: good.path,
        bad: bad.path)
    ) {
      try await Bisection(good: good.path, bad: bad.path, agent: agent) { StopOutcome() }
    }
  }

  @Test("a log that was imported, or holds no step, is refused")
  func unfit() async throws {
    let folder = try TemporaryFolder()
    let good = try await PlantedRun(steps: 2, turning: nil, kind: .call).record(in: folder, "good")
    let events = try readLog(good.path)
    let empty = try writeLog(events.prefix(1), in: folder, named: "empty")
    await #expect(throws: BisectionError(code: .noStep, good: good.path, bad: empty)) {
      try await Bisection(good: good.path, bad: empty, agent: good.agent) { StopOutcome() }
    }
    var imported = events
    imported[0].data["recorded"] = ["model": "none"]
    imported[imported.count - 1].data["reason"] = "blocked"
    let path = try writeLog(imported, in: folder, named: "imported")
    await #expect(throws: RecordingError.self) {
      try await Bisection(good: good.path, bad: path, agent: good.agent) { StopOutcome() }
    }
  }

  @Test("a planted turning step is found in every pair, within ⌈log2 n⌉ + 1 probes")
  func planted() async throws {
    var generator = Seeded(seed: 5)
    for pair in 0..<TestRun.count(24, long: 2_000) {
      let folder = try TemporaryFolder()
      let steps = pair < 6 ? pair + 1 : Int.random(in: 1...40, using: &generator)
      let turning = Int.random(in: 1...steps, using: &generator)
      let kind = PlantedRun.Kind.allCases[pair % PlantedRun.Kind.allCases.count]
      let good = try await PlantedRun(steps: steps, turning: nil, kind: kind)
        .record(in: folder, "good")
      let bad = try await PlantedRun(steps: steps, turning: turning, kind: kind)
        .record(in: folder, "bad")
      let bisection = try await Bisection(good: good.path, bad: bad.path, agent: bad.agent) {
        kind == .call ? CallOutcome() : StopOutcome() as any OutcomeFold
      }
      #expect(bisection.step == turning, "pair \(pair): \(kind), \(steps) steps")
      #expect(bisection.goodOutcome != bisection.badOutcome)
      var bound = 0
      while 1 << bound < bisection.steps { bound += 1 }
      #expect(bisection.probes.count <= bound + 1, "pair \(pair): \(bisection.steps) steps")
    }
  }

  @Test("where the good run ended before, the step that leaves it is the turning one")
  func longer() async throws {
    let folder = try TemporaryFolder()
    let good = try await PlantedRun(steps: 3, turning: nil, kind: .tokens)
      .record(in: folder, "good")
    var longer = PlantedRun(steps: 9, turning: nil, kind: .tokens)
    longer.end = ["stop": "blocked"]
    let bad = try await longer.record(in: folder, "bad")
    let bisection = try await Bisection(good: good.path, bad: bad.path, agent: bad.agent) {
      StopOutcome()
    }
    // The good run answered in step 4; the bad one looked once more.
    #expect(bisection.step == 4)
    #expect(bisection.steps == 10)
    #expect(bisection.probes.contains { $0.outcome == nil })
  }
}

/// A run of so many steps and an answer; one of the steps may do what turns the outcome.
struct PlantedRun {
  enum Kind: String, CaseIterable {
    /// The turning step pays.
    case call
    /// The turning step uses so many tokens that the run ends before its answer.
    case tokens
    /// The turning step proposes the last denied call that the run may.
    case denials
  }

  var steps: Int
  var turning: Int?
  var kind: Kind
  var end: JSONValue = ["text": "done"]

  func record(
    in folder: TemporaryFolder, _ name: String
  ) async throws -> (path: String, agent: AgentDefinition) {
    var turns = (1...steps).map { step -> ModelScript.Turn in
      let isTurning = step == turning
      // Every step of the bad run asks something else than the good one's.
      let n = turning == nil ? step : 1_000 + step
      var calls: [JSONValue] = [["name": "look", "input": ["n": JSONValue(n)]]]
      if kind == .call, isTurning { calls.append(["name": "pay", "input": ["n": 1]]) }
      if kind == .denials, isTurning { calls.append(["name": "wipe", "input": ["n": 1]]) }
      let tokens = kind == .tokens && isTurning ? 1_000 : 1
      return .init(
        choices: [
          .init(
            answer: .reply(["calls": .array(calls)]),
            usage: .init(inputTokens: tokens, outputTokens: 0))
        ])
    }
    turns.append(.init(choices: [.init(answer: .reply(end))]))
    var agent = AgentDefinition(
      name: "planted",
      model: ModelDefinition(
        provider: "scripted", name: "m", implementation: .scripted(ModelScript(turns: turns))),
      tools: ["look", "pay", "wipe"].map { name in
        ToolRegistration(
          definition: ToolDefinition(name: name, sideEffect: name == "wipe" ? .write : .read),
          implementation: .scripted(ScriptedTool(rules: [.init(outcome: .ok("${input.n}"))])))
      })
    agent.limits = Limits(maxSteps: 200, maxTokens: 1_000)
    agent.failures.maxDenials = 1
    agent.policy = Policy(
      rules: [.init(id: "no wiping", sideEffects: [.write], verdict: .deny)])
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: turning ?? 0))
    let sink = InMemoryEventSink()
    _ = try await Runtime(agent: agent, boundary: boundary).run(
      .init(goal: "look around", runId: boundary.makeRunID()), into: sink)
    return (try writeLog(sink.events, in: folder, named: name), agent)
  }
}

/// Whether the run paid.
struct CallOutcome: OutcomeFold {
  private var hasPaid = false

  mutating func apply(_ event: Event) {
    if event.type == .toolStarted, event.data["tool"] == "pay" { hasPaid = true }
  }

  func outcome() -> String { hasPaid ? "fail" : "pass" }
}
