import AgentPipelines
import AgentRuntime
import AgentTrace
import EvalLoading
import EvalRunning
import Foundation
import TestSupport
import Testing
import TraceJudging
import TraceStorage

@Suite("Judging pipelines")
struct PipelineJudgingTests {
  private static let orders: [RunTreeReader.Order] =
    [.first, .last] + (1...3).map { .woven($0) }
  private static let seeds = 1...10

  private static func row(
    _ log: String, _ order: RunTreeReader.Order = .first
  ) throws -> [RunTreeReader.Entry] {
    var reader = try RunTreeReader(path: log, order: order)
    var entries: [RunTreeReader.Entry] = []
    while let entry = try reader.next() { entries.append(entry) }
    return entries
  }

  /// The logs of the tasks' runs, by identifier.
  private static func children(of log: String) throws -> [String: [Event]] {
    let folder = RunFiles.folder(ofLog: log)
    var found: [String: [Event]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder)
    where name.hasSuffix(".jsonl.gz") && name != "pipeline.jsonl.gz" {
      let events = try Fixture.events("\(folder)/\(name)")
      found[events[0].runId] = events
    }
    return found
  }

  @Test("in every order, a row holds each event of each log once, and none outside of its attempt")
  func rows() async throws {
    var woven = 0
    for seed in Self.seeds {
      let world = try PipelineWorld(seed: seed)
      let log = try await world.record(seed: seed)
      let own = try Fixture.events(log)
      let children = try Self.children(of: log)
      var rows: Set<[String]> = []
      for order in Self.orders {
        let row = try Self.row(log, order)
        #expect(row.map(\.event.seq) == Array(0..<row.count), "seed \(seed), \(order)")
        let originals = row.compactMap(\.original)
        #expect(originals.filter { $0.runId == own[0].runId }.map(\.seq) == Array(0..<own.count))
        for (runId, events) in children {
          let told = originals.filter { $0.runId == runId }
          #expect(told.map(\.seq) == events.map(\.seq), "seed \(seed), \(order)")
          let places = originals.indices.filter { originals[$0].runId == runId }
          let start = own.first {
            $0.type == .taskStarted && $0.data["run"]?["runId"] == .string(runId)
          }
          let end = own.first {
            [.taskFinished, .taskFailed].contains($0.type)
              && $0.data["run"]?["runId"] == .string(runId)
          }
          func place(_ event: Event?) -> Int? {
            originals.firstIndex { $0.runId == own[0].runId && $0.seq == event?.seq }
          }
          #expect(try #require(place(start)) < #require(places.first))
          #expect(try #require(place(end)) > #require(places.last))
        }
        rows.insert(row.map { "\($0.event.runId) \($0.original?.seq ?? -1) \($0.event.type)" })
      }
      if rows.count > 2 { woven += 1 }
    }
    #expect(woven > 1)
  }

  @Test("what is called and what is not is what the logs say, for each tool and each task")
  func counts() async throws {
    var compared = 0
    for seed in Self.seeds {
      let world = try PipelineWorld(seed: seed)
      let log = try await world.record(seed: seed)
      let calls = try Self.calls(of: log)
      for tool in ["look", "act", "fail"] {
        for task in ["*", "t0", "t1", "t2", "t1[*]", "t1[1]", "t3"] {
          let count = calls.count { $0.tool == tool && Self.fits(task, $0.node) }
          let entry: JSONValue = [
            "tool": .string(tool), "caller": .string(task), "times": JSONValue(count),
          ]
          let called = try await PipelineWorld.outcome(log, ["toolsCalled": [entry]])
          let none: JSONValue = [
            "toolsNotCalled": [["tool": .string(tool), "caller": .string(task)]]
          ]
          let notCalled = try await PipelineWorld.outcome(log, none)
          // What no task, or no fan-out, bears as its name passes nothing.
          let isThere = task == "*" || Self.names(task, world.definition.spec)
          #expect(called == (isThere ? .pass : .unverifiable), "seed \(seed): \(entry)")
          let wanted: Outcome = !isThere ? .unverifiable : count == 0 ? .pass : .fail
          #expect(notCalled == wanted, "seed \(seed): \(entry)")
          compared += 1
        }
      }
    }
    #expect(compared == 210)
  }

