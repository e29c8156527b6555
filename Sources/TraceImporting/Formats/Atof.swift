import AgentTrace

/// Event streams of NeMo Relay (ATOF): lines of `{"atof_version","kind":"scope","category","scope_category":"start"|"end","uuid",…}`.
enum Atof: FormatAdapter {
  static let summary = FormatSummary(
    reads: "event streams of NeMo Relay",
    tells: "as otlp")

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document) { $0["atof_version"] != nil && $0["kind"] != nil }
  }

  private static let operations: [String: JSONValue] = [
    "agent": "invoke_agent", "llm": "chat", "tool": "execute_tool", "function": "execute_tool",
  ]

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "events with `atof_version`")
    var spans: [String: TraceSpan] = [:]
    var order: [String] = []
    var children: [(session: String, pointer: JSONPointer)] = []
    var set = SpanSet()
    let lines = SourceLines(document)
    set.unread = lines.unread
    for (pointer, event) in lines.values {
      guard event["kind"] == "scope", let id = event["uuid"]?.stringValue else {
        // Marks tell of approvals and sub-agents, and hold no call; one of a category that has scopes may be one.
        let category = event["category"]?.stringValue
        if event["kind"] != "mark" || event.mayHoldCall
          || category.map({ $0 != "agent" && $0 != "llm" }) ?? false
        {
          set.unread.append(pointer)
        }
        if event["name"]?.stringValue?.hasSuffix("subagent.start") == true {
          for key in ["child_session_id", "childSessionId"] {
            if let id = (event["data"]?[key] ?? event["metadata"]?[key] ?? event[key])?.stringValue
            {
              children.append((id, pointer))
            }
          }
        }
        continue
      }
      // What is none of these may be a tool's, by another word.
      let category = event["category"]?.stringValue ?? ""
      if operations[category] == nil { set.unread.append(pointer) }
      if spans[id] == nil { order.append(id) }
      var span = spans[id] ?? span(event, id: id, at: pointer)
      take(event, into: &span)
      spans[id] = span
    }
    // What a sub-agent did stands under its own session.
    let sessions = Set(spans.values.map(\.trace))
    set.unread += children.filter { !sessions.contains($0.session) }.map(\.pointer)
    for id in order {
      if let span = spans[id] { try set.add(span) }
    }
    return SpanFormats.runs(of: set, format: .atof)
  }

  private static func span(_ event: JSONValue, id: String, at pointer: JSONPointer) -> TraceSpan {
    let time = SpanTime.nanoseconds(event["timestamp"]) ?? 0
    let metadata = event["metadata"]
    var span = TraceSpan(
      id: id, parent: event["parent_uuid"]?.stringValue,
      trace: metadata?["session_id"]?.stringValue ?? "atof", name: event["name"]?.stringValue ?? "",
      start: time, end: time, pointer: pointer)
    span.attributes["gen_ai.operation.name"] =
      operations[event["category"]?.stringValue ?? ""] ?? "unknown"
    span.attributes["session.id"] = metadata?["session_id"]
    span.attributes["gen_ai.request.model"] = metadata?["model"]
    span.attributes["gen_ai.tool.call.id"] = metadata?["tool_call_id"]
    return span
  }

  private static func take(_ event: JSONValue, into span: inout TraceSpan) {
    let isEnd = event["scope_category"] == "end"
    let isTool = span["gen_ai.operation.name"] == "execute_tool"
    if isEnd, let time = SpanTime.nanoseconds(event["timestamp"]) { span.end = time }
    let metadata = event["metadata"]
    if isTool { span.attributes["gen_ai.tool.name"] = event["name"] }
    if let data = event["data"], !data.saysNothing {
      switch (isTool, isEnd) {
      case (true, false): span.attributes["gen_ai.tool.call.arguments"] = data
      case (true, true): span.attributes["gen_ai.tool.call.result"] = data
      case (false, false): span.attributes["input.value"] = data
      case (false, true): span.attributes["output.value"] = data["assistant_message"] ?? data
      }
      if let error = data["error"], !error.saysNothing {
        span.hasFailed = true
        span.statusMessage = error.stringValue
      }
    }
    if let reason = metadata?["reason"] { span.attributes["llm.finish_reason"] = reason }
    if metadata?["status"] == "error" || metadata?["reason"] == "error" { span.hasFailed = true }
  }
}
