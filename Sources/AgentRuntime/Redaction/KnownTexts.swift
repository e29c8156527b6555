/// Texts that are withheld wherever they are said, as they are or encoded, found in one pass by their first bytes.
///
/// A run may have many that are alike: those that begin with the same bytes and are equally long are told apart by a
/// hash of the text that is made once, so that the time stays that of reading it.
struct KnownTexts {
  private struct Entry {
    var bytes: [UInt8]
    var kind: String
    /// Whether the text stands within base64, whose first and last characters hang on what is around it.
    var isCore: Bool
  }

  /// Texts that begin with the same bytes and are equally long.
  private struct Alike {
    var length: Int
    /// By their hashes.
    var entries: [UInt64: Entry]
  }

  /// How many texts are looked for at most, their encodings counted as well.
  static let limit = 100_000
  /// How many lengths those may have that begin with the same eight bytes.
  private static let limitLengths = 64
  /// Up to so many bytes are compared one by one.
  private static let directBytes = 48
  /// How many bits the hash of the first four bytes of a text has.
  private static let headBits = 20
  /// A text shorter than this is not looked for in an encoding: its letters would stand there by chance.
  private static let leastEncodedBytes = 8

  /// A bit for each hash of four bytes: whether some text begins so. With thousands of texts and what they are in
  /// base64 there is one for nearly every two bytes, but for few four.
  private var heads: [UInt64] = []
  /// By the first eight bytes, or the first four of a shorter text; the longest first.
  private var byHead: [UInt64: [Alike]] = [:]
  private var count = 0
  /// What makes hashes that nobody can foresee.
  private let base = UInt64.random(in: 1 << 32..<1 << 60) | 1

  /// Takes in a text of at least four bytes.
  mutating func insert(_ text: String, kind: String) { insert(Array(text.utf8), kind: kind) }

  /// Takes in a text, and what it is in base64, in hexadecimal and in forms of pages, with `+` for spaces. What escapes
  /// it is read when a text is looked through.
  mutating func insertWithEncodings(_ text: String, kind: String) {
    let bytes = Array(text.utf8)
    guard insert(bytes, kind: kind), bytes.count >= Self.leastEncodedBytes, bytes.count <= 8_192
    else { return }
    for isURL in [false, true] {
      for shift in 0..<3 {
        let core = EncodedText.base64Core(of: bytes, shift: shift, isURL: isURL)
        if core.count >= 8 { insert(core, kind: kind, isCore: true) }
      }
    }
    for isUpper in [false, true] {
      insert(EncodedText.hexadecimal(of: bytes, isUpper: isUpper), kind: kind)
    }
    if bytes.contains(0x20) {
      insert(bytes.map { $0 == 0x20 ? UInt8(ascii: "+") : $0 }, kind: kind)
    }
  }

  @discardableResult
  private mutating func insert(_ bytes: [UInt8], kind: String, isCore: Bool = false) -> Bool {
    guard bytes.count >= 4, count < Self.limit else { return false }
    let head = bytes.withUnsafeBufferPointer { Self.head(of: $0, at: 0, isLong: bytes.count >= 8) }
    let hash = hash(of: bytes)
    guard let place = place(for: hash, length: bytes.count, head: head) else { return false }
    if heads.isEmpty { heads = [UInt64](repeating: 0, count: (1 << Self.headBits) / 64) }
    let bit = bytes.withUnsafeBufferPointer { Self.headBit(of: $0, at: 0) }
    heads[bit / 64] |= 1 << UInt64(bit % 64)
    let entry = Entry(bytes: bytes, kind: kind, isCore: isCore)
    if place.isLengthKnown {
      byHead[head]?[place.index].entries[hash] = entry
    } else {
      byHead[head, default: []].insert(
        Alike(length: bytes.count, entries: [hash: entry]), at: place.index)
    }
    count += 1
    return true
  }

  /// Where a text belongs among those that begin as it does; `nil` where it is there, or has no place.
  private func place(
    for hash: UInt64, length: Int, head: UInt64
  ) -> (index: Int, isLengthKnown: Bool)? {
    guard let alike = byHead[head] else { return (0, false) }
    let index = alike.firstIndex { $0.length <= length } ?? alike.count
    guard index < alike.count, alike[index].length == length else {
      return alike.count < Self.limitLengths ? (index, false) : nil
    }
    return alike[index].entries[hash] == nil ? (index, true) : nil
  }

