import AgentTrace

extension AgentLoop {
  private static let limitPrefix = "limit: "

  /// Runs as many calls as breakers and limits leave, refuses the rest, and says whether the run goes
  /// on.
  mutating func runWithinBudget(
    _ calls: [ProposedCall], step: Int, from progress: StepProgress
  ) async throws -> Halt? {
    // Behind a signal none begins: whoever goes on finds out what may.
    var refused: [String] = []
    if boundary.cancellation.signal == nil {
      refused = try refuseWhatMayNotBegin(calls, step: step, from: progress)
    }
    let left = calls.filter { !progress[$0.callId].isOver && !refused.contains($0.callId) }
    heldBack = nil
    pausedChildren = [:]
    let isBehindResults = calls.contains {
      progress[$0.callId].attempts > 0 && progress[$0.callId].isOver
    }
    let finished = try await run(left, isBehindResults, step: step, from: progress)
    let failed = finished.filter { $0.value.isError && !recorder.record.errorRow.isCutOff($0.key) }
      .map(\.key)
    if let fault = machineFault { throw MachineFault(description: fault) }
    for change in recorder.record.breakers.changesDue {
      try recorder.append(.breakerChanged(change), step: step)
    }
    let errors = calls.filter { failed.contains($0.callId) || progress[$0.callId].hasFailed }
    if let signal = boundary.cancellation.signal { return Self.cancelled(by: signal) }
    // What failed beside it is looked at once it has gone on to its end.
    if let paused = calls.firstMapped({ pausedChildren[$0.callId] }) {
      return Halt(
        reason: paused.1, detail: StopDetail.agent(paused.0.name), isFinal: false)
    }
    if let halt = haltByHandoff(of: calls, finished) { return halt }
    return haltByErrors(errors.map(\.name)) ?? haltByRefusal(of: calls, progress)
      ?? heldBack.map {
        Halt(
          reason: .blocked, detail: StopDetail.unknownEffect(of: $0.name), isFinal: false)
      }
  }

  /// Refuses the calls that breakers, their tools or limits do not let begin; returns their ids.
  private mutating func refuseWhatMayNotBegin(
    _ calls: [ProposedCall], step: Int, from progress: StepProgress
  ) throws -> [String] {
    var refused = try refuseHeld(calls, step: step, from: progress)
    let unready = try refuseUnready(
      calls.filter { progress[$0.callId].isOpen && !refused.contains($0.callId) }, step: step)
    refused += unready
    let open = calls.filter { progress[$0.callId].isOpen && !refused.contains($0.callId) }
    try refuse(beyondLimits: open, beside: calls, step: step, from: progress)
    refused += open.filter { limitRefusals[$0.callId] != nil }.map(\.callId)
    return refused
  }

  /// Refuses the calls that a breaker does not let through; returns their ids.
  private mutating func refuseHeld(
    _ calls: [ProposedCall], step: Int, from progress: StepProgress
  ) throws -> [String] {
    let underWay = calls.filter { progress[$0.callId].started != nil }.map(\.name)
    let passage = recorder.record.breakers.passage(
      of: calls.filter { progress[$0.callId].isOpen }, besides: underWay)
    for change in passage.changes { try recorder.append(.breakerChanged(change), step: step) }
    var refused: [String] = []
    for call in calls {
      guard let reason = passage.held[call.callId] else { continue }
      try refuse(call, reason, step: step)
      refused.append(call.callId)
    }
    return refused
  }

  /// Refuses the calls that cannot be made; returns their ids.
  private mutating func refuseUnready(
    _ calls: [ProposedCall], step: Int
  ) throws -> [String] {
    var refused: [String] = []
    for call in calls {
      if let reason = reasonNotOffered(call) ?? reasonTooDeep(call) {
        try refuse(call, reason, step: step)
        refused.append(call.callId)
        continue
      }
      guard case .refused(let reason) = boundary.readiness(of: call, step: step) else { continue }
      try refuse(call, reason, step: step)
      refused.append(call.callId)
    }
    return refused
  }

