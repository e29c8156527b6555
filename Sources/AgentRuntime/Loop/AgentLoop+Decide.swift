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
      if recorder.contextHistory.summaryAttempts == 0,
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
    if let decision = progress.decision { return .decision(decision) }
    let packet: ContextPacket
    if let recorded = progress.packet {
      packet = recorded
    } else {
      try await summarizeIfDue(step: step, tryNumber: tryNumber)
      packet = assembler.assemble(
        state: state, history: recorder.contextHistory, at: recorder.lastSeq + 1,
        lookup: recorder.event(at:))
      try recorder.append(.contextBuilt(packet), step: step)
    }
    if progress.attempt == 0, let halt = haltByGuard() { return .halt(halt) }
    guard let reply = try await reply(to: packet, step: step, tryNumber: tryNumber, from: progress)
    else { return .halt(haltWithoutReply()) }
    let decision = ModelReply(reply).decision(step: step, tryNumber: tryNumber) { call in
      registry.fault(in: call, disclosed: packet.toolsDisclosed)
    }.refused(by: agent.decisionFault)
    let payload = DecisionPayload(decision, modelResult: progress.replySeq ?? recorder.lastSeq)
    try recorder.append(.decision(payload), step: step)
    return .decision(decision)
  }

  /// One reply, asked for again while the model is out of reach; `nil` when it stays so.
  private mutating func reply(
    to packet: ContextPacket, step: Int, tryNumber: Int, from progress: StepProgress
  ) async throws -> JSONValue? {
    if let reply = progress.reply { return reply }
    let tools = assembler.tools(of: packet)
    var attempt = progress.attempt
    while attempt <= max(0, agent.failures.modelRetries) {
      if attempt > 0, haltBetweenTries() != nil { return nil }
      attempt += 1
      let request = ModelRequest(
        purpose: agent.purpose, step: step, tryNumber: tryNumber, attempt: attempt,
        number: recorder.modelCalls(for: agent.purpose) + 1, goal: packet.goal,
        messages: packet.messages, tools: tools)
      if let reply = try await recordedReply(to: request, model: agent.model.name) { return reply }
    }
    return nil
  }

  /// Asks a model once and records what came of it; `nil` where it is out of reach.
  ///
  /// - Parameter through: see ``ModelResult/through``.
  @discardableResult
  mutating func recordedReply(
    to request: ModelRequest, model: String, through: String? = nil
  ) async throws -> JSONValue? {
    let answer = await boundary.reply(to: request)
    var result = ModelResult(
      purpose: request.purpose.rawValue, attempt: request.attempt, requestDigest: request.digest,
      reply: answer.reply?.admitted, error: answer.error, model: model)
    result.inputTokens = answer.inputTokens
    result.outputTokens = answer.outputTokens
    result.cost = answer.cost
    result.finishReason = answer.finishReason
    result.elapsedMicroseconds = answer.elapsedMicroseconds
    result.through = through
    try recorder.append(.modelResult(result), step: request.step)
    return result.reply
  }

  // MARK: Summaries

  /// Asks for a summary where the next packet needs one, again while there is none, as often as for a
  /// decision. Where it stays without one, the packet leaves out what does not fit; once two packets in a
  /// row went without, none is asked for any more.
  private mutating func summarizeIfDue(step: Int, tryNumber: Int) async throws {
    let limit = max(0, agent.failures.modelRetries) + 1
    while true {
      let history = recorder.contextHistory
      guard !history.isSummarized, history.summaryAttempts < limit,
        history.failedSummaries < 2 * limit
      else { return }
      guard
        let task = assembler.summaryDue(
          state: state, history: history, at: recorder.lastSeq + 1, lookup: recorder.event(at:))
      else { return }
      if history.summaryAttempts > 0, haltBetweenTries() != nil { return }
      let request = ModelRequest(
        purpose: .summarize, step: step, tryNumber: tryNumber,
        attempt: history.summaryAttempts + 1, number: recorder.modelCalls(for: .summarize) + 1,
        goal: state.goal, messages: task.messages)
      try await recordedReply(to: request, model: agent.model.name, through: task.through)
    }
  }

  func haltBetweenTries() -> Halt? {
    boundary.cancellation.signal.map(Self.cancelled(by:)) ?? exhaustedLimit.map(Self.exhausted)
  }

  private func haltWithoutReply() -> Halt {
    haltBetweenTries() ?? Halt(reason: .modelFailure, detail: StopDetail.error)
  }
}

extension Decision {
  /// The decision, or an invalid one where the agent takes no such decisions.
  fileprivate func refused(by fault: (@Sendable (Decision) -> String?)?) -> Decision {
    if case .invalid = self { return self }
    guard let reason = fault?(self) else { return self }
    return .invalid(reason: reason.prefix(utf8Bytes: ModelReply.reasonLimitBytes), calls: calls)
  }
}
