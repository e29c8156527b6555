import AgentTrace
import TestSupport
import Testing
import TraceReporting

@testable import TraceDebugging

@Suite("Lines and keys")
struct TextTests {
  @Test(
    "a character takes the columns that a terminal gives it",
    arguments: [
      ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("ｆ", 2), ("👍", 2), ("한", 2),
      ("a\u{20dd}", 1), ("─", 1), ("…", 1), ("ß", 1), ("\u{ff71}", 1), ("〜", 2), ("𝒳", 1),
    ])
  func width(text: String, columns: Int) { #expect(CellWidth.of(text) == columns) }

  @Test("a text is cut to its columns, wide characters whole, and marks stay with theirs")
  func cutting() {
    #expect(CellWidth.cut("日本語", columns: 6) == "日本語")
    #expect(CellWidth.cut("日本語", columns: 5) == "日本…")
    #expect(CellWidth.cut("日本語", columns: 4) == "日…")
    #expect(CellWidth.cut("abc", columns: 2) == "a…")
    #expect(CellWidth.cut("abc", columns: 0) == "")
    let piled = "e" + String(repeating: "\u{301}", count: 1_000) + "x"
    #expect(CellWidth.prefix(of: piled, columns: 5).text.unicodeScalars.count == 5)
  }

  @Test("lines are wrapped at spaces into columns, and nothing of them is lost but those spaces")
  func wrapping() {
    var generator = Seeded(seed: 9)
    let words = ["a", "bb", "日本", "e\u{301}e", String(repeating: "w", count: 40), "👍", "cccc"]
    for _ in 0..<300 {
      let text = (0..<Int.random(in: 0...30, using: &generator))
        .map { _ in words.randomElement(using: &generator) ?? "" }.joined(separator: " ")
      let columns = Int.random(in: 10...50, using: &generator)
      let hanging = Int.random(in: 0...6, using: &generator)
      let lines = TextLine(
        [.init(String(text.prefix(7)), .bad), .init(String(text.dropFirst(7)))], hanging: hanging
      ).wrapped(columns: columns)
      #expect(lines.allSatisfy { $0.columns <= columns }, "\(lines.map(\.plain))")
      let joined = lines.map(\.plain).joined().filter { $0 != " " }
      #expect(joined.utf8.elementsEqual(text.filter { $0 != " " }.utf8))
    }
  }

  @Test("a line is cut to columns, its pieces kept as long as they fit")
  func cuttingLines() {
    let line = TextLine([
      .init("日本"), .init(""), .init("abc", .bad), .init(""), .init("def"),
    ])
    for columns in 0...12 {
      let cut = line.cut(columns: columns)
      #expect(cut.columns <= columns)
      #expect(columns >= 10 ? cut == line : columns == 0 || cut.plain.hasSuffix("…"), "\(columns)")
    }
  }

  @Test(
    "keys are read from what terminals send, cut anywhere",
    arguments: [
      ("a", [Key.character("a")]), ("é日", [.character("é"), .character("日")]),
      ("\u{1b}[A", [.up]), ("\u{1b}OB", [.down]), ("\u{1b}[1;5C", [.right]), ("\u{1b}[D", [.left]),
      ("\u{1b}[5~\u{1b}[6~", [.pageUp, .pageDown]), ("\u{1b}[H\u{1b}[4~", [.home, .end]),
      ("\r\t\u{7f}\u{3}\u{1a}", [.enter, .tab, .backspace, .control("c"), .control("z")]),
      ("\u{1b}[200~x", [.character("x")]), ("\u{1b}[?64;1c", []), ("\u{0}\u{1e}", []),
    ])
  func keys(text: String, keys: [Key]) {
    var whole = KeyReader()
    #expect(whole.take(text.utf8) == keys)
    // An escape at the end of what came at once is a key of its own, so sequences are not cut there.
    let bytes = Array(text.utf8)
    for cut in bytes.indices where cut > 0 && bytes[cut - 1] != 0x1b {
      var reader = KeyReader()
      #expect(reader.take(bytes[..<cut]) + reader.take(bytes[cut...]) == keys, "cut at \(cut)")
    }
  }

  @Test(
    "a byte of another encoding takes no key with it",
    arguments: [[0xff], [0xe9], [0xf0, 0x9f], [0xf5], [0xc3]] as [[UInt8]])
  func strayBytes(bytes: [UInt8]) {
    var reader = KeyReader()
    #expect(reader.take(bytes) == [])
    #expect(reader.take([0x71]) == [.character("q")])
  }

  @Test("whatever bytes come, reading keys goes on")
  func anyKeys() {
    var generator = Seeded(seed: 4)
    var reader = KeyReader()
    for _ in 0..<2_000 {
      let bytes = (0..<Int.random(in: 0...20, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      _ = reader.take(bytes)
    }
    _ = reader.take(Array(repeating: 0x41, count: 100))
    #expect(reader.take([0x62]) == [.character("b")])
  }

  @Test("a line of commands is split at semicolons outside quotes and braces")
  func splitting() {
    #expect(DebugSession.commands(in: "next; back ;; why") == ["next", "back", "", "why"])
    let whole = #"break when {"a":"x;\"}y", b: [1;2]}"#
    #expect(DebugSession.commands(in: whole + ";c") == [whole, "c"])
    #expect(DebugSession.commands(in: "") == [""])
  }

  @Test("values that stood before are found whole or as words, not within longer words")
  func holding() {
    func holds(_ text: String, _ part: String) -> Bool {
      ValueOrigins.holds(text, Array(part.utf8))
    }
    #expect(holds("Refund order 1234 at once", "1234") && holds("is it 1234?", "1234"))
    #expect(!holds("order 12345", "1234") && !holds("order 91234", "1234"))
    #expect(!holds("x", "x") && !holds("a b", "a") && holds("(é)", "é"))
  }
}
