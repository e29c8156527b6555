import AgentTrace

/// Requests that Helicone logged, as it exports and answers them: `{"request_id","request_created_at","request_body",
/// "response_body","response_status"}`, a line each, in a list, or under `data`.
///
/// Requests of one session are one run. A proxy sees what models were asked and what they answered, and no tool at work
/// but those that a program logs itself.
enum Helicone: SpanFormatAdapter {
  static let summary = FormatSummary(
    reads: "requests that Helicone logged, those of a session as one run",
    tells: "calls and usage; results as the next request shows them; no end")

  static let format = ImportFormat.helicone

  private static let keys = ["data"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: keys, with: isRequest)
  }

  private static func isRequest(_ value: JSONValue) -> Bool {
    value["request_id"]?.stringValue != nil && value["request_created_at"] != nil
      && ["request_body", "response_body", "response_status", "signed_body_url"].contains {
        value[$0] != nil
      }
  }

  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet {
    guard recognizes(document) else {
      throw ImportError(
        .wrongShape(expected: "requests with `request_id` and `request_created_at`"),
        at: JSONPointer())
    }
    var set = SpanSet()
    for (pointer, value) in set.values(of: document, keys: keys) {
      guard isRequest(value) else {
        if !value.saysNothing { set.addUnread(value, at: pointer) }
        continue
      }
      set.look(at: value, reading: shapes, at: pointer)
      try set.add(span(value, at: pointer))
    }
    return set
  }

  private static let shapes: [String: SpanSet.Shape] = [
    "request_id": .any, "request_body": .any, "response_body": .any, "request_properties": .any,
    "properties": .any, "scores": .any, "asset_ids": .any, "asset_urls": .any,
    // What it makes of both bodies itself.
    "llmSchema": .any, "request_prompt": .any, "response_prompt": .any,
  ]

  private static func span(_ value: JSONValue, at pointer: JSONPointer) -> TraceSpan {
    let id = value["request_id"]?.stringValue ?? ""
    let start = SpanTime.nanoseconds(value["request_created_at"]) ?? 0
    let body = value["request_body"]
    let path = value["request_path"]?.stringValue ?? ""
    var span = TraceSpan(
      id: id, parent: nil, trace: id, name: path, start: start,
      end: SpanTime.nanoseconds(value["response_created_at"]) ?? start, pointer: pointer)
    let kind = kind(of: body, sentTo: path)
    if kind == .tool { span.attributes["tool.name"] = body?["toolName"] }
    span.take(kind, input: kind == .tool ? body?["input"] : body, output: value["response_body"])
    let properties = value["request_properties"] ?? value["properties"]
    span.attributes["session.id"] = properties?["Helicone-Session-Id"]
    if kind == .model {
      span.attributes["gen_ai.request.model"] =
        value["response_model"] ?? value["request_model"] ?? value["model"] ?? body?["model"]
      span.attributes["langsmith.usage_metadata"] = usage(value)
    }
    // Of requests that have not come back it keeps numbers that are no status.
    let status = value["response_status"]?.intValue
    span.isOpen = status.map { $0 < 100 } ?? (value["response_created_at"]?.saysNothing ?? true)
    if let status, status >= 400 {
      let error = value["response_body"]?["error"]
      span.hasFailed = true
      span.statusMessage =
        (error?["message"]?.stringValue ?? error?.stringValue)?.firstLine ?? "status \(status)"
    }
    return span
  }

  /// What was asked for: by the word that programs log of what is no model's call, or by the interface.
  private static func kind(of body: JSONValue?, sentTo path: String) -> PlatformKind {
    switch body?["_type"]?.stringValue {
    case "tool"?: return .tool
    case "vector_db"?: return .other
    case "data"?: return .step
    default: break
    }
    let isOther = ["/embeddings", "/moderations", "/images/", "/audio/"].contains(
      where: path.contains)
    return isOther ? .other : .model
  }

  private static func usage(_ value: JSONValue) -> JSONValue? {
    var usage: JSONObject = [:]
    usage["prompt_tokens"] = value["prompt_tokens"]
    usage["completion_tokens"] = value["completion_tokens"]
    usage["cache_read_input_tokens"] = value["prompt_cache_read_tokens"]
    return usage.contains { !$0.value.saysNothing } ? .object(usage) : nil
  }
}
