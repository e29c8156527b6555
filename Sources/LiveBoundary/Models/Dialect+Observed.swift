public import AgentRuntime
public import AgentTrace

extension Dialect {
  /// The dialect of a request by the path that it goes to; `nil` for any other request.
  public init?(path: String) {
    let plain = path.prefix { $0 != "?" && $0 != "#" }
    let ends: [(String, Dialect)] = [
      ("/chat/completions", .openai), ("/v1/messages", .anthropic),
      ("/responses", .openaiResponses),
      (":generateContent", .gemini), (":streamGenerateContent", .gemini), ("/api/chat", .ollama),
      ("/converse", .bedrock), ("/converse-stream", .bedrock),
    ]
    guard let found = ends.first(where: { plain.hasSuffix($0.0) }) else { return nil }
    // The word is a common one.
    guard found.1 != .bedrock || plain.contains("/model/") else { return nil }
    self = found.1
  }

  /// Reads a request that somebody else wrote; `nil` where it is none of the dialect.
  ///
  /// - Parameters:
  ///   - body: what was asked.
  ///   - path: where it goes to: in one dialect that names the model.
  public func observed(_ body: JSONObject, path: String = "") -> ObservedRequest? {
    switch self {
    case .openai: ChatCompletions.observed(body)
    case .anthropic: AnthropicMessages.observed(body)
    case .openaiResponses: OpenAIResponses.observed(body)
    case .gemini: GenerateContent.observed(body, path: path)
    case .ollama: OllamaChat.observed(body)
    case .bedrock: Converse.observed(body, path: path)
    }
  }
}

/// A request of somebody else's in the making.
struct ObservedDraft {
  var messages: [JSONValue] = []

  /// Adds a message; one without parts says nothing.
  mutating func add(_ role: String, _ parts: [JSONValue], extra: JSONObject = [:]) {
    guard !parts.isEmpty || !extra.isEmpty else { return }
    var message: JSONObject = ["role": .string(role), "content": .array(parts)]
    if !extra.isEmpty { message["extra"] = .object(extra) }
    messages.append(.object(message))
  }

  /// Adds parts to the last message where it is the same one's, so that a list of items and a message with
  /// several parts are the same.
  mutating func join(_ role: String, _ parts: [JSONValue]) {
    guard let last = messages.last?.objectValue, last["role"]?.stringValue == role,
      last["extra"] == nil, let content = last["content"]?.arrayValue
    else { return add(role, parts) }
    messages.removeLast()
    add(role, content + parts)
  }

  /// The result of a call, in a message of its own.
  ///
  /// - Parameter name: the tool, where the result says it and may have no id.
  mutating func addResult(
    id: JSONValue?, name: JSONValue? = nil, _ data: JSONValue, isError: Bool = false
  ) {
    var part: JSONObject = [
      "type": "tool_result", "callId": .string(id?.stringValue ?? ""), "data": data,
    ]
    if let name = name?.stringValue { part["name"] = .string(name) }
    if isError { part["status"] = "error" }
    add("tool", [.object(part)])
  }

  static func text(_ text: JSONValue) -> JSONValue { ["type": "text", "text": text] }

  static func call(id: JSONValue?, name: JSONValue?, input: JSONValue) -> JSONValue {
    [
      "type": "tool_call", "callId": .string(id?.stringValue ?? ""),
      "name": .string(name?.stringValue ?? ""), "input": input,
    ]
  }

  /// The arguments of a call, which are JSON as text, as a value; the text where they are no JSON.
  static func input(_ arguments: JSONValue?) -> JSONValue {
    guard let text = arguments?.stringValue else { return arguments ?? .object([:]) }
    if text.isEmpty { return .object([:]) }
    return (try? JSONValue(parsing: text, options: .init(depthLimit: 64))) ?? .string(text)
  }

  /// What goes into a call that takes a text.
  static func textInput(_ text: JSONValue?) -> JSONValue { ["input": text ?? ""] }

  /// Parts of a content that is a text or a list; what `read` knows nothing of stays as it is.
  static func parts(
    _ content: JSONValue?, _ read: (JSONValue) -> JSONValue? = { _ in nil }
  ) -> [JSONValue] {
    switch content {
    case nil, .null?: []
    case .array(let elements)?:
      elements.map { element in
        if let part = read(element) { return part }
        switch element["type"]?.stringValue {
        case "text"?, "input_text"?, "output_text"?: return text(element["text"] ?? .null)
        default: return element.stringValue == nil ? unknown(element) : text(element)
        }
      }
    case let other?: other == "" ? [] : [text(other)]
    }
  }

  /// A part that nobody here knows, without what only a cache looks at.
  static func unknown(_ part: JSONValue) -> JSONValue {
    guard var object = part.objectValue else { return part }
    object["cache_control"] = nil
    return .object(object)
  }

