public import AgentTrace

/// How far a run has come in its current step, by the events of that step alone.
///
/// A run that goes on from its log, resumed or forked, needs to know what is recorded already: that is
/// never made again. State says what the run is; this says where in the loop it stands. It is a fold
/// like state, and keeps one packet, one reply and the calls of one decision.
public struct StepProgress: Sendable, Hashable {
  /// The step of the last event; 0 before the first.
  public private(set) var step = 0
  /// Notes that were read before the first step.
  public private(set) var notesRead = 0
  /// Context packets of the step: one for each try.
  public private(set) var tryNumber = 0
  /// The packet of the current try.
  public private(set) var packet: ContextPacket?
  /// How often the model was asked with that packet.
  public private(set) var attempt = 0
  /// What the last of these says about the next one.
  private(set) var retry = ModelAnswer.Retry.atOnce
  /// How many of them do not count, because the run was cancelled behind them.
  private(set) var attemptsForgiven = 0
  /// What it replied, if it did.
  public private(set) var reply: JSONValue?
  /// The number of the event that holds the reply.
  public private(set) var replySeq: Int?
  /// What the reply was read as.
  public private(set) var decision: Decision?
  /// The number of the decision's event.
  public private(set) var decisionSeq: Int?
  /// Whether the calls that the provider ran itself are recorded, of which results, and that something in the
  /// reply went unread.
  private(set) var areRanCallsTold = false
  private(set) var toldResults: Set<String> = []
  private(set) var isUnreadTold = false
  /// Whether a person has answered the question that the decision asked.
  public private(set) var isAnswered = false
  /// Whether the last event is a `stop`.
  public private(set) var isStopped = false
  /// The call that a person was last asked about and answered; `nil` again once the run was resumed,
  /// because whoever was silent then may speak now.
  public private(set) var lastApproved: String?
  /// Whether the run was resumed since the decision.
  public private(set) var isResumed = false

  /// What a model that plays a person was asked since a person last spoke, in order: its replies, of
  /// which nothing is recorded that came of them.
  private(set) var personTries: [PersonTry] = []

  private var calls: [CallProgress] = []
  /// Of the whole run.
  private var doubts = EffectDoubts()
  /// The detail of the `blocked` that the run stands still for.
  private var blockedDetail: String?

  /// Before the first event.
  public init() {}

  /// What is recorded of a call of the current decision.
  public subscript(callId: String) -> CallProgress {
    calls.first { $0.callId.hasSameUTF8(as: callId) } ?? CallProgress(callId: callId)
  }

  var hasValidDecision: Bool {
    switch decision {
    case nil, .invalid: false
    default: true
    }
  }

  /// The calls that a run that stands still waits for a person about, in call order, and why.
  public var waitingCalls: [(call: ProposedCall, reason: WaitingReason)] {
    guard isStopped, let proposed = decision?.calls else { return [] }
    return proposed.compactMap { call in
      let progress = self[call.callId]
      guard !progress.isOver else { return nil }
      // What a child's run waits for is for its own log to say.
      if progress.started?.child != nil { return nil }
      if progress.started != nil || isHeldBack(call) { return (call, .unknownEffect) }
      return progress.isHeld && progress.approval == nil ? (call, .approval) : nil
    }
  }

  /// The calls of the current decision that are runs of other agents and have yet to end, in call order.
  public var openChildren: [(call: ProposedCall, child: ChildStart)] {
    (decision?.calls ?? []).compactMap { call in
      self[call.callId].started?.child.map { (call, $0) }
    }
  }

  /// Whether the run stands still because an equal call may have had its effect.
  private func isHeldBack(_ call: ProposedCall) -> Bool {
    blockedDetail?.hasSameUTF8(as: StopDetail.unknownEffect(of: call.name)) ?? false
      && self[call.callId].approval == nil && doubts.hold(call)
  }

  /// The same with nothing but the number of starts known of one call, because a person has spoken
  /// about it anew.
  func forgetting(_ callId: String) -> StepProgress {
    var copy = self
    for index in copy.calls.indices where copy.calls[index].callId.hasSameUTF8(as: callId) {
      var call = CallProgress(callId: callId)
      call.attempts = copy.calls[index].attempts
      copy.calls[index] = call
    }
    return copy
  }
}

/// What came of asking a model that plays a person.
struct PersonTry: Sendable, Hashable {
  /// How often it was asked, from 1.
  var attempt: Int
  /// `nil` while it was out of reach.
  var reply: JSONValue?
  /// The number of the event that holds the reply.
  var seq: Int
  /// What it says about the next one.
  var retry: ModelAnswer.Retry
}

