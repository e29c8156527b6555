/// Where a pipeline stands: a fold over the events of its log, with nothing from outside.
///
/// Bounded by the pipeline, not by what has happened in it: of a fan-out it keeps which elements settled as
/// runs of indexes, and of nodes only those that have begun and have not settled. Outputs stay in the
/// log.
public struct PipelineState: Sendable, Hashable {
  /// A rollback that has begun and is not over.
  public struct Rollback: Sendable, Hashable {
    /// What it began with.
    public var start: RollbackStarted
    /// The event with which it began.
    public var seq: Int
    /// How many effects are undone.
    public var compensated = 0
    /// What is being undone, or could not be; `nil` between two.
    public var current: CompensationStarted?
    /// Why the last attempt at that failed; `nil` where it has not.
    public var error: String?
  }

  /// The run's identifier.
  public var runId = ""
  /// What names the work, over all of its runs; empty before the first event.
  public var pipelineId = ""
  /// The pipeline's name.
  public var name = ""
  /// What the pipeline was given.
  public var input: JSONValue?
  /// What the tasks were when the run began or went on; see ``RunStarted/inputs``.
  public var definition: JSONObject = [:]
  /// What the pipeline that this one stands in had left when the run began; `nil` where it stands in none, or that one
  /// has no limits.
  public var outerLimits: Limits?
  /// The seed that chance is made from.
  public var seed = 0
  /// The tasks that something has happened to, in that order.
  public private(set) var tasks: [TaskProgress] = []
  /// Whether it is wished that it pauses.
  public var isPausing = false
  /// The rollback that is under way.
  public var rollback: Rollback?
  /// Whether a rule has said that all is to be undone, and the pipeline is to stop.
  public var isCompensating = false
  /// Whether that is done.
  public var isUndone = false
  /// Why the run stopped; `nil` while it goes on.
  public var stop: AgentState.StopSummary?
  /// What its tasks' runs used.
  public var totals = Totals()
  /// The greatest moment so far, in microseconds of active run time.
  public var elapsedMicroseconds = 0
  /// The number of the next event.
  public var nextSeq = 0
  private var places: [String: Int] = [:]
  /// The tasks of which effects were undone in the last rollback, elements aside.
  private var undoneTasks: Set<String> = []

  /// Nothing has happened.
  public init() {}

  /// A task; `nil` where nothing has happened to it.
  public subscript(task: String) -> TaskProgress? { places[task].map { tasks[$0] } }

  /// Changes a task; one that nothing has happened to is begun.
  mutating func change(_ task: String, _ body: (inout TaskProgress) -> Void) {
    if let place = places[task] {
      body(&tasks[place])
    } else {
      var progress = TaskProgress(id: task)
      body(&progress)
      places[task] = tasks.count
      tasks.append(progress)
    }
  }

  /// What waits for a person: each node, why, and the state of its task.
  public var questions: [(node: TaskNode, why: TaskAsked.Why)] {
    tasks.flatMap { task in
      task.active.compactMap { node in
        if case .asked(let why) = node.phase {
          return (TaskNode(task.id, element: node.element), why)
        }
        return nil
      }
    }
  }

  /// What the run came to, whatever way it took: of each task how it ended, and of its elements. Where a rule has had
  /// all undone, nothing stays finished or skipped: `undone` is all but what failed and had done nothing.
  /// Without numbers of events and attempts, and without times.
  public var result: JSONObject {
    var result = JSONObject()
    for task in tasks.sorted(by: { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }) {
      guard task.settled != nil || task.settledElements > 0 else { continue }
      result[task.id] = .object(
        JSONObject(present: [
          ("settled", ending(of: task).map(JSONValue.string)),
          ("elements", task.elements.map { JSONValue($0) }),
          ("finished", task.finished.isEmpty || isUndone ? JSONValue?.none : task.finished.encoded),
          ("skipped", task.skipped.isEmpty || isUndone ? JSONValue?.none : task.skipped.encoded),
          ("failed", task.failed.isEmpty ? JSONValue?.none : task.failed.encoded),
        ]))
    }
    return result
  }

  /// The word for how a task ended.
  private func ending(of task: TaskProgress) -> String? {
    let isKept = task.settled == .failed && !undoneTasks.contains(task.id)
    return isUndone && !isKept ? "undone" : task.settled?.rawValue
  }

