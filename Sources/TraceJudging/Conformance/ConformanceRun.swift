package import AgentTrace

/// A run written down by hand, for a conformance case.
package struct ConformanceRun: Sendable {
  /// What becomes of a call.
  enum Fate: Sendable {
    case ok(JSONValue = .null)
    case error(JSONValue = "failed")
    case refused
    /// It ran; whether it succeeded an import's source does not say.
    case returned(JSONValue = .null)
    /// Cut off, so that nobody knows what it did.
    case effectUnknown
    /// Neither started nor answered.
    case untouched
  }

  /// One call.
  struct Call: Sendable {
    var tool: String
    var input: JSONValue = [:]
    var fate = Fate.ok()
    var verdict: VerdictStatus?
    var rule: String?
    /// Whether a person granted it, after policy asked.
    var isGranted: Bool?
    /// What a yes covers; `nil` as in logs of before there was such a word.
    var scope: ApprovalScope? = .once
    /// The call whose approval the verdict says that it rests on.
    var restsOn: String?
    var attempts = 1
    var seconds = 0.0

    init(_ tool: String, _ input: JSONValue = [:], _ fate: Fate = .ok()) {
      self.tool = tool
      self.input = input
      self.fate = fate
    }

    /// The call with a word of policy on it; where a person was asked, with the answer.
    func ruled(
      _ verdict: VerdictStatus, by rule: String? = nil, granted isGranted: Bool? = nil,
      for scope: ApprovalScope? = .once
    ) -> Call {
      var call = self
      (call.verdict, call.rule, call.isGranted) = (verdict, rule, isGranted)
      call.scope = scope
      return call
    }

    /// The call let through, as the gate says, by the approval that was given to another.
    func resting(on callId: String) -> Call {
      var call = ruled(.allow)
      call.restsOn = callId
      return call
    }

    func taking(seconds: Double = 0, attempts: Int = 1) -> Call {
      var call = self
      (call.seconds, call.attempts) = (seconds, attempts)
      return call
    }
  }

  package private(set) var events: [Event] = []
  private(set) var isTorn = false
  private var step = 0
  private var clock = 0

  /// - Parameter writes: tools that are declared to write; all others read.
  package init(
    tools: [String] = [], writes: [String] = [], recorded: RecordedChannels = [:],
    _ build: (inout ConformanceRun) -> Void
  ) {
    var started = RunStarted(
      agentName: "conformance", goal: "a goal",
      tools: (tools + writes).map {
        ToolDefinition(name: $0, sideEffect: writes.contains($0) ? .write : .read)
      })
    started.recorded = recorded
    add(.runStarted, started.encoded)
    build(&self)
  }

  /// One call in each decision, an answer, a stop.
  package init(_ tools: String...) { self.init(calls: tools.map { Call($0) }) { $0.end() } }
  init(_ first: Call, _ more: Call...) { self.init(calls: [first] + more) { $0.end() } }

  /// One call in each decision, and a tear behind them.
  init(torn tools: String...) { self.init(calls: tools.map { Call($0) }) { $0.tear() } }

  private init(calls: [Call], _ finish: (inout ConformanceRun) -> Void) {
    self.init { run in
      for call in calls { run.decide(call) }
      finish(&run)
    }
  }

  mutating func add(_ type: EventType, _ data: JSONObject) {
    events.append(
      Event(seq: events.count, step: step, type: type, runId: "conformance", t: clock, data: data))
  }

  mutating func change(_ place: Int, _ body: (inout Event) -> Void) { body(&events[place]) }

  /// One decision with its calls, then what became of them.
  mutating func decide(
    _ calls: Call..., by caller: String? = nil, isInvalid: Bool = false, isOfUser: Bool = false
  ) {
    step += 1
    let proposed = calls.enumerated().map { index, call in
      ProposedCall(callId: "\(step).1.\(index)", name: call.tool, input: call.input)
    }
    var decision = DecisionPayload(
      isInvalid ? .invalid(reason: "bad", calls: proposed) : .tool(proposed), caller: caller)
    decision.isOfUser = isOfUser
    add(.decision, decision.encoded)
    for (call, made) in zip(calls, proposed) { rule(on: made, call) }
    for (call, made) in zip(calls, proposed) { finish(made, call, by: caller) }
  }

  private mutating func rule(on made: ProposedCall, _ call: Call) {
    guard let verdict = call.verdict else { return }
    let context: JSONObject? = call.restsOn.map { callId in
      ["approvedActionIds": [.string(made.actionId)], "approval": ["callId": .string(callId)]]
    }
    add(
      .policyDecision,
      Verdict(
        callId: made.callId, tool: made.name, status: verdict, reason: "a rule says so",
        ruleId: call.rule, context: context ?? [:]
      ).encoded)
    guard let isGranted = call.isGranted else { return }
    add(
      .approval,
      Approval(
        callId: made.callId, actionId: made.actionId, granted: isGranted, by: "ana",
        scope: call.scope
      ).encoded)
  }

  private mutating func finish(_ made: ProposedCall, _ call: Call, by caller: String?) {
    let result: ToolResult
    switch call.fate {
    case .ok(let data): result = .ok(data: data)
    case .error(let reason): result = .error(reason: reason, isEffectUnknown: false)
    case .refused: result = .refused(reason: "no")
    case .returned(let data):
      // An import has neither starts nor attempts.
      return add(
        .toolResult,
        ToolResultPayload(
          callId: made.callId, tool: made.name, caller: caller, result: .returned(data: data)
        ).encoded)
    case .effectUnknown: result = .error(reason: "cut off", isEffectUnknown: true)
    case .untouched: return
    }
    if case .refused = call.fate {
    } else {
      for attempt in 1...max(1, call.attempts) {
        add(
          .toolStarted,
          ToolStartedPayload(
            callId: made.callId, tool: made.name, attempt: attempt,
            idempotencyKey: "conformance/\(made.callId)"
          ).encoded)
      }
    }
    let microseconds = Int(call.seconds * 1_000_000)
    clock += microseconds
    add(
      .toolResult,
      ToolResultPayload(
        callId: made.callId, tool: made.name, caller: caller, result: result,
        attempts: call.attempts, elapsedMicroseconds: microseconds
      ).encoded)
  }

  /// A result without its decision.
  mutating func returnStray(_ tool: String, callId: String = "stray", _ result: ToolResult) {
    add(
      .toolResult, ToolResultPayload(callId: callId, tool: tool, result: result).encoded)
  }

  /// A start without its decision.
  mutating func startStray(_ tool: String, callId: String = "stray") {
    add(
      .toolStarted,
      ToolStartedPayload(
        callId: callId, tool: tool, attempt: 1, idempotencyKey: "conformance/\(callId)"
      ).encoded)
  }

  /// A call of the model, with what it used.
  mutating func think(tokens: Int?, cost: Double? = nil) {
    add(
      .modelResult,
      ModelResult(reply: "…", inputTokens: tokens, outputTokens: tokens.map { _ in 0 }, cost: cost)
        .encoded)
  }

  /// A context, before the next decision.
  mutating func see(
    tools: [String] = [], text: String = "", included: [String] = [], evidence: [String] = [],
    tokens: Int = 0, omitted: [ContextItem] = []
  ) {
    step += 1
    add(
      .contextBuilt,
      ContextPacket(
        runId: "conformance", goal: "a goal", stateSummary: [:], observations: [],
        toolsDisclosed: tools, evidenceRefs: evidence, memoryRefs: [],
        included: included.map { ContextItem(ref: $0, reason: "it fits") },
        omittedRefs: omitted,
        messages: [["role": "user", "content": [["type": "text", "text": .string(text)]]]],
        tokenEstimate: tokens, tokenBudget: nil
      ).encoded)
    step -= 1
  }

  mutating func hear(_ text: String) {
    add(.humanReplied, HumanReplied(text: .string(text), by: "ana").encoded)
  }

  mutating func remember(_ key: String, _ value: JSONValue, isWritten: Bool = false) {
    add(
      isWritten ? .memoryWritten : .memoryRead,
      MemoryNote(scope: "actor", key: key, value: value).encoded)
  }

  mutating func answer(_ text: String, evidence: [String] = []) {
    step += 1
    add(.decision, DecisionPayload(.answer(text: text, evidenceRefs: evidence)).encoded)
  }

  package mutating func stop(_ reason: StopReason = .success) {
    add(.stop, Stop(reason: reason).encoded)
  }

  /// The last answer and the stop.
  package mutating func end(_ text: String = "done") {
    answer(text)
    stop()
  }

  /// The log ends here without its end.
  mutating func tear() { isTorn = true }

  /// Judges the run.
  ///
  /// - Parameter votes: what a model says of every statement, vote by vote; none is asked where it is
  ///   empty.
  package func judge(_ expectations: Expectations, graded votes: [Outcome] = []) -> Judgement {
    var (trajectory, gathered) = (Trajectory(), GatheredFacts(for: expectations))
    for event in events {
      trajectory.apply(event)
      gathered.apply(event)
    }
    if isTorn { trajectory.markTorn() }
    var aids = Judge.Aids()
    for rule in votes.isEmpty ? [] : expectations.judges {
      aids.judged[rule] = .votes(
        votes.map { outcome in
          JudgeVote(
            reply: JudgeReply(
              grades: rule.statements.map { _ in .init(outcome: outcome, reason: "So it is.") }),
            source: JudgementSource(log: "judgement.jsonl.gz", seq: 3))
        })
    }
    return Judge.judge(trajectory, gathered, against: expectations, aids: aids)
  }
}
