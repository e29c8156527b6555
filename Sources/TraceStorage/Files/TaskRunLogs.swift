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
  /// The call that it is told as where its pipeline's log is looked at alone; see `PipelineCalls`.
  public var callId: String
  /// The task that acts, with its element: another one where that stands in for ``node``.
  public var caller: String
}

/// A run that is a part of another, as that one's log names it: of an agent that it called, or of a task of it.
public struct RunPart: Sendable, Hashable {
  /// Where its log lies, or would lie: beside that of the other.
  public var path: String
  /// Its identifier.
  public var runId: String
  /// The call that it is.
  public var callId: String
  /// The tool; of a pipeline the task that acts, with its element.
  public var name: String
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
    var calls = PipelineCalls(tellsRuns: true)
    while let head = try reader.advance() {
      guard case .event(_, _, let type) = head else { continue }
      switch type {
      case .runStarted:
        let event = try reader.event(withOnly: ["inputs"])
        guard event?.data["inputs"]?["pipeline"] != nil else { return [] }
      case .taskStarted, .taskFinished, .taskFailed, .taskSkipped, .taskAnswered:
        guard case .event(let event) = try reader.line() else { continue }
        let begun = calls.told(by: event).behind.last { $0.type == .toolStarted }
        guard let callId = begun?.data["callId"]?.stringValue,
          let runId = begun?.data[PipelineCalls.runKey]?["runId"]?.stringValue,
          let task = event.data["task"]?.stringValue,
          let log = RunTreeReader.log(of: runId, in: folder)
        else { continue }
        let node = TaskNode(task, element: event.data["element"]?.intValue)
        runs.append(
          TaskRunLog(
            path: log, runId: runId, seq: event.seq, node: node, callId: callId,
            caller: begun?.data["caller"]?.stringValue ?? "\(node)"))
      default: continue
      }
    }
    return runs
  }

  /// The runs that are parts of a run, as its log names them, in the order in which they were started.
  ///
  /// - Throws: ``LogError`` where the log cannot be read.
  public static func parts(ofLog path: String) throws(LogError) -> [RunPart] {
    let tasks = try taskRuns(ofLog: path)
    guard tasks.isEmpty else {
      return tasks.map {
        RunPart(path: $0.path, runId: $0.runId, callId: $0.callId, name: $0.caller)
      }
    }
    return try children(ofLog: path).map {
      RunPart(path: $0.path, runId: $0.runId, callId: $0.callId, name: $0.tool)
    }
  }
}
