import AgentTrace

/// A run as the messages of the chat-completion interface.
///
/// https://platform.openai.com/docs/api-reference/chat
enum OpenAIExport {
  static func value(of story: RunStory, results: [RunResult]) -> JSONValue {
    var messages: [JSONValue] = []
    var marks = ListMarks()
    for item in story.items {
      switch item {
      case .said(let said):
        messages.append(["role": .string(said.role.rawValue), "content": .string(said.text)])
      case .turn(let turn):
        marks.add(turn)
        messages.append(message(of: turn))
      case .result(let result):
        marks.add(result)
        messages.append([
          "role": "tool", "tool_call_id": .string(CallName.id(result.callId)),
          "content": .string(MessageText.of(result)),
        ])
      case .model: break
      }
    }
    var own = OwnKey.summary(of: story, results: results)
    marks.put(into: &own)
    var object: JSONObject = ["messages": .array(messages), "agent_eval": .object(own)]
    object["model"] = story.modelName.map(JSONValue.string)
    if !story.tools.isEmpty { object["tools"] = .array(story.tools.map(definition)) }
    return .object(object)
  }

  private static func message(of turn: RunStory.Turn) -> JSONValue {
    var object: JSONObject = ["role": "assistant"]
    object["content"] = turn.text.map(JSONValue.string) ?? .null
    object["name"] = turn.caller.map(JSONValue.string)
    object["reasoning_content"] = turn.reasoning.map(JSONValue.string)
    if !turn.calls.isEmpty {
      object["tool_calls"] = .array(
        turn.calls.map { call in
          [
            "id": .string(CallName.id(call.callId)), "type": "function",
            "function": [
              "name": .string(call.name),
              // The interface has arguments as text.
              "arguments": .string(CanonicalJSON.string(call.input, form: .plain)),
            ],
          ]
        })
    }
    return .object(object)
  }

  /// A tool's definition as the interface has it.
  static func definition(_ tool: JSONValue) -> JSONValue {
    var function: JSONObject = ["name": tool["name"] ?? ""]
    function["description"] = tool["description"]
    function["parameters"] = tool["inputSchema"]
    return ["type": "function", "function": .object(function)]
  }
}

/// What models are told of a result in formats that have a text for it and no more.
enum MessageText {
  static func of(_ result: RunStory.Result) -> String {
    let text = RunStory.text(result.content)
    switch result.status {
    case "refused": return "Refused: \(text)"
    case "error": return "Error: \(text)"
    default: return text
    }
  }
}
