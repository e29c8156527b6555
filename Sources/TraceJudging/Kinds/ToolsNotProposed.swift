import AgentTrace

/// None of these calls is proposed.
struct ToolsNotProposed: ForbiddenCalls {
  var entries: [CallEntry]

  static let key = "toolsNotProposed"
  static let summary = ExpectationSummary(takes: "a list of calls", holds: "none was proposed")

  static var schema: JSONValue {
    [
      "description": "Calls of which none is proposed.", "$ref": "#/$defs/proposed",
      "minItems": 1, "items": ExpectationSchema.withNumber,
    ]
  }
  static let isExecuted = false

  var undecided: [UndecidedPart] {
    entries.enumerated().compactMap { index, entry in
      (entry.result != nil ? "its result may still come" : entry.fluidity).map {
        UndecidedPart(place: [Self.key, String(index)], why: $0)
      }
    }
  }

  static func addConformance(to book: inout ConformanceBook) {
    book.check("nobody proposed it", ["b"], on: Run("a"), is: .pass)
    let refused = Run(Call("a", [:], .refused))
    book.check("a refused call was proposed all the same", ["a"], on: refused, is: .fail)
  }
}
