import AgentTrace

extension AgentLoop {
  /// Gives every call its verdict, then runs the allowed ones, then asks about those that wait.
  mutating func execute(_ calls: [ProposedCall], step: Int) async throws -> Halt? {
    var rulings: [(call: ProposedCall, ruling: PolicyGate.Ruling)] = []
    var allowed: [String] = []
    for call in calls {
      let ruling = try rule(on: call, behind: allowed, step: step)
      if ruling.verdict.status == .allow { allowed.append(call.callId) }
      rulings.append((call, ruling))
    }
    if let halt = haltByDenial(rulings.map(\.ruling)) {
      for call in calls { try refuse(call, "the run stops: policy denied a call", step: step) }
      return halt
    }
    for (call, ruling) in rulings where ruling.verdict.status == .deny {
      try refuse(call, ruling.verdict.reason, step: step)
    }
    let free = rulings.filter { $0.ruling.verdict.status == .allow }.map(\.call)
    if let halt = try await runWithinBudget(free, step: step) { return halt }
    let waiting = rulings.filter { $0.ruling.verdict.status == .approvalRequired }.map(\.call)
    return try await askForApproval(of: waiting, step: step)
  }

  // MARK: Policy

  /// - Parameter earlier: calls of the same decision that are allowed and have yet to begin.
  private mutating func rule(
    on call: ProposedCall, behind earlier: [String] = [], step: Int
  ) throws -> PolicyGate.Ruling {
    let tool = registry[call.name]?.definition ?? ToolDefinition(name: call.name)
    let moment = PolicyGate.Moment(
      run: agent.policyContext, approvedActionIds: state.approvedActionIds,
      remainingSteps: agent.limits.maxSteps.map { max(0, $0 - state.steps) },
      remainingToolCalls: remainingToolCalls)
    var ruling = gate.ruling(on: call, tool: tool, at: moment)
    // Asked only where the call would run now: a guard may wait for the approval itself.
    if ruling.verdict.status == .allow,
      let breach = recorder.runGuard?.breach(ifStarted: earlier + [call.callId])
    {
      ruling.verdict.status = .deny
      ruling.verdict.ruleId = breach.ruleId
      ruling.verdict.reason = breach.message
    }
    try recorder.append(.policyDecision(ruling.verdict), step: step)
    return ruling
  }

  private var remainingToolCalls: Int? {
    agent.limits.maxToolCalls.map { max(0, $0 - state.totals.toolCalls) }
  }

  private func haltByDenial(_ rulings: [PolicyGate.Ruling]) -> Halt? {
    if let stopping = rulings.first(where: \.stopsRun) {
      let detail = stopping.verdict.ruleId.map(StopDetail.rule) ?? StopDetail.error
      return Halt(reason: .policyDenied, detail: detail)
    }
    let isDenied = rulings.contains { $0.verdict.status == .deny }
    guard isDenied, state.counters.denials >= agent.failures.maxDenials else { return nil }
    return Halt(reason: .policyDenied, detail: StopDetail.maxDenials)
  }

  mutating func refuse(_ call: ProposedCall, _ reason: String, step: Int) throws {
    let result = ToolResultPayload(
      callId: call.callId, tool: call.name, result: .refused(reason: reason))
    try recorder.append(.toolResult(result), step: step)
  }

  // MARK: Running

  /// Runs as many calls as the limit leaves, refuses the rest, and says whether the run goes on.
  private mutating func runWithinBudget(_ calls: [ProposedCall], step: Int) async throws -> Halt? {
    let remaining = min(remainingToolCalls ?? calls.count, calls.count)
    let beyond = calls.dropFirst(remaining)
    for call in beyond {
      try refuse(call, "limit: \(StopDetail.maxToolCalls)", step: step)
    }
    let errors = try await run(Array(calls.prefix(remaining)), step: step)
    if let signal = boundary.cancellation.signal { return Self.cancelled(by: signal) }
    if let halt = haltByErrors(errors, of: calls) { return halt }
    return beyond.isEmpty
      ? nil : Halt(reason: .budgetExhausted, detail: StopDetail.maxToolCalls)
  }

  /// - Parameter errors: names of the tools that failed, in call order.
  private func haltByErrors(_ errors: [String], of calls: [ProposedCall]) -> Halt? {
    if let tool = errors.first(where: { registry[$0]?.onError == .stop }) {
      return Halt(reason: .toolFailure, detail: StopDetail.tool(tool))
    }
    guard let last = errors.last, state.counters.toolErrorsInARow >= agent.failures.maxToolErrors
    else { return nil }
    return Halt(reason: .toolFailure, detail: StopDetail.tool(last))
  }

  /// Runs calls side by side up to the agent's limit; returns the tools that failed, in call order.
  private mutating func run(_ calls: [ProposedCall], step: Int) async throws -> [String] {
    var batch = CallBatch(
      calls: calls, limit: max(1, agent.parallelCalls), isFixed: boundary.clock.isFixed)
    do {
      return try await run(calls, in: &batch, step: step)
    } catch {
      await batch.cancel()
      throw error
    }
  }

