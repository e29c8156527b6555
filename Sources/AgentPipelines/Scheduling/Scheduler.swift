import AgentTrace

/// Decides what happens next in a pipeline, from its state and the time alone: nothing runs here, and
/// nothing is waited for.
///
/// What it keeps beside the state only makes it quick, and is made from the state again at any time: a
/// change costs the logarithm of what waits, however large the pipeline is.
struct Scheduler {
  /// What is to be done next.
  enum Step {
    /// An event is to be recorded.
    case append(PipelineEvent)
    /// A breaker changes.
    case breaker(BreakerChanged)
    /// A node has failed; see ``failure(of:_:isEffectUnknown:at:)``.
    case fail(TaskNode, TaskError)
    /// An attempt is to begin.
    case start(TaskNode)
    /// A person is to be asked what the task asks.
    case ask(TaskNode)
    /// How many elements a task has is to be found out.
    case expand(Int)
    /// What was done is to be undone.
    case rollback
    /// Nothing is to be done until something that runs ends, or until a moment.
    case wait(until: Int?)
    /// The run stops.
    case stop(StopReason, detail: String?, isFinal: Bool)
  }

  /// A node, and a moment where that matters.
  struct Key: Comparable, Hashable {
    var t = 0
    var task: Int
    var element: Int?
    var attempt = 0

    static func < (left: Key, right: Key) -> Bool {
      if left.t != right.t { return left.t < right.t }
      if left.task != right.task { return left.task < right.task }
      if left.element != right.element { return (left.element ?? -1) < (right.element ?? -1) }
      return left.attempt < right.attempt
    }
  }

  /// How many nodes of a fan-out may have begun at most: what waits for a retry or a person keeps others from
  /// beginning, so that the state stays small.
  static let activeLimit = 1_000

  let graph: PipelineGraph
  private(set) var state: PipelineState
  /// How many of the tasks that each waits for have not ended.
  private var unmet: [Int] = []
  private var cursor: [Int] = []
  private var queues: [ElementQueue] = []
  private var running: [Int] = []
  private(set) var runningTotal = 0
  private var runningByLabel: [String: Int] = [:]
  private var startable = SortedNumbers()
  private var toExamine = SortedNumbers()
  private var due = Heap<Key>()
  private var ready = Heap<Key>()
  private var timers = Heap<Key>()
  private var deadlines = Heap<Key>()

  init(_ graph: PipelineGraph, state: PipelineState = PipelineState()) {
    self.graph = graph
    self.state = state
    rebuild()
  }

  var spec: PipelineSpec { graph.spec }

  private func progress(_ task: Int) -> TaskProgress? { state[spec.tasks[task].id] }

  private func node(_ key: Key) -> TaskNode {
    TaskNode(spec.tasks[key.task].id, element: key.element)
  }

  /// The task that makes a node's attempts.
  func acting(for node: TaskNode) -> TaskSpec? {
    guard let place = graph.places[node.task] else { return nil }
    let standIn = state[node.task]?.node(node.element)?.acting.flatMap { graph.places[$0] }
    return spec.tasks[standIn ?? place]
  }

  // MARK: From the state

  private mutating func rebuild() {
    let count = spec.tasks.count
    unmet = spec.tasks.indices.map { task in
      graph.waits[task].count { progress($0)?.settled == nil }
    }
    cursor = Array(repeating: 0, count: count)
    queues = Array(repeating: ElementQueue(), count: count)
    running = Array(repeating: 0, count: count)
    runningTotal = 0
    runningByLabel = [:]
    (startable, toExamine) = (SortedNumbers(), SortedNumbers())
    (due, ready, timers, deadlines) = (Heap(), Heap(), Heap(), Heap())
    for task in spec.tasks.indices where !graph.isStandIn[task] {
      for node in progress(task)?.active ?? [] { take(node, of: task) }
      if case .elements(let source)? = graph.streams[task] { fillQueue(of: task, from: source) }
      toExamine.insert(task)
      refresh(task)
    }
  }

