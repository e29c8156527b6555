import AgentTrace
import Foundation
import TestSupport
import Testing

@testable import TraceReporting

@Suite("Text made safe for a terminal")
struct VisibleTests {
  /// Scalars that move a cursor, colour text, turn its direction or have no look of their own.
  static let hidden: [ClosedRange<UInt32>] = [
    0...0x1f, 0x7f...0x9f, 0xad...0xad, 0x61c...0x61c, 0x180e...0x180e, 0x200b...0x200f,
    0x2028...0x202e, 0x2060...0x206f, 0xfeff...0xfeff, 0xfff9...0xfffb, 0xe0000...0xe007f,
    0x10fe00...0x10feff,
  ]

  @Test("no hidden scalar is left, and every other one stays as it is")
  func everyScalar() {
    for range in Self.hidden {
      for value in range {
        let shown = Visible.line("a" + text([value]) + "z")
        #expect(shown.unicodeScalars.allSatisfy { (0x20..<0x7f).contains($0.value) }, "\(value)")
        #expect(shown.count >= 4)
      }
    }
    for page in stride(from: UInt32(0), through: 0x10ff00, by: 256) {
      let shown = text(
        (page..<page + 256).filter { value in !Self.hidden.contains { $0.contains(value) } })
      #expect(Visible.line(shown).hasSameBytes(as: shown), "page \(page)")
    }
  }

  private func text(_ values: some Sequence<UInt32>) -> String {
    String(String.UnicodeScalarView(values.compactMap(Unicode.Scalar.init)))
  }

