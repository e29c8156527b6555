import AgentTrace

/// Reads traces in the JSON form of OTLP, and in that of Tempo's exports.
enum OtlpReader {
  static let spanKeys = ["resourceSpans", "batches", "resource_spans"]
  static let logKeys = ["resourceLogs", "resource_logs"]
  static let scopeKeys = [
    "scopeSpans", "scopeLogs", "instrumentationLibrarySpans", "scope_spans", "scope_logs",
    "ilSpans", "instrumentationLibraryLogs",
  ]

  /// Whether a value is a request, or what a collector wrote of one.
  static func isRequest(_ value: JSONValue) -> Bool {
    (spanKeys + logKeys + ["resourceMetrics"]).contains { key in
      guard let list = value[key]?.arrayValue else { return false }
      return key != "batches"
        || list.first.map { batch in scopeKeys.contains { batch[$0] != nil } } ?? false
    } || value["trace"].map(isRequest) ?? false
  }

  /// Takes in all spans and records of a request.
  static func read(
    _ value: JSONValue, at pointer: JSONPointer, into set: inout SpanSet
  ) throws(ImportError) {
    if let inner = value["trace"], isRequest(inner) {
      return try read(inner, at: pointer.appending("trace"), into: &set)
    }
    set.look(at: value, reading: requestShapes, at: pointer)
    for key in spanKeys + logKeys {
      for (place, batch) in value.elements(key, at: pointer) {
        set.look(at: batch, reading: batchShapes, at: place)
        let resource = attributes(batch["resource"]?["attributes"])
        for scopeKey in scopeKeys {
          for (number, scope) in (batch[scopeKey]?.arrayValue ?? []).enumerated() {
            try read(
              scope, at: place.appending(scopeKey).appending(String(number)), resource, into: &set)
          }
        }
      }
    }
  }

  private static let requestShapes = shapes(
    lists: spanKeys + logKeys, others: ["resourceMetrics", "resource_metrics"])
  private static let batchShapes = shapes(lists: scopeKeys, others: ["resource"])
  private static let scopeShapes = shapes(
    lists: ["spans", "logRecords", "logs"], others: ["scope", "instrumentationLibrary"])

  private static func shapes(lists: [String], others: [String]) -> [String: SpanSet.Shape] {
    var shapes: [String: SpanSet.Shape] = [:]
    for key in lists { shapes[key] = .list }
    for key in others { shapes[key] = .any }
    return shapes
  }

  /// Takes in a span, and notes what of it cannot be read; whether it is one.
  static func take(
    _ value: JSONValue, at pointer: JSONPointer, in scope: String = "",
    _ resource: JSONObject = [:], into set: inout SpanSet
  ) throws(ImportError) -> Bool {
    guard var span = span(value, at: pointer) else { return false }
    span.scope = scope
    span.resource = resource
    try set.add(span)
    set.look(atSpan: value, at: pointer)
    // The protocol has each key once: of two values under one, one is lost.
    let events = (value["events"] ?? value["span_events"])?.arrayValue ?? []
    if hasKeyTwice(value["attributes"], span.attributes)
      || zip(events, span.events).contains(where: { hasKeyTwice($0["attributes"], $1.attributes) })
    {
      set.addUnread(value, at: pointer.appending("attributes"))
    }
    return true
  }

  private static func read(
    _ scope: JSONValue, at pointer: JSONPointer, _ resource: JSONObject, into set: inout SpanSet
  ) throws(ImportError) {
    let name =
      (scope["scope"]?["name"] ?? scope["instrumentationLibrary"]?["name"])?.stringValue ?? ""
    for (place, value) in scope.elements("spans", at: pointer) {
      guard try !take(value, at: place, in: name, resource, into: &set) else { continue }
      set.addUnread(value, at: place)
    }
    set.look(at: scope, reading: scopeShapes, at: pointer)
    for (index, value) in (scope["logRecords"]?.arrayValue ?? scope["logs"]?.arrayValue ?? [])
      .enumerated()
    {
      guard let (trace, id, record) = record(value) else {
        let place = pointer.appending("logRecords").appending(String(index))
        if value.mayHoldCall { set.addUnread(value, at: place) }
        continue
      }
      let place = pointer.appending("logRecords").appending(String(index))
      set.add(record, of: id, trace: trace, at: place)
    }
  }

  /// A span of any JSON form of the protocol; `nil` where it has no id.
  static func span(_ value: JSONValue, at pointer: JSONPointer) -> TraceSpan? {
    guard let object = value.objectValue else { return nil }
    let context = object["spanContext"] ?? value
    guard let id = identifier(context["spanId"] ?? context["span_id"], bytes: 8),
      let trace = identifier(context["traceId"] ?? context["trace_id"], bytes: 16)
    else { return nil }
    let start =
      nanoseconds(
        object["startTimeUnixNano"] ?? object["start_time_unix_nano"] ?? object["startTime"])
      ?? SpanTime.nanoseconds(object["start_time"])
    let end =
      nanoseconds(object["endTimeUnixNano"] ?? object["end_time_unix_nano"] ?? object["endTime"])
      ?? SpanTime.nanoseconds(object["end_time"])
    let parent =
      object["parentSpanId"] ?? object["parent_span_id"] ?? object["parentSpanContext"]?["spanId"]
    var span = TraceSpan(
      id: id, parent: identifier(parent, bytes: 8),
      trace: trace, name: object["name"]?.stringValue ?? "", start: start ?? 0,
      end: end ?? start ?? 0,
      pointer: pointer)
    span.attributes = attributes(object["attributes"])
    span.droppedAttributes = object["droppedAttributesCount"]?.intValue ?? 0
    span.droppedEvents = object["droppedEventsCount"]?.intValue ?? 0
    // What is not there is 0 in protocol buffers.
    span.isOpen = (end ?? 0) == 0 && span.start > 0
    let code = object["status"]?["code"]
    span.hasFailed =
      code?.intValue == 2 || code?.stringValue == "STATUS_CODE_ERROR"
      || code?.stringValue == "ERROR"
    span.statusMessage = object["status"]?["message"]?.stringValue
    for event in (object["events"] ?? object["span_events"])?.arrayValue ?? [] {
      span.events.append(
        TraceSpan.Event(
          name: event["name"]?.stringValue ?? "", attributes: attributes(event["attributes"]),
          time: nanoseconds(event["timeUnixNano"]) ?? 0))
    }
    return span
  }

