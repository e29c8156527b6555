import AgentRuntime
import AgentTrace

/// Anthropic's Messages.
///
/// https://docs.claude.com/en/api/messages
enum AnthropicMessages {
  /// The version of the interface that requests name. The newer one (2026-10-21) refuses what this one
  /// allows, and gives nothing that is used here.
  static let version = "2023-06-01"
  /// Output tokens where none are asked for: the interface needs a number.
  static let defaultOutputTokens = 4_096

  // MARK: Requests

  static func body(
    of prompt: ModelPrompt, model: String, _ settings: GenerationSettings, stream: Bool
  ) -> JSONObject {
    let arranged = prompt.arranged { isReasoning($0) }
    let thinking = settings.reasoning?.budgetTokens
    var messages = arranged.messages.map(Self.message)
    // A last message of the assistant is taken for the beginning of the reply.
    if arranged.messages.last?.role == .assistant {
      messages.append(["role": "user", "content": [text("Go on.")]])
    }
    var body: JSONObject = [
      "model": .string(model), "messages": .array(messages),
      "max_tokens": JSONValue(
        settings.maxOutputTokens ?? Self.defaultOutputTokens + (thinking ?? 0)),
    ]
    body["system"] = arranged.system.map(JSONValue.string)
    if !prompt.tools.isEmpty {
      body["tools"] = .array(prompt.tools.map(Self.tool))
      body["tool_choice"] = toolChoice(settings)
    }
    body["temperature"] = settings.temperature.map { JSONValue($0) }
    body["top_p"] = settings.topP.map { JSONValue($0) }
    if !settings.stop.isEmpty { body["stop_sequences"] = JSONValue(settings.stop) }
    if let reasoning = settings.reasoning {
      body["thinking"] =
        thinking.map { ["type": "enabled", "budget_tokens": JSONValue($0)] } ?? ["type": "adaptive"]
      if let effort = reasoning.effort { body["output_config"] = ["effort": .string(effort)] }
    }
    if stream { body["stream"] = true }
    return body
  }

  private static func toolChoice(_ settings: GenerationSettings) -> JSONValue? {
    var choice: JSONObject
    switch settings.toolChoice {
    case nil:
      guard settings.parallelToolCalls != nil else { return nil }
      choice = ["type": "auto"]
    case .auto?: choice = ["type": "auto"]
    case .none?: return ["type": "none"]
    case .required?: choice = ["type": "any"]
    case .tool(let name)?:
      choice = ["type": "tool", "name": .string(WireNames.wireName(ofTool: name))]
    }
    choice["disable_parallel_tool_use"] = settings.parallelToolCalls.map { .bool(!$0) }
    return .object(choice)
  }

  private static func tool(_ tool: ToolDefinition) -> JSONValue {
    var wire: JSONObject = [
      "name": .string(WireNames.wireName(ofTool: tool.name)),
      "input_schema": tool.inputSchema.schema,
    ]
    if !tool.description.isEmpty { wire["description"] = .string(tool.description) }
    return .object(wire)
  }

  private static func message(_ message: ModelPrompt.Message) -> JSONValue {
    ["role": .string(message.role.rawValue), "content": .array(message.parts.compactMap(block))]
  }

  private static func text(_ text: String) -> JSONValue { ["type": "text", "text": .string(text)] }

  private static func block(_ part: ModelPrompt.Part) -> JSONValue? {
    switch part {
    case .text: return part.words.map(text)
    case .reasoning(let block): return .object(block)
    case .call(let id, let name, let input):
      return [
        "type": "tool_use", "id": .string(WireNames.wireID(ofCall: id)),
        "name": .string(WireNames.wireName(ofTool: name)),
        "input": input.objectValue == nil ? ["value": input] : input,
      ]
    case .result(let id, let data, let isError):
      var block: JSONObject = [
        "type": "tool_result", "tool_use_id": .string(WireNames.wireID(ofCall: id)),
      ]
      let text = data.plainText
      if !text.isEmpty { block["content"] = .string(text) }
      if isError { block["is_error"] = true }
      return .object(block)
    }
  }

  // MARK: Reasoning

  /// What is signed can be sent back as it is or not at all: not where something in it was withheld.
  private static func isReasoning(_ block: JSONObject) -> Bool {
    (block["type"] == "thinking" || block["type"] == "redacted_thinking")
      && !RedactionToken.isIn(.object(block))
  }

  // MARK: Replies

  static func reply(_ body: JSONValue) throws(ReplyFault) -> ProviderReply {
    guard let content = body["content"]?.arrayValue else { throw .unknownForm("it has no content") }
    var assembly = Assembly()
    assembly.check(message: body)
    for (index, block) in content.enumerated() { assembly.begin(block, at: index) }
    assembly.take(message: body)
    return assembly.reply
  }

  // MARK: What is known of a reply

