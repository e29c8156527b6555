/// What a pattern says, before it is compiled.
indirect enum PatternNode {
  case take(ScalarSet)
  case check(PatternAssertion)
  case sequence([PatternNode])
  case choice([PatternNode])
  case repetition(PatternNode, minimum: Int, maximum: Int?)
}

/// A statement about a place between two scalars.
enum PatternAssertion: Hashable, Sendable {
  case textStart
  case textEnd
  /// The end, or before a line feed that is the last scalar.
  case textEndOrLastNewline
  case lineStart
  case lineEnd
  case wordBoundary
  case noWordBoundary
}

/// A recursive-descent reader of patterns.
struct PatternParser {
  static let lengthLimit = 4096
  static let depthLimit = 100
  static let repetitionLimit = 1000

  private struct Flags {
    var ignoresCase = false
    var isMultiline = false
    var dotTakesNewline = false
    var isExtended = false
  }

  private let scalars: [Unicode.Scalar]
  private let dialect: Pattern.Dialect
  private var position = 0
  private var depth = 0
  private var flags = Flags()

  init(_ text: String, dialect: Pattern.Dialect) throws(PatternError) {
    // A scalar has at most four bytes, so this bounds the work before anything is copied.
    guard text.utf8.count <= 4 * Self.lengthLimit,
      text.unicodeScalars.count <= Self.lengthLimit
    else { throw PatternError(code: .tooLong(limit: Self.lengthLimit), offset: Self.lengthLimit) }
    scalars = Array(text.unicodeScalars)
    self.dialect = dialect
  }

  mutating func parse() throws(PatternError) -> PatternNode {
    let node = try parseChoice()
    guard position == scalars.count else { throw error(.unopenedGroup) }
    return node
  }

  private func error(_ code: PatternError.Code) -> PatternError {
    PatternError(code: code, offset: position)
  }

  private var current: Unicode.Scalar? {
    position < scalars.count ? scalars[position] : nil
  }

  private func peek(_ distance: Int) -> Unicode.Scalar? {
    position + distance < scalars.count ? scalars[position + distance] : nil
  }