  /// - Parameter group: all calls that run side by side. Where one has begun, each of these meets the limits
  ///   that others use up when its turn comes, behind the results that come before.
  private mutating func refuse(
    beyondLimits calls: [ProposedCall], beside group: [ProposedCall], step: Int,
    from progress: StepProgress
  ) throws {
    if let limit = exhaustedLimit, !group.contains(where: { progress[$0.callId].attempts > 0 }) {
      for call in calls { try refuse(call, beyond: limit, step: step, from: progress) }
      return
    }
    // A call that was started before is counted already.
    let counting = calls.filter { progress[$0.callId].attempts == 0 }
    // What an agent under way was given is its own.
    let given = group.compactMap { progress[$0.callId].started?.child?.limits.maxToolCalls }
    let remaining = remainingToolCalls.map { left in given.reduce(left) { max(0, $0 - max(0, $1)) }
    }
    for call in counting.dropFirst(remaining ?? counting.count) {
      try refuse(call, beyond: StopDetail.maxToolCalls, step: step, from: progress)
    }
  }

  /// A call that was started before did begin: it is left as it is, and the run stops.
  private mutating func refuse(
    _ call: ProposedCall, beyond limit: String, step: Int, from progress: StepProgress
  ) throws {
    limitRefusals[call.callId] = limit
    guard progress[call.callId].attempts == 0 else { return }
    try refuse(call, Self.limitPrefix + limit, step: step)
  }

  /// The end of a run in which a call was beyond a limit: that of the first such call.
  private func haltByRefusal(of calls: [ProposedCall], _ progress: StepProgress) -> Halt? {
    let limits = calls.lazy.compactMap { call in
      limitRefusals[call.callId] ?? progress[call.callId].limit(behind: Self.limitPrefix)
    }
    return limits.first.map(Self.exhausted)
  }

  /// - Parameter errors: names of the tools that failed, in call order.
  private func haltByErrors(_ errors: [String]) -> Halt? {
    let tool: String?
    if let stopping = errors.first(where: { registry[$0]?.onError == .stop }) {
      tool = stopping
    } else if !errors.isEmpty,
      state.counters.toolErrorsInARow - recorder.record.errorRow.cutOff
        >= agent.failures.maxToolErrors
    {
      tool = errors.last
    } else {
      tool = recorder.record.errorRow.reachedBy
    }
    return tool.map { Halt(reason: .toolFailure, detail: StopDetail.tool($0)) }
  }

  /// Why no further call of the decision begins, because of what has failed beside it; `nil` where it may.
  private var reasonToBeginNoMore: String? {
    if recorder.record.errorRow.reachedBy != nil {
      return "the run stops: tool errors in a row have reached failures.maxToolErrors"
    }
    return recorder.record.errorRow.failed.first { registry[$0]?.onError == .stop }
      .map { "the run stops: \($0) failed, whose onError is stop" }
  }

  /// Runs calls side by side up to the agent's limit; returns what became of those that ended, by their ids.
  ///
  /// A signal is looked for before all of them and behind results: on a clock that stands still all that runs has
  /// ended by then, so that equal runs hear it at the same place.
  ///
  /// - Parameter isBehindResults: whether calls beside these have ended before.
  private mutating func run(
    _ calls: [ProposedCall], _ isBehindResults: Bool, step: Int, from progress: StepProgress
  ) async throws -> [String: ToolResult] {
    var isToEnd = boundary.cancellation.signal != nil
    let underWay = calls.indices.filter { progress[calls[$0].callId].started != nil }
    var batch = CallBatch(
      waiting: calls.indices.filter { !underWay.contains($0) }, limit: max(1, agent.parallelCalls),
      isFixed: boundary.clock.isFixed)
    for index in underWay {
      guard let start = progress[calls[index].callId].started else { continue }
      var request = request(
        for: calls[index], ToolStartedPayload(of: calls[index], start), seq: start.seq, step: step,
        startedAt: start.t)
      request.child?.mayHaveBegun = true
      let isEarlierEffectUnknown =
        start.isEarlierEffectUnknown || start.wasLeftOpen && mayHaveEffectUnseen(calls[index])
      batch.begin(index, at: start.t, work(request, isEarlierEffectUnknown))
    }
    if isBehindResults {
      await batch.hearOut()
      isToEnd = isToEnd || boundary.cancellation.signal != nil
    }
    do {
      return try await run(calls, in: &batch, isToEnd, step: step, from: progress)
    } catch {
      await batch.cancel()
      throw error
    }
  }

