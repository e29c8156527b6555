import AgentRuntime
import AgentTrace
import TraceMatching

/// Policies, calls and histories made up, and what a rule says of them, told once more in the plainest
/// way: lists of facts, looked through from one end to the other.
struct PolicyOracle {
  static let tools = ["look", "sketch", "pay", "wipe"]
  static let effects: [SideEffect] = [.read, .draft, .write, .write]
  static let sensitivities: [String?] = [nil, "low", "high", "high"]

  /// A number, or one that was withheld.
  enum Number: Equatable {
    case plain(Int)
    case token(Int)

    var json: JSONValue {
      switch self {
      case .plain(let number): JSONValue(number)
      case .token(let key): .string("«redacted:n:\(key)»")
      }
    }

    /// Whether it is some number; `nil` where nobody can tell.
    func equals(_ other: Number) -> Bool? {
      switch (self, other) {
      case (.plain(let left), .plain(let right)): left == right
      default: self == other ? true : nil
      }
    }

    func compares(_ word: String, _ bound: Int) -> Bool? {
      guard case .plain(let number) = self else { return nil }
      return word == "$gte" ? number >= bound : number < bound
    }
  }

  enum End: Equatable {
    case ok(Number)
    case error
    case refused
    case cutOff
  }

  /// What the log says of one call.
  struct Fact {
    var tool: Int
    var n: Number
    var proposedAt: Int
    /// When it was allowed.
    var allowedAt: Int?
    var verdict: VerdictStatus?
    var isStarted = false
    var end: End?
    /// Whether its decision is the one that is being ruled on, and whether it stands before the call.
    var isSibling = false
    var isBefore = true

    var ran: Bool {
      switch end {
      case .ok?, .error?, .cutOff?: true
      case .refused?: false
      case nil: isStarted
      }
    }
    var mayRun: Bool { isSibling && !ran && end == nil && verdict == .allow }
  }

  struct Past {
    var tool: Int?
    var n: Number?
    var sameN = false
    var statuses: [CallStatus]?
    var result: Int?
    var times: ClosedRange<Int> = 1...Int.max
    var within: Int?
  }

  struct Rule {
    var id: String
    var tools: Set<Int>?
    var effects: [SideEffect]?
    var sensitivity: String?
    var actor: String?
    var tenant: String?
    var route: String?
    var tier: String?
    var n: (word: String, bound: Int)?
    /// Whether `n` must be what an earlier result of this tool held.
    var origin: Int?
    var approved: Bool?
    var remaining: (Policy.Resource, word: String, bound: Int)?
    var calls: Past?
    var proposals: Past?
    var after: Past?
    var notAfter: Past?
    var verdict: VerdictStatus
  }

  /// All that decides about one call.
  struct Question {
    var tool: Int
    var n: Number
    var isApproved: Bool
    var actor: String?
    var tenant: String?
    var route: String?
    var tier: String?
    var left: [Policy.Resource: Int]
    var isCostUnknown: Bool
    var t: Int
    var facts: [Fact]
  }

  // MARK: What a rule says

  static func all(_ answers: [Bool?]) -> Bool? {
    if answers.contains(false) { return false }
    return answers.contains(nil) ? nil : true
  }

  static func fits(_ rule: Rule, _ question: Question) -> Bool? {
    var answers: [Bool?] = []
    if let tools = rule.tools { answers.append(tools.contains(question.tool)) }
    if let effects = rule.effects { answers.append(effects.contains(Self.effects[question.tool])) }
    if let text = rule.sensitivity { answers.append(sensitivities[question.tool] == text) }
    if let actor = rule.actor { answers.append(question.actor == actor) }
    if let tenant = rule.tenant { answers.append(question.tenant == tenant) }
    if let route = rule.route { answers.append(question.route == route) }
    if let tier = rule.tier { answers.append(question.tier == tier) }
    if let n = rule.n { answers.append(question.n.compares(n.word, n.bound)) }
    if let origin = rule.origin { answers.append(came(from: origin, question)) }
    if let approved = rule.approved { answers.append(question.isApproved == approved) }
    if let (resource, word, bound) = rule.remaining {
      if resource == .cost, question.isCostUnknown {
        answers.append(nil)
      } else {
        answers.append(
          question.left[resource].map { Number.plain($0).compares(word, bound) } ?? false)
      }
    }
    if let past = rule.calls { answers.append(count(past, .calls, question)) }
    if let past = rule.proposals { answers.append(count(past, .proposals, question)) }
    if let past = rule.after { answers.append(count(past, .order, question)) }
    if let past = rule.notAfter { answers.append(count(past, .order, question).map { !$0 }) }
    return all(answers)
  }

