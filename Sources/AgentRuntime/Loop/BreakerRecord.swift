import AgentTrace

/// The circuit breakers of a run, folded from its events.
///
/// A breaker looks at a group of calls that run side by side as a whole: the state in which it was
/// before lets them through or not, and their results count once all of them are there, in call order.
/// So nothing depends on which of them ended first, and a run that is resumed, forked or made again
/// has the same breakers.
struct BreakerRecord: Sendable {
  private struct Breaker {
    var state = BreakerChanged.State.closed
    /// Errors in a row among the results that count already.
    var failures = 0
    /// When it was opened last.
    var openedAt = 0
  }

  private struct Outcome {
    var index: Int
    var tool: String
    var hasFailed: Bool
  }

  private var settings: [String: BreakerSettings]
  private var breakers: [String: Breaker] = [:]
  /// The calls of the current decision, in call order.
  private var calls: [String] = []
  /// Results of the current group.
  private var outcomes: [Outcome] = []
  /// Tools whose breakers have changed for the results of the current group.
  private var changed: [String] = []
  /// When the last verdict was given. Waiting times are reckoned up to then, so that it is the same for
  /// every call of a group.
  private var ruledAt = 0

  init(tools: [ToolRegistration]) {
    var settings: [String: BreakerSettings] = [:]
    for tool in tools { settings[tool.definition.name] = tool.breaker }
    self.settings = settings
  }

  /// Looks after the breakers of further tools.
  mutating func know(_ tools: [ToolRegistration]) {
    for tool in tools where tool.breaker != nil { settings[tool.definition.name] = tool.breaker }
  }

  // MARK: Fold

  mutating func take(_ event: Event) {
    guard !settings.isEmpty else { return }
    switch event.type {
    case .decision:
      settle()
      let decision = try? DecisionPayload(decoding: event.data).decision
      calls = decision?.calls.map(\.callId) ?? []
    case .contextBuilt, .approval: settle()
    case .policyDecision: ruledAt = min(max(0, event.t), 1 << 60)
    case .toolResult: take(result: event.data)
    case .breakerChanged:
      guard let change = try? BreakerChanged(decoding: event.data) else { return }
      take(change, at: min(max(0, event.t), 1 << 60))
    default: break
    }
  }

  private mutating func take(result data: JSONObject) {
    guard let tool = data["tool"]?.stringValue, settings[tool] != nil,
      let status = data["status"]?.stringValue, status == "ok" || status == "error"
    else { return }
    // What a signal cut off says nothing about its tool.
    if status == "error", data["signal"] != nil { return }
    let callId = data["callId"]?.stringValue ?? ""
    let index = calls.firstIndex { $0.hasSameUTF8(as: callId) } ?? calls.count
    outcomes.append(Outcome(index: index, tool: tool, hasFailed: status == "error"))
  }

  private mutating func take(_ change: BreakerChanged, at t: Int) {
    guard settings[change.tool] != nil else { return }
    breakers[change.tool, default: Breaker()].state = change.state
    switch change.state {
    case .open:
      breakers[change.tool]?.openedAt = t
      changed.append(change.tool)
    case .closed: changed.append(change.tool)
    case .halfOpen: break
    }
  }

  /// The results of the last group count from now on.
  private mutating func settle() {
    for tool in tools { breakers[tool, default: Breaker()].failures = failures(of: tool) }
    outcomes = []
    changed = []
  }

  /// The tools of the current group's results, in call order.
  private var tools: [String] {
    var tools: [String] = []
    for outcome in outcomes.sorted(by: { $0.index < $1.index }) where !tools.contains(outcome.tool)
    {
      tools.append(outcome.tool)
    }
    return tools
  }

  /// Errors in a row with the results of the current group.
  private func failures(of tool: String) -> Int {
    var failures = breakers[tool]?.failures ?? 0
    for outcome in outcomes.sorted(by: { $0.index < $1.index }) where outcome.tool == tool {
      failures = outcome.hasFailed ? failures + 1 : 0
    }
    return failures
  }

  // MARK: What follows

  /// The changes that the results of a finished group make due, in call order; those that were made
  /// are not among them.
  var changesDue: [BreakerChanged] {
    tools.filter { !changed.contains($0) }.compactMap { tool in
      let failures = failures(of: tool)
      let next: BreakerChanged.State
      switch breakers[tool]?.state ?? .closed {
      case .closed where failures >= settings[tool]?.failures ?? .max: next = .open
      case .halfOpen: next = failures > 0 ? .open : .closed
      case .closed, .open: return nil
      }
      return BreakerChanged(tool: tool, state: next, failures: failures)
    }
  }

  /// What breakers say to calls that are about to begin, in call order.
  struct Passage {
    /// Breakers that let one call through from now on.
    var changes: [BreakerChanged] = []
    /// Calls that may not begin, by their ids, and why.
    var held: [String: String] = [:]
  }

  /// - Parameter underWay: Tools of calls of the same group that have begun.
  func passage(of calls: [ProposedCall], besides underWay: [String]) -> Passage {
    var passage = Passage()
    var probed = underWay
    for call in calls {
      guard let settings = settings[call.name], let breaker = breakers[call.name],
        breaker.state != .closed
      else { continue }
      if breaker.state == .open, ruledAt - breaker.openedAt < settings.resetMicroseconds {
        // Who goes on within a group whose results opened it finds them not settled yet.
        let failures = changed.contains(call.name) ? failures(of: call.name) : breaker.failures
        passage.held[call.callId] =
          "breaker open: \(call.name) failed \(failures) times in a row"
        continue
      }
      if probed.contains(call.name) {
        passage.held[call.callId] =
          "breaker half open: another call of \(call.name) shows first whether it works again"
        continue
      }
      probed.append(call.name)
      guard breaker.state == .open else { continue }
      passage.changes.append(
        BreakerChanged(tool: call.name, state: .halfOpen, failures: breaker.failures))
    }
    return passage
  }
}
