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

/// A random tree of agents in files, and what its runs are expected to come to.
private struct Team {
  let folder: TemporaryFolder
  let root: AgentDefinition
  private var random: SeededGenerator

  /// - Parameters:
  ///   - asks: whether some tools wait for a person.
  ///   - guarded: what the root's guard watches.
  init(seed: Int, asks: Bool, guarded: JSONValue? = nil) throws {
    folder = try TemporaryFolder()
    random = SeededGenerator(seed: UInt64(bitPattern: Int64(seed)))
    var count = 0
    let path = try Self.write(
      depth: 0, asks: asks, in: folder, numbered: &count, &random)
    if let guarded {
      var file = try JSONValue(parsing: folder.text(path) ?? "").objectValue ?? [:]
      file["guard"] = guarded
      try folder.write(path, CanonicalJSON.encode(.object(file), form: .plain))
    }
    root = try #require(AgentLoader.load(folder.path(path)).value)
  }

  /// Writes an agent file and those that it names; returns its name.
  private static func write(
    depth: Int, asks: Bool, in folder: TemporaryFolder, numbered count: inout Int,
    _ random: inout SeededGenerator
  ) throws -> String {
    let number = count
    count += 1
    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    var tools: [JSONValue] = [
      [
        "name": "look", "sideEffect": "read", "inputSchema": ["type": "object"],
        "scripted": [["ok": "seen", "delaySeconds": 0.5]],
      ],
      [
        "name": "act", "sideEffect": "write", "inputSchema": ["type": "object"],
        "scripted": [["when": ["attempt": 9], "error": "never"], ["ok": ["done": "${input.n}"]]],
      ],
      [
        "name": "fail", "sideEffect": "read", "inputSchema": ["type": "object"],
        "scripted": [["error": "broken"]],
      ],
    ]
    var names = ["look", "act", "fail"]
    if depth < 3 {
      for index in 0..<Int.random(in: depth == 0 ? 1...2 : 0...2, using: &random) {
        let child = try write(
          depth: depth + 1, asks: asks, in: folder, numbered: &count, &random)
        tools.append(["agent": .string(child), "name": .string("ask\(index)")])
        names += ["ask\(index)", "ask\(index)"]
      }
    }
    var turns: [JSONValue] = []
    for turn in 0..<Int.random(in: 0...3, using: &random) {
      let calls: [JSONValue] = (0..<Int.random(in: 1...3, using: &random)).map { index in
        let name = names.randomElement(using: &random) ?? "look"
        let input: JSONValue =
          name.hasPrefix("ask")
          ? ["task": .string("task \(number).\(turn).\(index)")]
          : ["n": JSONValue(Int.random(in: 0...2, using: &random))]
        return ["tool": .string(name), "input": input]
      }
      turns.append([
        "calls": .array(calls),
        "usage": [
          "inputTokens": JSONValue(Int.random(in: 1...50, using: &random)),
          "outputTokens": JSONValue(Int.random(in: 1...9, using: &random)),
        ],
      ])
    }
    turns.append([
      "answer": .string("answer \(number)"), "usage": ["inputTokens": 3, "outputTokens": 1],
    ])
    let isHeld = asks && chance(60)
    let file: JSONValue = [
      "name": .string("agent\(number)"), "goal": "begin",
      "tools": .array(tools),
      "failures": ["maxToolErrors": 100],
      "policy": [
        "rules": [
          [
            "id": "act", "tool": "act", "verdict": .string(isHeld ? "approval_required" : "allow"),
          ]
        ]
      ],
      "model": ["script": .array(turns)],
    ]
    return try folder.write("agent\(number).yaml", CanonicalJSON.encode(file, form: .plain))
      .components(separatedBy: "/").last ?? ""
  }

  // MARK: Lives

  func children(_ folder: String) -> RecordedChildren {
    RecordedChildren(
      folder: folder, cancellation: Cancellation(),
      clock: { FixedClock(elapsedMicroseconds: $0) }, boundary: Self.boundary)
  }

  static let boundary: BoundaryMaker = { agent, conditions in
    AssembledBoundary(
      for: agent, clock: conditions.clock, identifiers: conditions.identifiers,
      cancellation: conditions.cancellation, children: conditions.children)
  }