  private static func came(from tool: Int, _ question: Question) -> Bool? {
    var values: [Number] = []
    for fact in question.facts where !fact.isSibling && fact.tool == tool {
      if case .ok(let value)? = fact.end { values.append(value) }
    }
    if values.isEmpty { return false }
    let answers = values.map { question.n.equals($0) }
    return answers.contains(true) ? true : answers.contains(nil) ? nil : false
  }

  private enum Sense { case calls, proposals, order }

  private static func count(_ past: Past, _ sense: Sense, _ question: Question) -> Bool? {
    let answers = question.facts.map { fits($0, past, sense, question) }
    let sure = answers.count { $0 == true }
    let most = sure + answers.count { $0 == nil }
    let times = sense == .order ? 1...Int.max : past.times
    let possible = (sure...most).map(times.contains)
    if !possible.contains(false) { return true }
    return possible.contains(true) ? nil : false
  }

  private static func fits(
    _ fact: Fact, _ past: Past, _ sense: Sense, _ question: Question
  ) -> Bool? {
    var answers: [Bool?] = [past.tool == nil || past.tool == fact.tool]
    switch sense {
    case .calls: answers.append(fact.ran || fact.mayRun)
    case .proposals: answers.append(fact.isBefore)
    case .order: answers.append(fact.ran ? true : fact.mayRun ? nil : false)
    }
    if let within = past.within {
      let t = sense == .proposals ? fact.proposedAt : fact.allowedAt ?? fact.proposedAt
      answers.append(question.t - t <= within * 1_000_000)
    }
    if let statuses = past.statuses { answers.append(has(fact, statuses)) }
    if let n = past.n { answers.append(fact.n.equals(n)) }
    if past.sameN { answers.append(fact.n.equals(question.n)) }
    if let result = past.result { answers.append(gave(fact, result)) }
    return all(answers)
  }

  /// Whether nobody can say how the call ends.
  private static func isOpen(_ fact: Fact) -> Bool {
    fact.end == nil
      && (fact.isStarted || (fact.isSibling && [.allow, .approvalRequired].contains(fact.verdict)))
  }

  private static func has(_ fact: Fact, _ statuses: [CallStatus]) -> Bool? {
    let status: CallStatus
    switch fact.end {
    case .ok?: status = .ok
    case .error?: status = .error
    case .refused?: status = .refused
    case .cutOff?: status = .unknown
    case nil:
      if isOpen(fact) {
        // Over without a result, it is unknown for good.
        return !fact.isSibling && statuses.contains(.unknown) ? true : nil
      }
      return fact.isSibling && fact.verdict == .deny ? statuses.contains(.refused) : false
    }
    if statuses.contains(status) { return true }
    return status == .unknown ? nil : false
  }

  private static func gave(_ fact: Fact, _ result: Int) -> Bool? {
    switch fact.end {
    case .ok(let value)?: value.equals(.plain(result))
    case .cutOff?: nil
    case .error?, .refused?: false
    case nil: isOpen(fact) ? nil : false
    }
  }

  /// The strictest of what may be meant.
  static func verdict(_ rules: [Rule], _ question: Question) -> (VerdictStatus, String?) {
    var possible: [(VerdictStatus, String?)] = []
    var isSure = false
    for rule in rules where !isSure {
      let answer = fits(rule, question)
      if answer == false { continue }
      if answer == nil, rule.verdict == .allow { continue }
      possible.append((rule.verdict, rule.id))
      isSure = answer == true
    }
    if !isSure {
      possible.append((effects[question.tool] == .write ? .approvalRequired : .allow, nil))
    }
    let chosen =
      possible.first { $0.0 == .deny } ?? possible.first { $0.0 == .approvalRequired }
      ?? possible[possible.count - 1]
    return chosen.0 == .approvalRequired && question.isApproved ? (.allow, chosen.1) : chosen
  }
}

// MARK: - The same as a policy and as events

extension PolicyOracle.Rule {
  func rule() throws -> Policy.Rule {
    func glob(_ text: String?) throws -> [Glob]? { try text.map { [try Glob($0)] } }
    var rule = Policy.Rule(
      id: id, tools: try tools?.sorted().map { try Glob(PolicyOracle.tools[$0]) },
      sideEffects: effects, actors: try glob(actor), routes: try glob(route), verdict: verdict)
    rule.sensitivities = try glob(sensitivity)
    rule.tenants = try glob(tenant)
    rule.attributes = try tier.map { try Matcher(compiling: ["tier": .string($0)]) }
    var conditions: [JSONValue] = []
    if let n { conditions.append(.object(JSONObject([(n.word, JSONValue(n.bound))]))) }
    if let origin {
      conditions.append(
        ["$from": ["tool": .string(PolicyOracle.tools[origin]), "path": "/v"]])
    }
    if !conditions.isEmpty {
      rule.input = try Matcher(
        compiling: ["n": ["$allOf": .array(conditions)]], allowsOrigins: true)
    }
    rule.approved = approved
    if let (resource, word, bound) = remaining {
      rule.remaining = [
        .init(resource, try Matcher(compiling: .object(JSONObject([(word, JSONValue(bound))]))))
      ]
    }
    rule.calls = try calls.map { [try $0.condition()] } ?? []
    rule.proposals = try proposals.map { [try $0.condition()] } ?? []
    rule.after = try after.map { [try $0.condition()] } ?? []
    rule.notAfter = try notAfter.map { [try $0.condition()] } ?? []
    return rule
  }
}

