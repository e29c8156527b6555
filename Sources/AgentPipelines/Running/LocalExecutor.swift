public import AgentTrace
import TraceMatching

/// Makes attempts in this process.
public struct LocalExecutor: Executor {
  /// Any number at once: the scheduler sees to that.
  public init() {}

  public func run(_ task: any PipelineTask, _ context: TaskContext) async -> TaskOutcome {
    var outcome = await attempt(task, context)
    guard let error = outcome.error else { return outcome }
    do { outcome.recovery = try await task.recover(from: error, context) } catch {
      // Code that cannot say what is to be done leaves it to the rules.
      outcome.recovery = nil
    }
    outcome.recovery?.isByTask = true
    return outcome
  }

  private func attempt(_ task: any PipelineTask, _ context: TaskContext) async -> TaskOutcome {
    do {
      var outcome = try await task.execute(context)
      guard let output = outcome.output else { return outcome }
      let wrong = task.spec.fault(inOutput: output)
      if let wrong = try await Self.first(wrong, { try await task.validate(output, context) }) {
        outcome.output = nil
        outcome.error = TaskError(.invalid, wrong)
        outcome.isEffectUnknown = task.spec.sideEffect == .write
      }
      return outcome
    } catch {
      return .failed(
        TaskError(.toolFailure, "\(error)"), isEffectUnknown: task.spec.sideEffect != .read)
    }
  }

  public func compensate(
    _ task: any PipelineTask, _ context: CompensationContext
  ) async -> TaskOutcome {
    do { return try await task.compensate(context) } catch {
      return .failed(TaskError(.toolFailure, "\(error)"), isEffectUnknown: true)
    }
  }

  private static func first(
    _ known: String?, _ more: () async throws -> String?
  ) async throws -> String? {
    if let known { return known }
    return try await more()
  }

  /// What of a value is not as a schema says; `nil` where nothing is.
  static func fault(in value: JSONValue, by schema: JSONValue?, _ words: String) -> String? {
    guard let schema else { return nil }
    do throws(SchemaError) {
      return try JSONSchema(compiling: schema).validate(value).first.map { "\(words): \($0)" }
    } catch { return "a schema cannot be read: \(error)" }
  }

  /// What of an output is not as a matcher says; `nil` where nothing is.
  static func fault(in output: JSONValue, by validate: JSONValue?) -> String? {
    guard let validate else { return nil }
    do {
      let matcher = try Matcher(compiling: validate)
      if matcher.matches(output) == true { return nil }
      return
        "the output is not as validate says: \(CanonicalJSON.string(output.cut(toBytes: 400), form: .plain))"
    } catch { return "validate cannot be read: \(error)" }
  }
}

extension TaskSpec {
  /// What of an output is not as the task says that its outputs are, whoever gave it; `nil` where nothing is.
  func fault(inOutput output: JSONValue) -> String? {
    LocalExecutor.fault(
      in: output, by: outputSchema, "the output is not what outputSchema says")
      ?? LocalExecutor.fault(in: output, by: validate)
  }
}

/// A task that is code of this process.
public struct ClosureTask: PipelineTask {
  public var spec: TaskSpec
  private let body: @Sendable (TaskContext) async throws -> JSONValue
  private let undo: (@Sendable (CompensationContext) async throws -> Void)?

  /// - Parameters:
  ///   - spec: what the pipeline knows of the task; the version, and that it can be undone, are noted in it.
  ///   - version: what of the code is compared when a pipeline goes on.
  ///   - undo: undoes it; the spec then says that it can be.
  ///   - body: does the work, and returns the output.
  public init(
    _ spec: TaskSpec, version: String? = nil,
    undo: (@Sendable (CompensationContext) async throws -> Void)? = nil,
    _ body: @escaping @Sendable (TaskContext) async throws -> JSONValue
  ) {
    self.spec = spec
    if let version { self.spec.implementation = .string(version) }
    if undo != nil { self.spec.compensate = .closure }
    self.undo = undo
    self.body = body
  }

  public func execute(_ context: TaskContext) async throws -> TaskOutcome {
    do { return .finished(try await body(context)) } catch let error as TaskError {
      // Whoever says what kind of failure it is says that nothing was done.
      return .failed(error)
    }
  }

  public func compensate(_ context: CompensationContext) async throws -> TaskOutcome {
    guard let undo else {
      return .failed(TaskError(.toolFailure, "nothing is declared that undoes \(context.node)"))
    }
    try await undo(context)
    return .finished(.null)
  }
}

/// A task that is a person's: it is asked, and its pipeline stands still until somebody answers.
public struct PersonTask: PipelineTask {
  public var spec: TaskSpec

  /// - Parameter spec: with `human`.
  public init(_ spec: TaskSpec) { self.spec = spec }

  public func execute(_ context: TaskContext) async throws -> TaskOutcome {
    .failed(TaskError(.toolFailure, "a person’s task is answered, not run"))
  }
}
