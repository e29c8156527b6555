@_spi(Scanning) import AgentTrace

/// The one way in which a run changes: an event is appended, then applied.
struct Recorder {
  private(set) var state: AgentState
  private let runId: String
  private let sink: any EventSink
  private let clock: any RunClock
  private let observe: (Event) -> Void
  /// What is kept of the events beside the state.
  private(set) var record: RunRecord
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
}
