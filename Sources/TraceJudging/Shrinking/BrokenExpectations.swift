import AgentTrace

/// What of some expectations a run breaks, as a case file says it.
enum BrokenExpectations {
  /// The `expected` of a case that holds what the run breaks and as little else as may be; `nil` where it
  /// breaks nothing.
  static func json(of expectations: Expectations, _ events: [Event]) -> JSONValue? {
    var own = expectations
    own.parts = []
    let all = [own] + expectations.parts.filter { $0.severity == .error }.map(\.expectations)
    let found = all.compactMap { broken($0, events) }
    guard found.count > 1 else { return found.first }
    return .array(found)
  }

  private static func broken(_ expectations: Expectations, _ events: [Event]) -> JSONValue? {
    guard case .object(let source) = expectations.written.source else { return nil }
    let failing = RunFailure.failing(events, expectations)
    guard !failing.isEmpty else { return nil }
    let names = failing.map(\.expectation)
    // The least first; what does not fail as the whole does leaves out something that belongs to it.
    let attempts = [
      restricted(source, to: names, isWhole: false), restricted(source, to: names, isWhole: true),
    ]
    for attempt in attempts {
      guard let parsed = try? Expectations(parsing: .object(attempt)) else { continue }
      let now = RunFailure.failing(events, parsed)
      if now.map(\.events) == failing.map(\.events) { return .object(attempt) }
    }
    return .object(source)
  }

  /// - Parameter isWhole: whether what stands below a key is kept whole.
  private static func restricted(
    _ source: JSONObject, to names: [String], isWhole: Bool
  ) -> JSONObject {
    var result = JSONObject()
    let paths = names.map(path)
    for member in source where member.key != "severity" {
      let below = paths.filter { $0.first?.hasSameUTF8(as: member.key) == true }
        .map { Array($0.dropFirst()) }
      guard !below.isEmpty else { continue }
      result[member.key] = isWhole ? member.value : restricted(member.value, to: below)
    }
    let isOrdered = source["order"] != nil && source["order"] != "any"
    for list in ["toolsCalled", "toolsProposed"]
    where result[list] != nil || result["extra"] != nil {
      if isOrdered || result["extra"] != nil { result[list] = source[list] }
      if isOrdered { result["order"] = source["order"] }
    }
    return result
  }

  private static func restricted(_ value: JSONValue, to paths: [[String]]) -> JSONValue {
    guard paths.allSatisfy({ !$0.isEmpty }) else { return value }
    switch value {
    case .array(let elements):
      let kept = elements.indices.filter { index in
        paths.contains { $0.first == String(index) }
      }
      return kept.isEmpty ? value : .array(kept.map { elements[$0] })
    case .object(let object):
      var result = JSONObject()
      for member in object {
        let below = paths.filter { $0.first?.hasSameUTF8(as: member.key) == true }
          .map { Array($0.dropFirst()) }
        if !below.isEmpty { result[member.key] = restricted(member.value, to: below) }
      }
      return result.isEmpty ? value : .object(result)
    default: return value
    }
  }

  /// `policy.given[1]` as `policy`, `given`, `1`.
  private static func path(of expectation: String) -> [String] {
    expectation.split { $0 == "." || $0 == "[" || $0 == "]" }.map(String.init)
  }
}
