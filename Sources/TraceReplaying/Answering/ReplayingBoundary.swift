public import AgentRuntime
public import AgentTrace
import Synchronization

/// A boundary that answers from a recorded run, and from nothing else.
///
/// The run that is made on it has to say each event that it makes (``follow(_:)``): the clock gives
/// the recorded time of the next one, and a signal comes in where it came in then. What the log cannot
/// answer is noted and answered with an error; whoever runs the loop has to end it then.
public final class ReplayingBoundary: Boundary {
  /// Something that the log does not answer.
  public struct Unanswered: Sendable, Hashable {
    /// Who was asked.
    public enum Kind: String, Sendable, Hashable {
      case model
      case tool
    }

    /// Who was asked.
    public var kind: Kind
    /// The step of the request, from 1.
    public var step: Int
    /// Of a model's request, from 1; `nil` for a call.
    public var tryNumber: Int?
    /// From 1.
    public var attempt: Int
    /// Of a call; `nil` for a model's request.
    public var callId: String?
    /// The tool that was called; `nil` for a model's request.
    public var tool: String?
  }

  public let cancellation = Cancellation()
  /// The recording, at the step that is being made again.
  public let steps: RecordedSteps
  /// Whom a model is to play in a person's place, as the agent has it.
  private let person: SimulatedPerson?
  /// How many calls the run has side by side.
  private let parallelCalls: Int
  /// The calls of agents that it goes on with.
  private let underWay: [String]

  private struct State {
    /// How many events were made.
    var made = 0
    /// Of those of the last step, how many a run does not make once it has seen a signal.
    var beforeSignal = (step: 0, count: 0)
    var unanswered: [Unanswered] = []
    var lastRequest: ModelRequest?
  }

  private let state = Mutex(State())
  private let firstFailure = FirstFailure()
  private let lists = RecordedLists()

  /// Answers from a recording at its beginning, or at that of a session.
  ///
  /// - Parameters:
  ///   - steps: the recording; whatever is asked is answered from it.
  ///   - past: what the run was when the session began; `nil` for the first.
  ///   - person: whom a model plays, as the agent has it.
  ///   - parallelCalls: how many calls ran side by side, as the agent has it: tells when runs of other agents had come
  ///     to a pause. Nothing does where it is left out.
  public init(
    _ steps: RecordedSteps, after past: RunPast? = nil, person: SimulatedPerson? = nil,
    parallelCalls: Int = .max
  ) {
    self.steps = steps
    self.person = person
    self.parallelCalls = max(1, parallelCalls)
    // One that another run has begun, of which this is a fork, is not gone on with.
    underWay = (past?.progress.openChildren ?? []).compactMap { call, child in
      let attempt = past?.progress[call.callId].started?.attempt ?? 1
      let own = ChildStart.runId(ofCall: call.callId, attempt: attempt, in: steps.runId)
      return child.runId.hasSameUTF8(as: own) ? call.callId : nil
    }
    let step = past?.progress.step ?? 0
    state.withLock {
      $0.made = steps.sessionStart
      $0.beforeSignal.step = step
    }
    cancelWhereItWas(step: step, count: 0)
  }

  /// What the run is to be started with, so that it is the recorded one again.
  public var start: Runtime.Start {
    var start = Runtime.Start(
      goal: steps.started.goal, runId: steps.runId, seed: steps.started.seed)
    start.caseId = steps.started.caseId
    start.trial = steps.started.trial
    start.tags = steps.started.tags
    // What a fork came from is for its log alone to say; a child is made by what started it.
    if steps.started.parent?.relation == ParentRun.subagent { start.parent = steps.started.parent }
    if let input = steps.started.input, input != steps.started.goal { start.input = input }
    return start
  }

  /// Says that an event was made. Pass it to `Runtime.run(_:into:observe:)` as `observe`.
  public func follow(_ event: Event) {
    let before = state.withLock { state in
      state.made += 1
      if state.beforeSignal.step != event.step { state.beforeSignal = (event.step, 0) }
      if RecordedStep.isBeforeSignal(event) { state.beforeSignal.count += 1 }
      return state.beforeSignal
    }
    cancelWhereItWas(step: before.step, count: before.count)
  }

  /// What the log could not answer, in the order of asking.
  public var unanswered: [Unanswered] { state.withLock { $0.unanswered } }

  /// What a model was asked last; `nil` while none was.
  var lastRequest: ModelRequest? { state.withLock { $0.lastRequest } }

  /// Why the log could not be read any further; `nil` where it could.
  public var failure: (any Error)? { firstFailure.error }

  // MARK: Answers

  public var clock: any RunClock { RecordedClock(boundary: self) }

  /// The recorded run's.
  public func makeRunID() -> String { steps.runId }

  public func reply(to request: ModelRequest) async -> ModelAnswer {
    state.withLock { $0.lastRequest = request }
    if let answer = firstFailure.noting({ try steps.step(request.step) })?.reply(
      for: request.purpose, toTry: request.tryNumber, attempt: request.attempt)
    {
      return answer
    }
    note(
      Unanswered(
        kind: .model, step: request.step, tryNumber: request.tryNumber, attempt: request.attempt))
    return ModelAnswer(error: "the log holds no reply to this request")
  }

