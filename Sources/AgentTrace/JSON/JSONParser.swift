extension JSONValue {
  /// How strictly text is read.
  public struct ParseOptions: Sendable {
    /// How deep values may nest; deeper is an error, never a crash.
    public var depthLimit: Int
    /// Whether what a log must not hold (lone surrogates, keys that stand twice, bytes that are no
    /// UTF-8) becomes ``JSONValue/bytes(_:)`` instead of an error: for other tools' files.
    public var keepsForeignText: Bool

    /// The defaults are those of a log's line. At a limit of 0 no list and no object is read.
    public init(depthLimit: Int = 128, keepsForeignText: Bool = false) {
      self.depthLimit = depthLimit
      self.keepsForeignText = keepsForeignText
    }
  }

  /// Reads one JSON value (RFC 8259) and nothing else but white space.
  ///
  /// - Throws: ``JSONError`` with the offset of the fault. Keys that stand twice are one.
  /// - Complexity: O(*n*), recursion bounded by `depthLimit`.
  public init(parsing bytes: [UInt8], options: ParseOptions = .init()) throws(JSONError) {
    self = try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in
      var parser = JSONParser(buffer, options: options)
      return try parser.parseDocument()
    }
  }

  /// Reads one JSON value from bytes that stay where they are.
  ///
  /// - Throws: ``JSONError`` with the offset of the fault.
  public init(
    parsing buffer: UnsafeBufferPointer<UInt8>, options: ParseOptions = .init()
  ) throws(JSONError) {
    var parser = JSONParser(buffer, options: options)
    self = try parser.parseDocument()
  }

  /// Reads one JSON value from text.
  ///
  /// - Throws: ``JSONError`` with the offset of the fault in its UTF-8.
  public init(parsing text: String, options: ParseOptions = .init()) throws(JSONError) {
    var text = text
    let parsed = text.withUTF8 { buffer in
      Result { () throws(JSONError) in try JSONValue(parsing: buffer, options: options) }
    }
    self = try parsed.get()
  }
}