  /// Who called what, by the logs alone.
  private static func calls(of log: String) throws -> [(node: TaskNode, tool: String)] {
    let own = try Fixture.events(log)
    let children = try Self.children(of: log)
    var calls: [(TaskNode, String)] = []
    var attempted: Set<TaskNode> = []
    for event in own where event.type == .taskStarted {
      let started = try TaskStarted(decoding: event.data)
      if let run = started.run {
        for decision in children[run.runId] ?? [] where decision.type == .decision {
          let held = try DecisionPayload(decoding: decision.data).decision.calls
          calls += held.map { (started.node, $0.name) }
        }
      } else if attempted.insert(started.node).inserted {
        // What is tried again is one call.
        let words = started.arguments?[0]?.stringValue ?? ""
        calls.append((started.node, words.split(separator: "/").last.map(String.init) ?? ""))
      }
    }
    return calls
  }

  private static func names(_ address: String, _ spec: PipelineSpec) -> Bool {
    let node = TaskNode(address == "t1[*]" ? "t1[1]" : address)
    return spec.tasks.contains { $0.id == node.task && (node.element == nil || $0.isFanOut) }
  }

  private static func fits(_ address: String, _ node: TaskNode) -> Bool {
    switch address {
    case "*": true
    case "t1[*]": node.task == "t1" && node.element != nil
    case "t1[1]": node == TaskNode("t1", element: 1)
    default: node.task == address
    }
  }

  // MARK: Side by side

  private static let agents: [String: String] = [
    "one.yaml": """
    name: one
    goal: begin
    tools: [{name: left, sideEffect: read, inputSchema: {type: object}, scripted: [{ok: 1}]}]
    model: {script: [{call: {tool: left, input: {}}}, {answer: done}]}
    """,
    "two.yaml": """
    name: two
    goal: begin
    tools: [{name: right, sideEffect: read, inputSchema: {type: object}, scripted: [{ok: 1}]}]
    model: {script: [{call: {tool: right, input: {}}}, {answer: done}]}
    """,
  ]

  @Test(
    "what agents side by side did has no order among itself; what the engine put in order has one")
  func order() async throws {
    let parallel = try PipelineWorld(
      "pipeline: p\ntasks:\n  - {id: a, agent: one.yaml}\n  - {id: b, agent: two.yaml}\n",
      agents: Self.agents)
    let chain = try PipelineWorld(
      "pipeline: p\ntasks:\n  - {id: a, agent: one.yaml}\n"
        + "  - {id: b, agent: two.yaml, input: {x: \"${a.answer}\"}}\n", agents: Self.agents)
    let (side, chained) = (try await parallel.record(), try await chain.record())
    for (first, second) in [("left", "right"), ("right", "left")] {
      let order: JSONValue = [
        "toolsCalled": [.string(first), .string(second)], "order": "in_order",
      ]
      let never: JSONValue = [
        "time": [["never": ["called": .string(second)], "before": ["called": .string(first)]]]
      ]
      for expected in [order, never] {
        let outcome = try await PipelineWorld.outcome(side, expected)
        #expect(outcome == .unverifiable, "\(expected)")
        let other = try await PipelineWorld.outcome(chained, expected)
        #expect(other == (first == "left" ? .pass : .fail), "\(expected)")
      }
    }
    // What hangs on no order is judged.
    #expect(try await PipelineWorld.outcome(side, ["toolsCalled": ["left", "right"]]) == .pass)
    #expect(try await PipelineWorld.outcome(side, ["tasks": ["order": ["a", "b"]]]) == .fail)
    #expect(try await PipelineWorld.outcome(chained, ["tasks": ["order": ["a", "b"]]]) == .pass)
  }

