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

  /// The log of an attempt.
  func path(of runId: String) -> String {
    "\(folder)/\(RunFiles.fileName(for: runId))\(LogFormat.suffix)"
  }
}
