import AgentTrace

/// What a plain scalar means: the core schema of YAML 1.2 (https://yaml.org/spec/1.2.2 §10.3.2),
/// narrowed to what JSON can say.
enum YAMLScalar {
  /// A value, or why there is none.
  enum Meaning {
    case value(JSONValue)
    case fault(String, hint: String)
  }

  /// The meaning of a scalar without quotes and without a tag.
  ///
  /// `null Null NULL ~` and nothing are null; `true True TRUE false False FALSE` are truth values;
  /// integers and floats are numbers, those that JSON can write with the token they have;
  /// everything else is text: `yes`, `on`, `2026-01-01`, `12:30`, `1_000`.
  static func meaning(of text: String) -> Meaning {
    switch text {
    case "", "~", "null", "Null", "NULL": return .value(.null)
    case "true", "True", "TRUE": return .value(.bool(true))
    case "false", "False", "FALSE": return .value(.bool(false))
    case ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
      "-.Inf", "-.INF":
      return .fault("the number \(text) has no place in JSON", hint: "quote it if it is text")
    default: break
    }
    guard let first = text.utf8.first, first <= UInt8(ascii: "9") else {
      return .value(.string(text))
    }
    // However long, as in a JSON file.
    if let number = JSONNumber(token: text) { return .value(.number(number)) }
    return text.utf8.count <= 4096 ? number(text) : .value(.string(text))
  }

  /// Numbers that YAML knows and JSON writes in another way.
  private static func number(_ text: String) -> Meaning {
    if text.hasPrefix("0x") || text.hasPrefix("0o") {
      let digits = text.dropFirst(2)
      let radix = text.hasPrefix("0x") ? 16 : 8
      guard !digits.isEmpty, digits.utf8.allSatisfy({ isDigit($0, radix: radix) }) else {
        return .value(.string(text))
      }
      guard let value = Int(digits, radix: radix) else {
        return .fault("the number \(text.quoted) is too large", hint: "quote it if it is text")
      }
      return .value(JSONValue(value))
    }
    let isNegative = text.utf8.first == UInt8(ascii: "-")
    var rest = text[...]
    if isNegative || text.utf8.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
    guard isFloat(rest) else { return .value(.string(text)) }
    if rest.utf8.count > 1, rest.utf8.first == UInt8(ascii: "0"),
      let second = rest.utf8.dropFirst().first, isDigit(second, radix: 10)
    {
      return .fault(
        "the number \(text.quoted) has leading zeros",
        hint: "quote it if it is text, leave them out if it is a number")
    }
    let sign = isNegative ? "-" : ""
    // `.5` and `5.` lack a digit that JSON asks for.
    var token = sign + (rest.utf8.first == UInt8(ascii: ".") ? "0" : "") + rest
    if let point = token.firstIndex(of: "."),
      token[token.index(after: point)...].utf8.first.map({ !isDigit($0, radix: 10) }) ?? true
    {
      token.insert("0", at: token.index(after: point))
    }
    return JSONNumber(token: token).map { .value(.number($0)) } ?? .value(.string(text))
  }

  /// `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
  private static func isFloat(_ text: Substring) -> Bool {
    var rest = text.utf8[...]
    let whole = dropDigits(&rest)
    var fraction = 0
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      fraction = dropDigits(&rest)
    }
    guard whole + fraction > 0 else { return false }
    if let byte = rest.first, byte | 0x20 == UInt8(ascii: "e") {
      rest = rest.dropFirst()
      if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") {
        rest = rest.dropFirst()
      }
      guard dropDigits(&rest) > 0 else { return false }
    }
    return rest.isEmpty
  }

  private static func dropDigits(_ rest: inout Substring.UTF8View.SubSequence) -> Int {
    var count = 0
    while let byte = rest.first, isDigit(byte, radix: 10) {
      rest = rest.dropFirst()
      count += 1
    }
    return count
  }

  private static func isDigit(_ byte: UInt8, radix: Int) -> Bool {
    switch byte {
    case 0x30...0x37: true
    case 0x38...0x39: radix > 8
    case 0x61...0x66, 0x41...0x46: radix == 16
    default: false
    }
  }
}
