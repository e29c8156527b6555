import AgentTrace

/// Finds the messages in what an interface was sent or gave back, in the shapes that are known: bare lists,
/// requests, responses, and the objects that frameworks and instrumentations wrap them in.
enum MessageFinder {
  /// What a payload holds.
  struct Found {
    var messages: [ReadMessage] = []
    /// Members beside the messages that nobody knows and that may hold a call.
    var unread: [JSONPointer] = []
    /// The first element of a list of messages that is none.
    var odd: JSONPointer?

    /// The members of an object below which its messages stand.
    func holders(below pointer: JSONPointer) -> Set<String> {
      let depth = pointer.tokens.count
      return Set(
        messages.compactMap { $0.pointer.tokens.count > depth ? $0.pointer.tokens[depth] : nil })
    }

    /// Tells the last reply what the payload says of it.
    mutating func tell(_ edit: (inout ReadMessage) -> Void) {
      guard let last = messages.lastIndex(where: { $0.role == .assistant }) else { return }
      edit(&messages[last])
    }
  }

  /// How deep messages may be wrapped.
  private static let wrapLimit = 5

  /// The messages of a payload; `nil` where it has the shape of none.
  static func find(_ value: JSONValue, at pointer: JSONPointer) -> Found? {
    find(value, at: pointer, depth: 0)
  }

  private static func find(_ value: JSONValue, at pointer: JSONPointer, depth: Int) -> Found? {
    guard depth < wrapLimit else { return nil }
    switch value {
    case .string(let text):
      guard let parsed = JSONText.parse(text) else { return nil }
      return find(parsed, at: pointer, depth: depth + 1)
    case .array(let elements): return list(elements, at: pointer, depth: depth)
    case .object(let object): return payload(object, value, at: pointer, depth: depth)
    default: return nil
    }
  }

  private static func list(
    _ elements: [JSONValue], at pointer: JSONPointer, depth: Int
  ) -> Found? {
    var found = Found()
    if elements.count == 1, let inner = elements[0].arrayValue, inner.first?.objectValue != nil {
      // A batch of one, as LangChain asks models.
      return list(inner, at: pointer.appending("0"), depth: depth + 1)
    }
    for (index, element) in elements.enumerated() {
      let place = pointer.appending(String(index))
      if let messages = MessageReader.read(element, at: place) {
        found.messages += messages
      } else if index == 0, let inner = find(element, at: place, depth: depth + 1),
        elements.count == 1
      {
        return inner
      } else if found.messages.isEmpty {
        return nil
      } else if !element.saysNothing {
        found.messages.append(unknown(element, at: place))
        // Of an item that says of what type it is nobody knows more; anything else is no list of messages.
        if !isTyped(element) { found.odd = found.odd ?? place }
      }
    }
    return found
  }

  /// Whether an element of a list says of what type it is.
  static func isTyped(_ element: JSONValue) -> Bool { element["type"]?.stringValue != nil }

  /// What stands among messages and is none that anybody knows.
  static func unknown(_ element: JSONValue, at pointer: JSONPointer) -> ReadMessage {
    var other = ReadMessage(role: .other, roleName: "other", pointer: pointer, raw: element)
    other.parts = [element]
    other.unread = [pointer]
    return other
  }

  // MARK: Objects

  private static let listKeys = [
    "messages", "input_items", "contents", "history", "items", "input", "new_messages", "prompt",
    "conversation", "all_messages", "message_history", "input_messages", "output_messages",
    "replies",
  ]
  private static let systemKeys = [
    "system", "instructions", "system_instruction", "systemInstruction", "system_prompt",
    "system_instructions",
  ]

  private static func payload(
    _ object: JSONObject, _ value: JSONValue, at pointer: JSONPointer, depth: Int
  ) -> Found? {
    if let found = response(object, at: pointer, depth: depth) { return found }
    if let messages = MessageReader.read(value, at: pointer) {
      var found = Found(messages: messages)
      tell(&found, from: object)
      return found
    }
    if let found = request(object, at: pointer, depth: depth) { return found }
    return wrapped(object, at: pointer, depth: depth)
  }

