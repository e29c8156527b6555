// What stands around a model and its tools: before, after, or in the place of a call.
import AgentRuntime
import AgentTesting
import AgentTrace

/// Asks a model anything but what is answered already, and signs what it says.
struct Signing: Model {
  let base: any Model
  let signature: String

  func reply(to request: ModelRequest) async -> ModelAnswer {
    var answer = await base.reply(to: request)
    if case .string(let text)? = answer.reply?["text"] {
      answer.reply = ["text": .string("\(text) – \(signature)")]
    }
    return answer
  }
}

/// Runs a tool for orders of ours alone; what it answers in the tool's place is recorded as the tool's word.
struct OwnOrders: Tool {
  let base: any Tool

  func run(_ request: ToolRequest) async -> ToolAnswer {
    guard request.input["order"]?.stringValue?.hasPrefix("eu-") == true else {
      return ToolAnswer(result: .error("no order of ours"))
    }
    return await base.run(request)
  }
}

let script = ModelScript(
  replies: ["calls": [["name": "look", "input": ["order": "us-1"]]]],
  ["calls": [["name": "look", "input": ["order": "eu-2"]]]], ["text": "It is on its way."])
let look = OwnOrders(base: ClosureTool { _ in ["status": "sent"] })
let agent = AgentDefinition(
  name: "desk",
  model: ModelDefinition(
    name: "signed", implementation: .model(Signing(base: ScriptedModel(script), signature: "desk"))),
  tools: [
    ToolRegistration(
      definition: ToolDefinition(name: "look", sideEffect: .read), implementation: .tool(look))
  ])

let run = try await TestedRun(of: agent, goal: "Where are my orders?")
for event in run.events where event.type == .toolResult {
  print(event.data["status"]?.stringValue ?? "")
}
print(run.events.last?.data["answer"]?.stringValue ?? "no answer")
