public import AgentPipelines
public import AgentRuntime
public import AgentTrace
public import TraceJudging

/// A pipeline as a file says it: its graph, and what does the work of each task.
public struct PipelineDefinition: Sendable {
  /// What does a task.
  public enum Work: Sendable {
    /// A program.
    case command(CommandDefinition)
    /// An agent, and what its run is held to.
    case agent(AgentDefinition, Expectations?)
    /// A person.
    case human
  }

  /// The graph.
  public var spec: PipelineSpec
  /// What does each task, in the order of the graph's.
  public var works: [Work]
  /// The SHA-256 of the file's bytes.
  public var digest: String
  /// The folder that paths in it start from, and that commands run in.
  public var folder: String
  /// What is given to a pipeline that is given nothing else.
  public var defaultInput: JSONValue?
}
