/// Paragraphs and lists of our own texts, broken at blanks to fit a terminal.
public enum Prose {
  /// The lines of a text in at most so many columns.
  ///
  /// What is broken off an item of a list stands under the item's text. A line that is indented like code stays whole,
  /// and so does a word that has no room: both are there to be copied.
  public static func lines(_ text: String, columns: Int) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
      .flatMap { broken(String($0), columns: columns) }
  }

  private static func broken(_ line: String, columns: Int) -> [String] {
    guard !line.hasPrefix("    "), CellWidth.of(line) > columns else { return [line] }
    let indent = line.hasPrefix("- ") ? "  " : ""
    var lines: [String] = []
    for word in line.dropFirst(indent.count).split(separator: " ", omittingEmptySubsequences: false)
    {
      if let last = lines.last, CellWidth.of(last) + 1 + CellWidth.of(word) <= columns {
        lines[lines.count - 1] = last + " " + word
      } else {
        lines.append((lines.isEmpty ? String(line.prefix(indent.count)) : indent) + word)
      }
    }
    return lines
  }
}