  @Test("a command beside an agent has no order among what the agent does")
  func commandBesideAgent() async throws {
    let world = try PipelineWorld(
      "pipeline: p\ntasks:\n  - {id: a, agent: one.yaml}\n  - {id: b, command: [act], sideEffect: read}\n",
      agents: Self.agents)
    let log = try await world.record()
    for (first, second) in [("left", "act"), ("act", "left")] {
      let order: JSONValue = [
        "toolsCalled": [.string(first), .string(second)], "order": "in_order",
      ]
      #expect(try await PipelineWorld.outcome(log, order) == .unverifiable)
    }
  }

  // MARK: Damage

  @Test(
    "where a task's log is missing, cut or another one, nothing that is forbidden or counted passes"
  )
  func damage() async throws {
    let world = try PipelineWorld(
      "pipeline: p\ntasks:\n  - {id: a, agent: one.yaml}\n  - {id: b, agent: two.yaml}\n",
      agents: Self.agents)
    let negative: [JSONValue] = [
      ["toolsNotCalled": ["rm"]], ["toolsNotProposed": ["rm"]], ["maxToolCalls": 9],
      ["toolsCalled": [["tool": "left", "times": ["max": 3]]]],
      ["policy": ["notGiven": [["verdict": "deny"]]]], ["budget": ["calls": 9]],
    ]
    for (seed, damage) in ["missing", "other", "cut", "open"].enumerated() {
      let log = try await world.record(seed: seed)
      #expect(try await PipelineWorld.outcome(log, negative[0]) == .pass)
      let own = try Fixture.events(log).filter { $0.type == .taskFinished }
      let names = own.compactMap { $0.data["run"]?["log"]?.stringValue }
      let folder = RunFiles.folder(ofLog: log)
      let (one, two) = ("\(folder)/\(names[0])", "\(folder)/\(names[1])")
      let events = try Fixture.events(one)
      switch damage {
      case "missing": try FileManager.default.removeItem(atPath: one)
      case "other":
        try FileManager.default.removeItem(atPath: one)
        try FileManager.default.copyItem(atPath: two, toPath: one)
      default:
        try FileManager.default.removeItem(atPath: one)
        let writer = try LogWriter(creating: one)
        for event in damage == "cut" ? events.dropLast(3) : events[...] {
          try writer.append(event, isEffectAhead: false)
        }
        if damage == "cut" { _ = try writer.close() }
      }
      for expected in negative {
        let outcome = try await PipelineWorld.outcome(log, expected)
        #expect(outcome == .unverifiable, "\(damage): \(expected)")
      }
      // What is seen for certain is seen all the same, and the tasks stand in the pipeline's own log.
      #expect(try await PipelineWorld.outcome(log, ["toolsCalled": ["right"]]) == .pass)
      #expect(try await PipelineWorld.outcome(log, ["tasks": ["ran": ["a", "b"]]]) == .pass)
    }
  }

  private static func rewrite(_ log: String, as events: [Event]) throws {
    try FileManager.default.removeItem(atPath: log)
    let writer = try LogWriter(creating: log)
    for (seq, event) in events.enumerated() {
      var event = event
      event.seq = seq
      try writer.append(event, isEffectAhead: false)
    }
    _ = try writer.close()
  }

