import AgentTrace

/// At most so many decisions are invalid.
struct MaxInvalidDecisions: CountLimit {
  var limit: Int

  static let key = "maxInvalidDecisions"
  static let summary = ExpectationSummary(
    takes: "a number", holds: "at most so many decisions could not be used")

  static var schema: JSONValue {
    ExpectationSchema.count("Decisions that could not be used, at most.")
  }

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    (0...1).map { [key: JSONValue($0)] }
  }

  var needs: TrajectoryNeeds { .all }
  var isOfEachRun: Bool { true }
  var facts: Facts { .timeline }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    let invalid = run.gathered.invalidDecisions.map(\.seq)
    return [
      run.bound(
        Self.key, invalid.count, limit, "invalid decision", mayBeMore: run.view.mayHideCalls,
        events: invalid.count > limit ? [invalid[limit]] : [])
    ]
  }

  static func addConformance(to book: inout ConformanceBook) {
    let invalid = Run { run in
      run.decide(Call("a"), isInvalid: true)
      run.decide(Call("a"))
      run.end()
    }
    book.check("one is too many", 0, on: invalid, is: .fail)
    book.check("one is allowed", 1, on: invalid, is: .pass)
  }
}
