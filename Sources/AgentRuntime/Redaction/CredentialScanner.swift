/// Finds credentials in a text by their forms, their names and what they stand in, in one pass.
///
/// A table of bytes says where something may begin, so that most of a text is stepped over a byte at a time; what
/// is then looked at ends within fixed bounds, or goes on behind what it found.
struct CredentialScanner {
  /// Where a credential stands.
  struct Finding {
    var range: Range<Int>
    var kind: String
    /// Whether the same text is withheld wherever else it is said.
    var isLookedFor = true
  }

  /// What a byte may begin.
  private enum Trait {
    static let plain: UInt8 = 0
    /// Letters and digits.
    static let word: UInt8 = 1
    /// A sign behind a name, an escape, a flag, a key in PEM.
    static let sign: UInt8 = 2
  }

  private static let traits: [UInt8] = (0...255).map { byte in
    if ByteClass.alphanumeric.contains(UInt8(byte)) { return Trait.word }
    // The first bytes of a full-width colon and of dashes stand for other characters as well.
    return Array("=:-\\%>|({,/$_?".utf8).contains(UInt8(byte)) || byte == 0xef || byte == 0xe2
      ? Trait.sign : Trait.plain
  }

  let text: UnsafeBufferPointer<UInt8>
  private let table: FormTable
  private let buckets: UnsafeBufferPointer<UInt16>
  private var findings: [Finding] = []
  /// How far the values of statements were read, so that each is read once.
  private var readTo = 0
  /// What stands in lists, and how far they were read.
  private var listed: [Finding] = []
  private var listedTo = 0
  /// Whether a key of JSON Web Keys stands somewhere in the text, once that was asked.
  private var isWebKeyThere: Bool?

  /// Every credential in a text, in order; none overlaps another.
  ///
  /// - Complexity: O(*n*).
  static func findings(in text: UnsafeBufferPointer<UInt8>) -> [Finding] {
    guard text.count >= 6 else { return [] }
    let table = FormTable.shared
    return table.buckets.withUnsafeBufferPointer { buckets in
      var scanner = CredentialScanner(text: text, table: table, buckets: buckets)
      scanner.scan()
      return scanner.findings
    }
  }

  private init(
    text: UnsafeBufferPointer<UInt8>, table: FormTable, buckets: UnsafeBufferPointer<UInt16>
  ) {
    self.text = text
    self.table = table
    self.buckets = buckets
  }

  private mutating func scan() {
    var index = 0
    Self.traits.withUnsafeBufferPointer { traits in
      while index < text.count {
        switch traits[Int(text[index])] {
        case Trait.plain: index += 1
        case Trait.word: index = max(index + 1, word(at: index, traits))
        // What is found may stand before the sign.
        default: index = max(index + 1, sign(at: index))
        }
      }
    }
    for (kind, length) in Self.secretsBesideNames
    where findings.contains(where: { $0.kind == kind }) {
      findSecrets(ofLength: length, beside: kind)
    }
    add(listed + columns())
  }

  /// Looks at a word where it begins; returns where to go on.
  private mutating func word(at start: Int, _ traits: UnsafeBufferPointer<UInt8>) -> Int {
    if let found = form(at: start) { return take(found) }
    var end = start + 1
    while end < text.count, traits[Int(text[end])] == Trait.word { end += 1 }
    if end - start >= 5, let found = openForm(at: start, wordEnd: end) { return take(found) }
    let first = text[start]
    if (0x30...0x39).contains(first), let card = cardNumber(at: start) {
      return take(Finding(range: card, kind: "card"))
    }
    if let found = piped(from: start, wordEnd: end) { return take(found) }
    if end - start <= 6, let found = statement(at: start, wordEnd: end) { return take(found) }
    if let found = said(at: start, wordEnd: end) { return max(end, take(tail: found)) }
    if end - start == 6, first | 0x20 == UInt8(ascii: "v"), start >= readTo {
      let found = insertedValues(behind: start, wordEnd: end)
      readTo = found.end
      for finding in found.findings.dropLast() { _ = take(finding) }
      if let last = found.findings.last { return take(last) }
    }
    return end
  }

  /// What a sentence calls a secret, by the word that begins at `start`.
  private func said(at start: Int, wordEnd: Int) -> Finding? {
    if start > 1, text[start - 1] >= 0x80 || text[start - 2] >= 0x80 || text[start - 1] < 0x30,
      let found = behindLetters(at: start)
    {
      return found
    }
    guard wordEnd - start < 14, wordEnd < text.count else { return nil }
    return spoken(at: start, nameEnd: wordEnd) ?? toldBefore(as: start, wordEnd: wordEnd)
      ?? loginPair(at: start, wordEnd: wordEnd)
  }

