import AgentRuntime
import AgentTrace
import Synchronization

/// Answers a run by the places of another one: whatever the model is asked in a step, it replies what
/// it replied in that step then.
final class GraftBoundary: Boundary {
  let clock: any RunClock
  let cancellation = Cancellation()
  private let steps: RecordedSteps
  private let answers: RecordedAnswers
  private let state: Mutex<State>
  private let firstFailure = FirstFailure()
  private let lists = RecordedLists()

  private struct State {
    var step: Int
    var t: Int
    var isUnanswered = false
  }

  /// - Parameter past: what the run has come to; the other one answers from its next step on.
  init(path: String, after past: RunPast) throws {
    steps = try RecordedSteps(path: path, acrossSessions: true)
    answers = RecordedAnswers(steps)
    let t = RecordedTime.clamped(past.state.elapsedMicroseconds)
    clock = FixedClock(elapsedMicroseconds: t + 1)
    state = Mutex(State(step: past.progress.step, t: t))
  }

  /// Whether something was asked that the other run was not.
  var isUnanswered: Bool { state.withLock { $0.isUnanswered } || failure != nil }

  /// Why the other run could not be read any further.
  var failure: (any Error)? { firstFailure.error }

  func makeRunID() -> String { steps.runId }

  func follow(_ event: Event) {
    state.withLock { state in
      state.step = max(state.step, event.step)
      state.t = max(state.t, event.t)
    }
  }

  func reply(to request: ModelRequest) async -> ModelAnswer {
    let answer = firstFailure.noting {
      try steps.step(request.step)?.reply(
        for: request.purpose, toTry: request.tryNumber, attempt: request.attempt)
    }
    guard let answer else {
      leave()
      return ModelAnswer(error: "no recorded answer")
    }
    let t = state.withLock { $0.t }
    clock.advance(to: RecordedTime.clamped(t) + RecordedTime.clamped(answer.elapsedMicroseconds))
    return answer
  }

  func run(_ request: ToolRequest) async -> ToolAnswer {
    if let answer = firstFailure.noting({ try answers.answer(to: request) }) { return answer }
    leave()
    return ToolAnswer(result: .error("no recorded answer"))
  }

  /// What was said of the call of this name then, whatever was asked.
  func authorize(_ request: AuthorizationRequest) async -> Authorization {
    let recorded = firstFailure.noting {
      let step = try current()
      return step?.authorization(of: request, behind: -1)
        ?? step?.authorization(ofCall: request.call.callId, from: 0)
    }
    if let recorded { return recorded }
    leave()
    return Authorization(to: request, error: "no recorded answer")
  }

  /// As the sources of the other run said it then.
  func tools(_ request: ToolListRequest) async -> ToolOffer? {
    firstFailure.noting { try lists.offer(request, in: steps.step(request.step)) }
  }

  func readiness(of call: ProposedCall, step: Int) -> CallReadiness { .recorded }

  /// `nil` where nobody answered then: the run pauses.
  func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
    firstFailure.noting { try current()?.approval(ofCall: request.call.callId) }
  }

  /// `nil` where nobody answered then: the run pauses.
  func answer(_ request: QuestionRequest) async -> PersonAnswer? {
    firstFailure.noting { try current()?.personAnswer }
  }

  /// Whoever was asked then.
  func simulatedPerson(step: Int, question: Int) -> SimulatedPerson? {
    firstFailure.noting { try current()?.simulatedPerson(question: question) }
  }

  private func current() throws -> RecordedStep? {
    try steps.step(state.withLock { $0.step })
  }

  private func leave() { state.withLock { $0.isUnanswered = true } }
}
