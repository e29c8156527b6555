import AgentRuntime
import AgentTrace

/// Ollama's own chat interface.
///
/// https://docs.ollama.com/api/chat
enum OllamaChat {
  // MARK: Requests

  static func body(
    of prompt: ModelPrompt, model: String, _ settings: GenerationSettings, stream: Bool
  ) -> JSONObject {
    let arranged = prompt.arranged { isReasoning($0) }
    var messages: [JSONValue] = []
    var names: [String: String] = [:]
    if let system = arranged.system {
      messages.append(["role": "system", "content": .string(system)])
    }
    for message in arranged.messages { messages += Self.messages(of: message, &names) }
    // Without the key it streams.
    var body: JSONObject = [
      "model": .string(model), "messages": .array(messages), "stream": .bool(stream),
    ]
    if !prompt.tools.isEmpty, settings.toolChoice != GenerationSettings.ToolChoice.none {
      body["tools"] = .array(prompt.tools.map(ChatCompletions.tool))
    }
    var options = JSONObject()
    options["num_predict"] = settings.maxOutputTokens.map { JSONValue($0) }
    options["temperature"] = settings.temperature.map { JSONValue($0) }
    options["top_p"] = settings.topP.map { JSONValue($0) }
    options["seed"] = settings.seed.map { JSONValue($0) }
    if !settings.stop.isEmpty { options["stop"] = JSONValue(settings.stop) }
    if !options.isEmpty { body["options"] = .object(options) }
    if let reasoning = settings.reasoning {
      body["think"] = reasoning.effort.map(JSONValue.string) ?? true
    }
    return body
  }

  private static func messages(
    of message: ModelPrompt.Message, _ names: inout [String: String]
  ) -> [JSONValue] {
    let text = message.parts.compactMap(\.words).joined(separator: "\n\n")
    guard message.role == .assistant else {
      var messages: [JSONValue] = []
      for case .result(let id, let data, let isError) in message.parts {
        var wire: JSONObject = [
          "role": "tool", "content": .string((isError ? "Error: " : "") + data.plainText),
        ]
        wire["tool_name"] = names[id].map(JSONValue.string)
        messages.append(.object(wire))
      }
      if !text.isEmpty { messages.append(["role": "user", "content": .string(text)]) }
      return messages
    }
    var wire: JSONObject = ["role": "assistant", "content": .string(text)]
    var calls: [JSONValue] = []
    for part in message.parts {
      switch part {
      case .reasoning(let block): for field in block { wire[field.key] = field.value }
      case .call(let id, let name, let input):
        names[id] = WireNames.wireName(ofTool: name)
        calls.append([
          "function": [
            "name": .string(WireNames.wireName(ofTool: name)),
            "arguments": input.objectValue == nil ? ["value": input] : input,
          ]
        ])
      default: break
      }
    }
    if !calls.isEmpty { wire["tool_calls"] = .array(calls) }
    return [.object(wire)]
  }

  private static func isReasoning(_ block: JSONObject) -> Bool {
    block["thinking"]?.stringValue != nil && block.count == 1
  }

  // MARK: Replies

  static func reply(_ body: JSONValue) throws(ReplyFault) -> ProviderReply {
    var assembly = Assembly()
    _ = try assembly.take(piece: body)
    guard assembly.isWhole || assembly.error != nil else {
      throw .unknownForm("it is not done")
    }
    return assembly.reply
  }

  // MARK: What is known of a reply

  private static let headKeys: Set<String> = [
    "created_at", "done", "done_reason", "error", "eval_count", "eval_duration", "load_duration",
    "logprobs", "message", "model", "prompt_eval_count", "prompt_eval_duration", "remote_host",
    "remote_model", "total_duration",
  ]
  private static let messageKeys: Set<String> = [
    "content", "images", "role", "thinking", "tool_calls", "tool_name",
  ]

  /// A reply that comes in lines; each is of the form of a whole one.
  struct Assembly: Sendable {
    private var content = TextPieces()
    private var thinking = TextPieces()
    private var calls: [DraftCall] = []
    private var unread = UnreadPlaces()
    private var finishReason: String?
    private var usage: TokenUsage?
    private var model: String?
    private(set) var error: ProviderError?
    /// Whether everything is there that makes a reply, and nothing follows.
    private(set) var isWhole = false

