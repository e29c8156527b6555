@_spi(Scanning) import AgentTrace

/// Copies the canonical text of an event's data, with everything in it that was said before put in
/// its place again: what a digest of the resolved data is taken of, without making values of it.
///
/// Every byte is looked at, and only text as this project writes it passes. Of any other, and of the
/// rare forms, the answer is no: then the plain way has to be gone.
struct CanonicalText {
  /// What was said before, as canonical text.
  protocol Earlier {
    /// Appends the string that a reference leads to.
    mutating func append(sameAs reference: String, to output: inout [UInt8]) -> Bool
    /// Appends list items that stood before, with commas between them.
    mutating func append(items first: Int, count: Int, to output: inout [UInt8]) -> Bool
    /// Takes in an item that stands here for the first time.
    mutating func add(item: ArraySlice<UInt8>)
  }

  private let text: UnsafeBufferPointer<UInt8>
  private let start: UnsafePointer<UInt8>
  /// Behind what was looked at.
  private(set) var position: Int
  /// From where on what was looked at is not in the output yet.
  private var copied: Int
  /// Where in the output the value of each of the keys looked for stands; empty where there is none.
  private(set) var found = InlineArray<4, Range<Int>>(repeating: 0..<0)
  /// Where the value of the key `data` stands, if the data have it.
  private(set) var result: Range<Int>?
  /// The bits of the strings looked at, and perhaps of some bytes behind them.
  private var seen: UInt64 = 0

  /// What may stand in a line's place of all its references, and no more.
  static let outputLimitBytes = 8 * 1024 * 1024
  /// Deeper values are left to the plain way, which knows the limit.
  private static let depthLimit = 96

  /// Begins at a position of a line.
  init?(_ text: UnsafeBufferPointer<UInt8>, at position: Int) {
    guard let start = text.baseAddress else { return nil }
    self.text = text
    self.start = start
    self.position = position
    copied = position
  }

  /// Whether no string looked at holds a byte of 0x80 or above, as far as that is known without looking
  /// again: perhaps false where none does.
  var isASCII: Bool { UnsafeBufferPointer<UInt8>.isASCII(seen: seen) }

  // MARK: Data

  /// Copies an event's data, an object, without some of its keys.
  ///
  /// - Parameter wanted: the keys whose values are looked for, at most four; see ``found``.
  mutating func copyData(
    without excluded: [StaticString], lookingFor wanted: [StaticString] = [],
    ofPacket isPacket: Bool, from earlier: inout some Earlier, to output: inout [UInt8]
  ) -> Bool {
    guard wanted.count <= found.count, skip(UInt8(ascii: "{")) else { return false }
    output.append(UInt8(ascii: "{"))
    guard !skip(UInt8(ascii: "}")) else {
      output.append(UInt8(ascii: "}"))
      return true
    }
    var lastKey: Range<Int>?
    var isFirst = true
    repeat {
      copied = position
      guard let key = key(behind: lastKey), byte(at: key.lowerBound) != UInt8(ascii: "$") else {
        return false
      }
      lastKey = key
      let end = output.count
      if !isFirst { output.append(UInt8(ascii: ",")) }
      guard member(key, isPacket: isPacket, &earlier, &output) else { return false }
      if excluded.contains(where: { isText($0, at: key) }) {
        output.removeLast(output.count - end)
      } else {
        flush(to: &output)
        // Behind a comma, but for the first; the key's quotes and colon.
        let range = (end + (isFirst ? 0 : 1) + key.count + 3)..<output.count
        for index in 0..<wanted.count where isText(wanted[index], at: key) {
          found[index] = range
        }
        if isText("data", at: key) { result = range }
        isFirst = false
      }
    } while skip(UInt8(ascii: ","))
    guard skip(UInt8(ascii: "}")) else { return false }
    output.append(UInt8(ascii: "}"))
    copied = position
    return true
  }

  /// The value of a member of the data. A packet's lists stand at the top, or in its prompt.
  private mutating func member(
    _ key: Range<Int>, isPacket: Bool, _ earlier: inout some Earlier, _ output: inout [UInt8]
  ) -> Bool {
    guard isPacket else { return value(1, &earlier, &output) }
    if isText("prompt", at: key), byte(at: position) == UInt8(ascii: "{") {
      return prompt(&earlier, &output)
    }
    guard Self.listKeys.contains(where: { isText($0, at: key) }) else {
      return value(1, &earlier, &output)
    }
    return listOrValue(1, &earlier, &output)
  }

