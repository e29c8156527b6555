import AgentTrace
import TraceMatching

/// None of these calls is executed.
struct ToolsNotCalled: Expectation {
  var entries: [CallEntry]

  static let key = "toolsNotCalled"
  static let summary = ExpectationSummary(takes: "a list of calls", holds: "none was executed")

  static var schema: JSONValue {
    [
      "description": "Calls of which none is executed.", "$ref": "#/$defs/executed",
      "minItems": 1, "items": ExpectationSchema.withNumber,
    ]
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    let called = run.calls.map(\.tool)
    return (run.toolNames ?? []).filter { !called.contains($0) }.prefix(10)
      .map { [key: [.string(Glob.escaping($0))]] }
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    if value.arrayValue?.isEmpty == true { reader.reportEmptyList(at: pointer) }
    return reader.entries(
      value, at: pointer, isExecuted: true, leavesNumberOpen: false
    ).map(Self.init(entries:))
  }

  var needs: TrajectoryNeeds { entries.needs }
  var isOfEachRun: Bool { true }
  var facts: Facts { [] }
  var undecided: [UndecidedPart] {
    entries.enumerated().compactMap { index, entry in
      entry.fluidity.map { UndecidedPart(place: [Self.key, String(index)], why: $0) }
    }
  }
  var namedTools: [NamedTool] { NamedTool.all(entries, Self.key) }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.elements(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool { change.isEntryNarrowed }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    entries.enumerated().map { index, entry in
      Counting(entry, "\(Self.key)[\(index)]", .executed, run.view, isForbidden: true).outcome()
    }
  }

  static func addConformance(to book: inout ConformanceBook) {
    book.add("it was not called", ["toolsNotCalled": ["del*"]], on: Run("a"), is: .pass)
    let unknown = Run(Call("a", [:], .effectUnknown))
    book.add(
      "and may have done what is forbidden", ["toolsNotCalled": ["a"]], on: unknown, is: .fail)
    let torn = Run(torn: "a")
    book.add(
      "behind a tear anything may stand", ["toolsNotCalled": ["b"]], on: torn, is: .unverifiable)
    book.add("what stands before a tear stands", ["toolsNotCalled": ["a"]], on: torn, is: .fail)
  }
}
