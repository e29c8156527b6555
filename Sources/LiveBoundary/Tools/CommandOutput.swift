import AgentTrace

extension Head {
  /// The most bytes of cut output that are kept, so that they fit into a line of the log however they
  /// are written there.
  static let cutTextBytes = 1 << 16

  /// The beginning of output that was too much, with the mark of a value that was cut. What is no UTF-8
  /// reads as U+FFFD.
  var cutText: JSONValue {
    let text = String(decoding: bytes.prefix(Self.cutTextBytes).withoutTornCharacter, as: UTF8.self)
    return .cut(bytes: count, head: text)
  }

  /// All of it as text, or its beginning where it was too much.
  var text: JSONValue {
    isCut || bytes.count > Self.cutTextBytes
      ? cutText : .string(String(decoding: bytes, as: UTF8.self))
  }
}

extension [UInt8] {
  /// The bytes behind a mark of byte order (U+FEFF in UTF-8), which says nothing and which many programs write before a text.
  var withoutByteOrderMark: [UInt8] {
    starts(with: [0xef, 0xbb, 0xbf]) ? Array(dropFirst(3)) : self
  }
}

extension RandomAccessCollection<UInt8> where Index == Int {
  /// The bytes without a character at their end of which the rest is missing.
  var withoutTornCharacter: [UInt8] {
    var bytes = Array(self)
    // At most three bytes of a character stand before the missing one.
    for back in 1...3 where back <= bytes.count {
      let byte = bytes[bytes.count - back]
      if byte & 0xc0 == 0x80 { continue }
      let length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
      if length > back { bytes.removeLast(back) }
      break
    }
    return bytes
  }
}
