public import AgentTrace

/// What a model was shown, in words for people. Nothing is escaped yet.
public enum PromptText {
  /// A part of a message: a text, what a model thought, a call or a result.
  public static func text(of part: JSONValue) -> String {
    switch part["type"]?.stringValue {
    case "text": return part["text"].map(plain) ?? ""
    case "reasoning":
      let block = part["block"] ?? .null
      let known =
        block["thinking"] ?? block["reasoning_content"] ?? block["reasoning"]
        ?? block["summary"]?[0]?["text"]
      return "thinks: " + plain(known ?? block)
    case "tool_call":
      return "calls \(part["name"].map(plain) ?? "") \(part["input"].map(plain) ?? "")"
    case "tool_result":
      let status = part["status"].map { plain($0) + ": " } ?? ""
      return "\(part["callId"].map(plain) ?? "") → \(status)\(part["data"].map(plain) ?? "")"
    default: return plain(part)
    }
  }

  /// Items that were taken in or left out, those of one reason together: `ref ref: reason`.
  public static func choices(_ items: some Sequence<ContextItem>) -> [String] {
    var byReason: [(reason: String, refs: [String])] = []
    for item in items {
      if let index = byReason.firstIndex(where: { $0.reason.hasSameUTF8(as: item.reason) }) {
        byReason[index].refs.append(item.ref)
      } else {
        byReason.append((item.reason, [item.ref]))
      }
    }
    return byReason.map { "\($0.refs.joined(separator: " ")): \($0.reason)" }
  }

  private static func plain(_ value: JSONValue) -> String {
    let value = FileText.told(value)
    return value.stringValue ?? CanonicalJSON.string(value, form: .plain)
  }
}