  /// What a model's interface answers.
  private static func response(
    _ object: JSONObject, at pointer: JSONPointer, depth: Int
  ) -> Found? {
    var found: Found?
    if let choice = object["choices"]?.arrayValue?.first, let message = choice["message"],
      message.objectValue != nil
    {
      let place = pointer.appending("choices").appending("0")
      found = MessageReader.read(message, at: place.appending("message")).map {
        Found(messages: $0)
      }
      found?.tell { $0.finish = choice["finish_reason"]?.stringValue ?? $0.finish }
      if (object["choices"]?.arrayValue?.count ?? 0) > 1 {
        found?.unread.append(pointer.appending("choices").appending("1"))
      }
    } else if let candidate = object["candidates"]?.arrayValue?.first,
      let content = candidate["content"]
    {
      found = MessageReader.read(
        content, at: pointer.appending("candidates").appending("0").appending("content")
      ).map { Found(messages: $0) }
      found?.tell {
        $0.finish = (candidate["finishReason"] ?? candidate["finish_reason"])?.stringValue
      }
    } else if let blocked = blocked(object, at: pointer) {
      found = Found(messages: [blocked])
    } else if let batch = object["generations"]?.arrayValue {
      found = generations(batch, at: pointer.appending("generations"))
    } else if let content = object["content"], content["parts"] != nil, object["role"] == nil {
      // Google's agents keep a response's content in an object of its own.
      var typed = content.objectValue ?? [:]
      if typed["role"] == nil { typed["role"] = "model" }
      found = MessageReader.read(.object(typed), at: pointer.appending("content")).map {
        Found(messages: $0)
      }
    } else if let items = object["output"]?.arrayValue,
      object["object"] == "response"
        || items.contains(where: { $0["type"]?.stringValue != nil })
    {
      found = list(items, at: pointer.appending("output"), depth: depth + 1)
    } else if let message = object["output"]?["message"], message["role"] != nil {
      found = MessageReader.read(
        message, at: pointer.appending("output").appending("message")
      ).map { Found(messages: $0) }
    }
    guard found != nil else { return nil }
    if var known = found {
      tell(&known, from: object)
      return known
    }
    return nil
  }

  /// The empty reply of generateContent where a prompt, or all that was said to it, was kept back.
  private static func blocked(_ object: JSONObject, at pointer: JSONPointer) -> ReadMessage? {
    let feedback = (object["promptFeedback"] ?? object["prompt_feedback"])?.objectValue
    let block = (feedback?["blockReason"] ?? feedback?["block_reason"])?.stringValue
    let candidate = object["candidates"]?.arrayValue?.first
    let finish = (candidate?["finishReason"] ?? candidate?["finish_reason"])?.stringValue
    guard block != nil || RefusalWord.detail(ofFinish: finish) != nil else { return nil }
    var message = ReadMessage(
      role: .assistant, roleName: "model", pointer: pointer, raw: .object(object))
    message.isRefusal = true
    message.finish = block ?? finish
    return message
  }

  private static func generations(_ batch: [JSONValue], at pointer: JSONPointer) -> Found? {
    let isNested = batch.first?.arrayValue != nil
    guard let first = isNested ? batch.first?.arrayValue?.first : batch.first else { return nil }
    let place = isNested ? pointer.appending("0").appending("0") : pointer.appending("0")
    var found: Found
    if let message = first["message"],
      let messages = MessageReader.read(message, at: place.appending("message"))
    {
      found = Found(messages: messages)
    } else if let text = first["text"], text.stringValue != nil {
      var message = ReadMessage(role: .assistant, roleName: "assistant", pointer: place, raw: first)
      message.add(text: text)
      found = Found(messages: [message])
    } else {
      return nil
    }
    found.tell {
      $0.finish =
        $0.finish
        ?? LangChainMessages.finish(in: first["generation_info"] ?? first["generationInfo"])
    }
    return found
  }

