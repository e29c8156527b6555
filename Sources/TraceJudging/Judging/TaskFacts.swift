import AgentTrace
import TraceMatching

/// What became of the tasks of a pipeline, gathered event by event.
///
/// Holds a few words for each node that has begun; outputs only where somebody asks for them.
struct TaskFacts: Sendable {
  /// What became of a node. Raw values are what cases say.
  enum Status: String, Sendable, Hashable, CaseIterable {
    /// It has an output.
    case finished
    /// Its output is absent.
    case skipped
    /// It failed.
    case failed
    /// It waits for a person.
    case waiting
    /// It has begun, and has not ended.
    case open
    /// The pipeline went back behind it, and it has not begun again since. A rule that compensates goes back behind all.
    case undone
  }

  struct Node: Sendable {
    var status = Status.open
    /// Attempts over its whole life.
    var attempts = 0
    /// Whether an attempt of it, or of one of its elements, ever began, or a person did it.
    var ran = false
    /// Each time that it began, once and once more for each time that the pipeline went back behind it.
    var rounds: [Round] = []
    var elements: Int?
    /// Of a task that has one and is asked for it.
    var output: JSONValue?
    /// Who gave the output or failed, if not the task itself: another task, `substitute` or `person`.
    var by: String?
    /// How many of its effects were undone.
    var compensations = 0
    /// Where it began last, and where that ended.
    var start: Int? { rounds.last?.start }
    var end: Int? { rounds.last?.end }
    fileprivate var isHuman = false
    fileprivate var acting: String?
  }

  struct Round: Sendable {
    var start: Int
    var end: Int?
    /// Where the pipeline went back behind it.
    var undone: Int?
  }

  /// The tasks that the pipeline has, as its log says them last; `nil` where the run is no pipeline.
  private(set) var definition: [Trajectory.Task]?
  private(set) var nodes: [TaskNode: Node] = [:]
  /// A task in the place of another one.
  struct StandIn: Sendable {
    /// The task that acted, with the element that it acted for.
    let node: TaskNode
    /// The one in whose place it did.
    let place: TaskNode
    /// Where each attempt of it began.
    var attempts: [Int] = []
    /// When it acted.
    var fact = Node()
  }

  /// The tasks that stood in for others, each once for each of these.
  private(set) var standIns: [StandIn] = []
  private let keepsOutputs: Bool
  /// The first event of a task that cannot be right, and why.
  private(set) var fault: (seq: Int, why: String)?
  /// The tasks that are pipelines.
  private var pipelines: Set<String> = []
  /// Whether a rule has said that all is to be undone.
  private var isCompensating = false
  /// What was undone since the last rollback began.
  private var undoneNow: Set<TaskNode> = []

  init(keepsOutputs: Bool) { self.keepsOutputs = keepsOutputs }

  /// The nodes that have begun and that an address names, by their ids and elements.
  func nodes(at address: TaskAddress) -> [(node: TaskNode, fact: Node)] {
    if let exact = address.only {
      return nodes[exact].map { [(exact, $0)] } ?? []
    }
    return nodes.filter { address.matches($0.key) }.sorted { $0.key < $1.key }
      .map { ($0.key, $0.value) }
  }

  /// The tasks that an address names where they stood in for others: of a whole fan-out too where they acted for one of
  /// its elements.
  func standIns(at address: TaskAddress) -> [StandIn] {
    standIns.filter { standIn in
      address.matches(standIn.node)
        || !address.isOfElements && address.task.matches(standIn.node.task)
    }
  }

  mutating func apply(_ event: Event) {
    switch event.type {
    case .runStarted:
      guard event.beginsPipeline else { return }
      definition = Trajectory.Task.all(in: event.data)
      notePipelines(of: event)
    case .runResumed:
      definition = definition.map { Trajectory.Task.all(in: event.data) ?? $0 }
      notePipelines(of: event)
    default:
      guard definition != nil else { return }
      do throws(PayloadError) {
        guard let change = try PipelineEvent(type: event.type, data: event.data) else { return }
        apply(change, seq: event.seq)
      } catch { fault = fault ?? (event.seq, "Event \(event.seq) of a task cannot be read.") }
    }
  }

