public import AgentPipelines
import AgentRuntime
public import AgentTrace
public import EvalLoading
import TraceMatching
import TraceStorage

/// A run of a pipeline, to its end or to the next time that it stands still.
public struct PipelineRecording: Sendable {
  /// The log's path.
  public var log: String
  /// The state behind the last event.
  public var state: PipelineState
  /// The digest of the log's last seal.
  public var sealDigest: Digest
  /// How many events are new.
  public var newEvents: Int
  /// What was withheld from the log.
  var secrets = RunSecrets()

  /// Whether the pipeline ended well.
  public var isSuccess: Bool { state.stop?.reason == StopReason.success.rawValue }

  /// What a run is started with.
  public struct Request: Sendable {
    /// What the pipeline is given.
    public var input: JSONValue?
    /// Where its log goes; those of its tasks' runs go beside it.
    public var files: RunFiles
    /// What chance and identifiers are made from; `nil` where they are random.
    public var seed: Int?
    /// What names the work over all of its runs; the run's identifier where it is left out.
    public var pipelineId: String?
    /// The case that the run is for; `nil` outside of one.
    public var caseId: String?
    /// Which trial of the case, from 1; `nil` where it is run once.
    public var trial: Int?
    /// Words to find the run by later.
    public var tags: [String] = []
    /// The run's identifier; the next of the means' where it is left out.
    var runId: String?
    /// The attempt at a task of another pipeline that the run is, and that task.
    var parent: (run: ParentRun, task: String)?
    /// What that other pipeline has left; `nil` for no limits.
    var outerLimits: Limits?

    /// The others can be set afterwards.
    public init(input: JSONValue?, files: RunFiles) {
      self.input = input
      self.files = files
    }
  }

  /// Runs a pipeline and writes its log.
  ///
  /// - Parameters:
  ///   - willRecord: told the log's path before it is there.
  ///   - observe: called with each event once it is kept.
  /// - Throws: ``PipelineError`` before anything is written; `LogError`.
  public init(
    of definition: PipelineDefinition, _ request: Request, _ means: PipelineMeans,
    willRecord: (String) -> Void = { _ in },
    observe: @escaping (Event) async -> Void = { _ in }
  ) async throws {
    let input = request.input ?? definition.defaultInput
    try PipelineError.checkInput(input, of: definition.spec)
    let runId = request.runId ?? means.identifiers.next()
    let path = request.files.path(of: request.caseId ?? definition.spec.name, runId: runId)
    let pipeline = try means.pipeline(of: definition, logsIn: RunFiles.folder(ofLog: path))
    willRecord(path)
    let writer = try LogWriter(creating: path, options: means.logOptions)
    let watch = PauseRequest(log: path).watch(means.pausing)
    defer { watch.cancel() }
    var start = PipelineRuntime.Start(input: input)
    start.runId = runId
    start.pipelineId = request.pipelineId
    start.seed = request.seed ?? 0
    (start.caseId, start.trial, start.tags) = (request.caseId, request.trial, request.tags)
    (start.parent, start.taskId) = (request.parent?.run, request.parent?.task)
    start.outerLimits = request.outerLimits
    let runtime = Self.runtime(pipeline, means, means.redactor(for: definition), 0)
    state = try await runtime.run(start, into: writer, observe: observe)
    secrets = runtime.redactor.secrets
    let closed = try writer.close()
    (log, sealDigest, newEvents) = (closed.path, closed.sealDigest, closed.events)
  }

  /// Goes on with a run that stands still, or whose process ended, in the same log.
  ///
  /// - Throws: `PipelineChange` where the pipeline is another one; `RunInUse` where another process goes on with a run of
  ///   one of its tasks, or with one above it; `LogError` where the log is damaged, held by another writer, or its run
  ///   has ended for good.
  /// - Complexity: reads the log twice.
  public init(
    resuming path: String, with definition: PipelineDefinition, _ means: PipelineMeans,
    acceptsChanges: Bool = false, observePast: (Event) -> Void = { _ in },
    observe: @escaping (Event) async -> Void = { _ in }
  ) async throws {
    var means = means
    means.acceptsChanges = acceptsChanges
    self = try await Self.going(on: path, with: definition, means, observePast) {
      runtime, past, resumed, writer in
      try await runtime.resume(
        past, resumed, acceptsChanges: acceptsChanges, into: writer,
        stateAt: { try Self.state(of: path, at: $0) }, observe: observe)
    }
  }

