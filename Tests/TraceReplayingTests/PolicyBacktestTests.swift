import AgentRuntime
import AgentTrace
import TestSupport
import Testing
import TraceMatching
import TraceStorage

@testable import TraceReplaying

/// A policy as plain as can be: conditions as sets of names, no globs.
struct PlainPolicy {
  struct Rule {
    var id: String
    var tools: Set<String>?
    var effects: Set<SideEffect>?
    var actors: Set<String>?
    var routes: Set<String>?
    var verdict: VerdictStatus
  }

  var rules: [Rule]

  /// What it says, told again in a few lines.
  func says(
    _ tool: String, _ effect: SideEffect, actor: String?, route: String?, isApproved: Bool
  ) -> (VerdictStatus, String?) {
    var status: VerdictStatus = effect == .write ? .approvalRequired : .allow
    var id: String?
    for rule in rules {
      if let tools = rule.tools, !tools.contains(tool) { continue }
      if let effects = rule.effects, !effects.contains(effect) { continue }
      if let actors = rule.actors, actor.map(actors.contains) != true { continue }
      if let routes = rule.routes, route.map(routes.contains) != true { continue }
      (status, id) = (rule.verdict, rule.id)
      break
    }
    if status == .approvalRequired, isApproved { status = .allow }
    return (status, id)
  }

  func policy() throws -> Policy {
    func globs(_ names: Set<String>?) throws -> [Glob]? { try names?.sorted().map { try Glob($0) } }
    return Policy(
      rules: try rules.map { rule in
        Policy.Rule(
          id: rule.id, tools: try globs(rule.tools), sideEffects: rule.effects.map(Array.init),
          actors: try globs(rule.actors), routes: try globs(rule.routes), verdict: rule.verdict)
      })
  }

  static func random(using random: inout SeededGenerator) -> PlainPolicy {
    PlainPolicy(
      rules: (0..<Int.random(in: 1...6, using: &random)).map { Rule.random($0, using: &random) })
  }

  mutating func edit(using random: inout SeededGenerator) {
    let index = Int.random(in: rules.indices, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: rules.remove(at: index)
    case 1: rules.insert(.random(90 + index, using: &random), at: index)
    case 2: rules[index].verdict = VerdictStatus.allCases.randomElement(using: &random) ?? .deny
    case 3: rules[index].tools = Rule.some(Tools.names, using: &random)
    case 4: rules[index].actors = Rule.some(Tools.actors, using: &random)
    default: rules.shuffle(using: &random)
    }
    if rules.isEmpty { rules = [.random(99, using: &random)] }
  }
}

enum Tools {
  static let names = ["look", "draft", "pay", "erase", "send"]
  static let effects: [SideEffect] = [.read, .draft, .write, .write, .write]
  static let actors = ["ana", "bo", "guest"]
  static let routes = ["shop", "mail"]
}

extension PlainPolicy.Rule {
  static func some(_ names: [String], using random: inout SeededGenerator) -> Set<String>? {
    guard Bool.random(using: &random) else { return nil }
    return Set(names.filter { _ in Bool.random(using: &random) } + [names[0]])
  }

  static func random(_ number: Int, using random: inout SeededGenerator) -> Self {
    Self(
      id: "rule\(number)", tools: some(Tools.names, using: &random),
      effects: Bool.random(using: &random)
        ? nil : [[.read, .draft, .write].randomElement(using: &random) ?? .read],
      actors: some(Tools.actors, using: &random), routes: some(Tools.routes, using: &random),
      verdict: VerdictStatus.allCases.randomElement(using: &random) ?? .deny)
  }
}

/// A run under a plain policy, made up: its events, and for each verdict all that decided about it.
struct JudgedRun {
  struct Question {
    var seq: Int
    var tool: Int
    var isApproved: Bool
  }

  var actor: String?
  var route: String?
  var events: [Event] = []
  var questions: [Question] = []

