@_spi(Scanning) import AgentTrace

/// Finds a long string in an event's line by the pointer of a `$same`, without making values of the line.
///
/// What is written otherwise than this project writes it is not found: then the plain way has to be gone
/// (``SameTarget``), which also knows what is wrong.
enum LiteralText {
  /// The string's place in the line, quotes and escapes and all, in canonical form.
  static func range(
    of target: SameTarget, in line: UnsafeBufferPointer<UInt8>
  ) -> Range<Int>? {
    guard var scanner = LineScanner(line), let envelope = Envelope(&scanner),
      envelope.seq == target.seq, envelope.type != .stop
    else { return nil }
    let tokens = target.pointer.tokens
    for (index, token) in tokens.enumerated() {
      let isPacketList =
        envelope.type == .contextBuilt
        && ContextPacket.listPointers.contains { $0.tokens.elementsEqual(tokens[..<index]) }
      guard step(&scanner, into: token, isPacketList: isPacketList) else { return nil }
    }
    var text = CanonicalText(scanner)
    guard let range = text.literal(),
      // No byte of a string takes more than six of its text.
      range.count - 2 >= 6 * LogFormat.sameMinimumBytes
        || length(of: range, in: line) >= LogFormat.sameMinimumBytes
    else { return nil }
    let bytes = UnsafeBufferPointer(rebasing: line[range])
    guard text.isASCII || (try? UTF8Span(validating: bytes.span)) != nil else { return nil }
    return range
  }

  /// Goes to the member or element of a value; false where it is not there in the plain form.
  private static func step(
    _ scanner: inout LineScanner, into token: String, isPacketList: Bool
  ) -> Bool {
    if scanner.skip("[") { return goTo(SameTarget.position(token), in: &scanner) { _ in nil } }
    if isPacketList, scanner.skip("{\"$list\":[") {
      return goTo(SameTarget.position(token), in: &scanner, countingRun: run)
    }
    guard scanner.skip("{\""), scanner.byte != UInt8(ascii: "$"), !token.hasPrefix("$") else {
      return false
    }
    repeat {
      guard let key = scanner.plainText(), scanner.skip(UInt8(ascii: ":")) else { return false }
      if token.utf8.elementsEqual(scanner.bytes(key)) { return true }
      guard scanner.skipValue() else { return false }
    } while scanner.skip(",\"")
    return false
  }

  /// - Parameter countingRun: how many items an entry stands for that is no item itself.
  private static func goTo(
    _ wanted: Int?, in scanner: inout LineScanner,
    countingRun: (inout LineScanner) -> Int?
  ) -> Bool {
    guard let wanted else { return false }
    var position = 0
    repeat {
      if let count = countingRun(&scanner) {
        position += count
        guard position <= wanted else { return false }
        continue
      }
      if position == wanted { return scanner.byte != UInt8(ascii: "]") }
      guard scanner.skipValue() else { return false }
      position += 1
    } while scanner.skip(UInt8(ascii: ","))
    return false
  }

  /// `[first,count]`; `nil` and nothing stepped over where an item stands.
  private static func run(_ scanner: inout LineScanner) -> Int? {
    var next = scanner
    guard next.skip("["), next.number() != nil, next.skip(UInt8(ascii: ",")),
      let count = next.number(), (1...LogFormat.listItemLimit).contains(count), next.skip("]")
    else { return nil }
    scanner = next
    return count
  }

  /// How many bytes the string has that stands there.
  private static func length(of range: Range<Int>, in line: UnsafeBufferPointer<UInt8>) -> Int {
    var length = range.count - 2
    var index = range.lowerBound + 1
    while index < range.upperBound - 1 {
      guard line[index] == UInt8(ascii: "\\") else {
        index += 1
        continue
      }
      let escape = line[index + 1] == UInt8(ascii: "u") ? 6 : 2
      length -= escape - 1
      index += escape
    }
    return length
  }
}
