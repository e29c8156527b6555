import AgentPipelines
import AgentRuntime
import AgentTrace
import TraceJudging
import TraceMatching
import TraceReplaying
import TraceStorage

/// A task that is an agent: each attempt is a run of its own, with its log beside the pipeline's.
struct AgentTask: RunTask {
  var spec: TaskSpec
  var agent: AgentDefinition
  /// What its run is held to.
  var expectations: Expectations?
  var means: PipelineMeans
  var folder: String
  var compensation: ToolTask

  func mayGoOn(_ run: TaskRun) async -> Bool {
    // What cannot be read goes on, and says then what is wrong.
    guard let tree = try? WaitingTree(path: path(of: run.runId)) else { return true }
    return !tree.waits
  }

  func execute(_ context: TaskContext) async throws -> TaskOutcome {
    guard let runId = context.runId else {
      return .failed(TaskError(.toolFailure, "the attempt has no run"))
    }
    let cancellation = Cancellation()
    return try await withTaskCancellationHandler {
      let path = path(of: runId)
      let recording: AgentRecording
      do {
        recording = try await run(context, runId, path, cancellation)
      } catch let error as LogError { return try .held(error) }
      var run = TaskRun(runId: runId, log: RunFiles.fileName(for: runId) + LogFormat.suffix)
      run.stopReason = recording.state.stop?.reason
      run.sealDigest = recording.sealDigest.hex
      run.totals = recording.state.totals.encoded
      guard let waiting = try waiting(recording) else { return try outcome(of: recording, run) }
      var outcome = TaskOutcome.waiting(waiting)
      outcome.run = run
      return outcome
    } onCancel: {
      cancellation.cancel(signal: "SIGTERM")
    }
  }

  /// Begins the run, or goes on with it, and gives its parts meanwhile.
  private func run(
    _ context: TaskContext, _ runId: String, _ path: String, _ cancellation: Cancellation
  ) async throws -> AgentRecording {
    var parts: CallParts?
    if case .calls(let tool)? = spec.parts { parts = CallParts(of: tool, emit: context.emit) }
    let recording: Result<AgentRecording, any Error>
    do {
      let isThere = try await HeldLog.onceFree {
        try context.isResumed && LogFiles.holdsEvents(path)
      }
      if isThere { try parts?.take(logAt: path) }
      recording = .success(
        try await isThere
          ? HeldLog.onceFree { try await goneOn(context, runId, path, cancellation, parts) }
          : begun(context, runId, path, cancellation, parts))
    } catch { recording = .failure(error) }
    await parts?.end()
    return try recording.get()
  }

  private func boundary(
    _ agent: AgentDefinition, _ context: TaskContext, _ runId: String, _ clock: any RunClock,
    _ cancellation: Cancellation
  ) -> any Boundary {
    var conditions = RunConditions(
      clock: clock, identifiers: GivenRunID(runId: runId), cancellation: cancellation,
      children: children(cancellation))
    conditions.secrets = context.secrets
    return means.makeBoundary(agent, conditions)
  }

  private func children(_ cancellation: Cancellation) -> RecordedChildren {
    var children = RecordedChildren(
      folder: folder, cancellation: cancellation, clock: means.clock, boundary: means.makeBoundary)
    children.acceptsChanges = means.acceptsChanges
    return children
  }

  private func begun(
    _ context: TaskContext, _ runId: String, _ path: String, _ cancellation: Cancellation,
    _ parts: CallParts?
  ) async throws -> AgentRecording {
    var agent = agent
    agent.tighten(by: context.remaining, .parent)
    let (observe, node) = (means.observeTask, context.node)
    return try await AgentRecording(
      of: agent, request(context, path: path),
      on: boundary(agent, context, runId, means.clock(0), cancellation),
      observe: {
        observe(node, $0)
        parts?.take($0)
      })
  }

  /// Goes on with the run in its own log; one that has ended is read alone.
  private func goneOn(
    _ context: TaskContext, _ runId: String, _ path: String, _ cancellation: Cancellation,
    _ parts: CallParts?
  ) async throws -> AgentRecording {
    let run = try WaitingRun(path: path)
    try checkParent(of: path, context)
    if run.isOver, run.isClosed {
      return AgentRecording(
        log: path, state: run.past.state, sealDigest: try LogTail(path: path).sealDigest)
    }
    let (observe, node) = (means.observeTask, context.node)
    let done = try await RunResumption(
      RunResumption.Request(
        log: path, agent: agent, acceptsChanges: means.acceptsChanges, logOptions: means.logOptions,
        clock: means.clock,
        boundary: { boundary($0, context, runId, $1, cancellation) }),
      observe: {
        observe(node, $0)
        parts?.take($0)
      })
    return AgentRecording(log: done.log, state: done.state, sealDigest: done.sealDigest)
  }

