import AgentRuntime
import AgentTrace

/// What of a run's talk with models goes through, and what does not.
extension ExchangeRecorder {
  /// A reply that was recorded and waits to be handed on.
  struct HeldReply: Sendable {
    var turn: Conversations.Turn
    var step: Int
    /// The number of the event that holds it.
    var modelResult: Int
    /// `nil` where the reply leaves open what is to be done next: its provider only paused, or ran a tool.
    var decision: Decision?
    var wire: WireRecord
    /// Whether not all of it was read.
    var isUnread: Bool

    var calls: [ProposedCall] { decision?.calls ?? [] }
  }

  /// What is handed on of a reply.
  enum Handing: Sendable {
    case whole
    case edited(WireReply)
    /// An error in its place that says this, and that another try would change nothing.
    case refused(String)
    /// An error in its place that says this.
    case failed(String)
  }

  var holdsReplies: Bool { guarding?.rules.holdsReplies == true }

  /// Whether a reply is recorded before whoever asked gets it: with a policy always; of a command whatever
  /// comes in one piece, so that its next request, quick as it may be, finds it there.
  func isHeld(streams: Bool) -> Bool { holdsReplies || guarding != nil && !streams }

  /// How the run ends, whatever the command made of it; `nil` where that is for the command to say.
  public var imposedEnd: CommandEnd? {
    if let end = guarding?.end { return end }
    return guarding?.exceeded.map { .ended(.budgetExhausted, detail: $0) }
  }

  /// Why nothing more goes through, in words for whoever asks: what happens from now on would stand in no log, and no
  /// limit would count it. `nil` while all is recorded.
  var lossWords: String? {
    failure.map { "the run can no longer be recorded: \($0)" }
  }

  // MARK: Requests

  /// Why a request to a model does not go to its provider, in words for whoever asks; `nil` where it does.
  func refusal(of turn: Conversations.Turn) -> String? {
    guard let words = reasonToRefuse() else { return nil }
    conversations.fail(turn)
    return words
  }

  /// Takes in that a request to a model was not passed on when it was recorded.
  func wasRefused(_ turn: Conversations.Turn) { conversations.fail(turn) }

  /// The same for a request that is no call of a model, as far as anyone can tell.
  func refusal(ofForwarded method: String, _ path: String) -> String? {
    if let words = reasonToRefuse() { return words }
    guard holdsReplies, !HarmlessRequest.includes(method, path) else { return nil }
    return "a policy is in force, and it cannot judge what comes back for this request "
      + "(\(method) \(path.prefix { $0 != "?" })): it is in no form that is known here"
  }

  private func reasonToRefuse() -> String? {
    if let lossWords { return lossWords }
    guard let guarding else { return nil }
    if guarding.end != nil { return "the run is over: policy has ended it" }
    guard let (detail, words) = exceeded(guarding.rules) else { return nil }
    self.guarding?.exceeded = guarding.exceeded ?? detail
    if guarding.rules.endsAtLimit {
      self.guarding?.end = .ended(.budgetExhausted, detail: detail)
      guarding.rules.endCommand()
    }
    return words
  }

  /// The limit that is reached, and what to say of it.
  private func exceeded(_ rules: ProxyGuard) -> (detail: String, words: String)? {
    let (limits, totals) = (rules.limits, state.totals)
    if let limit = limits.maxSteps, lastStep >= limit {
      return (StopDetail.maxSteps, "the run's limit of \(limit) steps is reached")
    }
    if let limit = limits.maxTokens, totals.inputTokens + totals.outputTokens >= limit {
      return (StopDetail.maxTokens, "the run's limit of \(limit) tokens is reached")
    }
    guard let limit = limits.maxCost, totals.modelCalls > 0 || limit <= 0 else { return nil }
    guard let cost = totals.cost else {
      let words =
        "nobody knows whether the run's limit of \(Self.text(limit)) in cost is reached: "
      return (StopDetail.maxCost, words + "a reply has no price, or does not say its tokens")
    }
    guard Figures.isSpent(limit, by: cost) else { return nil }
    return (StopDetail.maxCost, "the run's limit of \(Self.text(limit)) in cost is reached")
  }

  private static func text(_ number: Double) -> String {
    CanonicalJSON.string(JSONValue(number), form: .plain)
  }

