import AgentTrace

/// LangChain's messages: `model_dump` (`{"type":"ai",…}`), `dumpd` (`{"lc":1,"id":[…],"kwargs":{…}}`) and `message_to_dict`
/// (`{"type":"ai","data":{…}}`).
enum LangChainMessages {
  static let types: Set<String> = ["human", "ai", "system", "tool", "AIMessageChunk", "function"]

  private static let classes: [String: String] = [
    "HumanMessage": "human", "AIMessage": "ai", "SystemMessage": "system", "ToolMessage": "tool",
    "AIMessageChunk": "ai", "HumanMessageChunk": "human", "ToolMessageChunk": "tool",
    "FunctionMessage": "function", "SystemMessageChunk": "system", "RemoveMessage": "remove",
  ]

  /// What a dump holds, with its class as `type`; `nil` where it is none.
  static func unwrapped(_ value: JSONValue) -> JSONValue? {
    if let type = value["type"]?.stringValue, types.contains(type), value.objectValue?.count == 2,
      var data = value["data"]?.objectValue, data["content"] != nil
    {
      data["type"] = .string(type)
      return .object(data)
    }
    guard value["lc"] != nil, let name = value["id"]?.arrayValue?.last?.stringValue,
      let type = classes[name], var kwargs = value["kwargs"]?.objectValue
    else { return nil }
    kwargs["type"] = .string(type)
    if kwargs["content"] == nil { kwargs["content"] = "" }
    return .object(kwargs)
  }

  /// LangGraph's word that a message is taken out of a list, `{"type":"remove","id"}`; `nil` for anything else.
  static func removal(
    _ object: JSONObject, _ value: JSONValue, at pointer: JSONPointer
  ) -> ReadMessage? {
    guard object["type"] == "remove", object["role"] == nil, object["id"]?.stringValue != nil,
      object["content"]?.saysNothing ?? true, !value.mayHoldCall
    else { return nil }
    return ReadMessage(role: .other, roleName: "remove", pointer: pointer, raw: value)
  }

  /// The word for how a reply ended, in what a provider says of it: as Bedrock, Ollama, the Responses interface and others
  /// call it.
  static func finish(in metadata: JSONValue?) -> String? {
    let keys = ["finish_reason", "stop_reason", "stopReason", "finishReason", "done_reason"]
    for key in keys {
      if let word = metadata?[key]?.stringValue, !word.isEmpty { return word }
    }
    return ResponsesItems.finish(in: metadata)
  }

  /// Calls that stand only where a provider's own fields are kept.
  static func readKeywords(
    of object: JSONObject, at pointer: JSONPointer, into message: inout ReadMessage
  ) {
    guard let keywords = object["additional_kwargs"]?.objectValue else { return }
    let place = pointer.appending("additional_kwargs")
    let isFound = !message.calls.isEmpty
    for member in keywords where !member.value.saysNothing {
      switch member.key {
      case "tool_calls", "function_call":
        if isFound { continue }
        let inner = place.appending(member.key)
        for (index, call) in (member.value.arrayValue ?? [member.value]).enumerated() {
          MessageReader.read(
            call: call, at: member.value.arrayValue == nil ? inner : inner.appending(String(index)),
            into: &message)
        }
      case "refusal":
        guard let text = member.value.stringValue else { continue }
        message.isRefusal = true
        if message.text == nil { message.add(text: .string(text)) }
      default:
        if member.value.mayHoldCall { message.unread.append(place.appending(member.key)) }
      }
    }
  }
}

/// pydantic-ai's `ModelMessage`s: `{"kind":"request"|"response","parts":[{"part_kind",…}]}`.
enum PydanticMessages {
  private static let quiet: Set<String> = [
    "usage", "provider_details", "metadata", "workspace_ref", "failed_attempts", "vendor_details",
  ]

