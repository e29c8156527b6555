import AgentRuntime
import AgentTrace

/// What the result of `tools/call` is to a run.
enum MCPContent {
  /// The most bytes of the reason that a failed tool gives.
  private static let reasonLimitBytes = 64 << 10

  /// The result of a call.
  ///
  /// `structuredContent` is the data where it is there: servers repeat it as text beside it. One text is
  /// a text; anything else is the list of parts, without the bytes of pictures and sounds, of which count
  /// and digest are kept.
  static func result(of value: JSONValue) -> ToolResult {
    guard let object = value.objectValue else {
      return .error("the server's result is \(value.typeName), not an object")
    }
    if object["resultType"] == "input_required" {
      return .error(
        "the server asks for more input before it answers, and this client offers none")
    }
    let parts = object["content"]?.arrayValue ?? []
    switch object["isError"] {
    case nil, .null?, .bool(false)?: break
    case .bool(true)?: return .error(reason(of: parts, object))
    case let other?:
      return .error(
        "the server's result says \(other.typeName) where it says whether the tool failed")
    }
    if let content = object["content"], !content.isNull, content.arrayValue == nil {
      return .error("the content of the server's result is \(content.typeName), not a list")
    }
    if let structured = object["structuredContent"], !structured.isNull {
      return .ok(data: structured)
    }
    switch parts.count {
    case 0: return .ok(data: .null)
    case 1: return .ok(data: text(of: parts[0]).map(JSONValue.string) ?? kept(parts[0]))
    default: return .ok(data: .array(parts.map(kept)))
    }
  }

  /// Whether a result says itself that nothing was done: `{"effect":"none"}` in its structured content or
  /// its `_meta`.
  static func saysNoEffect(_ value: JSONValue) -> Bool {
    [value["structuredContent"], value["_meta"]].contains { $0?.saysNoEffect ?? false }
  }

  private static func text(of part: JSONValue) -> String? {
    part["type"] == "text" ? part["text"]?.stringValue : nil
  }

  private static func reason(of parts: [JSONValue], _ object: JSONObject) -> String {
    let texts = parts.compactMap(text)
    let words = texts.joined(separator: "\n")
    if !words.isEmpty { return "\(words.prefix(utf8Bytes: reasonLimitBytes))" }
    guard let structured = object["structuredContent"] else {
      return "the tool says that it failed"
    }
    return "\(CanonicalJSON.string(structured, form: .plain).prefix(utf8Bytes: reasonLimitBytes))"
  }

  /// A part without bytes that no model is shown.
  private static func kept(_ part: JSONValue) -> JSONValue {
    guard var object = part.objectValue else { return part }
    if let resource = object["resource"]?.objectValue {
      object["resource"] = .object(withoutBytes(resource, key: "blob"))
    }
    return .object(withoutBytes(object, key: "data"))
  }

  private static func withoutBytes(_ object: JSONObject, key: String) -> JSONObject {
    guard let encoded = object[key]?.stringValue else { return object }
    var object = object
    object[key] = nil
    object["encodedBytes"] = JSONValue(encoded.utf8.count)
    object["sha256"] = .string(Digest(of: Array(encoded.utf8)).hex)
    return object
  }
}
