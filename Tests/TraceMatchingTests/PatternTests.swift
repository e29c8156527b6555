import TestSupport
import Testing
import TraceMatching

@Suite("Patterns")
struct PatternTests {
  @Test(
    "a pattern is found anywhere in a text",
    arguments: [
      ("", ""), ("", "abc"), ("b", "abc"), ("^abc$", "abc"), ("a.c", "xxabcxx"), ("a|b", "xb"),
      ("a|", "zzz"), ("(ab)+c", "ababc"), ("(?:ab)*c", "c"), ("a{2}", "xaa"), ("a{2,}", "aaaa"),
      ("^a{1,3}$", "aaa"), ("^a{,2}$", "aa"), ("a{,2}b", "b"), ("a*?b", "aab"), ("a+?", "a"),
      ("a??b", "b"), ("a{1,2}?c", "aac"), ("[abc]+", "b"), ("[^abc]", "d"), ("[a-c]x", "bx"),
      ("[]a]", "]"), ("[^]a]", "b"), ("[a-]", "-"), ("[-a]", "-"), ("[\\]]", "]"),
      ("[\\-x]", "-"), ("[a\\-z]", "-"), ("[\\d_]+$", "1_2"), ("[\\W]", " "), ("\\d+", "abc42"),
      ("\\D", "a"), ("\\w\\W\\s\\S", "a-\tb"), ("\\bfoo\\b", "a foo b"), ("\\Boo", "foo"),
      ("\\Aab", "ab"), ("ab\\z", "ab"), ("ab\\Z", "ab\n"), ("ab\\Z", "ab"), ("(?m)^b$", "a\nb\nc"),
      ("(?m)a$", "a\nb"), ("(?s)a.b", "a\nb"), ("(?s:a.b)", "a\nb"), ("(?i)HeLLo", "say hEllO"),
      ("a(?i:B)c", "abc"), ("a(?i)b|C", "xc"), ("(?i)[a-c]+$", "ABC"), ("(?i)[^a]", "b"),
      ("(?i)straße", "STRAßE"), ("(?i)ΣΑΣ", "σας"), ("(?i)kelvin", "\u{212a}elvin"),
      ("(?i)\u{212a}", "k"), ("(?i)[\u{212a}]", "k"), ("(?i)\u{17f}et", "Set"), ("(?i)é", "É"),
      ("(?i)[à-ö]", "É"), ("(?i)\\p{Lu}", "a"), ("(?x) a b # note\n c", "abc"), ("(?P<n>a)b", "ab"),
      ("(?<n>a)b", "ab"), ("(?#note)a", "a"), ("(?i-s:A)", "a"), ("(?-i)A", "A"), ("\\.", "."),
      ("\\@\\!\\-\\ \\«\\’\\—", "@!- «’—"), ("[\\«\\\"]", "«"), ("\\x41\\x{1F600}", "A😀"),
      ("\\u00e9\\u{1F600}\\uD83D\\uDE00", "é😀😀"), ("\\n\\r\\t\\f\\v\\0", "\n\r\t\u{c}\u{b}\0"),
      ("^.$", "😀"), ("^.{2}$", "e\u{301}"), ("\\p{L}+", "жук"), ("\\pL", "a"), ("\\P{L}", "1"),
      ("\\p{Lu}", "Ж"), ("\\p{Letter}", "a"), ("\\p{gc=Nd}", "٣"), ("\\d", "٣"), ("\\w", "é"),
      ("{\"a\":1}", "x{\"a\":1}"), ("a{", "a{"), ("a{x}", "a{x}"), ("a{1", "a{1"), ("a]", "a]"),
      ("a}", "a}"), ("(a*)*b", "aab"), ("(a*)+$", "b"), ("()*x", "x"), ("(|a)+b", "aab"),
      ("(a|b)*a(a|b){6}$", "babaabbbbb"), ("^(?:a?){20}a{20}$", "aaaaaaaaaaaaaaaaaaaa"),
      ("[[:]", ":"), ("\\bé", "xx é"), ("$", ""), ("^$", ""), ("\\é", "é"), ("\\_", "_"),
      ("a\\b", "a"), ("(?m)^", ""), ("\\Z", "\n"), ("[\\b]", "\u{8}"), ("a\\x{301}", "a\u{301}"),
    ])
  func found(pattern: String, text: String) throws {
    #expect(try Pattern(pattern).isFound(in: text) == true)
  }