  private mutating func notePipelines(of event: Event) {
    for task in event.data["inputs"]?["pipeline"]?["tasks"]?.arrayValue ?? []
    where task["kind"]?.stringValue == "pipeline" {
      if let id = task["id"]?.stringValue { pipelines.insert(id) }
    }
  }

  /// Whether what waits is a pipeline that was only paused with the one around it: one that waits for a person shows for
  /// what.
  private func isPaused(_ asked: TaskAsked) -> Bool {
    asked.why == .run && asked.show == nil
      && pipelines.contains(nodes[asked.node]?.acting ?? asked.node.task)
  }

  private mutating func change(_ node: TaskNode, seq: Int, _ body: (inout Node) -> Void) {
    var fact = nodes[node] ?? Node()
    if fact.rounds.last.map({ $0.undone != nil }) ?? true { fact.rounds.append(Round(start: seq)) }
    body(&fact)
    nodes[node] = fact
  }

  private mutating func standIn(_ acting: String, for place: TaskNode, seq: Int) {
    let node = TaskNode(acting, element: place.element)
    let known = standIns.lastIndex { $0.place == place && $0.node == node }
    if known == nil { standIns.append(StandIn(node: node, place: place)) }
    let index = known ?? standIns.count - 1
    standIns[index].attempts.append(seq)
    let last = standIns[index].fact.rounds.last
    if last.map({ $0.end != nil || $0.undone != nil }) ?? true {
      standIns[index].fact.rounds.append(Round(start: seq))
    }
  }

  /// Ends what stood in for a node.
  private mutating func closeStandIns(for place: TaskNode, at seq: Int) {
    for index in standIns.indices where standIns[index].place == place {
      if standIns[index].fact.end == nil { standIns[index].fact.close(seq) }
    }
  }

  private mutating func apply(_ change: PipelineEvent, seq: Int) {
    switch change {
    case .started(let started):
      self.change(started.node, seq: seq) {
        $0.status = .open
        // A log may tell the number without the attempts before.
        $0.attempts = max($0.attempts + 1, min(started.attempt, Expectations.timesLimit))
        $0.ran = true
        $0.acting = started.acting
      }
      if let acting = started.acting { standIn(acting, for: started.node, seq: seq) }
      if started.node.element != nil {
        self.change(TaskNode(started.node.task), seq: seq) { $0.ran = true }
      }
    case .expanded(let expanded):
      self.change(TaskNode(expanded.task), seq: seq) { $0.elements = expanded.elements }
    case .asked(let asked):
      let isPaused = isPaused(asked)
      self.change(asked.node, seq: seq) {
        $0.status = isPaused ? .open : .waiting
        $0.isHuman = asked.why == .human
      }
    case .answered(let answered):
      self.change(answered.node, seq: seq) {
        $0.status = .open
        if $0.isHuman { $0.ran = true }
      }
    case .resumed(let resumed): self.change(resumed.node, seq: seq) { $0.status = .open }
    case .failed(let failed): apply(failed, seq: seq)
    case .finished(let finished): apply(finished, seq: seq)
    case .skipped(let skipped):
      self.change(skipped.node, seq: seq) {
        $0.status = .skipped
        $0.close(seq)
      }
      closeStandIns(for: skipped.node, at: seq)
    case .rollbackStarted: undoneNow = []
    case .compensationFinished(let end) where end.error == nil:
      nodes[end.node]?.compensations += 1
      undoneNow.insert(end.node)
    case .rolledBack(let end): apply(end, seq: seq)
    case .output, .pauseRequested, .compensationStarted, .compensationFinished: break
    }
  }

  private mutating func apply(_ failed: TaskFailed, seq: Int) {
    if failed.recovery.action == .compensate { isCompensating = true }
    change(failed.node, seq: seq) { node in
      switch failed.recovery.action {
      case .fail, .compensate:
        node.status = .failed
        node.close(seq)
        node.by = node.acting
      case .fallback: node.acting = failed.recovery.task
      default: break
      }
    }
    switch failed.recovery.action {
    // Another one stands in, or nothing more is done.
    case .fail, .compensate, .fallback: closeStandIns(for: failed.node, at: seq)
    default: break
    }
  }

