public import AgentRuntime
public import AgentTrace
public import TraceStorage

/// A run that was made from another one: the same up to some event, and then its own.
public struct RunFork: Sendable {
  /// The log's path.
  public var log: String
  /// The state after the last event.
  public var state: AgentState
  /// The digest of the log's last seal.
  public var sealDigest: Digest
  /// Where it came from, as its log says.
  public var parent: ParentRun
  /// The question at which it ended because the parent's log does not answer it, and nobody else was
  /// to; `nil` where it ran to a stop.
  public var unanswered: String?
  /// How many events are its own.
  public var newEvents: Int

  /// What is forked, and how it goes on.
  public struct Request: Sendable {
    /// The parent's log.
    public var parent: String
    /// Where it is forked.
    public var point: ForkPoint
    /// What is otherwise from there on.
    public var edits: ForkEdits
    /// The agent that goes on. Whom it acts for is taken from the parent.
    public var agent: AgentDefinition
    /// The fork's own identifier.
    public var runId: String
    /// What the identifier was made from; `nil` where it is random.
    public var seed: Int?
    /// Where the log goes: a name that ends in `.jsonl.gz` and is not taken.
    public var log: String
    /// How the log is written.
    public var logOptions: LogWriter.Options
    /// Makes the clock, from the microseconds of active run time that have passed.
    public var clock: @Sendable (Int) -> any RunClock
    /// What ends the fork early.
    public var cancellation: Cancellation
    /// What is known of secrets before the fork goes on.
    public var secrets = RunSecrets()
    /// Where logs of runs that the parent was forked from may be, besides beside it and the new log: with their slash.
    public var ancestorFolders: [String] = []
    /// Makes whoever answers what the recording does not; `nil` where nobody may.
    public var live: (@Sendable (AgentDefinition, any RunClock) -> any Boundary)?

    /// No file is touched. A live boundary must listen to the cancellation.
    public init(
      parent: String, at point: ForkPoint, edits: ForkEdits = ForkEdits(), agent: AgentDefinition,
      runId: String, seed: Int? = nil, log: String, logOptions: LogWriter.Options = .init(),
      cancellation: Cancellation = Cancellation(), clock: @escaping @Sendable (Int) -> any RunClock,
      live: (@Sendable (AgentDefinition, any RunClock) -> any Boundary)? = nil
    ) {
      self.parent = parent
      self.point = point
      self.edits = edits
      self.agent = agent
      self.runId = runId
      self.seed = seed
      self.log = log
      self.logOptions = logOptions
      self.cancellation = cancellation
      self.clock = clock
      self.live = live
    }
  }
}

extension RunFork {
  /// Copies the parent up to the place, and goes on.
  ///
  /// - Parameters:
  ///   - request: What is forked, where, and how it goes on.
  ///   - observeShared: Called with each event that is copied.
  ///   - observe: Called with each event of the fork's own once it is kept.
  /// - Throws: ``ForkError``, ``RecordingError`` or `LogError` of the parent, before anything is
  ///   written; `LogError` where the fork's log is there already or cannot be written, or where the logs of children
  ///   that it has of its parent cannot be copied to beside it.
  /// - Complexity: reading the parent up to the place twice, and where something live may answer all of it once, and
  ///   the runs that it was forked from.
  public init(
    _ request: Request, observeShared: (Event) -> Void = { _ in },
    observe: @escaping (Event) -> Void = { _ in }
  ) async throws {
    let steps = try RecordedSteps(path: request.parent, acrossSessions: true)
    let plan = try ForkPlan(
      of: request.parent, runId: steps.runId, at: request.point, request.edits,
      started: steps.started,
      laterActionsIn: request.live == nil
        ? nil
        : [request.parent, request.log].map(RunTreeReader.folder(ofLog:)) + request.ancestorFolders)
    var fork = ForkInProgress(request, plan, steps)
    try fork.check()
    let redactor = try Redactor(
      recalling: request.parent, of: fork.agent, request.secrets, values: .needed)
    fork.withhold(by: redactor)
    let writer = try LogWriter(creating: request.log, options: request.logOptions)
    var past = try fork.copy(into: writer, observeShared: observeShared, observe: observe)
    let clock = request.clock(
      RecordedTime.clamped(past.state.elapsedMicroseconds) + ForkInProgress.tick)
    if let resumed = fork.resumed(past, at: clock) {
      try writer.append(resumed, isEffectAhead: false)
      try past.take(resumed)
      observe(resumed)
    }
    let boundary = ForkBoundary(
      steps, after: past, live: request.live?(fork.agent, clock), clock: clock,
      cancellation: request.cancellation, person: fork.agent.human?.model,
      editedReply: request.edits.reply)
    let sink = ForkSink(writer: writer, boundary: boundary)
    var made = past.nextSeq - plan.shared - 1
    do {
      _ = try await Runtime(agent: fork.agent, boundary: boundary, redactor: redactor).goOn(
        from: past, fork.continuation(after: past, on: boundary), into: sink,
        observe: { event in
          made += 1
          observe(event)
        })
    } catch is ForkSink.Unanswered {
      unanswered = boundary.unanswered
    }
    if let failure = boundary.failure { throw failure }
    let closed = try writer.close()
    try LogFiles.copyChildren(ofLog: closed.path, fromBeside: request.parent)
    log = closed.path
    sealDigest = closed.sealDigest
    state = writer.state
    parent = fork.parent
    newEvents = made
  }
}

