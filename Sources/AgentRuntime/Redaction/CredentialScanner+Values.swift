/// The value behind a sign, and what may stand before it.
extension CredentialScanner {
  /// The value behind a sign.
  func value(of name: Range<Int>, from sign: Int) -> Value? {
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
}
