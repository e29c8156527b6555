import AgentRuntime
import AgentTrace
import Synchronization
import TestSupport
import Testing
import TraceMatching

/// A random agent that plans and looks back, and how.
private struct Thinker {
  var agent: AgentDefinition
  let plan: ThoughtSettings?
  let reflect: ThoughtSettings?

  init(seed: Int) throws {
    var random = Seeded(seed: UInt64(seed))
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    let fails = ToolRegistration.tool("fail", .read, rules: [.init(outcome: .error("no"))])
    let looks = ToolRegistration.tool("look", .read, rules: [.init(outcome: .ok("seen"))])
    let turns = (0..<number(0...6)).map { _ in
      ModelScript.Turn(
        choices: [
          .init(
            answer: .reply(
              number(0...5) == 0 ? "nonsense" : calls(number(0...2) == 0 ? "fail 1" : "look 1")))
        ])
    }
    agent = AgentDefinition.playing(
      turns + [.init(choices: [.init(answer: .reply(answer("done")))])], tools: [fails, looks])
    agent.failures.maxToolErrors = 99
    agent.failures.invalidDecisionRetries = 99
    agent.failures.modelRetries = number(0...2)
    agent.context.tokenBudget = [60, 400, 32_000][number(0...2)]
    let said: [ModelScript.Answer] = [
      .reply(["text": .string("thought " + String(repeating: "so ", count: number(0...200)))]),
      .reply(["text": "  "]), .reply(["calls": [["tool": "look", "input": [:]]]]),
      .unreachable("away"), .reply(["text": "and so"]), .reply(["text": "go on"]),
    ]
    guard case .scripted(var script) = agent.model.implementation else {
      (plan, reflect) = (nil, nil)
      return
    }
    func thoughts() -> [ModelScript.Turn] {
      (0..<number(0...9)).map { _ in
        .init(
          choices: [
            .init(
              answer: said[number(0...5)],
              usage: .init(inputTokens: number(0...9), outputTokens: 1))
          ])
      }
    }
    (script.plans, script.reflections) = (thoughts(), thoughts())
    agent.model.implementation = .scripted(script)
    if number(0...3) > 0 {
      var settings = ThoughtSettings(
        prompt: PromptTemplate("Plan for ${input}."), everySteps: number(0...3))
      settings.maxCalls = number(1...4)
      agent.plan = settings
    }
    if number(0...3) > 0 {
      var settings = ThoughtSettings(prompt: PromptTemplate("And now?"), everySteps: number(1...3))
      settings.maxCalls = number(1...6)
      if number(0...2) == 0 { settings.maxTokens = number(1...15) }
      if number(0...1) == 0 { settings.cause = .failures }
      agent.reflect = settings
    }
    (plan, reflect) = (agent.plan, agent.reflect)
  }
}

@Suite("Plans, and looks back")
struct ThoughtTests {
  static let seeds = 0..<(TestRun.isLong ? 20_000 : 400)

  private static func text(_ event: Event) -> String? {
    guard let text = event.data["reply"]?["text"]?.stringValue,
      text.contains(where: { !$0.isWhitespace })
    else { return nil }
    return text
  }

  @Test("each is asked for where it is due, within its budget, and nowhere else")
  func isDue() async throws {
    var seen: [String: Int] = [:]
    for seed in Self.seeds {
      let thinker = try Thinker(seed: seed)
      let events = try await thinker.agent.run().events
      for (purpose, settings) in [("plan", thinker.plan), ("reflect", thinker.reflect)] {
        var (calls, tokens, last) = (0, 0, Int?.none)
        // What has come since the last decision, and was asked for before the next packet.
        var (results, failures, asked) = (0, 0, [Event]())
        for event in events {
          switch event.type {
          case .decision: (results, failures) = (0, 0)
          case .toolResult:
            results += 1
            if event.data["status"] != "ok" { failures += 1 }
          case .modelResult where event.data["purpose"] == .string(purpose):
            asked.append(event)
          case .contextBuilt:
            defer { asked = [] }
            guard let settings else {
              #expect(asked.isEmpty, "seed \(seed)")
              continue
            }
            let isSpent = calls >= settings.maxCalls || tokens >= settings.maxTokens ?? .max
            let isNext = last.map {
              settings.everySteps > 0 && event.step - $0 >= settings.everySteps
            }
            let isCaused =
              purpose == "plan"
              || (settings.cause == .failures ? failures > 0 : results > 0)
                && (last != nil || event.step > settings.everySteps)
            let isDue = !isSpent && isNext ?? true && isCaused
            #expect(
              asked.isEmpty == !isDue, "seed \(seed), \(purpose) before event \(event.seq)")
            for (index, one) in asked.enumerated() {
              #expect(one.data["attempt"] == JSONValue(index + 1) && one.step == event.step)
              // Only a model that is out of reach is asked again.
              #expect((one.data["error"] == nil) == (one.data["reply"] != nil))
              if index < asked.count - 1 { #expect(one.data["error"] != nil, "seed \(seed)") }
              calls += 1
              tokens += one.data["usage"]?["inputTokens"]?.intValue ?? 0
              tokens += one.data["usage"]?["outputTokens"]?.intValue ?? 0
              if Self.text(one) != nil { last = one.step }
            }
            #expect(asked.count <= thinker.agent.failures.modelRetries + 1)
            #expect(calls <= settings.maxCalls, "seed \(seed)")
            if isDue { seen[purpose, default: 0] += 1 }
          default: break
          }
        }
        #expect(asked.isEmpty, "seed \(seed): a thought that no packet follows")
      }
    }
    #expect(seen["plan", default: 0] > 100 && seen["reflect", default: 0] > 100)
  }

