import AgentTrace

extension AgentLoop {
  enum Decided {
    case decision(Decision)
    case halt(Halt)
  }

  /// Asks the model for a decision, again after an invalid one as often as the agent allows.
  mutating func decide(step: Int, from progress: StepProgress) async throws -> Decided {
    let tries = max(0, agent.failures.invalidDecisionRetries) + 1
    var progress = progress
    var tryNumber = max(1, progress.tryNumber)
    while true {
      let decision: Decision
      switch try await decideOnce(step: step, tryNumber: tryNumber, from: progress) {
      case .halt(let halt): return .halt(halt)
      case .decision(let made): decision = made
      }
      guard case .invalid = decision else { return .decision(decision) }
      // A summary for the next packet comes only once that try was allowed.
      if recorder.record.contextHistory.summaryAttempts == 0,
        let halt = haltByGuard() ?? haltBetweenTries()
      {
        return .halt(halt)
      }
      guard tryNumber < tries else { return .decision(decision) }
      tryNumber += 1
      progress = StepProgress()
    }
  }

  /// One try: a packet, a reply, and what it is read as.
  private mutating func decideOnce(
    step: Int, tryNumber: Int, from progress: StepProgress
  ) async throws -> Decided {
    disclosed = progress.packet?.toolsDisclosed ?? []
    if let decision = progress.decision { return .decision(decision) }
    let packet: ContextPacket
    if let recorded = progress.packet {
      packet = recorded
    } else {
      if let halt = try await takeNewLists(step: step, tryNumber: tryNumber) { return .halt(halt) }
      try await summarizeIfDue(step: step, tryNumber: tryNumber)
      if agent.plan != nil || agent.reflect != nil {
        try await thinkIfDue(step: step, tryNumber: tryNumber)
        if let halt = haltBetweenTries() { return .halt(halt) }
      }
      packet = assembler.assemble(
        state: state, history: recorder.record.contextHistory, at: recorder.lastSeq + 1, &turns,
        lookup: recorder.record.event(at:))
      try recorder.append(.contextBuilt(packet), step: step)
    }
    disclosed = packet.toolsDisclosed
    if progress.attempt == 0, let halt = haltByGuard() { return .halt(halt) }
    let reply: JSONValue
    switch try await self.reply(to: packet, step: step, tryNumber: tryNumber, from: progress) {
    case .halt(let halt): return .halt(halt)
    case .reply(let value): reply = value
    }
    let replySeq = progress.replySeq ?? recorder.lastSeq
    try tell(ModelReply(reply), replySeq, step: step, tryNumber: tryNumber, from: progress)
    let decision = ModelReply(reply).decision(
      step: step, tryNumber: tryNumber,
      isUnknown: { registry.isUnknown($0, disclosed: packet.toolsDisclosed) }
    ) { call in
      registry.fault(in: call, disclosed: packet.toolsDisclosed)
    }
    .meant(
      { registry.decision(of: $0) }, handsOver: { definition(of: $0).agent?.isHandoff ?? false }
    )
    .refused { answerCheck.fault(in: $0, shown: packet.evidenceRefs) ?? agent.decisionFault?($0) }
    let payload = DecisionPayload(decision, modelResult: replySeq)
    try recorder.append(.decision(payload), step: step)
    return .decision(decision)
  }

  /// Records what a reply tells beside its decision: calls that the provider ran itself, and that something in
  /// it is nothing that is known. What was recorded before the run went on is not recorded again.
  private mutating func tell(
    _ reply: ModelReply, _ replySeq: Int, step: Int, tryNumber: Int, from progress: StepProgress
  ) throws {
    if let unread = reply.unread, !progress.isUnreadTold {
      try recorder.append(
        .unseen(Unseen(.reply, ["calls": "partial"], reason: unread, modelResult: replySeq)),
        step: step)
    }
    let ran = reply.ran(step: step, tryNumber: tryNumber)
    guard !ran.isEmpty else { return }
    if !progress.areRanCallsTold {
      let payload = DecisionPayload(.tool(ran.map(\.call)), modelResult: replySeq)
      try recorder.append(.decision(payload), step: step)
    }
    for one in ran where !progress.toldResults.contains(one.call.callId) {
      var payload = ToolResultPayload(
        callId: one.call.callId, tool: one.call.name, result: one.result)
      payload.executedBy = one.call.executedBy
      try recorder.append(.toolResult(payload), step: step)
    }
  }

  private enum Replied {
    case reply(JSONValue)
    case halt(Halt)
  }