  static func read(
    _ object: JSONObject, _ value: JSONValue, at pointer: JSONPointer
  ) -> [ReadMessage]? {
    guard let kind = object["kind"]?.stringValue, let parts = object["parts"]?.arrayValue,
      kind == "request" || kind == "response"
    else { return nil }
    var messages: [ReadMessage] = []
    let time = object["timestamp"]?.stringValue.flatMap(Timestamp.init)
    if kind == "response" {
      var message = ReadMessage(
        role: .assistant, roleName: "assistant", pointer: pointer, raw: value)
      PartReader.take(parts, below: pointer.appending("parts"), into: &message)
      message.finish = object["finish_reason"]?.stringValue
      // A reply that was broken off, or goes on later, did not end by itself.
      if let state = object["state"]?.stringValue, state != "complete" { message.finish = state }
      message.model = object["model_name"]?.stringValue
      message.responseId =
        (object["provider_response_id"] ?? object["vendor_id"])?.stringValue
      message.usage = ReadUsage(object["usage"])
      messages.append(message)
    } else {
      // A request is several messages: instructions, what the user says, what tools gave back.
      for (place, part) in parts.placed(at: pointer.appending("parts")) {
        let role: ReadMessage.Role =
          switch part["part_kind"]?.stringValue {
          case "system-prompt", "instructions": .system
          case let kind? where PydanticParts.settings.contains(kind): .system
          case "user-prompt", "retry-feedback": .user
          case "speech": part["speaker"] == "assistant" ? .other : .user
          case "tool-return", "builtin-tool-return": .tool
          case "retry-prompt": part["tool_name"]?.stringValue == nil ? .user : .tool
          default: .other
          }
        var message = ReadMessage(role: role, roleName: "\(role)", pointer: place, raw: part)
        if role == .system, !part.mayHoldCall, let kind = part["part_kind"]?.stringValue,
          PydanticParts.settings.contains(kind)
        {
          message.parts.append(part)
        } else {
          PartReader.take(part, at: place, into: &message)
        }
        if role == .other { message.unread.append(place) }
        messages.append(message)
      }
    }
    for index in messages.indices {
      messages[index].time = time
      messages[index].isFromFramework = true
    }
    let known: Set<String> = ["parts", "kind", "instructions"]
    for member in object where !known.contains(member.key) {
      if !UnknownMember.isHarmless(member.key, member.value, quiet: quiet), !messages.isEmpty {
        messages[0].unread.append(pointer.appending(member.key))
      }
    }
    return messages
  }
}

/// AutoGen's messages and events: `{"type":"ToolCallRequestEvent","source","content":[…]}`.
enum AutoGenMessages {
  private static let callTypes: Set<String> = ["ToolCallRequestEvent", "AssistantMessage"]
  private static let quiet: Set<String> = ["models_usage", "metadata", "handoff"]

  static func read(
    _ object: JSONObject, _ value: JSONValue, at pointer: JSONPointer
  ) -> ReadMessage? {
    guard let type = object["type"]?.stringValue, let source = object["source"]?.stringValue,
      type.hasSuffix("Message") || type.hasSuffix("Event")
    else { return nil }
    let isUser = source == "user" || type == "UserMessage"
    var message = ReadMessage(
      role: isUser ? .user : .assistant, roleName: isUser ? "user" : "assistant", pointer: pointer,
      raw: value)
    message.isFromFramework = true
    message.author = source
    message.time = object["created_at"]?.stringValue.flatMap(Timestamp.init)
    message.usage = ReadUsage(object["models_usage"])
    let content = object["content"] ?? .null
    let place = pointer.appending("content")
    switch type {
    case _ where Self.callTypes.contains(type) && content.arrayValue != nil:
      for (index, call) in (content.arrayValue ?? []).enumerated() {
        MessageReader.read(call: call, at: place.appending(String(index)), into: &message)
      }
    case "ToolCallExecutionEvent", "FunctionExecutionResultMessage":
      message.role = .tool
      for (index, result) in (content.arrayValue ?? []).enumerated() {
        message.results.append(
          GraphResult(
            id: result["call_id"]?.stringValue, tool: result["name"]?.stringValue,
            data: result["content"].map { Told(text: $0) } ?? .absent,
            status: ResultReader.status(of: result.objectValue ?? [:], data: nil),
            pointer: place.appending(String(index))))
      }
    case "ThoughtEvent":
      if content.stringValue != nil { message.add(text: content) }
      // The calls that were thought of stand in the next event.
      message.isPiece = true
    case "ToolCallSummaryMessage", "StopMessage", "HandoffMessage",
      "ModelClientStreamingChunkEvent",
      "SelectSpeakerEvent", "MemoryQueryEvent", "UserInputRequestedEvent", "SelectorEvent":
      message.isModelCall = false
      message.sumsUpCalls = type == "ToolCallSummaryMessage"
      if content.stringValue != nil { message.add(text: content) }
      if type.hasSuffix("Event") {
        message.role = .other
        message.roleName = type
      }
    default:
      if value.speaksOfTools(type: type) { message.unread.append(pointer) }
      if content.stringValue != nil {
        message.add(text: content)
      } else if let parts = content.arrayValue {
        PartReader.take(parts, below: place, into: &message)
      } else if !content.saysNothing {
        message.parts.append(content)
        message.unread.append(place)
      }
      if message.role == .assistant, message.usage.isEmpty { message.isModelCall = false }
    }
    let known: Set<String> = ["type", "source", "content", "tool_calls", "results"]
    message.unread += UnknownMember.places(
      in: object, besides: known, quiet: quiet, at: pointer)
    return message
  }
}

