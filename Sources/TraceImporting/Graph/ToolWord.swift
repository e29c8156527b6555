import AgentTrace

/// Names of tools, as different sources of one run write them.
enum ToolWord {
  /// Whether two names may be of one tool: they differ in capitals, in what joins their words, or one stands behind the
  /// name of a server or of a kind.
  static func mayBeSame(_ left: String, _ right: String) -> Bool {
    isSame(plain(left), plain(right))
  }

  /// Whether one is the other behind the name of a server or of a kind.
  static func isSame(_ left: String, _ right: String) -> Bool {
    left == right || left.hasSuffix("_" + right) || right.hasSuffix("_" + left)
  }

  /// Whether nobody can call a tool so: a name in which nothing shows, or that begins or ends with what does not.
  static func isOdd(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first, let last = name.unicodeScalars.last else {
      return true
    }
    return [first, last].contains { $0.isHidden || $0.properties.isWhitespace }
  }

  /// A name in small letters, with one sign for whatever joins its words.
  static func plain(_ name: String) -> String {
    String(
      decoding: name.utf8.map { byte -> UInt8 in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          0x80...0xff:
          byte
        default: UInt8(ascii: "_")
        }
      }, as: UTF8.self)
  }
}
