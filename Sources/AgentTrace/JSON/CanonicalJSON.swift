/// The one way this project writes JSON: keys sorted by UTF-8 bytes, no white space, only what must
/// be escaped is escaped, numbers as the tokens they were.
///
/// RFC 8785 with two differences: keys sort by UTF-8 bytes (not UTF-16 units), and a number that was
/// read keeps its token. Specified in Docs/log-format.md.
///
/// Why: Docs/decisions/0021-json-keeps-its-bytes.md
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
      elements.withUnsafeBufferPointer { elements in
        for index in elements.indices {
          if index > 0 { bytes.append(UInt8(ascii: ",")) }
          append(elements[index], to: &bytes, form: form)
        }
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
    (form == .log ? object.inLogOrder : object.members).withUnsafeBufferPointer { members in
      for index in members.indices {
        appendKey(members[index].key, isFirst: index == 0, to: &bytes, form: form)
        append(members[index].value, to: &bytes, form: form)
      }
    }
    bytes.append(UInt8(ascii: "}"))
  }

  /// Appends a member's key and colon, behind a comma unless the member is its object's first.
  @_spi(Scanning) public static func appendKey(
    _ key: String, isFirst: Bool, to bytes: inout [UInt8], form: Form = .log
  ) {
    let isWritten = key.utf8.withContiguousStorageIfAvailable { utf8 in
      guard form == .plain || utf8.first != UInt8(ascii: "$") else { return false }
      return appendQuoted(
        utf8, behind: isFirst ? nil : UInt8(ascii: ","), before: UInt8(ascii: ":"), to: &bytes)
    }
    if isWritten == true { return }
    if !isFirst { bytes.append(UInt8(ascii: ",")) }
    appendString(form == .log ? key.escapingReservedKey : key, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
  }

  /// Appends a string in quotes. Escapes `"`, `\` and everything below 0x20, nothing else.
  public static func appendString(_ text: String, to bytes: inout [UInt8]) {
    let isWritten: Void? = text.utf8.withContiguousStorageIfAvailable { utf8 in
      if !appendQuoted(utf8, to: &bytes) { appendEscaped(utf8, to: &bytes) }
    }
    guard isWritten == nil else { return }
    var text = text
    text.withUTF8 { appendEscaped($0, to: &bytes) }
  }

  /// Appends a string in which nothing has to be escaped, all of it at once; false where something has.
  @inline(__always) private static func appendQuoted(
    _ utf8: UnsafeBufferPointer<UInt8>, behind before: UInt8? = nil, before after: UInt8? = nil,
    to bytes: inout [UInt8]
  ) -> Bool {
    guard utf8.plainEnd(from: 0) == utf8.count else { return false }
    bytes.append(addingCapacity: utf8.count + 4) { room in
      if let before { room.append(before) }
      room.append(UInt8(ascii: "\""))
      room.append(copying: utf8)
      room.append(UInt8(ascii: "\""))
      if let after { room.append(after) }
    }
    return true
  }

  private static func appendEscaped(_ utf8: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    var start = 0
    while start < utf8.count {
      let piece = UnsafeBufferPointer(rebasing: utf8[start..<min(start + 4_096, utf8.count)])
      // A byte becomes six at most.
      bytes.append(addingCapacity: 6 * piece.count) { room in
        var index = 0
        while index < piece.count {
          let end = piece.plainEnd(from: index)
          room.append(copying: UnsafeBufferPointer(rebasing: piece[index..<end]))
          if end < piece.count { appendEscape(of: piece[end], to: &room) }
          index = end + 1
        }
      }
      start += piece.count
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func appendEscape(of byte: UInt8, to room: inout OutputSpan<UInt8>) {
    room.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): room.append(byte)
    case 0x08: room.append(UInt8(ascii: "b"))
    case 0x09: room.append(UInt8(ascii: "t"))
    case 0x0a: room.append(UInt8(ascii: "n"))
    case 0x0c: room.append(UInt8(ascii: "f"))
    case 0x0d: room.append(UInt8(ascii: "r"))
    default:
      // A control character, below 0x20.
      room.append(copying: "u00")
      room.append(byte < 16 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
      let digit = byte & 15
      room.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
    }
  }
}

extension OutputSpan<UInt8> {
  fileprivate mutating func append(copying bytes: UnsafeBufferPointer<UInt8>) {
    guard let source = bytes.baseAddress else { return }
    withUnsafeMutableBufferPointer { room, count in
      precondition(bytes.count <= room.count - count, "there is no such room")
      guard let start = room.baseAddress else { return }
      (start + count).initialize(from: source, count: bytes.count)
      count += bytes.count
    }
  }

  fileprivate mutating func append(copying text: StaticString) {
    text.withUTF8Buffer { append(copying: $0) }
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

extension JSONObject {
  /// The members in the order a log writes them: by their keys as it writes them. A further `$` can
  /// change the order.
  @_spi(Scanning) public var inLogOrder: [Member] {
    guard holdsReservedKey else { return members }
    return members.sorted { $0.key.escapingReservedKey.precedesByUTF8($1.key.escapingReservedKey) }
  }

  private var holdsReservedKey: Bool {
    // The first key tells of nearly every object that all begin behind a `$`.
    if let first = members.first?.key.utf8.first, first > UInt8(ascii: "$") { return false }
    return members.contains { CanonicalJSON.isReserved($0.key) }
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

  /// What each letter stands for; 64 for what is none.
  private static let digits: [UInt8] = {
    var digits = [UInt8](repeating: 64, count: 256)
    for (digit, letter) in alphabet.enumerated() { digits[Int(letter)] = UInt8(digit) }
    return digits
  }()

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
    decoded.reserveCapacity(text.utf8.count / 4 * 3)
    var (group, bits) = (UInt32(0), 0)
    for byte in text.utf8 {
      if byte == UInt8(ascii: "=") { break }
      let digit = digits[Int(byte)]
      guard digit < 64 else { return nil }
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
    case .string(let text):
      // Where a text is cut, no quote may stand within the limit, also where a character of four bytes is cut.
      let isCut = text.utf8.count > limitBytes
      appendString(isCut ? text.prefix(utf8Bytes: limitBytes + 4) : text, to: &bytes)
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
    for (index, member) in object.inLogOrder.enumerated() where bytes.count < limitBytes {
      appendKey(member.key, isFirst: index == 0, to: &bytes)
      appendPrefix(of: member.value, to: &bytes, limitBytes: limitBytes)
    }
    bytes.append(UInt8(ascii: "}"))
  }
}
