/// The name that stands before a sign, and what it says of the value.
extension CredentialScanner {
  static func isNameByte(_ byte: UInt8) -> Bool {
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
  func kindBefore(_ name: Range<Int>) -> SecretName.Kind? {
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

  private static let valueWords = ["value", "content", "default"].map { Array($0.utf8) }

  /// Whether a name is that of a variable, `DB_PASSWORD`: what is given to it goes on to the next space.
  func isVariable(_ name: Range<Int>) -> Bool {
    guard name.allSatisfy({ !(0x61...0x7a).contains(text[$0]) }) else { return false }
    guard name.lowerBound > 0 else { return true }
    let before = text[name.lowerBound - 1]
    return before <= 0x20 || isQuote(before) || before == UInt8(ascii: "n")
  }

  /// Whether a name is that of an argument in a call, `f(a, password=b)`: what it is given is a name as well.
  func isArgument(_ name: Range<Int>) -> Bool {
    guard name.lowerBound > 1 else { return false }
    let before = text[name.lowerBound - 1]
    return before == UInt8(ascii: "(")
      || (before == 0x20 && text[name.lowerBound - 2] == UInt8(ascii: ","))
  }
}
