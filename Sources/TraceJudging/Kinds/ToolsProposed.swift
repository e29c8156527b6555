import AgentTrace
import TraceMatching

/// Each of these calls is proposed by a decision, whatever became of it.
struct ToolsProposed: CallList, EndExpectation {
  var entries: [CallEntry]

  static let key = "toolsProposed"
  static let summary = ExpectationSummary(
    takes: "a list of calls", holds: "each was proposed by a decision, whatever became of it")

  static var schema: JSONValue {
    [
      "description": "Calls that a decision proposes, whatever became of them.",
      "$ref": "#/$defs/proposed", "minItems": 1,
    ]
  }

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    var seen: Set<String> = []
    return run.calls.filter { seen.insert($0.tool).inserted }.prefix(10)
      .map { [key: [.string(Glob.escaping($0.tool))]] }
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    if value.arrayValue?.isEmpty == true { reader.reportEmptyList(at: pointer) }
    return reader.entries(
      value, at: pointer, isExecuted: false,
      leavesNumberOpen: reader.numberMayBeOpen(in: value, of: key)
    ).map(Self.init(entries:))
  }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    let (name, view) = (Self.key, run.view)
    guard run.expectations.order != .any else {
      return AnyOrder(entries, name, .proposed, view).outcomes()
    }
    var outcomes = [InOrder.outcome(entries, name, .proposed, view)]
    // `exact` speaks of executed calls. Where `toolsCalled` says what those are, that is judged there.
    if run.expectations.order == .exact, run.expectations.toolsCalled == nil {
      outcomes.append(noOther(view))
    }
    return outcomes
  }

  /// No call was executed that is none of the proposed ones.
  private func noOther(_ view: CallView) -> ExpectationOutcome {
    let name = Self.key
    var known: [Int: Trilean] = [:]
    for entry in entries {
      for (index, answer) in view.candidates(for: entry, .proposed) {
        known[index] = known[index] == .yes ? .yes : answer
      }
    }
    var unknown: Trajectory.Call?
    for (index, call) in view.calls.enumerated()
    where entries.contains(where: { $0.speaks(of: call) }) {
      let executed = view.executed(call)
      if executed == .yes, known[index] == nil {
        return ExpectationOutcome(
          expectation: name, outcome: .fail, events: call.events,
          message: "A call was executed that is none of the proposed ones expected.",
          expected: "no other executed call", actual: CallWording.of(call))
      }
      if executed != .no, known[index] != .yes { unknown = unknown ?? call }
    }
    if let unknown {
      return ExpectationOutcome(
        expectation: name, outcome: .unverifiable, events: unknown.events,
        message: "Whether a call is one of the proposed ones cannot be seen.",
        expected: "no other executed call", actual: CallWording.of(unknown))
    }
    if view.mayHideCalls {
      return ExpectationOutcome(
        expectation: name, outcome: .unverifiable,
        message: "Whether no other call was executed cannot be seen: \(view.whyHidden).")
    }
    return ExpectationOutcome(
      expectation: name, outcome: .pass, message: "No other call was executed.")
  }

  static func addConformance(to book: inout ConformanceBook) {
    book.check("nobody proposed it", ["b"], on: Run("a"), is: .fail)
    let refused = Run(Call("a", [:], .refused))
    book.check("a refused call was proposed", ["a"], on: refused, is: .pass)
  }
}
