import AgentRuntime
import AgentTrace
import EvalLoading
import EvalRunning
import Foundation
import TestSupport
import Testing
import TraceJudging
import TraceStorage

@Suite("What ran side by side, in every order that nobody can rule out")
struct SideBySideTests {
  /// A root that calls three children at once, whose calls are these.
  private static func team(_ calls: [[String]], ownAfter own: [String] = []) throws -> RandomTeam {
    let tools =
      "tools: ["
      + ["a", "b", "c"].map {
        "{name: \($0), sideEffect: read, scripted: [{ok: 1}]}"
      }.joined(separator: ", ")
    var files: [String: String] = [:]
    for (index, calls) in calls.enumerated() {
      let script = calls.map { "{call: {tool: \($0), input: {}}}" } + ["{answer: done}"]
      files["child\(index).yaml"] = """
        name: child\(index)
        \(tools)]
        model: {script: [\(script.joined(separator: ", "))]}
        """
    }
    let agents = calls.indices.map { "{agent: child\($0).yaml}" }.joined(separator: ", ")
    let asked = calls.indices.map { "{tool: child\($0), input: {task: go}}" }
    let script =
      ["{calls: [\(asked.joined(separator: ", "))]}"]
      + own.map { "{call: {tool: \($0), input: {}}}" } + ["{answer: done}"]
    files["root.yaml"] = """
      name: root
      \(tools), \(agents)]
      model: {script: [\(script.joined(separator: ", "))]}
      """
    return try RandomTeam(files)
  }

  private static let rules: [JSONValue] = [
    ["time": [["never": "a", "before": "b"]]], ["time": [["never": "a", "until": ["b", "c"]]]],
    ["time": [["never": "a", "after": "b"]]], ["time": [["expect": "a", "before": "b"]]],
    ["time": [["expect": ["a", "c"], "after": "b"]]],
    ["time": [["expect": ["returned": "a"], "before": "b"]]],
    ["time": [["never": ["proposed": "b"], "before": ["returned": "a"]]]],
    ["time": [["only": ["a", "b"], "before": "c"]]],
    ["toolsCalled": ["a", "b"], "order": "in_order"],
    ["toolsCalled": ["a", "b", "a"], "order": "in_order"],
    ["toolsCalled": ["[ab]", "c", "*"], "order": "in_order"],
    ["toolsProposed": ["b", "a"], "order": "in_order"],
  ]

  /// The row of a tree, and where in it the events stand that a child and its siblings may order in any way: of each
  /// child, in pieces that begin with a decision, a start or a result.
  private static func pieces(_ row: [Event]) -> (
    head: ArraySlice<Event>, children: [[[Event]]], rest: ArraySlice<Event>
  ) {
    var children: [String: [[Event]]] = [:]
    var order: [String] = []
    let root = row[0].runId
    let first = row.firstIndex { $0.runId != root } ?? row.count
    let last = row.lastIndex { $0.runId != root } ?? row.count - 1
    for event in row[first...last] {
      if children[event.runId] == nil { order.append(event.runId) }
      let isPlaced =
        [.toolStarted, .toolResult].contains(event.type)
        || event.type == .decision && event.data["kind"] == "tool"
      if isPlaced || children[event.runId] == nil {
        children[event.runId, default: []].append([event])
      } else {
        let end = (children[event.runId]?.count ?? 1) - 1
        children[event.runId]?[end].append(event)
      }
    }
    return (row[..<first], order.compactMap { children[$0] }, row[(last + 1)...])
  }

  /// Each way in which rows may stand among each other; where there are more than a number, so many of them and as
  /// many drawn from all.
  private static func forEachOrder(
    of rows: [[[Event]]], limit: Int, _ random: inout SeededGenerator,
    _ body: ([Event]) throws -> Bool
  ) throws {
    var left = limit
    func go(_ places: [Int], _ told: [Event]) throws -> Bool {
      guard left > 0 else { return false }
      if zip(places, rows).allSatisfy({ $0 == $1.count }) {
        left -= 1
        return try body(told)
      }
      for index in rows.indices where places[index] < rows[index].count {
        var next = places
        next[index] += 1
        guard try go(next, told + rows[index][places[index]]) else { return false }
      }
      return true
    }
    guard try !go(rows.map { _ in 0 }, []), left == 0 else { return }
    for _ in 0..<limit {
      let turns = rows.indices.flatMap { index in rows[index].map { _ in index } }
      var places = rows.map { _ in 0 }
      var told: [Event] = []
      for index in turns.shuffled(using: &random) {
        told += rows[index][places[index]]
        places[index] += 1
      }
      guard try body(told) else { return }
    }
  }

