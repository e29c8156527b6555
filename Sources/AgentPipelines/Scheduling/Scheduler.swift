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
  var unmet: [Int] = []
  var cursor: [Int] = []
  var queues: [ElementQueue] = []
  var running: [Int] = []
  private(set) var runningTotal = 0
  var runningByLabel: [String: Int] = [:]
  var startable = SortedNumbers()
  var toExamine = SortedNumbers()
  var due = Heap<Key>()
  var ready = Heap<Key>()
  var timers = Heap<Key>()
  var deadlines = Heap<Key>()
  /// Whether runs do not begin for now, since others that have not ended may use all that is left of a limit.
  var holdsRuns = false
  /// The one that begins all the same.
  var released: TaskNode?

  init(_ graph: PipelineGraph, state: PipelineState = PipelineState()) {
    self.graph = graph
    self.state = state
    rebuild()
  }

  var spec: PipelineSpec { graph.spec }

  /// What the runs of its tasks may use together: what the file says, and what a pipeline that this one stands in had left.
  var limits: Limits { state.outerLimits.map(spec.limits.tightened) ?? spec.limits }

  func progress(_ task: Int) -> TaskProgress? { state[spec.tasks[task].id] }

  func node(_ key: Key) -> TaskNode {
    TaskNode(spec.tasks[key.task].id, element: key.element)
  }

  /// The task that makes a node's attempts.
  func acting(for node: TaskNode) -> TaskSpec? {
    guard let place = graph.places[node.task] else { return nil }
    let standIn = state[node.task]?.node(node.element)?.acting.flatMap { graph.places[$0] }
    return spec.tasks[standIn ?? place]
  }

  // MARK: From the state

  mutating func rebuild() {
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

  mutating func fillQueue(of task: Int, from source: Int) {
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
  mutating func take(_ node: NodeProgress, of task: Int) {
    let key = Key(task: task, element: node.element)
    switch node.phase {
    case .running: begin(node, of: task)
    case .waiting(let until):
      let wake = wakeTime(of: node, of: task, until)
      timers.insert(Key(t: wake, task: task, element: node.element))
    case .recovering, .answered: due.insert(key)
    case .asked: break
    }
  }

  mutating func begin(_ node: NodeProgress, of task: Int) {
    running[task] += 1
    runningTotal += 1
    for label in spec.tasks[task].labels { runningByLabel[label, default: 0] += 1 }
    if let deadline = deadline(of: node, of: task) {
      deadlines.insert(
        Key(t: deadline, task: task, element: node.element, attempt: node.attempt))
    }
  }

  mutating func end(_ task: Int) {
    running[task] -= 1
    runningTotal -= 1
    for label in spec.tasks[task].labels { runningByLabel[label, default: 1] -= 1 }
  }

  /// The moment at which an attempt has taken too long.
  func deadline(of node: NodeProgress, of task: Int) -> Int? {
    let own = spec.tasks[task]
    let acting = node.acting.flatMap { graph.places[$0] }.map { spec.tasks[$0] } ?? own
    let attempt = acting.timeoutMicroseconds.map { Self.sum(node.startedAt, $0) }
    let total = own.totalTimeoutMicroseconds.map { Self.sum(node.firstStartedAt ?? 0, $0) }
    let all = timeLimit
    return [attempt, total, all].compactMap { $0 }.min()
  }

  /// Microseconds of run time that the pipeline may take; `nil` for any.
  var timeLimit: Int? { limits.timeoutSeconds.map { Int(min($0, 1e12) * 1_000_000) } }

  static func sum(_ left: Int, _ right: Int) -> Int {
    let (sum, overflows) = left.addingReportingOverflow(right)
    return overflows ? Int.max : sum
  }

  // MARK: Events

  /// Takes in an event that was recorded.
  mutating func apply(_ event: Event) {
    guard let change = try? PipelineEvent(type: event.type, data: event.data) else {
      state.apply(event)
      // As another pipeline it no longer asks what that one asked.
      if event.type == .runResumed, event.data["inputs"] != nil { rebuild() }
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

  mutating func settled(_ task: Int, _ element: Int?) {
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
  mutating func refresh(_ task: Int) {
    if unmet[task] == 0, !graph.isStandIn[task], fresh(task) != nil {
      startable.insert(task)
    } else {
      startable.remove(task)
    }
  }

  /// The next node of a task that could begin, as far as the task itself is concerned; `nil` for none.
  mutating func fresh(_ task: Int) -> Key? {
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

  mutating func next(in progress: TaskProgress?, of task: Int, below end: Int) -> Key? {
    while cursor[task] < end {
      guard let progress else { break }
      guard progress.settled(element: cursor[task]) != nil || progress.node(cursor[task]) != nil
      else { break }
      cursor[task] += 1
    }
    return cursor[task] < end ? Key(task: task, element: cursor[task]) : nil
  }
}
