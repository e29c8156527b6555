import AgentTrace

/// Finds credentials in a text by their forms, in one pass.
struct CredentialScanner {
  /// Where a credential stands.
  struct Finding {
    var range: Range<Int>
    var kind: String
  }

  /// The forms that may begin with a byte.
  private static let formsByFirst: [[CredentialForms.Form]] = {
    var table = [[CredentialForms.Form]](repeating: [], count: 256)
    for form in CredentialForms.all { table[Int(form.prefix[0])].append(form) }
    return table
  }()

  private let text: UnsafeBufferPointer<UInt8>
  private var findings: [Finding] = []

  /// Every credential in a text, in order; none overlaps another.
  ///
  /// - Complexity: O(*n*).
  static func findings(in text: UnsafeBufferPointer<UInt8>) -> [Finding] {
    var scanner = CredentialScanner(text: text)
    scanner.scan()
    return scanner.findings
  }

  private init(text: UnsafeBufferPointer<UInt8>) { self.text = text }

  private mutating func scan() {
    var index = 0
    while index < text.count {
      let byte = text[index]
      if let finding = finding(at: index, byte) {
        findings.append(finding)
        index = finding.range.upperBound
      } else {
        index += 1
      }
    }
  }

  private func finding(at index: Int, _ byte: UInt8) -> Finding? {
    switch byte {
    case UInt8(ascii: "-"): if let key = privateKey(at: index) { return key }
    case UInt8(ascii: ":"):
      if let found = passwordInURL(at: index) ?? assignment(at: index) { return found }
    case UInt8(ascii: "="): if let found = assignment(at: index) { return found }
    case UInt8(ascii: "B"), UInt8(ascii: "b"): if let found = scheme(at: index) { return found }
    default: break
    }
    let forms = Self.formsByFirst[Int(byte)]
    guard !forms.isEmpty, isBoundary(before: index) else { return nil }
    for form in forms where starts(with: form.prefix, at: index) {
      let start = index + form.prefix.count
      let end = end(of: form.alphabet, from: start)
      if end - start >= form.least { return Finding(range: index..<end, kind: form.kind) }
    }
    return nil
  }

  // MARK: Forms without a prefix of their own

  /// `-----BEGIN … PRIVATE KEY-----` up to its end, or that of the text.
  private func privateKey(at index: Int) -> Finding? {
    guard starts(with: Self.pemStart, at: index) else { return nil }
    let name = index + Self.pemStart.count
    guard let nameEnd = find(Self.pemDashes, from: name, within: 60),
      text[name..<nameEnd].reversed().starts(with: Self.privateKeyReversed)
    else { return nil }
    guard let footer = find(Self.pemEnd, from: nameEnd, within: 1 << 16),
      let end = find(Self.pemDashes, from: footer + Self.pemEnd.count, within: 80)
    else { return Finding(range: index..<text.count, kind: "private-key") }
    return Finding(range: index..<(end + Self.pemDashes.count), kind: "private-key")
  }