  /// Tells the reply what the object around it says: how it ended, what it took.
  private static func tell(_ found: inout Found, from object: JSONObject) {
    let finish =
      (object["stop_reason"] ?? object["stopReason"] ?? object["finish_reason"]
      ?? object["finishReason"] ?? object["incomplete_details"]?["reason"])?.stringValue
    // Of a response, and of no message beside it, the state is that of its reply.
    let isResponse = object["object"] == "response" || object["output"]?.arrayValue != nil
    let state =
      object["status"]?.stringValue.flatMap {
        isResponse && ResponsesItems.unfinished.contains($0) ? $0 : nil
      } ?? (object["status"] == "incomplete" ? "incomplete" : nil)
    let usage = ReadUsage(
      object["usage"] ?? object["usage_metadata"] ?? object["usageMetadata"]
        ?? object["llm_output"]?["token_usage"])
    let model = (object["model"] ?? object["model_version"] ?? object["modelVersion"])?.stringValue
    let id = object["id"]?.stringValue
    let earlier = object["previous_response_id"]?.stringValue
    found.tell { reply in
      reply.goesOnFrom = reply.goesOnFrom ?? earlier
      reply.finish = reply.finish ?? finish ?? state
      if isResponse, state != nil { reply.isUnfinished = true }
      if reply.usage.isEmpty { reply.usage = usage }
      reply.model = reply.model ?? model
      if let id, isResponseId(id) { reply.responseId = reply.responseId ?? id }
    }
  }

  /// Whether an id is one that an interface gave a response.
  static func isResponseId(_ id: String) -> Bool {
    ["chatcmpl", "resp_", "msg_", "gen-"].contains(where: id.hasPrefix)
  }

  /// The members of an object that may hold messages.
  static let holderKeys: Set<String> = Set(listKeys + wrapKeys).union([
    "choices", "candidates", "generations", "content", "parts",
  ]).subtracting(["kwargs"])

  /// What a model's interface is sent, or a framework keeps.
  private static func request(
    _ object: JSONObject, at pointer: JSONPointer, depth: Int
  ) -> Found? {
    for key in listKeys {
      guard let member = object[key] else { continue }
      var found: Found?
      if let elements = member.arrayValue {
        found = list(elements, at: pointer.appending(key), depth: depth + 1)
      } else if let text = member.stringValue, key == "input" || key == "prompt" {
        found = find(member, at: pointer.appending(key), depth: depth + 1)
        if found == nil, !text.isEmpty, !isObject(text) {
          var message = ReadMessage(
            role: .user, roleName: "user", pointer: pointer.appending(key), raw: member)
          message.add(text: member)
          found = Found(messages: [message])
        }
      } else if key == "input" || key == "prompt", member.objectValue != nil {
        found = find(member, at: pointer.appending(key), depth: depth + 1)
      }
      guard var messages = found else { continue }
      messages.messages = system(of: object, at: pointer) + messages.messages
      return messages
    }
    return nil
  }

  private static func isObject(_ text: String) -> Bool {
    text.utf8.first == UInt8(ascii: "{") || text.utf8.first == UInt8(ascii: "[")
  }

  /// The instructions beside a list.
  private static func system(of object: JSONObject, at pointer: JSONPointer) -> [ReadMessage] {
    for (holder, place) in [
      (object, pointer), (object["config"]?.objectValue ?? [:], pointer.appending("config")),
    ] {
      for key in systemKeys {
        guard let value = holder[key], !value.saysNothing else { continue }
        var message = ReadMessage(
          role: .system, roleName: "system", pointer: place.appending(key), raw: value)
        let parts = value.arrayValue ?? value["parts"]?.arrayValue ?? [value]
        PartReader.take(parts, below: place.appending(key), into: &message)
        message.unread = []
        return [message]
      }
    }
    return []
  }

  private static let wrapKeys = [
    "output", "result", "update", "response", "kwargs", "message", "data", "return_value", "value",
    "llm_request", "state", "channel_values",
  ]

  private static func wrapped(
    _ object: JSONObject, at pointer: JSONPointer, depth: Int
  ) -> Found? {
    for key in wrapKeys {
      guard let member = object[key], member.objectValue != nil || member.arrayValue != nil,
        let found = find(member, at: pointer.appending(key), depth: depth + 1)
      else { continue }
      return found
    }
    return nil
  }
}

/// Text that may be JSON.
enum JSONText {
  /// What a text says that is a JSON object or list; `nil` for any other text.
  static func parse(_ text: String) -> JSONValue? {
    guard
      let first = text.utf8.first(where: { $0 != 0x20 && $0 != 0x0a && $0 != 0x0d && $0 != 0x09 }),
      first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    else { return nil }
    return any(text)
  }

  /// Any JSON that a text is; `nil` for text that is none.
  static func any(_ text: String) -> JSONValue? {
    try? JSONValue(parsing: text, options: SourceDocument.options)
  }
}
