import AgentRuntime
import AgentTrace

/// Withholds secrets from whatever enters a pipeline's log, and puts them back into what its tasks are given.
///
/// State, outputs and keys of actions are made of what the log says, so that they are the same when the run goes on. The
/// plain values are in the redactor's memory alone.
struct Withholding: Sendable {
  let redactor: Redactor

  // MARK: In

  /// An event as it may stand in the log: what stands in it for people and tasks is looked through, what names tasks and
  /// events is not.
  func redacted(_ payload: EventPayload) -> EventPayload {
    switch payload {
    case .runStarted(var started):
      started.input = started.input.map(redactor.redacted)
      started.inputs = redacted(started.inputs)
      return .runStarted(started)
    case .runResumed(var resumed):
      resumed.inputs = redacted(resumed.inputs)
      return .runResumed(resumed)
    case .pipeline(let change): return .pipeline(redacted(change))
    default: return payload
    }
  }

  /// A definition as it may stand in the log.
  func redacted(_ object: JSONObject) -> JSONObject {
    redactor.redacted(.object(object)).objectValue ?? [:]
  }

  /// A value as it may stand in the log.
  func redacted(_ value: JSONValue) -> JSONValue { redactor.redacted(value) }

  private func redacted(_ change: PipelineEvent) -> PipelineEvent {
    switch change {
    case .started(let started): return .started(redacted(started))
    case .output(var output):
      output.value = redacted(output.value)
      return .output(output)
    case .failed(var failed):
      failed.error.message = redactor.redacted(failed.error.message)
      failed.recovery.value = failed.recovery.value.map(redacted)
      return .failed(failed)
    case .finished(var finished):
      finished.output = finished.output.map(redacted)
      return .finished(finished)
    case .skipped(var skipped):
      skipped.reason = redactor.redacted(skipped.reason)
      return .skipped(skipped)
    case .asked(var asked):
      asked.question = redactor.redacted(asked.question)
      asked.show = asked.show.map(redacted)
      return .asked(asked)
    case .answered(var answered):
      answered.data = answered.data.map(redacted)
      answered.by = redactor.redacted(answered.by)
      answered.reason = answered.reason.map { redactor.redacted($0) }
      return .answered(answered)
    case .rollbackStarted(var start):
      start.by = start.by.map { redactor.redacted($0) }
      start.reason = start.reason.map { redactor.redacted($0) }
      return .rollbackStarted(start)
    case .compensationStarted(var start):
      start.command = start.command.map(redacted)
      return .compensationStarted(start)
    case .compensationFinished(var end):
      end.error = end.error.map { redactor.redacted($0) }
      return .compensationFinished(end)
    case .expanded, .resumed, .pauseRequested, .rolledBack: return change
    }
  }

  /// An attempt as it may stand in the log; made before its key is, which then is the same after the process ended.
  func redacted(_ started: TaskStarted) -> TaskStarted {
    var started = started
    started.input = started.input.map(redacted)
    started.arguments = started.arguments.map(redacted)
    started.compensate = started.compensate.map(redacted)
    return started
  }

  // MARK: Out

  /// What an attempt is given: plain values.
  ///
  /// - Throws: `TaskError` where a value is needed that went with the process that held it. A task that is a run of its
  ///   own goes on with the token: what of it needs the value says so there.
  func restored(_ context: TaskContext, for kind: TaskKind) throws(TaskError) -> TaskContext {
    var context = context
    let isOwnRun = kind.isRun
    context.input = try restored(context.input, mayLack: isOwnRun)
    context.arguments = try restored(context.arguments, mayLack: isOwnRun)
    context.secrets = redactor.hasWithheld ? redactor.secrets : RunSecrets()
    return context
  }

  /// What undoing an attempt is given.
  func restored(_ command: JSONValue?) throws(TaskError) -> JSONValue? {
    try restored(command, mayLack: false)
  }

  private func restored(_ value: JSONValue?, mayLack: Bool) throws(TaskError) -> JSONValue? {
    guard let value else { return nil }
    let (restored, missing) = redactor.restored(value)
    guard let missing, !mayLack else { return restored }
    throw TaskError(.input, Redactor.goneReason(missing))
  }

  // MARK: From the log

  /// Learns which tokens a recorded definition had for what today's holds.
  func learn(from recorded: JSONObject, today: JSONObject) {
    // What only its name tells is found in the whole; from then on it is known wherever it stands.
    _ = redactor.redacted(.object(today))
    redactor.learn(from: .object(recorded), today: .object(today))
  }
}
