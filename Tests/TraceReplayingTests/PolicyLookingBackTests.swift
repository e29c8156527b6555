import AgentRuntime
import AgentTrace
import EvalLoading
import TestSupport
import Testing
import TraceMatching
import TraceStorage

@testable import TraceReplaying

@Suite("Rules that look back, over recorded runs")
struct PolicyLookingBackTests {
  /// A random agent under rules that look at what came before.
  private static func agent(_ seed: Int) async throws -> AgentDefinition {
    var agent = try await RandomRun(seed: 7_000_000 + seed).agent
    var random = Seeded(seed: UInt64(seed))
    let names = agent.tools.map(\.definition.name) + ["*"]
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    func past() throws -> Policy.PastCalls {
      let sameInput = try Matcher(compiling: ["n": ["$from": ["path": "/n"]]], origins: .ownInput)
      var past = Policy.PastCalls(tool: try Glob(names.randomElement(using: &random) ?? "*"))
      if number(0...1) == 0 { past.input = sameInput }
      if number(0...1) == 0 {
        past.statuses = [CallStatus.allCases.randomElement(using: &random) ?? .ok]
      }
      if number(0...3) == 0 {
        past.result = try Matcher(compiling: ["seen": ["$gt": 2]], origins: .ownInput)
      }
      if number(0...2) == 0 { past.withinSeconds = Double(number(0...4)) / 2 }
      past.times = number(0...1) == 0 ? 1...Int.max : 0...number(0...2)
      return past
    }
    agent.policy.rules =
      try (0..<number(2...5)).map { index in
        var rule = Policy.Rule(
          id: "back\(index)",
          verdict: VerdictStatus.allCases.randomElement(using: &random) ?? .deny,
          onDeny: number(0...9) == 0 ? .stop : .continue)
        if number(0...1) == 0 {
          rule.tools = [try Glob(names.randomElement(using: &random) ?? "*")]
        }
        switch number(0...5) {
        case 0: rule.calls = [try past()]
        case 1: rule.proposals = [try past()]
        case 2: rule.after = [try past()]
        case 3: rule.notAfter = [try past()]
        case 4:
          rule.input = try Matcher(
            compiling: ["n": ["$from": ["tool": "*", "path": "/seen"]]], allowsOrigins: true)
        default:
          let resource = Policy.Resource.allCases.randomElement(using: &random) ?? .steps
          rule.remaining = [
            .init(resource, try Matcher(compiling: ["$lt": JSONValue(number(1...6))]))
          ]
        }
        return rule
      } + agent.policy.rules
    agent.limits.timeoutSeconds = 20
    agent.limits.maxTokens = number(20...200)
    agent.failures.maxDenials = 9
    return agent
  }

