import AgentTrace
import Testing

@testable import EvalLoading

/// The documents and the diagnostics of a YAML text.
private func read(
  _ text: String, limits: SourceLimits = SourceLimits()
) -> (values: [JSONValue], diagnostics: [String]) {
  let reader = YAMLReader(Array(text.utf8), path: "f.yaml", limits: limits)
  return (reader.documents.map(\.value), reader.diagnostics.map(\.description))
}

@Suite("YAML")
struct YAMLReaderTests {
  // MARK: Damage and limits

  @Test(
    "Nesting beyond the limit is an error, however it is written",
    arguments: ["[", "[\n", "{a: ", "- ", "indented", "closed"])
  func deepNesting(opening: String) {
    let text =
      switch opening {
      case "indented":
        (0..<2_000).map { String(repeating: " ", count: $0) + "a:" }.joined(separator: "\n")
      case "closed": String(repeating: "[", count: 129) + String(repeating: "]", count: 129)
      default: String(repeating: opening, count: 100_000) + "a"
      }
    let result = read(text)
    #expect(result.values.isEmpty)
    #expect(result.diagnostics.count == 1)
    let message = result.diagnostics.first ?? ""
    // libyaml has a limit of its own for what opens within one line.
    #expect(
      message.contains("nesting deeper than 128") || message.contains("nesting level"), "\(message)"
    )
  }

  @Test(
    "What ends a line for YAML 1.1 alone is refused, so that no text is folded and no key is hidden",
    arguments: ["\u{85}", "\u{2028}", "\u{2029}"])
  func otherLineBreaks(mark: String) {
    let digits = String(mark.unicodeScalars.first?.value ?? 0, radix: 16)
    let name = "U+" + String(repeating: "0", count: 4 - digits.count) + digits.uppercased()
    let inText = read("a: é\nb: \"x \(mark) y\"\n")
    #expect(inText.values.isEmpty)
    #expect(
      inText.diagnostics == [
        "f.yaml:2:7: error: \(name), which ends a line in YAML 1.1; "
          + "leave it out, or write it as “\\u\(name.dropFirst(2).lowercased())” in double quotes"
      ])
    #expect(read("# a comment\(mark)hidden: true\n").values.isEmpty)
    #expect(read("a: \"x \\u\(name.dropFirst(2)) y\"\n").values == [["a": .string("x \(mark) y")]])
  }

  @Test("Nesting up to the limit is read")
  func deepEnough() {
    let text = String(repeating: "[", count: 128) + String(repeating: "]", count: 128)
    #expect(read(text).values.first?.depth == 128)
  }

  @Test("Aliases count as what they repeat: a few lines cannot become a billion values")
  func aliasBomb() {
    var lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in 1...30 {
      let aliases = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
      lines.append("a\(level): &a\(level) [\(aliases)]")
    }
    let result = read(lines.joined(separator: "\n"))
    #expect(result.values.isEmpty)
    #expect(
      result.diagnostics == [
        "f.yaml:6:45: error: more than 1000000 values, aliases written out"
      ])
  }

  @Test("Aliases of one long text count as often as they stand")
  func longTextBomb() {
    let text =
      "a: &a \"" + String(repeating: "x", count: 1 << 20) + "\"\nb: ["
      + Array(repeating: "*a", count: 200).joined(separator: ", ") + "]"
    #expect(read(text).diagnostics.first?.contains("bytes of text") == true)
  }

  @Test("Aliases cannot nest deeper than what is written out")
  func aliasDepth() {
    var lines = ["a0: &a0 [x]"]
    for level in 1...200 { lines.append("a\(level): &a\(level) [*a\(level - 1)]") }
    let result = read(lines.joined(separator: "\n"))
    #expect(result.diagnostics.count == 1)
    #expect(result.diagnostics.first?.contains("nesting deeper than 128") == true)
  }

  @Test("What an alias repeats is there, with the place of the original")
  func alias() {
    let reader = YAMLReader(
      Array("a: &x {k: 1}\nb: *x\nc: [*x, *x]".utf8), path: "f.yaml", limits: SourceLimits())
    #expect(reader.diagnostics.isEmpty)
    #expect(
      reader.documents[0].value == ["a": ["k": 1], "b": ["k": 1], "c": [["k": 1], ["k": 1]]])
    let place = reader.documents[0].tree.position(
      of: [.key("c"), .index(1), .key("k")], end: .value)
    #expect(place == TextPosition(line: 1, column: 11))
  }

  @Test(
    "An alias of nothing, or of what it stands in, is an error", arguments: ["a: *x", "&x [*x]"])
  func unknownAlias(text: String) {
    #expect(read(text).diagnostics.first?.contains("“*x” names no finished value") == true)
  }

  @Test("A merge key takes over members that are not there; the first source wins")
  func merge() {
    let result = read(
      """
      a: &a {x: 1, y: 1}
      b: &b {y: 2, z: 2}
      c: {<<: *a, x: 3}
      d: {<<: [*b, *a]}
      e: {"<<": 1}
      """)
    #expect(result.diagnostics.isEmpty)
    #expect(result.values[0]["c"] == ["x": 3, "y": 1])
    #expect(result.values[0]["d"] == ["x": 1, "y": 2, "z": 2])
    #expect(result.values[0]["e"] == ["<<": 1])
    #expect(
      read("<<: 1").diagnostics == ["f.yaml:1:5: error: “<<” merges mappings, not the number 1"])
  }

  @Test("Every key that stands twice is an error with both lines; the first value stays")
  func duplicateKeys() {
    let result = read("a: 1\nb: 2\na: 3\nb: 4\nc: {d: 1, d: 2}")
    #expect(
      Set(result.diagnostics) == [
        "f.yaml:3:1: error: the key “a” stands twice, first on line 1",
        "f.yaml:4:1: error: the key “b” stands twice, first on line 2",
        "f.yaml:5:11: error: the key “d” stands twice, first on line 5",
      ])
    #expect(result.values == [["a": 1, "b": 2, "c": ["d": 1]]])
  }

  @Test("Of very many keys that stand twice the first are told")
  func manyDuplicateKeys() {
    let text = "{" + String(repeating: "a: 1, ", count: 10_000) + "}"
    #expect(read(text).diagnostics.count == 200)
  }

  @Test("Keys are compared by their bytes, not by canonical equivalence")
  func equivalentKeys() {
    let result = read("\"\\u00e9\": 1\n\"e\\u0301\": 2")
    #expect(result.diagnostics.isEmpty)
    #expect(result.values.first?.objectValue?.count == 2)
  }

  @Test(
    "What is no YAML is an error with its place",
    arguments: [
      ("a: [1, 2", 2, 1), ("a: b: c", 1, 5), ("\ta: 1", 1, 1), ("a:\n\tb: 1", 2, 1),
      ("a: 'x", 1, 6), ("a: \"\\x\"", 1, 7), ("- a\nb: 1", 2, 1), ("a: @x", 1, 4),
      ("a: %x", 1, 4), ("{]", 1, 2), ("a: 1\n b: 2", 2, 3), ("]", 1, 1), ("--- a\n... b", 2, 5),
    ])
  func syntaxErrors(text: String, line: Int, column: Int) {
    let reader = YAMLReader(Array(text.utf8), path: "f.yaml", limits: SourceLimits())
    #expect(reader.diagnostics.count == 1)
    #expect(reader.diagnostics.first?.line == line)
    #expect(reader.diagnostics.first?.column == column)
  }

  @Test(
    "Bytes that no YAML file may hold are an error with their place",
    arguments: [
      [0x61, 0x3a, 0x20, 0x00], [0x61, 0x0a, 0xff], [0xc3], [0xed, 0xa0, 0x80], [0x61, 0x1b],
      [0xff, 0xfe, 0x61, 0x00], [0xc0, 0x80], [0xf5, 0x80, 0x80, 0x80],
    ] as [[UInt8]])
  func badBytes(bytes: [UInt8]) {
    let reader = YAMLReader(bytes, path: "f.yaml", limits: SourceLimits())
    #expect(reader.diagnostics.count == 1)
    #expect(reader.diagnostics.first?.line != nil)
    #expect(reader.diagnostics.first?.message.hasPrefix("bytes that no YAML file may hold") == true)
  }

  @Test("A file in UTF-16 is told to be one, with its mark and without")
  func utf16() {
    let units = Array("a: b".utf16)
    let little = units.flatMap {
      [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]
    }
    let big = units.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    for bytes in [little, big, [0xff, 0xfe] + little, [0xfe, 0xff] + big] {
      let reader = YAMLReader(bytes, path: "f.yaml", limits: SourceLimits())
      #expect(reader.diagnostics.first?.hint?.contains("UTF-16") == true, "\(reader.diagnostics)")
      let json = SourceDocument(bytes, path: "f.json")
      #expect(json.diagnostics.first?.hint?.contains("UTF-16") == true, "\(json.diagnostics)")
    }
  }

  @Test("Any cut and any flipped byte of a file gives values or errors, never a crash")
  func damaged() {
    let text = Array(
      """
      %YAML 1.2
      ---
      a: &x [1, "t\\u00e9\\n", 'it''s', {b: *y, <<: *x}]
      ? |
        block
      : >-
        folded
      !!str c: !!int 5
      ... # end
      --- {d: "e"}
      """.utf8)
    for end in text.indices {
      _ = YAMLReader(Array(text[..<end]), path: "f.yaml", limits: SourceLimits())
    }
    for index in text.indices {
      for value in [0x00, 0x09, 0x0a, 0x22, 0x26, 0x2a, 0x3a, 0x5b, 0x7b, 0xff] as [UInt8] {
        var copy = text
        copy[index] = value
        _ = YAMLReader(copy, path: "f.yaml", limits: SourceLimits())
      }
    }
  }

  @Test("Too many directives are refused: they would be compared with each other")
  func directives() {
    let text = (0..<5_000).map { "%TAG !t\($0)! tag:x" }.joined(separator: "\n") + "\n--- a"
    #expect(read(text).diagnostics == ["f.yaml:1001:1: error: more than 1,000 directives"])
  }

  @Test("More values than the limit are refused")
  func manyValues() {
    let text = "[" + String(repeating: "1,", count: 2_000) + "]"
    let limits = SourceLimits(values: 1_000)
    #expect(read(text, limits: limits).diagnostics.first?.contains("more than 1000 values") == true)
  }

  @Test("A mapping of many keys is read in good time")
  func manyKeys() {
    let text = (0..<10_000).map { "k\(($0 * 7919) % 10_000): \($0)" }.joined(separator: "\n")
    #expect(read(text).values.first?.objectValue?.count == 10_000)
  }

  // MARK: What is read

  @Test("An empty file holds no document")
  func empty() {
    for text in ["", "\n\n", "# only a comment\n", "   "] {
      #expect(read(text).values.isEmpty)
      #expect(read(text).diagnostics.isEmpty)
    }
  }

  @Test("A byte order mark, CRLF and trailing space are stepped over")
  func foreignEnds() {
    let result = read("\u{feff}a: 1\r\nb: |\r\n  x\r\n  y\r\nc: 2  \r\n")
    #expect(result.values == [["a": 1, "b": "x\ny\n", "c": 2]])
  }

  @Test(
    "Plain scalars mean what the core schema of YAML 1.2 says",
    arguments: [
      ("null", JSONValue.null), ("~", .null), ("", .null), ("Null", .null), ("NULL", .null),
      ("nuLL", "nuLL"), ("true", true), ("True", true), ("FALSE", false), ("tRue", "tRue"),
      ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("y", "y"), ("N", "N"),
      ("Yes", "Yes"), ("NO", "NO"), ("On", "On"), ("OFF", "OFF"), ("=", "="), ("<<", "<<"),
      ("2026-01-01", "2026-01-01"), ("12:30:45", "12:30:45"), ("1_000", "1_000"),
      ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), ("1:30", "1:30"),
      ("190:20:30.5", "190:20:30.5"),
      ("0x_1F", "0x_1F"), ("0o18", "0o18"), ("1_000.5", "1_000.5"), (".Infinity", ".Infinity"),
      ("0b11", "0b11"), ("0x1F", 31), ("0o17", 15), ("0x", "0x"), ("0xg", "0xg"), ("-0x1", "-0x1"),
      ("0", 0), ("-7", -7), ("+7", 7), ("1e3", .number(JSONNumber(token: "1e3")!)),
      ("1.50", .number(JSONNumber(token: "1.50")!)),
      (".5", .number(JSONNumber(token: "0.5")!)), ("-.5", .number(JSONNumber(token: "-0.5")!)),
      ("5.", .number(JSONNumber(token: "5.0")!)),
      ("5.e3", .number(JSONNumber(token: "5.0e3")!)),
      ("+1.5E-2", .number(JSONNumber(token: "1.5E-2")!)),
      ("1.2.3", "1.2.3"), ("1-2", "1-2"), ("-", "-"), ("+", "+"), (".", "."), ("...x", "...x"),
      ("1e", "1e"), ("e3", "e3"), ("--1", "--1"),
      ("99999999999999999999", .number(JSONNumber(token: "99999999999999999999")!)),
    ] as [(String, JSONValue)])
  func scalars(text: String, value: JSONValue) {
    guard case .value(let found) = YAMLScalar.meaning(of: text) else {
      Issue.record("\(text) was refused")
      return
    }
    #expect(found == value)
  }

  @Test("A number is one however many digits it has, as in JSON")
  func longNumbers() {
    for count in [4_096, 4_097, 100_000] {
      let digits = "1" + String(repeating: "7", count: count - 1)
      guard case .value(.number(let number)) = YAMLScalar.meaning(of: digits) else {
        Issue.record("\(count) digits are no number")
        continue
      }
      #expect(number.token == digits)
    }
  }

  @Test(
    "Numbers that JSON cannot say, or that would surprise, are errors",
    arguments: [
      ".inf", "-.INF", "+.inf", ".nan", ".NaN", "007", "-01", "+00", "01.5",
      "0xFFFFFFFFFFFFFFFFFF",
    ])
  func refusedNumbers(text: String) {
    let result = read("a: \(text)")
    #expect(result.values.isEmpty)
    #expect(result.diagnostics.first?.hasPrefix("f.yaml:1:4: error: the number") == true)
  }

  @Test("Quoted and block scalars are text")
  func quoted() {
    let result = read("[\"1\", 'true', \"\", \"\\u00e9\\0\"]\n--- |\n  1\n--- >-\n  null\n")
    #expect(result.values == [["1", "true", "", "é\0"], "1\n", "null"])
  }

  @Test("Core tags are honoured where they fit, and others refused")
  func tags() {
    #expect(read("[!!str 1, ! 2, !!int 3, !!map {}, !!seq []]").values == [["1", "2", 3, [:], []]])
    for text in ["!!int x", "!!bool 1", "!!binary aGk=", "!local x", "!!set {a}", "!x [1]"] {
      #expect(read(text).diagnostics.count == 1, "\(text)")
    }
  }

  @Test("Keys are text: scalars by how JSON writes them, nothing else")
  func keys() {
    #expect(read("{1: a, true: b, 1.50: c}").values == [["1": "a", "true": "b", "1.50": "c"]])
    for text in ["? [a]\n: b", "{{a: 1}: b}", "~: 1", ": 1", "? &a {}\n: *a"] {
      #expect(read(text).diagnostics.count == 1, "\(text)")
    }
  }

  @Test(
    "What libyaml mended after 0.2.5 stays so: a list may end behind a key that is marked as one",
    arguments: [("[? a]", "[{\"a\":null}]"), ("[x, ? a]", "[\"x\",{\"a\":null}]")])
  func closingBehindAKey(text: String, value: String) {
    #expect(read(text).diagnostics == [])
    #expect(read(text).values.map { CanonicalJSON.string($0) } == [value])
    #expect(
      read("[? ]").diagnostics == ["f.yaml:1:4: error: an empty key; quote it if it is meant"])
  }

  @Test("Documents of one file are several roots, each with its places")
  func documents() {
    let reader = YAMLReader(
      Array("a: 1\n---\nb: 2\n...\n---\n- c\n".utf8), path: "f.yaml", limits: SourceLimits())
    #expect(reader.documents.map(\.value) == [["a": 1], ["b": 2], ["c"]])
    #expect(reader.documents.map(\.tree.start.line) == [1, 3, 6])
  }

  @Test("Places count lines from 1 and columns in Unicode scalars from 1")
  func places() {
    let reader = YAMLReader(
      Array("\u{feff}é: {ü: [x, yy]}\nb:\n  - z\n".utf8), path: "f.yaml", limits: SourceLimits())
    let tree = reader.documents[0].tree
    #expect(tree.position(of: [.key("é"), .key("ü")], end: .key).line == 1)
    #expect(
      tree.position(of: [.key("b"), .index(0)], end: .value) == TextPosition(line: 3, column: 5))
    #expect(tree.position(of: [.key("b"), .index(9)], end: .value).line == 3)
    #expect(tree.position(of: [.key("nowhere"), .key("x")], end: .key).line == 1)
  }
}
