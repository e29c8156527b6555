import AgentTrace

/// The one way in which a run changes: an event is appended, then applied.
struct Recorder {
  private(set) var state: AgentState
  private let runId: String
  private let sink: any EventSink
  private let clock: any RunClock
  private let observe: (Event) -> Void
  /// Sees what is recorded; `nil` where nobody watches.
  private(set) var runGuard: (any RunGuard)?
  private var nextSeq: Int
  /// Events whose data a later context may show; dropped once the state no longer names them.
  private var events: [Int: Event] = [:]
  private var keptSeqs: [Int] = []

  init(
    runId: String, sink: any EventSink, clock: any RunClock, runGuard: (any RunGuard)? = nil,
    observe: @escaping (Event) -> Void
  ) {
    self.runGuard = runGuard
    state = AgentState()
    self.runId = runId
    self.sink = sink
    self.clock = clock
    self.observe = observe
    nextSeq = 0
  }

  /// Appends one event; returns its number.
  ///
  /// - Throws: what the sink throws. The run must stop then: its log can no longer be trusted to hold
  ///   what happens.
  @discardableResult
  mutating func append(
    _ payload: EventPayload, step: Int, isEffectAhead: Bool = false
  ) throws -> Int {
    let moment = clock.moment()
    let event = Event(
      seq: nextSeq, step: step, type: payload.type, runId: runId, time: moment.time, t: moment.t,
      data: payload.encoded)
    try sink.append(event, isEffectAhead: isEffectAhead)
    nextSeq += 1
    state.apply(event)
    runGuard?.observe(event)
    keep(event)
    observe(event)
    return event.seq
  }

  /// The number of the last event.
  var lastSeq: Int { nextSeq - 1 }

  /// An earlier event that the state's observations name.
  func event(at seq: Int) -> Event? { events[seq] }

  private mutating func keep(_ event: Event) {
    switch event.type {
    case .modelResult, .decision, .toolResult, .humanReplied, .memoryRead, .policyDecision,
      .approval,
      .runResumed:
      events[event.seq] = event
      keptSeqs.append(event.seq)
    default: return
    }
    // An observation that fell out of the state is never looked up again. Observations stand in fold
    // order, so a margin keeps those that a slow call let overtake.
    guard keptSeqs.count > 3 * RecentObservations.limit else { return }
    var needed = Set(state.observations.recent.map(\.seq))
      .union(state.pendingCalls.compactMap { $0.result?.observation.seq })
    // A decision is shown with what was said beside its calls, which stands in its reply; the
    // decision of the newest reply is still to come.
    needed.insert(event.seq)
    for seq in needed {
      if let reply = events[seq]?.data["modelResult"]?.intValue { needed.insert(reply) }
    }
    keptSeqs.removeAll { seq in
      guard !needed.contains(seq) else { return false }
      events[seq] = nil
      return true
    }
  }
}
