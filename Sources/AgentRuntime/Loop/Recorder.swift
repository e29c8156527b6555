@_spi(Scanning) import AgentTrace

/// The one way in which a run changes: an event is appended, then applied.
struct Recorder {
  private(set) var state: AgentState
  private let runId: String
  private let sink: any EventSink
  private let clock: any RunClock
  private let observe: (Event) -> Void
  private var record: RunRecord
  private var nextSeq: Int

  /// - Parameter past: What has happened so far; its events are not appended again.
  init(
    runId: String, after past: RunPast, sink: any EventSink, clock: any RunClock,
    observe: @escaping (Event) -> Void
  ) {
    state = past.state
    record = past.record
    nextSeq = past.nextSeq
    self.runId = runId
    self.sink = sink
    self.clock = clock
    self.observe = observe
  }

  /// The moment of an event that is about to be made; see ``append(_:step:isEffectAhead:at:)``.
  func reading() -> ClockReading { clock.reading() }

  /// Appends one event; returns its number.
  ///
  /// - Parameter moment: the event's, where what it says rests on it; that of now where it is left out.
  /// - Throws: what the sink throws. The run must stop then: its log can no longer be trusted to hold
  ///   what happens.
  @discardableResult
  mutating func append(
    _ payload: EventPayload, step: Int, isEffectAhead: Bool = false, at moment: ClockReading? = nil
  ) throws -> Int {
    let moment = moment ?? clock.reading()
    let event = Event(
      seq: nextSeq, step: step, type: payload.type, runId: runId, time: moment.time, t: moment.t,
      data: payload.encoded)
    try sink.append(event, isEffectAhead: isEffectAhead)
    nextSeq += 1
    if sink.needsDigests { state.apply(event) } else { state.apply(event, digest: .zero) }
    record.take(event, leaving: state)
    observe(event)
    return event.seq
  }

  /// The digest of the last packet's messages, where anyone looks at it.
  var messagesDigest: ListDigest { sink.needsDigests ? state.messagesDigest : ListDigest() }

  /// The number of the last event.
  var lastSeq: Int { nextSeq - 1 }

  /// When the last event happened, in UTC: to ask the clock would be to let time go on that stands still.
  var lastTime: String? { record.lastTime }

  /// Sees what is recorded; `nil` where nobody watches.
  var runGuard: (any RunGuard)? { record.runGuard }

  /// How often a model was called for a purpose, failed tries too.
  func modelCalls(for purpose: ModelPurpose) -> Int { record.modelCalls(for: purpose) }

  /// What policy knows of earlier calls.
  var policyHistory: PolicyHistory { record.policyHistory }

  /// The notes of the run.
  var notes: RunNotes { record.notes }

  /// What the run may have done, for all that anybody knows.
  var doubts: EffectDoubts { record.doubts }

  /// The calls that people granted in the run that this one was forked from; `nil` where it was not, or has yet to
  /// come to the fork.
  var inheritedGrants: Set<String>? { record.inheritedGrants.calls }

  /// The circuit breakers of the agent's tools.
  var breakers: BreakerRecord { record.breakers }

  /// The tool errors in a row of the current decision.
  var errorRow: ErrorRow { record.errorRow }

  /// How often people spoke, and how often they granted or denied a call.
  var heard: (words: Int, approvals: Int) { (record.words, record.approvals) }

  /// How often a model that plays a person was asked in a step, further attempts aside.
  func personQuestions(in step: Int) -> Int { record.personQuestions(in: step) }

  /// What the making of contexts needs beside the state.
  var contextHistory: ContextHistory { record.contextHistory }

  /// An earlier event that the state's observations name.
  func event(at seq: Int) -> Event? { record.event(at: seq) }
}
