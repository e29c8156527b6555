public import AgentTrace

/// Holds a run against what a case expects of it. Pure: the same trajectory and expectations give the
/// same judgement, byte for byte.
///
/// Where the log shows that an expectation is met or broken, it passes or fails, whatever else is
/// missing; where the answer may lie in what is missing, it is unverifiable. (Docs/expectations.md.)
public enum Judge {
  /// What a judge cannot find out by itself.
  public struct Aids: Sendable {
    /// What the runs used that this one started; `nil` where nobody looked for them.
    public var subRuns: [RunTotals]?
    /// What a program says of the run; `nil` where programs may not be started.
    public var programs: [ProgramCheck: ProgramAnswer]

    /// What models say of the run, by the rubrics that were looked up.
    public var judged: [JudgeRule: JudgedRubric] = [:]

    /// Nothing is known but the run.
    public init(subRuns: [RunTotals]? = nil, programs: [ProgramCheck: ProgramAnswer] = [:]) {
      self.subRuns = subRuns
      self.programs = programs
    }
  }

  /// Judges a run.
  ///
  /// - Parameters:
  ///   - trajectory: The run's calls, its answer and its stop.
  ///   - gathered: What the run holds beyond its calls, gathered for these expectations; only
  ///     where ``Expectations/facts`` ask for something.
  ///   - expectations: What a case asks of the run.
  ///   - aids: What others found out.
  ///   - warns: Whether slips in the expectations are looked for.
  /// - Complexity: O(entries · calls) matches, and as many steps again for each augmenting path; the
  ///   matches are bounded one by one (see `Matcher`).
  public static func judge(
    _ trajectory: Trajectory, _ gathered: GatheredFacts? = nil, against expectations: Expectations,
    aids: Aids = Aids(), warns: Bool = true
  ) -> Judgement {
    let view = CallView(trajectory)
    var contexts = 0
    var outcomes = Self.outcomes(view, gathered, expectations, aids, &contexts)
    for part in expectations.parts {
      for var outcome in Self.outcomes(view, gathered, part.expectations, aids, &contexts) {
        if !part.name.isEmpty { outcome.expectation = "\(part.name).\(outcome.expectation)" }
        outcome.severity = part.severity
        outcomes.append(outcome)
      }
    }
    return Judgement(
      outcomes: outcomes,
      warnings: warns ? ToolWarnings(trajectory, gathered).all(of: expectations) : [])
  }

  /// - Parameter contexts: how many rules on contexts were judged before.
  private static func outcomes(
    _ view: CallView, _ gathered: GatheredFacts?, _ expectations: Expectations, _ aids: Aids,
    _ contexts: inout Int
  ) -> [ExpectationOutcome] {
    var run = JudgedRun(
      view: view, gathered: gathered, expectations: expectations, aids: aids,
      contextsTaken: contexts)
    defer { contexts = run.contextsTaken }
    return run.outcomes()
  }
}
