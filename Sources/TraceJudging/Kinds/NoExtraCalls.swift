import AgentTrace
import TraceMatching

/// No call is executed but those of `toolsCalled`.
struct NoExtraCalls: EndExpectation {
  /// Whether calls beyond the expected ones matter.
  private enum Word: String, CaseIterable {
    case allow, forbid
  }

  static let key = "extra"
  static let summary = ExpectationSummary(
    takes: "`allow` (without it), `forbid`", holds: "no call is executed but those of `toolsCalled`"
  )

  static var schema: JSONValue {
    [
      "description": "Whether calls may be executed that toolsCalled does not speak of.",
      "type": "string", "enum": ["allow", "forbid"],
    ]
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] {
    let calls = run.calls.filter { $0.isExecuted }.prefix(100)
      .map { JSONValue.string(Glob.escaping($0.tool)) }
    return calls.isEmpty ? [] : [[ToolsCalled.key: .array(calls), key: "forbid"]]
  }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    guard reader.word(value, at: pointer, Word.self, "allow or forbid") == .forbid else {
      return nil
    }
    if reader.siblings[ToolsCalled.key] == nil {
      reader.report(
        pointer, "extra calls are forbidden, and none is expected",
        hint: "add `toolsCalled`; to forbid every call, write `toolsNotCalled: [\"*\"]`")
    }
    return Self()
  }

  var needs: TrajectoryNeeds { [] }
  var facts: Facts { [] }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.whole(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool { change.now == "forbid" }

  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { [outcome(run)] }

  /// Every executed call is one that `toolsCalled` speaks of, each entry without `times` taking one.
  private func outcome(_ run: JudgedRun) -> ExpectationOutcome {
    let view = run.view
    let entries = run.expectations.toolsCalled ?? []
    func outcome(_ outcome: Outcome, _ call: Int?, _ message: String) -> ExpectationOutcome {
      ExpectationOutcome(
        expectation: "extra", outcome: outcome, events: call.map { view.calls[$0].events } ?? [],
        message: message, expected: "no executed call but those of toolsCalled",
        actual: call.map { CallWording.of(view.calls[$0]) })
    }
    let candidates = entries.map { entry in
      Dictionary(
        uniqueKeysWithValues: view.candidates(for: entry, .executed, unknownCounts: true)
          .map { ($0.index, $0.answer) })
    }
    var (sure, possible) = (BipartiteMatching(), BipartiteMatching())
    var unsure: Int?
    // Places of an entry: one, or as many calls as it may have.
    var places: [[Int]] = []
    var count = 0
    for entry in entries {
      let most = min(
        entry.times.map { $0.maximum ?? view.calls.count } ?? 1, view.calls.count)
      places.append(Array(count..<(count + max(0, most))))
      count += max(0, most)
    }
    // An entry that may have every call leaves no call without a place.
    let unlimited = Set(entries.indices.filter { places[$0].count >= view.calls.count })
    for (index, call) in view.calls.enumerated() {
      guard
        entries.isEmpty
          ? !call.outline.isOfSimulatedUser
          : entries.contains(where: { $0.speaks(of: call) })
      else { continue }
      let executed = view.executed(call)
      guard executed != .no else { continue }
      func free(_ fits: (Int) -> Bool) -> [Int]? {
        var found: [Int] = []
        for entry in entries.indices where fits(entry) {
          if unlimited.contains(entry) { return nil }
          found += places[entry]
        }
        return found
      }
      if executed == .yes, let free = free({ candidates[$0][index] ?? .no != .no }),
        !possible.augment(free)
      {
        return outcome(.fail, index, "A call was executed beyond those expected.")
      }
      // One that was perhaps not executed needs a place all the same to be sure that none is beyond them.
      let isSure: (Int) -> Bool = { entry in
        executed == .yes
          ? candidates[entry][index] == .yes
          : view.isSuch(entries[entry], call, .proposed) == .yes
      }
      if let free = free(isSure), !sure.augment(free) { unsure = unsure ?? index }
    }
    if let unsure {
      return outcome(
        .unverifiable, unsure, "Whether a call is one of those expected cannot be seen.")
    }
    if view.mayHideCalls {
      return outcome(
        .unverifiable, nil, "Whether there were no other calls cannot be seen: \(view.whyHidden).")
    }
    return outcome(.pass, nil, "No other call was executed.")
  }

  static func addConformance(to book: inout ConformanceBook) {
    book.add(
      "no other call, in any order", ["toolsCalled": ["b", "a"], "extra": "forbid"],
      on: Run("a", "b"), is: .pass)
    book.add(
      "one call too many of an expected tool", ["toolsCalled": ["a"], "extra": "forbid"],
      on: Run("a", "a"), is: .fail)
    book.add(
      "a number of times is room for so many",
      ["toolsCalled": [["tool": "a", "times": ["min": 1]]], "extra": "forbid"], on: Run("a", "a"),
      is: .pass)
    book.add("without calls there is nothing beyond", mistaken: ["extra": "forbid", "maxSteps": 1])
  }
}
