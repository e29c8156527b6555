import AgentTrace

/// What is to be done next, and which attempt may begin.
extension Scheduler {
  /// What is to be done at a moment. It is to be asked again once that is done.
  mutating func next(at t: Int) -> Step {
    if state.isCompensating, state.isUndone {
      return .stop(.toolFailure, detail: "compensated", isFinal: true)
    }
    while let key = deadlines.first, key.t <= t {
      _ = deadlines.popFirst()
      if let step = timeout(key) { return step }
    }
    if state.isCompensating || state.rollback != nil {
      return runningTotal == 0 ? .rollback : .wait(until: nextDeadline())
    }
    if state.isPausing {
      guard runningTotal == 0 else { return .wait(until: nextDeadline()) }
      return .stop(.cancelled, detail: StopDetail.paused, isFinal: false)
    }
    while let task = toExamine.popFirst() {
      if let step = examine(task) { return step }
    }
    while let key = due.popFirst() {
      if let step = act(on: key) { return step }
    }
    return begin(at: t)
  }

  mutating func nextDeadline() -> Int? {
    while let key = deadlines.first {
      let node = progress(key.task)?.node(key.element)
      if node?.phase == .running, node?.attempt == key.attempt { return key.t }
      _ = deadlines.popFirst()
    }
    return nil
  }

  /// What a deadline that has come ends, and why: by the deadline alone, at whatever later moment somebody asks.
  func timeout(_ key: Key) -> Step? {
    let t = key.t
    guard let node = progress(key.task)?.node(key.element), node.phase == .running,
      node.attempt == key.attempt
    else { return nil }
    let own = spec.tasks[key.task]
    if let limit = timeLimit, t >= limit {
      return .fail(
        self.node(key), TaskError(.budgetExhausted, "the pipeline’s time is over (timeoutSeconds)"))
    }
    if let total = own.totalTimeoutMicroseconds, t >= Self.sum(node.firstStartedAt ?? 0, total) {
      return .fail(
        self.node(key), TaskError(.totalTimeout, "all attempts together took too long"))
    }
    return .fail(self.node(key), TaskError(.timeout, "the attempt took too long"))
  }

  mutating func begin(at t: Int) -> Step {
    while let key = timers.first, key.t <= t {
      _ = timers.popFirst()
      if isWaiting(key) { ready.insert(Key(task: key.task, element: key.element)) }
    }
    var held: [Key] = []
    defer { for key in held { ready.insert(key) } }
    while let key = ready.popFirst() {
      guard mayRunAgain(key) else { continue }
      guard canStart(key.task) else {
        held.append(key)
        continue
      }
      guard let step = start(key, at: t) else {
        held.append(key)
        continue
      }
      if case .breaker = step { held.append(key) }
      return step
    }
    for task in startable where canStart(task) {
      if let step = startFresh(task, at: t) { return step }
    }
    while let key = timers.first, !isWaiting(key) { _ = timers.popFirst() }
    if runningTotal == 0, timers.isEmpty { return ended() }
    let moments = [timers.first?.t, nextDeadline()].compactMap { $0 }
    return .wait(until: moments.min())
  }

  func isWaiting(_ key: Key) -> Bool {
    guard let node = progress(key.task)?.node(key.element), case .waiting(let until) = node.phase
    else { return false }
    return wakeTime(of: node, of: key.task, until) <= key.t
  }

  /// The moment at which a node no longer waits for its next attempt: when that may begin, or when no time is left for it.
  func wakeTime(of node: NodeProgress, of task: Int, _ until: Int) -> Int {
    let total = spec.tasks[task].totalTimeoutMicroseconds.map {
      Self.sum(node.firstStartedAt ?? 0, $0)
    }
    return min(until, total ?? until, timeLimit ?? until)
  }

  /// Whether a node that was ready still is.
  func mayRunAgain(_ key: Key) -> Bool {
    switch progress(key.task)?.node(key.element)?.phase {
    case .waiting, .answered: true
    case .running, .recovering, .asked, nil: false
    }
  }

  func canStart(_ task: Int) -> Bool {
    let own = spec.tasks[task]
    guard runningTotal < spec.concurrency, running[task] < own.concurrency ?? Int.max else {
      return false
    }
    return own.labels.allSatisfy { label in
      runningByLabel[label] ?? 0 < spec.labelConcurrency[label] ?? Int.max
    }
  }

