import AgentTrace
import EvalRunning
import TestSupport
import Testing
import TraceJudging
import TraceStorage

@Suite("Agents and tasks that are called as a simulated user is")
struct NamedUserTests {
  private static let child = """
    name: child
    tools: [{name: wipe, sideEffect: write, scripted: [{ok: 1}]}]
    policy: {rules: [{id: all, verdict: allow}]}
    model: {script: [{call: {tool: wipe, input: {}}}, {call: {tool: wipe, input: {}}}, {answer: done}]}
    """

  private static func judge(_ log: String, _ expected: JSONValue) throws -> CaseOutcome {
    let expectations = try Expectations(parsing: expected)
    var reader = try RunTreeReader(path: log)
    var row: [Event] = []
    while let entry = try reader.next() { row.append(entry.event) }
    return Judge.judge(row, against: expectations).outcome
  }

  /// Broken by the calls of the child, whatever that is called.
  private static let broken: [JSONValue] = [
    ["toolsNotCalled": ["wipe"]], ["toolsNotProposed": ["wipe"]], ["maxToolCalls": 1],
    ["noRepeatedSideEffect": true], ["budget": ["calls": 1]],
    ["budget": ["tools": ["wipe": ["calls": 1]]]], ["time": [["never": "wipe"]]],
    ["toolsCalled": ["wipe"], "extra": "forbid"],
    ["eachCall": [["tool": "wipe", "input": ["x": 1]]]],
    ["toolsNotCalled": [["tool": "wipe", "caller": "NAME"]]],
    ["callers": ["NAME": ["maxToolCalls": 1]]],
  ]

  private static func expected(_ value: JSONValue, _ name: String) throws -> JSONValue {
    try JSONValue(
      parsing: Array(CanonicalJSON.string(value).replacing("NAME", with: name).utf8))
  }

