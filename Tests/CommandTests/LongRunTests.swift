import AgentTrace
import Foundation
import TestSupport
import Testing

/// Whatever the writer or an importer writes, every verb takes: over runs as long as users have them.
@Suite("Runs of hundreds of steps pass every verb")
struct LongRunTests {
  /// A run that is made, and how its contexts behave.
  struct Shape: Sendable, CustomTestStringConvertible {
    var name: String
    var steps: Int
    var resultBytes: Int
    var context: JSONObject = ["tokenBudget": 100_000_000]
    /// Calls of one decision.
    var calls = 1
    /// So many different results take turns.
    var results = Int.max

    /// Whether a program says the results also where an agent file has room for them.
    var asksProgram = false

    /// An agent file holds no more than 16 MiB, so that of more a program says the results.
    var isOfCommand: Bool { asksProgram || steps * calls * resultBytes > 8 << 20 }

    var testDescription: String { "\(name), \(steps) steps of \(resultBytes) bytes" }
  }

  /// `--long` makes the runs that the format promises to bear.
  private static let isLong = ProcessInfo.processInfo.environment["AGENT_EVAL_LONG"] != nil

  static let shapes: [Shape] = {
    let (steps, bytes) = isLong ? (3000, 16_000) : (120, 3000)
    var shapes = [
      Shape(name: "a context that only grows", steps: steps, resultBytes: bytes),
      Shape(name: "tiny results", steps: isLong ? 3000 : 300, resultBytes: 50),
      Shape(
        name: "cut by a budget", steps: steps, resultBytes: bytes, context: ["tokenBudget": 20_000]),
      Shape(
        name: "without older output", steps: steps, resultBytes: bytes,
        context: ["tokenBudget": 20_000, "strategy": "drop_tool_output"]),
      Shape(
        name: "summarised", steps: steps, resultBytes: bytes,
        context: ["tokenBudget": 20_000, "strategy": "summarize"]),
      Shape(name: "parallel calls", steps: steps / 4, resultBytes: bytes, calls: 4),
      Shape(name: "equal results", steps: steps, resultBytes: bytes, results: 1),
      Shape(name: "results that take turns", steps: steps, resultBytes: bytes, results: 7),
      Shape(name: "images", steps: isLong ? 200 : 10, resultBytes: isLong ? 1 << 20 : 300_000),
    ]
    if isLong {
      shapes.append(Shape(name: "the longest", steps: 10_000, resultBytes: 50_000))
    } else {
      // A context that grows costs by the square of its steps.
      shapes.append(
        Shape(name: "of a command", steps: 12, resultBytes: 300_000, asksProgram: true))
    }
    return shapes
  }()

  private static func text(_ shape: Shape, bytes: Int, number: Int) -> String {
    var random = Seeded(seed: UInt64(shape.steps &* 31 &+ shape.resultBytes &+ number))
    let letters = Array("abcdefghijklmnopqrstuvwxyz     ".utf8)
    let text = (0..<bytes).map { _ in letters[Int.random(in: letters.indices, using: &random)] }
    return String(decoding: text, as: UTF8.self)
  }

  /// A program that reads the page out of a long text, from another place for each.
  private static func page(_ shape: Shape) -> String {
    """
    #!/bin/sh
    read -r input
    page=${input##*:}
    page=$(( ${page%\\}} % \(min(shape.results, 1 << 30)) ))
    printf '{"text":"%s ' "$page"
    tail -c +$(( page * 37 % \(shape.resultBytes) + 1 )) letters | head -c \(shape.resultBytes)
    printf '"}'
    """
  }

  private static func agent(_ shape: Shape) -> JSONValue {
    let count = shape.steps * shape.calls
    let known = (0..<(shape.isOfCommand ? 0 : min(count, shape.results))).map {
      "\($0) " + text(shape, bytes: shape.resultBytes, number: $0)
    }
    func call(_ number: Int) -> JSONValue {
      ["tool": "read_page", "input": ["page": JSONValue(number)]]
    }
    let turns: [JSONValue] = (0..<shape.steps).map { step in
      let calls = (0..<shape.calls).map { call(step * shape.calls + $0) }
      return shape.calls == 1 ? ["call": calls[0]] : ["calls": .array(calls)]
    }
    let results: JSONObject =
      shape.isOfCommand
      ? ["command": ["arguments": ["sh", "page.sh"], "outputLimitBytes": JSONValue(8 << 20)]]
      : [
        "scripted": .array(
          (0..<count).map { number in
            [
              "when": ["input": ["page": JSONValue(number)]],
              "ok": ["text": .string(known[number % known.count])],
            ]
          })
      ]
    var tool: JSONObject = [
      "name": "read_page", "description": "Reads.", "sideEffect": "read",
      "inputSchema": ["type": "object", "properties": ["page": ["type": "integer"]]],
    ]
    for member in results { tool[member.key] = member.value }
    return [
      "name": "reader", "system": "You read.",
      "limits": ["maxSteps": 99_999, "maxToolCalls": 99_999], "context": .object(shape.context),
      "tools": [.object(tool)],
      "model": [
        "script": .array(turns + [["answer": "done"]]),
        "summaries": [
          [
            "text": .string("What was read so far. " + text(shape, bytes: 400, number: 0)),
            "repeat": 99_999,
          ]
        ],
      ],
    ]
  }

