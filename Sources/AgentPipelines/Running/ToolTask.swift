public import AgentRuntime
import AgentTrace

/// A task that is a tool, such as a command: one call with the task's input.
public struct ToolTask: PipelineTask {
  public var spec: TaskSpec
  private let makeTool: @Sendable ([String]?, Cancellation) -> any Tool

  /// - Parameters:
  ///   - spec: what the pipeline knows of the task.
  ///   - makeTool: makes the tool of an attempt, or of undoing one; given the words of the command, where it
  ///     is one, and what cuts the call off.
  public init(
    _ spec: TaskSpec, makeTool: @escaping @Sendable ([String]?, Cancellation) -> any Tool
  ) {
    self.spec = spec
    self.makeTool = makeTool
  }

  public func execute(_ context: TaskContext) async throws -> TaskOutcome {
    switch Self.words(in: context.arguments) {
    case .failure(let error): return .failed(error)
    case .success(let words):
      var request = ToolRequest(
        callId: "\(context.node)", tool: definition(spec.sideEffect), input: context.input ?? [:],
        attempt: context.attempt, idempotencyKey: context.idempotencyKey)
      request.runId = context.pipelineRunId
      return await call(request, words, emit: spec.parts == nil ? nil : context.emit)
    }
  }

  public func compensate(_ context: CompensationContext) async throws -> TaskOutcome {
    guard case .success(let words?) = Self.words(in: context.command) else {
      return .failed(TaskError(.toolFailure, "what undoes \(context.node) is no command"))
    }
    var request = ToolRequest(
      callId: "\(context.node)", tool: definition(.write), input: [:], attempt: context.attempt,
      idempotencyKey: context.idempotencyKey)
    request.runId = context.pipelineRunId
    return await call(request, words)
  }

  /// The time that the tool itself keeps is only for the case that nobody else does: the pipeline's is shorter.
  private func call(
    _ request: ToolRequest, _ words: [String]?,
    emit: (@Sendable (JSONValue) async -> Bool)? = nil
  ) async -> TaskOutcome {
    var request = request
    request.timeoutMicroseconds = spec.timeoutMicroseconds.map {
      $0 < Int.max - 5_000_000 ? $0 + 5_000_000 : $0
    }
    let cancellation = Cancellation()
    let tool = makeTool(words, cancellation)
    let ready = request
    let answer = await withTaskCancellationHandler {
      guard let emit else { return await tool.run(ready) }
      guard let parted = tool as? any PartedTool else {
        return ToolAnswer(result: .error("the tool of \(spec.id) gives no parts"))
      }
      return await parted.run(ready, part: emit)
    } onCancel: {
      cancellation.cancel(signal: "SIGTERM")
    }
    switch answer.result {
    case .ok(let data), .returned(let data): return .finished(data)
    case .refused(let reason): return .failed(TaskError(.toolFailure, reason))
    case .error(let reason, let isEffectUnknown):
      let words = reason.stringValue ?? CanonicalJSON.string(reason, form: .plain)
      return .failed(TaskError(.toolFailure, words), isEffectUnknown: isEffectUnknown)
    }
  }

  private func definition(_ sideEffect: SideEffect) -> ToolDefinition {
    ToolDefinition(
      name: spec.id, description: "", inputSchema: [:], sideEffect: sideEffect,
      idempotent: spec.isIdempotent)
  }

  /// The words of a command; a value that is no text is one as JSON.
  static func words(in value: JSONValue?) -> Result<[String]?, TaskError> {
    guard let value else { return .success(nil) }
    guard let elements = value.arrayValue, !elements.isEmpty else {
      return .failure(TaskError(.input, "the command has no words"))
    }
    return .success(elements.map { $0.stringValue ?? CanonicalJSON.string($0, form: .plain) })
  }
}