  private mutating func fillQueue(of task: Int, from source: Int) {
    guard let above = progress(source) else { return }
    let mine = progress(task)
    for ranges in [above.finished, above.skipped, above.failed] {
      for range in ranges.ranges {
        for element in range where mine?.settled(element: element) == nil {
          if mine?.node(element) == nil { queues[task].append(element) }
        }
      }
    }
  }

  /// Takes in a node that has begun.
  private mutating func take(_ node: NodeProgress, of task: Int) {
    let key = Key(task: task, element: node.element)
    switch node.phase {
    case .running: begin(node, of: task)
    case .waiting(let until): timers.insert(Key(t: until, task: task, element: node.element))
    case .recovering, .answered: due.insert(key)
    case .asked: break
    }
  }

  private mutating func begin(_ node: NodeProgress, of task: Int) {
    running[task] += 1
    runningTotal += 1
    for label in spec.tasks[task].labels { runningByLabel[label, default: 0] += 1 }
    if let deadline = deadline(of: node, of: task) {
      deadlines.insert(
        Key(t: deadline, task: task, element: node.element, attempt: node.attempt))
    }
  }

  private mutating func end(_ task: Int) {
    running[task] -= 1
    runningTotal -= 1
    for label in spec.tasks[task].labels { runningByLabel[label, default: 1] -= 1 }
  }

  /// The moment at which an attempt has taken too long.
  private func deadline(of node: NodeProgress, of task: Int) -> Int? {
    let own = spec.tasks[task]
    let acting = node.acting.flatMap { graph.places[$0] }.map { spec.tasks[$0] } ?? own
    let attempt = acting.timeoutMicroseconds.map { Self.sum(node.startedAt, $0) }
    let total = own.totalTimeoutMicroseconds.map { Self.sum(node.firstStartedAt ?? 0, $0) }
    let all = spec.limits.timeoutSeconds.map { Int(min($0, 1e12) * 1_000_000) }
    return [attempt, total, all].compactMap { $0 }.min()
  }

  private static func sum(_ left: Int, _ right: Int) -> Int {
    let (sum, overflows) = left.addingReportingOverflow(right)
    return overflows ? Int.max : sum
  }

  // MARK: Events

  /// Takes in an event that was recorded.
  mutating func apply(_ event: Event) {
    guard let change = try? PipelineEvent(type: event.type, data: event.data) else {
      state.apply(event)
      return
    }
    if case .rolledBack = change {
      state.apply(event)
      rebuild()
      return
    }
    guard let id = change.node?.task, let task = graph.places[id] else {
      state.apply(event)
      return
    }
    let element = change.node?.element
    let before = state[id]
    let wasRunning = before?.node(element)?.phase == .running
    state.apply(event)
    switch change {
    case .started:
      if wasRunning { end(task) }
      if let node = progress(task)?.node(element) { begin(node, of: task) }
      refresh(task)
    case .finished, .skipped, .failed:
      if wasRunning { end(task) }
      if let node = progress(task)?.node(element) {
        take(node, of: task)
        refresh(task)
      } else {
        settled(task, element)
      }
    case .output: for dependent in graph.dependents[task] { refresh(dependent) }
    case .expanded:
      refresh(task)
      toExamine.insert(task)
    case .answered: due.insert(Key(task: task, element: element))
    case .asked:
      if wasRunning { end(task) }
      refresh(task)
    case .resumed:
      if wasRunning { end(task) }
      if let node = progress(task)?.node(element) { begin(node, of: task) }
      refresh(task)
    case .pauseRequested, .rollbackStarted, .compensationStarted, .compensationFinished,
      .rolledBack:
      break
    }
  }

  private mutating func settled(_ task: Int, _ element: Int?) {
    refresh(task)
    toExamine.insert(task)
    for dependent in graph.dependents[task] {
      if element == nil {
        if graph.waits[dependent].contains(task) { unmet[dependent] -= 1 }
        toExamine.insert(dependent)
      } else if case .elements(let source)? = graph.streams[dependent], source == task {
        queues[dependent].append(element ?? 0)
      }
      refresh(dependent)
    }
  }