  /// A log record, and the trace and the span that it belongs to.
  private static func record(_ value: JSONValue) -> (String?, String, TraceSpan.Event)? {
    guard let span = identifier(value["spanId"] ?? value["span_id"], bytes: 8) else { return nil }
    var attributes = attributes(value["attributes"])
    let body = value["body"].map(plain)
    let name =
      [value["eventName"], value["event_name"], attributes["event.name"]]
      .compactMap { $0?.stringValue }.first { !$0.isEmpty } ?? ""
    if let members = body?.objectValue {
      for member in members { attributes[member.key] = member.value }
    } else if let body, !body.saysNothing {
      attributes["body"] = body
    }
    return (
      identifier(value["traceId"] ?? value["trace_id"], bytes: 16), span,
      TraceSpan.Event(
        name: name, attributes: attributes,
        time: nanoseconds(value["timeUnixNano"]).flatMap { $0 == 0 ? nil : $0 }
          ?? nanoseconds(value["observedTimeUnixNano"]) ?? 0)
    )
  }

  // MARK: Values

  /// An id as small hexadecimal digits, whether it stands so or as base64; `nil` where there is none.
  static func identifier(_ value: JSONValue?, bytes: Int) -> String? {
    guard let text = value?.stringValue, !text.isEmpty else { return nil }
    let isHex = text.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20)
    }
    if isHex { return text.utf8.allSatisfy { $0 == 0x30 } ? nil : text.lowercased() }
    if text.utf8.count == (bytes + 2) / 3 * 4, let raw = Base64.decode(text) {
      let digits = raw.map { byte -> String in
        let text = String(byte, radix: 16)
        return text.utf8.count == 1 ? "0" + text : text
      }
      return digits.joined()
    }
    return text
  }

  static func nanoseconds(_ value: JSONValue?) -> UInt64? {
    switch value {
    case .array(let pair)?: pairOfTimes(pair)
    case .string(let text)?: UInt64(text)
    case .number(let number)?:
      number.intValue.flatMap { UInt64(exactly: $0) }
        ?? (number.doubleValue >= 0 && number.doubleValue < 1.8e19
          ? UInt64(number.doubleValue) : nil)
    default: nil
    }
  }

  /// Seconds and nanoseconds, as JavaScript keeps them.
  private static func pairOfTimes(_ pair: [JSONValue]) -> UInt64? {
    guard pair.count == 2, let seconds = pair[0].intValue, let rest = pair[1].intValue,
      (0..<10_000_000_000).contains(seconds), (0..<1_000_000_000).contains(rest)
    else { return nil }
    return UInt64(seconds) * 1_000_000_000 + UInt64(rest)
  }

  /// Whether a value is a span that stands alone: as JavaScript's exporters print it, or with its ids beside its
  /// attributes.
  static func isSpan(_ value: JSONValue) -> Bool {
    if value["spanContext"]?["spanId"]?.stringValue != nil { return value["startTime"] != nil }
    return (value["span_id"] ?? value["spanId"])?.stringValue != nil
      && (value["trace_id"] ?? value["traceId"])?.stringValue != nil && value["name"] != nil
      && (value["attributes"]?.objectValue != nil || value["attributes"]?.arrayValue != nil)
  }

  /// A list of `{"key","value"}`, or an object, as plain JSON.
  static func attributes(_ value: JSONValue?) -> JSONObject {
    if let object = value?.objectValue { return object }
    return JSONObject(
      (value?.arrayValue ?? []).compactMap { entry in
        entry["key"]?.stringValue.map { ($0, entry["value"].map(plain) ?? .null) }
      })
  }

  /// Whether a list of attributes has more of them than what was read of it.
  private static func hasKeyTwice(_ list: JSONValue?, _ read: JSONObject) -> Bool {
    guard let entries = list?.arrayValue, entries.count > read.count else { return false }
    return entries.count { $0["key"]?.stringValue != nil } > read.count
  }

  /// A value of the protocol as plain JSON.
  static func plain(_ value: JSONValue) -> JSONValue {
    guard let object = value.objectValue, object.count <= 1 else { return value }
    guard let member = object.first else { return .null }
    switch member.key {
    case "stringValue", "boolValue", "doubleValue", "string_value", "bool_value", "double_value":
      return member.value
    case "intValue", "int_value":
      if let text = member.value.stringValue, let number = JSONNumber(token: text) {
        return .number(number)
      }
      return member.value
    case "arrayValue", "array_value":
      return .array((member.value["values"]?.arrayValue ?? []).map(plain))
    case "kvlistValue", "kvlist_value": return .object(attributes(member.value["values"] ?? []))
    case "bytesValue", "bytes_value": return member.value
    default: return value
    }
  }
}
