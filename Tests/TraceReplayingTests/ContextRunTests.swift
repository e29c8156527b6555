import AgentRuntime
import AgentTrace
import EvalLoading
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

@Suite("Runs whose prompts have no room for everything")
struct ContextRunTests {
  static let fixtures = ["oldest-truncated", "output-dropped", "summarized"]
  static let agents = ["reader-truncating", "reader-dropping", "reader-summarizing"]

  @Test(
    "each fixture is made again faithfully, and its packets from the log byte for byte",
    arguments: 0..<3)
  func fixture(index: Int) async throws {
    let path = Project.path("Fixtures/context-runs/\(Self.fixtures[index]).jsonl.gz")
    let agent = try #require(
      AgentLoader.load(Project.path("Fixtures/agents/\(Self.agents[index]).yaml")).value)
    let reexecution = try await Reexecution(of: path, with: agent)
    #expect(reexecution.divergence == nil)
    let events = try readLog(path)
    #expect(reexecution.made == events.count)
    let assembler = ContextAssembler(agent: agent)
    var (state, history) = (AgentState(), ContextHistory())
    for event in events {
      if event.type == .contextBuilt {
        let packet = assembler.assemble(state: state, history: history) { events[$0] }
        #expect(packet.encoded == event.data)
        #expect(packet.tokenEstimate <= 900)
      }
      state.apply(event)
      history.take(event)
    }
  }

  @Test("with another strategy the run made again differs in its context, and the setting is named")
  func otherStrategy() async throws {
    let path = Project.path("Fixtures/context-runs/summarized.jsonl.gz")
    var agent = try #require(
      AgentLoader.load(Project.path("Fixtures/agents/reader-summarizing.yaml")).value)
    agent.context.strategy = .truncateOldest
    agent.digest = "another"
    let found = try await Reexecution(of: path, with: agent).divergence
    #expect(found?.cause == .context && found?.input?.name == "context.strategy")
  }

  @Test("a fork behind a summary goes on with it, and is made again faithfully")
  func forked() async throws {
    let folder = try TemporaryFolder()
    let log = folder.path("fork.jsonl.gz")
    let program = try await Binary.run(
      [
        "fork", Project.path("Fixtures/context-runs/summarized.jsonl.gz"), "--agent",
        Project.path("Fixtures/agents/reader-summarizing.yaml"), "--at", "step:7", "--live",
        "--out",
        log, "--seed", "1", "--fixed-clock",
      ])
    #expect(program.status == 0)
    let agent = try #require(
      AgentLoader.load(Project.path("Fixtures/agents/reader-summarizing.yaml")).value)
    #expect(try await Reexecution(of: log, with: agent).divergence == nil)
  }

  @Test("random runs with each strategy are made again faithfully")
  func random() async throws {
    let folder = try TemporaryFolder()
    var summaries = 0
    for seed in 0..<TestRun.count(90, long: 6_000) {
      var agent = try await RandomRun(seed: 9_000_000 + seed).agent
      agent.context.strategy = ContextSettings.Strategy.allCases[seed % 3]
      agent.context.tokenBudget = 350 + seed % 7 * 60
      guard case .scripted(var script) = agent.model.implementation else { continue }
      script.turns = Array(script.turns.prefix(4)) + script.turns
      script.summaries = [
        .init(choices: [.init(answer: .unreachable("down"))], repeats: 1 + seed % 3),
        .init(choices: [.init(answer: .reply(["text": "what came before"]))], repeats: 99),
      ]
      agent.model.implementation = .scripted(script)
      agent.limits.maxSteps = 12
      let cancellation = Cancellation()
      let boundary = AssembledBoundary(
        for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: seed),
        cancellation: cancellation, raise: { cancellation.cancel(signal: $0) })
      let path = folder.path("\(seed).jsonl.gz")
      let writer = try LogWriter(creating: path)
      _ = try await Runtime(agent: agent, boundary: boundary).run(
        .init(goal: "go", runId: boundary.makeRunID()), into: writer,
        observe: { if $0.data["purpose"] == "summarize" { summaries += 1 } })
      let closed = try writer.close().path
      let found = try await Reexecution(of: closed, with: agent)
      #expect(found.divergence == nil, "seed \(seed): \(String(describing: found.divergence))")
    }
    #expect(summaries > 3)
  }
}
