/// A JSON number, kept as the token it was read as.
///
/// Two numbers are equal when their tokens are. One that we make is an integer in decimal, or a
/// double as ECMAScript prints it (RFC 8785 §3.2.2.3).
public struct JSONNumber: Sendable, Hashable {
  private enum Storage: Hashable, Sendable {
    case integer(Int)
    case token(String)
  }

  private let storage: Storage

  /// A whole number.
  public init(_ value: Int) { storage = .integer(value) }

  /// A double; `nil` where it is not finite, which JSON cannot say.
  public init?(_ value: Double) {
    guard let text = Self.ecmaScript(value) else { return nil }
    self.init(validToken: text)
  }

  /// A number from its text; `nil` unless the text is exactly a number by RFC 8259.
  public init?(token: String) {
    guard Self.isNumber(Array(token.utf8)) else { return nil }
    self.init(validToken: token)
  }

  /// Whether it is kept as a machine integer, which has one form alone.
  var isPlainInteger: Bool { if case .integer = storage { true } else { false } }

  /// Takes a text that is known to be a number.
  init(validToken token: String) {
    if let value = Int(token), String(value) == token {
      storage = .integer(value)
    } else {
      storage = .token(token)
    }
  }

  /// The number exactly as it was read, or as it is written.
  public var token: String {
    switch storage {
    case .integer(let value): String(value)
    case .token(let token): token
    }
  }

  /// Appends ``token``.
  @_spi(Scanning) public func append(to bytes: inout [UInt8]) {
    guard case .integer(let value) = storage, value >= 0 else {
      bytes.append(contentsOf: token.utf8)
      return
    }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var (rest, start) = (value, 20)
      repeat {
        start -= 1
        digits[start] = UInt8(0x30 + rest % 10)
        rest /= 10
      } while rest > 0
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
    }
  }

  /// The nearest double; infinite where the number is beyond its range.
  public var doubleValue: Double {
    switch storage {
    case .integer(let value): Double(value)
    case .token(let token): Double(token) ?? .nan
    }
  }

  /// The number as an integer where it is one that fits, whatever its token (`2`, `2.0`, `2e0`), and
  /// exactly: a double would take `1.0000000000000000001` for one.
  public var intValue: Int? {
    switch storage {
    case .integer(let value): value
    case .token(let token): Int(token) ?? Self.wholeNumber(token)
    }
  }
}

extension JSONNumber {
  /// The integer that a token with a fraction or an exponent stands for; `nil` where it is none that
  /// fits.
  private static func wholeNumber(_ token: String) -> Int? {
    let parts = token.utf8.split { $0 | 0x20 == UInt8(ascii: "e") }
    guard let mantissa = parts.first else { return nil }
    // The value is DIGITS × 10^power.
    var digits = mantissa.filter { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "-") }
    let point = mantissa.firstIndex(of: UInt8(ascii: "."))
    var power = point.map { 1 - mantissa.distance(from: $0, to: mantissa.endIndex) } ?? 0
    while digits.last == UInt8(ascii: "0") {
      digits.removeLast()
      power += 1
    }
    guard !digits.isEmpty else { return 0 }
    if parts.count > 1 {
      // An exponent beyond an integer makes the number far too large, or no integer.
      guard let exponent = Int(String(Substring(parts[1]))) else { return nil }
      let (sum, isBeyond) = power.addingReportingOverflow(exponent)
      guard !isBeyond else { return nil }
      power = sum
    }
    guard (0...18).contains(power) else { return nil }
    let sign = token.utf8.first == UInt8(ascii: "-") ? "-" : ""
    return Int(
      sign + String(decoding: digits, as: UTF8.self) + String(repeating: "0", count: power))
  }
}

extension JSONNumber {
  /// Whether the bytes are exactly one number by RFC 8259 §6.
  static func isNumber(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBufferPointer { buffer in
      var parser = JSONParser(buffer, options: .init())
      guard let value = try? parser.parseDocument(), case .number = value else { return false }
      return buffer.first != 0x20 && buffer.last != 0x20 && !buffer.contains { $0 <= 0x20 }
    }
  }

  /// A double as ECMAScript's Number::toString prints it; `nil` where it is not finite.
  ///
  /// Swift's `description` already gives the shortest digits that read back as the same double; only
  /// the layout differs (`1e-07` against `1e-7`, `100.0` against `100`).
  static func ecmaScript(_ value: Double) -> String? {
    guard value.isFinite else { return nil }
    if value == 0 { return "0" }
    let sign = value < 0 ? "-" : ""
    let (digits, exponent) = shortestDigits(of: value.magnitude)
    return sign + layOut(digits: digits, exponent: exponent)
  }

  /// The number 0.DIGITS × 10^exponent as ECMAScript writes it; the digits begin and end with none that
  /// is zero.
  static func layOut(digits: String, exponent: Int) -> String {
    let count = digits.utf8.count
    if exponent >= count, exponent <= 21 {
      return digits + String(repeating: "0", count: exponent - count)
    }
    switch exponent {
    case 1...21: return digits.prefix(exponent) + "." + digits.dropFirst(exponent)
    case -5...0: return "0." + String(repeating: "0", count: -exponent) + digits
    default:
      let power = exponent - 1
      let mantissa = count == 1 ? digits : digits.prefix(1) + "." + digits.dropFirst()
      return mantissa + "e" + (power < 0 ? "-" : "+") + String(power.magnitude)
    }
  }

  /// The shortest decimal digits of a positive double, without leading or trailing zeros, and the
  /// power of ten that stands behind `0.DIGITS`.
  private static func shortestDigits(of value: Double) -> (digits: String, exponent: Int) {
    var digits: [UInt8] = []
    var point: Int?
    var power = 0
    let text = Array(value.description.utf8)
    var index = 0
    while index < text.count {
      switch text[index] {
      case UInt8(ascii: "."): point = digits.count
      case UInt8(ascii: "e"):
        power = Int(String(decoding: text[(index + 1)...], as: UTF8.self)) ?? 0
        index = text.count
      default: digits.append(text[index])
      }
      index += 1
    }
    var exponent = (point ?? digits.count) + power
    let zeros = digits.prefix { $0 == UInt8(ascii: "0") }.count
    digits.removeFirst(zeros)
    exponent -= zeros
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    return (String(decoding: digits, as: UTF8.self), exponent)
  }
}
