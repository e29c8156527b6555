extension String {
  /// Whether both strings are the same bytes; `==` would call equivalent spellings equal.
  public func hasSameUTF8(as other: String) -> Bool {
    utf8.count == other.utf8.count && (isIdentical(to: other) || compareUTF8(with: other) == 0)
  }

  /// Whether both are one and the same in memory, so that nothing need be compared: what a context takes
  /// over from the one before mostly is.
  private func isIdentical(to other: String) -> Bool {
    withUnsafeBytes(of: self) { left in
      withUnsafeBytes(of: other) { right in
        guard left.count == 16, right.count == 16 else { return false }
        return left.loadUnaligned(as: UInt64.self) == right.loadUnaligned(as: UInt64.self)
          && left.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
            == right.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
      }
    }
  }

  /// Whether this string stands before the other by UTF-8 bytes: the order of canonical JSON, and
  /// the one order of this project.
  public func precedesByUTF8(_ other: String) -> Bool { compareUTF8(with: other) < 0 }

  /// Negative, zero or positive as this string stands before, at or behind the other by UTF-8 bytes.
  func compareUTF8(with other: String) -> Int {
    let fast = utf8.withContiguousStorageIfAvailable { left in
      other.utf8.withContiguousStorageIfAvailable { right in Self.compare(left, right) }
    }
    if let fast, let result = fast { return result }
    var (left, right) = (self, other)
    return left.withUTF8 { left in right.withUTF8 { right in Self.compare(left, right) } }
  }

  /// Compares eight bytes at a time up to the first difference.
  private static func compare(
    _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
  ) -> Int {
    let (leftRaw, rightRaw) = (UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
    let common = Swift.min(left.count, right.count)
    var index = 0
    while index + 8 <= common {
      let a = leftRaw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let b = rightRaw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      if a != b { return a.bigEndian < b.bigEndian ? -1 : 1 }
      index += 8
    }
    while index < common {
      if left[index] != right[index] { return left[index] < right[index] ? -1 : 1 }
      index += 1
    }
    return left.count - right.count
  }

  /// The text of some bytes; `nil` where they are no UTF-8.
  ///
  /// The same as `String(validating:as:)`, several times faster: what had to be repaired is no longer
  /// the same bytes.
  init?(validUTF8 bytes: UnsafeBufferPointer<UInt8>) {
    self = String(decoding: bytes, as: UTF8.self)
    if bytes.isASCII { return }
    let isSame = withUTF8 { $0.count == bytes.count && Self.compare($0, bytes) == 0 }
    guard isSame else { return nil }
  }

  /// The longest beginning that has at most `limit` bytes and cuts no scalar in two.
  public func prefix(utf8Bytes limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var end = utf8.index(utf8.startIndex, offsetBy: max(0, limit))
    while end > utf8.startIndex, utf8[end] & 0b1100_0000 == 0b1000_0000 {
      end = utf8.index(before: end)
    }
    return String(self[..<end])
  }
}

extension UInt8 {
  /// Whether it is an ASCII letter or digit.
  package var isLetterOrDigit: Bool {
    (0x30...0x39).contains(self) || (0x41...0x5a).contains(self) || (0x61...0x7a).contains(self)
  }
}