/// What a fork is made of while it is made.
private struct ForkInProgress {
  /// A little later than the last shared event, so that no clock begins behind it.
  static let tick = 1_000

  let request: RunFork.Request
  private(set) var plan: ForkPlan
  /// Whether what both share ends where the parent stood still, behind what people said meanwhile.
  private(set) var isPaused = false
  let parentId: String
  private(set) var agent: AgentDefinition
  private(set) var parent: ParentRun
  private var redactor: Redactor?

  init(_ request: RunFork.Request, _ plan: ForkPlan, _ steps: RecordedSteps) {
    self.request = request
    self.plan = plan
    parentId = steps.runId
    agent = request.agent
    if agent.policyContext != plan.started.policyContext {
      agent.policyContext = plan.started.policyContext
      agent.note(.fork, of: "policyContext")
    }
    if request.live == nil, plan.started.origins["human"] != nil {
      agent.takeOver(personIn: plan.started.models)
      agent.note(.fork, of: "human")
    }
    let dropped =
      DroppedItem.all(in: plan.started.parent)
      + request.edits.droppedRefs.map { DroppedItem(ref: $0, behind: plan.shared) }
    var edit: JSONObject = [:]
    if !dropped.isEmpty { edit["dropContext"] = .array(dropped.map(\.encoded)) }
    if request.edits.reply != nil {
      // Behind the packet, which the fork makes itself where it begins before it.
      edit["decision"] = JSONValue(plan.shared + (plan.packet == nil ? 2 : 1))
    }
    if plan.editedResult != nil { edit["result"] = JSONValue(plan.shared + 1) }
    parent = ParentRun(runId: parentId, seq: plan.shared, relation: "fork", edit: edit)
    agent.leaveOut(asForkedFrom: parent)
  }

  /// Withholds what the agent file and an edited result hold.
  mutating func withhold(by redactor: Redactor) {
    self.redactor = redactor
    agent = agent.redacted(by: redactor)
    if let data = plan.editedResult?.event.data {
      plan.editedResult?.event.data = redactor.redacted(.object(data)).objectValue ?? data
    }
  }

  /// Checks everything that can be checked before something is written.
  func check() throws {
    let registry = try ToolRegistry(plan.history.listed.tools(of: agent))
    for ref in request.edits.droppedRefs
    where !plan.refs.contains(where: { $0.hasSameUTF8(as: ref) }) {
      throw ForkError(code: .noSuchItem(ref, known: plan.refs), path: request.parent)
    }
    guard let reply = request.edits.reply else { return }
    let assembler = ContextAssembler(agent: agent)
    let disclosed =
      plan.packet?.toolsDisclosed
      ?? assembler.disclosedTools(route: agent.policyContext.route, plan.history).map(\.name)
    let decision = ModelReply(reply).decision(step: 1, tryNumber: 1) { call in
      registry.fault(in: call, disclosed: disclosed)
    }
    if case .invalid(let reason, _) = decision {
      throw ForkError(code: .invalidDecision(reason), path: request.parent)
    }
  }

  // MARK: What both share

  /// Copies what both share, and puts an edited result behind it.
  ///
  /// The fork's events are those that it would have made itself: they carry its run id, and a pause on
  /// the way names the digest of its own state.
  mutating func copy(
    into writer: LogWriter, observeShared: (Event) -> Void, observe: (Event) -> Void
  ) throws -> RunPast {
    var past = RunPast(for: agent)
    func add(_ event: Event, _ observe: (Event) -> Void) throws {
      let event = own(event, in: past.state)
      do { try past.take(event) } catch {
        throw ForkError(
          code: .unreadable(seq: event.seq, type: event.type.rawValue, error),
          path: request.parent)
      }
      try writer.append(event, isEffectAhead: false)
      observe(event)
      if event.type == .stop || event.type == .runResumed { isPaused = event.type == .stop }
    }
    var reader = try LogReader(path: request.parent)
    while past.nextSeq <= plan.shared, let event = try reader.next() {
      try add(event, observeShared)
    }
    if let edited = plan.editedResult { try add(edited.event, observe) }
    return past
  }