  @Test("a run that never ended has no part in what its node does since, which is no run")
  func leftBehind() async throws {
    let world = try PipelineWorld(
      "pipeline: p\ntasks:\n  - {id: a, agent: one.yaml}\n  - {id: b, agent: two.yaml}\n",
      agents: Self.agents)
    let log = try await world.record()
    var events = try Fixture.events(log)
    var again = try #require(events.first { $0.type == .taskStarted })
    let end = try #require(
      events.firstIndex { $0.type == .taskFinished && $0.data["task"] == again.data["task"] })
    (again.data["run"], again.data["kind"], again.data["attempt"]) = (nil, "command", 2)
    events[end].data["run"] = nil
    events.insert(again, at: end)
    try Self.rewrite(log, as: events)
    let reasons = try Self.row(log).compactMap { $0.event.data["reason"]?.stringValue }
    #expect(!reasons.contains { $0.contains("does not say which run") })
  }

  @Test(
    "where a pipeline's log does not fit that of a task's run, nothing that is forbidden or counted passes",
    arguments: [
      "no run", "unreadable", "other end", "other stop", "other goes on", "no seal", "no end",
      "other totals", "twice",
    ])
  func contradiction(_ edit: String) async throws {
    let world = try PipelineWorld(
      "pipeline: p\ntasks:\n  - {id: a, agent: one.yaml}\n  - {id: b, agent: two.yaml}\n",
      agents: Self.agents)
    let log = try await world.record()
    var events = try Fixture.events(log)
    let start = try #require(events.firstIndex { $0.type == .taskStarted })
    let end = try #require(events.firstIndex { $0.type == .taskFinished })
    switch edit {
    case "no run": events[start].data["run"] = nil
    case "unreadable": events[start].data["attempt"] = "first"
    case "other goes on":
      var event = events[start]
      let resumed = TaskResumed(node: TaskNode("a"), attempt: 1, runId: "another")
      (event.type, event.data) = (.taskResumed, resumed.encoded)
      events.insert(event, at: end)
    case "no end": events[end].data["run"] = nil
    case "twice": events.insert(events[end], at: end + 1)
    default:
      var run = try #require(events[end].data["run"]?.objectValue)
      switch edit {
      case "no seal": run["sealDigest"] = nil
      case "other totals":
        var totals = try #require(run["totals"]?.objectValue)
        totals["toolCalls"] = 0
        run["totals"] = .object(totals)
      default: run[edit == "other end" ? "runId" : "stopReason"] = "another"
      }
      events[end].data["run"] = .object(run)
    }
    try Self.rewrite(log, as: events)
    let expected: [JSONValue] = [
      ["toolsNotCalled": ["rm"]], ["maxToolCalls": 9], ["budget": ["calls": 9]],
    ]
    for one in expected {
      #expect(try await PipelineWorld.outcome(log, one) == .unverifiable, "\(one)")
    }
    let ran = try await PipelineWorld.outcome(log, ["tasks": ["notRan": ["a"]]])
    #expect(ran == (["unreadable", "twice"].contains(edit) ? .unverifiable : .fail))
    if ["no seal", "no end", "other totals", "twice", "other end", "other stop"].contains(edit) {
      let used = try await PipelineWorld.outcome(log, ["state": ["/totals/toolCalls": ["$lte": 9]]])
      #expect(used == .unverifiable)
    }
  }

  @Test("what only an agent has is never met by a pipeline")
  func agentsAlone() async throws {
    let world = try PipelineWorld(
      "pipeline: p\ntasks: [{id: a, agent: one.yaml}]\n", agents: Self.agents)
    let log = try await world.record()
    let expected: [JSONValue] = [
      ["maxSteps": 5], ["context": ["neverContains": "secret"]], ["budget": ["steps": 9]],
      ["evidence": ["min": 1]], ["time": [["eventually": ["called": "left"], "within": 3]]],
    ]
    for one in expected {
      #expect(try await PipelineWorld.outcome(log, one) == .unverifiable, "\(one)")
    }
    #expect(
      try await PipelineWorld.outcome(log, ["state": ["/tasks/a/settled": "finished"]]) == .pass)
    #expect(try await PipelineWorld.outcome(log, ["state": ["/stop/reason": "blocked"]]) == .fail)
    #expect(try await PipelineWorld.outcome(log, ["stopReason": "success"]) == .pass)
  }

  @Test("whoever is no task of the pipeline calls nothing, and no case passes by that")
  func strangers() async throws {
    let world = try PipelineWorld(
      "pipeline: p\ntasks: [{id: desk, agent: one.yaml}]\n", agents: Self.agents)
    let log = try await world.record()
    for (caller, outcome) in [
      ("desk", Outcome.pass), ("d*", .pass), ("desk/lookup", .pass), ("*", .pass),
      ("dsk", .unverifiable), ("desk[*]", .unverifiable), ("desk[0]", .unverifiable),
      ("dsk/lookup", .unverifiable), ("agent", .unverifiable),
    ] {
      for key in ["toolsNotCalled", "toolsNotProposed"] {
        let expected: JSONValue = [key: [["tool": "rm", "caller": .string(caller)]]]
        let judged = try await PipelineWorld.outcome(log, expected)
        #expect(judged == outcome, "\(caller)")
      }
    }
    // What is found is found, whatever else is wrong.
    let found = try await PipelineWorld.outcome(
      log, ["toolsNotCalled": [["tool": "left", "caller": "desk"]]])
    #expect(found == .fail)
  }

  // MARK: Promoted

  @Test("what one of the callers of a glob breaks is broken, though another has no run of its own")
  func brokenBesideStrangers() async throws {
    let agent = """
      name: a
      tools: [{name: wipe, sideEffect: read, scripted: [{ok: 1}]}]
      model: {script: [{call: {tool: wipe, input: {}}}, {answer: done}]}
      """
    let world = try PipelineWorld(
      """
      pipeline: p
      tasks:
        - {id: list, command: [look], sideEffect: read}
        - {id: solo, agent: a.yaml, input: {goal: go}}
        - {id: last, agent: quiet.yaml, input: {goal: go, x: "${solo}"}}
      """,
      agents: [
        "a.yaml": agent, "quiet.yaml": "name: quiet\nmodel: {script: [{answer: done}]}\n",
      ])
    let log = try await world.record()
    for (caller, outcomes) in [
      ("*", [Outcome.fail, .unverifiable]), ("{list,solo}", [.fail, .unverifiable]),
      ("{solo,last}", [.fail]), ("l*", [.unverifiable]), ("last", [.pass]),
    ] {
      let said = try await PipelineWorld.judge(
        log, ["callers": [caller: ["toolsNotCalled": ["wipe"]]]])
      #expect(said.map(\.outcome) == outcomes, "\(caller)")
    }
  }

  @Test("a promoted pipeline is one log that is judged as its tree was")
  func promoted() async throws {
    for seed in Self.seeds {
      let world = try PipelineWorld(seed: seed)
      let log = try await world.record(seed: seed)
      let promotion = try Promotion.good([log])
      let files = PromotedFiles(for: promotion, caseId: "kept", folder: world.folder.path("cases"))
      try files.write(promotion, agent: nil)
      #expect(LogVerifier.verify(path: files.log).status == .whole, "seed \(seed)")
      let loaded = CaseLoader.load([files.caseFile])
      let evalCase = try #require(loaded.cases.first, "\(loaded.diagnostics)")
      let outcomes = try await PipelineWorld.judge(
        evalCase.recording ?? "", evalCase.expected.written.source)
      #expect(!outcomes.isEmpty && outcomes.allSatisfy { $0.outcome == .pass }, "seed \(seed)")
      for expected: JSONValue in [
        ["toolsNotCalled": ["act"]], ["maxToolCalls": 2], ["tasks": ["notRan": ["t1"]]],
        ["toolsCalled": [["tool": "look", "caller": "t0"]]], ["stopReason": "success"],
      ] {
        let was = try await PipelineWorld.outcome(log, expected)
        let now = try await PipelineWorld.outcome(evalCase.recording ?? "", expected)
        #expect(was == now, "seed \(seed): \(expected)")
      }
    }
  }
}
