public import AgentRuntime
public import AgentTrace
public import TraceJudging

/// Expectations that are enforced while a run goes on: the guard of an agent file, for agents made in code.
public struct ExpectationRunGuard: RunGuard {
  private var watch: ExpectationGuard

  /// Watches for these expectations.
  ///
  /// - Throws: `ExpectationErrors` where one of them cannot be told before a run is over.
  public init(_ expectations: Expectations) throws(ExpectationErrors) {
    watch = try ExpectationGuard(expectations)
  }

  private init(watch: ExpectationGuard) { self.watch = watch }

  public mutating func observe(_ event: Event) { watch.apply(event) }

  public func breach() -> GuardBreach? { Self.breach(watch.breach()) }

  public func breach(ifStarted callIds: [String], by verdict: Verdict?) -> GuardBreach? {
    Self.breach(watch.breach(ifStarted: callIds, by: verdict))
  }

  public func breach(ifDecidingIn step: Int) -> GuardBreach? {
    Self.breach(watch.breach(ifDecidingIn: step))
  }

  public func guarding(callsOf tool: String) -> (any RunGuard)? {
    watch.guarding(callsOf: tool).map(ExpectationRunGuard.init(watch:))
  }

  private static func breach(_ outcome: ExpectationOutcome?) -> GuardBreach? {
    outcome.map { GuardBreach(expectation: $0.expectation, message: $0.message) }
  }
}
