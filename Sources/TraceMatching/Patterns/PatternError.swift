/// Why a text is not a pattern, or not a glob.
public struct PatternError: Error, Hashable, Sendable {
  /// What is wrong; open, so that cases can be added.
  public enum Code: Hashable, Sendable {
    case unclosedGroup
    case unopenedGroup
    case unclosedClass
    case unclosedChoice
    case emptyRange
    case nothingToRepeat
    case repeatedQuantifier
    case badRepetition
    case unknownEscape(Character)
    case badScalar
    case unknownProperty(String)
    case unknownGroup
    case backreference
    case lookAround
    case posixClass
    case trailingBackslash
    case tooLong(limit: Int)
    case tooDeep(limit: Int)
    case tooLarge(limit: Int)
  }

  /// What is wrong.
  public var code: Code
  /// Scalars from the start of the pattern to the fault.
  public var offset: Int

  /// The offset counts Unicode scalars from 0.
  public init(code: Code, offset: Int) {
    self.code = code
    self.offset = offset
  }
}

extension PatternError: CustomStringConvertible {
  public var description: String { "\(code.phrase), at character \(offset + 1) of the pattern" }
}

extension PatternError.Code {
  /// The fault in words, without its place.
  public var phrase: String {
    switch self {
    case .unclosedGroup: "a group that no “)” closes"
    case .unopenedGroup: "a “)” that no “(” opens; write “\\)” for the character"
    case .unclosedClass: "a class that no “]” closes; write “\\[” for the character"
    case .unclosedChoice: "a list that no “}” closes; write “\\{” for the character"
    case .emptyRange: "a range whose end stands before its start"
    case .nothingToRepeat: "a quantifier with nothing before it; write a backslash before it"
    case .repeatedQuantifier:
      "a quantifier behind a quantifier; possessive ones are not supported, groups are"
    case .badRepetition: "a repetition that is not {n}, {n,} or {n,m} with n ≤ m ≤ 1000"
    case .unknownEscape(let letter): "the escape “\\\(letter)”, which has no meaning here"
    case .badScalar: "an escape that is no Unicode scalar; write \\xHH, \\x{H…}, \\uHHHH or \\u{H…}"
    case .unknownProperty(let name):
      "the property “\(name)”; only general categories such as \\p{L} or \\p{Lu} are known"
    case .unknownGroup:
      "a group that begins with an unknown “(?”; known are (?:…), (?P<name>…), (?i), (?m), (?s), (?x)"
    case .backreference:
      "a backreference; they are not supported, because time could not be bounded"
    case .lookAround: "look-around; it is not supported, because time could not be bounded"
    case .posixClass: "a POSIX class; write \\w, \\d, \\s or \\p{…}"
    case .trailingBackslash: "a backslash at the end"
    case .tooLong(let limit): "a pattern of more than \(limit) characters"
    case .tooDeep(let limit): "groups nested more than \(limit) deep"
    case .tooLarge(let limit): "a pattern that unfolds to more than \(limit) places"
    }
  }
}
