/// Secrets that words announce: phrases, cookies, what stands behind a space or a colon.
extension CredentialScanner {
  /// `"name": "li_at", "value": "VALUE", "domain": …`: a cookie as browsers keep it.
  func cookieValue(_ name: Range<Int>, _ sign: Int) -> Finding? {
    guard name.count == 5, starts(with: Array("value".utf8), at: name.lowerBound),
      let value = value(of: name, from: sign), value.isQuoted,
      SecretValue.looksRandom(text, value.range, least: 16),
      !SecretValue.isPlaceholder(text, value.range),
      find(Array("domain".utf8), from: value.range.upperBound, within: 12) != nil
    else { return nil }
    return form(at: value.range.lowerBound) ?? Finding(range: value.range, kind: "authorization")
  }

  /// `mnemonic: VALUE`, `Recovery phrase:` and lines with numbers: the words from which a wallet is made, of which
  /// there are 12 to 24 (BIP 39).
  func wordPhrase(of name: Range<Int>, behind sign: Int) -> Finding? {
    let last = name.suffix(5).map { text[$0] | 0x20 }
    guard Self.phraseEndings.contains(where: { $0 == last }) else { return nil }
    var index = sign
    // Up to the first word: signs, quotes and the number of a list.
    while index < text.count, index - sign < 16, !(0x61...0x7a).contains(text[index] | 0x20) {
      index += 1
    }
    let first = index
    var (words, end) = (0, index)
    while words <= 24, index < text.count {
      let word = index
      while index < text.count, index - word < 9, (0x61...0x7a).contains(text[index]) { index += 1 }
      guard (3...8).contains(index - word) else { break }
      words += 1
      end = index
      while index < text.count, index - end < 12, Self.isBetweenWords(text[index]) { index += 1 }
      guard index > end else { break }
    }
    guard words >= 12, words <= 24, words % 3 == 0 else { return nil }
    return Finding(range: first..<end, kind: "mnemonic")
  }

  /// Spaces, lines and the numbers of lists.
  private static func isBetweenWords(_ byte: UInt8) -> Bool {
    byte <= 0x20 || (0x30...0x39).contains(byte) || ".,)-\\\"'".utf8.contains(byte)
  }

  private static let phraseEndings = ["monic", "hrase", "words"].map { Array($0.utf8) }

  /// `The API key you asked for: VALUE`: something random behind a colon, and a word that announces it.
  func announced(behind colon: Int) -> Finding? {
    guard colon + 10 < text.count, text[colon + 1] == 0x20 else { return nil }
    let value = quoted(from: colon + 2) ?? unquoted(from: colon + 2, isWhole: true)
    let isRandom =
      (12...200).contains(value.count) && !SecretValue.isUUID(text, value)
      && SecretValue.looksRandom(text, value) && !SecretValue.isPlaceholder(text, value)
      && value.allSatisfy { ByteClass.token68.contains(text[$0]) }
    guard
      isRandom || !isQuote(text[colon - 1]) && looksTold(value, least: 9) && !speaksOfOther(colon)
    else { return nil }
    var line = colon
    // A full stop ends what is said; that of `user@db.acme.com` does not.
    while line > 0, colon - line < 64, text[line - 1] != 0x0a,
      text[line - 1] != UInt8(ascii: ".") || text[line] > 0x20
    {
      line -= 1
    }
    guard SecretValue.contains(text, line..<colon, Self.announcing) else { return nil }
    return form(at: value.lowerBound) ?? Finding(range: value, kind: "password")
  }

  /// Whether the word before a colon says that something else follows: `password reset for order: …`.
  private func speaksOfOther(_ colon: Int) -> Bool {
    var end = colon
    while end > 0, colon - end < 4, text[end - 1] == 0x20 { end -= 1 }
    var start = end
    while start > 0, end - start < 24, Self.isNameByte(text[start - 1]) { start -= 1 }
    return Self.others.contains { other in
      other.count <= end - start
        && other.elementsEqual(((end - other.count)..<end).lazy.map { text[$0] | 0x20 })
    }
  }

  private static let others = [
    "user", "account", "id", "request", "host", "server", "mail", "file", "path", "commit", "hash",
    "at", "version", "name", "ur", "link", "policy", "order", "ticket", "build", "digest", "sha",
    "on", "by", "date", "time", "error", "code", "line", "field", "type", "rule", "regex",
    "charset",
    "format", "example", "log", "class", "test",
  ].map { Array($0.utf8) }

  private static let announcing = [
    "contraseña", "senha", "mot de passe", "passwort", "kennwort", "wachtwoord", "hasło", "пароль",
    "parola", "heslo", "kata sandi", "mật khẩu", "clé api", "clave api", "chiave api", "lösenord",
    "api key", "api-key", "apikey", "access token", "auth token", "password", "passphrase",
    "secret key",
    "client secret", "credential", "api token", "bearer token",
  ].map { Array($0.utf8) }

  /// `ENV NPM_TOKEN value`, `configure set aws_secret_access_key value`: the last part of a name begins behind the
  /// underscore here, a space follows it, and then something random.
  func spaced(at underscore: Int) -> Finding? {
    let end = ByteClass.alphanumeric.end(in: text, from: underscore + 1, most: 24)
    guard end > underscore + 2, end + 8 < text.count, text[end] == 0x20 else { return nil }
    var first = end
    while first < text.count, text[first] == 0x20, first - end < 16 { first += 1 }
    // `#define API_KEY ("…")`
    if first + 1 < text.count, text[first] == UInt8(ascii: "("), isQuote(text[first + 1]) {
      first += 1
    }
    let value = quoted(from: first) ?? unquoted(from: first, isWhole: true)
    guard value.count >= 12, SecretValue.looksRandom(text, value),
      !SecretValue.isPlaceholder(text, value), !SecretValue.isCall(text, value),
      !SecretValue.isPath(text, value), let name = name(before: end),
      let kind = SecretName.kind(of: text, name)
    else { return nil }
    switch kind {
    case .password, .secret, .key:
      return form(at: value.lowerBound) ?? Finding(range: value, kind: "password")
    case .header, .address, .card, .digits, .weak: return nil
    }
  }
}
