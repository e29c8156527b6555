/// Passwords and keys that people tell each other: `the password for db01 is VALUE`, `Passwort – VALUE`, `密码是VALUE`.
extension CredentialScanner {
  // MARK: What a value must look like

  /// Whether a word that nothing but a sentence calls a secret looks like one: letters and digits, of several sorts or in
  /// no order; no name, way, version, time or identifier.
  func looksTold(_ value: Range<Int>, least: Int = 8) -> Bool {
    guard (least...200).contains(value.count), SecretValue.isMixed(text, value) || isSigned(value),
      !SecretValue.isPlaceholder(text, value), !SecretValue.isPath(text, value),
      !SecretValue.isCall(text, value), !SecretValue.isMemberName(text, value),
      !SecretValue.isUUID(text, value), !isToken(at: value.lowerBound), !isVersion(value),
      !value.contains(where: { text[$0] <= 0x20 || text[$0] >= 0x80 }),
      find([0x3a, 0x2f, 0x2f], from: value.lowerBound, within: 12).map({ $0 < value.upperBound })
        != true
    else { return false }
    if SecretValue.isMadeOfWords(text, value) { return isPassphrase(value) }
    return SecretValue.sorts(text, value) >= 3 || SecretValue.looksRandom(text, value)
  }

  /// `JYxfB*xP!DubwZpg`: letters of both sizes with signs among them that words have not.
  private func isSigned(_ value: Range<Int>) -> Bool {
    SecretValue.sorts(text, value) >= 3 && value.contains { "!#$%^&*?".utf8.contains(text[$0]) }
      && !value.contains { "/\\<>(){}[],;:=|".utf8.contains(text[$0]) }
  }

  /// `purple-kettle-river-34`: words and a number behind them.
  func isPassphrase(_ value: Range<Int>) -> Bool {
    let parts = value.split { text[$0] == UInt8(ascii: "-") }
    guard parts.count >= 3, let last = parts.last else { return false }
    return last.count >= 2 && last.allSatisfy { ByteClass.digit.contains(text[$0]) }
      && parts.dropLast().allSatisfy { part in
        part.count >= 3 && part.allSatisfy { (0x41...0x5a).contains(text[$0] & 0xdf) }
      }
  }

  /// `v1.2.3-beta4`, `2024-11-23T10:00:00Z`, `10:15`: it begins with a number and what parts numbers.
  private func isVersion(_ value: Range<Int>) -> Bool {
    var first = value.lowerBound
    if text[first] | 0x20 == UInt8(ascii: "v") { first += 1 }
    let digits = ByteClass.digit.end(in: text, from: first, most: 5)
    return digits > first && digits + 1 < value.upperBound && "-.:/".utf8.contains(text[digits])
      && ByteClass.digit.contains(text[digits + 1])
  }

  /// The word that stands from here on, in quotes or without.
  private func told(from start: Int) -> Range<Int> {
    quoted(from: start) ?? unquoted(from: start, isWhole: true)
  }

  private func toldFinding(_ value: Range<Int>) -> Finding {
    if let form = form(of: value) { return form }
    return Finding(range: value, kind: "password")
  }

  // MARK: Behind a name

  /// A value some words behind the name that ends at `nameEnd`: `password VALUE`, `the key for x was VALUE`,
  /// `replace DB_PASSWORD with VALUE`.
  func spoken(at start: Int, nameEnd: Int) -> Finding? {
    guard nameEnd + 7 < text.count, text[nameEnd] == 0x20, Self.mayBeSpoken(text, start..<nameEnd)
    else { return nil }
    var isLed = false
    var index = nameEnd
    for place in 0..<7 {
      while index < text.count, text[index] == 0x20, index - nameEnd < 90 { index += 1 }
      guard index < text.count, text[index] > 0x20, index - nameEnd < 90 else { return nil }
      let value = told(from: index)
      guard !value.isEmpty else { return nil }
      // What the name says is asked last: it costs the most.
      if place == 0 || isLed, looksTold(value) {
        guard let name = name(before: nameEnd), let kind = SecretName.kind(of: text, name) else {
          return nil
        }
        if isTold(value, kind, isLed: isLed) { return toldFinding(value) }
      }
      guard value.lowerBound == index, value.upperBound < text.count,
        text[value.upperBound] == 0x20, value.count <= 16,
        value.allSatisfy({ ByteClass.name.contains(text[$0]) }), !Self.mayBeSpoken(text, value),
        !Self.about.contains(where: { isWord(value, $0) })
      else { return nil }
      isLed = Self.leading.contains { isWord(value, $0) }
      index = value.upperBound
    }
    return nil
  }

