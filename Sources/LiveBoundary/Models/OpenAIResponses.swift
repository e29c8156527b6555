import AgentRuntime
import AgentTrace

/// OpenAI's Responses, without anything kept by the server.
///
/// https://platform.openai.com/docs/api-reference/responses
enum OpenAIResponses {
  // MARK: Requests

  static func body(
    of prompt: ModelPrompt, model: String, _ settings: GenerationSettings, stream: Bool
  ) -> JSONObject {
    let arranged = prompt.arranged { isReasoning($0) }
    var body: JSONObject = [
      "model": .string(model), "input": .array(arranged.messages.flatMap(items)), "store": false,
    ]
    body["instructions"] = arranged.system.map(JSONValue.string)
    if !prompt.tools.isEmpty {
      body["tools"] = .array(prompt.tools.map(Self.tool))
      body["parallel_tool_calls"] = settings.parallelToolCalls.map { .bool($0) }
      switch settings.toolChoice {
      case nil: break
      case .auto?: body["tool_choice"] = "auto"
      case .none?: body["tool_choice"] = "none"
      case .required?: body["tool_choice"] = "required"
      case .tool(let name)?:
        body["tool_choice"] = [
          "type": "function", "name": .string(WireNames.wireName(ofTool: name)),
        ]
      }
    }
    body["max_output_tokens"] = settings.maxOutputTokens.map { JSONValue($0) }
    body["temperature"] = settings.temperature.map { JSONValue($0) }
    body["top_p"] = settings.topP.map { JSONValue($0) }
    if let reasoning = settings.reasoning {
      var wire = JSONObject()
      wire["effort"] = reasoning.effort.map(JSONValue.string)
      wire["summary"] = reasoning.summary.map(JSONValue.string)
      if !wire.isEmpty { body["reasoning"] = .object(wire) }
      // Without it, what the model thought cannot be sent back to a server that keeps nothing.
      body["include"] = ["reasoning.encrypted_content"]
    }
    if stream { body["stream"] = true }
    return body
  }

  private static func tool(_ tool: ToolDefinition) -> JSONValue {
    var wire: JSONObject = [
      "type": "function", "name": .string(WireNames.wireName(ofTool: tool.name)),
      "parameters": tool.inputSchema.schema, "strict": false,
    ]
    if !tool.description.isEmpty { wire["description"] = .string(tool.description) }
    return .object(wire)
  }

  private static func items(_ message: ModelPrompt.Message) -> [JSONValue] {
    message.parts.compactMap { part in
      switch part {
      case .text:
        return part.words.map {
          ["role": .string(message.role.rawValue), "content": .string($0)]
        }
      case .reasoning(let block): return .object(block)
      case .call(let id, let name, let input):
        return [
          "type": "function_call", "call_id": .string(WireNames.wireID(ofCall: id)),
          "name": .string(WireNames.wireName(ofTool: name)),
          "arguments": .string(CanonicalJSON.string(input, form: .plain)),
        ]
      case .result(let id, let data, let isError):
        return [
          "type": "function_call_output", "call_id": .string(WireNames.wireID(ofCall: id)),
          "output": .string((isError ? "Error: " : "") + data.plainText),
        ]
      }
    }
  }

  // MARK: Reasoning

  /// A server that keeps nothing knows what its model thought only by what it encrypted.
  private static func isReasoning(_ block: JSONObject) -> Bool {
    block["type"] == "reasoning" && block["encrypted_content"]?.stringValue != nil
      && !RedactionToken.isIn(.object(block))
  }

  // MARK: Replies

  static func reply(_ body: JSONValue) throws(ReplyFault) -> ProviderReply {
    guard let output = body["output"]?.arrayValue else { throw .unknownForm("it has no output") }
    return reply(body, output: output, UnreadPlaces())
  }

  private static func reply(
    _ response: JSONValue, output: [JSONValue], _ unread: UnreadPlaces
  ) -> ProviderReply {
    var draft = ReplyDraft()
    draft.unread = unread
    draft.unread.check(response, knowing: responseKeys, at: "", texts: false)
    for (index, item) in output.enumerated() { take(item, at: "/output/\(index)", into: &draft) }
    let status = response["status"]?.stringValue
    var reason = status
    if status == "incomplete" {
      reason = response["incomplete_details"]?["reason"]?.stringValue ?? status
      if reason == "content_filter" {
        if draft.refusal.isEmpty { draft.refusal.append("content_filter") }
      } else {
        draft.incomplete = reason
      }
    }
    var error = ProviderError(response["error"])
    switch status {
    case "failed"?, "cancelled"?, "in_progress"?, "queued"?:
      error = error ?? ProviderError(message: "the response is \(status ?? "")", type: status)
    default: break
    }
    return ProviderReply(
      reply: draft.reply, finishReason: reason, usage: usage(response["usage"]),
      model: response["model"]?.stringValue, id: response["id"]?.stringValue, error: error)
  }

