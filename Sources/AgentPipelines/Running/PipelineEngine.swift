import AgentRuntime
import AgentTrace

/// Does what the scheduler says: records, begins attempts, waits for what comes of them.
///
/// One task runs it; attempts run beside it and reach it by a mailbox. Whatever comes in is recorded before
/// anything rests on it.
final class PipelineEngine {
  /// What comes in.
  enum Message: Sendable {
    case ended(Attempt, TaskOutcome, elapsedMicroseconds: Int)
    case part(Attempt, JSONValue, CheckedContinuation<Bool, Never>)
    /// An attempt that was told to end has not, in ``endingLimit``.
    case stayed(Attempt)
    /// A moment has come, or a pause is wished for.
    case woken
  }

  /// One attempt at a node.
  struct Attempt: Hashable, Sendable {
    var node: TaskNode
    var number: Int
  }

  /// A value beyond this many bytes is cut before anything else sees it.
  static let outputLimitBytes = 4 << 20

  let pipeline: Pipeline
  let executor: any Executor
  let clock: any RunClock
  let identifiers: any RunIDs
  let pausing: Cancellation
  let cutting: Cancellation
  var isCutOff = false
  var scheduler: Scheduler
  var outputs: OutputStore
  private(set) var ledger: EffectLedger
  private let sink: any EventSink
  let withholding: Withholding
  private let observe: (Event) async -> Void
  let mailbox = Mailbox<Message>()
  var handles: [Attempt: Task<Void, Never>] = [:]
  /// Those of them that are runs of their own.
  var runs: Set<Attempt> = []
  /// Those that were told to end and have not yet: nothing that hangs on their end comes before it.
  var endings: [Attempt: Ending] = [:]
  /// What each run that has not ended may use at most, one that waits for a person as well.
  var given: [Attempt: Limits] = [:]
  var partCounts: [Attempt: Int] = [:]
  /// Those whose runs waited for a person and go on once there is room.
  var goingOn: [TaskNode] = []
  private var held: [(attempt: Attempt, outcome: TaskOutcome, elapsed: Int)] = []
  let runId: String
  /// What came in when the run was lived, where it is made again; then nothing is done.
  var recorded: RecordedPipeline?
  /// What the run was at the event that it is rolled back to.
  var stateAtRollback: PipelineState?

  init(
    _ runtime: PipelineRuntime, past: PipelinePast, runId: String, into sink: any EventSink,
    observe: @escaping (Event) async -> Void
  ) {
    pipeline = runtime.pipeline
    executor = runtime.executor
    clock = runtime.clock
    identifiers = runtime.identifiers
    pausing = runtime.pausing
    cutting = runtime.cutting
    scheduler = Scheduler(pipeline.graph, state: past.state)
    outputs = past.outputs
    // What a rollback that is under way goes back to may need again what nobody needs before it.
    if past.state.rollback == nil { outputs.endReading(in: past.state) }
    ledger = past.ledger
    withholding = runtime.withholding
    self.runId = runId
    self.sink = sink
    self.observe = observe
  }

  var state: PipelineState { scheduler.state }
  var spec: PipelineSpec { pipeline.spec }

  /// The moment that the scheduler is asked at; what it then says is recorded with the same, so that whoever
  /// makes the run again from its log asks at the same moments.
  private func ask() -> Scheduler.Step {
    let moment = clock.isFixed ? moment ?? clock.reading() : clock.reading()
    self.moment = moment
    holdRuns()
    return scheduler.next(at: max(moment.t, state.elapsedMicroseconds))
  }

  private var moment: ClockReading?

  // MARK: Recording

  /// Records one event, and takes it in.
  ///
  /// - Throws: what the sink throws: the pipeline must stop then.
  @discardableResult
  func append(_ payload: EventPayload, isEffectAhead: Bool = false) async throws -> Int {
    let payload = withholding.redacted(payload)
    let moment = moment ?? clock.reading()
    self.moment = nil
    let seq = state.nextSeq
    let event = Event(
      seq: seq, step: seq == 0 ? 0 : 1, type: payload.type, runId: runId, time: moment.time,
      t: max(moment.t, state.elapsedMicroseconds), data: payload.encoded)
    try sink.append(event, isEffectAhead: isEffectAhead)
    scheduler.apply(event)
    if case .pipeline(let change) = payload {
      outputs.take(change, seq: seq)
      ledger.take(change, seq: seq)
      if case .rolledBack = change { outputs.endReading(in: state) }
    }
    await observe(event)
    return seq
  }

  /// Who wishes that the pipeline pauses; `nil` for nobody.
  var pauseRequest: String? {
    if let recorded { return recorded.pauseRequest(at: state.nextSeq) }
    return pausing.signal ?? (Task.isCancelled ? "cancellation" : nil)
  }

  // MARK: The loop

  /// Goes on until the run stops.
  func run() async throws {
    let work: () async -> Result<Void, any Error> = {
      do {
        try await self.loop()
        return .success(())
      } catch { return .failure(error) }
    }
    let wake: @Sendable () -> Void = { [mailbox] in mailbox.post(.woken) }
    let ending = await pausing.whileListening(wake) {
      await cutting.whileListening(wake, work)
    }
    // Whoever still has something to say hears that nobody listens.
    mailbox.close()
    for ending in endings.values { ending.timer?.cancel() }
    while let message = mailbox.take() {
      if case .part(_, _, let waiting) = message { waiting.resume(returning: false) }
    }
    if case .failure = ending { for handle in handles.values { handle.cancel() } }
    for (attempt, handle) in handles {
      // Behind a stop only what was cut off is left. Runs close their logs before anyone is told that all is over; code
      // may do what it likes, for as long as it likes.
      if case .success = ending, !runs.contains(attempt) { continue }
      await handle.value
    }
    try ending.get()
  }

