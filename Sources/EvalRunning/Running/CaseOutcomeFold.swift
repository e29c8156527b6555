public import AgentTrace
public import EvalLoading
import TraceJudging
public import TraceReplaying

/// The outcome of a run by what a case expects of it.
public struct CaseOutcomeFold: OutcomeFold {
  private let expected: Expectations
  private var trajectory = Trajectory()
  private var chronicle: Chronicle

  /// Nothing has happened yet.
  public init(_ evalCase: EvalCase) {
    expected = evalCase.expected
    chronicle = Chronicle(for: expected)
  }

  public mutating func apply(_ event: Event) {
    trajectory.apply(event)
    chronicle.apply(event)
  }

  /// `pass`, `fail` or `inconclusive`.
  public func outcome() -> String {
    Judge.judge(trajectory, chronicle, against: expected).outcome.rawValue
  }
}