  /// The password of `scheme://user:password@host`, whose second colon is at `index`.
  private func passwordInURL(at index: Int) -> Finding? {
    let isEnd: (UInt8) -> Bool = {
      $0 <= 0x20 || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "<")
    }
    var start = index
    while start > 0, index - start < 256, !isEnd(text[start - 1]),
      text[start - 1] != UInt8(ascii: ":")
    {
      start -= 1
    }
    guard start >= 3, text[start - 1] == UInt8(ascii: "/"), text[start - 2] == UInt8(ascii: "/"),
      text[start - 3] == UInt8(ascii: ":")
    else { return nil }
    var end = index + 1
    while end < text.count, end - index <= 256, !isEnd(text[end]), text[end] != UInt8(ascii: "@") {
      end += 1
    }
    guard end < text.count, text[end] == UInt8(ascii: "@"), end > index + 1 else { return nil }
    return Finding(range: (index + 1)..<end, kind: "password")
  }

  /// The token of `Bearer TOKEN` and `Basic TOKEN` (RFC 6750, RFC 7617).
  private func scheme(at index: Int) -> Finding? {
    guard isBoundary(before: index) else { return nil }
    for name in [Self.bearer, Self.basic] where startsIgnoringCase(with: name, at: index) {
      var start = index + name.count
      let first = start
      while start < text.count, text[start] == 0x20 { start += 1 }
      let end = end(of: .token68, from: start)
      guard start > first, end - start >= 16, isMixed(start..<end) else { continue }
      return Finding(range: start..<end, kind: "authorization")
    }
    return nil
  }

  /// The value of `password=VALUE`, `"api_key": "VALUE"` and their like, whose sign is at `index`.
  private func assignment(at index: Int) -> Finding? {
    var end = index
    while end > 0,
      text[end - 1] == 0x20 || text[end - 1] == UInt8(ascii: "\"")
        || text[end - 1] == UInt8(ascii: "'") || text[end - 1] == UInt8(ascii: "\\")
    {
      end -= 1
      if index - end > 4 { return nil }
    }
    var start = end
    while start > 0, end - start <= 40, CredentialForms.Alphabet.word.contains(text[start - 1]) {
      start -= 1
    }
    guard end - start >= 3, end - start <= 40,
      CredentialForms.isKey(Self.lastName(text[start..<end]))
    else { return nil }
    var first = index + 1
    while first < text.count, first - index <= 4, Self.isQuoteOrSpace(text[first]) { first += 1 }
    var last = first
    while last < text.count, last - first < 4_096, !Self.isQuoteOrSpace(text[last]),
      ![
        UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "&"), UInt8(ascii: "}"),
        UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "<"), UInt8(ascii: "\n"),
      ]
      .contains(text[last])
    {
      last += 1
    }
    let value = first..<last
    guard value.count >= 8, isMixed(value),
      !text[value].starts(with: Self.tokenStart)
    else { return nil }
    return Finding(range: value, kind: "password")
  }

  /// Of a name as `DB_PASSWORD` the parts that make a key: the longest ending of them that is one.
  private static func lastName(_ name: Slice<UnsafeBufferPointer<UInt8>>) -> String {
    var rest = name
    while true {
      let text = String(decoding: rest, as: UTF8.self)
      if CredentialForms.isKey(text) { return text }
      guard
        let separator = rest.firstIndex(where: {
          $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
        })
      else { return text }
      rest = rest[(separator + 1)...]
    }
  }

  private static func isQuoteOrSpace(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")
      || byte == UInt8(ascii: "`") || byte == UInt8(ascii: "\\")
  }

  // MARK: Bytes

  private static let pemStart = Array("-----BEGIN ".utf8)
  private static let pemEnd = Array("-----END ".utf8)
  private static let pemDashes = Array("-----".utf8)
  private static let privateKeyReversed = Array(Array("PRIVATE KEY".utf8).reversed())
  private static let bearer = Array("bearer".utf8)
  private static let basic = Array("basic".utf8)
  private static let tokenStart = Array("«redacted:".utf8)

  /// Whether a word may begin here.
  private func isBoundary(before index: Int) -> Bool {
    index == 0 || !CredentialForms.Alphabet.alphanumeric.contains(text[index - 1])
  }

  private func starts(with bytes: [UInt8], at index: Int) -> Bool {
    text.count - index >= bytes.count && text[index..<(index + bytes.count)].elementsEqual(bytes)
  }

  private func startsIgnoringCase(with lowerCase: [UInt8], at index: Int) -> Bool {
    text.count - index >= lowerCase.count
      && text[index..<(index + lowerCase.count)].lazy.map { $0 | 0x20 }.elementsEqual(lowerCase)
  }

  private func find(_ bytes: [UInt8], from start: Int, within count: Int) -> Int? {
    var index = start
    while index + bytes.count <= text.count, index - start <= count {
      if starts(with: bytes, at: index) { return index }
      index += 1
    }
    return nil
  }

  private func end(of alphabet: CredentialForms.Alphabet, from start: Int) -> Int {
    var end = start
    while end < text.count, alphabet.contains(text[end]) { end += 1 }
    // A sentence ends with a full stop, not with a credential.
    while end > start, text[end - 1] == UInt8(ascii: ".") { end -= 1 }
    return end
  }

  /// Whether there are letters as well as digits: words and counts are no credentials.
  private func isMixed(_ range: Range<Int>) -> Bool {
    let bytes = text[range]
    return bytes.contains { (0x30...0x39).contains($0) }
      && bytes.contains { (0x41...0x5a).contains($0 & 0xdf) }
  }
}
