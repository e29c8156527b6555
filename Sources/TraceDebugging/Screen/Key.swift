/// What somebody pressed.
public enum Key: Sendable, Hashable {
  case character(Unicode.Scalar)
  /// With the control key: the letter, in lower case.
  case control(Unicode.Scalar)
  case up, down, left, right, pageUp, pageDown, home, end
  case enter, escape, backspace, tab
}

/// Keys from the bytes that a terminal sends.
///
/// Knows the sequences of xterm and its kin (ECMA-48 and DEC private ones); others are passed over.
public struct KeyReader: Sendable {
  private var rest: [UInt8] = []

  /// Nothing was read yet.
  public init() {}

  /// The keys that some bytes hold. A sequence or a character that is cut short waits for more; an
  /// escape at the end of what was read at once is the key of that name.
  public mutating func take(_ bytes: some Sequence<UInt8>) -> [Key] {
    rest += bytes
    var keys: [Key] = []
    var position = 0
    while position < rest.count {
      guard let (key, length) = Self.key(in: rest[position...]) else { break }
      if let key { keys.append(key) }
      position += length
    }
    rest.removeFirst(position)
    // Nobody sends so long a sequence.
    if rest.count > 64 { rest = [] }
    return keys
  }

  /// One key and its bytes; no key for what has no meaning, `nil` where more bytes are needed.
  private static func key(in bytes: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
    guard let first = bytes.first else { return nil }
    switch first {
    case 0x1b: return escape(bytes)
    case 0x0d, 0x0a: return (.enter, 1)
    case 0x09: return (.tab, 1)
    case 0x7f, 0x08: return (.backspace, 1)
    case 0: return (nil, 1)
    case 1..<0x1b: return (.control(Unicode.Scalar(first + 0x60)), 1)
    case 0x1c..<0x20: return (nil, 1)
    case 0x20..<0x7f: return (.character(Unicode.Scalar(first)), 1)
    default: return character(bytes)
    }
  }

  private static func character(_ bytes: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
    let first = bytes[bytes.startIndex]
    let length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1
    guard length > 1, first <= 0xf4 else { return (nil, 1) }
    let rest = bytes.dropFirst().prefix(length - 1)
    // A terminal that sends another encoding: the key behind it is one of its own, and does not wait.
    guard rest.allSatisfy({ $0 & 0b1100_0000 == 0b1000_0000 }) else { return (nil, 1) }
    guard rest.count == length - 1 else { return nil }
    var decoder = UTF8()
    var iterator = bytes.prefix(length).makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&iterator) else { return (nil, 1) }
    return (.character(scalar), length)
  }

  private static func escape(_ bytes: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
    let text = Array(bytes.prefix(16))
    guard text.count > 1 else { return (.escape, 1) }
    guard text[1] == UInt8(ascii: "[") || text[1] == UInt8(ascii: "O") else {
      return (.escape, 1)
    }
    guard let end = text.dropFirst(2).firstIndex(where: { (0x40...0x7e).contains($0) }) else {
      return text.count < 16 ? nil : (nil, text.count)
    }
    let key: Key? =
      switch text[end] {
      case UInt8(ascii: "A"): .up
      case UInt8(ascii: "B"): .down
      case UInt8(ascii: "C"): .right
      case UInt8(ascii: "D"): .left
      case UInt8(ascii: "H"): .home
      case UInt8(ascii: "F"): .end
      case UInt8(ascii: "~"):
        switch text[2..<end].prefix(while: { $0 != UInt8(ascii: ";") }).first {
        case UInt8(ascii: "1"), UInt8(ascii: "7"): .home
        case UInt8(ascii: "4"), UInt8(ascii: "8"): .end
        case UInt8(ascii: "5"): .pageUp
        case UInt8(ascii: "6"): .pageDown
        default: nil
        }
      default: nil
      }
    return (key, end + 1)
  }
}
