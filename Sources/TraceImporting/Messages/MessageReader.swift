import AgentTrace

/// Reads one message in the shape of any interface or framework that is known: OpenAI's chat and Responses,
/// Anthropic, Gemini, Bedrock's Converse, OpenTelemetry's parts, LangChain, pydantic-ai, AutoGen, the AI SDK,
/// smolagents. Docs/importing.md lists them.
enum MessageReader {
  /// The messages that a value holds: mostly one; `nil` where it has the shape of none.
  static func read(_ value: JSONValue, at pointer: JSONPointer) -> [ReadMessage]? {
    if let pair = value.arrayValue { return tuple(pair, value, at: pointer).map { [$0] } }
    guard let object = value.objectValue else { return nil }
    if let inner = object["message"]?.objectValue, inner["role"] != nil, object["role"] == nil,
      object.count <= 4 || object["finish_reason"] != nil
    {
      var messages = wrapped(inner, in: object, at: pointer)
      // A choice says beside its message how that ended.
      if let last = messages?.indices.last, messages?[last].finish == nil {
        messages?[last].finish = finish(of: object)
      }
      return messages
    }
    if isSplit(object), var inner = object["message"]?.objectValue {
      inner["role"] = object["role"]
      return wrapped(inner, in: object, at: pointer)
    }
    if let dumped = LangChainMessages.unwrapped(value) {
      return read(dumped, at: pointer.appending(value["lc"] == nil ? "data" : "kwargs"))
    }
    if let removal = LangChainMessages.removal(object, value, at: pointer) { return [removal] }
    if let message = PydanticMessages.read(object, value, at: pointer) { return message }
    if let message = AutoGenMessages.read(object, value, at: pointer) { return [message] }
    if let item = ResponsesItems.read(object, value, at: pointer) { return [item] }
    guard let roleName = roleName(of: object) else { return nil }
    let message = plain(object, value, roleName: roleName, at: pointer)
    return UIMessages.split(message, object) ?? [message]
  }

  /// The messages that stand under `message`; what stands beside that may be calls, or say what became of them.
  private static func wrapped(
    _ inner: JSONObject, in object: JSONObject, at pointer: JSONPointer
  ) -> [ReadMessage]? {
    guard var messages = read(.object(inner), at: pointer.appending("message")) else { return nil }
    for member in object where member.key != "role" && member.key != "message" {
      if member.key == "toolCallStates", !messages.isEmpty,
        let outcomes = ContinueStates.outcomes(in: member.value)
      {
        messages[0].outcomes = outcomes
        continue
      }
      if !UnknownMember.isHarmless(member.key, member.value, quiet: quiet), !messages.isEmpty {
        messages[0].unread.append(pointer.appending(member.key))
      }
    }
    return messages
  }

  /// Whether an object is a message whose role stands beside it, `{"role","message":{"content"}}`, as Cursor keeps them. A
  /// tool's is none: which call it answers may stand beside it as well.
  static func isSplit(_ object: JSONObject) -> Bool {
    let role = object["role"]?.stringValue.flatMap(role)
    return (role == .user || role == .assistant) && object["content"] == nil
      && object["parts"] == nil && object["message"]?["content"] != nil
      && object["message"]?["role"] == nil
  }

  /// LangChain's short form, `["user", "text"]`.
  private static func tuple(
    _ pair: [JSONValue], _ value: JSONValue, at pointer: JSONPointer
  ) -> ReadMessage? {
    guard pair.count == 2, let name = pair[0].stringValue, pair[1].stringValue != nil,
      let role = role(name), role != .tool
    else { return nil }
    var message = ReadMessage(role: role, roleName: name, pointer: pointer, raw: value)
    message.add(text: pair[1])
    return message
  }

  private static func roleName(of object: JSONObject) -> String? {
    if let role = object["role"]?.stringValue { return role }
    // LangChain's own dumps name the role as type.
    guard let type = object["type"]?.stringValue, object["content"] != nil,
      LangChainMessages.types.contains(type)
    else { return nil }
    return type
  }

