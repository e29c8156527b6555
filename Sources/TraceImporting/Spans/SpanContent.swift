import AgentTrace

/// What a model's span says of its call, in whichever convention it says it: what was sent, what came back, what it took.
struct SpanContent {
  /// What the model was shown; `nil` where the span does not tell.
  var inputs: [ReadMessage]?
  /// What it answered; `nil` where the span does not tell.
  var outputs: [ReadMessage]?
  var usage = ReadUsage()
  var finish: String?
  var model: String?
  var responseId: String?
  /// Whether calls may have stood in what a limit cut of it, whatever else tells what was answered.
  var mayLackCalls = false

  /// - Parameter records: the log records of the span.
  init(of span: TraceSpan, records: [TraceSpan.Event]) {
    readCurrent(span, records)
    if outputs == nil || inputs == nil { readPerMessage(span, span.events + records) }
    if outputs == nil || inputs == nil { readListed(span) }
    if outputs == nil || inputs == nil { readOpenInference(span) }
    if outputs == nil || inputs == nil { readAISDK(span) }
    if outputs == nil || inputs == nil { readPayloads(span) }
    if outputs == nil || inputs == nil { readIndexed(span) }
    readFigures(span)
    takeFromReply()
  }

  // MARK: Conventions

  /// `gen_ai.input.messages` and the like: on the span, on an event of it, or on a log record.
  private mutating func readCurrent(_ span: TraceSpan, _ records: [TraceSpan.Event]) {
    let details = (span.events + records).filter {
      $0.name == "gen_ai.client.inference.operation.details"
        || $0.attributes["gen_ai.output.messages"] != nil
    }
    let holders = [span.attributes] + details.map(\.attributes)
    let told = holders.map { $0["gen_ai.output.messages"] }
    outputs = best(told, at: span.pointer)
    if outputs == nil, told.contains(where: JSONText.lacksEnd) { mayLackCalls = true }
    inputs = best(holders.map { $0["gen_ai.input.messages"] }, at: span.pointer)
    guard inputs != nil else { return }
    let system = holders.lazy.compactMap { $0["gen_ai.system_instructions"] }.first
    if let system, !(inputs ?? []).contains(where: { $0.role == .system }) {
      inputs = instructions(system, at: span.pointer) + (inputs ?? [])
    }
  }

  /// The first that can be read.
  private func best(_ values: [JSONValue?], at pointer: JSONPointer) -> [ReadMessage]? {
    for case .some(let value) in values where !value.saysNothing {
      if let found = MessageFinder.find(value, at: pointer), !found.messages.isEmpty {
        return found.messages
      }
    }
    return nil
  }

  private func instructions(_ value: JSONValue, at pointer: JSONPointer) -> [ReadMessage] {
    let parsed = value.stringValue.flatMap(JSONText.parse) ?? value
    var message = ReadMessage(role: .system, roleName: "system", pointer: pointer, raw: value)
    for part in parsed.arrayValue ?? [parsed] { PartReader.take(part, at: pointer, into: &message) }
    message.unread = []
    return message.isEmpty ? [] : [message]
  }

  /// The same events as a list in an attribute, as pydantic-ai's first version and Logfire write them.
  private mutating func readListed(_ span: TraceSpan) {
    guard let told = span["events"] else { return }
    guard let list = (told.stringValue.flatMap(JSONText.parse) ?? told).arrayValue else {
      if outputs == nil, JSONText.lacksEnd(told) { mayLackCalls = true }
      return
    }
    let events = list.compactMap { element -> TraceSpan.Event? in
      guard let body = element.objectValue else { return nil }
      let role = body["role"]?.stringValue.map { "gen_ai.\($0).message" }
      let name = body["message"]?.objectValue != nil ? "gen_ai.choice" : role
      return (body["event.name"]?.stringValue ?? name).map {
        TraceSpan.Event(name: $0, attributes: body)
      }
    }
    readPerMessage(span, events, endsWithReply: true)
  }

