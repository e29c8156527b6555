import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching

@Suite("What gives way where a prompt has no room for everything")
struct ContextStrategyTests {
  /// A random agent whose prompts are too small, with a strategy, long outputs and tools that rules show.
  static func agent(seed: UInt64) throws -> AgentDefinition {
    var agent = try RandomAgent.make(seed: seed)
    var random = Seeded(seed: seed)
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    agent.context.strategy = ContextSettings.Strategy.allCases[Int(seed % 3)]
    agent.context.tokenBudget = number(300...900)
    if number(0...3) == 0 { agent.context.tokenEstimate = TokenEstimate(bytesPerToken: 3) }
    agent.runGuard = nil
    agent.limits = Limits(maxSteps: number(8...14))
    (agent.failures.maxDenials, agent.failures.maxToolErrors) = (9, 9)
    for index in agent.tools.indices {
      guard case .scripted(var script) = agent.tools[index].implementation else { continue }
      for rule in script.rules.indices where number(0...1) == 0 {
        guard case .ok = script.rules[rule].outcome else { continue }
        script.rules[rule].outcome = .ok(
          .string(String(repeating: "so it was ", count: number(5...60))))
      }
      agent.tools[index].implementation = .scripted(script)
      switch agent.tools[index].definition.name == "look" ? 9 : number(0...5) {
      case 0: agent.tools[index].disclose = [DisclosureRule(id: "late", steps: 2...Int.max)]
      case 1:
        agent.tools[index].disclose = [DisclosureRule(id: "looked", after: [try Glob("look")])]
      case 2:
        agent.tools[index].disclose = [
          DisclosureRule(
            id: "busy", isShown: false,
            condition: try Matcher(compiling: ["toolCalls": ["$gt": 3]])),
          DisclosureRule(id: "always"),
        ]
      default: break
      }
    }
    guard case .scripted(var script) = agent.model.implementation else { return agent }
    script.summaries = (0..<number(0...6)).map { index in
      let answers: [ModelScript.Answer] = [
        .reply([
          "text": .string("so far: \(index) " + String(repeating: "x", count: number(0...400)))
        ]),
        .reply(["text": " "]), .reply(["calls": []]), .reply(.null), .unreachable("no route"),
      ]
      return .init(choices: [.init(answer: answers[max(0, number(-12...4))])])
    }
    let looks = (0..<number(4...9)).map { _ in
      let names = (0..<number(1...3)).map { _ in "look \(number(0...4))" }
      return ModelScript.Turn(choices: [
        .init(
          answer: .reply(["calls": .array(names.flatMap { calls($0)["calls"]?.arrayValue ?? [] })]))
      ])
    }
    script.turns = looks + script.turns
    agent.model.implementation = .scripted(script)
    return agent
  }

  @Test("random packets are rebuilt from the log, keep to their budget, and tell of each item once")
  func packets() async throws {
    var seen: [String: Int] = [:]
    for seed in 0..<UInt64(TestRun.count(210, long: 3_000)) {
      let agent = try Self.agent(seed: seed)
      let events = try await agent.run().events
      let assembler = ContextAssembler(agent: agent)
      var (state, history) = (AgentState(), ContextHistory())
      for event in events {
        if event.type == .contextBuilt {
          let packet = assembler.assemble(state: state, history: history, at: event.seq) {
            $0 < event.seq ? events[$0] : nil
          }
          let isSame =
            CanonicalJSON.encode(.object(packet.encoded))
            == CanonicalJSON.encode(.object(event.data))
          #expect(isSame, "seed \(seed), event \(event.seq)")
          let problem = Self.problem(with: packet, of: agent, state, history)
          #expect(problem == nil, "seed \(seed), event \(event.seq)")
          guard isSame, problem == nil else { return }
          for item in packet.included + packet.omittedRefs {
            seen[Self.words(item.reason), default: 0] += 1
          }
        }
        state.apply(event)
        history.take(event)
      }
    }
    for words in [
      "the latest turn", "fits the token budget", "older than what fits the token budget",
      "without its output, which does not fit the token budget", "told in summary:",
      "stands for what came before, up to ", "no room for it beside the latest turn",
      "shown by rule late", "shown by rule looked", "hidden by rule busy", "shown by rule always",
      "no rule of the tool shows it", "open on every route",
    ] {
      #expect(seen[words, default: 0] > 2, "\(words): \(seen)")
    }
  }

