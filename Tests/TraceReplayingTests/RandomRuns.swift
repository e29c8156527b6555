import AgentRuntime
import AgentTrace
import TestSupport
import TraceMatching

/// A random scripted agent and what it did.
struct RandomRun {
  var agent: AgentDefinition
  var events: [Event]

  /// The same seed makes the same run.
  ///
  /// - Parameter isTimed: whether what becomes of it depends on times, which no disguise may change.
  init(seed: Int, isTimed: Bool = false) async throws {
    var generator = Seeded(seed: UInt64(seed))
    agent = Self.agent(seed, &generator)
    Self.harden(&agent, isTimed: isTimed, &generator)
    let cancellation = Cancellation()
    let boundary = AssembledBoundary(
      for: agent, clock: FixedClock(), identifiers: SeededRunIDs(seed: seed),
      cancellation: cancellation, raise: { cancellation.cancel(signal: $0) })
    let sink = InMemoryEventSink()
    _ = try await Runtime(agent: agent, boundary: boundary).run(
      .init(goal: .string("goal \(seed)"), runId: boundary.makeRunID(), seed: seed), into: sink)
    events = sink.events
  }

  private static func agent(_ seed: Int, _ generator: inout Seeded) -> AgentDefinition {
    let tools = (0..<Int.random(in: 2...5, using: &generator)).map { tool($0, &generator) }
    var agent = AgentDefinition(
      name: "random", version: "1", digest: "agent \(seed)",
      systemPrompt: Bool.random(using: &generator) ? "Do what you are told." : nil,
      model: ModelDefinition(
        provider: "scripted", name: "random",
        implementation: .scripted(ModelScript(turns: turns(tools, &generator)))),
      tools: tools)
    agent.policy = Policy(rules: rules(tools, &generator))
    // Without chance, so that the random choices of other runs stay what they were.
    if seed % 4 == 0 { ask(&agent.policy, seed) }
    if seed % 5 == 0 { instruct(&agent) }
    if seed % 6 == 1 { think(&agent, seed) }
    agent.parallelCalls = Int.random(in: 1...4, using: &generator)
    agent.limits = Limits(
      maxSteps: Int.random(in: 2...8, using: &generator),
      maxToolCalls: Bool.random(using: &generator) ? Int.random(in: 1...12, using: &generator) : nil
    )
    agent.failures.maxToolErrors = Int.random(in: 1...4, using: &generator)
    agent.failures.maxDenials = Int.random(in: 1...4, using: &generator)
    agent.failures.modelRetries = Int.random(in: 0...2, using: &generator)
    agent.failures.invalidDecisionRetries = Int.random(in: 0...2, using: &generator)
    agent.memory = (0..<Int.random(in: 0...2, using: &generator)).map {
      MemoryNote(scope: "agent", key: "n\($0)", value: .string("note \($0)"))
    }
    if Bool.random(using: &generator) {
      agent.human = ScriptedPerson(
        approvals: [
          .init(
            granted: Bool.random(using: &generator), by: "ana",
            scope: seed % 5 < 3 ? .once : seed % 5 == 3 ? .calls(2) : .input)
        ], answers: [.init(text: "yes", by: "bo")])
      // Only some, so that random choices of other runs stay what they were.
      if seed % 3 == 0 { agent.human?.turns = [.says("and then?", by: "bo")] }
      if seed % 3 == 1 { agent.human = ScriptedPerson(model: simulated(seed)) }
    }
    if Int.random(in: 0..<4, using: &generator) == 0 { agent.context.tokenBudget = 60 }
    return agent
  }