  private mutating func run(
    _ calls: [ProposedCall], in batch: inout CallBatch, _ hasHeardSignal: Bool, step: Int,
    from progress: StepProgress
  ) async throws -> [String: ToolResult] {
    var finished: [String: ToolResult] = [:]
    var budget = ChildBudget(of: calls, progress, isAgent: isAgent)
    var isToEnd = hasHeardSignal
    while let turn = await batch.next() {
      switch turn {
      case .start(let index):
        // Looked at here, because the calls before it took their time.
        if let limit = exhaustedLimit {
          budget.settle(calls[index].callId)
          try refuse(calls[index], beyond: limit, step: step, from: progress)
          continue
        }
        if let reason = reasonToBeginNoMore {
          budget.settle(calls[index].callId)
          // One that was started before did begin: it is left as it is.
          if progress[calls[index].callId].attempts == 0 {
            try refuse(calls[index], reason, step: step)
          }
          continue
        }
        // What runs on a machine that can run nothing is left for who goes on, and so is what a signal came before.
        if isToEnd || machineFault != nil { continue }
        if isHeldBack(calls[index], progress[calls[index].callId]) {
          heldBack = heldBack ?? calls[index]
          budget.settle(calls[index].callId)
          continue
        }
        if let reason = guardedReason(notToBegin: calls[index]) {
          budget.settle(calls[index].callId)
          try refuse(calls[index], reason, step: step)
          continue
        }
        let attempt = progress[calls[index].callId].attempts + 1
        // Of one that was started before, a person says that it has not happened.
        try begin(calls[index], at: index, attempt, false, &budget, in: &batch, step: step)
      case .finish(let index, var attempt, let startedAt, let endedAt):
        // Once for all that follows on it, and before anything new begins.
        isToEnd = isToEnd || boundary.cancellation.signal != nil
        boundary.clock.advance(to: endedAt)
        let call = calls[index]
        if let pause = attempt.answer.pause {
          pausedChildren[call.callId] = pause
          machineFault = machineFault ?? attempt.answer.machineFault
          continue
        }
        if attempt.waitMicroseconds == nil {
          attempt.settle(checked(attempt.answer.result, of: call))
          if let wait = waitBeforeRetry(of: call, behind: attempt, startedAt: startedAt) {
            attempt.waitMicroseconds = wait
            if wait > 0 {
              batch.begin(index, at: endedAt, waiting(attempt))
              continue
            }
          }
        }
        if attempt.waitMicroseconds != nil, !isToEnd, exhaustedLimit == nil,
          reasonToBeginNoMore == nil, guardedReason(notToBegin: call) == nil
        {
          budget.end(call.callId)
          try begin(
            call, at: index, attempt.attempt + 1, attempt.answer.result.isEffectUnknown, &budget,
            in: &batch, step: step)
        } else {
          let recorded = progress[call.callId]
          let known = attempt.attempt == recorded.attempts ? recorded.notes : 0
          budget.end(call.callId)
          finished[call.callId] = try await finish(call, attempt, notesKnown: known, step: step)
        }
      }
    }
    return finished
  }

