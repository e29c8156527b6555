import AgentTrace

/// LangSmith's runs: lists or lines of `{"id","run_type","trace_id","dotted_order","inputs","outputs"}`, and the bodies that its
/// clients send, `{"post":[…],"patch":[…]}` or the same in parts.
enum LangSmith: SpanFormatAdapter {
  static let summary = FormatSummary(
    reads: "LangSmith's runs, and the bodies that its clients send",
    tells: "as otlp")

  static let format = ImportFormat.langSmith

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: ["runs"], with: isBody)
  }

  private static func isBody(_ value: JSONValue) -> Bool {
    if let parts = value["multipart"]?.arrayValue {
      return parts.contains { part in
        let name = part["name"]?.stringValue ?? ""
        return name.hasPrefix("post.") || name.hasPrefix("patch.")
      }
    }
    return isRun(value) || value["post"]?.arrayValue?.first.map(isRun) ?? false
      || value["patch"]?.arrayValue?.first.map { $0["id"] != nil && $0["trace_id"] != nil } ?? false
  }

  private static func isRun(_ value: JSONValue) -> Bool {
    value["run_type"]?.stringValue != nil && value["id"]?.stringValue != nil
      && (value["dotted_order"] != nil || value["trace_id"] != nil)
  }

  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet {
    try check(document, expecting: "runs with `run_type`")
    var runs: [(id: String, place: JSONPointer, run: JSONObject)] = []
    var index: [String: Int] = [:]
    func take(_ id: String, _ members: JSONObject, at place: JSONPointer) {
      let number = index[id] ?? runs.count
      if number == runs.count {
        index[id] = number
        runs.append((id, place, [:]))
      }
      // A later body knows how it ended.
      for member in members where !member.value.isNull {
        runs[number].run[member.key] = member.value
      }
    }
    var set = SpanSet()
    func take(_ value: JSONValue, at place: JSONPointer) {
      guard let object = value.objectValue, let id = object["id"]?.stringValue else {
        return set.addUnread(value, at: place)
      }
      take(id, object, at: place)
      set.look(at: value, reading: shapes, at: place)
      for (number, child) in (object["child_runs"]?.arrayValue ?? []).enumerated() {
        take(child, at: place.appending("child_runs").appending(String(number)))
      }
    }
    for (pointer, value) in set.values(of: document, keys: ["runs"]) {
      if let parts = value["multipart"]?.arrayValue {
        for (number, part) in parts.enumerated() {
          let name = (part["name"]?.stringValue ?? "").split(separator: ".").map(String.init)
          let place = pointer.appending("multipart").appending(String(number))
          guard name.count >= 2, name[0] == "post" || name[0] == "patch", let body = part["value"]
          else {
            // Attachments and what people say of a run.
            if !["attachment", "feedback"].contains(name.first ?? "") {
              set.addUnread(part, at: place)
            }
            continue
          }
          if name.count == 2 { set.look(at: body, reading: shapes, at: place) }
          if name.count > 2, shapes[name[2]] == nil { set.addUnread(body, at: place) }
          take(name[1], name.count > 2 ? [name[2]: body] : body.objectValue ?? [:], at: place)
        }
      } else if isRun(value) {
        take(value, at: pointer)
      } else {
        if value["post"] == nil, value["patch"] == nil { set.addUnread(value, at: pointer) }
        set.look(at: value, reading: ["post": .list, "patch": .list], at: pointer)
        for key in ["post", "patch"] {
          for (number, run) in (value[key]?.arrayValue ?? []).enumerated() {
            take(run, at: pointer.appending(key).appending(String(number)))
          }
        }
      }
    }
    for (id, place, run) in runs {
      try set.add(span(run, id: id, at: place))
      // A run that another one names as its child, and that stands nowhere.
      for key in ["direct_child_run_ids", "child_run_ids"] {
        for child in run[key]?.arrayValue ?? [] {
          guard let id = child.stringValue, index[id] == nil else { continue }
          set.addUnread(["child": child], at: place.appending(key))
        }
      }
      // Of another word, or none, nobody knows whether it is a call.
      if !types.contains(run["run_type"]?.stringValue ?? "") {
        set.addUnread(.object(run), at: place)
      }
    }
    return set
  }

  private static let types: Set<String> = [
    "llm", "chain", "tool", "retriever", "embedding", "prompt", "parser",
  ]

  /// What a run has: what is read of it, and what is known to hold no call that its inputs and outputs do not.
  private static let shapes: [String: SpanSet.Shape] = [
    "id": .any, "trace_id": .any, "run_type": .any, "inputs": .any, "outputs": .any, "extra": .any,
    "child_runs": .list, "serialized": .any, "events": .any, "attachments": .any, "error": .any,
    "manifest": .any, "reference_example": .any, "feedback_stats": .any,
  ]

  private static func span(_ run: JSONObject, id: String, at pointer: JSONPointer) -> TraceSpan {
    let start = SpanTime.nanoseconds(run["start_time"]) ?? 0
    var span = TraceSpan(
      id: id, parent: run["parent_run_id"]?.stringValue,
      trace: run["trace_id"]?.stringValue ?? id, name: run["name"]?.stringValue ?? "", start: start,
      end: SpanTime.nanoseconds(run["end_time"]) ?? start, pointer: pointer)
    span.scope = "langsmith"
    let isOver = run["status"].map { $0 != "pending" && !$0.saysNothing } ?? false
    span.isOpen =
      run["status"] == "pending"
      || !isOver && (run["end_time"]?.saysNothing ?? true) && (run["error"]?.saysNothing ?? true)
    span.attributes["langsmith.span.kind"] = run["run_type"]
    span.attributes["langsmith.inputs"] = run["inputs"]
    span.attributes["langsmith.outputs"] = run["outputs"]
    let metadata = run["extra"]?["metadata"]
    span.attributes["session.id"] =
      metadata?["session_id"] ?? metadata?["thread_id"] ?? metadata?["conversation_id"]
    span.attributes["gen_ai.request.model"] = metadata?["ls_model_name"]
    if let error = run["error"]?.stringValue, !error.isEmpty {
      span.hasFailed = true
      span.statusMessage = error.firstLine
    }
    return span
  }
}