  /// `gen_ai.user.message`, `gen_ai.choice`: an event, or a log record, for each message.
  ///
  /// - Parameter endsWithReply: whether the reply may stand last among what was shown, with no word of its own.
  private mutating func readPerMessage(
    _ span: TraceSpan, _ events: [TraceSpan.Event], endsWithReply: Bool = false
  ) {
    var shown: [ReadMessage] = []
    var answered: [ReadMessage] = []
    for event in events.map(\.opened) where event.name.hasPrefix("gen_ai.") {
      let word = event.name.dropFirst("gen_ai.".count)
      // What it asked for stood in what is gone.
      if word == "choice", event.isCut { mayLackCalls = true }
      if word == "choice" {
        var body = event.attributes
        if let inner = event.attributes["message"] {
          // What it asked for stood in what is gone.
          if JSONText.lacksEnd(inner) { mayLackCalls = true }
          if case .cut = inner {
            mayLackCalls = true
            continue
          }
          let parsed = inner.stringValue.flatMap(JSONText.parse) ?? inner
          body = parsed.objectValue ?? ["content": parsed]
          if let calls = event.attributes["tool_calls"], body["tool_calls"] == nil {
            body["tool_calls"] = calls
          }
        }
        // One turn's text and its calls may be records of their own.
        if body["role"] == nil { body["role"] = "assistant" }
        var read = message(body, at: span.pointer)
        for index in read.indices {
          read[index].finish = event.attributes["finish_reason"]?.stringValue ?? read[index].finish
        }
        // A reply that was kept back says nothing but that.
        finish = event.attributes["finish_reason"]?.stringValue ?? finish
        answered += read
      } else if word.hasSuffix(".message") {
        var body = event.attributes
        if body["role"] == nil { body["role"] = .string(String(word.dropLast(8))) }
        if body["role"] == "tool", body["tool_call_id"] == nil { body["tool_call_id"] = body["id"] }
        shown += message(body, at: span.pointer)
      } else if word == "unknown", let item = event.attributes["data"] {
        // An item of the Responses interface that is no message.
        shown += MessageReader.read(item, at: span.pointer) ?? []
      }
    }
    if endsWithReply, answered.isEmpty {
      let count = shown.reversed().prefix { $0.role == .assistant }.count
      answered = Array(shown.suffix(count))
      shown.removeLast(count)
    }
    if inputs == nil, !shown.isEmpty { inputs = shown }
    if outputs == nil, !answered.isEmpty, answered.contains(where: { !$0.isEmpty }) {
      outputs = answered
    }
  }

  /// A message of an event, whose content may be JSON in a text.
  private func message(_ body: JSONObject, at pointer: JSONPointer) -> [ReadMessage] {
    var body = body
    for key in ["gen_ai.system", "event.name", "index", "finish_reason"] { body[key] = nil }
    for key in TraceSpan.Event.contents { body[key] = nil }
    for key in ["content", "tool_calls"] {
      if let text = body[key]?.stringValue, let parsed = JSONText.parse(text),
        parsed.arrayValue != nil
      {
        body[key] = parsed
      }
    }
    return MessageReader.read(.object(body), at: pointer) ?? []
  }

  /// OpenInference's flattened lists, and the payloads beside them.
  private mutating func readOpenInference(_ span: TraceSpan) {
    if outputs == nil, let list = Flattened.value(span.attributes, below: "llm.output_messages"),
      let found = MessageFinder.find(list, at: span.pointer),
      found.messages.contains(where: { !$0.isEmpty })
    {
      outputs = found.messages.filter { !$0.isEmpty }
    }
    if inputs == nil, let list = Flattened.value(span.attributes, below: "llm.input_messages"),
      let found = MessageFinder.find(list, at: span.pointer), !found.messages.isEmpty
    {
      inputs = Self.withIds(found.messages, of: span)
    }
    // How it ended, and its id, stand in the whole reply alone.
    if let whole = span["output.value"]?.stringValue.flatMap(JSONText.parse),
      let reply = MessageFinder.find(whole, at: span.pointer)?.messages.last(where: {
        $0.role == .assistant
      })
    {
      finish = reply.finish
      takeInputs(of: reply.calls)
      responseId =
        reply.responseId
        ?? whole["id"]?.stringValue.flatMap {
          MessageFinder.isResponseId($0) ? $0 : nil
        }
      if let last = outputs?.indices.last {
        if reply.isRefusal { outputs?[last].isRefusal = true }
        if reply.isUnfinished { outputs?[last].isUnfinished = true }
      }
    }
  }

  /// The arguments of calls that stand in the payload beside the flattened list alone: some write none there that are empty.
  private mutating func takeInputs(of calls: [GraphCall]) {
    guard outputs != nil else { return }
    for call in calls where call.input != .absent {
      guard let id = call.id else { continue }
      for message in (outputs ?? []).indices {
        for place in (outputs?[message].calls ?? []).indices
        where outputs?[message].calls[place].input == .absent
          && outputs?[message].calls[place].id == id
        {
          outputs?[message].calls[place].input = call.input
        }
      }
    }
  }

