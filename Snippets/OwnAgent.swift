// An agent of one's own: model, tool and policy in Swift, its log on disk.
import AgentRuntime
import AgentTrace
import LiveBoundary
import TraceStorage

struct Greeter: Model {
  func reply(to request: ModelRequest) async -> ModelAnswer {
    guard request.step > 1 else {
      return ModelAnswer(reply: ["calls": [["name": "weather", "input": ["city": "Oslo"]]]])
    }
    return ModelAnswer(reply: ["text": "Take a coat."])
  }
}

let weather = ToolRegistration(
  definition: ToolDefinition(name: "weather", sideEffect: .read),
  implementation: .tool(ClosureTool { _ in ["celsius": -4] }))
let agent = AgentDefinition(
  name: "greeter", model: ModelDefinition(name: "greeter-1", implementation: .model(Greeter())),
  tools: [weather],
  policy: Policy(rules: [.init(id: "look", sideEffects: [.read], verdict: .allow)]))

let runtime = try Runtime(agent: agent, boundary: LiveBoundary.make(for: agent))
let path = CommandLine.arguments.dropFirst().first ?? "greeter.jsonl.gz"
let log = try LogWriter(creating: path)
let state = try await runtime.run(goal: "What should I wear?", into: log)
print(state.stop?.reason ?? "went on", try log.close().path)