  /// Whether a part of the text is a word, in whatever case.
  private func isWord(_ range: Range<Int>, _ word: [UInt8]) -> Bool {
    guard range.count == word.count, text[range.lowerBound] | 0x20 == word[0] else { return false }
    return word.elementsEqual(range.lazy.map { text[$0] | 0x20 })
  }

  private func isTold(_ value: Range<Int>, _ kind: SecretName.Kind, isLed: Bool) -> Bool {
    switch kind {
    case .password, .secret, .key: break
    case .header, .address, .card, .digits, .weak: return false
    }
    guard looksTold(value) else { return false }
    if case .password = kind {
      return isLed || SecretValue.sorts(text, value) >= 3 || isPassphrase(value)
        || SecretValue.looksRandom(text, value, least: 10)
    }
    return SecretValue.looksRandom(text, value, least: isLed ? 12 : 20)
  }

  /// The words that lead to a value.
  private static let leading = [
    "is", "was", "to", "be", "with", "ist", "es", "est", "lautet", "as", "now", "are", "=",
    "war", "jest", "becomes", "remains",
  ].map { Array($0.utf8) }

  /// Words behind a name that speak of something else than its value.
  private static let about = [
    "policy", "length", "format", "hash", "hashes", "field", "strength", "rule", "rules", "reset",
    "file", "type", "size", "limit", "count", "page", "hint", "manager", "method", "name", "and",
    "or", "not", "by", "in", "from", "via", "using",
  ].map { Array($0.utf8) }

  /// The last words of names that are said in sentences, by their lengths.
  private static let spokenWords: [[[UInt8]]] = {
    var words = [[[UInt8]]](repeating: [], count: 12)
    for word in [
      "pw", "pwd", "key", "pass", "token", "senha", "clave", "parola", "heslo", "secret", "passwd",
      "password", "passwort", "kennwort", "passcode", "passphrase", "wachtwoord", "passord",
      "credential", "contrasena",
    ] { words[word.utf8.count].append(Array(word.utf8)) }
    return words
  }()

  private static func mayBeSpoken(
    _ text: UnsafeBufferPointer<UInt8>, _ word: Range<Int>
  ) -> Bool {
    guard word.count < spokenWords.count else { return false }
    return spokenWords[word.count].contains { spoken in
      spoken[0] == text[word.lowerBound] | 0x20
        && spoken.elementsEqual(word.lazy.map { text[$0] | 0x20 })
    }
  }

  // MARK: Before a name

  /// `use VALUE as the password`, whose word `as` begins at `start`.
  func toldBefore(as start: Int, wordEnd: Int) -> Finding? {
    guard wordEnd - start == 2, start > 8, (text[start], text[start + 1]) == (0x61, 0x73),
      text[start - 1] == 0x20, wordEnd + 4 < text.count, text[wordEnd] == 0x20
    else { return nil }
    var end = start - 1
    if isQuote(text[end - 1]) { end -= 1 }
    var first = end
    while first > 0, end - first < 200, text[first - 1] > 0x20, !isQuote(text[first - 1]) {
      first -= 1
    }
    guard looksTold(first..<end) else { return nil }
    var index = wordEnd
    for _ in 0..<4 {
      while index < text.count, text[index] == 0x20, index - wordEnd < 40 { index += 1 }
      let word = ByteClass.word.end(in: text, from: index, most: 40)
      guard word > index else { return nil }
      if Self.mayBeSpoken(text, index..<word), let name = name(before: word),
        SecretName.kind(of: text, name) != nil
      {
        return toldFinding(first..<end)
      }
      index = word
    }
    return nil
  }

  // MARK: Behind a dash, an arrow, letters of other scripts

