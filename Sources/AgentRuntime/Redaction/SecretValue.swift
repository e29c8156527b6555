/// What a text looks like, taken for itself: random, a stand-in for a secret, a piece of a program.
enum SecretValue {
  typealias Text = UnsafeBufferPointer<UInt8>

  // MARK: Random

  /// Whether a text looks as if dice had made it: letters and digits change places often, few bytes come again,
  /// and it is not made of words.
  ///
  /// - Complexity: O(*n*), of the first 200 bytes.
  static func looksRandom(_ text: Text, _ range: Range<Int>, least: Int = 8) -> Bool {
    guard range.count >= least else { return false }
    let range = range.prefix(200)
    var seen = (UInt64(0), UInt64(0))
    var (distinct, digits, letters, changes, pairs) = (0, 0, 0, 0, 0)
    var previous = 0
    for index in range {
      let byte = text[index]
      if byte < 64, seen.0 & (1 << UInt64(byte)) == 0 {
        seen.0 |= 1 << UInt64(byte)
        distinct += 1
      } else if byte >= 64, byte < 128, seen.1 & (1 << UInt64(byte - 64)) == 0 {
        seen.1 |= 1 << UInt64(byte - 64)
        distinct += 1
      }
      let kind = self.kind(of: byte)
      if kind == 1 { digits += 1 }
      if kind == 2 || kind == 3 { letters += 1 }
      if kind > 0, previous > 0 {
        pairs += 1
        // A capital before small letters begins a word.
        if kind != previous, !(previous == 3 && kind == 2) { changes += 1 }
      }
      previous = kind
    }
    guard letters > 0, distinct * 10 >= min(range.count, 20) * 4, distinct >= 6 else {
      return false
    }
    if digits == 0 { return looksRandom(letters: text, range) }
    return changes * 6 >= pairs && changes >= min(4, max(2, range.count / 5))
  }

  /// The same for letters alone: words have few capitals within, and not many consonants in a row.
  private static func looksRandom(letters text: Text, _ range: Range<Int>) -> Bool {
    guard range.count >= 10 else { return false }
    var (pairs, capitals, smalls, row, longest) = (0, 0, 0, 0, 0)
    var previous = 0
    for index in range {
      let kind = self.kind(of: text[index])
      if kind > 0, previous > 0 { pairs += 1 }
      if kind == 3, previous > 0 { capitals += 1 }
      if kind == 2 { smalls += 1 }
      row = kind == 0 || "aeiouyAEIOUY".utf8.contains(text[index]) ? 0 : row + 1
      longest = max(longest, row)
      previous = kind
    }
    // Parted into words, `a.b.LEVEL` or `aB_cD`, it is a name.
    guard pairs == range.count - 1 else { return false }
    if capitals == 0 { return longest >= 6 }
    return capitals * 10 >= pairs * 3 && smalls * 10 >= range.count * 2
  }

  /// 0 what parts words, 1 digits, 2 small letters, 3 capitals.
  private static func kind(of byte: UInt8) -> Int {
    switch byte {
    case 0x30...0x39: 1
    case 0x61...0x7a: 2
    case 0x41...0x5a: 3
    default: 0
    }
  }

  /// How many sorts of bytes there are: small letters, capitals within, digits, others.
  static func sorts(_ text: Text, _ range: Range<Int>) -> Int {
    var sorts = 0
    for index in range {
      switch text[index] {
      case 0x30...0x39: sorts |= 1
      case 0x61...0x7a: sorts |= 2
      // A capital at the start is that of a word.
      case 0x41...0x5a: if index > range.lowerBound { sorts |= 4 }
      case 0x2d, 0x2e, 0x5f, 0x20, 0x80...: break
      default: sorts |= 8
      }
    }
    return sorts.nonzeroBitCount
  }

  /// Whether there are letters as well as digits.
  static func isMixed(_ text: Text, _ range: Range<Int>) -> Bool {
    var (letters, digits) = (false, false)
    for index in range {
      switch text[index] {
      case 0x30...0x39: digits = true
      case 0x41...0x5a, 0x61...0x7a: letters = true
      default: break
      }
      if letters, digits { return true }
    }
    return false
  }

