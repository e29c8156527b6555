import AgentTrace

/// What of a file of traces nobody reads, though it may tell of calls: a key that is not known, or one that holds something
/// else than it should, and spans whose attributes are none.
extension SpanSet {
  /// What is read below a key.
  enum Shape { case list, object, any }

  /// The values of a file, as ``SourceLines`` has them; what none of them is, is noted.
  mutating func values(
    of document: SourceDocument, keys: [String]
  ) -> [(pointer: JSONPointer, value: JSONValue)] {
    let lines = SourceLines(document, keys: keys)
    unread += lines.unread
    if case .value(let value) = document, value.objectValue != nil,
      let key = keys.first(where: { value[$0]?.arrayValue != nil })
    {
      look(at: value, reading: [key: .list], at: JSONPointer())
    }
    for (pointer, value) in lines.values where value.objectValue == nil && !value.saysNothing {
      addUnread(value, at: pointer)
    }
    return lines.values
  }

  /// Looks at an object that spans stand in.
  ///
  /// - Parameter shapes: the keys that are read, and what stands below each.
  mutating func look(
    at value: JSONValue, reading shapes: [String: Shape], at pointer: JSONPointer
  ) {
    guard let object = value.objectValue else {
      if !value.saysNothing { addUnread(value, at: pointer) }
      return
    }
    for member in object where !member.value.saysNothing {
      let isRead =
        switch shapes[member.key] {
        case .any?: true
        case .list?: member.value.arrayValue != nil
        case .object?: member.value.objectValue != nil
        case nil: !member.value.mayHoldSpan
        }
      if !isRead { addUnread(member.value, at: pointer.appending(member.key)) }
    }
  }

  // MARK: Spans

  private static let spanShapes: [String: Shape] = [
    "status": .any, "context": .any, "spanContext": .any, "span_context": .any,
    "parentSpanContext": .any, "resource": .any, "instrumentationScope": .any,
    "instrumentationLibrary": .any, "links": .any, "attributes": .any, "events": .any,
    "span_events": .any,
  ]

  /// Looks at a span as the protocol has it.
  mutating func look(atSpan value: JSONValue, at pointer: JSONPointer) {
    let events = value["events"] ?? value["span_events"] ?? .null
    let isRead =
      Self.isRead(value["attributes"] ?? .null)
      && (events.saysNothing
        || events.arrayValue?.allSatisfy {
          $0.objectValue != nil && Self.isRead($0["attributes"] ?? .null)
        } ?? false)
    // Without attributes, what stands under an unknown key may be them.
    let hasOthers = (value.objectValue ?? [:]).contains { member in
      Self.spanShapes[member.key] == nil && !member.value.saysNothing
        && (member.value.objectValue != nil || member.value.arrayValue != nil)
    }
    guard isRead, value["attributes"] != nil || !hasOthers else {
      return addUnread(value, at: pointer)
    }
    look(at: value, reading: Self.spanShapes, at: pointer)
  }

  private static let valueKeys: Set<String> = [
    "stringValue", "boolValue", "intValue", "doubleValue", "arrayValue", "kvlistValue",
    "bytesValue", "string_value", "bool_value", "int_value", "double_value", "array_value",
    "kvlist_value", "bytes_value",
  ]

  /// Whether something is a list of attributes as the protocol has it, or the object that others print.
  private static func isRead(_ value: JSONValue) -> Bool {
    switch value {
    case .object(let object):
      !object.contains { $0.value.objectValue != nil || $0.value.mayBeAttributes }
    case .array(let entries):
      entries.allSatisfy { entry in
        guard entry["key"]?.stringValue != nil else { return entry.saysNothing }
        guard let value = entry["value"]?.objectValue else { return true }
        return value.allSatisfy { valueKeys.contains($0.key) }
      }
    default: value.saysNothing
    }
  }
}

extension JSONValue {
  /// What a text of JSON says; `nil` where it is no such text.
  private var told: JSONValue? { stringValue.flatMap(JSONText.parse) }

  /// How the names of attributes begin that speak of models and tools.
  private static let conventions = [
    "gen_ai.", "openinference.", "llm.", "langfuse.", "traceloop.", "langsmith.", "mlflow.",
  ]

  /// Whether the name of an attribute speaks of models and tools.
  static func isConvention(_ name: String) -> Bool { conventions.contains(where: name.hasPrefix) }

  /// Whether a list of what the protocol's attributes are stands in it, or an object of some that speak of models and tools.
  var mayBeAttributes: Bool {
    switch told ?? self {
    case .object(let object):
      object.contains { member in
        Self.isConvention(member.key) || member.value.mayBeAttributes
      }
    case .array(let entries):
      entries.contains { $0["key"] != nil && $0["value"] != nil || $0.mayBeAttributes }
    default: false
    }
  }

  private static let spanKeys: Set<String> = [
    "spanId", "span_id", "spanID", "traceId", "trace_id", "traceID", "run_type", "span_data",
  ]

  /// Whether something in it may be a span, a record, or a call.
  var mayHoldSpan: Bool {
    if mayHoldCall || mayBeAttributes { return true }
    return switch self {
    case .array(let elements): elements.contains(where: \.mayHoldSpan)
    case .object(let object):
      object.contains { Self.spanKeys.contains($0.key) || $0.value.mayHoldSpan }
    default: told?.mayHoldSpan ?? false
    }
  }
}
