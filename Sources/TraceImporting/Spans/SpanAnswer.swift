import AgentTrace

/// What an agent's span says that it answered.
enum SpanAnswer {
  /// The text that the last agent, or the root, gave; `nil` where none tells it.
  static func text(of spans: [TraceSpan], records: [String: [TraceSpan.Event]]) -> JSONValue? {
    let agents = spans.filter { $0.kind == .agent || $0.parent == nil && $0.kind != .model }
    for agent in agents.sorted(by: { $0.end > $1.end }) {
      let content = SpanContent(of: agent, records: records[agent.key] ?? [])
      guard let last = content.outputs?.last, last.role == .assistant, last.calls.isEmpty,
        let text = last.text, !SpanContent.isPrinted(text)
      else { continue }
      return text
    }
    return nil
  }
}
