@_spi(Scanning) import AgentTrace

/// Copies the canonical text of an event's data, with every string in it that was said before put in
/// its place again, and a digest in the place of each list of a packet: what the event's digest is taken
/// of, without making values of it.
///
/// Every byte is looked at, and only text as this project writes it passes. Of any other, and of the
/// rare forms, the answer is no: then the plain way has to be gone.
///
/// Why: Docs/decisions/0005-text-before-values.md
struct CanonicalText {
  /// What was said before, as canonical text.
  protocol Earlier {
    /// Appends the string that a reference leads to.
    mutating func append(sameAs reference: String, to output: inout [UInt8]) -> Bool
    /// Begins a list of a packet, by its place among ``ContextPacket/listPointers``.
    mutating func begin(list: Int)
    /// Takes in list items that stood before.
    mutating func take(items first: Int, count: Int) -> Bool
    /// Takes in an item that stands here for the first time.
    mutating func take(item: ArraySlice<UInt8>)
    /// Ends the list; `nil` where not all that it holds is known.
    mutating func endList() -> ListDigest?
  }

  /// Behind what was looked at.
  private(set) var scanner: LineScanner
  /// From where on what was looked at is not in the output yet.
  private var copied: Int
  /// Where in the output the value of each of the keys looked for stands; empty where there is none.
  private(set) var found = InlineArray<8, Range<Int>>(repeating: 0..<0)
  /// Where the value of the key `data` stands, if the data have it.
  private(set) var result: Range<Int>?
  /// Whether what was looked at is for certain the one way in which this project writes it. Not known where a packet's
  /// list stands as an array.
  private(set) var isCanonical = true
  /// The bits of the strings looked at, and perhaps of some bytes behind them.
  private var seen: UInt64 = 0

  /// What may stand in a line's place of all its references, and no more.
  static let outputLimitBytes = LogFormat.expandedLimitBytes
  /// Deeper values are left to the plain way, which knows the limit.
  private static let depthLimit = 96

  /// Begins where a scanner is.
  init(_ scanner: LineScanner) {
    self.scanner = scanner
    copied = scanner.position
  }

  /// Whether no string looked at holds a byte of 0x80 or above, as far as that is known without looking
  /// again: perhaps false where none does.
  var isASCII: Bool { UnsafeBufferPointer<UInt8>.isASCII(seen: seen) }

  // MARK: Data

  /// Copies an event's data, an object, without some of its keys.
  ///
  /// - Parameter wanted: the keys whose values are looked for, at most eight; see ``found``.
  mutating func copyData(
    without excluded: [StaticString], lookingFor wanted: [StaticString] = [],
    ofPacket isPacket: Bool, from earlier: inout some Earlier, to output: inout [UInt8]
  ) -> Bool {
    guard wanted.count <= found.count, scanner.skip(UInt8(ascii: "{")) else { return false }
    output.append(UInt8(ascii: "{"))
    guard !scanner.skip(UInt8(ascii: "}")) else {
      output.append(UInt8(ascii: "}"))
      return true
    }
    var lastKey: Range<Int>?
    var isFirst = true
    repeat {
      copied = scanner.position
      guard let key = key(behind: lastKey) else { return false }
      lastKey = key
      let end = output.count
      if !isFirst { output.append(UInt8(ascii: ",")) }
      guard member(key, isPacket: isPacket, &earlier, &output) else { return false }
      if excluded.contains(where: { scanner.isText($0, at: key) }) {
        output.removeLast(output.count - end)
      } else {
        flush(to: &output)
        // Behind a comma, but for the first; the key's quotes and colon.
        let range = (end + (isFirst ? 0 : 1) + key.count + 3)..<output.count
        for index in 0..<wanted.count where scanner.isText(wanted[index], at: key) {
          found[index] = range
        }
        if scanner.isText("data", at: key) { result = range }
        isFirst = false
      }
    } while scanner.skip(UInt8(ascii: ","))
    guard scanner.skip(UInt8(ascii: "}")) else { return false }
    output.append(UInt8(ascii: "}"))
    copied = scanner.position
    return true
  }

