/// A form that credentials are known by, as ``CredentialRules`` write it down.
///
/// `KIND FORM SOURCE`, where a form is literal text with sets of bytes in it: `{a36}` stands for exactly 36
/// bytes of the set `a` (``ByteClass``), `{a36+}` for that many or more, `{a20-40}` for 20 to 40. `~` stands
/// for spaces, `^` for a `~` itself, `>` for the place where what is withheld begins (else it begins with the form). A `?` at the end
/// asks that what is withheld looks random, for forms that words may have too.
struct CredentialForm {
  /// A piece of a form.
  enum Part {
    case literal([UInt8])
    case run(ByteClass, least: Int, most: Int)
    case spaces
    /// What is withheld begins here.
    case secret
  }

  /// What tokens call it.
  var kind: String
  var parts: [Part]
  /// Whether it must look random as well.
  var mustBeRandom: Bool

  /// Reads a line of a table; `nil` where it is no form.
  init?(_ line: Substring) {
    let words = line.split(separator: " ", maxSplits: 2)
    guard words.count == 3 else { return nil }
    kind = String(words[0])
    var bytes = Array(words[1].utf8)[...]
    mustBeRandom = bytes.last == UInt8(ascii: "?")
    if mustBeRandom { bytes.removeLast() }
    parts = []
    var literal: [UInt8] = []
    func endLiteral(_ parts: inout [Part]) {
      if !literal.isEmpty { parts.append(.literal(literal)) }
      literal = []
    }
    while let byte = bytes.popFirst() {
      switch byte {
      case UInt8(ascii: "~"):
        endLiteral(&parts)
        parts.append(.spaces)
      case UInt8(ascii: ">"):
        endLiteral(&parts)
        parts.append(.secret)
      case UInt8(ascii: "{"):
        endLiteral(&parts)
        guard let end = bytes.firstIndex(of: UInt8(ascii: "}")),
          let set = bytes.first.flatMap(ByteClass.init(rawValue:)),
          let part = Self.run(set, bytes[(bytes.startIndex + 1)..<end])
        else { return nil }
        parts.append(part)
        bytes = bytes[(end + 1)...]
      case UInt8(ascii: "^"): literal.append(UInt8(ascii: "~"))
      default: literal.append(byte)
      }
    }
    endLiteral(&parts)
    guard !parts.isEmpty else { return nil }
    boundOpenRuns()
  }

  /// How far a last part goes on that has no end of its own.
  private static let openMost = 16_384

  /// Parts before the last, and forms that must look random, are looked at again where the next one begins: they get
  /// bounds that keep the time of a hostile text near that of reading it.
  private mutating func boundOpenRuns() {
    for (index, part) in parts.enumerated() {
      guard case .run(let set, let least, let most) = part, most == Self.openMost else { continue }
      if mustBeRandom {
        parts[index] = .run(set, least: least, most: max(512, 2 * least))
      } else if index < parts.count - 1 {
        parts[index] = .run(set, least: least, most: max(2_048, 2 * least))
      }
    }
  }

  private static func run(_ set: ByteClass, _ count: ArraySlice<UInt8>) -> Part? {
    let text = String(decoding: count, as: UTF8.self)
    if text.hasSuffix("+"), let least = Int(text.dropLast()) {
      return .run(set, least: least, most: openMost)
    }
    let ends = text.split(separator: "-").compactMap { Int($0) }
    guard let least = ends.first, let most = ends.last, ends.count <= 2, least <= most else {
      return nil
    }
    return .run(set, least: least, most: most)
  }

  /// The bytes that it begins with; empty where it begins with a set.
  var prefix: [UInt8] {
    if case .literal(let bytes)? = parts.first { bytes } else { [] }
  }

  /// The set that it begins with, where it does, and the byte behind that.
  var opening: (least: Int, most: Int, next: UInt8)? {
    guard case .run(_, let least, let most)? = parts.first, parts.count > 1,
      case .literal(let bytes) = parts[1], let next = bytes.first
    else { return nil }
    return (least, most, next)
  }

  /// What of a text is withheld where the form stands at a place; `nil` where it does not.
  ///
  /// Each set takes all that it can, and nothing is tried again: the time is that of reading it once.
  func match(in text: UnsafeBufferPointer<UInt8>, at start: Int) -> Range<Int>? {
    var (index, first) = (start, start)
    for (number, part) in parts.enumerated() {
      switch part {
      case .literal(let bytes):
        guard text.count - index >= bytes.count else { return nil }
        for (offset, byte) in bytes.enumerated() where text[index + offset] != byte { return nil }
        index += bytes.count
      case .spaces:
        let begin = index
        while index < text.count, text[index] == 0x20 || text[index] == 0x09, index - begin < 16 {
          index += 1
        }
        guard index > begin else { return nil }
      case .secret: first = index
      case .run(let set, let least, let most):
        var end = set.end(in: text, from: index, most: most)
        if number == parts.count - 1 {
          // A word that goes on is another one.
          if most < 512, end < text.count, end - index == most,
            ByteClass.alphanumeric.contains(text[end])
          {
            return nil
          }
          // A sentence ends with a full stop, not with a credential, unless that has the length of its form.
          while end > index, least < most || end - index > least, text[end - 1] == UInt8(ascii: ".")
          { end -= 1 }
        }
        guard end - index >= least else { return nil }
        index = end
      }
    }
    guard first < index, !SecretValue.isExample(text, first..<index),
      !mustBeRandom || SecretValue.looksRandom(text, first..<index)
    else { return nil }
    return first..<index
  }
}