  private func loop() async throws {
    while true {
      // What was asked before something came in is of that time.
      if !clock.isFixed { moment = nil }
      if !state.isPausing, let by = pauseRequest {
        try await append(.pipeline(.pauseRequested(PauseRequested(by: by))))
      }
      if !isCutOff, recorded == nil, cutting.signal != nil { try await cutOff() }
      if try await goOnWhereThereIsRoom() { continue }
      switch ask() {
      case .append(let change): try await record(change)
      case .breaker(let change): try await append(.breakerChanged(change))
      case .fail(let node, let error): try await end(node, error, isLate: true)
      case .start(let node): try await start(node)
      case .ask(let node): try await ask(node)
      case .expand(let task): try await expand(task)
      case .rollback:
        guard try await undoAll() else { return }
      case .wait(let until): try await wait(until: until)
      case .stop(let reason, let detail, let isFinal):
        try await append(.stop(Stop(reason: reason, detail: detail, isFinal: isFinal)))
        return
      }
    }
  }

  /// Takes in what has come in, or waits for something: then the scheduler is asked again before it is taken, since what
  /// a deadline ends by then has ended by it.
  private func wait(until: Int?) async throws {
    if let recorded { return try await takeRecorded(recorded) }
    if let held = releasedOutcome() {
      return try await take(held.outcome, of: held.attempt, held.elapsed)
    }
    if let message = mailbox.take() { return try await take(message) }
    guard let until else { return await mailbox.arrival() }
    if clock.isFixed {
      // Time passes when nothing else does: what runs is waited for however long it takes.
      if scheduler.runningTotal > 0 { return await mailbox.arrival() }
      clock.advance(to: until)
      moment = nil
      return
    }
    let microseconds = until - clock.reading().t
    guard microseconds > 0 else { return }
    let timer = Task { [clock, mailbox] in
      await clock.wait(microseconds: microseconds)
      mailbox.post(.woken)
    }
    await mailbox.arrival()
    timer.cancel()
  }

  /// Takes in what the log says came in next.
  private func takeRecorded(_ recorded: RecordedPipeline) async throws {
    if let row = recorded.partsInARow(from: state.nextSeq), isCurrent(row.attempt),
      standsInWithoutParts(for: row.attempt.node)
    {
      // They came with the output, and nothing between them.
      var outcome = TaskOutcome.finished(
        row.end?.output ?? .array(knownParts(of: row.attempt.node) + row.values))
      outcome.run = row.end?.run
      return try await take(outcome, of: row.attempt, row.end?.elapsedMicroseconds)
    }
    switch try recorded.next(at: state.nextSeq, isRunning: { isCurrent($0) }) {
    case .ended(let attempt, let outcome, let parts, let elapsed):
      partCounts[attempt] = parts
      try await take(outcome, of: attempt, elapsed)
    case .part(let attempt, let value, let part):
      partCounts[attempt] = part
      _ = try await take(value, of: attempt)
    case .woken: break
    }
  }

  private func take(_ message: Message) async throws {
    switch message {
    case .woken: break
    case .stayed(let attempt):
      guard let error = endings.removeValue(forKey: attempt)?.error else { return }
      if isCurrent(attempt) { try await fail(attempt.node, error) }
    case .part(let attempt, let value, let waiting):
      var isTaken = false
      defer { waiting.resume(returning: isTaken) }
      isTaken = try await take(value, of: attempt)
    case .ended(let attempt, let outcome, let elapsed):
      if clock.isFixed {
        held.append((attempt, outcome, elapsed))
      } else {
        try await take(outcome, of: attempt, elapsed)
      }
    }
  }

  /// On a clock that stands still, the next outcome in the order in which attempts began, so that a run gives
  /// the same log each time: one that ended is held until those before it have. What gives parts is not waited
  /// for, since others may have to take them first.
  private func releasedOutcome() -> (attempt: Attempt, outcome: TaskOutcome, elapsed: Int)? {
    guard !held.isEmpty else { return nil }
    func seq(_ attempt: Attempt) -> Int? {
      isCurrent(attempt) ? state[attempt.node.task]?.node(attempt.node.element)?.startedSeq : nil
    }
    let isOpen = handles.keys.filter { attempt in
      !held.contains { $0.attempt == attempt } && !givesParts(attempt.node.task)
    }.compactMap(seq)
    let first = held.indices.min { (seq(held[$0].attempt) ?? -1) < (seq(held[$1].attempt) ?? -1) }
    guard let first, (seq(held[first].attempt) ?? -1) < (isOpen.min() ?? Int.max) else {
      return nil
    }
    return held.remove(at: first)
  }

  /// Whether another task takes the parts of a task's output.
  func givesParts(_ task: String) -> Bool { partsSources.contains(task) }

  private lazy var partsSources = Set(
    spec.tasks.compactMap { task -> String? in
      if case .parts(let source)? = task.forEach { source } else { nil }
    })
}
