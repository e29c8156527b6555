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

  /// The decision that holds a call, in whichever step; the last one of several. `nil` where there is none.
  func decision(holding callId: String) throws -> Event? {
    func holds(_ event: Event) -> Bool {
      event.type == .decision
        && (Self.callIds(of: event) ?? []).contains { $0.hasSameUTF8(as: callId) }
    }
    // Ids of ours begin with the step.
    let own = Int(callId.prefix { $0 != "." })
    for step in [cursor.step] + [own].compactMap(\.self) where step >= 0 {
      if let found = try cursor.events(ofStep: step, where: holds).last { return found }
    }
    var found: Event?
    try cursor.scanBackward(
      before: try cursor.last().seq + 1, isWanted: { $2 == .decision },
      { if holds($0) { found = $0 } }, endOfStretch: { found == nil ? .goOn : .enough })
    return found
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
      let context = try cursor.lastEvent(before: decision.seq, of: [.contextBuilt])
      if let context {
        let count = context.data["prompt"]?["messages"]?.arrayValue?.count ?? 0
        page.labelled("saw", "event \(context.seq): \(Figures.count(count, "message"))")
      }
      let origins = try ValueOrigins(
        of: call.input, before: decision.seq, shownIn: context, in: cursor)
      add(origins, to: &page)
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

  private func add(_ origins: ValueOrigins, to page: inout Page) {
    for (index, argument) in origins.arguments.enumerated() {
      let value = CanonicalJSON.prefix(of: argument.value, limitBytes: 120)
      page.labelled("argument", "\(argument.pointer) = \(value)", labelRole: .heading)
      for place in argument.places { add(place, to: &page) }
      guard argument.isTelling, !argument.places.contains(where: { $0.isShown ?? true }) else {
        continue
      }
      addOther(source(of: index, in: origins), to: &page)
    }
  }

  private func add(_ place: ValueOrigins.Place, to page: inout Page) {
    let isShown = place.isShown ?? true
    page.labelled(
      "",
      "\(place.isWhole ? "is" : "within") event \(place.seq) \(place.pointer), \(place.what)"
        + (isShown ? "" : ": not shown to the model"),
      isShown ? (place.isWhole ? .good : nil) : .warning)
  }

  private func addOther(_ source: (text: String, role: Painter.Role?), to page: inout Page) {
    page.labelled("", source.text, source.role)
  }

  /// Where a value came from that no event which the model was shown holds: another part of the prompt, or
  /// the model itself.
  private func source(
    of index: Int, in origins: ValueOrigins
  ) -> (text: String, role: Painter.Role?) {
    let isElsewhere = !origins.arguments[index].places.isEmpty
    if let shown = origins.shown, let place = shown.place(of: index) {
      let what =
        place.isOwn
        ? (place.callId.map { "the model's own call \($0)" } ?? "what the model itself had said")
        : place.callId.map { "the prompt, as the result of \($0)" } ?? "the prompt"
      let found = "event \(shown.seq) \(place.pointer), \(what)"
      return ((place.isWhole ? "is " : "within ") + found, nil)
    }
    if origins.firstSeq > 1, !isElsewhere {
      return ("in no result since event \(origins.firstSeq); not looked further", .faint)
    }
    return isElsewhere
      ? ("in nothing that the model was shown: the model's own", .warning)
      : ("in no earlier result and not in the goal: the model's own", .warning)
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
