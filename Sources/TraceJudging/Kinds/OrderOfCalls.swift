import AgentTrace

/// How the calls of `toolsCalled` and `toolsProposed` follow each other. It says nothing by itself.
struct OrderOfCalls: Expectation {
  var order: Expectations.Order

  static let key = "order"
  static let summary = ExpectationSummary(
    takes: "`any` (without it), `in_order`, `exact`", holds: "the calls follow each other so")

  static var schema: JSONValue {
    [
      "description": """
      How the calls follow each other: any (without it), in_order (others may stand between) or \
      exact (no other executed call).
      """,
      "type": "string", "enum": JSONValue(Expectations.Order.allCases.map(\.rawValue)),
    ]
  }
  static let schemaParts: JSONObject = [:]

  static func suggestions(for run: Trajectory) -> [JSONValue] { [] }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    guard let order = reader.words(value, at: pointer, Expectations.Order.self, "an order")?.first
    else { return nil }
    if value.arrayValue != nil { reader.report(pointer, "“order” takes one word, not a list") }
    guard order != .any else { return nil }
    if reader.siblings[ToolsCalled.key] == nil, reader.siblings[ToolsProposed.key] == nil {
      reader.report(
        pointer, "an order without calls to be in it", hint: "add `toolsCalled` or `toolsProposed`")
    }
    return Self(order: order)
  }

  var needs: TrajectoryNeeds { [] }
  var isOfEachRun: Bool { false }
  var facts: Facts { [] }
  var undecided: [UndecidedPart] { [] }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.whole(key, value) }

  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool {
    switch (change.now.stringValue, change.was.stringValue) {
    case ("exact"?, "in_order"?): return true
    case ("exact"?, "any"?), ("in_order"?, "any"?):
      // Without an order each entry counts all that it speaks of; in one, another entry may take them: one that
      // was there, or one that comes with the order.
      return [ToolsCalled.key, ToolsProposed.key].allSatisfy { list in
        (change.before.lists[list] ?? []).allSatisfy { entry in
          !AskedContext.isBounded(entry)
            || [change.before, change.after].allSatisfy { $0.isAlone(entry, in: list) }
        }
      }
    default: return false
    }
  }

  /// The lists of calls look at it.
  func outcomes(in run: inout JudgedRun) -> [ExpectationOutcome] { [] }

  static func addConformance(to book: inout ConformanceBook) {
    let parallel = Run { run in
      run.decide(Call("b"), Call("a"))
      run.end()
    }
    book.add(
      "calls of one decision have no order", ["toolsCalled": ["a", "b"], "order": "in_order"],
      on: parallel, is: .pass)
    book.add(
      "others may stand between", ["toolsCalled": ["a", "c"], "order": "in_order"],
      on: Run("a", "b", "c"), is: .pass)
    book.add(
      "the wrong way round", ["toolsCalled": ["b", "a"], "order": "in_order"], on: Run("a", "b"),
      is: .fail)
    let twice = Run("search", "read", "search")
    for (list, outcome) in [
      (
        [
          ["tool": "search", "times": 1], ["tool": "read", "times": 1],
          ["tool": "search", "times": 1],
        ], .pass
      ),
      ([["tool": "search", "times": 1], ["tool": "read", "times": 1]], .fail),
      (["search", ["tool": "read", "times": 1]], .pass),
      ([["tool": "search", "times": ["min": 1]], "read"], .pass),
      ([["tool": "search", "times": 0], "read"], .fail),
      ([["tool": "write", "times": 0], "read"], .pass),
      (["read", ["tool": "search", "times": ["max": 1]]], .fail),
    ] as [(JSONValue, Outcome)] {
      book.add(
        "so often, and none left over: \(list)", ["toolsCalled": list, "order": "in_order"],
        on: twice, is: outcome)
      book.add(
        "so often proposed, and none left over: \(list)",
        ["toolsProposed": list, "order": "in_order"], on: twice, is: outcome)
    }
    let doubtful = Run(Call("pay"), Call("pay", [:], .effectUnknown))
    for (most, outcome) in [(1, .unverifiable), (2, .pass)] as [(Int, Outcome)] {
      book.add(
        "a call that was cut off, where \(most) may be",
        [
          "toolsCalled": [["tool": "pay", "times": ["max": JSONValue(most)]]], "order": "in_order",
        ],
        on: doubtful, is: outcome)
    }
  }
}

extension Expectations {
  /// How the calls of the positive lists must follow each other.
  public enum Order: String, Sendable, Hashable, CaseIterable {
    /// No order.
    case any
    /// A subsequence: other calls may stand between.
    case inOrder = "in_order"
    /// In order, and no other executed call.
    case exact
  }
}
