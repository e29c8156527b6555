/// What stands for a text in memory where the text itself is not kept.
///
/// The 61 bits of one polynomial hash and 35 of another at secret random points, so that nobody who does
/// not know the points can make two texts with one key. Two texts of up to n bytes share one with a
/// probability of about 2⁻⁹⁵ × (n/7 + 2)²; any two of a million texts of 4 KiB, of about 2⁻³⁷.
///
/// Why: Docs/decisions/0007-keyed-hashes-for-what-was-said.md
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
    // One point after the other: side by side they are slower, as compiled by Swift 6.3.
    let a = first.value(of: bytes, after: number)
    let b = second.value(of: bytes, after: number)
    return TextKey(
      high: UInt32(truncatingIfNeeded: a >> 29),
      middle: UInt32(truncatingIfNeeded: a << 3 | b >> 32 & 7), low: UInt32(truncatingIfNeeded: b))
  }

  // MARK: The field

  static let prime: UInt64 = (1 << 61) - 1
  static let coefficientBytes = 7

  /// A number below 2¹²⁵ in the field, up to a multiple of the prime: below 2⁶¹ + 8.
  fileprivate static func reduced(_ value: UInt128) -> UInt64 {
    let low = UInt64(truncatingIfNeeded: value) & prime
    let high = UInt64(truncatingIfNeeded: value >> 61)
    let sum = low &+ (high & prime) &+ (high >> 61)
    return (sum & prime) &+ (sum >> 61)
  }

  /// The one number below the prime.
  fileprivate static func whole(_ value: UInt64) -> UInt64 {
    let rest = (value & prime) + (value >> 61)
    return rest >= prime ? rest - prime : rest
  }

  /// A point at which polynomials are evaluated, and its powers.
  private struct Point {
    /// The powers from the first to the eighth.
    let powers: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

    init(_ value: UInt64) {
      func next(_ power: UInt64) -> UInt64 { whole(reduced(UInt128(power) * UInt128(value))) }
      let (two, three) = (next(value), next(next(value)))
      let (four, five) = (next(three), next(next(three)))
      let (six, seven) = (next(five), next(next(five)))
      powers = (value, two, three, four, five, six, seven, next(seven))
    }

    /// The polynomial's value, below the prime.
    func value(of bytes: UnsafeRawBufferPointer, after number: UInt64) -> UInt64 {
      var value = evaluate(0, number)
      var position = 0
      // Eight coefficients at a time; the last load reads a byte beyond them.
      while bytes.count - position > 8 * coefficientBytes {
        value = evaluate(value, eightOf: bytes, at: position)
        position += 8 * coefficientBytes
      }
      while bytes.count - position > coefficientBytes {
        value = evaluate(value, coefficient(of: bytes, at: position))
        position += coefficientBytes
      }
      var last: UInt64 = 0
      for offset in 0..<(bytes.count - position) {
        last |= UInt64(bytes[position + offset]) << UInt64(8 * offset)
      }
      if position < bytes.count { value = evaluate(value, last) }
      return whole(evaluate(value, UInt64(bytes.count) & prime))
    }

    @inline(__always) private func coefficient(
      of bytes: UnsafeRawBufferPointer, at position: Int
    ) -> UInt64 {
      let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
      return UInt64(littleEndian: word) & (1 << 56 - 1)
    }

    /// Horner's rule for one coefficient more.
    private func evaluate(_ value: UInt64, _ coefficient: UInt64) -> UInt64 {
      reduced(product(value &+ coefficient, powers.0))
    }

    /// The same for eight at once.
    @inline(__always) private func evaluate(
      _ value: UInt64, eightOf bytes: UnsafeRawBufferPointer, at position: Int
    ) -> UInt64 {
      func coefficient(_ index: Int) -> UInt64 {
        self.coefficient(of: bytes, at: position + index * coefficientBytes)
      }
      var sum = product(value &+ coefficient(0), powers.7)
      sum &+= product(coefficient(1), powers.6)
      sum &+= product(coefficient(2), powers.5)
      sum &+= product(coefficient(3), powers.4)
      sum &+= product(coefficient(4), powers.3)
      sum &+= product(coefficient(5), powers.2)
      sum &+= product(coefficient(6), powers.1)
      sum &+= product(coefficient(7), powers.0)
      return reduced(sum)
    }

    @inline(__always) private func product(_ left: UInt64, _ right: UInt64) -> UInt128 {
      let (high, low) = left.multipliedFullWidth(by: right)
      return UInt128(high) << 64 | UInt128(low)
    }
  }
}
