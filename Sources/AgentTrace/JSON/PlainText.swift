extension UnsafeBufferPointer<UInt8> {
  /// The first index from `start` on at which a byte stands that JSON text escapes: `"`, `\\` or one
  /// below 0x20; the count where there is none.
  ///
  /// Looks at words of eight bytes, four at a time: subtracting a value from each byte of a word sets the high bit
  /// of the first byte that was smaller (H. S. Warren, Hacker's Delight, 2nd ed., §6-1).
  @_spi(Scanning) public func plainEnd(from start: Int) -> Int {
    let raw = UnsafeRawBufferPointer(self)
    var index = start
    while index + 32 <= count {
      let first = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let second = raw.loadUnaligned(fromByteOffset: index + 8, as: UInt64.self)
      let third = raw.loadUnaligned(fromByteOffset: index + 16, as: UInt64.self)
      let fourth = raw.loadUnaligned(fromByteOffset: index + 24, as: UInt64.self)
      let found =
        Self.escapes(first) | Self.escapes(second) | Self.escapes(third) | Self.escapes(fourth)
      guard found == 0 else { break }
      index += 32
    }
    while index + 8 <= count {
      let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      guard Self.escapes(word) != 0 else {
        index += 8
        continue
      }
      let end = index + 8
      while index < end {
        if Self.isEscaped(self[index]) { return index }
        index += 1
      }
    }
    while index < count, !Self.isEscaped(self[index]) { index += 1 }
    return index
  }

  /// Whether no byte is 0x80 or above.
  @_spi(Scanning) public var isASCII: Bool {
    let raw = UnsafeRawBufferPointer(self)
    var index = 0
    var seen: UInt64 = 0
    while index + 8 <= count {
      seen |= raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      index += 8
    }
    while index < count {
      seen |= UInt64(self[index])
      index += 1
    }
    return seen & 0x8080_8080_8080_8080 == 0
  }

  private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }

  /// Not 0 where a byte of a word may have to be escaped.
  @inline(__always) private static func escapes(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quote = word ^ (ones &* 0x22)
    let backslash = word ^ (ones &* 0x5c)
    let found =
      (word &- ones &* 0x20) & ~word | (quote &- ones) & ~quote | (backslash &- ones) & ~backslash
    return found & (ones &* 0x80)
  }
}
