import AgentTrace

/// At most so many steps hold a decision.
struct MaxSteps: CountLimit {
  var limit: Int

  static let key = "maxSteps"
  static let summary = ExpectationSummary(
    takes: "a number", holds: "at most so many steps hold a decision")

  static var schema: JSONValue { ExpectationSchema.count("Steps with a decision, at most.") }

  static func suggestions(for run: Trajectory) -> [JSONValue] { [[key: JSONValue(run.steps)]] }

  var needs: TrajectoryNeeds { .body }
  var isOfEachRun: Bool { false }
  var facts: Facts { [] }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    let view = run.view
    let beyond = view.calls.first { $0.step > limit }?.outline.seq
    return [
      run.bound(
        Self.key, view.trajectory.steps, limit, "step", mayBeMore: view.mayHideCalls,
        events: (beyond ?? view.trajectory.stop?.seq).map { [$0] } ?? [])
    ]
  }

  static func addConformance(to book: inout ConformanceBook) {
    book.check("as many steps as allowed", 2, on: Run("a"), is: .pass)
    book.check("a step too many", 1, on: Run("a"), is: .fail)
    let torn = Run(torn: "a")
    book.check("there may be more behind a tear", 5, on: torn, is: .unverifiable)
    book.check("there are too many before it", 0, on: torn, is: .fail)
  }
}