  private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard current == scalar else { return false }
    position += 1
    return true
  }

  // MARK: Structure

  private mutating func parseChoice() throws(PatternError) -> PatternNode {
    var alternatives = [try parseSequence()]
    while skip("|") { alternatives.append(try parseSequence()) }
    return alternatives.count == 1 ? alternatives[0] : .choice(alternatives)
  }

  private mutating func parseSequence() throws(PatternError) -> PatternNode {
    var parts: [PatternNode] = []
    while true {
      skipExtendedSpace()
      guard let scalar = current, scalar != "|", scalar != ")" else { break }
      guard let atom = try parseAtom() else { continue }
      parts.append(try parseQuantifiers(of: atom))
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  /// Under `(?x)`, skips white space and comments.
  private mutating func skipExtendedSpace() {
    guard flags.isExtended else { return }
    while let scalar = current {
      if scalar == "#" {
        while let next = current, next != "\n" {
          _ = next
          position += 1
        }
      } else if scalar.properties.isWhitespace {
        position += 1
      } else {
        return
      }
    }
  }

  /// One place, group or assertion; `nil` where it only set flags or was a comment.
  private mutating func parseAtom() throws(PatternError) -> PatternNode? {
    guard let scalar = current else { return nil }
    switch scalar {
    case "(": return try parseGroup()
    case "[": return .take(try parseClass())
    case "\\": return try parseEscape()
    case ".":
      position += 1
      return .take(flags.dotTakesNewline ? .all : .allButNewline)
    case "^":
      position += 1
      return .check(flags.isMultiline ? .lineStart : .textStart)
    case "$":
      position += 1
      return .check(flags.isMultiline ? .lineEnd : .textEnd)
    case "*", "+", "?": throw error(.nothingToRepeat)
    case "{" where try readRepetition(consuming: false) != nil: throw error(.nothingToRepeat)
    default:
      position += 1
      return .take(ScalarSet(scalar, foldsCase: flags.ignoresCase))
    }
  }

  private mutating func parseGroup() throws(PatternError) -> PatternNode? {
    let start = position
    position += 1
    let outerFlags = flags
    if skip("?") {
      switch try parseGroupHead() {
      case .group: break
      case .flags, .comment: return nil
      }
    }
    depth += 1
    guard depth <= Self.depthLimit else { throw error(.tooDeep(limit: Self.depthLimit)) }
    let node = try parseChoice()
    guard skip(")") else { throw PatternError(code: .unclosedGroup, offset: start) }
    depth -= 1
    flags = outerFlags
    return node
  }

  private enum GroupHead { case group, flags, comment }

  /// Reads what stands behind `(?`.
  private mutating func parseGroupHead() throws(PatternError) -> GroupHead {
    switch (current, peek(1)) {
    case (":", _):
      position += 1
      return .group
    case ("#", _):
      while let scalar = current, scalar != ")" {
        _ = scalar
        position += 1
      }
      guard skip(")") else { throw error(.unclosedGroup) }
      return .comment
    case ("=", _), ("!", _), ("<", "="), ("<", "!"), (">", _): throw error(.lookAround)
    case ("P", "="): throw error(.backreference)
    case ("P", "<"):
      position += 2
      try skipGroupName()
      return .group
    case ("<", _):
      position += 1
      try skipGroupName()
      return .group
    default: return try parseFlags()
    }
  }

  private mutating func skipGroupName() throws(PatternError) {
    let start = position
    while let scalar = current, ScalarClass.isWord(scalar) {
      _ = scalar
      position += 1
    }
    guard position > start, skip(">") else { throw error(.unknownGroup) }
  }

  private mutating func parseFlags() throws(PatternError) -> GroupHead {
    var turnsOn = true
    while let scalar = current {
      switch scalar {
      case "i": flags.ignoresCase = turnsOn
      case "m": flags.isMultiline = turnsOn
      case "s": flags.dotTakesNewline = turnsOn
      case "x": flags.isExtended = turnsOn
      case "u" where turnsOn: break
      case "-" where turnsOn: turnsOn = false
      case ":":
        position += 1
        return .group
      case ")":
        position += 1
        return .flags
      default: throw error(.unknownGroup)
      }
      position += 1
    }
    throw error(.unclosedGroup)
  }

  // MARK: Quantifiers

  private mutating func parseQuantifiers(of atom: PatternNode) throws(PatternError) -> PatternNode {
    skipExtendedSpace()
    guard let (minimum, maximum) = try parseQuantifier() else { return atom }
    // Whether a match is found does not depend on the order of trying, so lazy means the same.
    _ = skip("?")
    let end = position
    if try parseQuantifier() != nil {
      throw PatternError(code: .repeatedQuantifier, offset: end)
    }
    return .repetition(atom, minimum: minimum, maximum: maximum)
  }

  private mutating func parseQuantifier() throws(PatternError) -> (Int, Int?)? {
    switch current {
    case "*":
      position += 1
      return (0, nil)
    case "+":
      position += 1
      return (1, nil)
    case "?":
      position += 1
      return (0, 1)
    case "{": return try readRepetition(consuming: true)
    default: return nil
    }
  }

  /// Reads `{n}`, `{n,}`, `{,m}` or `{n,m}`; `nil` where the brace is an ordinary character.
  private mutating func readRepetition(consuming: Bool) throws(PatternError) -> (Int, Int?)? {
    let start = position
    guard skip("{") else { return nil }
    let minimum = readDecimal()
    var maximum = minimum
    let hasComma = skip(",")
    if hasComma { maximum = readDecimal() }
    guard skip("}"), minimum != nil || (hasComma && maximum != nil) else {
      position = start
      return nil
    }
    if !consuming { position = start }
    let least = minimum ?? 0
    guard least <= Self.repetitionLimit, maximum ?? 0 <= Self.repetitionLimit,
      least <= maximum ?? least
    else { throw PatternError(code: .badRepetition, offset: start) }
    return (least, maximum)
  }

  /// Digits as a number that stops growing beyond every limit.
  private mutating func readDecimal() -> Int? {
    var value: Int?
    while let scalar = current, ("0"..."9").contains(scalar) {
      value = min((value ?? 0) * 10 + Int(scalar.value - 0x30), 1_000_000)
      position += 1
    }
    return value
  }

  // MARK: Escapes

  private enum Escape {
    case scalar(Unicode.Scalar)
    case scalarClass(ScalarClass)
    case assertion(PatternAssertion)
  }

  private mutating func parseEscape() throws(PatternError) -> PatternNode {
    switch try readEscape(inClass: false) {
    case .scalar(let scalar): return .take(ScalarSet(scalar, foldsCase: flags.ignoresCase))
    case .scalarClass(let scalarClass):
      var set = ScalarSet(scalarClass)
      if flags.ignoresCase { set.foldCase() }
      return .take(set)
    case .assertion(let assertion): return .check(assertion)
    }
  }

  private mutating func readEscape(inClass: Bool) throws(PatternError) -> Escape {
    let start = position
    position += 1
    guard let scalar = current else {
      throw PatternError(code: .trailingBackslash, offset: start)
    }
    position += 1
    switch scalar {
    case "n": return .scalar("\n")
    case "r": return .scalar("\r")
    case "t": return .scalar("\t")
    case "f": return .scalar("\u{c}")
    case "v": return .scalar("\u{b}")
    case "a": return .scalar("\u{7}")
    case "e": return .scalar("\u{1b}")
    case "x": return .scalar(try readHexadecimal(digits: 2, from: start))
    case "u": return .scalar(try readUnicode(from: start))
    case "d", "D": return .scalarClass(named(dialect.digit, unless: scalar == "D"))
    case "w", "W": return .scalarClass(named(dialect.word, unless: scalar == "W"))
    case "s", "S": return .scalarClass(named(dialect.space, unless: scalar == "S"))
    case "p", "P":
      return .scalarClass(named(.categories(try readProperty(from: start)), unless: scalar == "P"))
    case "b" where inClass: return .scalar("\u{8}")
    case "b" where !inClass: return .assertion(.wordBoundary)
    case "B" where !inClass: return .assertion(.noWordBoundary)
    case "A" where !inClass: return .assertion(.textStart)
    case "z" where !inClass: return .assertion(.textEnd)
    case "Z" where !inClass: return .assertion(.textEndOrLastNewline)
    case "0":
      if let next = current, ("0"..."9").contains(next) {
        throw PatternError(code: .badScalar, offset: start)
      }
      return .scalar("\0")
    case "1"..."9": throw PatternError(code: .backreference, offset: start)
    case "k", "g": throw PatternError(code: .backreference, offset: start)
    case "a"..."z", "A"..."Z":
      throw PatternError(code: .unknownEscape(Character(scalar)), offset: start)
    default: return .scalar(scalar)
    }
  }

  private func named(_ kind: ScalarClass.Kind, unless isNegated: Bool) -> ScalarClass {
    ScalarClass(kind: kind, isNegated: isNegated)
  }

  private mutating func readHexadecimal(
    digits: Int, from start: Int
  ) throws(PatternError) -> Unicode.Scalar {
    guard let scalar = Unicode.Scalar(try readHexadecimalValue(digits: digits, from: start)) else {
      throw PatternError(code: .badScalar, offset: start)
    }
    return scalar
  }

  /// Reads `{H…}` or exactly so many digits.
  private mutating func readHexadecimalValue(
    digits: Int, from start: Int
  ) throws(PatternError) -> UInt32 {
    let isBraced = skip("{")
    var (value, count) = (UInt32(0), 0)
    while let digit = current?.hexadecimalDigit, isBraced ? count < 8 : count < digits {
      value = value & 0x0fff_ffff
      value = value << 4 | digit
      count += 1
      position += 1
    }
    guard isBraced ? count > 0 && skip("}") : count == digits else {
      throw PatternError(code: .badScalar, offset: start)
    }
    return value
  }

  /// Reads what stands behind `\u`; two halves of a surrogate pair are one scalar.
  private mutating func readUnicode(from start: Int) throws(PatternError) -> Unicode.Scalar {
    let value = try readHexadecimalValue(digits: 4, from: start)
    if (0xd800...0xdbff).contains(value), current == "\\", peek(1) == "u" {
      position += 2
      let low = try readHexadecimalValue(digits: 4, from: start)
      if (0xdc00...0xdfff).contains(low),
        let scalar = Unicode.Scalar(0x10000 + (value - 0xd800) << 10 + (low - 0xdc00))
      {
        return scalar
      }
    }
    guard let scalar = Unicode.Scalar(value) else {
      throw PatternError(code: .badScalar, offset: start)
    }
    return scalar
  }

  private mutating func readProperty(
    from start: Int
  ) throws(PatternError) -> [Unicode.GeneralCategory] {
    var name = ""
    if skip("{") {
      while let scalar = current, scalar != "}", name.utf8.count < 64 {
        name.unicodeScalars.append(scalar)
        position += 1
      }
      guard skip("}") else { throw PatternError(code: .unknownProperty(name), offset: start) }
    } else if let scalar = current {
      name.unicodeScalars.append(scalar)
      position += 1
    }
    for prefix in ["gc=", "General_Category="] where name.hasPrefix(prefix) {
      name.removeFirst(prefix.count)
    }
    guard let categories = ScalarClass.categories(named: name) else {
      throw PatternError(code: .unknownProperty(name), offset: start)
    }
    return categories
  }

  // MARK: Classes

  private mutating func parseClass() throws(PatternError) -> ScalarSet {
    let start = position
    position += 1
    var set = ScalarSet()
    let isNegated = skip("^")
    var isFirst = true
    while true {
      guard let scalar = current else {
        throw PatternError(code: .unclosedClass, offset: start)
      }
      if scalar == "]", !isFirst { break }
      isFirst = false
      try parseClassMember(into: &set)
    }
    position += 1
    set.normalize()
    if flags.ignoresCase { set.foldCase() }
    set.isNegated = isNegated
    return set
  }

  private mutating func parseClassMember(into set: inout ScalarSet) throws(PatternError) {
    let memberStart = position
    guard let low = try readClassScalar(into: &set) else { return }
    guard current == "-", let next = peek(1), next != "]" else {
      set.insert(low.value...low.value)
      return
    }
    position += 1
    guard let high = try readClassScalar(into: &set) else {
      throw PatternError(code: .emptyRange, offset: memberStart)
    }
    guard low.value <= high.value else {
      throw PatternError(code: .emptyRange, offset: memberStart)
    }
    set.insert(low.value...high.value)
  }

  /// One scalar of a class; `nil` where a whole class was put in.
  private mutating func readClassScalar(
    into set: inout ScalarSet
  ) throws(PatternError) -> Unicode.Scalar? {
    guard let scalar = current else { throw error(.unclosedClass) }
    if scalar == "[", let next = peek(1), next == ":" || next == "." || next == "=" {
      // `[[:alpha:]]` would silently mean something else; `[[:]` alone is harmless.
      var end = position + 2
      while end + 1 < scalars.count, scalars[end] != "]" { end += 1 }
      if end < scalars.count, scalars[end] == "]", scalars[end - 1] == next, end > position + 2 {
        throw error(.posixClass)
      }
    }
    guard scalar == "\\" else {
      position += 1
      return scalar
    }
    switch try readEscape(inClass: true) {
    case .scalar(let scalar): return scalar
    case .scalarClass(let scalarClass):
      set.insert(scalarClass)
      return nil
    case .assertion: return nil
    }
  }
}

extension Unicode.Scalar {
  /// The value of a hexadecimal digit in either case; `nil` for any other scalar.
  fileprivate var hexadecimalDigit: UInt32? {
    switch self {
    case "0"..."9": value - 0x30
    case "a"..."f": value - 0x61 + 10
    case "A"..."F": value - 0x41 + 10
    default: nil
    }
  }
}