  /// How many runs may begin while one runs, itself among them: those that are ready, as far as there is room.
  var runsAtOnce: Int {
    func waits(_ task: Int) -> Int {
      guard spec.tasks[task].kind.isRun else { return 0 }
      guard spec.tasks[task].isFanOut else { return 1 }
      guard let progress = progress(task), let count = progress.elements else {
        return queues[task].count
      }
      return max(0, count - progress.settledElements - progress.active.count)
    }
    let waiting = startable.reduce(ready.count) { sum, task in
      sum + min(waits(task), (spec.tasks[task].concurrency ?? .max) - running[task])
    }
    return max(1, min(spec.concurrency - runningTotal, waiting))
  }

  mutating func startFresh(_ task: Int, at t: Int) -> Step? {
    guard let key = fresh(task) else {
      startable.remove(task)
      return nil
    }
    let node = self.node(key)
    if let source = graph.streams[task], case .elements(let above) = source,
      let element = key.element
    {
      switch progress(above)?.settled(element: element) {
      case .skipped:
        queues[task].removeFirst()
        return .append(.skipped(TaskSkipped(node: node, reason: "what it is for is absent")))
      case .failed:
        queues[task].removeFirst()
        let name = TaskNode(spec.tasks[above].id, element: element)
        return .fail(node, TaskError(.upstreamFailed, "\(name) failed"))
      case .finished, nil: break
      }
    }
    guard let step = start(key, at: t) else { return nil }
    if case .breaker = step { return step }
    if graph.streams[task].map({ if case .elements = $0 { true } else { false } }) ?? false {
      queues[task].removeFirst()
    }
    return step
  }

  /// Begins an attempt, or says why none can; `nil` where it does not begin yet.
  func start(_ key: Key, at t: Int) -> Step? {
    let node = self.node(key)
    let own = spec.tasks[key.task]
    let progress = self.progress(key.task)
    let begun = progress?.node(key.element)
    let acting = self.acting(for: node) ?? own
    if let total = own.totalTimeoutMicroseconds, let first = begun?.firstStartedAt,
      t >= Self.sum(first, total)
    {
      return .fail(node, TaskError(.totalTimeout, "all attempts together took too long"))
    }
    if acting.kind == .human { return .ask(node) }
    if let fault = budgetFault(of: acting, at: t) { return .fail(node, fault) }
    if own.sideEffect == .write, (progress?.round ?? 0) > 0, !(begun?.mayWriteAgain ?? false) {
      let question = "\(node) was done once and undone. May it be done again?"
      return .append(.asked(TaskAsked(node: node, why: .again, question: question)))
    }
    if let breaker = acting.breaker, let state = state[acting.id], state.breaker == .open {
      guard t >= Self.sum(state.breakerChangedAt, breaker.coolMicroseconds) else {
        return .fail(
          node,
          TaskError(.breakerOpen, "\(acting.id) failed \(state.breakerFailures) times in a row"))
      }
      return .breaker(
        BreakerChanged(tool: acting.id, state: .halfOpen, failures: state.breakerFailures))
    }
    if acting.breaker != nil, state[acting.id]?.breaker == .halfOpen, running[key.task] > 0 {
      return .fail(node, TaskError(.breakerOpen, "\(acting.id) is being tried after failures"))
    }
    if holdsRuns, acting.kind.isRun, released != node { return nil }
    return .start(node)
  }

  func budgetFault(of task: TaskSpec, at t: Int) -> TaskError? {
    let limits = self.limits
    let used = state.totals
    if let limit = timeLimit, t >= limit {
      return TaskError(.budgetExhausted, "the pipeline’s time is over (timeoutSeconds)")
    }
    guard task.kind.isRun else { return nil }
    if let limit = limits.maxTokens, used.inputTokens + used.outputTokens >= limit {
      return TaskError(.budgetExhausted, "the pipeline’s tokens are used up (maxTokens)")
    }
    if let limit = limits.maxCost, let cost = used.cost, Figures.isSpent(limit, by: cost) {
      return TaskError(.budgetExhausted, "the pipeline’s money is used up (maxCost)")
    }
    if let limit = limits.maxToolCalls, used.toolCalls >= limit {
      return TaskError(.budgetExhausted, "the pipeline’s calls are used up (maxToolCalls)")
    }
    if let limit = limits.maxSteps, used.steps >= limit {
      return TaskError(.budgetExhausted, "the pipeline’s steps are used up (maxSteps)")
    }
    return nil
  }
}
