import Testing
import TraceMatching

@Suite("Globs and spelling")
struct GlobTests {
  @Test(
    "a glob matches a whole name",
    arguments: [
      ("*", ""), ("*", "a.b/c"), ("delete_*", "delete_"), ("delete_*", "delete_all"),
      ("*_order", "get_order"), ("*a*b*", "xaxbx"), ("?", "é"), ("get_?", "get_x"),
      ("[abc]x", "bx"),
      ("[a-c]x", "cx"), ("[!a-c]x", "dx"), ("[^a]x", "bx"), ("{a,b}c", "bc"), ("{,un}do", "do"),
      ("{a,{b,c}d}", "cd"), ("\\*", "*"), ("[]]", "]"), ("[\\]]", "]"), ("a,b", "a,b"),
      ("a}b", "a}b"), ("\\{a\\}", "{a}"), ("a\nb*", "a\nbc"), ("mcp.*", "mcp.x\ny"), ("", ""),
      ("get_[0-9][0-9]", "get_42"), ("*{_a,_b}", "x_b"),
    ])
  func matches(glob: String, name: String) throws { #expect(try Glob(glob).matches(name)) }

  @Test(
    "a glob matches no other name, and minds case",
    arguments: [
      ("a", "A"), ("a", "ab"), ("a*", "ba"), ("?", ""), ("?", "ab"), ("[a-c]", "d"), ("[!a]", "a"),
      ("{a,b}", "ab"), ("\\*", "x"), ("", "x"), ("*.txt", "a.txtx"), ("é", "e\u{301}"),
      ("delete_*", "undelete_all"),
    ])
  func doesNotMatch(glob: String, name: String) throws { #expect(try !Glob(glob).matches(name)) }

  @Test(
    "a bad glob is an error",
    arguments: [
      ("[a", .unclosedClass, 0), ("a[", .unclosedClass, 1), ("{a", .unclosedChoice, 0),
      ("{a,{b}", .unclosedChoice, 0), ("a\\", .trailingBackslash, 1), ("[b-a]", .emptyRange, 0),
    ] as [(String, PatternError.Code, Int)])
  func bad(glob: String, code: PatternError.Code, offset: Int) {
    #expect(throws: PatternError(code: code, offset: offset)) { try Glob(glob) }
  }

  @Test("a glob nested too deep or too long is an error")
  func tooMuch() {
    #expect(throws: PatternError.self) { try Glob(String(repeating: "{", count: 4000)) }
    #expect(throws: PatternError.self) { try Glob(String(repeating: "a", count: 5000) + "*") }
  }

  @Test("many stars cost no more than their number")
  func manyStars() throws {
    let glob = try Glob(String(repeating: "*a", count: 100) + "b")
    #expect(!glob.matches(String(repeating: "a", count: 20_000)))
  }

  @Test("a name without wildcards is literal")
  func literal() throws {
    #expect(Glob.isLiteral("refund_order"))
    #expect(Glob.isLiteral("a}b]c!"))
    #expect(["a*", "a?", "a[", "a{", "a\\"].allSatisfy { !Glob.isLiteral($0) })
    #expect(try Glob("refund_order").literal == "refund_order")
    #expect(try Glob("refund_*").literal == nil)
  }

  @Test(
    "an escaped name is a glob of that name and of no other",
    arguments: [
      "", "refund_order", "a*", "*\u{301}", "[\u{fe0f}x]", "{a,b}", "a\\", "a\r\n?", "e\u{301}",
      "\u{301}*",
    ])
  func escaped(name: String) throws {
    let glob = try Glob(Glob.escaping(name))
    #expect(glob.matches(name))
    #expect(!glob.matches(name + "x"))
    #expect(!glob.matches("x" + name))
  }

  @Test(
    "the nearest word is the one that was meant",
    arguments: [
      ("toolCalled", "toolsCalled"), ("tools_called", "toolsCalled"), ("$regx", "$regex"),
      ("TOOLSCALLED", "toolsCalled"), ("stopreason", "stopReason"), ("stopRaeson", "stopReason"),
      ("$containz", "$contains"), ("zzzz", nil), ("x", nil), ("", nil), ("order", nil),
      ("$lt3", "$lt"),
    ] as [(String, String?)])
  func spelling(word: String, meant: String?) {
    let words = [
      "toolsCalled", "toolsNotCalled", "stopReason", "order", "$regex", "$contains", "$lt", "$gte",
    ]
    #expect(Spelling.nearest(to: word, among: words) == meant)
  }

  @Test("a swap of neighbours is one slip, and of two equally near words the first by UTF-8 stands")
  func slips() {
    #expect(Spelling.distance("abcd", "abdc") == 1)
    #expect(Spelling.distance("", "abc") == 3)
    #expect(Spelling.distance("kitten", "sitting") == 3)
    #expect(Spelling.nearest(to: "cat", among: ["hat", "bat"]) == "bat")
  }
}
