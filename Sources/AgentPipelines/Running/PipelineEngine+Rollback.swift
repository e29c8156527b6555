import AgentTrace

extension PipelineEngine {
  /// How often undoing an effect is tried before a person has to see to it.
  static let compensationAttempts = 3

  /// Begins a rollback.
  ///
  /// - Parameter seq: the last event that stays.
  private func beginRollback(
    to checkpoint: String?, seq: Int, by: String?, reason: String?
  ) async throws {
    let effects = ledger.effects(behind: seq)
    let left = effects.filter { $0.compensate == nil }
    let start = RollbackStarted(
      checkpoint: checkpoint, toSeq: seq, by: by, reason: reason,
      compensations: effects.count - left.count, left: Array(left.prefix(100).map(\.node)),
      leftCount: left.count)
    try await append(.pipeline(.rollbackStarted(start)))
  }

  /// Begins a rollback, undoes everything, and stops the run, which may go on.
  func rollBack(
    to checkpoint: String?, seq: Int, by: String?, reason: String?
  ) async throws {
    try await beginRollback(to: checkpoint, seq: seq, by: by, reason: reason)
    if try await undoAll() {
      try await append(.stop(Stop(reason: .cancelled, detail: "rolled_back", isFinal: false)))
    }
  }

  /// Undoes what is left to undo, what was done last first, and ends the rollback.
  ///
  /// - Returns: `false` where something could not be undone: the run has stopped then.
  func undoAll() async throws -> Bool {
    if state.rollback == nil {
      // A rule of the pipeline asks for it: all that was done, from its beginning.
      try await beginRollback(
        to: nil, seq: 0, by: nil, reason: "a task failed, and its recover says compensate")
    }
    guard let start = state.rollback?.start else { return true }
    for effect in ledger.effects(behind: start.toSeq) where effect.compensate != nil {
      guard try await undo(effect) else {
        let (reason, detail): (StopReason, String) =
          state.isPausing
          ? (.cancelled, StopDetail.paused)
          : (.blocked, StopDetail.rollback("\(effect.node)"))
        try await append(.stop(Stop(reason: reason, detail: detail, isFinal: false)))
        return false
      }
    }
    try await append(
      .pipeline(
        .rolledBack(
          RolledBack(
            checkpoint: start.checkpoint, toSeq: start.toSeq,
            tasks: state.isCompensating ? [] : kept(at: start.toSeq),
            compensated: state.rollback?.compensated ?? 0, left: start.leftCount))))
    return true
  }

  /// - Returns: `false` where it is not undone: a person has to see to it, or the pipeline is to pause.
  private func undo(_ effect: EffectLedger.Effect) async throws -> Bool {
    guard let task = pipeline.task(actingTask(of: effect)) else { return false }
    var attempt = 0
    if let current = state.rollback?.current, current.of == effect.startSeq {
      attempt = current.attempt
    }
    let key = Digest(of: [.string(runId), "undo", JSONValue(effect.startSeq)]).hex
    let command: JSONValue?
    do throws(TaskError) { command = try self.command(undoing: effect) } catch {
      // Nothing is begun by a command that lacks a piece; a person undoes it and says so.
      try await tellNotUndone(effect, attempt: attempt + 1, key, error)
      return false
    }
    for _ in 0..<Self.compensationAttempts {
      guard try await !pauses() else { return false }
      attempt += 1
      try await append(
        .pipeline(
          .compensationStarted(
            CompensationStarted(
              node: effect.node, of: effect.startSeq, attempt: attempt, idempotencyKey: key,
              command: command))), isEffectAhead: true)
      let outcome = await undone(effect, by: task, attempt: attempt, command, key)
      let error = outcome.error.map { "\($0.kind): \($0.message)" }
      try await append(
        .pipeline(
          .compensationFinished(
            CompensationFinished(
              node: effect.node, of: effect.startSeq, attempt: attempt, error: error))))
      if error == nil { return true }
    }
    return false
  }

  /// Whether the pipeline is to stand still before anything more is undone; the wish is recorded.
  private func pauses() async throws -> Bool {
    if !state.isPausing, let by = pauseRequest {
      try await append(.pipeline(.pauseRequested(PauseRequested(by: by))))
    }
    return state.isPausing
  }

  private func tellNotUndone(
    _ effect: EffectLedger.Effect, attempt: Int, _ key: String, _ error: TaskError
  ) async throws {
    try await append(
      .pipeline(
        .compensationStarted(
          CompensationStarted(
            node: effect.node, of: effect.startSeq, attempt: attempt, idempotencyKey: key,
            command: effect.compensate))))
    try await append(
      .pipeline(
        .compensationFinished(
          CompensationFinished(
            node: effect.node, of: effect.startSeq, attempt: attempt,
            error: "\(error.kind): \(error.message)"))))
  }

  private func undone(
    _ effect: EffectLedger.Effect, by task: any PipelineTask, attempt: Int, _ command: JSONValue?,
    _ key: String
  ) async -> TaskOutcome {
    let plain: JSONValue?
    do throws(TaskError) {
      plain = recorded == nil ? try withholding.restored(command) : command
    } catch { return .failed(error) }
    return await executor.compensate(
      task,
      CompensationContext(
        node: effect.node, of: effect.startSeq, attempt: attempt, command: plain,
        idempotencyKey: key, pipelineRunId: runId))
  }

  /// The task that made the attempt: itself, unless its own kind of undoing says otherwise.
  private func actingTask(of effect: EffectLedger.Effect) -> String {
    effect.acting ?? effect.node.task
  }

  /// - Throws: ``TaskError`` where it needs something of what the task returned that is not there: nobody knows what
  ///   the attempt came to, or it returned something else.
  private func command(undoing effect: EffectLedger.Effect) throws(TaskError) -> JSONValue? {
    guard let compensate = effect.compensate else { return nil }
    return try TaskTemplate(compensate).filled {
      (reference) throws(TaskError) -> TaskTemplate.Found in
      guard reference.root == .output else { return .value(.string("${\(reference.text)}")) }
      guard let output = effect.output, try reference.follow(output) != .null else {
        throw TaskError(
          .input, "${\(reference.text)}: nobody knows what \(effect.node) returned there")
      }
      return .value(output)
    }
  }

  /// Of each task that had not ended at an event, what stays of it.
  private func kept(at seq: Int) -> [RolledBack.Kept] {
    let before = stateAtRollback ?? PipelineState()
    return state.tasks.compactMap { task in
      let then = before[task.id]
      if let settledSeq = task.settledSeq, settledSeq <= seq { return nil }
      let isEmpty =
        task.settled == nil && task.active.isEmpty && task.settledElements == 0
        && task.elements == nil
      if isEmpty { return nil }
      return RolledBack.Kept(
        task: task.id, elements: then?.elements, finished: then?.finished ?? IndexRanges(),
        skipped: then?.skipped ?? IndexRanges(), failed: then?.failed ?? IndexRanges())
    }
  }
}
