import AgentTrace
import TraceStorage

/// The tasks of a pipeline while its log is read for comparing, or that of one around it.
struct ComparedTasks {
  /// Where a node's act stands among the acts, and how often it was attempted.
  struct Open {
    var act: Int
    var attempts = 0
  }

  /// Places of tasks in the definition.
  var places: [String: Int] = [:]
  /// How often the pipeline was rolled back: what ran again is compared with what ran again.
  var round = 0
  var open: [TaskNode: Open] = [:]
}

/// Where acts stand among those of a pipeline, whatever ran side by side with them: at each level, from the outermost
/// pipeline on, how often it was rolled back, the task's place in its definition, and the element.
struct ComparedPlaces {
  private var places: [String: [Int]] = [:]

  /// Keeps the place of what a task does, by what leads to it: `letters[1]/sign`.
  mutating func keep(_ place: [Int], of caller: String) { places[caller] = place }

  /// The place of a run below, or of the task that it is below of; none in no pipeline.
  func place(of path: [String]) -> [Int] {
    for count in (0...path.count).reversed() {
      if let place = places[path.prefix(count).joined(separator: "/")] { return place }
    }
    return []
  }
}

extension ComparedRun.Reading {
  /// Takes in an event of a run or of one below it, as they stand in one row.
  mutating func take(_ entry: RunTreeReader.Entry, path: String) throws(ComparingError) {
    if member != entry.member.path {
      member = entry.member.path
      place = places.place(of: member)
    }
    guard let original = entry.original else {
      // What a command does is told by its task.
      if entry.event.type == .unseen { try take(entry.event, path: path) }
      return
    }
    let pipeline = member.joined(separator: "/")
    if !member.isEmpty, original.beginsPipelineAlone {
      tasks[pipeline] = ComparedTasks(of: original)
    }
    guard !member.isEmpty, tasks[pipeline] != nil,
      (try? PipelineEvent(type: original.type, data: original.data)) != nil
    else { return try take(entry.event, path: path) }
    var event = original
    event.seq = entry.event.seq
    take(task: event)
    try checkLength(path)
  }

  /// What a pipeline began with: its tasks by their ids, so that one more is no difference of all behind it.
  mutating func begin(pipeline event: Event, _ start: inout JSONObject) {
    run.isPipeline = true
    start["agent"] = nil
    start["goal"] = nil
    start["pipeline"] = event.data["agent"]?["name"]
    let definition = event.data["inputs"]?["pipeline"]?.objectValue ?? [:]
    for task in definition["tasks"]?.arrayValue ?? [] {
      guard var object = task.objectValue, let id = object["id"]?.stringValue else { continue }
      object["id"] = nil
      // Digests of files explain what differs, and do not count.
      if var implementation = object["implementation"]?.objectValue {
        for (key, kind) in [("agent", "agent"), ("definition", "pipeline")] {
          guard let digest = implementation[key]?.stringValue else { continue }
          fileLabels.append(("\(kind) file of \(id)", digest))
          implementation[key] = nil
        }
        object["implementation"] = implementation.isEmpty ? nil : .object(implementation)
      }
      start["task \(id)"] = .object(object)
    }
    tasks[""] = ComparedTasks(of: event)
    for member in definition where member.key != "tasks" && member.key != "name" {
      start[member.key] = member.value
    }
  }

