import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching

@Suite("Checking a policy without a run")
struct PolicyCheckTests {
  @Test("a rule that is said never to decide decides about none of many random calls")
  func unreachable() throws {
    var maker = PolicyOracle.Maker(random: SeededGenerator(seed: 77))
    let tools = PolicyOracle.tools.enumerated().map { index, name in
      var tool = ToolDefinition(name: name, sideEffect: PolicyOracle.effects[index])
      tool.sensitivity = PolicyOracle.sensitivities[index]
      return tool
    }
    var (silent, withTools) = (0, 0)
    for _ in 0..<TestRun.count(1_200, long: 30_000) {
      // Simple rules, some of them twice with another verdict, so that many cover each other.
      var rules = (0..<maker.number(2...6)).map { index in
        var rule = maker.rule(index)
        if maker.chance(50) { (rule.calls, rule.after, rule.notAfter) = (nil, nil, nil) }
        if maker.chance(50) { (rule.n, rule.origin, rule.remaining) = (nil, nil, nil) }
        return rule
      }
      if maker.chance(60) {
        var copy = rules[0]
        copy.id = "copy"
        copy.verdict = maker.some(VerdictStatus.allCases)
        if maker.chance(40) { copy.n = ("$lt", 2) }
        if maker.chance(30) { copy.tools = [maker.number(0...3)] }
        rules.append(copy)
      }
      let policy = Policy(rules: try rules.map { try $0.rule() })
      let alone = Set(PolicyCheck(policy, tools: nil).unreachable.map(\.rule))
      let known = Set(PolicyCheck(policy, tools: tools).unreachable.map(\.rule))
      #expect(alone.isSubset(of: known))
      silent += alone.count
      withTools += known.count
      guard !known.isEmpty else { continue }
      for _ in 0..<60 {
        let (_, id) = PolicyOracle.verdict(rules, maker.question())
        if let id, known.contains(id) {
          Issue.record("\(id) decides: \(rules)")
          return
        }
      }
    }
    #expect(silent > 100 && withTools > silent)
  }

  @Test("rules that an earlier one covers are found, by tools, globs and conditions")
  func covered() throws {
    var amount = Policy.Rule(id: "amount", tools: [try Glob("pay")], verdict: .deny)
    amount.input = try Matcher(compiling: ["n": ["$gt": 5]])
    var stricter = amount
    (stricter.id, stricter.routes) = ("amount on a route", [try Glob("shop")])
    let policy = Policy(rules: [
      .init(id: "reads", sideEffects: [.read], verdict: .allow), amount,
      .init(id: "mail", tools: [try Glob("mail_*")], verdict: .allow), stricter,
      .init(id: "one mail", tools: [try Glob("mail_all")], verdict: .deny),
      .init(id: "mail class", tools: [try Glob("mail_[ab]")], verdict: .deny),
      .init(id: "drafts", sideEffects: [.draft], verdict: .allow),
      .init(id: "no writes", sideEffects: [.write], verdict: .deny),
      .init(id: "rest", verdict: .allow),
      .init(id: "guests", actors: [try Glob("*")], verdict: .deny),
    ])
    let found = PolicyCheck(policy, tools: nil).unreachable
    #expect(
      found.map(\.rule) == [
        "amount on a route", "one mail", "mail class", "rest", "guests",
      ])
    #expect(found[3].coveredBy == ["reads", "drafts", "no writes"])
    let check = PolicyCheck(policy, tools: [.init(name: "pay", sideEffect: .write)])
    #expect(check.unreachable.map(\.rule).contains("reads"))
    #expect(check.unusedGlobs.map(\.glob) == ["mail_*", "mail_all", "mail_[ab]"])
    #expect(check.tools[0].rules.map(\.rule) == ["amount", "amount on a route", "no writes"])
    #expect(check.tools[0].otherwise == nil)
  }

  @Test("a less strict rule with a condition that may not be known covers no stricter one")
  func uncertain() throws {
    var (first, second) = (
      Policy.Rule(id: "first", verdict: .allow), Policy.Rule(id: "second", verdict: .deny)
    )
    first.input = try Matcher(compiling: ["n": 1])
    second.input = first.input
    #expect(PolicyCheck(Policy(rules: [first, second]), tools: nil).unreachable == [])
    #expect(
      PolicyCheck(Policy(rules: [second, first]), tools: nil).unreachable.map(\.rule) == ["first"])
  }

  @Test("rules of which order alone decides are told with a call that both fit, exceptions are not")
  func contradictions() throws {
    func rule(_ id: String, _ verdict: VerdictStatus, _ input: JSONValue) throws -> Policy.Rule {
      var rule = Policy.Rule(id: id, tools: [try Glob("pay")], verdict: verdict)
      rule.input = try Matcher(compiling: input)
      return rule
    }
    func found(_ rules: [Policy.Rule]) -> [String] {
      PolicyCheck(Policy(rules: rules), tools: nil).contradictions().map {
        "\($0.first), \($0.second)"
      }
    }
    let low = try rule("low", .allow, ["n": ["$lte": 50]])
    let high = try rule("high", .deny, ["n": ["$gte": 20]])
    let none = try rule("none", .deny, ["n": ["$gt": 50]])
    let exception = try rule("exception", .allow, ["n": 3])
    #expect(found([low, high]) == ["low, high"])
    #expect(found([low, none]) == [])
    #expect(found([exception, .init(id: "all", verdict: .deny)]) == [])
    var after = Policy.Rule(id: "after", tools: [try Glob("pay")], verdict: .deny)
    after.after = [
      .init(
        tool: try Glob("look"),
        input: try Matcher(compiling: ["id": ["$from": ["path": "/id"]]], origins: .ownInput))
    ]
    #expect(found([low, after]) == ["low, after"])
    let example = try #require(
      PolicyCheck(Policy(rules: [low, after]), tools: nil).contradictions().first?.example)
    #expect(example["earlierCalls"] == [["tool": "look", "input": ["id": "x"], "status": "ok"]])
    #expect(example["tool"] == "pay")
  }

  @Test("a policy of very many rules is checked in bounded work")
  func many() throws {
    let rules = try (0..<1_500).map { index in
      var rule = Policy.Rule(
        id: "r\(index)", tools: [try Glob("tool_\(index % 40)*")],
        verdict: index % 2 == 0 ? .allow : .deny)
      rule.attributes = try Matcher(compiling: ["k\(index)": ["$gt": JSONValue(index)]])
      return rule
    }
    let check = PolicyCheck(Policy(rules: rules), tools: nil)
    #expect(check.unreachable.isEmpty)
    #expect(check.contradictions().count <= PolicyCheck.contradictionLimit)
  }
}
