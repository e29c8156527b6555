import AgentTrace

/// Gathers a story from events.
struct StoryFold {
  /// What was told so far.
  private(set) var story = RunStory()
  private let showsContexts: Bool
  private var shown: ShownMessages?
  /// The log's ids of calls by those of the model, which are all that the packets of an import know.
  private var ids: [String: String] = [:]
  private var replies: [Int: ModelResult] = [:]
  private var hasTurn = false
  /// Ids of calls that have a result, and of those whose latest decision has.
  private var answered: Set<String> = []
  private var settled: Set<String> = []
  /// The step and the caller of the last decision, where it could not be made.
  private var unmade: (step: Int, caller: String)?
  private var hasSystem = false
  /// Whether what the run was asked for was told by somebody.
  private var hasGoal = false

  init(showsContexts: Bool) { self.showsContexts = showsContexts }

  /// When the event was that is taken in.
  private func moment(of event: Event) -> RunStory.Moment {
    RunStory.Moment(seq: event.seq, t: event.t, origin: story.last.origin)
  }

  mutating func apply(_ event: Event) {
    if event.seq == 0 || story.runId.isEmpty { story.runId = event.runId }
    story.eventCount += 1
    if let time = event.time.flatMap(UTCTime.nanoseconds) { see(clock: time, at: event.t) }
    story.last.t = max(story.last.t, event.t)
    story.last.seq = event.seq
    if event.type == .runStarted { story.first.origin = story.last.origin }
    switch event.type {
    case .unseen: story.isPartial = true
    case .runStarted:
      if !["calls", "tools"].allSatisfy({ event.data["recorded"]?[$0] == nil }) {
        story.isPartial = true
      }
      // An import may lack pauses that its source had.
      story.hasPaused = event.data["recorded"]?["stop"] == "partial"
      story.start = event.data
      story.tools = event.data["tools"]?.arrayValue ?? []
    case .toolsListed: story.tools += event.data["tools"]?.arrayValue ?? []
    case .contextBuilt: apply(context: event)
    case .modelResult: apply(reply: event)
    case .decision: apply(decision: event)
    case .policyDecision: apply(verdict: event)
    case .approval:
      if event.data["granted"] == true, let id = event.data["callId"]?.stringValue {
        story.granted.insert(id)
      }
    case .toolStarted:
      guard let id = event.data["callId"]?.stringValue else { break }
      if let first = story.started[id] {
        let known = story.attempts[id] ?? [first]
        if known.count < RunStory.attemptLimit {
          story.attempts[id] = known + [moment(of: event)]
        }
      }
      story.started[id] = moment(of: event)
      if event.data[PipelineCalls.runKey] != nil { story.taskCalls.insert(id) }
    case .toolResult:
      apply(result: event)
      add(below: event.data["child"]?["totals"])
    case .taskFinished, .taskFailed: add(below: event.data["run"]?["totals"])
    case .humanReplied:
      if !hasTurn { hasGoal = true }
      story.items.append(
        .said(
          RunStory.Said(
            at: moment(of: event), role: .user,
            text: event.data["text"].map(RunStory.text) ?? "",
            by: event.data["by"]?.stringValue)))
    case .runResumed: leaveStop()
    case .stop:
      leaveStop()
      story.stop = try? Stop(decoding: event.data)
    default: break
    }
  }

  /// Forgets a stop behind which the run went on, and that there was one.
  private mutating func leaveStop() {
    if story.stop != nil { story.hasPaused = true }
    story.stop = nil
  }

  /// Takes in what the clock on the wall said at a moment of active run time. Where the run stood still it went on, and
  /// it never goes back, whatever a log says.
  private mutating func see(clock: UInt64, at t: Int) {
    let active = RunStory.Moment(seq: 0, t: t, origin: 0).clock
    let origin = clock - min(clock, active)
    // An import knows when things were said in a run, and not when that began: no later than those say.
    if story.began == 0, origin > 0 { story.put(onClock: origin) }
    story.last.origin = max(story.last.origin, origin)
  }

  private mutating func add(below used: JSONValue?) {
    guard let object = used?.objectValue, let used = try? Totals(decoding: object) else { return }
    var sum = story.usedBelow ?? Totals()
    sum.add(used)
    story.usedBelow = sum
  }

  private mutating func apply(context event: Event) {
    let messages = event.data["prompt"]?["messages"]?.arrayValue ?? []
    if !hasSystem, !hasTurn {
      for message in messages where message["role"] == "system" {
        hasSystem = true
        story.items.append(
          .said(
            RunStory.Said(
              at: moment(of: event), role: .system, text: ShownMessages.text(of: message))))
      }
    }
    if showsContexts { shown = ShownMessages(messages, ids: ids) }
  }