    /// Takes in a line; the text that it adds to the reply.
    mutating func take(_ event: ServerSentEvent) throws(ReplyFault) -> JSONValue? {
      try take(piece: try JSONValue.wire(event.data))
    }

    mutating func take(piece: JSONValue) throws(ReplyFault) -> JSONValue? {
      guard piece.objectValue != nil else { throw .unknownForm("a piece of it is no object") }
      unread.check(piece, knowing: headKeys, at: "", texts: false)
      if let found = ProviderError(piece["error"]) { error = found }
      model = piece["model"]?.stringValue ?? model
      let message = piece["message"]
      unread.check(message, knowing: messageKeys, at: "/message")
      content.append(message?["content"])
      if let words = message?["content"], !words.isNull,
        words.objectValue != nil || words.arrayValue != nil
      {
        unread.note("/message/content")
      }
      thinking.append(message?["thinking"])
      if let found = message?["tool_calls"], found.arrayValue == nil, !found.isNull {
        unread.note("/message/tool_calls")
      }
      for call in message?["tool_calls"]?.arrayValue ?? [] { take(call: call) }
      if piece["done"] == true {
        isWhole = true
        finishReason = piece["done_reason"]?.stringValue ?? finishReason
        usage = TokenUsage(
          input: TokenUsage.count(piece["prompt_eval_count"]),
          output: TokenUsage.count(piece["eval_count"]))
      }
      return message?["content"]
    }

    private mutating func take(call: JSONValue) {
      let place = "/message/tool_calls/\(calls.count)"
      let function = call["function"]
      unread.check(call, knowing: ["function", "id", "index", "type"], at: place)
      unread.check(
        function, knowing: ["arguments", "index", "name"], at: "\(place)/function")
      if let type = call["type"]?.stringValue, type != "function" {
        unread.note("\(place): \(type)")
      }
      var draft = DraftCall(
        id: call["id"]?.stringValue, name: function?["name"]?.stringValue)
      switch function?["arguments"] {
      case nil, .null?: draft.input = .object([:])
      case .string(let text)?: draft.arguments.append(text)
      case let input?: draft.input = input
      }
      calls.append(draft)
    }

    var reply: ProviderReply {
      var draft = ReplyDraft()
      if !thinking.isEmpty { draft.parts.append(.reasoning(["thinking": .string(thinking.text)])) }
      draft.parts.append(.text(content))
      draft.parts += calls.map { .call($0) }
      draft.unread = unread
      if finishReason == "length" { draft.incomplete = finishReason }
      return ProviderReply(
        reply: draft.reply, finishReason: finishReason, usage: usage, model: model, error: error)
    }
  }

  // MARK: Requests of others

  static func observed(_ body: JSONObject) -> ObservedRequest? {
    guard let messages = body["messages"]?.arrayValue else { return nil }
    var draft = ObservedDraft()
    for message in messages {
      let known = ["role", "content", "tool_calls", "tool_name", "thinking", "tool_call_id"]
      let extra = ObservedDraft.others(message.objectValue ?? [:], than: known)
      switch message["role"]?.stringValue {
      case "system"?: draft.add("system", ObservedDraft.parts(message["content"]), extra: extra)
      case "tool"?:
        draft.addResult(
          id: message["tool_call_id"], name: message["tool_name"],
          ObservedDraft.result(message["content"]))
      case "assistant"?:
        var parts: [JSONValue] = []
        if let thought = message["thinking"]?.stringValue, !thought.isEmpty {
          parts.append(["type": "reasoning", "block": ["thinking": .string(thought)]])
        }
        parts += ObservedDraft.parts(message["content"])
        parts += (message["tool_calls"]?.arrayValue ?? []).map { call in
          ObservedDraft.call(
            id: call["id"], name: call["function"]?["name"],
            input: ObservedDraft.input(call["function"]?["arguments"]))
        }
        draft.add("assistant", parts, extra: extra)
      default: draft.add("user", ObservedDraft.parts(message["content"]), extra: extra)
      }
    }
    return ObservedRequest(
      dialect: Dialect.ollama.rawValue, model: body["model"]?.stringValue,
      streams: body["stream"]?.boolValue ?? true, messages: draft.messages,
      tools: (body["tools"]?.arrayValue ?? []).map(ChatCompletions.observed(tool:)),
      parameters: ObservedDraft.others(
        body, than: ["messages", "model", "stream", "tools"] + ObservedRequest.ignoredKeys))
  }
}
