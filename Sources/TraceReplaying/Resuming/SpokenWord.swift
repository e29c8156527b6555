public import AgentRuntime
public import AgentTrace
public import TraceStorage

/// What a person says to a run that stands still. It is written to the log; the run goes on when it is
/// resumed.
public enum SpokenWord: Sendable, Hashable {
  /// The call may run.
  case granted
  /// The call may not run; one that was started keeps its unknown effect.
  case denied
  /// The call that was started has happened, and this is what came of it.
  case happened(JSONValue)
  /// The call that was started has not happened: it may run, as if it were granted anew.
  case didNotHappen
}

extension WaitingRun {
  /// Writes what a person says about a call behind the run's stop, and closes the log again.
  ///
  /// - Parameters:
  ///   - word: a yes or a no, or whether a call that was started has happened.
  ///   - name: the call's id, or the name of a tool of which one call waits.
  ///   - by: who says it.
  ///   - reason: why; `nil` where nothing is said.
  ///   - scope: what a yes covers.
  ///   - until: when a yes runs out, as `UTC` writes it; `nil` for never.
  ///   - secrets: what is withheld from what they say, beside credentials.
  ///   - redaction: what else is, as the agent's file says.
  ///   - options: how the log is written on.
  ///   - moment: makes the event's time, from the microseconds of active run time.
  /// - Returns: the event that was written.
  /// - Throws: ``ResumeError`` where nothing of the kind waits, `LogError` where another writer holds
  ///   the log.
  @discardableResult
  public func record(
    _ word: SpokenWord, about name: String, by: String, reason: String? = nil,
    scope: ApprovalScope = .once, until: String? = nil, secrets: RunSecrets = RunSecrets(),
    redaction: RedactionSettings = RedactionSettings(), options: LogWriter.Options = .init(),
    at moment: (Int) -> ClockReading
  ) throws -> Event {
    let call = try call(name, word).call
    if case .happened(let data) = word { try check(data) }
    try check(.string(reason ?? ""))
    var payload = payload(of: word, call, by, reason)
    if case .approval(var approval) = payload, approval.granted {
      (approval.scope, approval.until) = (scope, until)
      payload = .approval(approval)
    }
    return try write(payload, Redactor(redaction, secrets), options, at: moment)
  }

  /// Writes what a person answers to the run's question behind its stop, and closes the log again.
  ///
  /// - Throws: as ``record(_:about:by:reason:scope:until:secrets:redaction:options:at:)``.
  @discardableResult
  public func record(
    answer text: String, by: String, secrets: RunSecrets = RunSecrets(),
    redaction: RedactionSettings = RedactionSettings(), options: LogWriter.Options = .init(),
    at moment: (Int) -> ClockReading
  ) throws -> Event {
    try checkStandsStill()
    guard question != nil else { throw error(.noQuestion(waiting: calls)) }
    try check(.string(text))
    let reply = HumanReplied(text: .string(text), by: by, replyTo: past.progress.decisionSeq)
    return try write(
      .humanReplied(reply), Redactor(redaction, secrets), options, at: moment)
  }

  private func payload(
    of word: SpokenWord, _ call: ProposedCall, _ by: String, _ reason: String?
  ) -> EventPayload {
    let started = past.progress[call.callId].started
    func approval(_ granted: Bool, _ reason: String?) -> EventPayload {
      .approval(
        Approval(
          callId: call.callId, actionId: call.actionId, granted: granted, by: by, reason: reason))
    }
    func result(_ result: ToolResult) -> EventPayload {
      var payload = ToolResultPayload(
        callId: call.callId, tool: call.name, result: result,
        attempts: max(1, past.progress[call.callId].attempts))
      payload.by = by
      return .toolResult(payload)
    }
    switch word {
    case .granted: return approval(true, reason)
    case .didNotHappen: return approval(true, reason ?? "it did not happen")
    case .denied where started == nil: return approval(false, reason)
    case .denied:
      return result(
        .error(
          reason ?? "\(by) leaves it as it is; nobody knows whether it happened",
          isEffectUnknown: true))
    case .happened(let data): return result(.ok(data: data))
    }
  }

  // MARK: What waits

  /// The call that a word is about.
  private func call(_ name: String, _ word: SpokenWord) throws(ResumeError) -> WaitingCall {
    try checkStandsStill()
    let waiting = calls
    let named = waiting.filter { $0.call.name.hasSameUTF8(as: name) }
    let exact = waiting.first { $0.call.callId.hasSameUTF8(as: name) }
    guard let found = exact ?? (named.count == 1 ? named[0] : nil) else {
      if named.count > 1 { throw error(.severalCalls(tool: name, waiting: named)) }
      try checkNotAnswered(name)
      throw error(.noSuchCall(name, waiting: waiting))
    }
    let (callId, tool) = (found.call.callId, found.call.name)
    switch (word, found.reason) {
    case (.granted, .unknownEffect): throw error(.effectNotSaid(callId: callId, tool: tool))
    case (.happened, .approval), (.didNotHappen, .approval):
      throw error(.notStarted(callId: callId, tool: tool))
    default: return found
    }
  }

  private func checkStandsStill() throws(ResumeError) {
    guard let stop else { throw error(.notPaused) }
    if stop.isFinal { throw error(.over(reason: stop.reason, detail: stop.detail)) }
    guard isClosed else { throw error(.notClosed) }
  }

  private func checkNotAnswered(_ name: String) throws(ResumeError) {
    for call in past.progress.decision?.calls ?? []
    where call.callId.hasSameUTF8(as: name) || call.name.hasSameUTF8(as: name) {
      let progress = past.progress[call.callId]
      if let result = progress.result {
        throw error(.callIsOver(callId: call.callId, status: result.status))
      }
      if let approval = progress.approval {
        throw error(
          .answered(callId: call.callId, by: approval.by, granted: approval.granted))
      }
    }
  }

  private func check(_ value: JSONValue) throws(ResumeError) {
    guard value.depth <= 64, CanonicalJSON.encode(value).count <= 1 << 20 else {
      throw error(.tooLarge)
    }
  }

  // MARK: Writing

  private func write(
    _ payload: EventPayload, _ redactor: Redactor, _ options: LogWriter.Options,
    at moment: (Int) -> ClockReading
  ) throws -> Event {
    let data = redactor.redacted(.object(payload.encoded)).objectValue ?? payload.encoded
    let (writer, reopened) = try LogWriter.reopening(path, options: options)
    guard reopened.nextSeq == past.nextSeq else {
      _ = try writer.close()
      throw error(.changedMeanwhile)
    }
    let event = Event(
      seq: past.nextSeq, step: past.progress.step, type: payload.type, runId: past.state.runId,
      time: moment(t).time, t: t, data: data)
    try writer.append(event, isEffectAhead: true)
    _ = try writer.close()
    return event
  }

  func error(_ code: ResumeError.Code) -> ResumeError { ResumeError(code: code, path: path) }
}
