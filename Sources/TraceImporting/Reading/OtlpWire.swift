import AgentTrace

/// Reads the bodies of OTLP requests in their binary form into the JSON form of the same, so that one reader serves
/// both (https://github.com/open-telemetry/opentelemetry-proto). Fields that are not known are passed over, as
/// the protocol demands; metrics are not read.
enum OtlpWire {
  /// What a body is a request of.
  enum Signal: String {
    case traces = "resourceSpans"
    case logs = "resourceLogs"
    case metrics = "resourceMetrics"
  }

  /// How deep values may nest.
  private static let depthLimit = 60
  /// The most values that one body may hold.
  private static let valueLimit = 4_000_000

  /// The request as JSON.
  ///
  /// - Throws: ``ImportError`` where the bytes are no such request.
  static func request(_ bytes: [UInt8], signal: Signal) throws(ImportError) -> JSONValue {
    guard signal != .metrics else { return ["resourceMetrics": []] }
    var wire = OtlpWireReader()
    let isTraces = signal == .traces
    let resources = try wire.list(bytes[...], 1) { wire, bytes throws(ImportError) in
      try wire.resource(bytes, isTraces: isTraces)
    }
    return .object([signal.rawValue: .array(resources)])
  }

  /// The signal of a body of which nothing says it: whichever it can be read as.
  static func signal(of bytes: [UInt8]) -> Signal? {
    if let value = try? request(bytes, signal: .traces),
      hasEntries(value, "resourceSpans", "scopeSpans", "spans")
    {
      return .traces
    }
    if let value = try? request(bytes, signal: .logs),
      hasEntries(value, "resourceLogs", "scopeLogs", "logRecords")
    {
      return .logs
    }
    return nil
  }

  /// Whether bytes begin as a request does, as several with their lengths do, or as either packed by gzip.
  static func mayBegin(_ bytes: [UInt8]) -> Bool {
    [[0x0a], [0x00], [0x1f, 0x8b]].contains { bytes.starts(with: $0) }
  }

  /// Several requests as one in JSON, each behind its length in four bytes, the highest first, as the collector's file
  /// exporter writes them (`format: proto`,
  /// https://github.com/open-telemetry/opentelemetry-collector-contrib/tree/main/exporter/fileexporter).
  ///
  /// - Returns: `nil` where the bytes are no such list.
  /// - Throws: ``ImportError`` where one of them is cut short, is no request, or holds too much.
  static func requests(_ bytes: [UInt8]) throws(ImportError) -> JSONValue? {
    var found: [Signal: [JSONValue]] = [:]
    var position = 0
    while position < bytes.count {
      let start = position + 4
      let count = bytes[position..<min(start, bytes.count)].reduce(0) { $0 << 8 | Int($1) }
      let end = start + count
      guard start < end, end <= bytes.count, case let message = Array(bytes[start..<end]),
        let signal = signal(of: message)
      else {
        if found.isEmpty { return nil }
        throw ImportError(.notProtobuf(byte: position))
      }
      let value = try request(message, signal: signal)
      found[signal, default: []] += value[signal.rawValue]?.arrayValue ?? []
      position = end
    }
    guard !found.isEmpty else { return nil }
    return .object(
      JSONObject(
        present: [Signal.traces, .logs].map { signal in
          (signal.rawValue, found[signal].map(JSONValue.array))
        }))
  }

  private static func hasEntries(
    _ value: JSONValue, _ resources: String, _ scopes: String, _ entries: String
  ) -> Bool {
    value[resources]?[0]?[scopes]?.arrayValue?.contains { scope in
      guard let entry = scope[entries]?[0] else { return false }
      return entries != "spans"
        || entry["spanId"]?.stringValue?.utf8.count == 16
          && entry["name"] != nil
    } ?? false
  }

  /// Counts what was read, over all of a body.
  struct OtlpWireReader {
    private var values = 0

    typealias Read<Value> = (inout OtlpWireReader, ArraySlice<UInt8>) throws(ImportError) -> Value

    /// The messages of one field.
    mutating func list(
      _ bytes: ArraySlice<UInt8>, _ field: Int, _ read: Read<JSONValue>
    ) throws(ImportError) -> [JSONValue] {
      var reader = ProtobufReader(bytes)
      var found: [JSONValue] = []
      while let (number, value) = try reader.next() {
        if number == field, case .bytes(let inner) = value { found.append(try read(&self, inner)) }
      }
      return found
    }

