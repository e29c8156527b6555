public import AgentTrace

extension Judge {
  /// Judges a run that is in memory. No program and no model is asked.
  ///
  /// - Parameters:
  ///   - events: the run, in order.
  ///   - expectations: what a case asks of the run.
  ///   - warns: whether slips in the expectations are looked for.
  public static func judge(
    _ events: some Sequence<Event>, against expectations: Expectations, warns: Bool = true
  ) -> Judgement {
    var trajectory = Trajectory()
    var gathered = GatheredFacts(for: expectations)
    let facts = gathered.facts
    for event in events {
      trajectory.apply(event)
      if !facts.isEmpty { gathered.apply(event) }
    }
    return judge(
      trajectory, facts.isEmpty ? nil : gathered, against: expectations, warns: warns)
  }
}
