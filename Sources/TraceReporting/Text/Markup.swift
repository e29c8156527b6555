/// Text in markup: HTML and XML.
enum Markup {
  /// The text with the characters that mean something to a markup language as references.
  ///
  /// - Parameter quotes: Which quotes a value stands in; the others are left as they are.
  static func escape(_ text: String, quotes: Set<Unicode.Scalar> = ["\"", "'"]) -> String {
    var escaped = ""
    escaped.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"" where quotes.contains(scalar): escaped += "&quot;"
      case "'" where quotes.contains(scalar): escaped += "&#39;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
