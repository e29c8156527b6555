extension JSONNumber {
  /// The number in the one form that all numbers of its exact decimal value share: `5.0` and `0.5e1` as
  /// `5`, `-0` as `0`, `1e2` as `100`; 9007199254740993 stays what it is. It is laid out as ECMAScript lays
  /// out a double. For comparing: what is shown or kept has the token it was read as.
  ///
  /// An exponent beyond 10^17 counts as 10^17.
  public var byValue: JSONNumber { isPlainInteger ? self : JSONNumber(validToken: valueToken) }

  private var valueToken: String {
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
          digits.append(byte)
          if inFraction { fractionDigits += 1 }
        }
      }
    }
    // The value is 0.DIGITS × 10^exponent.
    var exponent = digits.count - fractionDigits + (powerIsNegative ? -power : power)
    let zeros = digits.prefix { $0 == UInt8(ascii: "0") }.count
    digits.removeFirst(zeros)
    exponent -= zeros
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    guard !digits.isEmpty else { return "0" }
    return (isNegative ? "-" : "")
      + Self.layOut(digits: String(decoding: digits, as: UTF8.self), exponent: exponent)
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
