import AgentTrace

/// How the first generation of mini-SWE-agent reads an action: its model writes one fence of `bash`, which is run, and the
/// next message holds what came back (https://github.com/SWE-agent/mini-swe-agent, src/minisweagent/agents/default.py).
struct MiniActions {
  private static let fence = "```bash"

  /// None where a file is of a later generation, or its agent was told to look for something else.
  init?(of file: JSONValue) {
    if let format = file["trajectory_format"], format != "mini-swe-agent-1" { return nil }
    if let rule = file["info"]?["config"]?["agent"]?["action_regex"]?.stringValue {
      guard rule.hasPrefix(Self.fence) else { return nil }
    }
  }

  /// The call that a reply makes; `nil` where it holds no fence or several: of those none is run.
  func call(in text: String) -> GraphCall? {
    var rest = Substring(text)
    var action: Substring?
    while let opening = rest.firstRange(of: Self.fence) {
      rest = rest[opening.upperBound...]
      guard rest.prefix(while: \.isWhitespace).contains(where: \.isNewline) else { continue }
      guard let closing = rest.firstRange(of: "\n```") else { break }
      guard action == nil else { return nil }
      action = rest[..<closing.lowerBound]
      rest = rest[closing.upperBound...]
    }
    guard var action = action?.drop(while: \.isWhitespace) else { return nil }
    while action.last?.isWhitespace == true { action.removeLast() }
    return GraphCall(name: "action", input: .there(["command": .string(String(action))]))
  }

  /// What came back, or became of an action that gave nothing back.
  func result(of call: GraphCall, in message: JSONValue, at pointer: JSONPointer) -> GraphResult {
    var result = GraphResult(
      data: message["content"].map { Told(text: $0) } ?? .absent, status: .returned,
      pointer: pointer)
    result.tool = call.name
    let rest = message.objectValue?.filter { !["role", "content"].contains($0.key) } ?? []
    if rest.contains(where: \.value.mayHoldCall) { result.unread.append(pointer) }
    Self.fate.tell(&result)
    return result
  }

  private static let fate = FateWord(
    kept: [("Command not executed. ", "")],
    brokenOff: [("Interrupted by user: ", ""), ("The last command <command>", "")])
}
