/// What a text gives a name: `name=value`, `"name": "value"`, `<name>value</name>`, `--name value`.
extension CredentialScanner {
  /// How a value is written.
  private struct Value {
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
    guard let kind = SecretName.kind(of: text, name) ?? kindBefore(name, sign) else {
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

  // MARK: The name

  private func isQuote(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`")
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    ByteClass.dotted.contains(byte) || byte >= 0x80
  }

  /// The name before a sign, without quotes and brackets; `nil` where none stands there.
  func name(before sign: Int) -> Range<Int>? {
    var end = beforeRemark(sign)
    var skipped = 0
    skip: while end > 0, skipped < 8 {
      switch text[end - 1] {
      case 0x20, 0x09, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "\\"),
        UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "!"),
        UInt8(ascii: ":"),
        UInt8(ascii: "+"):
        end -= 1
        skipped += 1
      case UInt8(ascii: "]"):
        // `char password[64]`, but `a["password"]`.
        end -= 1
        var open = end
        while open > 0, end - open < 6, ByteClass.digit.contains(text[open - 1]) { open -= 1 }
        if open > 0, text[open - 1] == UInt8(ascii: "[") { end = open - 1 }
        skipped += 1
      case UInt8(ascii: "m"):
        // The colours of a terminal.
        var open = end - 1
        while open > 0, end - open < 12,
          ByteClass.digit.contains(text[open - 1]) || text[open - 1] == 0x3b
        {
          open -= 1
        }
        guard starts(with: [0x1b, 0x5b], at: open - 2) else { break skip }
        end = open - 2
        skipped += 1
      case UInt8(ascii: ";"), UInt8(ascii: "2"):
        // A quote as pages or JSON write it.
        guard
          let entity = Self.closingQuotes.first(where: { starts(with: $0, at: end - $0.count) })
        else { break skip }
        end -= entity.count
        skipped += 1
      default: break skip
      }
    }
    var start = end
    while start > 0, end - start <= SecretName.limitBytes, Self.isNameByte(text[start - 1]) {
      start -= 1
    }
    // `\npassword`: the letter belongs to the escape.
    if start > 0, text[start - 1] == UInt8(ascii: "\\"), start < end,
      [UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t")].contains(text[start])
    {
      start += 1
    }
    if end - start <= 2, let numbered = numberedKey(start..<end) { return numbered }
    guard end - start >= 2, end - start <= SecretName.limitBytes, text[end - 1] != UInt8(ascii: ".")
    else { return nil }
    // What ends a text has no sign behind it.
    if sign < text.count, text[sign] == UInt8(ascii: "="), start > 2,
      let typed = nameBeforeType(start..<end)
    {
      return typed
    }
    return withWordsBefore(start..<end)
  }

  /// `Unseal Key 1:`, whose number stands for itself.
  private func numberedKey(_ number: Range<Int>) -> Range<Int>? {
    guard SecretValue.isDigits(text, number), number.lowerBound > 4 else { return nil }
    let word = (number.lowerBound - 4)..<(number.lowerBound - 1)
    guard text[word.upperBound] == 0x20,
      word.map({ text[$0] | 0x20 }).elementsEqual("key".utf8)
    else { return nil }
    return withWordsBefore(word).lowerBound..<number.upperBound
  }

  /// `Password (temporary):`: where what stands in brackets before a sign begins, or the sign.
  private func beforeRemark(_ sign: Int) -> Int {
    let sign = sign > 0 && text[sign - 1] == 0x20 ? sign - 1 : sign
    guard sign > 8, text[sign - 1] == UInt8(ascii: ")") else { return sign }
    var open = sign - 1
    while open > 0, sign - open < 28,
      text[open - 1] == 0x20 || ByteClass.name.contains(text[open - 1]) || text[open - 1] >= 0x80
    {
      open -= 1
    }
    guard open > 1, text[open - 1] == UInt8(ascii: "("), text[open - 2] == 0x20 else { return sign }
    return open - 2
  }

  /// `password: str = …`, `secret: &str = …`: what stands before the sign is a type, and the name before that.
  private func nameBeforeType(_ type: Range<Int>) -> Range<Int>? {
    guard type.lowerBound > 3, text[type.lowerBound - 1] != 0x0a,
      text[type.lowerBound - 2] != 0x20 || text[type.lowerBound - 1] != 0x20,
      SecretName.kind(of: text, type) == nil
    else { return nil }
    var colon = type.lowerBound
    while colon > 0, type.lowerBound - colon < 40,
      Self.isNameByte(text[colon - 1]) || " &<>[]?*|".utf8.contains(text[colon - 1])
    {
      colon -= 1
    }
    guard colon > 1, text[colon - 1] == UInt8(ascii: ":") else { return nil }
    var first = colon - 1
    while first > 0, colon - first <= SecretName.limitBytes, Self.isNameByte(text[first - 1]) {
      first -= 1
    }
    return colon - 1 - first >= 3 ? first..<(colon - 1) : nil
  }

  /// `API key:`, `secret access key =`: a name of several words, where the last says too little.
  private func withWordsBefore(_ name: Range<Int>) -> Range<Int> {
    guard (3...8).contains(name.count), name.lowerBound > 3, text[name.lowerBound - 1] == 0x20
    else {
      return name
    }
    let last = name.map { text[$0] | 0x20 }
    guard Self.lastWords.contains(where: { $0 == last }) else { return name }
    var start = name.lowerBound
    for _ in 0..<2 {
      guard start > 1, text[start - 1] == 0x20 else { break }
      var first = start - 1
      while first > 0, start - first < 20, ByteClass.alphanumeric.contains(text[first - 1]) {
        first -= 1
      }
      guard first < start - 1,
        !Self.articles.contains(where: {
          $0.elementsEqual((first..<(start - 1)).lazy.map { text[$0] | 0x20 })
        })
      else { break }
      start = first
    }
    return start..<name.upperBound
  }

  private static let articles = [
    "the", "a", "an", "my", "your", "this", "our", "his", "her", "their", "its", "new",
  ].map { Array($0.utf8) }

  private static let lastWords = [
    "key", "keys", "token", "string", "phrase", "words", "seed", "code", "codes", "number", "url",
    "uri",
    "passe", "secreta", "api", "sandi",
  ].map { Array($0.utf8) }

  /// What the name before says of one that only says `value`: `{"name": "DB_PASSWORD", "value": …}`.
  private func kindBefore(_ name: Range<Int>, _ sign: Int) -> SecretName.Kind? {
    guard name.count == 5 || name.count == 7,
      Self.valueWords.contains(where: { $0.elementsEqual(name.lazy.map { text[$0] | 0x20 }) })
    else { return nil }
    var end = name.lowerBound
    var skipped = 0
    while end > 0, skipped < 48,
      text[end - 1] <= 0x20 || isQuote(text[end - 1]) || text[end - 1] == UInt8(ascii: ",")
        || text[end - 1] == UInt8(ascii: "\\") || text[end - 1] == UInt8(ascii: ";")
        || text[end - 1] == UInt8(ascii: "{")
    {
      end -= 1
      skipped += 1
    }
    guard skipped > 0 else { return nil }
    if name.count == 7, text[name.lowerBound] == UInt8(ascii: "d"),
      let kind = kindOfVariable(around: name.lowerBound)
    {
      return kind
    }
    var start = end
    while start > 0, end - start <= SecretName.limitBytes, Self.isNameByte(text[start - 1]) {
      start -= 1
    }
    guard start > 1 else { return nil }
    return SecretName.kind(of: text, start..<end)
  }

  /// What the name of a variable of Terraform says, `variable "NAME" { type = string`, whose block holds a place.
  private func kindOfVariable(around place: Int) -> SecretName.Kind? {
    var brace = place
    while brace > 0, place - brace < 400, text[brace - 1] != UInt8(ascii: "{") {
      if text[brace - 1] == UInt8(ascii: "}") { return nil }
      brace -= 1
    }
    var end = brace - 1
    while end > 0, brace - end < 6, text[end - 1] == 0x20 { end -= 1 }
    guard end > 12, text[end - 1] == UInt8(ascii: "\"") else { return nil }
    var start = end - 1
    while start > 0, end - start <= SecretName.limitBytes, Self.isNameByte(text[start - 1]) {
      start -= 1
    }
    guard starts(with: Array("variable \"".utf8), at: start - 10) else { return nil }
    return SecretName.kind(of: text, start..<(end - 1))
  }

  /// `"name": "li_at", "value": "VALUE", "domain": …`: a cookie as browsers keep it.
  private func cookieValue(_ name: Range<Int>, _ sign: Int) -> Finding? {
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

  private static let valueWords = ["value", "content", "default"].map { Array($0.utf8) }

  /// `The API key you asked for: VALUE`: something random behind a colon, and a word that announces it.
  private func announced(behind colon: Int) -> Finding? {
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

  /// What signs an address: `?sig=…`, `&X-Amz-Signature=…`.
  private func signature(_ name: Range<Int>, _ sign: Int) -> Finding? {
    guard name.upperBound == sign, name.lowerBound > 0,
      text[name.lowerBound - 1] == UInt8(ascii: "?")
        || text[name.lowerBound - 1] == UInt8(ascii: "&")
        || text[name.lowerBound - 1] == UInt8(ascii: ";")
    else { return nil }
    let end = ByteClass.token68.end(in: text, from: sign + 1, most: 4_096)
    guard end - sign > 20,
      Self.signatures.contains(where: { $0.elementsEqual(name.lazy.map { text[$0] | 0x20 }) }),
      SecretValue.looksRandom(text, (sign + 1)..<end)
    else { return nil }
    return Finding(range: (sign + 1)..<end, kind: "signature")
  }

  private static let signatures = [
    "sig", "signature", "x-amz-signature", "x-goog-signature", "x-oss-signature", "code", "key",
    "q-signature", "auth", "policy-signature", "hmac", "sign", "st", "hdnts", "x-cos-signature",
  ].map { Array($0.utf8) }

  /// `…%3Faccess_token%3DVALUE`: an address within another one; `%` of its sign is at `sign`.
  func escapedAssignment(at sign: Int) -> Finding? {
    guard sign + 14 < text.count, sign > 4, text[sign + 1] == UInt8(ascii: "3") else { return nil }
    // `%22name%22%3A%22VALUE%22`: JSON in an address.
    let quote = Array("%22".utf8)
    let isQuoted = starts(with: quote, at: sign - 3) && starts(with: quote, at: sign + 3)
    guard text[sign + 2] | 0x20 == (isQuoted ? UInt8(ascii: "a") : UInt8(ascii: "d")) else {
      return nil
    }
    let nameEnd = isQuoted ? sign - 3 : sign
    var start = nameEnd
    while start > 0, sign - start < 40, ByteClass.dotted.contains(text[start - 1]) { start -= 1 }
    if start > 0, text[start - 1] == UInt8(ascii: "%") { start += 2 }
    guard start < nameEnd, let kind = SecretName.kind(of: text, start..<nameEnd) else {
      return nil
    }
    switch kind {
    case .password, .secret, .key: break
    case .header, .address, .card, .digits, .weak: return nil
    }
    let first = isQuoted ? sign + 6 : sign + 3
    let end = ByteClass.dotted.end(in: text, from: first, most: 4_096)
    let value = first..<end
    guard value.count >= 8, SecretValue.isMixed(text, value),
      !SecretValue.isPlaceholder(text, value)
    else { return nil }
    return form(at: value.lowerBound) ?? Finding(range: value, kind: "password")
  }

  // MARK: The value

  /// The value behind a sign.
  private func value(of name: Range<Int>, from sign: Int) -> Value? {
    var start = sign + 1
    let byte = text[sign]
    if byte == UInt8(ascii: "=") || byte == UInt8(ascii: ":") {
      while start < text.count, start - sign < 4,
        text[start] == UInt8(ascii: "=") || text[start] == UInt8(ascii: ">")
          || text[start] == UInt8(ascii: "~")
      {
        start += 1
      }
    }
    var isTight = true
    if byte == UInt8(ascii: ":"), starts(with: Array("**".utf8), at: start) { start += 2 }
    while start < text.count, start - sign < 40, text[start] == 0x20 || text[start] == 0x09 {
      start += 1
      isTight = false
    }
    start = behindColours(start)
    if byte == UInt8(ascii: "=") { start = behindLength(start) }
    if byte == UInt8(ascii: ":") {
      start = behindMarks(start)
      if let block = blockValue(from: start) { return block }
    }
    // JSON that is laid out over lines.
    if start < text.count, text[start] == 0x0a, isQuote(text[max(0, sign - 1)]) {
      while start < text.count, start - sign < 200, text[start] <= 0x20 { start += 1 }
      guard start < text.count, isQuote(text[start]) else { return nil }
    }
    guard start < text.count else { return nil }
    if let quoted = quoted(from: start) {
      return Value(range: quoted, isQuoted: true, isTight: isTight)
    }
    guard byte != UInt8(ascii: ","), byte != UInt8(ascii: "("), byte != UInt8(ascii: "{") else {
      return nil
    }
    if byte == UInt8(ascii: "="), isTight, let braced = braced(from: start) {
      return Value(range: braced, isQuoted: true, isTight: true)
    }
    let isWhole = byte == UInt8(ascii: ":") ? !isTight : isTight && isVariable(name)
    let range = unquoted(from: start, isWhole: isWhole)
    guard !range.isEmpty else { return nil }
    return Value(range: range, isQuoted: false, isTight: isTight && name.upperBound == sign)
  }

  /// `PWD={VALUE};`, as ODBC quotes what holds signs; the names in braces of templates hold none.
  private func braced(from start: Int) -> Range<Int>? {
    guard text[start] == UInt8(ascii: "{") else { return nil }
    var end = start + 1
    while end < text.count, end - start < 130, text[end] > 0x20, text[end] != UInt8(ascii: "}"),
      !isQuote(text[end])
    {
      end += 1
    }
    let value = (start + 1)..<end
    return end < text.count && text[end] == UInt8(ascii: "}")
      && SecretValue.sorts(text, value) >= 3 && SecretValue.isSigned(text, value) ? value : nil
  }

  /// The place behind the colours of a terminal.
  private func behindColours(_ start: Int) -> Int {
    var index = start
    while starts(with: [0x1b, 0x5b], at: index), index - start < 24 {
      var end = index + 2
      while end < text.count, end - index < 12,
        ByteClass.digit.contains(text[end]) || text[end] == 0x3b
      {
        end += 1
      }
      guard end < text.count, text[end] == UInt8(ascii: "m") else { return start }
      index = end + 1
    }
    return index
  }

  /// The place behind `string(12) `, as PHP tells the length of a value, on the line of its name or the next.
  private func behindLength(_ start: Int) -> Int {
    var index = start
    while index < text.count, index - start < 24, text[index] <= 0x20 { index += 1 }
    guard starts(with: Array("string(".utf8), at: index) else { return start }
    let digits = ByteClass.digit.end(in: text, from: index + 7, most: 5)
    return starts(with: Array(") \"".utf8), at: digits) ? digits + 2 : start
  }

  /// The place behind marks that may stand before a value: `<code>`, `</b>`, `!!str`, `&anchor`.
  private func behindMarks(_ start: Int) -> Int {
    var index = start
    for mark in Self.marks where starts(with: mark, at: index) {
      index += mark.count
      while index < text.count, text[index] == 0x20, index - start < 24 { index += 1 }
    }
    guard index < text.count, text[index] == UInt8(ascii: "&"), index > 0, text[index - 1] == 0x20
    else { return index }
    let anchor = ByteClass.name.end(in: text, from: index + 1, most: 40)
    guard anchor > index + 1, anchor + 1 < text.count, text[anchor] == 0x20 else { return index }
    return anchor + 1
  }

  private static let marks = [
    "</b>", "</strong>", "</em>", "</span>", "</label>", "<b>", "<strong>", "<code>", "<kbd>",
    "<tt>", "<pre>", "<samp>", "!!str ", "!!binary ",
  ].map { Array($0.utf8) }

  /// What stands on the line behind a name's: a block of YAML (`password: |`), or alone there and random enough.
  private func blockValue(from start: Int) -> Value? {
    var index = start
    var isBlock = false
    if index < text.count, text[index] == UInt8(ascii: "|") || text[index] == UInt8(ascii: ">") {
      isBlock = true
      index += 1
      while index < text.count, index - start < 4, "+-123456789".utf8.contains(text[index]) {
        index += 1
      }
    }
    if index < text.count, text[index] == 0x0d { index += 1 }
    guard index < text.count, text[index] == 0x0a else { return nil }
    index += 1
    let line = index
    while index < text.count, index - line < 40, text[index] == 0x20 || text[index] == 0x09 {
      index += 1
    }
    if !isBlock, starts(with: [0x2d, 0x20], at: index) { index += 2 }
    var end = index
    while end < text.count, end - index < 512, text[end] != 0x0a, text[end] != 0x0d { end += 1 }
    let range = index..<end
    guard isBlock ? index > line : true, range.count >= 4, end == text.count || text[end] < 0x20,
      !range.contains(where: { text[$0] <= 0x20 })
    else { return nil }
    if isBlock { return Value(range: range, isQuoted: true, isTight: false) }
    let last = text[end - 1]
    guard (6...200).contains(range.count), last != UInt8(ascii: ":"),
      !isQuote(text[index]), !"-*|{[(<#".utf8.contains(text[index]),
      SecretValue.isMixed(text, range),
      SecretValue.sorts(text, range) >= 3 || SecretValue.looksRandom(text, range, least: 12),
      !range.contains(where: { text[$0] == UInt8(ascii: "=") && $0 < end - 2 })
    else { return nil }
    return Value(range: range, isQuoted: false, isTight: false)
  }

  /// Whether a name is that of a variable, `DB_PASSWORD`: what is given to it goes on to the next space.
  private func isVariable(_ name: Range<Int>) -> Bool {
    guard name.allSatisfy({ !(0x61...0x7a).contains(text[$0]) }) else { return false }
    guard name.lowerBound > 0 else { return true }
    let before = text[name.lowerBound - 1]
    return before <= 0x20 || isQuote(before) || before == UInt8(ascii: "n")
  }

  /// What stands between quotes that begin here, escaped or not.
  func quoted(from start: Int) -> Range<Int>? {
    var open = start
    // `b"…"`, `@"…"`
    if open + 1 < text.count, isQuote(text[open + 1]),
      ByteClass.alphanumeric.contains(text[open]) || text[open] == UInt8(ascii: "@")
    {
      open += 1
    }
    while open < text.count, open - start < 8, text[open] == UInt8(ascii: "\\") { open += 1 }
    guard open < text.count else { return nil }
    if starts(with: [0xe2, 0x80, 0x9c], at: open) {
      guard let end = find([0xe2, 0x80, 0x9d], from: open + 3, within: 512) else { return nil }
      return (open + 3)..<end
    }
    for entity in Self.quoteEntities where starts(with: entity, at: open) {
      let first = open + entity.count
      return find(entity, from: first, within: 512).map { first..<$0 }
    }
    if open > start, starts(with: Self.escapedQuoteTail, at: open) {
      let first = open + 5
      return find(Self.escapedQuote, from: first, within: 512).map { first..<$0 }
    }
    guard isQuote(text[open]) else { return nil }
    if open == start, let long = longQuoted(from: open) { return long }
    let depth = open - start - (text[start] == UInt8(ascii: "\\") || open == start ? 0 : 1)
    let quote = text[open]
    let first = open + 1
    var index = first
    while index < text.count, index - first < 4_096 {
      let byte = text[index]
      if byte == 0x0a { break }
      if byte == quote {
        var slashes = 0
        while index - slashes > first, text[index - slashes - 1] == UInt8(ascii: "\\") {
          slashes += 1
        }
        if depth > 0 ? slashes <= depth : slashes % 2 == 0 {
          return first..<(index - (depth > 0 ? slashes : 0))
        }
      }
      index += 1
    }
    return first..<index
  }

  private static let escapedQuote = Array("\\u0022".utf8)
  private static let escapedQuoteTail = Array("u0022".utf8)
  private static let closingQuotes = quoteEntities + [escapedQuote]
  private static let quoteEntities = ["&quot;", "&#34;", "&#39;", "&apos;"].map {
    Array($0.utf8)
  }

  /// What stands between three quotes that begin here, where that is one word.
  private func longQuoted(from start: Int) -> Range<Int>? {
    let quotes = [UInt8](repeating: text[start], count: 3)
    guard starts(with: quotes, at: start) else { return nil }
    var first = start + 3
    if first < text.count, text[first] == 0x0a { first += 1 }
    var end = first
    while end < text.count, end - first < 4_096, text[end] > 0x20, text[end] != text[start] {
      end += 1
    }
    let close = end < text.count && text[end] == 0x0a ? end + 1 : end
    return end > first && starts(with: quotes, at: close) ? first..<end : nil
  }

  /// What stands without quotes from here on.
  ///
  /// - Parameter isWhole: whether it goes on to the next space; else a comma and its like end it.
  func unquoted(from start: Int, isWhole: Bool) -> Range<Int> {
    var end = start
    scan: while end < text.count, end - start < 4_096 {
      switch text[end] {
      case 0...0x20, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "\\"),
        UInt8(ascii: "<"):
        break scan
      case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "&"), UInt8(ascii: "}"),
        UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: ">"), UInt8(ascii: "|"):
        if !isWhole { break scan }
        end += 1
      default: end += 1
      }
    }
    // `<password>` is a stand-in.
    if end == start, end < text.count, text[end] == UInt8(ascii: "<") {
      let close = find([UInt8(ascii: ">")], from: start, within: 60)
      return start..<((close ?? start - 1) + 1)
    }
    let ends = Array(",;.)]}|>:".utf8)
    while end > start, ends.contains(text[end - 1]) {
      // What a template opened is its own end.
      let isClosing =
        text[end - 1] == UInt8(ascii: "}") || text[end - 1] == UInt8(ascii: ")")
        || text[end - 1] == UInt8(ascii: "]")
      if isClosing, (start..<end).contains(where: { "{([".utf8.contains(text[$0]) }) { break }
      end -= 1
    }
    return start..<end
  }

  /// The second of two texts in brackets: `auth=("user", "password")`.
  private func secondOfPair(from sign: Int) -> Finding? {
    var open = sign
    while open < text.count, open - sign < 4, text[open] != UInt8(ascii: "(") { open += 1 }
    guard open < text.count, text[open] == UInt8(ascii: "("), let user = quoted(from: open + 1)
    else { return nil }
    return second(after: user)
  }

  private func second(after first: Range<Int>) -> Finding? {
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

  // MARK: Which values are secrets

  /// A value that was set apart from its name by what surrounds it, as quotes would.
  func found(_ kind: SecretName.Kind, _ value: Range<Int>, named name: Range<Int>) -> Finding? {
    finding(kind, Value(range: value, isQuoted: true, isTight: true), name, UInt8(ascii: "="))
  }

  private func finding(
    _ kind: SecretName.Kind, _ value: Value, _ name: Range<Int>, _ sign: UInt8
  ) -> Finding? {
    guard !isToken(at: value.range.lowerBound) else { return nil }
    // A value with a form of its own is told by that.
    if let form = form(at: value.range.lowerBound), form.range.upperBound >= value.range.upperBound
    {
      return form
    }
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

  /// Whether a name is that of an argument in a call, `f(a, password=b)`: what it is given is a name as well.
  private func isArgument(_ name: Range<Int>) -> Bool {
    guard name.lowerBound > 1 else { return false }
    let before = text[name.lowerBound - 1]
    return before == UInt8(ascii: "(")
      || (before == 0x20 && text[name.lowerBound - 2] == UInt8(ascii: ","))
  }
}
