public import AgentTrace

/// After which tasks a pipeline can be rolled back to.
public enum CheckpointStrategy: Sendable, Hashable {
  /// After each.
  case everyTask
  /// After these.
  case after([String])
  /// After none: to its beginning alone.
  case none

  /// Whether the end of a task is one.
  public func contains(_ task: String) -> Bool {
    switch self {
    case .everyTask: true
    case .after(let tasks): tasks.contains { $0.hasSameUTF8(as: task) }
    case .none: false
    }
  }

  var encoded: JSONValue {
    switch self {
    case .everyTask: "every_task"
    case .after(let tasks): JSONValue(tasks)
    case .none: "none"
    }
  }
}

/// One task needs another.
public struct PipelineEdge: Sendable, Hashable {
  /// The task that comes first.
  public var from: String
  /// The task that needs it.
  public var to: String

  /// Both by their ids.
  public init(_ from: String, _ to: String) {
    self.from = from
    self.to = to
  }
}

/// What a pipeline is, but for what does the work of its tasks.
public struct PipelineSpec: Sendable, Hashable {
  /// Its name.
  public var name: String
  /// Its tasks. Where several could start, the one that stands first does.
  public var tasks: [TaskSpec]
  /// Which task needs which; `nil` where what they are given says it.
  public var edges: [PipelineEdge]?
  /// After which tasks it can be rolled back to.
  public var checkpoints: CheckpointStrategy
  /// How many attempts are under way at the same time.
  public var concurrency: Int
  /// How many of them may need a label; one that is not named is without limit.
  public var labelConcurrency: [String: Int]
  /// The JSON Schema of what it is given.
  public var inputSchema: JSONValue?
  /// What all runs of its tasks together may use; `maxSteps` and `maxToolCalls` count theirs.
  public var limits = Limits()

  /// How many attempts are under way at the same time where nothing is said.
  public static let defaultConcurrency = 16

  /// What is not given can be set afterwards.
  public init(
    _ name: String, tasks: [TaskSpec], edges: [PipelineEdge]? = nil,
    checkpoints: CheckpointStrategy = .everyTask, concurrency: Int = defaultConcurrency,
    labelConcurrency: [String: Int] = [:]
  ) {
    self.name = name
    self.tasks = tasks
    self.edges = edges
    self.checkpoints = checkpoints
    self.concurrency = concurrency
    self.labelConcurrency = labelConcurrency
  }

  /// Everything that decides what the pipeline does, for the log.
  public var encoded: JSONObject {
    let labels = labelConcurrency.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      .map { ($0.key, JSONValue($0.value)) }
    return JSONObject(present: [
      ("name", .string(name)), ("tasks", .array(tasks.map { .object($0.encoded) })),
      ("edges", edges.map { .array($0.map { [.string($0.from), .string($0.to)] }) }),
      ("checkpoints", checkpoints.encoded), ("concurrency", JSONValue(concurrency)),
      ("labels", labels.isEmpty ? nil : .object(JSONObject(labels))),
      ("inputSchema", inputSchema),
      ("limits", limits == Limits() ? nil : .object(limits.encoded)),
    ])
  }
}
