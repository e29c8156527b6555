import AgentTrace
import TraceMatching

/// Names of tools behind that of what offers them, as frameworks join them: `Plugin-list_messages` in Semantic Kernel,
/// `mcp__mail__send` and `mail.send` of servers.
enum QualifiedName {
  private static let separators: [StaticString] = ["__", "-", ".", "/", ":"]

  /// Whether a tool may be the one of this name: behind another one, or in another spelling.
  static func mayBe(_ name: String, _ tool: String) -> Bool {
    isBehind(name, tool) || isSpelling(of: name, tool)
  }

  /// Whether a name is another in capitals and in the signs between its words alone, as frameworks write one tool for a
  /// model and for people: `get_weather`, `Get Weather`.
  static func isSpelling(of name: String, _ tool: String) -> Bool {
    name.utf8.count == tool.utf8.count && !name.hasSameUTF8(as: tool)
      && zip(name.utf8, tool.utf8).allSatisfy { plain($0) == plain($1) }
  }

  /// A letter small, and one sign for whatever joins words.
  private static func plain(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
    case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "."): UInt8(ascii: "_")
    default: byte
    }
  }

  private static func isBehind(_ name: String, _ tool: String) -> Bool {
    let (end, bytes) = (name.utf8, tool.utf8)
    guard !end.isEmpty, bytes.count > end.count, bytes.suffix(end.count).elementsEqual(end) else {
      return false
    }
    let before = bytes.dropLast(end.count)
    return separators.contains { separator in
      separator.withUTF8Buffer {
        before.count > $0.count && before.suffix($0.count).elementsEqual($0)
      }
    }
  }
}

extension CallView {
  /// The calls that an entry names by the last part of their tools' names or in another spelling, where it names no tool
  /// that was called and the run does not say which tools it had: nobody knows whether its name is that of a tool at all.
  func callsBehindName(of entry: CallEntry, _ scope: Scope) -> [Trajectory.Call] {
    guard let name = entry.tool.literal else { return [] }
    let tools = toolsCalled
    guard tools.contains(where: { QualifiedName.mayBe(name, $0) }), trajectory.toolNames == nil,
      !tools.contains(where: entry.tool.matches)
    else { return [] }
    return calls.filter { call in
      guard QualifiedName.mayBe(name, call.tool), let tool = try? Glob(Glob.escaping(call.tool))
      else { return false }
      var entry = entry
      entry.tool = tool
      return isSuch(entry, call, scope, unknownCounts: true) != .no
    }
  }
}