  /// Records the tree; returns the root's log.
  func record(seed: Int, person: ScriptedPerson? = nil) async throws -> String {
    var root = root
    root.human = person
    let out = folder.path("runs\(person == nil ? "" : "-approved")")
    let conditions = RunConditions(
      clock: FixedClock(), identifiers: SeededRunIDs(seed: seed), children: children(out))
    return try await AgentRecording(
      of: root, .init(goal: "begin", files: RunFiles(output: out), seed: seed),
      on: Self.boundary(root, conditions)
    ).log
  }

  /// Goes on with it, a person saying yes to one call each time, until it has ended; returns how often.
  func finish(_ log: String) async throws -> Int {
    for round in 0..<200 {
      let waiting = try WaitingTree(path: log)
      if try WaitingRun(path: log).isOver { return round }
      let call = try #require(waiting.calls.first, "nothing waits, and the run has not ended")
      let found = try waiting.run(of: call.call.callId)
      try found.run.record(.granted, about: found.call, by: "ana") {
        FixedClock(elapsedMicroseconds: $0).moment()
      }
      let folder = RunFiles.folder(ofLog: log)
      _ = try await RunResumption(
        .init(
          log: log, agent: root, clock: { FixedClock(elapsedMicroseconds: $0) },
          boundary: { agent, clock in
            Self.boundary(
              agent,
              RunConditions(
                clock: clock, identifiers: RandomRunIDs(), children: children(folder)))
          }))
    }
    Issue.record("it never ends")
    return 0
  }
}

/// A call as a log of the tree has it, found by walking the logs one by one.
private struct FlatCall: Hashable {
  var caller: String
  var tool: String
  var input: JSONValue
  var status: String?
}

/// What the logs of a tree hold, read in the plainest way.
private struct Flattened {
  var calls: [FlatCall] = []
  var modelCalls = 0
  var tokens = 0
  var answers: [String] = []

  init(_ log: String, caller: String? = nil) throws {
    let folder = RunFiles.folder(ofLog: log)
    var reader = try LogReader(path: log)
    var proposed: [(ProposedCall, String?, started: Bool)] = []
    while let event = try reader.next() {
      switch event.type {
      case .modelResult:
        modelCalls += 1
        tokens += event.data["usage"]?["inputTokens"]?.intValue ?? 0
        tokens += event.data["usage"]?["outputTokens"]?.intValue ?? 0
      case .decision:
        let calls = try DecisionPayload(decoding: event.data).decision.calls
        proposed += calls.map { ($0, nil, false) }
      case .toolStarted:
        let started = try ToolStartedPayload(decoding: event.data)
        if let index = proposed.lastIndex(where: { $0.0.callId == started.callId }) {
          proposed[index].started = true
        }
        guard let child = started.child else { continue }
        let inner = try Flattened(
          "\(folder)/\(child.runId).jsonl.gz",
          caller: (caller.map { $0 + "/" } ?? "") + started.tool)
        calls += inner.calls
        modelCalls += inner.modelCalls
        tokens += inner.tokens
      case .toolResult:
        let result = try ToolResultPayload(decoding: event.data)
        if let index = proposed.lastIndex(where: { $0.0.callId == result.callId }) {
          proposed[index].1 = result.result.status
        }
      case .stop: answers = [event.data["answer"]?.stringValue ?? ""]
      default: break
      }
    }
    calls += proposed.map { call, status, started in
      FlatCall(
        caller: caller ?? "agent", tool: call.name, input: call.input,
        status: status ?? (started ? "unknown" : nil))
    }
  }

  var executed: [FlatCall] { calls.filter { ["ok", "error", "unknown"].contains($0.status) } }
}

@Suite("A run and the agents that it calls")
struct RunTreeTests {
  static let isLong = TestRun.isLong
  static let seeds = Array(1...(isLong ? 10_000 : 40))
  /// Into how many parts, side by side, the trees of a full proof are cut.
  static let parts = isLong ? 16 : 1

  /// The seeds of one part, of all or of the first so many: a row of them, so that each part holds every kind of
  /// tree that whole numbers choose.
  private static func seeds(of part: Int, first count: Int = .max) -> ArraySlice<Int> {
    let all = seeds.prefix(count)
    return all[all.count * part / parts..<all.count * (part + 1) / parts]
  }

  private static func outcome(_ expected: JSONValue, _ log: String) async throws -> Outcome {
    let evalCase = EvalCase(
      caseId: "tree", recording: log, expected: try Expectations(parsing: expected))
    let runner = try EvalRunner(
      options: .init(), cancellation: Cancellation(), makeClock: { FixedClock() },
      makeBoundary: Team.boundary)
    let results = await runner.run([evalCase])
    let outcomes = try #require(results.cases.first?.trials.first?.judgement.outcomes)
    return try #require(outcomes.first?.outcome)
  }