  init(calls: Int, under policy: PlainPolicy, using random: inout SeededGenerator) {
    actor = ([nil] + Tools.actors).randomElement(using: &random) ?? nil
    route = ([nil] + Tools.routes).randomElement(using: &random) ?? nil
    var approved: Set<String> = []
    var context: JSONObject = [:]
    context["actorId"] = actor.map(JSONValue.string)
    context["route"] = route.map(JSONValue.string)
    add(
      .runStarted, step: 0,
      [
        "formatVersion": 2, "agent": ["name": "made"], "goal": "g", "limits": ["maxSteps": 9_999],
        "policyContext": .object(context),
        "tools": .array(
          zip(Tools.names, Tools.effects).map {
            ["name": .string($0), "sideEffect": .string($1.rawValue)]
          }),
      ])
    var step = 0
    while questions.count < calls {
      step += 1
      let chosen = (0..<Int.random(in: 1...3, using: &random)).map { index in
        let tool = Int.random(in: Tools.names.indices, using: &random)
        return (
          tool: tool,
          call: ProposedCall(
            callId: "\(step).1.\(index)", name: Tools.names[tool],
            input: ["n": JSONValue(Int.random(in: 0..<4, using: &random))])
        )
      }
      add(.decision, step: step, DecisionPayload(.tool(chosen.map(\.call))).encoded)
      var asked: [(tool: Int, call: ProposedCall)] = []
      func ask(_ tool: Int, _ call: ProposedCall) -> VerdictStatus {
        let isApproved = approved.contains(call.actionId)
        let (status, rule) = policy.says(
          call.name, Tools.effects[tool], actor: actor, route: route, isApproved: isApproved)
        questions.append(Question(seq: events.count, tool: tool, isApproved: isApproved))
        add(
          .policyDecision, step: step,
          Verdict(callId: call.callId, tool: call.name, status: status, reason: "r", ruleId: rule)
            .encoded)
        return status
      }
      for (tool, call) in chosen where ask(tool, call) == .approvalRequired {
        asked.append((tool, call))
      }
      for (tool, call) in asked {
        let granted = Bool.random(using: &random)
        add(
          .approval, step: step,
          // For the run, as an approval without a scope is.
          Approval(
            callId: call.callId, actionId: call.actionId, granted: granted, by: "ana", scope: nil
          ).encoded)
        if granted {
          approved.insert(call.actionId)
          _ = ask(tool, call)
        }
      }
      for (_, call) in chosen {
        add(
          .toolResult, step: step,
          ToolResultPayload(callId: call.callId, tool: call.name, result: .ok(data: 1)).encoded)
      }
    }
  }

  /// What an edit changes, verdict by verdict.
  func changes(
    from old: PlainPolicy, to new: PlainPolicy
  ) -> (changes: [PolicyBacktest.Change], byOtherRule: Int) {
    var changes: [PolicyBacktest.Change] = []
    var byOtherRule = 0
    for question in questions {
      let tool = Tools.names[question.tool]
      func says(_ policy: PlainPolicy) -> (VerdictStatus, String?) {
        policy.says(
          tool, Tools.effects[question.tool], actor: actor, route: route,
          isApproved: question.isApproved)
      }
      let (before, after) = (says(old), says(new))
      if before.0 == after.0 {
        if before.1 != after.1 { byOtherRule += 1 }
        continue
      }
      let event = events[question.seq]
      changes.append(
        PolicyBacktest.Change(
          log: "log", seq: question.seq, step: event.step,
          callId: event.data["callId"]?.stringValue ?? "",
          kind: PolicyBacktest.Kind(
            tool: tool, from: before.0, oldRule: before.1, to: after.0, newRule: after.1)))
    }
    return (changes, byOtherRule)
  }

  private mutating func add(_ type: EventType, step: Int, _ data: JSONObject) {
    events.append(
      Event(seq: events.count, step: step, type: type, runId: "made", t: events.count, data: data))
  }
}

@Suite("What another policy says of recorded calls")
struct PolicyBacktestTests {
  @Test("with the policy that the runs were made under, no verdict changes")
  func unchanged() async throws {
    let (runs, calls) = TestRun.isLong ? (100, 1_000) : (4, 300)
    let folder = try TemporaryFolder()
    var random = SeededGenerator(seed: 1)
    let plain = PlainPolicy.random(using: &random)
    var paths: [String] = []
    var questions = 0
    for number in 0..<runs {
      let run = JudgedRun(calls: calls, under: plain, using: &random)
      questions += run.questions.count
      let writer = try LogWriter(creating: folder.path("\(number).jsonl.gz"))
      for event in run.events { try writer.append(event, isEffectAhead: false) }
      paths.append(try writer.close().path)
    }
    #expect(questions >= runs * calls)
    for jobs in [1, 3] {
      let (found, failures) = await PolicyBacktester(policy: try plain.policy())
        .run(paths, jobs: jobs)
      #expect(failures.isEmpty)
      #expect(found.verdicts == questions && found.changed == 0 && found.byOtherRule == 0)
      #expect(found.logs == runs && found.unjudged.isEmpty && found.unclear == 0)
    }
  }

  @Test("with an edited policy, exactly those verdicts change that a plain oracle names")
  func edited() throws {
    let (edits, runs, calls) = TestRun.isLong ? (200, 100, 1_000) : (24, 3, 150)
    var random = SeededGenerator(seed: 2)
    let old = PlainPolicy.random(using: &random)
    let all = (0..<runs).map { _ in JudgedRun(calls: calls, under: old, using: &random) }
    let news = (0..<edits).map { number in
      var new = old
      for _ in 0...(number % 3) { new.edit(using: &random) }
      return new
    }
    let backtesters = try news.map { PolicyBacktester(policy: try $0.policy(), examples: .max) }
    var changedEdits: Set<Int> = []
    for run in all {
      // One state serves all of them: folding it is most of the work.
      var passes = backtesters.map { $0.pass(log: "log") }
      var state = AgentState()
      for event in run.events {
        if BacktestPass.types.contains(event.type) {
          for number in passes.indices {
            passes[number].state = state
            passes[number].take(event)
          }
        }
        state.apply(event)
      }
      for (number, new) in news.enumerated() {
        let expected = run.changes(from: old, to: new)
        let found = passes[number].finished()
        #expect(found.examples == expected.changes, "edit \(number)")
        #expect(found.changed == expected.changes.count)
        #expect(found.byOtherRule == expected.byOtherRule)
        #expect(found.widens == expected.changes.contains { $0.kind.to == .allow })
        if !expected.changes.isEmpty { changedEdits.insert(number) }
      }
      // By itself it finds the same.
      let alone = backtesters[0].run(on: run.events, log: "log")
      #expect(alone.examples == run.changes(from: old, to: news[0]).changes)
    }
    #expect(changedEdits.count > edits / 4)
  }