  /// What was shown, as the payload beside the flattened list has it, where results have their calls' ids there alone.
  private static func withIds(_ shown: [ReadMessage], of span: TraceSpan) -> [ReadMessage] {
    func lacksIds(_ messages: [ReadMessage]) -> Bool {
      messages.contains { $0.results.contains { $0.id == nil } }
    }
    guard lacksIds(shown), let payload = span["input.value"],
      let whole = MessageFinder.find(payload, at: span.pointer)?.messages, !lacksIds(whole),
      whole.map(\.role) == shown.map(\.role),
      whole.map(\.results.count) == shown.map(\.results.count)
    else { return shown }
    return whole
  }

  private mutating func readAISDK(_ span: TraceSpan) {
    guard (span.text("ai.operationId") ?? span.name).hasPrefix("ai.") else { return }
    if outputs == nil {
      var reply: JSONObject = ["role": "assistant"]
      reply["content"] = span.first(["ai.response.text", "ai.result.text", "ai.response.object"])
      let calls = span.first(["ai.response.toolCalls", "ai.result.toolCalls"])
      reply["tool_calls"] = calls.flatMap { $0.stringValue.flatMap(JSONText.parse) ?? $0 }
      if reply.count > 1 { outputs = MessageReader.read(.object(reply), at: span.pointer) }
      finish = span.text("ai.response.finishReason", "ai.finishReason")
    }
    if inputs == nil, let prompt = span.first(["ai.prompt.messages", "ai.prompt"]) {
      inputs = MessageFinder.find(prompt, at: span.pointer)?.messages
    }
  }

  /// What a framework put in and got back, in the shape of whatever interface it asked.
  private mutating func readPayloads(_ span: TraceSpan) {
    if outputs == nil {
      for key in Self.outputKeys {
        guard let value = span[key] else { continue }
        if let found = MessageFinder.find(value, at: span.pointer),
          found.messages.contains(where: { !$0.isEmpty })
        {
          outputs = found.messages
          break
        }
        if JSONText.lacksEnd(value) { mayLackCalls = true }
        if let text = value.stringValue, JSONText.parse(text) == nil {
          if Self.isObject(text) { continue }
          var message = ReadMessage(
            role: .assistant, roleName: "assistant", pointer: span.pointer, raw: value)
          message.add(text: value)
          outputs = [message]
          break
        }
      }
    }
    guard inputs == nil else { return }
    for key in Self.inputKeys {
      guard let value = span[key] else { continue }
      if let found = MessageFinder.find(value, at: span.pointer), !found.messages.isEmpty {
        inputs = found.messages
        return
      }
      if let text = value.stringValue, !Self.isObject(text) {
        var message = ReadMessage(role: .user, roleName: "user", pointer: span.pointer, raw: value)
        message.add(text: value)
        inputs = [message]
        return
      }
    }
  }

  static let outputKeys = [
    "output.value", "langfuse.observation.output", "gen_ai.completion", "mlflow.spanOutputs",
    "traceloop.entity.output", "gcp.vertex.agent.llm_response", "langsmith.outputs",
    "gen_ai.event.content", "output", "response_data", "haystack.agent.step.llm.output",
    "haystack.component.output",
  ]
  static let inputKeys = [
    "input.value", "langfuse.observation.input", "gen_ai.prompt", "mlflow.spanInputs",
    "traceloop.entity.input", "gcp.vertex.agent.llm_request", "langsmith.inputs", "input",
    "request_data", "haystack.agent.step.llm.input", "haystack.component.input",
  ]

