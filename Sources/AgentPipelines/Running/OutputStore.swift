import AgentTrace

/// What tasks returned, as long as a task that has not ended may look at it. The log holds it all; this is
/// only what need not be read again.
struct OutputStore {
  private let graph: PipelineGraph
  /// By the task's place: the output, and the event that it stands in.
  private var singles: [Int: JSONValue] = [:]
  private var elements: [Int: [Int: JSONValue]] = [:]
  private var parts: [Int: [JSONValue]] = [:]
  private var seqs: [Int: Int] = [:]
  /// How many tasks that have not ended look at each.
  private var openReaders: [Int]
  /// The tasks that each looks at.
  private var sources: [[Int]]
  /// Whether a log is being read: a rollback that stands further on may need again what nobody needs here.
  private var isReading = true
  /// Whether only the elements of one other task look at those of each, one by one.
  private let isChained: [Bool]

  init(_ graph: PipelineGraph) {
    self.graph = graph
    openReaders = graph.readers.map(\.count)
    sources = Array(repeating: [], count: graph.readers.count)
    for (source, readers) in graph.readers.enumerated() {
      for reader in readers { sources[reader].append(source) }
    }
    isChained = graph.readers.enumerated().map { source, readers in
      guard readers.count == 1, let reader = readers.first, !graph.waits[reader].contains(source)
      else { return false }
      return graph.streams[reader] == .elements(source)
    }
  }

  /// Takes in an event.
  mutating func take(_ change: PipelineEvent, seq: Int) {
    switch change {
    case .output(let output):
      guard let task = graph.places[output.node.task], !graph.readers[task].isEmpty else {
        return
      }
      // In its place: a copy of the parts so far for each one would cost the square of their number.
      if output.part == parts[task]?.count ?? 0 { parts[task, default: []].append(output.value) }
    case .finished(let finished):
      guard let task = graph.places[finished.node.task] else { return }
      seqs[task] = seq
      if isReading || openReaders[task] > 0, let output = finished.output {
        if let element = finished.node.element {
          elements[task, default: [:]][element] = output
        } else {
          singles[task] = output
        }
      }
      ended(task, finished.node.element)
    case .skipped(let skipped): settle(skipped.node, seq)
    case .failed(let failed):
      if failed.recovery.action == .fail || failed.recovery.action == .compensate {
        settle(failed.node, seq)
      }
    case .rolledBack(let end): forget(end)
    default: break
    }
  }

  private mutating func settle(_ node: TaskNode, _ seq: Int) {
    guard let task = graph.places[node.task] else { return }
    seqs[task] = seq
    ended(task, node.element)
  }

  /// A task, or an element of one, looks at nothing any more.
  private mutating func ended(_ task: Int, _ element: Int?) {
    guard !isReading else { return }
    guard let element else {
      for source in sources[task] {
        openReaders[source] -= 1
        if openReaders[source] == 0 { drop(source) }
      }
      return
    }
    if case .elements(let source)? = graph.streams[task], isChained[source] {
      elements[source]?[element] = nil
    }
  }

  private mutating func drop(_ source: Int) {
    singles[source] = nil
    elements[source] = nil
    parts[source] = nil
  }

  /// The log is read, and no rollback is under way: from here on what nobody needs any more is let go of.
  mutating func endReading(in state: PipelineState) {
    isReading = false
    for (source, readers) in graph.readers.enumerated() {
      openReaders[source] = readers.count {
        state[graph.spec.tasks[$0].id]?.settled == nil
      }
      if openReaders[source] == 0 { drop(source) }
      if isChained[source], let reader = readers.first,
        let progress = state[graph.spec.tasks[reader].id]
      {
        elements[source] = elements[source]?.filter {
          progress.settled(element: $0.key) == nil
        }
      }
    }
  }