  /// One reply, asked for again while the model is out of reach, as long as that is not in vain.
  private mutating func reply(
    to packet: ContextPacket, step: Int, tryNumber: Int, from progress: StepProgress
  ) async throws -> Replied {
    if let reply = progress.reply { return .reply(reply) }
    let tools = assembler.tools(of: packet, recorder.record.contextHistory)
    var attempt = progress.attempt
    var retry = progress.retry
    while attempt - progress.attemptsForgiven <= max(0, agent.failures.modelRetries) {
      if attempt > 0 {
        if let halt = haltByGuard() ?? haltBetweenTries() { return .halt(halt) }
        if retry == .never { break }
        if let halt = await haltAfterWait(retry) { return .halt(halt) }
      }
      attempt += 1
      var request = ModelRequest(
        purpose: agent.purpose, step: step, tryNumber: tryNumber, attempt: attempt,
        number: recorder.record.modelCalls(for: agent.purpose) + 1, goal: packet.goal,
        messages: packet.messages, tools: tools)
      // The packet is the last that the state has taken in.
      request.messagesDigest = recorder.messagesDigest
      request.toolsDigest = toolDigests.digest(of: tools)
      request.timeoutMicroseconds = timeLeft
      let result = try await recordedResult(of: request, model: agent.model.name)
      if let reply = result.reply { return .reply(reply) }
      retry = ModelAnswer.Retry(of: result)
    }
    return .halt(haltBetweenTries() ?? Halt(reason: .modelFailure, detail: StopDetail.error))
  }

  /// Waits before another try; why there is none, or `nil`. A wait that would use up the run's time is
  /// not begun.
  func haltAfterWait(_ retry: ModelAnswer.Retry) async -> Halt? {
    guard case .after(let microseconds) = retry, microseconds > 0 else { return nil }
    if let left = timeLeft, microseconds >= left { return Self.exhausted(StopDetail.timeout) }
    await boundary.clock.wait(microseconds: microseconds, until: boundary.cancellation)
    return boundary.cancellation.signal.map(Self.cancelled(by:))
  }

  /// What is left of the run's time; `nil` where it has no limit.
  var timeLeft: Int? {
    timeoutMicroseconds.map { max(0, $0 - min(max(0, state.elapsedMicroseconds), 1 << 60)) }
  }

  /// Asks a model once and records what came of it.
  ///
  /// - Parameter through: see ``ModelResult/through``.
  mutating func recordedResult(
    of request: ModelRequest, model: String, through: String? = nil
  ) async throws -> ModelResult {
    var request = request
    request.settings = agent.asked(for: request.purpose, step: request.step)
    var result = ModelResult(await boundary.reply(to: request), to: request, model: model)
    result.through = through
    try recorder.append(.modelResult(result), step: request.step)
    return result
  }

  // MARK: Summaries

  /// Asks for a summary where the next packet needs one, again while there is none, as often as for a
  /// decision. Where it stays without one, the packet leaves out what does not fit; once two packets in a
  /// row went without, none is asked for any more.
  private mutating func summarizeIfDue(step: Int, tryNumber: Int) async throws {
    let limit = max(0, agent.failures.modelRetries) + 1
    while true {
      let history = recorder.record.contextHistory
      guard !history.isSummarized, history.summaryAttempts < limit,
        history.failedSummaries < 2 * limit
      else { return }
      guard
        let task = assembler.summaryDue(
          state: state, history: history, at: recorder.lastSeq + 1, &turns,
          lookup: recorder.record.event(at:))
      else { return }
      if history.summaryAttempts > 0 {
        guard haltBetweenTries() == nil, history.summaryRetry != .never,
          await haltAfterWait(history.summaryRetry) == nil
        else { return }
      }
      var request = ModelRequest(
        purpose: .summarize, step: step, tryNumber: tryNumber,
        attempt: history.summaryAttempts + 1,
        number: recorder.record.modelCalls(for: .summarize) + 1,
        goal: state.goal, messages: task.messages)
      request.timeoutMicroseconds = timeLeft
      _ = try await recordedResult(of: request, model: agent.model.name, through: task.through)
    }
  }

  func haltBetweenTries() -> Halt? {
    boundary.cancellation.signal.map(Self.cancelled(by:)) ?? exhaustedLimit.map(Self.exhausted)
  }
}

extension Decision {
  /// The decision, or an invalid one where the agent takes no such decisions.
  fileprivate func refused(by fault: (Decision) -> String?) -> Decision {
    if case .invalid = self { return self }
    guard let reason = fault(self) else { return self }
    return .invalid(reason: reason.prefix(utf8Bytes: ModelReply.reasonLimitBytes), calls: calls)
  }
}