  private static func take(_ item: JSONValue, at place: String, into draft: inout ReplyDraft) {
    let type = item["type"]?.stringValue ?? ""
    if let keys = itemKeys[type] {
      draft.unread.check(
        item, knowing: keys.union(["created_by", "id", "status", "type"]), at: place)
    }
    switch type {
    case "message":
      var text = TextPieces()
      for part in item["content"]?.arrayValue ?? [] {
        switch part["type"]?.stringValue {
        case "refusal"?: draft.refusal.append(part["refusal"])
        case "output_text"?, "text"?: text.append(part["text"])
        case let other: draft.unread.note("\(place)/content: \(other ?? "")")
        }
        draft.unread.check(part, knowing: partKeys, at: "\(place)/content")
      }
      if item["content"]?.arrayValue == nil, item["content"]?.isNull == false {
        draft.unread.note("\(place)/content")
      }
      draft.parts.append(.text(text))
    case "function_call", "custom_tool_call":
      var call = DraftCall(id: item["call_id"]?.stringValue, name: item["name"]?.stringValue)
      if type == "custom_tool_call" {
        call.input = ObservedDraft.textInput(item["input"])
      } else if case .object(let input)? = item["arguments"] {
        call.input = .object(input)
      } else {
        call.arguments.append(item["arguments"])
      }
      draft.parts.append(.call(call))
    case "mcp_approval_request":
      var call = DraftCall(id: item["id"]?.stringValue, name: OpenAIResponses.tool(of: item))
      call.arguments.append(item["arguments"])
      draft.parts.append(.call(call))
    case "reasoning": if let block = item.objectValue { draft.parts.append(.reasoning(block)) }
    case "compaction", "mcp_list_tools": break
    default: take(other: item, type, at: place, into: &draft)
    }
  }

  /// A call of one of the provider's own tools: `web_search_call` and the like. Those that have a `call_id`
  /// are for whoever asked to run, the others have run. What tools returned holds no call.
  private static func take(
    other item: JSONValue, _ type: String, at place: String, into draft: inout ReplyDraft
  ) {
    if isCall(item) {
      // A type that nobody knows may be any call; what can be read of it is told all the same.
      if !ownTools.contains(tool(ofType: type)) { draft.unread.note("\(place): \(type)") }
      if isForClient(item) {
        draft.parts.append(
          .call(
            DraftCall(
              id: item["call_id"]?.stringValue, name: tool(of: item), input: input(of: item))))
      } else {
        draft.ran.append(ran(item))
      }
    } else if item.objectValue == nil || !type.hasSuffix("_output") {
      draft.unread.note("\(place): \(type)")
    }
  }

  // MARK: Tools of the provider's own

  /// Whether an item is a call of a tool that the provider knows by itself.
  static func isCall(_ item: JSONValue) -> Bool {
    let type = item["type"]?.stringValue ?? ""
    return type.hasSuffix("_call") && type.utf8.count > 5
      && !["function_call", "custom_tool_call"].contains(type)
  }

  static func isForClient(_ item: JSONValue) -> Bool {
    item["call_id"]?.stringValue?.isEmpty == false && item["execution"] != "server"
  }

  /// The type without `_call`; of an MCP server `server.tool`.
  static func tool(of item: JSONValue) -> String {
    if let server = item["server_label"]?.stringValue, let name = item["name"]?.stringValue {
      return "\(server).\(name)"
    }
    return tool(ofType: item["type"]?.stringValue ?? "")
  }

  private static func tool(ofType type: String) -> String {
    type.hasSuffix("_call") ? String(type.dropLast(5)) : type
  }

  /// The provider's own tools that are known.
  private static let ownTools: Set<String> = [
    "apply_patch", "code_interpreter", "computer", "file_search", "image_generation", "local_shell",
    "mcp", "shell", "tool_search", "web_search",
  ]

  private static let resultKeys = ["output", "outputs", "results", "result"]

  /// What goes in: its arguments, or whatever the item says beside what came of it.
  static func input(of item: JSONValue) -> JSONValue {
    if let arguments = item["arguments"], !arguments.isNull {
      return ObservedDraft.input(arguments)
    }
    let others = [
      "acknowledged_safety_checks", "approval_request_id", "call_id", "created_by", "error",
      "execution", "id", "name", "pending_safety_checks", "server_label", "status", "type",
    ]
    return .object(ObservedDraft.others(item.objectValue ?? [:], than: others + resultKeys))
  }

  private static func ran(_ item: JSONValue) -> RanCall {
    var ran = RanCall(
      id: item["id"]?.stringValue, name: tool(of: item), input: input(of: item))
    ran.data = resultKeys.lazy.compactMap { item[$0] }.first { !$0.isNull } ?? .null
    if let error = item["error"], !error.isNull {
      (ran.status, ran.data) = ("error", error)
    } else {
      switch item["status"]?.stringValue {
      case "completed"?, nil: ran.status = "ok"
      case "failed"?: ran.status = "error"
      default: break
      }
    }
    return ran
  }