/// A recursive-descent reader over a buffer that outlives it.
///
/// Why: Docs/decisions/0021-json-keeps-its-bytes.md
struct JSONParser {
  private let bytes: UnsafeBufferPointer<UInt8>
  private let options: JSONValue.ParseOptions
  private var position = 0
  private var depth = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>, options: JSONValue.ParseOptions) {
    self.bytes = bytes
    self.options = options
  }

  mutating func parseDocument() throws(JSONError) -> JSONValue {
    let value = try parseValue()
    skipSpace()
    guard position == bytes.count else { throw error(.trailingBytes) }
    return value
  }

  private func error(_ code: JSONError.Code) -> JSONError {
    JSONError(code: code, offset: position)
  }

  private func unexpected() -> JSONError {
    position < bytes.count ? error(.unexpectedByte(bytes[position])) : error(.unexpectedEnd)
  }

  private mutating func skipSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x0a, 0x0d, 0x09: position += 1
      default: return
      }
    }
  }

  private mutating func parseValue() throws(JSONError) -> JSONValue {
    skipSpace()
    guard position < bytes.count else { throw error(.unexpectedEnd) }
    switch bytes[position] {
    case UInt8(ascii: "{"): return try parseObject()
    case UInt8(ascii: "["): return try parseArray()
    case UInt8(ascii: "\""): return try parseString().value
    case UInt8(ascii: "t"): return try parseWord("true", as: .bool(true))
    case UInt8(ascii: "f"): return try parseWord("false", as: .bool(false))
    case UInt8(ascii: "n"): return try parseWord("null", as: .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try parseNumber())
    default: throw unexpected()
    }
  }

  private mutating func parseWord(
    _ word: StaticString, as value: JSONValue
  ) throws(JSONError) -> JSONValue {
    for index in 0..<word.utf8CodeUnitCount {
      guard position < bytes.count, bytes[position] == word.utf8Start[index] else {
        throw unexpected()
      }
      position += 1
    }
    return value
  }

  // MARK: Containers

  private mutating func enter() throws(JSONError) {
    depth += 1
    guard depth <= options.depthLimit else { throw error(.tooDeep(limit: options.depthLimit)) }
    position += 1
    skipSpace()
  }

  private mutating func parseArray() throws(JSONError) -> JSONValue {
    try enter()
    var elements: [JSONValue] = []
    if try closes(with: UInt8(ascii: "]")) { return .array(elements) }
    elements.reserveCapacity(2)
    while true {
      elements.append(try parseValue())
      if try !continues(until: UInt8(ascii: "]")) { return .array(elements) }
      if elements.count == Self.longCount {
        elements.reserveCapacity(Self.longCount + commasBeforeBracket + 1)
      }
    }
  }

  /// Of an array of so many elements it is looked how many may follow: to make room for millions of them twice and
  /// again costs more than to read them.
  private static let longCount = 4_096

  /// How far it is looked. A text may hold commas alone: room for as many elements as a large file has bytes no system
  /// gives, and to be refused it ends the process.
  private static let lookaheadBytes = 8 << 20

  /// How many commas stand before the next closing bracket. Of an array of plain numbers and words, so many elements
  /// follow the next one; the room that is asked for in vain is never touched.
  ///
  /// - Complexity: what is left of the innermost array, at most; it is asked once for each.
  private var commasBeforeBracket: Int {
    var count = 0
    for index in position..<min(bytes.count, position + Self.lookaheadBytes) {
      if bytes[index] == UInt8(ascii: "]") { break }
      if bytes[index] == UInt8(ascii: ",") { count += 1 }
    }
    return count
  }

  private mutating func parseObject() throws(JSONError) -> JSONValue {
    let start = position
    try enter()
    var members: [JSONObject.Member] = []
    var hasForeignKey = false
    // As long as keys grow, the members are in their order and no key stands twice.
    var isGrowing = true
    var lastKey = 0..<0
    if try closes(with: UInt8(ascii: "}")) { return .object(JSONObject()) }
    members.reserveCapacity(2)
    while true {
      skipSpace()
      guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
        throw unexpected()
      }
      let quote = position
      let (key, value) = try parseString()
      if case .string = value {} else { hasForeignKey = true }
      if isGrowing {
        let text = (quote + 1)..<(position - 1)
        isGrowing = text.count == key.utf8.count && (members.isEmpty || precedes(lastKey, text))
        lastKey = text
      }
      skipSpace()
      guard position < bytes.count, bytes[position] == UInt8(ascii: ":") else {
        throw unexpected()
      }
      position += 1
      members.append(JSONObject.Member(key: key, value: try parseValue()))
      if try !continues(until: UInt8(ascii: "}")) { break }
    }
    if isGrowing, !hasForeignKey { return .object(JSONObject(growing: members)) }
    if !hasForeignKey, let object = JSONObject(unique: members) { return .object(object) }
    guard options.keepsForeignText else {
      throw JSONError(code: .duplicateKey(Self.repeatedKey(in: members)), offset: start)
    }
    return .bytes(Array(bytes[start..<position]))
  }

  /// Whether one piece of the text stands before another by its bytes.
  private func precedes(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
    var (a, b) = (left.lowerBound, right.lowerBound)
    while a < left.upperBound, b < right.upperBound {
      if bytes[a] != bytes[b] { return bytes[a] < bytes[b] }
      (a, b) = (a + 1, b + 1)
    }
    return left.count < right.count
  }

  /// Whether the container that was just entered is empty; steps over its end if so.
  private mutating func closes(with end: UInt8) throws(JSONError) -> Bool {
    guard position < bytes.count else { throw error(.unexpectedEnd) }
    guard bytes[position] == end else { return false }
    position += 1
    depth -= 1
    return true
  }

  /// Steps over a comma (true) or the container's end (false).
  private mutating func continues(until end: UInt8) throws(JSONError) -> Bool {
    skipSpace()
    guard position < bytes.count else { throw error(.unexpectedEnd) }
    if bytes[position] == UInt8(ascii: ",") {
      position += 1
      return true
    }
    guard bytes[position] == end else { throw unexpected() }
    position += 1
    depth -= 1
    return false
  }

  private static func repeatedKey(in members: [JSONObject.Member]) -> String {
    let keys = members.map(\.key).sorted { $0.precedesByUTF8($1) }
    return zip(keys, keys.dropFirst()).first { $0.hasSameUTF8(as: $1) }?.0 ?? ""
  }

  // MARK: Numbers

  private mutating func parseNumber() throws(JSONError) -> JSONNumber {
    let start = position
    if bytes[position] == UInt8(ascii: "-") { position += 1 }
    let whole = skipDigits()
    if whole > 0, whole < 19, whole == position - start, whole == 1 || bytes[start] != 0x30,
      position == bytes.count || !isNumeric(bytes[position])
    {
      var value = 0
      for index in start..<position { value = value &* 10 &+ Int(bytes[index] &- 0x30) }
      return JSONNumber(value)
    }
    guard whole > 0 else { throw error(.invalidNumber) }
    if whole > 1, bytes[position - whole] == UInt8(ascii: "0") {
      throw JSONError(code: .invalidNumber, offset: start)
    }
    if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
      position += 1
      guard skipDigits() > 0 else { throw error(.invalidNumber) }
    }
    if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
      position += 1
      if position < bytes.count,
        bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-")
      {
        position += 1
      }
      guard skipDigits() > 0 else { throw error(.invalidNumber) }
    }
    return JSONNumber(validToken: String(decoding: bytes[start..<position], as: UTF8.self))
  }

  /// Whether a byte goes on with a number behind its whole part.
  private func isNumeric(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e")
  }

  private mutating func skipDigits() -> Int {
    let start = position
    while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position])
    {
      position += 1
    }
    return position - start
  }

  // MARK: Strings

  /// A string as a key and as a value; the value is `.bytes` where foreign text is no Unicode.
  private mutating func parseString() throws(JSONError) -> (key: String, value: JSONValue) {
    let start = position + 1
    var seen: UInt64 = 0
    position = bytes.plainEnd(from: start, seen: &seen)
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        let slice = UnsafeBufferPointer(rebasing: bytes[start..<position])
        position += 1
        // Bytes that are ASCII all need not be looked at once more.
        if UnsafeBufferPointer<UInt8>.isASCII(seen: seen) {
          let text = String(decoding: slice, as: UTF8.self)
          return (text, .string(text))
        }
        return try text(of: slice)
      case UInt8(ascii: "\\"):
        if let text = parsePlainEscapes(from: start, seen: seen) { return (text, .string(text)) }
        return try parseEscapedString(from: start)
      case 0..<0x20:
        throw error(.controlCharacter)
      default: position += 1
      }
    }
    throw error(.unexpectedEnd)
  }

  /// Goes on behind the first backslash of a string of ASCII whose escapes are of two letters, straight into its text;
  /// `nil`, having read nothing, where it is none: ``parseEscapedString(from:)`` reads all.
  private mutating func parsePlainEscapes(from start: Int, seen: UInt64) -> String? {
    var (seen, index) = (seen, position)
    while index < bytes.count, bytes[index] == UInt8(ascii: "\\") {
      guard index + 1 < bytes.count, Self.unescaped[Int(bytes[index + 1])] != 0 else { return nil }
      index = bytes.plainEnd(from: index + 2, seen: &seen)
    }
    guard index < bytes.count, bytes[index] == UInt8(ascii: "\""),
      UnsafeBufferPointer<UInt8>.isASCII(seen: seen)
    else { return nil }
    let slice = UnsafeBufferPointer(rebasing: bytes[start..<index])
    let text = String(unsafeUninitializedCapacity: slice.count) { room in
      Self.unescape(slice, from: position - start, into: room)
    }
    position = index + 1
    return text
  }

  /// What the letter behind a backslash stands for; 0 for what is no escape of two letters.
  private static let unescaped: [UInt8] = {
    var table = [UInt8](repeating: 0, count: 256)
    for (letter, meaning) in [
      ("\"", 0x22), ("\\", 0x5c), ("/", 0x2f), ("b", 0x08), ("f", 0x0c), ("n", 0x0a), ("r", 0x0d),
      ("t", 0x09),
    ] as [(Unicode.Scalar, UInt8)] {
      table[Int(letter.value)] = meaning
    }
    return table
  }()

  /// Copies text with escapes of two letters, which the caller has looked at; returns how many bytes it comes to.
  ///
  /// - Parameter first: where the first backslash is.
  private static func unescape(
    _ text: UnsafeBufferPointer<UInt8>, from first: Int,
    into room: UnsafeMutableBufferPointer<UInt8>
  ) -> Int {
    guard let source = text.baseAddress, let target = room.baseAddress else { return 0 }
    return unescaped.withUnsafeBufferPointer { meanings in
      var (read, written, end) = (0, 0, first)
      while true {
        let length = min(end - read, room.count - written)
        (target + written).update(from: source + read, count: length)
        written += length
        guard end + 1 < text.count, written < room.count else { return written }
        room[written] = meanings[Int(text[end + 1])]
        written += 1
        read = end + 2
        end = text.plainEnd(from: read)
      }
    }
  }

  /// Goes on behind the first backslash, unescaping into a buffer of its own.
  private mutating func parseEscapedString(
    from start: Int
  ) throws(JSONError) -> (key: String, value: JSONValue) {
    var unescaped = Array(bytes[start..<position])
    var hasLoneSurrogate = false
    while position < bytes.count {
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        if hasLoneSurrogate { return ("", .bytes(unescaped)) }
        return try unescaped.withUnsafeBufferPointer { buffer throws(JSONError) in
          try text(of: buffer)
        }
      case UInt8(ascii: "\\"):
        try parseEscape(into: &unescaped, hasLoneSurrogate: &hasLoneSurrogate)
      case 0..<0x20:
        throw error(.controlCharacter)
      default:
        let end = bytes.plainEnd(from: position)
        unescaped.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[position..<end]))
        position = end
      }
    }
    throw error(.unexpectedEnd)
  }

  private mutating func parseEscape(
    into unescaped: inout [UInt8], hasLoneSurrogate: inout Bool
  ) throws(JSONError) {
    position += 1
    guard position < bytes.count else { throw error(.unexpectedEnd) }
    let simple: UInt8
    switch bytes[position] {
    case UInt8(ascii: "\""): simple = UInt8(ascii: "\"")
    case UInt8(ascii: "\\"): simple = UInt8(ascii: "\\")
    case UInt8(ascii: "/"): simple = UInt8(ascii: "/")
    case UInt8(ascii: "b"): simple = 0x08
    case UInt8(ascii: "f"): simple = 0x0c
    case UInt8(ascii: "n"): simple = 0x0a
    case UInt8(ascii: "r"): simple = 0x0d
    case UInt8(ascii: "t"): simple = 0x09
    case UInt8(ascii: "u"):
      position += 1
      try parseUnicodeEscape(into: &unescaped, hasLoneSurrogate: &hasLoneSurrogate)
      return
    default: throw error(.invalidEscape)
    }
    unescaped.append(simple)
    position += 1
  }

  private mutating func parseUnicodeEscape(
    into unescaped: inout [UInt8], hasLoneSurrogate: inout Bool
  ) throws(JSONError) {
    let escape = position - 2
    let unit = try parseHex()
    var scalar = UInt32(unit)
    if (0xd800...0xdbff).contains(unit), position + 1 < bytes.count,
      bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u")
    {
      let back = position
      position += 2
      let low = try parseHex()
      if (0xdc00...0xdfff).contains(low) {
        scalar = 0x10000 + (UInt32(unit) - 0xd800) << 10 + (UInt32(low) - 0xdc00)
      } else {
        position = back
      }
    }
    if (0xd800...0xdfff).contains(scalar) {
      guard options.keepsForeignText else {
        throw JSONError(code: .loneSurrogate, offset: escape)
      }
      hasLoneSurrogate = true
    }
    Self.appendWTF8(scalar, to: &unescaped)
  }

  private mutating func parseHex() throws(JSONError) -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<4 {
      guard position < bytes.count else { throw error(.unexpectedEnd) }
      let digit: UInt8
      switch bytes[position] {
      case let byte where (0x30...0x39).contains(byte): digit = byte - 0x30
      case let byte where (0x61...0x66).contains(byte | 0x20): digit = (byte | 0x20) - 0x61 + 10
      default: throw error(.invalidEscape)
      }
      value = value << 4 | UInt16(digit)
      position += 1
    }
    return value
  }

  /// Encodes a code point as UTF-8; a surrogate too (https://wtf-8.codeberg.page).
  private static func appendWTF8(_ scalar: UInt32, to bytes: inout [UInt8]) {
    switch scalar {
    case 0..<0x80: bytes.append(UInt8(scalar))
    case 0x80..<0x800:
      bytes.append(UInt8(0xc0 | scalar >> 6))
      bytes.append(UInt8(0x80 | scalar & 0x3f))
    case 0x800..<0x10000:
      bytes.append(UInt8(0xe0 | scalar >> 12))
      bytes.append(UInt8(0x80 | scalar >> 6 & 0x3f))
      bytes.append(UInt8(0x80 | scalar & 0x3f))
    default:
      bytes.append(UInt8(0xf0 | scalar >> 18))
      bytes.append(UInt8(0x80 | scalar >> 12 & 0x3f))
      bytes.append(UInt8(0x80 | scalar >> 6 & 0x3f))
      bytes.append(UInt8(0x80 | scalar & 0x3f))
    }
  }

  private func text(
    of slice: UnsafeBufferPointer<UInt8>
  ) throws(JSONError) -> (key: String, value: JSONValue) {
    if let text = String(validUTF8: slice) { return (text, .string(text)) }
    guard options.keepsForeignText else { throw error(.invalidUTF8) }
    return ("", .bytes(Array(slice)))
  }
}
