/// Credentials that are known by what they stand in: flags, headers, addresses, sentences, keys in PEM.
extension CredentialScanner {
  // MARK: Flags

  /// The value of `--password VALUE`, `-u user:VALUE`, `-pVALUE`, whose first dash is at `index`.
  func flag(at index: Int) -> Finding? {
    if index > 0 {
      let before = text[index - 1]
      guard before <= 0x20 || before == UInt8(ascii: "\"") || before == UInt8(ascii: "'") else {
        return nil
      }
    }
    var start = index + 1
    if start < text.count, text[start] == UInt8(ascii: "-") { start += 1 }
    let end = ByteClass.name.end(in: text, from: start, most: SecretName.limitBytes)
    guard end > start else { return nil }
    let isLong = start == index + 2
    if !isLong, "paPwbukAXcN".utf8.contains(text[start]), let found = shortPassword(start) {
      return found
    }
    guard end < text.count else { return nil }
    if let found = user(start..<end, isLong: isLong) { return found }
    guard end - start >= 2, let first = argument(from: end),
      let kind = SecretName.kind(of: text, start..<end)
    else { return nil }
    let value = quoted(from: first) ?? unquoted(from: first, isWhole: true)
    // `-Password (ConvertTo-SecureString "…")`: what is secret stands within.
    guard value.count >= 3, text[value.lowerBound] != UInt8(ascii: "-"),
      text[value.lowerBound] != UInt8(ascii: "("),
      !SecretValue.isPlaceholder(text, value), !SecretValue.isPath(text, value),
      !value.contains(where: { text[$0] == 0x20 })
    else { return nil }
    if let form = form(of: value) { return form }
    let isSecret: Bool
    switch kind {
    case .password:
      isSecret =
        SecretValue.sorts(text, value) >= 2
        || !SecretValue.isCode(text, value) && !isMentioned(index) && !isExplained(end, value)
    case .secret, .key:
      isSecret =
        value.count >= 6
        && !value.contains { text[$0] == UInt8(ascii: "=") && $0 < value.upperBound - 2 }
        && (SecretValue.isMixed(text, value)
          ? !SecretValue.isMadeOfWords(text, value) : value.count >= 16)
        || SecretValue.looksRandom(text, value)
    case .weak: isSecret = SecretValue.looksRandom(text, value, least: 16)
    case .header: isSecret = SecretValue.credential(ofHeader: text, value) != nil
    case .address: isSecret = false
    case .card, .digits: isSecret = SecretValue.isDigits(text, value)
    }
    return isSecret ? Finding(range: value, kind: "password") : nil
  }

  /// Whether a flag is told of in a list of them: more than one space and several words stand behind its name.
  private func isExplained(_ nameEnd: Int, _ value: Range<Int>) -> Bool {
    guard nameEnd + 1 < value.lowerBound, text[nameEnd] == 0x20, text[nameEnd + 1] == 0x20,
      SecretValue.isLetters(text, value), value.upperBound + 1 < text.count
    else { return false }
    let next = text[value.upperBound + 1]
    return text[value.upperBound] == 0x20 && (0x41...0x5a).contains(next & 0xdf)
  }

  /// Whether a flag stands in a sentence: `the --password option`, `--user and --password options`.
  private func isMentioned(_ flag: Int) -> Bool {
    guard flag > 1, text[flag - 1] <= 0x20 || isQuote(text[flag - 1]) else { return false }
    var end = flag - 1
    while end > 0, text[end - 1] <= 0x20 || isQuote(text[end - 1]) { end -= 1 }
    let start = max(0, end - 8)
    let before = (start..<end).map { text[$0] | 0x20 }
    return Self.joining.contains { word in
      before.count >= word.count && before.suffix(word.count).elementsEqual(word)
        && (before.count == word.count || before[before.count - word.count - 1] == 0x20)
    }
  }

  private static let joining = [
    "and", "or", "the", "with", "using", "a", "via", "by", "to", "use", "pass", "of", "as", "for",
    "this",
    "an", "in", "set", "new", "see",
  ].map { Array($0.utf8) }

