import AgentTrace

/// Message lists of the chat-completion interface: `[{"role",…}]`, `{"messages":[…]}`, many of them
/// in an array or one a line, and arrays of τ-bench results.
///
/// Shapes: https://platform.openai.com/docs/api-reference/chat (messages, `tool_calls`, `refusal`, the
/// older `function_call`), https://github.com/sierra-research/tau-bench (results).
enum OpenAIMessages: FormatAdapter {
  static func recognizes(_ document: SourceDocument) -> Bool {
    switch document {
    case .value(let value):
      value.arrayValue?.first.map(isRunOrMessage) ?? isRunOrMessage(value)
    case .lines(let lines):
      lines.contains { line in (try? line.content.get()).map(isRunOrMessage) ?? false }
    }
  }

  private static func isRunOrMessage(_ value: JSONValue) -> Bool {
    if let elements = value.arrayValue { return elements.first?["role"] != nil || elements.isEmpty }
    return value["role"] != nil || value["messages"]?.arrayValue != nil || TauBench.isRun(value)
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    switch document {
    case .value(.array(let elements)):
      guard let first = elements.first, first["role"] == nil else {
        return [messageList(elements)]
      }
      return elements.enumerated().map { index, element in
        SourceRun(index: index) { () throws(ImportError) in
          try run(element, at: JSONPointer(tokens: [String(index)]))
        }
      }
    case .value(let value):
      return [
        SourceRun(index: nil) { () throws(ImportError) in try run(value, at: JSONPointer()) }
      ]
    case .lines(let lines):
      if let first = lines.first, (try? first.content.get())?["role"] != nil {
        return [messageLines(lines)]
      }
      return lines.map { line in
        SourceRun(index: line.index) { () throws(ImportError) in
          try run(try line.content.get(), at: JSONPointer(tokens: [String(line.index)]))
        }
      }
    }
  }

  /// A file that is one list of messages.
  private static func messageList(_ elements: [JSONValue]) -> SourceRun {
    SourceRun(index: nil) { () throws(ImportError) in
      finished(
        try MessageFields.messages(elements, at: JSONPointer(), reading: Self.message), extra: [:])
    }
  }

  /// A file that holds one message a line.
  private static func messageLines(_ lines: [SourceDocument.Line]) -> SourceRun {
    SourceRun(index: nil) { () throws(ImportError) in
      guard lines.count <= RunEvents.messageLimit else {
        throw ImportError(.tooManyMessages(limit: RunEvents.messageLimit))
      }
      var messages: [ParsedMessage] = []
      for line in lines {
        let pointer = JSONPointer(tokens: [String(line.index)])
        messages.append(try message(try MessageFields(try line.content.get(), at: pointer)))
      }
      return finished(messages, extra: [:])
    }
  }

  /// One run: a list, an object that holds one, or a τ-bench result.
  private static func run(
    _ value: JSONValue, at pointer: JSONPointer
  ) throws(ImportError) -> ParsedRun {
    if let elements = value.arrayValue {
      return finished(
        try MessageFields.messages(elements, at: pointer, reading: message), extra: [:])
    }
    if TauBench.isRun(value) { return try TauBench.run(try MessageFields(value, at: pointer)) }
    let fields = try MessageFields(value, at: pointer)
    guard fields.object["messages"] != nil else {
      throw ImportError(
        .wrongShape(expected: "a list of messages, or an object with `messages` or `traj`"),
        at: pointer)
    }
    let messages = try MessageFields.messages(
      try fields.list("messages"), at: pointer.appending("messages"), reading: message)
    return finished(messages, extra: fields.without(["messages"]))
  }

  /// A bare list ends by its form: in an assistant's text, or nobody knows how.
  private static func finished(_ messages: [ParsedMessage], extra: JSONObject) -> ParsedRun {
    var run = ParsedRun(format: .openAIMessages, messages: messages)
    run.extra = extra
    if let last = messages.last, last.isAssistantText {
      run.ending =
        isRefusal(last)
        ? ParsedEnding(reason: .blocked, detail: StopDetail.model)
        : ParsedEnding(reason: .success, detail: StopDetail.finalAnswer)
    }
    return run
  }

  /// Reads one message.
  static func message(_ fields: MessageFields) throws(ImportError) -> ParsedMessage {
    var message = try fields.message(known: [])
    switch message.role {
    case .assistant:
      for (index, value) in try fields.list("tool_calls").enumerated() {
        let place = fields.pointer.appending("tool_calls").appending(String(index))
        let call = try MessageFields(value, at: place)
        let function = call["function"]
        message.calls.append(
          ParsedCall(name: function?["name"], arguments: function?["arguments"], id: call["id"]))
      }
      if message.calls.isEmpty, let call = fields["function_call"] {
        message.calls = [
          ParsedCall(name: call["name"], arguments: call["arguments"], id: nil)
        ]
      }
      if isRefusal(message), let refusal = fields["refusal"] {
        message.content.text = refusal
        message.content.parts = [["type": "text", "text": refusal]]
      }
    case .tool:
      message.result = ParsedResult(
        providerCallId: fields["tool_call_id"]?.stringValue, tool: fields["name"]?.stringValue,
        data: fields.object["content"] ?? .null)
      message.extra["content"] = nil
    default: break
    }
    return message
  }

  /// Whether the model declined to answer, in the field that the interface has for it.
  private static func isRefusal(_ message: ParsedMessage) -> Bool {
    guard message.calls.isEmpty, let refusal = message.raw["refusal"]?.stringValue,
      !refusal.isEmpty
    else { return false }
    return message.content.text == nil || message.content.text == .string(refusal)
  }
}