  private static func outcomes(_ expected: [JSONValue], _ log: String) async throws -> [Outcome] {
    let evalCase = EvalCase(
      caseId: "tree", recording: log, expected: try Expectations(parsing: .array(expected)))
    let runner = try EvalRunner(
      options: .init(), cancellation: Cancellation(), makeClock: { FixedClock() },
      makeBoundary: RandomTeam.boundary)
    let results = await runner.run([evalCase])
    return try #require(results.cases.first?.trials.first?.judgement.outcomes).map(\.outcome)
  }

  @Test("what is said for sure of three children is so in each order of their calls")
  func isSoInEachOrder() async throws {
    var random = SeededGenerator(seed: 11)
    var (sure, open) = (0, 0)
    for seed in 0..<TestRun.count(24, long: 120) {
      let calls = (0..<3).map { _ in
        (0..<Int.random(in: 0...1, using: &random)).map { _ in
          ["a", "b", "c"].randomElement(using: &random) ?? "a"
        }
      }
      let own = (0..<Int.random(in: 0...1, using: &random)).map { _ in
        ["a", "b", "c"].randomElement(using: &random) ?? "a"
      }
      let team = try Self.team(calls, ownAfter: own)
      let log = try await team.record(seed: seed)
      let said = try await Self.outcomes(Self.rules, log)
      var reader = try RunTreeReader(path: log)
      var row: [Event] = []
      while let event = try reader.next()?.event { row.append(event) }
      let (head, children, rest) = Self.pieces(row)
      try #require(said.count == Self.rules.count)
      var seen = try SeenOutcomes(of: Self.rules)
      let limit = TestRun.count(1_000, long: 8_000)
      try Self.forEachOrder(of: children, limit: limit, &random) { told in
        let events = (head + told + rest).enumerated().map { seq, event in
          var event = event
          event.seq = seq
          return event
        }
        try seen.take(events)
        return seen.isOpen
      }
      for (index, (rule, said)) in zip(Self.rules, said).enumerated() {
        let found = seen.found[index]
        if said == .unverifiable {
          open += 1
        } else {
          sure += 1
          #expect(found == [said], "\(calls) \(own): \(rule) is \(said), but may be \(found)")
        }
        // So few orders are all tried: nothing is left open that is one in all of them.
        if children.count < 3 || calls.count(where: { !$0.isEmpty }) < 2 {
          #expect(found == [said], "\(calls) \(own): \(rule)")
        }
      }
    }
    #expect(sure > 50 && open > 20, "\(sure) sure, \(open) open")
  }

