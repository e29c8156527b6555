import AgentTrace
import TraceMatching

/// At most so many calls are executed; calls of a simulated user do not count.
struct MaxToolCalls: CountLimit {
  var limit: Int

  static let key = "maxToolCalls"
  static let summary = ExpectationSummary(
    takes: "a number", holds: "at most so many calls were executed")

  static var schema: JSONValue { ExpectationSchema.count("Executed calls, at most.") }

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    [[key: JSONValue(run.calls.count { $0.isExecuted })]]
  }

  var needs: TrajectoryNeeds { [] }
  var isOfEachRun: Bool { true }
  var facts: Facts { [] }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    let view = run.view
    let calls = view.agentsCalls
    let executed = calls.filter { view.executed($0) == .yes }
    let mayBeMore = view.mayHideCalls || calls.contains { view.executed($0) == .unknown }
    return [
      run.bound(
        Self.key, executed.count, limit, "executed call", mayBeMore: mayBeMore,
        events: executed.count > limit ? executed[limit].events : [])
    ]
  }

  static func addConformance(to book: inout ConformanceBook) {
    book.check("as many calls as allowed", 2, on: Run("a", "b"), is: .pass)
    book.check("a call too many", 1, on: Run("a", "b"), is: .fail)
    book.check("a refused call was not executed", 0, on: Run(Call("a", [:], .refused)), is: .pass)
    book.check(
      "the simulated user's own calls do not count", 0,
      on: Run { run in
        run.decide(Call("a"), by: "user", isOfUser: true)
        run.end()
      }, is: .pass)
    book.check(
      "an agent that is called user is no simulated user", 0,
      on: Run { run in
        run.decide(Call("a"), by: "user")
        run.end()
      }, is: .fail)
  }
}