  /// Where they stand, as they are or escaped, by places from the start of the slice on.
  ///
  /// - Complexity: O(*n*), up to ``UnescapedText/mostDepth`` times more for a text with escapes.
  func findings(in slice: ArraySlice<UInt8>) -> [CredentialScanner.Finding] {
    guard count > 0, slice.count >= 4 else { return [] }
    return slice.withUnsafeBufferPointer { text in
      var findings = findings(in: text)
      var unescaped = UnescapedText(text)
      var depth = 1
      while let plain = unescaped {
        findings += plain.bytes.withUnsafeBufferPointer { self.findings(in: $0) }.compactMap {
          finding in
          plain.place(of: finding.range).map {
            .init(range: $0, kind: finding.kind, isLookedFor: false)
          }
        }
        unescaped = depth < UnescapedText.mostDepth ? plain.unescaped() : nil
        depth += 1
      }
      return findings
    }
  }

  private func findings(in text: UnsafeBufferPointer<UInt8>) -> [CredentialScanner.Finding] {
    heads.withUnsafeBufferPointer { heads in
      var findings: [CredentialScanner.Finding] = []
      var hashes: [UInt64] = []
      var (index, last) = (0, 0)
      while index + 4 <= text.count {
        let bit = Self.headBit(of: text, at: index)
        guard heads[bit / 64] >> UInt64(bit % 64) & 1 == 1,
          let entry = entry(in: text, at: index, &hashes)
        else {
          index += 1
          continue
        }
        var range = index..<(index + entry.bytes.count)
        if entry.isCore { range = Self.widened(range, in: text, from: last) }
        findings.append(.init(range: range, kind: entry.kind, isLookedFor: !entry.isCore))
        index = range.upperBound
        last = index
      }
      return findings
    }
  }

  private func entry(
    in text: UnsafeBufferPointer<UInt8>, at index: Int, _ hashes: inout [UInt64]
  ) -> Entry? {
    for isLong in [true, false] where !isLong || index + 8 <= text.count {
      guard let alike = byHead[Self.head(of: text, at: index, isLong: isLong)] else { continue }
      for alike in alike where text.count - index >= alike.length {
        let range = index..<(index + alike.length)
        if let entry = candidate(of: alike, in: text, range, &hashes),
          text[range].elementsEqual(entry.bytes)
        {
          return entry
        }
      }
    }
    return nil
  }

  /// The one of equally long texts that a part of a text may be.
  private func candidate(
    of alike: Alike, in text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>,
    _ hashes: inout [UInt64]
  ) -> Entry? {
    if alike.entries.count == 1, alike.length <= Self.directBytes {
      return alike.entries.first?.value
    }
    if hashes.isEmpty { hashes = prefixHashes(of: text) }
    return alike.entries[hash(hashes, range)]
  }

  /// The bit in ``heads`` of the four bytes at a place.
  private static func headBit(of text: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
    let head = UnsafeRawBufferPointer(text).loadUnaligned(fromByteOffset: index, as: UInt32.self)
    return Int((head &* 0x9e37_79b1) >> UInt32(32 - headBits))
  }

  /// The first eight bytes, or four; those of short texts are told apart by a bit that no four bytes have.
  private static func head(
    of text: UnsafeBufferPointer<UInt8>, at index: Int, isLong: Bool
  ) -> UInt64 {
    var head: UInt64 = isLong ? 0 : 1 << 63
    for offset in 0..<(isLong ? 8 : 4) {
      head |= UInt64(text[index + offset]) << UInt64(8 * offset)
    }
    return head
  }

