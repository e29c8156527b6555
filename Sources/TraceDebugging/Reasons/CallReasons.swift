import AgentTrace
import TraceReporting

/// Why a call was made, what allowed it, and what became of it.
struct CallReasons {
  private let cursor: RunCursor

  init(in cursor: RunCursor) { self.cursor = cursor }

  /// The calls that an event speaks of, by their ids; `nil` where it speaks of none.
  static func callIds(of event: Event) -> [String]? {
    switch event.type {
    case .decision:
      let calls = event.data["calls"]?.arrayValue ?? []
      let ids = calls.compactMap { $0["callId"]?.stringValue }
      return ids.isEmpty ? nil : ids
    case .policyDecision, .toolStarted, .toolResult, .approval:
      return event.data["callId"]?.stringValue.map { [$0] }
    default: return nil
    }
  }

  /// Tells of some calls of the step that an event belongs to.
  func add(_ callIds: [String], at event: Event, to page: inout Page) throws {
    let decision = try decision(holding: callIds, at: event)
    let events = try cursor.events(ofStep: event.step) { event in
      event.type != .decision
        && event.data["callId"]?.stringValue.map(callIds.contains) ?? false
    }
    for callId in callIds.prefix(20) { try add(callId, decision, events, to: &page) }
    if callIds.count > 20 { page.line("  and \(callIds.count - 20) more calls", .faint) }
  }

  private func decision(holding callIds: [String], at event: Event) throws -> Event? {
    if event.type == .decision { return event }
    return try cursor.lastEvent(before: event.seq, of: [.decision]) { decision in
      decision.data["calls"]?.arrayValue?.contains { call in
        call["callId"]?.stringValue.map(callIds.contains) ?? false
      } ?? false
    }
  }

  private func add(
    _ callId: String, _ decision: Event?, _ events: [Event], to page: inout Page
  ) throws {
    let call = try decision.flatMap { decision in
      try DecisionPayload(decoding: decision.data).decision.calls.first {
        $0.callId.hasSameUTF8(as: callId)
      }
    }
    page.heading("why \(call?.name ?? "a call")", callId)
    if let decision, let call {
      let caller = decision.data["caller"]?.stringValue ?? "the agent"
      page.labelled(
        "decision",
        "event \(decision.seq), by \(caller)"
          + (decision.data["modelResult"]?.intValue.map { ", read from the reply in event \($0)" }
            ?? ""))
      try addContext(before: decision, to: &page)
      try add(ValueOrigins(of: call.input, before: decision.seq, in: cursor), decision, to: &page)
    } else {
      page.labelled("decision", "the log shows none that holds it", .warning)
    }
    let own = events.filter { event in
      event.data["callId"]?.stringValue?.hasSameUTF8(as: callId) ?? false
    }
    for event in own { add(event, to: &page) }
    if !own.contains(where: { $0.type == .policyDecision }) {
      page.labelled("verdict", "none is recorded", .warning)
    }
    if !own.contains(where: { $0.type == .toolResult }) {
      page.labelled("result", "none is recorded", .warning)
    }
  }

  private func addContext(before decision: Event, to page: inout Page) throws {
    guard let context = try cursor.lastEvent(before: decision.seq, of: [.contextBuilt]) else {
      return
    }
    let count = context.data["prompt"]?["messages"]?.arrayValue?.count ?? 0
    page.labelled("saw", "event \(context.seq): \(Figures.count(count, "message"))")
  }

  private func add(
    _ origins: ValueOrigins, _ decision: Event, to page: inout Page
  ) throws {
    for argument in origins.arguments {
      let value = CanonicalJSON.prefix(of: argument.value, limitBytes: 120)
      page.labelled("argument", "\(argument.pointer) = \(value)", labelRole: .heading)
      for place in argument.places {
        page.labelled(
          "",
          "\(place.isWhole ? "is" : "within") event \(place.seq) \(place.pointer)"
            + ", \(place.what)", place.isWhole ? .good : nil)
      }
      guard argument.places.isEmpty, argument.isTelling else { continue }
      if let place = try prompt(holding: argument, before: decision) {
        page.labelled("", "within event \(place.seq) \(place.pointer), \(place.what)")
      } else if origins.firstSeq > 1 {
        page.labelled(
          "", "in no result since event \(origins.firstSeq); not looked further", .faint)
      } else {
        page.labelled("", "in no earlier result and not in the goal: the model's own", .warning)
      }
    }
  }

  /// Where in the prompt a value stands that no result and no goal holds.
  private func prompt(
    holding argument: ValueOrigins.Argument, before decision: Event
  ) throws -> ValueOrigins.Place? {
    guard let context = try cursor.lastEvent(before: decision.seq, of: [.contextBuilt]),
      let messages = context.data["prompt"]?["messages"]?.arrayValue
    else { return nil }
    for (index, message) in messages.enumerated() {
      for (part, content) in (message["content"]?.arrayValue ?? []).enumerated() {
        guard let text = content["text"]?.stringValue else { continue }
        guard
          ValueOrigins.holds(text, argument.text) || text.utf8.elementsEqual(argument.text)
        else { continue }
        return ValueOrigins.Place(
          seq: context.seq, what: "the prompt",
          pointer: JSONPointer(
            tokens: ["prompt", "messages", "\(index)", "content", "\(part)", "text"]),
          isWhole: false)
      }
    }
    return nil
  }

  private func add(_ event: Event, to page: inout Page) {
    switch event.type {
    case .policyDecision:
      guard let verdict = try? Verdict(decoding: event.data) else { return }
      let role: Painter.Role =
        verdict.status == .allow ? .good : verdict.status == .deny ? .bad : .warning
      let rule = verdict.ruleId.map { "rule \($0)" } ?? "no rule matched"
      page.labelled(
        "verdict", "event \(event.seq): \(verdict.status.rawValue), \(rule): \(verdict.reason)",
        role)
    case .approval:
      guard let approval = try? Approval(decoding: event.data) else { return }
      let reason = approval.reason.map { ": \($0)" } ?? ""
      page.labelled(
        "approval",
        "event \(event.seq): \(approval.granted ? "granted" : "denied") by \(approval.by)"
          + "\(approval.extent.map { " \($0)" } ?? "")\(reason)",
        approval.granted ? .good : .bad)
    case .toolStarted:
      page.labelled(
        "started", "event \(event.seq), attempt \(event.data["attempt"]?.intValue ?? 1)")
    case .toolResult:
      let told = Timeline.entries(for: event).first
      page.labelled(
        "result", "event \(event.seq): \(told?.label ?? ""), \(told?.text ?? "")", told?.role)
    default: break
    }
  }
}