  @Test(
    "of random trees, each log is whole, is made again, and tells what the others say of it",
    arguments: 0..<parts)
  func isWholeAndMadeAgain(part: Int) async throws {
    for seed in Self.seeds(of: part) {
      let team = try Team(seed: seed, asks: false)
      let log = try await team.record(seed: seed)
      var known: Set<String> = []
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
      let flat = try Flattened(log)
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
      let team = try Team(seed: seed, asks: false)
      let log = try await team.record(seed: seed)
      let flat = try Flattened(log)
      var random = SeededGenerator(seed: UInt64(seed) &* 7919)
      let callers = ["agent", "ask0", "ask1", "ask0/ask0", "ask0/*", "*"]
      for _ in 0..<6 {
        let tool = ["look", "act", "fail", "ask0", "ask1"].randomElement(using: &random) ?? "look"
        let caller = callers.randomElement(using: &random) ?? "agent"
        let fitting = flat.executed.filter { call in
          call.tool == tool && Self.matches(caller, call.caller)
        }
        let ran = fitting.count
        let count = Int.random(in: 0...3, using: &random)
        let entry: JSONValue = ["tool": .string(tool), "caller": .string(caller)]
        let checks: [(JSONValue, Bool)] = [
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
        for (expected, holds) in checks {
          let outcome = try await Self.outcome(expected, log)
          #expect(
            (outcome == .pass || outcome == .notExercised) == holds && outcome != .unverifiable,
            "seed \(seed): \(expected) is \(outcome); \(flat.executed)")
        }
      }
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
    for seed in Self.seeds(of: part, first: Self.isLong ? 1_000 : 24) {
      let team = try Team(seed: seed, asks: true)
      let log = try await team.record(seed: seed)
      let asked = try await team.finish(log)
      var known: Set<String> = []
      let reports = LogVerifier.verifyTree(path: log, knowing: &known)
      #expect(reports.allSatisfy { $0.status == .whole }, "seed \(seed): \(reports)")
      let approved = ScriptedPerson(
        approvals: [.init(granted: true, by: "ana")])
      let other = try await team.record(seed: seed, person: approved)
      let (flat, undisturbed) = (try Flattened(log), try Flattened(other))
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
    for seed in Self.seeds(of: part) {
      let team = try Team(seed: seed, asks: seed % 2 == 0)
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
    for seed in Self.seeds(of: part) {
      let team = try Team(seed: seed, asks: seed % 2 == 0)
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
      let team = try Team(seed: seed, asks: false)
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
    for seed in Self.seeds(of: part) {
      let team = try Team(seed: seed, asks: seed % 3 == 0)
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
        #expect(
          outcome == worst ?? .fail, "seed \(seed): \(caller) \(expected), alone \(alone)")
      }
    }
    #expect(seen[.pass, default: 0] > 20 && seen[.fail, default: 0] > 20)
  }

  @Test(
    "what the guard of the root forbids, no agent below it does", arguments: 0..<parts)
  func isGuarded(part: Int) async throws {
    var stopped = 0
    for seed in Self.seeds(of: part, first: Self.isLong ? 1_000 : 24) {
      let expected: JSONValue = [
        [
          "toolsNotCalled": [
            ["tool": "act", "caller": "ask*"], ["tool": "look", "caller": "*/ask0"],
          ]
        ],
        ["toolsNotProposed": [["tool": "fail", "input": ["n": 2], "caller": "ask*"]]],
        ["eachCall": [["tool": "act", "input": ["n": 1], "caller": "ask1*"]]],
      ].randomElement(seed)
      let team = try Team(seed: seed, asks: false, guarded: expected)
      let log = try await team.record(seed: seed)
      let flat = try Flattened(log)
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
    #expect(stopped > 3)
  }

  @Test("a child's log that is gone, or is another, leaves what it may have done open")
  func lacksChild() async throws {
    var damaged = 0
    for seed in Self.seeds.prefix(40) {
      let team = try Team(seed: seed, asks: false)
      let log = try await team.record(seed: seed)
      let logs = try LogFiles.tree(ofLog: log).map(\.path)
      guard logs.count > 1 else { continue }
      let flat = try Flattened(log)
      let lost = logs[1 + seed % (logs.count - 1)]
      try FileManager.default.removeItem(atPath: lost)
      damaged += 1
      var known: Set<String> = []
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