  /// The role that a word means; `nil` where it is none.
  static func role(_ name: String) -> ReadMessage.Role? {
    switch name {
    case "system", "developer", "SystemMessage": .system
    case "user", "human", "User", "HumanMessage", "USER": .user
    case "assistant", "ai", "model", "AIMessage", "AIMessageChunk", "ASSISTANT", "Assistant",
      "MODEL",
      "tool-call":
      .assistant
    case "tool", "function", "toolResult", "tool_result", "ToolMessage", "tool-response", "TOOL":
      .tool
    default: nil
    }
  }

  // MARK: Messages with a role

  private static let read: Set<String> = [
    "role", "type", "content", "contents", "parts", "tool_calls", "toolCalls", "function_call",
    "invalid_tool_calls", "tool_call_chunks", "tool_call_id", "toolCallId", "name", "refusal",
    "tool_name", "toolName", "additional_kwargs", "is_error", "isError", "status",
    "toolInvocations",
    "error", "tool_call_error",
  ]
  private static let quiet: Set<String> = [
    "usage", "usage_metadata", "usageMetadata", "response_metadata", "metadata", "annotations",
    "logprobs", "citations", "provider_details", "provider_data", "provider_specific_fields",
    "token_usage", "tokenUsage", "tokens", "cache_control", "reasoning", "reasoning_details",
    "thinking_blocks", "thoughts", "audio", "images", "parsed", "extra", "tags", "metrics", "cost",
    "providerMetadata", "providerOptions", "experimental_attachments", "attachments", "artifact",
    "content_blocks", "timing", "stop_details", "context_management", "diagnostics", "container",
    "safetyRatings", "groundingMetadata", "details", "meta", "thinking", "file_ids", "example",
    "phase", "generation_info", "generationInfo", "contextItems", "tool_args",
    "state", "userState",
  ]

  private static func plain(
    _ object: JSONObject, _ value: JSONValue, roleName: String, at pointer: JSONPointer
  ) -> ReadMessage {
    let object = listingCalls(object)
    let known = role(roleName)
    var message = ReadMessage(
      role: known ?? .other, roleName: roleName, pointer: pointer, raw: value)
    if known == nil { message.unread.append(pointer.appending("role")) }
    message.isFromFramework = object["role"] == nil
    let isTool = message.role == .tool
    if !isTool || holdsResults(object) {
      readContent(of: object, at: pointer, into: &message)
    }
    if let error = object["refusal"]?.stringValue, !error.isEmpty {
      message.isRefusal = true
      if message.text == nil { message.add(text: .string(error)) }
    }
    readCalls(of: object, at: pointer, into: &message)
    if isTool, message.results.isEmpty { readResult(of: object, at: pointer, into: &message) }
    // Only a result says which call it answers: under another role it may be one all the same.
    for key in ["tool_call_id", "toolCallId"] where message.role == .assistant {
      if object[key]?.saysNothing == false { message.unread.append(pointer.appending(key)) }
    }
    readAround(object, at: pointer, into: &message)
    return message
  }

  /// With the calls as a list that are the text of a reply which says that it ended with calls, as Koog writes them.
  private static func listingCalls(_ object: JSONObject) -> JSONObject {
    guard let finish = finish(of: object),
      CallGraph.endsWithCalls.contains(JSONValue.plainKey(finish)), object["tool_calls"] == nil,
      let list = object["content"]?.stringValue.flatMap(JSONText.parse),
      let calls = list.arrayValue,
      !calls.isEmpty,
      calls.allSatisfy({ call in
        call["type"] == "function" && call["id"]?.stringValue != nil
          && call["function"]?["name"]?.stringValue != nil
      })
    else { return object }
    var listed = object
    listed["content"] = nil
    listed["tool_calls"] = list
    return listed
  }

