import AgentTrace

/// What a tool's span says of one execution.
struct SpanTool {
  var name: String
  var id: String?
  /// What it was given; `nil` where the span does not tell.
  var input: JSONValue?
  /// Whether what it was given stands there damaged.
  var isInputCut = false
  var data: Told
  var status: GraphResult.Status
  /// Whether nobody knows what it did; it is an error.
  var isEffectUnknown = false

  init(of span: TraceSpan, records: [TraceSpan.Event]) {
    name = Self.name(of: span)
    id = Self.toldId(of: span)
    data = .absent
    status = .ok
    if let word = span.text("agent_eval.call.status") {
      readOwn(span, word)
      return
    }
    readInput(span, records)
    readOutput(span, records)
    if let failure = span.failure {
      status = .error
      if data == .absent { data = .there(.string(failure)) }
    }
    // AG2 says of a long result that it is the beginning of one.
    if span["ag2.tool.call.result.truncated"]?.boolValue == true, let text = data.value?.stringValue
    {
      data = .cut(text)
    }
    // Some frameworks catch what a tool throws, and say in a word alone that it did.
    if let word = span.text("gen_ai.tool.status", "tool.status"),
      Self.failureWords.contains(word.lowercased())
    {
      status = .error
    }
  }

  /// Our own exports say what became of a call, also of one that never began, and have what a tool was given and gave back
  /// as it was: nothing in it is the wrapping of a framework.
  private mutating func readOwn(_ span: TraceSpan, _ word: String) {
    if let text = span.text("gen_ai.tool.call.arguments", "input.value"),
      case .there = Told(text: .string(text))
    {
      input = JSONText.any(text)
      isInputCut = input == nil
    }
    switch word {
    case "refused": status = .refused
    case "returned": status = .returned
    case "unknown": (status, isEffectUnknown) = (.error, true)
    case "error":
      (status, isEffectUnknown) = (.error, span.text("error.type") == "unknown_effect")
    default: break
    }
    // A text may be empty, which is another thing than none.
    let told = span.attributes["gen_ai.tool.call.result"] ?? span.attributes["output.value"]
    data = (told ?? span.failure.map(JSONValue.string)).map { Told(text: $0) } ?? .absent
    if span["agent_eval.call.json"]?.boolValue == true { data = OwnMarks.data(in: data) }
  }

  private static let failureWords: Set<String> = ["error", "failed", "failure"]

  /// The id of the call as an attribute says it; the results of some frameworks say it besides. What stands in the place of
  /// one that is not known, as `<not specified>` does, is none.
  private static func toldId(of span: TraceSpan) -> String? {
    let id = span.text(
      "gen_ai.tool.call.id", "tool.id", "tool_call.id", "ai.toolCall.id", "tool.call.id",
      "langsmith.tool_call_id", "lk.function_tool.id", "gen_ai.tool.call_id")
    return id.flatMap { $0.hasPrefix("<") && $0.hasSuffix(">") ? nil : $0 }
  }

  /// The id of the call, without reading what else there is where an attribute says it.
  static func id(of span: TraceSpan) -> String? {
    toldId(of: span) ?? SpanTool(of: span, records: []).id
  }

  /// The tool's name.
  static func name(of span: TraceSpan) -> String {
    if let name = span.text(
      "gen_ai.tool.name", "tool.name", "ai.toolCall.name", "tool_name", "lk.function_tool.name",
      "haystack.tool.name")
    {
      return name
    }
    if let name = span.text("traceloop.entity.name") { return name }
    if span.agentsDataKind == .tool, let name = span.text("name") { return name }
    for prefix in ["execute_tool ", "running tool: ", "Tool: "] where span.name.hasPrefix(prefix) {
      return String(span.name.dropFirst(prefix.count))
    }
    let name = called(span)
    // What it is, and not which.
    return kindWords.contains(JSONValue.plainKey(name)) ? "" : name
  }

  private static let methods = [".__call__", ".acall"]