  /// Where the argument of a flag begins, behind spaces or the quotes and comma of a list; `nil` for none.
  private func argument(from end: Int) -> Int? {
    var first = end
    while first < text.count, first - end < 8,
      text[first] == 0x20 || text[first] == UInt8(ascii: ",") || text[first] == UInt8(ascii: "\"")
        || text[first] == UInt8(ascii: "'")
    {
      first += 1
    }
    guard first > end, first < text.count, text[first] > 0x20 else { return nil }
    // The quote that opens the argument belongs to it.
    if text[first - 1] == UInt8(ascii: "\"") || text[first - 1] == UInt8(ascii: "'"),
      first - end > 1 || text[end] == 0x20
    {
      first -= 1
    }
    return first
  }

  /// `-u user:password` and `--user user:password`.
  private func user(_ name: Range<Int>, isLong: Bool) -> Finding? {
    let isUser =
      isLong
      ? name.count == 4 && starts(with: Array("user".utf8), at: name.lowerBound)
        || name.count == 10 && starts(with: Array("proxy-user".utf8), at: name.lowerBound)
      : name.count == 1 && (text[name.lowerBound] | 0x20) == UInt8(ascii: "u")
    guard isUser else { return nil }
    let first =
      text[name.upperBound] == UInt8(ascii: "=")
      ? name.upperBound + 1 : argument(from: name.upperBound)
    guard let first, first < text.count else { return nil }
    let value = quoted(from: first) ?? unquoted(from: first, isWhole: true)
    guard
      let colon = value.first(where: { text[$0] == UInt8(ascii: ":") })
        ?? (isLong ? nil : value.first(where: { text[$0] == UInt8(ascii: "%") })),
      colon > value.lowerBound
    else { return nil }
    if colon + 1 == value.upperBound {
      // `-u TOKEN:`, with no password behind it.
      let token = value.lowerBound..<colon
      return SecretValue.looksRandom(text, token, least: 20)
        && !SecretValue.isPlaceholder(text, token)
        ? form(at: token.lowerBound) ?? Finding(range: token, kind: "password") : nil
    }
    let password = (colon + 1)..<value.upperBound
    // `date -u +%H:%M`
    guard password.count >= 3, text[value.lowerBound] != UInt8(ascii: "+"),
      !SecretValue.isPlaceholder(text, password),
      text[password.lowerBound] != UInt8(ascii: "/"),
      !SecretValue.isDigits(text, value.lowerBound..<colon),
      !text[password].elementsEqual(text[value.lowerBound..<colon])
    else { return nil }
    return Finding(range: password, kind: "password")
  }

  /// `mysql -pPASSWORD` and `docker login -p PASSWORD`.
  private func shortPassword(_ letter: Int) -> Finding? {
    var line = letter
    while line > 0, letter - line < 160, text[line - 1] != 0x0a { line -= 1 }
    let before = line..<letter
    guard letter + 2 < text.count else { return nil }
    let first: Int
    if text[letter] == UInt8(ascii: "u") { return joinedUser(letter, before) }
    if text[letter] == UInt8(ascii: "b"), SecretValue.contains(text, before, Self.curl) {
      return cookie(letter, before)
    }
    if text[letter + 1] == 0x20 {
      guard let commands = Self.commands(of: text[letter]) else { return nil }
      guard SecretValue.contains(text, before, commands) else { return nil }
      first = letter + 2
    } else {
      guard text[letter] == UInt8(ascii: "p"), SecretValue.contains(text, before, Self.clients)
      else {
        return nil
      }
      first = letter + 1
    }
    let value = quoted(from: first) ?? unquoted(from: first, isWhole: true)
    guard value.count >= 4, text[value.lowerBound] != UInt8(ascii: "-"),
      !SecretValue.isPlaceholder(text, value), !SecretValue.isPath(text, value)
    else { return nil }
    return Finding(range: value, kind: "password")
  }

  /// `curl -uuser:PASSWORD`.
  private func joinedUser(_ letter: Int, _ before: Range<Int>) -> Finding? {
    guard text[letter + 1] > 0x20, SecretValue.contains(text, before, Self.curl) else { return nil }
    let value = quoted(from: letter + 1) ?? unquoted(from: letter + 1, isWhole: true)
    guard let colon = value.first(where: { text[$0] == UInt8(ascii: ":") }),
      colon > value.lowerBound
    else { return nil }
    let password = (colon + 1)..<value.upperBound
    guard password.count >= 4, !SecretValue.isPlaceholder(text, password),
      text[password.lowerBound] != UInt8(ascii: "/")
    else { return nil }
    return Finding(range: password, kind: "password")
  }

