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
  /// JSON in which every hidden character stands as a `\u` escape of its UTF-16 units: the same value,
  /// harmless to a terminal.
  ///
  /// Outside of strings JSON holds no such character but white space; of that, line breaks stay as they
  /// are.
  ///
  /// - Complexity: O(*n*); nothing is copied where there is nothing to escape.
  public var escapingHiddenScalars: String {
    func isEscaped(_ scalar: Unicode.Scalar) -> Bool { scalar != "\n" && scalar.isHidden }
    guard unicodeScalars.contains(where: isEscaped) else { return self }
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
