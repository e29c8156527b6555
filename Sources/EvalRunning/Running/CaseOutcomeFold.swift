public import AgentTrace
public import EvalLoading
import TraceJudging
public import TraceReplaying

/// The outcome of a run by what a case expects of it.
public struct CaseOutcomeFold: OutcomeFold {
  private let expected: Expectations
  private var trajectory = Trajectory()
  private var gathered: GatheredFacts

  /// Nothing has happened yet.
  public init(_ evalCase: EvalCase) {
    expected = evalCase.expected
    gathered = GatheredFacts(for: expected)
  }

  public mutating func apply(_ event: Event) {
    trajectory.apply(event)
    gathered.apply(event)
  }

  /// `pass`, `fail` or `inconclusive`.
  public func outcome() -> String {
    Judge.judge(trajectory, gathered, against: expected).outcome.rawValue
  }
}
