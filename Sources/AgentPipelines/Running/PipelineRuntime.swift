public import AgentRuntime
public import AgentTrace

/// Runs pipelines: resolves what tasks need of each other, records each change as an event before anything
/// rests on it, and goes on from any event of a log.
public struct PipelineRuntime: Sendable {
  /// What a run is started with.
  public struct Start: Sendable {
    /// What the pipeline is given; `nil` for nothing.
    public var input: JSONValue?
    /// The run's identifier; one of the runtime's where it is left out.
    public var runId: String?
    /// What names the work over all of its runs, so that an action of it has the same key in each; the run's
    /// identifier where it is left out.
    public var pipelineId: String?
    /// What chance is made from.
    public var seed = 0
    /// Words to find the run by.
    public var tags: [String] = []
    /// The case that the run is for; `nil` outside of one.
    public var caseId: String?
    /// Which trial of the case, from 1; `nil` where it is run once.
    public var trial: Int?

    /// The attempt at a task that the run is, where it is one of another pipeline; `nil` for none.
    public var parent: ParentRun?
    /// That task.
    public var taskId: String?
    /// What that other pipeline has left: this one may use no more, whatever its own limits; `nil` for no limits.
    public var outerLimits: Limits?

    /// What is not given can be set afterwards.
    public init(input: JSONValue? = nil) { self.input = input }
  }

  /// Whose tasks.
  public let pipeline: Pipeline
  /// Where attempts are made.
  public let executor: any Executor
  /// Where all times come from.
  public let clock: any RunClock
  /// Where identifiers of runs come from.
  public let identifiers: any RunIDs
  /// The wish that the pipeline pauses: what runs ends, and nothing new begins.
  public let pausing: Cancellation
  /// The wish that it ends: what runs is ended at once and told as interrupted, and nothing new begins.
  public let cutting: Cancellation
  /// What withholds secrets from its log.
  public var redactor: Redactor { withholding.redactor }
  let withholding: Withholding

  /// Nothing runs yet.
  ///
  /// - Parameters:
  ///   - pipeline: what runs, checked already.
  ///   - executor: what runs the attempts at its tasks; this process where it is left out.
  ///   - clock: what events are dated by, and what waits and limits are measured with.
  ///   - identifiers: where identifiers of the run, and of those of its tasks, come from; random where it is left out.
  ///   - pausing: cancelled by whoever wants it to pause; only ``pause()`` does where it is left out.
  ///   - cutting: cancelled by whoever wants it to end at once; nobody does where it is left out.
  ///   - redactor: what withholds secrets from the log; one of its own that knows none before the run begins where it
  ///     is left out.
  public init(
    _ pipeline: Pipeline, executor: any Executor = LocalExecutor(), clock: any RunClock,
    identifiers: any RunIDs = RandomRunIDs(), pausing: Cancellation = Cancellation(),
    cutting: Cancellation = Cancellation(), redactor: Redactor? = nil
  ) {
    withholding = Withholding(redactor: redactor ?? Redactor(pipeline.redaction))
    self.pipeline = pipeline
    self.executor = executor
    self.clock = clock
    self.identifiers = identifiers
    self.pausing = pausing
    self.cutting = cutting
  }

  /// Asks the run to pause. What runs ends by itself; nothing new begins.
  public func pause() { pausing.cancel(signal: "pause") }

  /// Runs the pipeline until it stops: at its end, or because a person is needed, or because it was to pause.
  ///
  /// - Parameters:
  ///   - start: what the pipeline is given, and what its run is known by.
  ///   - sink: gets each event before what follows from it.
  ///   - observe: called with each event once it is kept.
  /// - Returns: the state behind the last event; why the run stopped is in there.
  /// - Throws: what the sink throws; the run has stopped then.
  public func run(
    _ start: Start, into sink: any EventSink,
    observe: @escaping (Event) async -> Void = { _ in }
  ) async throws -> PipelineState {
    let runId = start.runId ?? identifiers.next()
    let engine = PipelineEngine(
      self, past: PipelinePast(of: pipeline), runId: runId, into: sink, observe: observe)
    var started = RunStarted(
      agentName: pipeline.spec.name, goal: .string(pipeline.spec.name), input: start.input,
      limits: start.outerLimits.map(pipeline.spec.limits.tightened) ?? pipeline.spec.limits)
    started.agentDigest = pipeline.fileDigest
    started.pipelineId = start.pipelineId ?? runId
    started.seed = start.seed
    (started.parent, started.taskId) = (start.parent, start.taskId)
    if let limits = start.outerLimits, started.parent != nil {
      started.parent?.inputs["limits"] = .object(limits.encoded)
    }
    started.tags = start.tags
    started.caseId = start.caseId
    started.trial = start.trial
    started.inputs = pipeline.recordedInputs
    // What its tasks called stands in their own logs, or nowhere: who judges this one alone cannot say that nothing was.
    started.recorded = ["calls": "partial", "policy": "partial"]
    try await engine.append(.runStarted(started))
    try await engine.run()
    return engine.state
  }