  private static func words(_ reason: String) -> String {
    if reason.hasPrefix("told in") { return "told in summary:" }
    return reason.hasPrefix("stands for") ? "stands for what came before, up to " : reason
  }

  private static func problem(
    with packet: ContextPacket, of agent: AgentDefinition, _ state: AgentState,
    _ history: ContextHistory
  ) -> String? {
    let refs = packet.included.map(\.ref) + packet.omittedRefs.map(\.ref)
    if Set(refs).count != refs.count { return "an item stands twice: \(refs)" }
    let expected =
      ["goal"] + agent.tools.map { "tool:\($0.definition.name)" }
      + state.observations.recent.map(\.id)
    let summary = refs.filter { $0.hasPrefix("summary:") }
    if Set(refs).subtracting(summary)
      != Set(expected).union(agent.systemPrompt == nil ? [] : ["system"])
    {
      return "another set of items: \(refs)"
    }
    if summary
      != (agent.context.strategy == .summarize
        ? history.summary.map { ["summary:\($0.seq)"] } ?? [] : [])
    {
      return "another summary: \(summary)"
    }
    if (packet.included + packet.omittedRefs).contains(where: \.reason.isEmpty) {
      return "no reason"
    }
    let shown = packet.included.filter { $0.ref.first?.isNumber == true }
    let isMore = shown.contains { $0.reason != "the latest turn" }
    if isMore || packet.included.contains(where: { $0.ref.hasPrefix("summary:") }),
      packet.tokenEstimate > packet.tokenBudget ?? 0
    {
      return "\(packet.tokenEstimate) tokens"
    }
    let parts = packet.messages.flatMap { $0["content"]?.arrayValue ?? [] }
    func ids(_ type: JSONValue) -> Set<String> {
      Set(parts.filter { $0["type"] == type }.compactMap { $0["callId"]?.stringValue })
    }
    if !ids("tool_result").isSubset(of: ids("tool_call")) { return "a result without its call" }
    let disclosed = packet.included.map(\.ref).filter { $0.hasPrefix("tool:") }
    return disclosed == packet.toolsDisclosed.map { "tool:\($0)" } ? nil : "other tools disclosed"
  }

