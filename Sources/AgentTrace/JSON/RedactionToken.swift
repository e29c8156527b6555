/// What stands in a run in the place of a value that was withheld: `«redacted:KIND:HEX»`.
///
/// The same value has the same token within a run, so that equality can still be seen.
public struct RedactionToken: Hashable, Sendable {
  /// What sort of value it was: ASCII letters, digits, `_`, `-` and `.`.
  public var kind: String
  /// Lower-case hexadecimal digits that stand for the value.
  public var hex: String

  /// With other characters, the text of a token is not found again as one.
  public init(kind: String, hex: String) {
    self.kind = kind
    self.hex = hex
  }

  private static let opening = Array("«redacted:".utf8)
  private static let closing = Array("»".utf8)
  /// How long a token may be.
  public static let limitBytes = 220
  private static let innerLimitBytes = 200

  /// Where tokens stand in a text, in order; each in at most 200 bytes.
  ///
  /// - Complexity: O(*n*).
  public static func ranges(in bytes: some RandomAccessCollection<UInt8>) -> [Range<Int>] {
    let bytes = Array(bytes)
    var ranges: [Range<Int>] = []
    var index = 0
    while index + opening.count <= bytes.count {
      guard bytes[index] == opening[0], bytes[index...].starts(with: opening),
        let end = end(in: bytes, from: index + opening.count)
      else {
        index += 1
        continue
      }
      ranges.append(index..<end)
      index = end
    }
    return ranges
  }

  /// A value in which tokens say their kind alone: what another process withheld has other digits.
  public static func comparable(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text):
      var bytes = Array(text.utf8)
      for range in ranges(in: bytes).reversed() {
        guard let colon = bytes[range].lastIndex(of: UInt8(ascii: ":")) else { continue }
        bytes.removeSubrange(colon..<range.upperBound)
      }
      return .string(String(decoding: bytes, as: UTF8.self))
    case .array(let elements): return .array(elements.map(comparable))
    case .object(let object): return .object(object.mapValues(comparable))
    default: return value
    }
  }

  /// Whether a text holds a token.
  public static func isIn(_ text: String) -> Bool {
    text.utf8.contains(opening[0]) && !ranges(in: Array(text.utf8)).isEmpty
  }

  /// Whether a value holds a token, in a key too.
  public static func isIn(_ value: JSONValue) -> Bool {
    switch value {
    case .string(let text): isIn(text)
    case .array(let elements): elements.contains { isIn($0) }
    case .object(let object): object.contains { isIn($0.key) || isIn($0.value) }
    default: false
    }
  }

  /// Hands over each token in a value, in keys too, as often as it stands there.
  public static func forEach(in value: JSONValue, _ body: (RedactionToken) -> Void) {
    switch value {
    case .string(let text): forEach(in: text, body)
    case .array(let elements): for element in elements { forEach(in: element, body) }
    case .object(let object):
      for member in object {
        forEach(in: member.key, body)
        forEach(in: member.value, body)
      }
    default: break
    }
  }

  private static func forEach(in text: String, _ body: (RedactionToken) -> Void) {
    guard text.utf8.contains(opening[0]) else { return }
    let bytes = Array(text.utf8)
    for range in ranges(in: bytes) {
      let inner = bytes[(range.lowerBound + opening.count)..<(range.upperBound - closing.count)]
      // A kind may hold no colon, digits none either.
      let parts = inner.split(separator: UInt8(ascii: ":"), maxSplits: 1)
      guard parts.count == 2 else { continue }
      body(
        RedactionToken(
          kind: String(decoding: parts[0], as: UTF8.self),
          hex: String(decoding: parts[1], as: UTF8.self)))
    }
  }

  /// The place behind a token whose opening ends at `start`: letters, digits, `_ - . :` and the
  /// closing mark.
  private static func end(in bytes: [UInt8], from start: Int) -> Int? {
    var index = start
    while index < min(bytes.count, start + innerLimitBytes) {
      guard bytes[index].isLetterOrDigit || "_-.:".utf8.contains(bytes[index]) else {
        return index > start && bytes[index...].starts(with: closing) ? index + closing.count : nil
      }
      index += 1
    }
    return nil
  }
}

extension RedactionToken: CustomStringConvertible {
  public var description: String { "«redacted:\(kind):\(hex)»" }
}
