import AgentTrace

extension AgentLoop {
  /// A call, and what policy says about it.
  private typealias Ruled = (call: ProposedCall, check: PolicyGate.RuleCheck)

  /// Gives every call its verdict, then runs the allowed ones, then asks about those that wait.
  mutating func execute(
    _ calls: [ProposedCall], step: Int, from progress: StepProgress
  ) async throws -> Halt? {
    if let halt = haltByHandoff(of: calls, progress) { return halt }
    guard let ruled = try await rule(on: calls, step: step, from: progress) else {
      return boundary.cancellation.signal.map(Self.cancelled)
    }
    if let halt = try refuseDenied(ruled, step: step, from: progress) { return halt }
    let (free, waiting, blocked) = sorted(ruled, progress)
    // A person who has spoken was asked behind the free calls: what their end made due is past.
    let isPast = calls.contains { progress[$0.callId].approval != nil }
    if !isPast || free.contains(where: { !progress[$0.callId].isOver }),
      let halt = try await runWithinBudget(free, step: step, from: progress)
    {
      return halt
    }
    if let blocked {
      return Halt(
        reason: .blocked, detail: StopDetail.unknownEffect(of: blocked.name), isFinal: false)
    }
    return try await askForApproval(of: waiting, ruled, step: step, from: progress)
  }

  /// The verdicts on all calls of a decision; those that were given stand. `nil` where the run is to end before an
  /// authorizer has said what it says: whoever goes on asks it again.
  private mutating func rule(
    on calls: [ProposedCall], step: Int, from progress: StepProgress
  ) async throws -> [Ruled]? {
    var ruled: [Ruled] = []
    var allowed: [String] = []
    for call in calls {
      let check: PolicyGate.RuleCheck
      if let verdict = progress[call.callId].verdict {
        check = gate.ruleCheck(recorded: verdict)
      } else {
        guard let given = try await rule(on: call, behind: allowed, step: step) else { return nil }
        check = given
      }
      if check.verdict.status == .allow { allowed.append(call.callId) }
      ruled.append((call, check))
    }
    return ruled
  }

  /// Refuses what is denied, and everything where a denial ends the run.
  private mutating func refuseDenied(
    _ ruled: [Ruled], step: Int, from progress: StepProgress
  ) throws -> Halt? {
    let hasBegun = ruled.contains { progress[$0.call.callId].hasBegun }
    // A guard may watch verdicts: what one has broken ends the run before anything is begun by it.
    let halt = hasBegun ? nil : haltByDenial(ruled.map(\.check)) ?? haltByGuard()
    for (call, check) in ruled where !progress[call.callId].isOver {
      if halt != nil {
        try refuse(call, "the run stops: policy denied a call", step: step)
      } else if check.verdict.status == .deny {
        try refuse(call, check.verdict.reason, step: step)
      }
    }
    return halt
  }

  /// Calls that may run, calls that wait for a person, and one that nobody may run again.
  private func sorted(
    _ ruled: [Ruled], _ progress: StepProgress
  ) -> (free: [ProposedCall], waiting: [ProposedCall], blocked: ProposedCall?) {
    var free: [ProposedCall] = []
    var waiting: [ProposedCall] = []
    var blocked: ProposedCall?
    for (call, check) in ruled {
      let recorded = progress[call.callId]
      switch (check.verdict.status, doubt(about: call, recorded)) {
      case (.deny, _): break
      // Held back when its turn comes, behind what a person has let run before it.
      case (.approvalRequired, .block) where recorded.started == nil: waiting.append(call)
      // Likewise: what has failed beside it, or a limit, may refuse it before.
      case (.allow, .block)
      where recorded.started == nil && reasonToAskAgain(call, recorded) == nil:
        free.append(call)
      case (_, .block): blocked = blocked ?? call
      case (.allow, nil) where recorded.approval == nil && reasonToAskAgain(call, recorded) == nil:
        free.append(call)
      // A person holds it, or held it when it had been started once before.
      default: waiting.append(call)
      }
    }
    return (free, waiting, blocked)
  }

  /// What is to be done about a call that was started and has no result, or was made before with an effect
  /// that nobody knows; `nil` where there is no such doubt, or it may simply run again.
  private func doubt(about call: ProposedCall, _ progress: CallProgress) -> UnfinishedCall? {
    guard !progress.isOver, progress.started != nil || isHeldBack(call, progress) else {
      return nil
    }
    // Its own log says how far it has come. One that another run has started, of which this is a fork, is not
    // this one's to go on with.
    if let start = progress.started, let child = start.child {
      return isOwn(child, callId: call.callId, attempt: start.attempt) ? nil : .askAgain
    }
    let tool = recorder.record.doubts.definition(definition(of: call), asStartedBy: call.callId)
    let choice = continuation.unfinished(call, tool)
    // An attempt of its own would be its first: to run again what was not begun means nothing.
    guard progress.started != nil else { return choice == .askAgain ? .askAgain : .block }
    return choice == .runAgain ? nil : choice
  }

