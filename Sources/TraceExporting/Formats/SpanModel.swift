import AgentTrace

/// A span as OTLP has it, before it is written in either of its forms.
///
/// Names and meanings: https://github.com/open-telemetry/opentelemetry-proto (trace.proto).
struct ExportSpan {
  /// What happened at a moment of a span.
  struct Event {
    var name: String
    var nanoseconds: UInt64
    var attributes: [(key: String, value: JSONValue)]
  }

  /// 16 bytes.
  var trace: [UInt8]
  /// 8 bytes.
  var id: [UInt8]
  /// 8 bytes; `nil` for the root.
  var parent: [UInt8]?
  var name: String
  /// 1 within the process, 3 for a client's call.
  var kind = 1
  /// Nanoseconds since 1970.
  var start: UInt64
  var end: UInt64
  /// In the order in which they were set; each key once. Texts, truth values, numbers, and lists of texts.
  private(set) var attributes: [(key: String, value: JSONValue)] = []
  var events: [Event] = []
  /// Why it failed; `nil` where it did not.
  var failure: String?

  /// How many attributes a span may have: more are dropped by what receives them.
  static let attributeLimit = 128

  init(
    trace: [UInt8], id: [UInt8], parent: [UInt8]?, name: String, start: UInt64, end: UInt64
  ) {
    self.trace = trace
    self.id = id
    self.parent = parent
    self.name = name
    self.start = start
    self.end = max(start, end)
  }

  /// Sets an attribute; nothing is set where there is no value.
  mutating func set(_ key: String, _ value: JSONValue?) {
    guard let value else { return }
    if let index = attributes.firstIndex(where: { $0.key.hasSameUTF8(as: key) }) {
      attributes[index].value = value
    } else if attributes.count < Self.attributeLimit {
      attributes.append((key, value))
    }
  }

  /// A number that stays one with a fraction where it is whole, as types of attributes do not change.
  static func fraction(_ value: Double) -> JSONValue {
    guard let number = JSONNumber(value) else { return .null }
    return .number(
      integer(number) == nil ? number : JSONNumber(token: "\(number.token).0") ?? number)
  }

  mutating func set(_ key: String, _ text: String?) { set(key, text.map(JSONValue.string)) }

  mutating func set(_ key: String, _ count: Int?) { set(key, count.map { JSONValue($0) }) }
}

extension ExportSpan {
  /// Identifiers are derived, so that exporting twice gives the same bytes: the first bytes of SHA-256 over a
  /// name of what they stand for, never all zero.
  static func identifier(_ parts: [String], bytes count: Int) -> [UInt8] {
    var bytes = Array(Digest(of: JSONValue(parts)).bytes.prefix(count))
    if bytes.allSatisfy({ $0 == 0 }), let last = bytes.indices.last { bytes[last] = 1 }
    return bytes
  }

  /// Bytes as small hexadecimal digits.
  static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

// MARK: - JSON

extension ExportSpan {
  /// The form of OTLP in JSON: identifiers in hexadecimal, 64-bit integers as texts.
  var json: JSONValue {
    var object: JSONObject = [
      "traceId": .string(Self.hex(trace)), "spanId": .string(Self.hex(id)), "name": .string(name),
      "kind": JSONValue(kind), "startTimeUnixNano": .string(String(start)),
      "endTimeUnixNano": .string(String(end)), "attributes": Self.json(attributes),
    ]
    object["parentSpanId"] = parent.map { .string(Self.hex($0)) }
    if !events.isEmpty {
      object["events"] = .array(
        events.map {
          [
            "name": .string($0.name), "timeUnixNano": .string(String($0.nanoseconds)),
            "attributes": Self.json($0.attributes),
          ]
        })
    }
    if let failure { object["status"] = ["code": 2, "message": .string(failure)] }
    return .object(object)
  }

  /// Attributes in JSON.
  static func json(_ attributes: [(key: String, value: JSONValue)]) -> JSONValue {
    .array(attributes.map { ["key": .string($0.key), "value": json($0.value)] })
  }

  private static func json(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string: return ["stringValue": value]
    case .bool: return ["boolValue": value]
    case .number(let number):
      guard let integer = integer(number) else { return ["doubleValue": value] }
      return ["intValue": .string(String(integer))]
    case .array(let elements): return ["arrayValue": ["values": .array(elements.map(json))]]
    default: return ["stringValue": .string(CanonicalJSON.string(value, form: .plain))]
    }
  }

  private static func integer(_ number: JSONNumber) -> Int? {
    number.token.utf8.contains { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") }
      ? nil : number.intValue
  }
}

// MARK: - Protocol buffers

extension ExportSpan {
  /// The message `Span`.
  var message: Protobuf {
    var message = Protobuf()
    message.bytes(1, trace)
    message.bytes(2, id)
    if let parent { message.bytes(4, parent) }
    message.text(5, name)
    message.varint(6, UInt64(kind))
    message.fixed64(7, start)
    message.fixed64(8, end)
    for attribute in attributes { message.message(9, Self.keyValue(attribute)) }
    for event in events {
      var inner = Protobuf()
      inner.fixed64(1, event.nanoseconds)
      inner.text(2, event.name)
      for attribute in event.attributes { inner.message(3, Self.keyValue(attribute)) }
      message.message(11, inner)
    }
    if let failure {
      var status = Protobuf()
      status.text(2, failure)
      status.varint(3, 2)
      message.message(15, status)
    }
    return message
  }

  /// The message `KeyValue`.
  static func keyValue(_ attribute: (key: String, value: JSONValue)) -> Protobuf {
    var message = Protobuf()
    message.text(1, attribute.key)
    message.message(2, anyValue(attribute.value))
    return message
  }

  private static func anyValue(_ value: JSONValue) -> Protobuf {
    var message = Protobuf()
    switch value {
    case .string(let text): message.text(1, text)
    case .bool(let flag): message.varint(2, flag ? 1 : 0)
    case .number(let number):
      if let integer = integer(number) {
        message.varint(3, UInt64(bitPattern: Int64(integer)))
      } else {
        message.fixed64(4, number.doubleValue.bitPattern)
      }
    case .array(let elements):
      var list = Protobuf()
      for element in elements { list.message(1, anyValue(element)) }
      message.message(5, list)
    default: message.text(1, CanonicalJSON.string(value, form: .plain))
    }
    return message
  }
}

/// A message of protocol buffers that is being written: tag, then value, field after field.
///
/// https://protobuf.dev/programming-guides/encoding
struct Protobuf {
  private(set) var encoded: [UInt8] = []

  mutating func varint(_ field: Int, _ value: UInt64) {
    append(UInt64(field) << 3)
    append(value)
  }

  mutating func fixed64(_ field: Int, _ value: UInt64) {
    append(UInt64(field) << 3 | 1)
    for shift in stride(from: UInt64(0), to: 64, by: 8) {
      encoded.append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }

  mutating func bytes(_ field: Int, _ bytes: [UInt8]) {
    append(UInt64(field) << 3 | 2)
    append(UInt64(bytes.count))
    encoded += bytes
  }

  mutating func text(_ field: Int, _ text: String) { bytes(field, Array(text.utf8)) }

  mutating func message(_ field: Int, _ message: Protobuf) { bytes(field, message.encoded) }

  private mutating func append(_ varint: UInt64) {
    var rest = varint
    while rest >= 0x80 {
      encoded.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    encoded.append(UInt8(rest))
  }
}
