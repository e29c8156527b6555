/// A regular expression that answers in bounded time on any text.
///
/// It is searched for anywhere in a text, over Unicode scalars, nothing normalised. Knows
/// alternatives, groups, `* + ? {n} {n,} {n,m}` and their lazy forms, classes, `. ^ $`, the flags
/// `(?i)` `(?m)` `(?s)` `(?x)`, and these escapes: `\A \z \Z \b \B`, `\d \w \s` and their opposites,
/// `\p{…}` for general categories, `\n \r \t \f \v \a \e \0`, `\xHH \x{H…} \uHHHH \u{H…}`. A backslash
/// before anything that is no ASCII letter or digit is that character. Backreferences and look-around
/// are errors, because with them time could not be bounded. All of it is in Docs/matchers.md.
///
/// Why: Docs/decisions/0019-patterns-in-bounded-time.md
public struct Pattern: Sendable {
  /// What the named classes hold.
  public enum Dialect: Sendable {
    /// `\d`, `\w` and `\s` as Unicode has them.
    case unicode
    /// `\d` and `\w` ASCII only and `\s` as ECMA-262 has it, for JSON Schema's `pattern`.
    case ecmaScript

    var digit: ScalarClass.Kind { self == .unicode ? .digit : .asciiDigit }
    var word: ScalarClass.Kind { self == .unicode ? .word : .asciiWord }
    var space: ScalarClass.Kind { self == .unicode ? .space : .ecmaSpace }
  }

  /// The pattern as it was written.
  public let text: String
  private let dialect: Dialect
  private let program: PatternProgram

  /// Compiles a pattern.
  ///
  /// - Throws: ``PatternError`` with its place. Also for more than 4,096 scalars, 100 nested groups, a
  ///   repetition above 1,000, or more than 10,000 places once repetitions are unfolded.
  public init(_ text: String, dialect: Dialect = .unicode) throws(PatternError) {
    var parser = try PatternParser(text, dialect: dialect)
    self.text = text
    self.dialect = dialect
    program = try PatternProgram(parser.parse())
  }

  /// Takes a pattern that was made by other means, to match a whole text.
  init(whole node: PatternNode, text: String) throws(PatternError) {
    self.text = text
    dialect = .unicode
    program = try PatternProgram(.sequence([.check(.textStart), node, .check(.textEnd)]))
  }

  /// Whether the pattern is found anywhere in a text; `nil` where finding out would take more than a
  /// fixed budget of work (two hundred million places visited).
  ///
  /// - Complexity: O(*n*) for most patterns, at most O(*n* · places).
  public func isFound(in text: String) -> Bool? {
    var text = text
    return text.withUTF8 { bytes in
      var search = PatternSearch(program)
      return search.run(bytes)
    }
  }
}

extension Pattern {
  /// Where the pattern is found in a text, as places in its UTF-8: from left to right, each the longest
  /// of those that begin there, none of them empty; `nil` where finding out would take more than the
  /// budget of ``isFound(in:)``.
  ///
  /// - Complexity: as ``isFound(in:)`` for a text without it, else O(*n* · places) for most patterns.
  public func ranges(in text: String) -> [Range<Int>]? {
    guard let isFound = isFound(in: text) else { return nil }
    guard isFound else { return [] }
    var text = text
    return text.withUTF8 { bytes in
      var search = PatternSearch(program)
      return search.ranges(in: bytes)
    }
  }
}

extension Pattern: Hashable {
  public static func == (left: Pattern, right: Pattern) -> Bool {
    left.dialect == right.dialect && left.text.utf8.elementsEqual(right.text.utf8)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
