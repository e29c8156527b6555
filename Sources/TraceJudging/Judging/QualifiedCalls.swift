import AgentTrace
import TraceMatching

/// Names of tools behind that of what offers them, as frameworks join them: `Plugin-list_messages` in Semantic Kernel,
/// `mcp__mail__send` and `mail.send` of servers.
enum QualifiedName {
  private static let separators = ["__", "-", ".", "/", ":"]

  /// Whether a tool may be the one of this name, behind another one.
  static func mayBe(_ name: String, _ tool: String) -> Bool {
    guard !name.isEmpty, tool.utf8.count > name.utf8.count else { return false }
    let bytes = tool.utf8
    return separators.contains { separator in
      let end = separator + name
      return bytes.count > end.utf8.count && bytes.suffix(end.utf8.count).elementsEqual(end.utf8)
    }
  }
}

extension CallView {
  /// The calls that an entry names by the last part of their tools' names, where it names no tool that was called and
  /// the run does not say which tools it had: nobody knows whether its name is that of a tool at all.
  func callsBehindName(of entry: CallEntry, _ scope: Scope) -> [Trajectory.Call] {
    let tools = toolsCalled
    guard trajectory.toolNames == nil, let name = entry.tool.literal,
      tools.contains(where: { QualifiedName.mayBe(name, $0) }),
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
