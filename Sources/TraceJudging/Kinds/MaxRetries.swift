import AgentTrace

/// At most so many attempts at calls beyond their first.
struct MaxRetries: CountLimit {
  var limit: Int

  static let key = "maxRetries"
  static let summary = ExpectationSummary(
    takes: "a number", holds: "at most so many attempts at calls beyond their first")

  static var schema: JSONValue {
    ExpectationSchema.count("Attempts at calls beyond their first, at most.")
  }

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    (0...1).map { [key: JSONValue($0)] }
  }

  var needs: TrajectoryNeeds { .all }
  var isOfEachRun: Bool { true }
  var facts: Facts { .timeline }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    let view = run.view
    let calls = view.agentsCalls
    let retries = run.retries(of: calls)
    return [
      run.bound(
        Self.key, retries.count, limit, "retry", plural: "retries",
        mayBeMore: view.mayHideCalls || view.trajectory.recorded["tools"] != nil
          || calls.contains(where: run.gathered.lacksAttempts),
        events: retries.event(behind: limit).map { [$0] } ?? [])
    ]
  }

  static func addConformance(to book: inout ConformanceBook) {
    let retried = Run(Call("a").taking(attempts: 3))
    book.check("tried three times", 1, on: retried, is: .fail)
    book.check("tried three times, as allowed", 2, on: retried, is: .pass)
  }
}
