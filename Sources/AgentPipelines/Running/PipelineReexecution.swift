import AgentRuntime
public import AgentTrace
import Synchronization

/// A recorded pipeline made again: scheduler and recovery decide anew, attempts and people are answered from the
/// log, and each event is held against the recorded one. Nothing is run.
public struct PipelineReexecution: Sendable {
  /// The first event that differs; `nil` where the log is what the pipeline does.
  public var divergence: PipelineDivergence?
  /// How many events were made again.
  public var events: Int

  /// Makes a run again.
  ///
  /// - Parameters:
  ///   - events: every event of the log, in order; in memory as a whole.
  ///   - pipeline: decides anew what comes next; its tasks are not run.
  public init(of events: [Event], by pipeline: Pipeline) async {
    let sink = ComparingPipelineSink(events)
    do {
      try await Self.make(events, pipeline, sink)
      divergence = nil
    } catch var found as PipelineDivergence {
      if PipelineChange(
        from: Self.state(of: events, through: found.seq), to: pipeline.spec,
        Withholding(redactor: Redactor(pipeline.redaction, values: .recorded))) != nil
      {
        found.cause = "task"
      }
      divergence = found
    } catch {
      divergence = PipelineDivergence(seq: sink.count, .end)
    }
    self.events = sink.count
  }

  private static func state(of events: [Event], through seq: Int) -> PipelineState {
    var state = PipelineState()
    for event in events where event.seq <= seq { state.apply(event) }
    return state
  }

  private static func make(
    _ events: [Event], _ pipeline: Pipeline, _ sink: ComparingPipelineSink
  ) async throws {
    guard let first = events.first, first.type == .runStarted else { return }
    let recorded = RecordedPipeline(events: events)
    let clock = RecordedPipeline.Clock(events) { sink.count }
    var past = PipelinePast(of: pipeline)
    var seq = 0
    while seq < events.count {
      let event = events[seq]
      // How it began, what people said and that it went on are no doing of the pipeline.
      guard event.type == .runStarted || event.type == .runResumed else {
        guard event.type == .taskAnswered || event.type == .compensationFinished else {
          throw PipelineDivergence(seq: seq, .recorded(event.type, nil))
        }
        past.take(event)
        seq += 1
        sink.passOver()
        continue
      }
      let executor = RecordedExecutor(events: events, place: { sink.count })
      let runtime = PipelineRuntime(
        pipeline, executor: executor, clock: clock, identifiers: SeededRunIDs(seed: 0),
        redactor: Redactor(pipeline.redaction, values: .recorded))
      runtime.withholding.learn(
        from: first.data["inputs"]?["pipeline"]?.objectValue ?? [:], today: pipeline.spec.encoded)
      let engine = PipelineEngine(
        runtime, past: past, runId: first.runId, into: sink, observe: { _ in })
      engine.recorded = recorded
      try await go(engine, from: event, events, past)
      while seq < sink.count {
        past.take(events[seq])
        seq += 1
      }
    }
  }

  /// One part of the run: up to where it stands still, or its process ended.
  private static func go(
    _ engine: PipelineEngine, from event: Event, _ events: [Event], _ past: PipelinePast
  ) async throws {
    do {
      try await begin(engine, from: event, events, past)
      let next = events.indices.contains(engine.state.nextSeq) ? events[engine.state.nextSeq] : nil
      if let next, next.type == .rollbackStarted, !engine.state.isCompensating {
        try await rollBack(engine, try RollbackStarted(decoding: next.data), events)
      } else {
        try await engine.run()
      }
    } catch let found as PipelineDivergence {
      // A process that ended left its log at any event; what came next was that another went on.
      let isCut =
        !events.indices.contains(found.seq) || events[found.seq].type == .runResumed
      guard isCut else { throw found }
    }
  }

  private static func begin(
    _ engine: PipelineEngine, from event: Event, _ events: [Event], _ past: PipelinePast
  ) async throws {
    guard event.type == .runResumed else {
      try await engine.append(.runStarted(try RunStarted(decoding: event.data)))
      return
    }
    try await engine.append(.runResumed(try RunResumed(decoding: event.data)))
    if let rollback = past.state.rollback {
      engine.stateAtRollback = state(of: events, through: rollback.start.toSeq)
    }
    // What is rolled back does not go on first.
    let next = events[engine.state.nextSeq...].first { $0.type != .taskFailed }
    let isRolledBack = past.state.rollback != nil || next?.type == .rollbackStarted
    try await engine.tellInterrupted(goesOn: !isRolledBack)
  }

  private static func rollBack(
    _ engine: PipelineEngine, _ start: RollbackStarted, _ events: [Event]
  ) async throws {
    engine.stateAtRollback = state(of: events, through: start.toSeq)
    try await engine.rollBack(
      to: start.checkpoint, seq: start.toSeq, by: start.by, reason: start.reason)
  }
}

/// Holds each event against the recorded one.
final class ComparingPipelineSink: EventSink, Sendable {
  /// Data that no decision rests on.
  private static let passedOver = ["elapsedMicroseconds"]

  private let recorded: [Event]
  private let place = Mutex(0)

  init(_ recorded: [Event]) { self.recorded = recorded }

  /// How many events were held against the log.
  var count: Int { place.withLock { $0 } }

  var needsDigests: Bool { false }

  func passOver() { place.withLock { $0 += 1 } }

  func append(_ event: Event, isEffectAhead: Bool) throws {
    guard recorded.indices.contains(event.seq) else {
      throw PipelineDivergence(seq: event.seq, .end)
    }
    let other = recorded[event.seq]
    let node = (try? PipelineEvent(type: event.type, data: event.data))?.node
    guard other.type == event.type else {
      var divergence = PipelineDivergence(
        seq: event.seq, .other(made: event.type, node, key: "type"))
      divergence.recorded = .string(other.type.rawValue)
      divergence.made = .string(event.type.rawValue)
      throw divergence
    }
    for key in event.data.keys + other.data.keys where !Self.passedOver.contains(key) {
      guard event.data[key] != other.data[key] else { continue }
      var divergence = PipelineDivergence(seq: event.seq, .other(made: event.type, node, key: key))
      divergence.recorded = other.data[key]
      divergence.made = event.data[key]
      throw divergence
    }
    place.withLock { $0 += 1 }
  }
}

/// Undoes nothing, and says what came of it when it was done.
private struct RecordedExecutor: Executor {
  let events: [Event]
  let place: @Sendable () -> Int

  func run(_ task: any PipelineTask, _ context: TaskContext) async -> TaskOutcome {
    .failed(TaskError(.toolFailure, "nothing is run"))
  }

  func compensate(_ task: any PipelineTask, _ context: CompensationContext) async -> TaskOutcome {
    let place = place()
    guard events.indices.contains(place),
      let end = try? CompensationFinished(decoding: events[place].data), let error = end.error
    else { return .finished(.null) }
    // As it was written: kind and message.
    let parts = error.split(separator: ": ", maxSplits: 1)
    return .failed(
      TaskError(kind: String(parts.first ?? ""), message: String(parts.dropFirst().first ?? "")))
  }
}
