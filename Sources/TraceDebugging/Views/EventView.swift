import AgentTrace
import TraceReporting

/// One event in readable form.
struct EventView {
  var event: Event
  /// The packet before, where the event is a packet.
  var previousContext: Event?
  /// Whether messages that were seen before stand in one line.
  var foldsOld = true

  func add(to page: inout Page) {
    page.heading(Self.title(event), "event \(event.seq), step \(event.step)\(time)")
    guard let payload = try? EventPayload(of: event) else {
      page.line("data of another shape than its type promises", .warning)
      return page.labelled("data", json: .object(event.data))
    }
    add(payload, to: &page)
  }

  private var time: String {
    event.t > 0 ? ", at \(Figures.duration(microseconds: event.t))" : ""
  }

  private static func title(_ event: Event) -> String {
    event.type.rawValue.replacing("_", with: " ")
  }

  private func add(_ payload: EventPayload, to page: inout Page) {
    switch payload {
    case .contextBuilt:
      page.lines.removeAll()
      ContextView(event, previous: previousContext)?.add(to: &page, foldsOld: foldsOld)
    case .decision(let payload): add(payload, to: &page)
    case .policyDecision(let verdict): add(verdict, to: &page)
    case .toolResult(let payload): add(payload, to: &page)
    case .modelResult(let result): add(result, to: &page)
    case .stop(let stop): add(stop, to: &page)
    default:
      for member in event.data { page.labelled(member.key, json: member.value) }
    }
  }

  private func add(_ payload: DecisionPayload, to page: inout Page) {
    if let caller = payload.caller { page.labelled("caller", caller) }
    switch payload.decision {
    case .answer(let text, let refs):
      page.labelled("answer", text)
      if !refs.isEmpty { page.labelled("evidence", refs.joined(separator: " ")) }
    case .askHuman(let question): page.labelled("asks", question, .warning)
    case .stop(let reason, let detail):
      page.labelled("stops", [reason.rawValue, detail].compactMap(\.self).joined(separator: ": "))
    case .invalid(let reason, let calls):
      page.labelled("invalid", reason, .bad)
      add(calls, to: &page)
    case .tool(let calls): add(calls, to: &page)
    }
    if let reply = payload.modelResult { page.labelled("read from", "event \(reply)", .faint) }
  }

  private func add(_ calls: [ProposedCall], to page: inout Page) {
    for call in calls {
      page.labelled("call", "\(call.name)  \(call.callId)", .heading)
      page.labelled("input", json: call.input)
    }
  }

  private func add(_ verdict: Verdict, to page: inout Page) {
    let role: Painter.Role =
      switch verdict.status {
      case .allow: .good
      case .deny: .bad
      case .approvalRequired: .warning
      }
    page.labelled("verdict", verdict.status.rawValue, role)
    page.labelled("call", "\(verdict.tool)  \(verdict.callId)")
    page.labelled("rule", verdict.ruleId ?? "none matched; the default decided")
    page.labelled("reason", verdict.reason)
    for member in verdict.context { page.labelled(member.key, json: member.value) }
  }

  private func add(_ payload: ToolResultPayload, to page: inout Page) {
    let took = payload.elapsedMicroseconds.map { ", \(Figures.duration(microseconds: $0))" } ?? ""
    let attempts = payload.attempts.map { ", \(Figures.count($0, "attempt"))" } ?? ""
    page.labelled("call", "\(payload.tool)  \(payload.callId)\(attempts)\(took)")
    switch payload.result {
    case .ok(let data):
      page.labelled("status", "ok", .good)
      page.labelled("data", json: data)
    case .returned(let data):
      page.labelled("status", "returned; whether it succeeded is not recorded")
      page.labelled("data", json: data)
    case .refused(let reason):
      page.labelled("status", "refused", .warning)
      page.labelled("reason", reason)
    case .error(let reason, let isEffectUnknown):
      page.labelled("status", isEffectUnknown ? "error, its effect unknown" : "error", .bad)
      page.labelled("reason", json: reason)
    }
  }

  private func add(_ result: ModelResult, to page: inout Page) {
    page.labelled("purpose", "\(result.purpose), try \(result.attempt)")
    if let model = result.model { page.labelled("model", model) }
    if let version = result.modelVersion { page.labelled("version", version) }
    if let error = result.error { page.labelled("error", error, .bad) }
    if result.isFinal { page.labelled("again", "no: it would be in vain") }
    if let wait = result.retryAfterMicroseconds {
      page.labelled("again", "after \(Figures.duration(microseconds: wait))")
    }
    var usage: [String] = []
    if let tokens = result.inputTokens { usage.append("\(tokens) tokens in") }
    if let tokens = result.cachedInputTokens, tokens > 0 {
      usage.append("\(tokens) of them cached")
    }
    if let tokens = result.outputTokens { usage.append("\(tokens) out") }
    if let tokens = result.reasoningTokens, tokens > 0 {
      usage.append("\(tokens) of them reasoning")
    }
    if let cost = result.cost { usage.append("cost \(Figures.cost(cost))") }
    if let took = result.elapsedMicroseconds {
      usage.append(Figures.duration(microseconds: took))
    }
    if !usage.isEmpty { page.labelled("usage", usage.joined(separator: ", ")) }
    if let reason = result.finishReason { page.labelled("finish", reason) }
    if let id = result.requestId { page.labelled("request", id, .faint) }
    if let reply = result.reply { page.labelled("reply", json: reply) }
  }

  private func add(_ stop: Stop, to page: inout Page) {
    page.labelled(
      "reason", stop.reason.rawValue + (stop.detail.map { " (\($0))" } ?? ""),
      stop.reason == .success ? .good : .bad)
    if !stop.isFinal { page.labelled("final", "no: the run may go on", .warning) }
    if let answer = stop.answer { page.labelled("answer", answer) }
    if !stop.evidenceRefs.isEmpty {
      page.labelled("evidence", stop.evidenceRefs.joined(separator: " "))
    }
    if let digest = stop.stateDigest { page.labelled("state", digest, .faint) }
  }
}