  /// `curl -b 'name=VALUE'`, where one value looks random.
  private func cookie(_ letter: Int, _ before: Range<Int>) -> Finding? {
    guard text[letter + 1] == 0x20, SecretValue.contains(text, before, Self.curl) else {
      return nil
    }
    let value = quoted(from: letter + 2) ?? unquoted(from: letter + 2, isWhole: true)
    guard value.contains(where: { text[$0] == UInt8(ascii: "=") }),
      !SecretValue.isPlaceholder(text, value)
    else { return nil }
    let parts = value.split { "=; ".utf8.contains(text[$0]) }
    let isSecret = parts.contains { part in
      SecretValue.looksRandom(text, part.startIndex..<part.endIndex, least: 12)
    }
    return isSecret ? Finding(range: value, kind: "authorization") : nil
  }

  /// The programs whose flag of a letter takes a password behind a space.
  private static func commands(of letter: UInt8) -> [[UInt8]]? {
    switch letter {
    case UInt8(ascii: "p"): logins
    case UInt8(ascii: "a"): authClients
    case UInt8(ascii: "P"): capitalClients
    case UInt8(ascii: "w"): directoryClients
    case UInt8(ascii: "k"): ciphers
    case UInt8(ascii: "A"), UInt8(ascii: "X"), UInt8(ascii: "c"): snmpClients
    case UInt8(ascii: "b"): secretSetters
    case UInt8(ascii: "N"): keyMakers
    default: nil
    }
  }

  private static let ciphers = ["openssl enc "].map { Array($0.utf8) }
  private static let snmpClients = ["snmpwalk ", "snmpget ", "snmpset ", "snmpbulkwalk "].map {
    Array($0.utf8)
  }
  private static let secretSetters = ["secret set "].map { Array($0.utf8) }
  private static let keyMakers = ["ssh-keygen "].map { Array($0.utf8) }
  private static let curl = ["curl "].map { Array($0.utf8) }
  private static let capitalClients = [
    "sqlcmd ", "bcp ", "ipmitool ", "mosquitto_", "zip ",
  ].map { Array($0.utf8) }
  private static let directoryClients = [
    "ldapsearch ", "ldapmodify ", "ldapadd ", "ldapdelete ", "ldapwhoami ",
    "add-generic-password ", "add-internet-password ",
  ].map { Array($0.utf8) }
  private static let logins = [
    " login", "smbclient", "mongo", "twine", "lftp", "sshpass", "cqlsh ", "snowsql ", "useradd ",
    "usermod ",
  ].map { Array($0.utf8) }
  private static let authClients = ["redis-cli"].map { Array($0.utf8) }
  private static let clients = ["mysql", "mariadb", "mongo", "7z ", "zip ", "rar "].map {
    Array($0.utf8)
  }

  // MARK: Pipes

  /// `echo PASSWORD | sudo -S ls`: what is said to a program that reads a password, by the word that begins at `start`.
  func piped(from start: Int, wordEnd: Int) -> Finding? {
    guard Self.sayers.contains(where: { $0.elementsEqual(text[start..<wordEnd]) }) else {
      return nil
    }
    var first = wordEnd
    // Flags, and the form that `printf` is given.
    for _ in 0..<3 {
      while first < text.count, first - wordEnd < 40, text[first] == 0x20 { first += 1 }
      guard first > wordEnd, first < text.count else { return nil }
      let value = quoted(from: first) ?? unquoted(from: first, isWhole: true)
      guard !value.isEmpty else { return nil }
      var end = value.upperBound
      if end < text.count, isQuote(text[end]) { end += 1 }
      let isAside =
        text[value.lowerBound] == UInt8(ascii: "-") || text[value.lowerBound] == UInt8(ascii: "%")
      if !isAside { return piped(value, to: end) }
      first = end
    }
    return nil
  }

  private func piped(_ value: Range<Int>, to end: Int) -> Finding? {
    var command = end
    while command < text.count, command - end < 4, text[command] == 0x20 { command += 1 }
    guard command < text.count, text[command] == UInt8(ascii: "|") else { return nil }
    var lineEnd = command
    while lineEnd < text.count, lineEnd - command < 200, text[lineEnd] != 0x0a { lineEnd += 1 }
    guard SecretValue.contains(text, command..<lineEnd, Self.readers) else { return nil }
    var secret = value
    // `user:PASSWORD`
    if SecretValue.contains(text, command..<lineEnd, Self.pairReaders),
      let colon = value.first(where: { text[$0] == UInt8(ascii: ":") })
    {
      secret = (colon + 1)..<value.upperBound
    } else if SecretValue.contains(text, command..<lineEnd, Self.encoders) {
      // Any text may be encoded; behind a user it is a password.
      return nil
    }
    guard secret.count >= 4, !SecretValue.isPlaceholder(text, secret),
      !SecretValue.isPath(text, secret), !secret.contains(where: { text[$0] == 0x20 })
    else { return nil }
    return form(at: secret.lowerBound) ?? Finding(range: secret, kind: "password")
  }