  /// An event of the parent as the fork's own.
  private mutating func own(_ event: Event, in state: AgentState) -> Event {
    var event = event
    event.runId = request.runId
    switch event.type {
    case .runStarted: event.data = start(replacing: event.data)
    case .contextBuilt:
      if event.data["runId"]?.stringValue?.hasSameUTF8(as: parentId) ?? false {
        event.data["runId"] = .string(request.runId)
      }
    case .toolStarted:
      if let callId = event.data["callId"]?.stringValue,
        event.data["idempotencyKey"] == .string("\(parentId)/\(callId)")
      {
        event.data["idempotencyKey"] = .string("\(request.runId)/\(callId)")
      }
    case .stop:
      if event.data["stateDigest"] != nil, event.data["stateFormat"] == JSONValue(AgentState.format)
      {
        event.data["stateDigest"] = .string(state.digest.hex)
      }
    default: break
    }
    return event
  }

  /// The parent's start, with the agent that goes on. A fork is no trial of its parent's case.
  private mutating func start(replacing before: JSONObject) -> JSONObject {
    let own = agent.started(
      Runtime.Start(goal: plan.started.goal, runId: request.runId, seed: request.seed),
      withheldBy: redactor
    ).encoded
    var data = before
    for key in [
      "agent", "inputs", "limits", "model", "models", "origins", "policyDigest", "seed", "tools",
    ] {
      data[key] = own[key]
    }
    data["case"] = nil
    parent.inputs = sharedInputs(replacing: before, with: own)
    data["parent"] = .object(parent.encoded)
    return data
  }

  /// Under what both shared what they share, where the fork goes on under something else; see
  /// ``ParentRun/inputs``.
  private func sharedInputs(replacing before: JSONObject, with own: JSONObject) -> JSONObject {
    var inputs = JSONObject()
    let files = ForkPlan.SharedFiles(
      agentDigest: agent.digest, policyDigest: agent.policy.digest)
    if let other = plan.files.last(where: { $0 != files }) {
      inputs["agentDigest"] = other.agentDigest.map(JSONValue.string) ?? .null
      inputs["policyDigest"] = other.policyDigest.map(JSONValue.string) ?? .null
    }
    if before["limits"] != own["limits"] { inputs["limits"] = before["limits"] ?? .null }
    for key in ["models", "tools"] where before[key] != own[key] {
      // What was not recorded is not known to be otherwise.
      guard let value = before[key] else { continue }
      inputs[key] = .string(Digest(of: value).hex)
    }
    // What the parent took over of a run before it was not made under its inputs either.
    return inputs.isEmpty ? plan.started.parent?.inputs ?? [:] : inputs
  }

  // MARK: Going on

  /// What says that the fork goes on where the parent had paused and people had spoken since; `nil` where
  /// it had not.
  func resumed(_ past: RunPast, at clock: any RunClock) -> Event? {
    guard isPaused, let stop = past.state.stop else { return nil }
    let cause = [stop.reason, stop.detail].compactMap { $0 }.joined(separator: ", ")
    let moment = clock.reading()
    return Event(
      seq: past.nextSeq, step: past.progress.step, type: .runResumed, runId: request.runId,
      time: moment.time, t: moment.t, data: RunResumed(why: "forked after \(cause)").encoded)
  }

  /// What is open at the fork, and what the parent did later.
  func continuation(after past: RunPast, on boundary: ForkBoundary) -> Continuation {
    let isLive = request.live != nil
    let progress = past.progress
    let later = plan.laterActions
    // As the parent has started them, whatever the fork's agent file says of them.
    let unsafe = Set(plan.started.tools.filter { !$0.isSafeTwice }.map(\.name))
    return Continuation(
      unfinished: { call, tool in
        // The recording answers without an effect; without anybody live there is none at all.
        let attempt = max(1, progress[call.callId].attempts)
        let isHarmless =
          !isLive || boundary.isRecorded(call, attempt: attempt)
          || (tool.isSafeTwice && !unsafe.contains(call.name))
        return isHarmless ? .runAgain : .askAgain
      },
      asksAgain: { call, tool in
        guard isLive, let reason = later.reason(toAskAbout: call, tool),
          !boundary.isRecorded(call)
        else { return nil }
        return reason
      },
      voidsGrant: { call in
        isLive && !boundary.isRecorded(call) ? EarlierGrant.reason : nil
      })
  }
}

/// Keeps events as long as the recording answers, or somebody live does.
private final class ForkSink: EventSink {
  /// A question has no answer: nothing more is kept.
  struct Unanswered: Error {}

  private let writer: LogWriter
  private let boundary: ForkBoundary

  init(writer: LogWriter, boundary: ForkBoundary) {
    self.writer = writer
    self.boundary = boundary
  }

  func append(_ event: Event, isEffectAhead: Bool) throws {
    if event.type == .toolStarted { _ = boundary.mayStart(event) }
    if boundary.unanswered != nil || boundary.failure != nil { throw Unanswered() }
    try writer.append(event, isEffectAhead: isEffectAhead)
    boundary.follow(event)
  }
}
