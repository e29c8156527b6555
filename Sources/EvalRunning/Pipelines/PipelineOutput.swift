import AgentPipelines
import AgentTrace
import TraceStorage

/// What a pipeline returns: the outputs of those of its tasks that no other needs, by their ids. What is absent is left
/// out; of a fan-out it is the list of its elements' outputs, null where one is absent.
struct PipelineOutput {
  let value: JSONValue

  /// Reads the log of a run that ended.
  ///
  /// - Throws: `LogError` where it cannot be read, ``CaseError`` where the outputs are larger than a task's may be.
  /// - Complexity: reads the log once; in memory are the outputs of the last tasks.
  init(of spec: PipelineSpec, log: String) throws {
    let last = PipelineGraph.lastTasks(of: spec)
    var known = Known()
    var reader = try LogReader(path: log)
    while let event = try reader.next() {
      switch event.type {
      case .rolledBack:
        if let end = try? RolledBack(decoding: event.data) { known.forget(end) }
      case .taskFinished:
        guard let finished = try? TaskFinished(decoding: event.data),
          last.contains(where: { $0.hasSameUTF8(as: finished.node.task) })
        else { continue }
        known.take(finished)
        guard known.bytes <= Self.limitBytes else {
          throw CaseError(
            reason: "\(log): the outputs of the pipeline’s last tasks are larger than 4 MiB")
        }
      default: break
      }
    }
    var object = JSONObject()
    for task in last {
      if let count = known.counts[task] {
        object[task] = .array((0..<count).map { known.elements[task]?[$0] ?? .null })
      } else if let output = known.outputs[task] {
        object[task] = output
      }
    }
    value = .object(object)
  }

  private static let limitBytes = 4 << 20

  /// What is known so far, by task.
  private struct Known {
    var outputs: [String: JSONValue] = [:]
    var elements: [String: [Int: JSONValue]] = [:]
    var counts: [String: Int] = [:]
    var bytes = 0

    mutating func take(_ finished: TaskFinished) {
      let task = finished.node.task
      if let count = finished.elements { counts[task] = count }
      guard let output = finished.output else { return }
      bytes += Self.bytes(of: output)
      if let element = finished.node.element {
        elements[task, default: [:]][element] = output
      } else {
        outputs[task] = output
      }
    }

    /// Forgets what runs anew; what had ended at the checkpoint stays.
    mutating func forget(_ end: RolledBack) {
      for kept in end.tasks {
        if let output = outputs.removeValue(forKey: kept.task) { bytes -= Self.bytes(of: output) }
        counts[kept.task] = nil
        for (element, output) in elements[kept.task] ?? [:]
        where !kept.finished.contains(element) {
          elements[kept.task]?[element] = nil
          bytes -= Self.bytes(of: output)
        }
      }
    }

    private static func bytes(of output: JSONValue) -> Int { CanonicalJSON.encode(output).count }
  }
}
