import AgentTrace
import Testing
import TraceMatching

private func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

@Suite("Matchers")
struct MatcherTests {
  @Test(
    "a matcher matches",
    arguments: [
      // Literals, by value.
      ("null", "null"), ("true", "true"), ("1", "1.0"), ("1.0", "1e0"), ("100", "1E+2"),
      ("0", "-0"), ("0.1", "1e-1"), ("9007199254740993", "9007199254740993.0"),
      ("1e999999999999", "10e999999999998"), ("-2.50", "-25e-1"), (#""a""#, #""a""#),
      (#""\u00e9""#, #""é""#), ("[]", "[]"), ("[1,[2]]", "[1.0,[2e0]]"),
      // Objects: extra keys are free.
      ("{}", #"{"a":1}"#), (#"{"a":1}"#, #"{"a":1,"b":2}"#),
      (#"{"a":{"b":[1]}}"#, #"{"a":{"b":[1],"c":3}}"#), (#"{"a":null}"#, #"{"a":null}"#),
      (#"[{"a":1}]"#, #"[{"a":1,"b":2}]"#),
      // Presence.
      (#"{"a":{"$absent":true}}"#, "{}"), (#"{"a":{"$absent":false}}"#, #"{"a":null}"#),
      (#"{"a":{"$any":true}}"#, #"{"a":null}"#), (#"{"$any":true}"#, "0"),
      (#"{"a":{"$not":{"$absent":true}}}"#, #"{"a":1}"#), (#"{"a":{"$not":"x"}}"#, "{}"),
      (#"{"a":{"$anyOf":[{"$absent":true},1]}}"#, "{}"),
      (#"{"a":{"$anyOf":[{"$absent":true},1]}}"#, #"{"a":1}"#),
      // Combination.
      (#"{"$not":1}"#, "2"), (#"{"$not":{"$not":1}}"#, "1"), (#"{"$anyOf":[1,2]}"#, "2"),
      (#"{"$allOf":[{"$gt":1},{"$lt":3}]}"#, "2"), (#"{"$gt":1,"$lt":3}"#, "2"),
      (#"{"$oneOf":[{"$gt":1},{"$gt":5}]}"#, "3"), (#"{"$oneOf":["a","b"]}"#, #""b""#),
      // Texts.
      (#"{"$regex":"(?i)^a.c$"}"#, #""ABC""#), (#"{"$glob":"ORD-*"}"#, #""ORD-1""#),
      (#"{"$ignoreCase":"STRASSE É"}"#, #""strasse é""#), (#"{"$contains":"bc"}"#, #""abcd""#),
      (#"{"$contains":""}"#, #""""#), (#"{"$contains":"é"}"#, #""caféx""#),
      // Arrays.
      (#"{"$contains":2}"#, "[1,2.0]"), (#"{"$contains":{"a":1}}"#, #"[3,{"a":1,"b":2}]"#),
      (#"{"$contains":{"$gt":5}}"#, "[1,9]"), (#"{"$contains":"x"}"#, #"["y","x"]"#),
      // Numbers.
      (#"{"$gt":1}"#, "1.0000000000000000001"), (#"{"$gte":1}"#, "1.0"), (#"{"$lt":0}"#, "-1e-400"),
      (#"{"$lte":5}"#, "5"), (#"{"$gt":9007199254740992}"#, "9007199254740993"),
      (#"{"$lt":1e400}"#, "1e399"), (#"{"$gt":-10}"#, "-9"),
      (#"{"$approx":0.3}"#, "0.30000000000000004"),
      (#"{"$approx":{"value":10,"tolerance":0.5}}"#, "9.5"), (#"{"$approx":0}"#, "0.0"),
      (#"{"$approx":{"value":1,"tolerance":0}}"#, "1.0"),
      (#"{"$approx":{"value":0.3,"tolerance":0.1}}"#, "0.2"),
      (#"{"$approx":{"value":0.3,"tolerance":0.1}}"#, "0.4"),
      (#"{"$approx":{"value":-1,"tolerance":2}}"#, "1"),
      (#"{"$approx":{"value":0,"tolerance":1e-400}}"#, "1e-400"),
      (#"{"$approx":{"value":0,"tolerance":1}}"#, "1e-99999999999"),
      (#"{"$approx":{"value":9007199254740992,"tolerance":1}}"#, "9007199254740993"),
      (#"{"$approx":1e9}"#, "1000000001"), (#"{"$approx":99999999999}"#, "99999999899.000000001"),
      // Length and type.
      (#"{"$length":3}"#, #""a😀é""#), (#"{"$length":{"$gte":2}}"#, "[1,2]"),
      (#"{"$length":0}"#, "{}"),
      (#"{"$length":2.0}"#, "[1,2]"), (#"{"$type":"integer"}"#, "1.0"),
      (#"{"$type":"number"}"#, "1.5"),
      (#"{"$type":["null","string"]}"#, "null"), (#"{"$type":"integer"}"#, "1e2"),
      (#"{"$schema":{"type":"object","required":["a"]}}"#, #"{"a":1}"#),
      (#"{"$schema":true}"#, "1"),
      // Exactness.
      (#"{"$exact":{"a":1}}"#, #"{"a":1.0}"#), (#"{"$exact":[{"a":[]}]}"#, #"[{"a":[]}]"#),
      (#"{"$exact":{"$gt":1}}"#, #"{"$gt":1}"#), (#"{"a":{"$exact":{}}}"#, #"{"a":{},"b":1}"#),
      (#"{"$literal":{"$gt":1}}"#, #"{"$gt":1.0,"x":2}"#), (#"{"$literal":"$any"}"#, #""$any""#),
      (#"{"$literal":[{"$from":1}]}"#, #"[{"$from":1}]"#),
      (#"{"$subsetOf":{"a":1,"b":2}}"#, #"{"a":1}"#), (#"{"$subsetOf":{"a":1}}"#, "{}"),
      (#"{"$subsetOf":{"a":{"$gt":1},"b":{"c":1}}}"#, #"{"a":2,"b":{"c":1}}"#),
    ])
  func matches(matcher: String, value: String) throws {
    let compiled = try Matcher(compiling: json(matcher))
    #expect(compiled.match(try json(value)) == .match)
    #expect(compiled.matches(try json(value)) == true)
  }

  @Test(
    "a matcher that does not match says where, what was asked and what was there",
    arguments: [
      ("null", "false", "", "null", "false"), ("1", "2", "", "1", "2"),
      ("1", "\"1\"", "", "1", "\"1\""),
      ("true", "1", "", "true", "1"),
      ("9007199254740993", "9007199254740992.0", "", "9007199254740993", "9007199254740992.0"),
      (#""é""#, #""e\u0301""#, "", #""é""#, "\"e\u{301}\""),
      ("[]", "{}", "", "an array of 0", "{}"),
      ("[1]", "[1,2]", "", "an array of 1", "[1,2]"), ("[1,2]", "[1,3]", "/1", "2", "3"),
      (#"{"a":{"b~/":1}}"#, #"{"a":{"b~/":2}}"#, "/a/b~0~1", "1", "2"),
      (#"{"a":1}"#, "{}", "/a", "1", "nothing"), (#"{"a":null}"#, "{}", "/a", "null", "nothing"),
      (#"{"a":1}"#, "[1]", "", #"an object with "a": 1"#, "[1]"),
      (#"{"a":{"$absent":true}}"#, #"{"a":null}"#, "/a", "nothing", "null"),
      (#"{"a":{"$absent":false}}"#, "{}", "/a", "any value", "nothing"),
      (#"{"a":{"$any":true}}"#, "{}", "/a", "any value", "nothing"),
      (#"{"$not":1}"#, "1.0", "", "not 1", "1.0"),
      (#"{"$anyOf":[1,2]}"#, "3", "", "any of (1, 2)", "3"),
      (#"{"$anyOf":[{"a":1}]}"#, #"{"a":2}"#, "/a", "1", "2"),
      (
        #"{"$oneOf":[1,{"$gt":0}]}"#, "1", "", "exactly one of (1, a number > 0) (2 of them match)",
        "1"
      ),
      (#"{"$oneOf":[1,2]}"#, "3", "", "exactly one of (1, 2)", "3"),
      (#"{"$gt":1,"$lt":3}"#, "3", "", "a number < 3", "3"),
      (#"{"$gt":1}"#, "\"2\"", "", "a number > 1", "\"2\""),
      (#"{"$gte":1}"#, "0.999", "", "a number ≥ 1", "0.999"),
      (#"{"$lte":1}"#, "null", "", "a number ≤ 1", "null"),
      (#"{"$approx":0.3}"#, "0.3001", "", "a number within 3e-10 of 0.3", "0.3001"),
      (#"{"$approx":0}"#, "1e-400", "", "a number within 0 of 0", "1e-400"),
      (#"{"$approx":0}"#, "-1e-99999999999", "", "a number within 0 of 0", "-1e-99999999999"),
      (
        #"{"$approx":{"value":9007199254740992,"tolerance":0}}"#, "9007199254740993", "",
        "a number within 0 of 9007199254740992", "9007199254740993"
      ),
      (
        #"{"$approx":{"value":9007199254740992,"tolerance":0.5}}"#, "9007199254740993", "",
        "a number within 0.5 of 9007199254740992", "9007199254740993"
      ),
      (
        #"{"$approx":{"value":0.3,"tolerance":0.1}}"#, "0.4000000000000000001", "",
        "a number within 0.1 of 0.3", "0.4000000000000000001"
      ),
      (#"{"$approx":1e9}"#, "1000000001.1", "", "a number within 1 of 1000000000", "1000000001.1"),
      (#"{"$regex":"^a"}"#, #""ba""#, "", "a text in which /^a/ is found", #""ba""#),
      (#"{"$regex":"1"}"#, "1", "", "a text in which /1/ is found", "1"),
      (#"{"$glob":"a*"}"#, #""ba""#, "", "a text like “a*”", #""ba""#),
      (#"{"$ignoreCase":"a"}"#, #""b""#, "", #""a" in any case"#, #""b""#),
      (#"{"$contains":"x"}"#, #""abc""#, "", #"something that contains "x""#, #""abc""#),
      (
        #"{"$contains":{"$gt":1}}"#, #""abc""#, "", "something that contains a number > 1",
        #""abc""#
      ),
      (#"{"$contains":"x"}"#, #"{"x":1}"#, "", #"something that contains "x""#, #"{"x":1}"#),
      (#"{"$contains":1}"#, "[2]", "", "something that contains 1", "[2]"),
      (#"{"$length":2}"#, #""abc""#, "", "a length of 2", #"length 3: "abc""#),
      (#"{"$length":1}"#, "5", "", "a length of 1", "5"),
      (#"{"$type":["string","null"]}"#, "1", "", "a value of type string or null", "1"),
      (#"{"$type":"integer"}"#, "1.5", "", "a value of type integer", "1.5"),
      (
        #"{"a":{"$schema":{"properties":{"b":{"type":"string"}}}}}"#, #"{"a":{"b":1}}"#, "/a/b",
        "by the schema's “type”: expected string, found 1", "1"
      ),
      (#"{"$exact":{"a":1}}"#, #"{"a":1,"b":2}"#, "/b", "no such key", "2"),
      (#"{"$exact":{"a":{"b":1}}}"#, #"{"a":{"b":1,"c":{}}}"#, "/a/c", "no such key", "{}"),
      (#"{"$exact":{"a":1,"b":2}}"#, #"{"a":1}"#, "/b", "2", "nothing"),
      (#"{"$subsetOf":{"a":1}}"#, #"{"b":1}"#, "/b", "no such key", "1"),
      (#"{"$subsetOf":{"a":{"b":1}}}"#, #"{"a":{"b":1,"c":2}}"#, "/a/c", "no such key", "2"),
      (#"{"$subsetOf":{"a":1}}"#, "[]", "", "an object", "[]"),
      (#"{"$literal":{"$gt":1}}"#, "2", "", #"an object with "$gt": 1"#, "2"),
    ])
  func mismatches(
    matcher: String, value: String, pointer: String, expected: String, actual: String
  ) throws {
    let compiled = try Matcher(compiling: json(matcher))
    let path = try #require(JSONPointer(pointer))
    #expect(
      compiled.match(try json(value))
        == .mismatch(Mismatch(pointer: path, expected: expected, actual: actual)))
    #expect(compiled.matches(try json(value)) == false)
  }

  @Test(
    "a matcher that is none says why and where",
    arguments: [
      (#"{"$regx":"a"}"#, "/$regx", .unknownOperator("$regx", nearest: "$regex")),
      (#"{"a":[{"$foo":1}]}"#, "/a/0/$foo", .unknownOperator("$foo", nearest: nil)),
      (#"{"$":1}"#, "/$", .unknownOperator("$", nearest: nil)),
      (#"{"$gt":1,"a":2}"#, "/$gt", .mixedKeys(operator: "$gt", key: "a")),
      (#"{"a":{"$from":"x"}}"#, "/a/$from", .misplaced(operator: "$from")),
      (#"{"$any":false}"#, "/$any", .badOperand(operator: "$any", needs: "true")),
      (#"{"$absent":1}"#, "/$absent", .badOperand(operator: "$absent", needs: "true or false")),
      (
        #"{"$anyOf":[]}"#, "/$anyOf",
        .badOperand(operator: "$anyOf", needs: "a list of at least one matcher")
      ),
      (
        #"{"$oneOf":1}"#, "/$oneOf",
        .badOperand(operator: "$oneOf", needs: "a list of at least one matcher")
      ),
      (#"{"$gt":"1"}"#, "/$gt", .badOperand(operator: "$gt", needs: "a number")),
      (#"{"$glob":1}"#, "/$glob", .badOperand(operator: "$glob", needs: "a string")),
      (
        #"{"$length":-1}"#, "/$length",
        .badOperand(operator: "$length", needs: "a whole number, or a matcher for one")
      ),
      (
        #"{"$length":1.5}"#, "/$length",
        .badOperand(operator: "$length", needs: "a whole number, or a matcher for one")
      ),
      (#"{"$subsetOf":[]}"#, "/$subsetOf", .badOperand(operator: "$subsetOf", needs: "an object")),
      (
        #"{"$regex":"a("}"#, "/$regex",
        .badPattern(operator: "$regex", PatternError(code: .unclosedGroup, offset: 1))
      ),
      (
        #"{"$glob":"["}"#, "/$glob",
        .badPattern(operator: "$glob", PatternError(code: .unclosedClass, offset: 0))
      ),
      (
        #"{"$type":"int"}"#, "/$type",
        .badOperand(
          operator: "$type",
          needs: "one or more of null, boolean, integer, number, string, array, object")
      ),
      (#"{"$not":{"$gtt":1}}"#, "/$not/$gtt", .unknownOperator("$gtt", nearest: "$gt")),
      (
        #"{"$subsetOf":{"a":{"$gtt":1}}}"#, "/$subsetOf/a/$gtt",
        .unknownOperator("$gtt", nearest: "$gt")
      ),
    ] as [(String, String, MatcherError.Code)])
  func bad(matcher: String, pointer: String, code: MatcherError.Code) throws {
    let expected = MatcherError(code: code, pointer: try #require(JSONPointer(pointer)))
    #expect(throws: expected) { try Matcher(compiling: json(matcher)) }
    #expect(!expected.description.isEmpty)
  }

  @Test(
    "a matcher that asks of a value what no value can be all at once is refused, and where is said",
    arguments: [
      (#"{"$gte":10,"$lte":5}"#, ""), (#"{"a":{"$gt":1,"$lt":1.0}}"#, "/a"),
      (#"{"$allOf":["a","b"]}"#, ""), (#"{"$not":{"$allOf":[1,2]}}"#, "/$not"),
      (#"{"$allOf":[{"$gt":3},2]}"#, ""), (#"{"$gt":1,"$regex":"a"}"#, ""),
      (#"{"$length":{"$gte":5,"$lte":2}}"#, "/$length"), (#"{"$length":{"$lt":0}}"#, ""),
      (#"{"$allOf":[{"$length":1},{"$length":2}]}"#, ""), (#"{"$allOf":[[1],[1,2]]}"#, ""),
      (#"{"$allOf":[{"a":1},{"a":2}]}"#, ""), (#"{"$absent":true,"$type":"string"}"#, ""),
      (#"{"$type":"string","$anyOf":[1,2]}"#, ""),
      (#"{"$anyOf":[1,{"$allOf":[true,false]}]}"#, "/$anyOf/1"),
      (#"[1,{"$subsetOf":{"a":{"$gt":2,"$lt":1}}}]"#, "/1/$subsetOf/a"),
    ])
  func contradictions(matcher: String, pointer: String) throws {
    let compiled = try Matcher(compiling: json(matcher))
    let expected = MatcherError(
      code: .contradiction, pointer: try #require(JSONPointer(pointer)))
    #expect(throws: expected) { try compiled.refuseContradictions() }
  }

  @Test(
    "a matcher that some value can meet is not refused",
    arguments: [
      #"{"$gte":5,"$lte":5.0}"#, #"{"$allOf":[1,1.0]}"#, #"{"$allOf":[{"a":1},{"b":2}]}"#,
      #"{"$anyOf":[{"$absent":true},0]}"#, #"{"$contains":"a","$type":"array"}"#,
      #"{"$length":0}"#, #"{"$allOf":[{"$not":1},{"$not":2}]}"#, #"{"$absent":true,"$not":1}"#,
      #"{"$exact":{"$gt":2,"$lt":1}}"#, #"{"$subsetOf":{"a":{"b":{"$gt":2,"$lt":1}}}}"#,
      #"{"$allOf":["a",{"$glob":"a*"}]}"#, #"{"$type":["string","null"],"$anyOf":[null,1]}"#,
    ])
  func noContradictions(matcher: String) throws {
    let compiled = try Matcher(compiling: json(matcher))
    #expect(throws: Never.self) { try compiled.refuseContradictions() }
  }

  @Test("a bad schema within a matcher is named by its place in the matcher")
  func badSchema() throws {
    let error = #expect(throws: MatcherError.self) {
      try Matcher(compiling: json(#"{"a":{"$schema":{"properties":{"b":{"type":"strin"}}}}}"#))
    }
    #expect(error?.pointer.description == "/a/$schema/properties/b/type")
  }

  @Test("a matcher nested deeper than the limit is an error, as is one with too many parts")
  func limits() throws {
    func nested(_ depth: Int) throws -> JSONValue {
      try JSONValue(
        parsing: String(repeating: #"{"a":"#, count: depth) + "1"
          + String(repeating: "}", count: depth),
        options: .init(depthLimit: 1000))
    }
    #expect(throws: Never.self) { try Matcher(compiling: nested(128)) }
    for matcher in [try nested(129), ["$exact": try nested(128)], ["$literal": try nested(128)]] {
      let error = #expect(throws: MatcherError.self) { try Matcher(compiling: matcher) }
      #expect(error?.code == .tooDeep(limit: 128))
    }
    let wide = JSONValue.array(Array(repeating: 1, count: Matcher.sizeLimit))
    let error = #expect(throws: MatcherError.self) { try Matcher(compiling: wide) }
    #expect(error?.code == .tooLarge(limit: Matcher.sizeLimit))
  }

  // MARK: Three answers

  private static let lost = JSONValue.lost("12/a")
  private static let cut = JSONValue.cut(bytes: 5000, head: "abc")
  /// Of an import: what stands there of a value that was cut, or nothing of it.
  private static let opening = JSONValue.cut(bytes: 3, head: "abc")
  private static let nothing = JSONValue.cut(bytes: 0, head: "")
  private static let token = "«redacted:email:0a1b2c»"

  @Test(
    "where the answer depends on a value that is not there, it is unverifiable",
    arguments: [
      (#""x""#, lost, .lost), ("1", lost, .lost), (#"{"a":1}"#, lost, .lost), ("[1]", cut, .cut),
      ("1", cut, .cut), (#"{"$regex":"a"}"#, cut, .cut), (#"{"$gt":1}"#, lost, .lost),
      (#"{"$type":"string"}"#, lost, .lost), (#"{"$length":1}"#, cut, .cut),
      (#"{"$contains":"a"}"#, lost, .lost), (#"{"$contains":1}"#, [2, lost], .lost),
      (#"{"$exact":{"a":1}}"#, lost, .lost), (#"{"$exact":{"a":{}}}"#, ["a": lost], .lost),
      (#"{"a":1,"b":2}"#, ["a": lost, "b": 2], .lost), ("[1,2]", [1, lost], .lost),
      (#"{"$not":"x"}"#, lost, .lost), (#"{"$not":{"$not":"x"}}"#, lost, .lost),
      (#"{"$anyOf":["x","y"]}"#, lost, .lost),
      (#"{"$anyOf":[{"a":1},{"b":1}]}"#, ["a": lost], .lost),
      (#"{"$oneOf":[{"a":1},{"b":1}]}"#, ["a": lost, "b": 1], .lost),
      (#"{"$allOf":[{"a":1},{"b":1}]}"#, ["a": lost, "b": 1], .lost),
      (#"{"$subsetOf":{"a":1}}"#, ["a": lost], .lost),
      (#"{"$schema":{"type":"string"}}"#, lost, .lost),
      (#"{"$schema":{"properties":{"a":{"enum":[1]}}}}"#, ["a": cut], .cut),
      (#""abcdef""#, opening, .cut), (#""abc""#, opening, .cut), (#""x""#, nothing, .cut),
      (#"{"a":1}"#, nothing, .cut), (#"{"$type":"string"}"#, nothing, .cut),
      (#"{"$type":"object"}"#, opening, .cut), (#"{"$length":3}"#, opening, .cut),
      (#""me@x.org""#, .string(token), .withheld),
      (#""to me@x.org!""#, .string("to \(token)!"), .withheld),
      (#"{"$regex":"^[^@]*$"}"#, .string(token), .withheld),
      (#"{"$contains":"@"}"#, .string(token), .withheld),
      (#"{"$length":3}"#, .string(token), .withheld),
      (#"{"$gt":3}"#, .string(token), .withheld), ("3", .string(token), .withheld),
      ("true", .string(token), .withheld), (#"{"a":1}"#, .string(token), .withheld),
      ("[1]", .string(token), .withheld),
      (#"{"$glob":"*"}"#, .string(token), .withheld),
      (#"{"$ignoreCase":"x"}"#, .string(token), .withheld),
      (#"{"$not":{"$contains":"@"}}"#, .string(token), .withheld),
      (#"{"$type":"string"}"#, .string(token), .withheld),
      (#"{"$not":{"$type":"object"}}"#, .string(token), .withheld),
    ] as [(String, JSONValue, Unverifiable.Reason)])
  func unverifiable(matcher: String, value: JSONValue, reason: Unverifiable.Reason) throws {
    let compiled = try Matcher(compiling: json(matcher))
    guard case .unverifiable(let why) = compiled.match(value) else {
      Issue.record("\(compiled.match(value))")
      return
    }
    #expect(why.reason == reason)
    #expect(compiled.matches(value) == nil)
  }

  @Test(
    "a value of which a part is hidden is equal to none for certain, and to whatever it may be perhaps"
  )
  func hiddenEquality() {
    let whole: [JSONValue] = ["abcdef", "x", ["a": 1], [1], 1, .null, true]
    for open in [Self.lost, Self.opening, Self.nothing] {
      for other in whole + [Self.lost, Self.cut, Self.opening, Self.nothing] {
        for (one, two) in [(open, other), (["v": open], ["v": other]), ([1, open], [1, other])]
          as [(JSONValue, JSONValue)]
        {
          #expect(Withheld.equality(of: one, two) == .unknown, "\(one) and \(two)")
          #expect(Withheld.equality(of: two, one) == .unknown, "\(two) and \(one)")
        }
      }
    }
    // One that says how long it was is none of another length.
    for other in whole {
      #expect(Withheld.equality(of: Self.cut, other) == .no)
      #expect(Withheld.equality(of: other, Self.cut) == .no)
    }
    let long = JSONValue.string(String(repeating: "a", count: 4_998))
    #expect(Withheld.equality(of: .cut(bytes: 5_000, head: "aaa"), long) == .unknown)
  }

  @Test(
    "where the answer does not depend on what is missing, there is one",
    arguments: [
      (#"{"$any":true}"#, lost, true), (#"{"$absent":true}"#, lost, false),
      (#"{"$absent":false}"#, cut, true),
      (#"{"a":1}"#, ["a": 1, "b": lost], true), (#"{"a":1,"b":2}"#, ["a": lost, "b": 3], false),
      (#"{"a":1,"b":2}"#, ["a": 5, "b": lost], false), ("[1,2]", [lost, 3], false),
      ("[1]", [lost, lost], false),
      (#"{"$contains":2}"#, [lost, 2], true),
      (#"{"$anyOf":[{"a":1},{"b":1}]}"#, ["a": lost, "b": 1], true),
      (#"{"$oneOf":[{"a":1},{"b":1},{"c":1}]}"#, ["a": lost, "b": 1, "c": 1], false),
      (#"{"$length":2}"#, [lost, 1], true), (#""short""#, cut, false),
      (#"{"$exact":{"a":1}}"#, ["b": lost], false),
      (#"{"$exact":{"a":1,"b":2}}"#, ["a": lost], false),
      (#"{"$subsetOf":{"a":1}}"#, ["b": lost], false),
      (#"{"$schema":{"required":["x"]}}"#, ["a": lost], false),
      (#"{"$schema":{"required":["a"]}}"#, ["a": lost], true),
      (#"{"$type":"string"}"#, .string("to \(token)"), true),
      (#""x""#, .string("to \(token)"), false),
      (#"{"$contains":"to "}"#, .string("to \(token)"), true),
      (#"{"$literal":"\#(token)"}"#, .string(token), true),
      (#""plain""#, .string("«redacted:»"), false),
      (#"{"$contains":"bc"}"#, .bytes([0xff, 0x62, 0x63]), true),
      (#""bc""#, .bytes([0x62, 0x63]), false), (#"{"$type":"string"}"#, .bytes([0x62]), false),
    ] as [(String, JSONValue, Bool)])
  func verifiable(matcher: String, value: JSONValue, expected: Bool) throws {
    #expect(try Matcher(compiling: json(matcher)).matches(value) == expected)
  }

  @Test(
    "an absent value is a value of its own",
    arguments: [
      (#"{"$absent":true}"#, true), ("1", false), (#"{"$any":true}"#, false),
      (#"{"$not":1}"#, true),
      (#"{"$schema":true}"#, false),
    ])
  func absent(matcher: String, expected: Bool) throws {
    #expect(try Matcher(compiling: json(matcher)).matches(nil) == expected)
  }

  @Test("an explanation stays short whatever the value and the matcher are")
  func shortExplanations() throws {
    let long = JSONValue.string(String(repeating: "é", count: 1_000_000))
    let many = JSONValue.array(Array(repeating: long, count: 30))
    for value in [long, many, ["a": many, "b": many]] {
      for matcher in ["1", #"{"$type":"null"}"#, #"{"$contains":5}"#] {
        guard case .mismatch(let mismatch) = try Matcher(compiling: json(matcher)).match(value)
        else {
          Issue.record("a match")
          continue
        }
        #expect(mismatch.actual.utf8.count < 400)
      }
    }
    let matcher = try Matcher(compiling: ["$anyOf": .array(Array(repeating: long, count: 50))])
    guard case .mismatch(let mismatch) = matcher.match(1) else { return }
    #expect(mismatch.expected.utf8.count < 400)
  }

  @Test("a match that takes too many steps is given up as unverifiable, in time")
  func stepLimit() throws {
    // 300 nested searches through arrays: more than any budget if each level were searched anew.
    var matcher: JSONValue = 1
    var value: JSONValue = 0
    for _ in 0..<40 {
      matcher = ["$contains": matcher]
      value = [value, value, value]
    }
    let compiled = try Matcher(compiling: matcher)
    #expect(
      compiled.match(value)
        == .unverifiable(Unverifiable(reason: .limit, pointer: JSONPointer()))
        || compiled.matches(value) == nil)
  }
}