  @Test(
    "a pattern is not found where it does not stand",
    arguments: [
      ("a", ""), ("abc", "ab"), ("^b", "ab"), ("a$", "ab"), ("a$", "a\n"), ("a.b", "a\nb"),
      ("^a{2}$", "aaa"), ("^a{2,3}$", "aaaa"), ("[^a]", "a"), ("[^a-z]", "q"), ("\\d", "x"),
      ("\\bfoo\\b", "food"), ("\\Bfoo", "foo"), ("ab\\z", "ab\n"), ("ab\\Z", "ab\n\n"),
      ("^b", "a\nb"), ("(?m)^b$", "ab\nbb"), ("abc", "ABC"), ("a(?i:b)c", "aBC"),
      ("(?i)[^a]", "A"), ("(?i)ss", "ß"), ("(?i)i", "ı"), ("é", "e\u{301}"), ("\\p{Lu}", "a"),
      ("^a|b$", "xax"), ("(?x)a b", "a b"), ("(?i:a)B", "ab"), ("^\\w$", "-"), ("\\S", " \t\n"),
      ("\\\\", "/"), ("^[a\\-z]$", "b"), ("(?i)(?-i)a", "A"), (".", "\n"), ("a{0}b$", "a"),
    ])
  func notFound(pattern: String, text: String) throws {
    #expect(try Pattern(pattern).isFound(in: text) == false)
  }

  @Test(
    "a bad pattern is an error that says where it is bad",
    arguments: [
      ("(a", .unclosedGroup, 0), ("a)", .unopenedGroup, 1), ("[a", .unclosedClass, 0),
      ("[]", .unclosedClass, 0), ("[z-a]", .emptyRange, 1), ("[a-\\d]", .emptyRange, 1),
      ("*a", .nothingToRepeat, 0), ("a|+", .nothingToRepeat, 2), ("{2}", .nothingToRepeat, 0),
      ("(?i)*", .nothingToRepeat, 4), ("a**", .repeatedQuantifier, 2),
      ("a++", .repeatedQuantifier, 2), ("a{2}{3}", .repeatedQuantifier, 4),
      ("a{3,2}", .badRepetition, 1), ("a{1001}", .badRepetition, 1),
      ("a{99999999999999999999}", .badRepetition, 1), ("\\y", .unknownEscape("y"), 0),
      ("a\\Q", .unknownEscape("Q"), 1), ("[\\A]", .unknownEscape("A"), 1), ("\\xZZ", .badScalar, 0),
      ("\\x{110000}", .badScalar, 0), ("\\uD800", .badScalar, 0), ("\\u{}", .badScalar, 0),
      ("\\x{FFFFFFFFFF}", .badScalar, 0), ("\\012", .badScalar, 0),
      ("\\p{Greek}", .unknownProperty("Greek"), 0), ("\\p", .unknownProperty(""), 0),
      ("(a)\\1", .backreference, 3), ("(?P=a)", .backreference, 2), ("\\k<a>", .backreference, 0),
      ("(?=a)", .lookAround, 2), ("x(?!a)", .lookAround, 3), ("(?<=a)b", .lookAround, 2),
      ("(?<!a)b", .lookAround, 2), ("(?>a)", .lookAround, 2), ("(?q)", .unknownGroup, 2),
      ("(?P>a)", .unknownGroup, 2), ("(?", .unclosedGroup, 2), ("[[:alpha:]]", .posixClass, 1),
      ("\\", .trailingBackslash, 0), ("a\\", .trailingBackslash, 1),
    ] as [(String, PatternError.Code, Int)])
  func bad(pattern: String, code: PatternError.Code, offset: Int) {
    #expect(throws: PatternError(code: code, offset: offset)) { try Pattern(pattern) }
    #expect(!code.phrase.isEmpty)
  }

  @Test(
    "a pattern that is too long, too deep or unfolds too far is an error",
    arguments: [
      String(repeating: "a", count: 4097), String(repeating: "é", count: 16_385),
      String(repeating: "(", count: 101) + String(repeating: ")", count: 101),
      "((a{1000}){1000}){1000}", "((((){1000}){1000}){1000}){1000}", "(a{100}){101}",
      "(((a?){100}){100}){100}", String(repeating: "(", count: 4096),
    ])
  func tooMuch(pattern: String) {
    let elapsed = ContinuousClock().measure {
      #expect(throws: PatternError.self) { try Pattern(pattern) }
    }
    #expect(elapsed < .seconds(5))
  }