  private static let listKeys: [StaticString] = [
    "evidenceRefs", "included", "memoryRefs", "observations", "omittedRefs", "toolsDisclosed",
  ]

  private mutating func prompt(_ earlier: inout some Earlier, _ output: inout [UInt8]) -> Bool {
    position += 1
    if skip(UInt8(ascii: "}")) { return true }
    var lastKey: Range<Int>?
    repeat {
      guard let key = key(behind: lastKey), byte(at: key.lowerBound) != UInt8(ascii: "$") else {
        return false
      }
      lastKey = key
      let isList = isText("messages", at: key)
      guard isList ? listOrValue(2, &earlier, &output) : value(2, &earlier, &output) else {
        return false
      }
    } while skip(UInt8(ascii: ","))
    return skip(UInt8(ascii: "}"))
  }

  private mutating func listOrValue(
    _ depth: Int, _ earlier: inout some Earlier, _ output: inout [UInt8]
  ) -> Bool {
    guard matches("{\"$list\":[") else { return value(depth, &earlier, &output) }
    flush(to: &output)
    position += 10
    output.append(UInt8(ascii: "["))
    if !skip(UInt8(ascii: "]")) {
      var isFirst = true
      repeat {
        if !isFirst { output.append(UInt8(ascii: ",")) }
        isFirst = false
        copied = position
        guard entry(depth + 2, &earlier, &output) else { return false }
      } while skip(UInt8(ascii: ","))
      guard skip(UInt8(ascii: "]")) else { return false }
    }
    guard skip(UInt8(ascii: "}")) else { return false }
    output.append(UInt8(ascii: "]"))
    copied = position
    return output.count <= Self.outputLimitBytes
  }

  /// One entry of a list: a run of earlier items, or an item.
  private mutating func entry(
    _ depth: Int, _ earlier: inout some Earlier, _ output: inout [UInt8]
  ) -> Bool {
    if skip(UInt8(ascii: "[")) {
      guard let first = number(), skip(UInt8(ascii: ",")), let count = number(), count > 0,
        skip(UInt8(ascii: "]")),
        earlier.append(items: first, count: count, to: &output)
      else { return false }
      copied = position
      return output.count <= Self.outputLimitBytes
    }
    let begin = output.count
    guard value(depth, &earlier, &output) else { return false }
    flush(to: &output)
    earlier.add(item: output[begin...])
    return true
  }

  // MARK: Values