  /// What the run waits for a person for; `nil` where it does not.
  private func waiting(_ recording: AgentRecording) throws -> TaskOutcome.Waiting? {
    guard let stop = recording.state.stop, !stop.isFinal else { return nil }
    let tree = try WaitingTree(path: recording.log)
    guard tree.waits else { return nil }
    let calls = tree.calls
    guard !calls.isEmpty else {
      return TaskOutcome.Waiting(question: tree.asking.question ?? "its run waits for a person")
    }
    let names = calls.prefix(10).map(\.call.name).joined(separator: ", ")
    return TaskOutcome.Waiting(
      question: "its run waits for a person’s word on \(names)",
      show: .array(
        calls.prefix(10).map { waiting in
          [
            "call": .string(waiting.call.callId), "tool": .string(waiting.call.name),
            "input": waiting.call.input.cut(toBytes: 4_096),
          ]
        }))
  }

  // MARK: What goes in

  private func request(
    _ context: TaskContext, path: String
  ) throws -> AgentRecording.Request {
    var request = AgentRecording.Request(
      goal: .string(try goal(context)), files: RunFiles(output: path), logOptions: means.logOptions)
    request.input = context.input
    request.parent = context.parentRun
    request.pipeline = (context.pipelineId, context.node.task)
    return request
  }

  /// What the agent is to do: `goal` of its input, or that of its file; what else the input holds stands
  /// behind it, as JSON.
  ///
  /// - Throws: `PromptFault` where the file's goal names what the run does not have.
  private func goal(_ context: TaskContext) throws -> String {
    var rest = context.input?.objectValue
    var text = try rest?["goal"]?.stringValue ?? agent.ownGoal() ?? ""
    if rest == nil, let input = context.input {
      text +=
        (text.isEmpty ? "" : "\n\n")
        + (input.stringValue ?? CanonicalJSON.string(input, form: .plain))
    }
    rest?["goal"] = nil
    if let rest, !rest.isEmpty {
      text +=
        (text.isEmpty ? "" : "\n\n") + "Input: " + CanonicalJSON.string(.object(rest), form: .plain)
    }
    if let feedback = context.feedback {
      text += "\n\nAn earlier attempt was not accepted: " + feedback
    }
    return text
  }

  // MARK: What comes out

  private func outcome(of recording: AgentRecording, _ run: TaskRun) throws -> TaskOutcome {
    var outcome: TaskOutcome
    let stop = recording.state.stop
    if recording.isSuccess {
      outcome = .finished(try Self.output(of: recording.log))
      if let wrong = try fault(in: recording.log) {
        outcome = .failed(TaskError(.invalid, wrong))
      }
    } else {
      let detail = stop?.detail.map { " (\($0))" } ?? ""
      outcome = .failed(
        TaskError(Self.kind(of: stop), "its run stopped as \(stop?.reason ?? "unknown")\(detail)"))
    }
    // A run that called what writes has done something, however it ended.
    outcome.isEffectUnknown =
      outcome.error != nil && spec.sideEffect != .read && recording.state.totals.toolCalls > 0
    outcome.run = run
    return outcome
  }

  private static func kind(of stop: AgentState.StopSummary?) -> TaskError.Kind {
    switch StopReason(rawValue: stop?.reason ?? "") {
    case .modelFailure: .modelFailure
    case .budgetExhausted: .budgetExhausted
    case .policyDenied: .policyDenied
    case .approvalRequired, .blocked: .blocked
    case .success, .toolFailure, .invalidDecision, .cancelled, nil: .toolFailure
    }
  }

  /// The answer of a run: as JSON where it is an object or a list, else as text.
  private static func output(of log: String) throws -> JSONValue {
    var reader = try LogReader(path: log)
    var answer: String?
    while let event = try reader.next() {
      if event.type == .stop { answer = event.data["answer"]?.stringValue }
    }
    guard let answer else { return ["answer": .null] }
    let options = JSONValue.ParseOptions(depthLimit: 64)
    guard let value = try? JSONValue(parsing: FencedText.unfenced(answer), options: options),
      value.objectValue != nil || value.arrayValue != nil
    else { return ["answer": .string(answer)] }
    return ["answer": value, "text": .string(answer)]
  }

  /// What of the run is not as `validate` says; `nil` where nothing is.
  private func fault(in log: String) throws -> String? {
    guard let expectations else { return nil }
    let run = try RecordedRun(path: log, for: expectations)
    let judgement = run.judgement(expectations)
    guard judgement.outcome != .pass else { return nil }
    let wrong = judgement.outcomes.filter { $0.outcome != .pass }
    return wrong.prefix(3).map { "\($0.expectation): \($0.message)" }.joined(separator: "; ")
  }
}

extension TaskContext {
  /// What the run of an attempt says of the run above it.
  var parentRun: ParentRun {
    var parent = ParentRun(runId: pipelineRunId, seq: seq, relation: ParentRun.task)
    parent.inputs = JSONObject(present: [
      ("attempt", JSONValue(attempt)), ("element", node.element.map { JSONValue($0) }),
      ("origins", origins.isEmpty ? nil : .object(origins)),
    ])
    return parent
  }
}
