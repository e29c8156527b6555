import AgentTrace

/// Writes values down in ways that are none of the product's own.
enum YAMLText {
  /// Block style, every text in double quotes, every key explicit where it is long.
  static func block(_ value: JSONValue) -> [UInt8] {
    var text = "---\n"
    append(value, to: &text, indent: 0, isInline: false)
    return Array(text.utf8)
  }

  private static func append(
    _ value: JSONValue, to text: inout String, indent: Int, isInline: Bool
  ) {
    switch value {
    case .array(let elements) where !elements.isEmpty:
      if isInline { text += "\n" }
      for element in elements {
        text += String(repeating: " ", count: indent) + "-"
        appendBelow(element, to: &text, indent: indent)
      }
    case .object(let object) where !object.isEmpty:
      if isInline { text += "\n" }
      for member in object {
        text += String(repeating: " ", count: indent)
        let key = quoted(member.key)
        // An implicit key has at most 1,024 characters (YAML 1.2.2 §7.4).
        text += key.utf8.count < 1000 ? key : "? \(key)\n" + String(repeating: " ", count: indent)
        text += ":"
        appendBelow(member.value, to: &text, indent: indent)
      }
    default: text += (isInline ? " " : "") + scalar(value) + "\n"
    }
  }

  private static func appendBelow(_ value: JSONValue, to text: inout String, indent: Int) {
    append(value, to: &text, indent: indent + 1, isInline: true)
  }

  private static func scalar(_ value: JSONValue) -> String {
    switch value {
    case .string(let text): quoted(text)
    case .array: "[]"
    case .object: "{}"
    default: CanonicalJSON.string(value)
    }
  }

  /// Double quotes with YAML's escapes (§5.7); astral scalars too, which JSON's cannot say at once.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x22: quoted += "\\\""
      case 0x5c: quoted += "\\\\"
      case 0x20..<0x7f: quoted.unicodeScalars.append(scalar)
      default:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
      }
    }
    return quoted + "\""
  }

  /// JSON with white space wherever it may be.
  static func spacedJSON(_ value: JSONValue) -> [UInt8] {
    var bytes: [UInt8] = []
    var isInText = false
    var isEscaped = false
    for byte in CanonicalJSON.encode(value, form: .plain) {
      let isStructure = !isInText && "{}[],:".utf8.contains(byte)
      if isStructure { bytes.append(0x20) }
      bytes.append(byte)
      if isStructure { bytes += [0x0a, 0x09] }
      if byte == 0x22, !isEscaped { isInText.toggle() }
      isEscaped = isInText && byte == 0x5c && !isEscaped
    }
    return bytes
  }
}
