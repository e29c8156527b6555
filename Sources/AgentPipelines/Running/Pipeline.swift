public import AgentRuntime
import AgentTrace

/// A graph of tasks, checked, with what does the work of each.
public struct Pipeline: Sendable {
  /// The tasks and which needs which.
  public let graph: PipelineGraph
  /// What does the work, in the order of the graph's tasks.
  let tasks: [any PipelineTask]
  /// The SHA-256 of the file that it stands in; `nil` for none.
  public var fileDigest: String?

  /// What is withheld from its log.
  public var redaction = RedactionSettings()

  /// What a log says of it, for whoever goes on with it and for whoever speaks to it.
  var recordedInputs: JSONObject {
    let redaction = redaction.encodedTexts
    return JSONObject(present: [
      ("pipeline", .object(spec.encoded)),
      ("redaction", redaction.isEmpty ? nil : .object(redaction)),
    ])
  }

  /// Its spec.
  public var spec: PipelineSpec { graph.spec }

  /// Makes a pipeline of tasks.
  ///
  /// - Parameters:
  ///   - name: what its runs are recorded under.
  ///   - tasks: what does the work, each with its spec.
  ///   - edges: which task needs which; where it is left out, what they are given says it.
  ///   - checkpoints: after which tasks it can be rolled back to; after each where it is left out.
  ///   - concurrency: how many attempts are under way at the same time.
  /// - Throws: ``PipelineFaults`` with everything that is wrong.
  public init(
    _ name: String, tasks: [any PipelineTask], edges: [PipelineEdge]? = nil,
    checkpoints: CheckpointStrategy = .everyTask,
    concurrency: Int = PipelineSpec.defaultConcurrency
  ) throws(PipelineFaults) {
    let spec = PipelineSpec(
      name, tasks: tasks.map(\.spec), edges: edges, checkpoints: checkpoints,
      concurrency: concurrency)
    try self.init(spec, tasks: tasks)
  }

  /// Makes a pipeline of a spec and what does the work.
  ///
  /// - Parameters:
  ///   - spec: the tasks and which needs which.
  ///   - tasks: what does the work, in the order of the spec's tasks; specs of their own count for nothing.
  /// - Throws: ``PipelineFaults`` with everything that is wrong.
  public init(_ spec: PipelineSpec, tasks: [any PipelineTask]) throws(PipelineFaults) {
    graph = try PipelineGraph(checking: spec)
    guard tasks.count == spec.tasks.count else {
      throw PipelineFaults(
        faults: [PipelineFault(key: "tasks", "\(tasks.count) tasks for \(spec.tasks.count)")])
    }
    self.tasks = tasks
  }

  /// What does the work of a task.
  func task(_ id: String) -> (any PipelineTask)? { graph.places[id].map { tasks[$0] } }
}
