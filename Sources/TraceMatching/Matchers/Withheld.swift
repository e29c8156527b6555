import AgentTrace

/// Texts with tokens `«redacted:KIND:HEX»` in them, beside texts of which they might be.
enum Withheld {
  /// Whether a text holds such a token.
  static func isIn(_ text: String) -> Bool { RedactionToken.isIn(text) }

  /// Whether a text is one such token and nothing else: the value behind it may be of any type.
  static func isWhole(_ text: String) -> Bool {
    guard text.utf8.count <= RedactionToken.limitBytes, isIn(text) else { return false }
    let bytes = Array(text.utf8)
    return RedactionToken.ranges(in: bytes) == [bytes.indices]
  }

  /// Whether a text with tokens in it can have been the other text: outside the tokens they agree.
  /// `false` for a text without tokens.
  static func couldBe(_ text: String, _ other: String) -> Bool {
    var seesAll = true
    let pieces = pieces(of: text, seesAll: &seesAll)
    guard !seesAll, let first = pieces.first, let last = pieces.last else { return false }
    let bytes = Array(other.utf8)
    return bytes.starts(with: first) && bytes.reversed().starts(with: last.reversed())
      && bytes.count >= first.count + last.count
  }

  /// What stands around the tokens of a text. `seesAll` becomes false where there are any.
  static func pieces(of text: String, seesAll: inout Bool) -> [ArraySlice<UInt8>] {
    let bytes = Array(text.utf8)
    var pieces: [ArraySlice<UInt8>] = []
    var start = 0
    for range in RedactionToken.ranges(in: bytes) {
      pieces.append(bytes[start..<range.lowerBound])
      seesAll = false
      start = range.upperBound
    }
    pieces.append(bytes[start...])
    return pieces
  }
}