  /// Rolls a run back to a checkpoint. It stands still afterwards.
  ///
  /// - Throws: `RollbackRefusal` before anything is recorded, and otherwise as going on does.
  public init(
    rollingBack path: String, with definition: PipelineDefinition, to checkpoint: String?,
    by: String?, reason: String?, leavesUndeclared: Bool, _ means: PipelineMeans,
    observePast: (Event) -> Void = { _ in },
    observe: @escaping (Event) async -> Void = { _ in }
  ) async throws {
    do {
      self = try await Self.going(on: path, with: definition, means, observePast) {
        runtime, past, resumed, writer in
        try await runtime.rollback(
          past, resumed, to: checkpoint, by: by, reason: reason, leavesUndeclared: leavesUndeclared,
          into: writer, stateAt: { try Self.state(of: path, at: $0) }, observe: observe)
      }
    } catch var refusal as RollbackRefusal {
      // A pipeline in this one is one task; whoever undoes it by hand has to know what it did.
      let inner = (try? PipelineEffects.within(refusal.nodes, of: path)) ?? []
      if !inner.isEmpty {
        refusal.description += ". What the pipelines in it did: " + inner.joined(separator: ", ")
      }
      throw refusal
    }
  }

  /// What was made of a run that has ended for good, and whose log is closed; `nil` where it may go on.
  ///
  /// - Throws: `LogError` where the log cannot be read.
  static func ended(
    _ path: String, of definition: PipelineDefinition, _ means: PipelineMeans
  ) throws -> PipelineRecording? {
    var reader = try LogReader(path: path)
    var state = PipelineState()
    while let event = try reader.next() { state.apply(event) }
    guard reader.ending == .closed, state.stop?.isFinal == true else { return nil }
    var recording = PipelineRecording(
      log: path, state: state, sealDigest: try LogTail(path: path).sealDigest, newEvents: 0)
    recording.secrets = means.redactor(for: definition).secrets
    return recording
  }

  private init(log: String, state: PipelineState, sealDigest: Digest, newEvents: Int) {
    self.log = log
    self.state = state
    self.sealDigest = sealDigest
    self.newEvents = newEvents
  }

  private static func going(
    on path: String, with definition: PipelineDefinition, _ means: PipelineMeans,
    _ observePast: (Event) -> Void,
    _ go: (PipelineRuntime, PipelinePast, RunResumed, LogWriter) async throws -> PipelineState
  ) async throws -> PipelineRecording {
    let plain = LogFormat.plainName(path)
    let pipeline = try means.pipeline(of: definition, logsIn: RunFiles.folder(ofLog: plain))
    // Nobody writes to it while it is read.
    let (writer, reopened) = try LogWriter.reopening(path, options: means.logOptions)
    var past = PipelinePast(of: pipeline)
    do {
      if means.standsAlone { try LogFiles.checkTreeIsFree(of: path) }
      var reader = try LogReader(path: path)
      while let event = try reader.next() {
        observePast(event)
        past.take(event)
      }
      if means.standsAlone { try WaitingPipeline.checkRunsAreThere(of: plain, past.state) }
      var resumed = RunResumed(why: past.state.stop.map { words(for: $0) } ?? "the process ended")
      (resumed.cutAt, resumed.bytesDropped) = (reopened.cutAt, reopened.bytesDropped)
      if reopened.runIsOver {
        let closed = try writer.close()
        return PipelineRecording(
          log: closed.path, state: past.state, sealDigest: closed.sealDigest, newEvents: 0)
      }
      let watch = PauseRequest(log: plain).watch(means.pausing)
      defer { watch.cancel() }
      let runtime = runtime(
        pipeline, means, means.redactor(for: definition), past.state.elapsedMicroseconds)
      let state = try await go(runtime, past, resumed, writer)
      let closed = try writer.close()
      var recording = PipelineRecording(
        log: closed.path, state: state, sealDigest: closed.sealDigest,
        newEvents: state.nextSeq - reopened.nextSeq)
      recording.secrets = runtime.redactor.secrets
      return recording
    } catch {
      // What was closed is closed again; what a process had left stays for the next try.
      if reopened.wasClosed { _ = try? writer.close() }
      throw error
    }
  }