  /// Retries, breakers and promises about results.
  private static func harden(
    _ agent: inout AgentDefinition, isTimed: Bool, _ generator: inout Seeded
  ) {
    for index in agent.tools.indices {
      if Int.random(in: 0..<3, using: &generator) == 0 {
        agent.tools[index].retry = RetrySettings(
          maxAttempts: Int.random(in: 1...4, using: &generator),
          backoffSeconds: Double(Int.random(in: 0...6, using: &generator)) / 4)
      }
      if isTimed || Bool.random(using: &generator) {
        let reset = [0, isTimed ? Double(Int.random(in: 0...4, using: &generator)) / 2 : 1e6]
        agent.tools[index].breaker = BreakerSettings(
          failures: isTimed ? 1 : Int.random(in: 1...2, using: &generator),
          resetSeconds: reset[Int.random(in: 0...1, using: &generator)])
      }
      if Int.random(in: 0..<8, using: &generator) == 0 {
        agent.tools[index].definition.outputSchema = ["type": "integer"]
      }
    }
    guard isTimed else { return }
    // Runs that go on for long enough to see a breaker close.
    for index in agent.tools.indices { agent.tools[index].onError = .continue }
    agent.failures.maxToolErrors = 99
    agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)])
    if Bool.random(using: &generator) {
      agent.limits.timeoutSeconds = Double(Int.random(in: 0...20, using: &generator)) / 4
    }
  }

  /// Plans and looks back, some in vain.
  private static func think(_ agent: inout AgentDefinition, _ seed: Int) {
    guard case .scripted(var script) = agent.model.implementation else { return }
    let said: [ModelScript.Answer] = [
      .reply(["text": "first this, then that"]), .unreachable("away"), .reply(["text": " "]),
      .reply(["calls": [["tool": "t0", "input": [:]]]]), .reply(["text": "it failed; ${goal}"]),
    ]
    func turns(_ first: Int) -> [ModelScript.Turn] {
      (0..<7).map { number in
        ModelScript.Turn(
          choices: [
            .init(
              answer: said[(seed / 6 + first + number) % said.count],
              usage: .init(inputTokens: 20, outputTokens: 5))
          ])
      }
    }
    (script.plans, script.reflections) = (turns(0), turns(3))
    agent.model.implementation = .scripted(script)
    if seed % 4 != 3 {
      agent.plan = ThoughtSettings(
        prompt: PromptTemplate("Plan ${input} for ${agent.name}."), everySteps: seed / 6 % 4)
    }
    agent.reflect = ThoughtSettings(
      prompt: PromptTemplate("And now?"), everySteps: 1 + seed / 6 % 2)
    if seed % 5 < 2 { agent.reflect?.cause = .failures }
    if seed % 7 < 3 { agent.reflect?.maxCalls = 2 }
    if seed % 7 == 3 { agent.reflect?.maxTokens = 30 }
  }

  private static func simulated(_ seed: Int) -> SimulatedPerson {
    let answers: [ModelScript.Answer] = [
      .reply(["text": "yes, do"]), .unreachable("away"), .reply(["text": "no"]),
      .reply(["text": "and more"]), .reply(["stop": "success"]), .reply(["granted": true]),
    ]
    let turns = (0..<6).map { number in
      ModelScript.Turn(choices: [.init(answer: answers[(seed / 3 + number) % answers.count])])
    }
    return SimulatedPerson(
      model: ModelDefinition(
        provider: "scripted", name: "person", implementation: .scripted(ModelScript(turns: turns))),
      name: "cy")
  }

  private static func tool(_ number: Int, _ generator: inout Seeded) -> ToolRegistration {
    let effect = SideEffect.allCases.randomElement(using: &generator) ?? .read
    func delay(_ generator: inout Seeded) -> Double {
      Double(Int.random(in: 0...9, using: &generator)) / 10
    }
    var rules: [ScriptedTool.Rule] = []
    if Int.random(in: 0..<3, using: &generator) == 0 {
      rules.append(
        .init(
          condition: try? Matcher(compiling: ["attempt": 1]), outcome: .error("not yet"),
          delaySeconds: delay(&generator)))
    }
    if Int.random(in: 0..<12, using: &generator) == 0 {
      rules.append(.init(outcome: .error("cut off"), raises: "SIGTERM"))
    }
    rules.append(
      .init(
        condition: try? Matcher(compiling: ["input": ["n": ["$gt": 2]]]),
        outcome: Int.random(in: 0..<3, using: &generator) == 0
          ? .error("too many") : .ok(["seen": "${input.n}", "by": .string("t\(number)")]),
        delaySeconds: delay(&generator)))
    rules.append(.init(outcome: .ok("${input.n}"), delaySeconds: delay(&generator)))
    for index in rules.indices where Int.random(in: 0..<6, using: &generator) == 0 {
      let scopes = ["run", "agent"]
      rules[index].writes = [
        MemoryNote(
          scope: scopes[Int.random(in: 0...1, using: &generator)], key: "k${input.n}",
          value: "${step}")
      ]
    }
    return ToolRegistration(
      definition: ToolDefinition(
        name: "t\(number)", description: "Tool \(number).",
        inputSchema: ["type": "object", "properties": ["n": ["type": "integer"]]],
        sideEffect: effect, idempotent: Bool.random(using: &generator)),
      implementation: .scripted(ScriptedTool(rules: rules)),
      onError: ToolRegistration.OnError.allCases.randomElement(using: &generator) ?? .continue,
      maxAttempts: Int.random(in: 1...3, using: &generator))
  }

  private static func rules(
    _ tools: [ToolRegistration], _ generator: inout Seeded
  ) -> [Policy.Rule] {
    (0..<Int.random(in: 0...3, using: &generator)).compactMap { number in
      guard let tool = tools.randomElement(using: &generator),
        let glob = try? Glob(tool.definition.name)
      else { return nil }
      return Policy.Rule(
        id: "r\(number)", tools: [glob],
        verdict: VerdictStatus.allCases.randomElement(using: &generator) ?? .allow,
        onDeny: Int.random(in: 0..<4, using: &generator) == 0 ? .stop : .continue)
    }
  }

  /// Gives it instructions of parts, which name the run and change from step to step.
  private static func instruct(_ agent: inout AgentDefinition) {
    var late = PromptPart(id: "late", template: PromptTemplate("Come to an end."))
    late.rule = DisclosureRule(id: "", steps: 2...4)
    var done = PromptPart(id: "done", template: PromptTemplate("t0 has spoken."))
    done.rule = DisclosureRule(id: "", after: (try? Glob("t0")).map { [$0] } ?? [])
    agent.instructions = [
      PromptPart(
        id: "who", template: PromptTemplate("You are ${agent.name}; asked: ${input}.")),
      late, done,
    ]
    agent.examples = [ExampleTurn(user: "2+2?", assistant: "4")]
  }

  /// Has every second rule ask somebody who says yes, no, ask a person and nothing, and in some runs is interrupted.
  private static func ask(_ policy: inout Policy, _ seed: Int) {
    func answer(
      _ condition: JSONValue, _ outcome: ScriptedTool.Outcome, raises: String? = nil
    ) -> ScriptedTool.Rule {
      .init(
        condition: try? Matcher(compiling: condition), outcome: outcome,
        delaySeconds: Double(seed % 3), raises: raises)
    }
    func tool(_ name: String) -> JSONValue { ["input": ["resource": ["id": .string(name)]]] }
    policy.authorizers = [
      AuthorizerRegistration(
        "pdp",
        .scripted(
          ScriptedTool(rules: [
            answer(
              ["input": ["context": ["approved": true]]], .ok(["decision": .bool(seed % 8 == 0)])),
            answer(
              tool("t0"), .ok(["decision": true]), raises: seed % 12 == 0 ? "SIGTERM" : nil),
            answer(tool("t1"), .ok(["decision": false, "context": ["reason": "not you"]])),
            answer(
              tool("t2"), .ok(["decision": false, "context": ["approval_required": true]])),
            answer(tool("t3"), .error("down")), answer([:], .ok(["decision": "maybe"])),
          ])))
    ]
    for index in policy.rules.indices where index % 2 == 0 { policy.rules[index].ask("pdp") }
  }

  private static func turns(
    _ tools: [ToolRegistration], _ generator: inout Seeded
  ) -> [ModelScript.Turn] {
    var turns: [ModelScript.Turn] = []
    func play(_ answer: ModelScript.Answer, _ generator: inout Seeded) {
      var usage: ModelScript.Usage?
      if Bool.random(using: &generator) {
        usage = .init(inputTokens: 10, outputTokens: 2, cost: 0.01)
      }
      turns.append(.init(choices: [.init(answer: answer, usage: usage)]))
    }
    for turn in 0..<Int.random(in: 1...6, using: &generator) {
      switch Int.random(in: 0..<12, using: &generator) {
      case 0: play(.unreachable("connection refused"), &generator)
      case 1: play(.reply(["calls": [["name": "nothing", "input": [:]]]]), &generator)
      case 2: play(.reply(["question": "Shall I?"]), &generator)
      default:
        let calls = (0..<Int.random(in: 1...4, using: &generator)).map { index -> JSONValue in
          let tool = tools.randomElement(using: &generator)?.definition.name ?? ""
          return [
            "id": .string("call_\(turn)_\(index)"), "name": .string(tool),
            "input": ["n": JSONValue(Int.random(in: 0...4, using: &generator))],
          ]
        }
        var reply: JSONObject = ["calls": .array(calls)]
        if Bool.random(using: &generator) { reply["text"] = "Let me see." }
        play(.reply(.object(reply)), &generator)
      }
    }
    play(.reply(["text": "Done."]), &generator)
    return turns
  }
}

