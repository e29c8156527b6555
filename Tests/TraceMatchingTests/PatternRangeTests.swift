import TestSupport
import Testing
import TraceMatching

@Suite("Where patterns are found")
struct PatternRangeTests {
  /// Leftmost, longest, not empty: by trying every place.
  private static func plain(_ pattern: String, _ text: String) throws -> [Range<Int>] {
    let scalars = Array(text.unicodeScalars)
    let whole = try Pattern("\\A(?:\(pattern))\\z")
    func part(_ range: Range<Int>) -> String {
      var text = ""
      text.unicodeScalars.append(contentsOf: scalars[range])
      return text
    }
    var ranges: [Range<Int>] = []
    var start = 0
    search: while start < scalars.count {
      for end in stride(from: scalars.count, to: start, by: -1) {
        guard whole.isFound(in: part(start..<end)) == true else { continue }
        let first = part(0..<start).utf8.count
        ranges.append(first..<(first + part(start..<end).utf8.count))
        start = end
        continue search
      }
      start += 1
    }
    return ranges
  }

  @Test(
    "each match is the longest of the leftmost, as trying every place finds",
    arguments: [
      "a", "ab", "a*", "a+", "a+b", "a|ab", "ab|a", "(a|ab)(c|bcd)", "a.c", "a{2}", "a{1,3}b?",
      "(ab)+", "(a|b)*c", "é+", "[ab]{3}", "b|abc", "a*b|b*a", "(a*)(b*)c?", "x?", "c.|.c",
    ])
  func longest(pattern: String) throws {
    var generator = Seeded(seed: UInt64(pattern.utf8.count))
    for _ in 0..<TestRun.count(120, long: 4_000) {
      let count = Int.random(in: 0...12, using: &generator)
      let text = String(
        (0..<count).map { _ in "aaabbbccdé\n".randomElement(using: &generator) ?? "a" })
      let found = try #require(try Pattern(pattern).ranges(in: text))
      #expect(try found == Self.plain(pattern, text), "\(pattern) in \(text.debugDescription)")
    }
  }

  @Test(
    "what a pattern says of the places around it holds where it is found",
    arguments: [
      ("\\bfoo\\b", "foo food foo", [0..<3, 9..<12]), ("^a", "aa\na", [0..<1]),
      ("(?m)^a", "aa\na", [0..<1, 3..<4]), ("a$", "aa", [1..<2]),
      ("(?m)a$", "a\na", [0..<1, 2..<3]),
      ("(?i)é", "É e é", [0..<2, 5..<7]), ("$", "abc", []), ("\\b", "abc", []),
      ("\\Ba", "aaa a", [1..<2, 2..<3]), ("a\\Z", "a\n", [0..<1]),
    ])
  func assertions(pattern: String, text: String, ranges: [Range<Int>]) throws {
    #expect(try Pattern(pattern).ranges(in: text) == ranges)
  }

  @Test("a pattern with more ways than can be walked is told as too much work, not waited for")
  func budget() throws {
    let text = String(repeating: "a", count: 200_000) + "b"
    let pattern = try Pattern("(a?){500}(a*a*a*)*c|(a?){900}b")
    // Either it finds what is there or it says that it cannot.
    if let found = pattern.ranges(in: text) { #expect(found.last?.upperBound == text.utf8.count) }
  }
}
