public import AgentRuntime
public import AgentTrace
public import TraceStorage

/// A run that went on in its own log, to its end or to the next pause.
public struct RunResumption: Sendable {
  /// The log's path.
  public var log: String
  /// The state after the last event.
  public var state: AgentState
  /// The digest of the log's last seal.
  public var sealDigest: Digest
  /// How many events are new; 0 where the run had ended, and only its log was closed.
  public var newEvents: Int

  /// What goes on, and with what.
  public struct Request: Sendable {
    /// The log, by its plain name or the one with `.open`.
    public var log: String
    /// The agent that goes on. Whom it acts for is taken from the log.
    public var agent: AgentDefinition
    /// Whether it may be another agent or policy than before.
    public var acceptsChanges: Bool
    /// How the log is written on.
    public var logOptions: LogWriter.Options
    /// Makes the clock, from the microseconds of active run time that have passed.
    public var clock: @Sendable (Int) -> any RunClock
    /// Told what no log holds, as it happens, from any task.
    public var report: @Sendable (RunProgress) -> Void = { _ in }
    /// Of the run that calls this one: both withhold the same values. `nil` where none does.
    public var parentRedactor: Redactor?
    /// Whether no run above this one is under way in this process: whoever goes on with a run by itself has to leave it
    /// alone where another process goes on with one above it.
    public var standsAlone = false
    /// Where logs of runs that this one was forked from may be, besides beside it: with their slash.
    public var ancestorFolders: [String] = []
    /// Makes whoever answers.
    public var boundary: @Sendable (AgentDefinition, any RunClock) -> any Boundary

    /// No file is touched. Without more, agent and policy have to be those of before.
    public init(
      log: String, agent: AgentDefinition, acceptsChanges: Bool = false,
      logOptions: LogWriter.Options = .init(), clock: @escaping @Sendable (Int) -> any RunClock,
      boundary: @escaping @Sendable (AgentDefinition, any RunClock) -> any Boundary
    ) {
      self.log = log
      self.agent = agent
      self.acceptsChanges = acceptsChanges
      self.logOptions = logOptions
      self.clock = clock
      self.boundary = boundary
    }
  }
}

extension RunResumption {
  /// A little later than the last event, so that no clock begins behind it.
  private static let tick = 1_000

  /// Goes on with a run behind its last event.
  ///
  /// Nothing that is recorded is made again. A call that was started and has no result runs again, with
  /// the same idempotency key, where its tool only reads or says that it is idempotent; any other blocks
  /// the run until a person says what happened.
  ///
  /// - Parameters:
  ///   - request: Which log goes on, with which agent, and who answers it.
  ///   - observePast: Called with each event that the log holds.
  ///   - observe: Called with each new event once it is kept.
  /// - Throws: ``ResumeError``, ``RecordingError`` or `RunInUse` before anything is written; `LogError` where the
  ///   log is damaged, held by another writer, or cannot be written.
  /// - Complexity: reads the log three times: what the run was, its last whole block, and its lines to go
  ///   on behind them.
  public init(
    _ request: Request, observePast: (Event) -> Void = { _ in },
    observe: @escaping (Event) -> Void = { _ in }
  ) async throws {
    let run = try WaitingRun(path: request.log, agent: request.agent, observe: observePast)
    if let stop = run.stop, stop.isFinal, run.isClosed {
      throw run.error(.over(reason: stop.reason, detail: stop.detail))
    }
    try run.checkChildrenAreThere()
    var agent = request.agent
    agent.policyContext = run.started.policyContext
    agent.leaveOut(asForkedFrom: run.started.parent)
    let changes = run.changes(to: agent)
    // What the run may use was said when it was started; who accepts changes accepts other limits.
    if changes.isEmpty { agent.limits = run.started.limits }
    if !run.isOver, !request.acceptsChanges {
      if let change = try changes.first ?? run.changeBelow(agent) { throw change }
    }
    let clock = request.clock(run.t + Self.tick)
    let boundary = request.boundary(agent, clock)
    let redactor = try Redactor(
      recalling: request.log, of: agent, boundary.secrets, values: .needed,
      sharing: request.parentRedactor)
    let runtime = try Runtime(
      agent: agent, boundary: boundary, redactor: redactor, report: request.report)
    let (writer, reopened) = try LogWriter.reopening(request.log, options: request.logOptions)
    guard reopened.nextSeq == run.past.nextSeq else {
      _ = try writer.close()
      throw run.error(.changedMeanwhile)
    }
    if request.standsAlone {
      do { try LogFiles.checkTreeIsFree(of: request.log) } catch {
        // What was closed is closed again; what a process had left stays for the next try.
        if reopened.wasClosed { _ = try writer.close() }
        throw error
      }
    }
    newEvents = 0
    if !run.isOver {
      var past = run.past
      let event = run.resumed(
        reopened, agent: agent, isOther: !changes.isEmpty, withheldBy: redactor, clock.reading())
      try writer.append(event, isEffectAhead: false)
      try past.take(event)
      observe(event)
      var made = 1
      _ = try await runtime.goOn(
        from: past, run.continuation(findingAncestorsIn: request.ancestorFolders), into: writer,
        observe: { event in
          made += 1
          observe(event)
        })
      newEvents = made
    }
    let closed = try writer.close()
    log = closed.path
    sealDigest = closed.sealDigest
    state = writer.state
  }
}