/// A run and an agent of which it is known why they differ.
struct KnownChange {
  /// What was changed.
  enum Kind: CaseIterable {
    case prompt, limit, toolSchema, toolDescription, toolGone, result, verdict, model, code
  }

  var agent: AgentDefinition
  var events: [Event]
  var cause = ""
  /// The name of the input that explains it; `nil` where none does.
  var input: String?

  /// `nil` where the run does not hold what is changed.
  init?(_ kind: Kind, in run: RandomRun, _ generator: inout Seeded) {
    agent = run.agent
    events = run.events
    agent.digest = "another file"
    switch kind {
    case .prompt:
      guard events.contains(where: { $0.type == .contextBuilt }) else { return nil }
      agent.systemPrompt = (agent.systemPrompt ?? "") + " Quickly."
      (cause, input) = ("context", "system")
    case .limit:
      agent.limits.maxSteps = (agent.limits.maxSteps ?? 0) + 1
      (cause, input) = ("context", "maxSteps")
    case .toolSchema:
      let index = agent.tools.indices.randomElement(using: &generator) ?? 0
      agent.tools[index].definition.inputSchema = ["type": "object", "required": ["n"]]
      (cause, input) = ("tool", agent.tools[index].definition.name)
    case .toolDescription:
      let index = agent.tools.indices.randomElement(using: &generator) ?? 0
      agent.tools[index].definition.description += " Now better."
      (cause, input) = ("tool", agent.tools[index].definition.name)
    case .toolGone:
      let index = agent.tools.indices.randomElement(using: &generator) ?? 0
      (cause, input) = ("tool", agent.tools[index].definition.name)
      agent.tools.remove(at: index)
    case .result:
      agent = run.agent
      let started = Set(
        events.filter { $0.type == .toolStarted }.compactMap { $0.data["callId"]?.stringValue })
      let results = events.indices.filter {
        events[$0].type == .toolResult
          && started.contains(events[$0].data["callId"]?.stringValue ?? "")
      }
      guard let index = results.randomElement(using: &generator) else { return nil }
      (cause, input) = ("tool", events[index].data["tool"]?.stringValue)
      events.remove(at: index)
      events = events.renumbered
    case .verdict:
      let verdicts = events.filter { $0.type == .policyDecision }
      guard let chosen = verdicts.randomElement(using: &generator),
        let tool = chosen.data["tool"]?.stringValue, let glob = try? Glob(tool),
        let first = verdicts.first(where: { $0.data["tool"]?.stringValue == tool }),
        let other = VerdictStatus.allCases.filter({
          $0.rawValue != first.data["status"]?.stringValue
        }).randomElement(using: &generator)
      else { return nil }
      let rule = Policy.Rule(
        id: "new", tools: [glob], verdict: other,
        onDeny: Bool.random(using: &generator) ? .stop : .continue)
      agent.policy.rules.insert(rule, at: 0)
      (cause, input) = ("policy", "new")
    case .model:
      agent.model.name = "another"
      (cause, input) = ("model", "another")
    case .code:
      agent = run.agent
      cause = "code"
      guard tamper(&generator) else { return nil }
    }
  }

