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

  /// Whether an item is a call that whoever asked is to run, or to allow.
  static func isCallOfClient(_ item: JSONValue) -> Bool {
    switch item["type"]?.stringValue {
    case "function_call"?, "custom_tool_call"?, "mcp_approval_request"?: true
    default: isCall(item) && isForClient(item)
    }
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
    /// Items that may be calls, as they were when they began or were done.
    private var met: [JSONValue] = []
    private var unread = UnreadPlaces()
    private var told = ToldCalls()
    private(set) var error: ProviderError?

    /// Whether everything is there that makes a reply.
    var isWhole: Bool { response != nil }

    /// Takes in an event; the text that it adds to the reply.
    mutating func take(_ event: ServerSentEvent) throws(ReplyFault) -> JSONValue? {
      // Some gateways end every stream as Chat Completions end.
      if event.data.elementsEqual("[DONE]".utf8) { return nil }
      let data = try JSONValue.wire(event.data)
      let type = data["type"]?.stringValue ?? event.name
      check(data, type)
      told.take(data, type)
      if type.hasPrefix("response.output_item."), let item = data["item"] { meet(item) }
      switch type {
      case "response.completed", "response.incomplete", "response.failed":
        guard let found = data["response"], found.objectValue != nil else {
          throw .unknownForm("the last event has no response")
        }
        if let response, response != found { unread.note("several last events") }
        response = found
      case "response.output_item.done":
        if let item = data["item"] {
          items.append((data["output_index"]?.intValue ?? items.count, item))
        } else {
          unread.note("/response.output_item.done")
        }
      case "response.output_text.delta": return data["delta"]
      case "error":
        error =
          ProviderError(data["error"]) ?? ProviderError(data) ?? ProviderError(message: "an error")
      default: break
      }
      return nil
    }

    /// What no event of a known type holds but in numbers and texts, beside what is read of it.
    private static let eventKeys: Set<String> = [
      "annotation", "error", "item", "logprobs", "part", "response",
    ]

    /// Notes an event that nobody knows, and what stands in one that is known under keys that are not.
    private mutating func check(_ data: JSONValue, _ type: String) {
      guard Self.isKnown(type) else { return unread.note("event \(type)") }
      unread.check(data, knowing: Self.eventKeys, at: "/\(type)", texts: false)
    }

    /// Whether an event says something that stands whole in a later one, or nothing at all.
    private static func isKnown(_ type: String) -> Bool {
      if ["error", "keepalive", "ping"].contains(type) { return true }
      guard type.hasPrefix("response.") else { return false }
      let steps = type.split(separator: ".", omittingEmptySubsequences: false).dropFirst()
      guard let name = steps.first.map(String.init) else { return false }
      if steps.count == 1 { return states.contains(name) }
      let word = steps.dropFirst().joined(separator: ".")
      return pieces[name]?.contains(word) ?? false
    }

    /// How many items are compared with those of the response: beyond that it is said that they were not.
    private static let metLimit = 1_000

    private mutating func meet(_ item: JSONValue) {
      guard Self.mayBeCall(item) else { return }
      guard met.count < Self.metLimit else {
        return unread.note("a stream of more than \(Self.metLimit) items")
      }
      met.append(item)
    }

    /// What becomes of a response.
    private static let states: Set<String> = [
      "cancelled", "completed", "created", "failed", "in_progress", "incomplete", "queued",
    ]

    private static let delta: Set<String> = ["delta", "done"]
    private static let part: Set<String> = ["added", "done"]
    private static let progress: Set<String> = ["completed", "failed", "in_progress"]

    /// What is told of the parts of a response, and in which words.
    private static let pieces: [String: Set<String>] = [
      "apply_patch_call": progress, "apply_patch_call_operation_diff": delta,
      "audio": ["delta", "done", "transcript.delta", "transcript.done"],
      "code_interpreter_call": progress.union(["code.delta", "code.done", "interpreting"]),
      "code_interpreter_call_code": delta, "compaction": progress, "computer_call": progress,
      "content_part": part, "custom_tool_call_input": delta,
      "file_search_call": progress.union(["searching"]), "function_call_arguments": delta,
      "image_generation_call": progress.union(["generating", "partial_image"]),
      "local_shell_call": progress,
      "mcp_call": progress.union([
        "arguments.delta", "arguments.done", "arguments_delta", "arguments_done",
      ]), "mcp_call_arguments": delta, "mcp_list_tools": progress, "output_item": part,
      "output_text": delta.union(["annotation.added"]), "output_text_annotation": ["added"],
      "reasoning": delta, "reasoning_part": part, "reasoning_summary": delta,
      "reasoning_summary_part": part, "reasoning_summary_text": delta, "reasoning_text": delta,
      "refusal": delta, "shell_call": progress, "shell_call_command": delta.union(["added"]),
      "shell_call_output_content": delta, "tool_search_call": progress.union(["searching"]),
      "web_search_call": progress.union(["searching"]),
    ]

    /// Whether an item may be a call, beside those whose events are compared with the response.
    private static func mayBeCall(_ item: JSONValue) -> Bool {
      let type = item["type"]?.stringValue ?? ""
      return !ToldCalls.isCall(item)
        && !["compaction", "mcp_list_tools", "message", "reasoning"].contains(type)
        && !type.hasSuffix("_output")
    }

    private static func isSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
      left == right
        || left["id"] != nil && left["id"] == right["id"] && left["type"] == right["type"]
    }

    var reply: ProviderReply {
      var output = response?["output"]?.arrayValue ?? []
      var unread = unread
      if output.isEmpty {
        output = items.enumerated().sorted {
          ($0.element.place, $0.offset) < ($1.element.place, $1.offset)
        }.map(\.element.item)
      }
      for item in met where !output.contains(where: { Self.isSame($0, item) }) {
        unread.note(
          "a stream’s \(item["type"]?.stringValue ?? "item") that the response does not hold")
      }
      told.note(differencesFrom: output, in: &unread)
      output += told.missing(from: output)
      var reply = OpenAIResponses.reply(response ?? .null, output: output, unread)
      reply.error = error ?? reply.error
      return reply
    }
  }
}