  // MARK: What is known of a reply

  private static let responseKeys: Set<String> = [
    "background", "billing", "completed_at", "content_filters", "conversation", "created_at",
    "error", "frequency_penalty", "id", "incomplete_details", "instructions", "max_output_tokens",
    "max_tool_calls", "metadata", "model", "moderation", "object", "output", "output_text",
    "parallel_tool_calls", "presence_penalty", "previous_response_id", "prompt", "prompt_cache_key",
    "prompt_cache_options", "prompt_cache_retention", "reasoning", "safety_identifier",
    "service_tier", "status", "store", "temperature", "text", "tool_choice", "tools",
    "top_logprobs", "top_p", "truncation", "usage", "user",
  ]
  private static let itemKeys: [String: Set<String>] = [
    "message": ["content", "phase", "role"],
    "function_call": ["arguments", "call_id", "caller", "name", "namespace", "thought_signature"],
    "custom_tool_call": ["call_id", "caller", "input", "name", "namespace"],
    "mcp_approval_request": ["arguments", "name", "server_label"],
  ]
  private static let partKeys: Set<String> = [
    "annotations", "logprobs", "parsed", "refusal", "text", "type",
  ]

  private static func usage(_ found: JSONValue?) -> TokenUsage? {
    guard let found, found.objectValue != nil else { return nil }
    return TokenUsage(
      input: TokenUsage.count(found["input_tokens"]),
      cachedInput: TokenUsage.count(found["input_tokens_details"]?["cached_tokens"]),
      cacheWrite: TokenUsage.count(found["input_tokens_details"]?["cache_write_tokens"]),
      output: TokenUsage.count(found["output_tokens"]),
      reasoning: TokenUsage.count(found["output_tokens_details"]?["reasoning_tokens"]))
  }

  /// A reply that comes in events: its last one holds the whole response.
  struct Assembly: Sendable {
    private var response: JSONValue?
    /// Items that are done, by their places: some servers leave them out of the last event.
    private var items: [(place: Int, item: JSONValue)] = []
    /// Events that are not known: they count where the last event does not hold the whole response.
    private var unknown = UnreadPlaces()
    private var told = ToldCalls()
    private(set) var error: ProviderError?

    /// Whether everything is there that makes a reply.
    var isWhole: Bool { response != nil }

    /// Takes in an event; the text that it adds to the reply. Events that nobody knows say nothing.
    mutating func take(_ event: ServerSentEvent) throws(ReplyFault) -> JSONValue? {
      // Some gateways end every stream as Chat Completions end.
      if event.data.elementsEqual("[DONE]".utf8) { return nil }
      let data = try JSONValue.wire(event.data)
      let type = data["type"]?.stringValue ?? event.name
      told.take(data, type)
      switch type {
      case "response.completed", "response.incomplete", "response.failed":
        guard let found = data["response"], found.objectValue != nil else {
          throw .unknownForm("the last event has no response")
        }
        response = found
      case "response.output_item.done":
        if let item = data["item"] {
          items.append((data["output_index"]?.intValue ?? items.count, item))
        } else {
          unknown.note("/response.output_item.done")
        }
      case "response.output_text.delta": return data["delta"]
      case "error":
        error =
          ProviderError(data["error"]) ?? ProviderError(data) ?? ProviderError(message: "an error")
      default: if !Self.isKnown(type) { unknown.note("event \(type)") }
      }
      return nil
    }

    /// Whether an event says something that stands whole in a later one, or nothing at all.
    private static func isKnown(_ type: String) -> Bool {
      if ["keepalive", "ping", "response.created", "response.in_progress", "response.queued"]
        .contains(type)
      {
        return true
      }
      let name = type.split(separator: ".").dropFirst().first ?? ""
      return type.hasPrefix("response.")
        && (name.hasSuffix("_call") || name.hasSuffix("_call_arguments")
          || name.hasSuffix("_call_code") || name.hasSuffix("_call_input")
          || [
            "audio", "content_part", "custom_tool_call_input", "mcp_list_tools", "output_item",
            "output_text", "reasoning", "reasoning_summary_part", "reasoning_summary_text",
            "reasoning_text", "refusal",
          ].contains(name))
    }

    var reply: ProviderReply {
      var output = response?["output"]?.arrayValue ?? []
      var unread = UnreadPlaces()
      if output.isEmpty {
        unread.note(unknown)
        output = items.enumerated().sorted {
          ($0.element.place, $0.offset) < ($1.element.place, $1.offset)
        }.map(\.element.item)
      }
      told.note(differencesFrom: output, in: &unread)
      output += told.missing(from: output)
      var reply = OpenAIResponses.reply(response ?? .null, output: output, unread)
      reply.error = error ?? reply.error
      return reply
    }
  }
}