  private static let sayers = ["echo", "printf"].map { Array($0.utf8) }
  private static let readers = [
    "sudo -s", "--password-stdin", "--with-token", "chpasswd", "passwd --stdin", "--pinentry",
    "--passphrase-fd", "-pass stdin", "| passwd", "smbpasswd", "cryptsetup", "| kinit", "| su ",
    "| base64",
  ].map { Array($0.utf8) }
  private static let encoders = ["| base64"].map { Array($0.utf8) }
  private static let pairReaders = ["chpasswd", "| base64"].map { Array($0.utf8) }

  // MARK: Headers

  /// The credential of a header, `Authorization` or `Cookie`, whose value begins behind `start`.
  ///
  /// - Parameter isLine: whether it goes on to the end of the line where it is not quoted.
  /// - Parameter quote: what it ends with, where a quote opened before its name.
  func header(from start: Int, isLine: Bool, quote: UInt8?) -> Finding? {
    var first = start
    while first < text.count, first - start < 8,
      text[first] == 0x20 || text[first] == 0x09 || text[first] == UInt8(ascii: "[")
    {
      first += 1
    }
    guard first < text.count else { return nil }
    let value: Range<Int>
    if let quoted = quoted(from: first) {
      value = quoted
    } else {
      let scheme = ByteClass.name.end(in: text, from: first, most: 40)
      guard isLine || SecretValue.isScheme(text, first..<scheme) else { return nil }
      var end = first
      // Quotes of parameters, as in Digest, end nothing unless the header stands in quotes.
      let isWhole = isLine && quote == nil
      while end < text.count, end - first < 4_096, text[end] != 0x0a, text[end] != 0x0d,
        text[end] != quote, isWhole || !isQuote(text[end]), text[end] != UInt8(ascii: "\\")
      {
        end += 1
      }
      while end > first, text[end - 1] == 0x20 { end -= 1 }
      value = first..<end
    }
    guard let credential = SecretValue.credential(ofHeader: text, value) else { return nil }
    if let form = form(at: credential.lowerBound), form.range.upperBound >= credential.upperBound {
      return form
    }
    return Finding(range: credential, kind: "authorization")
  }

  // MARK: Addresses