  /// Whether an equal call may have had its effect, and this one could have it once more.
  func isHeldBack(_ call: ProposedCall, _ progress: CallProgress) -> Bool {
    progress.attempts == 0 && progress.approval == nil
      && recorder.record.doubts.hold(call, of: definition(of: call))
  }

  /// Why a call that was ruled on but not begun needs a person all the same; `nil` where it does not.
  private func reasonToAskAgain(_ call: ProposedCall, _ progress: CallProgress) -> String? {
    guard progress.attempts == 0, !progress.isOver, !isGrantedSince(call) else {
      return nil
    }
    if progress.isHeldAgainstVerdict { return "the run paused before it until a person approves" }
    if let reason = continuation.asksAgain(call, definition(of: call)) { return reason }
    let isGranted =
      progress.approval?.granted
      ?? RecordedFinding(context: progress.verdict.map { .object($0.context) }).isCovered
    // That nothing was granted since the fork is known here.
    return isGranted && recorder.record.inheritedGrants.calls != nil
      ? continuation.voidsGrant(call) : nil
  }

  /// Whether the call rests on what a person granted since the run goes on; in a fork, since it was forked.
  ///
  /// - Parameter moment: now; nothing has run out where it is left out.
  private func isGrantedSince(
    _ call: ProposedCall, at moment: PolicyGate.KnownState? = nil
  ) -> Bool {
    let inherited = recorder.record.inheritedGrants.calls
    guard inherited != nil || !approvedSince.isEmpty else { return false }
    func isSince(_ grant: Approvals.Grant) -> Bool {
      inherited.map { !$0.contains(grant.callId) } ?? approvedSince.contains(grant.callId)
    }
    if let moment { return moment.finding(for: call, among: isSince).isCovered }
    return state.approvals.finding(
      for: call.callId, actionId: call.actionId, olderActionId: call.olderActionId,
      isOver: { _ in false }, among: isSince
    ).isCovered
  }

  func definition(of call: ProposedCall) -> ToolDefinition {
    registry[call.name]?.definition ?? ToolDefinition(name: call.name)
  }

  // MARK: Policy

  /// - Parameter earlier: calls of the same decision that are allowed and have yet to begin.
  /// - Returns: `nil` where an authorizer is to be asked and the run is to end.
  private mutating func rule(
    on call: ProposedCall, behind earlier: [String] = [], step: Int
  ) async throws -> PolicyGate.RuleCheck? {
    let tool = definition(of: call)
    // The verdict's own, so that whoever reads it later can tell what had run out.
    let now = recorder.reading()
    let moment = moment(at: now.time)
    var authorization: Authorization?
    if let request = gate.authorizationRequest(on: call, tool: tool, at: moment) {
      guard boundary.cancellation.signal == nil else { return nil }
      authorization = await boundary.authorize(request)
      authorization?.requestDigest = request.digest
      guard boundary.cancellation.signal == nil else { return nil }
    }
    var check = gate.ruleCheck(on: call, tool: tool, at: moment, authorization: authorization)
    if check.verdict.status == .allow, !isGrantedSince(call, at: moment),
      let reason = continuation.asksAgain(call, tool)
        ?? reasonNotToCount(inheritedBy: call, tool, at: moment, authorization)
    {
      check.verdict.status = .approvalRequired
      check.verdict.reason = reason
    }
    // Asked only where the call would run now: a guard may wait for the approval itself.
    if check.verdict.status == .allow,
      let breach = recorder.record.runGuard?.breach(
        ifStarted: earlier + [call.callId], by: check.verdict)
    {
      check.verdict.status = .deny
      check.verdict.ruleId = breach.ruleId
      check.verdict.reason = breach.message
    }
    try recorder.append(.policyDecision(check.verdict), step: step, at: now)
    return check
  }

  /// Why a call that only a grant from before the fork lets run is not to run on it; `nil` where it may.
  private func reasonNotToCount(
    inheritedBy call: ProposedCall, _ tool: ToolDefinition, at moment: PolicyGate.KnownState,
    _ authorization: Authorization?
  ) -> String? {
    guard !moment.inherited.isEmpty, moment.finding(for: call).isCovered else { return nil }
    var bare = moment
    bare.countsInherited = false
    let check = gate.ruleCheck(on: call, tool: tool, at: bare, authorization: authorization)
    // An authorizer was told that the call is approved.
    guard check.verdict.status != .allow || authorization != nil else { return nil }
    return continuation.voidsGrant(call)
  }

  /// What the gate knows besides a call.
  private func moment(at time: String) -> PolicyGate.KnownState {
    var moment = PolicyGate.KnownState(
      run: agent.policyContext, limits: agent.limits, state: state,
      history: recorder.record.policyHistory, time: time)
    moment.inherited = recorder.record.inheritedGrants.calls ?? []
    return moment
  }

