@_spi(Scanning) import AgentTrace

/// A number by its exact decimal value: `1`, `1.0` and `10e-1` are one, 9007199254740993 is not
/// 9007199254740992.
///
/// The value is 0.DIGITS × 10^exponent. Nothing is ever expanded, so `1e999999999` costs what its
/// token costs. An exponent beyond 10^17 counts as 10^17.
struct Decimal: Hashable, Sendable {
  let isNegative: Bool
  /// Significant digits 0…9 without zeros at either end; none for zero.
  let digits: [UInt8]
  let exponent: Int

  init(_ number: JSONNumber) {
    let value = number.exactValue
    self.init(isNegative: value.isNegative, digits: value.digits, exponent: value.exponent)
  }

  init(_ value: Int) { self.init(JSONNumber(value)) }

  /// Whether the value has no fraction, whatever its token.
  var isInteger: Bool { exponent >= digits.count }

  var isZero: Bool { digits.isEmpty }

  /// Negative, zero or positive as this number is less than, equal to or greater than the other.
  func compare(to other: Decimal) -> Int {
    if isNegative != other.isNegative { return isNegative ? -1 : 1 }
    let magnitude = compareMagnitude(to: other)
    return isNegative ? -magnitude : magnitude
  }

  private func compareMagnitude(to other: Decimal) -> Int {
    if isZero || other.isZero { return (isZero ? 0 : 1) - (other.isZero ? 0 : 1) }
    if exponent != other.exponent { return exponent < other.exponent ? -1 : 1 }
    if digits == other.digits { return 0 }
    return digits.lexicographicallyPrecedes(other.digits) ? -1 : 1
  }

  /// This number without its sign, times a power of ten.
  func magnitude(timesTenTo power: Int) -> Decimal {
    Decimal(isNegative: false, digits: digits, exponent: isZero ? 0 : exponent + power)
  }

  private init(isNegative: Bool, digits: [UInt8], exponent: Int) {
    self.isNegative = isNegative
    self.digits = digits
    self.exponent = exponent
  }

  /// Whether this number is at most so far from another one, exactly.
  ///
  /// A part that is smaller than the largest by 10^``spanLimit`` counts as nothing, unless the two are
  /// equal: so no more digits than those are ever laid out.
  func isWithin(_ tolerance: Decimal, of other: Decimal) -> Bool {
    if self == other { return true }
    if tolerance.isZero { return false }
    let top = [self, other, tolerance].filter { !$0.isZero }.map(\.exponent).max() ?? 0
    let parts = [self, other, tolerance].map { top - $0.exponent < Self.spanLimit ? $0 : nil }
    let lowest = parts.compactMap { $0 }.filter { !$0.isZero }.map { $0.exponent - $0.digits.count }
    let width = top - (lowest.min() ?? top) + 1
    // One digit more in front, for what a sum carries over.
    func laidOut(_ part: Decimal?) -> [UInt8] {
      var room = [UInt8](repeating: 0, count: width + 1)
      guard let part, !part.isZero else { return room }
      for (place, digit) in part.digits.enumerated() {
        room[1 + top - part.exponent + place] = digit
      }
      return room
    }
    let distance = Self.distance(
      laidOut(parts[0]), laidOut(parts[1]), isSum: isNegative != other.isNegative)
    return !laidOut(parts[2]).lexicographicallyPrecedes(distance)
  }

  private static let spanLimit = 1_200

  /// The sum of two laid out numbers, or the smaller taken from the larger.
  private static func distance(_ left: [UInt8], _ right: [UInt8], isSum: Bool) -> [UInt8] {
    let isSwapped = left.lexicographicallyPrecedes(right)
    var result = isSwapped ? right : left
    let other = isSwapped ? left : right
    var carry = 0
    for place in result.indices.reversed() {
      var digit = Int(result[place]) + (isSum ? 1 : -1) * (Int(other[place]) + carry)
      carry = digit < 0 || digit > 9 ? 1 : 0
      digit += isSum ? -10 * carry : 10 * carry
      result[place] = UInt8(digit)
    }
    return result
  }

  /// Whether this is a whole multiple of a positive number of at most 18 digits; `nil` where the
  /// divisor has more.
  func isMultiple(of divisor: Decimal) -> Bool? {
    guard divisor.digits.count <= 18 else { return nil }
    if isZero { return true }
    let unit = divisor.digits.reduce(UInt64(0)) { $0 * 10 + UInt64($1) }
    guard unit > 0 else { return nil }
    // Both as whole numbers times a power of ten; the digits end in no zero, so a negative
    // difference of powers leaves a fraction.
    let shift = (exponent - digits.count) - (divisor.exponent - divisor.digits.count)
    guard shift >= 0 else { return false }
    var rest = digits.reduce(UInt64(0)) { (rest, digit) in
      let (product, sum) = (rest.multipliedFullWidth(by: 10), UInt64(digit))
      let (low, carries) = product.low.addingReportingOverflow(sum)
      return unit.dividingFullWidth((product.high + (carries ? 1 : 0), low)).remainder
    }
    rest = Self.product(rest, Self.power(of: 10, to: shift, modulo: unit), modulo: unit)
    return rest == 0
  }

  private static func product(_ a: UInt64, _ b: UInt64, modulo unit: UInt64) -> UInt64 {
    unit.dividingFullWidth((a % unit).multipliedFullWidth(by: b % unit)).remainder
  }

  private static func power(of base: UInt64, to exponent: Int, modulo unit: UInt64) -> UInt64 {
    var (result, square, left) = (1 % unit, base % unit, exponent)
    while left > 0 {
      if left & 1 == 1 { result = product(result, square, modulo: unit) }
      square = product(square, square, modulo: unit)
      left >>= 1
    }
    return result
  }
}
