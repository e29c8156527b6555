/// A command line as help shows it, and what it does.
struct Example: Sendable {
  /// What is typed behind `agent-eval `.
  var line: String
  /// What comes of it, in a few words.
  var does: String

  /// What stands above examples in help.
  static let heading = "EXAMPLES:"

  /// Examples at the end of what help says of a verb: each on a line of its own, which keeps its form
  /// wherever help is laid out anew (`Packaging/man.py` knows it by the two blanks).
  static func list(_ examples: KeyValuePairs<String, String>) -> String {
    "\n\n" + alone(examples)
  }

  /// Examples of a verb of which help says nothing else.
  static func alone(_ examples: KeyValuePairs<String, String>) -> String {
    "\(heading)\n"
      + examples.map { "  agent-eval \($0.key)\n      \($0.value)" }.joined(separator: "\n")
  }

  /// Reads back what ``list(_:)`` wrote.
  static func all(in discussion: String) -> [Example] {
    let lines = discussion.split(separator: "\n", omittingEmptySubsequences: false)
    guard let start = lines.lastIndex(of: heading[...]) else { return [] }
    return zip(lines[start...].dropFirst(), lines[start...].dropFirst(2)).compactMap {
      guard $0.hasPrefix("  agent-eval "), $1.hasPrefix("      ") else { return nil }
      return Example(line: String($0.dropFirst(13)), does: String($1.dropFirst(6)))
    }
  }
}
