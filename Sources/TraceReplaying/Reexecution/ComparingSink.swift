import AgentRuntime
import AgentTrace

/// Compares each event with the recorded one as it is made, and ends the run at the first difference.
///
/// Calls and results have no order among those between two other events: each is compared with the
/// next recorded event of its call.
final class ComparingSink: EventSink {
  /// What ends a run before its stop.
  enum Interruption: Error {
    case diverged(Difference)
    /// The recording holds nothing more, and has no stop.
    case endOfRecording
  }

  /// Two things that should be the same.
  struct Difference {
    /// `nil` where the recording holds nothing more.
    var recorded: Event?
    /// `nil` where nothing more is made, or only asked for.
    var now: Event?
    var asked: ReplayingBoundary.Unanswered?
    /// The recorded step it stands in.
    var step: RecordedStep?
    /// How many events were made again before.
    var made: Int
    /// Results in error since the last one that was not.
    var errorsInARow = 0
  }

  private let boundary: ReplayingBoundary
  private let redactor: Redactor
  private var errorsInARow = 0
  /// How many events were made again.
  private(set) var made: Int
  private var step: RecordedStep?
  /// The position in the step of the next event that has its place.
  private var next = 0
  /// Positions of the events of calls that stand before that one and were not made yet, by call.
  private var open: [String: [Int]] = [:]
  private var openCount = 0
  /// What need not be compared again of the next packet.
  private var packets = ComparedPackets()
  private var requests: RecordedRequests

  /// Compares with the session that the recording is at.
  ///
  /// - Parameters:
  ///   - models: how models were asked in it.
  ///   - untold: where a person was asked for a reason that the log does not hold.
  init(
    _ boundary: ReplayingBoundary, _ redactor: Redactor, models: JSONObject, untold: UntoldReasons
  ) {
    self.boundary = boundary
    self.redactor = redactor
    requests = RecordedRequests(of: boundary.steps, models: models, untold: untold)
    made = boundary.steps.sessionStart
  }

  /// What is compared leaves digests out; see ``ComparedData``.
  var needsDigests: Bool { false }

  func append(_ event: Event, isEffectAhead: Bool) throws {
    if let failure = boundary.failure { throw failure }
    try load()
    for request in boundary.unanswered {
      switch request.kind {
      case .model: try end(with: request)
      case .tool where event.data["callId"]?.stringValue == request.callId:
        guard isAtTornEnd else { try end(with: request) }
        return  // What came of the call was not recorded any more.
      case .tool: break
      }
    }
    if event.isOfCall {
      try compareCall(event)
    } else {
      try compareInPlace(event)
    }
  }

  /// What the recording holds that was not made; to be asked for when the run has ended.
  func rest() throws -> Difference? {
    if let failure = boundary.failure { throw failure }
    try load()
    return nextRecorded.map {
      Difference(recorded: $0, now: nil, asked: nil, step: step, made: made)
    }
  }

  // MARK: Comparing

  private func compareCall(_ event: Event) throws {
    let callId = event.data["callId"]?.stringValue ?? ""
    guard let step, let position = open[callId]?.first else {
      if isAtTornEnd { return }
      throw difference(now: event)
    }
    let recorded = step.events[position]
    let event = sharing(event, with: recorded)
    guard areSame(recorded, event) else {
      throw difference(recorded: recorded, now: event)
    }
    open[callId]?.removeFirst()
    openCount -= 1
    made += 1
    switch event.data["status"]?.stringValue {
    case "error": errorsInARow += 1
    case "ok": errorsInARow = 0
    default: break
    }
  }

  /// A call that a fork took over is a run of whichever run made it first, whose identifier the fork's own does not lead
  /// to.
  private func sharing(_ event: Event, with recorded: Event) -> Event {
    guard let parent = boundary.steps.started.parent, parent.relation == "fork",
      event.type == .toolStarted, recorded.seq <= parent.seq,
      let runId = recorded.data["child"]?["runId"],
      var child = event.data["child"]?.objectValue
    else { return event }
    var event = event
    child["runId"] = runId
    event.data["child"] = .object(child)
    return event
  }

