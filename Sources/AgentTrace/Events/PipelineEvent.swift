/// The data of the events that only pipelines have; each case is the event type of its name.
public enum PipelineEvent: Sendable, Hashable {
  case started(TaskStarted)
  case output(TaskOutput)
  case failed(TaskFailed)
  case finished(TaskFinished)
  case skipped(TaskSkipped)
  case expanded(TaskExpanded)
  case asked(TaskAsked)
  case answered(TaskAnswered)
  case resumed(TaskResumed)
  case pauseRequested(PauseRequested)
  case rollbackStarted(RollbackStarted)
  case compensationStarted(CompensationStarted)
  case compensationFinished(CompensationFinished)
  case rolledBack(RolledBack)

  /// Reads the data of an event; `nil` where its type is none of a pipeline's.
  ///
  /// - Throws: ``PayloadError`` where a key that the type promises is missing or of another kind.
  public init?(type: EventType, data: JSONObject) throws(PayloadError) {
    switch type {
    case .taskStarted: self = .started(try TaskStarted(decoding: data))
    case .taskOutput: self = .output(try TaskOutput(decoding: data))
    case .taskFailed: self = .failed(try TaskFailed(decoding: data))
    case .taskFinished: self = .finished(try TaskFinished(decoding: data))
    case .taskSkipped: self = .skipped(try TaskSkipped(decoding: data))
    case .taskExpanded: self = .expanded(try TaskExpanded(decoding: data))
    case .taskAsked: self = .asked(try TaskAsked(decoding: data))
    case .taskAnswered: self = .answered(try TaskAnswered(decoding: data))
    case .taskResumed: self = .resumed(try TaskResumed(decoding: data))
    case .pauseRequested: self = .pauseRequested(try PauseRequested(decoding: data))
    case .rollbackStarted: self = .rollbackStarted(try RollbackStarted(decoding: data))
    case .compensationStarted: self = .compensationStarted(try CompensationStarted(decoding: data))
    case .compensationFinished:
      self = .compensationFinished(try CompensationFinished(decoding: data))
    case .rolledBack: self = .rolledBack(try RolledBack(decoding: data))
    default: return nil
    }
  }

  /// The type of event that carries this.
  public var type: EventType {
    switch self {
    case .started: .taskStarted
    case .output: .taskOutput
    case .failed: .taskFailed
    case .finished: .taskFinished
    case .skipped: .taskSkipped
    case .expanded: .taskExpanded
    case .asked: .taskAsked
    case .answered: .taskAnswered
    case .resumed: .taskResumed
    case .pauseRequested: .pauseRequested
    case .rollbackStarted: .rollbackStarted
    case .compensationStarted: .compensationStarted
    case .compensationFinished: .compensationFinished
    case .rolledBack: .rolledBack
    }
  }

  /// The wire form.
  public var encoded: JSONObject { data.encoded }

  /// The data themselves.
  package var data: any EventData {
    switch self {
    case .started(let data): data
    case .output(let data): data
    case .failed(let data): data
    case .finished(let data): data
    case .skipped(let data): data
    case .expanded(let data): data
    case .asked(let data): data
    case .answered(let data): data
    case .resumed(let data): data
    case .pauseRequested(let data): data
    case .rollbackStarted(let data): data
    case .compensationStarted(let data): data
    case .compensationFinished(let data): data
    case .rolledBack(let data): data
    }
  }

  /// The node that it is about; `nil` for one that is about the pipeline.
  public var node: TaskNode? {
    switch self {
    case .started(let payload): payload.node
    case .output(let payload): payload.node
    case .failed(let payload): payload.node
    case .finished(let payload): payload.node
    case .skipped(let payload): payload.node
    case .expanded(let payload): TaskNode(payload.task)
    case .asked(let payload): payload.node
    case .answered(let payload): payload.node
    case .resumed(let payload): payload.node
    case .compensationStarted(let payload): payload.node
    case .compensationFinished(let payload): payload.node
    case .pauseRequested, .rollbackStarted, .rolledBack: nil
    }
  }
}
