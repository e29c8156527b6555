import AgentTrace
import TraceMatching

/// Each of these calls is executed.
struct ToolsCalled: CallList, EndExpectation {
  var entries: [CallEntry]

  static let key = "toolsCalled"
  static let summary = ExpectationSummary(
    takes: "a list of calls", holds: "each was executed, by a call of its own")

  static var schema: JSONValue {
    [
      "description": "Calls that are executed, each by a call of its own.",
      "$ref": "#/$defs/executed",
    ]
  }

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    var seen: Set<String> = []
    return run.calls.filter { $0.isExecuted && seen.insert($0.tool).inserted }
      .prefix(10).map { [key: [.string(Glob.escaping($0.tool))]] }
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    if value.arrayValue?.isEmpty == true,
      reader.siblings[OrderOfCalls.key]?.stringValue != Expectations.Order.exact.rawValue
    {
      reader.reportEmptyList(at: pointer)
    }
    return reader.entries(
      value, at: pointer, isExecuted: true,
      leavesNumberOpen: reader.numberMayBeOpen(in: value, of: key)
    ).map(Self.init(entries:))
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    switch run.expectations.order {
    case .any: AnyOrder(entries, Self.key, .executed, run.view).outcomes()
    case .inOrder: [InOrder.outcome(entries, Self.key, .executed, run.view)]
    case .exact: [ExactOrder.outcome(entries, Self.key, run.view)]
    }
  }

  static func addConformance(to book: inout ConformanceBook) {
    book.check("a glob stands for any name it fits", ["del*"], on: Run("delete"), is: .pass)
    book.check("each entry needs a call of its own", ["a", "a"], on: Run("a"), is: .fail)
    book.check(
      "an entry with times counts every call", [["tool": "a", "times": ["max": 1]]],
      on: Run("a", "a"), is: .fail)
    let refused = Run(Call("a", [:], .refused))
    book.check("a refused call was not made", ["a"], on: refused, is: .fail)
    let unknown = Run(Call("a", [:], .effectUnknown))
    book.check("a call cut off is no proof", ["a"], on: unknown, is: .unverifiable)
    book.add("an empty list without an order", mistaken: ["toolsCalled": []])
  }
}
