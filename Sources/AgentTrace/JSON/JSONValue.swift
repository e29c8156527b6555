/// Any value that can stand in a log: JSON, and the three things that plain JSON cannot hold.
///
/// Two values are equal when their canonical bytes are: strings compare by their UTF-8 (never by
/// Unicode equivalence), `1` and `1.0` differ. Equality *by value* is the business of matchers.
public enum JSONValue: Sendable {
  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)
  /// Bytes that are not UTF-8, or foreign text that is no proper JSON string or object.
  /// Written as `{"$bytes":"<base64>"}`.
  case bytes([UInt8])
  /// What is left of a value that was too large: how many bytes its canonical form had, and how it
  /// began. Written as `{"$cut":{"bytes":n,"head":"…"}}`.
  case cut(bytes: Int, head: String)
  /// A value whose bytes are gone: the reference that could not be followed.
  /// Written as `{"$lost":"<reference>"}`. Whatever needs it cannot be verified.
  case lost(String)
}

extension JSONValue: Hashable {
  public static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.number(let a), .number(let b)): a == b
    case (.string(let a), .string(let b)): a.hasSameUTF8(as: b)
    case (.array(let a), .array(let b)): a == b
    case (.object(let a), .object(let b)): a == b
    case (.bytes(let a), .bytes(let b)): a == b
    case (.cut(let a, let headA), .cut(let b, let headB)): a == b && headA.hasSameUTF8(as: headB)
    case (.lost(let a), .lost(let b)): a.hasSameUTF8(as: b)
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    // Equal UTF-8 implies equal `String` hashes, so the standard hashes are sound here.
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .number(let value): hasher.combine(value)
    case .string(let value): hasher.combine(value)
    case .array(let value): hasher.combine(value)
    case .object(let value): hasher.combine(value)
    case .bytes(let value): hasher.combine(value)
    case .cut(let bytes, _): hasher.combine(bytes)
    case .lost(let value): hasher.combine(value)
    }
  }
}

extension UnsafeBufferPointer<JSONValue> {
  /// Whether two elements are one and the same in memory, so that they need not be compared: what a
  /// context takes over from the one before mostly is. False says nothing.
  @_spi(Scanning) public func isIdentical(
    _ index: Int, to other: UnsafeBufferPointer<JSONValue>, _ otherIndex: Int
  ) -> Bool {
    guard let start = baseAddress, let otherStart = other.baseAddress else { return false }
    let size = MemoryLayout<JSONValue>.size
    let bytes = UnsafeRawBufferPointer(start: start + index, count: size)
    let otherBytes = UnsafeRawBufferPointer(start: otherStart + otherIndex, count: size)
    var place = 0
    while place + 8 <= size {
      guard
        bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
          == otherBytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
      else { return false }
      place += 8
    }
    return bytes[place...].elementsEqual(otherBytes[place...])
  }
}

// MARK: - Reading

extension JSONValue {
  /// The text, if this is a string.
  public var stringValue: String? { if case .string(let value) = self { value } else { nil } }

  /// The number as an integer, if it is one that fits, whatever its token (`2`, `2.0`, `2e0`).
  public var intValue: Int? { if case .number(let value) = self { value.intValue } else { nil } }

  /// The number as a double, if this is a number.
  public var doubleValue: Double? {
    if case .number(let value) = self { value.doubleValue } else { nil }
  }

  /// The truth value, if this is one.
  public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The elements, if this is an array.
  public var arrayValue: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

  /// The members, if this is an object.
  public var objectValue: JSONObject? { if case .object(let value) = self { value } else { nil } }

  /// Whether this is `null`.
  public var isNull: Bool { if case .null = self { true } else { false } }

  /// The member of an object; `nil` where this is no object or lacks the key.
  public subscript(key: String) -> JSONValue? { objectValue?[key] }

  /// The element of an array; `nil` where this is no array or is shorter.
  public subscript(index: Int) -> JSONValue? {
    guard let elements = arrayValue, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  /// What JSON calls this kind of value: `null`, `boolean`, `number`, `string`, `array`, `object`;
  /// and `bytes`, `cut` or `lost` for what JSON cannot hold.
  public var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .number: "number"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    case .bytes: "bytes"
    case .cut: "cut"
    case .lost: "lost"
    }
  }
}