  /// `password – VALUE`, `API key → VALUE`: the sign is that at `sign`, of so many bytes.
  func dashed(at sign: Int, length: Int) -> Finding? {
    guard sign > 2, sign + length + 6 < text.count, let name = name(before: sign),
      let kind = SecretName.kind(of: text, name)
    else { return nil }
    switch kind {
    case .password, .secret, .key: break
    case .header, .address, .card, .digits, .weak: return nil
    }
    var first = sign + length
    while first < text.count, text[first] == 0x20, first - sign < 8 { first += 1 }
    guard first < text.count else { return nil }
    let value = told(from: first)
    return isTold(value, kind, isLed: true) ? toldFinding(value) : nil
  }

  /// `password -> VALUE`, whose sign is at `sign`; the types of functions, `(password) -> T`, stand behind brackets.
  func arrow(at sign: Int) -> Finding? {
    guard sign > 2, sign + 2 < text.count, text[sign - 1] == 0x20, text[sign + 2] == 0x20 else {
      return nil
    }
    return dashed(at: sign, length: 2)
  }

  /// `password = "OLD" -> "VALUE"`: what Terraform says of a change, whose arrow is at `sign`.
  func changed(at sign: Int) -> Finding? {
    let quote = UInt8(ascii: "\"")
    guard sign > 6, sign + 6 < text.count, text[sign - 1] == 0x20, text[sign - 2] == quote,
      text[sign + 2] == 0x20, text[sign + 3] == quote
    else { return nil }
    var open = sign - 3
    while open > 0, sign - open < 512, text[open] != quote, text[open] != 0x0a { open -= 1 }
    var equals = open - 1
    while equals > 0, open - equals < 4, text[equals] == 0x20 { equals -= 1 }
    guard equals > 1, text[open] == quote, text[equals] == UInt8(ascii: "="),
      let name = name(before: equals), let kind = SecretName.kind(of: text, name),
      let value = quoted(from: sign + 3)
    else { return nil }
    return found(kind, value, named: name)
  }

  /// The length of a dash or an arrow that begins with `0xe2`; `nil` for anything else.
  func dashLength(at index: Int) -> Int? {
    for sign in Self.dashes where starts(with: sign, at: index) { return sign.count }
    return nil
  }

  private static let dashes: [[UInt8]] = ["–", "—", "→", "➜", "⇒"].map { Array($0.utf8) }

  /// `密码是VALUE`, `A senha é VALUE`, `Ваш пароль VALUE`: the word that begins at `start` stands behind a letter of
  /// no ASCII, and a name before that.
  func behindLetters(at start: Int) -> Finding? {
    var end = start
    while end > 0, start - end < 6,
      text[end - 1] == 0x20 || text[end - 1] == UInt8(ascii: ":") || isQuote(text[end - 1])
        || (0x21...0x2f).contains(text[end - 1])
    {
      end -= 1
    }
    guard end > 4, text[end - 1] >= 0x80 else { return nil }
    var first = start
    while first > end, text[first - 1] > 0x20, !isQuote(text[first - 1]) { first -= 1 }
    var valueEnd = start
    while valueEnd < text.count, valueEnd - first < 200, (0x21...0x7e).contains(text[valueEnd]),
      !isQuote(text[valueEnd])
    {
      valueEnd += 1
    }
    while valueEnd > start, ",;.)".utf8.contains(text[valueEnd - 1]) { valueEnd -= 1 }
    let value = first..<valueEnd
    guard looksTold(value) else { return nil }
    var line = end
    while line > 0, end - line < 64, text[line - 1] != 0x0a { line -= 1 }
    guard SecretValue.contains(text, line..<end, SecretName.namesInSentences) else { return nil }
    return toldFinding(value)
  }

  // MARK: Logins