  /// The tool in a span's name: without the method by which OpenInference tells DSPy's tools to be called, Traceloop's word
  /// for what it is, or the one that MLflow puts before DSPy's.
  private static func called(_ span: TraceSpan) -> String {
    for suffix in [".tool"] + methods where span.name.hasSuffix(suffix) {
      return String(span.name.dropLast(suffix.utf8.count))
    }
    let mark = "Tool."
    return span.name.hasPrefix(mark) && span["mlflow.spanType"] != nil
      ? String(span.name.dropFirst(mark.utf8.count)) : span.name
  }

  /// What spans of tools are called whose tool nobody named, as ``JSONValue/plainKey(_:)`` writes it.
  private static let kindWords: Set<String> = [
    "aitoolcall", "calltool", "executetool", "function", "functioncall", "runningtool", "tool",
    "toolcall", "toolscall",
  ]

  /// The attributes that hold what it was given.
  static let inputKeys = [
    "gen_ai.tool.call.arguments", "ai.toolCall.args", "tool_arguments",
    "gcp.vertex.agent.tool_call_args", "tool.arguments",
    "input.value", "langfuse.observation.input", "gen_ai.prompt", "mlflow.spanInputs",
    "traceloop.entity.input", "langsmith.inputs", "gen_ai.tool.arguments", "input",
    "lk.pii.function_tool.arguments", "lk.function_tool.arguments",
    "haystack.agent.step.tool.input",
  ]
  /// The attributes that hold what came back.
  static let outputKeys = [
    "gen_ai.tool.call.result", "ai.toolCall.result", "tool_response",
    "gcp.vertex.agent.tool_response",
    "output.value", "langfuse.observation.output", "gen_ai.completion", "mlflow.spanOutputs",
    "traceloop.entity.output", "langsmith.outputs", "gen_ai.tool.result", "output",
    "lk.pii.function_tool.output", "lk.function_tool.output", "haystack.agent.step.tool.output",
  ]

  private mutating func readInput(_ span: TraceSpan, _ records: [TraceSpan.Event]) {
    var value = span.first(Self.inputKeys) ?? span.ofGeminiCli("gen_ai.input.messages")
    for event in span.events + records where value == nil && event.name == "gen_ai.tool.message" {
      value = event.attributes["content"]
      id = id ?? event.attributes["id"]?.stringValue
    }
    guard let value else { return }
    guard case .there = Told(text: value) else { return }
    let parsed = value.stringValue.flatMap(JSONText.parse) ?? value
    if let text = parsed.stringValue, SpanContent.isObject(text) {
      isInputCut = true
      return
    }
    input = Self.arguments(parsed)
    // All that a method was given by name, which DSPy's tools are called by.
    if Self.methods.contains(where: span.name.hasSuffix), let named = input?["kwargs"],
      named.objectValue != nil, input?.objectValue?.count == 1
    {
      input = named
    }
    if parsed["tags"] != nil { id = id ?? parsed["kwargs"]?["tool_call_id"]?.stringValue }
  }

  /// What an attribute says that the tool was given, without what a framework's callbacks wrap it in: so it is held
  /// against the call that was read.
  static func given(_ value: JSONValue) -> JSONValue {
    guard
      let wrapped = value.stringValue.flatMap(JSONText.parse)
        ?? value.objectValue.map({ .object($0) }),
      let inner = arguments(wrapped), inner != wrapped
    else { return value }
    return .string(CanonicalJSON.string(inner, form: .plain))
  }

  /// The named arguments, where a function's are told as positional and named ones.
  private static func arguments(_ value: JSONValue) -> JSONValue? {
    guard let object = value.objectValue else { return value }
    if let named = object["kwargs"], named.objectValue != nil, object["args"]?.arrayValue != nil {
      // Positional ones have no names here.
      return object["args"]?.saysNothing == true ? named : nil
    }
    // The Gemini CLI's request.
    if let inner = object["args"], inner.objectValue != nil, object["callId"] != nil {
      return inner
    }
    // What LangChain's callbacks wrap them in.
    if let inner = object["tool_call"]?["args"] ?? object["inputs"], object.count <= 5,
      object["tags"] != nil || object["type"] != nil || object["tool_call"] != nil
    {
      return inner
    }
    if object.count == 1, let text = object["input"]?.stringValue, let inner = JSONText.parse(text)
    {
      return inner
    }
    return value
  }

