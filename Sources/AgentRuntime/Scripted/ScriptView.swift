import AgentTrace

/// What a script may look at: what the model was shown, laid out for conditions and `${…}`.
///
/// `{"step","try","number","goal","results":[{"callId","tool","input","status","data"}],
/// "last":{…the last result…},"replies":["…what people said…"],"heard":"…what was said last…"}`. It is
/// made of the prompt alone, so a script never knows more than a model would. To a model that plays a
/// person, what the agent says are the replies.
struct ScriptView {
  let value: JSONValue

  init(request: ModelRequest) {
    var calls: [String: (tool: JSONValue, input: JSONValue)] = [:]
    var results: [JSONValue] = []
    var replies: [JSONValue] = []
    for message in request.messages {
      for part in message["content"]?.arrayValue ?? [] {
        switch part["type"]?.stringValue {
        case "tool_call":
          if let callId = part["callId"]?.stringValue {
            calls[callId] = (part["name"] ?? .null, part["input"] ?? .null)
          }
        case "tool_result" where part["from"] == "person": replies.append(part["data"] ?? .null)
        case "tool_result":
          let callId = part["callId"]?.stringValue ?? ""
          results.append([
            "callId": .string(callId), "tool": calls[callId]?.tool ?? .null,
            "input": calls[callId]?.input ?? .null, "status": part["status"] ?? "ok",
            "data": part["data"] ?? .null,
          ])
        default:
          if message["role"] == "user", let text = part["text"] { replies.append(text) }
        }
      }
    }
    value = [
      "step": JSONValue(request.step), "try": JSONValue(request.tryNumber),
      "number": JSONValue(request.number), "goal": request.goal,
      "results": .array(results), "last": results.last ?? .null,
      // The first thing that an agent hears is its goal.
      "replies": .array(Array(replies.dropFirst(request.purpose == .human ? 0 : 1))),
      "heard": replies.last ?? .null,
    ]
  }
}

/// Fills `${path}` in a script's texts; a path is keys and indices joined by dots.
enum Template {
  /// A text that is nothing but one `${path}` becomes the value itself; inside a longer text a value
  /// stands as its text. A path that leads nowhere stays as it is written; `$${` is a plain `${`.
  ///
  /// - Parameter view: asked for only where there is something to fill in.
  static func fill(_ value: JSONValue, from view: @autoclosure () -> JSONValue) -> JSONValue {
    switch value {
    case .string(let text): text.utf8.contains(UInt8(ascii: "$")) ? fill(text, from: view()) : value
    case .array(let elements): .array(elements.map { fill($0, from: view()) })
    case .object(let object): .object(object.mapValues { fill($0, from: view()) })
    default: value
    }
  }

  private static func fill(_ text: String, from view: JSONValue) -> JSONValue {
    let pieces = PlaceholderText(text).pieces
    if case .name(let name)? = pieces.first, pieces.count == 1, let found = view[pointer(name)] {
      return found
    }
    var filled = ""
    for piece in pieces {
      switch piece {
      case .text(let plain): filled += plain
      case .name(let name):
        switch view[pointer(name)] {
        case nil: filled += "${\(name)}"
        case .string(let text): filled += text
        case let other?: filled += CanonicalJSON.string(other, form: .plain)
        }
      }
    }
    return .string(filled)
  }

  private static func pointer(_ path: String) -> JSONPointer {
    JSONPointer(tokens: path.split(separator: ".").map(String.init))
  }
}