  /// Whether there are nothing but letters and what parts words.
  static func isLetters(_ text: Text, _ range: Range<Int>) -> Bool {
    range.allSatisfy { index in
      let byte = text[index]
      return byte >= 0x80 || (0x41...0x5a).contains(byte & 0xdf) || "-_.' ".utf8.contains(byte)
    }
  }

  static func isDigits(_ text: Text, _ range: Range<Int>) -> Bool {
    !range.isEmpty && range.allSatisfy { ByteClass.digit.contains(text[$0]) }
  }

  // MARK: Stand-ins

  /// Whether a text stands for a secret and is none: a mask, a variable, a template, a word such as `example`.
  static func isPlaceholder(_ text: Text, _ range: Range<Int>) -> Bool {
    guard let first = range.first, let last = range.last else { return true }
    if isMask(text, range) || isAddress(text, range) { return true }
    let (begin, end) = (text[first], text[last])
    switch begin {
    case UInt8(ascii: "$"):
      // `$NAME`, `${NAME}`, `$(command)`, `$1`; a password may begin so as well.
      guard range.count > 1 else { return true }
      let next = text[first + 1]
      if next == UInt8(ascii: "{") || next == UInt8(ascii: "(") || next == UInt8(ascii: "[") {
        return true
      }
      let rest = (first + 1)..<range.upperBound
      if rest.allSatisfy({ ByteClass.word.contains(text[$0]) }) {
        let upper = rest.allSatisfy { !(0x61...0x7a).contains(text[$0]) }
        let lower = rest.allSatisfy { !(0x41...0x5a).contains(text[$0]) }
        let digits = rest.filter { ByteClass.digit.contains(text[$0]) }.count
        return (upper || lower) && digits <= 2
      }
      if rest.contains(where: { text[$0] == UInt8(ascii: "-") && text[$0 - 1] != 0x24 }),
        text[first + 1] == UInt8(ascii: "-")
      {
        return true
      }
    case UInt8(ascii: "{"):
      // `{VALUE}`, as ODBC and Jenkins quote one.
      let inner = (first + 1)..<max(first + 1, last)
      if end == UInt8(ascii: "}"),
        !(sorts(text, inner) >= 3 && (looksRandom(text, inner, least: 12) || isSigned(text, inner)))
      {
        return true
      }
    case UInt8(ascii: "<"): if end == UInt8(ascii: ">") { return true }
    // `<` as pages write it.
    case UInt8(ascii: "&"): if contains(text, range.prefix(6), openAngles) { return true }
    case UInt8(ascii: "["): if end == UInt8(ascii: "]") { return true }
    case UInt8(ascii: "%"):
      if end == UInt8(ascii: "%") || range.count <= 3 { return true }
      if range.count > 2, text[first + 1] == UInt8(ascii: "(") { return true }
    case UInt8(ascii: "@"): if end == UInt8(ascii: "@") { return true }
    case UInt8(ascii: "#"):
      if range.count > 2, text[first + 1] == UInt8(ascii: "{") { return true }
      // A colour.
      if [4, 7, 9].contains(range.count),
        range.dropFirst().allSatisfy({ ByteClass.hex.contains(text[$0]) })
      {
        return true
      }
    default: break
    }
    if range.count <= 200, contains(text, range, templates) { return true }
    return isStandInWord(text, range)
  }

  /// Letters and digits with a sign among them that names and formats have not: `Walnut34!`.
  static func isSigned(_ text: Text, _ range: Range<Int>) -> Bool {
    range.count >= 8 && isMixed(text, range)
      && range.contains { "!#%*&?^@".utf8.contains(text[$0]) }
      && !range.contains { ".:([/ ".utf8.contains(text[$0]) }
  }

  /// `0x` and 40 hexadecimal digits: an account or a contract of Ethereum, which everybody may know. Its tokens are
  /// contracts, so names that say `token` stand before it.
  private static func isAddress(_ text: Text, _ range: Range<Int>) -> Bool {
    range.count == 42 && text[range.lowerBound] == UInt8(ascii: "0")
      && text[range.lowerBound + 1] == UInt8(ascii: "x")
      && range.dropFirst(2).allSatisfy { ByteClass.hex.contains(text[$0]) }
  }

