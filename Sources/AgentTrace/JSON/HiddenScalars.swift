extension Unicode.Scalar {
  /// Whether it changes the look of other text or has none of its own: controls (C0, DEL, C1), line and
  /// paragraph separators, bidirectional and zero-width marks, variation tags.
  public var isHidden: Bool {
    // The last range: bytes of paths that are no UTF-8, see FilePaths.
    switch value {
    case 0..<0x20, 0x7f..<0xa0, 0xad, 0x061c, 0x180e, 0x200b...0x200f, 0x2028...0x202e,
      0x2060...0x206f, 0xfeff, 0xfff9...0xfffb, 0xe0000...0xe007f, 0x10fe00...0x10feff:
      true
    default: false
    }
  }
}

extension String {
  /// Whether every byte is one of ASCII that shows: 0x20 to 0x7e. Such a text is one column a byte, and nothing of it is
  /// hidden.
  ///
  /// - Complexity: 8 bytes at once; texts of traces are long, and most are of this kind.
  package var isPlainASCII: Bool {
    var text = self
    return text.withUTF8 { bytes in
      let raw = UnsafeRawBufferPointer(bytes)
      var index = 0
      while index &+ 8 <= raw.count {
        let eight = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        // The high bit of some byte is set where one is 0x7f or above; below 0x20.
        let high = eight | (eight &+ 0x0101_0101_0101_0101)
        let low = (eight &- 0x2020_2020_2020_2020) & ~eight
        guard (high | low) & 0x8080_8080_8080_8080 == 0 else { return false }
        index &+= 8
      }
      return raw[index...].allSatisfy { $0 &- 0x20 < 0x5f }
    }
  }

  /// JSON in which every hidden character stands as a `\u` escape of its UTF-16 units: the same value,
  /// harmless to a terminal.
  ///
  /// Outside of strings JSON holds no such character but white space; of that, line breaks stay as they
  /// are.
  ///
  /// - Complexity: O(*n*); nothing is copied where there is nothing to escape.
  public var escapingHiddenScalars: String {
    func isEscaped(_ scalar: Unicode.Scalar) -> Bool { scalar != "\n" && scalar.isHidden }
    guard !isPlainASCII, unicodeScalars.contains(where: isEscaped) else { return self }
    var escaped = ""
    for scalar in unicodeScalars {
      guard isEscaped(scalar) else {
        escaped.unicodeScalars.append(scalar)
        continue
      }
      for unit in String(scalar).utf16 {
        let digits = String(unit, radix: 16)
        escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
    return escaped
  }
}