  @Test("a verdict that a guard gave is compared with what policy had said: allow")
  func guarded() throws {
    let call = ProposedCall(callId: "1.1.0", name: "look", input: [:])
    func events(rule: String) -> [Event] {
      [
        Event(
          seq: 0, step: 0, type: .runStarted, runId: "r",
          data: [
            "formatVersion": 2, "goal": "g", "tools": [["name": "look", "sideEffect": "read"]],
          ]),
        Event(
          seq: 1, step: 1, type: .decision, runId: "r", data: DecisionPayload(.tool([call])).encoded
        ),
        Event(
          seq: 2, step: 1, type: .policyDecision, runId: "r",
          data: Verdict(callId: "1.1.0", tool: "look", status: .deny, reason: "", ruleId: rule)
            .encoded),
      ]
    }
    let backtester = PolicyBacktester(policy: Policy())
    let found = backtester.run(on: events(rule: "guard:budget[0]"), log: "log")
    #expect(found.guarded == 1 && found.changed == 0 && !found.widens)
    #expect(backtester.run(on: events(rule: "no-looking"), log: "log").widens)
    let strict = PolicyBacktester(policy: Policy(rules: [.init(id: "no", verdict: .deny)]))
    #expect(strict.run(on: events(rule: "guard:x"), log: "log").count(to: .deny) == 1)
  }

  @Test(
    "of a call whose input the log holds only in part nobody says what the policy would",
    arguments: [JSONValue.cut(bytes: 9, head: "/tm"), .lost("gone"), .string("/tmp")])
  func unclear(input: JSONValue) throws {
    let call = ProposedCall(callId: "1.1.0", name: "look", input: ["path": input])
    let verdict = Verdict(
      callId: "1.1.0", tool: "look", status: .deny, reason: "", ruleId: "no-looking")
    let events = [
      Event(
        seq: 0, step: 1, type: .decision, runId: "r", data: DecisionPayload(.tool([call])).encoded),
      Event(seq: 1, step: 1, type: .policyDecision, runId: "r", data: verdict.encoded),
    ]
    let found = PolicyBacktester(policy: Policy()).run(on: events, log: "log")
    let isWhole = input == "/tmp"
    #expect(found.unclear == (isWhole ? 0 : 1) && found.verdicts == (isWhole ? 1 : 0))
    #expect(found.changed == (isWhole ? 1 : 0) && found.unjudged.isEmpty)
    // Whether what was denied is allowed now, nobody knows.
    #expect(found.undecided == (isWhole ? 0 : 1))
  }

  @Test("calls without a recorded verdict are counted by what the policy says, a user's not at all")
  func unjudged() throws {
    func decision(
      _ seq: Int, _ name: String, caller: String?, isOfUser: Bool = false
    ) -> Event {
      var payload = DecisionPayload(
        .tool([ProposedCall(callId: "\(seq)", name: name, input: [:])]), caller: caller)
      payload.isOfUser = isOfUser
      return Event(seq: seq, step: seq, type: .decision, runId: "r", data: payload.encoded)
    }
    let events = [
      decision(0, "a", caller: nil), decision(1, "b", caller: "user"),
      decision(2, "b", caller: "user", isOfUser: true),
    ]
    let policy = Policy(rules: [.init(id: "a", tools: [try Glob("a")], verdict: .deny)])
    let found = PolicyBacktester(policy: policy).run(on: events, log: "log")
    #expect(found.unjudged == [.deny: 1, .approvalRequired: 1] && found.verdicts == 0)
    #expect(found.undefinedToolNames == ["a", "b"])
    let tools = [ToolDefinition(name: "b", sideEffect: .read)]
    let defined = PolicyBacktester(policy: policy, tools: tools).run(on: events, log: "log")
    #expect(defined.unjudged == [.deny: 1, .allow: 1])
    #expect(defined.undefinedToolNames == ["a"])
  }

  @Test(
    "each recorded fixture has the verdicts that its agent's policy gives", arguments: Fixture.all)
  func fixtures(fixture: Fixture) throws {
    let found = try PolicyBacktester(policy: try fixture.agent().policy).run(fixture.path)
    #expect(found.changed == 0 && found.byOtherRule == 0 && found.unclear == 0)
  }

  @Test("a log that cannot be read is told, and the others are read all the same")
  func failures() async throws {
    let good = try #require(Fixture.all.first).path
    let paths = [good, "/nowhere.jsonl.gz", good]
    let (found, failures) = await PolicyBacktester(policy: Policy()).run(paths, jobs: 2)
    #expect(found.logs == 2 && failures.map(\.log) == ["/nowhere.jsonl.gz"])
  }
}
