/// What the end of a closed log tells of its run: its calls without inputs and results, and its stop.
/// Neither the answer nor steps are known, nor the names of tools that were not called, unless somebody looked
/// for them at the log's beginning.
public struct RunOutline: Sendable, Hashable {
  /// The identifier of the run.
  public var runId: String
  /// How it ended.
  public var stop: Trajectory.StopFact
  /// Every call that a decision proposed, in decision order.
  public var calls: [CallOutline]
  /// `none` or `partial` for each channel that an import lacks.
  public var recorded: RecordedChannels
  /// Names of all tools the run had; `nil` where nobody looked.
  public var toolNames: [String]?

  /// Without more, every channel was recorded whole; the names of the tools are not known.
  public init(
    runId: String, stop: Trajectory.StopFact, calls: [CallOutline],
    recorded: RecordedChannels = RecordedChannels()
  ) {
    self.runId = runId
    self.stop = stop
    self.calls = calls
    self.recorded = recorded
  }

  /// Reads the data of a summary and the stop beside it; `nil` where they leave something open that
  /// only the events can tell.
  public init?(summary: JSONValue, stop event: Event) {
    guard summary["mayHideCalls"] == nil, let values = summary["calls"]?.arrayValue,
      let stop = try? Stop(decoding: event.data)
    else { return nil }
    var calls: [CallOutline] = []
    calls.reserveCapacity(values.count)
    for value in values {
      guard let call = CallOutline(summary: value) else { return nil }
      calls.append(call)
    }
    self.init(
      runId: event.runId,
      stop: Trajectory.StopFact(
        reason: stop.reason, detail: stop.detail, isFinal: stop.isFinal, seq: event.seq),
      calls: calls, recorded: RecordedChannels(summary["recorded"]?.objectValue ?? [:]))
  }
}
