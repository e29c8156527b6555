public import AgentTrace
import TraceMatching

extension RunTotals {
  /// What a run used, as far as its log shows.
  ///
  /// The chronicle must have been gathered for expectations that hold a budget; otherwise tokens and
  /// cost are unknown.
  public init(of trajectory: Trajectory, _ chronicle: Chronicle) {
    let view = CallView(trajectory)
    let usage = chronicle.usage
    let calls = view.agentsCalls
    var more: Set<Budget.Measure> = []
    if view.mayHideCalls { more.formUnion(Budget.Measure.allCases) }
    if calls.contains(where: { view.executed($0) == .unknown }) { more.insert(.calls) }
    if !chronicle.facts.contains(.usage) || trajectory.recorded["model"] != nil {
      more.formUnion([.modelCalls, .tokens, .inputTokens, .outputTokens, .cost])
    }
    if usage.lacksTokens { more.formUnion([.tokens, .inputTokens, .outputTokens]) }
    if usage.lacksCost { more.insert(.cost) }
    if trajectory.recorded["time"] != nil { more.insert(.seconds) }
    // How they ended was not recorded, or how often they were tried.
    if calls.contains(where: { $0.status == .returned }) { more.insert(.errors) }
    if calls.contains(where: chronicle.lacksAttempts) { more.insert(.retries) }
    if trajectory.recorded["tools"] != nil { more.formUnion([.errors, .retries]) }
    self.init(
      runId: trajectory.runId,
      amounts: [
        .steps: Double(trajectory.steps),
        .calls: Double(calls.count { view.executed($0) == .yes }),
        .modelCalls: Double(usage.calls),
        .tokens: Double(usage.inputTokens) + Double(usage.outputTokens),
        .inputTokens: Double(usage.inputTokens), .outputTokens: Double(usage.outputTokens),
        .cost: usage.cost, .seconds: Double(chronicle.elapsedMicroseconds) / 1e6,
        .retries: Double(
          calls.reduce(0) { $0 + (chronicle.efforts[$1.outline.callId]?.retries.count ?? 0) }),
        .errors: Double(calls.count { $0.outline.hasFailed }),
      ], mayBeMore: more)
  }
}

extension WordJudge {
  func budget(_ budget: Budget) -> [ExpectationOutcome] {
    let own = RunTotals(of: view.trajectory, chronicle)
    let others = budget.includesSubRuns ? aids.subRuns : []
    return budget.limits.map { limit in
      if let tool = limit.tool { return self.limit(limit, on: tool) }
      guard let others else {
        return ExpectationOutcome(
          expectation: limit.name, outcome: .unverifiable,
          message: "Nobody looked for the runs that this one started.",
          expected: "at most \(limit.said)")
      }
      return self.limit(limit, [own] + others)
    }
  }

  private func limit(_ limit: Budget.Limit, _ totals: [RunTotals]) -> ExpectationOutcome {
    let amount = totals.reduce(0.0) { $0 + ($1.amounts[limit.measure] ?? 0) }
    let mayBeMore = totals.contains {
      $0.mayBeMore.contains(limit.measure) || $0.amounts[limit.measure] == nil
    }
    return outcome(
      limit, amount, mayBeMore: mayBeMore, events: events(beyond: limit),
      runs: totals.count > 1 ? totals.count : nil)
  }

  /// The event that shows how much of something was used.
  private func events(beyond limit: Budget.Limit) -> [Int] {
    let end = view.trajectory.stop.map { [$0.seq] } ?? []
    switch limit.measure {
    case .steps:
      return view.calls.first { Double($0.step) > limit.maximum }.map { [$0.outline.seq] } ?? end
    case .calls:
      let executed = view.agentsCalls.filter { view.executed($0) == .yes }
      let index = Int(min(limit.maximum, Double(executed.count)))
      return executed.indices.contains(index) ? executed[index].events : end
    case .modelCalls, .tokens, .inputTokens, .outputTokens, .cost:
      return chronicle.usage.last.map { [$0] } ?? end
    case .retries:
      let all = retries(of: view.agentsCalls)
      let index = Int(min(limit.maximum, Double(all.count)))
      return all.indices.contains(index) ? [all[index]] : end
    case .errors:
      let failed = view.calls.filter { $0.outline.hasFailed }
      let index = Int(min(limit.maximum, Double(failed.count)))
      return failed.indices.contains(index) ? failed[index].events : end
    case .seconds: return end
    }
  }