  /// Looks at a sign; returns where to go on.
  private mutating func sign(at index: Int) -> Int {
    switch text[index] {
    case UInt8(ascii: "\\"):
      // A word begins behind `\n`, though an `n` stands before it.
      guard index + 1 < text.count else { return index + 1 }
      switch text[index + 1] {
      case UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"): return index + 2
      case UInt8(ascii: "u"):
        let end = ByteClass.hex.end(in: text, from: index + 2, most: 4)
        return end == index + 6 ? end : index + 1
      default: return index + 1
      }
    case UInt8(ascii: "%"):
      if let found = escapedAssignment(at: index) { return take(found) }
      let end = ByteClass.hex.end(in: text, from: index + 1, most: 2)
      return end == index + 3 ? end : index + 1
    case UInt8(ascii: "-"):
      if let found = privateKey(at: index) ?? flag(at: index) { return take(found) }
      if let tail = keyTail(endingAt: index) {
        return take(tail: tail)
      }
      if index + 1 < text.count, text[index + 1] == UInt8(ascii: ">"),
        let found = changed(at: index) ?? arrow(at: index)
      {
        return take(found)
      }
      if index > 0, index + 1 < text.count, text[index - 1] == 0x20, text[index + 1] == 0x20,
        let found = dashed(at: index, length: 1)
      {
        return take(found)
      }
    case UInt8(ascii: "/"), UInt8(ascii: "$"):
      if let found = form(at: index) { return take(found) }
    case 0xef:
      if let found = announcedInFullWidth(at: index) { return take(found) }
    case 0xe2:
      if let length = dashLength(at: index), let found = dashed(at: index, length: length) {
        return take(found)
      }
    case UInt8(ascii: "_"):
      if let found = form(at: index) ?? spaced(at: index) { return take(found) }
    case UInt8(ascii: ":"):
      if index + 2 < text.count, text[index + 1] == UInt8(ascii: "/"),
        text[index + 2] == UInt8(ascii: "/")
      {
        let found = login(at: index + 3)
        for finding in found.dropLast() { _ = take(finding) }
        return found.last.map { take($0) } ?? index + 1
      }
      if let found = assignment(at: index) ?? puttyKey(at: index) { return take(found) }
      readList(behind: index)
      if let found = webKeyPart(at: index), hasWebKey() { return take(found) }
    default:
      if let found = assignment(at: index) {
        return found.range.lowerBound < index ? take(tail: found) : take(found)
      }
      if text[index] == UInt8(ascii: "=") { readList(behind: index) }
    }
    return index + 1
  }

  /// Takes in what was found; returns where to go on. A bound on a length may have cut a character.
  private mutating func take(_ finding: Finding) -> Int {
    var end = finding.range.upperBound
    while end < text.count, text[end] & 0xc0 == 0x80 { end += 1 }
    var finding = finding
    finding.range = finding.range.lowerBound..<end
    findings.append(finding)
    return end
  }

  /// Takes in what begins before the place that is looked at, and whatever was found within.
  private mutating func take(tail: Finding) -> Int {
    if let last = findings.last, last.range.upperBound >= tail.range.upperBound {
      return last.range.upperBound
    }
    while let last = findings.last, last.range.lowerBound >= tail.range.lowerBound {
      findings.removeLast()
    }
    let start = max(tail.range.lowerBound, findings.last?.range.upperBound ?? 0)
    var tail = tail
    tail.range = start..<tail.range.upperBound
    return take(tail)
  }

  /// `"api_keys": ["VALUE", …]`, `tokens = {"ana": "VALUE"}`: keeps what looks like a secret in a list, or an object,
  /// whose name says so. What stands between is looked at as before.
  private mutating func readList(behind sign: Int) {
    var open = sign + 1
    while open < text.count, open - sign < 3, text[open] == 0x20 { open += 1 }
    guard open + 8 < text.count, open >= listedTo,
      text[open] == UInt8(ascii: "[") || text[open] == UInt8(ascii: "{"),
      let name = name(before: sign), let kind = SecretName.kind(of: text, name)
    else { return }
    var index = open + 1
    while index < text.count, index - open < 2_048, !"[]{}".utf8.contains(text[index]) {
      guard text[index] == UInt8(ascii: "\"") || text[index] == UInt8(ascii: "'"),
        let value = quoted(from: index)
      else {
        index += 1
        continue
      }
      if isListed(value, kind) {
        listed.append(form(at: value.lowerBound) ?? Finding(range: value, kind: "password"))
      }
      index = max(index, value.upperBound) + 1
    }
    listedTo = index
  }

  private func isListed(_ value: Range<Int>, _ kind: SecretName.Kind) -> Bool {
    switch kind {
    case .password: return looksTold(value, least: 6) || isPassphrase(value)
    case .secret, .key, .weak:
      let least = if case .weak = kind { 20 } else { 12 }
      return SecretValue.looksRandom(text, value, least: least) && looksTold(value, least: least)
        && !SecretValue.isDigest(text, value)
        && value.allSatisfy { ByteClass.token68.contains(text[$0]) }
    case .header, .address, .card, .digits: return false
    }
  }

  private mutating func hasWebKey() -> Bool {
    if let isWebKeyThere { return isWebKeyThere }
    let isThere = find(Array("kty".utf8), from: 0, within: text.count) != nil
    isWebKeyThere = isThere
    return isThere
  }

  // MARK: Forms

