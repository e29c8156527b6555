import AgentPipelines
import AgentRuntime
import AgentTrace
import EvalLoading
import TraceStorage

/// A task that is another pipeline: each attempt is a run of its own, with its log beside the outer one's.
///
/// To the outer pipeline it is one task: what it did is undone by what the task declares.
struct NestedPipelineTask: RunTask {
  var spec: TaskSpec
  var definition: PipelineDefinition
  var means: PipelineMeans
  var folder: String
  var compensation: ToolTask

  func mayGoOn(_ run: TaskRun) async -> Bool {
    // What cannot be read goes on, and says then what is wrong.
    guard let waiting = try? WaitingPipeline(log: path(of: run.runId)) else { return true }
    return (try? waiting.open().isEmpty) ?? true
  }

  func execute(_ context: TaskContext) async throws -> TaskOutcome {
    guard let runId = context.runId else {
      return .failed(TaskError(.toolFailure, "the attempt has no run"))
    }
    let (path, outer) = (path(of: runId), means.pausing)
    let (pausing, cutting) = (Cancellation(), Cancellation())
    // Where the outer pipeline pauses this one does, at once; it goes on with it. Where that one gives the attempt up,
    // this one is cut off.
    let work: () async -> Result<PipelineRecording, any Error> = {
      await withTaskCancellationHandler {
        await Self.result {
          try await HeldLog.onceFree { try await run(context, runId, path, pausing, cutting) }
        }
      } onCancel: {
        cutting.cancel(signal: Cancellation.cancelledTask)
      }
    }
    let ending = await outer.whileListening(
      { pausing.cancel(signal: outer.signal ?? "pause") }, work)
    do { return try outcome(of: try ending.get()) } catch let error as LogError {
      return try .held(error)
    }
  }

  private static func result(
    _ work: () async throws -> PipelineRecording
  ) async -> Result<PipelineRecording, any Error> {
    do { return .success(try await work()) } catch { return .failure(error) }
  }

  private func run(
    _ context: TaskContext, _ runId: String, _ path: String, _ pausing: Cancellation,
    _ cutting: Cancellation
  ) async throws -> PipelineRecording {
    var means = means
    (means.pausing, means.cutting) = (pausing, cutting)
    means.outerSecrets = context.secrets
    means.standsAlone = false
    let (observe, node) = (self.means.observeTask, context.node)
    guard try context.isResumed && LogFiles.holdsEvents(path) else {
      // The same runs have the same identifiers, in whatever order pipelines run side by side.
      if means.identifiers is SeededRunIDs { means.identifiers = Self.identifiers(of: runId) }
      return try await PipelineRecording(
        of: definition, request(context, runId, path), means, observe: { observe(node, $0) })
    }
    try checkParent(of: path, context)
    // It may have ended while this pipeline stood still, or just before its process did.
    if let ended = try PipelineRecording.ended(path, of: definition, means) { return ended }
    return try await PipelineRecording(
      resuming: path, with: definition, means, acceptsChanges: means.acceptsChanges,
      observe: { observe(node, $0) })
  }

  private static func identifiers(of runId: String) -> SeededRunIDs {
    let bits = Digest(of: .string(runId)).bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return SeededRunIDs(seed: Int(bits >> 11))
  }

  private func request(
    _ context: TaskContext, _ runId: String, _ path: String
  ) -> PipelineRecording.Request {
    var request = PipelineRecording.Request(input: context.input, files: RunFiles(output: path))
    request.runId = runId
    request.seed = context.attempt
    // Names the work: the same actions have the same keys in each attempt, and others elsewhere.
    request.pipelineId =
      "\(context.pipelineId)/\(context.node)/\(context.idempotencyKey.prefix(16))"
    request.parent = (context.parentRun, context.node.task)
    if context.remaining != Limits() { request.outerLimits = context.remaining }
    return request
  }

  // MARK: What comes out

  private func outcome(of recording: PipelineRecording) throws -> TaskOutcome {
    let state = recording.state
    var run = TaskRun(
      runId: state.runId, log: RunFiles.fileName(for: state.runId) + LogFormat.suffix)
    run.stopReason = state.stop?.reason
    run.sealDigest = recording.sealDigest.hex
    run.totals = state.totals.encoded
    var outcome: TaskOutcome
    if let waiting = try waiting(recording) {
      outcome = .waiting(waiting)
    } else if recording.isSuccess {
      outcome = .finished(try PipelineOutput(of: definition.spec, log: recording.log).value)
    } else {
      let detail = state.stop?.detail.map { " (\($0))" } ?? ""
      outcome = .failed(
        TaskError(
          .toolFailure, "its pipeline stopped as \(state.stop?.reason ?? "unknown")\(detail)"))
      outcome.isEffectUnknown =
        try spec.sideEffect != .read && !PipelineEffects(log: recording.log).nodes.isEmpty
    }
    outcome.run = run
    outcome.secrets = recording.secrets
    return outcome
  }

  /// What the run waits for; `nil` where it does not.
  private func waiting(_ recording: PipelineRecording) throws -> TaskOutcome.Waiting? {
    guard let stop = recording.state.stop, !stop.isFinal else { return nil }
    let open = try WaitingPipeline(log: recording.log).open()
    if !open.isEmpty {
      let names = open.prefix(10).map(\.name).joined(separator: ", ")
      return TaskOutcome.Waiting(
        question: "its pipeline waits for a person’s word on \(names)",
        show: .array(
          open.prefix(10).map { ["task": .string($0.name), "question": .string($0.words)] }))
    }
    guard stop.reason == StopReason.cancelled.rawValue, recording.state.rollback == nil else {
      return nil
    }
    return TaskOutcome.Waiting(question: "its pipeline was paused; it goes on with this one")
  }
}
