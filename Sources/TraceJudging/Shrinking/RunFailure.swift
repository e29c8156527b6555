import AgentTrace

/// How a run fails: which expectations are not met, and by which of its events.
struct RunFailure {
  /// One expectation that is not met.
  struct Sign: Hashable {
    /// ``ExpectationOutcome/expectation``.
    var expectation: String
    /// The places of the events that show it, in the run as it was recorded.
    var events: Set<Int>
    /// Whether it fails because there is too much of something: then other events may show it as well.
    var isBound: Bool
  }

  /// What is expected, as far as the run breaks it.
  let expectations: Expectations
  let signs: [Sign]

  /// `nil` where the run breaks none of these.
  init?(of events: [Event], against expectations: Expectations) {
    self.expectations = expectations
    signs = Self.failing(events, expectations).map { outcome in
      Sign(
        expectation: outcome.expectation, events: Set(outcome.events),
        isBound: Self.isBound(outcome.expectation))
    }
    if signs.isEmpty { return nil }
  }

  /// Whether a run fails in the same way: the same expectations are not met, by events that showed it
  /// before, and no other is broken.
  ///
  /// - Parameter places: where each event stood in the run as it was recorded.
  func isShown(by events: [Event], _ places: [Int]) -> Bool {
    let failing = Self.failing(events, expectations)
    guard failing.count == signs.count else { return false }
    return zip(failing, signs).allSatisfy { outcome, sign in
      guard outcome.expectation == sign.expectation else { return false }
      if sign.isBound { return true }
      guard outcome.events.allSatisfy(places.indices.contains) else { return false }
      let shown = Set(outcome.events.map { places[$0] })
      return shown.isSubset(of: sign.events) && shown.isEmpty == sign.events.isEmpty
    }
  }

  /// Whether it shows by the event at a place.
  func shows(at place: Int) -> Bool {
    signs.contains { !$0.isBound && $0.events.contains(place) }
  }

  /// What of a run is not met, warnings aside.
  static func failing(
    _ events: [Event], _ expectations: Expectations
  ) -> [ExpectationOutcome] {
    Judge.judge(events, against: expectations, warns: false).outcomes.filter {
      $0.outcome == .fail && $0.severity == .error
    }
  }

  private static func isBound(_ expectation: String) -> Bool {
    let name = expectation.split(separator: ".").last { part in
      bounds.contains(String(part.prefix { $0 != "[" }))
    }
    return name != nil
  }

  private static let bounds: Set<String> = [
    "maxSteps", "maxToolCalls", "budget", "maxInvalidDecisions", "maxRetries",
  ]
}