  private static func words(for stop: AgentState.StopSummary) -> String {
    let detail = stop.detail.map { " (\($0))" } ?? ""
    return "it had stopped as \(stop.reason)\(detail)"
  }

  private static func runtime(
    _ pipeline: Pipeline, _ means: PipelineMeans, _ redactor: Redactor, _ elapsed: Int
  ) -> PipelineRuntime {
    PipelineRuntime(
      pipeline, clock: means.clock(elapsed), identifiers: means.identifiers, pausing: means.pausing,
      cutting: means.cutting, redactor: redactor)
  }

  /// Makes a recorded run again: scheduler and recovery decide anew, tasks and people are answered from the log.
  /// Nothing is run.
  ///
  /// - Throws: `LogError` where the log cannot be read; `PipelineFaults`.
  /// - Complexity: holds the log in memory.
  public static func reexecution(
    of path: String, by definition: PipelineDefinition
  ) async throws -> PipelineReexecution {
    let means = PipelineMeans(
      makeTool: { _, _, _ in NoTool() },
      makeBoundary: { agent, conditions in
        AssembledBoundary(
          for: agent, clock: conditions.clock, identifiers: conditions.identifiers,
          cancellation: conditions.cancellation, raise: { _ in })
      }, clock: { FixedClock(elapsedMicroseconds: $0) }, identifiers: SeededRunIDs(seed: 0),
      pausing: Cancellation())
    let pipeline = try means.pipeline(of: definition, logsIn: RunFiles.folder(ofLog: path))
    var reader = try LogReader(path: path)
    var events: [Event] = []
    while let event = try reader.next() { events.append(event) }
    return await PipelineReexecution(of: events, by: pipeline)
  }

  /// An event of a pipeline's log, and the state behind it.
  ///
  /// - Throws: `LogError` where the log cannot be read, `PipelineError` where there is no such event.
  public static func moment(
    _ seq: Int, of path: String
  ) throws -> (event: Event, state: PipelineState) {
    var state = PipelineState()
    var reader = try LogReader(path: path)
    var last = -1
    while let event = try reader.next() {
      state.apply(event)
      last = event.seq
      if event.seq == seq { return (event, state) }
    }
    throw PipelineError("\(path) has no event \(seq); its last is \(last)")
  }

  /// The state behind an event of a log.
  static func state(of path: String, at seq: Int) throws -> PipelineState {
    var state = PipelineState()
    var reader = try LogReader(path: path)
    while let event = try reader.next(), event.seq <= seq { state.apply(event) }
    return state
  }
}

/// Is called by nobody.
struct NoTool: Tool {
  func run(_ request: ToolRequest) async -> ToolAnswer {
    ToolAnswer(result: .refused(reason: "nothing is run here"))
  }
}

extension PipelineError {
  /// Refuses what a pipeline is given where that is not what its file says.
  static func checkInput(_ input: JSONValue?, of spec: PipelineSpec) throws(PipelineError) {
    guard let source = spec.inputSchema else { return }
    guard let input else {
      throw PipelineError("the pipeline “\(spec.name)” needs an input; give it with --input JSON")
    }
    guard let schema = try? JSONSchema(compiling: source) else { return }
    guard let violation = schema.validate(input).first else { return }
    throw PipelineError("the input is not what the pipeline “\(spec.name)” says: \(violation)")
  }
}