  private func compareInPlace(_ event: Event) throws {
    guard openCount == 0, let step, next < step.events.count else {
      if nextRecorded == nil, boundary.steps.ending != .stop { throw Interruption.endOfRecording }
      throw difference(now: event)
    }
    let recorded = step.asToday(step.events[next])
    guard areSame(recorded, event), isSameRequest(recorded) else {
      throw difference(recorded: recorded, now: event)
    }
    made += 1
    next += 1
    gather()
  }

  /// Whether what a model was asked is what it is asked now, for its results; whether two results say the
  /// same was looked at.
  private func isSameRequest(_ recorded: Event) -> Bool {
    switch recorded.type {
    case .contextBuilt: requests.take(packet: recorded)
    case .modelResult:
      return requests.isSame(
        boundary.lastRequest, asRecordedIn: recorded, { redactor.translated($0) })
    default: break
    }
    return true
  }

  /// Whether two events say the same. Without the key of then, what the agent file holds has other
  /// tokens now; which stands for which is seen where they first differ.
  private func areSame(_ recorded: Event, _ now: Event) -> Bool {
    let now = ComparedData.asFarAsRecorded(now, in: recorded)
    if recorded.type == .contextBuilt, now.type == .contextBuilt {
      if packets.areSame(recorded, now) { return true }
    } else if ComparedData.areSame(recorded, now) {
      return true
    }
    guard redactor.hasWithheld, RedactionToken.isIn(.object(now.data)) else { return false }
    redactor.learn(from: .object(recorded.data), today: .object(now.data))
    var translated = now
    translated.data = redactor.translated(.object(now.data)).objectValue ?? now.data
    return ComparedData.areSame(recorded, translated)
  }

  private func end(with request: ReplayingBoundary.Unanswered) throws -> Never {
    var recorded = nextRecorded
    if request.kind == .tool {
      recorded =
        step?.events.last {
          $0.type == .toolStarted && $0.data["callId"]?.stringValue == request.callId
        } ?? recorded
    } else if recorded == nil, boundary.steps.ending != .stop {
      throw Interruption.endOfRecording
    }
    throw Interruption.diverged(
      Difference(
        recorded: recorded, now: nil, asked: request, step: step, made: made,
        errorsInARow: errorsInARow))
  }

  private func difference(recorded: Event? = nil, now: Event) -> Interruption {
    .diverged(
      Difference(
        recorded: recorded ?? nextRecorded, now: now, asked: nil, step: step, made: made,
        errorsInARow: errorsInARow))
  }

  // MARK: The place in the recording

  /// The first recorded event that was not made yet; `nil` behind the end.
  private var nextRecorded: Event? {
    guard let step else { return nil }
    let waiting = open.values.lazy.compactMap(\.first).min()
    guard let position = waiting ?? (next < step.events.count ? next : nil) else { return nil }
    return step.events[position]
  }

  /// Whether the recording breaks off here, so that what calls came to may be missing from it.
  private var isAtTornEnd: Bool {
    guard let step else { return boundary.steps.ending != .stop }
    guard next == step.events.count, let ending = step.ending else { return false }
    return ending != .stop
  }

  /// Takes in the next step once all of this one was made; stays where there is none.
  private func load() throws {
    guard openCount == 0, next >= step?.events.count ?? 0,
      let following = try boundary.steps.step(holding: made), following.start == made
    else { return }
    step = following
    next = 0
    gather()
  }

  /// Gathers the events of calls up to the next one that has its place.
  private func gather() {
    guard let step else { return }
    open = [:]
    while next < step.events.count, step.events[next].isOfCall {
      open[step.events[next].data["callId"]?.stringValue ?? "", default: []].append(next)
      openCount += 1
      next += 1
    }
  }
}

extension Event {
  /// Whether it tells of a call that runs beside others.
  fileprivate var isOfCall: Bool {
    switch type {
    case .toolStarted, .toolResult: true
    case .memoryRead, .memoryWritten: data["callId"] != nil
    default: false
    }
  }
}