extension PolicyOracle.Past {
  fileprivate func condition() throws -> Policy.PastCalls {
    var input: Matcher?
    if let n { input = try Matcher(compiling: ["n": n.json], origins: .ownInput) }
    if sameN {
      input = try Matcher(compiling: ["n": ["$from": ["path": "/n"]]], origins: .ownInput)
    }
    return Policy.PastCalls(
      tool: try Glob(tool.map { PolicyOracle.tools[$0] } ?? "*"), input: input, statuses: statuses,
      result: try result.map { try Matcher(compiling: ["v": JSONValue($0)], origins: .ownInput) },
      times: times, withinSeconds: within.map(Double.init))
  }
}

extension PolicyOracle.Question {
  /// The events of what came before, folded as a run folds them.
  func history(for policy: Policy) -> PolicyHistory {
    var history = PolicyHistory(for: policy)
    for (index, fact) in facts.enumerated() where !fact.isSibling {
      let callId = "\(index + 1).1.0"
      take([(callId, fact)], into: &history, at: fact.proposedAt)
    }
    var siblings: [(String, PolicyOracle.Fact?)] = facts.filter { $0.isSibling && $0.isBefore }
      .enumerated().map { ("999.1.\($0.offset)", $0.element) }
    siblings.append((callId, nil))
    siblings += facts.filter { $0.isSibling && !$0.isBefore }.enumerated().map {
      ("999.1.\(100 + $0.offset)", $0.element)
    }
    take(siblings, into: &history, at: t)
    return history
  }

  var callId: String { "999.1.50" }
  var input: JSONValue { ["n": n.json] }

  private func take(
    _ calls: [(callId: String, fact: PolicyOracle.Fact?)], into history: inout PolicyHistory,
    at t: Int
  ) {
    func take(_ payload: EventPayload, _ t: Int) {
      history.take(
        Event(seq: 0, step: 1, type: payload.type, runId: "r", t: t, data: payload.encoded))
    }
    take(
      .decision(
        DecisionPayload(
          .tool(
            calls.map { call in
              ProposedCall(
                callId: call.callId, name: PolicyOracle.tools[call.fact?.tool ?? tool],
                input: ["n": (call.fact?.n ?? n).json])
            }))), calls.first?.fact?.proposedAt ?? t)
    for (callId, fact) in calls {
      guard let fact, let verdict = fact.verdict else { continue }
      take(
        .policyDecision(Verdict(callId: callId, tool: "", status: verdict, reason: "")),
        fact.allowedAt ?? fact.proposedAt)
    }
    for (callId, fact) in calls {
      guard let fact else { continue }
      if fact.isStarted {
        take(
          .toolStarted(
            ToolStartedPayload(callId: callId, tool: "", attempt: 1, idempotencyKey: "")),
          fact.allowedAt ?? t)
      }
      let result: ToolResult
      switch fact.end {
      case .ok(let value)?: result = .ok(data: ["v": value.json])
      case .error?: result = .error("broken")
      case .refused?: result = .refused(reason: "no")
      case .cutOff?: result = .error("cut", isEffectUnknown: true)
      case nil: continue
      }
      take(.toolResult(ToolResultPayload(callId: callId, tool: "", result: result)), t)
    }
  }

  func moment(for policy: Policy, _ call: ProposedCall) -> PolicyGate.KnownState {
    var moment = PolicyGate.KnownState(
      run: PolicyContext(
        actorId: actor, tenantId: tenant, route: route,
        attributes: tier.map { ["tier": .string($0)] } ?? [:]),
      approvals: Approvals(ofActions: isApproved ? ["other", call.actionId] : ["other"]), t: t,
      history: history(for: policy))
    moment.remainingSteps = left[.steps]
    moment.remainingToolCalls = left[.calls]
    moment.remainingTokens = left[.tokens]
    moment.remainingCost = isCostUnknown ? .unknown : left[.cost].map { .left(Double($0)) }
    moment.remainingSeconds = left[.seconds].map(Double.init)
    return moment
  }
}

// MARK: - Chance