  /// The value of a member of the data. A packet's lists stand at the top, or in its prompt.
  private mutating func member(
    _ key: Range<Int>, isPacket: Bool, _ earlier: inout some Earlier, _ output: inout [UInt8]
  ) -> Bool {
    guard isPacket else { return value(1, &earlier, &output) }
    if scanner.isText("prompt", at: key), scanner.byte == UInt8(ascii: "{") {
      return prompt(&earlier, &output)
    }
    guard let list = Self.listKeys.first(where: { scanner.isText($0.key, at: key) })?.list else {
      return value(1, &earlier, &output)
    }
    return listOrValue(list, 1, &earlier, &output)
  }

  /// By their places among ``ContextPacket/listPointers``.
  private static let listKeys: [(key: StaticString, list: Int)] = [
    ("evidenceRefs", 0), ("included", 1), ("memoryRefs", 2), ("observations", 3),
    ("omittedRefs", 4), ("toolsDisclosed", 6),
  ]
  private static let messages = 5

  private mutating func prompt(_ earlier: inout some Earlier, _ output: inout [UInt8]) -> Bool {
    guard scanner.skip(UInt8(ascii: "{")) else { return false }
    if scanner.skip(UInt8(ascii: "}")) { return true }
    var lastKey: Range<Int>?
    repeat {
      guard let key = key(behind: lastKey) else { return false }
      lastKey = key
      let isList = scanner.isText("messages", at: key)
      guard
        isList
          ? listOrValue(Self.messages, 2, &earlier, &output) : value(2, &earlier, &output)
      else { return false }
    } while scanner.skip(UInt8(ascii: ","))
    return scanner.skip(UInt8(ascii: "}"))
  }

  private mutating func listOrValue(
    _ list: Int, _ depth: Int, _ earlier: inout some Earlier, _ output: inout [UInt8]
  ) -> Bool {
    let start = scanner.position
    guard scanner.skip("{\"$list\":[") else {
      isCanonical = false
      return value(depth, &earlier, &output)
    }
    output.append(contentsOf: scanner.bytes(copied..<start))
    earlier.begin(list: list)
    if !scanner.skip(UInt8(ascii: "]")) {
      repeat {
        copied = scanner.position
        guard entry(depth + 2, &earlier, &output) else { return false }
      } while scanner.skip(UInt8(ascii: ","))
      guard scanner.skip(UInt8(ascii: "]")) else { return false }
    }
    guard scanner.skip(UInt8(ascii: "}")), let digest = earlier.endList() else { return false }
    digest.append(to: &output)
    copied = scanner.position
    return true
  }

  /// One entry of a list: a run of earlier items, or an item.
  private mutating func entry(
    _ depth: Int, _ earlier: inout some Earlier, _ output: inout [UInt8]
  ) -> Bool {
    if scanner.skip(UInt8(ascii: "[")) {
      guard let first = scanner.number(), scanner.skip(UInt8(ascii: ",")),
        let count = scanner.number(), count > 0,
        scanner.skip(UInt8(ascii: "]")), earlier.take(items: first, count: count)
      else { return false }
      copied = scanner.position
      return true
    }
    let begin = output.count
    guard value(depth, &earlier, &output) else { return false }
    flush(to: &output)
    earlier.take(item: output[begin...])
    output.removeLast(output.count - begin)
    return true
  }

  // MARK: Values

