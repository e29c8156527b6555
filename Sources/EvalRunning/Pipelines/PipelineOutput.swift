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
    var outputs: [String: JSONValue] = [:]
    var elements: [String: [Int: JSONValue]] = [:]
    var counts: [String: Int] = [:]
    var bytes = 0
    var reader = try LogReader(path: log)
    while let event = try reader.next() {
      switch event.type {
      case .rolledBack: (outputs, elements, counts, bytes) = ([:], [:], [:], 0)
      case .taskFinished:
        guard let finished = try? TaskFinished(decoding: event.data),
          last.contains(where: { $0.hasSameUTF8(as: finished.node.task) })
        else { continue }
        let task = finished.node.task
        if let count = finished.elements { counts[task] = count }
        guard let output = finished.output else { continue }
        bytes += CanonicalJSON.encode(output).count
        guard bytes <= Self.limitBytes else {
          throw CaseError(
            reason: "\(log): the outputs of the pipeline’s last tasks are larger than 4 MiB")
        }
        if let element = finished.node.element {
          elements[task, default: [:]][element] = output
        } else {
          outputs[task] = output
        }
      default: break
      }
    }
    var object = JSONObject()
    for task in last {
      if let count = counts[task] {
        object[task] = .array((0..<count).map { elements[task]?[$0] ?? .null })
      } else if let output = outputs[task] {
        object[task] = output
      }
    }
    value = .object(object)
  }

  private static let limitBytes = 4 << 20
}
