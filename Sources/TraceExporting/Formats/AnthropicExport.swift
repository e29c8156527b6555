import AgentTrace

/// A run as the messages of Anthropic's interface: turns of user and assistant, calls and results as blocks.
///
/// https://docs.anthropic.com/en/api/messages
enum AnthropicExport {
  static func value(of story: RunStory, results: [RunResult]) -> JSONValue {
    var system: [String] = []
    var turns = Turns()
    var marks = ListMarks()
    for item in story.items {
      switch item {
      case .said(let said) where said.role == .system: system.append(said.text)
      case .said(let said): turns.put("user", [["type": "text", "text": .string(said.text)]])
      case .turn(let turn):
        let blocks = blocks(of: turn)
        // What said nothing at all has no message.
        if !blocks.isEmpty { marks.add(turn) }
        turns.put("assistant", blocks)
      case .result(let result):
        marks.add(result)
        var block: JSONObject = [
          "type": "tool_result", "tool_use_id": .string(CallName.id(result.callId)),
          "content": .string(MessageText.of(result)),
        ]
        if result.status == "error" || result.status == "refused" { block["is_error"] = true }
        turns.put("user", [.object(block)])
      case .model: break
      }
    }
    var own = OwnKey.summary(of: story, results: results)
    marks.put(into: &own)
    var object: JSONObject = ["messages": .array(turns.messages), "agent_eval": .object(own)]
    object["model"] = story.modelName.map(JSONValue.string)
    if !system.isEmpty { object["system"] = .string(system.joined(separator: "\n\n")) }
    if !story.tools.isEmpty {
      object["tools"] = .array(
        story.tools.map { tool in
          var definition: JSONObject = ["name": tool["name"] ?? ""]
          definition["description"] = tool["description"]
          definition["input_schema"] = tool["inputSchema"] ?? ["type": "object"]
          return .object(definition)
        })
    }
    return .object(object)
  }

  private static func blocks(of turn: RunStory.Turn) -> [JSONValue] {
    var blocks: [JSONValue] = []
    if let text = turn.text, !text.isEmpty {
      blocks.append(["type": "text", "text": .string(text)])
    }
    for call in turn.calls {
      blocks.append([
        "type": "tool_use", "id": .string(CallName.id(call.callId)), "name": .string(call.name),
        "input": call.input.objectValue == nil ? ["input": call.input] : call.input,
      ])
    }
    return blocks
  }

  /// Messages, what was said to the model between two replies as one.
  private struct Turns {
    private(set) var messages: [JSONValue] = []
    private var role = ""

    mutating func put(_ role: String, _ blocks: [JSONValue]) {
      guard !blocks.isEmpty else { return }
      // Replies stay apart; results of one turn belong together.
      guard role == "user", role == self.role, let last = messages.popLast() else {
        self.role = role
        return messages.append(["role": .string(role), "content": .array(blocks)])
      }
      messages.append([
        "role": .string(role), "content": .array((last["content"]?.arrayValue ?? []) + blocks),
      ])
    }
  }
}
