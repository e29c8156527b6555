public import AgentTrace

/// A null in the JSON that a test writes down. Sources say `.null`: there a `nil` is nothing, also in a ternary.
extension JSONValue: ExpressibleByNilLiteral {
  public init(nilLiteral: ()) { self = .null }
}