  /// `credentials: ana / VALUE`, `log in with ana:VALUE`: the word that begins at `start` announces a user and a password.
  func loginPair(at start: Int, wordEnd: Int) -> Finding? {
    // Most words of a text are shorter than the shortest of these.
    guard wordEnd - start >= 4,
      Self.pairWords.contains(where: { word in
        word.count == wordEnd - start
          && word.elementsEqual((start..<wordEnd).lazy.map { text[$0] | 0x20 })
      })
    else { return nil }
    // `log in with ana / VALUE`, but not `with src/app`.
    if wordEnd - start == 4, start < 4 || !starts(with: Array(" in ".utf8), at: start - 4) {
      return nil
    }
    var index = wordEnd
    for _ in 0..<4 {
      while index < text.count, index - wordEnd < 40, " :=-`>".utf8.contains(text[index]) {
        index += 1
      }
      let user = ByteClass.dotted.end(in: text, from: index, most: 60)
      guard user > index else { return nil }
      var next = user
      while next < text.count, next - user < 3, text[next] == 0x20 || text[next] == 0x60 {
        next += 1
      }
      if next < text.count, text[next] == UInt8(ascii: "/") || text[next] == UInt8(ascii: ":") {
        var first = next + 1
        while first < text.count, first - next < 3, text[first] == 0x20 { first += 1 }
        guard first < text.count else { return nil }
        let value = told(from: first)
        if looksTold(value), !value.contains(where: { ":/@".utf8.contains(text[$0]) }) {
          return toldFinding(value)
        }
      }
      index = user
    }
    return nil
  }

  private static let pairWords = [
    "credentials", "creds", "login", "logins", "with", "zugangsdaten", "identifiants",
    "credenciales", "credenciais", "credenziali", "account", "inloggegevens",
  ].map { Array($0.utf8) }

  // MARK: Places of their own

  /// `host:5432:database:user:VALUE`, a line of `.pgpass`, whose first colon is at `colon`.
  func passwordEntry(at colon: Int) -> Finding? {
    guard colon + 12 < text.count else { return nil }
    var index = colon + 1
    if text[index] == UInt8(ascii: "*") {
      index += 1
    } else {
      index = ByteClass.digit.end(in: text, from: index, most: 5)
      guard index - colon > 4 else { return nil }
    }
    guard index < text.count, text[index] == UInt8(ascii: ":") else { return nil }
    for _ in 0..<2 {
      let first = index + 1
      index = first
      while index < text.count, index - first < 64,
        ByteClass.dotted.contains(text[index]) || text[index] == UInt8(ascii: "*")
      {
        index += 1
      }
      guard index > first, index < text.count, text[index] == UInt8(ascii: ":") else { return nil }
    }
    var host = colon
    while host > 0, colon - host < 100,
      ByteClass.dotted.contains(text[host - 1]) || text[host - 1] == 0x2a
    {
      host -= 1
    }
    guard host < colon, host == 0 || text[host - 1] <= 0x20 || isQuote(text[host - 1])
    else { return nil }
    let value = unquoted(from: index + 1, isWhole: true)
    guard looksTold(value), value.upperBound == text.count || text[value.upperBound] <= 0x27
    else { return nil }
    return toldFinding(value)
  }

  /// `user:VALUE@tcp(host:3306)/name`, whose bracket is at `bracket`.
  func dataSource(at bracket: Int) -> Finding? {
    guard bracket > 10,
      starts(with: Array("@tcp".utf8), at: bracket - 4)
        || starts(with: Array("@unix".utf8), at: bracket - 5)
    else { return nil }
    let at = text[bracket - 4] == UInt8(ascii: "@") ? bracket - 4 : bracket - 5
    var start = at
    while start > 0, at - start < 200, text[start - 1] > 0x20, !isQuote(text[start - 1]),
      text[start - 1] != UInt8(ascii: "=")
    {
      start -= 1
    }
    guard let colon = (start..<at).first(where: { text[$0] == UInt8(ascii: ":") }),
      colon > start, at - colon > 3, !SecretValue.isPlaceholder(text, (colon + 1)..<at)
    else { return nil }
    return Finding(range: (colon + 1)..<at, kind: "password")
  }

