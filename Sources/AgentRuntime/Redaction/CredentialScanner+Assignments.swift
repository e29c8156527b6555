/// What a text gives a name: `name=value`, `"name": "value"`, `<name>value</name>`, `--name value`.
extension CredentialScanner {
  /// How a value is written.
  struct Value {
    var range: Range<Int>
    var isQuoted: Bool
    /// Whether nothing stands between name, sign and value.
    var isTight: Bool
  }

  /// The value of a name, whose sign is at `sign`.
  func assignment(at sign: Int) -> Finding? {
    guard sign > 1, mayBeSign(sign) else { return nil }
    let byte = text[sign]
    if byte == UInt8(ascii: ">") { return element(openedBy: sign) }
    if byte == UInt8(ascii: ":"), let entry = passwordEntry(at: sign) { return entry }
    if byte == UInt8(ascii: "("), let told = dataSource(at: sign) ?? filled(at: sign) {
      return told
    }
    guard let name = name(before: sign) else { return nil }
    if byte == UInt8(ascii: "="), let signature = signature(name, sign) { return signature }
    guard let kind = SecretName.kind(of: text, name) ?? kindBefore(name) else {
      return byte == UInt8(ascii: ":") ? cookieValue(name, sign) ?? announced(behind: sign) : nil
    }
    // `arn:aws:secretsmanager:eu-west-1:123456789012:secret:name`
    if byte == UInt8(ascii: ":"), name.lowerBound > 14, text[name.lowerBound - 14] == byte,
      ByteClass.digit.end(in: text, from: name.lowerBound - 13, most: 12) == name.lowerBound - 1
    {
      return nil
    }
    if let phrase = wordPhrase(of: name, behind: sign) { return phrase }
    if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "|") && text[sign + 1] == byte {
      return fallback(kind, name, sign)
    }
    if byte == UInt8(ascii: "(") || byte == UInt8(ascii: "{"), name.upperBound != sign {
      return nil
    }
    if case .header = kind {
      let before = name.lowerBound > 0 ? text[name.lowerBound - 1] : 0
      let found = header(
        from: sign + 1, isLine: byte == UInt8(ascii: ":"), quote: isQuote(before) ? before : nil)
      // `cookie=VALUE` gives a value as any name does.
      if found != nil || byte != UInt8(ascii: "=") { return found }
    }
    // `prompt="Password: "`: the quote behind the sign is the one that closes.
    if name.lowerBound > 0, isQuote(text[name.lowerBound - 1]), name.upperBound == sign {
      var next = sign + 1
      while next < text.count, next - sign < 4, text[next] == 0x20 { next += 1 }
      if next < text.count, text[next] == text[name.lowerBound - 1] { return nil }
    }
    if byte == UInt8(ascii: "="), let pair = secondOfPair(from: sign) { return pair }
    guard let value = value(of: name, from: sign) else { return nil }
    return finding(kind, value, name, byte)
  }

  /// Whether what stands around a sign allows that a name stands before it: told by a byte or two.
  private func mayBeSign(_ sign: Int) -> Bool {
    let before = text[sign - 1]
    let after = sign + 1 < text.count ? text[sign + 1] : 0
    switch text[sign] {
    case UInt8(ascii: ">"): return ByteClass.alphanumeric.contains(before) || isQuote(before)
    case UInt8(ascii: "("): return ByteClass.alphanumeric.contains(before)
    case UInt8(ascii: "{"): return ByteClass.alphanumeric.contains(before) && isQuote(after)
    case UInt8(ascii: ","): return isQuote(before)
    case UInt8(ascii: "|"):
      return before == 0x20 && (after == 0x20 || after == UInt8(ascii: "|"))
    case UInt8(ascii: "?"): return before == 0x20 && after == UInt8(ascii: "?")
    // The second of `==`, and the colons of `std::token`.
    case UInt8(ascii: "="): return before != UInt8(ascii: "=")
    case UInt8(ascii: ":"): return after != UInt8(ascii: ":") && before != UInt8(ascii: ":")
    default: return false
    }
  }

  /// `process.env.SECRET || "VALUE"`, `config.password ?? "VALUE"`: what holds where a name has no value.
  private func fallback(
    _ kind: SecretName.Kind, _ name: Range<Int>, _ sign: Int
  ) -> Finding? {
    var start = sign + 2
    while start < text.count, start - sign < 8, text[start] == 0x20 { start += 1 }
    guard start < text.count, isQuote(text[start]), let value = quoted(from: start),
      SecretValue.isMixed(text, value)
    else { return nil }
    return found(kind, value, named: name)
  }

  /// The second of two texts in brackets: `auth=("user", "password")`.
  private func secondOfPair(from sign: Int) -> Finding? {
    var open = sign
    while open < text.count, open - sign < 4, text[open] != UInt8(ascii: "(") { open += 1 }
    guard open < text.count, text[open] == UInt8(ascii: "("), let user = quoted(from: open + 1)
    else { return nil }
    return second(after: user)
  }

  func second(after first: Range<Int>) -> Finding? {
    var comma = first.upperBound
    while comma < text.count, comma - first.upperBound < 4,
      isQuote(text[comma]) || text[comma] == UInt8(ascii: "\\")
    {
      comma += 1
    }
    guard comma < text.count, text[comma] == UInt8(ascii: ",") else { return nil }
    var start = comma + 1
    while start < text.count, start - comma < 4, text[start] == 0x20 { start += 1 }
    if starts(with: Array("Some(".utf8), at: start) { start += 5 }
    guard start < text.count, let password = quoted(from: start), password.count >= 3,
      !SecretValue.isPlaceholder(text, password)
    else { return nil }
    return Finding(range: password, kind: "password")
  }
}