// MARK: - Making

// Not by `nil`: `isBlank ? nil : value` would be a null where it is to be nothing.
extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
  public init(floatLiteral value: Double) { self = JSONValue(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// A key that stands twice keeps its last value.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(JSONObject(elements))
  }

  /// A whole number.
  public init(_ value: Int) { self = .number(JSONNumber(value)) }

  /// A double, printed as ECMAScript prints it; `null` where it is not finite.
  public init(_ value: Double) { self = JSONNumber(value).map(JSONValue.number) ?? .null }

  /// An array of strings.
  public init(_ strings: [String]) { self = .array(strings.map(JSONValue.string)) }
}

// MARK: - Limits

extension JSONValue {
  /// How deep the value nests: 0 for a scalar, 1 for an empty array.
  public var depth: Int {
    switch self {
    case .array(let elements): 1 + (elements.lazy.map(\.depth).max() ?? 0)
    case .object(let object): 1 + (object.lazy.map(\.value.depth).max() ?? 0)
    case .bytes, .lost: 1
    case .cut: 2
    default: 0
    }
  }

  /// The most values, elements and members at any depth together, of a line of a log.
  public static let countLimit = 1 << 18

  /// Whether the value is too large for a place that takes so many bytes of its canonical form: by these, or by how
  /// many elements and members it holds at any depth. Of them a place takes its share of ``countLimit``, as much as its
  /// bytes are of the 8 MiB of a line, and 65,536 where that is less.
  ///
  /// - Complexity: O(*n*); looks at each byte.
  public func isLarger(thanBytes limitBytes: Int) -> Bool {
    let bytes = CanonicalJSON.byteCount(of: self)
    let limit = max(limitBytes / 32, 1 << 16)
    // Each takes two bytes at least.
    return bytes > limitBytes || (bytes / 2 > limit && CanonicalJSON.valueCount(of: self) > limit)
  }

  /// A ``cut(bytes:head:)`` of which only the beginning is known, and not how long the whole was.
  public static func beginning(_ head: String) -> JSONValue {
    .cut(bytes: head.utf8.count, head: head)
  }

  /// Whether it is a ``cut(bytes:head:)`` that does not tell how long the whole was: it says no more bytes than its
  /// beginning has. It may be a part of any value then.
  public var isCutFromUnknownLength: Bool {
    guard case .cut(let bytes, let head) = self else { return false }
    return bytes <= head.utf8.count
  }

  /// This value, or a ``cut(bytes:head:)`` in its place when it ``isLarger(thanBytes:)``. The head holds at most 1 KiB
  /// of its canonical form.
  ///
  /// Applied where a value enters a run, before policy or state sees it, so that a line of the log
  /// never exceeds its limit.
  ///
  /// - Complexity: O(*n*); looks at each byte, and encodes what is cut.
  public func cut(toBytes limitBytes: Int) -> JSONValue {
    guard isLarger(thanBytes: limitBytes) else { return self }
    let encoded = CanonicalJSON.encode(self)
    if case .string(let text) = self {
      return .cut(bytes: encoded.count, head: text.prefix(utf8Bytes: min(1024, limitBytes)))
    }
    let text = String(decoding: encoded.prefix(4096), as: UTF8.self)
    return .cut(bytes: encoded.count, head: text.prefix(utf8Bytes: min(1024, limitBytes)))
  }
}

extension JSONValue: CustomStringConvertible {
  /// The canonical form; for messages and tests.
  public var description: String { CanonicalJSON.string(self) }
}

extension JSONValue {
  /// About how much memory the value takes.
  package var roughBytes: Int {
    switch self {
    case .string(let text), .lost(let text): 32 + text.utf8.count
    case .bytes(let bytes): 32 + bytes.count
    case .cut(_, let head): 48 + head.utf8.count
    case .array(let elements): elements.reduce(32) { $0 + $1.roughBytes }
    case .object(let object):
      object.reduce(32) { $0 + 32 + $1.key.utf8.count + $1.value.roughBytes }
    default: 32
    }
  }
}