  private mutating func begin(
    _ call: ProposedCall, at index: Int, _ attempt: Int, _ isEarlierEffectUnknown: Bool,
    _ budget: inout ChildBudget, in batch: inout CallBatch, step: Int
  ) throws {
    let child = child(of: call, attempt: attempt, &budget)
    // Whoever goes on with the run would take what is in the way for the child's own.
    if let child, let reason = boundary.reasonNotToBegin(child, as: call.name) {
      machineFault = reason
      return
    }
    budget.settle(call.callId)
    let request = try start(
      call, attempt: attempt, isEarlierEffectUnknown, child, step: step)
    batch.begin(index, at: state.elapsedMicroseconds, work(request, isEarlierEffectUnknown))
  }

  private mutating func start(
    _ call: ProposedCall, attempt: Int, _ isEarlierEffectUnknown: Bool, _ child: ChildStart?,
    step: Int
  ) throws -> ToolRequest {
    try starts.note(call.callId, attempt: attempt, step: step)
    let key = "\(state.runId)/\(call.callId)"
    var started = ToolStartedPayload(
      callId: call.callId, tool: call.name, attempt: attempt, idempotencyKey: key,
      child: child)
    started.isEarlierEffectUnknown = isEarlierEffectUnknown
    let seq = try recorder.append(
      .toolStarted(started), step: step,
      isEffectAhead: definition(of: call).sideEffect != .read || started.child != nil)
    return request(
      for: call, started, seq: seq, step: step, startedAt: state.elapsedMicroseconds)
  }

  private func request(
    for call: ProposedCall, _ started: ToolStartedPayload, seq: Int, step: Int, startedAt: Int
  ) -> ToolRequest {
    let tool = definition(of: call)
    var request = ToolRequest(
      callId: call.callId, tool: tool, input: call.input, attempt: started.attempt, step: step,
      idempotencyKey: started.idempotencyKey)
    if let child = started.child {
      var parent = ParentRun(runId: state.runId, seq: seq, relation: ParentRun.subagent)
      parent.digest = started.digest.hex
      request.child = ChildLink(start: child, parent: parent)
    }
    request.runId = state.runId
    request.policyContext = agent.policyContext
    setTimeout(of: &request, startedAt: startedAt)
    if case .memory(let access) = registry[call.name]?.implementation {
      var view = memoryView
      view.access = access
      view.now = recorder.record.lastTime
      view.notes = recorder.record.notes.notes(seenBy: call.callId)
      request.memory = view
    }
    return request
  }

  /// The tool's own time limit, or what is left of the run's, whichever is less.
  private func setTimeout(of request: inout ToolRequest, startedAt: Int) {
    let own = request.tool.timeoutSeconds.map { Int(min(max(0, $0), 1e9) * 1_000_000) }
    request.timeoutMicroseconds = own
    guard let left = timeoutMicroseconds.map({ max(0, $0 - startedAt) }) else { return }
    if own.map({ left < $0 }) ?? true {
      request.timeoutMicroseconds = left
      request.endsWithRun = true
    }
  }

  private func work(
    _ request: ToolRequest, _ isEarlierEffectUnknown: Bool
  ) -> @Sendable () async -> CallBatch.Attempt {
    let boundary = boundary
    return {
      CallBatch.Attempt(
        answer: await boundary.run(request), attempt: request.attempt,
        isEarlierEffectUnknown: isEarlierEffectUnknown)
    }
  }

  /// Whether a call whose process died may have done what no log holds: a script does nothing, and what an agent
  /// has done stands in its own.
  private func mayHaveEffectUnseen(_ call: ProposedCall) -> Bool {
    switch registry[call.name]?.implementation {
    case .scripted?, .memory?, .decision?, .agent?: false
    default: definition(of: call).sideEffect != .read
    }
  }

  // MARK: Again

