import AgentTrace

/// A tool as a server lists it, and what of it concerns only the way there.
struct MCPTool: Sendable {
  var offered: OfferedTool
  /// Keys of the input that are also sent as headers over HTTP, and the headers' names
  /// (`x-mcp-header`, specification 2026-07-28).
  var headers: [(key: String, name: String)] = []

  /// Reads one entry of a list; `nil` for what has no name.
  init?(_ value: JSONValue) {
    guard let name = value["name"]?.stringValue else { return nil }
    offered = OfferedTool(name: name)
    offered.title = value["title"]?.stringValue
    offered.description = value["description"]?.stringValue ?? ""
    offered.inputSchema = value["inputSchema"] ?? ["type": "object"]
    if let schema = value["outputSchema"], !schema.isNull { offered.outputSchema = schema }
    for hint in value["annotations"]?.objectValue ?? [:] {
      guard Self.hints.contains(hint.key) else { continue }
      offered.annotations[hint.key] = hint.value
    }
    guard let properties = offered.inputSchema["properties"]?.objectValue else { return }
    for property in properties {
      guard let header = property.value["x-mcp-header"]?.stringValue else { continue }
      headers.append((property.key, header))
    }
  }

  private static let hints = [
    "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title",
  ]

  /// Whether each of its headers can be sent: a name of letters, digits and `-`, each once, for a plain
  /// value. A tool that asks for others is not offered to anybody.
  var hasUsableHeaders: Bool {
    var names: Set<String> = []
    return headers.allSatisfy { key, name in
      let type = offered.inputSchema["properties"]?[key]?["type"]?.stringValue
      return !name.isEmpty && name.utf8.allSatisfy(Self.isOfHeader)
        && names.insert(name.lowercased()).inserted
        && ["string", "integer", "number", "boolean"].contains(type)
    }
  }

  private static func isOfHeader(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || byte == UInt8(ascii: "-")
  }
}
