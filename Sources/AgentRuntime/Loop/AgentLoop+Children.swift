import AgentTrace

/// Calls that are runs of other agents.
extension AgentLoop {
  private func agent(of call: ProposedCall) -> SubAgent? {
    if case .agent(let agent)? = registry[call.name]?.implementation { agent } else { nil }
  }

  func isAgent(_ call: ProposedCall) -> Bool { agent(of: call) != nil }

  /// The run that an attempt of a call is; `nil` for a tool that is no agent.
  func child(
    of call: ProposedCall, attempt: Int, _ budget: inout ChildBudget
  ) -> ChildStart? {
    guard let child = agent(of: call) else { return nil }
    var limits = child.agent.limits.tightened(
      by: budget.share(for: call.callId, of: agent.limits, used: state.totals))
    limits.maxDepth = min(child.agent.limits.depth, agent.limits.depth - 1)
    let left = timeoutMicroseconds.map { max(0, $0 - state.elapsedMicroseconds) }
    let own = definition(of: call).timeoutSeconds
    limits = limits.tightened(
      by: Limits(
        timeoutSeconds: [own, left.map { Double($0) / 1_000_000 }].compactMap { $0 }.min()))
    return ChildStart(
      runId: ChildStart.runId(ofCall: call.callId, attempt: attempt, in: state.runId),
      limits: limits)
  }

  /// Whether a run was started by this one, and not by one that this was forked from.
  func isOwn(_ child: ChildStart, callId: String, attempt: Int) -> Bool {
    child.runId.hasSameUTF8(
      as: ChildStart.runId(ofCall: callId, attempt: attempt, in: state.runId))
  }

  /// Why a call of an agent may not begin; `nil` where it may.
  func reasonTooDeep(_ call: ProposedCall) -> String? {
    guard agent(of: call) != nil, agent.limits.depth <= 0 else { return nil }
    return "agents are nested as deep as limits.maxDepth allows"
  }

  /// What is wrong with an answer that is to be this run's own; `nil` where nothing is, or it is none.
  func faultInHandover(_ data: JSONValue, of call: ProposedCall) -> String? {
    guard agent(of: call)?.isHandoff ?? false else { return nil }
    return answerCheck.fault(inHandedOver: data).map { "\(call.name) gave no answer of use: \($0)" }
  }

  /// The end of a run whose only call has handed over: with the answer that it came to.
  func haltByHandoff(of calls: [ProposedCall], _ finished: [String: ToolResult]) -> Halt? {
    guard calls.count == 1, agent(of: calls[0])?.isHandoff ?? false,
      case .ok(let data)? = finished[calls[0].callId]
    else { return nil }
    return Halt(
      reason: .success, detail: StopDetail.handoff(calls[0].name), answer: data.asAnswer)
  }

  /// The same of results that are recorded.
  func haltByHandoff(of calls: [ProposedCall], _ progress: StepProgress) -> Halt? {
    guard calls.count == 1, let result = progress[calls[0].callId].result else { return nil }
    return haltByHandoff(of: calls, [calls[0].callId: result])
  }
}

/// What is left to the agents that a decision calls, so that together, and with the other calls of the decision, they
/// use no more than there is: each gets an equal part of what those before it have left.
struct ChildBudget {
  private struct Open {
    var callId: String
    var limits: Limits
  }

  /// Those that run.
  private var open: [Open] = []
  /// The calls of agents that have yet to be given a part, at most.
  private var waiting: [String] = []
  /// The calls that have yet to begin, of whatever tools: each of them is one that no agent may make.
  private var uncounted: [String] = []

  /// Of calls that run side by side.
  ///
  /// What runs on was given its part before.
  init(of calls: [ProposedCall], _ progress: StepProgress, isAgent: (ProposedCall) -> Bool) {
    for call in calls {
      let recorded = progress[call.callId]
      if recorded.attempts == 0 { uncounted.append(call.callId) }
      guard isAgent(call) else { continue }
      if let child = recorded.started?.child {
        open.append(Open(callId: call.callId, limits: child.limits))
      } else {
        waiting.append(call.callId)
      }
    }
  }

  /// A call begins, or never will: it is among the totals, or leaves what it would have used.
  mutating func settle(_ callId: String) { uncounted.removeAll { $0.hasSameUTF8(as: callId) } }

  /// What a call may use, which begins now.
  ///
  /// - Parameter totals: what was used, this call not yet counted.
  mutating func share(for callId: String, of limits: Limits, used totals: Totals) -> Limits {
    let parts = max(1, waiting.count)
    waiting.removeAll { $0.hasSameUTF8(as: callId) }
    func part(_ limit: Int?, _ used: Int, _ key: KeyPath<Limits, Int?>) -> Int? {
      guard let limit else { return nil }
      var left = max(0, limit) - min(max(0, limit), max(0, used))
      for other in open { left = max(0, left - max(0, other.limits[keyPath: key] ?? 0)) }
      return left / parts
    }
    var share = Limits()
    let tokens = totals.inputTokens.addingReportingOverflow(totals.outputTokens)
    share.maxTokens = part(
      limits.maxTokens, tokens.overflow ? .max : tokens.partialValue, \.maxTokens)
    // Each of those that have yet to begin is itself a call.
    let reserved = uncounted.count
    share.maxToolCalls = part(
      limits.maxToolCalls, min(totals.toolCalls, .max - reserved) + reserved, \.maxToolCalls)
    if let limit = limits.maxCost {
      let given = open.reduce(0) { $0 + ($1.limits.maxCost ?? 0) }
      share.maxCost = max(0, limit - (totals.cost ?? 0) - given) / Double(parts)
    }
    open.append(Open(callId: callId, limits: share))
    return share
  }

  /// A call has ended: what it used is among the totals.
  mutating func end(_ callId: String) { open.removeAll { $0.callId.hasSameUTF8(as: callId) } }
}