    mutating func resource(
      _ bytes: ArraySlice<UInt8>, isTraces: Bool
    ) throws(ImportError) -> JSONValue {
      var object = JSONObject()
      var reader = ProtobufReader(bytes)
      var scopes: [JSONValue] = []
      while let (number, value) = try reader.next() {
        guard case .bytes(let inner) = value else { continue }
        switch number {
        case 1: object["resource"] = ["attributes": .array(try list(inner, 1, Self.keyValue))]
        case 2: scopes.append(try scope(inner, isTraces: isTraces))
        case 3: object["schemaUrl"] = Self.text(inner)
        default: break
        }
      }
      object[isTraces ? "scopeSpans" : "scopeLogs"] = .array(scopes)
      return .object(object)
    }

    private mutating func scope(
      _ bytes: ArraySlice<UInt8>, isTraces: Bool
    ) throws(ImportError) -> JSONValue {
      var object = JSONObject()
      var reader = ProtobufReader(bytes)
      var entries: [JSONValue] = []
      while let (number, value) = try reader.next() {
        guard case .bytes(let inner) = value else { continue }
        switch number {
        case 1: object["scope"] = .object(try scopeName(inner))
        case 2: entries.append(isTraces ? try span(inner) : try record(inner))
        case 3: object["schemaUrl"] = Self.text(inner)
        default: break
        }
      }
      object[isTraces ? "spans" : "logRecords"] = .array(entries)
      return .object(object)
    }

    private func scopeName(_ bytes: ArraySlice<UInt8>) throws(ImportError) -> JSONObject {
      var object = JSONObject()
      var reader = ProtobufReader(bytes)
      while let (number, value) = try reader.next() {
        guard case .bytes(let inner) = value else { continue }
        if number == 1 { object["name"] = Self.text(inner) }
        if number == 2 { object["version"] = Self.text(inner) }
      }
      return object
    }

    private mutating func span(_ bytes: ArraySlice<UInt8>) throws(ImportError) -> JSONValue {
      var object = JSONObject()
      var lists: [String: [JSONValue]] = [:]
      var reader = ProtobufReader(bytes)
      while let (number, value) = try reader.next() {
        switch (number, value) {
        case (1, .bytes(let id)): object["traceId"] = Self.hex(id)
        case (2, .bytes(let id)): object["spanId"] = Self.hex(id)
        case (4, .bytes(let id)): object["parentSpanId"] = Self.hex(id)
        case (5, .bytes(let name)): object["name"] = Self.text(name)
        case (6, .varint(let kind)): object["kind"] = JSONValue(Int(truncatingIfNeeded: kind))
        case (7, .fixed64(let time)): object["startTimeUnixNano"] = .string(String(time))
        case (8, .fixed64(let time)): object["endTimeUnixNano"] = .string(String(time))
        case (9, .bytes(let inner)): lists["attributes", default: []].append(try keyValue(inner))
        case (10, .varint(let count)):
          object["droppedAttributesCount"] = JSONValue(Int(truncatingIfNeeded: count))
        case (11, .bytes(let inner)): lists["events", default: []].append(try event(inner))
        case (13, .bytes(let inner)): lists["links", default: []].append(try link(inner))
        case (15, .bytes(let inner)): object["status"] = try status(inner)
        default: break
        }
      }
      for (key, list) in lists { object[key] = .array(list) }
      return .object(object)
    }

    private mutating func event(_ bytes: ArraySlice<UInt8>) throws(ImportError) -> JSONValue {
      var object = JSONObject()
      var attributes: [JSONValue] = []
      var reader = ProtobufReader(bytes)
      while let (number, value) = try reader.next() {
        switch (number, value) {
        case (1, .fixed64(let time)): object["timeUnixNano"] = .string(String(time))
        case (2, .bytes(let name)): object["name"] = Self.text(name)
        case (3, .bytes(let inner)): attributes.append(try keyValue(inner))
        default: break
        }
      }
      object["attributes"] = .array(attributes)
      return .object(object)
    }

    private func link(_ bytes: ArraySlice<UInt8>) throws(ImportError) -> JSONValue {
      var object = JSONObject()
      var reader = ProtobufReader(bytes)
      while let (number, value) = try reader.next() {
        guard case .bytes(let id) = value else { continue }
        if number == 1 { object["traceId"] = Self.hex(id) }
        if number == 2 { object["spanId"] = Self.hex(id) }
      }
      return .object(object)
    }

