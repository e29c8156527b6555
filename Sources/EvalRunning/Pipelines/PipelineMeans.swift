import AgentPipelines
public import AgentRuntime
public import AgentTrace
import EvalLoading
public import TraceStorage

/// Makes the tool that a command is, in a folder; the cancellation cuts a call off.
public typealias ToolMaker = @Sendable (CommandDefinition, String, Cancellation) -> any Tool

/// What a pipeline of a file is run with: what reaches the outside world is handed in.
public struct PipelineMeans: Sendable {
  /// Makes the tool that a command is, in a folder; the cancellation cuts a call off.
  public var makeTool: ToolMaker
  /// Makes what the agents of tasks run on.
  public var makeBoundary: BoundaryMaker
  /// Makes the clock, from the microseconds of active run time that have passed.
  public var clock: @Sendable (Int) -> any RunClock
  /// Where identifiers of runs come from.
  public var identifiers: any RunIDs
  /// The wish that the pipeline pauses.
  public var pausing: Cancellation
  /// The wish that it ends at once, of a pipeline around it.
  var cutting = Cancellation()
  /// How logs are written.
  public var logOptions: LogWriter.Options
  /// Whether runs of tasks may go on with another agent file or policy than before.
  public var acceptsChanges = false
  /// What is withheld from the pipeline's log beside what its file says: what the environment of these programs holds.
  public var secrets: @Sendable ([CommandDefinition]) -> RunSecrets
  /// Whether no run above the pipeline is under way in this process.
  var standsAlone = true
  /// What the pipeline that this one stands in has withheld so far.
  var outerSecrets = RunSecrets()
  /// Told of each event of a task's own run, as it happens, from any task.
  public var observeTask: @Sendable (TaskNode, Event) -> Void = { _, _ in }

  /// Nothing is started.
  public init(
    makeTool: @escaping ToolMaker,
    makeBoundary: @escaping BoundaryMaker, clock: @escaping @Sendable (Int) -> any RunClock,
    identifiers: any RunIDs, pausing: Cancellation, logOptions: LogWriter.Options = .init(),
    secrets: @escaping @Sendable ([CommandDefinition]) -> RunSecrets = { _ in RunSecrets() }
  ) {
    self.secrets = secrets
    self.makeTool = makeTool
    self.makeBoundary = makeBoundary
    self.clock = clock
    self.identifiers = identifiers
    self.pausing = pausing
    self.logOptions = logOptions
  }

  /// The pipeline of a file, with what does the work of each task.
  ///
  /// - Parameter folder: where the logs of its tasks' runs go: that of the pipeline's own.
  /// - Throws: `PipelineFaults`, which the loader has told before.
  func pipeline(
    of definition: PipelineDefinition, logsIn folder: String
  ) throws(PipelineFaults) -> Pipeline {
    let tasks = zip(definition.spec.tasks, definition.works).map { spec, work -> any PipelineTask in
      switch work {
      case .human: return PersonTask(spec)
      case .command(let command): return commandTask(spec, command, definition.folder)
      case .agent(let agent, let expectations):
        return AgentTask(
          spec: spec, agent: agent, expectations: expectations, means: self, folder: folder,
          compensation: commandTask(spec, CommandDefinition(arguments: []), definition.folder))
      case .pipeline(let inner):
        return NestedPipelineTask(
          spec: spec, definition: inner, means: self, folder: folder,
          compensation: commandTask(spec, CommandDefinition(arguments: []), definition.folder))
      }
    }
    var pipeline = try Pipeline(definition.spec, tasks: tasks)
    pipeline.fileDigest = definition.digest
    pipeline.redaction = definition.redaction
    return pipeline
  }

  /// What withholds secrets from a pipeline's log.
  func redactor(for definition: PipelineDefinition) -> Redactor {
    Redactor(definition.redaction, secrets(definition.programs).adding(outerSecrets))
  }

  private func commandTask(
    _ spec: TaskSpec, _ command: CommandDefinition, _ folder: String
  ) -> ToolTask {
    let makeTool = makeTool
    return ToolTask(spec) { words, cancellation in
      var command = command
      if let words { command.arguments = words }
      return makeTool(command, folder, cancellation)
    }
  }
}