  /// Sees anew whether a task has something that could begin.
  private mutating func refresh(_ task: Int) {
    if unmet[task] == 0, !graph.isStandIn[task], fresh(task) != nil {
      startable.insert(task)
    } else {
      startable.remove(task)
    }
  }

  /// The next node of a task that could begin, as far as the task itself is concerned; `nil` for none.
  private mutating func fresh(_ task: Int) -> Key? {
    let progress = self.progress(task)
    guard progress?.settled == nil, (progress?.active.count ?? 0) < Self.activeLimit else {
      return nil
    }
    guard spec.tasks[task].isFanOut else {
      return progress?.active.isEmpty ?? true ? Key(task: task) : nil
    }
    guard progress?.node(nil) == nil else { return nil }
    switch graph.streams[task] {
    case .elements: return queues[task].first.map { Key(task: task, element: $0) }
    case .parts(let source):
      return next(in: progress, of: task, below: self.progress(source)?.parts ?? 0)
    case nil: return next(in: progress, of: task, below: progress?.elements ?? 0)
    }
  }

  private mutating func next(in progress: TaskProgress?, of task: Int, below end: Int) -> Key? {
    while cursor[task] < end {
      guard let progress else { break }
      guard progress.settled(element: cursor[task]) != nil || progress.node(cursor[task]) != nil
      else { break }
      cursor[task] += 1
    }
    return cursor[task] < end ? Key(task: task, element: cursor[task]) : nil
  }

  // MARK: What is next

  /// What is to be done at a moment. It is to be asked again once that is done.
  mutating func next(at t: Int) -> Step {
    if state.isCompensating, state.isUndone {
      return .stop(.toolFailure, detail: "compensated", isFinal: true)
    }
    while let key = deadlines.first, key.t <= t {
      _ = deadlines.popFirst()
      if let step = timeout(key, at: t) { return step }
    }
    if state.isCompensating || state.rollback != nil {
      return runningTotal == 0 ? .rollback : .wait(until: nextDeadline())
    }
    if state.isPausing {
      guard runningTotal == 0 else { return .wait(until: nextDeadline()) }
      return .stop(.cancelled, detail: "paused", isFinal: false)
    }
    while let task = toExamine.popFirst() {
      if let step = examine(task) { return step }
    }
    while let key = due.popFirst() {
      if let step = act(on: key) { return step }
    }
    return begin(at: t)
  }

  private mutating func nextDeadline() -> Int? {
    while let key = deadlines.first {
      let node = progress(key.task)?.node(key.element)
      if node?.phase == .running, node?.attempt == key.attempt { return key.t }
      _ = deadlines.popFirst()
    }
    return nil
  }

  private func timeout(_ key: Key, at t: Int) -> Step? {
    guard let node = progress(key.task)?.node(key.element), node.phase == .running,
      node.attempt == key.attempt
    else { return nil }
    let own = spec.tasks[key.task]
    if let limit = spec.limits.timeoutSeconds, t >= Int(min(limit, 1e12) * 1_000_000) {
      return .fail(
        self.node(key), TaskError(.budgetExhausted, "the pipeline’s time is over (timeoutSeconds)"))
    }
    if let total = own.totalTimeoutMicroseconds, t >= Self.sum(node.firstStartedAt ?? 0, total) {
      return .fail(
        self.node(key), TaskError(.totalTimeout, "all attempts together took too long"))
    }
    return .fail(self.node(key), TaskError(.timeout, "the attempt took too long"))
  }

