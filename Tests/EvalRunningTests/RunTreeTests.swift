import AgentRuntime
import AgentTrace
import EvalLoading
import EvalRunning
import Foundation
import TestSupport
import Testing
import TraceJudging
import TraceReplaying
import TraceStorage

@Suite("A run and the agents that it calls")
struct RunTreeTests {
  static let isLong = TestRun.isLong
  static let seeds = Array(1...(isLong ? 2_000 : 40))
  /// How many of them what is dear is tried of.
  private static let few = isLong ? 600 : 40
  /// Into how many parts, side by side, the trees of a full proof are cut.
  static let parts = isLong ? 16 : 1

  /// The seeds of one part, of all or of the first so many: a row of them, so that each part holds every kind of
  /// tree that whole numbers choose.
  private static func seeds(of part: Int, first count: Int = .max) -> ArraySlice<Int> {
    let all = seeds.prefix(count)
    return all[all.count * part / parts..<all.count * (part + 1) / parts]
  }

  private static func outcome(_ expected: JSONValue, _ log: String) async throws -> Outcome {
    try #require(try await outcomes([expected], log).first)
  }

  /// What becomes of several things that are expected of one tree, in their order; it is read once for all of them.
  private static func outcomes(_ expected: [JSONValue], _ log: String) async throws -> [Outcome] {
    let evalCase = EvalCase(
      caseId: "tree", recording: log, expected: try Expectations(parsing: .array(expected)))
    let runner = try EvalRunner(
      options: .init(), cancellation: Cancellation(), makeClock: { FixedClock() },
      makeBoundary: RandomTeam.boundary)
    let results = await runner.run([evalCase])
    let outcomes = try #require(results.cases.first?.trials.first?.judgement.outcomes)
    return outcomes.map(\.outcome)
  }