  /// `getByLabel("Password").fill("VALUE")`, `fill("#password", "VALUE")`: what is typed into a field whose name stands
  /// before it in the line. The bracket is at `bracket`.
  func filled(at bracket: Int) -> Finding? {
    var start = bracket
    while start > 0, bracket - start < 24, ByteClass.word.contains(text[start - 1]) { start -= 1 }
    if let passed = passed(to: start..<bracket) { return passed }
    guard bracket - start > 2, start > 0, text[start - 1] == UInt8(ascii: "."),
      Self.typing.contains(where: { $0.elementsEqual(text[start..<bracket]) }),
      bracket + 7 < text.count, let first = quoted(from: bracket + 1)
    else { return nil }
    var value = first
    var names = (start - 1)..<(start - 1)
    var comma = first.upperBound + 1
    if comma < text.count, text[comma] == UInt8(ascii: ",") {
      comma += 1
      while comma < text.count, text[comma] == 0x20, comma - first.upperBound < 6 { comma += 1 }
      if comma < text.count, let second = quoted(from: comma) {
        value = second
        names = first
      }
    }
    if names.isEmpty {
      var line = start - 1
      while line > 0, start - line < 90, text[line - 1] != 0x0a, text[line - 1] != 0x3b {
        line -= 1
      }
      names = line..<(start - 1)
    }
    guard SecretValue.contains(text, names, Self.typed), !value.isEmpty, value.count >= 6,
      looksTold(value, least: 6) || isPassphrase(value)
    else { return nil }
    return toldFinding(value)
  }

  /// `jwt.sign(payload, "VALUE")`: an argument that is a secret by its place, in a call of a name.
  private func passed(to name: Range<Int>) -> Finding? {
    guard name.count < Self.calls.count,
      let call = Self.calls[name.count].first(where: { $0.name.elementsEqual(text[name]) }),
      starts(with: call.owner, at: name.lowerBound - call.owner.count)
    else { return nil }
    var index = name.upperBound + 1
    for _ in 1..<call.place {
      guard let next = nextArgument(from: index) else { return nil }
      index = next
    }
    guard index < text.count, let value = quoted(from: index), value.count >= 6,
      !SecretValue.isPlaceholder(text, value), !value.contains(where: { text[$0] <= 0x20 }),
      looksTold(value, least: 6) || isPassphrase(value)
    else { return nil }
    return toldFinding(value)
  }

  /// Where the argument behind the one at `start` begins; `nil` where that one is no text, no name and nothing in
  /// brackets.
  private func nextArgument(from start: Int) -> Int? {
    guard start < text.count else { return nil }
    var end = quoted(from: start).map { $0.upperBound + 1 } ?? bracketed(from: start)
    while end < text.count, end - start < 512, ByteClass.dotted.contains(text[end]) { end += 1 }
    guard end < text.count, text[end] == UInt8(ascii: ",") else { return nil }
    end += 1
    while end < text.count, end - start < 600, text[end] <= 0x20 { end += 1 }
    return end < text.count ? end : nil
  }

  /// The place behind what brackets hold that open at a place; the place itself where none do.
  private func bracketed(from start: Int) -> Int {
    var (depth, index) = (0, start)
    while index < text.count, index - start < 256 {
      switch text[index] {
      case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "("): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ")"): depth -= 1
      default: break
      }
      if depth <= 0 { return index == start ? start : index + 1 }
      index += 1
    }
    return start
  }

  /// Calls, by the lengths of their names, whose argument at a place is a secret; `owner` stands before the name.
  private static let calls: [[(name: [UInt8], owner: [UInt8], place: Int)]] = {
    var calls = [[(name: [UInt8], owner: [UInt8], place: Int)]](repeating: [], count: 16)
    for (owner, name, place) in [
      ("jwt.", "sign", 2), ("jwt.", "encode", 2), ("jwt.", "decode", 2), ("jwt.", "verify", 2),
      ("hmac.", "new", 1), ("", "createHmac", 2), ("", "getConnection", 3),
      ("", "mysqli_connect", 3), ("new ", "mysqli", 3), ("new ", "PDO", 3), ("", "PSCredential", 2),
      (".", "login", 2), ("pyotp.", "TOTP", 1), ("", "Fernet", 1),
    ] { calls[name.utf8.count].append((Array(name.utf8), Array(owner.utf8), place)) }
    return calls
  }()

  private static let typing = [
    "fill", "type", "send_keys", "sendKeys", "setValue", "set_value", "set", "pressSequentially",
    "press_sequentially", "typeText", "type_text", "input_text", "insertText",
  ].map { Array($0.utf8) }

  private static let typed = [
    "password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "contrase",
    "senha", "token", "api key", "apikey", "api_key", "secret",
  ].map { Array($0.utf8) }
}
