/// Paths as text. The system's are bytes, and need not be UTF-8; ours are strings, which are.
///
/// A byte that belongs to no UTF-8 stands in the text as a character of its own, from U+10FE00 on, and the calls of
/// this module turn it into that byte again: each name of the system has one text, and each such text one name. A name
/// that holds one of these characters itself, which nobody uses, has its bytes told one by one.
enum PathText {
  /// The character that stands for the byte 0.
  private static let first: UInt32 = 0x10FE00
  /// The first byte of these characters in UTF-8.
  private static let lead: UInt8 = 0xF4

  /// The text of bytes.
  static func text(of bytes: some Collection<UInt8>) -> String {
    if !bytes.contains(lead), let text = String(validating: bytes, as: UTF8.self) { return text }
    var text = String.UnicodeScalarView()
    var rest = Array(bytes)[...]
    while let byte = rest.first {
      let length = lengthOfScalar(byte)
      let piece = rest.prefix(length)
      if piece.count == length, let scalar = String(validating: piece, as: UTF8.self),
        let only = scalar.unicodeScalars.first, self.byte(for: only) == nil
      {
        text.append(only)
        rest = rest.dropFirst(length)
      } else {
        // Valid for each byte: the range lies within the last plane.
        if let scalar = Unicode.Scalar(first + UInt32(byte)) { text.append(scalar) }
        rest = rest.dropFirst()
      }
    }
    return String(text)
  }

  /// The bytes of a text, without a zero at the end.
  static func bytes(of text: String) -> [UInt8] {
    guard holdsBytes(text) else { return Array(text.utf8) }
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
      if let byte = byte(for: scalar) {
        bytes.append(byte)
      } else {
        bytes.append(contentsOf: String(scalar).utf8)
      }
    }
    return bytes
  }

  /// Whether a character of a text may stand for a byte: of others nothing has to be made anew.
  static func holdsBytes(_ text: String) -> Bool { text.utf8.contains(lead) }

  /// The byte that a character stands for.
  static func byte(for scalar: Unicode.Scalar) -> UInt8? {
    let (number, overflow) = scalar.value.subtractingReportingOverflow(first)
    return overflow || number > 0xFF ? nil : UInt8(number)
  }

  private static func lengthOfScalar(_ byte: UInt8) -> Int {
    switch byte {
    case 0xC2...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF4: 4
    default: 1
    }
  }
}

extension String {
  /// The text of a path that the system gave. Bytes that are no UTF-8 stay: the calls of this module find the
  /// file of the name again.
  public init(pathBytes bytes: some Collection<UInt8>) { self = PathText.text(of: bytes) }

  /// The text of a path that ends with a zero.
  public init(path: UnsafePointer<CChar>) {
    var count = 0
    while path[count] != 0 { count += 1 }
    self = path.withMemoryRebound(to: UInt8.self, capacity: count) {
      PathText.text(of: UnsafeBufferPointer(start: $0, count: count))
    }
  }

  /// Hands over the path as the system takes it: its bytes and a zero.
  public func withPath<Result>(
    _ body: (UnsafePointer<CChar>) throws -> Result
  ) rethrows -> Result {
    guard PathText.holdsBytes(self) else { return try withCString(body) }
    return try (PathText.bytes(of: self) + [0]).withUnsafeBufferPointer { bytes in
      try bytes.withMemoryRebound(to: CChar.self) { chars in
        // Never empty: it has a zero.
        guard let start = chars.baseAddress else { return try "".withCString(body) }
        return try body(start)
      }
    }
  }
}