/// Items of OpenAI's Responses interface: each a piece of a reply, or what came back.
enum ResponsesItems {
  private static let quiet: Set<String> = [
    "provider_data", "logprobs", "annotations", "metadata", "summary", "content",
    "internal_chat_message_metadata_passthrough", "action", "results", "queries", "sources",
    "pending_safety_checks", "acknowledged_safety_checks",
  ]

  /// Calls of tools that the provider's servers run, with the name that they have as tools.
  static let serverCalls: [String: String] = [
    "web_search_call": "web_search", "file_search_call": "file_search",
    "code_interpreter_call": "code_interpreter", "computer_call": "computer",
    "image_generation_call": "image_generation", "local_shell_call": "local_shell",
    "shell_call": "shell", "apply_patch_call": "apply_patch", "tool_search_call": "tool_search",
  ]

  /// The word for how a response ended, where it did not end by itself: why it is incomplete, or its state.
  static func finish(in response: JSONValue?) -> String? {
    response?["incomplete_details"]?["reason"]?.stringValue
      ?? response?["status"]?.stringValue.flatMap { unfinished.contains($0) ? $0 : nil }
  }

  /// The states of what has not ended by itself.
  static let unfinished: Set<String> = [
    "cancelled", "failed", "in_progress", "incomplete", "queued",
  ]