  @Test(
    "a pattern that ruins a backtracking engine answers on a long text",
    arguments: [
      ("(a+)+$", "!"), ("(a|aa)+$", "!"), ("(.*a){20}$", "!"),
      ("^(([a-z])+.)+[A-Z]([a-z])+$", ""), ("(x+x+)+y", "a"), ("(?i)(a*)*b", "!"),
      ("(.*)(.*)(.*)(.*)(.*)[^a]{2}$", "!"), ("(?m)^(\\s|a)+$b", "!"), ("a{500}b{500}", "!"),
      ("\\b(a|aa|aaa)*\\b!!", "!"),
    ])
  func pathological(pattern: String, end: String) throws {
    let text = String(repeating: "a", count: 200_000) + end
    let compiled = try Pattern(pattern)
    let elapsed = ContinuousClock().measure {
      #expect(compiled.isFound(in: text) == false)
    }
    #expect(elapsed < .seconds(30), "even unoptimised and on a busy machine")
  }

  @Test("a pattern with exponentially many states answers, or says that it will not")
  func manyStates() throws {
    var generator = Seeded(seed: 7)
    let text = String((0..<3_000).map { _ in generator.next() % 2 == 0 ? "a" : "b" })
    let elapsed = ContinuousClock().measure {
      for pattern in ["(a|b)*a(a|b){30}c", "a.{100}c", "(?:a.{20}|b.{30}){3}c"] {
        #expect(throws: Never.self) {
          let answer = try Pattern(pattern).isFound(in: text)
          #expect(answer != true)
        }
      }
    }
    #expect(elapsed < .seconds(120))
  }

  @Test("beyond the states that are remembered the answer is still right", arguments: ["a", "b"])
  func withoutTable(letter: String) throws {
    var generator = Seeded(seed: 11)
    let random = String((0..<60_000).map { _ in generator.next() % 2 == 0 ? "a" : "b" })
    // Which of the last letters were “a” takes 2^13 states to know.
    let text = random + letter + "bbbbbbbbbbbbb" + "c"
    #expect(try Pattern("a[ab]{13}c").isFound(in: text) == (letter == "a"))
    #expect(try Pattern("a[ab]{13}c\\b\\Z").isFound(in: text + "\n") == (letter == "a"))
  }

  @Test("a text with more kinds of scalars than are remembered is searched correctly")
  func manyKinds() throws {
    let scalars = (0x4e00..<0x6000).compactMap { Unicode.Scalar($0) }
    let text = String(String.UnicodeScalarView(scalars))
    // Eight overlapping classes, so that each stretch of the text is a kind of its own.
    let classes = (0..<8).map { bit in
      "["
        + (0..<0x1200 >> bit).filter { $0 % 2 == 1 }.prefix(150).map {
          let start = 0x4e00 + $0 << bit
          return "\\x{\(String(start, radix: 16))}-\\x{\(String(start + 1 << bit - 1, radix: 16))}"
        }.joined() + "]"
    }
    for (index, characters) in classes.enumerated() where index > 2 {
      let pattern = try Pattern("\(characters)!|\\x{5ffe}\\x{5fff}\\z")
      #expect(pattern.isFound(in: text) == true)
      #expect(pattern.isFound(in: text + "?") == false)
    }
    #expect(try Pattern("\\x{5fff}\\x{5ffe}").isFound(in: text) == false)
  }

  @Test("a backslash before every scalar that is no letter or digit is that scalar")
  func escapesEverything() throws {
    for value in Array(0..<0x3000) + Array(0x1f300..<0x1f400) {
      guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
      let isWord = scalar.properties.isAlphabetic || scalar.properties.numericType != nil
      if isWord || scalar == " " { continue }
      let text = String(Character(scalar))
      let escaped = try Pattern("(?i)x\\" + text + "[\\" + text + "]")
      #expect(escaped.isFound(in: "X" + text + text) == true, "U+\(String(value, radix: 16))")
      #expect(escaped.isFound(in: "X" + text + "x") == false, "U+\(String(value, radix: 16))")
    }
  }

  @Test("the classes of JSON Schema's patterns are those of ECMA-262")
  func ecmaScriptClasses() throws {
    #expect(try Pattern("^\\d$", dialect: .ecmaScript).isFound(in: "٣") == false)
    #expect(try Pattern("^\\w$", dialect: .ecmaScript).isFound(in: "é") == false)
    #expect(try Pattern("^\\s$", dialect: .ecmaScript).isFound(in: "\u{feff}") == true)
    #expect(try Pattern("^\\s$", dialect: .ecmaScript).isFound(in: "\u{2028}") == true)
  }

  @Test("patterns agree with a plain backtracking oracle", arguments: 0..<400)
  func oracle(seed: Int) throws {
    var generator = Seeded(seed: UInt64(seed))
    let node = PlainPattern.random(depth: 3, using: &generator)
    let compiled = try Pattern(node.text)
    for _ in 0..<25 {
      let length = Int(generator.next() % 7)
      let text = (0..<length).map { _ in ["a", "b", "\n"][Int(generator.next() % 3)] }
      let expected = (0...length).contains { start in
        !node.ends(in: text, from: start).isEmpty
      }
      #expect(
        compiled.isFound(in: text.joined()) == expected, "/\(node.text)/ in \(text)")
    }
  }
}

