import AgentTrace
import TraceStorage

/// A pipeline as one log: its own events, those of its tasks' runs and its calls in one row.
enum PromotedPipeline {
  /// The row of a pipeline's log; `nil` where the log is none, or holds the row already.
  ///
  /// - Throws: ``PromotionError`` where the row is not whole; `LogError`.
  static func row(of log: String) throws -> [Event]? {
    var head = try LogReader(path: log)
    guard let first = try head.next(), first.beginsPipelineAlone else { return nil }
    var reader = try RunTreeReader(path: log)
    var events: [Event] = []
    while let event = try reader.next()?.event {
      if event.type == .unseen, event.data["what"] == .string(Unseen.Kind.child.rawValue) {
        throw PromotionError(
          log,
          "\(event.data["reason"]?.stringValue ?? "a run is missing"): only a whole run is promoted"
        )
      }
      guard events.count < Promotion.eventLimit else {
        throw PromotionError(log, "the run has more than \(Promotion.eventLimit) events")
      }
      events.append(event)
    }
    guard reader.ending == .closed else {
      throw PromotionError(
        log, "the log was never closed: let the run end (resume), or repair the log")
    }
    // What its agents called is in the row: nobody looks for other logs.
    for index in events.indices where events[index].data["child"] != nil {
      events[index].data["child"] = nil
    }
    events[0].data[PipelineCalls.rowKey] = true
    return events
  }
}
