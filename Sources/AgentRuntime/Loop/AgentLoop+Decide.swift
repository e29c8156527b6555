import AgentTrace

extension AgentLoop {
  enum Decided {
    case decision(Decision)
    case halt(Halt)
  }

  /// Asks the model for a decision, again after an invalid one as often as the agent allows.
  mutating func decide(step: Int) async throws -> Decided {
    let tries = max(0, agent.failures.invalidDecisionRetries) + 1
    var decision = Decision.invalid(reason: "", calls: [])
    for tryNumber in 1...tries {
      let packet = assembler.assemble(state: state, lookup: recorder.event(at:))
      try recorder.append(.contextBuilt(packet), step: step)
      if let halt = haltByGuard() { return .halt(halt) }
      guard let reply = try await reply(to: packet, step: step, tryNumber: tryNumber) else {
        return .halt(haltWithoutReply())
      }
      decision = ModelReply(reply).decision(step: step, tryNumber: tryNumber) { call in
        registry.fault(in: call, disclosed: packet.toolsDisclosed)
      }
      try recorder.append(
        .decision(DecisionPayload(decision, modelResult: recorder.lastSeq)), step: step)
      guard case .invalid = decision else { break }
      if let halt = haltByGuard() { return .halt(halt) }
      if let halt = haltBetweenTries() { return .halt(halt) }
    }
    return .decision(decision)
  }

  /// One reply, asked for again while the model is out of reach; `nil` when it stays so.
  private mutating func reply(
    to packet: ContextPacket, step: Int, tryNumber: Int
  ) async throws -> JSONValue? {
    let tools = assembler.disclosedTools(route: agent.policyContext.route)
    for attempt in 1...(max(0, agent.failures.modelRetries) + 1) {
      let request = ModelRequest(
        step: step, tryNumber: tryNumber, attempt: attempt, number: state.totals.modelCalls + 1,
        packet: packet, tools: tools)
      let answer = await boundary.reply(to: request)
      var result = ModelResult(
        purpose: "decide", attempt: attempt, requestDigest: request.digest,
        reply: answer.reply?.admitted, error: answer.error, model: agent.model.name)
      result.inputTokens = answer.inputTokens
      result.outputTokens = answer.outputTokens
      result.cost = answer.cost
      result.finishReason = answer.finishReason
      result.elapsedMicroseconds = answer.elapsedMicroseconds
      try recorder.append(.modelResult(result), step: step)
      if let reply = result.reply { return reply }
      if haltBetweenTries() != nil { return nil }
    }
    return nil
  }

  private func haltBetweenTries() -> Halt? {
    boundary.cancellation.signal.map(Self.cancelled(by:)) ?? haltByTime()
  }

  private func haltWithoutReply() -> Halt {
    haltBetweenTries() ?? Halt(reason: .modelFailure, detail: StopDetail.error)
  }
}
