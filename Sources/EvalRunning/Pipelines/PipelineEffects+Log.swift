import AgentPipelines
import AgentTrace
import TraceStorage

extension PipelineEffects {
  /// Reads the log of a pipeline.
  ///
  /// - Throws: `LogError` where it cannot be read.
  init(log: String) throws(LogError) {
    self.init()
    var reader = try LogReader(path: log)
    while let event = try reader.next() { take(event) }
  }

  /// Names what stands behind the effects of tasks that are pipelines: what their tasks did, each as
  /// `publish/send`, from the logs beside the outer one. A log that is not there tells nothing.
  static func within(_ nodes: [TaskNode], of log: String) throws -> [String] {
    let folder = RunFiles.folder(ofLog: log)
    var runs: [TaskNode: String] = [:]
    var reader = try LogReader(path: log)
    while let event = try reader.next() {
      guard event.type == .taskStarted, let started = try? TaskStarted(decoding: event.data),
        started.kind == TaskKind.pipeline.rawValue, let run = started.run
      else { continue }
      runs[started.node] = run.runId
    }
    return nodes.prefix(20).flatMap { node -> [String] in
      guard let runId = runs[node],
        let inner = try? PipelineEffects(
          log: "\(folder)/\(RunFiles.fileName(for: runId))\(LogFormat.suffix)")
      else { return [] }
      return inner.nodes.prefix(20).map { "\(node)/\($0)" }
    }
  }
}
