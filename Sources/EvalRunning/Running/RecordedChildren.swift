public import AgentRuntime
public import AgentTrace
import Synchronization
import TraceReplaying
public import TraceStorage

/// Runs the agents that others call, each with a log beside that of the run that calls it.
///
/// A child whose log is there goes on behind its last event, as `resume` would; one that has ended is read alone.
/// So whoever goes on with a parent, however often, makes nothing of a child twice. Only who goes on with a parent that
/// had started the child before does so: a log that is there when a child is to begin is another run's, and is left alone.
public struct RecordedChildren: ChildRunner {
  /// The folder of the logs.
  public var folder: String
  /// Makes the boundary of each.
  public var makeBoundary: BoundaryMaker
  /// Makes the clock of each, from the microseconds of active run time that have passed.
  public var clock: @Sendable (Int) -> any RunClock
  /// What ends the whole tree.
  public var cancellation: Cancellation
  /// Whether a child may go on with another agent file or policy than before.
  public var acceptsChanges = false
  /// How their logs are written.
  public var logOptions = LogWriter.Options()
  /// Told each event of each once it is kept, with the names of the tools that led to it, outermost first.
  public var observe: @Sendable ([String], Event) -> Void = { _, _ in }
  private var path: [String] = []

  /// No file is touched.
  public init(
    folder: String, cancellation: Cancellation,
    clock: @escaping @Sendable (Int) -> any RunClock, boundary: @escaping BoundaryMaker
  ) {
    self.folder = folder
    self.cancellation = cancellation
    self.clock = clock
    makeBoundary = boundary
  }

  private func log(of child: ChildStart) -> String {
    "\(folder)/\(RunFiles.fileName(for: child.runId))\(LogFormat.suffix)"
  }

  public func reasonNotToBegin(_ start: ChildStart, as tool: String) -> String? {
    let log = log(of: start)
    do {
      return try LogFiles.holdsEvents(log)
        ? "the run of “\(tool)” cannot begin: \(log): \(LogInTheWay())" : nil
    } catch {
      return "the run of “\(tool)” cannot begin: \(error)"
    }
  }

  public func run(_ request: ChildRequest) async -> ChildAnswer {
    let log = log(of: request.link.start)
    let fold = SharedFold()
    do {
      let child = try await HeldLog.onceFree { try await recorded(request, in: log, fold) }
      return fold.value.answer(of: child.state, sealDigest: child.sealDigest)
    } catch {
      return ChildAnswer(.failed("the run of “\(request.tool)” (\(log)) cannot go on: \(error)"))
    }
  }

  /// A child's last state, and the digest of its log's last seal.
  private typealias Recorded = (state: AgentState, sealDigest: Digest)

  private func recorded(
    _ request: ChildRequest, in log: String, _ fold: SharedFold
  ) async throws -> Recorded {
    guard try LogFiles.holdsEvents(log) else { return try await begun(request, in: log, fold) }
    try check(request, log)
    if let ended = try ended(request, log, fold) { return ended }
    fold.forget()
    return try await resumed(request, log, fold)
  }

  private func begun(
    _ request: ChildRequest, in log: String, _ fold: SharedFold
  ) async throws -> Recorded {
    let boundary = boundary(of: request, clock(0))
    let runtime = try Runtime(
      agent: request.agent, boundary: boundary, redactor: request.redactor(boundary.secrets))
    var start = Runtime.Start(goal: request.goal, runId: request.link.start.runId)
    start.parent = request.link.parent
    start.parent?.depth = path.count + 1
    try runtime.check(start)
    let writer = try LogWriter(creating: log, options: logOptions)
    let (names, observe) = (path + [request.tool], observe)
    let state = try await runtime.run(start, into: writer) { event in
      fold.take(event)
      observe(names, event)
    }
    return (state, try writer.close().sealDigest)
  }

