import AgentTrace
import TraceMatching

/// An expectation that is a list of calls.
protocol CallList: Expectation {
  init(entries: [CallEntry])
  var entries: [CallEntry] { get }
}

extension CallList {
  static var schemaParts: JSONObject { [:] }

  var needs: TrajectoryNeeds { entries.needs }
  var facts: Facts { [] }
  var namedTools: [NamedTool] { NamedTool.all(entries, Self.key) }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.elements(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool { change.isEntryNarrowed }
}

/// A list of calls of which there must be none. One that there is breaks it for good.
protocol ForbiddenCalls: CallList {
  /// Whether calls are meant that are executed, or those that are proposed.
  static var isExecuted: Bool { get }
}

extension ForbiddenCalls {
  static func suggestions(for run: Trajectory) -> [JSONValue] {
    let seen = run.calls.map(\.tool)
    return (run.toolNames ?? []).filter { !seen.contains($0) }.prefix(10)
      .map { [key: [.string(Glob.escaping($0))]] }
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    if value.arrayValue?.isEmpty == true { reader.reportEmptyList(at: pointer) }
    return reader.entries(
      value, at: pointer, isExecuted: isExecuted, leavesNumberOpen: false
    ).map(Self.init(entries:))
  }

  var isOfEachRun: Bool { true }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] {
    entries.enumerated().map { index, entry in
      let scope: CallView.Scope = Self.isExecuted ? .executed : .proposed
      return Counting(entry, "\(Self.key)[\(index)]", scope, run.view, isForbidden: true).outcome()
    }
  }
}
