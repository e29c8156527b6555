import AgentTrace

/// A name with wildcards, which matches a whole name, case and all.
///
/// `*` is any run of scalars, `?` one scalar, `[a-z]` one of a class (`[!a-z]` or `[^a-z]` one outside
/// it), `{a,b}` one of several, and a backslash makes the next scalar plain. Nothing is special about
/// dots or slashes.
public struct Glob: Hashable, Sendable {
  /// Shared by all copies, of which judging makes many.
  private final class Compiled: Sendable {
    let text: String
    let literal: String?
    /// What stands before a `*` that ends the glob, where that is its one wildcard: the most usual
    /// glob is matched without the pattern.
    let prefix: String?
    let pattern: Pattern?

    init(_ text: String, literal: String? = nil, prefix: String? = nil, pattern: Pattern? = nil) {
      self.text = text
      self.literal = literal
      self.prefix = prefix
      self.pattern = pattern
    }
  }

  private let compiled: Compiled

  /// The glob as it was written.
  public var text: String { compiled.text }

  /// The one name that the glob matches, where it has no wildcard.
  public var literal: String? { compiled.literal }

  /// The glob that matches this name and nothing else.
  public static func escaping(_ name: String) -> String {
    // By scalars, as globs are read: a star with an accent over it is a star and an accent.
    var text = String.UnicodeScalarView()
    for scalar in name.unicodeScalars {
      if "*?[]{}\\,".unicodeScalars.contains(scalar) { text.append("\\") }
      text.append(scalar)
    }
    return String(text)
  }

  /// Compiles a glob.
  ///
  /// - Throws: ``PatternError`` with its place; the limits are those of ``Pattern``.
  public init(_ text: String) throws(PatternError) {
    guard !Self.isLiteral(text) else {
      compiled = Compiled(text, literal: text)
      return
    }
    var parser = try GlobParser(text)
    if text.utf8.last == UInt8(ascii: "*"), let prefix = Self.plainPrefix(of: text) {
      compiled = Compiled(text, prefix: prefix)
    } else {
      compiled = Compiled(text, pattern: try Pattern(whole: parser.parse(), text: text))
    }
  }

  /// Two are equal where they were written alike, byte for byte.
  public static func == (left: Glob, right: Glob) -> Bool {
    left.compiled === right.compiled || left.text.hasSameUTF8(as: right.text)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(text) }

  private static func plainPrefix(of text: String) -> String? {
    let prefix = String(text.unicodeScalars.dropLast())
    return isLiteral(prefix) ? prefix : nil
  }

  /// Whether a text has no character that a glob gives a meaning.
  public static func isLiteral(_ text: String) -> Bool {
    !text.utf8.contains { byte in
      switch byte {
      case UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "["), UInt8(ascii: "{"),
        UInt8(ascii: "\\"):
        true
      default: false
      }
    }
  }

  /// Whether the glob matches the whole of a name; `false` also where that would take more than
  /// ``Pattern``'s budget of work, which no name of less than a megabyte can use up.
  public func matches(_ name: String) -> Bool {
    if let literal = compiled.literal { return literal.hasSameUTF8(as: name) }
    if let prefix = compiled.prefix { return name.utf8.starts(with: prefix.utf8) }
    return compiled.pattern?.isFound(in: name) ?? false
  }
}

/// Reads a glob into the same form that a pattern has.
private struct GlobParser {
  private let scalars: [Unicode.Scalar]
  private var position = 0
  private var depth = 0

  init(_ text: String) throws(PatternError) {
    let limit = PatternParser.lengthLimit
    guard text.utf8.count <= limit else {
      throw PatternError(code: .tooLong(limit: limit), offset: limit)
    }
    scalars = Array(text.unicodeScalars)
  }

  mutating func parse() throws(PatternError) -> PatternNode { try parseSequence() }

  private mutating func parseSequence() throws(PatternError) -> PatternNode {
    var parts: [PatternNode] = []
    while position < scalars.count {
      let scalar = scalars[position]
      switch scalar {
      case "," where depth > 0, "}" where depth > 0: return .sequence(parts)
      case "*":
        position += 1
        parts.append(.repetition(.take(.all), minimum: 0, maximum: nil))
      case "?":
        position += 1
        parts.append(.take(.all))
      case "[": parts.append(.take(try parseClass()))
      case "{": parts.append(try parseChoice())
      default: parts.append(.take(ScalarSet(try readScalar())))
      }
    }
    return .sequence(parts)
  }

  private mutating func readScalar() throws(PatternError) -> Unicode.Scalar {
    if scalars[position] == "\\" {
      guard position + 1 < scalars.count else {
        throw PatternError(code: .trailingBackslash, offset: position)
      }
      position += 1
    }
    position += 1
    return scalars[position - 1]
  }

  private mutating func parseChoice() throws(PatternError) -> PatternNode {
    let start = position
    depth += 1
    guard depth <= PatternParser.depthLimit else {
      throw PatternError(code: .tooDeep(limit: PatternParser.depthLimit), offset: start)
    }
    var alternatives: [PatternNode] = []
    repeat {
      position += 1
      alternatives.append(try parseSequence())
      guard position < scalars.count else {
        throw PatternError(code: .unclosedChoice, offset: start)
      }
    } while scalars[position] == ","
    position += 1
    depth -= 1
    return .choice(alternatives)
  }

  private mutating func parseClass() throws(PatternError) -> ScalarSet {
    let start = position
    position += 1
    var set = ScalarSet()
    let isNegated =
      position < scalars.count && (scalars[position] == "!" || scalars[position] == "^")
    if isNegated { position += 1 }
    var isFirst = true
    while position < scalars.count, isFirst || scalars[position] != "]" {
      isFirst = false
      let low = try readScalar()
      guard position + 1 < scalars.count, scalars[position] == "-", scalars[position + 1] != "]"
      else {
        set.insert(low.value...low.value)
        continue
      }
      position += 1
      let high = try readScalar()
      guard low.value <= high.value else { throw PatternError(code: .emptyRange, offset: start) }
      set.insert(low.value...high.value)
    }
    guard position < scalars.count else { throw PatternError(code: .unclosedClass, offset: start) }
    position += 1
    set.normalize()
    set.isNegated = isNegated
    return set
  }
}