  var remainingToolCalls: Int? {
    agent.limits.maxToolCalls.map { max(0, $0 - state.totals.toolCalls) }
  }

  private func haltByDenial(_ checks: [PolicyGate.RuleCheck]) -> Halt? {
    if let stopping = checks.first(where: \.stopsRun) {
      let detail = stopping.verdict.ruleId.map(StopDetail.rule) ?? StopDetail.error
      return Halt(reason: .policyDenied, detail: detail)
    }
    let isDenied = checks.contains { $0.verdict.status == .deny }
    guard isDenied, state.counters.denials >= agent.failures.maxDenials else { return nil }
    return Halt(reason: .policyDenied, detail: StopDetail.maxDenials)
  }

  mutating func refuse(_ call: ProposedCall, _ reason: String, step: Int) throws {
    let result = ToolResultPayload(
      callId: call.callId, tool: call.name, result: .refused(reason: reason))
    try recorder.append(.toolResult(result), step: step)
  }

  // MARK: Approval

  /// Asks about each waiting call, in call order. Where nobody answers the run pauses.
  private mutating func askForApproval(
    of calls: [ProposedCall], _ ruled: [Ruled], step: Int, from progress: StepProgress
  ) async throws -> Halt? {
    let lastApproved = progress.lastApproved.flatMap { last in
      calls.firstIndex { $0.callId.hasSameUTF8(as: last) }
    }
    var unanswered: ProposedCall?
    for (index, call) in calls.enumerated() {
      let recorded = progress[call.callId]
      let isPast = lastApproved.map { index < $0 } ?? false
      let reasonToAsk = reasonToAskAgain(call, recorded)
      if let approval = recorded.approval, doubt(about: call, recorded) == nil, reasonToAsk == nil {
        if recorded.isOver, isPast || progress.isResumed { continue }
        if let halt = try await act(on: approval, call: call, step: step, from: progress) {
          return halt
        }
        continue
      }
      let verdict = ruled.first { $0.call.callId.hasSameUTF8(as: call.callId) }?.check.verdict
      // Whoever answered for a later call was asked about this one before.
      let wasAsked = isPast && recorded.started == nil
      // Nobody is asked, nor waited for, where what has happened ends the run.
      if let halt = haltByGuard() { return halt }
      guard !wasAsked,
        let heard = try await self.approval(
          of: call, because: reasonToAsk ?? reason(toAskAbout: call, recorded, verdict),
          ruleId: verdict?.ruleId, step: step)
      else {
        unanswered = unanswered ?? call
        continue
      }
      let approval = Approval(
        callId: call.callId, actionId: call.actionId, granted: heard.answer.granted,
        by: heard.answer.by, reason: heard.answer.reason, scope: heard.answer.scope,
        until: heard.answer.until, modelResult: heard.modelResult)
      try recorder.append(.approval(approval), step: step)
      if approval.granted { approvedSince.insert(call.callId) }
      let halt = try await act(
        on: approval, call: call, step: step, from: progress.forgetting(call.callId))
      if let halt { return halt }
    }
    // Whoever is asked hears the signal too, and says nothing any more.
    guard let unanswered else { return nil }
    return boundary.cancellation.signal.map(Self.cancelled) ?? haltByGuard()
      ?? Halt(
        reason: .approvalRequired, detail: StopDetail.tool(unanswered.name), isFinal: false)
  }

  private func reason(
    toAskAbout call: ProposedCall, _ progress: CallProgress, _ verdict: Verdict?
  ) -> String {
    if isHeldBack(call, progress) {
      return "an equal call was made before, and nobody knows whether it had its effect"
    }
    return progress.started == nil
      ? verdict?.reason ?? "policy asks for approval"
      : "the call was started before, and nobody knows whether it had its effect"
  }

  /// An answer only opens the gate again: the gate is asked with it in its context.
  private mutating func act(
    on approval: Approval, call: ProposedCall, step: Int, from progress: StepProgress
  ) async throws -> Halt? {
    let recorded = progress[call.callId]
    guard approval.granted else {
      if !recorded.isOver {
        try refuse(call, approval.reason ?? "denied by \(approval.by)", step: step)
      }
      return nil
    }
    let check: PolicyGate.RuleCheck
    if let verdict = recorded.verdictAfterApproval {
      check = gate.ruleCheck(recorded: verdict)
    } else {
      guard let given = try await rule(on: call, step: step) else {
        return boundary.cancellation.signal.map(Self.cancelled)
      }
      check = given
    }
    guard check.verdict.status == .allow else {
      if !recorded.isOver { try refuse(call, check.verdict.reason, step: step) }
      return haltByDenial([check])
    }
    return try await runWithinBudget([call], step: step, from: progress)
  }
}
