import AgentTrace

/// Text from a trace, made safe for a terminal.
///
/// What came from a model or a tool may hold escape sequences, line breaks or marks that turn the
/// reading direction around. None of it may act on the reader's terminal.
public enum Visible {
  /// The width of a line that is cut nowhere.
  public static let unlimited = 1 << 40

  /// The text on one line: control characters, line breaks, direction and invisible marks stand as
  /// `\n`, `\t` or `\u{1b}`.
  public static func line(_ text: String) -> String {
    guard !text.isPlainASCII, text.unicodeScalars.contains(where: \.isHidden) else { return text }
    var visible = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": visible += "\\n"
      case "\t": visible += "\\t"
      case "\r": visible += "\\r"
      // A byte of a path that is no UTF-8; see FilePaths.
      case "\u{10fe00}"..."\u{10feff}": visible += "\\x" + String(scalar.value & 0xff, radix: 16)
      case _ where scalar.isHidden: visible += "\\u{\(String(scalar.value, radix: 16))}"
      default: visible.unicodeScalars.append(scalar)
      }
    }
    return visible
  }

  /// The text on the lines it has; everything else as in ``line(_:)``.
  public static func lines(_ text: String) -> [String] {
    // By scalars: as a character, \r\n is one and no \n.
    text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
      .map { line(String($0)) }
  }

  /// The text in at most `width` characters, an ellipsis where it was cut.
  public static func line(_ text: String, width: Int) -> String {
    // Cut first: a value of a megabyte must not be made visible for eighty columns. A character with
    // its marks has four scalars at most here; one with more is cut short like a long text.
    let width = max(0, width)
    let limit = 4 * (width + 1)
    let end =
      text.utf8.count <= limit
      ? text.endIndex
      : text.unicodeScalars.index(text.startIndex, offsetBy: limit, limitedBy: text.endIndex)
        ?? text.endIndex
    let isCut = end < text.endIndex
    let visible = line(isCut ? String(text[..<end]) : text)
    // As many bytes are at least as many characters.
    guard isCut || visible.utf8.count > width && visible.count > width else { return visible }
    return visible.prefix(max(0, width - 1)) + "…"
  }

  /// A line that is visible and may be coloured, in at most `width` characters, an ellipsis where it was cut.
  public static func cut(_ painted: String, width: Int) -> String {
    guard painted.utf8.count > width else { return painted }
    var (kept, count, isCode, isColoured) = ("", 0, false, false)
    for character in painted {
      if character == "\u{1b}" { (isCode, isColoured) = (true, true) }
      if isCode {
        kept.append(character)
        isCode = character != "m"
        continue
      }
      count += 1
      if count < width { kept.append(character) }
      if count > width { return kept + "…" + (isColoured ? "\u{1b}[0m" : "") }
    }
    return painted
  }

  /// A line of JSON in which every hidden character is written as `\uXXXX`: the same value, harmless
  /// to a terminal.
  public static func json(_ line: String) -> String { line.escapingHiddenScalars }
}
