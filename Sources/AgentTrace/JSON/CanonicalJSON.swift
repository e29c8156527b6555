/// The one way this project writes JSON: keys sorted by UTF-8 bytes, no white space, only what must
/// be escaped is escaped, numbers as the tokens they were.
///
/// RFC 8785 with two differences: keys sort by UTF-8 bytes (not UTF-16 units), and a number that was
/// read keeps its token. Specified in Docs/log-format.md.
public enum CanonicalJSON {
  /// What happens to the words that a log gives a meaning of its own.
  public enum Form: Sendable {
    /// As in a log and in every digest: a user's own key like `$same` gains a `$`.
    case log
    /// As other programs expect it: keys as they are.
    case plain
  }

  /// The canonical bytes of a value.
  public static func encode(_ value: JSONValue, form: Form = .log) -> [UInt8] {
    var bytes: [UInt8] = []
    append(value, to: &bytes, form: form)
    return bytes
  }

  /// The canonical form as text.
  public static func string(_ value: JSONValue, form: Form = .log) -> String {
    String(decoding: encode(value, form: form), as: UTF8.self)
  }

  /// Appends the canonical bytes of a value.
  public static func append(_ value: JSONValue, to bytes: inout [UInt8], form: Form = .log) {
    switch value {
    case .null: bytes.append(contentsOf: "null".utf8)
    case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
    case .number(let number): number.append(to: &bytes)
    case .string(let text): appendString(text, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        append(element, to: &bytes, form: form)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let object): append(object, to: &bytes, form: form)
    case .bytes(let raw):
      bytes.append(contentsOf: "{\"$bytes\":\"".utf8)
      Base64.append(raw, to: &bytes)
      bytes.append(contentsOf: "\"}".utf8)
    case .cut(let count, let head):
      bytes.append(contentsOf: "{\"$cut\":{\"bytes\":\(count),\"head\":".utf8)
      appendString(head, to: &bytes)
      bytes.append(contentsOf: "}}".utf8)
    case .lost(let reference):
      bytes.append(contentsOf: "{\"$lost\":".utf8)
      appendString(reference, to: &bytes)
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// Appends the canonical bytes of an object.
  public static func append(_ object: JSONObject, to bytes: inout [UInt8], form: Form = .log) {
    bytes.append(UInt8(ascii: "{"))
    if form == .log, let escaped = escapedMembers(of: object) {
      for (index, (key, value)) in escaped.enumerated() {
        appendMember(key, value, isFirst: index == 0, to: &bytes, form: form)
      }
    } else {
      var isFirst = true
      for member in object.members {
        appendMember(member.key, member.value, isFirst: isFirst, to: &bytes, form: form)
        isFirst = false
      }
    }
    bytes.append(UInt8(ascii: "}"))
  }

  /// The members with their keys as a log writes them, in its order; `nil` where they are as they
  /// stand. A further `$` can change the order, so these rare objects are sorted anew.
  private static func escapedMembers(of object: JSONObject) -> [(String, JSONValue)]? {
    guard object.members.contains(where: { isReserved($0.key) }) else { return nil }
    return object.map { ($0.key.escapingReservedKey, $0.value) }
      .sorted { $0.0.precedesByUTF8($1.0) }
  }

  private static func appendMember(
    _ key: String, _ value: JSONValue, isFirst: Bool, to bytes: inout [UInt8], form: Form
  ) {
    if !isFirst { bytes.append(UInt8(ascii: ",")) }
    appendString(key, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    append(value, to: &bytes, form: form)
  }

  /// Appends a string in quotes. Escapes `"`, `\` and everything below 0x20, nothing else.
  public static func appendString(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { utf8 in
      var clean = 0
      var index = utf8.plainEnd(from: 0)
      while index < utf8.count {
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[clean..<index]))
        clean = index + 1
        appendEscape(of: utf8[index], to: &bytes)
        index = utf8.plainEnd(from: clean)
      }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[clean...]))
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func appendEscape(of byte: UInt8, to bytes: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "\""): bytes.append(contentsOf: "\\\"".utf8)
    case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\".utf8)
    case 0x08: bytes.append(contentsOf: "\\b".utf8)
    case 0x09: bytes.append(contentsOf: "\\t".utf8)
    case 0x0a: bytes.append(contentsOf: "\\n".utf8)
    case 0x0c: bytes.append(contentsOf: "\\f".utf8)
    case 0x0d: bytes.append(contentsOf: "\\r".utf8)
    default:
      bytes.append(contentsOf: "\\u00".utf8)
      bytes.append(byte < 16 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
      bytes.append(Array("0123456789abcdef".utf8)[Int(byte & 15)])
    }
  }
}

