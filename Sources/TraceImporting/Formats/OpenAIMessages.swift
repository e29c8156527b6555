import AgentTrace
import TraceStorage

/// Message lists of the chat-completion interface: `[{"role",…}]`, `{"messages":[…]}`, many of them
/// in an array or one a line, and arrays of τ-bench results.
///
/// Shapes: https://platform.openai.com/docs/api-reference/chat (messages, `tool_calls`, `refusal`, the
/// older `function_call`), https://github.com/sierra-research/tau-bench (results).
enum OpenAIMessages: FormatAdapter {
  static let summary = FormatSummary(
    reads: "message lists of the chat-completion interface, and results of tau-bench",
    tells: "calls, arguments and results whole; no usage, no end but the last text")

  /// What the objects of a list may hold: the interface's own keys, those that servers and clients of it add
  /// to replies, and those of requests and of data sets.
  private enum Keys {
    static let run = KnownKeys(
      read: ["messages", "tools", "functions"],
      words: [
        "id", "object", "created", "created_at", "timestamp", "model", "temperature", "top_p", "n",
        "max_tokens", "max_completion_tokens", "seed", "stream", "store", "user", "service_tier",
        "reasoning_effort", "parallel_tool_calls", "logprobs", "top_logprobs", "frequency_penalty",
        "presence_penalty", "system_fingerprint", "finish_reason", "stop_reason",
      ],
      data: ["metadata", "stop", "response_format", "usage", "stream_options", "tags"],
      objects: ["tool_choice"])
    private static let common = KnownKeys(
      words: ["id", "name", "timestamp", "created", "created_at"], data: ["cache_control"])
    static let messages = MessageKeys(
      system: common, user: common,
      assistant: common
        + KnownKeys(
          read: ["tool_calls", "function_call"],
          words: [
            "refusal", "reasoning", "reasoning_content", "model", "finish_reason", "prefix",
            "weight",
          ],
          data: [
            "annotations", "audio", "images", "logprobs", "parsed", "provider_specific_fields",
            "reasoning_details", "thinking_blocks", "usage",
          ]),
      tool: common + KnownKeys(words: ["tool_call_id"]))
    /// A call, `{"type":"function","function":{…}}`.
    static let functionCall = KnownKeys(read: ["function", "type"], words: ["id", "index"])
    static let function = KnownKeys(
      read: ["arguments"], words: ["name"], data: ["parsed_arguments"])
    /// One of a tool that takes text, `{"type":"custom","custom":{…}}`.
    static let customCall = KnownKeys(read: ["custom", "type"], words: ["id", "index"])
    static let custom = KnownKeys(words: ["name", "input"])
    /// One without a function of its own, as clients hand them on.
    static let plainCall = KnownKeys(
      read: ["args", "arguments", "type"], words: ["id", "index", "name"])
    /// The words that such a call may have for its `type`.
    static let plainTypes = ["function", "tool_call"]
  }

  static func recognizes(_ document: SourceDocument) -> Bool {
    switch document {
    case .value(let value):
      value.arrayValue?.first.map(isRunOrMessage) ?? isRunOrMessage(value)
    case .lines(let lines):
      lines.contains { line in (try? line.content.get()).map(isRunOrMessage) ?? false }
    case .parts: false
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
      return SourceRun.each(elements, carriedOrRun)
    case .value(let value):
      return [SourceRun(index: nil, try carriedOrRun(value, at: JSONPointer()))]
    case .lines(let lines):
      if let first = lines.first, (try? first.content.get())?["role"] != nil {
        return [messageLines(lines)]
      }
      return SourceRun.each(lines, carriedOrRun)
    case .parts:
      throw ImportError(.wrongShape(expected: "one file of messages"), at: JSONPointer())
    }
  }

