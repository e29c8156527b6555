import AgentRuntime
import AgentTrace
import Synchronization

/// Answers a fork from its parent's log while it asks the same questions; from the first new one on
/// from a live boundary, if there is one.
///
/// A new reply or a new word of a person leaves the recording at once. A new call leaves it with the
/// step: calls of one decision have no order, so that those beside it are answered as they were.
final class ForkBoundary: Boundary {
  let clock: any RunClock
  let cancellation: Cancellation
  private let steps: RecordedSteps
  private let answers: RecordedAnswers
  private let live: (any Boundary)?
  /// Whom a model that plays a person is to play, by the agent that goes on.
  private let systemPromptOfPerson: String?
  /// The last event that the fork shares with its parent.
  private let shared: Int
  private let state: Mutex<State>
  private let firstFailure = FirstFailure()
  private let lists: RecordedLists

  private struct State {
    /// Given to the next question to the model, in place of what anybody would answer.
    var editedReply: JSONValue?
    /// What the calls of the current decision are, by their ids.
    var calls: [String: ProposedCall] = [:]
    /// Calls that nobody recorded answers: what they write is kept.
    var liveCalls: Set<String> = []
    var step: Int
    var t: Int
    /// The step whose question was new; from the next one on nothing recorded counts.
    var leftAt: Int?
    var hasLeft = false
    /// Events of the step that show that no signal had come yet.
    var beforeSignal = 0
    var unanswered: String?
  }

  /// - Parameter live: nobody where only the recording may answer.
  init(
    _ steps: RecordedSteps, after past: RunPast, live: (any Boundary)?, clock: any RunClock,
    cancellation: Cancellation, person: SimulatedPerson?, editedReply: JSONValue?
  ) {
    self.steps = steps
    answers = RecordedAnswers(steps)
    self.live = live
    self.clock = live == nil ? OrderedClock(base: clock) : clock
    self.cancellation = cancellation
    systemPromptOfPerson = person?.systemPrompt
    shared = past.nextSeq - 1
    lists = RecordedLists(behind: past.nextSeq - 1)
    var start = State(
      editedReply: editedReply, step: past.progress.step, t: past.state.elapsedMicroseconds)
    for call in past.progress.decision?.calls ?? [] { start.calls[call.callId] = call }
    state = Mutex(start)
    let shared = shared
    let step = firstFailure.noting { try steps.step(start.step) }
    let count = step?.events.count { $0.seq <= shared && RecordedStep.isBeforeSignal($0) } ?? 0
    state.withLock { $0.beforeSignal = count }
    cancelWhereItWas()
  }

  /// What the recording could not answer; `nil` while it could.
  var unanswered: String? { state.withLock { $0.unanswered } }

  /// Why the parent's log could not be read any further.
  var failure: (any Error)? { firstFailure.error }

  func makeRunID() -> String { live?.makeRunID() ?? steps.runId }

  /// Takes note of an event that the fork has made.
  func follow(_ event: Event) {
    state.withLock { state in
      if event.step > state.step { state.beforeSignal = 0 }
      state.step = max(state.step, event.step)
      state.t = max(state.t, event.t)
      if RecordedStep.isBeforeSignal(event) { state.beforeSignal += 1 }
      guard event.type == .decision else { return }
      state.calls = [:]
      for call in (try? DecisionPayload(decoding: event.data))?.decision.calls ?? [] {
        state.calls[call.callId] = call
      }
    }
    cancelWhereItWas()
  }

  /// Whether the tool that is about to start will have an answer; where not, says so in `unanswered`.
  func mayStart(_ event: Event) -> Bool {
    guard live == nil, let start = try? ToolStartedPayload(decoding: event.data),
      let call = state.withLock({ $0.calls[start.callId] })
    else { return true }
    if recordedAnswer(to: call, attempt: start.attempt, step: event.step) != nil { return true }
    leave(call: call, step: event.step)
    return false
  }

