import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching
import TraceReplaying
import TraceStorage

/// Forks and resumptions that go on with something else than what they come from.
@Suite("Forks and resumptions made again")
struct MadeAgainTests {
  private static let count = TestRun.count(60, long: 300)

  /// What is otherwise behind the place where a run goes on.
  private enum Change: String, CaseIterable {
    case policy, agent, limits, decision, result, context, nothing, resumedPolicy, resumedAgent
  }

  /// A policy under which other calls run than before.
  private static func policy(_ run: RandomRun, _ generator: inout Seeded) -> Policy {
    let verdicts: [VerdictStatus] = [.allow, .deny, .approvalRequired]
    var policy = Policy(
      rules: run.agent.tools.map { tool in
        Policy.Rule(
          id: "other-\(tool.definition.name)",
          tools: (try? Glob(tool.definition.name)).map { [$0] },
          verdict: verdicts.randomElement(using: &generator) ?? .deny)
      })
    policy.digest = "policy \(UInt8.random(in: 0...255, using: &generator))"
    return policy
  }

  /// The agent with other instructions and other patience, as its file would have another digest.
  private static func other(_ agent: AgentDefinition, _ generator: inout Seeded) -> AgentDefinition
  {
    var agent = agent
    agent.digest = (agent.digest ?? "") + " changed"
    agent.systemPrompt = "Do something else."
    agent.failures.maxDenials = Int.random(in: 1...5, using: &generator)
    agent.parallelCalls = Int.random(in: 1...4, using: &generator)
    if Bool.random(using: &generator) { agent.limits.maxSteps = 9 }
    if agent.tools.count > 1, Bool.random(using: &generator) {
      agent.tools[0].definition.description = "Another word."
    }
    return agent
  }

  private static func live(
    _ agent: AgentDefinition, _ clock: any RunClock, _ cancellation: Cancellation
  ) -> any Boundary {
    AssembledBoundary(
      for: agent, clock: clock, identifiers: SeededRunIDs(seed: 1), cancellation: cancellation,
      raise: { cancellation.cancel(signal: $0) })
  }

  /// Forks a run; `nil` where there is nothing to be forked.
  private static func fork(
    _ log: String, with agent: AgentDefinition, _ change: Change, _ events: [Event], _ name: String,
    in folder: TemporaryFolder, _ generator: inout Seeded
  ) async throws -> String? {
    var edits = ForkEdits()
    var point = ForkPoint.step(Int.random(in: 1...4, using: &generator))
    if Bool.random(using: &generator) {
      point = .event(Int.random(in: 0..<events.count, using: &generator))
    }
    switch change {
    case .decision: edits.reply = ["text": "Enough."]
    case .result:
      let results = events.filter { $0.type == .toolResult && $0.data["status"] == "ok" }
      guard let result = results.randomElement(using: &generator) else { return nil }
      point = .event(result.seq)
      edits.result = .ok(data: ["other": 1])
    case .context: edits.droppedRefs = ["goal"]
    default: break
    }
    let cancellation = Cancellation()
    var request = RunFork.Request(
      parent: log, at: point, edits: edits, agent: agent, runId: "fork-\(name)",
      log: folder.path("fork-\(name).jsonl.gz"), logOptions: .init(durability: .none),
      cancellation: cancellation, clock: { FixedClock(elapsedMicroseconds: $0) })
    if Bool.random(using: &generator) {
      request.live = { live($0, $1, cancellation) }
    }
    do { return try await RunFork(request).log } catch is ForkError { return nil }
  }

  /// Leaves a run behind as a process that dies does, and goes on with it.
  private static func resume(
    _ events: [Event], with agent: AgentDefinition, _ name: String, in folder: TemporaryFolder,
    _ generator: inout Seeded
  ) async throws -> String? {
    let last = events.lastIndex { $0.type == .stop } ?? events.count
    guard last > 2 else { return nil }
    let log = try writeLog(
      events[..<Int.random(in: 2..<last, using: &generator)], in: folder, named: "resumed-\(name)",
      closes: false)
    let cancellation = Cancellation()
    return try await RunResumption(
      .init(
        log: log, agent: agent, acceptsChanges: true, logOptions: .init(durability: .none),
        clock: { FixedClock(elapsedMicroseconds: $0) },
        boundary: { live($0, $1, cancellation) })
    ).log
  }

