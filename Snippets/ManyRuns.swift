// Many runs of one agent at once, each with a log of its own, watched while they go on.
import AgentRuntime
import AgentTrace
import LiveBoundary
import TraceStorage

struct Counter: Model {
  func reply(to request: ModelRequest) async -> ModelAnswer {
    request.step < 3
      ? ModelAnswer(reply: ["calls": [["name": "count", "input": ["n": JSONValue(request.step)]]]])
      : ModelAnswer(reply: ["text": "Counted."])
  }
}

let count = ToolRegistration(
  definition: ToolDefinition(name: "count", sideEffect: .read),
  implementation: .tool(ClosureTool { $0.input["n"] ?? .null }))
let agent = AgentDefinition(
  name: "counter", model: ModelDefinition(name: "counter-1", implementation: .model(Counter())),
  tools: [count])
let folder = CommandLine.arguments.dropFirst().first ?? "."

let lines = try await withThrowingTaskGroup(of: String.self) { group in
  for number in 1...20 {
    group.addTask {
      let runtime = try Runtime(agent: agent, boundary: LiveBoundary.make(for: agent))
      let updates = runtime.events
      let log = try LogWriter(creating: "\(folder)/run-\(number).jsonl.gz")
      async let events = updates.reduce(0) { sum, update in
        if case .event = update { sum + 1 } else { sum }
      }
      let state = try await runtime.run(goal: .string("Count, \(number)."), into: log)
      _ = try log.close()
      return "run \(number): \(state.stop?.reason ?? "went on"), \(await events) events"
    }
  }
  var lines: [String] = []
  for try await line in group { lines.append(line) }
  return lines
}
print(
  lines.count, "runs,", lines.filter { $0.hasSuffix("success, 17 events") }.count, "as expected")