  @Test(
    "of random trees, each log is whole, is made again, and tells what the others say of it",
    arguments: 0..<parts)
  func isWholeAndMadeAgain(part: Int) async throws {
    for seed in Self.seeds(of: part, first: Self.few) {
      let team = try RandomTeam(seed: seed, asks: false)
      let log = try await team.record(seed: seed)
      var known = PathSet()
      let reports = LogVerifier.verifyTree(path: log, knowing: &known)
      #expect(reports.allSatisfy { $0.status == .whole }, "seed \(seed): \(reports)")
      let logs = try LogFiles.tree(ofLog: log).map(\.path)
      #expect(
        Set(logs) == Set(try LogFiles.all(below: RunFiles.folder(ofLog: log))), "seed \(seed)")
      let made = await ReexecutionSuite(agents: .given([team.root])).run([log])
      #expect(made.count == logs.count)
      for item in made {
        #expect(item.reexecution?.isFaithful == true, "seed \(seed): \(item.json)")
      }
      let totals = try #require(try LogTail(path: log).summary["totals"])
      let flat = try FlattenedTree(log)
      #expect(totals["toolCalls"]?.intValue == flat.executed.count, "seed \(seed)")
      #expect(totals["modelCalls"]?.intValue == flat.modelCalls, "seed \(seed)")
      #expect(
        (totals["inputTokens"]?.intValue ?? 0) + (totals["outputTokens"]?.intValue ?? 0)
          == flat.tokens, "seed \(seed)")
    }
  }

  @Test(
    "expectations on random trees hold where they hold for all calls of all its logs",
    arguments: 0..<parts)
  func isJudgedAsOne(part: Int) async throws {
    for seed in Self.seeds(of: part) {
      let team = try RandomTeam(seed: seed, asks: false)
      let log = try await team.record(seed: seed)
      let flat = try FlattenedTree(log)
      var random = SeededGenerator(seed: UInt64(seed) &* 7919)
      let callers = ["agent", "ask0", "ask1", "ask0/ask0", "ask0/*", "*"]
      var checks: [(expected: JSONValue, holds: Bool)] = []
      for _ in 0..<6 {
        let tool = ["look", "act", "fail", "ask0", "ask1"].randomElement(using: &random) ?? "look"
        let caller = callers.randomElement(using: &random) ?? "agent"
        let fitting = flat.executed.filter { call in
          call.tool == tool && Self.matches(caller, call.caller)
        }
        let ran = fitting.count
        let count = Int.random(in: 0...3, using: &random)
        let entry: JSONValue = ["tool": .string(tool), "caller": .string(caller)]
        let more: [(expected: JSONValue, holds: Bool)] = [
          (["toolsNotCalled": [entry]], ran == 0),
          (["toolsCalled": [entry]], ran > 0),
          (
            [
              "toolsCalled": [
                ["tool": .string(tool), "caller": .string(caller), "times": JSONValue(count)]
              ]
            ], ran == count
          ),
          (["maxToolCalls": JSONValue(count * 3)], flat.executed.count <= count * 3),
          (["toolsNotCalled": [.string(tool)]], !flat.executed.contains { $0.tool == tool }),
          (["budget": ["tokens": JSONValue(count * 60)]], flat.tokens <= count * 60),
          (["answer": .string(flat.answers.first ?? "")], true),
        ]
        checks += more
      }
      let outcomes = try await Self.outcomes(checks.map(\.expected), log)
      try #require(outcomes.count == checks.count)
      for (check, outcome) in zip(checks, outcomes) {
        #expect(
          (outcome == .pass || outcome == .notExercised) == check.holds
            && outcome != .unverifiable,
          "seed \(seed): \(check.expected) is \(outcome); \(flat.executed)")
      }
      // One by itself: less of the tree is looked at for it.
      let index = seed % checks.count
      #expect(
        try await Self.outcome(checks[index].expected, log) == outcomes[index], "seed \(seed)")
    }
  }

  @Test("with subRuns, the steps of each run of the tree count", arguments: 0..<parts)
  func stepsOfAll(part: Int) async throws {
    for seed in Self.seeds(of: part, first: 24) {
      let team = try RandomTeam(seed: seed, asks: false)
      let log = try await team.record(seed: seed)
      let own = Trajectory(of: try Fixture.events(log)).steps
      let all = try LogFiles.tree(ofLog: log).reduce(0) {
        $0 + Trajectory(of: try Fixture.events($1.path)).steps
      }
      let outcomes = try await Self.outcomes(
        [
          ["budget": ["steps": JSONValue(all), "subRuns": true]],
          ["budget": ["steps": JSONValue(all - 1), "subRuns": true]],
          ["budget": ["steps": JSONValue(own)]], ["budget": ["steps": JSONValue(own - 1)]],
        ], log)
      #expect(outcomes == [.pass, .fail, .pass, .fail], "seed \(seed): \(own) of \(all)")
    }
  }

  /// Globs of callers as the documents have them: `*` stands for any text.
  private static func matches(_ glob: String, _ caller: String) -> Bool {
    switch glob {
    case "*": true
    case "ask0/*": caller.hasPrefix("ask0/")
    default: glob == caller
    }
  }

  @Test(
    "one that waits for a person goes on where it stands, and comes to what it would have come to",
    arguments: 0..<parts)
  func waitsAsOne(part: Int) async throws {
    for seed in Self.seeds(of: part, first: Self.isLong ? 400 : 24) {
      let team = try RandomTeam(seed: seed, asks: true)
      let log = try await team.record(seed: seed)
      let asked = try await team.finish(log)
      var known = PathSet()
      let reports = LogVerifier.verifyTree(path: log, knowing: &known)
      #expect(reports.allSatisfy { $0.status == .whole }, "seed \(seed): \(reports)")
      let approved = ScriptedPerson(
        approvals: [.init(granted: true, by: "ana")])
      let other = try await team.record(seed: seed, person: approved)
      let (flat, undisturbed) = (try FlattenedTree(log), try FlattenedTree(other))
      #expect(flat.answers == undisturbed.answers, "seed \(seed)")
      #expect(
        flat.executed.map(\.tool).sorted() == undisturbed.executed.map(\.tool).sorted(),
        "seed \(seed), asked \(asked) times")
      let outcome = try await Self.outcome(["noApprovalBypass": true], log)
      #expect(outcome == (asked > 0 ? .pass : .notExercised), "seed \(seed)")
      let made = await ReexecutionSuite(agents: .given([team.root])).run([log])
      for item in made {
        #expect(item.reexecution?.isFaithful == true, "seed \(seed): \(item.json)")
      }
    }
  }

  /// The events of each run of a tree, by its identifier.
  private static func runs(_ log: String) throws -> [String: [Event]] {
    var runs: [String: [Event]] = [:]
    for path in try LogFiles.tree(ofLog: log).map(\.path) {
      let events = try Fixture.events(path)
      runs[events[0].runId] = events
    }
    return runs
  }

  @Test(
    "read from logs one event at a time, a tree is the row that it is in memory",
    arguments: 0..<parts)
  func isRow(part: Int) async throws {
    for seed in Self.seeds(of: part, first: Self.few) {
      let team = try RandomTeam(seed: seed, asks: seed % 2 == 0)
      let log = try await team.record(seed: seed)
      let runs = try Self.runs(log)
      let row = TreeEvents.row(of: try Fixture.events(log)) { runs[$0] }
      defer { withExtendedLifetime(team) {} }
      for reverses in [false, true] {
        var reader = try RunTreeReader(path: log, order: reverses ? .last : .first)
        var read: [Event] = []
        while let entry = try reader.next() {
          #expect(entry.event.seq == read.count)
          read.append(entry.event)
        }
        guard reverses else {
          #expect(read == row, "seed \(seed)")
          continue
        }
        #expect(reader.hasParallelChildren || read == row, "seed \(seed)")
        #expect(read.count == row.count && read.map(\.t).sorted() == row.map(\.t).sorted())
      }
    }
  }

  @Test(
    "a run taken out of the row of its tree is the row of its own logs", arguments: 0..<parts)
  func isTakenOut(part: Int) async throws {
    var taken = 0
    for seed in Self.seeds(of: part, first: Self.few) {
      let team = try RandomTeam(seed: seed, asks: seed % 2 == 0)
      let log = try await team.record(seed: seed)
      let runs = try Self.runs(log)
      let row = TreeEvents.row(of: try Fixture.events(log)) { runs[$0] }
      for begun in row {
        guard var below = RunBelow(beginningWith: begun) else { continue }
        taken += 1
        // Under the numbers of the greater row, in order.
        let told = row.compactMap { below.event($0) }
        #expect(zip(told, told.dropFirst()).allSatisfy { $0.seq < $1.seq })
        let made = told.enumerated().map { seq, event in
          var event = event
          event.seq = seq
          return event
        }
        let own = TreeEvents.row(of: runs[below.runId] ?? []) { runs[$0] }
        #expect(made == own, "seed \(seed), \(below.caller)")
      }
    }
    #expect(taken > 40)
  }

  @Test(
    "an event that is missing of any log of the tree leaves open what none of its runs may have done"
  )
  func lacksEvents() async throws {
    var tried = 0
    let expected = try Expectations(
      parsing: ["callers": ["ask*": ["toolsNotCalled": ["nothing"], "maxToolCalls": 1_000]]])
    for seed in Self.seeds.prefix(40) {
      let team = try RandomTeam(seed: seed, asks: false)
      let log = try await team.record(seed: seed)
      var reader = try RunTreeReader(path: log)
      var row: [Event] = []
      while let event = try reader.next()?.event { row.append(event) }
      guard row.contains(where: { RunBelow(beginningWith: $0) != nil }) else { continue }
      #expect(Judge.judge(row, against: expected).outcome == .pass, "seed \(seed)")
      for place in stride(from: 1, to: row.count - 1, by: 3)
      where RunBelow(beginningWith: row[place]) == nil {
        var cut = row
        cut.remove(at: place)
        tried += 1
        let judgement = Judge.judge(cut, against: expected)
        #expect(judgement.outcome == .inconclusive, "seed \(seed) without \(row[place])")
      }
    }
    #expect(tried > 100)
  }

  /// The logs of a tree, each with who its run is.
  private static func callers(
    _ log: String, _ caller: String = "agent"
  ) throws -> [(caller: String, log: String)] {
    let folder = RunFiles.folder(ofLog: log)
    var found = [(caller, log)]
    for event in try Fixture.events(log) where event.type == .toolStarted {
      let started = try ToolStartedPayload(decoding: event.data)
      guard let child = started.child else { continue }
      found += try callers(
        "\(folder)/\(child.runId).jsonl.gz",
        caller == "agent" ? started.tool : "\(caller)/\(started.tool)")
    }
    return found
  }

  @Test(
    "what is expected of a caller is what is expected of the log of each of his runs",
    arguments: 0..<parts)
  func callersAreHeldAlone(part: Int) async throws {
    var seen: [Outcome: Int] = [:]
    var open = 0
    for seed in Self.seeds(of: part, first: Self.few) {
      let team = try RandomTeam(seed: seed, asks: seed % 3 == 0)
      let log = try await team.record(seed: seed)
      let runs = try Self.callers(log)
      var random = SeededGenerator(seed: UInt64(seed) &* 104_729)
      for _ in 0..<6 {
        let caller =
          ["agent", "ask0", "ask1", "ask0/ask0", "ask1/*", "*"].randomElement(using: &random) ?? "*"
        let count = JSONValue(Int.random(in: 0...3, using: &random))
        let choices: [JSONValue] = [
          ["stopReason": "success"], ["maxSteps": count], ["maxToolCalls": count],
          ["answer": ["$contains": .string("\(Int.random(in: 0...4, using: &random))")]],
          ["toolsNotCalled": [["tool": "act", "caller": "ask0"]]],
          ["toolsCalled": ["look", "act"], "order": "in_order"],
          ["state": ["/totals/toolCalls": ["$lte": count]]],
          ["budget": ["tokens": JSONValue(Int.random(in: 0...90, using: &random))]],
          ["noRepeatedSideEffect": true],
        ]
        let expected = choices.randomElement(using: &random) ?? [:]
        var alone: [Outcome] = []
        for run in runs
        where Self.matches(caller, run.caller)
          || caller == "ask1/*" && run.caller.hasPrefix("ask1/")
        {
          alone.append(try await Self.outcome(expected, run.log))
        }
        let order: [Outcome] = [.notExercised, .pass, .unverifiable, .fail]
        let worst = alone.max { order.firstIndex(of: $0) ?? 0 < order.firstIndex(of: $1) ?? 0 }
        let outcome = try await Self.outcome(["callers": [caller: expected]], log)
        seen[outcome, default: 0] += 1
        // Where a tree has more orders than are tried, nothing that hangs on the order is said of runs that have
        // several, also where one of them alone has few enough.
        let hangsOnOrder = expected["order"] != nil || expected["noRepeatedSideEffect"] != nil
        let isOpen =
          outcome == .unverifiable && (alone.contains(.unverifiable) || hangsOnOrder)
        open += isOpen && !alone.contains(.unverifiable) ? 1 : 0
        #expect(
          outcome == worst ?? .fail || isOpen,
          "seed \(seed): \(caller) \(expected), alone \(alone)")
      }
    }
    #expect(seen[.pass, default: 0] > 20 && seen[.fail, default: 0] > 20)
    #expect(open <= 2 + seen.values.reduce(0, +) / 50, "\(open) of \(seen)")
  }

  @Test(
    "what the guard of the root forbids, no agent below it does", arguments: 0..<parts)
  func isGuarded(part: Int) async throws {
    var stopped = 0
    for seed in Self.seeds(of: part, first: Self.isLong ? 400 : 24) {
      let expected: JSONValue = [
        [
          "toolsNotCalled": [
            ["tool": "act", "caller": "ask*"], ["tool": "look", "caller": "*/ask0"],
          ]
        ],
        ["toolsNotProposed": [["tool": "fail", "input": ["n": 2], "caller": "ask*"]]],
        ["eachCall": [["tool": "act", "input": ["n": 1], "caller": "ask1*"]]],
      ].randomElement(seed)
      let team = try RandomTeam(seed: seed, asks: false, guarded: expected)
      let log = try await team.record(seed: seed)
      let flat = try FlattenedTree(log)
      let outcome = try await Self.outcome(expected, log)
      // A proposal happens before anybody can keep it from happening.
      let isOfProposals = expected["toolsNotProposed"] != nil
      #expect(outcome != .fail || isOfProposals, "seed \(seed): \(expected) \(flat.executed)")
      if flat.calls.contains(where: { $0.status == "refused" }) { stopped += 1 }
      let made = await ReexecutionSuite(agents: .given([team.root])).run([log])
      for item in made {
        #expect(item.reexecution?.isFaithful == true, "seed \(seed): \(item.json)")
      }
    }
    #expect(stopped > 1)
  }

  @Test("a child's log that is gone, or is another, leaves what it may have done open")
  func lacksChild() async throws {
    var damaged = 0
    for seed in Self.seeds.prefix(40) {
      let team = try RandomTeam(seed: seed, asks: false)
      let log = try await team.record(seed: seed)
      let logs = try LogFiles.tree(ofLog: log).map(\.path)
      guard logs.count > 1 else { continue }
      let flat = try FlattenedTree(log)
      let lost = logs[1 + seed % (logs.count - 1)]
      try FileManager.default.removeItem(atPath: lost)
      damaged += 1
      var known = PathSet()
      let reports = LogVerifier.verifyTree(path: log, knowing: &known)
      #expect(reports.contains { $0.status == .damaged }, "seed \(seed)")
      #expect(try await Self.outcome(["toolsNotCalled": ["nothing"]], log) == .unverifiable)
      #expect(try await Self.outcome(["maxToolCalls": 1_000], log) == .unverifiable)
      let ofCallers: JSONValue = ["callers": ["ask*": ["maxSteps": 1_000]]]
      #expect(try await Self.outcome(ofCallers, log) == .unverifiable)
      #expect(
        try await Self.outcome(["maxToolCalls": JSONValue(0)], log) != .pass,
        "seed \(seed): \(flat.executed.count)")
      // A run of somebody else in its place is none of its.
      try FileManager.default.copyItem(atPath: log, toPath: lost)
      #expect(try await Self.outcome(["toolsNotCalled": ["nothing"]], log) == .unverifiable)
    }
    #expect(damaged > 5)
  }
}

extension [JSONValue] {
  fileprivate func randomElement(_ seed: Int) -> JSONValue { self[seed % count] }
}
