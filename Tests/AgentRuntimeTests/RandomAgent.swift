import AgentRuntime
import AgentTrace
import TraceMatching

/// Agents made by chance: several tools, parallel calls, denials, approvals, retries, invalid
/// decisions, guards and limits of all kinds.
struct RandomAgent {
  private var generator: SeededGenerator

  static func make(seed: UInt64) throws -> AgentDefinition {
    var maker = RandomAgent(generator: SeededGenerator(seed: seed))
    return try maker.agent()
  }

  private mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int.random(in: range, using: &generator)
  }

  private mutating func chance(_ percent: Int) -> Bool { number(1...100) <= percent }

  private mutating func agent() throws -> AgentDefinition {
    var turns: [ModelScript.Turn] = []
    for _ in 0..<number(1...6) { turns.append(turn()) }
    if chance(80) { turns.append(.init(choices: [.init(answer: .reply(answer("done")))])) }
    var agent = AgentDefinition.playing(turns, tools: try tools())
    agent.policy = try policy()
    agent.limits = limits()
    agent.failures = FailureSettings(
      invalidDecisionRetries: number(0...2), modelRetries: number(0...2), maxDenials: number(1...4),
      maxToolErrors: number(1...4))
    if chance(25) {
      // Long enough to see what breakers do.
      agent.failures.maxToolErrors = 20
      agent.policy = Policy(rules: [.init(id: "free", verdict: .allow)])
      for index in agent.tools.indices where agent.tools[index].onError == .stop {
        agent.tools[index].onError = .continue
      }
    }
    agent.parallelCalls = number(1...4)
    agent.context = ContextSettings(
      tokenBudget: chance(30) ? number(60...200) : 32_000, observationLimit: number(1...20))
    for index in 0..<number(0...2) {
      agent.memory.append(MemoryNote(scope: "run", key: "note \(index)", value: "kept"))
    }
    agent.human = try chance(70) ? person() : nil
    if chance(40) {
      agent.runGuard = CountingGuard(
        mostStarts: number(1...6), mostSteps: number(1...6), worst: chance(30) ? "decision" : nil)
    }
    return agent
  }

  private mutating func turn() -> ModelScript.Turn {
    var choice: ModelScript.Choice
    switch number(1...100) {
    case ...60: choice = .init(answer: .reply(["calls": .array(proposals()), "text": "so"]))
    case ...70: choice = .init(answer: .reply(["question": "Shall I?"]))
    case ...80: choice = .init(answer: .unreachable("no route"))
    case ...92: choice = .init(answer: .reply(["calls": [["name": "nothing", "input": [:]]]]))
    case ...96: choice = .init(answer: .reply(["stop": "blocked"]))
    default: choice = .init(answer: .reply(answer("early")))
    }
    if chance(50) { choice.usage = .init(inputTokens: number(1...50), outputTokens: 5, cost: 0.25) }
    return .init(choices: [choice], repeats: number(1...2))
  }

  private mutating func proposals() -> [JSONValue] {
    let names = ["look", "look", "flaky", "flaky", "sketch", "pay", "pay", "wipe", "stop"]
    return (0..<number(1...5)).map { _ in
      if chance(15) { return note() }
      return [
        "name": .string(names[number(0...names.count - 1)]),
        "input": ["n": JSONValue(number(0...4))],
      ]
    }
  }

  private mutating func note() -> JSONValue {
    var input: JSONObject = [
      "scope": chance(80) ? "run" : "agent", "key": .string("n\(number(0...2))"),
    ]
    let isWritten = chance(60)
    if isWritten, chance(80) { input["value"] = JSONValue(number(0...9)) }
    return ["name": isWritten ? "keep" : "recall", "input": .object(input)]
  }

  private mutating func tools() throws -> [ToolRegistration] {
    var tools: [ToolRegistration] = []
    for (name, sideEffect) in [
      ("look", SideEffect.read), ("flaky", .read), ("sketch", .draft), ("pay", .write),
      ("wipe", .write), ("stop", .read),
    ] {
      var rules: [ScriptedTool.Rule] = []
      for n in 0...4 where chance(60) {
        let delay = Double(number(0...4)) / 2
        let outcome: ScriptedTool.Outcome =
          chance(name == "flaky" ? 70 : 20)
          ? .error("busy") : .ok(["seen": "${input.n}", "step": "${step}"])
        var condition: JSONObject = ["input": ["n": JSONValue(n)]]
        if chance(30) { condition["attempt"] = JSONValue(number(1...2)) }
        var rule = ScriptedTool.Rule(
          condition: try Matcher(compiling: .object(condition)), outcome: outcome,
          delaySeconds: delay)
        if name == "stop", chance(20) { rule.raises = "SIGTERM" }
        if chance(20) {
          let scopes = ["run", "agent", "actor"]
          rule.writes = [
            MemoryNote(
              scope: scopes[number(0...2)], key: "n${input.n}",
              value: chance(80) ? ["by": "${step}"] : nil)
          ]
        }
        rules.append(rule)
      }
      rules.append(.init(outcome: .ok(.string("\(name) says so"))))
      let onErrors: [ToolRegistration.OnError] = [.continue, .retry, .retry, .stop]
      var tool = ToolRegistration.tool(
        name, sideEffect, onError: onErrors[number(0...3)],
        timeoutSeconds: chance(20) ? 1 : nil, idempotent: chance(30), rules: rules)
      if chance(30) {
        tool.retry = RetrySettings(
          maxAttempts: number(1...4), backoffSeconds: Double(number(0...4)) / 2,
          maxBackoffSeconds: Double(number(0...4)))
      }
      if chance(60) {
        tool.breaker = BreakerSettings(
          failures: number(1...2), resetSeconds: Double(max(0, number(-2...3))) / 2)
      }
      if chance(15) { tool.definition.outputSchema = ["type": "object", "required": ["step"]] }
      tools.append(tool)
    }
    tools.append(
      ToolRegistration(
        definition: ToolDefinition(name: "recall", sideEffect: .read),
        implementation: .memory(MemoryAccess(.read, scopes: ["run"]))))
    tools.append(
      ToolRegistration(
        definition: ToolDefinition(name: "keep", sideEffect: .draft, idempotent: true),
        implementation: .memory(MemoryAccess(.write, scopes: ["run", "agent"]))))
    return tools
  }

  private mutating func policy() throws -> Policy {
    var rules: [Policy.Rule] = []
    if chance(70) {
      rules.append(
        .init(
          id: "no wiping", tools: [try Glob("wipe")], verdict: .deny,
          onDeny: chance(20) ? .stop : .continue))
    }
    if chance(30) {
      rules.append(.init(id: "free", tools: [try Glob("pay")], verdict: .allow))
    }
    if chance(30) {
      rules.append(.init(id: "ask", tools: [try Glob("sketch")], verdict: .approvalRequired))
    }
    return Policy(rules: rules)
  }

  private mutating func limits() -> Limits {
    var limits = Limits(maxSteps: number(1...8))
    if chance(40) { limits.maxToolCalls = number(0...8) }
    if chance(30) { limits.maxTokens = number(5...80) }
    if chance(30) { limits.maxCost = 0.5 }
    if chance(30) { limits.timeoutSeconds = Double(number(1...5)) }
    return limits
  }

  private mutating func person() throws -> ScriptedPerson {
    var person = ScriptedPerson()
    for n in 0...4 where chance(70) {
      person.approvals.append(
        .init(
          input: try Matcher(compiling: ["n": JSONValue(n)]), granted: chance(70), by: "Ana",
          reason: chance(50) ? "because" : nil, scope: Self.scopes[n % 3]))
    }
    if chance(60) { person.answers.append(.init(text: "yes", by: "Ana")) }
    for _ in 0..<(chance(40) ? number(1...4) : 0) {
      person.turns.append(
        chance(60)
          ? .says("and more", by: "Bo")
          : .approves(
            chance(70), by: "Bo", reason: nil, scope: Self.scopes[person.turns.count % 3]))
    }
    if chance(40) { person.model = simulated() }
    return person
  }

  private static let scopes: [ApprovalScope] = [.once, .calls(2), .input]

  /// A person that a model plays, who is out of reach at times and says nothing at others.
  private mutating func simulated() -> SimulatedPerson {
    let turns = (0..<number(1...6)).map { _ -> ModelScript.Turn in
      let answer: ModelScript.Answer =
        switch number(1...100) {
        case ...25: .unreachable("gone")
        case ...50: .reply(["text": "Yes, go on."])
        case ...65: .reply(["granted": .bool(chance(50)), "text": "as you like"])
        case ...80: .reply(["text": "no: too much"])
        case ...90: .reply(["text": ""])
        default: .reply("hm")
        }
      return .init(choices: [.init(answer: answer)])
    }
    return SimulatedPerson(
      model: ModelDefinition(
        provider: "scripted", name: "person", implementation: .scripted(ModelScript(turns: turns))),
      systemPrompt: chance(50) ? "Be brief." : nil, name: "Cy")
  }
}

