import AgentTrace
import Testing
import TraceImporting

struct CallRuleTests {
  @Test(
    "arguments that cannot be read make the decision invalid, and stay as they stood",
    arguments: [
      (#""{\"a\":""#, "arguments of f that are not JSON: the text ends"),
      (#""""#, "arguments of f that are not JSON: the text ends"),
      (#""{\"a\":NaN}""#, "arguments of f that are not JSON: unexpected “N” at byte 5"),
      (#""{} {}""#, "more text behind the end"),
      ("\"" + String(repeating: "[", count: 200) + "\"", "nesting deeper than 100"),
      ("null", "a call of f without arguments"),
      (#""\ud800""#, "arguments of f that are not JSON"),
    ])
  func unreadable(_ arguments: String, _ reason: String) throws {
    let file = try ImportedFile(
      #"""
      [{"role":"assistant","tool_calls":[
         {"function":{"name":"g","arguments":"{}"}},
         {"id":"1","function":{"name":"f","arguments":\#(arguments)}}]},
       {"role":"tool","content":"r1"},{"role":"tool","content":"r2"}]
      """#)
    let decision = try #require(file.data(.decision).first)
    #expect(decision["kind"] == "invalid")
    #expect(decision["reason"]?.stringValue?.contains(reason) == true, "\(decision)")
    #expect(decision["calls"]?[0]?["input"] == [:])
    let stood = file.source?[0]?["tool_calls"]?[1]?["function"]?["arguments"]
    #expect(decision["calls"]?[1]?["input"] == stood)
    #expect(file.data(.toolResult).map { $0["callId"] } == ["1.1.0", "1.1.1"])
    #expect(file.reports.first?.json["toolCalls"] == 0)
  }

  @Test(
    "a call without a name or without a function is invalid",
    arguments: [
      "{}", #"{"function":{"arguments":"{}"}}"#, #"{"function":{"name":7,"arguments":"{}"}}"#,
      #"{"function":{"name":"","arguments":"{}"}}"#, #"{"function":null}"#, #"{"function":"f"}"#,
    ])
  func nameless(_ call: String) throws {
    let file = try ImportedFile(#"[{"role":"assistant","tool_calls":[\#(call)]}]"#)
    #expect(file.data(.decision).first?["reason"] == "a call without a name")
  }

  @Test(
    "arguments that are any JSON value are the input",
    arguments: [
      (#""{\"a\": 1.50}""#, #"{"a":1.50}"#), (#"{"a":1.50}"#, #"{"a":1.50}"#), (#""[1]""#, "[1]"),
      ("[1]", "[1]"), ("7", "7"), (#""7""#, "7"), (#""\"x\"""#, #""x""#), (#""null""#, "null"),
    ])
  func readable(_ arguments: String, _ input: String) throws {
    let file = try ImportedFile(
      #"[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":\#(arguments)}}]}]"#)
    #expect(file.data(.decision).first?["kind"] == "tool")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == (try JSONValue(parsing: input)))
  }

  @Test("keys that stand twice in arguments are kept as the text they were")
  func duplicateKeys() throws {
    let file = try ImportedFile(
      #"[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1,\"a\":2}"}}]}]"#
    )
    #expect(
      file.data(.decision).first?["calls"]?[0]?["input"] == .bytes(Array(#"{"a":1,"a":2}"#.utf8)))
  }

  @Test("the older function_call and its result are a call like any other")
  func functionCall() throws {
    let file = try ImportedFile(
      #"""
      [{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},
       {"role":"function","name":"f","content":"r"}]
      """#)
    #expect(file.data(.decision).first?["calls"]?[0]?["name"] == "f")
    #expect(file.data(.toolResult).first?["callId"] == "1.1.0")
    #expect(file.data(.toolResult).first?["tool"] == "f")
  }

  @Test(
    "results belong to calls by position, unless an id says clearly otherwise",
    arguments: [
      // Ids of the calls, ids that the results name, the calls they belong to.
      (["a", "b"], ["a", "b"], ["1.1.0", "1.1.1"]),
      ([nil, nil], [nil, nil], ["1.1.0", "1.1.1"]),
      (["a", "b"], [nil, nil], ["1.1.0", "1.1.1"]),
      ([nil, nil], ["a", "b"], ["1.1.0", "1.1.1"]),
      (["a", "a"], ["a", "a"], ["1.1.0", "1.1.1"]),
      (["a", "b"], ["x", "y"], ["1.1.0", "1.1.1"]),
      (["a", "b"], ["b", "a"], ["1.1.1", "1.1.0"]),
      (["a", "b"], ["b", "x"], ["1.1.1", "1.1.0"]),
      (["a", "b", "c"], ["b", nil, "c"], ["1.1.1", "1.1.0", "1.1.2"]),
      (["a", "b"], ["a", "a"], ["1.1.0", "1.1.1"]),
      (["a", "a", "b"], ["b", "a", "a"], ["1.1.2", "1.1.0", "1.1.1"]),
      (["a"], ["a", "a"], ["1.1.0", "unmatched.1"]),
      (["a"], [nil, nil, nil], ["1.1.0", "unmatched.1", "unmatched.2"]),
      (["é"], ["e\u{301}"], ["1.1.0"]),
    ] as [([String?], [String?], [String])])
  func pairing(_ calls: [String?], _ results: [String?], _ expected: [String]) throws {
    func id(_ key: String, _ id: String?) -> String { id.map { "\"\(key)\":\"\($0)\"," } ?? "" }
    let calls = calls.map { #"{\#(id("id", $0))"function":{"name":"f","arguments":"{}"}}"# }
    let results = results.map { #"{"role":"tool",\#(id("tool_call_id", $0))"content":"r"}"# }
    let file = try ImportedFile(
      #"[{"role":"assistant","tool_calls":[\#(calls.joined(separator: ","))]},\#(results.joined(separator: ","))]"#
    )
    #expect(file.data(.toolResult).map { $0["callId"]?.stringValue } == expected)
    #expect(file.reports.first?.json["messages"] == JSONValue(results.count + 1))
  }

  @Test("a result before any call, and one behind a reply that called nothing, are kept")
  func toolFirst() throws {
    let file = try ImportedFile(
      #"""
      [{"role":"tool","name":"early","content":"r"},{"role":"assistant","content":"hm"},
       {"role":"tool","tool_call_id":"x","content":"s"},{"role":"assistant","content":"ok"}]
      """#)
    #expect(file.data(.toolResult).map { $0["callId"] } == ["unmatched.1", "unmatched.2"])
    #expect(file.data(.toolResult).map { $0["tool"] } == ["early", ""])
    #expect(file.outline.prefix(2) == ["0 run_started", "0 tool_result"])
    #expect(file.stop == "success final_answer")
  }

  @Test("ids of any size are kept, and repeated ones of later turns do not matter")
  func ids() throws {
    let id = String(repeating: "i", count: 100_000)
    let turn = #"""
      {"role":"assistant","tool_calls":[{"id":"\#(id)","function":{"name":"f","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"\#(id)","content":"r"}
      """#
    let file = try ImportedFile("[\(turn),\(turn)]")
    #expect(file.data(.toolResult).map { $0["callId"] } == ["1.1.0", "2.1.0"])
    #expect(file.data(.decision).last?["calls"]?[0]?["providerCallId"]?.stringValue == id)
  }

  @Test(
    "the tools channel is partial where a call has no result, unless the format says that the run ended",
    arguments: [
      (["call"], "partial"), (["call", "result"], nil), (["call", "user"], "partial"),
      (["call", "call"], "partial"), (["call", "call", "result"], "partial"),
      (["call", "text"], "partial"), (["call", "result", "call"], "partial"),
    ] as [([String], String?)])
  func missingResults(_ messages: [String], _ expected: String?) throws {
    let words = [
      "call":
        #"{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}"#,
      "result": #"{"role":"tool","content":"r"}"#, "user": #"{"role":"user","content":"u"}"#,
      "text": #"{"role":"assistant","content":"t"}"#,
    ]
    let file = try ImportedFile("[\(messages.compactMap { words[$0] }.joined(separator: ","))]")
    #expect(file.data(.runStarted).first?["recorded"]?["tools"]?.stringValue == expected)
    let benchmark = try ImportedFile(
      #"{"traj":[\#(messages.compactMap { words[$0] }.joined(separator: ","))]}"#)
    #expect(
      benchmark.data(.runStarted).first?["recorded"]?["tools"]?.stringValue
        == (messages == ["call"] || messages == ["call", "result", "call"] ? nil : expected))
  }
}