  /// How long to wait before a failed call is made again; `nil` where it is not.
  ///
  /// A signal is looked for behind the wait, which it cuts short on a running clock. The log does not say
  /// that a call waits, so on a clock that stands still a run that goes on from there, and hears the signal
  /// again, begins the wait again.
  private func waitBeforeRetry(
    of call: ProposedCall, behind attempt: CallBatch.Attempt, startedAt: Int
  ) -> Int? {
    guard case .error = attempt.answer.result, let tool = registry[call.name],
      attempt.attempt < tool.attemptLimit, exhaustedLimit == nil
    else { return nil }
    // The recorded time reaches up to the next attempt: the wait is in it, and was short enough.
    if let wasTriedAgain = attempt.answer.wasTriedAgain { return wasTriedAgain ? 0 : nil }
    let wait = tool.retry?.waitMicroseconds(behindAttempt: attempt.attempt) ?? 0
    let end = startedAt + attempt.answer.elapsedMicroseconds + wait
    if wait > 0, let limit = timeoutMicroseconds, end >= limit { return nil }
    return wait
  }

  private func waiting(_ attempt: CallBatch.Attempt) -> @Sendable () async -> CallBatch.Attempt {
    let boundary = boundary
    return {
      await boundary.clock.wait(
        microseconds: attempt.waitMicroseconds ?? 0, until: boundary.cancellation)
      return attempt
    }
  }

  // MARK: Results

  /// The result as it may enter the run: no larger than a line of the log may hold, and such as the
  /// tool promises.
  ///
  /// A tool that breaks its promise has run: nobody knows what it did, unless it says so itself.
  private func checked(_ result: ToolResult, of call: ProposedCall) -> ToolResult {
    let result = result.admitted
    guard case .ok(let data) = result,
      let fault = registry.fault(inResult: data, of: call.name)
        ?? faultInHandover(data, of: call)
    else { return result }
    return .error(
      fault,
      isEffectUnknown: definition(of: call).sideEffect != .read && !data.saysNoEffect)
  }

  /// Records what a call read, wrote and came to.
  ///
  /// - Parameter notesKnown: how many of its notes are recorded already.
  private mutating func finish(
    _ call: ProposedCall, _ attempt: CallBatch.Attempt, notesKnown: Int, step: Int
  ) async throws -> ToolResult {
    var result = attempt.answer.result
    machineFault = machineFault ?? attempt.answer.machineFault
    let isUnknown = result.isEffectUnknown
    if let fault = fault(in: attempt.answer.notes) {
      result = .error(fault, isEffectUnknown: isUnknown)
    } else if let fault = try await record(
      attempt.answer.notes.dropFirst(notesKnown), of: call, step: step)
    {
      result = .error("the note was not kept: \(fault)", isEffectUnknown: isUnknown)
    }
    var payload = ToolResultPayload(
      callId: call.callId, tool: call.name, result: result, attempts: attempt.attempt,
      elapsedMicroseconds: attempt.answer.elapsedMicroseconds)
    payload.child = attempt.answer.child
    // What became of the call otherwise, no signal did.
    payload.signal = attempt.answer.signal.flatMap { result == attempt.answer.result ? $0 : nil }
    try recorder.append(.toolResult(payload), step: step)
    return result
  }
}

extension ToolStartedPayload {
  /// A start as it was recorded.
  fileprivate init(of call: ProposedCall, _ start: CallProgress.Start) {
    self.init(
      callId: call.callId, tool: call.name, attempt: start.attempt,
      idempotencyKey: start.idempotencyKey, child: start.child)
    isEarlierEffectUnknown = start.isEarlierEffectUnknown
  }
}

extension ToolResult {
  fileprivate var isError: Bool { if case .error = self { true } else { false } }

  fileprivate var isEffectUnknown: Bool { if case .error(_, true) = self { true } else { false } }

  /// The same; of a failure, that nobody knows what was done.
  var withEffectUnknown: ToolResult {
    if case .error(let reason, _) = self {
      .error(reason: reason, isEffectUnknown: true)
    } else {
      self
    }
  }

  /// The result as it may enter a run; see ``JSONValue/admitted``.
  var admitted: ToolResult {
    switch self {
    case .ok(let data): .ok(data: data.admitted)
    case .returned(let data): .returned(data: data.admitted)
    case .refused: self
    case .error(let reason, let isEffectUnknown):
      .error(reason: reason.admitted, isEffectUnknown: isEffectUnknown)
    }
  }
}