  private mutating func apply(_ finished: TaskFinished, seq: Int) {
    let keeps = keepsOutputs
    if let known = nodes[finished.node], known.status == .finished, let end = known.end {
      fault =
        fault ?? (seq, "Event \(seq) ends \(finished.node), which had ended at event \(end).")
    }
    change(finished.node, seq: seq) { node in
      node.status = .finished
      node.close(seq)
      node.elements = finished.elements ?? node.elements
      node.output = keeps ? finished.output : nil
      node.by = finished.via ?? node.acting
    }
    closeStandIns(for: finished.node, at: seq)
  }

  private mutating func apply(_ end: RolledBack, seq: Int) {
    if isCompensating {
      // It names no task, since none is to run anew. What failed and did nothing stays as the reason for it all.
      for (node, fact) in nodes where fact.status != .failed || undoneNow.contains(node) {
        undo(node, seq: seq)
      }
    }
    for kept in end.tasks {
      for node in nodes.keys where node.task.hasSameUTF8(as: kept.task) {
        if let element = node.element,
          kept.finished.contains(element) || kept.skipped.contains(element)
            || kept.failed.contains(element)
        {
          continue
        }
        undo(node, seq: seq)
      }
    }
  }

  private mutating func undo(_ node: TaskNode, seq: Int) {
    nodes[node]?.status = .undone
    nodes[node]?.undo(seq)
    nodes[node]?.output = nil
    nodes[node]?.by = nil
    nodes[node]?.acting = nil
    for index in standIns.indices where standIns[index].place == node {
      standIns[index].fact.undo(seq)
    }
  }
}

extension TaskFacts.Node {
  fileprivate mutating func close(_ seq: Int) {
    if !rounds.isEmpty { rounds[rounds.count - 1].end = seq }
  }

  fileprivate mutating func undo(_ seq: Int) {
    if !rounds.isEmpty, rounds[rounds.count - 1].undone == nil {
      rounds[rounds.count - 1].undone = seq
    }
  }

  /// Whether it had ended at an event, and was not undone since.
  func hadEnded(at seq: Int) -> Bool {
    guard let round = rounds.last(where: { $0.start < seq }), let end = round.end else {
      return false
    }
    return end < seq && round.undone.map { $0 > seq } ?? true
  }
}

/// Which nodes of a pipeline a case speaks of: `publish`, `measure[3]`, `measure[*]`, or globs of tasks.
struct TaskAddress: Sendable, Hashable {
  private enum Element: Sendable, Hashable {
    case none, all
    case one(Int)
  }

  /// As it was written.
  let text: String
  /// The task, or a glob of tasks.
  let task: Glob
  private let element: Element

  /// `nil` where the text is none.
  init?(_ text: String) {
    self.text = text
    var name = text
    var element = Element.none
    if text.hasSuffix("]"), let open = text.utf8.lastIndex(of: UInt8(ascii: "[")) {
      let inner = String(text[text.utf8.index(after: open)...].dropLast())
      if inner == "*" {
        element = .all
      } else if let index = Int(inner), index >= 0, "\(index)".hasSameUTF8(as: inner) {
        element = .one(index)
      } else {
        return nil
      }
      name = String(text[..<open])
    }
    guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "[")), let glob = try? Glob(name) else {
      return nil
    }
    (task, self.element) = (glob, element)
  }

  /// Whether it speaks of elements of a fan-out.
  var isOfElements: Bool { element != .none }

  /// The one node that it speaks of; `nil` where there may be several.
  var only: TaskNode? {
    guard let id = task.literal else { return nil }
    switch element {
    case .none: return TaskNode(id)
    case .one(let index): return TaskNode(id, element: index)
    case .all: return nil
    }
  }

  /// Whether it speaks of a node.
  func matches(_ node: TaskNode) -> Bool {
    switch (element, node.element) {
    case (.none, nil), (.all, .some): task.matches(node.task)
    case (.one(let one), let other?): one == other && task.matches(node.task)
    default: false
    }
  }
}