  /// What a case may ask of the state, and `replay --event` prints: without what is under way.
  public var encoded: JSONValue {
    let stop = stop.map { stop in
      JSONValue.object(
        JSONObject(present: [
          ("reason", .string(stop.reason)), ("detail", stop.detail.map(JSONValue.string)),
        ]))
    }
    return .object(
      JSONObject(present: [
        ("runId", .string(runId)), ("pipelineId", .string(pipelineId)), ("input", input),
        ("stop", stop), ("totals", .object(totals.encoded)), ("tasks", .object(result)),
        ("elapsedMicroseconds", JSONValue(elapsedMicroseconds)),
      ]))
  }

  /// The ids of its tasks as they were defined when the run began or went on, without those that only stand in.
  public var definedTasks: [String] {
    let tasks = definition["tasks"]?.arrayValue ?? []
    let standIns = tasks.flatMap { task in
      (task["recover"]?.arrayValue ?? []).compactMap { $0["task"]?.stringValue }
    }
    return tasks.compactMap { $0["id"]?.stringValue }.filter { id in
      self[id] != nil || !standIns.contains { $0.hasSameUTF8(as: id) }
    }
  }
}

extension PipelineState {
  /// Folds one event in. Of an event of another type, and of one whose data are not what its type
  /// promises, only number and time count.
  public mutating func apply(_ event: Event) {
    nextSeq = event.seq + 1
    elapsedMicroseconds = max(elapsedMicroseconds, event.t)
    switch event.type {
    case .runStarted: take(start: event)
    case .runResumed:
      stop = nil
      isPausing = false
      if let object = event.data["inputs"]?["pipeline"]?.objectValue {
        withdrawQuestions(from: definition, to: object)
        definition = object
      }
    case .stop:
      stop = AgentState.StopSummary(
        reason: event.data["reason"]?.stringValue ?? "", detail: event.data["detail"]?.stringValue,
        isFinal: event.data["final"]?.boolValue ?? true)
    case .breakerChanged: take(breaker: event)
    default: take(task: event)
    }
  }

  private mutating func take(start event: Event) {
    runId = event.runId
    pipelineId = event.data["pipelineId"]?.stringValue ?? ""
    name = event.data["agent"]?["name"]?.stringValue ?? ""
    input = event.data["input"]
    definition = event.data["inputs"]?["pipeline"]?.objectValue ?? [:]
    seed = event.data["seed"]?.intValue ?? 0
    outerLimits = (event.data["parent"]?["inputs"]?["limits"]?.objectValue)
      .flatMap { try? Limits(decoding: $0) }
  }

  /// Takes back what a person is asked and nobody asks any more, where the pipeline goes on as another one: what a task
  /// that is gone asked, and what one of a person asked that asks something else now, or is no person's. What may have
  /// happened outside is still to be said.
  private mutating func withdrawQuestions(from before: JSONObject, to now: JSONObject) {
    func task(_ id: String, in definition: JSONObject) -> JSONValue? {
      definition["tasks"]?.arrayValue?.first { $0["id"]?.stringValue?.hasSameUTF8(as: id) ?? false }
    }
    for index in tasks.indices where !tasks[index].active.isEmpty {
      let (old, new) = (task(tasks[index].id, in: before), task(tasks[index].id, in: now))
      let asksSame =
        new != nil && ["kind", "ask", "show", "forEach"].allSatisfy { old?[$0] == new?[$0] }
      tasks[index].active.removeAll { node in
        switch node.phase {
        case .asked(.human), .answered(.human, _): !asksSame
        case .asked(.failed), .asked(.again), .asked(.run): new == nil
        default: false
        }
      }
    }
  }

  private mutating func take(breaker event: Event) {
    guard let change = try? BreakerChanged(decoding: event.data) else { return }
    self.change(change.tool) {
      $0.breaker = change.state
      $0.breakerFailures = change.failures
      $0.breakerChangedAt = event.t
    }
  }

