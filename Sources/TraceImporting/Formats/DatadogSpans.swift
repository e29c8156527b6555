import AgentTrace

/// Spans of Datadog's observability of agents: what its interfaces answer, `{"data":[{"type":"span","attributes":{"span_id",
/// "span_kind","input","output"}}]}`, what they are sent, `{"data":{"attributes":{"spans":[…]}}}`, and what its libraries send,
/// `{"event_type":"span","spans":[{"span_id","meta":{…}}]}`.
enum DatadogSpans: SpanFormatAdapter {
  static let summary = FormatSummary(
    reads: "spans of Datadog's LLM Observability, as it exports and takes them",
    tells: "as otlp")

  static let format = ImportFormat.datadog

  private static let keys = ["data"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: keys) { !events(in: $0, at: JSONPointer()).isEmpty }
  }

  private static func isEvent(_ value: JSONValue) -> Bool {
    value["span_id"]?.stringValue != nil && value["trace_id"]?.stringValue != nil
      && value["start_ns"]?.doubleValue != nil
      && (value["meta"]?.objectValue != nil || value["span_kind"]?.stringValue != nil)
  }

  /// What a value holds that is a span, or stands among such, and what is said of all of them.
  private static func events(
    in value: JSONValue, at pointer: JSONPointer
  ) -> [(place: JSONPointer, event: JSONValue)] {
    if isEvent(value) { return [(pointer, value)] }
    if let inner = value["attributes"], isEvent(inner) {
      return [(pointer.appending("attributes"), inner)]
    }
    let (holder, place) =
      value["data"]?["attributes"].map {
        ($0, pointer.appending("data").appending("attributes"))
      } ?? (value, pointer)
    guard let list = holder["spans"]?.arrayValue, list.contains(where: isEvent) else { return [] }
    return list.enumerated().map { index, event in
      var event = event
      if var members = event.objectValue, members["session_id"] == nil,
        let session = holder["session_id"]
      {
        members["session_id"] = session
        event = .object(members)
      }
      return (place.appending("spans").appending(String(index)), event)
    }
  }

  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet {
    guard recognizes(document) else {
      throw ImportError(
        .wrongShape(expected: "spans with `span_id` and `meta` or `span_kind`"), at: JSONPointer())
    }
    var set = SpanSet()
    var spans: [TraceSpan] = []
    for (pointer, value) in set.values(of: document, keys: keys) {
      let events = events(in: value, at: pointer)
      if events.isEmpty, !value.saysNothing { set.addUnread(value, at: pointer) }
      for (place, event) in events {
        guard isEvent(event) else {
          if !event.saysNothing { set.addUnread(event, at: place) }
          continue
        }
        set.look(at: event, reading: shapes, at: place)
        let word = word(of: event)
        // Of another word, or none, nobody knows whether it is a call.
        if kinds[word] == nil { set.addUnread(event, at: place) }
        spans.append(span(event, kinds[word] ?? .step, at: place))
      }
    }
    try set.add(spans.takingAskedStepsAsTools)
    return set
  }

  private static let shapes: [String: SpanSet.Shape] = [
    "span_id": .any, "trace_id": .any, "meta": .object, "input": .any, "output": .any,
    "metadata": .any, "metrics": .any, "tags": .any, "span_links": .any, "_dd": .any,
    "evaluation": .any, "tool_definitions": .any, "collection_errors": .any, "error": .any,
  ]

  private static let kinds: [String: PlatformKind] = [
    "llm": .model, "tool": .tool, "agent": .agent, "workflow": .step, "task": .step,
    "experiment": .step, "embedding": .other, "retrieval": .other,
  ]

  private static func word(of event: JSONValue) -> String {
    let meta = event["meta"]
    return
      (meta?["span"]?["kind"] ?? meta?["span.kind"] ?? meta?["kind"] ?? event["span_kind"])?
      .stringValue ?? ""
  }

  private static func span(
    _ event: JSONValue, _ kind: PlatformKind, at pointer: JSONPointer
  ) -> TraceSpan {
    let meta = event["meta"]
    let start = SpanTime.nanoseconds(event["start_ns"]) ?? 0
    let (end, isBeyond) = start.addingReportingOverflow(
      OtlpReader.nanoseconds(event["duration"]) ?? 0)
    var span = TraceSpan(
      id: event["span_id"]?.stringValue ?? "",
      parent: event["parent_id"]?.stringValue.flatMap { noParent.contains($0) ? nil : $0 },
      trace: event["trace_id"]?.stringValue ?? "", name: event["name"]?.stringValue ?? "",
      start: start, end: isBeyond ? start : end, pointer: pointer)
    // What was too large was left out, with a text in its place.
    let isDropped =
      event["collection_errors"]?.arrayValue?.contains { $0.stringValue == "dropped_io" } ?? false
    let (input, output) = (meta?["input"] ?? event["input"], meta?["output"] ?? event["output"])
    span.take(
      kind, input: isDropped ? nil : said(input, kind, role: "user"),
      output: isDropped ? nil : said(output, kind, role: "assistant"))
    span.attributes["session.id"] = event["session_id"]
    switch kind {
    case .model:
      span.attributes["gen_ai.request.model"] = meta?["model_name"] ?? event["model_name"]
      span.attributes["gen_ai.tool.definitions"] =
        meta?["tool_definitions"] ?? event["tool_definitions"]
      span.attributes["langsmith.usage_metadata"] = event["metrics"]
    case .agent: span.attributes["gen_ai.agent.name"] = event["name"]
    default: break
    }
    if event["status"] == "error" {
      span.hasFailed = true
      span.statusMessage =
        (meta?["error"]?["message"] ?? meta?["error.message"] ?? event["error"]?["message"]
        ?? event["status_message"])?.stringValue?.firstLine
    }
    return span
  }

  /// What stands for no parent.
  private static let noParent: Set<String> = ["", "0", "undefined"]

  /// What went in or came out: messages where a model was asked, else the value.
  ///
  /// - Parameter role: whose the messages are that name none.
  private static func said(
    _ told: JSONValue?, _ kind: PlatformKind, role: String
  ) -> JSONValue? {
    guard kind == .model || kind == .agent, let messages = told?["messages"]?.arrayValue,
      !messages.isEmpty
    else { return told?["value"] ?? (told?.objectValue == nil ? told : nil) }
    return .array(DatadogMessages.plain(messages, role: role))
  }
}

