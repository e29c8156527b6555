import AgentRuntime
import AgentTrace

/// OpenAI's Chat Completions, and what other servers make of it.
///
/// https://platform.openai.com/docs/api-reference/chat
enum ChatCompletions {
  // MARK: Requests

  static func body(
    of prompt: ModelPrompt, model: String, _ settings: GenerationSettings, stream: Bool,
    isOpenAI: Bool
  ) -> JSONObject {
    let arranged = prompt.arranged { isReasoning($0) }
    var messages: [JSONValue] = []
    if let system = arranged.system {
      messages.append(["role": "system", "content": .string(system)])
    }
    messages += arranged.messages.flatMap(Self.messages)
    var body: JSONObject = ["model": .string(model), "messages": .array(messages)]
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
          "type": "function", "function": ["name": .string(WireNames.wireName(ofTool: name))],
        ]
      }
    }
    // OpenAI's newer models refuse the older key; most other servers know no other.
    body[isOpenAI ? "max_completion_tokens" : "max_tokens"] = settings.maxOutputTokens.map {
      JSONValue($0)
    }
    body["temperature"] = settings.temperature.map { JSONValue($0) }
    body["top_p"] = settings.topP.map { JSONValue($0) }
    body["seed"] = settings.seed.map { JSONValue($0) }
    if !settings.stop.isEmpty { body["stop"] = JSONValue(settings.stop) }
    body["reasoning_effort"] = settings.reasoning?.effort.map(JSONValue.string)
    if stream {
      body["stream"] = true
      body["stream_options"] = ["include_usage": true]
    }
    return body
  }

  static func tool(_ tool: ToolDefinition) -> JSONValue {
    var function: JSONObject = [
      "name": .string(WireNames.wireName(ofTool: tool.name)), "parameters": tool.inputSchema.schema,
    ]
    if !tool.description.isEmpty { function["description"] = .string(tool.description) }
    return ["type": "function", "function": .object(function)]
  }

  private static func messages(of message: ModelPrompt.Message) -> [JSONValue] {
    message.role == .assistant ? [assistant(message.parts)] : user(message.parts)
  }

  private static func assistant(_ parts: [ModelPrompt.Part]) -> JSONValue {
    // Beside calls it may be `null` or missing by the book, but not with every server.
    let text = parts.compactMap(\.words).joined(separator: "\n\n")
    var message: JSONObject = ["role": "assistant", "content": .string(text)]
    var calls: [JSONValue] = []
    for part in parts {
      switch part {
      case .reasoning(let block): for field in block { message[field.key] = field.value }
      case .call(let id, let name, let input):
        calls.append([
          "id": .string(WireNames.wireID(ofCall: id)), "type": "function",
          "function": [
            "name": .string(WireNames.wireName(ofTool: name)),
            "arguments": .string(CanonicalJSON.string(input, form: .plain)),
          ],
        ])
      default: break
      }
    }
    if !calls.isEmpty { message["tool_calls"] = .array(calls) }
    return .object(message)
  }

  private static func user(_ parts: [ModelPrompt.Part]) -> [JSONValue] {
    var messages: [JSONValue] = []
    for case .result(let id, let data, let isError) in parts {
      messages.append([
        "role": "tool", "tool_call_id": .string(WireNames.wireID(ofCall: id)),
        "content": .string((isError ? "Error: " : "") + data.plainText),
      ])
    }
    let text = parts.compactMap(\.words).joined(separator: "\n\n")
    if !text.isEmpty { messages.append(["role": "user", "content": .string(text)]) }
    return messages
  }

  // MARK: Reasoning

  /// What servers call it that say what their model thought; none of it is OpenAI's.
  private static let reasoningKeys = ["reasoning", "reasoning_content", "reasoning_details"]

  private static func isReasoning(_ block: JSONObject) -> Bool {
    !block.isEmpty && block.allSatisfy { reasoningKeys.contains($0.key) }
  }

  // MARK: Replies

  static func reply(_ body: JSONValue) throws(ReplyFault) -> ProviderReply {
    guard let choices = body["choices"]?.arrayValue else { throw .unknownForm("it has no choices") }
    var assembly = Assembly()
    assembly.take(head: body)
    // A reply has one choice, the first, unless more were asked for.
    let first = choices.firstIndex { $0["index"]?.intValue ?? 0 == 0 } ?? choices.startIndex
    for (place, choice) in choices.enumerated() {
      guard place == first else {
        assembly.pass(place)
        continue
      }
      assembly.take(choice: choice, unreadKey: "delta")
      assembly.take(message: choice["message"] ?? .null, isWhole: true)
      assembly.take(finish: choice["finish_reason"])
    }
    return assembly.reply
  }

  // MARK: What is known of a reply

  /// Beside the choices. Servers add much here; none of it holds calls.
  private static let headKeys: Set<String> = [
    "choices", "citations", "created", "error", "id", "images", "kv_transfer_params", "metadata",
    "model", "object", "prompt_filter_results", "prompt_logprobs", "prompt_token_ids", "provider",
    "related_questions", "search_results", "service_tier", "stats", "system_fingerprint", "timings",
    "usage", "usage_breakdown", "videos", "warnings", "x_groq",
  ]
  private static let choiceKeys: Set<String> = [
    "content_filter_offsets", "content_filter_result", "content_filter_results", "delta", "error",
    "finish_reason", "index", "logprobs", "matched_stop", "message", "native_finish_reason", "seed",
    "stop_reason", "token_ids",
  ]
  private static let messageKeys: Set<String> = [
    "annotations", "audio", "citations", "content", "context", "function_call", "images", "name",
    "prefix", "reasoning", "reasoning_content", "reasoning_details", "refusal", "role",
    "tool_call_id", "tool_calls",
  ]
  private static let callKeys: Set<String> = [
    "custom", "extra_content", "function", "id", "index", "thought_signature", "type",
  ]
  private static let functionKeys: Set<String> = [
    "arguments", "input", "name", "thought_signature",
  ]
  /// Parts of a content that hold no call.
  private static let contentTypes: Set<String> = [
    "audio", "image_url", "reference", "refusal", "text", "thinking",
  ]

  /// A reply that comes in chunks.
  struct Assembly: Sendable {
    private var content = TextPieces()
    private var refusal = TextPieces()
    private var reasoning: [(key: String, text: TextPieces)] = []
    private var details: [JSONValue] = []
    private var calls: [(index: Int?, call: DraftCall)] = []
    private var hasToolCalls = false
    /// The one call of the form before there were several; `nil` where nothing is said of it.
    private var old: DraftCall?
    private var unread = UnreadPlaces()
    private var otherChoices: Set<Int> = []
    private var finishReason: String?
    private var usage: TokenUsage?
    private var model: String?
    private var id: String?
    private(set) var error: ProviderError?
    private(set) var isDone = false

    /// Whether everything is there that makes a reply.
    var isWhole: Bool { isDone || finishReason != nil }

    /// Takes in an event; the text that it adds to the reply.
    mutating func take(_ event: ServerSentEvent) throws(ReplyFault) -> JSONValue? {
      if event.data.elementsEqual("[DONE]".utf8) {
        isDone = true
        return nil
      }
      let chunk = try JSONValue.wire(event.data)
      guard chunk.objectValue != nil else { throw .unknownForm("a chunk is no object") }
      take(head: chunk)
      guard let choices = chunk["choices"]?.arrayValue else {
        if chunk["choices"]?.isNull == false { unread.note("/choices") }
        if error == nil, event.name.hasSameUTF8(as: "error") { error = ProviderError(chunk) }
        return nil
      }
      var told = TextPieces()
      for choice in choices {
        let index = choice["index"]?.intValue ?? 0
        guard index == 0 else {
          pass(index)
          continue
        }
        let isPiece = choice["delta"].map { !$0.isNull } ?? false
        take(choice: choice, unreadKey: isPiece ? "message" : "delta")
        let delta = choice[isPiece ? "delta" : "message"] ?? .null
        take(message: delta, isWhole: false)
        take(finish: choice["finish_reason"])
        told.append(delta["content"])
      }
      return .string(told.text)
    }

    /// A choice beyond the first: whoever asked for several may act on any of them.
    mutating func pass(_ index: Int) {
      if otherChoices.count < 1_000 { otherChoices.insert(index) }
    }

    /// What stands in a choice beside its message.
    ///
    /// - Parameter unreadKey: where a message would stand if the choice were of the other form, and is not read.
    mutating func take(choice: JSONValue, unreadKey: String) {
      unread.check(choice, knowing: choiceKeys.subtracting([unreadKey]), at: "/choices/0")
    }

    /// What stands beside the choices.
    mutating func take(head: JSONValue) {
      unread.check(head, knowing: headKeys, at: "", texts: false)
      if let found = ProviderError(head["error"]) { error = found }
      model = head["model"]?.stringValue ?? model
      id = head["id"]?.stringValue ?? id
      guard let found = head["usage"]?.objectValue else { return }
      usage = TokenUsage(
        input: TokenUsage.count(found["prompt_tokens"]),
        cachedInput: TokenUsage.count(found["prompt_tokens_details"]?["cached_tokens"]),
        cacheWrite: TokenUsage.count(found["prompt_tokens_details"]?["cache_write_tokens"]),
        output: TokenUsage.count(found["completion_tokens"]),
        reasoning: TokenUsage.count(found["completion_tokens_details"]?["reasoning_tokens"]))
    }

    mutating func take(finish: JSONValue?) {
      if let reason = finish?.stringValue { finishReason = reason }
    }

    /// A message, or a piece of one.
    mutating func take(message: JSONValue, isWhole: Bool) {
      unread.check(message, knowing: messageKeys, at: "/choices/0/message")
      switch message["content"] {
      case .array(let parts)?:
        for part in parts {
          if part["type"] == "text" || part["text"]?.stringValue != nil {
            content.append(part["text"])
          }
          let type = part["type"]?.stringValue ?? "text"
          if part.objectValue == nil || !contentTypes.contains(type) {
            unread.note("/choices/0/message/content: \(type)")
          }
        }
      case .object?: unread.note("/choices/0/message/content")
      case let text: content.append(text)
      }
      refusal.append(message["refusal"])
      for key in ["reasoning_content", "reasoning"] {
        var piece = TextPieces()
        piece.append(message[key])
        guard !piece.isEmpty else { continue }
        if let index = reasoning.firstIndex(where: { $0.key == key }) {
          reasoning[index].text.append(piece)
        } else {
          reasoning.append((key, piece))
        }
      }
      for detail in message["reasoning_details"]?.arrayValue ?? [] { take(detail: detail) }
      for key in ["tool_calls", "function_call"] {
        let isRead =
          key == "tool_calls"
          ? message[key]?.arrayValue != nil : message[key]?.objectValue != nil
        if message[key]?.isNull == false, !isRead { unread.note("/choices/0/message/\(key)") }
      }
      for (position, call) in (message["tool_calls"]?.arrayValue ?? []).enumerated() {
        take(call: call, index: isWhole ? position : call["index"]?.intValue)
      }
      // The form before there were several calls; some servers send both, in each piece.
      hasToolCalls = hasToolCalls || !(message["tool_calls"]?.arrayValue ?? []).isEmpty
      guard let call = message["function_call"], call.objectValue != nil else { return }
      take(old: call)
      if !hasToolCalls { take(call: ["function": call], index: 0) }
    }

    /// The call of the old form, or a piece of it, to be held against the calls that are read.
    private mutating func take(old call: JSONValue) {
      var taken = old ?? DraftCall()
      if let name = call["name"]?.stringValue, !name.isEmpty,
        taken.name?.hasSameUTF8(as: name) != true
      {
        taken.name = ((taken.name ?? "") + name).prefix(utf8Bytes: 1_024)
      }
      if case .object(let input)? = call["arguments"] { taken.input = .object(input) }
      taken.arguments.append(call["arguments"])
      if taken.name != nil || taken.input != nil || !taken.arguments.isEmpty { old = taken }
    }

    /// Pieces of one detail are told apart from the next by their type and index.
    private mutating func take(detail: JSONValue) {
      guard let piece = detail.objectValue else { return }
      guard var last = details.last?.objectValue, last["type"] == piece["type"],
        last["index"] == piece["index"], piece["index"] != nil
      else { return details.append(detail) }
      for member in piece {
        switch (last[member.key], member.value) {
        case (.string(let text)?, .string(let more))
        where ["text", "summary", "data"].contains(member.key):
          last[member.key] = .string(text + more)
        case (_, .null): break
        case (_, let value): last[member.key] = value
        }
      }
      details[details.count - 1] = .object(last)
    }

    /// A call, or a piece of one. Pieces belong together by their index; some servers leave it out, or
    /// give each call the same one and an id of its own.
    private mutating func take(call: JSONValue, index: Int?) {
      let forms = [call["function"], call["custom"]].compactMap { $0 }.filter { !$0.isNull }
      let function = forms.first ?? .null
      let path = "/choices/0/message/tool_calls/\(index ?? calls.count)"
      if forms.count > 1 { unread.note("\(path): function and custom") }
      unread.check(call, knowing: callKeys, at: path)
      unread.check(function, knowing: functionKeys, at: "\(path)/function")
      if let type = call["type"]?.stringValue, !["", "function", "custom"].contains(type) {
        unread.note("\(path): \(type)")
      }
      let id = call["id"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
      let name = function["name"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
      var place = calls.lastIndex { $0.index == index }
      if index == nil { place = name == nil ? calls.indices.last : nil }
      if let found = place, let id, let known = calls[found].call.id, name != nil,
        !known.hasSameUTF8(as: id)
      {
        place = nil
      }
      if place == nil {
        calls.append((index, DraftCall()))
        place = calls.count - 1
      }
      guard let place else { return }
      calls[place].call.id = calls[place].call.id ?? id
      take(name: name, of: place, at: path)
      if call["custom"] != nil { calls[place].call.isOfText = true }
      let inputs = [function["arguments"], function["input"]].compactMap { $0 }
        .filter { !$0.isNull }
      if inputs.count > 1, inputs[0] != inputs[1] {
        unread.note("\(path)/function: arguments and input")
      }
      switch inputs.first {
      case .object(let input)?:
        if let known = calls[place].call.input, known != .object(input) {
          unread.note("\(path)/function/arguments: several values")
        }
        calls[place].call.input = .object(input)
      case .string(let text)?: calls[place].call.arguments.append(text)
      case .bytes(let text)?: calls[place].call.arguments.append(.bytes(text))
      case nil: break
      default: unread.note("\(path)/function/arguments")
      }
    }

    /// A name, or a piece of one. Some servers say the whole name with each piece of a call; clients that join whatever
    /// comes in pieces call by another name than those that take the first.
    private mutating func take(name: String?, of place: Int, at path: String) {
      guard let name else { return }
      guard let known = calls[place].call.name else {
        calls[place].call.name = name
        return
      }
      guard !known.hasSameUTF8(as: name) else { return }
      unread.note("\(path)/function/name: in pieces")
      calls[place].call.name = (known + name).prefix(utf8Bytes: 1_024)
    }

    var reply: ProviderReply {
      var draft = ReplyDraft()
      var block = JSONObject()
      for (key, text) in reasoning { block[key] = .string(text.text) }
      if !details.isEmpty { block["reasoning_details"] = .array(details) }
      if !block.isEmpty { draft.parts.append(.reasoning(block)) }
      draft.parts.append(.text(content))
      draft.parts += calls.map { .call($0.call) }
      draft.refusal = refusal
      draft.unread = unread
      if hasToolCalls, let old, !calls.contains(where: { $0.call.isSame(as: old) }) {
        draft.unread.note("/choices/0/message/function_call: another call beside tool_calls")
      }
      draft.otherChoices = otherChoices.count
      switch finishReason {
      case "length"?: draft.incomplete = finishReason
      case "content_filter"? where draft.refusal.isEmpty: draft.refusal.append("content_filter")
      default: break
      }
      return ProviderReply(
        reply: draft.reply, finishReason: finishReason, usage: usage, model: model, id: id,
        error: error)
    }
  }
}

extension JSONValue {
  /// A schema as providers take it: an object, for they know no `true`.
  var schema: JSONValue { objectValue == nil ? ["type": "object"] : self }
}
