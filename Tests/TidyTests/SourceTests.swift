import TestSupport
import Testing

@Suite("How the sources are written")
struct SourceTests {
  /// What a line must not hold, and why.
  struct Rule: Sendable, CustomTestStringConvertible {
    var name: String
    /// A regular expression over code without comments and the text of strings.
    var pattern: String
    /// A line without any of these words cannot match: most lines need no regular expression.
    var words: [String]
    /// Folders of `Sources` where it is allowed.
    var exempt: [String] = []

    var testDescription: String { name }

    /// The numbers of the lines that break the rule.
    func broken(in source: SwiftText) throws -> [Int] {
      let regex = try Regex(pattern)
      return source.lines.enumerated().filter { _, line in
        words.contains { line.contains($0) } && !line.matches(of: regex).isEmpty
      }.map { $0.offset + 1 }
    }
  }

  static let rules: [Rule] = [
    Rule(name: "try!", pattern: #"\btry!"#, words: ["try!"]),
    Rule(name: "as!", pattern: #"\bas!"#, words: ["as!"]),
    Rule(
      name: "fatalError", pattern: #"\b(fatalError|preconditionFailure|assertionFailure)\b"#,
      words: ["fatalError", "Failure"]),
    Rule(name: "a force unwrap", pattern: #"[\w)\]}>"`]!(?!=)"#, words: ["!"]),
    Rule(
      name: "printing", pattern: #"\b(print|debugPrint|dump|puts|fputs|putchar|printf|fprintf)\("#,
      words: ["rint", "dump(", "put"], exempt: ["agent-eval", "TraceReporting"]),
    Rule(
      name: "standard output",
      pattern: #"\bSTD(OUT|ERR)_FILENO\b|\bFileDescriptor\.standard(Output|Error)\b"#,
      words: ["STD", ".standard"], exempt: ["agent-eval", "TraceReporting"]),
    // Where the compiler cannot see it, a comment there names the lock that makes it true.
    Rule(
      name: "unchecked Sendable", pattern: "@unchecked", words: ["@unchecked"],
      exempt: ["TraceStorage/Blocks/ReadingBuffers.swift"]),
  ]

  @Test("no source holds what can crash or print where it should not", arguments: rules)
  func isKept(_ rule: Rule) throws {
    for (file, source) in try SwiftText.sources() {
      if rule.exempt.contains(where: { file.hasPrefix("Sources/\($0)") }) { continue }
      #expect(try rule.broken(in: source) == [], "\(file)")
    }
  }

  @Test(
    "each rule sees what it is for",
    arguments: [
      ("try!", "let a = try! b()"), ("as!", "let a = b as! C"), ("fatalError", "fatalError(a)"),
      ("a force unwrap", "let a = b!"), ("a force unwrap", "let a = b()!.c"),
      ("a force unwrap", "let a = b[0]!"), ("a force unwrap", "var a: String!"),
      ("a force unwrap", #"let a = Int("1")!"#), ("a force unwrap", #"let a = "\(b!)""#),
      ("printing", "print(a)"), ("printing", "  dump(a)"),
      ("standard output", "write(STDOUT_FILENO, a, 1)"),
    ])
  func broken(name: String, source: String) throws {
    let rule = try #require(Self.rules.first { $0.name == name })
    #expect(try !rule.broken(in: SwiftText(source)).isEmpty)
  }

  @Test(
    "no rule sees what is only said",
    arguments: [
      "a != b", "if !a { }", "// try! b!", "/// fatalError", "let a = \"b! try! fatalError(\"",
      "let a = #\"b\"!\"#", "let a = \"\"\"\n b! print(\n\"\"\"", "/* a! /* b! */ c! */",
      "a !== b", "let a = \"\\\"b!\"", "blueprint(a)",
    ])
  func kept(source: String) throws {
    for rule in Self.rules {
      #expect(try rule.broken(in: SwiftText(source)) == [], "\(rule.name)")
    }
  }

  /// Calls of the system that take a path.
  private static let pathCall =
    #"(?:^|[^.\w])(open|stat|lstat|opendir|access|rename|unlink|mkdir|rmdir|realpath)\((?!\))|\bGlibc\.(open|stat|lstat|opendir|access|rename|unlink|mkdir|rmdir|realpath)\("#

  @Test(
    "a source that gives paths to the system does so by way of FilePaths: names need not be UTF-8")
  func pathCalls() throws {
    // What is opened there has a name of the system's or of the program's own making.
    let exempt = [
      "FilePaths", "LiveBoundary/", "EvalRunning/Conformance/", "TraceStorage/Reading/",
      "TraceStorage/Files/LogFile.swift",
    ]
    var seen = 0
    for (file, source) in try SwiftText.sources() {
      guard source.lines.contains("import Glibc"),
        !exempt.contains(where: { file.hasPrefix("Sources/\($0)") })
      else { continue }
      let regex = try Regex(Self.pathCall)
      let calls = source.lines.filter {
        $0.contains("(") && !$0.contains("func ") && !$0.matches(of: regex).isEmpty
      }
      seen += calls.count
      guard !calls.isEmpty else { continue }
      #expect(source.lines.contains("import FilePaths"), "\(file): \(calls)")
      #expect(calls.filter { $0.contains("Glibc.") } == [], "\(file)")
    }
    #expect(seen > 30)
  }

  // MARK: Documentation

  /// What the standard library asks for and documents, where it is met by code of ours.
  private static let witnesses: Set<String> = [
    "description", "debugDescription", "hash", "makeIterator", "next", "startIndex", "endIndex",
    "index",
  ]

  /// The labels of initialisers that only a literal calls.
  private static let literals: Set<String> = [
    "stringLiteral", "integerLiteral", "floatLiteral", "booleanLiteral", "nilLiteral",
    "arrayLiteral", "dictionaryLiteral",
  ]

  /// Names of requirements by the name of their protocol.
  typealias Requirements = [String: Set<String>]

  /// Public declarations without a doc comment: `line: name`.
  ///
  /// Not asked of operators, of an enumeration's cases, and of what another declaration documents: a
  /// protocol's requirement in a type that says there that it conforms.
  static func undocumented(in source: SwiftText, requirements: Requirements = [:]) -> [String] {
    let declaration =
      #/^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public|open)\s+(?:\w+(?:\(\w+\))?\s+)*?(struct|enum|class|actor|protocol|func|typealias|var|let|init|subscript)\b[?\s]*`?(\w*)/#
    return source.lines.enumerated().compactMap { index, line in
      // Most are documented: the expression is for the rest.
      guard line.contains("public ") || line.contains("open "), !isDocumented(index, in: source),
        let match = line.firstMatch(of: declaration)
      else { return nil }
      let name = match.2.isEmpty ? String(match.1) : String(match.2)
      if match.1 == "func", match.2.isEmpty { return nil }
      if line.contains("{"), witnesses.contains(name) { return nil }
      if match.1 == "init", let label = line.firstMatch(of: #/init\((\w+)/#)?.1,
        literals.contains(String(label))
      {
        return nil
      }
      let conformances = conformances(around: index, in: source)
      if conformances.contains(where: { requirements[$0]?.contains(name) ?? false }) { return nil }
      return "\(index + 1): \(name)"
    }
  }

  private static func isDocumented(_ index: Int, in source: SwiftText) -> Bool {
    var above = index - 1
    while above >= 0, source.original[above].trimmed.hasPrefix("@") { above -= 1 }
    return above >= 0 && source.original[above].trimmed.hasPrefix("///")
  }

  /// What the type or extension around a line says that it conforms to, right there.
  private static func conformances(around index: Int, in source: SwiftText) -> [String] {
    let depth = source.lines[index].prefix { $0 == " " }.count
    let opening = #/^(\s*)(?:\w+ )*(?:struct|enum|class|actor|extension) [\w.]+(.*)/#
    for start in source.lines[..<index].indices.reversed() {
      guard let match = source.lines[start].firstMatch(of: opening), match.1.count < depth else {
        continue
      }
      var clause = String(match.2)
      var next = start + 1
      while !clause.contains("{"), next < index {
        clause += source.lines[next]
        next += 1
      }
      return clause.prefix { $0 != "{" }.matches(of: #/\w+/#).map { String($0.output) }
    }
    return []
  }

  /// The requirements of public protocols, and those among them without a doc comment.
  private static func requirements(
    in source: SwiftText
  ) -> (all: Requirements, undocumented: [String]) {
    var all: Requirements = [:]
    var undocumented: [String] = []
    var current: String?
    for (index, line) in source.lines.enumerated() {
      if line.hasPrefix("public protocol "), !line.contains("}"),
        let match = line.firstMatch(of: #/^public protocol (\w+)/#)
      {
        current = String(match.1)
      }
      if line.hasPrefix("}") { current = nil }
      guard let current else { continue }
      let requirement =
        #/^  (?:static |mutating )*(func|var|init|subscript|associatedtype)\b ?(\w*)/#
      guard let match = line.firstMatch(of: requirement) else { continue }
      let name = match.2.isEmpty ? String(match.1) : String(match.2)
      if isDocumented(index, in: source) {
        all[current, default: []].insert(name)
      } else {
        undocumented.append("\(index + 1): \(name)")
      }
    }
    return (all, undocumented)
  }

  @Test("every public declaration of a library has a doc comment")
  func documentation() throws {
    var requirements: Requirements = [:]
    for (file, source) in try SwiftText.sources() {
      let (all, undocumented) = Self.requirements(in: source)
      #expect(undocumented == [], "\(file)")
      requirements.merge(all) { $0.union($1) }
    }
    #expect(requirements["RunClock"]?.contains("reading") == true)
    for (file, source) in try SwiftText.sources() {
      #expect(Self.undocumented(in: source, requirements: requirements) == [], "\(file)")
    }
  }

  @Test(
    "a missing doc comment is seen",
    arguments: [
      "public struct A {}", "  public static func a() {}", "public enum A: B {",
      "@frozen\npublic struct A {", "// no doc comment\npublic func a() {",
      "public var a: Int { 1 }", "  public var a: Int", "  public let a = 1",
      "  public private(set) var a: [Int] = []", "  public static let a = 1",
      "  public var description: String", "  public init() {}", "  public init(",
      "  public init?(_ a: Int) {", "  public init<A>(_ a: A) {", "  public convenience init() {",
      "  public subscript(a: Int) -> Int { a }", "  public static subscript(a: Int) -> Int {",
      "  @discardableResult public mutating func a() -> Int {", "  public var `default`: Int",
      "public typealias A = Int", "  public init(rawValue: String) {",
      "struct A: C {\n  public func a() {",
    ])
  func undocumentedIsSeen(source: String) throws {
    #expect(
      Self.undocumented(in: SwiftText(source), requirements: ["B": ["a"], "A": ["a"]]).count == 1)
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
    let place = try #require(lines.firstIndex { $0.contains("public ") })
    let documented = lines[..<place] + ["/// What it is."] + lines[place...]
    #expect(Self.undocumented(in: SwiftText(documented.joined(separator: "\n"))) == [])
  }

  @Test(
    "what another declaration documents needs no doc comment",
    arguments: [
      "struct A: B {\n  public func a() {", "extension A: C, B {\n  public let a: Int",
      "final class A:\n  C, B\n{\n  let b = 1\n\n  public func a() {",
      "  public static func == (left: A, right: A) -> Bool {", "  public var description: String {",
      "  public init(stringLiteral value: String) {", "  func a() {", "  package var a: Int",
    ])
  func documentedElsewhere(source: String) {
    #expect(Self.undocumented(in: SwiftText(source), requirements: ["B": ["a"]]) == [])
  }

  @Test("a requirement without a doc comment is seen")
  func requirementIsSeen() {
    let source = SwiftText(
      "public protocol A {\n  func a()\n  /// What it is.\n  var b: Int { get }\n}")
    #expect(Self.requirements(in: source).undocumented == ["2: a"])
    #expect(Self.requirements(in: source).all == ["A": ["b"]])
  }
}

extension StringProtocol {
  fileprivate var trimmed: Substring { Substring(self).drop { $0 == " " } }
}