  @Test("each is faithful with the agent and the policy that went on, whatever is otherwise")
  func madeAgain() async throws {
    let folder = try TemporaryFolder()
    var generator = Seeded(seed: 21)
    var counts: [Change: Int] = [:]
    var taken = 0
    var seed = 0
    while counts.values.reduce(0, +) < Self.count, seed < 20 * Self.count {
      seed += 1
      let change = Change.allCases[seed % Change.allCases.count]
      let run = try await RandomRun(seed: 3_000_000 + seed)
      var agent = run.agent
      switch change {
      case .policy, .resumedPolicy: agent.policy = Self.policy(run, &generator)
      case .agent, .resumedAgent: agent = Self.other(agent, &generator)
      case .limits: agent.limits.maxToolCalls = 40
      default: break
      }
      let log: String?
      if change == .resumedAgent || change == .resumedPolicy {
        log = try await Self.resume(run.events, with: agent, "\(seed)", in: folder, &generator)
      } else {
        let parent = try writeLog(run.events, in: folder, named: "parent-\(seed)")
        log = try await Self.fork(
          parent, with: agent, change, run.events, "\(seed)", in: folder, &generator)
      }
      guard let log else { continue }
      let again = try await Reexecution(of: log, with: agent)
      guard again.isFaithful, again.made == (try readLog(log).count) else {
        Issue.record(
          "\(change) of seed \(seed): \(again.divergence.map { "\($0)".prefix(600) } ?? "\(again.made) made")"
        )
        return
      }
      if !again.takenOver.isEmpty { taken += 1 }
      // Of a run that went on with other files, the part before is made again too with those of then.
      if change == .resumedAgent || change == .resumedPolicy {
        let both = try await Reexecution(of: log, with: [run.agent, agent])
        #expect(both.isFaithful, "\(change) of seed \(seed)")
      }
      counts[change, default: 0] += 1
    }
    #expect(counts.values.reduce(0, +) == Self.count && counts.count == Change.allCases.count)
    #expect(taken > Self.count / 4)
  }

  @Test("a difference behind a change of files is one, and before it none is looked for")
  func stillCompared() async throws {
    let folder = try TemporaryFolder()
    var generator = Seeded(seed: 22)
    var found = 0
    for seed in 0..<40 {
      let run = try await RandomRun(seed: 4_000_000 + seed)
      let agent = Self.other(run.agent, &generator)
      guard
        let log = try await Self.resume(
          run.events, with: agent, "\(seed)", in: folder, &generator)
      else { continue }
      let again = try await Reexecution(of: log, with: run.agent)
      guard let divergence = again.divergence else { continue }
      let resumed = try #require(readLog(log).first { $0.type == .runResumed })
      #expect(divergence.seq > resumed.seq && divergence.cause != .code)
      found += 1
    }
    #expect(found > 5)
  }

  @Test("a fork of a run in which a call had not happened takes over what came of it then")
  func didNotHappen() async throws {
    let folder = try TemporaryFolder()
    let call: JSONValue = ["calls": [["name": "pay", "input": ["n": 1]]]]
    let agent = AgentDefinition(
      name: "payer", digest: "payer",
      model: ModelDefinition(
        provider: "scripted", name: "payer",
        implementation: .scripted(
          ModelScript(
            turns: [call, ["text": "paid"]].map {
              ModelScript.Turn(choices: [.init(answer: .reply($0))])
            }))),
      tools: [
        ToolRegistration(
          definition: ToolDefinition(
            name: "pay", inputSchema: ["type": "object"], sideEffect: .write),
          implementation: .scripted(ScriptedTool(rules: [.init(outcome: .ok("done"))])))
      ], policy: Policy(rules: [Policy.Rule(id: "all", verdict: .allow)]))
    let sink = InMemoryEventSink()
    let boundary = Self.live(agent, FixedClock(), Cancellation())
    _ = try await Runtime(agent: agent, boundary: boundary).run(goal: "Pay", into: sink)
    let started = try #require(sink.events.firstIndex { $0.type == .toolStarted })
    let log = try writeLog(sink.events[...started], in: folder, closes: false)
    func resume() async throws {
      _ = try await RunResumption(
        .init(
          log: log, agent: agent, logOptions: .init(durability: .none),
          clock: { FixedClock(elapsedMicroseconds: $0) },
          boundary: { Self.live($0, $1, Cancellation()) }))
    }
    try await resume()
    try WaitingRun(path: log).record(
      .didNotHappen, about: "pay", by: "ana", options: .init(durability: .none),
      at: { FixedClock(elapsedMicroseconds: $0).reading() })
    try await resume()
    for point in [ForkPoint.step(1), .step(2), .event(started - 1), .event(started)] {
      let fork = try await RunFork(
        .init(
          parent: log, at: point, agent: agent, runId: "\(point)",
          log: folder.path("\(point).jsonl.gz"), logOptions: .init(durability: .none),
          clock: { FixedClock(elapsedMicroseconds: $0) }))
      #expect(fork.unanswered == nil && fork.state.stop?.reason == "success", "\(point)")
      let results = try readLog(fork.log).filter { $0.type == .toolResult }
      #expect(results.map { $0.data["status"] } == ["ok"] && results[0].data["data"] == "done")
      #expect(try await Reexecution(of: fork.log, with: agent).isFaithful, "\(point)")
    }
  }

