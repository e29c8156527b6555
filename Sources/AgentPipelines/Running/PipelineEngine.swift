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
  var scheduler: Scheduler
  private var outputs: OutputStore
  private(set) var ledger: EffectLedger
  private let sink: any EventSink
  let withholding: Withholding
  private let observe: (Event) async -> Void
  private let mailbox = Mailbox<Message>()
  private var handles: [Attempt: Task<Void, Never>] = [:]
  private var partCounts: [Attempt: Int] = [:]
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
    scheduler = Scheduler(pipeline.graph, state: past.state)
    outputs = past.outputs
    outputs.endReading(in: past.state)
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
    let moment = clock.isFixed ? moment ?? clock.moment() : clock.moment()
    self.moment = moment
    return scheduler.next(at: max(moment.t, state.elapsedMicroseconds))
  }

  private var moment: Moment?

  // MARK: Recording

  /// Records one event, and takes it in.
  ///
  /// - Throws: what the sink throws: the pipeline must stop then.
  @discardableResult
  func append(_ payload: EventPayload, isEffectAhead: Bool = false) async throws -> Int {
    let payload = withholding.redacted(payload)
    let moment = moment ?? clock.moment()
    self.moment = nil
    let seq = state.nextSeq
    let event = Event(
      seq: seq, step: seq == 0 ? 0 : 1, type: payload.type, runId: runId, time: moment.time,
      t: max(moment.t, state.elapsedMicroseconds), data: payload.encoded)
    try sink.append(event, isEffectAhead: isEffectAhead)
    scheduler.apply(event)
    if case .pipeline(let change) = payload {
      outputs.take(change, seq: seq, state: state)
      ledger.take(change, seq: seq)
    }
    await observe(event)
    return seq
  }

  /// Who wishes that the pipeline pauses; `nil` for nobody.
  private var pauseRequest: String? {
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
    let ending = await pausing.whileListening({ [mailbox] in mailbox.post(.woken) }, work)
    // Whoever still has something to say hears that nobody listens.
    mailbox.close()
    while let message = mailbox.take() {
      if case .part(_, _, let waiting) = message { waiting.resume(returning: false) }
    }
    do { try ending.get() } catch {
      for handle in handles.values { handle.cancel() }
      for handle in handles.values { await handle.value }
      throw error
    }
  }

  private func loop() async throws {
    while true {
      if !state.isPausing, let by = pauseRequest {
        try await append(.pipeline(.pauseRequested(PauseRequested(by: by))))
      }
      switch ask() {
      case .append(let change): try await append(.pipeline(change))
      case .breaker(let change): try await append(.breakerChanged(change))
      case .fail(let node, let error): try await fail(node, error)
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

  private func wait(until: Int?) async throws {
    if let recorded { return try await takeRecorded(recorded) }
    if let held = releasedOutcome() {
      return try await take(held.outcome, of: held.attempt, held.elapsed)
    }
    if let message = mailbox.take() { return try await take(message) }
    guard let until else { return try await take(await mailbox.next()) }
    if clock.isFixed {
      // Time passes when nothing else does: what runs is waited for however long it takes.
      if scheduler.runningTotal > 0 { return try await take(await mailbox.next()) }
      clock.advance(to: until)
      moment = nil
      return
    }
    let microseconds = until - clock.moment().t
    guard microseconds > 0 else { return }
    let timer = Task { [clock, mailbox] in
      await clock.wait(microseconds: microseconds)
      mailbox.post(.woken)
    }
    let message = await mailbox.next()
    timer.cancel()
    try await take(message)
  }

  /// Takes in what the log says came in next.
  private func takeRecorded(_ recorded: RecordedPipeline) async throws {
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
  private func givesParts(_ task: String) -> Bool { partsSources.contains(task) }

  private lazy var partsSources = Set(
    spec.tasks.compactMap { task -> String? in
      if case .parts(let source)? = task.forEach { source } else { nil }
    })

  /// Whether an attempt is the one that is under way.
  private func isCurrent(_ attempt: Attempt) -> Bool {
    let node = state[attempt.node.task]?.node(attempt.node.element)
    return node?.phase == .running && node?.attempt == attempt.number
  }

  private func take(_ value: JSONValue, of attempt: Attempt) async throws -> Bool {
    guard isCurrent(attempt), let task = pipeline.graph.places[attempt.node.task] else {
      return false
    }
    let part = partCounts[attempt] ?? 0
    partCounts[attempt] = part + 1
    let value = withholding.redacted(value.cut(toBytes: Self.outputLimitBytes))
    guard part >= state[attempt.node.task]?.parts ?? 0 else {
      // An earlier attempt gave it, and others may have gone on with it.
      guard outputs.part(part, of: task) ?? value == value else {
        handles[attempt]?.cancel()
        try await fail(
          attempt.node,
          TaskError(.invalid, "part \(part) is not the one that an earlier attempt gave"),
          isEffectUnknown: scheduler.acting(for: attempt.node)?.sideEffect != .read)
        return false
      }
      return true
    }
    try await append(
      .pipeline(
        .output(
          TaskOutput(node: attempt.node, attempt: attempt.number, part: part, value: value))))
    return true
  }

  private func take(
    _ outcome: TaskOutcome, of attempt: Attempt, _ elapsed: Int?
  ) async throws {
    handles[attempt] = nil
    withholding.redactor.know(outcome.secrets)
    let parts = partCounts.removeValue(forKey: attempt)
    guard isCurrent(attempt), let acting = scheduler.acting(for: attempt.node) else { return }
    let elapsed = clock.isFixed && recorded == nil ? nil : elapsed
    if let waiting = outcome.waiting {
      var asked = TaskAsked(
        node: attempt.node, why: .run, question: waiting.question, show: waiting.show)
      asked.attempt = attempt.number
      try await append(.pipeline(.asked(asked)))
      return
    }
    if let output = outcome.output {
      var finished = TaskFinished(
        node: attempt.node, attempt: attempt.number,
        output: output.cut(toBytes: Self.outputLimitBytes))
      finished.parts = parts
      finished.isCheckpoint =
        attempt.node.element == nil && spec.checkpoints.contains(attempt.node.task)
      finished.elapsedMicroseconds = elapsed
      finished.run = outcome.run
      try await append(.pipeline(.finished(finished)))
    } else {
      let error = outcome.error ?? TaskError(.toolFailure, "the attempt had no outcome")
      try await fail(
        attempt.node, error, isEffectUnknown: outcome.isEffectUnknown, run: outcome.run,
        elapsed: elapsed, own: outcome.recovery)
    }
    try await noteBreaker(of: acting, after: attempt.node)
  }

  private func noteBreaker(of acting: TaskSpec, after node: TaskNode) async throws {
    if let change = scheduler.breakerChange(after: node, by: acting) {
      try await append(.breakerChanged(change))
    }
  }

  /// Records that a node failed, and what is done about it; an attempt that is under way is ended.
  private func fail(
    _ node: TaskNode, _ error: TaskError, isEffectUnknown: Bool? = nil, run: TaskRun? = nil,
    elapsed: Int? = nil, own: TaskRecovery? = nil
  ) async throws {
    let begun = state[node.task]?.node(node.element)
    let acting = scheduler.acting(for: node)
    var isUnknown = isEffectUnknown ?? false
    if isEffectUnknown == nil, begun?.phase == .running {
      isUnknown = acting?.sideEffect != .read
      let attempt = Attempt(node: node, number: begun?.attempt ?? 0)
      handles.removeValue(forKey: attempt)?.cancel()
      partCounts[attempt] = nil
    }
    var failed = scheduler.failure(of: node, error, isEffectUnknown: isUnknown, own: own)
    failed.run = run ?? (begun?.phase == .running ? begun?.run : nil)
    failed.elapsedMicroseconds = elapsed
    try await append(.pipeline(.failed(failed)))
    if isEffectUnknown == nil, begun?.phase == .running, let acting {
      try await noteBreaker(of: acting, after: node)
    }
  }

  /// Attempts that were under way when the process before this one ended: one that is a run goes on with it, any other
  /// is in doubt. Runs that waited for a person go on too, where all is said.
  ///
  /// - Parameter goesOn: whether runs go on; where the pipeline is rolled back they do not.
  func tellInterrupted(goesOn: Bool = true) async throws {
    for task in state.tasks {
      for node in task.active {
        let name = TaskNode(task.id, element: node.element)
        if goesOn, try await resume(name, node) { continue }
        guard node.phase == .running else { continue }
        try await fail(
          TaskNode(task.id, element: node.element),
          TaskError(.interrupted, "the process ended while the attempt was under way"))
      }
    }
  }

  /// Goes on with the run that an attempt is; whether there is one that can.
  private func resume(_ name: TaskNode, _ node: NodeProgress) async throws -> Bool {
    guard let run = node.run, let acting = scheduler.acting(for: name),
      let task = pipeline.task(acting.id), task.goesOn
    else { return false }
    switch node.phase {
    case .running: break
    case .asked(.run):
      if let recorded {
        guard recorded.resumes(name, at: state.nextSeq) else { return false }
      } else {
        guard await task.mayGoOn(run) else { return false }
      }
    default: return false
    }
    let ready: (started: TaskStarted, context: TaskContext)
    do throws(TaskError) { ready = try prepared(name, acting) } catch {
      try await fail(name, error)
      return true
    }
    try await append(
      .pipeline(.resumed(TaskResumed(node: name, attempt: node.attempt, runId: run.runId))),
      isEffectAhead: acting.sideEffect != .read)
    var context = ready.context
    (context.attempt, context.seq, context.runId) = (node.attempt, node.startedSeq, run.runId)
    context.isResumed = true
    begin(Attempt(node: name, number: node.attempt), task, context)
    return true
  }

  // MARK: Beginning

  private func filled(
    _ template: TaskTemplate?, for node: TaskNode, own: JSONValue? = nil
  ) throws(TaskError) -> JSONValue? {
    guard let template else { return nil }
    return try template.filled { (reference) throws(TaskError) -> TaskTemplate.Found in
      try outputs.find(reference, for: node, in: state, own: own)
    }
  }

  private func ask(_ node: TaskNode) async throws {
    let asked: TaskAsked
    do throws(TaskError) { asked = try question(of: node) } catch {
      return try await fail(node, error)
    }
    try await append(.pipeline(.asked(asked)))
  }

  private func question(of node: TaskNode) throws(TaskError) -> TaskAsked {
    guard let human = scheduler.acting(for: node)?.human else {
      throw TaskError(.input, "\(node) has no question")
    }
    let question = try filled(human.ask, for: node) ?? ""
    let show = try filled(human.show, for: node)
    return TaskAsked(
      node: node, why: .human, question: question.stringValue ?? CanonicalJSON.string(question),
      show: show?.cut(toBytes: Self.outputLimitBytes))
  }

  private func expand(_ task: Int) async throws {
    let node = TaskNode(spec.tasks[task].id)
    let count: Int?
    do throws(TaskError) { count = try elementCount(of: task) } catch {
      return try await fail(node, error)
    }
    if let count {
      try await append(.pipeline(.expanded(TaskExpanded(task: node.task, elements: count))))
    } else {
      let reason = "the list that it runs for is absent"
      try await append(.pipeline(.skipped(TaskSkipped(node: node, reason: reason))))
    }
  }

  /// How many elements a task has; `nil` where what it runs for is absent.
  private func elementCount(of task: Int) throws(TaskError) -> Int? {
    let own = spec.tasks[task]
    guard case .list(let reference)? = own.forEach else { return nil }
    guard case .value(let whole) = try outputs.find(reference, for: TaskNode(own.id), in: state)
    else { return nil }
    guard let list = try reference.follow(whole).arrayValue else {
      throw TaskError(.input, "${\(reference.text)} is no list")
    }
    let limit = PipelineGraph.elementLimit
    guard list.count <= limit else {
      throw TaskError(
        .input, "${\(reference.text)} has \(list.count) elements; \(limit) are the most")
    }
    return list.count
  }

  private func start(_ node: TaskNode) async throws {
    guard let acting = scheduler.acting(for: node), let task = pipeline.task(acting.id) else {
      return
    }
    var ready: (started: TaskStarted, context: TaskContext)
    do throws(TaskError) { ready = try prepared(node, acting) } catch {
      return try await fail(node, error)
    }
    if acting.kind.isRun {
      let run = recorded.map { $0.run(at: state.nextSeq) } ?? TaskRun(runId: identifiers.next())
      ready.started.run = run
      ready.context.runId = run.runId
    }
    ready.context.seq = try await append(
      .pipeline(.started(ready.started)), isEffectAhead: acting.sideEffect != .read)
    begin(Attempt(node: node, number: ready.started.attempt), task, ready.context)
  }

  /// The next attempt at a node, as far as it is known before it begins: what is recorded, and what the task is given.
  private func prepared(
    _ node: TaskNode, _ acting: TaskSpec
  ) throws(TaskError) -> (started: TaskStarted, context: TaskContext) {
    let begun = state[node.task]?.node(node.element)
    var started = TaskStarted(
      node: node, attempt: (begun?.attempt ?? 0) + 1, acting: begun?.acting,
      kind: acting.kind.rawValue, sideEffect: acting.sideEffect.rawValue)
    started.input = try filled(acting.input, for: node)?.cut(toBytes: Self.outputLimitBytes)
    started.arguments = try filled(acting.arguments, for: node)?.cut(toBytes: Self.outputLimitBytes)
    started.compensate = try compensation(of: acting, for: node)
    started = withholding.redacted(started)
    let wrong = LocalExecutor.fault(
      in: started.input ?? .null, by: acting.inputSchema,
      "what it is given is not what inputSchema says")
    if let wrong { throw TaskError(.input, wrong) }
    started.origins = outputs.origins(
      of: (acting.input?.references ?? []) + (acting.arguments?.references ?? []), for: node)
    if acting.isIdempotent { started.isIdempotent = true }
    let key = idempotencyKey(of: acting, node, started.input, started.arguments)
    if acting.sideEffect != .read { started.idempotencyKey = key }
    let feedback = begun?.tellsFeedback ?? false ? begun?.error?.message : nil
    let attempt = Attempt(node: node, number: started.attempt)
    var context = TaskContext(
      pipelineId: state.pipelineId, pipelineRunId: runId, seq: state.nextSeq, node: node,
      attempt: started.attempt, input: started.input, origins: started.origins,
      arguments: started.arguments, idempotencyKey: key, feedback: feedback,
      timeoutMicroseconds: acting.timeoutMicroseconds, remaining: remaining,
      emit: { [mailbox] value in
        await withCheckedContinuation { waiting in
          if !mailbox.post(.part(attempt, value, waiting)) { waiting.resume(returning: false) }
        }
      })
    if recorded == nil { context = try withholding.restored(context, for: acting.kind) }
    return (started, context)
  }

  private func begin(_ attempt: Attempt, _ task: any PipelineTask, _ context: TaskContext) {
    if recorded != nil { return }
    handles[attempt] = Task { [executor, mailbox] in
      let start = ContinuousClock.now
      let outcome = await executor.run(task, context)
      let (seconds, attoseconds) = (ContinuousClock.now - start).components
      mailbox.post(
        .ended(
          attempt, outcome,
          elapsedMicroseconds: Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)))
    }
  }

  /// The command that undoes an attempt, as far as it is known before the attempt: what it returns is put in
  /// afterwards.
  private func compensation(
    of acting: TaskSpec, for node: TaskNode
  ) throws(TaskError) -> JSONValue? {
    switch acting.compensate {
    case .closure: return "closure"
    case .command(let template):
      guard template.references.contains(where: { $0.root == .output }) else {
        return try filled(template, for: node)
      }
      // What it will return is not known yet: that stays written, and what is put in beside it says that it
      // is no such place.
      return try template.filled { (reference) throws(TaskError) -> TaskTemplate.Found in
        guard reference.root == .output else {
          guard case .value(let value) = try outputs.find(reference, for: node, in: state) else {
            return .absent
          }
          return .value(Self.escaped(value))
        }
        var place = JSONValue.string("${\(reference.text)}")
        for case .key(let key) in reference.path.reversed() { place = [key: place] }
        return .value(place)
      }
    case nil: return nil
    }
  }

  /// A value whose texts stand for themselves where references are looked for.
  private static func escaped(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): .string(PlaceholderText.escaped(text))
    case .array(let elements): .array(elements.map(escaped))
    case .object(let object): .object(object.mapValues(escaped))
    default: value
    }
  }

  /// What names the action: what it is, not which attempt at it. One that was undone and is done again is
  /// another.
  private func idempotencyKey(
    of acting: TaskSpec, _ node: TaskNode, _ input: JSONValue?, _ arguments: JSONValue?
  ) -> String {
    var parts: [JSONValue] = [
      .string(state.pipelineId), .string(node.task), node.element.map { JSONValue($0) } ?? .null,
      .string(acting.id), input?.byValue ?? .null, arguments?.byValue ?? .null,
    ]
    if let round = state[node.task]?.round, round > 0 { parts.append(JSONValue(round)) }
    return Digest(of: .array(parts)).hex
  }

  /// What the tasks may still use together.
  private var remaining: Limits {
    let used = state.totals
    var limits = spec.limits
    limits.maxSteps = limits.maxSteps.map { max(0, $0 - used.steps) }
    limits.maxToolCalls = limits.maxToolCalls.map { max(0, $0 - used.toolCalls) }
    limits.maxTokens = limits.maxTokens.map { max(0, $0 - used.inputTokens - used.outputTokens) }
    limits.maxCost = limits.maxCost.map { max(0, $0 - (used.cost ?? 0)) }
    limits.timeoutSeconds = limits.timeoutSeconds.map {
      max(0, $0 - Double(state.elapsedMicroseconds) / 1_000_000)
    }
    return limits
  }
}