/// A pattern as a tree, matched by trying everything.
indirect enum PlainPattern {
  case letter(String)
  case any
  case noA
  case start
  case end
  case boundary
  case both(PlainPattern, PlainPattern)
  case either(PlainPattern, PlainPattern)
  case repeated(PlainPattern, Int, Int?)

  var text: String {
    switch self {
    case .letter(let letter): letter
    case .any: "."
    case .noA: "[^a]"
    case .start: "^"
    case .end: "$"
    case .boundary: "\\b"
    case .both(let first, let second): first.text + second.text
    case .either(let first, let second): "(\(first.text)|\(second.text))"
    case .repeated(let body, let minimum, let maximum):
      "(?:\(body.text)){\(minimum),\(maximum.map(String.init) ?? "")}"
    }
  }

  /// Every place at which a match that begins at `start` can end.
  func ends(in text: [String], from start: Int) -> Set<Int> {
    switch self {
    case .letter(let letter): start < text.count && text[start] == letter ? [start + 1] : []
    case .any: start < text.count && text[start] != "\n" ? [start + 1] : []
    case .noA: start < text.count && text[start] != "a" ? [start + 1] : []
    case .start: start == 0 ? [start] : []
    case .end: start == text.count ? [start] : []
    case .boundary:
      (start > 0 && text[start - 1] != "\n") != (start < text.count && text[start] != "\n")
        ? [start] : []
    case .both(let first, let second):
      Set(first.ends(in: text, from: start).flatMap { second.ends(in: text, from: $0) })
    case .either(let first, let second):
      first.ends(in: text, from: start).union(second.ends(in: text, from: start))
    case .repeated(let body, let minimum, let maximum):
      Self.ends(of: body, minimum, maximum ?? minimum + text.count + 1, in: text, from: start)
    }
  }

  private static func ends(
    of body: PlainPattern, _ minimum: Int, _ maximum: Int, in text: [String], from start: Int
  ) -> Set<Int> {
    var current: Set<Int> = [start]
    var all: Set<Int> = minimum == 0 ? current : []
    for turn in 0..<max(0, maximum) {
      current = Set(current.flatMap { body.ends(in: text, from: $0) })
      if turn + 1 >= minimum { all.formUnion(current) }
    }
    return all
  }

  static func random(depth: Int, using generator: inout Seeded) -> PlainPattern {
    if depth == 0 {
      switch generator.next() % 7 {
      case 0: return .any
      case 1: return .noA
      case 2: return .start
      case 3: return .end
      case 4: return .boundary
      case 5: return .letter("b")
      default: return .letter("a")
      }
    }
    switch generator.next() % 3 {
    case 0:
      let minimum = Int(generator.next() % 3)
      let maximum = generator.next() % 2 == 0 ? nil : minimum + Int(generator.next() % 3)
      return .repeated(random(depth: depth - 1, using: &generator), minimum, maximum)
    case 1:
      return .either(
        random(depth: depth - 1, using: &generator), random(depth: depth - 1, using: &generator))
    default:
      return .both(
        random(depth: depth - 1, using: &generator), random(depth: depth - 1, using: &generator))
    }
  }
}