  /// Whether the next attempt of a call is answered by the recording, so that it has no effect.
  func isRecorded(_ call: ProposedCall, attempt: Int = 1) -> Bool {
    recordedAnswer(to: call, attempt: attempt, step: state.withLock { $0.step }) != nil
  }

  /// What the recording answers needs no plain value.
  func readiness(of call: ProposedCall, step: Int) -> CallReadiness {
    live == nil || recordedAnswer(to: call, attempt: 1, step: step) != nil
      ? .recorded : .needsValues
  }

  func reasonNotToBegin(_ child: ChildStart, as tool: String) -> String? {
    live?.reasonNotToBegin(child, as: tool)
  }

  // MARK: Questions

  func reply(to request: ModelRequest) async -> ModelAnswer {
    if let edited = takeEditedReply() { return ModelAnswer(reply: edited) }
    if serves(step: request.step),
      let answer = firstFailure.noting({ try answers.answer(to: request) })
    {
      advance(by: answer.elapsedMicroseconds)
      return answer
    }
    leave(
      "the model was asked something new in step \(request.step)"
        + (request.tryNumber > 1 ? ", try \(request.tryNumber)" : "")
        + (request.attempt > 1 ? ", attempt \(request.attempt)" : ""),
      step: 0)
    return await live?.reply(to: request) ?? ModelAnswer(error: "no recorded answer")
  }

  func run(_ request: ToolRequest) async -> ToolAnswer {
    let call = ProposedCall(
      callId: request.callId, name: request.tool.name, input: request.input)
    if var answer = recordedAnswer(to: call, attempt: request.attempt, step: request.step) {
      // Where its parent was stopped a live fork goes on: whether the call is made again is decided anew, as it
      // will be when the fork is made again.
      if live != nil, answer.wasTriedAgain == false { answer.wasTriedAgain = nil }
      return answer
    }
    leave(call: call, step: request.step)
    state.withLock { _ = $0.liveCalls.insert(request.callId) }
    return await live?.run(request) ?? ToolAnswer(result: .error("no recorded answer"))
  }

  /// What was said of the same question in this step; a new one leaves the recording with the step, as a new call
  /// does.
  func authorize(_ request: AuthorizationRequest) async -> Authorization {
    let step = state.withLock { $0.step }
    if serves(step: step),
      let recorded = firstFailure.noting({
        try steps.step(step)?.authorization(of: request, behind: shared)
      })
    {
      return recorded
    }
    leave(
      "the authorizer \(request.authorizer) was asked something new about call "
        + "\(request.call.callId) of \(request.call.name)", step: step)
    return await live?.authorize(request)
      ?? Authorization(to: request, error: "no recorded answer")
  }