/// Lets so many calls and steps pass; with `worst`, a decision that follows on one that named a call
/// to `wipe` is broken already.
struct CountingGuard: RunGuard {
  var mostStarts: Int
  var mostSteps: Int
  var worst: String?
  private var starts = 0
  private var isBroken = false

  init(mostStarts: Int, mostSteps: Int, worst: String?) {
    self.mostStarts = mostStarts
    self.mostSteps = mostSteps
    self.worst = worst
  }

  func guarding(callsOf tool: String) -> (any RunGuard)? { nil }

  mutating func observe(_ event: Event) {
    if event.type == .toolStarted { starts += 1 }
    if event.type.rawValue == worst,
      event.data["calls"]?.arrayValue?.contains(where: { $0["name"] == "wipe" }) ?? false
    {
      isBroken = true
    }
    // What a guard says may change with what follows, even with refusals of its own making.
    if isBroken, event.type == .toolResult { worst = "refused" }
  }

  func breach() -> GuardBreach? {
    isBroken ? GuardBreach(expectation: "\(worst ?? "")", message: "a wipe was proposed") : nil
  }

  func breach(ifStarted callIds: [String], by verdict: Verdict?) -> GuardBreach? {
    starts + callIds.count > mostStarts
      ? GuardBreach(expectation: "starts", message: "\(starts) calls ran") : nil
  }

  func breach(ifDecidingIn step: Int) -> GuardBreach? {
    step > mostSteps ? GuardBreach(expectation: "steps", message: "enough") : nil
  }
}
