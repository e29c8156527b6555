import AgentRuntime
public import AgentTrace

/// What came in from outside while a pipeline ran, as its log has it: outcomes of attempts, parts of outputs,
/// wishes to pause. Given out at the places where it came.
struct RecordedPipeline: Sendable {
  /// One thing that came in.
  enum Message {
    case ended(PipelineEngine.Attempt, TaskOutcome, parts: Int?, elapsedMicroseconds: Int?)
    case part(PipelineEngine.Attempt, JSONValue, part: Int)
    /// A pause was wished for.
    case woken
  }

  let events: [Event]

  /// The run of its own that the attempt which begins with an event was.
  func run(at seq: Int) -> TaskRun {
    guard events.indices.contains(seq),
      let started = try? TaskStarted(decoding: events[seq].data), let run = started.run
    else { return TaskRun(runId: "") }
    return run
  }

  /// Whether the event of a number says that the run of a node goes on.
  func resumes(_ node: TaskNode, at seq: Int) -> Bool {
    guard events.indices.contains(seq), events[seq].type == .taskResumed else { return false }
    return (try? TaskResumed(decoding: events[seq].data))?.node == node
  }

  /// The node that an attempt begins at, or cannot begin at, as the event of a number; `nil` where it is none.
  func begun(at seq: Int) -> TaskNode? {
    guard events.indices.contains(seq) else { return nil }
    switch try? PipelineEvent(type: events[seq].type, data: events[seq].data) {
    case .started(let started): return started.node
    case .failed(let failed) where failed.attempt == 0: return failed.node
    default: return nil
    }
  }

  /// Who wished for a pause as the event of a number; `nil` where it is none.
  func pauseRequest(at seq: Int) -> String? {
    guard events.indices.contains(seq), events[seq].type == .pauseRequested else { return nil }
    return events[seq].data["by"]?.stringValue
  }

  /// The parts of an attempt's output that stand one behind the other from an event on, and the end of the attempt where
  /// that comes next; `nil` where no part stands there.
  func partsInARow(
    from seq: Int
  ) -> (attempt: PipelineEngine.Attempt, values: [JSONValue], end: TaskFinished?)? {
    var values: [JSONValue] = []
    var attempt: PipelineEngine.Attempt?
    var seq = seq
    while events.indices.contains(seq), events[seq].type == .taskOutput,
      let output = try? TaskOutput(decoding: events[seq].data),
      attempt.map({ $0.node == output.node && $0.number == output.attempt }) ?? true
    {
      attempt = PipelineEngine.Attempt(node: output.node, number: output.attempt)
      values.append(output.value)
      seq += 1
    }
    guard let attempt else { return nil }
    guard events.indices.contains(seq), events[seq].type == .taskFinished,
      let end = try? TaskFinished(decoding: events[seq].data), end.node == attempt.node,
      end.attempt == attempt.number
    else { return (attempt, values, nil) }
    return (attempt, values, end)
  }

  /// What came in as the event of a number.
  ///
  /// - Throws: ``PipelineDivergence`` where the log goes on with something that the pipeline itself does, and
  ///   would not.
  func next(
    at seq: Int, isRunning: (PipelineEngine.Attempt) -> Bool
  ) throws(PipelineDivergence) -> Message {
    guard events.indices.contains(seq) else { throw PipelineDivergence(seq: seq, .end) }
    let event = events[seq]
    let change = try? PipelineEvent(type: event.type, data: event.data)
    switch change {
    case .output(let output):
      let attempt = PipelineEngine.Attempt(node: output.node, number: output.attempt)
      if isRunning(attempt) { return .part(attempt, output.value, part: output.part) }
    case .finished(let end) where end.attempt > 0 && end.output != nil:
      let attempt = PipelineEngine.Attempt(node: end.node, number: end.attempt)
      var outcome = TaskOutcome.finished(end.output ?? .null)
      outcome.run = end.run
      if isRunning(attempt) {
        return .ended(
          attempt, outcome, parts: end.parts, elapsedMicroseconds: end.elapsedMicroseconds)
      }
    case .asked(let asked) where asked.why == .run:
      let attempt = PipelineEngine.Attempt(node: asked.node, number: asked.attempt ?? 0)
      let outcome = TaskOutcome.waiting(.init(question: asked.question, show: asked.show))
      if isRunning(attempt) {
        return .ended(attempt, outcome, parts: nil, elapsedMicroseconds: nil)
      }
    case .failed(let failed) where failed.attempt > 0:
      let attempt = PipelineEngine.Attempt(node: failed.node, number: failed.attempt)
      var outcome = TaskOutcome.failed(failed.error, isEffectUnknown: failed.isEffectUnknown)
      outcome.run = failed.run
      if failed.recovery.isByTask { outcome.recovery = failed.recovery }
      if isRunning(attempt) {
        return .ended(
          attempt, outcome, parts: nil, elapsedMicroseconds: failed.elapsedMicroseconds)
      }
    default: break
    }
    if event.type == .pauseRequested { return .woken }
    throw PipelineDivergence(seq: seq, .recorded(event.type, change?.node))
  }

  /// A clock that says of each event when it was.
  final class Clock: RunClock {
    private let times: [ClockReading]
    private let place: @Sendable () -> Int

    init(_ events: [Event], place: @escaping @Sendable () -> Int) {
      times = events.map { ClockReading(t: $0.t, time: $0.time ?? "") }
      self.place = place
    }

    var isFixed: Bool { false }

    func reading() -> ClockReading {
      let place = place()
      if times.indices.contains(place) { return times[place] }
      return times.last ?? ClockReading(t: 0, time: "")
    }

    func wait(microseconds: Int) async {}

    func advance(to t: Int) {}
  }
}

/// Where a pipeline that is made again goes another way than its log.
public struct PipelineDivergence: Error, Sendable, Hashable, CustomStringConvertible {
  /// In what.
  public enum Kind: Sendable, Hashable {
    /// The log has an event there that the pipeline as it is now would not make.
    case recorded(EventType, TaskNode?)
    /// The pipeline makes another event.
    case other(made: EventType, TaskNode?, key: String)
    /// The log ends, and the pipeline goes on.
    case end
  }

  /// The number of the first event that differs.
  public var seq: Int
  /// In what.
  public var kind: Kind
  /// What the log says there, of the key that differs; `nil` where there is nothing.
  public var recorded: JSONValue?
  /// What the pipeline says there.
  public var made: JSONValue?
  /// What is to blame: `task`, where a task is not the one from before, else `code`.
  public var cause = "code"

  init(seq: Int, _ kind: Kind) {
    self.seq = seq
    self.kind = kind
  }

  /// On one line.
  public var description: String {
    func text(_ value: JSONValue?) -> String {
      value.map { CanonicalJSON.string($0.cut(toBytes: 300), form: .plain) } ?? "nothing"
    }
    switch kind {
    case .recorded(let type, let node):
      let name = node.map { " of \($0)" } ?? ""
      return
        "event \(seq): the log has \(type)\(name), which would not come there (cause: \(cause))"
    case .other(let type, let node, let key):
      let name = node.map { " of \($0)" } ?? ""
      return "event \(seq): \(type)\(name): \(key) was \(text(recorded)), and is \(text(made)) "
        + "(cause: \(cause))"
    case .end: return "event \(seq): the log ends, and the pipeline goes on (cause: \(cause))"
    }
  }
}