  /// `****`, `xxxx`, `....`, `sk-…`, `abcd****wxyz`. A few letters in a row come by chance, too.
  private static func isMask(_ text: Text, _ range: Range<Int>) -> Bool {
    var (run, longest, longestOfLetters, other) = (1, 1, 1, 0)
    var isSame = true
    let first = text[range.lowerBound]
    for index in range {
      let byte = text[index]
      if index > range.lowerBound {
        run = byte == text[index - 1] ? run + 1 : 1
        if byte != first { isSame = false }
      }
      switch byte {
      case UInt8(ascii: "x"), UInt8(ascii: "X"): longestOfLetters = max(longestOfLetters, run)
      case UInt8(ascii: "*"), UInt8(ascii: "."), UInt8(ascii: "#"), UInt8(ascii: "_"),
        UInt8(ascii: "?"):
        longest = max(longest, run)
      case UInt8(ascii: "-"): break
      case 0xe2:
        // `•`, `●`, `…` and their like.
        if index + 2 < range.upperBound {
          let mark = (text[index + 1], text[index + 2])
          if mark == (0x80, 0xa6) || mark == (0x80, 0xa2) || mark == (0x97, 0x8f) { return true }
        }
        other += 1
      default: other += 1
      }
    }
    if isSame, range.count >= 3 { return true }
    if longest >= 4 || longestOfLetters >= 6 { return true }
    if longestOfLetters >= 3, longestOfLetters * 3 >= range.count { return true }
    return longest >= 3 && (other <= 12 || text[range.upperBound - 1] == UInt8(ascii: "."))
  }

  private static let openAngles = ["&lt;", "&#x3c;", "&#60;"].map { Array($0.utf8) }

  /// What shows in any case that a text is filled in later, or an example.
  private static let templates: [[UInt8]] = [
    "${", "\\(", "{{", "}}", "<%", "%>", "$(", "#{", "example", "placeholder", "redacted",
    "changeme",
    "change-me", "change_me", "your-", "your_", "yourpass", "yoursecret", "yourtoken", "yourapi",
    "yourkey", "insert", "replace", "dummy", "sample", "<your", "my-secret", "my_secret",
    "mysecret", "my-token", "my_token", "my-api", "my_api", "my-key", "my_password",
    "my-password", "mypassword", "-here", "_here", "goes-here", "todo", "fixme", "abcdefghij",
    "0123456789", "deadbeef", "foobar", "foo-bar", "fake", "notreal", "not-a-real", "not_a_real",
    "process.env", "os.environ", "getenv", "secrets.", "vault(", "lookup(",
  ].map { Array($0.utf8) }

  /// Whether a text with the form of a credential says that it is none.
  static func isExample(_ text: Text, _ range: Range<Int>) -> Bool {
    isSourceMap(text, range) || range.count <= 200 && contains(text, range, exampleWords)
  }

  /// Whether a text is the base64 of a source map, which begins as a token does: `{"version":3`.
  private static func isSourceMap(_ text: Text, _ range: Range<Int>) -> Bool {
    range.prefix(sourceMapStart.count).lazy.map { text[$0] }.elementsEqual(sourceMapStart)
  }

  private static let sourceMapStart = Array("eyJ2ZXJzaW9uIjoz".utf8)

  private static let exampleWords = [
    "example", "placeholder", "redacted", "xxxxx", "*****", ".....", "your-", "your_", "yourkey",
    "-here", "_here", "changeme", "notreal", "not-real", "not_real", "abcdefghijklmnopqrst",
  ].map { Array($0.utf8) }

  private static let words: Set<String> = [
    "none", "null", "nil", "undefined", "true", "false", "yes", "no", "on", "off", "required",
    "optional", "string", "str", "text", "bytes", "any", "int", "number", "object", "array",
    "boolean", "unset", "empty", "missing", "invalid", "expired", "valid", "unknown", "hidden",
    "masked", "filtered", "removed", "withheld", "secret", "password", "passwd", "pwd", "pass",
    "token", "apikey", "api_key", "api-key", "key", "n/a", "na", "tbd", "xxx", "foo", "bar", "baz",
    "test", "testing", "default", "auto", "env", "file", "prompt", "ask", "stdin", "bearer",
    "basic", "digest", "value", "credentials", "credential", "authorization", "cookie", "user",
    "username", "admin", "optional[str]", "nonnull", "[]", "{}", "\"\"", "''", "self", "this",
    "char", "varchar", "uuid", "void", "let", "const", "var", "from", "and", "or", "not", "in",
    "include", "omit", "same-origin", "is", "the", "a", "an", "may", "must", "should", "will",
    "can", "was", "were", "has", "have",
  ]