  @Test("a recorded run", arguments: shapes)
  func recorded(shape: Shape) async throws {
    let folder = try TemporaryFolder()
    try folder.write("agent.json", CanonicalJSON.string(Self.agent(shape), form: .plain))
    if shape.isOfCommand {
      try folder.write("page.sh", Self.page(shape))
      try folder.write("letters", Self.text(shape, bytes: 2 * shape.resultBytes, number: 0))
    }
    func run(_ arguments: [String], status: Int32 = 0) async throws {
      _ = try await Binary.run(arguments, in: folder.path, status: status, timeoutSeconds: 600)
    }
    let record = ["record", "agent.json", "go", "--fixed-clock", "--seed", "2", "--memory", "none"]
    try await run(record + ["--out", "runs/a.jsonl.gz"])
    let middle = shape.steps / 2
    try await run(["replay", "runs/a.jsonl.gz", "--step", "\(middle)", "--json"])
    try await run(["replay", "runs/a.jsonl.gz", "--reexecute", "--agent", "agent.json"])
    try await run([
      "fork", "runs/a.jsonl.gz", "--at", "step:\(middle)", "--agent", "agent.json", "--out",
      "runs/fork.jsonl.gz",
    ])
    try await run(["diff", "runs/a.jsonl.gz", "runs/fork.jsonl.gz"])
    try await run(["repair", "runs/a.jsonl.gz", "--out", "runs/repaired.jsonl.gz"])

    // A writer that died in the middle, and a run that goes on from there.
    let bytes = try Data(contentsOf: URL(filePath: (folder.path + "/runs/a.jsonl.gz")))
    try bytes.prefix(bytes.count * 2 / 3).write(
      to: URL(filePath: (folder.path + "/runs/torn.jsonl.gz.open")))
    try await run([
      "resume", "runs/torn.jsonl.gz.open", "--agent", "agent.json", "--accept-changes",
      "--fixed-clock", "--memory", "none",
    ])
    for name in ["a", "fork", "repaired", "torn"] {
      let path = "runs/\(name).jsonl.gz"
      try await run(["verify", path])
      try await run(["show", path])
      try folder.write(
        "case.json",
        CanonicalJSON.string(
          [
            [
              "caseId": .string(name), "recording": .string(path),
              "expected": [
                "toolsCalled": [
                  ["tool": "read_page", "times": JSONValue(shape.steps * shape.calls)]
                ], "toolsNotCalled": ["delete_*"], "noLoops": true,
              ],
            ]
          ], form: .plain))
      try await run(["run", "case.json", "--no-summary", "--report", "html:\(name).html"])
    }
    try await run(["index", "runs", "--no-summary"])
    try await run(["list", "runs"])
    try await run([
      "promote", "runs/a.jsonl.gz", "runs/fork.jsonl.gz", "--into", "EvalCases", "--case-id",
      "long",
      "--agent", "agent.json",
    ])
    try await run(["run", "EvalCases"])
  }

  @Test("an imported conversation", arguments: [(200, 3000), (1500, 100)])
  func imported(steps: Int, bytes: Int) async throws {
    let folder = try TemporaryFolder()
    var messages: [JSONValue] = [["role": "user", "content": "Mend the bug."]]
    for step in 0..<steps * (Self.isLong ? 4 : 1) {
      let id = JSONValue.string("c\(step)")
      let arguments = CanonicalJSON.string(["command": .string("cat \(step)")])
      messages.append([
        "role": "assistant", "content": nil,
        "tool_calls": [
          [
            "id": id, "type": "function",
            "function": ["name": "shell", "arguments": .string(arguments)],
          ]
        ],
      ])
      let text = step % 5 == 0 ? "ok" : "\(step) " + String(repeating: "out ", count: bytes / 4)
      messages.append(["role": "tool", "tool_call_id": id, "content": .string(text)])
    }
    messages.append(["role": "assistant", "content": "done"])
    try folder.write(
      "chat.json", CanonicalJSON.string(["messages": .array(messages)], form: .plain))
    try await Binary.run(
      ["import", "openai-messages", "chat.json", "--out", "runs"], in: folder.path)
    let log = "runs/chat.jsonl.gz"
    for arguments in [
      ["verify", log], ["show", log], ["replay", log, "--step", "\(steps)", "--json"],
      ["diff", log, log], ["repair", log, "--out", "runs/repaired.jsonl.gz"],
      ["verify", "runs/repaired.jsonl.gz"], ["index", "runs", "--no-summary"],
    ] {
      try await Binary.run(arguments, in: folder.path)
    }
  }
}
