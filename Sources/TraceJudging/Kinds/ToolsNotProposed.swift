import AgentTrace
import TraceMatching

/// None of these calls is proposed.
struct ToolsNotProposed: Expectation {
  var entries: [CallEntry]

  static let key = "toolsNotProposed"
  static let summary = ExpectationSummary(takes: "a list of calls", holds: "none was proposed")

  static var schema: JSONValue {
    [
      "description": "Calls of which none is proposed.", "$ref": "#/$defs/proposed",
      "minItems": 1, "items": ExpectationSchema.withNumber,
    ]
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    let proposed = run.calls.map(\.tool)
    return (run.toolNames ?? []).filter { !proposed.contains($0) }.prefix(10)
      .map { [key: [.string(Glob.escaping($0))]] }
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    if value.arrayValue?.isEmpty == true { reader.reportEmptyList(at: pointer) }
    return reader.entries(
      value, at: pointer, isExecuted: false, leavesNumberOpen: false
    ).map(Self.init(entries:))
  }

  var needs: TrajectoryNeeds { entries.needs }
  var isOfEachRun: Bool { true }
  var facts: Facts { [] }
  var undecided: [UndecidedPart] {
    entries.enumerated().compactMap { index, entry in
      (entry.result != nil ? "its result may still come" : entry.fluidity).map {
        UndecidedPart(place: [Self.key, String(index)], why: $0)
      }
    }
  }
  var namedTools: [NamedTool] { NamedTool.all(entries, Self.key) }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.elements(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool { change.isEntryNarrowed }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    entries.enumerated().map { index, entry in
      Counting(entry, "\(Self.key)[\(index)]", .proposed, run.view, isForbidden: true).outcome()
    }
  }

  static func addConformance(to book: inout ConformanceBook) {
    book.add("nobody proposed it", ["toolsNotProposed": ["b"]], on: Run("a"), is: .pass)
    let refused = Run(Call("a", [:], .refused))
    book.add(
      "a refused call was proposed all the same", ["toolsNotProposed": ["a"]], on: refused,
      is: .fail)
  }
}