  private mutating func value(
    _ depth: Int, _ earlier: inout some Earlier, _ output: inout [UInt8]
  ) -> Bool {
    switch scanner.byte {
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: "{"): return object(depth, &earlier, &output)
    case UInt8(ascii: "["): return array(depth, &earlier, &output)
    case UInt8(ascii: "t"): return scanner.skip("true")
    case UInt8(ascii: "f"): return scanner.skip("false")
    case UInt8(ascii: "n"): return scanner.skip("null")
    default: return skipNumber()
    }
  }

  private mutating func array(
    _ depth: Int, _ earlier: inout some Earlier, _ output: inout [UInt8]
  ) -> Bool {
    guard depth < Self.depthLimit, scanner.skip(UInt8(ascii: "[")) else { return false }
    if scanner.skip(UInt8(ascii: "]")) { return true }
    repeat {
      guard value(depth + 1, &earlier, &output) else { return false }
    } while scanner.skip(UInt8(ascii: ","))
    return scanner.skip(UInt8(ascii: "]"))
  }

  private mutating func object(
    _ depth: Int, _ earlier: inout some Earlier, _ output: inout [UInt8]
  ) -> Bool {
    guard depth < Self.depthLimit else { return false }
    if scanner.isAtForm { return same(&earlier, &output) }
    guard scanner.skip(UInt8(ascii: "{")) else { return false }
    if scanner.skip(UInt8(ascii: "}")) { return true }
    var lastKey: Range<Int>?
    repeat {
      guard let key = key(behind: lastKey), value(depth + 1, &earlier, &output) else {
        return false
      }
      lastKey = key
    } while scanner.skip(UInt8(ascii: ","))
    return scanner.skip(UInt8(ascii: "}"))
  }

  /// `{"$same":"…"}`; any other key with a `$` is left to the plain way.
  private mutating func same(_ earlier: inout some Earlier, _ output: inout [UInt8]) -> Bool {
    flush(to: &output)
    guard scanner.skip("{\"$same\":"), let reference = scanner.quotedName(),
      scanner.skip(UInt8(ascii: "}")),
      earlier.append(sameAs: scanner.text(reference), to: &output)
    else { return false }
    copied = scanner.position
    return output.count <= Self.outputLimitBytes
  }

  /// A key without escapes that stands behind the one before, its colon stepped over. None that begins
  /// with a `$`: such keys may have a meaning of their own.
  private mutating func key(behind last: Range<Int>?) -> Range<Int>? {
    guard scanner.skip(UInt8(ascii: "\"")), scanner.byte != UInt8(ascii: "$") else { return nil }
    let begin = scanner.position
    scanner.skipPlain(seen: &seen)
    let key = begin..<scanner.position
    guard scanner.skip("\":"), last.map({ scanner.precedes($0, key) }) ?? true else { return nil }
    return key
  }

  /// Steps over a string and says where it stands; `nil` where it is not in canonical form.
  mutating func literal() -> Range<Int>? {
    let begin = scanner.position
    return string() ? begin..<scanner.position : nil
  }

  /// A string with only such escapes as this project writes.
  private mutating func string() -> Bool {
    guard scanner.skip(UInt8(ascii: "\"")) else { return false }
    while true {
      scanner.skipPlain(seen: &seen)
      if scanner.skip(UInt8(ascii: "\"")) { return true }
      guard scanner.skip(UInt8(ascii: "\\")), escape() else { return false }
    }
  }

  private mutating func escape() -> Bool {
    switch scanner.next() {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return true
    case UInt8(ascii: "u"):
      guard scanner.skip("00") else { return false }
      let (high, low) = (scanner.next(), scanner.next())
      let isHex = (0x30...0x39).contains(low) || (0x61...0x66).contains(low)
      // Those of 08, 09, 0a, 0c and 0d have short forms.
      let isShort = high == UInt8(ascii: "0") && "89acd".utf8.contains(low)
      return high & 0xfe == UInt8(ascii: "0") && isHex && !isShort
    default: return false
    }
  }

  private mutating func skipNumber() -> Bool {
    _ = scanner.skip(UInt8(ascii: "-"))
    let first = scanner.byte
    let whole = scanner.skipDigits()
    guard whole == 1 || (whole > 1 && first != UInt8(ascii: "0")) else { return false }
    if scanner.skip(UInt8(ascii: ".")), scanner.skipDigits() == 0 { return false }
    guard scanner.byte | 0x20 == UInt8(ascii: "e") else { return true }
    _ = scanner.next()
    if !scanner.skip(UInt8(ascii: "+")) { _ = scanner.skip(UInt8(ascii: "-")) }
    return scanner.skipDigits() > 0
  }

  private mutating func flush(to output: inout [UInt8]) {
    output.append(contentsOf: scanner.bytes(copied..<scanner.position))
    copied = scanner.position
  }
}