  @Test("whatever event such a run goes on from, it goes on as it went, and asks for nothing twice")
  func goingOn() async throws {
    var (boundaries, summaries) = (0, 0)
    // With 961, a call reads a note that one beside it takes away.
    for seed in Array(0..<UInt64(TestRun.count(18, long: 400))) + [961, 1933] {
      let agent = try Self.agent(seed: 3 * seed + 2)
      let whole = try await agent.run().events
      summaries += whole.count { $0.data["purpose"] == "summarize" }
      for index in whole.indices {
        let rest = try await agent.goOn(from: whole[...index])
        boundaries += 1
        #expect(
          rest.firstDifference(from: whole[(index + 1)...]) == nil,
          "seed \(seed), event \(index) of \(whole.count)")
        #expect(rest.askedTwice(after: whole[...index]) == [], "seed \(seed), event \(index)")
        guard rest.events.last == whole.last || index == whole.count - 1 else { return }
      }
    }
    #expect(boundaries > 500 && summaries > 15)
  }

  @Test("a summary is asked for as often as a decision, then the oldest turns are left out")
  func failedSummaries() async throws {
    var agent = AgentDefinition.playing(
      (0..<9).map { .init(choices: [.init(answer: .reply(calls("look \($0)")))]) }
        + [.init(choices: [.init(answer: .reply(answer("x")))])])
    agent.context.strategy = .summarize
    agent.context.tokenBudget = 350
    agent.failures.modelRetries = 1
    let run = try await agent.run()
    #expect(run.stop.reason == "success")
    let tries = run.events.filter { $0.data["purpose"] == "summarize" }
    // Two tries for each of two packets; then none is asked for any more.
    #expect(tries.map { $0.data["attempt"] } == [1, 2, 1, 2])
    #expect(tries.allSatisfy { $0.data["error"] != nil })
    let last = try #require(run.events.last { $0.type == .contextBuilt })
    let packet = try ContextPacket(decoding: last.data)
    #expect(packet.omittedRefs.contains { $0.reason == "older than what fits the token budget" })
  }

  @Test(
    "results that are together more than a line of the log takes are cut, those that came first")
  func manyValues() async throws {
    let numbers = JSONValue.array(Array(repeating: 7, count: 65_000))
    let text = JSONValue.string(String(repeating: "word ", count: 200_000))
    for (data, whole) in [(numbers, 3), (text, 10)] {
      let tool = ToolRegistration.tool("look", .read, rules: [.init(outcome: .ok(data))])
      let texts = (0..<(whole == 3 ? 5 : 14)).map { "look \($0)" }
      let agent = AgentDefinition.replying(
        ["calls": .array(texts.flatMap { calls($0)["calls"]?.arrayValue ?? [] })], answer("done"),
        tools: [tool])
      let run = try await agent.run()
      #expect(run.stop.reason == "success")
      let event = try #require(run.events.last { $0.type == .contextBuilt })
      let packet = try ContextPacket(decoding: event.data)
      let shown = packet.messages.flatMap { $0["content"]?.arrayValue ?? [] }
        .filter { $0["type"] == "tool_result" }.map { $0["data"]?.typeName }
      #expect(shown.count == texts.count)
      let (first, last) = (shown.prefix { $0 == "cut" }, shown.drop { $0 == "cut" })
      #expect(last.count >= whole && !first.isEmpty && !last.contains("cut"))
      #expect(packet.evidenceRefs.count == last.count)
      #expect(CanonicalJSON.valueCount(of: .object(event.data)) < JSONValue.countLimit)
      #expect(
        CanonicalJSON.byteCount(of: .object(event.data)) < (8 << 20) + (whole == 3 ? 0 : 4 << 20))
    }
  }

  @Test("a summary is used again until the next is due")
  func reused() async throws {
    var agent = AgentDefinition.playing(
      (0..<12).map { .init(choices: [.init(answer: .reply(calls("look \($0)")))]) }
        + [.init(choices: [.init(answer: .reply(answer("x")))])])
    agent.context.strategy = .summarize
    agent.context.tokenBudget = 450
    guard case .scripted(var script) = agent.model.implementation else { return }
    script.summaries = [
      .init(choices: [.init(answer: .reply(["text": "looked around"]))], repeats: 99)
    ]
    agent.model.implementation = .scripted(script)
    let run = try await agent.run()
    let summaries = run.events.filter { $0.data["purpose"] == "summarize" }
    let packets = try run.events.filter { $0.type == .contextBuilt }.map {
      try ContextPacket(decoding: $0.data)
    }
    let shown = packets.compactMap { packet in
      packet.included.map(\.ref).first { $0.hasPrefix("summary:") }
    }
    #expect(Set(shown) == Set(summaries.map { "summary:\($0.seq)" }))
    #expect(shown.count > summaries.count && summaries.count >= 2)
    #expect(run.state.totals.modelCalls == packets.count + summaries.count)
    #expect(summaries.allSatisfy { $0.data["through"]?.stringValue?.isEmpty == false })
  }

  @Test(
    "the family of a model is told by its provider or name",
    arguments: [
      ("anthropic", "claude-sonnet", 3.5), ("bedrock", "us.anthropic.claude-3", 3.5),
      ("openai", "gpt-4o", 4), ("azure", "GPT-4.1", 4), ("google", "gemini-2.5-pro", 4),
      ("ollama", "llama3.1", 3.9), ("vllm", "Qwen2.5-72B", 3), ("x", "deepseek-chat", 3.3),
      ("scripted", "support-script", 4), ("scripted", "claudette", 4), ("", "", 4),
    ])
  func families(provider: String, name: String, bytes: Double) {
    let estimate = TokenEstimate(provider: provider, model: name)
    #expect(estimate == TokenEstimate(bytesPerToken: bytes))
    for length in 0..<200 {
      let count = length + 2
      let tokens = TokenEstimate().tokens(in: .string(String(repeating: "x", count: length)))
      #expect(tokens == (count + 3) / 4)
    }
  }
}
