import AgentTrace

/// One run in progress.
struct AgentLoop {
  let agent: AgentDefinition
  /// The tools of the agent file.
  let ownTools: ToolRegistry
  /// The tools that the run has: those of sources too.
  private(set) var registry: ToolRegistry
  let boundary: any Boundary
  var recorder: Recorder
  let gate: PolicyGate
  let assembler: ContextAssembler
  let answerCheck: AnswerCheck
  /// How calls are treated that the log leaves open; without meaning for a run from its start.
  let continuation: Continuation
  /// What the guard found at the decision that the run goes on from.
  let breachAtDecision: GuardBreach?
  /// What the next context takes over from the last one.
  var turns = TurnCache()
  /// The digest of the tools that the model was told of last.
  var toolDigests = ToolListDigest()
  /// The calls that people granted since the run goes on.
  var approvedSince: Set<String> = []
  /// Calls of the current decision that were beyond a limit, by their ids, and which one.
  var limitRefusals: [String: String] = [:]
  /// What has started since the run goes on.
  var starts = StartGuard()
  /// A call of the current decision that may not begin, because an equal one beside it may have had its
  /// effect.
  var heldBack: ProposedCall?
  /// The calls of the current decision whose runs wait, by their ids, and what for.
  var pausedChildren: [String: StopReason] = [:]
  /// Why this machine can run no tool as things are.
  var machineFault: String?
  /// What a model that plays a person was asked before the run goes on, and nothing came of yet.
  var recordedPersonTries: [PersonTry] = []
  /// The tools that the model was told of in the current packet.
  var disclosed: [String] = []

  init(
    agent: AgentDefinition, registry: ToolRegistry, answerCheck: AnswerCheck,
    boundary: any Boundary, recorder: Recorder, continuation: Continuation = Continuation(),
    breachAtDecision: GuardBreach? = nil
  ) {
    self.agent = agent
    ownTools = registry
    self.registry = registry
    self.boundary = boundary
    self.recorder = recorder
    self.continuation = continuation
    self.breachAtDecision = breachAtDecision
    gate = PolicyGate(agent.policy)
    assembler = ContextAssembler(agent: agent)
    self.answerCheck = answerCheck
    useListedTools()
  }

  /// Takes over the tools that sources have offered, as the events say.
  mutating func useListedTools() {
    guard !agent.sources.isEmpty else { return }
    registry = ownTools.adding(
      recorder.record.contextHistory.listed.registrations(of: agent.sources))
  }

  var state: AgentState { recorder.state }

  /// Why the run goes no further, found on the way.
  struct Halt {
    var reason: StopReason
    var detail: String?
    var answer: String?
    var evidenceRefs: [String] = []
    var isFinal = true
  }

  mutating func run(from started: RunStarted) async throws {
    try recorder.append(.runStarted(started), step: 0)
    try await goOn(from: StepProgress())
  }

  /// Goes on behind the last event, wherever in a step it stands.
  ///
  /// Within a step every part of the loop first looks at `progress`: what it holds is not made again,
  /// and what had to hold for it to be there is not asked again.
  mutating func goOn(from progress: StepProgress) async throws {
    if progress.isStopped { return }
    recordedPersonTries = progress.personTries
    await rememberUnconfirmed()
    if let halt = try await askSources(step: progress.step) {
      return try stop(halt, step: progress.step)
    }
    if progress.step == 0 {
      for note in agent.memory.dropFirst(progress.notesRead) {
        try recorder.append(.memoryRead(await kept(note)), step: 0)
      }
    } else if let halt = try await runStep(progress.step, from: progress) {
      return try stop(halt, step: progress.step)
    }
    while true {
      let step = state.steps + 1
      if let halt = haltBeforeStep() { return try stop(halt, step: state.steps) }
      if let halt = try await runStep(step, from: StepProgress()) {
        return try stop(halt, step: step)
      }
      guard state.steps >= step else { throw LoopFault.standsStill(step: step) }
    }
  }