  /// Takes in an event of a pipeline.
  mutating func take(task event: Event) {
    guard let change = try? PipelineEvent(type: event.type, data: event.data) else { return }
    switch change {
    case .started(let started):
      let index = act(of: started.node, event)
      self.change { $0.open[started.node]?.attempts = started.attempt }
      let acting = TaskNode(started.acting ?? started.node.task, element: started.node.element)
      places.keep(
        place(of: acting),
        of: (member + [PipelineCalls.caller(of: started)]).joined(separator: "/"))
      put("input", .object(picked(["input", "arguments", "acting"], of: event.data)), at: index)
    case .asked(let asked) where asked.why != .run:
      let index = act(of: asked.node, event)
      if asked.why == .human {
        put("input", .object(picked(["question", "show"], of: event.data)), at: index)
      }
    case .answered(let answered):
      let index = act(of: answered.node, event)
      put(
        "approval", .object(picked(["word", "data", "by", "reason"], of: event.data)), at: index)
    case .finished(let finished):
      end(finished.node, "finished", ["output", "via", "elements"], event)
    case .skipped(let skipped): end(skipped.node, "skipped", ["reason"], event)
    case .failed(let failed):
      guard [.fail, .compensate].contains(failed.recovery.action) else {
        let index = act(of: failed.node, event)
        return run.acts[index].events.append(event.seq)
      }
      end(failed.node, "failed", ["error", "effect"], event)
    case .compensationFinished(let undone):
      add(
        undone.node, "/\(PipelineCalls.compensation)", event,
        [("result", .object(picked(["error", "by"], of: event.data)))])
    case .rolledBack:
      self.change { tasks in
        tasks.open = [:]
        tasks.round += 1
      }
    default: break
    }
  }

  /// The tasks of the pipeline whose log is read.
  private var own: ComparedTasks { tasks[member.joined(separator: "/")] ?? ComparedTasks() }

  private mutating func change(_ body: (inout ComparedTasks) -> Void) {
    body(&tasks[member.joined(separator: "/"), default: ComparedTasks()])
  }

  private func place(of node: TaskNode) -> [Int] {
    let own = own
    return place + [
      own.round, own.places[node.task] ?? own.places.count, (node.element ?? -1) + 1,
    ]
  }

  private mutating func add(
    _ node: TaskNode, _ what: String, _ event: Event, _ parts: [(String, JSONValue)]
  ) {
    let pipeline = member.joined(separator: "/")
    add(
      .task, (pipeline.isEmpty ? "" : pipeline + "/") + "\(node)\(what)", event, parts,
      caller: pipeline.isEmpty ? "agent" : pipeline, place: place(of: node))
  }

  /// The act of a node that has begun and has not ended; it is begun where there is none.
  private mutating func act(of node: TaskNode, _ event: Event) -> Int {
    if let open = own.open[node] { return open.act }
    let index = run.acts.count
    add(node, "", event, [])
    change { $0.open[node] = ComparedTasks.Open(act: index) }
    return index
  }

  private mutating func end(_ node: TaskNode, _ status: String, _ keys: [String], _ event: Event) {
    let index = act(of: node, event)
    let attempts = own.open[node]?.attempts ?? 0
    change { $0.open[node] = nil }
    if run.acts[index].events.last != event.seq { run.acts[index].events.append(event.seq) }
    var result = picked(keys, of: event.data)
    result["status"] = .string(status)
    if attempts > 1 { result["attempts"] = JSONValue(attempts) }
    put("result", .object(result), at: index)
  }

  /// Puts the tasks in the order of their definition, each with what the runs below it did: in which order those ended
  /// that ran side by side is no difference.
  mutating func endTasks() {
    guard run.isPipeline else { return }
    let sorted = run.acts.indices.sorted { left, right in
      let (first, second) = (run.acts[left].place, run.acts[right].place)
      return first == second ? left < right : first.lexicographicallyPrecedes(second)
    }
    var group = 0
    run.acts = sorted.enumerated().map { index, place in
      var act = run.acts[place]
      if index > 0 {
        let before = run.acts[sorted[index - 1]]
        if before.group != act.group || before.place != act.place { group += 1 }
      }
      act.group = group
      return act
    }
  }
}

extension ComparedTasks {
  /// The tasks that the start of a pipeline defines.
  fileprivate init(of start: Event) {
    let tasks = start.data["inputs"]?["pipeline"]?["tasks"]?.arrayValue ?? []
    for (place, task) in tasks.enumerated() {
      if let id = task["id"]?.stringValue { places[id] = place }
    }
  }
}