  /// The run whose log goes along, or what the messages beside it say.
  private static func carriedOrRun(
    _ value: JSONValue, at pointer: JSONPointer
  ) throws(ImportError) -> any EventSource {
    try CarriedRun.find(in: value, at: pointer, else: run)
  }

  /// A file that is one list of messages.
  private static func messageList(_ elements: [JSONValue]) -> SourceRun {
    SourceRun(
      index: nil,
      finished(
        try MessageFields.messages(elements, at: JSONPointer(), reading: Self.message), extra: [:]))
  }

  /// A file that holds one message a line.
  private static func messageLines(_ lines: [SourceDocument.Line]) -> SourceRun {
    SourceRun(index: nil) { () throws(ImportError) in
      guard lines.count <= ImportLimits.messageLimit else {
        throw ImportError(.tooManyMessages(limit: ImportLimits.messageLimit))
      }
      var messages: [ReadMessage] = []
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
  ) throws(ImportError) -> CallGraph {
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
    return finished(
      messages, extra: fields.without(["messages"]), unread: fields.unread(but: Keys.run))
  }

  /// A bare list ends by its form: in an assistant's text, or nobody knows how.
  ///
  /// Where it ends in calls, what became of them is not told.
  private static func finished(
    _ messages: [ReadMessage], extra: JSONObject, unread: [JSONPointer] = []
  ) -> CallGraph {
    var run = CallGraph(format: .openAIMessages, messages: messages)
    run.tellFates()
    run.extra = extra
    run.unread = unread
    guard case .reply(let last)? = run.items.last, last.calls.isEmpty else { return run }
    if let refusal = last.refusal {
      run.ending = ParsedEnding(reason: .blocked, detail: refusal)
    } else if last.isText, last.saysSomething, extra.isOver {
      run.ending = FinishWord.ending(ofText: last.finish ?? extra.finish)
      // What may be a call is no answer by its form.
      if run.ending?.isByForm == true, !last.unread.isEmpty { run.ending = nil }
    }
    return run
  }

  /// Reads one message.
  static func message(_ fields: MessageFields) throws(ImportError) -> ReadMessage {
    var message = try fields.message(taking: [], known: Keys.messages)
    switch message.role {
    case .assistant:
      try readCalls(of: fields, into: &message)
      // A list of this interface has no place for calls of tools that a provider's servers ran.
      if ReadUsage(fields["usage"]).serverCalls != nil {
        message.unread.append(fields.pointer.appending("usage"))
      }
      if let refusal = declined(message) {
        (message.texts, message.parts) = ([], [])
        message.add(text: refusal)
      }
      message.isRefusal = declined(message) != nil
      message.finish = (fields["finish_reason"] ?? fields["stop_reason"])?.stringValue
    case .tool:
      message.results = [
        GraphResult(
          id: fields["tool_call_id"]?.stringValue, tool: fields["name"]?.stringValue,
          data: .there(fields.object["content"] ?? .null), status: .returned,
          pointer: fields.pointer)
      ]
      message.extra["content"] = nil
    default: break
    }
    return message
  }

  private static func readCalls(
    of fields: MessageFields, into message: inout ReadMessage
  ) throws(ImportError) {
    for (place, value) in try fields.elements("tool_calls") {
      try read(try MessageFields(value, at: place), into: &message)
    }
    guard let value = fields["function_call"], !value.saysNothing else { return }
    let place = fields.pointer.appending("function_call")
    // The older key and the newer one: the same call twice, or two.
    guard message.calls.isEmpty else { return message.unread.append(place) }
    let call = try MessageFields(value, at: place)
    message.addCall(
      name: call["name"], arguments: call.object["arguments"], id: nil, of: call,
      known: Keys.function)
  }

  private static func read(
    _ call: MessageFields, into message: inout ReadMessage
  ) throws(ImportError) {
    let type = call["type"]?.stringValue
    let isTyped = call["type"] != nil
    if let custom = call["custom"], custom.objectValue != nil, type == "custom" {
      let inner = try MessageFields(custom, at: call.pointer.appending("custom"))
      message.addCall(
        name: inner["name"], arguments: inner.object["input"], id: call["id"], isText: true,
        of: call, known: Keys.customCall)
      message.unread += inner.unread(but: Keys.custom)
      return
    }
    if call["function"] == nil, call["name"]?.stringValue != nil,
      !isTyped || type.map(Keys.plainTypes.contains) == true
    {
      let arguments = call.object["arguments"] ?? call.object["args"]
      if let other = call.object["args"], other != arguments {
        message.unread.append(call.pointer.appending("args"))
      }
      message.addCall(
        name: call["name"], arguments: arguments, id: call["id"], of: call,
        known: Keys.plainCall)
      return
    }
    let function = call["function"]
    message.addCall(
      name: function?["name"], arguments: function?.objectValue?["arguments"], id: call["id"],
      of: call, known: Keys.functionCall)
    if isTyped, type != "function" { message.unread.append(call.pointer.appending("type")) }
    if let function, function.objectValue != nil {
      let place = call.pointer.appending("function")
      message.unread += try MessageFields(function, at: place).unread(but: Keys.function)
    }
  }

  /// How the model declined to answer, in the field that the interface has for it.
  private static func declined(_ message: ReadMessage) -> JSONValue? {
    guard message.calls.isEmpty, let refusal = message.raw["refusal"]?.stringValue,
      !refusal.isEmpty, message.text == nil || message.text == .string(refusal)
    else { return nil }
    return .string(refusal)
  }
}

extension JSONObject {
  /// Whether what stands beside a list of messages says neither that the run failed nor that it waits for somebody, as
  /// LangGraph's states do, and is to go on from there.
  var isOver: Bool {
    // A checkpoint of LangGraph is kept after each step, the last as the others.
    (self["__interrupt__"]?.saysNothing ?? true) && self["channel_versions"] == nil && !isBrokenOff
      && !Self.accounts.contains { self[$0]?.objectValue?.isBrokenOff ?? false }
  }

