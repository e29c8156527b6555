import AgentTrace

extension ConformanceRun {
  /// A pipeline: a task that is tried twice, a fan-out of two elements side by side, and a task that never began.
  static let pipeline = ConformanceRun { run in
    run.runTasks()
    run.stop()
  }

  /// The same, whose log ends without its end.
  static let tornPipeline = ConformanceRun { run in
    run.runTasks()
    run.tear()
  }

  private mutating func runTasks() {
    define(["fetch": false, "look": true, "send": false])
    task(
      .started(
        TaskStarted(node: TaskNode("fetch"), attempt: 1, kind: "closure", sideEffect: "read")))
    task(
      .failed(
        TaskFailed(
          node: TaskNode("fetch"), attempt: 1, error: TaskError(.toolFailure, "gone"),
          recovery: TaskRecovery(.retry))))
    task(
      .started(
        TaskStarted(node: TaskNode("fetch"), attempt: 2, kind: "closure", sideEffect: "read")))
    task(.finished(TaskFinished(node: TaskNode("fetch"), attempt: 2, output: ["list": [1, 2]])))
    task(.expanded(TaskExpanded(task: "look", elements: 2)))
    for element in 0..<2 {
      let node = TaskNode("look", element: element)
      task(.started(TaskStarted(node: node, attempt: 1, kind: "closure", sideEffect: "read")))
    }
    for element in 0..<2 {
      let node = TaskNode("look", element: element)
      task(.finished(TaskFinished(node: node, attempt: 1, output: ["n": JSONValue(element + 1)])))
    }
    var whole = TaskFinished(node: TaskNode("look"), attempt: 0)
    whole.elements = 2
    task(.finished(whole))
  }

  /// Says that the run is a pipeline's with these tasks, each with whether it is a fan-out.
  private mutating func define(_ tasks: KeyValuePairs<String, Bool>) {
    let tasks = tasks.map { id, isFanOut -> JSONValue in
      .object(
        JSONObject(present: [
          ("id", .string(id)), ("kind", "closure"),
          ("forEach", isFanOut ? .string("${fetch.list}") : nil),
        ]))
    }
    change(0) { $0.data["inputs"] = ["pipeline": ["tasks": .array(tasks)]] }
  }

  private mutating func task(_ event: PipelineEvent) { add(event.type, event.encoded) }
}