/// Messages as Datadog has them, in the shape of the chat interface.
private enum DatadogMessages {
  static func plain(_ messages: [JSONValue], role: String) -> [JSONValue] {
    var plain: [JSONValue] = []
    var thoughts: JSONValue?
    for message in messages {
      guard var object = message.objectValue else {
        plain.append(message)
        continue
      }
      // What a model thought stands as a message before what it said.
      if object["role"] == "reasoning" {
        thoughts = object["content"]
        continue
      }
      if object["role"]?.saysNothing ?? true { object["role"] = .string(role) }
      if let thought = thoughts, object["role"] == "assistant" {
        object["reasoning"] = thought
        thoughts = nil
      }
      if object["role"] == "tool", let id = id(object) {
        (object["tool_call_id"], object["tool_id"]) = (id, nil)
      }
      if let calls = object["tool_calls"]?.arrayValue {
        object["tool_calls"] = .array(calls.map(call))
      }
      let results = object["tool_results"]?.arrayValue ?? []
      if !results.isEmpty { object["tool_results"] = nil }
      let isEmpty =
        (object["content"]?.saysNothing ?? true) && (object["tool_calls"]?.saysNothing ?? true)
      if results.isEmpty || !isEmpty { plain.append(.object(object)) }
      plain += results.map(result)
    }
    return plain
  }

  /// The id of a call, where there is one.
  private static func id(_ object: JSONObject) -> JSONValue? {
    object["tool_id"].flatMap { $0.saysNothing ? nil : $0 }
  }

  private static func call(_ value: JSONValue) -> JSONValue {
    guard var object = value.objectValue else { return value }
    (object["id"], object["tool_id"]) = (id(object) ?? object["id"], nil)
    return .object(object)
  }

  private static func result(_ value: JSONValue) -> JSONValue {
    guard var object = value.objectValue else { return value }
    object["role"] = "tool"
    (object["tool_call_id"], object["tool_id"]) = (id(object), nil)
    (object["content"], object["result"]) = (object["result"], nil)
    object["type"] = nil
    return .object(object)
  }
}
