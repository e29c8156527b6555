extension JSONNumber {
  /// The number in the one form that all numbers of its exact decimal value share: `5.0` and `0.5e1` as
  /// `5`, `-0` as `0`, `1e2` as `100`; 9007199254740993 stays what it is. It is laid out as ECMAScript lays
  /// out a double. For comparing: what is shown or kept has the token it was read as.
  ///
  /// An exponent beyond 10^17 counts as 10^17.
  public var byValue: JSONNumber { isPlainInteger ? self : JSONNumber(validToken: valueToken) }

  private var valueToken: String {
    let value = exactValue
    guard !value.digits.isEmpty else { return "0" }
    let digits = String(decoding: value.digits.map { $0 | 0x30 }, as: UTF8.self)
    return (value.isNegative ? "-" : "") + Self.layOut(digits: digits, exponent: value.exponent)
  }

  /// A number's decimal value, 0.DIGITS × 10^exponent, of which nothing is expanded: `1e999999999` costs
  /// what its token costs.
  @_spi(Scanning) public struct ExactValue: Hashable, Sendable {
    /// Of zero, never.
    public var isNegative: Bool
    /// Significant digits 0…9 without zeros at either end; none for zero.
    public var digits: [UInt8]
    /// At most 10^17 and a few either way; 0 for zero.
    public var exponent: Int
  }

  /// The number's exact decimal value.
  @_spi(Scanning) public var exactValue: ExactValue {
    var digits: [UInt8] = []
    var (isNegative, fractionDigits, power) = (false, 0, 0)
    var (inFraction, inPower, powerIsNegative) = (false, false, false)
    for byte in token.utf8 {
      switch byte {
      case UInt8(ascii: "-"): if inPower { powerIsNegative = true } else { isNegative = true }
      case UInt8(ascii: "+"): break
      case UInt8(ascii: "."): inFraction = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"): inPower = true
      default:
        if inPower {
          power = min(power * 10 + Int(byte & 15), Self.powerLimit)
        } else {
          digits.append(byte & 15)
          if inFraction { fractionDigits += 1 }
        }
      }
    }
    var exponent = digits.count - fractionDigits + (powerIsNegative ? -power : power)
    let zeros = digits.prefix { $0 == 0 }.count
    digits.removeFirst(zeros)
    exponent -= zeros
    while digits.last == 0 { digits.removeLast() }
    return ExactValue(
      isNegative: isNegative && !digits.isEmpty, digits: digits,
      exponent: digits.isEmpty ? 0 : exponent)
  }

  private static let powerLimit = 100_000_000_000_000_000
}

extension JSONValue {
  /// The value with each number in the form that all numbers of its value share, so that two are equal
  /// exactly where they say the same; see ``JSONNumber/byValue``.
  ///
  /// - Complexity: looks at every element; copies nothing where no number has another form.
  public var byValue: JSONValue { hasOtherForms ? rebuiltByValue : self }

  private var hasOtherForms: Bool {
    switch self {
    case .number(let number): number.byValue != number
    case .array(let elements): elements.contains(where: \.hasOtherForms)
    case .object(let object): object.contains { $0.value.hasOtherForms }
    default: false
    }
  }

  private var rebuiltByValue: JSONValue {
    switch self {
    case .number(let number): .number(number.byValue)
    case .array(let elements): .array(elements.map(\.byValue))
    case .object(let object): .object(JSONObject(object.map { ($0.key, $0.value.byValue) }))
    default: self
    }
  }
}
