public import AgentPipelines
public import AgentRuntime
public import AgentTrace
public import TraceJudging

/// A pipeline as a file says it: its graph, and what does the work of each task.
public struct PipelineDefinition: Sendable {
  /// How many pipelines may stand in one another.
  public static let depthLimit = 8

  /// What does a task.
  public enum Work: Sendable {
    /// A program.
    case command(CommandDefinition)
    /// An agent, and what its run is held to.
    case agent(AgentDefinition, Expectations?)
    /// A person.
    case human
    /// Another pipeline.
    case pipeline(PipelineDefinition)
  }

  /// The graph.
  public var spec: PipelineSpec
  /// What does each task, in the order of the graph's.
  public var works: [Work]
  /// The SHA-256 of the file's bytes.
  public var digest: String
  /// The folder that paths in it start from, and that commands run in.
  public var folder: String
  /// What is withheld from its log.
  public var redaction = RedactionSettings()
  /// The agents of its tasks, and of those of the pipelines in it.
  public var agents: [AgentDefinition] {
    works.flatMap { work -> [AgentDefinition] in
      switch work {
      case .agent(let agent, _): [agent]
      case .pipeline(let inner): inner.agents
      case .command, .human: []
      }
    }
  }
  /// The programs of its tasks, and of those of the pipelines in it.
  public var programs: [CommandDefinition] {
    works.flatMap { work -> [CommandDefinition] in
      switch work {
      case .command(let command): [command]
      case .pipeline(let inner): inner.programs
      case .agent, .human: []
      }
    }
  }

  /// Whether neither a process nor the network is needed to run it.
  public var isScripted: Bool {
    works.allSatisfy { work in
      switch work {
      case .command: false
      case .agent(let agent, _): agent.isScripted
      case .human: true
      case .pipeline(let inner): inner.isScripted
      }
    }
  }

  /// What is given to a pipeline that is given nothing else.
  public var defaultInput: JSONValue?
}
