@_spi(Scanning) import AgentTrace

extension UnsafeBufferPointer<UInt8> {
  /// Whether this JSON holds more values than so many, elements of arrays and members of objects at any depth
  /// together. Of text that is none: whether a reader would meet more before it stops.
  ///
  /// Who writes a line and who reads it ask the same bytes, so that whatever is written is read; and a line that was
  /// made to fill the memory is refused before a value is made of it. Readers take more than writers, since earlier
  /// ones had no such limit.
  ///
  /// - Complexity: O(*n*), up to the first value too many; O(1) for text too short for so many, as nearly all
  ///   lines are.
  func holdsMoreValues(than limit: Int) -> Bool {
    // Each takes two bytes at least: a digit with a comma, or a container's own two.
    count / 2 > limit && valueCount(upTo: limit + 1) > limit
  }

  /// How many values this JSON holds, counted in the same way, or `most` where there are that many or more.
  ///
  /// - Complexity: O(*n*).
  func valueCount(upTo most: Int) -> Int {
    var (values, index) = (0, 0)
    var last: UInt8 = 0
    while index < count {
      let byte = self[index]
      index += 1
      if byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { continue }
      let isFirst = last.opensJSON && byte != UInt8(ascii: "]") && byte != UInt8(ascii: "}")
      if isFirst || byte == UInt8(ascii: ",") {
        values += 1
        guard values < most else { return values }
      }
      if byte == UInt8(ascii: "\"") { index = stringEnd(from: index) }
      last = byte
    }
    return values
  }

  /// Behind the quote that ends the string whose text begins here.
  private func stringEnd(from start: Int) -> Int {
    var index = plainEnd(from: start)
    while index < count, self[index] != UInt8(ascii: "\"") {
      index = plainEnd(from: Swift.min(index + (self[index] == UInt8(ascii: "\\") ? 2 : 1), count))
    }
    return Swift.min(index + 1, count)
  }
}

extension UInt8 {
  fileprivate var opensJSON: Bool { self == UInt8(ascii: "[") || self == UInt8(ascii: "{") }
}