  /// Goes on with a run that stands still, or whose process ended.
  ///
  /// What has ended never runs again. An attempt that was under way is in doubt: one that only reads, or is
  /// idempotent, is made again, with the same key; of any other a person says whether it happened.
  ///
  /// - Parameters:
  ///   - past: everything that the log says.
  ///   - resumed: what is recorded of going on.
  ///   - acceptsChanges: whether a pipeline goes on that is not the one from before.
  ///   - sink: gets each new event before what follows from it.
  ///   - stateAt: the state behind an event of the log; asked for where a rollback is to be ended.
  ///   - observe: called with each new event once it is kept.
  /// - Throws: ``PipelineChange`` where the pipeline is another one; what the sink throws.
  public func resume(
    _ past: PipelinePast, _ resumed: RunResumed, acceptsChanges: Bool = false,
    into sink: any EventSink, stateAt: (Int) throws -> PipelineState,
    observe: @escaping (Event) async -> Void = { _ in }
  ) async throws -> PipelineState {
    var resumed = resumed
    withholding.learn(from: past.state.definition, today: pipeline.spec.encoded)
    if let change = PipelineChange(from: past.state, to: pipeline.spec, withholding) {
      guard acceptsChanges else { throw change }
      resumed.inputs = pipeline.recordedInputs
      resumed.agentDigest = pipeline.fileDigest
    }
    let engine = PipelineEngine(
      self, past: past, runId: past.state.runId, into: sink, observe: observe)
    if let rollback = past.state.rollback {
      engine.stateAtRollback = try stateAt(rollback.start.toSeq)
    }
    try await engine.append(.runResumed(resumed))
    // What is rolled back does not go on first.
    try await engine.tellInterrupted(goesOn: past.state.rollback == nil)
    try await engine.run()
    return engine.state
  }

  /// Rolls a run that stands still back to a checkpoint: undoes what was done behind it, what was done last
  /// first, and lets the tasks behind it run anew when the run goes on. Nothing is erased. The run stands
  /// still afterwards.
  ///
  /// - Parameters:
  ///   - past: everything that the log says.
  ///   - resumed: what is recorded of going on.
  ///   - checkpoint: the task whose end it is; `nil` for the beginning.
  ///   - by: who wants it; `nil` where nobody says.
  ///   - reason: why; `nil` where nothing is said.
  ///   - leavesUndeclared: whether effects stay as they are of which nothing is declared that undoes them.
  ///   - sink: gets each new event before what follows from it.
  ///   - stateAt: the state behind an event of the log.
  ///   - observe: called with each new event once it is kept.
  /// - Throws: ``RollbackRefusal`` before anything is recorded; what the sink throws.
  public func rollback(
    _ past: PipelinePast, _ resumed: RunResumed, to checkpoint: String?, by: String?,
    reason: String? = nil, leavesUndeclared: Bool = false, into sink: any EventSink,
    stateAt: (Int) throws -> PipelineState,
    observe: @escaping (Event) async -> Void = { _ in }
  ) async throws -> PipelineState {
    let seq = try Self.seq(of: checkpoint, in: past.state, leavesUndeclared, past.ledger)
    withholding.learn(from: past.state.definition, today: pipeline.spec.encoded)
    if let change = PipelineChange(from: past.state, to: pipeline.spec, withholding) {
      throw change
    }
    let engine = PipelineEngine(
      self, past: past, runId: past.state.runId, into: sink, observe: observe)
    engine.stateAtRollback = try stateAt(seq)
    try await engine.append(.runResumed(resumed))
    try await engine.tellInterrupted(goesOn: false)
    try await engine.rollBack(to: checkpoint, seq: seq, by: by, reason: reason)
    return engine.state
  }