  private mutating func begin(at t: Int) -> Step {
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
      let step = start(key, at: t)
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

  private func isWaiting(_ key: Key) -> Bool {
    if case .waiting(let until)? = progress(key.task)?.node(key.element)?.phase {
      return until <= key.t
    }
    return false
  }

  /// Whether a node that was ready still is.
  private func mayRunAgain(_ key: Key) -> Bool {
    switch progress(key.task)?.node(key.element)?.phase {
    case .waiting, .answered: true
    case .running, .recovering, .asked, nil: false
    }
  }

  private func canStart(_ task: Int) -> Bool {
    let own = spec.tasks[task]
    guard runningTotal < spec.concurrency, running[task] < own.concurrency ?? Int.max else {
      return false
    }
    return own.labels.allSatisfy { label in
      runningByLabel[label] ?? 0 < spec.labelConcurrency[label] ?? Int.max
    }
  }

  private mutating func startFresh(_ task: Int, at t: Int) -> Step? {
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
    let step = start(key, at: t)
    if case .breaker = step { return step }
    if graph.streams[task].map({ if case .elements = $0 { true } else { false } }) ?? false {
      queues[task].removeFirst()
    }
    return step
  }

  /// Begins an attempt, or says why none can.
  private func start(_ key: Key, at t: Int) -> Step {
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
    return .start(node)
  }

  private func budgetFault(of task: TaskSpec, at t: Int) -> TaskError? {
    let limits = spec.limits
    let used = state.totals
    if let limit = limits.timeoutSeconds, t >= Int(min(limit, 1e12) * 1_000_000) {
      return TaskError(.budgetExhausted, "the pipeline’s time is over (timeoutSeconds)")
    }
    guard task.kind.isRun else { return nil }
    if let limit = limits.maxTokens, used.inputTokens + used.outputTokens >= limit {
      return TaskError(.budgetExhausted, "the pipeline’s tokens are used up (maxTokens)")
    }
    if let limit = limits.maxCost, let cost = used.cost, cost >= limit {
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

  // MARK: Tasks as a whole

  /// What has become due of a task because others have ended, or its own elements have.
  private mutating func examine(_ task: Int) -> Step? {
    let progress = self.progress(task)
    let id = spec.tasks[task].id
    guard !graph.isStandIn[task], progress?.settled == nil, unmet[task] == 0,
      progress?.node(nil) == nil
    else { return nil }
    if let failed = graph.waits[task].first(where: { self.progress($0)?.settled == .failed }) {
      guard running[task] == 0 else { return nil }
      let message = "\(spec.tasks[failed].id) failed"
      return .fail(TaskNode(id), TaskError(.upstreamFailed, message))
    }
    guard spec.tasks[task].isFanOut else {
      refresh(task)
      return nil
    }
    if progress?.elements == nil { return examineSource(of: task) }
    guard let progress, let count = progress.elements, progress.settledElements >= count else {
      refresh(task)
      return nil
    }
    if !progress.failed.isEmpty {
      let message = "\(progress.failed.count) of \(count) elements failed"
      return .fail(TaskNode(id), TaskError(.elementFailed, message))
    }
    var finished = TaskFinished(node: TaskNode(id), attempt: 0)
    finished.elements = count
    finished.isCheckpoint = spec.checkpoints.contains(id)
    return .append(.finished(finished))
  }

  /// Finds out how many elements a task has.
  private mutating func examineSource(of task: Int) -> Step? {
    let id = spec.tasks[task].id
    guard let stream = graph.streams[task] else { return .expand(task) }
    refresh(task)
    guard let above = progress(stream.source), let settled = above.settled else { return nil }
    let name = spec.tasks[stream.source].id
    switch (stream, settled) {
    case (.elements, _) where above.elements != nil:
      // Each of its elements counts for itself, whatever became of the whole.
      return .append(.expanded(TaskExpanded(task: id, elements: above.elements ?? 0)))
    case (.parts, _) where settled == .finished || settled == .skipped && above.parts > 0:
      return .append(.expanded(TaskExpanded(task: id, elements: above.parts)))
    case (_, .skipped):
      return .append(.skipped(TaskSkipped(node: TaskNode(id), reason: "\(name) is absent")))
    default:
      guard running[task] == 0 else { return nil }
      return .fail(TaskNode(id), TaskError(.upstreamFailed, "\(name) has no elements"))
    }
  }

  // MARK: Recovery and people

  private mutating func act(on key: Key) -> Step? {
    guard let begun = progress(key.task)?.node(key.element) else { return nil }
    let node = self.node(key)
    switch begun.phase {
    case .recovering(let recovery): return act(on: recovery, of: node, begun)
    case .answered(let why, let answer): return act(on: answer, to: why, key)
    case .running, .waiting, .asked: return nil
    }
  }

  private func act(on recovery: TaskRecovery, of node: TaskNode, _ begun: NodeProgress) -> Step? {
    switch recovery.action {
    case .substitute:
      return .append(.finished(finished(node, output: recovery.value ?? .null, via: "substitute")))
    case .skip:
      return .append(.skipped(TaskSkipped(node: node, reason: begun.error?.kind ?? "skipped")))
    case .ask:
      let why = recovery.rule == nil ? TaskAsked.Why.doubt : .failed
      let message = begun.error.map { "\($0.kind): \($0.message)" } ?? ""
      let question =
        why == .doubt
        ? "\(node) was begun and cut off (\(message)). Did it happen?"
        : "\(node) failed (\(message)). What is to be done?"
      return .append(.asked(TaskAsked(node: node, why: why, question: question)))
    case .retry, .again, .fallback, .compensate, .fail: return nil
    }
  }

  private func finished(_ node: TaskNode, output: JSONValue, via: String) -> TaskFinished {
    var finished = TaskFinished(node: node, attempt: 0, output: output, via: via)
    finished.isCheckpoint = node.element == nil && spec.checkpoints.contains(node.task)
    return finished
  }

  private mutating func act(
    on answer: TaskAnswered, to why: TaskAsked.Why, _ key: Key
  ) -> Step? {
    let node = self.node(key)
    let isWhole = spec.tasks[key.task].isFanOut && key.element == nil
    switch (why, answer.word) {
    case (_, .skipped):
      return .append(.skipped(TaskSkipped(node: node, reason: "skipped by \(answer.by)")))
    case (.human, .granted):
      return .append(.finished(finished(node, output: Self.grant(by: answer), via: "person")))
    case (.human, .answered):
      let output: JSONValue = ["text": answer.data ?? .null, "by": .string(answer.by)]
      return .append(.finished(finished(node, output: output, via: "person")))
    case (.doubt, .happened), (.failed, .answered), (.failed, .happened), (.again, .happened):
      return .append(.finished(finished(node, output: answer.data ?? .null, via: "person")))
    // What a run waits for is said in its own log.
    case (.run, _): break
    case (.doubt, .didNotHappen), (.doubt, .granted), (.failed, .granted), (.again, .granted):
      if isWhole { break }
      ready.insert(key)
      return nil
    default: break
    }
    let words = answer.reason.map { ": \($0)" } ?? ""
    return .fail(node, TaskError(.denied, "\(answer.by) said no\(words)"))
  }

  private static func grant(by answer: TaskAnswered) -> JSONValue {
    .object(
      JSONObject(present: [
        ("granted", true), ("by", .string(answer.by)), ("text", answer.data),
        ("reason", answer.reason.map(JSONValue.string)),
      ]))
  }

  // MARK: The end

  private func ended() -> Step {
    let questions = state.questions
    if let doubt = questions.first(where: { $0.why == .doubt }) {
      return .stop(
        .blocked, detail: StopDetail.unknownEffect(of: "\(doubt.node)"), isFinal: false)
    }
    if !questions.isEmpty { return .stop(.blocked, detail: StopDetail.human, isFinal: false) }
    for (place, task) in spec.tasks.enumerated() where !graph.isStandIn[place] {
      if state[task.id]?.settled != .finished, state[task.id]?.settled != .skipped {
        return .stop(.toolFailure, detail: StopDetail.task(task.id), isFinal: false)
      }
    }
    return .stop(.success, detail: nil, isFinal: true)
  }
}

extension NodeProgress {
  /// Whether a person has said that it may be done again.
  var mayWriteAgain: Bool {
    if case .answered(.again, let answer) = phase { return answer.word == .granted }
    return isReleased
  }
}

/// Elements that can begin, in the order in which they came.
struct ElementQueue {
  private var elements: [Int] = []
  private var head = 0

  var first: Int? { head < elements.count ? elements[head] : nil }

  mutating func append(_ element: Int) { elements.append(element) }

  mutating func removeFirst() {
    head += 1
    // What has gone is let go of once it is the larger part.
    if head > 64, head > elements.count / 2 {
      elements.removeFirst(head)
      head = 0
    }
  }
}