extension WaitingRun {
  /// In what an agent that is to go on is another than the one before: the agent file, the policy.
  package func changes(to agent: AgentDefinition) -> [ResumeError] {
    func areSame(_ recorded: String?, _ now: String?) -> Bool {
      switch (recorded, now) {
      case (nil, nil): true
      case (let recorded?, let now?): recorded.hasSameUTF8(as: now)
      default: false
      }
    }
    var changes: [ResumeError] = []
    if !areSame(agentDigest, agent.digest) {
      changes.append(error(.agentChanged(name: started.agentName)))
    }
    if !areSame(policyDigest, agent.policy.digest) {
      changes.append(error(.policyChanged(recorded: policyDigest)))
    }
    return changes
  }

  /// Makes sure that the logs of the agents that a paused run waits for are there: one whose log is not would begin anew,
  /// with all that it has done.
  ///
  /// - Throws: ``ResumeError`` for the first that is not; as ``init(path:agent:observe:)`` of a log below.
  package func checkChildrenAreThere(depth: Int = 0) throws {
    // Of a process that died nobody knows whether it had begun the child.
    guard let stop, !stop.isFinal, depth < WaitingTree.depthLimit else { return }
    let folder = RunTreeReader.folder(ofLog: path)
    for (call, start) in past.progress.openChildren {
      let name = RunTreeReader.log(of: start.runId, in: folder)
      guard let log = name, try LogFiles.holdsEvents(log) else {
        throw error(.childIsMissing(tool: call.name, log: name ?? "\(folder)/\(start.runId)"))
      }
      try WaitingRun(path: log).checkChildrenAreThere(depth: depth + 1)
    }
  }

  /// In what an agent below, whose run this one waits for, is another than the one before; `nil` where none is.
  ///
  /// - Throws: as ``init(path:agent:observe:)`` of a log below.
  fileprivate func changeBelow(_ agent: AgentDefinition, depth: Int = 0) throws -> ResumeError? {
    guard depth < WaitingTree.depthLimit else { return nil }
    let folder = RunTreeReader.folder(ofLog: path)
    for (call, start) in past.progress.openChildren {
      guard let child = agent.agent(calledBy: [call.name]),
        let log = RunTreeReader.log(of: start.runId, in: folder), try LogFiles.holdsEvents(log)
      else { continue }
      let run = try WaitingRun(path: log)
      if let change = try run.changes(to: child).first ?? run.changeBelow(child, depth: depth + 1) {
        return change
      }
    }
    return nil
  }

  /// What a fork still asks about when it goes on, as it did before it stood still.
  fileprivate func continuation(findingAncestorsIn folders: [String]) -> Continuation {
    guard let parent = started.parent, parent.relation == "fork" else { return Continuation() }
    let later = AncestorActions(
      before: parent, in: [RunTreeReader.folder(ofLog: path)] + folders)
    return Continuation(
      asksAgain: { later.reason(toAskAbout: $0, $1) }, voidsGrant: { _ in EarlierGrant.reason })
  }

  /// The event that says that the run goes on.
  ///
  /// - Parameters:
  ///   - agent: the one that goes on.
  ///   - isOther: whether it is not the one from before.
  fileprivate func resumed(
    _ reopened: LogWriter.Reopened, agent: AgentDefinition, isOther: Bool,
    withheldBy redactor: Redactor, _ moment: ClockReading
  ) -> Event {
    var resumed = RunResumed(
      why: stop.map { "after \([$0.reason, $0.detail].compactMap { $0 }.joined(separator: ", "))" }
        ?? "after its process had died",
      cutAt: reopened.cutAt, bytesDropped: reopened.bytesDropped)
    if isOther {
      resumed.agentDigest = agent.digest
      resumed.policyDigest = agent.policy.digest
      resumed.inputs = agent.recordedInputs(withheldBy: redactor)
    }
    let models = agent.recordedModels(withheldBy: redactor)
    if models != self.models { resumed.models = models }
    resumed.origins = agent.recordedOrigins
    return Event(
      seq: past.nextSeq, step: past.progress.step, type: .runResumed, runId: past.state.runId,
      time: moment.time, t: moment.t, data: resumed.encoded)
  }
}
