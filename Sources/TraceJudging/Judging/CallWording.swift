import AgentTrace
import TraceMatching

/// Puts calls into short words for messages.
enum CallWording {
  private static let limitBytes = 200

  /// A call: its tool, its input, what became of it.
  static func of(_ call: Trajectory.Call) -> String {
    var text = short(call.tool)
    if let input = call.input { text += " \(input.excerpt)" }
    if !call.caller.hasSameUTF8(as: "agent") { text += " by \(short(call.caller))" }
    return text + " → \(fate(of: call)) (event \(call.outline.seq))"
  }

  /// Of a call whose result is not told: an import may not know whether it was run.
  static let noResult = "no result is told"

  /// What became of a call, in a word.
  static func fate(of call: Trajectory.Call) -> String {
    if call.isInvalid { return "never run, the decision was invalid" }
    switch call.status {
    case .refused?:
      switch call.outline.verdict {
      case .deny?: return "refused by policy"
      default: return "refused"
      }
    case let status?: return status.rawValue
    case nil:
      return call.outline.verdict == .approvalRequired ? "waiting for approval" : noResult
    }
  }

  /// The names of the tools of some calls, in order.
  static func names(_ tools: some Collection<String>) -> String {
    guard !tools.isEmpty else { return "no call" }
    var text = ""
    for (index, tool) in tools.prefix(12).enumerated() {
      if index > 0 { text += ", " }
      text += short(tool)
    }
    return tools.count > 12 ? "\(text), … (\(tools.count) calls)" : text
  }

  static func short(_ text: String) -> String {
    text.utf8.count <= limitBytes ? text : text.prefix(utf8Bytes: limitBytes) + "…"
  }
}
