import AgentTrace

/// None of these calls is executed.
struct ToolsNotCalled: ForbiddenCalls {
  var entries: [CallEntry]

  static let key = "toolsNotCalled"
  static let summary = ExpectationSummary(takes: "a list of calls", holds: "none was executed")

  static var schema: JSONValue {
    [
      "description": "Calls of which none is executed.", "$ref": "#/$defs/executed",
      "minItems": 1, "items": ExpectationSchema.withNumber,
    ]
  }
  static let isExecuted = true

  var undecided: [UndecidedPart] {
    entries.enumerated().compactMap { index, entry in
      entry.fluidity.map { UndecidedPart(place: [Self.key, String(index)], why: $0) }
    }
  }

  static func addConformance(to book: inout ConformanceBook) {
    book.check("it was not called", ["del*"], on: Run("a"), is: .pass)
    let unknown = Run(Call("a", [:], .effectUnknown))
    book.check("and may have done what is forbidden", ["a"], on: unknown, is: .fail)
    let torn = Run(torn: "a")
    book.check("behind a tear anything may stand", ["b"], on: torn, is: .unverifiable)
    book.check("what stands before a tear stands", ["a"], on: torn, is: .fail)
  }
}
