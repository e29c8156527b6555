public import AgentTrace

/// One mistake in the `expected` of a case.
public struct ExpectationProblem: Sendable, Hashable {
  /// From `expected` to the part at fault.
  public var pointer: JSONPointer
  /// Whether the key that the pointer ends in is at fault, rather than its value.
  public var isKey = false
  /// What is wrong.
  public var message: String
  /// What to do about it.
  public var hint: String?
}

extension ExpectationProblem: CustomStringConvertible {
  public var description: String {
    let place = pointer.tokens.isEmpty ? "" : "\(pointer): "
    return place + message + (hint.map { "; \($0)" } ?? "")
  }
}

/// Every mistake in the `expected` of a case, in the order of the keys.
public struct ExpectationErrors: Error, Sendable, Hashable {
  /// At least one.
  public var problems: [ExpectationProblem]
}

extension ExpectationErrors: CustomStringConvertible {
  public var description: String {
    problems.map(\.description).joined(separator: "\n")
  }
}