  @Test(
    "what is hidden is named",
    arguments: [
      ("a\nb", #"a\nb"#), ("a\tb", #"a\tb"#), ("a\r\nb", #"a\r\nb"#),
      ("\u{1b}[31mred\u{1b}[0m", #"\u{1b}[31mred\u{1b}[0m"#), ("\0", #"\u{0}"#),
      ("\u{9b}2J", #"\u{9b}2J"#), ("a\u{202e}b", #"a\u{202e}b"#), ("é 日本 👍", "é 日本 👍"), ("", ""),
    ])
  func named(text: String, shown: String) {
    #expect(Visible.line(text).hasSameBytes(as: shown))
  }

  @Test("lines stay lines, each made safe")
  func lines() {
    #expect(Visible.lines("a\n\u{1b}b\n") == ["a", "\\u{1b}b", ""])
    #expect(Visible.lines("a\r\nb") == ["a\\r", "b"])
    #expect(Visible.lines("") == [""])
  }

  static let texts = [
    "", "a", "short", String(repeating: "long ", count: 400),
    String(repeating: "\u{1b}", count: 90), String(repeating: "é", count: 90),
    String(repeating: "e\u{301}", count: 90), String(repeating: "日本", count: 90),
    String(repeating: "👩‍👩‍👧‍👦", count: 90), "a" + String(repeating: "\u{301}", count: 5_000),
    String(repeating: "\r\n", count: 90),
  ]

  @Test("a text is at most as long as asked, and says where it was cut", arguments: texts)
  func width(text: String) {
    for width in [0, 1, 2, 5, 10, 40, 79, 80, 81, 120] {
      let shown = Visible.line(text, width: width)
      #expect(shown.count <= max(1, width))
      let whole = Visible.line(text)
      if shown.hasSameBytes(as: whole) { continue }
      #expect(shown.hasSuffix("…"), "\(width): \(shown)")
      #expect(whole.unicodeScalars.starts(with: shown.unicodeScalars.dropLast()))
    }
  }

  @Test("JSON made safe for a terminal is the same JSON", arguments: texts)
  func json(text: String) throws {
    for text in [text, text + "\u{7f}\u{9b}\u{202e}\u{e0041}\u{1b}"] {
      let line = CanonicalJSON.string(["a": [.string(text)], "b": 1.50], form: .plain)
      let shown = Visible.json(line + "\n")
      #expect(try JSONValue(parsing: shown) == JSONValue(parsing: line))
      #expect(shown.unicodeScalars.dropLast().allSatisfy { $0.value >= 0x20 && $0.value != 0x7f })
      #expect(
        Visible.line(String(shown.unicodeScalars.dropLast())).hasSameBytes(
          as: String(shown.unicodeScalars.dropLast())))
    }
  }

  @Test("a text of megabytes is cut without being looked through")
  func large() {
    let text = String(repeating: "\u{1b}[31m", count: 1_000_000)
    #expect(Visible.line(text, width: 80).count == 80)
  }
}

@Suite("Lines that are coloured, cut")
struct CutLineTests {
  @Test(
    "a line is cut where it has more characters than there is room for, colours aside",
    arguments: [
      ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("äöü", 3, "äöü"), ("äöüß", 3, "äö…"), ("", 3, ""),
      ("\u{1b}[1mabc\u{1b}[0m", 3, "\u{1b}[1mabc\u{1b}[0m"),
      ("\u{1b}[1mabcd\u{1b}[0m", 3, "\u{1b}[1mab…\u{1b}[0m"),
      ("abcd", Visible.unlimited, "abcd"),
    ])
  func cut(line: String, width: Int, expected: String) {
    #expect(Visible.cut(line, width: width) == expected)
  }
}

@Suite("Words of a shell")
struct ShellWordTests {
  static let words = [
    "plain", "", " ", "two words", "it's", "''", "'", "\"", "$HOME", "$(touch x)", "`touch x`",
    "a;b",
    "a&b", "a|b", "*", "?", "[a]", "{a,b}", "~", "~root", "#", "!", "!!", "\\", "\\n", "a\\'b", "é",
    "日本", "-n", "=x", "a=b", "<x", ">x", "(x)", "%s", "a/b.jsonl.gz", "…",
  ]

  @Test("a quoted word reaches a program as it was")
  func roundTrip() async throws {
    let folder = try TemporaryFolder()
    var script = "#!/bin/sh\nprintf '%s\\n'"
    for word in Self.words { script += " " + ShellWord.quote(word) }
    try folder.write("script", script)
    let outcome = try await Command(
      program: "/bin/sh", arguments: ["script"], folder: folder.path
    ).run()
    #expect(outcome.lines == Self.words)
    #expect(folder.listing == ["script"])
  }

  @Test("the word of a path is never an option")
  func path() {
    #expect(ShellWord.path("-x/a b") == "'./-x/a b'")
    #expect(ShellWord.path("--") == "./--")
    #expect(ShellWord.path("a-b") == "a-b" && ShellWord.path("./-x") == "./-x")
  }

  static let hostile = [
    "\u{1b}[2J", "a\nrm -rf x", "\u{202e}x", "\r", "\u{1b}7 'x' \\n", "host/\u{1b}[31m.jsonl.gz",
    "it's\ta \\ tab", "$HOME\u{7f}`x`",
  ]

  @Test("a word with control characters does nothing to a terminal or a shell")
  func hostile() {
    for word in Self.hostile + ["a\0b", "r\u{10feff}"] {
      let quoted = ShellWord.quote(word)
      #expect(quoted.hasPrefix("$'") && quoted.last == "'")
      #expect(quoted.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value < 0x7f })
    }
    #expect(ShellWord.quote("r\u{10feff}1\u{1b}2") == #"$'r\3771\0332'"#)
  }

  @Test(
    "a quoted word with control characters reaches a program as it was",
    .enabled("needs bash") { FileManager.default.isExecutableFile(atPath: "/bin/bash") })
  func hostileRoundTrip() async throws {
    let folder = try TemporaryFolder()
    var script = "printf '%s\\0'"
    for word in Self.hostile { script += " " + ShellWord.quote(word) }
    try folder.write("script", script)
    let outcome = try await Command(
      program: "/bin/bash", arguments: ["script"], folder: folder.path
    ).run()
    let words = outcome.output.unicodeScalars.split(separator: "\0").map(String.init)
    #expect(words == Self.hostile)
  }
}

extension String {
  /// Whether the bytes are the same: `==` takes texts that only look alike for equal.
  func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