  private mutating func run(
    _ calls: [ProposedCall], in batch: inout CallBatch, step: Int
  ) async throws -> [String] {
    var results: [Int: ToolResult] = [:]
    while let turn = await batch.next() {
      switch turn {
      case .start(let index):
        let request = try start(calls[index], attempt: 1, step: step)
        batch.begin(index, at: recorder.state.elapsedMicroseconds, work(request))
      case .finish(let index, let answer, let endedAt):
        boundary.clock.advance(to: endedAt)
        if mayTryAgain(answer, calls[index]) {
          let request = try start(calls[index], attempt: answer.attempt + 1, step: step)
          batch.begin(index, at: recorder.state.elapsedMicroseconds, work(request))
        } else {
          try finish(calls[index], answer, step: step)
          results[index] = answer.answer.result
        }
      }
    }
    return calls.indices.filter { index in
      if case .error = results[index] { true } else { false }
    }.map { calls[$0].name }
  }

  private mutating func start(
    _ call: ProposedCall, attempt: Int, step: Int
  ) throws -> ToolRequest {
    let tool = registry[call.name]?.definition ?? ToolDefinition(name: call.name)
    let key = "\(state.runId)/\(call.callId)"
    let started = ToolStartedPayload(
      callId: call.callId, tool: call.name, attempt: attempt, idempotencyKey: key)
    try recorder.append(.toolStarted(started), step: step, isEffectAhead: tool.sideEffect != .read)
    return ToolRequest(
      callId: call.callId, tool: tool, input: call.input, attempt: attempt, step: step,
      idempotencyKey: key, timeoutMicroseconds: timeout(of: tool))
  }

  /// The tool's own time limit, or what is left of the run's, whichever is less.
  private func timeout(of tool: ToolDefinition) -> Int? {
    let own = tool.timeoutSeconds.map { Int(min(max(0, $0), 1e9) * 1_000_000) }
    let left = timeoutMicroseconds.map { max(0, $0 - state.elapsedMicroseconds) }
    return [own, left].compactMap { $0 }.min()
  }

  private func work(_ request: ToolRequest) -> @Sendable () async -> CallBatch.Attempt {
    let boundary = boundary
    return {
      CallBatch.Attempt(answer: await boundary.run(request), attempt: request.attempt)
    }
  }

  private func mayTryAgain(_ attempt: CallBatch.Attempt, _ call: ProposedCall) -> Bool {
    guard case .error = attempt.answer.result, let tool = registry[call.name], tool.mayRetry
    else { return false }
    return attempt.attempt < tool.maxAttempts && boundary.cancellation.signal == nil
      && haltByTime() == nil
  }

  private mutating func finish(
    _ call: ProposedCall, _ attempt: CallBatch.Attempt, step: Int
  ) throws {
    let result = ToolResultPayload(
      callId: call.callId, tool: call.name, result: attempt.answer.result.admitted,
      attempts: attempt.attempt, elapsedMicroseconds: attempt.answer.elapsedMicroseconds)
    try recorder.append(.toolResult(result), step: step)
  }

  // MARK: Approval

  /// Asks about each waiting call, in call order. Where nobody answers the run pauses.
  private mutating func askForApproval(of calls: [ProposedCall], step: Int) async throws -> Halt? {
    var unanswered: ProposedCall?
    for call in calls {
      let request = ApprovalRequest(call: call, reason: "policy asks for approval")
      guard let answer = await boundary.approve(request) else {
        unanswered = unanswered ?? call
        continue
      }
      let approval = Approval(
        callId: call.callId, actionId: call.actionId, granted: answer.granted, by: answer.by,
        reason: answer.reason)
      try recorder.append(.approval(approval), step: step)
      if let halt = try await act(on: approval, call: call, step: step) { return halt }
    }
    return unanswered.map {
      Halt(reason: .approvalRequired, detail: StopDetail.tool($0.name), isFinal: false)
    }
  }

  /// An answer only opens the gate again: the gate is asked with it in its context.
  private mutating func act(
    on approval: Approval, call: ProposedCall, step: Int
  ) async throws -> Halt? {
    guard approval.granted else {
      try refuse(call, approval.reason ?? "denied by \(approval.by)", step: step)
      return nil
    }
    let ruling = try rule(on: call, step: step)
    guard ruling.verdict.status == .allow else {
      try refuse(call, ruling.verdict.reason, step: step)
      return haltByDenial([ruling])
    }
    return try await runWithinBudget([call], step: step)
  }
}

extension ToolResult {
  /// The result as it may enter a run; see ``JSONValue/admitted``.
  var admitted: ToolResult {
    switch self {
    case .ok(let data): .ok(data: data.admitted)
    case .refused: self
    case .error(let reason, let isEffectUnknown):
      .error(reason: reason.admitted, isEffectUnknown: isEffectUnknown)
    }
  }
}
