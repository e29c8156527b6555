import AgentTrace
import TraceStorage

/// The last request of a run to a model, where it came to nothing.
struct FailedRequest {
  /// Why, in the words of the log.
  var words: String
  /// Whether another try would come to the same: the key, the right or the name is wrong.
  var isLasting: Bool

  /// Statuses of HTTP that say so.
  private static let lasting = [400, 401, 402, 403, 404, 405, 413, 422]

  /// Looks through a log; `nil` where its last request had a reply, or it made none.
  ///
  /// - Throws: `LogError` where it cannot be read.
  init?(lastOf log: String) throws {
    var reader = try LogReader(path: log)
    var last: ModelResult?
    while let event = try reader.next() {
      guard event.type == .modelResult else { continue }
      last = try? ModelResult(decoding: event.data)
    }
    guard let last, let error = last.error else { return nil }
    words = error
    let status = last.status ?? last.wire?["status"]?.intValue
    isLasting = last.isFinal || status.map(Self.lasting.contains) ?? false
  }
}