  @Test(
    "its words stand in the packets that follow, once, until there are others; it calls nothing")
  func isShown() async throws {
    var shown = 0
    for seed in Self.seeds {
      let thinker = try Thinker(seed: seed)
      let events = try await thinker.agent.run().events
      var latest: [String: Event] = [:]
      for event in events {
        if event.type == .modelResult, let purpose = event.data["purpose"]?.stringValue,
          purpose == "plan" || purpose == "reflect", Self.text(event) != nil
        {
          latest[purpose] = event
        }
        guard event.type == .contextBuilt else { continue }
        let packet = try ContextPacket(decoding: event.data)
        let refs = packet.included.map(\.ref).filter {
          $0.hasPrefix("plan:") || $0.hasPrefix("reflection:")
        }
        let expected =
          (latest["plan"].map { ["plan:\($0.seq)"] } ?? [])
          + (latest["reflect"].map { ["reflection:\($0.seq)"] } ?? [])
        #expect(refs == expected, "seed \(seed), event \(event.seq)")
        shown += refs.count
        let texts = packet.messages.compactMap {
          $0["content"]?.arrayValue?.first?["text"]?.stringValue
        }
        let limit = thinker.agent.context.tokenBudget
        for text in texts where text.hasPrefix("Your plan: ") || text.hasPrefix("What you made") {
          #expect(text.utf8.count <= max(limit, 40) + 40, "seed \(seed)")
        }
        if latest["reflect"] != nil {
          #expect(texts.last?.hasPrefix("What you made of it so far: ") == true, "seed \(seed)")
        }
      }
      // What was replied to it is no decision.
      let calls = events.filter { $0.type == .decision }.flatMap { event in
        event.data["calls"]?.arrayValue ?? []
      }
      let started = events.filter { $0.type == .toolStarted }.count
      #expect(started <= calls.count)
      let decisions = events.filter { $0.type == .decision }.count
      #expect(
        decisions
          == events.filter { $0.data["purpose"] == "decide" && $0.data["reply"] != nil }.count)
    }
    #expect(shown > 500)
  }

  @Test("the model is told of its tools, and that it may call none now")
  func callsNone() async throws {
    final class Asked: Model, Sendable {
      let seen = Mutex<[ModelRequest]>([])
      func reply(to request: ModelRequest) async -> ModelAnswer {
        seen.withLock { $0.append(request) }
        return ModelAnswer(
          reply: request.purpose == .decide
            ? request.step == 1 ? calls("look 1") : answer("done") : ["text": "so"])
      }
    }
    let model = Asked()
    var agent = AgentDefinition.replying(answer("x"))
    agent.model.implementation = .model(model)
    agent.plan = ThoughtSettings(prompt: PromptTemplate("Plan ${input}!"), everySteps: 0)
    agent.reflect = ThoughtSettings(prompt: PromptTemplate("Well?"), everySteps: 1)
    let run = try await agent.run()
    let requests = model.seen.withLock { $0 }
    #expect(requests.map(\.purpose) == [.plan, .decide, .reflect, .decide])
    let decides = requests.filter { $0.purpose == .decide }
    #expect(
      requests[0].messages.dropLast() == decides[0].messages.prefix(requests[0].messages.count - 1))
    #expect(requests[0].messages.last?["role"] == "user")
    #expect(
      requests[0].messages.last?["content"]?.arrayValue?.first?["text"]
        == .string("Plan \(run.state.goal.stringValue ?? "")!"))
    for request in requests { #expect(request.tools == decides[0].tools) }
    #expect(requests[2].settings?["toolChoice"] == ["choice": "none"])
    #expect(requests[1].settings?["toolChoice"] == nil)
  }

  @Test("packets name the file that it was asked by, with the beginning of its digest")
  func namesFile() async throws {
    var agent = AgentDefinition.playing(
      [.init(choices: [.init(answer: .reply(answer("done")))])])
    guard case .scripted(var script) = agent.model.implementation else { return }
    script.plans = [.init(choices: [.init(answer: .reply(["text": "a plan"]))])]
    agent.model.implementation = .scripted(script)
    var settings = ThoughtSettings(prompt: PromptTemplate("Plan!"), everySteps: 0)
    settings.file = ("plan.md", "0123456789abcdef")
    agent.plan = settings
    let events = try await agent.run().events
    let packet = try #require(events.last { $0.type == .contextBuilt })
    let reasons = try ContextPacket(decoding: packet.data).included.map(\.reason)
    #expect(reasons.contains("the plan made in step 1, asked by plan.md (SHA-256 0123456789ab…)"))
  }

  @Test("a budget that it uses up ends the run before the decision")
  func spendsRun() async throws {
    var agent = AgentDefinition.playing(
      [.init(choices: [.init(answer: .reply(answer("done")))])])
    guard case .scripted(var script) = agent.model.implementation else { return }
    script.plans = [
      .init(choices: [
        .init(answer: .reply(["text": "a plan"]), usage: .init(inputTokens: 90, outputTokens: 20))
      ])
    ]
    agent.model.implementation = .scripted(script)
    agent.limits = Limits(maxSteps: 5, maxTokens: 100)
    agent.plan = ThoughtSettings(prompt: PromptTemplate("Plan!"), everySteps: 0)
    let run = try await agent.run()
    #expect(run.stop.reason == "budget_exhausted", "\(run.stop)")
    #expect(!run.events.contains { $0.type == .decision })
  }
}
