import AgentTrace

/// The scalars that one place of a pattern takes.
struct ScalarSet: Hashable, Sendable {
  /// Sorted and apart from each other once ``normalize()`` has run.
  private(set) var ranges: [ClosedRange<UInt32>] = []
  private(set) var classes: [ScalarClass] = []
  private(set) var foldsCase = false
  var isNegated = false

  init() {}

  /// The set of one scalar.
  init(_ scalar: Unicode.Scalar, foldsCase: Bool = false) {
    insert(scalar.value...scalar.value)
    if foldsCase { foldCase() }
  }

  /// The set of one class.
  init(_ scalarClass: ScalarClass) { classes = [scalarClass] }

  /// Every scalar.
  static let all = {
    var set = ScalarSet()
    set.isNegated = true
    return set
  }()

  /// Every scalar but the line feed.
  static let allButNewline = {
    var set = ScalarSet("\n")
    set.isNegated = true
    return set
  }()

  mutating func insert(_ range: ClosedRange<UInt32>) { ranges.append(range) }

  mutating func insert(_ scalarClass: ScalarClass) {
    if !classes.contains(scalarClass) { classes.append(scalarClass) }
  }

  /// Makes the set take every spelling of what it takes.
  mutating func foldCase() {
    foldsCase = true
    normalize()
    let count = ranges.reduce(0) { $0 + $1.count }
    if count <= 128 {
      for range in ranges {
        for value in range {
          if let scalar = Unicode.Scalar(value) {
            let folded = CaseFolding.fold(scalar).value
            insert(folded...folded)
          }
        }
      }
    } else {
      for (from, to) in CaseFolding.foldings where holds(from) { ranges.append(to...to) }
    }
    normalize()
  }

  /// Sorts and joins the ranges; to be called after the last ``insert(_:)``.
  mutating func normalize() {
    guard ranges.count > 1 else { return }
    ranges.sort { $0.lowerBound < $1.lowerBound }
    var joined = [ranges[0]]
    for range in ranges.dropFirst() {
      let last = joined[joined.count - 1]
      if range.lowerBound <= last.upperBound + 1 {
        joined[joined.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    ranges = joined
  }

  /// Whether the set takes a scalar. Cost: O(log ranges + classes).
  func contains(_ scalar: Unicode.Scalar) -> Bool {
    var isIn = holds(scalar)
    if !isIn, foldsCase {
      let folded = CaseFolding.fold(scalar)
      isIn = holds(folded) || (!classes.isEmpty && holds(CaseFolding.upper(folded)))
    }
    return isIn != isNegated
  }

  private func holds(_ scalar: Unicode.Scalar) -> Bool {
    holds(scalar.value) || classes.contains { $0.contains(scalar) }
  }

  private func holds(_ value: UInt32) -> Bool {
    let place = ranges.partitionPoint { $0.upperBound < value }
    return place < ranges.count && ranges[place].lowerBound <= value
  }
}

/// A class of scalars that a backslash names.
struct ScalarClass: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case digit
    case asciiDigit
    case word
    case asciiWord
    case space
    case ecmaSpace
    case categories([Unicode.GeneralCategory])
  }

  var kind: Kind
  var isNegated = false

  func contains(_ scalar: Unicode.Scalar) -> Bool {
    isInKind(scalar) != isNegated
  }

  private func isInKind(_ scalar: Unicode.Scalar) -> Bool {
    switch kind {
    case .asciiDigit: ("0"..."9").contains(scalar)
    case .digit:
      scalar.isASCII
        ? ("0"..."9").contains(scalar) : scalar.properties.generalCategory == .decimalNumber
    case .asciiWord: Self.isASCIIWord(scalar)
    case .word: Self.isWord(scalar)
    case .space: scalar.properties.isWhitespace || (0x1c...0x1f).contains(scalar.value)
    case .ecmaSpace:
      (scalar.properties.isWhitespace && scalar.value != 0x85) || scalar.value == 0xfeff
    case .categories(let categories): categories.contains(scalar.properties.generalCategory)
    }
  }

  static func isASCIIWord(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_": true
    default: false
    }
  }

  /// Letters, marks, numbers and what connects words.
  static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return isASCIIWord(scalar) }
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber,
      .connectorPunctuation:
      return true
    default: return false
    }
  }

  /// The general categories that a name in `\p{…}` stands for; `nil` for an unknown name.
  static func categories(named name: String) -> [Unicode.GeneralCategory]? {
    let plain = String(
      name.unicodeScalars.filter { $0 != "_" && $0 != " " && $0 != "-" }.map {
        Character(CaseFolding.fold($0))
      })
    return categoryNames[plain]
  }

  private static let categoryNames: [String: [Unicode.GeneralCategory]] = {
    let single: [(String, String, Unicode.GeneralCategory)] = [
      ("lu", "uppercaseletter", .uppercaseLetter), ("ll", "lowercaseletter", .lowercaseLetter),
      ("lt", "titlecaseletter", .titlecaseLetter), ("lm", "modifierletter", .modifierLetter),
      ("lo", "otherletter", .otherLetter), ("mn", "nonspacingmark", .nonspacingMark),
      ("mc", "spacingmark", .spacingMark), ("me", "enclosingmark", .enclosingMark),
      ("nd", "decimalnumber", .decimalNumber), ("nl", "letternumber", .letterNumber),
      ("no", "othernumber", .otherNumber), ("pc", "connectorpunctuation", .connectorPunctuation),
      ("pd", "dashpunctuation", .dashPunctuation), ("ps", "openpunctuation", .openPunctuation),
      ("pe", "closepunctuation", .closePunctuation),
      ("pi", "initialpunctuation", .initialPunctuation),
      ("pf", "finalpunctuation", .finalPunctuation), ("po", "otherpunctuation", .otherPunctuation),
      ("sm", "mathsymbol", .mathSymbol), ("sc", "currencysymbol", .currencySymbol),
      ("sk", "modifiersymbol", .modifierSymbol), ("so", "othersymbol", .otherSymbol),
      ("zs", "spaceseparator", .spaceSeparator), ("zl", "lineseparator", .lineSeparator),
      ("zp", "paragraphseparator", .paragraphSeparator), ("cc", "control", .control),
      ("cf", "format", .format), ("cs", "surrogate", .surrogate), ("co", "privateuse", .privateUse),
      ("cn", "unassigned", .unassigned),
    ]
    let groups = [
      ("l", "letter"), ("m", "mark"), ("n", "number"), ("p", "punctuation"), ("s", "symbol"),
      ("z", "separator"), ("c", "other"),
    ]
    var names: [String: [Unicode.GeneralCategory]] = [:]
    for (short, long, category) in single {
      names[short] = [category]
      names[long] = [category]
    }
    for (short, long) in groups {
      let members = single.filter { $0.0.hasPrefix(short) }.map(\.2)
      names[short] = members
      names[long] = members
    }
    names["any"] = single.map(\.2)
    return names
  }()
}