  /// Whether a text begins as an object or list does, in JSON or in what a program prints of one.
  static func isObject(_ text: String) -> Bool {
    let first = text.utf8.first
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  /// The oldest form, `gen_ai.prompt.0.role`, `gen_ai.completion.0.content`.
  private mutating func readIndexed(_ span: TraceSpan) {
    if inputs == nil, let list = Flattened.value(span.attributes, below: "gen_ai.prompt") {
      inputs = MessageFinder.find(list, at: span.pointer)?.messages
    }
    guard outputs == nil,
      let list = Flattened.value(span.attributes, below: "gen_ai.completion")?.arrayValue
    else { return }
    let replies = list.compactMap { element -> JSONValue? in
      guard var object = element.objectValue else { return nil }
      if object["role"] == nil { object["role"] = "assistant" }
      return .object(object)
    }
    outputs = MessageFinder.find(.array(replies), at: span.pointer)?.messages
  }

  // MARK: Figures

  private mutating func readFigures(_ span: TraceSpan) {
    func number(_ keys: [String]) -> Int? {
      for key in keys {
        if let value = span[key]?.intValue ?? span[key]?.stringValue.flatMap({ Int($0) }) {
          return max(0, value)
        }
      }
      return nil
    }
    let details = span.first([
      "langfuse.observation.usage_details", "mlflow.chat.tokenUsage", "langsmith.usage_metadata",
    ])
    var told = ReadUsage(details.flatMap { $0.stringValue.flatMap(JSONText.parse) ?? $0 })
    told.inputTokens =
      number([
        "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt",
        "ai.usage.promptTokens", "ai.usage.inputTokens", "llm.usage.prompt_tokens",
      ]) ?? told.inputTokens
    told.outputTokens =
      number([
        "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
        "ai.usage.completionTokens", "ai.usage.outputTokens", "llm.usage.completion_tokens",
      ]) ?? told.outputTokens
    // Both conventions on one span: the narrower one leaves reasoning out.
    told.cachedTokens =
      number([
        "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens",
      ]) ?? told.cachedTokens
    told.reasoningTokens =
      number([
        "gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens",
        "llm.token_count.completion_details.reasoning", "ai.usage.reasoningTokens",
      ]) ?? told.reasoningTokens
    usage = told
    model =
      span.text(
        "gen_ai.response.model", "llm.model_name", "gen_ai.request.model",
        "langfuse.observation.model.name", "ai.response.model", "ai.model.id", "mlflow.llm.model",
        "llm.request.model")
    responseId = span.text("gen_ai.response.id", "ai.response.id", "llm.response.id") ?? responseId
    // Some exporters write a list as a text of JSON.
    let ended = span["gen_ai.response.finish_reasons"]
    let reasons = ended?.stringValue.flatMap(JSONText.parse)?.arrayValue ?? ended?.arrayValue
    let words = reasons?.compactMap(\.stringValue) ?? [ended?.stringValue].compactMap { $0 }
    finish =
      (words.first { CallGraph.endsWithCalls.contains(JSONValue.plainKey($0)) } ?? words.first)
      ?? span.text(
        "gen_ai.response.finish_reason", "llm.finish_reason", "gen_ai.completion.0.finish_reason",
        "anthropic.message.stop_reason") ?? finish
    finish = finish.map(FinishWord.withoutEnumeration)
  }

  /// What the reply itself says, where the span does not.
  private mutating func takeFromReply() {
    guard let reply = outputs?.last(where: { $0.role == .assistant }) else { return }
    finish = finish ?? reply.finish
    responseId = responseId ?? reply.responseId
    model = model ?? reply.model
    if usage.inputTokens == nil, usage.outputTokens == nil { usage = reply.usage }
    // A word on the reply that is no end of itself counts before one that is.
    if let word = reply.finish,
      RefusalWord.detail(ofFinish: word) != nil || FinishWord.limits.contains(word.lowercased())
    {
      finish = word
    }
    // Some print the objects of their client in a message's place.
    if outputs?.allSatisfy({ $0.calls.isEmpty && Self.isPrinted($0.text) }) == true {
      outputs = nil
    }
    let isCut = outputs?.contains {
      Self.isCutMessage($0.text) || Self.isCutMessage($0.raw["parts"])
    }
    if isCut == true { mayLackCalls = true }
  }

  /// Whether a text is the beginning of a message, or of the parts of one, that a limit cut.
  private static func isCutMessage(_ text: JSONValue?) -> Bool {
    guard JSONText.lacksEnd(text) else { return false }
    var head = text?.stringValue ?? ""
    if case .cut(_, let beginning)? = text { head = beginning }
    guard let told = JSONText.beginning(of: head) else { return false }
    return told.arrayValue?.first?["type"]?.stringValue != nil
      || MessageFinder.find(told, at: JSONPointer()) != nil
  }

  /// Whether a text is what a program prints of an object, in place of what the object holds.
  static func isPrinted(_ text: JSONValue?) -> Bool {
    guard let text = text?.stringValue else { return false }
    if text.hasPrefix("{'") || text.hasPrefix("[{'") { return true }
    let name = text.utf8.prefix { byte in
      (0x41...0x5a).contains(byte & 0xdf) || (0x30...0x39).contains(byte) || byte == 0x5f
    }
    guard let first = name.first, (0x41...0x5a).contains(first), name.count > 3 else {
      return false
    }
    let rest = text.utf8.dropFirst(name.count)
    return rest.first == UInt8(ascii: "(") && text.utf8.last == UInt8(ascii: ")")
      && rest.prefix(64).contains(UInt8(ascii: "="))
  }
}
