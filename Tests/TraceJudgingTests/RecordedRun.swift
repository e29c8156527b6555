import AgentTrace

/// Writes the events of a run by hand, as a log would hold them.
struct RecordedRun {
  /// What becomes of a call.
  enum Fate: Sendable {
    case ok(JSONValue = .null)
    case error(JSONValue = "failed")
    case refused
    /// As an import has it that does not know whether it succeeded.
    case returned(JSONValue)
    /// Cut off, so that nobody knows what it did.
    case effectUnknown
    /// Started, and nothing more.
    case started
    /// Neither started nor answered.
    case untouched
  }

  /// A call to be.
  struct Call: Sendable {
    var tool: String
    var input: JSONValue = [:]
    var fate = Fate.ok()

    init(_ tool: String, _ input: JSONValue = [:], _ fate: Fate = .ok()) {
      self.tool = tool
      self.input = input
      self.fate = fate
    }
  }

  private(set) var events: [Event] = []
  private var step = 0

  init(tools: [String] = [], recorded: RecordedChannels = [:]) {
    var started = RunStarted(
      agentName: "test", goal: "a goal", tools: tools.map { ToolDefinition(name: $0) })
    started.recorded = recorded
    append(.runStarted, started.encoded)
  }

  private mutating func append(_ type: EventType, _ data: JSONObject) {
    events.append(
      Event(seq: events.count, step: step, type: type, runId: "run", data: data))
  }

  /// One decision with its calls, then what became of them.
  mutating func decide(
    _ calls: [Call], by caller: String? = nil, isInvalid: Bool = false, isOfUser: Bool = false
  ) {
    step += 1
    let proposed = calls.enumerated().map { index, call in
      ProposedCall(callId: "\(step).1.\(index)", name: call.tool, input: call.input)
    }
    var decision = DecisionPayload(
      isInvalid ? .invalid(reason: "bad", calls: proposed) : .tool(proposed), caller: caller)
    decision.isOfUser = isOfUser
    append(.decision, decision.encoded)
    for (call, made) in zip(calls, proposed) {
      end(made, as: call.fate, by: caller)
    }
  }

  private mutating func end(_ call: ProposedCall, as fate: Fate, by caller: String?) {
    let result: ToolResult
    switch fate {
    case .ok(let data): result = .ok(data: data)
    case .error(let reason): result = .error(reason: reason, isEffectUnknown: false)
    case .refused: result = .refused(reason: "no")
    case .returned(let data): result = .returned(data: data)
    case .effectUnknown: result = .error("cut off", isEffectUnknown: true)
    case .started, .untouched: result = .ok(data: .null)
    }
    switch fate {
    case .refused, .untouched, .returned: break
    default:
      append(
        .toolStarted, ["callId": .string(call.callId), "tool": .string(call.name), "attempt": 1])
    }
    switch fate {
    case .started, .untouched: break
    default:
      append(
        .toolResult,
        ToolResultPayload(callId: call.callId, tool: call.name, caller: caller, result: result)
          .encoded)
    }
  }

  mutating func ask(_ question: String) {
    step += 1
    append(.decision, DecisionPayload(.askHuman(question: question)).encoded)
  }

  mutating func answer(_ text: String) {
    step += 1
    append(.decision, DecisionPayload(.answer(text: text, evidenceRefs: [])).encoded)
  }

  mutating func stop(_ reason: StopReason = .success, isFinal: Bool = true) {
    append(.stop, Stop(reason: reason, isFinal: isFinal).encoded)
  }

  /// The events of a whole run: one decision for each group of calls, an answer, a stop.
  static func events(_ groups: [[Call]]) -> [Event] {
    var run = RecordedRun()
    for group in groups { run.decide(group) }
    run.answer("done")
    run.stop()
    return run.events
  }

  /// A whole run: one decision for each group of calls, an answer, a stop.
  static func whole(
    _ groups: [[Call]], tools: [String] = [], recorded: RecordedChannels = [:],
    answer: String? = "done"
  ) -> Trajectory {
    var run = RecordedRun(tools: tools, recorded: recorded)
    for group in groups { run.decide(group) }
    if let answer { run.answer(answer) }
    run.stop()
    return Trajectory(of: run.events)
  }

  /// The run as far as some number of events, torn there.
  func torn(after count: Int) -> Trajectory {
    var trajectory = Trajectory(of: events.prefix(count))
    trajectory.markTorn()
    return trajectory
  }
}
