public import AgentTrace

/// Why a JSON value is not a schema that can be used.
public struct SchemaError: Error, Hashable, Sendable {
  /// What is wrong; open, so that cases can be added.
  public enum Code: Hashable, Sendable {
    /// Neither an object nor a truth value.
    case notASchema
    /// A keyword with a value it cannot take.
    case badKeyword(String, needs: String)
    case badPattern(PatternError)
    /// A reference to a part that this document does not have.
    case unresolvedReference(String)
    /// A reference to another document; nothing is ever fetched.
    case remoteReference(String)
    case tooLarge(limit: Int)
  }

  /// What is wrong.
  public var code: Code
  /// From the whole schema to the part at fault.
  public var pointer: JSONPointer

  /// An empty pointer stands for the whole schema.
  public init(code: Code, pointer: JSONPointer) {
    self.code = code
    self.pointer = pointer
  }
}

extension SchemaError: CustomStringConvertible {
  public var description: String {
    pointer.tokens.isEmpty ? code.phrase : "\(code.phrase) (at \(pointer))"
  }
}

extension SchemaError.Code {
  /// The fault in words, without its place.
  public var phrase: String {
    switch self {
    case .notASchema: "a schema that is neither an object nor true or false"
    case .badKeyword(let name, let needs): "the keyword “\(name)” needs \(needs)"
    case .badPattern(let error): "the keyword “pattern” holds \(error)"
    case .unresolvedReference(let text):
      "the reference “\(text.prefix(utf8Bytes: 200))” leads nowhere in this schema"
    case .remoteReference(let text):
      "the reference “\(text.prefix(utf8Bytes: 200))” leads out of this schema; put what it names "
        + "into “$defs”"
    case .tooLarge(let limit): "a schema of more than \(limit) parts"
    }
  }
}

/// One way in which a value breaks a schema.
public struct SchemaViolation: Hashable, Sendable {
  /// From the whole value to the part at fault.
  public var pointer: JSONPointer
  /// The keyword that is broken.
  public var keyword: String
  /// What is wrong, in words; at most a few hundred bytes.
  public var message: String

  /// The message stays as it is, also a long one.
  public init(pointer: JSONPointer, keyword: String, message: String) {
    self.pointer = pointer
    self.keyword = keyword
    self.message = message
  }
}

extension SchemaViolation: CustomStringConvertible {
  public var description: String {
    pointer.tokens.isEmpty ? message : "\(pointer): \(message)"
  }
}
