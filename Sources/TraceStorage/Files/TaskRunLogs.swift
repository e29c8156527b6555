public import AgentTrace

/// The log of a run that an attempt at a task of a pipeline is, as the pipeline's log names it.
public struct TaskRunLog: Sendable, Hashable {
  /// Where it lies, or would lie: beside the pipeline's.
  public var path: String
  /// Its run.
  public var runId: String
  /// The event of the pipeline's log that started it.
  public var seq: Int
  /// The task, and which element of it.
  public var node: TaskNode
}

extension LogFiles {
  /// The runs of a pipeline's tasks that its log names, in the order in which they were started; none of a log that is
  /// no pipeline's, of which its beginning alone is read.
  ///
  /// - Throws: ``LogError`` where the log cannot be read.
  public static func taskRuns(ofLog path: String) throws(LogError) -> [TaskRunLog] {
    let folder = RunTreeReader.folder(ofLog: path)
    var reader = try LogReader(path: path, options: .init(keepsLines: false))
    var runs: [TaskRunLog] = []
    while let head = try reader.advance() {
      guard case .event(_, _, let type) = head else { continue }
      switch type {
      case .runStarted:
        let event = try reader.event(withOnly: ["inputs"])
        guard event?.data["inputs"]?["pipeline"] != nil else { return [] }
      case .taskStarted:
        guard let event = try reader.event(withOnly: ["task", "element", "run"]),
          let task = event.data["task"]?.stringValue,
          let runId = event.data["run"]?["runId"]?.stringValue,
          let log = RunTreeReader.log(of: runId, in: folder)
        else { continue }
        let node = TaskNode(task, element: event.data["element"]?.intValue)
        runs.append(TaskRunLog(path: log, runId: runId, seq: event.seq, node: node))
      default: continue
      }
    }
    return runs
  }
}
