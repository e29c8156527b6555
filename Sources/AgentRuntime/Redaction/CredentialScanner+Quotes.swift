/// Where a text ends that stands in quotes, or without them.
extension CredentialScanner {
  func isQuote(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`")
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
  static let closingQuotes = quoteEntities + [escapedQuote]
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
}
