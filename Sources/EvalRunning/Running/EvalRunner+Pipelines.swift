import AgentRuntime
import AgentTrace
import EvalLoading

/// Cases for which a pipeline is run.
extension EvalRunner {
  /// The pipeline of a file.
  func pipeline(_ path: String) throws -> PipelineDefinition {
    try PipelineLoader.load(path).orThrow()
  }

  /// Runs the pipeline of a case, to its end or until it stands still.
  ///
  /// - Returns: its log; those of its tasks' runs lie beside it.
  func record(pipeline path: String, _ evalCase: EvalCase, trial: Int?) async throws -> String {
    let definition = try pipeline(path)
    guard options.isLive || definition.isScripted else { throw needsLive(evalCase) }
    let seed = (evalCase.conditions.seed ?? options.seed).map {
      Self.seed($0, evalCase.caseId, trial ?? 1)
    }
    var request = PipelineRecording.Request(
      input: evalCase.pipelineInput ?? (evalCase.input.isEmpty ? nil : .string(evalCase.input)),
      files: options.files)
    (request.seed, request.caseId, request.trial) = (seed, evalCase.caseId, trial)
    request.tags = evalCase.tags
    let (caseId, tell) = (evalCase.caseId, options.observeLive)
    return try await PipelineRecording(
      of: definition, request, means(for: definition, seed: seed), willRecord: options.begins,
      observe: { tell(caseId, .event($0)) }
    ).log
  }

  private func means(for definition: PipelineDefinition, seed: Int?) -> PipelineMeans {
    // Where nothing outside is reached time need not pass either.
    let isFixed = !options.isLive || (seed != nil && definition.isScripted)
    let makeLiveClock = makeClock
    return PipelineMeans(
      makeTool: makeTool ?? { _, _, _ in NoTool() }, makeBoundary: makeBoundary,
      clock: { elapsed in
        isFixed ? FixedClock(elapsedMicroseconds: elapsed) : makeLiveClock()
      },
      identifiers: seed.map { SeededRunIDs(seed: $0) } ?? RandomRunIDs(), pausing: cancellation,
      secrets: makeSecrets)
  }
}