  /// What a tool returned: its text where it is nothing else.
  static func result(_ content: JSONValue?) -> JSONValue {
    guard let parts = content?.arrayValue else { return content ?? .null }
    let texts = parts.compactMap { part -> String? in
      switch part["type"]?.stringValue {
      case "text"?, "input_text"?, "output_text"?: part["text"]?.stringValue
      default: nil
      }
    }
    guard texts.count == parts.count else { return .array(parts.map(unknown)) }
    return .string(texts.joined(separator: "\n"))
  }

  /// Some members of an object; what says nothing is left out.
  static func others(_ object: JSONObject, than keys: [String]) -> JSONObject {
    var rest = object
    for key in object.keys
    where keys.contains(where: { $0.hasSameUTF8(as: key) }) || object[key]?.isNull == true {
      rest[key] = nil
    }
    return rest
  }

  static func tool(
    name: JSONValue?, description: JSONValue?, schema: JSONValue?, extra: JSONObject
  ) -> JSONValue {
    var tool: JSONObject = ["name": .string(name?.stringValue ?? "")]
    if let text = description?.stringValue, !text.isEmpty { tool["description"] = .string(text) }
    tool["inputSchema"] = schema
    if !extra.isEmpty { tool["extra"] = .object(extra) }
    return .object(tool)
  }
}

// MARK: - Chat Completions

extension ChatCompletions {
  static func observed(_ body: JSONObject) -> ObservedRequest? {
    guard let messages = body["messages"]?.arrayValue else { return nil }
    var draft = ObservedDraft()
    for message in messages { take(message, into: &draft) }
    return ObservedRequest(
      dialect: Dialect.openai.rawValue, model: body["model"]?.stringValue,
      streams: body["stream"]?.boolValue ?? false, messages: draft.messages,
      tools: (body["tools"]?.arrayValue ?? []).map(observed(tool:)),
      parameters: ObservedDraft.others(
        body, than: ["messages", "model", "stream", "tools"] + ObservedRequest.ignoredKeys))
  }

  private static func take(_ message: JSONValue, into draft: inout ObservedDraft) {
    let known = [
      "role", "content", "tool_calls", "tool_call_id", "reasoning_content", "function_call",
    ]
    let extra = ObservedDraft.others(message.objectValue ?? [:], than: known)
    switch message["role"]?.stringValue {
    case "system"?, "developer"?:
      draft.add("system", ObservedDraft.parts(message["content"]), extra: extra)
    case "tool"?, "function"?:
      draft.addResult(id: message["tool_call_id"], ObservedDraft.result(message["content"]))
    case "assistant"?:
      var parts: [JSONValue] = []
      if let thought = message["reasoning_content"]?.stringValue, !thought.isEmpty {
        parts.append(["type": "reasoning", "block": ["reasoning_content": .string(thought)]])
      }
      parts += ObservedDraft.parts(message["content"])
      var calls = message["tool_calls"]?.arrayValue ?? []
      if let call = message["function_call"], call.objectValue != nil {
        calls.append(["function": call])
      }
      parts += calls.map { call in
        let function = call["function"] ?? call["custom"] ?? .null
        return ObservedDraft.call(
          id: call["id"], name: function["name"],
          input: call["custom"] == nil
            ? ObservedDraft.input(function["arguments"])
            : ObservedDraft.textInput(function["input"]))
      }
      draft.add("assistant", parts, extra: extra)
    default: draft.add("user", ObservedDraft.parts(message["content"]), extra: extra)
    }
  }

  static func observed(tool: JSONValue) -> JSONValue {
    guard let function = tool["function"]?.objectValue else {
      return ObservedDraft.tool(
        name: tool["type"], description: nil, schema: nil,
        extra: ObservedDraft.others(tool.objectValue ?? [:], than: ["type"]))
    }
    return ObservedDraft.tool(
      name: function["name"], description: function["description"],
      schema: function["parameters"],
      extra: ObservedDraft.others(function, than: ["name", "description", "parameters"]))
  }
}

// MARK: - Messages

extension AnthropicMessages {
  static func observed(_ body: JSONObject) -> ObservedRequest? {
    guard let messages = body["messages"]?.arrayValue else { return nil }
    var draft = ObservedDraft()
    draft.add("system", ObservedDraft.parts(body["system"]))
    for message in messages { take(message, into: &draft) }
    return ObservedRequest(
      dialect: Dialect.anthropic.rawValue, model: body["model"]?.stringValue,
      streams: body["stream"]?.boolValue ?? false, messages: draft.messages,
      tools: (body["tools"]?.arrayValue ?? []).map(observed(tool:)),
      parameters: ObservedDraft.others(
        body,
        than: ["messages", "model", "stream", "system", "tools"] + ObservedRequest.ignoredKeys))
  }

