import AgentTrace

/// The tasks of a pipeline while its log is read for comparing.
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

extension ComparedRun.Reading {
  /// What a pipeline began with: its tasks by their ids, so that one more is no difference of all behind it.
  mutating func begin(pipeline event: Event, _ start: inout JSONObject) {
    run.isPipeline = true
    start["agent"] = nil
    start["goal"] = nil
    start["pipeline"] = event.data["agent"]?["name"]
    let definition = event.data["inputs"]?["pipeline"]?.objectValue ?? [:]
    for (place, task) in (definition["tasks"]?.arrayValue ?? []).enumerated() {
      guard var object = task.objectValue, let id = object["id"]?.stringValue else { continue }
      object["id"] = nil
      tasks.places[id] = place
      start["task \(id)"] = .object(object)
    }
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
      tasks.open[started.node]?.attempts = started.attempt
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
      count(finished.run)
      end(finished.node, "finished", ["output", "via", "elements"], event)
    case .skipped(let skipped): end(skipped.node, "skipped", ["reason"], event)
    case .failed(let failed):
      count(failed.run)
      guard [.fail, .compensate].contains(failed.recovery.action) else {
        let index = act(of: failed.node, event)
        return run.acts[index].events.append(event.seq)
      }
      end(failed.node, "failed", ["error", "effect"], event)
    case .compensationFinished(let undone):
      add(
        .task, "\(undone.node)/\(PipelineCalls.compensation)", event,
        [("result", .object(picked(["error", "by"], of: event.data)))],
        group: group(of: undone.node.task))
    case .rolledBack:
      tasks.open = [:]
      tasks.round += 1
    default: break
    }
  }

  private func group(of task: String) -> Int {
    let place = tasks.places[task] ?? tasks.places.count
    return tasks.round * (tasks.places.count + 1) + place
  }

  /// The act of a node that has begun and has not ended; it is begun where there is none.
  private mutating func act(of node: TaskNode, _ event: Event) -> Int {
    if let open = tasks.open[node] { return open.act }
    let index = run.acts.count
    add(.task, "\(node)", event, [], group: group(of: node.task))
    tasks.open[node] = ComparedTasks.Open(act: index)
    return index
  }

  private mutating func end(_ node: TaskNode, _ status: String, _ keys: [String], _ event: Event) {
    let index = act(of: node, event)
    let attempts = tasks.open.removeValue(forKey: node)?.attempts ?? 0
    if run.acts[index].events.last != event.seq { run.acts[index].events.append(event.seq) }
    var result = picked(keys, of: event.data)
    result["status"] = .string(status)
    if attempts > 1 { result["attempts"] = JSONValue(attempts) }
    put("result", .object(result), at: index)
  }

  private mutating func count(_ used: TaskRun?) {
    guard let used = used?.totals, !used.isEmpty, let used = try? Totals(decoding: used) else {
      return
    }
    totals.add(used)
  }

  /// Puts the tasks in the order of their definition: in which order those ended that ran side by side is no
  /// difference.
  mutating func endTasks() {
    guard run.isPipeline else { return }
    let places = run.acts.indices.sorted { left, right in
      (run.acts[left].group, left) < (run.acts[right].group, right)
    }
    run.acts = places.map { run.acts[$0] }
  }
}