  private static func record(
    _ agent: AgentDefinition, from past: [Event] = []
  ) async throws -> [Event] {
    let cancellation = Cancellation()
    var runPast = RunPast(for: agent)
    for event in past { try runPast.take(event) }
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(elapsedMicroseconds: runPast.state.elapsedMicroseconds),
      identifiers: SeededRunIDs(seed: 1), cancellation: cancellation,
      raise: { cancellation.cancel(signal: $0) })
    let sink = InMemoryEventSink()
    if past.isEmpty {
      _ = try await Runtime(agent: agent, boundary: boundary).run(
        .init(goal: "go", runId: boundary.makeRunID()), into: sink)
    } else {
      _ = try await Runtime(agent: agent, boundary: boundary).goOn(from: runPast, into: sink)
    }
    return past + sink.events
  }

  @Test(
    "asked over the log, they say what they said live: parallel calls, approvals, errors, resumes")
  func overTheLog() async throws {
    let folder = try TemporaryFolder()
    var (verdicts, resumed, approvals, parallel, open) = (0, 0, 0, 0, 0)
    var statuses: Set<String> = []
    for seed in 0..<TestRun.count(250, long: 20_000) {
      var agent = try await Self.agent(seed)
      let person = agent.human
      if seed % 3 == 0 { agent.human = nil }
      var events = try await Self.record(agent)
      let recorded = try #require(events.last)
      let isPaused = recorded.data["final"] == false
      if seed % 10 == 0 || !isPaused {
        let log = try await Reexecution(
          of: try Self.write(events, folder, "\(seed)"), with: agent)
        #expect(log.divergence == nil, "seed \(seed): \(String(describing: log.divergence))")
        #expect(log.made == events.count)
      }
      if isPaused, recorded.data["reason"] != "cancelled" {
        events.append(
          Event(
            seq: events.count, step: recorded.step, type: .runResumed, runId: recorded.runId,
            t: recorded.t, data: RunResumed(why: "somebody came").encoded))
        agent.human = person ?? ScriptedPerson(approvals: [.init(granted: true, by: "ana")])
        events = try await Self.record(agent, from: events)
        resumed += 1
      }
      let found = PolicyBacktester(policy: agent.policy).run(on: events, log: "log")
      #expect(found.changed == 0 && found.byOtherRule == 0 && found.unclear == 0, "seed \(seed)")
      guard found.changed == 0, found.byOtherRule == 0 else { return }
      let given = events.filter { $0.type == .policyDecision }
      #expect(found.verdicts == given.count)
      verdicts += given.count
      approvals += events.count { $0.type == .approval }
      parallel += events.count { $0.data["calls"]?.arrayValue?.count ?? 0 > 1 }
      open += given.count { $0.data["context"]?["notKnown"] != nil }
      for verdict in given where verdict.data["ruleId"]?.stringValue?.hasPrefix("back") == true {
        statuses.insert(verdict.data["status"]?.stringValue ?? "")
      }
    }
    #expect(verdicts > 800 && resumed > 10 && approvals > 20 && parallel > 100 && open > 10)
    #expect(statuses.count == 3)
  }

  private static func write(
    _ events: [Event], _ folder: TemporaryFolder, _ name: String
  ) throws -> String {
    let writer = try LogWriter(creating: folder.path("\(name).jsonl.gz"))
    for event in events { try writer.append(event, isEffectAhead: false) }
    return try writer.close().path
  }

  @Test("read from a file, a backtest folds what reading the events folds")
  func fromFiles() async throws {
    let folder = try TemporaryFolder()
    for seed in 0..<20 {
      let agent = try await Self.agent(seed)
      let events = try await Self.record(agent)
      let backtester = PolicyBacktester(policy: agent.policy)
      let read = try backtester.run(try Self.write(events, folder, "\(seed)"))
      #expect(read.verdicts == events.count { $0.type == .policyDecision })
      #expect(read.changed == 0 && read.byOtherRule == 0)
    }
  }

  @Test("the recorded fixture under such a policy is faithful, and its verdicts are those of today")
  func fixture() async throws {
    let path = Project.path("Fixtures/policy-runs/refund-in-order.jsonl.gz")
    let agent = try #require(AgentLoader.load(Project.path("Fixtures/agents/cashier.yaml")).value)
    let found = try PolicyBacktester(policy: agent.policy).run(path)
    #expect(found.verdicts == 13 && found.changed == 0 && found.byOtherRule == 0)
    #expect(try await Reexecution(of: path, with: agent).divergence == nil)
  }

  @Test("calls that nobody ruled on count within their decision as the policy would have ruled")
  func unjudged() throws {
    var once = Policy.Rule(id: "once", verdict: .deny)
    once.calls = [Policy.PastCalls(tool: try Glob("pay"))]
    let policy = Policy(rules: [once, .init(id: "rest", verdict: .allow)])
    let calls = (0..<3).map { ProposedCall(callId: "1.1.\($0)", name: "pay", input: [:]) }
    let events = [
      Event(
        seq: 0, step: 1, type: .decision, runId: "r", data: DecisionPayload(.tool(calls)).encoded)
    ]
    let found = PolicyBacktester(policy: policy).run(on: events, log: "log")
    #expect(found.unjudged == [.allow: 1, .deny: 2])
  }
}
