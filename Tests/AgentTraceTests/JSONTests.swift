import AgentTrace
import Testing

@Suite("JSON values and their canonical form")
struct JSONTests {
  @Test(
    "text that is no JSON is an error that names the byte",
    arguments: [
      ("", 0), ("{", 1), ("[1,", 3), ("[1,]", 3), ("{\"a\"}", 4), ("{\"a\":}", 5), ("{,}", 1),
      ("tru", 3), ("nul", 3), ("01", 0), ("-", 1), ("1.", 2), ("1e", 2), ("+1", 0), (".5", 0),
      ("\"a", 2), ("\"\\x\"", 2), ("\"\\u12\"", 5), ("\"\u{1}\"", 1), ("1 2", 2), ("NaN", 0),
      ("[1}", 2), ("{\"a\":1]", 6), ("'a'", 0), ("{a:1}", 1),
    ])
  func malformed(text: String, offset: Int) {
    #expect {
      try JSONValue(parsing: text)
    } throws: { error in
      (error as? JSONError)?.offset == offset
    }
  }

  @Test(
    "numbers of one exact decimal value have one form",
    arguments: [
      ("5", ["5", "5.0", "0.5e1", "50e-1", "5e0", "5.00E+0"]), ("0", ["0", "-0", "0.000", "0e99"]),
      ("-0.00001", ["-0.00001", "-1e-5", "-0.1E-4"]), ("100", ["1e2", "100", "100.0"]),
      ("9007199254740993", ["9007199254740993", "9007199254740993.0", "9.007199254740993e15"]),
      ("9007199254740992", ["9007199254740992", "9007199254740992e0"]),
      ("1.5", ["1.5", "1.50", "15e-1"]), ("1e-400", ["1e-400", "0.1e-399"]),
      ("1e+400", ["1e400", "10e399", "1E+400"]), ("0.1", ["0.1", "0.10", "1e-1"]),
      ("1.0000000000000000001", ["1.0000000000000000001", "10000000000000000001e-19"]),
      ("123456789012345678901", ["123456789012345678901", "1.23456789012345678901e20"]),
      ("1e+21", ["1000000000000000000000", "1e21"]), ("1e-7", ["0.0000001", "1E-7"]),
    ])
  func valueForms(form: String, tokens: [String]) throws {
    for token in tokens {
      let number = try #require(JSONNumber(token: token))
      #expect(number.byValue.token == form, "\(token)")
      #expect(number.byValue.byValue == number.byValue)
      let value: JSONValue = ["a": [.number(number), "5.0", .null], "b": .number(number)]
      let expected = JSONNumber(token: form).map(JSONValue.number) ?? .null
      #expect(value.byValue == ["a": [expected, "5.0", .null], "b": expected])
      let calls = [JSONValue.number(number), expected].map {
        ProposedCall(callId: "1.1.0", name: "pay", input: ["amount": $0])
      }
      #expect(calls[0].actionId == calls[1].actionId)
    }
    // What a double would print is what it is compared as.
    if let value = Double(form), value.isFinite, value != 0, form.utf8.count < 16 {
      #expect(JSONNumber(value)?.token == form)
    }
  }

  @Test(
    "what a log must not hold is refused there and kept as bytes from foreign files",
    arguments: [
      #"{"a":1,"a":2}"#, #""\ud800""#, #""\udc00x""#, #"{"\ud800":1}"#, #""\ud800\u0041""#,
    ])
  func foreignText(text: String) throws {
    #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    let kept = try JSONValue(parsing: text, options: .init(keepsForeignText: true))
    guard case .bytes = kept else {
      Issue.record("\(text) became \(kept)")
      return
    }
  }

  @Test("invalid UTF-8 is refused, and kept as bytes from foreign files")
  func invalidUTF8() throws {
    let text: [UInt8] = [0x22, 0xff, 0x61, 0x22]
    #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    let kept = try JSONValue(parsing: text, options: .init(keepsForeignText: true))
    #expect(kept == .bytes([0xff, 0x61]))
  }

  @Test("a lone surrogate is kept as its WTF-8")
  func loneSurrogate() throws {
    let kept = try JSONValue(parsing: #""a\ud800b""#, options: .init(keepsForeignText: true))
    #expect(kept == .bytes([0x61, 0xed, 0xa0, 0x80, 0x62]))
  }

  @Test("nesting is bounded, one level inside the limit and one beyond", arguments: [1, 5, 128])
  func depth(limit: Int) throws {
    let deepest = String(repeating: "[", count: limit) + String(repeating: "]", count: limit)
    let options = JSONValue.ParseOptions(depthLimit: limit)
    #expect(try JSONValue(parsing: deepest, options: options).depth == limit)
    #expect(throws: JSONError(code: .tooDeep(limit: limit), offset: limit)) {
      try JSONValue(parsing: "[\(deepest)]", options: options)
    }
  }

  @Test("a million open brackets end in an error, not in a crash")
  func deepBomb() {
    let bomb = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
    #expect(throws: JSONError.self) { try JSONValue(parsing: bomb) }
  }

  @Test(
    "canonical text reads back as itself",
    arguments: [
      "null", "true", "false", "0", "-0", "1.0", "1e5", "1E+05", "123456789012345678901234567890",
      #""""#, #""\"\\\b\t\n\f\r\u0000\u001f/é😀\u007f""#, "[]", "{}", "[[],{},[1,2]]",
      #"{"":0,"a":{"b":[null]},"é":1,"😀":2}"#,
    ])
  func roundTrip(text: String) throws {
    let text = text.replacing("\\u007f", with: "\u{7f}")
    #expect(CanonicalJSON.string(try JSONValue(parsing: text)) == text)
  }

  @Test("strings with escapes read the same the short way and the long one")
  func escapes() throws {
    var generator = SeededGenerator(seed: 11)
    let pieces = [
      "a", "some plain text that is longer than sixteen bytes, and goes on", "\\n", "\\\"", "\\\\",
      "\\/",
      "\\t", "\\b", "\\f", "\\r", " ", "\\u0041", "é",
    ]
    for round in 0..<2_000 {
      let count = round % 12
      // The last two take the long way.
      let text = (0..<count).map { _ in
        pieces[Int(generator.next() % UInt64(pieces.count - (round % 3 == 0 ? 0 : 2)))]
      }.joined()
      let short = try #require(JSONValue(parsing: "\"\(text)\"").stringValue)
      let long = try #require(JSONValue(parsing: "\"\(text)\\u0001\"").stringValue)
      #expect(long == short + "\u{1}", "\(text)")
      #expect(try JSONValue(parsing: CanonicalJSON.encode(.string(short))) == .string(short))
    }
    for text in ["\"a\\", "\"\\n", "\"\\n\\", "\"\\x\"", "\"\\n\u{1}\""] {
      #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    }
  }

  @Test("commas in a text behind an array's first thousands ask for no room beyond a bound")
  func longTextInArray() throws {
    let zeros = String(repeating: "0,", count: 5_000)
    let text = String(repeating: ",", count: 9 << 20)
    let value = try JSONValue(parsing: "[\(zeros)\"\(text)\",1]")
    let elements = try #require(value.arrayValue)
    #expect(elements.count == 5_002 && elements.capacity < 9 << 20)
    #expect(elements[5_000].stringValue?.utf8.count == 9 << 20 && elements[5_001] == 1)
  }

  @Test("a long array reads as it is written, whatever stands behind its first thousands")
  func longArrays() throws {
    let zeros = [String](repeating: "0", count: 5_000)
    let ends = [#""],,[""#, "[1,2]", #"{"a":[],"b":1}"#, "7", "[]"]
    for text in [
      zeros, zeros + ends, zeros + ends + zeros, [String](repeating: #"{"a":[1,2]}"#, count: 5_000),
    ] {
      let line = "[" + text.joined(separator: ",") + "]"
      let value = try JSONValue(parsing: line)
      #expect(value.arrayValue?.count == text.count)
      #expect(CanonicalJSON.encode(value) == Array(line.utf8))
    }
    #expect(throws: JSONError.self) {
      try JSONValue(parsing: "[" + zeros.joined(separator: ",") + ",")
    }
  }

  @Test("bytes are counted as they are written")
  func byteCounts() {
    var generator = SeededGenerator(seed: 12)
    func value(_ depth: Int) -> JSONValue {
      let texts = [
        "", "a", "\"\\\n\u{0}\u{1f}é😀", String(repeating: "long ", count: 20), "$same", "$x",
      ]
      let text = texts[Int(generator.next() % UInt64(texts.count))]
      switch generator.next() % (depth > 0 ? 12 : 10) {
      case 0: return .null
      case 1: return .bool(true)
      case 2: return .bool(false)
      case 3: return JSONValue(Int(truncatingIfNeeded: generator.next()))
      case 4: return JSONValue(0.1)
      case 5: return .bytes(Array(text.utf8))
      case 6: return .cut(bytes: 1_234, head: text)
      case 7: return .lost(text)
      case 8, 9: return .string(text)
      case 10: return .array((0..<Int(generator.next() % 4)).map { _ in value(depth - 1) })
      default:
        return .object(
          JSONObject(
            (0..<Int(generator.next() % 5)).map { ("\(text)\($0)", value(depth - 1)) }
              + [(text, value(depth - 1))]))
      }
    }
    for _ in 0..<2_000 {
      let value = value(4)
      #expect(CanonicalJSON.byteCount(of: value) == CanonicalJSON.encode(value).count, "\(value)")
    }
  }

  @Test("a member is found among few and among many")
  func lookUp() {
    for count in [0, 1, 2, 31, 32, 33, 100] {
      let object = JSONObject((0..<count).map { ("key \($0)", JSONValue($0)) })
      for index in 0..<count { #expect(object["key \(index)"] == JSONValue(index)) }
      for key in ["", "key", "key \(count)", "kex 1", "key 1 "] { #expect(object[key] == nil) }
    }
  }

  @Test("keys sort by UTF-8 bytes, where UTF-16 would have it the other way round")
  func keyOrder() throws {
    let value = try JSONValue(parsing: "{\"😀\":1,\"\u{fb33}\":2,\"a\":3,\"Z\":4}")
    #expect(CanonicalJSON.string(value) == "{\"Z\":4,\"a\":3,\"\u{fb33}\":2,\"😀\":1}")
  }

  @Test("strings are their bytes: equivalent spellings differ, as values and as keys")
  func equivalence() throws {
    let (composed, decomposed) = ("\u{e9}", "e\u{301}")
    #expect(composed == decomposed)
    #expect(JSONValue.string(composed) != .string(decomposed))
    let object = try JSONValue(parsing: "{\"\(composed)\":1,\"\(decomposed)\":2}")
    #expect(object[composed] == 1)
    #expect(object[decomposed] == 2)
  }

  @Test(
    "doubles print as ECMAScript prints them",
    arguments: [
      (1.0, "1"), (-0.0, "0"), (1e21, "1e+21"), (1e20, "100000000000000000000"),
      (1e-6, "0.000001"), (1e-7, "1e-7"), (Double.leastNonzeroMagnitude, "5e-324"),
      (0.1 + 0.2, "0.30000000000000004"),
      (123.456, "123.456"), (-1.5e300, "-1.5e+300"),
      (1.7976931348623157e308, "1.7976931348623157e+308"),
      (100, "100"), (0.5, "0.5"), (12_345_678_901_234_567_168, "12345678901234567000"),
    ])
  func doubles(value: Double, text: String) {
    #expect(JSONValue(value).description == text)
    #expect(Double(text) == value)
  }

  @Test("what is not finite has no number", arguments: [Double.nan, .infinity, -.infinity])
  func notFinite(value: Double) {
    #expect(JSONNumber(value) == nil)
  }

  @Test(
    "a token is a number only if all of it is",
    arguments: ["", " 1", "1 ", "1x", "--1", "1,2", "[1]"])
  func tokens(text: String) {
    #expect(JSONNumber(token: text) == nil)
  }

  @Test(
    "whole numbers are seen whatever their token",
    arguments: [
      ("2", 2), ("2.0", 2), ("2e0", 2), ("-0", 0), ("9007199254740993", 9_007_199_254_740_993),
      ("9007199254740993.0", 9_007_199_254_740_993), ("-9223372036854775808", .min),
      ("-922337203685477580.80e1", .min), ("9223372036854775807e0", .max),
      ("1E+18", 1_000_000_000_000_000_000),
      ("100e-2", 1), ("0.00e99999999999999999999", 0), ("-1.50e1", -15),
    ])
  func integers(token: String, value: Int) throws {
    #expect(try JSONValue(parsing: token).intValue == value)
  }

  @Test(
    "numbers that are no integers, or too large, have no integer, however near they are to one",
    arguments: [
      "2.5", "1e400", "1e19", "1.0000000000000000000001", "9007199254740992.5",
      "9223372036854775808", "-9223372036854775809", "1e-400", "10e-2", "9223372036854775807.5",
      "1e99999999999999999999", "1e-99999999999999999999", "0.1e0",
    ])
  func noIntegers(token: String) throws {
    #expect(try JSONValue(parsing: token).intValue == nil)
  }

  @Test(
    "a user's own reserved keys gain one $ in a log and lose it again",
    arguments: ["$same", "$$list", "$bytes", "$$$lost", "$cut"])
  func reservedKeys(key: String) {
    let escaped = key.escapingReservedKey
    #expect(escaped == "$" + key)
    #expect(escaped.unescapingReservedKey == key)
    let value = JSONValue.object(JSONObject([(key, 1)]))
    #expect(CanonicalJSON.string(value) == "{\"\(escaped)\":1}")
    #expect(CanonicalJSON.string(value, form: .plain) == "{\"\(key)\":1}")
  }

  @Test(
    "the beginning of a value is that of its canonical form, whatever its keys",
    arguments: [
      #"{"$same":1,"$l":2}"#, #"{"$$cut":{"$list":[1,"x"],"$k":2},"$z":3}"#,
      #"[{"a":"éé","b":["long",null,1.50]}]"#, #""a😀b€c😀""#, #"["ab😀😀",1,"€€€"]"#,
      #"[["é€😀"],{"😀":"😀"}]"#, #"["€","a\"😀"]"#,
    ])
  func beginnings(text: String) throws {
    let value = try JSONValue(parsing: text)
    let whole = CanonicalJSON.encode(value)
    for limit in 0...whole.count + 1 {
      let head = CanonicalJSON.prefix(of: value, limitBytes: limit)
      #expect(whole.starts(with: head.utf8))
      #expect(head.utf8.count <= limit && head.utf8.count + 4 > min(limit, whole.count))
    }
  }

  @Test(
    "other keys with a $ stay as they are",
    arguments: ["$", "$sam", "same", "$same ", "a$same", ""])
  func otherKeys(key: String) {
    #expect(key.escapingReservedKey == key)
    #expect(key.unescapingReservedKey == key)
  }

  @Test("base64 reads back at every length, and nothing else is taken for it", arguments: 0...20)
  func base64(count: Int) {
    let raw = (0..<count).map { UInt8($0 * 37 % 256) }
    var text: [UInt8] = []
    Base64.append(raw, to: &text)
    #expect(Base64.decode(String(decoding: text, as: UTF8.self)) == raw)
    #expect(Base64.decode(String(decoding: text, as: UTF8.self) + "!") == nil)
    #expect(
      count % 3 == 0 || Base64.decode(String(decoding: text.dropLast(), as: UTF8.self)) == nil)
  }

  @Test(
    "pointers lead where RFC 6901 says",
    arguments: [
      ("", #"{"a":{"b/c":[1,{"m~n":2}]}}"#), ("/a/b~1c/0", "1"), ("/a/b~1c/1/m~0n", "2"),
    ])
  func pointers(text: String, expected: String) throws {
    let value = try JSONValue(parsing: #"{"a":{"b/c":[1,{"m~n":2}]}}"#)
    let pointer = try #require(JSONPointer(text))
    #expect(pointer.description == text)
    #expect(value[pointer]?.description == expected)
  }

  @Test("pointers that are none, or lead nowhere, give nothing")
  func badPointers() throws {
    for text in ["a", "/~", "/~2"] { #expect(JSONPointer(text) == nil) }
    let value = try JSONValue(parsing: "[1]")
    for text in ["/1", "/00", "/-", "/+0", "/0/a"] {
      #expect(value[try #require(JSONPointer(text))] == nil)
    }
  }

  @Test("a value over its limit is cut with its size and a beginning that ends between scalars")
  func cutting() {
    let text = String(repeating: "é", count: 5_000)
    guard case .cut(let bytes, let head) = JSONValue.string(text).cut(toBytes: 2_001) else {
      Issue.record("not cut")
      return
    }
    #expect(bytes == 10_002)
    #expect(head == String(repeating: "é", count: 512))
    #expect(JSONValue.string(text).cut(toBytes: 10_002) == .string(text))
  }

  @Test("a value that holds more values than its place takes is cut, however short its text is")
  func cuttingMany() {
    for (limitBytes, count) in [(1 << 20, 1 << 16), (4 << 20, 1 << 17)] {
      let most = JSONValue.array(Array(repeating: 0, count: count))
      #expect(!most.isLarger(thanBytes: limitBytes))
      let more = JSONValue.array(Array(repeating: 0, count: count + 1))
      #expect(more.cut(toBytes: limitBytes).typeName == "cut")
    }
    let value: JSONValue = [
      "a": [[:], [], ["b": 1]], "c": .cut(bytes: 9, head: "x"), "d": .lost("0/a"),
    ]
    #expect(CanonicalJSON.valueCount(of: value) == 3 + 3 + 1 + 3 + 1)
  }

  @Test("hex digests read back, and nothing else is taken for one")
  func digests() {
    let digest = Digest(of: Array("abc".utf8))
    #expect(digest.hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(Digest(hex: digest.hex) == digest)
    #expect(Digest(hex: digest.hex.uppercased()) == nil)
    #expect(Digest(hex: String(digest.hex.dropLast())) == nil)
  }
}