  // MARK: Replies

  /// Rules on the calls of a reply that was recorded, and waits for people where a call needs them.
  ///
  /// - Parameters:
  ///   - held: the reply; `nil` where none could be read.
  ///   - wire: what came over the wire.
  func judge(_ held: HeldReply?, _ wire: WireReply, _ dialect: Dialect) async -> Handing {
    let unread = ReasonToWithhold.unread
    guard let held else {
      if wire.ending != .whole { return .failed("the provider broke off") }
      return .refused(unread)
    }
    // What was not read of it may be a call that nobody judged.
    if held.isUnread {
      let refused = refuse(held, unread)
      return wire.ending == .whole ? refused : .failed("the provider broke off")
    }
    let calls = held.calls
    guard let edit = ReplyEdit((try? ReadReply.inflated(wire)) ?? wire, dialect) else {
      return refuse(held, "the reply could not be read to be judged by the policy")
    }
    if let fault = edit.unjudged(besides: calls.count) {
      return refuse(held, "the policy cannot judge the reply: \(fault)")
    }
    // What is no decision may hold calls all the same.
    if case .tool = held.decision {
    } else if !calls.isEmpty {
      return refuse(held, "the policy cannot judge the reply: its calls cannot be read")
    }
    guard !calls.isEmpty else { return .whole }
    if calls.contains(where: { RedactionToken.isIn($0.name) }) {
      return refuse(held, "the policy cannot judge the reply: the name of a call is withheld")
    }
    var checks: [PolicyGate.RuleCheck] = []
    for call in calls { checks.append(await rule(on: call, held.step)) }
    if let end = endByDenial(checks) {
      return impose(end, on: held, "the run stops: policy denied a call")
    }
    var verdicts = checks.map(\.verdict)
    for (index, call) in calls.enumerated() where verdicts[index].status == .approvalRequired {
      guard let heard = await ask(about: call, verdicts[index], held.step) else {
        return impose(
          .ended(.approvalRequired, detail: StopDetail.tool(call.name)), on: held,
          ReasonToWithhold.waits, but: call)
      }
      verdicts[index] = heard
    }
    var notices: ReplyEdit.Notices = [:]
    for (index, call) in calls.enumerated() where verdicts[index].status != .allow {
      let reason = verdicts[index].reason
      refuse(call, of: held, reason)
      notices[index] = "[agent-eval: the call of \(call.name) was refused: \(reason)]"
    }
    // Meanwhile another conversation may have ended the run.
    if guarding?.end != nil {
      return refuse(
        held, "the run is over",
        calls.indices.filter { notices[$0] == nil }.map { calls[$0].callId })
    }
    return notices.isEmpty ? .whole : hand(held, edit, notices, dialect)
  }

  private func hand(
    _ held: HeldReply, _ edit: ReplyEdit, _ notices: ReplyEdit.Notices, _ dialect: Dialect
  ) -> Handing {
    let calls = held.calls
    let kept = calls.indices.filter { notices[$0] == nil }.map { calls[$0] }
    // What was taken out is read once more, as whoever asked will read it.
    guard let edited = edit.without(notices), let reply = readAgain(edited, dialect),
      Self.says(reply, kept)
    else {
      return refuse(
        held, "policy denied a call, and it cannot be taken out of the reply",
        kept.map(\.callId))
    }
    recording {
      conversations.amend(held.turn, reply, calls: kept, step: held.step)
      let change = ReplyChanged(
        modelResult: held.modelResult, removed: notices.keys.sorted().map { calls[$0].callId },
        wire: change(to: edited, reply, held).encoded)
      try append(.replyChanged, change.encoded, step: held.step)
    }
    return .edited(edited)
  }

  /// A reply as it is recorded.
  private func readAgain(_ wire: WireReply, _ dialect: Dialect) -> ProviderReply? {
    var reply = ReadReply(wire, dialect).reply
    if let words = reply?.reply { reply?.reply = redactor.redacted(words) }
    return reply
  }

  /// Whether a reply holds just these calls.
  private static func says(_ reply: ProviderReply, _ calls: [ProposedCall]) -> Bool {
    let found = ModelReply(reply.reply).decision(step: 1, tryNumber: 1) { _ in nil }.calls
    return found.count == calls.count
      && zip(found, calls).allSatisfy { found, call in
        found.name.hasSameUTF8(as: call.name) && found.input == call.input
          && found.providerCallId == call.providerCallId
      }
  }

