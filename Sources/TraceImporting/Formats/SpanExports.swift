import AgentTrace

/// Traces as Jaeger's interface and files have them: `{"data":[{"traceID","spans":[…],"processes"}]}`.
enum Jaeger: SpanFormatAdapter {
  static let summary = FormatSummary(
    reads: "Jaeger's JSON",
    tells: "as otlp")

  static let format = ImportFormat.jaeger

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: ["data"], with: isTrace)
  }

  private static func isTrace(_ value: JSONValue) -> Bool {
    value["spans"]?.arrayValue?.first.map { $0["spanID"] != nil && $0["traceID"] != nil } ?? false
  }

  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet {
    try check(document, expecting: "traces with `spans` of `spanID`")
    var set = SpanSet()
    for (pointer, trace) in set.values(of: document, keys: ["data"]) {
      set.look(
        at: trace, reading: ["traceID": .any, "spans": .list, "processes": .object], at: pointer)
      for (place, value) in trace.elements("spans", at: pointer) {
        guard var span = span(value, at: place) else {
          set.unread.append(place)
          continue
        }
        let process = value["processID"]?.stringValue.flatMap { trace["processes"]?[$0] }
        span.resource["service.name"] = process?["serviceName"]
        try set.add(span)
        set.look(at: value, reading: spanShapes, at: place)
        for key in ["tags", "logs"]
        where !areRead(value[key], below: key == "logs" ? "fields" : nil) {
          set.addUnread(value, at: place)
        }
      }
    }
    return set
  }

  private static let spanShapes: [String: SpanSet.Shape] = [
    "traceID": .any, "spanID": .any, "parentSpanID": .any, "references": .list, "tags": .list,
    "logs": .list, "process": .any,
  ]

  /// Whether all of a list are tags, or have tags below a key.
  private static func areRead(_ value: JSONValue?, below key: String?) -> Bool {
    (value?.arrayValue ?? []).allSatisfy { entry in
      guard let key else { return entry["key"]?.stringValue != nil }
      return entry[key] == nil || entry[key]?.arrayValue != nil && areRead(entry[key], below: nil)
    }
  }

  private static func span(_ value: JSONValue, at pointer: JSONPointer) -> TraceSpan? {
    guard let id = value["spanID"]?.stringValue, let trace = value["traceID"]?.stringValue else {
      return nil
    }
    let start = OtlpReader.nanoseconds(value["startTime"]) ?? 0
    let duration = OtlpReader.nanoseconds(value["duration"]) ?? 0
    let (begin, overflows) = start.multipliedReportingOverflow(by: 1000)
    let (length, isLong) = duration.multipliedReportingOverflow(by: 1000)
    let (end, isBeyond) = begin.addingReportingOverflow(length)
    guard !overflows, !isLong, !isBeyond else { return nil }
    let references = value["references"]?.arrayValue ?? []
    let parent = references.first { $0["refType"] == "CHILD_OF" } ?? references.first
    var span = TraceSpan(
      id: id.lowercased(),
      parent: (parent?["spanID"] ?? value["parentSpanID"])?.stringValue.flatMap {
        $0.isEmpty ? nil : $0.lowercased()
      },
      trace: trace.lowercased(), name: value["operationName"]?.stringValue ?? "", start: begin,
      end: end, pointer: pointer)
    span.attributes = tags(value["tags"])
    span.scope = span.text("otel.scope.name", "otel.library.name") ?? ""
    span.hasFailed = span["otel.status_code"] == "ERROR" || span["error"]?.boolValue == true
    span.statusMessage = span.text("otel.status_description")
    for log in value["logs"]?.arrayValue ?? [] {
      let fields = tags(log["fields"])
      span.events.append(
        TraceSpan.Event(
          name: fields["event"]?.stringValue ?? fields["name"]?.stringValue ?? "",
          attributes: fields))
    }
    return span
  }

  private static func tags(_ value: JSONValue?) -> JSONObject {
    JSONObject(
      (value?.arrayValue ?? []).compactMap { tag in
        tag["key"]?.stringValue.map { ($0, tag["value"] ?? .null) }
      })
  }
}

/// Spans as Phoenix stores and exports them: `[{"name","context":{"trace_id","span_id"},"span_kind","parent_id",
/// "attributes":{…}}]`, attributes flat or nested.
enum Phoenix: SpanFormatAdapter {
  static let summary = FormatSummary(
    reads: "spans as Phoenix stores them",
    tells: "as otlp")