  static func read(
    _ object: JSONObject, _ value: JSONValue, at pointer: JSONPointer
  ) -> ReadMessage? {
    guard let type = object["type"]?.stringValue, object["role"] == nil || type == "message",
      object["part_kind"] == nil
    else { return nil }
    var item = ReadMessage(
      role: .assistant, roleName: "assistant", pointer: pointer, raw: value)
    item.isPiece = true
    item.responseId = object["provider_data"]?["response_id"]?.stringValue
    item.model = object["provider_data"]?["model"]?.stringValue
    let id = (object["call_id"] ?? object["id"])?.stringValue
    switch type {
    case "message":
      // Anthropic's messages say the same of themselves; what a reply took stands in no item.
      guard let role = object["role"]?.stringValue, MessageReader.role(role) == .assistant,
        object["usage"] == nil, object["stop_reason"] == nil, object["model"] == nil,
        // Microsoft's Agent Framework has its parts there.
        object["contents"] == nil
      else { return nil }
      let place = pointer.appending("content")
      item.isUnfinished = object["status"]?.stringValue.map(unfinished.contains) ?? false
      item.isCommentary = object["phase"] == "commentary"
      if let text = object["content"], text.stringValue != nil { item.add(text: text) }
      PartReader.take(object["content"]?.arrayValue ?? [], below: place, into: &item)
      for member in object
      where !["content", "role"].contains(member.key)
        && !UnknownMember.isHarmless(member.key, member.value, quiet: quiet)
      {
        item.unread.append(pointer.appending(member.key))
      }
    case "function_call", "custom_tool_call":
      guard object["name"] != nil || object["arguments"] != nil || object["input"] != nil else {
        return nil
      }
      item.add(
        CallReader.call(
          name: object["name"]?.stringValue, input: object["arguments"] ?? object["input"], id: id,
          isText: type == "custom_tool_call"), at: pointer)
      note(object, at: pointer, into: &item)
    case "mcp_call":
      item.add(
        CallReader.call(name: object["name"]?.stringValue, input: object["arguments"], id: id),
        at: pointer)
      if object["output"]?.isNull == false || object["error"]?.isNull == false {
        let isError = object["error"]?.saysNothing == false
        item.results.append(
          GraphResult(
            id: id, tool: object["name"]?.stringValue,
            data: (isError ? object["error"] : object["output"]).map(Told.there) ?? .absent,
            status: isError ? .error : .ok, pointer: pointer))
      }
      note(object, at: pointer, into: &item)
    case "function_call_output", "custom_tool_call_output", "computer_call_output",
      "local_shell_call_output", "shell_call_output", "apply_patch_call_output",
      "tool_search_output":
      item.role = .tool
      item.isPiece = false
      // Without an id, what stands for a name may be the id.
      if id == nil, object["name"] != nil { item.unread.append(pointer) }
      item.results.append(
        GraphResult(
          id: id, tool: id == nil ? nil : object["name"]?.stringValue,
          data: (object["output"] ?? object["tools"]).map { Told(text: $0) } ?? .absent,
          status: object["status"]?.stringValue == "failed" ? .error : .returned, pointer: pointer))
    case "mcp_approval_request", "mcp_approval_response":
      // What was asked for may stand again as the call that ran, or never have run: neither is told here.
      item.role = .other
      item.roleName = type
      item.isPiece = false
      item.parts.append(value)
      item.unread.append(pointer)
    case "reasoning", "compaction", "context_compaction", "mcp_list_tools", "item_reference":
      item.parts.append(value)
      if type == "mcp_list_tools" || type == "item_reference" { item.isModelCall = false }
      item.sumsUp = type.hasSuffix("compaction")
      // What it stands for is kept where only its id leads.
      if type == "item_reference" { item.unread.append(pointer) }
    default:
      guard let name = serverCalls[type] else { return nil }
      let input = object["action"] ?? object["queries"] ?? object["code"] ?? object["arguments"]
      item.calls.append(
        GraphCall(name: name, input: input.map(Told.there) ?? .absent, id: id))
      // What came back stands in the item, or went to the model alone; unless an item of its own tells it.
      let output = object["results"] ?? object["outputs"] ?? object["result"]
      if type != "local_shell_call", type != "shell_call", type != "computer_call",
        type != "apply_patch_call", type != "tool_search_call"
      {
        item.results.append(
          GraphResult(
            id: id, tool: name, data: output.map(Told.there) ?? .absent,
            status: object["status"]?.stringValue == "failed" ? .error : .returned,
            pointer: pointer))
      }
      note(object, at: pointer, into: &item)
    }
    return item
  }

  private static func note(
    _ object: JSONObject, at pointer: JSONPointer, into item: inout ReadMessage
  ) {
    let known: Set<String> = [
      "arguments", "input", "name", "call_id", "id", "type", "action", "queries", "code", "results",
      "outputs", "result", "output", "error", "operation", "tools",
    ]
    item.unread += UnknownMember.places(
      in: object, besides: known, quiet: quiet, at: pointer)
  }
}

/// Messages of the AI SDK's interfaces, of which one may hold several replies and what came back between them.
enum UIMessages {
  /// The replies of an assistant's message, split where a step starts; `nil` where it has no steps.
  static func split(_ message: ReadMessage, _ object: JSONObject) -> [ReadMessage]? {
    guard message.role == .assistant, let parts = object["parts"]?.arrayValue,
      parts.contains(where: { $0["type"]?.stringValue == "step-start" })
    else { return nil }
    var replies: [ReadMessage] = []
    var isFirst = true
    for (index, part) in parts.enumerated() {
      if part["type"]?.stringValue == "step-start" || isFirst {
        var reply = ReadMessage(
          role: .assistant, roleName: message.roleName, pointer: message.pointer,
          raw: isFirst ? message.raw : .null)
        if isFirst { reply.unread = message.unread }
        isFirst = false
        replies.append(reply)
      }
      guard part["type"]?.stringValue != "step-start" else { continue }
      let place = message.pointer.appending("parts").appending(String(index))
      PartReader.take(part, at: place, into: &replies[replies.count - 1])
    }
    return replies.filter { !$0.isEmpty || !$0.unread.isEmpty }
  }
}
