import AgentTrace

/// Names and ids as providers take them: letters, digits, `_` and `-`, at most 64.
///
/// OpenAI documents that form for the names of functions, Anthropic for names (`^[a-zA-Z0-9_-]{1,64}$`)
/// and for the ids of calls. What is not of that form gets a name of that form that depends on nothing
/// but itself, so that a call is called the same in every request.
enum WireNames {
  private static let limit = 64

  /// The name of a tool as a provider is told it.
  static func wireName(ofTool name: String) -> String {
    if isAllowed(name) { return name }
    let plain = String(
      decoding: name.utf8.prefix(50).map { isAllowed($0) ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
    return "\(plain)-\(Digest(of: Array(name.utf8)).hex.prefix(12))"
  }

  /// The tool that a provider calls by a name; the name itself where none of these is called so.
  static func toolName(of wireName: String, among tools: [String]) -> String {
    if tools.contains(where: { $0.hasSameUTF8(as: wireName) }) { return wireName }
    return tools.first { Self.wireName(ofTool: $0).hasSameUTF8(as: wireName) } ?? wireName
  }

  /// The id of a call as a provider is told it: `1.1.0` is `call_1_1_0`.
  static func wireID(ofCall id: String) -> String {
    if isAllowed(id) { return id }
    let isNumbers =
      id.utf8.count < limit - 5
      && id.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    if isNumbers, !id.isEmpty {
      return "call_" + String(decoding: id.utf8.map { $0 == 0x2e ? 0x5f : $0 }, as: UTF8.self)
    }
    return "call_" + Digest(of: Array(id.utf8)).hex.prefix(24)
  }

  private static func isAllowed(_ text: String) -> Bool {
    (1...limit).contains(text.utf8.count) && text.utf8.allSatisfy(isAllowed)
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "_-".utf8.contains(byte)
  }
}
