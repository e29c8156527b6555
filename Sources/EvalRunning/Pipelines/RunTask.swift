import AgentPipelines
import AgentRuntime
import AgentTrace
import TraceStorage

/// A task of which each attempt is a run of its own, with its log beside the pipeline's.
protocol RunTask: PipelineTask {
  /// Where its logs go.
  var folder: String { get }
  /// What undoes it, where that is a command.
  var compensation: ToolTask { get }
}

extension RunTask {
  var goesOn: Bool { true }

  func limits(of run: TaskRun) async -> Limits? {
    var reader = try? LogReader(path: path(of: run.runId))
    guard let first = try? reader?.next() else { return nil }
    return try? RunStarted(decoding: first.data).limits
  }

  func compensate(_ context: CompensationContext) async throws -> TaskOutcome {
    try await compensation.compensate(context)
  }

  /// - Throws: where a log is not that of this attempt.
  func checkParent(of path: String, _ context: TaskContext) throws {
    var reader = try LogReader(path: path)
    let parent = try reader.next()?.data["parent"]
    guard parent?["relation"]?.stringValue == ParentRun.task,
      parent?["runId"]?.stringValue?.hasSameUTF8(as: context.pipelineRunId) ?? false,
      parent?["seq"]?.intValue == context.seq
    else { throw CaseError(reason: "\(path) is the log of another run; move it away") }
  }

  /// The log of an attempt.
  func path(of runId: String) -> String {
    "\(folder)/\(RunFiles.fileName(for: runId))\(LogFormat.suffix)"
  }
}
