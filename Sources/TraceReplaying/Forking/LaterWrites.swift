import AgentTrace
import TraceStorage

/// Which calls of agents did something that is not to be done once more unasked.
struct LaterWrites {
  /// The runs that a log names, by the numbers of the events that started them.
  private let children: [Int: ChildLog]

  /// Where the log cannot be read, nobody knows what its children did.
  init(ofLog path: String) {
    children = Dictionary(
      ((try? LogFiles.children(ofLog: path)) ?? []).map { ($0.seq, $0) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Whether the run that an event started wrote, or those below it did, or nobody knows.
  func mayHaveWritten(startedAt seq: Int) -> Bool {
    guard let child = children[seq] else { return true }
    return Self.mayHaveWritten(child, depth: 0)
  }

  private static let depthLimit = 64

  /// What cannot be read, or is of a tool that the log does not describe, may have.
  private static func mayHaveWritten(_ child: ChildLog, depth: Int) -> Bool {
    guard depth < depthLimit, (try? LogFiles.holdsEvents(child.path)) == true,
      let below = try? LogFiles.children(ofLog: child.path), (try? writes(child.path)) == false
    else { return true }
    return below.contains { mayHaveWritten($0, depth: depth + 1) }
  }

  private static func writes(_ path: String) throws -> Bool {
    var reader = try LogReader(path: path)
    var harmless: Set<String> = []
    while let event = try reader.next() {
      switch event.type {
      case .runStarted:
        let tools = try RunStarted(decoding: event.data).tools
        harmless = Set(tools.filter { $0.sideEffect != .write }.map(\.name))
      // Another file may say otherwise of its tools, and the log does not hold what.
      case .runResumed where try RunResumed(decoding: event.data).changesFiles: harmless = []
      case .toolStarted:
        guard let tool = event.data["tool"]?.stringValue, harmless.contains(tool) else {
          return true
        }
      default: continue
      }
    }
    return false
  }
}
