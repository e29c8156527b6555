import AgentTrace
import TraceReporting

/// What of an event fits into one row of a timeline. Its texts are cut but not yet made visible.
struct EventRow: Sendable {
  var seq: Int
  var step: Int
  var entries: [Timeline.Entry]

  /// Characters of a text that are kept.
  private static let textLimit = 400
  private static let entryLimit = 24

  init(_ event: Event) {
    seq = event.seq
    step = event.step
    var told = Timeline.entries(for: event)
    if told.isEmpty { told = [Self.untold(event)] }
    let count = told.count
    entries = told.prefix(Self.entryLimit).map { entry in
      var entry = entry
      entry.text = Self.cut(entry.text)
      entry.tail = Self.cut(entry.tail)
      return entry
    }
    if count > Self.entryLimit {
      entries.append(
        Timeline.Entry("", .faint, "and \(count - Self.entryLimit) more of this event"))
    }
  }

  private static func cut(_ text: String) -> String {
    let head = text.prefix(utf8Bytes: textLimit)
    return head.utf8.count < text.utf8.count ? head + "…" : text
  }

  /// What a timeline leaves to the events that follow.
  private static func untold(_ event: Event) -> Timeline.Entry {
    switch event.type {
    case .modelResult:
      let result = try? ModelResult(decoding: event.data)
      let model = result?.model.map { "\($0) " } ?? ""
      var text = "\(model)try \(result?.attempt ?? 1)"
      if let input = result?.inputTokens, let output = result?.outputTokens {
        text += ", \(input) + \(output) tokens"
      }
      return Timeline.Entry("reply", .faint, text)
    case .toolStarted:
      let started = try? ToolStartedPayload(decoding: event.data)
      return Timeline.Entry("started", .faint, started?.tool ?? "", tail: started?.callId ?? "")
    default: return Timeline.Entry("event", .faint, event.type.rawValue)
    }
  }
}
