import AgentRuntime
import AgentTrace

/// What is done about what attempts come to, and about those that a process left.
extension PipelineEngine {
  /// Whether an attempt is the one that is under way.
  func isCurrent(_ attempt: Attempt) -> Bool {
    let node = state[attempt.node.task]?.node(attempt.node.element)
    return node?.phase == .running && node?.attempt == attempt.number
  }

  /// Whether an attempt that is a run has not ended: it is under way, or waits for a person.
  func isOpen(_ attempt: Attempt) -> Bool {
    guard let node = state[attempt.node.task]?.node(attempt.node.element),
      node.attempt == attempt.number
    else { return false }
    switch node.phase {
    case .running, .asked(.run): return true
    case .waiting, .recovering, .asked, .answered: return false
    }
  }

  func take(_ value: JSONValue, of attempt: Attempt) async throws -> Bool {
    guard isCurrent(attempt), let task = pipeline.graph.places[attempt.node.task] else {
      return false
    }
    guard endings[attempt] == nil else {
      // What ends well without it has not given all that it had.
      endings[attempt]?.isLate = true
      return false
    }
    if state.isPausing, recorded == nil, mayBeCutOff(attempt) {
      try await end(
        attempt.node, TaskError(.interrupted, "the pipeline paused while the attempt gave parts"),
        isLate: true)
      return false
    }
    let part = partCounts[attempt] ?? 0
    guard part < PipelineGraph.elementLimit else {
      handles[attempt]?.cancel()
      try await fail(
        attempt.node,
        TaskError(.input, "more than \(PipelineGraph.elementLimit) parts"),
        isEffectUnknown: scheduler.acting(for: attempt.node)?.sideEffect != .read)
      return false
    }
    partCounts[attempt] = part + 1
    let value = withholding.redacted(value.cut(toBytes: Self.outputLimitBytes))
    guard part >= state[attempt.node.task]?.parts ?? 0 else {
      // An earlier attempt gave it, and others may have gone on with it.
      let isSame =
        outputs.part(part, of: task).map { withholding.redactor.isSame(value, as: $0) } ?? true
      guard isSame else {
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

  /// Records what the scheduler says. A value that stands in for the output of a task whose parts others take gives its
  /// elements as parts first.
  func record(_ change: PipelineEvent) async throws {
    guard case .finished(var finished) = change, finished.via != nil,
      finished.node.element == nil, givesParts(finished.node.task)
    else {
      try await append(.pipeline(change))
      return
    }
    finished.parts = try await takeParts(from: finished.output, of: finished.node, finished.attempt)
    try await append(.pipeline(.finished(finished)))
  }

  /// Records the elements of an output, which came without parts, as those that others take.
  ///
  /// - Returns: how many there are; `nil` where it is no list that begins with the parts that were given already: others
  ///   have gone on with these.
  private func takeParts(
    from output: JSONValue?, of node: TaskNode, _ attempt: Int
  ) async throws -> Int? {
    guard let list = output?.arrayValue, list.count <= PipelineGraph.elementLimit else {
      return nil
    }
    let given = knownParts(of: node)
    let isSame =
      given.count <= list.count
      && zip(given, list).allSatisfy {
        withholding.redactor.isSame(withholding.redacted($1), as: $0)
      }
    guard isSame else { return nil }
    for part in given.count..<list.count {
      try await append(
        .pipeline(
          .output(TaskOutput(node: node, attempt: attempt, part: part, value: list[part]))))
    }
    return list.count
  }

  /// The parts of a task's output that are recorded.
  func knownParts(of node: TaskNode) -> [JSONValue] {
    guard let task = pipeline.graph.places[node.task] else { return [] }
    return (0..<(state[node.task]?.parts ?? 0)).map { outputs.part($0, of: task) ?? .null }
  }

  /// Whether another task acts for one whose parts others take.
  private func isStandIn(_ acting: TaskSpec, for node: TaskNode) -> Bool {
    node.element == nil && !acting.id.hasSameUTF8(as: node.task) && givesParts(node.task)
  }

  /// Whether a task that gives no parts acts for one whose parts others take.
  func standsInWithoutParts(for node: TaskNode) -> Bool {
    guard let acting = scheduler.acting(for: node) else { return false }
    return isStandIn(acting, for: node) && !acting.givesParts
  }

  /// Whether an attempt that gives parts is not waited for when the pipeline pauses, since there may be no end to them: it
  /// can be made again, and then gives the same from the first one on.
  private func mayBeCutOff(_ attempt: Attempt) -> Bool {
    guard let acting = scheduler.acting(for: attempt.node) else { return false }
    return acting.mayRepeat && !acting.kind.isRun
  }

  func take(
    _ outcome: TaskOutcome, of attempt: Attempt, _ elapsed: Int?
  ) async throws {
    handles[attempt] = nil
    runs.remove(attempt)
    let share = given.removeValue(forKey: attempt)
    withholding.redactor.know(outcome.secrets)
    var parts = partCounts.removeValue(forKey: attempt)
    let ending = endings.removeValue(forKey: attempt)
    ending?.timer?.cancel()
    guard isCurrent(attempt), let acting = scheduler.acting(for: attempt.node) else { return }
    let outcome = ending?.outcome(of: outcome, acting) ?? outcome
    let elapsed = clock.isFixed && recorded == nil ? nil : elapsed
    if let waiting = outcome.waiting {
      var asked = TaskAsked(
        node: attempt.node, why: .run, question: waiting.question, show: waiting.show)
      asked.attempt = attempt.number
      // It goes on with what it was given.
      given[attempt] = share
      try await append(.pipeline(.asked(asked)))
      return
    }
    if let output = outcome.output, !output.isLarger(thanBytes: Self.outputLimitBytes),
      isStandIn(acting, for: attempt.node)
    {
      parts =
        acting.givesParts
        ? parts ?? 0 : try await takeParts(from: output, of: attempt.node, attempt.number)
    }
    // Others have gone on with what an earlier attempt gave.
    let lacking =
      outcome.output == nil || !givesParts(attempt.node.task)
      ? 0 : (state[attempt.node.task]?.parts ?? 0) - (parts ?? 0)
    if lacking > 0 {
      let error = TaskError(
        .invalid, "\(lacking) of the parts that an earlier attempt gave did not come")
      try await fail(
        attempt.node, error, isEffectUnknown: acting.sideEffect != .read, run: outcome.run,
        elapsed: elapsed)
    } else if let output = outcome.output, output.isLarger(thanBytes: Self.outputLimitBytes) {
      // Whoever goes on with a part of it takes that for the whole.
      let error = TaskError(
        .invalid,
        "its output has more than \(Self.outputLimitBytes >> 20) MiB or too many values; write it to a file and return its name"
      )
      try await fail(
        attempt.node, error, isEffectUnknown: acting.sideEffect != .read, run: outcome.run,
        elapsed: elapsed)
    } else if let output = outcome.output {
      var finished = TaskFinished(
        node: attempt.node, attempt: attempt.number,
        output: output)
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
    try await noteBreaker(of: acting)
  }

  func noteBreaker(of acting: TaskSpec) async throws {
    if let change = scheduler.breakerChange(of: acting) {
      try await append(.breakerChanged(change))
    }
  }

  /// Records that a node failed, and what is done about it; an attempt that is under way is ended.
  func fail(
    _ node: TaskNode, _ error: TaskError, isEffectUnknown: Bool? = nil, run: TaskRun? = nil,
    elapsed: Int? = nil, own: TaskRecovery? = nil
  ) async throws {
    let begun = state[node.task]?.node(node.element)
    let acting = scheduler.acting(for: node)
    var isUnknown = isEffectUnknown ?? false
    if isEffectUnknown == nil, begun?.phase == .running {
      isUnknown = acting?.sideEffect != .read
      let attempt = Attempt(node: node, number: begun?.attempt ?? 0)
      given[attempt] = nil
      handles[attempt]?.cancel()
      // A run is waited for once the pipeline has stopped.
      if !runs.contains(attempt) { handles[attempt] = nil }
      partCounts[attempt] = nil
    }
    var failed = scheduler.failure(of: node, error, isEffectUnknown: isUnknown, own: own)
    failed.run = run ?? (begun?.phase == .running ? begun?.run : nil)
    failed.elapsedMicroseconds = elapsed
    try await append(.pipeline(.failed(failed)))
    if isEffectUnknown == nil, begun?.phase == .running, let acting {
      try await noteBreaker(of: acting)
    }
  }

  /// How long an attempt that was told to end is waited for, where it is no run: programs are ended by then, and code
  /// that does not heed it may never end.
  static let endingLimit = Duration.seconds(10)

  /// What is to be recorded of an attempt that was told to end, once it has.
  struct Ending {
    var error: TaskError
    /// Whether its time was over, or a part of its output was refused: then even what it comes to after all does not
    /// count.
    var isLate: Bool
    var timer: Task<Void, Never>?

    /// What counts of what the attempt came to.
    func outcome(of outcome: TaskOutcome, _ acting: TaskSpec) -> TaskOutcome {
      guard isLate || outcome.output == nil else { return outcome }
      // A run that ended says whether it did anything.
      let isUnknown = outcome.error == nil || outcome.run == nil || outcome.isEffectUnknown
      var ended = TaskOutcome.failed(
        error, isEffectUnknown: isUnknown && acting.sideEffect != .read)
      (ended.run, ended.secrets) = (outcome.run, outcome.secrets)
      return ended
    }
  }

  /// Tells an attempt to end. That it failed is recorded when it has ended, with what its run used: what undoes it, comes
  /// after it or needs its place begins behind that. Where it was told before, its time being over counts more; where
  /// nothing is under way, it fails at once.
  func end(_ node: TaskNode, _ error: TaskError, isLate: Bool) async throws {
    guard let begun = state[node.task]?.node(node.element), begun.phase == .running else {
      return try await fail(node, error)
    }
    let attempt = Attempt(node: node, number: begun.attempt)
    if let told = endings[attempt] {
      if isLate { endings[attempt] = Ending(error: error, isLate: true, timer: told.timer) }
      return
    }
    if recorded != nil {
      endings[attempt] = Ending(error: error, isLate: isLate)
      return
    }
    // Of an earlier process: there is nothing to wait for.
    guard let handle = handles[attempt] else { return try await fail(node, error) }
    handle.cancel()
    let timer = runs.contains(attempt) ? nil : Self.timer(for: attempt, mailbox)
    endings[attempt] = Ending(error: error, isLate: isLate, timer: timer)
  }

  private static func timer(
    for attempt: Attempt, _ mailbox: Mailbox<Message>
  ) -> Task<Void, Never> {
    Task {
      try? await Task.sleep(for: endingLimit)
      if !Task.isCancelled { mailbox.post(.stayed(attempt)) }
    }
  }

  /// Ends what is under way; nothing new begins.
  func cutOff() async throws {
    isCutOff = true
    if !state.isPausing {
      try await append(.pipeline(.pauseRequested(PauseRequested(by: "the outer pipeline"))))
    }
    for task in state.tasks {
      for node in task.active where node.phase == .running {
        try await end(
          TaskNode(task.id, element: node.element),
          TaskError(.interrupted, "the pipeline was cut off while the attempt was under way"),
          isLate: false)
      }
    }
  }

  /// Attempts that were under way when the process before this one ended: one that is a run goes on with it, any other
  /// is in doubt. Runs that waited for a person go on too, where all is said and as many may run at once.
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

  /// Goes on with a run that waited for a person, if there is room for one; whether it did.
  func goOnWhereThereIsRoom() async throws -> Bool {
    guard !goingOn.isEmpty, !state.isPausing, !state.isCompensating, state.rollback == nil else {
      return false
    }
    guard let place = goingOn.firstIndex(where: hasRoom) else { return false }
    let name = goingOn.remove(at: place)
    guard let node = state[name.task]?.node(name.element), case .asked(.run) = node.phase else {
      return false
    }
    return try await resume(name, node)
  }

  /// Whether a run that waited for a person may go on now. Where it is made again, the log says when it did.
  private func hasRoom(for name: TaskNode) -> Bool {
    if let recorded { return recorded.resumes(name, at: state.nextSeq) }
    return pipeline.graph.places[name.task].map { scheduler.canStart($0) } ?? false
  }

  /// Goes on with the run that an attempt is; whether there is one that can.
  func resume(_ name: TaskNode, _ node: NodeProgress) async throws -> Bool {
    guard let run = node.run, let acting = scheduler.acting(for: name),
      let task = pipeline.task(acting.id), task.goesOn
    else { return false }
    let attempt = Attempt(node: name, number: node.attempt)
    guard isOpen(attempt) else { return false }
    let share = recorded == nil ? await task.limits(of: run) : Limits()
    given[attempt] = share
    switch node.phase {
    case .running: break
    case .asked(.run):
      if recorded == nil {
        guard await task.mayGoOn(run) else { return false }
      }
      guard hasRoom(for: name) else {
        goingOn.append(name)
        return false
      }
    default: return false
    }
    let ready: (started: TaskStarted, context: TaskContext)
    do throws(TaskError) { ready = try prepared(name, acting, goingOn: node.attempt) } catch {
      given[attempt] = nil
      try await fail(name, error)
      return true
    }
    // What it may use was said when it began.
    if let share { given[attempt] = share }
    try await append(
      .pipeline(.resumed(TaskResumed(node: name, attempt: node.attempt, runId: run.runId))),
      isEffectAhead: acting.sideEffect != .read)
    var context = ready.context
    (context.seq, context.runId) = (node.startedSeq, run.runId)
    context.isResumed = true
    begin(attempt, task, context)
    return true
  }
}