  private static let messageKeys: Set<String> = [
    "container", "content", "context_management", "diagnostics", "error", "id", "model", "role",
    "stop_details", "stop_reason", "stop_sequence", "type", "usage",
  ]
  /// Of events, by their types; there are events that hold nothing.
  private static let eventKeys: [String: Set<String>] = [
    "content_block_delta": ["delta", "index"], "content_block_start": ["content_block", "index"],
    "content_block_stop": ["index"], "error": ["error", "request_id"],
    "message_delta": ["context_management", "delta", "usage"], "message_start": ["message"],
    "message_stop": [], "ping": [],
  ]
  private static let deltaKeys: [String: Set<String>] = [
    "citations_delta": ["citation"], "compaction_delta": ["content", "encrypted_content"],
    "input_json_delta": ["partial_json"],
    "signature_delta": ["signature"], "text_delta": ["text"], "thinking_delta": ["thinking"],
  ]
  /// Of blocks. What tools of the provider returned is of many forms, and holds no call.
  private static let blockKeys: [String: Set<String>] = [
    "compaction": ["content", "encrypted_content"], "container_upload": ["file_id"],
    "fallback": ["from", "to"], "redacted_thinking": ["data"],
    "text": ["citations", "text"], "thinking": ["signature", "thinking"],
    "tool_use": ["caller", "id", "input", "name"],
    "server_tool_use": ["caller", "id", "input", "name"],
    "mcp_tool_use": ["id", "input", "name", "server_name"],
  ]

  /// Whether a block holds what a tool of the provider returned.
  private static func isResult(_ block: JSONObject) -> Bool {
    (block["type"]?.stringValue ?? "").hasSuffix("_tool_result")
      && block["tool_use_id"]?.stringValue != nil
  }

  /// A reply that comes in events.
  struct Assembly: Sendable {
    private struct Block: Sendable {
      var index: Int
      var start: JSONObject
      /// The text, what the model thinks, or the input of a call in pieces.
      var pieces = TextPieces()
      var signature = TextPieces()
    }

    private var blocks: [Block] = []
    private var unread = UnreadPlaces()
    private var usage: JSONObject = [:]
    private var stopReason: String?
    private var stopDetails: JSONValue?
    private var model: String?
    private var id: String?
    private(set) var error: ProviderError?
    private(set) var isStopped = false

    /// Whether everything is there that makes a reply.
    var isWhole: Bool { isStopped || stopReason != nil }

    /// Takes in an event; the text that it adds to the reply. Events and deltas that nobody knows say
    /// nothing.
    mutating func take(_ event: ServerSentEvent) throws(ReplyFault) -> JSONValue? {
      let data = try JSONValue.wire(event.data)
      let type = data["type"]?.stringValue ?? event.name
      if let keys = eventKeys[type] {
        unread.check(data, knowing: keys.union(["type"]), at: "/\(type)", texts: false)
      } else {
        unread.note("event \(type)")
      }
      switch type {
      case "message_start":
        let message = data["message"] ?? .null
        check(message: message)
        if message["content"]?.arrayValue?.isEmpty == false {
          unread.note("/message_start/content")
        }
        take(message: message)
      case "content_block_start":
        begin(data["content_block"] ?? .null, at: data["index"]?.intValue ?? blocks.count)
        return data["content_block"]?["type"] == "text" ? data["content_block"]?["text"] : nil
      case "content_block_delta":
        guard let index = data["index"]?.intValue,
          let place = blocks.lastIndex(where: { $0.index == index })
        else { throw .unknownForm("a delta belongs to no block") }
        return take(delta: data["delta"] ?? .null, at: place)
      case "message_delta":
        take(message: data["delta"] ?? .null)
        take(usage: data["usage"])
      case "message_stop": isStopped = true
      case "error": error = ProviderError(data["error"]) ?? ProviderError(message: "an error")
      default: break
      }
      return nil
    }

    /// What stands in a message beside its blocks.
    mutating func check(message: JSONValue) {
      unread.check(message, knowing: messageKeys, at: "", texts: false)
    }

    mutating func begin(_ block: JSONValue, at index: Int) {
      guard let start = block.objectValue else { return unread.note("/content/\(index)") }
      let type = start["type"]?.stringValue ?? ""
      // Some clients know blocks by their numbers, some by their order, and give a piece to another one.
      if let last = blocks.last, last.index >= index {
        unread.note("/content/\(index): begun behind block \(last.index)")
      }
      if let keys = blockKeys[type] {
        unread.check(
          block, knowing: keys.union(["cache_control", "type"]), at: "/content/\(index)")
      } else if !isResult(start) {
        unread.note("/content/\(index): \(type)")
      }
      var begun = Block(index: index, start: start)
      switch start["type"]?.stringValue {
      case "text"?: begun.pieces.append(start["text"])
      case "thinking"?:
        begun.pieces.append(start["thinking"])
        begun.signature.append(start["signature"])
      default: break
      }
      blocks.append(begun)
    }

