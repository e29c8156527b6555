/// What stands for a text in memory where the text itself is not kept.
///
/// The 61 bits of one polynomial hash and 35 of another at secret random points, so that nobody who does
/// not know the points can make two texts with one key. Two texts of up to n bytes share one with a
/// probability of about 2⁻⁹⁵ × (n/7 + 2)²; any two of a million texts of 4 KiB, of about 2⁻³⁷.
struct TextKey: Hashable, BitwiseCopyable {
  var high: UInt32
  var middle: UInt32
  var low: UInt32
}

/// Makes the keys of texts; keys of two makers have nothing in common.
///
/// A text is a polynomial over the field of 2⁶¹ − 1 elements, with a coefficient for each 7 bytes and
/// one for its length, evaluated at two points (Carter and Wegman, "Universal classes of hash
/// functions", 1979; the prime as in D. Lemire and O. Kaser, "Faster 64-bit universal hashing", 2016).
/// Several times faster than a cryptographic digest, which the keys need not be: they leave no file.
struct TextKeyMaker {
  private let first: Point
  private let second: Point

  init() {
    var generator = SystemRandomNumberGenerator()
    self.init(using: &generator)
  }

  init(using generator: inout some RandomNumberGenerator) {
    first = Point(UInt64.random(in: (1 << 32)..<Self.prime, using: &generator))
    second = Point(UInt64.random(in: (1 << 32)..<Self.prime, using: &generator))
  }

  /// - Parameter number: below 2⁵⁶; texts behind different numbers have different keys.
  func key(of bytes: UnsafeRawBufferPointer, after number: UInt64 = 0) -> TextKey {
    var a = first.evaluate(0, number)
    var b = second.evaluate(0, number)
    var position = 0
    // Four coefficients at a time; the last load reads a byte beyond them.
    while bytes.count - position > 4 * Self.coefficientBytes {
      let c0 = Self.coefficient(of: bytes, at: position)
      let c1 = Self.coefficient(of: bytes, at: position + 7)
      let c2 = Self.coefficient(of: bytes, at: position + 14)
      let c3 = Self.coefficient(of: bytes, at: position + 21)
      a = first.evaluate(a, c0, c1, c2, c3)
      b = second.evaluate(b, c0, c1, c2, c3)
      position += 4 * Self.coefficientBytes
    }
    while position < bytes.count {
      var coefficient: UInt64 = 0
      for offset in 0..<min(Self.coefficientBytes, bytes.count - position) {
        coefficient |= UInt64(bytes[position + offset]) << UInt64(8 * offset)
      }
      a = first.evaluate(a, coefficient)
      b = second.evaluate(b, coefficient)
      position += Self.coefficientBytes
    }
    let length = UInt64(bytes.count) & Self.prime
    a = Self.whole(first.evaluate(a, length))
    b = Self.whole(second.evaluate(b, length))
    return TextKey(
      high: UInt32(truncatingIfNeeded: a >> 29),
      middle: UInt32(truncatingIfNeeded: a << 3 | b >> 32 & 7), low: UInt32(truncatingIfNeeded: b))
  }

  // MARK: The field

  static let prime: UInt64 = (1 << 61) - 1
  static let coefficientBytes = 7

  private static func coefficient(of bytes: UnsafeRawBufferPointer, at position: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      & (1 << 56 - 1)
  }

  /// A number below 2¹²⁵ in the field, up to a multiple of the prime: below 2⁶¹ + 8.
  private static func reduced(_ value: UInt128) -> UInt64 {
    let low = UInt64(truncatingIfNeeded: value) & prime
    let high = UInt64(truncatingIfNeeded: value >> 61)
    let sum = low &+ (high & prime) &+ (high >> 61)
    return (sum & prime) &+ (sum >> 61)
  }

  /// The one number below the prime.
  private static func whole(_ value: UInt64) -> UInt64 {
    let rest = (value & prime) + (value >> 61)
    return rest >= prime ? rest - prime : rest
  }

  /// A point at which polynomials are evaluated, and its powers.
  private struct Point {
    let one: UInt64
    let two: UInt64
    let three: UInt64
    let four: UInt64

    init(_ value: UInt64) {
      one = value
      two = whole(reduced(UInt128(one) * UInt128(value)))
      three = whole(reduced(UInt128(two) * UInt128(value)))
      four = whole(reduced(UInt128(three) * UInt128(value)))
    }

    /// Horner's rule for one coefficient more.
    func evaluate(_ value: UInt64, _ coefficient: UInt64) -> UInt64 {
      reduced(product(value &+ coefficient, one))
    }

    /// The same for four at once.
    func evaluate(
      _ value: UInt64, _ c0: UInt64, _ c1: UInt64, _ c2: UInt64, _ c3: UInt64
    ) -> UInt64 {
      reduced(
        product(value &+ c0, four) &+ product(c1, three) &+ product(c2, two) &+ product(c3, one))
    }

    private func product(_ left: UInt64, _ right: UInt64) -> UInt128 {
      let (high, low) = left.multipliedFullWidth(by: right)
      return UInt128(high) << 64 | UInt128(low)
    }
  }
}
