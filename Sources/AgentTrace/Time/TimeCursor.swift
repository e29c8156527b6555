/// A cursor over a time in ASCII.
package struct TimeCursor {
  private let bytes: [UInt8]
  private var position = 0

  /// At the first byte.
  package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  /// Whether nothing is left.
  package var isAtEnd: Bool { position == bytes.count }

  /// Passes over a character; whether it was there.
  package mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard position < bytes.count, UInt32(bytes[position]) == character.value else { return false }
    position += 1
    return true
  }

  /// A number of so many digits; `nil`, and nothing is passed over, where they are not there.
  package mutating func number(_ count: Int) -> Int? {
    guard position + count <= bytes.count else { return nil }
    var value = 0
    for byte in bytes[position..<position + count] {
      guard (0x30...0x39).contains(byte) else { return nil }
      value = value * 10 + Int(byte - 0x30)
    }
    position += count
    return value
  }

  /// A fraction of a second, at least one digit; those beyond the sixth are passed over.
  package mutating func microseconds() -> Int? {
    var (value, count) = (0, 0)
    while let digit = number(1) {
      if count < 6 { value = value * 10 + digit }
      count += 1
    }
    guard count > 0 else { return nil }
    for _ in 0..<max(0, 6 - count) { value *= 10 }
    return value
  }
}
