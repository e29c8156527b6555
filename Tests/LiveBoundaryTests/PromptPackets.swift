import AgentTrace

@testable import LiveBoundary

extension ModelPrompt {
  /// The messages as a context packet holds them: each result in a message of the role `tool`.
  var packetMessages: [JSONValue] { messages.flatMap(\.packetMessages) }
}

extension ModelPrompt.Message {
  fileprivate var packetMessages: [JSONValue] {
    var messages: [JSONValue] = []
    var others: [JSONValue] = []
    for part in parts {
      if case .result = part {
        messages.append(["role": "tool", "content": [part.packetPart]])
      } else {
        others.append(part.packetPart)
      }
    }
    if !others.isEmpty {
      messages.append(["role": .string(role.rawValue), "content": .array(others)])
    }
    return messages
  }
}

extension ModelPrompt.Part {
  fileprivate var packetPart: JSONValue {
    switch self {
    case .text(let text): return ["type": "text", "text": .string(text)]
    case .reasoning(let block): return ["type": "reasoning", "block": .object(block)]
    case .call(let id, let name, let input):
      return ["type": "tool_call", "callId": .string(id), "name": .string(name), "input": input]
    case .result(let id, let data, let isError):
      var part: JSONObject = ["type": "tool_result", "callId": .string(id), "data": data]
      if isError { part["status"] = "error" }
      return .object(part)
    }
  }
}
