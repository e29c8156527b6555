public import AgentTrace

/// What no run should do, whatever it was asked for: to find out how a run failed that nobody wrote a case
/// for.
public enum CommonFailures {
  /// Times that the same call may come back with nothing new before it is a loop.
  private static let loopLimit = 3
  /// Decisions in one run that could not be used before something is wrong.
  private static let invalidLimit = 3

  /// Stops that tell of a failure by themselves.
  private static let failingStops: [StopReason] = [
    .budgetExhausted, .invalidDecision, .toolFailure, .modelFailure,
  ]

  /// Expectations of which the run breaks some; `nil` where nothing of this kind is wrong with it.
  ///
  /// - Parameter events: the whole run, numbered from 0 without gaps.
  public static func broken(by events: [Event]) -> Expectations? {
    let acts: JSONObject = [
      "noApprovalBypass": true, "noLoops": JSONValue(loopLimit), "noRepeatedSideEffect": true,
      "maxInvalidDecisions": JSONValue(invalidLimit),
    ]
    if let broken = broken(acts, events) { return broken }
    // How it stopped says less than what it did. Another stop may be what should have happened: whoever
    // knows better says so.
    let stop = events.last { $0.type == .stop }?.data["reason"]?.stringValue
    guard let stop, failingStops.contains(where: { $0.rawValue == stop }) else { return nil }
    let others = StopReason.allCases.filter { !failingStops.contains($0) && $0 != .cancelled }
    return broken(["stopReason": .array(others.map { .string($0.rawValue) })], events)
  }

  private static func broken(_ expected: JSONObject, _ events: [Event]) -> Expectations? {
    guard let expectations = try? Expectations(parsing: .object(expected)),
      !RunFailure.failing(events, expectations).isEmpty
    else { return nil }
    return expectations
  }
}