/// What a person is to say about a call that waits.
public enum WaitingReason: String, Sendable, Hashable, CaseIterable {
  /// Whether it may run.
  case approval
  /// Whether it has happened: it, or an equal call before it, was started, and nobody knows what it did.
  case unknownEffect = "unknown_effect"
}

/// What is recorded of one call.
public struct CallProgress: Sendable, Hashable {
  /// See `ProposedCall.callId`.
  public var callId: String
  /// The verdict that every call gets before any of its decision runs.
  public internal(set) var verdict: Verdict?
  /// What a person said last.
  public internal(set) var approval: Approval?
  /// The verdict that followed on what the person said.
  public internal(set) var verdictAfterApproval: Verdict?
  /// How often the tool was started.
  public internal(set) var attempts = 0
  /// The last start, while it has no result and no person was asked since.
  public internal(set) var started: Start?
  /// What became of the call.
  public internal(set) var result: ToolResult?
  /// The signal that cut it off, or kept it from being made; `nil` where none did.
  public internal(set) var signal: String?
  /// Notes that its last attempt is recorded to have read or written.
  var notes = 0
  /// Whether the run paused because the call waits for a person, whatever its verdict was.
  public internal(set) var isHeld = false

  /// When a tool was started, and how.
  public struct Start: Sendable, Hashable {
    /// From 1.
    public var attempt: Int
    /// Microseconds of active run time.
    public var t: Int
    /// What the tool was given to tell a second start from the first.
    public var idempotencyKey: String
    /// The number of the event that says so.
    public var seq = 0
    /// The run that it is, of a tool that is an agent.
    public var child: ChildStart?
    /// See ``ToolStartedPayload/isEarlierEffectUnknown``.
    var isEarlierEffectUnknown = false
    /// Whether its process died under it, so that nobody knows what came of it: the run was resumed since.
    var wasLeftOpen = false
  }

  /// Whether a person has yet to say something about a call that policy let through: a fork asks about
  /// what its parent did.
  var isHeldAgainstVerdict: Bool {
    isHeld && approval == nil && attempts == 0 && !isOver && verdict?.status == .allow
  }

  /// The verdict that counts.
  public var lastVerdict: Verdict? { approval == nil ? verdict : verdictAfterApproval ?? verdict }

  /// Whether the call has its result.
  public var isOver: Bool { result != nil }

  /// Whether something of it shows that its decision was allowed to begin.
  var hasBegun: Bool { attempts > 0 || approval != nil }

  /// Whether it was never started and has no result.
  var isOpen: Bool { started == nil && result == nil }

  /// The limit for which the call was not begun; `nil` where that was not the reason.
  func limit(behind prefix: String) -> String? {
    guard case .refused(let reason) = result, reason.utf8.starts(with: prefix.utf8) else {
      return nil
    }
    return String(decoding: reason.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
  }

  /// Whether its tool has failed; a signal that cut it off says nothing about that.
  var hasFailed: Bool {
    if signal == nil, case .error = result { true } else { false }
  }
}

// MARK: - Fold

extension StepProgress {
  /// Takes in the next event. An event that says nothing about the loop changes nothing.
  ///
  /// - Throws: `PayloadError` where the event's data are not what its type promises: a run cannot go
  ///   on from what cannot be read.
  public mutating func observe(_ event: Event) throws(PayloadError) {
    doubts.take(event)
    if event.type == .stop {
      isStopped = true
      blockedDetail =
        event.data["reason"]?.stringValue == StopReason.blocked.rawValue
        ? event.data["detail"]?.stringValue : nil
      switch event.data["reason"]?.stringValue.flatMap(StopReason.init) {
      case .approvalRequired?: hold()
      // A try that a signal cut off says nothing about the model.
      case .cancelled?: (attemptsForgiven, retry) = (attempt, .atOnce)
      default: break
      }
      return
    }
    guard (0...Self.stepLimit).contains(event.step) else {
      throw PayloadError(key: "step", expected: "a number from 0 to \(Self.stepLimit)")
    }
    if event.step > step { self = StepProgress(step: event.step, doubts: doubts) }
    switch event.type {
    case .memoryRead where step == 0: notesRead += 1
    case .memoryRead, .memoryWritten: countNote(event)
    case .contextBuilt:
      let packet = try ContextPacket(decoding: event.data)
      self = StepProgress(step: step, tryNumber: tryNumber + 1, doubts: doubts)
      self.packet = packet
    case .modelResult: try observe(ModelResult(decoding: event.data), event.seq)
    case .unseen: isUnreadTold = true
    case .decision:
      let payload = try DecisionPayload(decoding: event.data)
      if payload.isTold {
        areRanCallsTold = true
        return
      }
      decision = payload.decision
      decisionSeq = event.seq
      calls = decision?.calls.map { CallProgress(callId: $0.callId) } ?? []
    case .humanReplied:
      personTries = []
      switch decision {
      case .askHuman?, .answer?: isAnswered = true
      default: break
      }
    case .runResumed:
      isStopped = false
      isResumed = true
      lastApproved = nil
      // Whoever is there now is asked anew.
      personTries = []
      for index in calls.indices { calls[index].started?.wasLeftOpen = true }
    case .policyDecision, .approval, .toolStarted, .toolResult: try observeCall(event)
    default: break
    }
  }

