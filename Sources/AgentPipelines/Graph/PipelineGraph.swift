public import AgentTrace

/// A pipeline's tasks and which needs which, checked: there is no cycle, and whatever a task names is
/// there when it starts.
public struct PipelineGraph: Sendable {
  /// Where the elements of a fan-out come from as they come.
  enum Stream: Sendable, Hashable {
    /// From the elements of another, by its place.
    case elements(Int)
    /// From the parts of a task's output, by its place.
    case parts(Int)

    var source: Int {
      switch self {
      case .elements(let place), .parts(let place): place
      }
    }
  }

  /// The most tasks of a pipeline.
  public static let taskLimit = 10_000
  /// The most edges, those that inputs say counted.
  public static let edgeLimit = 100_000
  /// The most elements of a fan-out.
  public static let elementLimit = 1_000_000

  /// What the pipeline is.
  public let spec: PipelineSpec
  /// What is doubtful about it, though it runs.
  public let warnings: [PipelineFault]
  /// The place of each task by its id.
  let places: [String: Int]
  /// The tasks that each waits for until they have ended.
  let waits: [[Int]]
  /// Where the elements of each come from as they come; `nil` for all else.
  let streams: [Stream?]
  /// The tasks that look at each other one's output.
  let readers: [[Int]]
  /// The tasks that wait for each, or take its elements as they come.
  let dependents: [[Int]]
  /// Whether a task only stands in for others.
  let isStandIn: [Bool]

  /// Checks a pipeline.
  ///
  /// - Throws: ``PipelineFaults`` with everything that is wrong, not only the first.
  /// - Complexity: linear in tasks and edges, and in what inputs name.
  public init(checking spec: PipelineSpec) throws(PipelineFaults) {
    var builder = GraphBuilder(spec)
    builder.build()
    let errors = builder.faults.filter { !$0.isWarning }
    guard errors.isEmpty else { throw PipelineFaults(faults: builder.faults) }
    self.spec = spec
    warnings = builder.faults
    places = builder.places
    waits = builder.waits
    streams = builder.streams
    readers = builder.readers
    dependents = builder.dependents
    isStandIn = builder.isStandIn
  }

  /// Which task needs which, by their places in the spec, each once and in order.
  public var edges: [(from: Int, to: Int)] {
    dependents.indices.flatMap { from in dependents[from].map { (from, $0) } }
  }

  /// The tasks that stand in for others alone, by their places.
  public var standIns: [Int] { isStandIn.indices.filter { isStandIn[$0] } }

  /// The ids of the tasks that no other waits for or takes elements of, in the order of the spec; those that only stand
  /// in are none. Empty where something is wrong with the pipeline.
  public static func lastTasks(of spec: PipelineSpec) -> [String] {
    guard let graph = try? PipelineGraph(checking: spec) else { return [] }
    return spec.tasks.indices.filter { graph.dependents[$0].isEmpty && !graph.isStandIn[$0] }
      .map { spec.tasks[$0].id }
  }

  /// The same tasks with the schemas of what they return, as far as they are known.
  public static func lastOutputs(of spec: PipelineSpec) -> [(task: String, schema: JSONValue?)] {
    lastTasks(of: spec).map { id in
      guard let task = spec.tasks.first(where: { $0.id.hasSameUTF8(as: id) }),
        let output = SchemaFlow.output(of: task)
      else { return (id, nil) }
      return (id, task.isFanOut ? ["type": "array", "items": output] : output)
    }
  }

  /// Everything that is wrong with a pipeline, and what is doubtful about it.
  public static func faults(in spec: PipelineSpec) -> [PipelineFault] {
    var builder = GraphBuilder(spec)
    builder.build()
    return builder.faults
  }
}
