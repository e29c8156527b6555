/// Something that is wrong with a pipeline, found before it runs.
public struct PipelineFault: Error, Sendable, Hashable, CustomStringConvertible {
  /// The task; `nil` for the pipeline as a whole.
  public var task: String?
  /// The key at fault, as a path into the task or the pipeline, such as `recover/0/task`.
  public var key: String
  /// What is wrong.
  public var message: String
  /// What to do about it; `nil` where that is plain.
  public var hint: String?
  /// Whether the pipeline runs nevertheless.
  public var isWarning = false

  /// An error unless set otherwise.
  public init(task: String? = nil, key: String, _ message: String, hint: String? = nil) {
    self.task = task
    self.key = key
    self.message = message
    self.hint = hint
  }

  /// On one line, with the task.
  public var description: String {
    (task.map { "task \($0): " } ?? "") + message + (hint.map { "; \($0)" } ?? "")
  }
}

/// All that is wrong with a pipeline.
public struct PipelineFaults: Error, Sendable, CustomStringConvertible {
  /// In the order of the tasks.
  public var faults: [PipelineFault]

  /// Each on a line of its own.
  public var description: String { faults.map(\.description).joined(separator: "\n") }
}