  private static func seq(
    of checkpoint: String?, in state: PipelineState, _ leavesUndeclared: Bool,
    _ ledger: EffectLedger
  ) throws(RollbackRefusal) -> Int {
    if state.rollback != nil {
      throw RollbackRefusal("a rollback is under way already; resume ends it")
    }
    var seq = 0
    if let checkpoint {
      guard let found = state[checkpoint]?.checkpointSeq else {
        let known = state.tasks.filter { $0.checkpointSeq != nil }.map(\.id)
        throw RollbackRefusal(
          "there is no checkpoint “\(checkpoint)” in this run; "
            + (known.isEmpty
              ? "it has none but its beginning: --to start"
              : "it has start, " + known.joined(separator: ", ")))
      }
      seq = found
    }
    let left = ledger.effects(behind: seq).filter { $0.compensate == nil }
    guard leavesUndeclared || left.isEmpty else {
      let names = left.prefix(10).map { "\($0.node)" }.joined(separator: ", ")
      var refusal = RollbackRefusal(
        "nothing is declared that undoes \(names)"
          + (left.count > 10 ? " and \(left.count - 10) more" : "")
          + "; undo it by hand, and say --leave-undeclared")
      refusal.nodes = left.map(\.node)
      throw refusal
    }
    return seq
  }
}

/// Why a run is not rolled back. Nothing was recorded.
public struct RollbackRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  /// In words.
  public var description: String
  /// The tasks of which nothing is declared that undoes them; empty where that is not why.
  public var nodes: [TaskNode] = []

  /// Says why.
  public init(_ description: String) { self.description = description }
}

/// How the pipeline that is to go on differs from the one that a log was recorded with.
public struct PipelineChange: Error, Sendable, Hashable, CustomStringConvertible {
  /// The first task that differs; `nil` where it is the pipeline as a whole.
  public var task: String?
  /// What of it.
  public var key: String
  /// What it was; `nil` for nothing.
  public var before: JSONValue?
  /// What it is now; `nil` for nothing.
  public var now: JSONValue?
  /// Whether the task had ended, so that what it did stands by what it was then.
  public var hadEnded: Bool

  /// Compares; `nil` where nothing differs.
  init?(from state: PipelineState, to spec: PipelineSpec, _ withholding: Withholding) {
    let old = RedactionToken.comparable(.object(state.definition)).objectValue ?? [:]
    let new =
      RedactionToken.comparable(.object(withholding.redacted(spec.encoded))).objectValue ?? [:]
    guard old != new else { return nil }
    let oldTasks = Self.tasks(of: old)
    let newTasks = Self.tasks(of: new)
    (task, key, before, now, hadEnded) = (nil, "", nil, nil, false)
    let ids =
      oldTasks.map(\.id)
      + newTasks.map(\.id).filter { id in
        !oldTasks.contains { $0.id.hasSameUTF8(as: id) }
      }
    for id in ids {
      let left = oldTasks.first { $0.id.hasSameUTF8(as: id) }?.object
      let right = newTasks.first { $0.id.hasSameUTF8(as: id) }?.object
      guard left != right else { continue }
      guard let left, let right else {
        self.task = id
        (key, before, now) = ("id", left.map { .object($0) }, right.map { .object($0) })
        hadEnded = state[id]?.settled != nil
        return
      }
      self.task = id
      key = Self.firstKey(left, right)
      (before, now) = (left[key], right[key])
      hadEnded = state[id]?.settled != nil
      return
    }
    key = Self.firstKey(old, new)
    (before, now) = (old[key], new[key])
  }

  private static func tasks(of object: JSONObject) -> [(id: String, object: JSONObject)] {
    (object["tasks"]?.arrayValue ?? []).compactMap { task in
      task.objectValue.map { ($0["id"]?.stringValue ?? "", $0) }
    }
  }

  private static func firstKey(_ left: JSONObject, _ right: JSONObject) -> String {
    (left.keys + right.keys).first { left[$0] != right[$0] } ?? ""
  }

  /// Names the task and both sides.
  public var description: String {
    func text(_ value: JSONValue?) -> String {
      value.map { CanonicalJSON.string($0.cut(toBytes: 300), form: .plain) } ?? "nothing"
    }
    let place = task.map { "task \($0)" } ?? "the pipeline"
    let end =
      hadEnded
      ? "; the task had ended, and what it did stands as it was then"
      : ""
    return
      "\(place) is not the one from before: \(key) was \(text(before)), and is \(text(now))\(end)"
  }
}
