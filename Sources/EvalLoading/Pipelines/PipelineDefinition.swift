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
  /// The agents of its tasks.
  public var agents: [AgentDefinition] {
    works.compactMap { if case .agent(let agent, _) = $0 { agent } else { nil } }
  }

  /// Whether neither a process nor the network is needed to run it.
  public var isScripted: Bool {
    works.allSatisfy { work in
      switch work {
      case .command: false
      case .agent(let agent, _): agent.isScripted
      case .human: true
      }
    }
  }

  /// What is given to a pipeline that is given nothing else.
  public var defaultInput: JSONValue?
}
