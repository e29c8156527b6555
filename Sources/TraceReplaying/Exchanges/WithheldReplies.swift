import AgentRuntime
import AgentTrace

/// Which replies of a proxy's log never reached whoever asked, because a policy was in force.
///
/// The log holds them as they came. What was not handed on then is not handed on when the log is answered from: whoever
/// asks would run what was denied.
struct WithheldReplies {
  /// Whether a policy was in force: the log of a proxy without one says that verdicts are not recorded.
  private var isGuarded = false
  /// Why replies were not handed on, by their events.
  private var reasons: [Int: String] = [:]
  /// Calls that nobody allowed so far, by their ids: their replies, and why these were not handed on if it stays so.
  private var waiting: [String: (reply: Int, words: String)] = [:]
  /// The replies of calls.
  private var replies: [String: Int] = [:]
  /// Replies in whose place others were given.
  private var changed: Set<Int> = []

  /// Takes in the next event of the log.
  mutating func take(_ event: Event) {
    let data = event.data
    switch event.type {
    case .runStarted:
      let recorded = data["recorded"]?.objectValue
      isGuarded = recorded != nil && recorded?["policy"] == nil
    case .modelResult:
      // An error is no reply, and was handed on unless something in it was not seen.
      let isError = data["wire"]?["status"]?.intValue ?? 0 >= 400
      if data["reply"] == nil, !isError { reasons[event.seq] = ReasonToWithhold.unread }
    case .unseen:
      if let reply = data["modelResult"]?.intValue { reasons[reply] = ReasonToWithhold.unread }
    case .replyChanged: if let reply = data["modelResult"]?.intValue { changed.insert(reply) }
    case .decision:
      guard let reply = data["modelResult"]?.intValue else { return }
      for call in data["calls"]?.arrayValue ?? [] where call["executedBy"] == nil {
        guard let id = call["callId"]?.stringValue else { continue }
        replies[id] = reply
        waiting[id] = (reply, ReasonToWithhold.unread)
      }
    case .policyDecision, .toolResult:
      guard let id = data["callId"]?.stringValue, let reply = replies[id] else { return }
      switch data["status"]?.stringValue {
      case "allow"?: waiting[id] = nil
      case "refused"?: reasons[reply] = data["reason"]?.stringValue ?? ReasonToWithhold.unread
      case "approval_required"?:
        waiting[id] = (reply, ReasonToWithhold.waits)
      default: break
      }
    default: break
    }
  }

  /// What whoever asked was given, once the whole log was taken in.
  ///
  /// - Parameter event: the event that holds the reply.
  func given(_ reply: WireReply, of event: Int) -> WireReply {
    guard isGuarded, !changed.contains(event),
      let words = reasons[event] ?? waiting.values.filter({ $0.reply == event }).map(\.words).max()
    else { return reply }
    switch reply.ending {
    case .whole: return .refusal(403, words, isFinal: true)
    case .cut: return .refusal(502, "the provider broke off")
    // Whoever asked waited for all of it, and had got nothing when it went away.
    case .dropped: return WireReply(status: 0, headers: [], pieces: [], ending: .dropped)
    }
  }
}
