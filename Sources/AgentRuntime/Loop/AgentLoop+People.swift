import AgentTrace

extension AgentLoop {
  /// What a person said, and the reply it was read from where a model played them.
  typealias Heard<Answer> = (answer: Answer, modelResult: Int?)

  /// Says something to a person and records what they say to it; whether they said anything.
  ///
  /// Why: Docs/decisions/0010-a-person-may-say-more.md
  ///
  /// - Parameter asked: the number of the decision; `nil` where it is the last event.
  mutating func isHeard(
    _ kind: QuestionRequest.Kind, _ text: String, asked: Int?, step: Int
  ) async throws -> Bool {
    let asked = asked ?? recorder.lastSeq
    let request = QuestionRequest(kind, question: text, number: recorder.record.words + 1)
    guard let heard = try await answer(to: request, step: step) else { return false }
    let reply = HumanReplied(
      text: JSONValue.string(heard.answer.text).admitted, by: heard.answer.by, replyTo: asked,
      modelResult: heard.modelResult)
    try recorder.append(.humanReplied(reply), step: step)
    return true
  }

  private mutating func answer(
    to request: QuestionRequest, step: Int
  ) async throws -> Heard<PersonAnswer>? {
    if let answer = await boundary.answer(request) { return (answer, nil) }
    guard let reply = try await replyOfSimulated(about: nil, step: step),
      let text = PersonReply(reply.value).text
    else { return nil }
    return (PersonAnswer(text: text, by: reply.by), reply.seq)
  }

  /// Asks whether a call may run; `nil` where nobody says.
  mutating func approval(
    of call: ProposedCall, because reason: String, ruleId: String?, step: Int
  ) async throws -> Heard<ApprovalAnswer>? {
    let request = ApprovalRequest(
      call: call, reason: reason, ruleId: ruleId, number: recorder.record.approvals + 1)
    if let answer = await boundary.approve(request) { return (answer, nil) }
    guard let reply = try await replyOfSimulated(about: request, step: step),
      let word = PersonReply(reply.value).approval
    else { return nil }
    let answer = ApprovalAnswer(
      granted: word.granted, by: reply.by, reason: word.reason, scope: reply.scope)
    return (answer, reply.seq)
  }

  // MARK: A person that a model plays

  /// - Parameter request: the call that the person is asked about; `nil` where the agent has spoken.
  private mutating func replyOfSimulated(
    about request: ApprovalRequest?, step: Int
  ) async throws -> (value: JSONValue, seq: Int, by: String, scope: ApprovalScope?)? {
    let isRecorded = !recordedPersonTries.isEmpty
    let asked = recorder.record.personQuestions(in: step)
    let question = isRecorded ? asked - recordedPersonTries.count + 1 : asked + 1
    guard let person = boundary.simulatedPerson(step: step, question: question) else { return nil }
    let recorded = isRecorded ? recordedPersonTries.removeFirst() : nil
    if let recorded, let reply = recorded.reply {
      return (reply, recorded.seq, person.name, person.approvalScope)
    }
    let messages = PersonTranscript(
      person, state: state, about: request, lookup: recorder.record.event(at:)
    ).messages
    var attempt = recorded?.attempt ?? 0
    var retry = recorded?.retry ?? .atOnce
    while attempt <= max(0, agent.failures.modelRetries) {
      if attempt > 0 {
        guard haltBetweenTries() == nil, retry != .never, await haltAfterWait(retry) == nil else {
          return nil
        }
      }
      attempt += 1
      var request = ModelRequest(
        purpose: .human, step: step, tryNumber: question, attempt: attempt,
        number: recorder.record.modelCalls(for: .human) + 1, goal: state.goal, messages: messages)
      request.timeoutMicroseconds = timeLeft
      let result = try await recordedResult(of: request, model: person.model.name)
      if let reply = result.reply {
        return (reply, recorder.lastSeq, person.name, person.approvalScope)
      }
      retry = ModelAnswer.Retry(of: result)
    }
    return nil
  }
}

/// What a model said in the place of a person.
///
/// `{"text"}` are words, and none where it is empty, missing or says `###STOP###` (which models that play
/// people are told to say at the end, after τ-bench); `{"granted","reason"}` is about a call.
/// A text that begins with yes or no is about a call as well; what stands behind it is the reason.
struct PersonReply {
  private let reply: JSONValue

  init(_ reply: JSONValue) { self.reply = reply }

  /// `nil` where there is nothing more to say.
  var text: String? {
    guard reply["stop"] == nil, let text = reply["text"]?.stringValue, !text.isEmpty,
      text.firstRange(of: "###STOP###") == nil
    else { return nil }
    return text
  }

  /// `nil` where it is neither yes nor no.
  var approval: (granted: Bool, reason: String?)? {
    if let granted = reply["granted"]?.boolValue {
      return (granted, reply["reason"]?.stringValue)
    }
    guard let text else { return nil }
    return SpokenApproval(text).map { ($0.granted, $0.reason) }
  }
}