  static let format = ImportFormat.phoenix

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: keys) { isSpan($0) || isTrace($0) || isCollection($0) }
  }

  /// Lists of spans under names of their own.
  private static func isCollection(_ value: JSONValue) -> Bool {
    guard let object = value.objectValue, !object.isEmpty, object.count <= 1000 else {
      return false
    }
    return object.allSatisfy { $0.value.arrayValue?.first.map(isSpan) ?? false }
  }

  private static let keys = ["data", "spans", "traces"]

  private static func isSpan(_ value: JSONValue) -> Bool {
    value["context"]?["span_id"]?.stringValue != nil && value["context"]?["trace_id"] != nil
  }

  /// A trace that holds its spans.
  private static func isTrace(_ value: JSONValue) -> Bool {
    value["spans"]?.arrayValue?.first.map(isSpan) ?? value["spans"]?["edges"]?[0]?["node"].map(
      isSpan)
      ?? false
  }

  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet {
    try check(document, expecting: "spans with `context`")
    var set = SpanSet()
    for (pointer, value) in set.values(of: document, keys: keys) {
      let hasNames = isCollection(value)
      for (place, value) in spans(value, at: pointer) {
        guard var span = span(value, at: place) else {
          set.unread.append(place)
          continue
        }
        if hasNames { span.list = place.tokens.dropLast().last ?? "" }
        try set.add(span)
        set.look(at: value, reading: spanShapes, at: place)
      }
    }
    return set
  }

  private static let spanShapes: [String: SpanSet.Shape] = [
    "context": .any, "attributes": .object, "events": .list, "status": .any, "id": .any,
  ]

  private static func spans(_ value: JSONValue, at pointer: JSONPointer) -> [(
    JSONPointer, JSONValue
  )] {
    if isCollection(value) {
      return (value.objectValue ?? [:]).flatMap { member in
        (member.value.arrayValue ?? []).enumerated().map { index, span in
          (pointer.appending(member.key).appending(String(index)), span)
        }
      }
    }
    guard let list = value["spans"]?.arrayValue, !isSpan(value) else { return [(pointer, value)] }
    return list.enumerated().map { index, span in
      (pointer.appending("spans").appending(String(index)), span)
    }
  }

  private static func span(_ value: JSONValue, at pointer: JSONPointer) -> TraceSpan? {
    guard let id = value["context"]?["span_id"]?.stringValue,
      let trace = value["context"]?["trace_id"]?.stringValue
    else { return nil }
    let start = SpanTime.nanoseconds(value["start_time"]) ?? 0
    var span = TraceSpan(
      id: id, parent: value["parent_id"]?.stringValue, trace: trace,
      name: value["name"]?.stringValue ?? "", start: start,
      end: SpanTime.nanoseconds(value["end_time"]) ?? start, pointer: pointer)
    span.isOpen = span.start > 0 && value["end_time"]?.isNull == true
    span.attributes = Flattened.flat(value["attributes"]?.objectValue ?? [:])
    if span["openinference.span.kind"] == nil {
      span.attributes["openinference.span.kind"] = value["span_kind"]
    }
    span.hasFailed =
      value["status_code"] == "ERROR" || value["status"]?["status_code"] == "ERROR"
    span.statusMessage = (value["status_message"] ?? value["status"]?["description"])?.stringValue
    for event in value["events"]?.arrayValue ?? [] {
      span.events.append(
        TraceSpan.Event(
          name: event["name"]?.stringValue ?? "",
          attributes: Flattened.flat(event["attributes"]?.objectValue ?? [:])))
    }
    return span
  }
}

/// Traces as MLflow writes them: `{"info","data":{"spans":[…]}}`, whose attributes are texts of JSON.
enum MLflow: SpanFormatAdapter {
  static let summary = FormatSummary(
    reads: "MLflow's traces",
    tells: "as otlp")

  static let format = ImportFormat.mlflow

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: ["traces"], with: isTrace)
  }

  private static func isTrace(_ value: JSONValue) -> Bool {
    value["info"]?["trace_id"] != nil || value["info"]?["request_id"] != nil
      ? value["data"]?["spans"]?.arrayValue != nil : false
  }

  static func spans(in document: SourceDocument) throws(ImportError) -> SpanSet {
    try check(document, expecting: "traces with `info` and `data`")
    var set = SpanSet()
    for (pointer, trace) in set.values(of: document, keys: ["traces"]) {
      set.look(at: trace, reading: ["info": .any, "data": .object], at: pointer)
      set.look(at: trace["data"] ?? .null, reading: ["spans": .list], at: pointer.appending("data"))
      let metadata = trace["info"]?["trace_metadata"]
      // How many spans it was written with.
      let sizes = metadata?["mlflow.trace.sizeStats"].flatMap {
        $0.stringValue.flatMap(JSONText.parse) ?? $0
      }
      if let count = sizes?["num_spans"]?.intValue,
        count > trace["data"]?["spans"]?.arrayValue?.count ?? 0
      {
        set.unread.append(pointer.appending("info"))
      }
      for (index, value) in (trace["data"]?["spans"]?.arrayValue ?? []).enumerated() {
        let place = pointer.appending("data").appending("spans").appending(String(index))
        guard var span = OtlpReader.span(value, at: place) else {
          set.unread.append(place)
          continue
        }
        span.attributes = span.attributes.mapValues { value in
          value.stringValue.flatMap(JSONText.any) ?? value
        }
        span.attributes["session.id"] = metadata?["mlflow.trace.session"]
        if span.parent == nil {
          if trace["info"]?["state"] == "IN_PROGRESS" { span.isOpen = true }
          if trace["info"]?["state"] == "ERROR", !span.hasFailed {
            (span.hasFailed, span.statusMessage) = (true, nil)
          }
        }
        try set.add(span)
        set.look(atSpan: value, at: place)
      }
    }
    return set
  }
}

/// Times of spans in the forms that exports have.
enum SpanTime {
  /// Nanoseconds since 1970 of an ISO 8601 text, or of a number of seconds, milliseconds or nanoseconds.
  static func nanoseconds(_ value: JSONValue?) -> UInt64? {
    if let text = value?.stringValue, let time = Timestamp(text), time.microseconds >= 0 {
      return UInt64(time.microseconds).multipliedReportingOverflow(by: 1000).partialValue
    }
    if let whole = value?.intValue, whole > 1_000_000_000_000_000_000 { return UInt64(whole) }
    guard let number = value?.doubleValue, number >= 0, number < 1e13 else { return nil }
    return UInt64(number > 1e11 ? number * 1e6 : number * 1e9)
  }
}
