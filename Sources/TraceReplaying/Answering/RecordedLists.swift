import AgentRuntime
import AgentTrace
import Synchronization

/// Gives out the lists of tools that a log holds, each once. May be used from any task.
final class RecordedLists: Sendable {
  private let start: Int
  /// The event that was given last, by source.
  private let given = Mutex<[String: Int]>([:])

  /// - Parameter seq: only what stands behind this event.
  init(behind seq: Int = -1) { start = seq }

  /// What a source said when it was asked at this moment; `nil` where that is not recorded.
  func offer(_ request: ToolListRequest, in step: RecordedStep?) -> ToolOffer? {
    given.withLock { given in
      guard let found = step?.offer(request, behind: given[request.source] ?? start) else {
        return nil
      }
      given[request.source] = found.seq
      return found.offer
    }
  }
}
