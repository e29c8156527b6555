/// A text without its escapes, and where each byte of it stood: `%26`, `\u0026`, `\/`, `\x26`, `&amp;` and `&#38;`
/// are all read as what they stand for, so that one comparison finds a text in each way of writing it.
struct UnescapedText {
  /// How often escapes are read that were escaped themselves.
  static let mostDepth = 3

  private(set) var bytes: [UInt8] = []
  /// Where each byte begins in the text that was read, and where that ends.
  private(set) var starts: [Int] = []

  /// Reads the escapes of a text once; `nil` where it has none.
  ///
  /// - Complexity: O(*n*).
  init?(_ text: UnsafeBufferPointer<UInt8>) {
    guard
      let first = text.firstIndex(where: {
        $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "&")
      })
    else { return nil }
    bytes.reserveCapacity(text.count)
    starts.reserveCapacity(text.count + 1)
    bytes += text[..<first]
    starts += 0..<first
    var index = first
    var hasEscape = false
    while index < text.count {
      if let (character, end) = Self.escape(in: text, at: index) {
        hasEscape = true
        Self.append(character, to: &bytes)
        while starts.count < bytes.count { starts.append(index) }
        index = end
      } else {
        bytes.append(text[index])
        starts.append(index)
        index += 1
      }
    }
    guard hasEscape else { return nil }
    starts.append(text.count)
  }

  /// The same again, of what was read: its places are those of the first text.
  func unescaped() -> UnescapedText? {
    guard var next = bytes.withUnsafeBufferPointer({ UnescapedText($0) }) else { return nil }
    for index in next.starts.indices { next.starts[index] = starts[next.starts[index]] }
    return next
  }

  /// Where a part of it stood; `nil` where that was written without escapes.
  func place(of range: Range<Int>) -> Range<Int>? {
    let place = starts[range.lowerBound]..<starts[range.upperBound]
    return place.count > range.count ? place : nil
  }

  // MARK: Escapes

  /// What an escape stands for.
  private enum Character {
    case byte(UInt8)
    case scalar(UInt32)
  }

  private static func append(_ character: Character, to bytes: inout [UInt8]) {
    switch character {
    case .byte(let byte): bytes.append(byte)
    case .scalar(let value):
      if let scalar = Unicode.Scalar(value) { bytes += UTF8.encode(scalar).map(Array.init) ?? [] }
    }
  }

  /// The escape that begins at a place, and where it ends.
  private static func escape(
    in text: UnsafeBufferPointer<UInt8>, at index: Int
  ) -> (Character, Int)? {
    switch text[index] {
    case UInt8(ascii: "%"):
      guard let value = hex(in: text, (index + 1)..<(index + 3)) else { return nil }
      return (.byte(UInt8(truncatingIfNeeded: value)), index + 3)
    case UInt8(ascii: "\\"): return backslash(in: text, at: index)
    case UInt8(ascii: "&"): return entity(in: text, at: index)
    default: return nil
    }
  }

  private static func backslash(
    in text: UnsafeBufferPointer<UInt8>, at index: Int
  ) -> (Character, Int)? {
    guard index + 1 < text.count else { return nil }
    let byte = text[index + 1]
    switch byte {
    case UInt8(ascii: "n"): return (.byte(0x0a), index + 2)
    case UInt8(ascii: "r"): return (.byte(0x0d), index + 2)
    case UInt8(ascii: "t"): return (.byte(0x09), index + 2)
    case UInt8(ascii: "x"):
      guard let value = hex(in: text, (index + 2)..<(index + 4)) else { return nil }
      return (.byte(UInt8(truncatingIfNeeded: value)), index + 4)
    case UInt8(ascii: "u"):
      guard let value = hex(in: text, (index + 2)..<(index + 6)) else { return nil }
      // Two halves of a character.
      if (0xd800..<0xdc00).contains(value), index + 7 < text.count,
        text[index + 6] == UInt8(ascii: "\\"), text[index + 7] == UInt8(ascii: "u"),
        let low = hex(in: text, (index + 8)..<(index + 12)), (0xdc00..<0xe000).contains(low)
      {
        return (.scalar(0x10000 + (value - 0xd800) << 10 + (low - 0xdc00)), index + 12)
      }
      return Unicode.Scalar(value) == nil ? nil : (.scalar(value), index + 6)
    default:
      // `\/`, `\"`, and what a shell escapes.
      let isMark = (0x21...0x7e).contains(byte) && !ByteClass.alphanumeric.contains(byte)
      return isMark || byte == 0x20 ? (.byte(byte), index + 2) : nil
    }
  }

  private static func entity(
    in text: UnsafeBufferPointer<UInt8>, at index: Int
  ) -> (Character, Int)? {
    if index + 3 < text.count, text[index + 1] == UInt8(ascii: "#") {
      let isHex = text[index + 2] | 0x20 == UInt8(ascii: "x")
      let first = index + (isHex ? 3 : 2)
      let set: ByteClass = isHex ? .hex : .digit
      let end = set.end(in: text, from: first, most: 7)
      guard end > first, end < text.count, text[end] == UInt8(ascii: ";"),
        let value = UInt32(
          String(decoding: text[first..<end], as: UTF8.self), radix: isHex ? 16 : 10),
        Unicode.Scalar(value) != nil
      else { return nil }
      return (.scalar(value), end + 1)
    }
    for (name, byte) in entities where text.count - index >= name.count {
      if text[index..<(index + name.count)].elementsEqual(name) {
        return (.byte(byte), index + name.count)
      }
    }
    return nil
  }

  private static let entities: [([UInt8], UInt8)] = [
    ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"),
    ("&sol;", "/"), ("&nbsp;", " "),
  ].map { (name: String, character: Swift.Character) in
    (Array(name.utf8), character.asciiValue ?? 0)
  }

  private static func hex(in text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> UInt32? {
    guard range.upperBound <= text.count else { return nil }
    var value: UInt32 = 0
    for index in range {
      guard ByteClass.hex.contains(text[index]) else { return nil }
      let digit = text[index] < 0x40 ? text[index] & 15 : (text[index] & 15) + 9
      value = value << 4 | UInt32(digit)
    }
    return value
  }
}