  /// What a rollback lets run anew. What it goes back to is still there where whoever ends it goes on: it has let go of
  /// nothing since it read the log.
  private mutating func forget(_ end: RolledBack) {
    for kept in end.tasks {
      guard let task = graph.places[kept.task] else { continue }
      singles[task] = nil
      parts[task] = nil
      elements[task] = elements[task]?.filter { kept.finished.contains($0.key) }
    }
  }

  /// A part of a task's output that is recorded.
  func part(_ index: Int, of task: Int) -> JSONValue? {
    guard let known = parts[task], known.indices.contains(index) else { return nil }
    return known[index]
  }

  /// What a reference leads to, for a node.
  func find(
    _ reference: TaskReference, for node: TaskNode, in state: PipelineState
  ) throws(TaskError) -> TaskTemplate.Found {
    switch reference.root {
    case .input:
      guard let input = state.input else {
        throw TaskError(.input, "${\(reference.text)}: the pipeline was given no input")
      }
      return .value(input)
    case .index: return .value(JSONValue(node.element ?? 0))
    case .item: return try item(of: node, in: state)
    case .output:
      throw TaskError(.input, "${\(reference.text)}: \(node) has no output")
    case .task(let id): return try output(of: id, in: state)
    }
  }

  private func output(
    of id: String, in state: PipelineState
  ) throws(TaskError) -> TaskTemplate.Found {
    guard let task = graph.places[id], let progress = state[id] else {
      throw TaskError(.input, "${\(id)}: nothing has come of it")
    }
    switch progress.settled {
    case .skipped: return .absent
    case .finished: break
    case .failed, nil: throw TaskError(.input, "${\(id)}: it has no output")
    }
    if let single = singles[task] { return .value(single) }
    guard graph.spec.tasks[task].isFanOut, let count = progress.elements else {
      throw TaskError(.input, "${\(id)}: its output is not at hand")
    }
    let known = elements[task] ?? [:]
    return .value(.array((0..<count).map { known[$0] ?? .null }))
  }

  private func item(
    of node: TaskNode, in state: PipelineState
  ) throws(TaskError) -> TaskTemplate.Found {
    guard let task = graph.places[node.task], let element = node.element else {
      throw TaskError(.input, "${item}: \(node) runs once")
    }
    switch (graph.streams[task], graph.spec.tasks[task].forEach) {
    case (.parts(let source), _):
      guard let part = part(element, of: source) else {
        throw TaskError(.input, "${item}: part \(element) is not at hand")
      }
      return .value(part)
    case (.elements(let source), .list(let reference)?):
      guard let output = elements[source]?[element] else {
        throw TaskError(.input, "${item}: element \(element) is not at hand")
      }
      var inner = reference
      inner.path.removeFirst()
      return .value(try inner.follow(output))
    case (nil, .list(let reference)?):
      guard case .value(let whole) = try find(reference, for: node, in: state) else {
        return .absent
      }
      guard let item = try reference.follow(whole)[element] else {
        throw TaskError(.input, "${item}: there is no element \(element)")
      }
      return .value(item)
    default: throw TaskError(.input, "${item}: \(node) runs once")
    }
  }

  /// The events that what an attempt is given came from, by what it names.
  func origins(of references: [TaskReference], for node: TaskNode) -> JSONObject {
    var origins = JSONObject()
    for reference in references {
      switch reference.root {
      case .input: origins["input"] = 0
      case .task(let id):
        if let task = graph.places[id], let seq = seqs[task] { origins[id] = JSONValue(seq) }
      case .item:
        let task = graph.places[node.task]
        if let source = task.flatMap({ graph.streams[$0]?.source }), let seq = seqs[source] {
          origins["item"] = JSONValue(seq)
        } else if case .list(let list)? = task.flatMap({ graph.spec.tasks[$0].forEach }) {
          if let id = list.task, let seq = graph.places[id].flatMap({ seqs[$0] }) {
            origins["item"] = JSONValue(seq)
          } else {
            origins["item"] = 0
          }
        }
      case .index, .output: break
      }
    }
    return origins
  }
}
