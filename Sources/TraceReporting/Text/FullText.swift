import AgentTrace

/// A value to its end, for people: short values on one line as JSON, others a member a line, and texts with line
/// breaks on the lines that they have.
enum FullText {
  /// Characters of a value that stands on one line.
  private static let shortest = 80

  /// The lines. What stands in them is as the value has it: nothing is made visible yet.
  static func lines(of value: JSONValue) -> [String] {
    if let line = short(value) { return [line] }
    switch value {
    case .object(let object):
      return object.flatMap { member in joined("\(key(member.key)): ", lines(of: member.value)) }
    case .array(let elements):
      return elements.flatMap { joined("- ", lines(of: $0)) }
    case .string(let text):
      return text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        .map { String($0) }
    default: return [encoded(value)]
    }
  }

  /// A head and what follows: on its line where that is one line, else indented beneath it.
  private static func joined(_ head: String, _ lines: [String]) -> [String] {
    guard lines.count > 1 else { return [head + (lines.first ?? "")] }
    return [head + "|"] + lines.map { "  " + $0 }
  }

  private static func short(_ value: JSONValue) -> String? {
    if case .string(let text) = value, text.unicodeScalars.contains("\n") { return nil }
    guard !holdsLines(value) else { return nil }
    let text = encoded(value)
    switch value {
    case .object(let object) where !object.isEmpty: return text.utf8.count <= shortest ? text : nil
    case .array(let elements) where !elements.isEmpty:
      return text.utf8.count <= shortest ? text : nil
    default: return text
    }
  }

  private static func holdsLines(_ value: JSONValue) -> Bool {
    switch value {
    case .string(let text): text.unicodeScalars.contains("\n")
    case .array(let elements): elements.contains(where: holdsLines)
    case .object(let object): object.contains { holdsLines($0.value) }
    default: false
    }
  }

  private static func encoded(_ value: JSONValue) -> String {
    String(decoding: CanonicalJSON.encode(value, form: .plain), as: UTF8.self)
  }

  /// A key as it is, or as JSON where it could be taken for something else.
  private static func key(_ key: String) -> String {
    let isPlain = !key.isEmpty && key.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: ":") }
    return isPlain ? key : encoded(.string(key))
  }
}