extension PolicyOracle {
  struct Maker {
    var random: SeededGenerator

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    mutating func chance(_ percent: Int) -> Bool { number(1...100) <= percent }
    mutating func some<T>(_ values: [T]) -> T { values[number(0...values.count - 1)] }
    mutating func maybe<T>(_ percent: Int, _ make: (inout Self) -> T) -> T? {
      chance(percent) ? make(&self) : nil
    }

    mutating func n() -> Number { chance(12) ? .token(number(1...2)) : .plain(number(0...3)) }

    mutating func past() -> Past {
      var past = Past()
      past.tool = maybe(80) { $0.number(0...3) }
      if chance(30) { past.n = .plain(number(0...3)) } else { past.sameN = chance(30) }
      past.statuses = maybe(35) { maker in
        maker.chance(60) ? [.ok] : [maker.some([.error, .unknown, .refused]), .ok]
      }
      past.result = maybe(20) { $0.number(0...2) }
      switch number(0...3) {
      case 0:
        let least = number(0...3)
        past.times = least...least
      case 1: past.times = 0...number(0...3)
      case 2: past.times = number(1...4)...Int.max
      default: break
      }
      past.within = maybe(30) { $0.number(0...20) }
      return past
    }

    mutating func rule(_ index: Int) -> Rule {
      var rule = Rule(id: "r\(index)", verdict: some(VerdictStatus.allCases))
      rule.tools = maybe(50) { maker in Set((0...3).filter { _ in maker.chance(50) }) }
      rule.effects = maybe(15) { [$0.some(SideEffect.allCases)] }
      rule.sensitivity = maybe(10) { $0.some(["low", "high"]) }
      rule.actor = maybe(10) { $0.some(["ana", "bo"]) }
      rule.tenant = maybe(10) { $0.some(["acme", "zeta"]) }
      rule.route = maybe(10) { $0.some(["shop", "mail"]) }
      rule.tier = maybe(10) { $0.some(["gold", "tin"]) }
      rule.n = maybe(20) { ($0.some(["$gte", "$lt"]), $0.number(0...3)) }
      rule.origin = maybe(10) { $0.number(0...3) }
      rule.approved = maybe(10) { $0.chance(50) }
      rule.remaining = maybe(15) {
        ($0.some(Policy.Resource.allCases), $0.some(["$gte", "$lt"]), $0.number(0...4))
      }
      rule.calls = maybe(25) { $0.past() }
      rule.proposals = maybe(12) { $0.past() }
      rule.after = maybe(15) { $0.past() }
      rule.notAfter = maybe(15) { $0.past() }
      return rule
    }

    mutating func end() -> End {
      switch number(0...9) {
      case 0, 1: .error
      case 2: .refused
      case 3: .cutOff
      default: .ok(n())
      }
    }

    mutating func fact(at t: Int) -> Fact {
      var fact = Fact(tool: number(0...3), n: n(), proposedAt: t)
      let end = end()
      if end == .refused {
        fact.verdict = some([.deny, .approvalRequired, .allow])
        fact.end = end
      } else if chance(90) {
        (fact.verdict, fact.isStarted, fact.end) = (.allow, true, chance(93) ? end : nil)
      } else {
        fact.verdict = .approvalRequired
      }
      if fact.verdict == .allow { fact.allowedAt = t + number(0...2) * 1_000_000 }
      return fact
    }

    mutating func sibling(isBefore: Bool, isLater: Bool, at t: Int) -> Fact {
      var fact = fact(at: t)
      fact.isSibling = true
      fact.isBefore = isBefore
      if !isLater {
        // All verdicts come before any call runs.
        (fact.isStarted, fact.end) = (false, nil)
        fact.verdict = isBefore ? some(VerdictStatus.allCases) : nil
      }
      fact.allowedAt = fact.verdict == .allow ? t : nil
      return fact
    }

    mutating func question() -> Question {
      var facts: [Fact] = []
      var t = 0
      for _ in 0..<number(0...12) {
        t += number(0...6) * 1_000_000
        facts.append(fact(at: t))
      }
      t += number(0...6) * 1_000_000
      // Whether the gate is asked again, behind an approval.
      let isLater = chance(30)
      for _ in 0..<number(0...3) { facts.append(sibling(isBefore: true, isLater: isLater, at: t)) }
      for _ in 0..<number(0...2) { facts.append(sibling(isBefore: false, isLater: isLater, at: t)) }
      var left: [Policy.Resource: Int] = [:]
      for resource in Policy.Resource.allCases where chance(60) { left[resource] = number(0...5) }
      return Question(
        tool: number(0...3), n: n(), isApproved: chance(25), actor: some([nil, "ana", "bo"]),
        tenant: some([nil, "acme", "zeta"]), route: some([nil, "shop", "mail"]),
        tier: some([nil, "gold", "tin"]), left: left, isCostUnknown: chance(20), t: t,
        facts: facts)
    }
  }
}