    private mutating func take(delta: JSONValue, at place: Int) -> JSONValue? {
      let type = delta["type"]?.stringValue ?? ""
      if let keys = deltaKeys[type] {
        unread.check(
          delta, knowing: keys.union(["type"]), at: "/content/\(blocks[place].index)/delta")
      } else {
        unread.note("/content/\(blocks[place].index)/delta: \(type)")
      }
      switch type {
      case "text_delta":
        blocks[place].pieces.append(delta["text"])
        return delta["text"]
      case "input_json_delta": blocks[place].pieces.append(delta["partial_json"])
      case "thinking_delta": blocks[place].pieces.append(delta["thinking"])
      case "signature_delta": blocks[place].signature.append(delta["signature"])
      default: break
      }
      return nil
    }

    /// A message, the beginning of one, or what its end adds.
    mutating func take(message: JSONValue) {
      model = message["model"]?.stringValue ?? model
      id = message["id"]?.stringValue ?? id
      stopReason = message["stop_reason"]?.stringValue ?? stopReason
      stopDetails = message["stop_details"] ?? stopDetails
      take(usage: message["usage"])
    }

    /// What comes later is the sum, and leaves out what has not changed.
    private mutating func take(usage found: JSONValue?) {
      for member in found?.objectValue ?? [:] where !member.value.isNull {
        usage[member.key] = member.value
      }
    }

    private var tokens: TokenUsage? {
      guard !usage.isEmpty else { return nil }
      let fresh = TokenUsage.count(usage["input_tokens"])
      let read = TokenUsage.count(usage["cache_read_input_tokens"])
      let written = TokenUsage.count(usage["cache_creation_input_tokens"])
      return TokenUsage(
        input: fresh.map { $0 + (read ?? 0) + (written ?? 0) }, cachedInput: read,
        cacheWrite: written, output: TokenUsage.count(usage["output_tokens"]),
        reasoning: TokenUsage.count(usage["output_tokens_details"]?["thinking_tokens"])
          ?? TokenUsage.count(usage["output_tokens_details"]?["reasoning_tokens"]))
    }

    /// A call of a tool of the provider, with what a later block says came of it.
    private func ran(_ block: Block) -> RanCall {
      let (start, id) = (block.start, block.start["id"]?.stringValue)
      var name = start["name"]?.stringValue ?? ""
      if let server = start["server_name"]?.stringValue { name = "\(server).\(name)" }
      var ran = RanCall(id: id, name: name, input: start["input"] ?? .object([:]))
      if !block.pieces.isEmpty { ran.input = ObservedDraft.input(.string(block.pieces.text)) }
      let result = blocks.first {
        AnthropicMessages.isResult($0.start)
          && $0.start["tool_use_id"]?.stringValue?.hasSameUTF8(as: id ?? "") ?? false
      }
      if let result = result?.start {
        let content = result["content"] ?? .null
        let hasFailed =
          result["is_error"] == true || content["type"]?.stringValue?.hasSuffix("_error") ?? false
        ran.status = hasFailed ? "error" : "ok"
        ran.data = ObservedDraft.result(content)
      }
      return ran
    }

    var reply: ProviderReply {
      var draft = ReplyDraft()
      for block in blocks {
        switch block.start["type"]?.stringValue {
        case "text"?: draft.parts.append(.text(block.pieces))
        case "tool_use"?:
          draft.parts.append(
            .call(
              DraftCall(
                id: block.start["id"]?.stringValue, name: block.start["name"]?.stringValue,
                arguments: block.pieces, input: block.start["input"])))
        case "thinking"?:
          var thinking = block.start
          thinking["thinking"] = .string(block.pieces.text)
          thinking["signature"] = .string(block.signature.text)
          draft.parts.append(.reasoning(thinking))
        case "redacted_thinking"?: draft.parts.append(.reasoning(block.start))
        case "server_tool_use"?, "mcp_tool_use"?: draft.ran.append(ran(block))
        default: break
        }
      }
      draft.unread.note(unread)
      switch stopReason {
      case "max_tokens"?, "model_context_window_exceeded"?: draft.incomplete = stopReason
      case "pause_turn"?: draft.isPaused = true
      case "refusal"?:
        draft.refusal.append(stopDetails?["category"]?.stringValue ?? "refusal")
      default: break
      }
      var reply = ProviderReply(
        reply: draft.reply, finishReason: stopReason, usage: tokens, model: model, id: id,
        error: error)
      if draft.isPaused { reply.paused = blocks.map(Self.whole) }
      return reply
    }

    /// A block as it stands in a reply that is not streamed.
    private static func whole(_ block: Block) -> JSONValue {
      var whole = block.start
      switch whole["type"]?.stringValue {
      case "text"?: whole["text"] = .string(block.pieces.text)
      case "thinking"?:
        whole["thinking"] = .string(block.pieces.text)
        whole["signature"] = .string(block.signature.text)
      case "tool_use"?, "server_tool_use"?, "mcp_tool_use"?:
        if !block.pieces.isEmpty {
          whole["input"] = ObservedDraft.input(.string(block.pieces.text))
        }
      default: break
      }
      return .object(whole)
    }
  }
}
