public import AgentTrace

extension Judge {
  /// Judges a run that is in memory. No program and no model is asked.
  ///
  /// - Parameters:
  ///   - events: the run, in order.
  ///   - expectations: what a case asks of the run.
  public static func judge(
    _ events: some Sequence<Event>, against expectations: Expectations
  ) -> Judgement {
    var trajectory = Trajectory()
    var chronicle = Chronicle(for: expectations)
    let facts = chronicle.facts
    for event in events {
      trajectory.apply(event)
      if !facts.isEmpty { chronicle.apply(event) }
    }
    return judge(trajectory, facts.isEmpty ? nil : chronicle, against: expectations)
  }
}
