/// The tokens `«redacted:KIND:HEX»` that stand where a value was withheld from the log.
enum Withheld {
  private static let opening = Array("«redacted:".utf8)
  private static let closing = Array("»".utf8)

  /// Whether a text holds such a token.
  static func isIn(_ text: String) -> Bool {
    guard text.utf8.contains(opening[0]) else { return false }
    var seesAll = true
    _ = pieces(of: text, seesAll: &seesAll)
    return !seesAll
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
    var (pieceStart, index) = (0, 0)
    while index + opening.count <= bytes.count {
      guard bytes[index] == opening[0], bytes[index...].starts(with: opening),
        let end = tokenEnd(bytes, from: index + opening.count)
      else {
        index += 1
        continue
      }
      pieces.append(bytes[pieceStart..<index])
      seesAll = false
      (pieceStart, index) = (end, end)
    }
    pieces.append(bytes[pieceStart...])
    return pieces
  }

  /// The place behind a token whose opening ends at `start`: a kind, a colon, hexadecimal digits and
  /// the closing mark, in at most 200 bytes.
  private static func tokenEnd(_ bytes: [UInt8], from start: Int) -> Int? {
    var index = start
    while index < min(bytes.count, start + 200) {
      switch bytes[index] {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
        UInt8(ascii: "."), UInt8(ascii: ":"):
        index += 1
      default:
        return index > start && bytes[index...].starts(with: closing) ? index + closing.count : nil
      }
    }
    return nil
  }
}