  private func limit(_ limit: Budget.Limit, on tool: Glob) -> ExpectationOutcome {
    let calls = view.agentsCalls.filter { tool.matches($0.tool) }
    let executed = calls.filter { view.executed($0) == .yes }
    var mayBeMore =
      view.mayHideCalls || calls.contains { view.executed($0) == .unknown }
      || view.calls.contains { view.fits(tool, $0.tool) == .unknown }
      || (limit.measure != .calls && view.trajectory.recorded["tools"] != nil)
    var (amount, shown): (Double, [Int]) = (0, [])
    switch limit.measure {
    case .calls:
      amount = Double(executed.count)
      shown = executed.dropFirst(Int(min(limit.maximum, 1e9))).first?.events ?? []
    case .errors:
      let failed = executed.filter { $0.outline.hasFailed }
      mayBeMore = mayBeMore || executed.contains { $0.status == .returned }
      amount = Double(failed.count)
      shown = failed.dropFirst(Int(min(limit.maximum, 1e9))).first?.events ?? []
    case .retries:
      let retries = retries(of: calls)
      mayBeMore = mayBeMore || executed.contains(where: chronicle.lacksAttempts)
      amount = Double(retries.count)
      shown = retries.dropFirst(Int(min(limit.maximum, 1e9))).first.map { [$0] } ?? []
    default:
      var microseconds = 0.0
      for call in executed {
        guard let took = chronicle.efforts[call.outline.callId]?.elapsedMicroseconds else {
          mayBeMore = true
          continue
        }
        microseconds += Double(max(0, took))
        if microseconds / 1e6 > limit.maximum, shown.isEmpty { shown = call.events }
      }
      amount = microseconds / 1e6
    }
    return outcome(limit, amount, mayBeMore: mayBeMore, events: shown, runs: nil)
  }

  private func outcome(
    _ limit: Budget.Limit, _ amount: Double, mayBeMore: Bool, events: [Int], runs: Int?
  ) -> ExpectationOutcome {
    let said = limit.say(amount) + (runs.map { " in \($0) runs" } ?? "")
    func outcome(_ outcome: Outcome, _ events: [Int], _ message: String) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: limit.name, outcome: outcome, events: events, message: message,
        expected: "at most \(limit.said)",
        actual: outcome == .unverifiable ? "at least \(said)" : said)
    }
    let whose = limit.tool.map { " by \(CallWording.short($0.text))" } ?? ""
    if amount > limit.maximum {
      return outcome(.fail, events, "\(said) used\(whose), more than allowed.")
    }
    if mayBeMore {
      let why = view.mayHideCalls ? view.whyHidden : "not all of it was recorded"
      return outcome(.unverifiable, [], "There may have been more than \(said)\(whose): \(why).")
    }
    return outcome(.pass, [], "\(said) used\(whose).")
  }
}

extension Budget.Limit {
  var name: String {
    tool.map { "budget.tools.\($0.text).\(measure.rawValue)" } ?? "budget.\(measure.rawValue)"
  }

  var said: String { "\(text) \(unit)" }

  func say(_ amount: Double) -> String { "\(JSONValue(amount)) \(unit)" }

  private var unit: String {
    switch measure {
    case .steps: "steps"
    case .calls: "calls"
    case .modelCalls: "calls of the model"
    case .tokens: "tokens"
    case .inputTokens: "tokens in"
    case .outputTokens: "tokens out"
    case .cost: "of cost"
    case .seconds: "seconds"
    case .retries: "retries"
    case .errors: "errors"
    }
  }
}