    private func status(_ bytes: ArraySlice<UInt8>) throws(ImportError) -> JSONValue {
      var object = JSONObject()
      var reader = ProtobufReader(bytes)
      while let (number, value) = try reader.next() {
        switch (number, value) {
        case (2, .bytes(let message)): object["message"] = Self.text(message)
        case (3, .varint(let code)): object["code"] = JSONValue(Int(truncatingIfNeeded: code))
        default: break
        }
      }
      return .object(object)
    }

    private mutating func record(_ bytes: ArraySlice<UInt8>) throws(ImportError) -> JSONValue {
      var object = JSONObject()
      var attributes: [JSONValue] = []
      var reader = ProtobufReader(bytes)
      while let (number, value) = try reader.next() {
        switch (number, value) {
        case (1, .fixed64(let time)): object["timeUnixNano"] = .string(String(time))
        case (11, .fixed64(let time)): object["observedTimeUnixNano"] = .string(String(time))
        case (5, .bytes(let inner)): object["body"] = try anyValue(inner, depth: 0)
        case (6, .bytes(let inner)): attributes.append(try keyValue(inner))
        case (9, .bytes(let id)): object["traceId"] = Self.hex(id)
        case (10, .bytes(let id)): object["spanId"] = Self.hex(id)
        case (12, .bytes(let name)): object["eventName"] = Self.text(name)
        default: break
        }
      }
      object["attributes"] = .array(attributes)
      return .object(object)
    }

    // MARK: Values

    private mutating func keyValue(_ bytes: ArraySlice<UInt8>) throws(ImportError) -> JSONValue {
      try keyValue(bytes, depth: 0)
    }

    /// As a function that ``list(_:_:_:)`` takes.
    private static func keyValue(
      _ reader: inout OtlpWireReader, _ bytes: ArraySlice<UInt8>
    ) throws(ImportError) -> JSONValue {
      try reader.keyValue(bytes, depth: 0)
    }

    private mutating func keyValue(
      _ bytes: ArraySlice<UInt8>, depth: Int
    ) throws(ImportError) -> JSONValue {
      var object: JSONObject = ["key": ""]
      var reader = ProtobufReader(bytes)
      while let (number, value) = try reader.next() {
        guard case .bytes(let inner) = value else { continue }
        if number == 1 { object["key"] = Self.text(inner) }
        if number == 2 { object["value"] = try anyValue(inner, depth: depth + 1) }
      }
      return .object(object)
    }

    private mutating func anyValue(
      _ bytes: ArraySlice<UInt8>, depth: Int
    ) throws(ImportError) -> JSONValue {
      values += 1
      guard values <= valueLimit, depth <= depthLimit else {
        throw ImportError(.notProtobuf(byte: bytes.startIndex))
      }
      var result: JSONValue = [:]
      var reader = ProtobufReader(bytes)
      while let (number, value) = try reader.next() {
        switch (number, value) {
        case (1, .bytes(let text)): result = .object(["stringValue": Self.text(text)])
        case (2, .varint(let flag)): result = .object(["boolValue": .bool(flag != 0)])
        case (3, .varint(let number)):
          result = .object(["intValue": .string(String(Int64(bitPattern: number)))])
        case (4, .fixed64(let bits)):
          result = .object(["doubleValue": JSONValue(Double(bitPattern: bits))])
        case (5, .bytes(let inner)):
          let depth = depth
          let elements = try list(inner, 1) { wire, bytes throws(ImportError) in
            try wire.anyValue(bytes, depth: depth + 1)
          }
          result = .object(["arrayValue": ["values": .array(elements)]])
        case (6, .bytes(let inner)):
          let depth = depth
          let members = try list(inner, 1) { wire, bytes throws(ImportError) in
            try wire.keyValue(bytes, depth: depth + 1)
          }
          result = .object(["kvlistValue": ["values": .array(members)]])
        case (7, .bytes(let raw)): result = .object(["bytesValue": .bytes(Array(raw))])
        default: break
        }
      }
      return result
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> JSONValue {
      if let text = String(validating: bytes, as: UTF8.self) { return .string(text) }
      return .bytes(Array(bytes))
    }

    private static func hex(_ bytes: ArraySlice<UInt8>) -> JSONValue {
      let digits = Array("0123456789abcdef".utf8)
      var text: [UInt8] = []
      for byte in bytes.prefix(64) { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
      return .string(String(decoding: text, as: UTF8.self))
    }
  }
}