  /// What a log may claim within reason, so that whatever is counted on from there can be.
  private static let stepLimit = 1 << 40

  private init(step: Int, tryNumber: Int = 0, doubts: EffectDoubts) {
    self.step = step
    self.tryNumber = tryNumber
    self.doubts = doubts
  }

  /// What may run has run before a run pauses for approval: whatever is left waits for a person.
  private mutating func hold() {
    for index in calls.indices
    where calls[index].isOpen && calls[index].attempts == 0 && calls[index].approval == nil {
      calls[index].isHeld = true
    }
  }

  private mutating func observe(_ result: ModelResult, _ seq: Int) {
    switch ModelPurpose(rawValue: result.purpose) {
    // A judge's grades are its decisions.
    case .decide?, .judge?: break
    case .human?: return observe(ofPerson: result, seq)
    default: return
    }
    attempt = max(attempt, min(result.attempt, 1 << 40))
    retry = ModelAnswer.Retry(of: result)
    reply = result.reply
    replySeq = result.reply == nil ? nil : seq
  }

  private mutating func observe(ofPerson result: ModelResult, _ seq: Int) {
    let attempt = min(max(1, result.attempt), 1 << 40)
    if attempt > 1, !personTries.isEmpty { personTries.removeLast() }
    personTries.append(
      PersonTry(
        attempt: attempt, reply: result.reply, seq: seq, retry: ModelAnswer.Retry(of: result)))
  }

  private mutating func countNote(_ event: Event) {
    guard let callId = event.data["callId"]?.stringValue,
      let index = calls.firstIndex(where: { $0.callId.hasSameUTF8(as: callId) })
    else { return }
    calls[index].notes += 1
  }

  private mutating func observeCall(_ event: Event) throws(PayloadError) {
    if event.type == .toolResult, event.data["executedBy"] != nil {
      if let callId = event.data["callId"]?.stringValue { toldResults.insert(callId) }
      return
    }
    guard let callId = event.data["callId"]?.stringValue,
      let index = calls.firstIndex(where: { $0.callId.hasSameUTF8(as: callId) })
    else { return }
    switch event.type {
    case .policyDecision: calls[index].take(try Verdict(decoding: event.data))
    case .approval:
      calls[index].take(try Approval(decoding: event.data))
      personTries = []
      lastApproved = callId
    case .toolStarted:
      calls[index].take(try ToolStartedPayload(decoding: event.data), seq: event.seq, t: event.t)
    default:
      let payload = try ToolResultPayload(decoding: event.data)
      calls[index].result = payload.result
      calls[index].signal = payload.signal
      calls[index].started = nil
    }
  }
}

extension CallProgress {
  fileprivate mutating func take(_ verdict: Verdict) {
    if approval == nil { self.verdict = verdict } else { verdictAfterApproval = verdict }
  }

  /// What a person says about a call that was started without a result is about starting it again.
  fileprivate mutating func take(_ approval: Approval) {
    self.approval = approval
    verdictAfterApproval = nil
    started = nil
  }

  fileprivate mutating func take(_ start: ToolStartedPayload, seq: Int, t: Int) {
    let attempt = min(max(1, start.attempt), 1 << 40)
    attempts = max(attempts, attempt)
    notes = 0
    started = Start(
      attempt: attempt, t: min(max(0, t), 1 << 60), idempotencyKey: start.idempotencyKey, seq: seq,
      child: start.child, isEarlierEffectUnknown: start.isEarlierEffectUnknown)
  }
}