  /// Whether it is a word that stands for a value.
  private static func isStandInWord(_ text: Text, _ range: Range<Int>) -> Bool {
    guard range.count <= 20 else { return false }
    let word = range.map { (0x41...0x5a).contains(text[$0]) ? text[$0] | 0x20 : text[$0] }
    return words.contains(String(decoding: word, as: UTF8.self))
  }

  /// Whether one of some words, in lower case, is in a text in whatever case.
  static func contains(_ text: Text, _ range: Range<Int>, _ words: [[UInt8]]) -> Bool {
    for index in range {
      let byte = text[index]
      let lower = (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
      for word in words where word[0] == lower && range.upperBound - index >= word.count {
        var offset = 1
        while offset < word.count {
          let byte = text[index + offset]
          if ((0x41...0x5a).contains(byte) ? byte | 0x20 : byte) != word[offset] { break }
          offset += 1
        }
        if offset == word.count { return true }
      }
    }
    return false
  }

  // MARK: Programs

  /// Whether a text that stands without quotes is a piece of a program, given what stands behind it: a call, an
  /// index, a member, a name made of words.
  static func isCode(_ text: Text, _ range: Range<Int>) -> Bool {
    guard let first = range.first else { return true }
    let name = ByteClass.dotted.end(in: text, from: first, most: range.count)
    let isNameToEnd = name == range.upperBound
    if name > first, name < text.count,
      text[name] == UInt8(ascii: "(") || text[name] == UInt8(ascii: "[")
    {
      return true
    }
    guard isNameToEnd else {
      // `a->b`, `A::b`, `a?.b`, `a!.b`, `&a`, `*a`
      if text[first] == UInt8(ascii: "&"), range.count > 1 {
        return ByteClass.word.end(in: text, from: first + 1) >= range.upperBound
      }
      if name < range.upperBound,
        text[name] == UInt8(ascii: "?") || text[name] == UInt8(ascii: "!"),
        name + 1 < range.upperBound, text[name + 1] == UInt8(ascii: ".")
      {
        return true
      }
      if name + 1 < range.upperBound,
        text[name] == UInt8(ascii: ":") && text[name + 1] == UInt8(ascii: ":")
          && !looksRandom(text, first..<name)
      {
        return true
      }
      return false
    }
    return isMadeOfWords(text, range) || isMemberName(text, range)
  }

  /// Whether a text without quotes calls, indexes or opens something: `f(`, `a[1]`, `(x`, `{x`.
  static func isCall(_ text: Text, _ range: Range<Int>) -> Bool {
    guard let first = range.first else { return true }
    func isOpening(_ byte: UInt8) -> Bool {
      byte == UInt8(ascii: "(") || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "{")
    }
    if isOpening(text[first]) { return true }
    // `!vault`, a tag of YAML.
    if text[first] == UInt8(ascii: "!"),
      range.dropFirst().allSatisfy({ ByteClass.name.contains(text[$0]) }), !isMixed(text, range)
    {
      return true
    }
    for index in range.dropFirst() where text[index] == UInt8(ascii: ".") {
      if text[index - 1] == UInt8(ascii: ")") || text[index - 1] == UInt8(ascii: "]") {
        return true
      }
    }
    for index in (first + 1)...range.upperBound where index < text.count && isOpening(text[index]) {
      // Behind a name, which may lead on from an object or be marked as a variable.
      let isMarked = "$@&*!".utf8.contains(text[first])
      let name = (isMarked ? first + 1 : first)..<index
      if name.allSatisfy({ ByteClass.dotted.contains(text[$0]) || text[$0] >= 0x80 }),
        !looksRandom(text, name, least: 12)
      {
        return true
      }
      return index == range.upperBound
    }
    return false
  }

  /// Whether a text is the name of a member, `auth.password`, of parts that each begin with a letter.
  static func isMemberName(_ text: Text, _ range: Range<Int>) -> Bool {
    var (parts, isStart) = (1, true)
    for index in range {
      let byte = text[index]
      if byte == UInt8(ascii: ".") {
        if isStart { return false }
        (parts, isStart) = (parts + 1, true)
        continue
      }
      guard ByteClass.word.contains(byte), !isStart || !ByteClass.digit.contains(byte) else {
        return false
      }
      isStart = false
    }
    return parts > 1 && !isStart && !looksRandom(text, range)
  }