  /// Changes an event that no boundary answers with.
  private mutating func tamper(_ generator: inout Seeded) -> Bool {
    let types: [EventType] = [
      .runStarted, .contextBuilt, .decision, .policyDecision, .toolStarted, .stop, .memoryRead,
    ]
    guard
      let index = events.indices.filter({ types.contains(events[$0].type) })
        .randomElement(using: &generator)
    else { return false }
    switch events[index].type {
    case .runStarted: events[index].data["limits"] = ["maxSteps": 77]
    case .contextBuilt:
      events[index].data["prompt"] = ["messages": [["role": "user", "content": []]]]
    case .decision: events[index].data["reason"] = "tampered with"
    case .policyDecision: events[index].data["reason"] = "tampered with"
    case .toolStarted: events[index].data["tool"] = "another"
    case .memoryRead: events[index].data["value"] = "forged"
    default: events[index].data["detail"] = "tampered with"
    }
    return true
  }
}

extension [Event] {
  /// The same run in other words that do not count: calls of one decision in another order, other
  /// identifiers, other times.
  func disguised(_ generator: inout Seeded) -> [Event] {
    var result: [Event] = []
    var open: [String: [Event]] = [:]
    func settle() {
      while !open.isEmpty {
        let keys = open.keys.sorted()
        let key = keys.randomElement(using: &generator) ?? ""
        if let event = open[key]?.first { result.append(event) }
        open[key]?.removeFirst()
        if open[key]?.isEmpty != false { open[key] = nil }
      }
    }
    // Where calls fail for good, whether others begin or are tried again may hang on what ended first: such a step
    // stays as it stood, unless one call alone failed in it and the run went on.
    var failures: [Int: Int] = [:]
    for event in self {
      switch (event.type, event.data["status"]) {
      case (.stop, _), (.toolResult, "refused"): failures[event.step, default: 0] += 2
      case (.toolResult, "error"): failures[event.step, default: 0] += 1
      default: break
      }
    }
    for event in self {
      guard event.type == .toolStarted || event.type == .toolResult,
        failures[event.step, default: 0] < 2
      else {
        settle()
        result.append(event)
        continue
      }
      open[event.data["callId"]?.stringValue ?? "", default: []].append(event)
    }
    settle()
    let times = map { $0.t * 3 + 7 }
    return result.enumerated().map { index, event in
      var event = event
      event.seq = index
      event.t = times[index]
      event.time = event.time.map { _ in "2027-02-03T04:05:06.000007Z" }
      event.runId = "run-of-another-name"
      for (key, value) in [
        ("runId", event.runId), ("idempotencyKey", "another"), ("stateDigest", "00"),
      ] where event.data[key] != nil { event.data[key] = .string(value) }
      if event.data["elapsedMicroseconds"] != nil { event.data["elapsedMicroseconds"] = 5 }
      if let calls = event.data["calls"] { event.data["calls"] = calls.renamed("providerCallId") }
      if let calls = event.data["reply"]?["calls"], var reply = event.data["reply"]?.objectValue {
        reply["calls"] = calls.renamed("id")
        event.data["reply"] = .object(reply)
      }
      return event
    }
  }
}

extension JSONValue {
  fileprivate func renamed(_ key: String) -> JSONValue {
    .array(
      (arrayValue ?? []).map { call in
        guard var object = call.objectValue, let id = object[key]?.stringValue else { return call }
        object[key] = .string("other_" + id)
        return .object(object)
      })
  }
}