  @Test("a fork right behind what a model said in a person's place makes of it what the run did")
  func behindPersons() async throws {
    let folder = try TemporaryFolder()
    var generator = Seeded(seed: 23)
    var forks = 0
    for seed in 0..<400 where forks < 20 {
      let run = try await RandomRun(seed: 3_000_000 + seed)
      let replies = run.events.filter {
        $0.type == .modelResult && $0.data["purpose"] == "human" && $0.data["reply"] != nil
      }
      guard !replies.isEmpty else { continue }
      let parent = try writeLog(run.events, in: folder, named: "parent-\(seed)")
      for reply in replies {
        for agent in [run.agent, Self.other(run.agent, &generator)] {
          let fork: RunFork
          do {
            fork = try await RunFork(
              .init(
                parent: parent, at: .event(reply.seq), agent: agent, runId: "fork",
                log: folder.path("fork-\(forks).jsonl.gz"), logOptions: .init(durability: .none),
                clock: { FixedClock(elapsedMicroseconds: $0) }))
          } catch is ForkError { continue }
          let again = try await Reexecution(of: fork.log, with: agent)
          #expect(
            again.isFaithful,
            "seed \(seed), behind \(reply.seq): \(again.divergence.map { "\($0)".prefix(600) } ?? "")"
          )
          forks += 1
        }
      }
    }
    #expect(forks >= 20)
  }

  @Test("what was said beside the agent file is taken from the log, whatever became of the file")
  func origins() async throws {
    let folder = try TemporaryFolder()
    let run = try await RandomRun(seed: 5)
    var agent = run.agent
    agent.tighten(by: Limits(maxSteps: 1, maxToolCalls: 3), .commandLine)
    agent.policyContext.actorId = "ana"
    agent.note(.commandLine, of: "policyContext.actorId")
    let sink = InMemoryEventSink()
    _ = try await Runtime(
      agent: agent, boundary: Self.live(agent, FixedClock(), Cancellation())
    ).run(goal: "Go on", into: sink)
    let log = try writeLog(sink.events, in: folder)
    let started = try RunStarted(decoding: sink.events[0].data)
    #expect(started.origins["policyContext.actorId"] == "command_line")
    #expect(started.origins["limits.maxSteps"] == "command_line")
    // A byte more in the file.
    var today = run.agent
    today.digest = "another"
    #expect(try await Reexecution(of: log, with: today).divergence == nil)
    // Said anew, it counts.
    today.policyContext.actorId = "bo"
    today.note(.commandLine, of: "policyContext.actorId")
    let found = try #require(try await Reexecution(of: log, with: today).divergence)
    #expect(found.fields.map { "\($0.pointer)" } == ["/policyContext/actorId"])
    // A limit of the file that is lower now holds as well, as it would for a run recorded anew.
    today = run.agent
    today.limits.maxToolCalls = 2
    let lower = try #require(try await Reexecution(of: log, with: today).divergence)
    #expect(lower.fields.map { "\($0.pointer)" } == ["/limits/maxToolCalls"])
  }
}
