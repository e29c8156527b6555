import AgentTrace
import TraceMatching

/// At most so many calls are executed; calls of a simulated user do not count.
struct MaxToolCalls: Expectation {
  var limit: Int

  static let key = "maxToolCalls"
  static let summary = ExpectationSummary(
    takes: "a number", holds: "at most so many calls were executed")

  static var schema: JSONValue { ExpectationSchema.count("Executed calls, at most.") }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    [[key: JSONValue(run.calls.count { $0.isExecuted })]]
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.count(value, at: pointer).map(Self.init(limit:))
  }

  var needs: TrajectoryNeeds { [] }
  var facts: Facts { [] }
  /// More of it mends nothing.
  var undecided: [UndecidedPart] { [] }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.whole(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool { change.isNumberLowered }

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
    typealias Run = ConformanceRun
    typealias Call = ConformanceRun.Call
    book.rule = key
    book.add("as many calls as allowed", [key: 2], on: Run("a", "b"), is: .pass)
    book.add("a call too many", [key: 1], on: Run("a", "b"), is: .fail)
    book.add(
      "a refused call was not executed", [key: 0],
      on: Run { run in
        run.decide(Call("a", [:], .refused))
        run.end()
      }, is: .pass)
    book.add(
      "the simulated user's own calls do not count", [key: 0],
      on: Run { run in
        run.decide(Call("a"), by: "user")
        run.end()
      }, is: .pass)
  }
}