  /// Whether a name is parted into words by `.`, `_` or `-`, or by capitals, and none has digits within.
  static func isMadeOfWords(_ text: Text, _ range: Range<Int>) -> Bool {
    var parts = 1
    var digitsInRow = 0
    var (hasDigitInside, hasLetters) = (false, false)
    for index in range {
      let byte = text[index]
      switch byte {
      case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
        parts += 1
        digitsInRow = 0
      case 0x30...0x39:
        digitsInRow += 1
        if digitsInRow > 2 { hasDigitInside = true }
      case 0x41...0x5a, 0x61...0x7a:
        if digitsInRow > 0 { hasDigitInside = true }
        hasLetters = true
      default: return false
      }
    }
    return parts > 1 && hasLetters && !hasDigitInside
  }

  /// Whether a text leads to a file: `/run/secrets/token`, `~/.key`, `C:\\keys`, `./a`.
  static func isPath(_ text: Text, _ range: Range<Int>) -> Bool {
    guard let first = range.first, range.count >= 2 else { return false }
    let (begin, next) = (text[first], text[first + 1])
    let slash = UInt8(ascii: "/")
    if begin == UInt8(ascii: "~"), next == slash { return true }
    if begin == UInt8(ascii: "."), next == slash || next == UInt8(ascii: ".") { return true }
    if range.count > 2, next == UInt8(ascii: ":"), ByteClass.alphanumeric.contains(begin),
      text[first + 2] == UInt8(ascii: "\\") || text[first + 2] == slash
    {
      return true
    }
    // Base64 may begin with a slash; names on a way are words.
    guard begin == slash else { return false }
    var parts = range.split { text[$0] == slash }
    if parts.count > 1 { parts.removeLast() }
    return parts.allSatisfy { part in
      !looksRandom(text, part.startIndex..<part.endIndex)
    }
  }
}

extension SecretValue {
  /// Whether a text of several words says something, as a hint or a description does; a passphrase is none.
  static func isProse(_ text: Text, _ range: Range<Int>) -> Bool {
    contains(text, range, proseWords)
  }

  /// Whether what stands for a secret says something of it: `must not be blank`, `Enter your password`, `Passwort`.
  /// A passphrase is none: it is not begun as a remark is, and does not speak of itself.
  static func isRemark(_ text: Text, _ range: Range<Int>) -> Bool {
    guard (3...200).contains(range.count), let space = range.first(where: { text[$0] == 0x20 })
    else {
      return (3...20).contains(range.count) && isLetters(text, range)
        && SecretName.passwords.contains(lowercased(text, range))
    }
    if remarkStarts.contains(lowercased(text, range.lowerBound..<space)) { return true }
    return !range.contains { ByteClass.digit.contains(text[$0]) }
      && contains(text, range, remarkWords)
  }

  private static func lowercased(_ text: Text, _ range: Range<Int>) -> String {
    String(
      decoding: range.map { (0x41...0x5a).contains(text[$0]) ? text[$0] | 0x20 : text[$0] },
      as: UTF8.self)
  }

  private static let remarkStarts: Set<String> = [
    "must", "is", "should", "cannot", "can't", "may", "enter", "your", "please", "has", "does",
    "doesn't", "was", "are", "invalid", "incorrect", "required", "missing", "wrong", "too", "not",
    "yes,", "no,", "choose", "confirm", "repeat", "forgot", "bitte", "ist", "darf", "muss",
  ]
  private static let remarkWords = [
    "password", "passwort", "kennwort", "contraseña", "mot de passe", "token", "api key",
    "secret key", "passphrase",
  ].map { Array($0.utf8) }

  private static let proseWords = [
    "password", "passphrase", "secret", "token", "your ", "enter ", "please", "must ", "required",
    "invalid", "incorrect", "the ", "for ", "with ", "not ", " is ", "should", "provide", "set ",
    "to use", "from ", "used ", "string", "optional", "an ", "key ", " key", "expired", "missing",
    "user", "no ", "this ", "are ", "api",
  ].map { Array($0.utf8) }