  /// Whether a tool's message has its results as parts, rather than as its content.
  private static func holdsResults(_ object: JSONObject) -> Bool {
    guard object["tool_call_id"]?.stringValue == nil, object["toolCallId"]?.stringValue == nil
    else {
      return false
    }
    for key in partKeys(of: object) {
      guard let parts = object[key]?.arrayValue else { continue }
      return parts.contains { part in
        let type = PartReader.type(of: part) ?? ""
        return [
          "tool_call_response", "server_tool_call_response", "tool-result", "tool_result",
          "tool-return", "tool_call", "function_response", "function_result",
        ].contains(type)
          || [
            "toolResult", "functionResponse", "function_response", "tool_result",
            "tool_call_result",
          ].contains { part[$0] != nil }
      }
    }
    return false
  }

  /// The keys under which a message's parts may stand; Semantic Kernel's, which say that they are messages, have `items`.
  private static func partKeys(of object: JSONObject) -> [String] {
    let keys = ["parts", "contents", "content"]
    return isOfKernel(object) ? keys + ["items"] : keys
  }

  /// Whether an object is a message of Semantic Kernel's.
  static func isOfKernel(_ object: JSONObject) -> Bool {
    object["content_type"] == "message" && object["items"]?.arrayValue != nil
  }

  private static func readContent(
    of object: JSONObject, at pointer: JSONPointer, into message: inout ReadMessage
  ) {
    // The same text stands under several keys in flattened lists.
    let keys = partKeys(of: object)
    for key in keys {
      guard let content = object[key], !content.saysNothing else { continue }
      switch content {
      case .string, .cut: message.add(text: content)
      case .bytes(let raw):
        message.add(text: content)
        if raw.first == UInt8(ascii: "{") { message.unread.append(pointer.appending(key)) }
      case .array(let parts):
        PartReader.take(parts, below: pointer.appending(key), into: &message)
      case .object(let inner):
        if inner["parts"] != nil {
          readContent(of: inner, at: pointer.appending(key), into: &message)
        } else {
          PartReader.take(content, at: pointer.appending(key), into: &message)
        }
      default: message.unread.append(pointer.appending(key))
      }
      guard !message.isEmpty else { continue }
      // The others say the same, or nobody read what they say.
      for other in keys
      where other != key && message.calls.isEmpty && message.results.isEmpty
        && object[other]?.mayHoldCall == true
      {
        message.unread.append(pointer.appending(other))
      }
      return
    }
  }

  private static func readCalls(
    of object: JSONObject, at pointer: JSONPointer, into message: inout ReadMessage
  ) {
    let inParts = message.calls.count
    for key in ["tool_calls", "toolCalls"] {
      guard let calls = object[key], !calls.saysNothing else { continue }
      guard let elements = (calls.stringValue.flatMap(JSONText.parse) ?? calls).arrayValue else {
        message.unread.append(pointer.appending(key))
        continue
      }
      // The same calls as parts and as a list: the list is how they were sent.
      if inParts > 0, inParts == elements.count {
        let names = elements.compactMap {
          ($0["name"] ?? $0["toolName"] ?? $0["function"]?["name"] ?? $0["custom"]?["name"])?
            .stringValue
        }
        if Set(names) != Set(message.calls.prefix(inParts).map(\.name)) {
          message.unread.append(pointer.appending(key))
        }
        continue
      }
      for (index, element) in elements.enumerated() {
        read(call: element, at: pointer.appending(key).appending(String(index)), into: &message)
      }
    }
    for (place, element) in object.elements("invalid_tool_calls", at: pointer) {
      var call = CallReader.call(
        name: element["name"]?.stringValue, input: element["args"], id: element["id"]?.stringValue)
      call.problem = call.problem ?? "a call that its client could not read"
      message.add(call, at: place)
    }
    if let call = object["function_call"], !call.saysNothing {
      if message.calls.isEmpty {
        read(call: call, at: pointer.appending("function_call"), into: &message)
      } else {
        message.unread.append(pointer.appending("function_call"))
      }
    }
    LangChainMessages.readKeywords(of: object, at: pointer, into: &message)
  }