  public func run(_ request: ToolRequest) async -> ToolAnswer {
    if let step = firstFailure.noting({ try steps.step(request.step) }),
      var answer = step.answer(toCall: request.callId, attempt: request.attempt)
    {
      if step.possibleSignal != nil, case .error = answer.result,
        step.answer(toCall: request.callId, attempt: request.attempt + 1) == nil
      {
        if step.keepsOthersFromBeginning(request.callId) {
          answer.wasTriedAgain = false
        } else {
          // Not tried again for the signal, perhaps: so it comes behind all that were before it.
          answer.elapsedMicroseconds += RecordedTime.limit / 2
        }
      }
      return await request.made(againAfter: answer)
    }
    if let answer = firstFailure.noting({ try steps.step(request.step) })?.unfinishedAnswer(
      toCall: request.callId, attempt: request.attempt)
    {
      return await request.made(againAfter: answer)
    }
    if let answer = firstFailure.noting({ try steps.step(request.step) })?.pausedAnswer(
      toCall: request.callId, attempt: request.attempt, underWay: underWay, limit: parallelCalls)
    {
      return answer
    }
    note(
      Unanswered(
        kind: .tool, step: request.step, attempt: request.attempt, callId: request.callId,
        tool: request.tool.name))
    // Later than anything that the log does answer.
    return ToolAnswer(
      result: .error("the log holds no result of this call"),
      elapsedMicroseconds: RecordedTime.limit)
  }

  /// What the verdict that comes next holds. No authorizer is reached.
  public func authorize(_ request: AuthorizationRequest) async -> Authorization {
    let made = state.withLock { $0.made }
    guard let step = firstFailure.noting({ try steps.step(holding: made) }),
      let recorded = step.authorization(ofCall: request.call.callId, from: made)
    else {
      return Authorization(to: request, error: "the log holds no answer to this question")
    }
    return recorded
  }

  /// As the source said it then. No source is reached.
  public func tools(_ request: ToolListRequest) async -> ToolOffer? {
    if let offer = firstFailure.noting({ try lists.offer(request, in: steps.step(request.step)) }) {
      return offer
    }
    guard request.timing == .session else { return nil }
    return ToolOffer(error: "the log holds no list of this source")
  }

  /// As the store gave it then. No store is opened, and none is told of anything.
  public func recall(_ address: MemoryAddress) async -> KeptNote? {
    firstFailure.noting({ try steps.step(0) })?.recalled(address)
  }

  /// As it was then: a call that never began was refused, for the reason that is recorded.
  public func readiness(of call: ProposedCall, step: Int) -> CallReadiness {
    guard let reason = steps.current?.refusal(ofCall: call.callId) else { return .recorded }
    return .refused(reason: reason)
  }

  /// `nil` where the log holds no answer, as when nobody was there.
  public func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
    steps.current?.approval(ofCall: request.call.callId)
  }

  /// `nil` where the log holds no answer, as when nobody was there.
  public func answer(_ request: QuestionRequest) async -> PersonAnswer? {
    guard let step = steps.current else { return nil }
    if let answer = step.personAnswer { return answer }
    if step.holdsWords {
      firstFailure.note(RecordingError(code: .wordsLost(step: step.step), path: steps.path))
    }
    return nil
  }

  /// Whoever was asked then. Whom the model played is what the agent has; a log that says nothing of it
  /// names them where they spoke.
  public func simulatedPerson(step: Int, question: Int) -> SimulatedPerson? {
    guard var asked = steps.current?.simulatedPerson(question: question) else { return nil }
    asked.systemPrompt = person?.systemPrompt
    if let person, steps.started.models[ModelPurpose.human.rawValue] != nil {
      (asked.name, asked.model.name) = (person.name, person.model.name)
    }
    return asked
  }

  private func note(_ request: Unanswered) { state.withLock { $0.unanswered.append(request) } }

  private func cancelWhereItWas(step number: Int, count: Int) {
    guard cancellation.signal == nil, let step = steps.current, step.step == number,
      let signal = step.possibleSignal, step.eventsBeforeSignal == count
    else { return }
    cancellation.cancel(signal: signal)
  }

  /// The recorded moment of the event that is made next; behind the end that of the last one.
  fileprivate func reading() -> ClockReading {
    let made = state.withLock { $0.made }
    guard let step = firstFailure.noting({ try steps.step(holding: made) }) else {
      return ClockReading(t: RecordedTime.limit, time: "")
    }
    let event = step.events[made - step.start]
    return ClockReading(t: RecordedTime.clamped(event.t), time: event.time ?? "")
  }
}

/// The times of a recorded run.
private struct RecordedClock: RunClock {
  let boundary: ReplayingBoundary

  var isFixed: Bool { true }
  func reading() -> ClockReading { boundary.reading() }
  /// The time has passed already.
  func wait(microseconds: Int) async {}
  func advance(to t: Int) {}
}
