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
    return reply(body, output: output)
  }

  private static func reply(_ response: JSONValue, output: [JSONValue]) -> ProviderReply {
    var draft = ReplyDraft()
    for item in output { take(item, into: &draft) }
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

  private static func take(_ item: JSONValue, into draft: inout ReplyDraft) {
    switch item["type"]?.stringValue {
    case "message"?:
      var text = TextPieces()
      for part in item["content"]?.arrayValue ?? [] {
        if part["type"] == "refusal" {
          draft.refusal.append(part["refusal"])
        } else {
          text.append(part["text"])
        }
      }
      draft.parts.append(.text(text))
    case "function_call"?:
      var call = DraftCall(id: item["call_id"]?.stringValue, name: item["name"]?.stringValue)
      call.arguments.append(item["arguments"])
      draft.parts.append(.call(call))
    case "reasoning"?: if let block = item.objectValue { draft.parts.append(.reasoning(block)) }
    default: break
    }
  }

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
    private(set) var error: ProviderError?

    /// Whether everything is there that makes a reply.
    var isWhole: Bool { response != nil }

    /// Takes in an event; the text that it adds to the reply. Events that nobody knows say nothing.
    mutating func take(_ event: ServerSentEvent) throws(ReplyFault) -> JSONValue? {
      // Some gateways end every stream as Chat Completions end.
      if event.data.elementsEqual("[DONE]".utf8) { return nil }
      let data = try JSONValue.wire(event.data)
      switch data["type"]?.stringValue ?? event.name {
      case "response.completed", "response.incomplete", "response.failed":
        guard let found = data["response"], found.objectValue != nil else {
          throw .unknownForm("the last event has no response")
        }
        response = found
      case "response.output_item.done":
        if let item = data["item"] {
          items.append((data["output_index"]?.intValue ?? items.count, item))
        }
      case "response.output_text.delta": return data["delta"]
      case "error":
        error =
          ProviderError(data["error"]) ?? ProviderError(data) ?? ProviderError(message: "an error")
      default: break
      }
      return nil
    }

    var reply: ProviderReply {
      var output = response?["output"]?.arrayValue ?? []
      if output.isEmpty {
        output = items.enumerated().sorted {
          ($0.element.place, $0.offset) < ($1.element.place, $1.offset)
        }.map(\.element.item)
      }
      var reply = OpenAIResponses.reply(response ?? .null, output: output)
      reply.error = error ?? reply.error
      return reply
    }
  }
}
