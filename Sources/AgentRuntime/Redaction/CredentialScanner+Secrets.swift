/// Which of the values that were found are secrets.
extension CredentialScanner {
  /// A value that was set apart from its name by what surrounds it, as quotes would.
  func found(_ kind: SecretName.Kind, _ value: Range<Int>, named name: Range<Int>) -> Finding? {
    finding(kind, Value(range: value, isQuoted: true, isTight: true), name, UInt8(ascii: "="))
  }

  func finding(
    _ kind: SecretName.Kind, _ value: Value, _ name: Range<Int>, _ sign: UInt8
  ) -> Finding? {
    guard !isToken(at: value.range.lowerBound) else { return nil }
    // A value with a form of its own is told by that.
    if let form = form(of: value.range) { return form }
    if sign == UInt8(ascii: "("), isBasicLogin(name) { return second(after: value.range) }
    guard isSecret(kind, value, name, sign) else { return nil }
    if case .card = kind { return Finding(range: value.range, kind: "card") }
    return Finding(range: value.range, kind: "password")
  }

  private func isBasicLogin(_ name: Range<Int>) -> Bool {
    let joined = SecretName.words(of: text, name).joined()
    return Self.logins.contains { joined.hasSuffix($0) }
  }

  /// The last words of calls that are given a user and a password.
  private static let logins = [
    "basicauth", "networkcredential", "usernamepassword", "usernamepasswordcredentials",
    "passwordcredential", "passwordauthentication",
  ]

  /// The finding at a value that has a form of its own, where that reaches to its end.
  func form(of value: Range<Int>) -> Finding? {
    form(at: value.lowerBound).flatMap { $0.range.upperBound >= value.upperBound ? $0 : nil }
  }

  func isToken(at index: Int) -> Bool { starts(with: Self.tokenStart, at: index) }

  private static let tokenStart = Array("«redacted:".utf8)

  private func isSecret(
    _ kind: SecretName.Kind, _ value: Value, _ name: Range<Int>, _ sign: UInt8
  ) -> Bool {
    let range = value.range
    guard !SecretValue.isPlaceholder(text, range) else { return false }
    let hasSpace = value.isQuoted && range.contains { text[$0] == 0x20 }
    if hasSpace, SecretValue.isProse(text, range) { return false }
    // What a page calls it in another language, as in objects.
    if value.isQuoted, case .password = kind, SecretValue.isRemark(text, range) { return false }
    if !value.isQuoted {
      // `password != password2` compares two.
      let gap = value.range.lowerBound - name.upperBound
      if sign == UInt8(ascii: "="), (2...6).contains(gap),
        (name.upperBound..<value.range.lowerBound).contains(where: { text[$0] == 0x21 })
      {
        return false
      }
      if SecretValue.isCall(text, range) { return false }
      if SecretValue.isCode(text, range) {
        // `Summer-2024` is made of words too.
        guard case .password = kind, SecretValue.isMixed(text, range),
          !SecretValue.isMemberName(text, range)
        else { return false }
      }
    }
    // The quote that was taken for an opening one closes what stands before.
    if value.isQuoted, "),]}".utf8.contains(text[range.lowerBound]) { return false }
    if SecretValue.isPath(text, range) { return false }
    let sorts = SecretValue.sorts(text, range)
    let isOneSided =
      sign == UInt8(ascii: "(") || sign == UInt8(ascii: ",") || sign == UInt8(ascii: "|")
    switch kind {
    case .password:
      if isOneSided {
        return range.count >= 6 && !hasSpace
          && (SecretValue.isMixed(text, range) || SecretValue.looksRandom(text, range))
          && (sign != UInt8(ascii: ",") || SecretValue.looksRandom(text, range))
      }
      if value.isQuoted {
        return range.count >= 3 && (sorts >= 2 || !SecretValue.isNamed(text, range))
          && !SecretValue.isMemberName(text, range)
      }
      if SecretValue.isDigits(text, range) { return range.count >= 4 }
      if isLink(range) { return false }
      if !SecretValue.isLetters(text, range) { return sorts >= 2 && range.count >= 4 }
      if SecretValue.looksRandom(text, range) { return true }
      // A word: `password=letmein` gives one, `password: forgotten` says something.
      return value.isTight && sign == UInt8(ascii: "=") && range.count >= 5 && !isArgument(name)
        && !SecretValue.isNamed(text, range)
    case .digits:
      return (3...8).contains(range.count) && SecretValue.isDigits(text, range)
    case .secret, .key:
      if hasSpace { return range.count >= 40 }
      if isLink(range) { return false }
      let isRandom = SecretValue.looksRandom(text, range)
      if SecretValue.isMadeOfWords(text, range), !isRandom { return false }
      if isOneSided {
        return isRandom && range.count >= 12
          && range.allSatisfy { ByteClass.token68.contains(text[$0]) }
      }
      if SecretValue.isMixed(text, range) { return range.count >= (value.isQuoted ? 6 : 8) }
      if SecretValue.isDigits(text, range) { return false }
      return range.count >= 16 && (isRandom || value.isQuoted) && !SecretValue.isNamed(text, range)
    case .weak:
      return !hasSpace && !isLink(range) && !SecretValue.isUUID(text, range)
        && !SecretValue.isDigest(text, range)
        && range.allSatisfy {
          ByteClass.token68.contains(text[$0]) || text[$0] == UInt8(ascii: ":")
        }
        && SecretValue.looksRandom(text, range, least: 16)
    case .address:
      return !hasSpace && !isLink(range) && !range.contains { text[$0] == UInt8(ascii: "=") }
        && SecretValue.looksRandom(text, range, least: 12)
    case .card:
      let digits = range.count { ByteClass.digit.contains(text[$0]) }
      return (12...19).contains(digits)
        && range.allSatisfy { ByteClass.digit.contains(text[$0]) || " -".utf8.contains(text[$0]) }
    case .header: return !hasSpace && SecretValue.looksRandom(text, range, least: 12)
    }
  }

  private func isLink(_ range: Range<Int>) -> Bool {
    find([0x3a, 0x2f, 0x2f], from: range.lowerBound, within: 12).map { $0 < range.upperBound }
      ?? false
  }
}