  private static func take(_ message: JSONValue, into draft: inout ObservedDraft) {
    guard message["role"] == "assistant" else {
      // What tools returned comes first, each for itself.
      var others: [JSONValue] = []
      for block in message["content"]?.arrayValue ?? [] {
        if block["type"] == "tool_result" {
          draft.addResult(
            id: block["tool_use_id"], ObservedDraft.result(block["content"]),
            isError: block["is_error"]?.boolValue ?? false)
        } else {
          others.append(block)
        }
      }
      let content = message["content"]?.arrayValue == nil ? message["content"] : .array(others)
      return draft.add("user", ObservedDraft.parts(content))
    }
    let parts = ObservedDraft.parts(message["content"]) { block in
      switch block["type"]?.stringValue {
      case "tool_use"?:
        ObservedDraft.call(
          id: block["id"], name: block["name"], input: block["input"] ?? .object([:]))
      case "thinking"?, "redacted_thinking"?:
        ["type": "reasoning", "block": ObservedDraft.unknown(block)]
      default: nil
      }
    }
    draft.add("assistant", parts)
  }

  private static func observed(tool: JSONValue) -> JSONValue {
    let object = tool.objectValue ?? [:]
    return ObservedDraft.tool(
      name: object["name"] ?? object["type"], description: object["description"],
      schema: object["input_schema"],
      extra: ObservedDraft.others(
        object, than: ["name", "description", "input_schema", "cache_control"]))
  }
}

// MARK: - Responses

extension OpenAIResponses {
  static func observed(_ body: JSONObject) -> ObservedRequest? {
    var draft = ObservedDraft()
    draft.add("system", ObservedDraft.parts(body["instructions"]))
    switch body["input"] {
    case .string(let text)?: draft.add("user", ObservedDraft.parts(.string(text)))
    case .array(let items)?: for item in items { take(item, into: &draft) }
    case nil where body["previous_response_id"] != nil || body["prompt"] != nil: break
    default: return nil
    }
    return ObservedRequest(
      dialect: Dialect.openaiResponses.rawValue, model: body["model"]?.stringValue,
      streams: body["stream"]?.boolValue ?? false, messages: draft.messages,
      tools: (body["tools"]?.arrayValue ?? []).map(observed(tool:)),
      parameters: ObservedDraft.others(
        body,
        than: ["input", "instructions", "model", "previous_response_id", "stream", "tools"]
          + ObservedRequest.ignoredKeys),
      previousID: body["previous_response_id"]?.stringValue)
  }

  private static func take(_ item: JSONValue, into draft: inout ObservedDraft) {
    switch item["type"]?.stringValue ?? "message" {
    case "message":
      let parts = ObservedDraft.parts(item["content"])
      switch item["role"]?.stringValue {
      case "assistant"?: draft.join("assistant", parts)
      case "system"?, "developer"?: draft.add("system", parts)
      default: draft.add("user", parts)
      }
    case "function_call", "custom_tool_call":
      draft.join(
        "assistant",
        [
          ObservedDraft.call(
            id: item["call_id"], name: item["name"],
            input: item["type"] == "custom_tool_call"
              ? ObservedDraft.textInput(item["input"]) : ObservedDraft.input(item["arguments"]))
        ])
    case let type where type.hasSuffix("_output") && item["call_id"]?.stringValue != nil:
      draft.addResult(id: item["call_id"], ObservedDraft.result(item["output"] ?? item["tools"]))
    case _ where isCall(item) && isForClient(item):
      draft.join(
        "assistant",
        [
          ObservedDraft.call(
            id: item["call_id"], name: .string(tool(of: item)), input: input(of: item))
        ])
    case "mcp_approval_request":
      draft.join(
        "assistant",
        [
          ObservedDraft.call(
            id: item["id"], name: .string(tool(of: item)), input: input(of: item))
        ])
    case "reasoning":
      draft.join("assistant", [["type": "reasoning", "block": withoutID(item)]])
    case let type:
      // Answers of the client and approvals are the user's, calls of the provider's own tools the model's.
      let isOfUser = type.hasSuffix("_output") || type.hasSuffix("_response")
      isOfUser ? draft.add("user", [withoutID(item)]) : draft.join("assistant", [withoutID(item)])
    }
  }

  /// The provider numbers items anew each time.
  private static func withoutID(_ item: JSONValue) -> JSONValue {
    guard var object = item.objectValue else { return item }
    object["id"] = nil
    object["status"] = nil
    return .object(object)
  }

  private static func observed(tool: JSONValue) -> JSONValue {
    let object = tool.objectValue ?? [:]
    guard object["type"] == "function" else {
      return ObservedDraft.tool(
        name: object["type"], description: nil, schema: nil,
        extra: ObservedDraft.others(object, than: ["type"]))
    }
    return ObservedDraft.tool(
      name: object["name"], description: object["description"], schema: object["parameters"],
      extra: ObservedDraft.others(object, than: ["name", "description", "parameters", "type"]))
  }
}