  @Test(
    "a child called user is an agent like any other", arguments: ["user", "usr"])
  func child(name: String) async throws {
    let team = try RandomTeam([
      "child.yaml": Self.child,
      "root.yaml": """
      name: root
      tools: [{agent: child.yaml, name: \(name)}]
      model: {script: [{call: {tool: \(name), input: {task: one}}}, {answer: done}]}
      """,
    ])
    let log = try await team.record(seed: 1)
    for value in Self.broken {
      let expected = try Self.expected(value, name)
      #expect(try Self.judge(log, expected) == .fail, "\(expected)")
    }
    #expect(
      try Self.judge(log, ["toolsCalled": [["tool": "wipe", "times": 2]]]) == .pass)
  }

  @Test("its guard sees what a child called user does", arguments: ["user", "usr"])
  func guarded(name: String) async throws {
    let team = try RandomTeam([
      "child.yaml": Self.child,
      "root.yaml": """
      name: root
      tools: [{agent: child.yaml, name: \(name)}]
      guard: {toolsNotCalled: [wipe]}
      model: {script: [{call: {tool: \(name), input: {task: one}}}, {answer: done}]}
      """,
    ])
    let log = try await team.record(seed: 1)
    #expect(try Self.judge(log, ["toolsNotCalled": ["wipe"]]) == .pass)
    #expect(try Self.judge(log, ["toolsProposed": ["wipe"]]) == .pass)
  }

  @Test("a task called user is no simulated user", arguments: ["user", "usr"])
  func task(name: String) async throws {
    let world = try PipelineWorld(
      """
      pipeline: p
      tasks:
        - {id: \(name), agent: child.yaml, input: {goal: go}}
      """, agents: ["child.yaml": Self.child])
    let log = try await world.record(seed: 1)
    for value in Self.broken {
      let expected = try Self.expected(value, name)
      #expect(try Self.judge(log, expected) == .fail, "\(expected)")
    }
  }

  @Test("a child called agent answers for itself alone")
  func childCalledAgent() async throws {
    let team = try RandomTeam([
      "child.yaml": Self.child,
      "root.yaml": """
      name: root
      tools: [{agent: child.yaml, name: agent}]
      limits: {maxSteps: 1}
      model: {script: [{call: {tool: agent, input: {task: one}}}, {answer: all}]}
      """,
    ])
    let log = try await team.record(seed: 1)
    #expect(try Self.judge(log, ["answer": "done"]) == .fail)
  }

  // MARK: One log

  /// A log as importers write it in which another agent than the one at the top wipes twice, and answers.
  ///
  /// - Parameters:
  ///   - name: what that agent is called.
  ///   - format: what the log was imported from; `nil` for one that was recorded.
  ///   - isOfUser: whether it is marked as a simulated user.
  private static func imported(
    _ name: String, from format: String? = "otlp", isOfUser: Bool = false,
    in folder: TemporaryFolder
  ) throws -> String {
    var started = RunStarted(
      agentName: "top", goal: "go",
      tools: [
        ToolDefinition(name: "look", sideEffect: .read),
        ToolDefinition(name: "wipe", sideEffect: .write),
      ])
    started.source = format.map { RunSource(format: $0, file: "in/traces.json") }
    var events: [Event] = []
    func put(_ type: EventType, _ step: Int, _ data: JSONObject) {
      events.append(
        Event(
          seq: events.count, step: step, type: type, runId: "imported", t: events.count, data: data)
      )
    }
    put(.runStarted, 0, started.encoded)
    let turns: [(tool: String, caller: String?)] = [("look", nil), ("wipe", name), ("wipe", name)]
    for (index, turn) in turns.enumerated() {
      let step = index + 1
      var decision = DecisionPayload(
        .tool([ProposedCall(callId: "\(step).1.0", name: turn.tool, input: [:])]),
        caller: turn.caller)
      decision.isOfUser = isOfUser && turn.caller != nil
      put(.decision, step, decision.encoded)
      put(
        .toolResult, step,
        ToolResultPayload(
          callId: "\(step).1.0", tool: turn.tool, caller: turn.caller, result: .ok(data: 1)
        ).encoded)
    }
    put(
      .decision, 4,
      DecisionPayload(.answer(text: "wiped", evidenceRefs: []), caller: name).encoded)
    put(
      .decision, 5, DecisionPayload(.answer(text: "done", evidenceRefs: [])).encoded)
    put(.stop, 5, Stop(reason: .success, detail: "final_answer", answer: "done").encoded)
    let file = (Array(name.utf8).map(String.init) + [format ?? "none", "\(isOfUser)"])
      .joined(separator: "-")
    let path = folder.path("\(file).jsonl.gz")
    let writer = try LogWriter(creating: path)
    for event in events { try writer.append(event, isEffectAhead: false) }
    _ = try writer.close()
    return path
  }

  /// What is said of a log by the way that cases take: by its summary, in a hurry or whole, as each asks for.
  private static func outcomes(
    _ expected: [JSONValue], _ log: String
  ) async throws -> [[Outcome]] {
    var said: [[Outcome]] = []
    for value in expected { said.append(try await PipelineWorld.judge(log, value).map(\.outcome)) }
    return said
  }

  private static let brokenInOneLog = broken.filter {
    $0["callers"] == nil && $0["toolsNotCalled"]?[0]?["caller"] == nil
  }

  private static let ofOneLog: [JSONValue] =
    brokenInOneLog + [
      ["toolsCalled": [["tool": "wipe", "times": 2]]], ["toolsProposed": ["wipe"]],
      ["answer": "done"], ["answer": "wiped"], ["maxToolCalls": 3], ["maxToolCalls": 2],
      ["noLoops": 2], ["time": [["expect": "look", "before": "wipe"]]],
      ["time": [["eventually": ["answer": "wiped"]]]],
      ["toolsCalled": ["look", "wipe", "wipe"], "order": "exact"],
    ]

  @Test("judging a log does not change when an agent in it is renamed")
  func renamed() async throws {
    let folder = try TemporaryFolder()
    let usual = try await Self.outcomes(
      Self.ofOneLog, try Self.imported("helper", in: folder))
    for (value, outcome) in zip(Self.brokenInOneLog, usual) {
      #expect(outcome.contains(.fail), "\(value)")
    }
    for name in ["user", "agent", "assistant", "tool", "system", "", "a.b[1]", "us*r", "User", "é"]
    {
      for format in ["otlp", "atif", nil] {
        let log = try Self.imported(name, from: format, in: folder)
        let said = try await Self.outcomes(Self.ofOneLog, log)
        #expect(said == usual, "called \(name), from \(format ?? "nowhere")")
      }
    }
  }

  @Test(
    "a simulated user is one by its mark, and in logs of before it where only one can be named so")
  func simulated() async throws {
    let folder = try TemporaryFolder()
    let forbidden: [JSONValue] = [
      ["toolsNotCalled": ["wipe"]], ["maxToolCalls": 1], ["budget": ["calls": 1]],
      ["noRepeatedSideEffect": true],
    ]
    for (name, format, isOfUser) in [
      ("user", "tau2", false), ("user", "openai-messages", false), ("user", "tau2", true),
      ("eve", "otlp", true),
    ] {
      let log = try Self.imported(name, from: format, isOfUser: isOfUser, in: folder)
      let said = try await Self.outcomes(forbidden, log)
      #expect(said.allSatisfy { $0 == [.pass] }, "\(name) from \(format)")
    }
    let helper = try Self.imported("helper", from: "tau2", in: folder)
    #expect(try await Self.outcomes(forbidden, helper).allSatisfy { $0 == [.fail] })
  }
}
