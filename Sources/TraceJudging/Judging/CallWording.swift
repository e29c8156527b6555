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
      return call.outline.verdict == .approvalRequired ? "waiting for approval" : "never run"
    }
  }

  /// The names of some calls, in order.
  static func names(_ calls: [Trajectory.Call]) -> String {
    guard !calls.isEmpty else { return "no call" }
    var parts = calls.prefix(12).map { short($0.tool) }
    if calls.count > 12 { parts.append("… (\(calls.count) calls)") }
    return parts.joined(separator: ", ")
  }

  static func short(_ text: String) -> String {
    let head = text.prefix(utf8Bytes: limitBytes)
    return head.utf8.count < text.utf8.count ? head + "…" : head
  }
}
