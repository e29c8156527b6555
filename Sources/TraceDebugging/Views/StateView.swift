import AgentTrace
import TraceReporting

extension Page {
  /// What a state holds, and how much of the limits is used up.
  mutating func add(_ state: AgentState, limits: Limits?) {
    labelled("used", Self.budget(state, limits).map(\.text).joined(separator: ", "))
    for call in state.pendingCalls.prefix(20) {
      let how = call.result != nil ? ", result waits" : call.isStarted ? ", started" : ""
      labelled("pending", "\(call.callId) \(call.tool)\(how)")
    }
    if state.pendingCalls.count > 20 { labelled("", "and \(state.pendingCalls.count - 20) more") }
    if let question = state.question { labelled("asked", question, .warning) }
    if !state.approvals.isEmpty {
      labelled(
        "approved", Figures.count(state.approvals.grants.count, "approval") + " not used up")
    }
    for member in state.memory.prefix(20) { labelled("memory", member.key) }
    for member in state.breakers.prefix(20) where member.value["state"] != "closed" {
      labelled("breaker", "\(member.key) is \(member.value["state"]?.stringValue ?? "?")", .warning)
    }
    let counters = state.counters
    let failures = [
      (counters.denials, "denied call"), (counters.toolErrorsInARow, "tool error"),
      (counters.invalidDecisionsInARow, "invalid decision"),
    ].enumerated().filter { $1.0 > 0 }.map { index, entry in
      Figures.count(entry.0, entry.1) + (index > 0 ? " in a row" : "")
    }
    if !failures.isEmpty { labelled("failures", failures.joined(separator: ", "), .warning) }
    if let last = state.observations.recent.last {
      labelled("last seen", "\(last.id)  \(last.summary.prefix(utf8Bytes: 300))")
    }
    if let stop = state.stop {
      labelled(
        "stop", stop.reason + (stop.detail.map { " (\($0))" } ?? ""),
        stop.reason == "success" ? .good : .bad)
    }
  }

  /// How far the tasks of a pipeline are, and what their runs used.
  mutating func add(_ pipeline: PipelineState) {
    labelled("used", Timeline.used(by: pipeline).text)
    if let stop = pipeline.stop {
      labelled(
        "stop", stop.reason + (stop.detail.map { " (\($0))" } ?? ""),
        stop.reason == StopReason.success.rawValue ? .good : .bad)
    }
    if let rollback = pipeline.rollback {
      labelled("rollback", "to \(rollback.start.checkpoint ?? "start")", .warning)
    }
    let rows = PipelineTasks.rows(of: pipeline)
    for row in rows.prefix(100) { labelled(row.task, row.words, row.role) }
    if rows.count > 100 { labelled("", "and \(rows.count - 100) more tasks") }
  }

  /// What is used of each limit, and whether it is nearly all.
  static func budget(_ state: AgentState, _ limits: Limits?) -> [(text: String, isShort: Bool)] {
    let totals = state.totals
    func figure(_ used: Int, _ limit: Int?, _ what: String) -> (text: String, isShort: Bool) {
      guard let limit else { return (Figures.count(used, what), false) }
      return ("\(used) of \(limit) \(what)s", used >= limit - limit / 10)
    }
    var parts = [
      figure(totals.steps, limits?.maxSteps, "step"),
      figure(totals.toolCalls, limits?.maxToolCalls, "call"),
      (Figures.count(totals.modelCalls, "model call"), false),
    ]
    let tokens = totals.inputTokens + totals.outputTokens
    if tokens > 0 || limits?.maxTokens != nil {
      parts.append(figure(tokens, limits?.maxTokens, "token"))
    }
    if let cost = totals.cost {
      let limit = limits?.maxCost
      parts.append(
        (
          "cost \(Figures.cost(cost))" + (limit.map { " of \(Figures.cost($0))" } ?? ""),
          limit.map { cost >= $0 * 0.9 } ?? false
        ))
    }
    let time = Figures.duration(microseconds: state.elapsedMicroseconds)
    if let limit = limits?.timeoutSeconds, limit.isFinite, limit < 1e12 {
      parts.append(
        (
          "\(time) of \(Figures.duration(microseconds: Int(limit * 1e6)))",
          Double(state.elapsedMicroseconds) >= limit * 0.9e6
        ))
    } else {
      parts.append((time, false))
    }
    return parts
  }
}