// MARK: - Reserved keys

extension CanonicalJSON {
  /// Whether a key matches `^\$+(same|list|bytes|lost|cut)$`: the words with a meaning in a log.
  public static func isReserved(_ key: String) -> Bool {
    // Nearly every key begins otherwise, and this is asked of all.
    guard key.utf8.first == UInt8(ascii: "$") else { return false }
    switch key.drop(while: { $0 == "$" }) {
    case "same", "list", "bytes", "lost", "cut": return true
    default: return false
    }
  }
}

extension String {
  /// The key as a log writes it: a user's own reserved word gains one `$`.
  public var escapingReservedKey: String {
    CanonicalJSON.isReserved(self) ? "$" + self : self
  }

  /// The key as it was before ``escapingReservedKey``.
  public var unescapingReservedKey: String {
    CanonicalJSON.isReserved(self) && hasPrefix("$$") ? String(dropFirst()) : self
  }
}

// MARK: - Base64

/// RFC 4648 §4 with padding; refuses anything else.
public enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// Appends the base64 of some bytes.
  public static func append(_ raw: [UInt8], to bytes: inout [UInt8]) {
    var index = 0
    while index < raw.count {
      let rest = raw.count - index
      let group =
        UInt32(raw[index]) << 16 | (rest > 1 ? UInt32(raw[index + 1]) << 8 : 0)
        | (rest > 2 ? UInt32(raw[index + 2]) : 0)
      bytes.append(alphabet[Int(group >> 18)])
      bytes.append(alphabet[Int(group >> 12 & 63)])
      bytes.append(rest > 1 ? alphabet[Int(group >> 6 & 63)] : UInt8(ascii: "="))
      bytes.append(rest > 2 ? alphabet[Int(group & 63)] : UInt8(ascii: "="))
      index += 3
    }
  }

  /// The bytes that a base64 text stands for; `nil` unless it is exactly what ``append(_:to:)``
  /// would have written.
  public static func decode(_ text: String) -> [UInt8]? {
    var decoded: [UInt8] = []
    var (group, bits) = (UInt32(0), 0)
    for byte in text.utf8 {
      if byte == UInt8(ascii: "=") { break }
      guard let digit = alphabet.firstIndex(of: byte) else { return nil }
      group = group << 6 | UInt32(digit)
      bits += 6
      if bits >= 8 {
        bits -= 8
        decoded.append(UInt8(group >> UInt32(bits) & 255))
      }
    }
    var again: [UInt8] = []
    append(decoded, to: &again)
    return again.elementsEqual(text.utf8) ? decoded : nil
  }
}

// MARK: - Beginnings

extension CanonicalJSON {
  /// About the first `limitBytes` bytes of a value's canonical form, without encoding the rest.
  public static func prefix(of value: JSONValue, limitBytes: Int) -> String {
    var bytes: [UInt8] = []
    appendPrefix(of: value, to: &bytes, limitBytes: limitBytes)
    return String(decoding: bytes, as: UTF8.self).prefix(utf8Bytes: limitBytes)
  }

  private static func appendPrefix(
    of value: JSONValue, to bytes: inout [UInt8], limitBytes: Int
  ) {
    guard bytes.count < limitBytes else { return }
    switch value {
    case .string(let text): appendString(text.prefix(utf8Bytes: limitBytes), to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() where bytes.count < limitBytes {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        appendPrefix(of: element, to: &bytes, limitBytes: limitBytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let object):
      appendPrefix(of: object, to: &bytes, limitBytes: limitBytes)
    case .bytes(let raw): append(.bytes(Array(raw.prefix(limitBytes))), to: &bytes)
    default: append(value, to: &bytes)
    }
  }

  private static func appendPrefix(
    of object: JSONObject, to bytes: inout [UInt8], limitBytes: Int
  ) {
    bytes.append(UInt8(ascii: "{"))
    var isFirst = true
    func append(_ key: String, _ value: JSONValue) {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      appendString(key, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      appendPrefix(of: value, to: &bytes, limitBytes: limitBytes)
    }
    if let escaped = escapedMembers(of: object) {
      for (key, value) in escaped where bytes.count < limitBytes { append(key, value) }
    } else {
      for member in object where bytes.count < limitBytes { append(member.key, member.value) }
    }
    bytes.append(UInt8(ascii: "}"))
  }
}