  /// A credential whose form begins here.
  func form(at index: Int) -> Finding? {
    guard text.count - index >= 8 else { return nil }
    let slot = FormTable.slot(text[index], text[index + 1], text[index + 2])
    let bucket = buckets[slot]
    guard bucket > 0 else { return nil }
    for form in table.forms[Int(bucket)] {
      if let range = form.match(in: text, at: index) {
        return Finding(range: range, kind: form.kind)
      }
    }
    return nil
  }

  /// A credential whose form begins with a set of bytes, where a word stands that may be its first part.
  private func openForm(at start: Int, wordEnd: Int) -> Finding? {
    let length = wordEnd - start
    for place in table.openings.indices {
      let opening = table.openings[place]
      // What follows a part of a certain length stands at a certain place; else it ends the word.
      let next = opening.least == opening.most ? start + opening.least : wordEnd
      guard next < text.count, text[next] == opening.next,
        opening.least == opening.most || (opening.least...opening.most).contains(length)
      else { continue }
      let form = table.open[place]
      if let range = form.match(in: text, at: start) {
        return Finding(range: range, kind: form.kind)
      }
    }
    return nil
  }

  /// Clouds whose secret keys have no form but their length.
  private static let secretsBesideNames = [("aws", 40), ("alibaba", 30), ("tencent", 32)]

  /// The secret keys of AWS have no form but 40 bytes of base64; beside an identifier that is enough.
  private mutating func findSecrets(ofLength length: Int, beside kind: String) {
    let near = findings.filter { $0.kind == kind }.map(\.range)
    var found: [Finding] = []
    var searched = 0
    for range in near {
      var index = max(searched, range.lowerBound - 400)
      let limit = min(text.count, range.upperBound + 400)
      while index < limit {
        guard ByteClass.base64.contains(text[index]), text[index] != UInt8(ascii: "=") else {
          index += 1
          continue
        }
        let end = ByteClass.base64.end(in: text, from: index, most: 200)
        if end - index == length, SecretValue.looksRandom(text, index..<end),
          SecretValue.sorts(text, index..<end) >= 3
        {
          found.append(Finding(range: index..<end, kind: kind))
        }
        index = max(end, index + 1)
      }
      searched = max(searched, index)
    }
    add(found)
  }

  /// Takes in findings of which some may be there.
  private mutating func add(_ found: [Finding]) {
    guard !found.isEmpty else { return }
    findings = (findings + found).sorted { $0.range.lowerBound < $1.range.lowerBound }
    var apart: [Finding] = []
    for finding in findings where finding.range.lowerBound >= apart.last?.range.upperBound ?? 0 {
      apart.append(finding)
    }
    findings = apart
  }

  // MARK: Bytes

  func starts(with bytes: [UInt8], at index: Int) -> Bool {
    guard index >= 0, text.count - index >= bytes.count else { return false }
    for (offset, byte) in bytes.enumerated() where text[index + offset] != byte { return false }
    return true
  }

  func find(_ bytes: [UInt8], from start: Int, within count: Int) -> Int? {
    var index = start
    while index + bytes.count <= text.count, index - start <= count {
      if starts(with: bytes, at: index) { return index }
      index += 1
    }
    return nil
  }
}

/// The forms of ``CredentialRules`` by the three bytes that they begin with.
private struct FormTable {
  static let shared = FormTable()

  /// Places in `forms` by three bytes; 0 for none.
  private(set) var buckets = [UInt16](repeating: 0, count: 4096)
  private(set) var forms: [[CredentialForm]] = [[]]
  /// Those that begin with a set of bytes, and where what follows it stands.
  private(set) var open: [CredentialForm] = []
  private(set) var openings: [(least: Int, most: Int, next: UInt8)] = []

  private init() {
    var bySlot: [Int: [CredentialForm]] = [:]
    for form in CredentialRules.all {
      if let opening = form.opening {
        open.append(form)
        openings.append(opening)
      }
      for prefix in Self.beginnings(of: form) {
        bySlot[Self.slot(prefix[0], prefix[1], prefix[2]), default: []].append(form)
      }
    }
    for slot in bySlot.keys.sorted() {
      guard let found = bySlot[slot] else { continue }
      buckets[slot] = UInt16(forms.count)
      // The longest prefix first: `sk-ant-` is more than `sk-`.
      forms.append(
        found.enumerated().sorted {
          ($1.element.prefix.count, $0.offset) < ($0.element.prefix.count, $1.offset)
        }.map(\.element))
    }
  }

  /// The three bytes that a form may begin with; a shorter prefix goes on with each byte of its first set.
  private static func beginnings(of form: CredentialForm) -> [[UInt8]] {
    let prefix = form.prefix
    if prefix.count >= 3 { return [Array(prefix.prefix(3))] }
    guard prefix.count == 2, form.parts.count > 1, case .run(let set, _, _) = form.parts[1] else {
      return []
    }
    return (UInt8(0x21)...0x7e).filter(set.contains).map { prefix + [$0] }
  }

  static func slot(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Int {
    (Int(first) &* 0x9e5 ^ Int(second) &* 0x1f3 ^ Int(third) &* 0x2b) & 4095
  }
}
