import AgentTrace
import EvalLoading
public import TraceStorage

extension VerifyReport {
  /// Holds the logs of a pipeline's tasks, which stand beside its own, against the seals that its own names: nobody
  /// puts another run in the place of a task's, and none is cut back, without being found. One that was gone on with behind the seal that its own names is a note.
  ///
  /// Of a log that is no pipeline's nothing is looked at. One of a task that is not there is a note: logs
  /// may be kept elsewhere.
  public mutating func checkTaskRuns() { checkTaskRuns(depth: 0) }

  private mutating func checkTaskRuns(depth: Int) {
    guard depth <= PipelineDefinition.depthLimit, status != .unreadable,
      (try? WaitingPipeline.isPipeline(path)) == true,
      var reader = try? LogReader(path: path)
    else { return }
    var missing = 0
    while let event = try? reader.next() {
      guard let run = Self.run(in: event), let digest = run.sealDigest.flatMap(Digest.init(hex:)),
        let name = run.log
      else { continue }
      // What data say never leads out of the folder.
      guard !name.utf8.contains(UInt8(ascii: "/")), name != ".", name != ".." else {
        add(event.seq, "the log of the task’s run is said to stand outside of the folder")
        continue
      }
      var child = LogVerifier.verify(
        path: RunFiles.folder(ofLog: path) + "/" + name, expectedDigest: digest, mayGoOn: true)
      child.checkTaskRuns(depth: depth + 1)
      switch child.status {
      case .unreadable: missing += 1
      case .whole where child.notes.contains(LogVerifier.goneOnNote):
        // A pipeline that stands in this one was rolled back by its own log: what this one saw stands before.
        notes.append(
          "event \(event.seq): the log of the task’s run was gone on with behind its end")
      case .whole: break
      default:
        let words = child.findings.first?.message ?? "\(child.status.rawValue)"
        add(event.seq, "the log of the task’s run is not the one that was made: \(words)")
      }
    }
    if missing > 0 {
      notes.append(
        "\(missing) \(missing == 1 ? "log" : "logs") of tasks’ runs could not be read beside this one"
      )
    }
  }

  private static func run(in event: Event) -> TaskRun? {
    switch try? PipelineEvent(type: event.type, data: event.data) {
    case .finished(let end): end.run
    case .failed(let failed): failed.run
    default: nil
    }
  }

  private mutating func add(_ seq: Int, _ message: String) {
    guard findings.count < Self.findingLimit else { return }
    findings.append(Finding(block: nil, offset: nil, seq: seq, message: message))
    if status == .whole { status = .damaged }
  }
}
