/// Sets of ASCII bytes that credentials are written with.
enum ByteClass: UInt8, CaseIterable {
  /// `0–9`
  case digit = 0x64  // d
  /// `0–9 a–f`
  case lowerHex = 0x68  // h
  /// `0–9 a–f A–F`
  case hex = 0x48  // H
  /// `0–9 a–z`
  case lower = 0x6c  // l
  /// `0–9 A–Z`
  case upper = 0x75  // u
  /// `0–9 a–z A–Z`
  case alphanumeric = 0x61  // a
  /// Those and `_`
  case word = 0x77  // w
  /// Those and `_`, `-`
  case name = 0x6e  // n
  /// Those and `.`
  case dotted = 0x73  // s
  /// Those and `=`
  case padded = 0x65  // e
  /// `0–9 a–z A–Z + /` and `=`
  case base64 = 0x62  // b
  /// `0–9 a–z A–Z . /`, with which hashes of passwords are written
  case crypt = 0x63  // c
  /// RFC 6750's token68, and `%` for what is escaped in addresses
  case token68 = 0x74  // t
  /// Whatever is printed but for quotes, brackets and what ends a word in a text
  case visible = 0x78  // x

  private static let masks: [UInt16] = (0...255).map { byte in
    var mask: UInt16 = 0
    for (index, member) in ByteClass.allCases.enumerated() where member.holds(UInt8(byte)) {
      mask |= 1 << UInt16(index)
    }
    return mask
  }

  private var bit: UInt16 {
    switch self {
    case .digit: 1 << 0
    case .lowerHex: 1 << 1
    case .hex: 1 << 2
    case .lower: 1 << 3
    case .upper: 1 << 4
    case .alphanumeric: 1 << 5
    case .word: 1 << 6
    case .name: 1 << 7
    case .dotted: 1 << 8
    case .padded: 1 << 9
    case .base64: 1 << 10
    case .crypt: 1 << 11
    case .token68: 1 << 12
    case .visible: 1 << 13
    }
  }

  /// Whether a byte is in the set.
  func contains(_ byte: UInt8) -> Bool { Self.masks[Int(byte)] & bit != 0 }

  /// The same, from the definition.
  private func holds(_ byte: UInt8) -> Bool {
    let isDigit = (0x30...0x39).contains(byte)
    let isLower = (0x61...0x7a).contains(byte)
    let isUpper = (0x41...0x5a).contains(byte)
    let isAlphanumeric = isDigit || isLower || isUpper
    func isOne(of text: StaticString) -> Bool {
      text.withUTF8Buffer { $0.contains(byte) }
    }
    switch self {
    case .digit: return isDigit
    case .lowerHex: return isDigit || (0x61...0x66).contains(byte)
    case .hex: return isDigit || (0x41...0x46).contains(byte & 0xdf)
    case .lower: return isDigit || isLower
    case .upper: return isDigit || isUpper
    case .alphanumeric: return isAlphanumeric
    case .word: return isAlphanumeric || isOne(of: "_")
    case .name: return isAlphanumeric || isOne(of: "_-")
    case .dotted: return isAlphanumeric || isOne(of: "_-.")
    case .padded: return isAlphanumeric || isOne(of: "_-.=")
    case .base64: return isAlphanumeric || isOne(of: "+/=")
    case .crypt: return isAlphanumeric || isOne(of: "./")
    case .token68: return isAlphanumeric || isOne(of: "_-.~+/=%")
    case .visible: return byte > 0x20 && byte != 0x7f && !isOne(of: "\"'`<>(){}[],;\\|")
    }
  }

  /// The place behind the bytes of the set from `start` on, at most so many.
  func end(in text: UnsafeBufferPointer<UInt8>, from start: Int, most: Int = .max) -> Int {
    var end = start
    let limit = most < text.count - start ? start + most : text.count
    while end < limit, contains(text[end]) { end += 1 }
    return end
  }
}
