import AgentTrace

extension AgentLoop {
  /// Lets the model plan, and look back, where that is due before the next decision. Where it gives no words the
  /// decision is made without.
  mutating func thinkIfDue(step: Int, tryNumber: Int) async throws {
    for purpose in [ModelPurpose.plan, .reflect] {
      guard let settings = agent.thought(for: purpose), isDue(settings, purpose, step: step) else {
        continue
      }
      try await think(settings, purpose, step: step, tryNumber: tryNumber)
    }
  }

  private func isDue(_ settings: ThoughtSettings, _ purpose: ModelPurpose, step: Int) -> Bool {
    let history = recorder.record.contextHistory
    guard history.thoughts(for: purpose).isDue(settings, step: step) else { return false }
    guard purpose == .reflect else { return true }
    // Nothing to look back at.
    let isCaused =
      settings.cause == .failures ? history.failuresOfDecision > 0 : history.resultsOfDecision > 0
    return isCaused && (history.thoughts(for: purpose).latest != nil || step > settings.everySteps)
  }

  private mutating func think(
    _ settings: ThoughtSettings, _ purpose: ModelPurpose, step: Int, tryNumber: Int
  ) async throws {
    let limit = max(0, agent.failures.modelRetries) + 1
    while true {
      let history = recorder.record.contextHistory.thoughts(for: purpose)
      guard !history.isDone, history.attempts < limit, history.calls < settings.maxCalls,
        history.retry != .never, haltBetweenTries() == nil
      else { return }
      if history.attempts > 0 {
        guard await haltAfterWait(history.retry) == nil else { return }
      }
      let packet = assembler.assemble(
        state: state, history: recorder.record.contextHistory, at: recorder.lastSeq + 1, &turns,
        lookup: recorder.record.event(at:))
      var request = ModelRequest(
        purpose: purpose, step: step, tryNumber: tryNumber, attempt: history.attempts + 1,
        number: recorder.record.modelCalls(for: purpose) + 1, goal: packet.goal,
        messages: packet.messages + [
          assembler.question(settings, state: state, recorder.record.contextHistory)
        ],
        tools: assembler.tools(of: packet, recorder.record.contextHistory))
      request.timeoutMicroseconds = timeLeft
      _ = try await recordedResult(of: request, model: agent.model.name)
    }
  }
}

extension ContextAssembler {
  /// What the model is asked behind everything that it is shown.
  fileprivate func question(
    _ settings: ThoughtSettings, state: AgentState, _ history: ContextHistory
  ) -> JSONValue {
    Turn.Part.text("user", filled(settings.prompt, state, history))
  }
}

extension AgentDefinition {
  /// How the agent plans, or looks back; `nil` where it does not.
  func thought(for purpose: ModelPurpose) -> ThoughtSettings? {
    switch purpose {
    case .plan: plan
    case .reflect: reflect
    case .decide, .summarize, .human, .judge: nil
    }
  }
}
