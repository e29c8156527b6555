import AgentRuntime
import AgentTrace
import EvalLoading
import EvalRunning
import Foundation
import TestSupport
import Testing
import TraceReplaying
import TraceStorage

/// A random tree of agents in files, and what its runs are expected to come to.
struct RandomTeam {
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

  /// A team of files by their names, of which `root.yaml` is the root's.
  init(_ files: [String: String]) throws {
    folder = try TemporaryFolder()
    random = SeededGenerator(seed: 1)
    for (name, text) in files { try folder.write(name, text) }
    root = try #require(AgentLoader.load(folder.path("root.yaml")).value)
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
        FixedClock(elapsedMicroseconds: $0).reading()
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
struct FlatCall: Hashable {
  var caller: String
  var tool: String
  var input: JSONValue
  var status: String?
}

/// What the logs of a tree hold, read in the plainest way.
struct FlattenedTree {
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
        let inner = try FlattenedTree(
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