  func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
    let step = state.withLock { $0.step }
    if serves(step: step),
      let answer = firstFailure.noting({ try approval(of: request.call, in: steps.step(step)) }),
      // What was granted then lets nothing happen now that has not happened then.
      !answer.granted || live == nil || isRecorded(request.call)
    {
      return answer
    }
    guard let live, !isPlayed(in: step) else { return nil }
    leave("", step: 0)
    return await live.approve(request)
  }

  func answer(_ request: QuestionRequest) async -> PersonAnswer? {
    let step = state.withLock { $0.step }
    if serves(step: step),
      let answer = firstFailure.noting({
        _ = try steps.step(step)
        return answers.answer(to: request)
      })
    {
      return answer
    }
    guard let live, !isPlayed(in: step) else { return nil }
    leave("", step: 0)
    return await live.answer(request)
  }

  /// Whether a model spoke for a person in a step that the recording serves: then nobody else did.
  private func isPlayed(in step: Int) -> Bool {
    serves(step: step)
      && firstFailure.noting({ try steps.step(step)?.simulatedPerson(question: 1) }) != nil
  }

  /// Whoever the parent asked, as long as the recording serves; then whoever is live.
  func simulatedPerson(step: Int, question: Int) -> SimulatedPerson? {
    if serves(step: step),
      let step = firstFailure.noting({ try steps.step(step) }),
      var person = step.simulatedPerson(question: question)
    {
      // The log does not say whom the model was to play; the agent does, where it has not changed.
      person.systemPrompt = systemPromptOfPerson
      return person
    }
    return live?.simulatedPerson(step: step, question: question)
  }

  /// As the parent had it; where a fork goes its own way, as the source says it now.
  func tools(_ request: ToolListRequest) async -> ToolOffer? {
    if serves(step: request.step), let step = firstFailure.noting({ try steps.step(request.step) })
    {
      return lists.offer(request, in: step)
    }
    return await live?.tools(request)
  }

  func close() async { await live?.close() }

  /// A note of the parent's start; behind a fork before its notes, as it is kept now.
  func recall(_ address: MemoryAddress) async -> KeptNote? {
    if serves(step: 0), let step = firstFailure.noting({ try steps.step(0) }) {
      return step.recalled(address)
    }
    return await live?.recall(address)
  }

  /// What the parent wrote was kept then, in its name.
  func remember(_ request: MemoryRequest) async -> String? {
    guard state.withLock({ $0.liveCalls.contains(request.callId) }) else { return nil }
    return await live?.remember(request)
  }

  // MARK: What is recorded

  private func takeEditedReply() -> JSONValue? {
    state.withLock { state in
      defer { state.editedReply = nil }
      return state.editedReply
    }
  }

  /// Whether the recording may answer in a step.
  private func serves(step: Int) -> Bool {
    state.withLock { !$0.hasLeft && ($0.leftAt.map { $0 == step } ?? true) }
  }

  private func leave(call: ProposedCall, step: Int) {
    leave("call \(call.callId) of \(call.name) has no recorded result for its input", step: step)
  }

  /// - Parameter step: up to whose end other answers still serve; 0 for none.
  private func leave(_ question: String, step: Int) {
    state.withLock { state in
      if step == 0 { state.hasLeft = true } else { state.leftAt = state.leftAt ?? step }
      if live == nil { state.unanswered = state.unanswered ?? question }
    }
  }

  private func recordedAnswer(to call: ProposedCall, attempt: Int, step: Int) -> ToolAnswer? {
    guard serves(step: step) else { return nil }
    let request = ToolRequest(
      callId: call.callId, tool: ToolDefinition(name: call.name), input: call.input,
      attempt: attempt, step: step, idempotencyKey: "")
    return firstFailure.noting { try answers.answer(to: request) }
  }

  /// What a person said to the same call behind the fork: what was said before stands already, and
  /// was not enough.
  private func approval(of call: ProposedCall, in step: RecordedStep?) throws -> ApprovalAnswer? {
    guard let step, let recorded = step.call(call.callId),
      recorded.name.hasSameUTF8(as: call.name), recorded.input == call.input
    else { return nil }
    for event in step.events where event.type == .approval && event.seq > shared {
      guard let approval = try? Approval(decoding: event.data),
        approval.callId.hasSameUTF8(as: call.callId), approval.modelResult == nil
      else { continue }
      return ApprovalAnswer(recorded: approval)
    }
    return nil
  }

  /// A reply that took its time then takes it again: limits on time count it.
  private func advance(by elapsed: Int) {
    let t = state.withLock { $0.t }
    clock.advance(to: RecordedTime.clamped(t) + RecordedTime.clamped(elapsed))
  }

  /// Only where nobody but the recording answers: a live fork may go on where its parent was stopped.
  private func cancelWhereItWas() {
    guard live == nil, cancellation.signal == nil else { return }
    let (number, count) = state.withLock { ($0.step, $0.beforeSignal) }
    guard serves(step: number), let step = firstFailure.noting({ try steps.step(number) }),
      let signal = step.signal, step.eventsBeforeSignal <= count
    else { return }
    cancellation.cancel(signal: signal)
  }
}

/// A clock on which results of one decision are taken in by the time that they took, whatever order
/// they are handed out in.
private struct OrderedClock: RunClock {
  let base: any RunClock

  var isFixed: Bool { true }
  func reading() -> ClockReading { base.reading() }
  func wait(microseconds: Int) async {}
  func advance(to t: Int) { base.advance(to: t) }
}
