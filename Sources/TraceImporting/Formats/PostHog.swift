import AgentTrace

/// Events of PostHog's observability of models: `{"event":"$ai_generation","properties":{"$ai_trace_id",…},"timestamp"}` with
/// `$ai_span`, `$ai_trace` and `$ai_embedding`, a line each, in lists, under `results` or `batch`, or under the `events` of a trace.
enum PostHog: SpanFormatAdapter {
  static let summary = FormatSummary(
    reads: "PostHog's events of models ($ai_generation, $ai_span, $ai_trace)",
    tells: "as otlp")

  static let format = ImportFormat.posthog

  private static let keys = ["results", "batch"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: keys) { value in
      isEvent(value) || value["events"]?.arrayValue?.contains(where: isEvent) ?? false
    }
  }

  private static func isEvent(_ value: JSONValue) -> Bool {
    value["event"]?.stringValue?.hasPrefix("$ai_") == true
      && properties(of: value)?["$ai_trace_id"]?.stringValue != nil
  }

  /// An event's properties, which some exports write as a text of JSON.
  private static func properties(of event: JSONValue) -> JSONValue? {
    let told = event["properties"]
    return told?.stringValue.flatMap(JSONText.parse) ?? told
  }

  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet {
    guard recognizes(document) else {
      throw ImportError(
        .wrongShape(expected: "events `$ai_…` with `$ai_trace_id`"), at: JSONPointer())
    }
    var set = SpanSet()
    var spans: [TraceSpan] = []
    for (pointer, value) in set.values(of: document, keys: keys) {
      for (place, event) in events(in: value, at: pointer) {
        guard isEvent(event), let word = event["event"]?.stringValue else {
          // A product's other events stand among them.
          if event["event"]?.stringValue == nil || event.mayHoldSpan {
            set.addUnread(event, at: place)
          }
          continue
        }
        if silent.contains(word) { continue }
        // Of another word nobody knows whether it is a call.
        if kinds[word] == nil { set.addUnread(event, at: place) }
        set.look(
          at: properties(of: event) ?? .null, reading: shapes, at: place.appending("properties"))
        spans.append(span(event, kinds[word] ?? .step, at: place))
      }
    }
    try set.add(withoutTracesThatNobodyTold(spans).takingAskedStepsAsTools)
    return set
  }

  private static func events(
    in value: JSONValue, at pointer: JSONPointer
  ) -> [(JSONPointer, JSONValue)] {
    guard let list = value["events"]?.arrayValue else { return [(pointer, value)] }
    return list.enumerated().map { index, event in
      (pointer.appending("events").appending(String(index)), event)
    }
  }

  private static let kinds: [String: PlatformKind] = [
    "$ai_generation": .model, "$ai_span": .step, "$ai_trace": .step, "$ai_embedding": .other,
  ]

  /// What is read of the properties, and what is known to hold no call that is not told there.
  private static let shapes: [String: SpanSet.Shape] = [
    "$ai_trace_id": .any, "$ai_span_id": .any, "$ai_input": .any, "$ai_output_choices": .any,
    "$ai_input_state": .any, "$ai_output_state": .any, "$ai_tools": .any, "$ai_usage": .any,
    "$ai_model_parameters": .any, "$ai_error": .any, "$set": .any, "$set_once": .any,
  ]

  /// What people and evaluators say of a trace.
  private static let silent: Set<String> = ["$ai_metric", "$ai_feedback", "$ai_evaluation"]

  private static func span(
    _ event: JSONValue, _ kind: PlatformKind, at pointer: JSONPointer
  ) -> TraceSpan {
    let properties = properties(of: event) ?? .null
    func told(_ key: String) -> JSONValue? { properties["$ai_\(key)"] }
    let trace = told("trace_id")?.stringValue ?? ""
    let isTrace = event["event"] == "$ai_trace"
    let id =
      told("span_id") ?? (isTrace ? told("trace_id") : told("generation_id")) ?? event["uuid"]
      ?? event["id"]
    // It is told when it is over.
    let end = SpanTime.nanoseconds(event["timestamp"] ?? event["createdAt"]) ?? 0
    let latency = told("latency")?.doubleValue ?? 0
    let length = latency > 0 && latency < 1e9 ? UInt64(latency * 1e9) : 0
    var span = TraceSpan(
      id: id?.stringValue ?? pointer.description,
      parent: isTrace ? nil : told("parent_id")?.stringValue,
      trace: trace, name: (told("span_name") ?? told("trace_name"))?.stringValue ?? "",
      start: end >= length ? end - length : 0, end: end, pointer: pointer)
    span.take(
      kind, input: told("input") ?? told("input_state"),
      output: told("output_choices") ?? told("output_state"))
    span.attributes["session.id"] = told("session_id")
    if kind == .model {
      span.attributes["gen_ai.request.model"] = told("model")
      span.attributes["gen_ai.tool.definitions"] = told("tools")
      var usage: JSONObject = [:]
      for key in [
        "input_tokens", "output_tokens", "cache_read_input_tokens", "reasoning_tokens",
      ] {
        usage[key] = told(key)
      }
      span.attributes["langsmith.usage_metadata"] = .object(usage)
    }
    if told("is_error")?.saysError == true {
      let error = told("error")
      span.hasFailed = true
      span.statusMessage = (error?.stringValue ?? error?["message"]?.stringValue)?.firstLine
    }
    return span
  }

  /// With what stands below a trace of which there is no event at the top.
  private static func withoutTracesThatNobodyTold(_ spans: [TraceSpan]) -> [TraceSpan] {
    let known = Set(spans.map(\.key))
    return spans.map { span in
      guard let parent = span.parent, parent.hasSameUTF8(as: span.trace),
        !known.contains(TraceSpan.key(span.trace, parent))
      else { return span }
      var top = span
      top.parent = nil
      return top
    }
  }
}
