extension String {
  /// Whether both strings are the same bytes; `==` would call equivalent spellings equal.
  public func hasSameUTF8(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Whether this string stands before the other by UTF-8 bytes: the order of canonical JSON, and
  /// the one order of this project.
  public func precedesByUTF8(_ other: String) -> Bool { compareUTF8(with: other) < 0 }

  /// Negative, zero or positive as this string stands before, at or behind the other by UTF-8 bytes.
  func compareUTF8(with other: String) -> Int {
    var (left, right) = (utf8.makeIterator(), other.utf8.makeIterator())
    while true {
      switch (left.next(), right.next()) {
      case (nil, nil): return 0
      case (nil, _): return -1
      case (_, nil): return 1
      case (let a?, let b?): if a != b { return a < b ? -1 : 1 }
      }
    }
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
