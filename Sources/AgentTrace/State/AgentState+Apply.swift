extension AgentState {
  /// Folds one event in.
  ///
  /// `history` becomes SHA-256 of the history before and of the event's own digest, SHA-256 of
  /// canonical `[type,step,data]`, where `data` stands without `elapsedMicroseconds`, `modelResult`
  /// and `replyTo`, and with a ``ListDigest`` in the place of each list of a packet: no time and no event
  /// number reaches it. Events of a pending call (all that carry
  /// its `callId` but verdicts and approvals) build a history of that call's own, which enters the
  /// run's in call order once the call and all before it have their results.
  ///
  /// An event of an unknown type changes the history and nothing else; so does one whose data are not
  /// what its type promises (``EventPayload/init(of:)`` says what is wrong with it).
  public mutating func apply(_ event: Event) {
    apply(event, digest: digest(of: event))
  }

  /// What of an event's data the fold looks at; `nil` for all. Always `callId` as well. Of a result's
  /// `data` it takes the beginning as text, at most ``Observation/summaryLimitBytes``.
  @_spi(Scanning) public static func keysRead(of type: EventType) -> [StaticString]? {
    switch type {
    case .contextBuilt, .toolsListed, .toolStarted: ["callId"]
    case .modelResult: ["callId", "cost", "error", "usage"]
    case .policyDecision: ["callId", "context", "reason", "status", "tool"]
    case .toolResult: ["callId", "child", "reason", "status", "tool"]
    default: nil
    }
  }

  /// The data that an event's digest leaves out: a time, and numbers of events.
  @_spi(Scanning) public static let keysNotDigested: [StaticString] = [
    "elapsedMicroseconds", "modelResult", "replyTo",
  ]

  /// Whether an event's digest holds the data of a key.
  @_spi(Scanning) public static func isDigested(_ key: String) -> Bool {
    !keysNotDigested.contains { other in
      other.utf8CodeUnitCount == key.utf8.count
        && other.withUTF8Buffer { key.utf8.elementsEqual($0) }
    }
  }

  /// Folds one event in whose digest is known; of its data only those must be there that the fold
  /// reads.
  ///
  /// - Parameter resultText: how the `data` of a `tool_result` begin, as text; `nil` where they are in
  ///   the event, or nowhere.
  @_spi(Scanning) public mutating func apply(
    _ event: Event, digest: Digest, resultText: String? = nil
  ) {
    elapsedMicroseconds = max(elapsedMicroseconds, event.t)
    if event.type != .policyDecision, event.type != .approval,
      let callId = event.data["callId"]?.stringValue,
      let place = pending.place(ofCall: callId)
    {
      pending.change(place) { $0.history = Digest(of: $0.history, digest) }
      applyToCall(event, at: place, resultText)
    } else {
      history = Digest(of: history, digest)
      applyToRun(event, resultText)
    }
  }

  /// Appends what stands before the data in the text that an event's digest is taken of; a `]` stands
  /// behind them.
  @_spi(Scanning) public static func appendDigestHead(
    of type: EventType, step: Int, to bytes: inout [UInt8]
  ) {
    bytes.append(UInt8(ascii: "["))
    CanonicalJSON.appendString(type.rawValue, to: &bytes)
    bytes.append(UInt8(ascii: ","))
    JSONNumber(step).append(to: &bytes)
    bytes.append(UInt8(ascii: ","))
  }

  private mutating func digest(of event: Event) -> Digest {
    var bytes: [UInt8] = []
    Self.appendDigestHead(of: event.type, step: event.step, to: &bytes)
    var data = event.data
    for key in Self.keysNotDigested { data["\(key)"] = nil }
    if event.type == .contextBuilt {
      ListDigest.append(packet: data, to: &bytes, knowing: &packetDigests)
    } else {
      CanonicalJSON.append(data, to: &bytes)
    }
    bytes.append(UInt8(ascii: "]"))
    return Digest(of: bytes)
  }

  // MARK: Events of the run

  private mutating func applyToRun(_ event: Event, _ resultText: String?) {
    let data = event.data
    switch event.type {
    case .runStarted:
      runId = event.runId
      goal = data["goal"] ?? .null
      policyContext = data["policyContext"]?.objectValue ?? [:]
      maxSteps = data["limits"]?["maxSteps"]?.intValue
    case .modelResult: totals.count(modelResult: data)
    case .decision: apply(decision: event)
    case .policyDecision: apply(verdict: event)
    case .toolStarted, .toolResult:
      // A call that no pending decision holds: nothing waits for it.
      let callId = data["callId"]?.stringValue ?? ""
      if event.type == .toolStarted || Self.isOfRun(data["status"]?.stringValue) {
        approvals.begin(callId)
      }
      guard event.type == .toolResult else { break }
      approvals.end(callId)
      countChild(of: event)
      observe(Self.observation(ofResult: event, resultText))
    case .approval: apply(approval: event)
    case .humanReplied:
      question = nil
      observe(.human, data["text"].map(Self.text) ?? "", event)
    case .memoryRead: observe(.system, "memory \(Self.name(ofNote: data))", event)
    case .memoryWritten: apply(memoryWritten: data)
    case .breakerChanged:
      if let tool = data["tool"]?.stringValue, let state = data["state"] {
        setBounded(&breakers, tool, ["state": state, "failures": data["failures"] ?? 0])
      }
    case .runResumed:
      stop = nil
      observe(.system, "resumed: \(data["why"].map(Self.text) ?? "")", event)
    case .stop:
      stop = StopSummary(
        reason: data["reason"]?.stringValue ?? "", detail: data["detail"]?.stringValue,
        isFinal: data["final"]?.boolValue ?? true)
    default: break
    }
  }

  private mutating func apply(decision event: Event) {
    let conversation = event.data["conversation"]?.intValue
    abandonPendingCalls(of: conversation)
    guard let payload = try? DecisionPayload(decoding: event.data) else { return }
    if case .invalid = payload.decision {
    } else if !payload.isTold {
      counters.invalidDecisionsInARow = 0
    }
    switch payload.decision {
    case .tool(let calls):
      observe(.model, "tool: " + calls.map(\.name).joined(separator: ", "), event)
      for call in calls {
        pending.append(PendingCall(call: call, seq: event.seq, conversation: conversation))
      }
      // What nobody answers does not pile up.
      while pending.count > Self.keyLimit, let call = pending.removeFirst() { abandon(call) }
      if calls.isEmpty { completeStep(event.step) }
    case .answer(let text, _):
      observe(.model, "answer: \(text)", event)
      completeStep(event.step)
    case .askHuman(let text):
      question = text
      observe(.model, "ask_human: \(text)", event)
      completeStep(event.step)
    case .stop(let reason, _):
      observe(.model, "stop: \(reason.rawValue)", event)
      completeStep(event.step)
    case .invalid(let reason, _):
      counters.invalidDecisionsInARow += 1
      observe(.model, "invalid: \(reason)", event)
    }
  }

  /// A decision that comes while calls of its conversation are pending leaves them behind, as imported traces
  /// do.
  private mutating func abandonPendingCalls(of conversation: Int?) {
    while let call = pending.removeFirst(of: conversation) { abandon(call) }
  }

  private mutating func abandon(_ call: PendingCall) {
    approvals.end(call.callId)
    history = Digest(of: history, call.history)
    if let result = call.result { enter(result) }
  }

  private mutating func apply(verdict event: Event) {
    guard let status = event.data["status"]?.stringValue else { return }
    guard status != VerdictStatus.allow.rawValue else {
      let finding = RecordedFinding(context: event.data["context"])
      if finding.isCovered, !finding.isExpired, let grantedTo = finding.grantedTo,
        let callId = event.data["callId"]?.stringValue
      {
        approvals.hold(callId, onThatOf: grantedTo)
      }
      return
    }
    if status == VerdictStatus.deny.rawValue { counters.denials += 1 }
    let tool = event.data["tool"].map(Self.text) ?? ""
    observe(.policy, "\(status) \(tool): \(event.data["reason"].map(Self.text) ?? "")", event)
  }

  private mutating func apply(approval event: Event) {
    guard let approval = try? Approval(decoding: event.data) else { return }
    observe(.human, "\(approval.granted ? "approved" : "denied") by \(approval.by)", event)
    let asked = pending.call(approval.callId)
    if let asked, let older = asked.older.id, older.hasSameUTF8(as: approval.actionId) {
      // An older program wrote it; what it covers is what the call is today.
      var approval = approval
      approval.actionId = asked.actionId
      approvals.take(approval, olderActionId: older)
    } else {
      approvals.take(approval)
    }
  }

  private mutating func apply(memoryWritten data: JSONObject) {
    guard let note = try? MemoryNote(decoding: data) else { return }
    let key = "\(note.scope)/\(note.key)"
    if let value = note.value {
      setBounded(&memory, key, .string(Digest(of: value).hex))
    } else {
      memory[key] = nil
    }
  }

  private func setBounded(_ object: inout JSONObject, _ key: String, _ value: JSONValue) {
    guard object[key] != nil || object.count < Self.keyLimit else { return }
    object[key] = value
  }

  // MARK: Events of a pending call

  private mutating func applyToCall(_ event: Event, at place: Int, _ resultText: String?) {
    switch event.type {
    case .toolStarted:
      guard let call = pending[place] else { break }
      if !call.isStarted { totals.toolCalls += 1 }
      pending.change(place) { $0.isStarted = true }
      approvals.begin(call.callId)
    case .toolResult:
      guard let call = pending[place] else { break }
      let status = event.data["status"]?.stringValue ?? ""
      if !call.isStarted, Self.isOfRun(status) {
        totals.toolCalls += 1
        approvals.begin(call.callId)
      }
      approvals.end(call.callId)
      countChild(of: event)
      let result = PendingCall.Result(
        observation: Self.observation(ofResult: event, resultText), status: status)
      pending.change(place) { $0.result = result }
      settle(call.conversation, step: event.step)
    case .memoryWritten: apply(memoryWritten: event.data)
    case .breakerChanged: applyToRun(event, nil)
    default: break
    }
  }

  /// What the run of a call used is used by the run that made the call.
  private mutating func countChild(of result: Event) {
    guard let child = result.data["child"]?.objectValue,
      let end = try? ChildEnd(decoding: child)
    else { return }
    totals.count(child: end.totals)
  }

  /// Whether only a tool that ran has such a result.
  private static func isOfRun(_ status: String?) -> Bool {
    status == "ok" || status == "error" || status == "returned"
  }

  /// Lets results of a conversation in whose turn has come; completes the step with the last of them.
  private mutating func settle(_ conversation: Int?, step: Int) {
    while let place = pending.first(of: conversation), let call = pending[place],
      let result = call.result
    {
      history = Digest(of: history, call.history)
      enter(result)
      _ = pending.removeFirst(of: conversation)
      if pending.first(of: conversation) == nil { completeStep(step) }
    }
  }

  private mutating func enter(_ result: PendingCall.Result) {
    observe(result.observation)
    switch result.status {
    case "error": counters.toolErrorsInARow += 1
    case "ok": counters.toolErrorsInARow = 0
    default: break  // A refused call says nothing about the tools.
    }
  }

  private mutating func completeStep(_ step: Int) { totals.steps = max(totals.steps, step) }

  // MARK: Observations

  private mutating func observe(_ observation: Observation) { observations.append(observation) }

  private mutating func observe(_ kind: Observation.Kind, _ summary: String, _ event: Event) {
    let id = observations.nextID(step: event.step, kind: kind)
    observe(Observation(id: id, kind: kind, summary: summary, seq: event.seq))
  }

  private static func observation(ofResult event: Event, _ resultText: String?) -> Observation {
    let data = event.data
    let status = data["status"]?.stringValue ?? ""
    let content = resultText ?? (data["data"] ?? data["reason"]).map(text) ?? ""
    let tool = data["tool"].map(text) ?? ""
    return Observation(
      id: data["callId"]?.stringValue ?? "", kind: .tool,
      summary: "\(tool) \(status): \(content)", seq: event.seq)
  }

  private static func name(ofNote data: JSONObject) -> String {
    "\(data["scope"].map(text) ?? "")/\(data["key"].map(text) ?? "")"
  }

  /// The beginning of a value as text: as much as a summary can hold.
  private static func text(_ value: JSONValue) -> String {
    let limit = Observation.summaryLimitBytes
    if case .string(let text) = value { return text.prefix(utf8Bytes: limit) }
    return CanonicalJSON.prefix(of: value, limitBytes: limit)
  }
}