/// What the OpenAI Agents SDK exports of itself: `{"data":[{"object":"trace"},{"object":"trace.span","span_data":{…}}]}`, lines or lists
/// of the same.
enum OpenAIAgents: SpanFormatAdapter {
  static let summary = FormatSummary(
    reads: "the OpenAI Agents SDK's own export",
    tells: "tools and usage; texts and call ids with the chat interface alone")

  static let format = ImportFormat.openAIAgents

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: ["data"], with: isItem)
      || SourceLines.begin(document) { $0["data"]?.arrayValue?.first.map(isItem) ?? false }
  }

  private static func isItem(_ value: JSONValue) -> Bool {
    value["object"] == "trace.span" && value["span_data"] != nil
      || value["object"] == "trace" && value["workflow_name"] != nil
  }

  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet {
    try check(document, expecting: "items with `object` trace.span")
    var set = SpanSet()
    var groups: [String: JSONValue] = [:]
    var items: [(JSONPointer, JSONValue)] = []
    for (pointer, value) in set.values(of: document, keys: []) {
      if value["object"] == nil { set.look(at: value, reading: ["data": .list], at: pointer) }
      guard let list = value["data"]?.arrayValue else {
        items.append((pointer, value))
        continue
      }
      for (index, item) in list.enumerated() {
        items.append((pointer.appending("data").appending(String(index)), item))
      }
    }
    for (_, item) in items where item["object"] == "trace" {
      if let id = item["id"]?.stringValue, let group = item["group_id"] { groups[id] = group }
    }
    // What another conversation tells says nothing of a call of this one.
    func conversation(_ item: JSONValue) -> String {
      let trace = item["trace_id"]?.stringValue ?? ""
      return groups[trace]?.stringValue ?? trace
    }
    var calls = Dictionary(grouping: items.map(\.1), by: conversation)
      .mapValues(OpenAIAgentsCalls.init)
    for (pointer, item) in items {
      guard item["object"] == "trace.span" else {
        if item["object"] != "trace", !item.saysNothing { set.addUnread(item, at: pointer) }
        continue
      }
      set.look(
        at: item,
        reading: [
          "id": .any, "trace_id": .any, "span_data": .object, "error": .any, "metadata": .any,
        ],
        at: pointer)
      guard var span = span(item, at: pointer) else {
        set.addUnread(item, at: pointer)
        continue
      }
      span.attributes["session.id"] = groups[span.trace]
      if OpenAIAgentsCalls.isWithoutOutput(item) {
        switch calls[conversation(item)]?.next(for: item) ?? .unknown {
        case .answered(let id, let content):
          span.attributes["gen_ai.tool.call.id"] = .string(id)
          span.attributes["gen_ai.tool.call.result"] = content
        case .refused(let id, let content):
          span.attributes["gen_ai.tool.call.id"] = .string(id)
          span.attributes["gen_ai.tool.call.result"] = content
          span.attributes["agent_eval.call.status"] = "refused"
        case .toldElsewhere: span.attributes["gen_ai.operation.name"] = "unknown"
        case .unknown:
          span.attributes["gen_ai.operation.name"] = "unknown"
          set.addUnread(item, at: pointer)
        }
      }
      try set.add(span)
      // Of another word, or none, nobody knows whether it is a call.
      if !types.contains(item["span_data"]?["type"]?.stringValue ?? "") {
        set.addUnread(item, at: pointer)
      }
    }
    return set
  }

  private static let types: Set<String> = [
    "agent", "function", "generation", "response", "handoff", "guardrail", "custom", "mcp_tools",
    "transcription", "speech", "speech_group", "task", "turn",
  ]

  private static func span(_ item: JSONValue, at pointer: JSONPointer) -> TraceSpan? {
    guard let id = item["id"]?.stringValue, let trace = item["trace_id"]?.stringValue,
      let data = item["span_data"]
    else { return nil }
    let start = SpanTime.nanoseconds(item["started_at"]) ?? 0
    let type = data["type"]?.stringValue ?? ""
    var span = TraceSpan(
      id: id, parent: item["parent_id"]?.stringValue, trace: trace,
      name: data["name"]?.stringValue ?? type, start: start,
      end: SpanTime.nanoseconds(item["ended_at"]) ?? start, pointer: pointer)
    span.scope = "openai-agents"
    span.isOpen = item["started_at"]?.stringValue != nil && (item["ended_at"]?.saysNothing ?? true)
    if let error = item["error"], !error.saysNothing {
      span.hasFailed = true
      span.statusMessage = error["message"]?.stringValue
    }
    func set(_ key: String, _ value: JSONValue?) { span.attributes[key] = value }
    switch type {
    case "agent":
      set("gen_ai.operation.name", "invoke_agent")
      set("gen_ai.agent.name", data["name"])
      set("gen_ai.tool.definitions", data["tools"])
    case "function":
      set("gen_ai.operation.name", "execute_tool")
      set("gen_ai.tool.name", data["name"])
      set("gen_ai.tool.call.arguments", data["input"])
      set("gen_ai.tool.call.result", data["output"])
    case "generation", "response":
      set("gen_ai.operation.name", "chat")
      set("gen_ai.input.messages", data["input"])
      set("gen_ai.output.messages", data["output"] ?? data["response"]?["output"])
      set("gen_ai.request.model", data["model"] ?? data["response"]?["model"])
      set("gen_ai.response.id", data["response_id"] ?? data["response"]?["id"])
      if let word = ResponsesItems.finish(in: data["response"]) {
        set("gen_ai.response.finish_reasons", [.string(word)])
      }
      set("langsmith.usage_metadata", data["usage"])
    case "handoff":
      set("gen_ai.operation.name", "handoff")
      set("gen_ai.handoff.from_agent", data["from_agent"])
      set("gen_ai.handoff.to_agent", data["to_agent"])
    case "guardrail":
      set("gen_ai.operation.name", "guardrail_check")
      set("triggered", data["triggered"])
    case "custom", "mcp_tools", "transcription", "speech", "speech_group":
      set("gen_ai.operation.name", "unknown")
    default: break
    }
    return span
  }
}