  /// Whether a member says that a run failed, was cut off or has not ended.
  private var isBrokenOff: Bool {
    contains { member in
      let key = JSONValue.plainKey(member.key)
      // Some write a yes as a text.
      let word = member.value.stringValue?.lowercased()
      let isSo = word == "true" ? true : word == "false" ? false : member.value.boolValue
      return switch member.value {
      case _ where isSo != nil: (isSo == true ? Self.cutKeys : Self.doneKeys).contains(key)
      case .string(let word) where Self.stateKeys.contains(key): FinishWord.isBrokenOff(word)
      default: Self.errorKeys.contains(key) && member.value.saysError
      }
    }
  }

  /// The word for how the last reply ended, where that stands beside a list of messages.
  var finish: String? {
    (self["finish_reason"] ?? self["finishReason"] ?? self["stop_reason"] ?? self["stopReason"])?
      .stringValue
  }

  /// Objects beside a list in which programs say how a run ended.
  private static let accounts = ["info", "metadata", "result", "execution_result", "run"]
  /// Where they say it in a word, as what became of it, or with yes or no.
  private static let stateKeys: Set<String> = [
    "endreason", "exitreason", "exitstatus", "finalstatus", "runstatus", "state", "status",
    "terminatedby", "termination", "terminationreason",
  ]
  private static let errorKeys: Set<String> = [
    "error", "errormessage", "errortype", "exception", "exceptioninfo", "exitcode", "returncode",
    "traceback",
  ]
  private static let cutKeys: Set<String> = [
    "aborted", "canceled", "cancelled", "crashed", "error", "failed", "interrupted", "iserror",
    "timedout", "timeout", "truncated",
  ]
  private static let doneKeys: Set<String> = [
    "complete", "completed", "done", "finished", "iscomplete", "iscompleted", "isdone",
    "isfinished",
  ]
}