  private func resumed(
    _ request: ChildRequest, _ log: String, _ fold: SharedFold
  ) async throws -> Recorded {
    var resumption = RunResumption.Request(
      log: log, agent: request.agent, acceptsChanges: acceptsChanges, logOptions: logOptions,
      clock: clock, boundary: { _, clock in boundary(of: request, clock) })
    resumption.parentRedactor = request.link.redactor
    let (names, observe) = (path + [request.tool], observe)
    let done = try await RunResumption(
      resumption, observePast: fold.take,
      observe: { event in
        fold.take(event)
        observe(names, event)
      })
    return (done.state, done.sealDigest)
  }

  private func boundary(of request: ChildRequest, _ clock: any RunClock) -> any Boundary {
    var deeper = self
    deeper.path.append(request.tool)
    return makeBoundary(
      request.agent,
      RunConditions(
        clock: clock, identifiers: GivenRunID(runId: request.link.start.runId),
        cancellation: cancellation, children: deeper))
  }

  /// What was made of a child that has ended; `nil` where it may go on.
  private func ended(
    _ request: ChildRequest, _ log: String, _ fold: SharedFold
  ) throws -> Recorded? {
    let run = try WaitingRun(path: log, observe: fold.take)
    guard run.isOver, run.isClosed else { return nil }
    if !acceptsChanges, let change = run.changes(to: request.agent).first { throw change }
    return (run.past.state, try LogTail(path: log).sealDigest)
  }

  /// Whoever put another log there shall not have it taken for the child's.
  private func check(_ request: ChildRequest, _ log: String) throws {
    guard request.link.mayHaveBegun else { throw LogInTheWay() }
    let started = try RecordedSteps(path: log)
    var parent = started.started.parent
    parent?.depth = nil
    guard started.runId.hasSameUTF8(as: request.link.start.runId), parent == request.link.parent
    else { throw ChildMismatch() }
  }
}

/// A log where a child is to begin.
private struct LogInTheWay: Error, CustomStringConvertible {
  var description: String {
    "a log of this name is there already, and this run had not started it; move it away or take another folder"
  }
}

/// A log that is no child's where one was looked for.
private struct ChildMismatch: Error, CustomStringConvertible {
  var description: String {
    "its log is that of another run, or names another event that started it; move it away"
  }
}

/// The identifier of a run that has one already.
struct GivenRunID: RunIDs {
  let runId: String
  func next() -> String { runId }
}

/// A fold that is told of events while the run goes on.
private final class SharedFold: Sendable {
  private let fold = Mutex(ChildFold())

  var value: ChildFold { fold.withLock { $0 } }
  func take(_ event: Event) { fold.withLock { $0.take(event) } }
  func forget() { fold.withLock { $0 = ChildFold() } }
}

/// What the parent of a run has to know of it, folded from its events.
private struct ChildFold: Sendable {
  private var answer: String?
  private var unknown: Set<String> = []

  mutating func take(_ event: Event) {
    switch event.type {
    case .toolResult:
      guard let callId = event.data["callId"]?.stringValue else { return }
      if event.data["effect"] == "unknown" || event.data["child"]?["effect"] == "unknown" {
        unknown.insert(callId)
      } else {
        unknown.remove(callId)
      }
    case .stop: answer = event.data["answer"]?.stringValue
    default: break
    }
  }

  func answer(of state: AgentState, sealDigest: Digest) -> ChildAnswer {
    let elapsed = state.elapsedMicroseconds
    guard let stop = state.stop, let reason = StopReason(rawValue: stop.reason) else {
      return ChildAnswer(
        .failed("its log holds no stop that is known"), elapsedMicroseconds: elapsed)
    }
    guard stop.isFinal else { return ChildAnswer(.paused(reason), elapsedMicroseconds: elapsed) }
    var end = ChildEnd(
      runId: state.runId, reason: reason, detail: stop.detail, totals: state.totals,
      sealDigest: sealDigest.hex)
    end.isEffectUnknown = !unknown.isEmpty
    return ChildAnswer(
      .ended(end, answer: answer, isEffectUnknown: !unknown.isEmpty), elapsedMicroseconds: elapsed)
  }
}