  private mutating func value(
    _ depth: Int, _ earlier: inout some Earlier, _ output: inout [UInt8]
  ) -> Bool {
    switch byte(at: position) {
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: "{"): return object(depth, &earlier, &output)
    case UInt8(ascii: "["): return array(depth, &earlier, &output)
    case UInt8(ascii: "t"): return skip("true")
    case UInt8(ascii: "f"): return skip("false")
    case UInt8(ascii: "n"): return skip("null")
    default: return skipNumber()
    }
  }

  private mutating func array(
    _ depth: Int, _ earlier: inout some Earlier, _ output: inout [UInt8]
  ) -> Bool {
    guard depth < Self.depthLimit else { return false }
    position += 1
    if skip(UInt8(ascii: "]")) { return true }
    repeat {
      guard value(depth + 1, &earlier, &output) else { return false }
    } while skip(UInt8(ascii: ","))
    return skip(UInt8(ascii: "]"))
  }

  private mutating func object(
    _ depth: Int, _ earlier: inout some Earlier, _ output: inout [UInt8]
  ) -> Bool {
    guard depth < Self.depthLimit else { return false }
    if matches("{\"$") { return same(&earlier, &output) }
    position += 1
    if skip(UInt8(ascii: "}")) { return true }
    var lastKey: Range<Int>?
    repeat {
      guard let key = key(behind: lastKey), byte(at: key.lowerBound) != UInt8(ascii: "$"),
        value(depth + 1, &earlier, &output)
      else { return false }
      lastKey = key
    } while skip(UInt8(ascii: ","))
    return skip(UInt8(ascii: "}"))
  }

  /// `{"$same":"…"}`; any other key with a `$` is left to the plain way.
  private mutating func same(_ earlier: inout some Earlier, _ output: inout [UInt8]) -> Bool {
    flush(to: &output)
    guard skip("{\"$same\":\"") else { return false }
    let begin = position
    while position < text.count, case let byte = start[position], byte >= 0x20, byte < 0x7f,
      byte != UInt8(ascii: "\\"), byte != UInt8(ascii: "\"")
    { position += 1 }
    let reference = String(decoding: text[begin..<position], as: UTF8.self)
    guard skip("\"}"), earlier.append(sameAs: reference, to: &output) else { return false }
    copied = position
    return output.count <= Self.outputLimitBytes
  }

  /// A key without escapes that stands behind the one before, its colon stepped over.
  private mutating func key(behind last: Range<Int>?) -> Range<Int>? {
    guard skip(UInt8(ascii: "\"")) else { return nil }
    let begin = position
    position = text.plainEnd(from: position, seen: &seen)
    let key = begin..<position
    guard skip("\":"), last.map({ precedes($0, key) }) ?? true else { return nil }
    return key
  }

  /// Steps over a string and says where it stands; `nil` where it is not in canonical form.
  mutating func literal() -> Range<Int>? {
    let begin = position
    return string() ? begin..<position : nil
  }

  /// A string with only such escapes as this project writes.
  private mutating func string() -> Bool {
    position += 1
    while true {
      position = text.plainEnd(from: position, seen: &seen)
      if skip(UInt8(ascii: "\"")) { return true }
      guard skip(UInt8(ascii: "\\")) else { return false }
      switch byte(at: position) {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "b"), UInt8(ascii: "f"),
        UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
        position += 1
      case UInt8(ascii: "u"):
        guard skip("u00"), byte(at: position) & 0xfe == UInt8(ascii: "0") else { return false }
        let low = byte(at: position + 1)
        let isHex = (0x30...0x39).contains(low) || (0x61...0x66).contains(low)
        // Those of 08, 09, 0a, 0c and 0d have short forms.
        let isShort =
          byte(at: position) == UInt8(ascii: "0") && "89acd".utf8.contains(low)
        guard isHex, !isShort else { return false }
        position += 2
      default: return false
      }
    }
  }

  private mutating func skipNumber() -> Bool {
    _ = skip(UInt8(ascii: "-"))
    let first = byte(at: position)
    let whole = skipDigits()
    guard whole == 1 || (whole > 1 && first != UInt8(ascii: "0")) else { return false }
    if skip(UInt8(ascii: ".")), skipDigits() == 0 { return false }
    guard byte(at: position) | 0x20 == UInt8(ascii: "e") else { return true }
    position += 1
    if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
    return skipDigits() > 0
  }

  private mutating func skipDigits() -> Int {
    let begin = position
    while position < text.count, start[position] &- 0x30 < 10 { position += 1 }
    return position - begin
  }

  /// Up to 15 digits.
  private mutating func number() -> Int? {
    let begin = position
    let count = skipDigits()
    guard count > 0, count <= 15, count == 1 || start[begin] != 0x30 else { return nil }
    return text[begin..<position].reduce(0) { $0 * 10 + Int($1 &- 0x30) }
  }

  // MARK: Bytes
  //
  // Inlined, since a call that only reads would be given a copy of all of the above.

  @inline(__always) private func byte(at position: Int) -> UInt8 {
    position < text.count ? start[position] : 0
  }

  @inline(__always) private mutating func skip(_ byte: UInt8) -> Bool {
    guard position < text.count, start[position] == byte else { return false }
    position += 1
    return true
  }

  @inline(__always) private func matches(_ word: StaticString) -> Bool {
    text.count - position >= word.utf8CodeUnitCount
      && isText(
        word, at: position..<(position + word.utf8CodeUnitCount))
  }

  @inline(__always) private mutating func skip(_ word: StaticString) -> Bool {
    guard matches(word) else { return false }
    position += word.utf8CodeUnitCount
    return true
  }

  @inline(__always) private func isText(_ word: StaticString, at range: Range<Int>) -> Bool {
    guard word.utf8CodeUnitCount == range.count else { return false }
    for index in 0..<range.count where word.utf8Start[index] != start[range.lowerBound + index] {
      return false
    }
    return true
  }

  @inline(__always) private func precedes(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
    var (a, b) = (left.lowerBound, right.lowerBound)
    while a < left.upperBound, b < right.upperBound {
      if start[a] != start[b] { return start[a] < start[b] }
      (a, b) = (a + 1, b + 1)
    }
    return left.count < right.count
  }

  private mutating func flush(to output: inout [UInt8]) {
    output.append(contentsOf: UnsafeBufferPointer(rebasing: text[copied..<position]))
    copied = position
  }
}
