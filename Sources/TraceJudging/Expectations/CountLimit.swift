import AgentTrace

/// An expectation that is a number which something must not go beyond. More of it mends nothing, so that what has
/// happened breaks it for good; a smaller number is the stricter one.
protocol CountLimit: Expectation {
  init(limit: Int)
}

extension CountLimit {
  static var schemaParts: JSONObject { [:] }

  static func read(
    _ value: JSONValue, at pointer: JSONPointer, _ reader: inout ExpectationReader
  ) -> Self? {
    reader.count(value, at: pointer).map(Self.init(limit:))
  }

  var undecided: [UndecidedPart] { [] }
  var namedTools: [NamedTool] { [] }

  static func asked(_ value: JSONValue) -> [AskedPart] { AskedPart.whole(key, value) }
  static func isAtLeastAsStrict(_ change: AskedChange) -> Bool { change.isNumberLowered }
}
