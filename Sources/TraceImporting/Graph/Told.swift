import AgentTrace

/// What a source tells of one field. What it does not tell is never taken for nothing.
enum Told: Hashable {
  /// It stands there.
  case there(JSONValue)
  /// The source has no place for it, or left it out.
  case absent
  /// Only its beginning is there: an exporter's limit cut it.
  case cut(String)
  /// Something was put in its place on purpose.
  case redacted

  /// As a log holds it: whatever is not whole is a cut value, which no check takes for another, and which says no more
  /// bytes than it shows: how long the whole was nobody knows.
  var logged: JSONValue {
    switch self {
    case .there(let value): value.cut(toBytes: ImportLimits.valueLimitBytes)
    case .absent, .redacted: .cut(bytes: 0, head: "")
    case .cut(let text): .beginning(text.prefix(utf8Bytes: 1024))
    }
  }

  /// The value, where it is whole.
  var value: JSONValue? { if case .there(let value) = self { value } else { nil } }

  /// Whether the value is whole.
  var isWhole: Bool { value != nil }

  /// A word for what became of a field that is not whole.
  var gap: String? {
    switch self {
    case .there: nil
    case .absent: "absent"
    case .cut: "cut"
    case .redacted: "redacted"
    }
  }
}

extension Told {
  /// What exporters write in place of content that they leave out.
  private static let placeholders: Set<String> = [
    "<redacted>", "__redacted__", "[redacted]", "<elided>", "redacted",
  ]

  /// A text that may be a placeholder.
  init(text: JSONValue) {
    if case .cut(_, let head) = text {
      self = .cut(head)
    } else if Self.isPlaceholder(text) {
      self = .redacted
    } else {
      self = .there(text)
    }
  }

  /// Whether nothing is left of a value but placeholders.
  private static func isPlaceholder(_ value: JSONValue, depth: Int = 0) -> Bool {
    switch value {
    case .string(let text): text.utf8.count <= 16 && placeholders.contains(text.lowercased())
    case .object(let object):
      depth < 4 && !object.isEmpty
        && object.allSatisfy { isPlaceholder($0.value, depth: depth + 1) }
    case .array(let elements):
      depth < 4 && !elements.isEmpty && elements.allSatisfy { isPlaceholder($0, depth: depth + 1) }
    default: false
    }
  }
}
