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
    book.add("as many steps as allowed", [key: 2], on: Run("a"), is: .pass)
    book.add("a step too many", [key: 1], on: Run("a"), is: .fail)
    let torn = Run(torn: "a")
    book.add("there may be more behind a tear", [key: 5], on: torn, is: .unverifiable)
    book.add("there are too many before it", [key: 0], on: torn, is: .fail)
  }
}
