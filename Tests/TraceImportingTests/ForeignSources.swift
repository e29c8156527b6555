import AgentTrace
import TestSupport

/// Makes lists of messages of other interfaces, and trajectories, with calls in all forms that are read.
enum ForeignSources {
  static func make(_ random: inout Seeded) -> JSONValue {
    let turns = (0..<Int.random(in: 0...3, using: &random)).map { index in
      (
        tool: ["search", "refund", "delete_all"].randomElement(using: &random) ?? "search",
        id: "c\(index)"
      )
    }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return anthropic(turns)
    case 1: return responses(turns)
    case 2: return langChain(turns)
    case 3: return parts(turns)
    case 4: return gemini(turns)
    case 5: return logged(turns)
    case 6: return sweAgent(turns)
    default: return atif(turns)
    }
  }

  private typealias Turns = [(tool: String, id: String)]

  private static func anthropic(_ turns: Turns) -> JSONValue {
    var messages: [JSONValue] = [["role": "user", "content": "help"]]
    for (tool, id) in turns {
      messages += [
        [
          "role": "assistant",
          "content": [
            ["type": "text", "text": "hm"],
            ["type": "tool_use", "id": .string(id), "name": .string(tool), "input": ["id": 1]],
          ],
        ],
        [
          "role": "user",
          "content": [["type": "tool_result", "tool_use_id": .string(id), "content": "r"]],
        ],
      ]
    }
    messages.append(["role": "assistant", "content": [["type": "text", "text": "done"]]])
    return ["system": "Be kind.", "messages": .array(messages), "stop_reason": "end_turn"]
  }

  private static func responses(_ turns: Turns) -> JSONValue {
    var items: [JSONValue] = [["role": "user", "content": "help", "type": "message"]]
    for (tool, id) in turns {
      items += [
        [
          "type": "function_call", "call_id": .string(id), "name": .string(tool),
          "arguments": "{\"id\":1}",
        ],
        ["type": "function_call_output", "call_id": .string(id), "output": "r"],
      ]
    }
    items.append([
      "type": "message", "role": "assistant", "content": [["type": "output_text", "text": "done"]],
    ])
    return ["input_items": .array(items), "last_agent": "a"]
  }

  private static func langChain(_ turns: Turns) -> JSONValue {
    var messages: [JSONValue] = [["type": "human", "content": "help"]]
    for (tool, id) in turns {
      messages += [
        [
          "type": "ai", "content": "hm",
          "tool_calls": [["name": .string(tool), "args": ["id": 1], "id": .string(id)]],
        ],
        [
          "type": "tool", "content": "r", "name": .string(tool), "tool_call_id": .string(id),
          "status": "success",
        ],
      ]
    }
    messages.append(["type": "ai", "content": "done"])
    return .array(messages)
  }

  private static func parts(_ turns: Turns) -> JSONValue {
    var messages: [JSONValue] = [["role": "user", "parts": [["type": "text", "content": "help"]]]]
    for (tool, id) in turns {
      messages += [
        [
          "role": "assistant",
          "parts": [
            [
              "type": "tool_call", "id": .string(id), "name": .string(tool), "arguments": ["id": 1],
            ]
          ],
        ],
        [
          "role": "tool",
          "parts": [["type": "tool_call_response", "id": .string(id), "response": "r"]],
        ],
      ]
    }
    messages.append(["role": "assistant", "parts": [["type": "text", "content": "done"]]])
    return .array(messages)
  }

  private static func gemini(_ turns: Turns) -> JSONValue {
    var messages: [JSONValue] = [["role": "user", "parts": [["text": "help"]]]]
    for (tool, id) in turns {
      messages += [
        [
          "role": "model",
          "parts": [
            ["functionCall": ["id": .string(id), "name": .string(tool), "args": ["id": 1]]]
          ],
        ],
        [
          "role": "user",
          "parts": [
            [
              "functionResponse": [
                "id": .string(id), "name": .string(tool), "response": ["output": "r"],
              ]
            ]
          ],
        ],
      ]
    }
    messages.append(["role": "model", "parts": [["text": "done"]]])
    return ["contents": .array(messages)]
  }

  /// A request as a client logged it, and what was answered.
  private static func logged(_ turns: Turns) -> JSONValue {
    var messages: [JSONValue] = [
      ["role": "system", "content": "Be kind."], ["role": "user", "content": "help"],
    ]
    func call(_ tool: String, _ id: String) -> JSONValue {
      [
        "role": "assistant", "content": .null,
        "tool_calls": [
          [
            "id": .string(id), "type": "function",
            "function": ["name": .string(tool), "arguments": "{\"id\":1}"],
          ]
        ],
      ]
    }
    for (tool, id) in turns.dropLast() {
      messages += [
        call(tool, id), ["role": "tool", "tool_call_id": .string(id), "content": "r"],
      ]
    }
    let last = turns.last.map { call($0.tool, $0.id) } ?? ["role": "assistant", "content": "done"]
    return [
      "messages": .array(messages), "cost": 0.1,
      "response": [
        "object": "chat.completion", "choices": [["index": 0, "message": last]],
      ],
    ]
  }

  private static func sweAgent(_ turns: Turns) -> JSONValue {
    var history: [JSONValue] = [["role": "user", "content": "help"]]
    var steps: [JSONValue] = []
    for (number, (tool, id)) in turns.enumerated() {
      let action = JSONValue.string("\(tool) \(number)")
      history += [
        [
          "role": "assistant", "content": "hm", "action": action,
          "tool_calls": [
            ["id": .string(id), "function": ["name": .string(tool), "arguments": "{\"id\":1}"]]
          ],
        ], ["role": "tool", "content": "r"],
      ]
      steps.append(["action": action, "observation": "r", "response": "hm", "state": "{}"])
    }
    steps.append(["action": "", "observation": "", "response": "done"])
    return [
      "environment": "e", "trajectory": .array(steps), "history": .array(history),
      "info": ["exit_status": "submitted"],
    ]
  }

  private static func atif(_ turns: Turns) -> JSONValue {
    var steps: [JSONValue] = [["step_id": 1, "source": "user", "message": "help"]]
    for (tool, id) in turns {
      steps.append([
        "step_id": JSONValue(steps.count + 1), "source": "agent", "message": "hm",
        "tool_calls": [
          [
            "tool_call_id": .string(id), "function_name": .string(tool), "arguments": ["id": 1],
          ]
        ], "observation": ["results": [["source_call_id": .string(id), "content": "r"]]],
      ])
    }
    steps.append(["step_id": JSONValue(steps.count + 1), "source": "agent", "message": "done"])
    return [
      "schema_version": "ATIF-v1.7", "session_id": "s", "agent": ["name": "a", "version": "1"],
      "steps": .array(steps),
    ]
  }
}
