import AgentTrace

/// Langfuse's own JSON: a trace's export `{"trace","observations":[…]}`, what its interface answers for one trace
/// (`{"id","observations":[…]}`), and lists of observations.
///
/// What a span said when it came stands in `metadata.attributes`, and counts before what became of it.
enum LangfuseExport: FormatAdapter {
  static let summary = FormatSummary(
    reads: "Langfuse's exports and answers of its interface",
    tells: "as otlp")

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: ["data"]) { isTrace($0) || isObservation($0) }
  }

  private static func isTrace(_ value: JSONValue) -> Bool {
    value["observations"]?.arrayValue?.first.map(isObservation) ?? false
  }

  private static func isObservation(_ value: JSONValue) -> Bool {
    (value["traceId"] ?? value["trace_id"])?.stringValue != nil && value["type"]?.stringValue != nil
      && (value["startTime"] ?? value["start_time"]) != nil && value["id"] != nil
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "a trace with `observations`")
    var set = SpanSet()
    for (pointer, value) in set.values(of: document, keys: ["data"]) {
      if isObservation(value) {
        try add(value, session: nil, at: pointer, to: &set)
        continue
      }
      if value["observations"] == nil { set.addUnread(value, at: pointer) }
      set.look(at: value, reading: shapes, at: pointer)
      let session = value["trace"]?["sessionId"] ?? value["sessionId"]
      var known: Set<String> = []
      // The trace itself may list them again, without their contents.
      for (holder, place) in [
        (value, pointer), (value["trace"] ?? [:], pointer.appending("trace")),
      ] {
        for (index, observation) in (holder["observations"]?.arrayValue ?? []).enumerated() {
          if let id = observation["id"]?.stringValue, !known.insert(id).inserted { continue }
          let place = place.appending("observations").appending(String(index))
          try add(observation, session: session, at: place, to: &set)
        }
      }
    }
    return SpanFormats.runs(of: set, format: .langfuse)
  }

  private static let types: Set<String> = [
    "span", "event", "generation", "agent", "tool", "chain", "retriever", "evaluator", "embedding",
    "guardrail",
  ]

  private static let observationShapes: [String: SpanSet.Shape] = [
    "traceId": .any, "trace_id": .any, "input": .any, "output": .any, "metadata": .any,
    "modelParameters": .any, "model_parameters": .any, "usage": .any, "usageDetails": .any,
    "costDetails": .any, "prompt": .any, "scores": .any, "trace": .any, "toolDefinitions": .any,
    // What it finds in the output by itself.
    "toolCalls": .any, "toolCallNames": .any,
  ]

  /// What a trace repeats of its observations is no more than they say.
  private static let shapes: [String: SpanSet.Shape] = [
    "observations": .list, "trace": .object, "input": .any, "output": .any, "metadata": .any,
    "scores": .any,
  ]

  private static func add(
    _ value: JSONValue, session: JSONValue?, at pointer: JSONPointer, to set: inout SpanSet
  ) throws(ImportError) {
    guard let id = value["id"]?.stringValue,
      let trace = (value["traceId"] ?? value["trace_id"])?.stringValue
    else { return set.unread.append(pointer) }
    let start = SpanTime.nanoseconds(value["startTime"] ?? value["start_time"]) ?? 0
    var span = TraceSpan(
      id: id, parent: (value["parentObservationId"] ?? value["parent_observation_id"])?.stringValue,
      trace: trace, name: value["name"]?.stringValue ?? "", start: start,
      end: SpanTime.nanoseconds(value["endTime"] ?? value["end_time"]) ?? start, pointer: pointer)
    let metadata = unwrapped(value["metadata"])
    set.look(at: value, reading: observationShapes, at: pointer)
    if mayHoldMore(metadata) { set.addUnread(value, at: pointer) }
    span.scope = unwrapped(metadata?["scope"])?["name"]?.stringValue ?? ""
    span.attributes = (unwrapped(metadata?["attributes"])?.objectValue ?? [:]).mapValues { value in
      // Texts that are JSON stand as they came.
      value
    }
    // What it was sorted as counts where its attributes say nothing, or less.
    let type = value["type"]?.stringValue?.lowercased() ?? "span"
    // Of another word, or none, nobody knows whether it is a call.
    if value["type"] == nil || !types.contains(type) { set.addUnread(value, at: pointer) }
    let known = span.kind
    if known == .unknown || known == .step && type != "span"
      || known == .agent && type == "generation"
    {
      for key in ["openinference.span.kind", "langsmith.span.kind"] { span.attributes[key] = nil }
      span.attributes["langfuse.observation.type"] = .string(type)
    }
    for (key, member) in [("input", value["input"]), ("output", value["output"])] {
      if let member, !member.saysNothing {
        span.attributes["langfuse.observation.\(key)"] = unwrapped(member) ?? member
      }
    }
    span.attributes["langfuse.observation.usage_details"] = value["usageDetails"] ?? value["usage"]
    span.attributes["langfuse.observation.model.name"] = value["model"]
    // An event has no end.
    span.isOpen =
      start > 0 && type != "event" && (value["endTime"] ?? value["end_time"])?.isNull == true
    span.attributes["langfuse.observation.level"] = value["level"]
    span.attributes["langfuse.observation.status_message"] = value["statusMessage"]
    span.attributes["langfuse.session.id"] = session
    try set.add(span)
  }

  /// Whether attributes may stand in an observation's metadata elsewhere than where they are read.
  private static func mayHoldMore(_ metadata: JSONValue?) -> Bool {
    guard var rest = metadata?.objectValue else { return metadata?.mayBeAttributes ?? false }
    if let read = unwrapped(rest["attributes"])?.objectValue {
      rest["attributes"] = .object(
        JSONObject(
          read.compactMap { member in
            // A text is an attribute, whatever it is a text of.
            JSONValue.isConvention(member.key) || member.value.objectValue == nil
              ? nil : (member.key, member.value)
          }))
    }
    return JSONValue.object(rest).mayBeAttributes
  }

  /// JSON in a text, sometimes twice.
  private static func unwrapped(_ value: JSONValue?) -> JSONValue? {
    var value = value
    for _ in 0..<3 {
      guard let text = value?.stringValue else { return value }
      guard let inner = JSONText.any(text) else { return value }
      value = inner
    }
    return value
  }
}
