import AgentTrace
import TraceReporting

/// What led to the end of a run: the events that caused it, the last first.
struct StopReasons {
  private let cursor: RunCursor

  init(in cursor: RunCursor) { self.cursor = cursor }

  /// Tells of a stop.
  func add(_ event: Event, to page: inout Page) throws {
    guard let stop = try? Stop(decoding: event.data) else {
      return page.line("a stop of another shape than its type promises", .warning)
    }
    let detail = stop.detail.map { " (\($0))" } ?? ""
    page.heading("why the run stopped: \(stop.reason.rawValue)\(detail)", "event \(event.seq)")
    page.line("  " + Self.meaning(of: stop))
    let step = try cursor.events(ofStep: event.step) { cause in
      cause.seq < event.seq && cause.type != .contextBuilt
    }
    let causes = try causes(of: stop, event, step)
    for cause in causes { tell(cause, to: &page) }
    let first = causes.last?.seq ?? event.seq
    // From the last cause back to what the model saw.
    for type in [EventType.decision, .modelResult, .contextBuilt] {
      guard !causes.contains(where: { $0.type == type }),
        let before = try cursor.lastEvent(before: first, of: [type]), before.step == event.step
      else { continue }
      tell(before, to: &page)
    }
    if stop.reason == .success { try addEvidence(of: stop, before: event.seq, to: &page) }
  }

  /// What a reason and its detail say; Docs/agent-files.md has all of them.
  private static func meaning(of stop: Stop) -> String {
    switch stop.reason {
    case .success: "the agent gave its answer"
    case .blocked: "the agent waits for a person who is not there"
    case .approvalRequired: "a call waits for a person's approval"
    case .budgetExhausted: "a limit of the run was reached"
    case .invalidDecision: "the model's replies could not be read as decisions, retries included"
    case .policyDenied: "policy denied a call, or too many"
    case .toolFailure: "too many results in a row were errors, or one that must not be"
    case .modelFailure: "the model could not be reached, retries included"
    case .cancelled: "it was cancelled from outside"
    }
  }

  /// The events that a reason rests on, the last first.
  private func causes(of stop: Stop, _ event: Event, _ step: [Event]) throws -> [Event] {
    func inStep(_ type: EventType, _ isSuch: (Event) -> Bool = { _ in true }) -> [Event] {
      step.filter { $0.type == type && isSuch($0) }.reversed()
    }
    func status(_ word: String) -> (Event) -> Bool {
      { $0.data["status"]?.stringValue?.hasSameUTF8(as: word) ?? false }
    }
    switch stop.reason {
    case .success, .blocked: return Array(inStep(.decision).prefix(1))
    case .approvalRequired: return inStep(.policyDecision, status("approval_required"))
    case .invalidDecision:
      return inStep(.decision) { $0.data["kind"]?.stringValue == "invalid" }
    case .modelFailure: return inStep(.modelResult) { $0.data["error"] != nil }
    case .policyDenied:
      if stop.detail != "max_denials" { return inStep(.policyDecision, status("deny")) }
      return try last(.policyDecision, before: event.seq, count: 3, status("deny"))
    case .toolFailure:
      return try last(.toolResult, before: event.seq, count: 3, status("error"))
    case .budgetExhausted:
      let refused = inStep(.toolResult, status("refused"))
      if !refused.isEmpty { return refused }
      return Array((inStep(.toolResult) + inStep(.modelResult)).prefix(1))
    case .cancelled:
      let ended = Set(inStep(.toolResult).compactMap { $0.data["callId"]?.stringValue })
      let open = inStep(.toolStarted) { !ended.contains($0.data["callId"]?.stringValue ?? "") }
      return open.isEmpty ? Array(inStep(.toolResult).prefix(1)) : open
    }
  }

  /// The last few events of a kind, the last first.
  private func last(
    _ type: EventType, before seq: Int, count: Int, _ isSuch: (Event) -> Bool
  ) throws -> [Event] {
    var found: [Event] = []
    var seq = seq
    while found.count < count,
      let event = try cursor.lastEvent(before: seq, of: [type], where: isSuch)
    {
      found.append(event)
      seq = event.seq
    }
    return found
  }

  private func addEvidence(of stop: Stop, before seq: Int, to page: inout Page) throws {
    var refs = stop.evidenceRefs
    if refs.isEmpty, let decision = try cursor.lastEvent(before: seq, of: [.decision]) {
      refs = (decision.data["evidenceRefs"]?.arrayValue ?? []).compactMap(\.stringValue)
    }
    for ref in refs.prefix(20) {
      let result = try cursor.lastEvent(before: seq, of: [.toolResult]) {
        $0.data["callId"]?.stringValue?.hasSameUTF8(as: ref) ?? false
      }
      guard let result else {
        page.labelled("evidence", "\(ref): no result in the log has this id", .warning)
        continue
      }
      tell(result, to: &page, label: "evidence")
    }
  }

  private func tell(_ event: Event, to page: inout Page, label: String = "because") {
    let row = EventRow(event)
    for (index, entry) in row.entries.enumerated() {
      page.labelled(
        index == 0 ? label : "",
        (index == 0 ? "event \(event.seq): " : "") + "\(entry.label) \(entry.text)"
          + (entry.tail.isEmpty ? "" : "  \(entry.tail)"), entry.role)
    }
  }
}