  /// All of the base64 around a place, within bounds: what is left of it would still tell a part.
  private static func widened(
    _ range: Range<Int>, in text: UnsafeBufferPointer<UInt8>, from first: Int
  ) -> Range<Int> {
    func isBase64(_ byte: UInt8) -> Bool {
      ByteClass.name.contains(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
    }
    var (start, end) = (range.lowerBound, range.upperBound)
    while start > first, range.lowerBound - start < 256, isBase64(text[start - 1]) { start -= 1 }
    while end < text.count, end - range.upperBound < 256, isBase64(text[end]) { end += 1 }
    while end < text.count, end - range.upperBound < 258, text[end] == UInt8(ascii: "=") {
      end += 1
    }
    return start..<end
  }

  // MARK: Hashes

  /// The remainders of a polynomial in `base`, which hold for each part of a text by two of them.
  private func prefixHashes(of text: UnsafeBufferPointer<UInt8>) -> [UInt64] {
    var hashes = [UInt64](repeating: 0, count: text.count + 1)
    for index in 0..<text.count { hashes[index + 1] = step(hashes[index], text[index]) }
    return hashes
  }

  private func hash(of bytes: [UInt8]) -> UInt64 { bytes.reduce(0) { step($0, $1) } }

  private func step(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
    Self.reduced(Self.product(hash, base) &+ UInt64(byte) &+ 1)
  }

  private func hash(_ hashes: [UInt64], _ range: Range<Int>) -> UInt64 {
    let before = Self.product(hashes[range.lowerBound], power(range.count))
    return Self.reduced(hashes[range.upperBound] &+ Self.prime &- before)
  }

  /// `base` to a power.
  private func power(_ exponent: Int) -> UInt64 {
    var (result, factor, rest) = (UInt64(1), base % Self.prime, exponent)
    while rest > 0 {
      if rest & 1 == 1 { result = Self.product(result, factor) }
      factor = Self.product(factor, factor)
      rest >>= 1
    }
    return result
  }

  /// 2 to the 61st less one, by which remainders are cheap.
  private static let prime: UInt64 = (1 << 61) - 1

  private static func product(_ first: UInt64, _ second: UInt64) -> UInt64 {
    let (high, low) = first.multipliedFullWidth(by: second)
    return reduced((low & prime) &+ (low >> 61 | high << 3))
  }

  private static func reduced(_ value: UInt64) -> UInt64 {
    let folded = (value & prime) &+ (value >> 61)
    return folded >= prime ? folded &- prime : folded
  }
}

/// A text as it stands in what encodes it.
enum EncodedText {
  private static let base64 = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let base64URL = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// The characters of base64 that a text alone decides, where it begins `shift` bytes behind a group.
  static func base64Core(of bytes: [UInt8], shift: Int, isURL: Bool) -> [UInt8] {
    let alphabet = isURL ? base64URL : base64
    // The first character that holds no bit of what stands before, and the first that holds one from behind.
    let first = (shift * 8 + 5) / 6
    let end = (shift + bytes.count) * 8 / 6
    guard end > first else { return [] }
    return (first..<end).map { place in
      let bit = place * 6 - shift * 8
      let high = UInt16(bytes[bit / 8]) << 8
      let low = bit / 8 + 1 < bytes.count ? UInt16(bytes[bit / 8 + 1]) : 0
      return alphabet[Int((high | low) >> UInt16(10 - bit % 8)) & 63]
    }
  }

  /// Two digits a byte.
  static func hexadecimal(of bytes: [UInt8], isUpper: Bool) -> [UInt8] {
    let digits = Array((isUpper ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
    return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
  }

  /// A number without what says the same in another way: `-1.50e3`, `1500` and `1500.0` are one.
  static func plainNumber(_ text: String) -> String {
    var digits: [UInt8] = []
    var (exponent, isBehindPoint) = (0, false)
    var rest = text.utf8[...]
    if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      rest.removeFirst()
    }
    while let byte = rest.popFirst() {
      switch byte {
      case 0x30...0x39:
        if !digits.isEmpty || byte != 0x30 { digits.append(byte) }
        if isBehindPoint { exponent -= 1 }
      case UInt8(ascii: "."): isBehindPoint = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        guard let power = Int(String(decoding: rest, as: UTF8.self)), abs(power) < 1_000 else {
          return text
        }
        exponent += power
        rest = rest[rest.endIndex...]
      default: return text
      }
    }
    while digits.last == 0x30 {
      digits.removeLast()
      exponent += 1
    }
    return String(decoding: digits, as: UTF8.self) + "e\(exponent)"
  }
}
