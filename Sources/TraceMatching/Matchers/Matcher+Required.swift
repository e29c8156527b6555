package import AgentTrace

extension Matcher {
  /// A scalar without which nothing matches, and the keys that lead to where it has to stand; `nil` where none
  /// is asked for so plainly. Where another value stands there, or none, the matcher does not match.
  package var requiredScalar: (path: [String], value: JSONValue)? { root.requiredScalar }
}

extension MatcherNode {
  fileprivate var requiredScalar: (path: [String], value: JSONValue)? {
    switch self {
    case .scalar(let value, _): return value.isNull ? nil : ([], value)
    case .object(let members):
      for (key, node) in members {
        if let found = node.requiredScalar { return ([key] + found.path, found.value) }
      }
      return nil
    default: return nil
    }
  }
}
