import AgentRuntime
import AgentTrace

/// What is done about what attempts come to, and about those that a process left.
extension PipelineEngine {
  /// Whether an attempt is the one that is under way.
  func isCurrent(_ attempt: Attempt) -> Bool {
    let node = state[attempt.node.task]?.node(attempt.node.element)
    return node?.phase == .running && node?.attempt == attempt.number
  }

  func take(_ value: JSONValue, of attempt: Attempt) async throws -> Bool {
    guard isCurrent(attempt), let task = pipeline.graph.places[attempt.node.task] else {
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

  func take(
    _ outcome: TaskOutcome, of attempt: Attempt, _ elapsed: Int?
  ) async throws {
    handles[attempt] = nil
    runs.remove(attempt)
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
    } else if let output = outcome.output {
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

  func noteBreaker(of acting: TaskSpec, after node: TaskNode) async throws {
    if let change = scheduler.breakerChange(after: node, by: acting) {
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
      try await noteBreaker(of: acting, after: node)
    }
  }

  /// Ends what is under way, at once; nothing new begins.
  func cutOff() async throws {
    isCutOff = true
    if !state.isPausing {
      try await append(.pipeline(.pauseRequested(PauseRequested(by: "the outer pipeline"))))
    }
    for task in state.tasks {
      for node in task.active where node.phase == .running {
        try await fail(
          TaskNode(task.id, element: node.element),
          TaskError(.interrupted, "the pipeline was cut off while the attempt was under way"))
      }
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
  func resume(_ name: TaskNode, _ node: NodeProgress) async throws -> Bool {
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
    do throws(TaskError) { ready = try prepared(name, acting, goingOn: node.attempt) } catch {
      try await fail(name, error)
      return true
    }
    try await append(
      .pipeline(.resumed(TaskResumed(node: name, attempt: node.attempt, runId: run.runId))),
      isEffectAhead: acting.sideEffect != .read)
    var context = ready.context
    (context.seq, context.runId) = (node.startedSeq, run.runId)
    context.isResumed = true
    begin(Attempt(node: name, number: node.attempt), task, context)
    return true
  }
}
