public import AgentTrace

/// Images and other files that stand in messages and results as base64, told by type, size and digest:
/// nobody reads a megabyte of letters.
public enum FileText {
  /// Shorter strings stand as they are.
  private static let leastBytes = 1024
  /// How the base64 of a file begins, by what its first bytes always are.
  private static let beginnings: [(base64: String, type: String)] = [
    ("iVBORw0KGgo", "image/png"), ("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"), ("JVBERi0", "application/pdf"), ("UEsDB", "application/zip"),
  ]

  /// A value with each file in it told, as `[image/png, 1048576 bytes, SHA-256 …]`.
  ///
  /// - Complexity: a few operations for each value; hashes the files.
  public static func told(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): told(text).map(JSONValue.string) ?? value
    case .array(let elements): .array(elements.map(told))
    case .object(let object): .object(object.mapValues(told))
    default: value
    }
  }

  /// What is said of a text that is a file; `nil` for any other.
  public static func told(_ text: String) -> String? {
    guard text.utf8.count >= leastBytes else { return nil }
    var (type, body): (String?, Substring) = (nil, text[...])
    if text.hasPrefix("data:") {
      guard let comma = text.utf8.prefix(200).firstIndex(of: UInt8(ascii: ",")),
        case let head = text[..<comma], head.hasSuffix(";base64")
      else { return nil }
      type = String(head.dropFirst("data:".count).prefix { $0 != ";" })
      body = text[text.utf8.index(after: comma)...]
    } else {
      type = beginnings.first { text.hasPrefix($0.base64) }?.type
    }
    guard let type, let bytes = Base64.decode(String(body)) else { return nil }
    return "[\(type), \(bytes.count) bytes, SHA-256 \(Digest(of: bytes).hex)]"
  }
}
