/// Says how much of a text that still comes in may be told already, word by word, so that no part of a secret is.
///
/// A word is told once white space follows it. Held back besides: as many words as a secret that is known may have,
/// and everything from a quotation mark that is not closed on its line, 8 KiB at most. Where patterns of the agent's own
/// withhold texts, which may have any form, nothing is told before its line is whole.
struct WordFlow {
  /// How much of the text is looked at again for each word, at least, and at most where nothing is held back.
  private static let (leastBytes, mostBytes) = (1 << 10, 3 << 10)
  /// How far back a quotation mark is looked for that holds back what follows it.
  private static let quotedBytes = 8 << 10

  private let redactor: Redactor
  /// Where in the text what is looked at begins: at its start, or at that of a line.
  private var start = 0
  /// Up to where in the text is told.
  private var end = 0
  /// What was told of that part.
  private var told = ""

  init(_ redactor: Redactor) { self.redactor = redactor }

  /// What may be told now that was not; empty where nothing may.
  ///
  /// - Parameters:
  ///   - text: all that has come in.
  ///   - isEnd: whether no more comes.
  /// - Complexity: that of redacting a few KiB, and of a secret that reaches further all of it.
  mutating func next(of text: String, isEnd: Bool) -> String {
    let bytes = Array(text.utf8.dropFirst(start))
    let whole = isEnd ? bytes.count : Self.tellable(bytes, holding: redactor.mostWordsOfSecrets)
    guard start + whole > end else { return "" }
    let now = redactor.redacted(String(decoding: bytes[..<whole], as: UTF8.self))
    let isSame = now.utf8.starts(with: told.utf8)
    // What came may make a secret of words before it: then only what differs is told, behind them.
    let common = isSame ? told.utf8.count : zip(now.utf8, told.utf8).prefix { $0 == $1 }.count
    let fresh = String(decoding: now.utf8.dropFirst(common), as: UTF8.self)
    (told, end) = (now, start + whole)
    if whole > Self.mostBytes { moveOn(bytes, whole) }
    return fresh
  }

  /// Looks no longer at what is far behind: from the start of a line on, or, in a long one, from that of a word. Stays
  /// where it is while what stands there makes a secret of what follows, as the beginning of a key of many lines does.
  private mutating func moveOn(_ bytes: [UInt8], _ whole: Int) {
    let behind = bytes[..<(whole - Self.leastBytes)]
    guard
      let place = behind.lastIndex(of: UInt8(ascii: "\n")) ?? behind.lastIndex(where: Self.isSpace)
    else { return }
    let rest = redactor.redacted(String(decoding: bytes[(place + 1)..<whole], as: UTF8.self))
    guard told.utf8.reversed().starts(with: rest.utf8.reversed()) else { return }
    start += place + 1
    told = rest
  }

  /// How many bytes may be told of a text that goes on.
  private static func tellable(_ bytes: [UInt8], holding words: Int?) -> Int {
    let lineStart = (bytes.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
    guard let words else { return lineStart }
    var (end, left) = (bytes.count, words)
    while end > lineStart, left > 0 {
      // Behind white space a word is whole.
      end = (bytes[lineStart..<end].lastIndex(where: isSpace) ?? lineStart - 1) + 1
      left -= 1
      if left > 0, end > lineStart { end -= 1 }
    }
    guard end > lineStart else { return lineStart }
    return openQuote(bytes[max(lineStart, end - quotedBytes)..<end]) ?? end
  }

  /// Where a quotation mark opens that is not closed; `nil` where none does.
  private static func openQuote(_ line: ArraySlice<UInt8>) -> Int? {
    var open: (mark: UInt8, place: Int)?
    for (place, byte) in zip(line.indices, line) {
      guard byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`")
      else { continue }
      if let mark = open?.mark {
        if mark == byte { open = nil }
      } else if byte != UInt8(ascii: "'") || place == line.startIndex || !isLetter(line[place - 1])
      {
        open = (byte, place)
      }
    }
    return open?.place
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0d).contains(byte)
  }

  /// Whether an apostrophe behind it is one, and opens nothing.
  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) || byte >= 0x80
  }
}