  /// The password, or a user that is a token, of an address whose part behind `://` begins at `start`.
  func login(at start: Int) -> [Finding] {
    var (colon, at, slash): (Int?, Int?, Int?) = (nil, nil, nil)
    var index = start
    scan: while index < text.count, index - start < 512 {
      switch text[index] {
      case 0...0x20, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "<"),
        UInt8(ascii: ">"), UInt8(ascii: "\\"):
        break scan
      case UInt8(ascii: ":"): if colon == nil, slash == nil { colon = index }
      case UInt8(ascii: "@"): if slash == nil || at == nil { at = index }
      case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"):
        if slash == nil {
          slash = index
          // What follows a host and its port is a path.
          if at != nil { break scan }
          guard let colon else { break scan }
          let port = (colon + 1)..<index
          if port.isEmpty || SecretValue.isDigits(text, port) { break scan }
        }
        if text[index] == UInt8(ascii: "/"), index + 1 < text.count, text[index + 1] == text[index]
        {
          break scan
        }
      default: break
      }
      index += 1
    }
    guard let at, at > start else { return [] }
    var found: [Finding] = []
    let user = start..<min(colon ?? at, at)
    if user.count >= 16, SecretValue.looksRandom(text, user) {
      found.append(form(at: start) ?? Finding(range: user, kind: "password"))
    }
    if let colon, colon + 1 < at {
      let password = (colon + 1)..<at
      if !SecretValue.isPlaceholder(text, password), !isToken(at: password.lowerBound) {
        found.append(Finding(range: password, kind: "password"))
      }
    }
    return found
  }

  // MARK: Sentences

  private static let verbs = [
    "is", "to", "es", "ist", "est", "lautet", "jest", "je", "este", "adalah", "on", "was", "er",
  ].map { Array($0.utf8) }

  /// `the password is VALUE`: the word that begins at `start` is `is` or its like.
  func statement(at start: Int, wordEnd: Int) -> Finding? {
    guard start > 4, text[start - 1] == 0x20, wordEnd < text.count,
      text[wordEnd] == 0x20 || text[wordEnd] == UInt8(ascii: ":"),
      Self.verbs.contains(where: {
        $0.elementsEqual((start..<wordEnd).lazy.map { text[$0] | 0x20 })
      }),
      let name = name(before: start), let kind = SecretName.kind(of: text, name)
    else { return nil }
    var first = wordEnd
    while first < text.count, text[first] == 0x20 || text[first] == UInt8(ascii: ":"),
      first - wordEnd < 3
    {
      first += 1
    }
    guard first < text.count else { return nil }
    if let phrase = wordPhrase(of: name, behind: wordEnd) { return phrase }
    let quoted = quoted(from: first)
    let value = quoted ?? unquoted(from: first, isWhole: true)
    guard !value.isEmpty, !SecretValue.isPlaceholder(text, value), !SecretValue.isPath(text, value),
      !value.contains(where: { text[$0] == 0x20 })
    else { return nil }
    if let form = form(of: value) { return form }
    let isSecret: Bool
    switch kind {
    case .password:
      isSecret =
        quoted != nil
        ? value.count >= 4
        : value.count >= 6 && SecretValue.sorts(text, value) >= 2
          && (!SecretValue.isCode(text, value) || isPassphrase(value))
    case .secret, .key: isSecret = SecretValue.looksRandom(text, value)
    case .digits: isSecret = value.count <= 8 && SecretValue.isDigits(text, value)
    case .header, .address, .weak, .card: isSecret = false
    }
    return isSecret ? Finding(range: value, kind: "password") : nil
  }

  // MARK: Cards

  /// The number of a card that begins here: 13 to 19 digits, in groups or not, whose check digit is right.
  func cardNumber(at start: Int) -> Range<Int>? {
    if start > 0, ".-_/+#$%".utf8.contains(text[start - 1]) { return nil }
    var digits: [UInt8] = []
    var groups = [0]
    var index = start
    var separator: UInt8 = 0
    while index < text.count, digits.count < 20 {
      let byte = text[index]
      if (0x30...0x39).contains(byte) {
        digits.append(byte - 0x30)
        groups[groups.count - 1] += 1
      } else if byte == 0x20 || byte == UInt8(ascii: "-"), separator == 0 || separator == byte,
        groups[groups.count - 1] == 4 || groups.count == 2 && groups[1] == 6,
        index + 1 < text.count,
        (0x30...0x39).contains(text[index + 1])
      {
        separator = byte
        groups.append(0)
      } else {
        break
      }
      index += 1
    }
    guard (13...19).contains(digits.count), groups.count == 1 || groups.count >= 3 else {
      return nil
    }
    if index < text.count {
      let next = text[index]
      if ByteClass.word.contains(next) || next == UInt8(ascii: "-") { return nil }
      if next == UInt8(ascii: "."), index + 1 < text.count,
        ByteClass.digit.contains(text[index + 1])
      {
        return nil
      }
    }
    return CardNumber.isValid(digits) ? start..<index : nil
  }
}

/// Numbers of payment cards (ISO/IEC 7812).
enum CardNumber {
  /// Whether the digits begin as an issuer's and their check digit is right (Luhn).
  static func isValid(_ digits: [UInt8]) -> Bool {
    let head = digits.prefix(4).reduce(0) { $0 * 10 + Int($1) }
    let lengths: Set<Int>
    switch head {
    case 4000...4999: lengths = [13, 16, 19]
    case 5100...5599, 2221...2720: lengths = [16]
    case 3400...3499, 3700...3799: lengths = [15]
    case 6011, 6440...6599: lengths = [16, 19]
    case 3528...3589: lengths = [16, 19]
    case 3000...3059, 3600...3699, 3800...3999: lengths = [14]
    case 6200...6299: lengths = [16, 17, 18, 19]
    default: return false
    }
    guard lengths.contains(digits.count), Set(digits).count > 1 else { return false }
    var sum = 0
    for (place, digit) in digits.reversed().enumerated() {
      let doubled = Int(digit) * (place % 2 == 1 ? 2 : 1)
      sum += doubled > 9 ? doubled - 9 : doubled
    }
    return sum % 10 == 0
  }
}