  private mutating func take(task event: Event) {
    guard let payload = try? EventPayload(of: event), case .pipeline(let change) = payload else {
      return
    }
    switch change {
    case .started(let started): take(started, event)
    case .output(let output):
      self.change(output.node.task) { $0.parts = max($0.parts, output.part + 1) }
    case .failed(let failed): take(failed, event)
    case .finished(let finished):
      add(finished.run)
      countForBreaker(finished.node, attempt: finished.attempt, isFailure: false)
      self.change(finished.node.task) { task in
        if let count = finished.elements { task.elements = count }
        if finished.node.element == nil, finished.elements == nil, finished.parts == nil {
          task.lacksParts = finished.attempt == 0 || task.node(nil)?.acting != nil
        }
        task.settle(finished.node.element, as: .finished, seq: event.seq)
        if finished.isCheckpoint { task.checkpointSeq = event.seq }
      }
    case .skipped(let skipped):
      self.change(skipped.node.task) {
        $0.settle(skipped.node.element, as: .skipped, seq: event.seq)
      }
    case .expanded(let expanded): self.change(expanded.task) { $0.elements = expanded.elements }
    case .asked(let asked):
      self.change(asked.node.task) { task in
        task.change(asked.node.element) { $0.phase = .asked(asked.why) }
      }
    case .answered(let answered): take(answered)
    case .resumed(let resumed):
      self.change(resumed.node.task) { task in
        task.change(resumed.node.element) { node in
          node.phase = .running
          node.startedAt = event.t
        }
      }
    case .pauseRequested: isPausing = true
    case .rollbackStarted(let start):
      rollback = Rollback(start: start, seq: event.seq)
      undoneTasks = []
    case .compensationStarted(let start):
      rollback?.current = start
      rollback?.error = nil
    case .compensationFinished(let end):
      rollback?.error = end.error
      if end.error == nil {
        if end.node.element == nil { undoneTasks.insert(end.node.task) }
        rollback?.compensated += 1
        rollback?.current = nil
      }
    case .rolledBack(let end): take(end)
    }
  }

  private mutating func take(_ started: TaskStarted, _ event: Event) {
    change(started.node.task) { task in
      task.change(started.node.element) { node in
        if case .answered(.again, _) = node.phase { node.isReleased = true }
        node.phase = .running
        node.attempt = started.attempt
        node.acting = started.acting
        node.firstStartedAt = node.firstStartedAt ?? event.t
        node.startedAt = event.t
        node.startedSeq = event.seq
        node.run = started.run
      }
    }
  }

  private mutating func take(_ failed: TaskFailed, _ event: Event) {
    let recovery = failed.recovery
    add(failed.run)
    if failed.error.countsForBreaker {
      countForBreaker(failed.node, attempt: failed.attempt, isFailure: true)
    }
    if recovery.action == .compensate { isCompensating = true }
    change(failed.node.task) { task in
      switch recovery.action {
      case .fail, .compensate:
        task.error = failed.error
        task.settle(failed.node.element, as: .failed, seq: event.seq)
      default:
        task.change(failed.node.element) { node in
          node.error = failed.error
          node.tellsFeedback = recovery.tellsFeedback
          node.take(recovery, at: event.t)
        }
      }
    }
  }

  private mutating func take(_ answered: TaskAnswered) {
    change(answered.node.task) { task in
      guard case .asked(let why)? = task.node(answered.node.element)?.phase else { return }
      task.change(answered.node.element) { $0.phase = .answered(why, answered) }
    }
  }

  private mutating func take(_ end: RolledBack) {
    rollback = nil
    if isCompensating { isUndone = true }
    for kept in end.tasks {
      change(kept.task) { task in
        task.settled = nil
        task.settledSeq = nil
        task.checkpointSeq = nil
        task.error = nil
        task.elements = kept.elements
        task.parts = 0
        task.lacksParts = false
        task.finished = kept.finished
        task.skipped = kept.skipped
        task.failed = kept.failed
        task.active = []
        task.breaker = .closed
        task.breakerFailures = 0
        task.round += 1
      }
    }
  }

  /// Counts failures in a row of the task that made an attempt, whichever it stands in for.
  private mutating func countForBreaker(_ node: TaskNode, attempt: Int, isFailure: Bool) {
    guard attempt > 0, let progress = self[node.task]?.node(node.element),
      case .running = progress.phase
    else { return }
    change(progress.acting ?? node.task) { task in
      task.breakerFailures = isFailure ? task.breakerFailures + 1 : 0
    }
  }

  /// What a task's run used counts for the pipeline.
  private mutating func add(_ run: TaskRun?) {
    guard let used = run?.totals, !used.isEmpty, let used = try? Totals(decoding: used) else {
      return
    }
    totals.add(used)
  }
}

extension NodeProgress {
  mutating func take(_ recovery: TaskRecovery, at t: Int) {
    switch recovery.action {
    case .retry, .again:
      if recovery.action == .retry {
        if let rule = recovery.rule { ruleUses[rule, default: 0] += 1 } else { retries += 1 }
      }
      let (until, overflows) = t.addingReportingOverflow(recovery.waitMicroseconds ?? 0)
      phase = .waiting(until: overflows ? Int.max : until)
    case .fallback:
      acting = recovery.task
      retries = 0
      ruleUses = [:]
      phase = .waiting(until: t)
    case .substitute, .skip, .ask, .compensate, .fail: phase = .recovering(recovery)
    }
  }
}