  @Test("a payment between two checks, nobody knows before which, is no proof of either")
  func paymentBetweenChecks() async throws {
    let team = try Self.team([["a"], ["b"], ["a"]])
    let log = try await team.record(seed: 1)
    let outcomes = try await Self.outcomes(
      [
        ["time": [["never": "b", "before": "a"]]], ["time": [["expect": "a", "before": "b"]]],
        ["toolsCalled": ["a", "b"], "order": "in_order"],
        ["toolsCalled": ["a", "b", "a"], "order": "in_order"],
        ["callers": ["agent": ["time": [["never": "b", "before": "a"]]]]],
        ["toolsCalled": ["a", "b", "a"]], ["time": [["never": "c", "before": "a"]]],
      ], log)
    #expect(
      outcomes == [
        .unverifiable, .unverifiable, .unverifiable, .unverifiable, .unverifiable, .pass, .pass,
        .pass, .pass,
      ])
  }

  @Test("of more orders than are tried, what hangs on them is left open, and nothing else")
  func tooMany() async throws {
    let calls = Array(repeating: ["a", "b", "c", "a"], count: 4)
    let team = try Self.team(calls)
    let log = try await team.record(seed: 1)
    let outcomes = try await Self.outcomes(
      [
        ["toolsCalled": ["a", "b"], "order": "in_order"], ["toolsCalled": ["a", "b"]],
        ["time": [["never": "d", "after": "e"]]],
      ], log)
    #expect(Array(outcomes.prefix(2)) == [.unverifiable, .pass])
    #expect(outcomes.last == .pass || outcomes.last == .notExercised)
  }

  @Test(
    "a write that may have been done is done again by another child, whatever its words look like")
  func doubtOfAnotherChild() async throws {
    func child(_ input: String, _ outcome: String) -> String {
      """
      name: child
      tools: [{name: pay, sideEffect: write, inputSchema: {}, scripted: [{\(outcome)}]}]
      policy: {rules: [{id: all, verdict: allow}]}
      model: {script: [{call: {tool: pay, input: \(input)}}, {answer: done}]}
      """
    }
    for (second, outcome) in [
      ("{amount: 5, to: ana}", Outcome.fail), ("{to: \"ana\",   amount: 5.0}", .fail),
      ("{amount: 5, to: ana, note: again}", .pass), ("{amount: 6, to: ana}", .pass),
    ] {
      for script in [
        "{calls: [{tool: one, input: {task: go}}, {tool: two, input: {task: go}}]}",
        "{call: {tool: one, input: {task: go}}}, {call: {tool: two, input: {task: please}}}",
      ] {
        let team = try RandomTeam([
          "one.yaml": child("{amount: 5, to: ana}", "error: cut off, effect: unknown"),
          "two.yaml": child(second, "ok: 1"),
          "root.yaml": """
          name: root
          tools: [{agent: one.yaml, name: one}, {agent: two.yaml, name: two}]
          model: {script: [\(script), {answer: done}]}
          """,
        ])
        let log = try await team.record(seed: 1)
        let said = try await Self.outcomes([["noRepeatedSideEffect": true]], log)
        #expect(said == [outcome], "\(second) \(script)")
      }
    }
  }

  @Test("a call of the root's own beside a child has no order among what the child does")
  func ownCallBeside() async throws {
    let tools =
      "{name: a, sideEffect: read, scripted: [{ok: 1}]}, {name: b, sideEffect: read, scripted: [{ok: 1}]}"
    let team = try RandomTeam([
      "child.yaml": """
      name: child
      tools: [\(tools)]
      model: {script: [{call: {tool: a, input: {}}}, {answer: done}]}
      """,
      "root.yaml": """
      name: root
      tools: [\(tools), {agent: child.yaml}]
      model:
        script:
          - calls: [{tool: child, input: {task: go}}, {tool: b, input: {}}]
          - call: {tool: b, input: {}}
          - answer: done
      """,
    ])
    let log = try await team.record(seed: 1)
    let said = try await Self.outcomes(
      [
        ["time": [["expect": ["returned": "a"], "before": ["returned": "b"]]]],
        ["time": [["never": ["returned": "b"], "before": "a"]]],
        ["toolsCalled": ["a", "b"], "order": "in_order"],
      ], log)
    #expect(said == [.unverifiable, .unverifiable, .pass])
  }

  @Test(
    "where a call's result and its run's own log do not fit, nothing that is forbidden or counted passes",
    arguments: [
      "other run", "other stop", "other totals", "no end", "no seal", "no start", "twice",
    ])
  func contradiction(_ edit: String) async throws {
    let team = try Self.team([["a"]])
    defer { withExtendedLifetime(team) {} }
    let log = try await team.record(seed: 1)
    var events = try Fixture.events(log)
    let start = try #require(events.firstIndex { $0.type == .toolStarted })
    let end = try #require(events.firstIndex { $0.type == .toolResult })
    var child = try #require(events[end].data["child"]?.objectValue)
    switch edit {
    case "other run": child["runId"] = "another"
    case "other stop": child["stop"] = ["reason": "cancelled"]
    case "other totals":
      var totals = try #require(child["totals"]?.objectValue)
      totals["toolCalls"] = 0
      child["totals"] = .object(totals)
    case "no seal": child["sealDigest"] = nil
    default: break
    }
    events[end].data["child"] = edit == "no end" ? nil : .object(child)
    if edit == "no start" { events[start].data["child"] = nil }
    if edit == "twice" { events.insert(events[end], at: end + 1) }
    try FileManager.default.removeItem(atPath: log)
    let writer = try LogWriter(creating: log)
    for index in events.indices {
      events[index].seq = index
      try writer.append(events[index], isEffectAhead: false)
    }
    _ = try writer.close()
    let outcomes = try await Self.outcomes(
      [
        ["toolsNotCalled": ["c"]], ["maxToolCalls": 9], ["budget": ["calls": 9]],
        ["state": ["/totals/toolCalls": ["$lte": 9]]],
      ], log)
    #expect(outcomes.allSatisfy { $0 == .unverifiable }, "\(edit): \(outcomes)")
  }
}
