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
    var t = 0
    for index in events.indices {
      // What its agents called is in the row: nobody looks for other logs.
      events[index].data["child"] = nil
      // What went side by side stands one behind the other, and time goes on in a log.
      t = max(t, events[index].t)
      events[index].t = t
    }
    events[0].data[PipelineCalls.rowKey] = true
    return events
  }
}