  private mutating func readOutput(_ span: TraceSpan, _ records: [TraceSpan.Event]) {
    if let value = span.first(Self.outputKeys) ?? span.ofGeminiCli("gen_ai.output.messages") {
      take(value)
    } else if let key = Self.outputKeys.first(where: { span.attributes[$0] != nil }) {
      // It says that there was nothing.
      data = .there(span.attributes[key] ?? .null)
    } else {
      for event in span.events + records where event.name == "gen_ai.choice" {
        if let message = event.attributes["message"] { take(message) }
        id = id ?? event.attributes["id"]?.stringValue
      }
    }
  }

  private mutating func take(_ value: JSONValue) {
    data = Told(text: value)
    guard case .there = data else { return }
    guard let text = value.stringValue else {
      if let object = value.objectValue { takeMessage(object) }
      return
    }
    if let parsed = JSONText.parse(text) {
      if let object = parsed.objectValue { takeMessage(object) }
    } else if SpanContent.isObject(text), JSONText.isCut(text) || JSONText.lacksEnd(value) {
      data = .cut(text)
    }
  }

  /// A framework's message in the place of what it holds.
  private mutating func takeMessage(_ object: JSONObject) {
    for key in ["output", "result"] where object.count <= 2 {
      if let inner = object[key]?.objectValue, inner["tool_call_id"] != nil || inner["lc"] != nil {
        return takeMessage(inner)
      }
    }
    if let kwargs = LangChainMessages.unwrapped(.object(object))?.objectValue {
      return takeMessage(kwargs)
    }
    // LlamaIndex's `ToolCallResult`, around its `ToolOutput`.
    if let output = object["tool_output"], object["tool_name"] != nil {
      id = id ?? object["tool_id"]?.stringValue
      data = Told(text: output)
      if let inner = output.objectValue { takeMessage(inner) }
      return
    }
    // LlamaIndex's `ToolOutput`.
    if let isError = object["is_error"]?.boolValue, object["tool_name"] != nil,
      let output = object["raw_output"]
    {
      let texts = object["blocks"]?.arrayValue?.compactMap { $0["text"]?.stringValue } ?? []
      let isWhole = !texts.isEmpty && texts.count == object["blocks"]?.arrayValue?.count
      data = isWhole ? .there(.string(texts.joined(separator: "\n"))) : Told(text: output)
      if isError { status = .error }
      return
    }
    // The Gemini CLI's call, as it became.
    if object["request"] != nil, let state = object["status"]?.stringValue,
      let parts = object["response"]?["responseParts"]?.arrayValue
    {
      data = Told(text: parts.first?["functionResponse"]?["response"] ?? .array(parts))
      if state == "error" { status = .error }
      if state == "cancelled" { status = .refused }
      return
    }
    if object["type"] == "tool" || object["tool_call_id"] != nil, let content = object["content"] {
      data = Told(text: content)
      id = id ?? object["tool_call_id"]?.stringValue
      if object["status"] == "error" { status = .error }
    } else if let response = object["response"], object["name"] != nil, object["id"] != nil {
      data = Told(text: response)
      if response["error"]?.saysNothing == false { status = .error }
    }
  }
}

extension TraceSpan {
  /// What a tool's span of the Gemini CLI holds in the place of a model's messages.
  fileprivate func ofGeminiCli(_ key: String) -> JSONValue? {
    self["gen_ai.operation.name"] == "tool_call" ? self[key] : nil
  }
}

extension JSONText {
  /// Whether a text that begins as JSON ends before it does.
  static func isCut(_ text: String) -> Bool {
    do throws(JSONError) {
      _ = try JSONValue(parsing: text, options: SourceDocument.options)
      return false
    } catch {
      return error.code == .unexpectedEnd
    }
  }
}
