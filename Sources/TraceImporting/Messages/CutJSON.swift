import AgentTrace

/// What JSON told before a limit cut it.
extension JSONText {
  /// Whether a value is an object or list whose end is not there: a limit cut it.
  static func lacksEnd(_ value: JSONValue?) -> Bool {
    switch value {
    case .cut(_, let head)?: SpanContent.isObject(head)
    case .string(let text)?:
      SpanContent.isObject(text) && opensMember(text) && parse(text) == nil
        && beginning(of: text) != nil
    default: false
    }
  }

  /// Whether something that only JSON has follows the first bracket: `[1] and [Note]` begin texts.
  private static func opensMember(_ text: String) -> Bool {
    guard let next = text.utf8.dropFirst().first(where: { !CallsInTexts.isSpace($0) }) else {
      return true
    }
    return "\"{[".utf8.contains(next)
  }

  /// What a text told before it was cut: its last text ends where the cut is, and what has no value is left out. `nil` for
  /// what is no beginning of an object or list.
  ///
  /// - Complexity: O(*n*) in the text's bytes.
  static func beginning(of text: String) -> JSONValue? {
    let bytes = Array(text.utf8)
    guard let cut = CutJSON(bytes) else { return nil }
    let ends = Array(cut.ends.reversed())
    if cut.isInText {
      // A mark that something was to follow says nothing without it.
      let told = cut.isEscaped ? bytes.dropLast() : bytes[...]
      if let value = read(Array(told) + [UInt8(ascii: "\"")] + ends) { return value }
    }
    return read(Array(bytes[..<cut.settled]) + ends)
  }

  private static func read(_ bytes: [UInt8]) -> JSONValue? {
    try? JSONValue(parsing: bytes, options: SourceDocument.options)
  }
}

/// Where the beginning of an object or list stands at its end.
private struct CutJSON {
  /// What would close the brackets that are open, the outermost first.
  private(set) var ends: [UInt8] = []
  /// How far it goes with whole values.
  private(set) var settled = 0
  private(set) var isInText = false
  private(set) var isEscaped = false

  /// `nil` where the first bracket is closed, or something else than JSON stands there.
  init?(_ bytes: [UInt8]) {
    scan: for (index, byte) in bytes.enumerated() {
      if isInText {
        take(inText: byte)
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInText = true
      case UInt8(ascii: "{"): open(UInt8(ascii: "}"), at: index)
      case UInt8(ascii: "["): open(UInt8(ascii: "]"), at: index)
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard ends.popLast() == byte, !ends.isEmpty else { return nil }
        settled = index + 1
      case UInt8(ascii: ","): settled = index
      // What an exporter puts behind what it cut: `...`, `…`, `<truncated>`.
      case UInt8(ascii: "."), UInt8(ascii: "<"), UInt8(ascii: "("), 0x80...:
        let isNumber = index > 0 && (0x30...0x39).contains(bytes[index - 1])
        if byte != UInt8(ascii: ".") || !isNumber { break scan }
      default: break
      }
    }
    if ends.isEmpty { return nil }
  }

  private mutating func take(inText byte: UInt8) {
    if isEscaped {
      isEscaped = false
    } else if byte == UInt8(ascii: "\\") {
      isEscaped = true
    } else if byte == UInt8(ascii: "\"") {
      isInText = false
    }
  }

  private mutating func open(_ end: UInt8, at index: Int) {
    ends.append(end)
    settled = index + 1
  }
}