  /// Whether a word without quotes names a secret itself, so that it is a variable: `token=access_token`.
  static func isNamed(_ text: Text, _ range: Range<Int>) -> Bool {
    contains(text, range, namedWords)
  }

  private static let namedWords = [
    "password", "passwd", "pwd", "token", "secret", "apikey", "api_key", "passphrase", "credential",
    "param", "value", "field", "input", "arg", "option", "config", "setting",
  ].map { Array($0.utf8) }

  /// Whether a text may be a digest: 32, 40 or 64 hexadecimal digits, of which no letter is small beside capitals.
  static func isDigest(_ text: Text, _ range: Range<Int>) -> Bool {
    guard [32, 40, 64].contains(range.count) else { return false }
    return range.allSatisfy { ByteClass.lowerHex.contains(text[$0]) }
      || range.allSatisfy { ByteClass.hex.contains(text[$0]) && text[$0] < 0x61 }
  }

  /// Whether a text is a UUID.
  static func isUUID(_ text: Text, _ range: Range<Int>) -> Bool {
    guard range.count == 36 else { return false }
    return range.enumerated().allSatisfy { offset, index in
      [8, 13, 18, 23].contains(offset)
        ? text[index] == UInt8(ascii: "-") : ByteClass.hex.contains(text[index])
    }
  }

  /// The part of a header's value that is secret: what stands behind the scheme of `Authorization`, the whole of
  /// cookies; `nil` where there is none.
  static func credential(ofHeader text: Text, _ value: Range<Int>) -> Range<Int>? {
    guard !value.isEmpty else { return nil }
    let word = ByteClass.name.end(in: text, from: value.lowerBound, most: 40)
    if word < value.upperBound, text[word] == 0x20 {
      let scheme = (value.lowerBound..<word).map { text[$0] | 0x20 }
      var start = word
      while start < value.upperBound, text[start] == 0x20 { start += 1 }
      let rest = start..<value.upperBound
      guard rest.count >= 6, !isPlaceholder(text, rest), !isToken(text, start) else { return nil }
      let isKnown = schemes.contains { $0 == scheme }
      let isOneWord = !rest.contains { text[$0] == 0x20 }
      if isOneWord { return isKnown || (isMixed(text, rest) && !isCall(text, rest)) ? rest : nil }
      // Parameters, as those of Digest.
      return isKnown && rest.contains { text[$0] == UInt8(ascii: "=") } ? rest : nil
    }
    guard !isPlaceholder(text, value), !isToken(text, value.lowerBound) else { return nil }
    if value.contains(where: { text[$0] == UInt8(ascii: "=") }) {
      // Cookies: one of them at least must look like something.
      let parts = value.split { text[$0] == UInt8(ascii: "=") || text[$0] == UInt8(ascii: ";") }
      return parts.contains { $0.count >= 8 && isMixed(text, $0.startIndex..<$0.endIndex) }
        ? value : nil
    }
    guard !value.contains(where: { text[$0] == 0x20 }), !isCall(text, value),
      word >= value.upperBound || text[word] != UInt8(ascii: ":") || !looksLikeLink(text, word)
    else { return nil }
    return value.count >= 8 && !isMadeOfWords(text, value)
      && (isMixed(text, value) || looksRandom(text, value)) ? value : nil
  }

  private static func looksLikeLink(_ text: Text, _ colon: Int) -> Bool {
    colon + 2 < text.count && text[colon + 1] == 0x2f && text[colon + 2] == 0x2f
  }

  /// Whether a word names a way to log in, as `Bearer`.
  static func isScheme(_ text: Text, _ range: Range<Int>) -> Bool {
    let word = range.map { text[$0] | 0x20 }
    return schemes.contains { $0 == word }
  }

  private static func isToken(_ text: Text, _ index: Int) -> Bool {
    index + 1 < text.count && text[index] == 0xc2 && text[index + 1] == 0xab
  }

  private static let schemes = [
    "bearer", "basic", "token", "apikey", "api-key", "digest", "negotiate", "ntlm", "hawk", "oauth",
    "aws4-hmac-sha256", "bot", "key", "sharedkey", "sharedkeylite", "jwt", "dpop", "mac", "pat",
    "geniekey", "splunk", "sso-key", "authtoken", "secret", "zoho-oauthtoken", "aws", "google",
  ].map { Array($0.utf8) }
}
