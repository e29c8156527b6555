import AgentRuntime
import AgentTrace
import EvalLoading
import EvalRunning
import Foundation
import TestSupport
import TraceJudging
import TraceStorage

/// Random pipelines of agents and commands in files, in which nothing outside is reached.
struct PipelineWorld {
  let folder: TemporaryFolder
  let definition: PipelineDefinition

  /// - Parameter seed: what the pipeline is made from.
  init(seed: Int) throws {
    let folder = try TemporaryFolder()
    var random = SeededGenerator(seed: UInt64(bitPattern: Int64(seed)))
    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    var tasks: [JSONValue] = []
    var names: [(id: String, isFanOut: Bool)] = []
    for index in 0..<Int.random(in: 2...6, using: &random) {
      let id = "t\(index)"
      var task: JSONObject = ["id": .string(id)]
      let upstream = names.filter { _ in chance(40) }.prefix(2)
      task["input"] = .object(
        JSONObject(
          [("n", JSONValue(Int.random(in: 0...2, using: &random)))]
            + upstream.map { ($0.id, .string("${\($0.id)\($0.isFanOut ? ".*" : "")}")) }))
      let isFanOut = chance(30)
      if isFanOut { task["forEach"] = "${input.list}" }
      if chance(50) {
        let file = try Self.writeAgent(index, in: folder, &random)
        task["agent"] = .string(file)
      } else {
        let program = ["bin/look", "./act", "fail"].randomElement(using: &random) ?? "look"
        task["command"] = [.string(program), .string("${input.list}")]
        task["sideEffect"] = program.hasSuffix("look") ? "read" : "write"
        task["compensate"] = ["command": ["undo", .string(id)]]
        if chance(50) { task["retry"] = ["max": 1] }
        task["idempotent"] = true
      }
      task["recover"] = [["on": "*", "do": "skip"]]
      tasks.append(.object(task))
      names.append((id, isFanOut))
    }
    let file: JSONValue = ["pipeline": "world", "tasks": .array(tasks)]
    let path = try folder.write("world.yaml", CanonicalJSON.encode(file, form: .plain))
    definition = try Self.loaded(path)
    self.folder = folder
  }

  /// A pipeline of a text, whose agent files lie in the same folder.
  init(_ text: String, agents: [String: String] = [:]) throws {
    folder = try TemporaryFolder()
    for (name, agent) in agents { try folder.write(name, agent) }
    definition = try Self.loaded(try folder.write("world.yaml", text))
  }

  private static func loaded(_ path: String) throws -> PipelineDefinition {
    let loaded = PipelineLoader.load(path)
    guard let value = loaded.value, !loaded.diagnostics.contains(where: { $0.severity == .error })
    else {
      throw Broken(description: loaded.diagnostics.map(\.description).joined(separator: "\n"))
    }
    return value
  }

  struct Broken: Error, CustomStringConvertible { var description: String }

  private static func writeAgent(
    _ number: Int, in folder: TemporaryFolder, _ random: inout SeededGenerator
  ) throws -> String {
    let tools: [JSONValue] = ["look", "act"].map { name in
      [
        "name": .string(name), "sideEffect": name == "act" ? "write" : "read",
        "inputSchema": ["type": "object"], "scripted": [["ok": ["done": .string(name)]]],
      ]
    }
    var turns: [JSONValue] = (0..<Int.random(in: 0...3, using: &random)).map { turn in
      [
        "call": [
          "tool": .string(["look", "act"].randomElement(using: &random) ?? "look"),
          "input": ["n": JSONValue(turn)],
        ]
      ]
    }
    turns.append(["answer": .string("answer \(number)")])
    let file: JSONValue = [
      "name": .string("agent\(number)"), "goal": "begin", "tools": .array(tools),
      "policy": ["rules": [["id": "act", "tool": "act", "verdict": "allow"]]],
      "model": ["script": .array(turns)],
    ]
    try folder.write("agent\(number).yaml", CanonicalJSON.encode(file, form: .plain))
    return "agent\(number).yaml"
  }

  // MARK: Lives

  /// What nothing outside is reached by: a program called `fail` fails, any other succeeds.
  static func means(seed: Int) -> PipelineMeans {
    PipelineMeans(
      makeTool: { command, _, _ in NamedTool(name: command.arguments.first ?? "") },
      makeBoundary: { agent, conditions in
        AssembledBoundary(
          for: agent, clock: conditions.clock, identifiers: conditions.identifiers,
          cancellation: conditions.cancellation, children: conditions.children)
      }, clock: { FixedClock(elapsedMicroseconds: $0) }, identifiers: SeededRunIDs(seed: seed),
      pausing: Cancellation())
  }

  private struct NamedTool: Tool {
    var name: String
    func run(_ request: ToolRequest) async -> ToolAnswer {
      ToolAnswer(
        result: name.hasSuffix("fail") ? .error("it failed") : .ok(data: ["by": .string(name)]))
    }
  }

  /// Records a run; returns its log.
  func record(seed: Int = 1, list: [JSONValue] = ["a", "b", "c"]) async throws -> String {
    var request = PipelineRecording.Request(
      input: ["list": .array(list)],
      files: RunFiles(output: folder.path("runs\(seed)/pipeline.jsonl.gz")))
    request.seed = seed
    return try await PipelineRecording(of: definition, request, Self.means(seed: seed)).log
  }

  /// Judges a log by expectations.
  static func judge(_ log: String, _ expected: JSONValue) async throws -> [ExpectationOutcome] {
    let runner = try EvalRunner(
      options: .init(), makeClock: { FixedClock() }, makeBoundary: Self.means(seed: 0).makeBoundary)
    var evalCase = EvalCase(caseId: "case", expected: try Expectations(parsing: expected))
    evalCase.recording = log
    let results = await runner.run([evalCase])
    return results.cases.first?.trials.first?.judgement.outcomes ?? []
  }

  static func outcome(_ log: String, _ expected: JSONValue) async throws -> Outcome? {
    try await judge(log, expected).first?.outcome
  }
}
