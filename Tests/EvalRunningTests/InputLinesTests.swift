import AgentRuntime
import EvalRunning
import TestSupport
import Testing

@Suite("Lines of input")
struct InputLinesTests {
  /// The lines of a text that comes in pieces of a size.
  private static func lines(
    _ text: [UInt8], pieces: Int, limitBytes: Int = 1 << 20
  ) -> [InputLine] {
    var input = InputLines(limitBytes: limitBytes)
    var found: [InputLine] = []
    for start in stride(from: 0, to: text.count, by: pieces) {
      found += input.take(text[start..<min(text.count, start + pieces)])
    }
    return found + [input.finish()].compactMap { $0 }
  }

  @Test(
    "a line ends with a line feed or with the input, a carriage return before it belongs to the end",
    arguments: [
      ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]),
      ("a\n\nb\n", ["a", "", "b"]), ("a\r\nb\r\n", ["a", "b"]), ("a\r\r\n", ["a\r"]),
      ("\r\n", [""]), ("a\rb\n", ["a\rb"]), ("a\r", ["a"]),
      ("a\u{2028}b\u{85}c\n", ["a\u{2028}b\u{85}c"]),
    ] as [(String, [String])])
  func ends(text: String, expected: [String]) {
    for pieces in 1...4 {
      let found = Self.lines(Array(text.utf8), pieces: pieces)
      #expect(found.map { String(decoding: $0.bytes, as: UTF8.self) } == expected)
      #expect(found.map(\.number) == Array(1..<(expected.count + 1)))
    }
  }

  @Test("the same lines whatever pieces the bytes come in", arguments: 1...40)
  func pieces(seed: Int) {
    var random = Seeded(seed: UInt64(seed))
    let choices: [UInt8] = [0x0a, 0x0d, 0x61, 0xff]
    let text = (0..<500).map { _ in choices.randomElement(using: &random) ?? 0 }
    let whole = Self.lines(text, pieces: text.count)
    #expect(whole.count > 80)
    for pieces in [1, 2, 3, 7, 64] { #expect(Self.lines(text, pieces: pieces) == whole) }
  }

  @Test("of a line beyond the limit the beginning is kept, and the next line is whole again")
  func long() {
    for length in [4_096, 8_000, 8_001, 100_000] {
      let text = [UInt8](repeating: 0x61, count: length) + Array("\r\nnext\n".utf8)
      for pieces in [1, 1_000, 4_096, 200_000] {
        let found = Self.lines(text, pieces: pieces, limitBytes: 8_001)
        let isCut = length > 8_000
        #expect(found.map(\.isCut) == [isCut, false], "\(length) \(pieces)")
        #expect(found[0].bytes.count == (isCut ? 4_096 : length))
        #expect(found[1].bytes == Array("next".utf8) && found[1].number == 2)
      }
    }
  }
}