  private mutating func apply(reply event: Event) {
    guard let result = try? ModelResult(decoding: event.data) else { return }
    story.items.append(
      .model(
        RunStory.ModelCall(
          at: moment(of: event), step: event.step, result: result,
          shown: result.purpose == ModelPurpose.decide.rawValue ? shown : nil)))
    // A decision names the reply before it; of several conversations the last few.
    replies[event.seq] = result
    if replies.count > 64, let oldest = replies.keys.min() { replies[oldest] = nil }
  }

  private mutating func apply(decision event: Event) {
    guard let payload = try? DecisionPayload(decoding: event.data) else { return }
    hasTurn = true
    if showsContexts {
      for call in payload.decision.calls {
        if let told = call.providerCallId { ids[told] = call.callId }
      }
    }
    let ids = Set(payload.decision.calls.map(\.callId))
    settled.subtract(ids)
    // Of two calls of one id nobody knows whose result is whose.
    if ids.count < payload.decision.calls.count
      || payload.decision.calls.contains(where: { $0.input.isCutSomewhere })
    {
      story.isPartial = true
    }
    var turn = RunStory.Turn(
      at: moment(of: event), step: event.step, kind: payload.decision.kind,
      caller: payload.caller, calls: payload.decision.calls)
    turn.modelSeq = payload.modelResult
    turn.model = payload.modelResult.flatMap { replies.removeValue(forKey: $0) }
    let reply = turn.model?.reply
    turn.reasoning = reply?["reasoning"]?.stringValue
    switch payload.decision {
    case .answer(let text, _):
      turn.text = text
      if (payload.caller ?? "agent") == "agent" {
        story.isAnswerCut = event.data["text"]?.isCutSomewhere == true
      }
    case .askHuman(let question): turn.text = question
    case .stop(let reason, let detail):
      turn.text = (reply?["text"] ?? reply?["content"])?.stringValue ?? detail ?? reason.rawValue
    case .tool, .invalid:
      if case .invalid(let reason, _) = payload.decision { turn.problem = reason }
      turn.text = reply?.stringValue ?? (reply?["text"] ?? reply?["content"])?.stringValue
    }
    turn.isRepair =
      unmade.map { $0.step == turn.step && $0.caller.hasSameUTF8(as: turn.caller ?? "") } ?? false
    unmade = turn.problem.map { _ in (turn.step, turn.caller ?? "") }
    story.items.append(.turn(turn))
  }

  private mutating func apply(verdict event: Event) {
    guard let id = event.data["callId"]?.stringValue,
      let status = event.data["status"]?.stringValue
    else { return }
    story.verdicts[id] = RunStory.Verdict(
      status: status, ruleId: event.data["ruleId"]?.stringValue,
      reason: event.data["reason"]?.stringValue)
  }

  private mutating func apply(result event: Event) {
    guard let id = event.data["callId"]?.stringValue else { return }
    let status = event.data["status"]?.stringValue ?? "returned"
    if (event.data["data"] ?? event.data["reason"])?.isCutSomewhere == true {
      story.isPartial = true
    }
    if !settled.insert(id).inserted { story.isPartial = true }
    var result = RunStory.Result(
      at: moment(of: event), callId: id, tool: event.data["tool"]?.stringValue ?? "",
      caller: event.data["caller"]?.stringValue, status: status,
      content: event.data["data"] ?? event.data["reason"] ?? .null,
      isEffectUnknown: event.data["effect"] == "unknown", started: story.started[id])
    result.isAgain = !answered.insert(id).inserted
    story.items.append(.result(result))
  }

  /// Leaves out what spans that have ended were made of.
  mutating func forgetEnded() { story.forgetEnded() }

  /// The whole story, once no event follows.
  func finished() -> RunStory {
    var story = story
    story.identity = story.runId
    // A run that never stopped may have gone on.
    if story.isOpen { story.isPartial = true }
    if story.startsUnseenCall { story.isPartial = true }
    guard !hasGoal, !story.goal.isEmpty else { return story }
    let said = RunStory.Said(at: story.first, role: .user, text: story.goal)
    let place =
      story.items.firstIndex { item in
        if case .said(let said) = item { said.role != .system } else { true }
      } ?? story.items.count
    story.items.insert(.said(said), at: place)
    return story
  }
}