  /// Reads one call of a list, `{"function":{…}}`, `{"custom":{…}}`, `{"name","args"}`, wrapped once more or a text of
  /// any of these.
  static func read(call value: JSONValue, at pointer: JSONPointer, into message: inout ReadMessage)
  {
    guard let object = (value.stringValue.flatMap(JSONText.parse) ?? value).objectValue else {
      message.unread.append(pointer)
      return
    }
    if let inner = object["tool_call"], inner.objectValue != nil {
      return read(call: inner, at: pointer.appending("tool_call"), into: &message)
    }
    if let custom = object["custom"]?.objectValue {
      message.add(
        CallReader.call(
          name: custom["name"]?.stringValue, input: custom["input"], id: object["id"]?.stringValue,
          isText: true), at: pointer)
      return
    }
    // A call is one whatever its type says.
    var typed = object
    typed["type"] = "tool_call"
    PartReader.take(.object(typed), at: pointer, into: &message)
  }

  private static func readResult(
    of object: JSONObject, at pointer: JSONPointer, into message: inout ReadMessage
  ) {
    let id = object["tool_call_id"] ?? object["toolCallId"] ?? object["id"]
    let name = object["name"] ?? object["tool_name"] ?? object["toolName"]
    let data = object["content"] ?? object["contents"] ?? object["parts"]
    message.results.append(
      GraphResult(
        id: id?.stringValue, tool: name?.stringValue,
        data: data.map { Told(text: plainText($0)) } ?? .absent,
        status: ResultReader.status(of: object, data: data), pointer: pointer))
  }

  /// Flattened parts as the text that they are.
  private static func plainText(_ data: JSONValue) -> JSONValue {
    guard let parts = data.arrayValue, !parts.isEmpty else { return data }
    let texts = parts.compactMap { $0["message_content"]?["text"]?.stringValue }
    return texts.count == parts.count ? .string(texts.joined(separator: "\n")) : data
  }

  private static func finish(of object: JSONObject) -> String? {
    (object["finish_reason"] ?? object["stop_reason"] ?? object["stopReason"]
      ?? object["finishReason"])?.stringValue
  }

  private static func readAround(
    _ object: JSONObject, at pointer: JSONPointer, into message: inout ReadMessage
  ) {
    // Haystack says it under its own word.
    let metadata = object["response_metadata"] ?? object["meta"]
    message.finish =
      finish(of: object) ?? LangChainMessages.finish(in: metadata)
      ?? object["state"]?["stopReason"]?.stringValue
    message.model =
      (object["model"] ?? object["model_name"] ?? metadata?["model_name"] ?? metadata?["model"])?
      .stringValue
    message.responseId = metadata?["id"]?.stringValue
    // Some keep in an object how a reply stands: it is complete, or was broken off.
    message.isCommentary = object["phase"] == "commentary"
    if let state = object["state"]?["type"]?.stringValue {
      message.isUnfinished = !["complete", "completed"].contains(state)
    }
    for usage in [
      object["usage_metadata"], object["usage"], object["usageMetadata"],
      object["metadata"]?["usage"], metadata?["token_usage"], object["token_usage"],
      object["meta"]?["usage"],
    ] where message.usage.isEmpty {
      message.usage = ReadUsage(usage)
    }
    message.time =
      (object["timestamp"] ?? object["created_at"] ?? object["createdAt"])?.stringValue
      .flatMap(Timestamp.init)
    let parts = partKeys(of: object)
    for member in object where !read.contains(member.key) && !parts.contains(member.key) {
      if !UnknownMember.isHarmless(member.key, member.value, quiet: quiet) {
        message.unread.append(pointer.appending(member.key))
      }
      if message.role != .assistant, !member.value.saysNothing {
        message.extra[member.key] = member.value
      }
    }
  }
}
