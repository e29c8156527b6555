package import AgentTrace

/// Texts with tokens `«redacted:KIND:HEX»` in them, beside texts of which they might be.
package enum Withheld {
  /// Whether a text holds such a token.
  static func isIn(_ text: String) -> Bool { RedactionToken.isIn(text) }

  /// Whether a text is one such token and nothing else: the value behind it may be of any type.
  static func isWhole(_ text: String) -> Bool {
    guard text.utf8.count <= RedactionToken.limitBytes, isIn(text) else { return false }
    let bytes = Array(text.utf8)
    return RedactionToken.ranges(in: bytes) == [bytes.indices]
  }

  /// Whether two values of one run were the same before anything of them was withheld, lost or cut; unknown where
  /// that cannot be told. Within a run equal values have equal tokens, and others have others; what has none may have been
  /// written before it was known to be secret.
  package static func equality(of one: JSONValue, _ other: JSONValue) -> Trilean {
    switch (one, other) {
    case (.lost, _), (_, .lost): return .unknown
    case (.cut(let bytes, let head), .cut(let others, let otherHead)):
      if one.isCutFromUnknownLength || other.isCutFromUnknownLength { return .unknown }
      return bytes == others && head.hasSameUTF8(as: otherHead) ? .unknown : .no
    // What was cut was as long as it says.
    case (.cut(let bytes, _), let whole), (let whole, .cut(let bytes, _)):
      let isOpen = one.isCutFromUnknownLength || other.isCutFromUnknownLength
      return isOpen || CanonicalJSON.encode(whole).count == bytes ? .unknown : .no
    case (.object(let left), .object(let right)):
      guard left.count == right.count else { return .no }
      var answer = Trilean.yes
      for member in left {
        guard let value = right[member.key] else { return .no }
        // The first no decides: values are long, and mostly differ early.
        answer = .both(answer, equality(of: member.value, value))
        if answer == .no { return .no }
      }
      return answer
    case (.array(let left), .array(let right)):
      guard left.count == right.count else { return .no }
      var answer = Trilean.yes
      for (element, other) in zip(left, right) {
        answer = .both(answer, equality(of: element, other))
        if answer == .no { return .no }
      }
      return answer
    case (.string(let left), .string(let right)):
      if left.hasSameUTF8(as: right) { return .yes }
      if isWhole(left), isWhole(right) { return Trilean(digits(of: left) == digits(of: right)) }
      return couldBe(left, right) || couldBe(right, left) ? .unknown : .no
    case (.string(let text), _), (_, .string(let text)): return isWhole(text) ? .unknown : .no
    default: return Trilean(one == other)
    }
  }

  /// What a token says of its value.
  private static func digits(of token: String) -> [UInt8] {
    Array(token.utf8.split(separator: UInt8(ascii: ":")).last ?? [])
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