  private func change(
    to edited: WireReply, _ reply: ProviderReply, _ held: HeldReply
  ) -> WireRecord {
    var record = held.wire
    record.reply = edited
    return withheld(record, reply)
  }

  // MARK: Verdicts

  private func rule(on call: ProposedCall, _ step: Int) async -> PolicyGate.RuleCheck {
    let gate = guarding?.gate ?? PolicyGate(Policy())
    let tool = guarding?.tool(of: call) ?? ToolDefinition(name: call.name)
    let moment = PolicyGate.KnownState(
      run: guarding?.rules.policyContext ?? PolicyContext(),
      limits: guarding?.rules.limits ?? Limits(), state: state,
      history: guarding?.history ?? PolicyHistory(), time: clock.reading().time)
    var authorization: Authorization?
    if let authorizers = guarding?.rules.authorizers,
      let request = gate.authorizationRequest(on: call, tool: tool, at: moment)
    {
      authorization = await redactor.authorization(for: request) {
        await authorizers.authorize($0)
      }
      authorization?.requestDigest = request.digest
    }
    let check = gate.ruleCheck(on: call, tool: tool, at: moment, authorization: authorization)
    recording { try append(.policyDecision, check.verdict.encoded, step: step) }
    return check
  }

  /// How the run ends because of what was denied; `nil` where it goes on.
  private func endByDenial(_ checks: [PolicyGate.RuleCheck]) -> CommandEnd? {
    if let stopping = checks.first(where: \.stopsRun) {
      return .ended(
        .policyDenied, detail: stopping.verdict.ruleId.map(StopDetail.rule) ?? StopDetail.error)
    }
    guard checks.contains(where: { $0.verdict.status == .deny }),
      state.counters.denials >= guarding?.rules.maxDenials ?? .max
    else { return nil }
    return .ended(.policyDenied, detail: StopDetail.maxDenials)
  }

  /// What became of a call that needs a person; `nil` where nobody said anything.
  private func ask(about call: ProposedCall, _ verdict: Verdict, _ step: Int) async -> Verdict? {
    guarding?.approvals += 1
    let request = ApprovalRequest(
      call: call, reason: verdict.reason, ruleId: verdict.ruleId, number: guarding?.approvals ?? 1)
    guard let answer = await guarding?.rules.person?.approve(request) else { return nil }
    let approval = Approval(
      callId: call.callId, actionId: call.actionId, granted: answer.granted, by: answer.by,
      reason: answer.reason, scope: answer.scope, until: answer.until)
    recording { try append(.approval, approval.encoded, step: step) }
    guard answer.granted else {
      var denied = verdict
      denied.status = .deny
      denied.reason = answer.reason ?? "denied by \(answer.by)"
      return denied
    }
    return await rule(on: call, step).verdict
  }

  private func refuse(_ call: ProposedCall, of held: HeldReply, _ reason: String) {
    let result = ToolResultPayload(
      callId: call.callId, tool: call.name, result: .refused(reason: reason))
    recording { try append(.toolResult, result.encoded, step: held.step, of: held.turn) }
  }

  /// Refuses every call of a reply.
  ///
  /// - Parameter ids: only those of these ids; all where it is left out.
  private func refuse(_ held: HeldReply, _ reason: String, _ ids: [String]? = nil) -> Handing {
    for call in held.calls where ids?.contains(call.callId) ?? true {
      refuse(call, of: held, reason)
    }
    recording { conversations.amend(held.turn, nil, calls: [], step: held.step) }
    return .refused(reason)
  }

  /// Ends the run; no call of the reply is handed on.
  ///
  /// - Parameter waiting: a call that has no result, because nobody has said what becomes of it.
  private func impose(
    _ end: CommandEnd, on held: HeldReply, _ reason: String, but waiting: ProposedCall? = nil
  ) -> Handing {
    guarding?.end = end
    let refused = refuse(
      held, reason, held.calls.map(\.callId).filter { $0 != waiting?.callId })
    guarding?.rules.endCommand()
    return refused
  }
}
