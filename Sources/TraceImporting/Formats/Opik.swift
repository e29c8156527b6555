import AgentTrace

/// Opik's traces: `{"trace":{…},"spans":[{"id","trace_id","parent_span_id","type","input","output"}]}` as its command line exports
/// them, and lists, lines or pages of spans as its interface answers.
enum Opik: SpanFormatAdapter {
  static let summary = FormatSummary(
    reads: "traces that Opik exports, and its spans",
    tells: "as otlp")

  static let format = ImportFormat.opik

  private static let keys = ["content"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: keys) { isSpan($0) || isTrace($0) }
  }

  private static func isTrace(_ value: JSONValue) -> Bool {
    value["trace"]?["id"]?.stringValue != nil && value["trace"]?["start_time"] != nil
      && value["spans"]?.arrayValue.map { $0.isEmpty || $0.contains(where: isSpan) } ?? false
  }

  /// Langfuse's observations have the same members, but for the words of their types, their parents, and levels.
  private static func isSpan(_ value: JSONValue) -> Bool {
    value["id"]?.stringValue != nil && value["trace_id"]?.stringValue != nil
      && value["start_time"] != nil && value["parent_observation_id"] == nil
      && value["level"] == nil
      && value["type"]?.stringValue.map { kinds[$0] != nil } ?? false
  }

  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet {
    guard recognizes(document) else {
      throw ImportError(
        .wrongShape(expected: "a `trace` with its `spans`, or spans of Opik"), at: JSONPointer())
    }
    var set = SpanSet()
    var spans: [TraceSpan] = []
    for (pointer, value) in set.values(of: document, keys: keys) {
      if isSpan(value) {
        spans.append(span(value, of: nil, at: pointer, noting: &set))
        continue
      }
      guard let trace = value["trace"], trace["id"]?.stringValue != nil,
        let list = value["spans"]?.arrayValue
      else {
        if !value.saysNothing { set.addUnread(value, at: pointer) }
        continue
      }
      set.look(at: value, reading: traceShapes, at: pointer)
      spans.append(root(trace, at: pointer.appending("trace")))
      // How many spans it was stored with.
      if let count = trace["span_count"]?.intValue, count > list.count {
        set.unread.append(pointer.appending("trace").appending("span_count"))
      }
      for (index, element) in list.enumerated() {
        let place = pointer.appending("spans").appending(String(index))
        if isSpan(element) {
          spans.append(span(element, of: trace, at: place, noting: &set))
        } else {
          set.addUnread(element, at: place)
        }
      }
    }
    try set.add(spans.takingAskedStepsAsTools)
    return set
  }

  private static let kinds: [String: PlatformKind] = [
    "llm": .model, "tool": .tool, "general": .step, "guardrail": .other,
  ]

  /// What a trace repeats of its spans is no more than they say.
  private static let traceShapes: [String: SpanSet.Shape] = [
    "trace": .object, "spans": .list, "attachments": .any, "project_name": .any,
    "downloaded_at": .any,
  ]

  private static let spanShapes: [String: SpanSet.Shape] = [
    "id": .any, "trace_id": .any, "input": .any, "output": .any, "metadata": .any, "usage": .any,
    "error_info": .any, "tags": .any, "feedback_scores": .any, "comments": .any,
  ]

  /// The trace as the span above all of its own.
  private static func root(_ trace: JSONValue, at pointer: JSONPointer) -> TraceSpan {
    let id = trace["id"]?.stringValue ?? ""
    var span = plain(trace, id: id, trace: id, parent: nil, at: pointer)
    span.take(.step, input: trace["input"], output: trace["output"])
    span.attributes["session.id"] = trace["thread_id"]
    return span
  }

  private static func span(
    _ value: JSONValue, of trace: JSONValue?, at pointer: JSONPointer, noting set: inout SpanSet
  ) -> TraceSpan {
    set.look(at: value, reading: spanShapes, at: pointer)
    let name = value["trace_id"]?.stringValue ?? ""
    let above = trace?["id"]?.stringValue.flatMap { $0.hasSameUTF8(as: name) ? $0 : nil }
    var span = plain(
      value, id: value["id"]?.stringValue ?? "", trace: name,
      parent: value["parent_span_id"]?.stringValue ?? above, at: pointer)
    let kind = value["type"]?.stringValue.flatMap { kinds[$0] } ?? .step
    let output = kind == .tool ? value["output"].map(result) : value["output"]
    span.take(kind, input: value["input"], output: output)
    if kind == .model {
      span.attributes["gen_ai.request.model"] = value["model"]
      span.attributes["langsmith.usage_metadata"] = value["usage"]
    }
    return span
  }

  /// What a function gave back, without the object that stands around what is none.
  private static func result(_ output: JSONValue) -> JSONValue {
    guard let object = output.objectValue, object.count == 1, let inner = object["output"] else {
      return output
    }
    return inner
  }

  private static func plain(
    _ value: JSONValue, id: String, trace: String, parent: String?, at pointer: JSONPointer
  ) -> TraceSpan {
    let start = SpanTime.nanoseconds(value["start_time"]) ?? 0
    var span = TraceSpan(
      id: id, parent: parent, trace: trace, name: value["name"]?.stringValue ?? "", start: start,
      end: SpanTime.nanoseconds(value["end_time"]) ?? start, pointer: pointer)
    span.isOpen = value["end_time"]?.saysNothing ?? true
    if let error = value["error_info"], !error.saysNothing {
      span.hasFailed = true
      span.statusMessage =
        (error["message"] ?? error["exception_type"])?.stringValue?.firstLine
    }
    return span
  }
}
