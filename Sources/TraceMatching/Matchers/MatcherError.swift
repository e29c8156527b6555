public import AgentTrace

/// Why a JSON value is not a matcher.
public struct MatcherError: Error, Hashable, Sendable {
  /// What is wrong; open, so that cases can be added.
  public enum Code: Hashable, Sendable {
    /// No such operator; `nearest` is the one that was probably meant.
    case unknownOperator(String, nearest: String?)
    /// An object with operators and plain keys.
    case mixedKeys(operator: String, key: String)
    /// An operator with a value it cannot take.
    case badOperand(operator: String, needs: String)
    case badPattern(operator: String, PatternError)
    case badSchema(SchemaError)
    /// An operator that means nothing where it stands.
    case misplaced(operator: String)
    /// What is asked of one value cannot all be so; see ``Matcher/refuseContradictions()``.
    case contradiction
    case tooDeep(limit: Int)
    case tooLarge(limit: Int)
  }

  /// What is wrong.
  public var code: Code
  /// From the whole matcher to the part at fault.
  public var pointer: JSONPointer

  /// An empty pointer stands for the whole matcher.
  public init(code: Code, pointer: JSONPointer) {
    self.code = code
    self.pointer = pointer
  }
}

extension MatcherError: CustomStringConvertible {
  public var description: String {
    pointer.tokens.isEmpty ? code.phrase : "\(code.phrase) (at \(pointer))"
  }
}

extension MatcherError.Code {
  /// The fault in words, without its place.
  public var phrase: String {
    switch self {
    case .unknownOperator(let name, let nearest?):
      "unknown operator “\(name)”; did you mean “\(nearest)”?"
    case .unknownOperator(let name, nil):
      "unknown operator “\(name)”; a key that begins with “$” needs {\"$literal\": {…}} around it"
    case .mixedKeys(let name, let key):
      "the operator “\(name)” beside the plain key “\(key)”; put one of them into “$allOf”"
    case .badOperand(let name, let needs): "“\(name)” takes \(needs)"
    case .badPattern(let name, let error): "“\(name)” holds \(error)"
    case .badSchema(let error): "“$schema” holds a schema with \(error)"
    case .misplaced(let name):
      "“\(name)” has a meaning only in the input of a call and in an answer, behind earlier results"
    case .contradiction:
      "no value can be all that is asked here at once, so nothing would ever match it"
    case .tooDeep(let limit): "a matcher nested more than \(limit) deep"
    case .tooLarge(let limit): "a matcher of more than \(limit) parts"
    }
  }
}