  private mutating func runStep(_ step: Int, from progress: StepProgress) async throws -> Halt? {
    let decision: Decision
    switch try await decide(step: step, from: progress) {
    case .halt(let halt): return halt
    case .decision(let made): decision = made
    }
    // An invalid decision was followed by another try, or is the last: nothing came of it.
    let progress = progress.hasValidDecision ? progress : StepProgress()
    if let halt = haltAtDecision(progress) {
      for call in decision.calls where !progress[call.callId].isOver {
        try refuse(call, "the run stops: a guard does not let it go on", step: step)
      }
      return halt
    }
    switch decision {
    case .answer(let text, let refs):
      if progress.isAnswered { return nil }
      if try await isHeard(.answer, text, asked: progress.decisionSeq, step: step) { return nil }
      return Halt(
        reason: .success, detail: StopDetail.finalAnswer, answer: text, evidenceRefs: refs)
    case .stop(let reason, let detail):
      return Halt(reason: reason, detail: detail ?? StopDetail.model)
    case .askHuman(let question):
      if progress.isAnswered { return nil }
      if try await isHeard(.question, question, asked: progress.decisionSeq, step: step) {
        return nil
      }
      // Whoever is asked hears the signal too, and says nothing any more.
      return boundary.cancellation.signal.map(Self.cancelled)
        ?? Halt(reason: .blocked, detail: StopDetail.human, isFinal: false)
    case .tool(let calls):
      let known = try refuseUnknown(calls, step: step, from: progress)
      return try await execute(known, step: step, from: progress)
    case .invalid: return Halt(reason: .invalidDecision, detail: StopDetail.error)
    }
  }

  /// The end of a run whose decision broke what a guard watches. Once a verdict or an answer followed
  /// on the decision, the guard had nothing against it.
  private func haltAtDecision(_ progress: StepProgress) -> Halt? {
    guard let decision = progress.decision else { return haltByGuard() }
    if progress.isAnswered { return nil }
    if decision.calls.contains(where: { progress[$0.callId].verdict != nil }) { return nil }
    return breachAtDecision.map(Self.stopped)
  }

  /// Refuses the calls of tools that the model was not told of; returns the others. Whether one that it was told
  /// of is still there is seen when its call is to run.
  private mutating func refuseUnknown(
    _ calls: [ProposedCall], step: Int, from progress: StepProgress
  ) throws -> [ProposedCall] {
    var known: [ProposedCall] = []
    for call in calls {
      guard !disclosed.contains(where: { $0.hasSameUTF8(as: call.name) }) else {
        known.append(call)
        continue
      }
      guard !progress[call.callId].isOver else { continue }
      let reason = registry.fault(in: call, disclosed: disclosed) ?? "unknown tool"
      try refuse(call, reason, step: step)
    }
    return known
  }

  private mutating func stop(_ halt: Halt, step: Int) throws {
    let stop = Stop(
      reason: halt.reason, detail: halt.detail, answer: halt.answer,
      evidenceRefs: halt.evidenceRefs, isFinal: halt.isFinal, totals: state.totals,
      stateFormat: AgentState.format, stateDigest: state.digest.hex)
    try recorder.append(.stop(stop), step: step)
  }

  // MARK: Limits

  private func haltBeforeStep() -> Halt? {
    if let signal = boundary.cancellation.signal { return Self.cancelled(by: signal) }
    if let breach = recorder.record.runGuard?.breach(ifDecidingIn: state.steps + 1) {
      return Self.stopped(by: breach)
    }
    if let limit = agent.limits.maxSteps, state.totals.steps >= limit {
      return Self.exhausted(StopDetail.maxSteps)
    }
    return exhaustedLimit.map(Self.exhausted)
  }

  /// The limit that nothing may happen beyond: looked at before each try of a model call and each start
  /// of a tool. `nil` while none is used up. Steps and calls are counted where they begin.
  var exhaustedLimit: String? {
    let limits = agent.limits
    let totals = state.totals
    if let limit = limits.maxTokens,
      // What a log claims may be more than can be added.
      totals.outputTokens >= limit || totals.inputTokens >= limit - totals.outputTokens
    {
      return StopDetail.maxTokens
    }
    if let limit = limits.maxCost, let cost = totals.cost, Figures.isSpent(limit, by: cost) {
      return StopDetail.maxCost
    }
    if let limit = timeoutMicroseconds, state.elapsedMicroseconds >= limit {
      return StopDetail.timeout
    }
    return nil
  }

  static func exhausted(_ limit: String) -> Halt { Halt(reason: .budgetExhausted, detail: limit) }

  /// The limit on active run time.
  var timeoutMicroseconds: Int? {
    agent.limits.timeoutSeconds.map { Int(min(max(0, $0), 1e9) * 1_000_000) }
  }

  static func cancelled(by signal: String) -> Halt {
    Halt(reason: .cancelled, detail: StopDetail.signal(signal), isFinal: false)
  }
}

/// The digest of a list of tools, which mostly is the one before.
struct ToolListDigest {
  private var tools: [ToolDefinition] = []
  private var last = ModelRequest.digest(of: [])

  mutating func digest(of tools: [ToolDefinition]) -> Digest {
    guard tools != self.tools else { return last }
    (self.tools, last) = (tools, ModelRequest.digest(of: tools))
    return last
  }
}
