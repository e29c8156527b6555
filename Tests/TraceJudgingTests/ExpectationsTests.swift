import AgentTrace
import Testing
import TraceJudging
import TraceMatching

@Suite("Expectations as they are written")
struct ExpectationsTests {
  @Test(
    "a mistake is told with its place, and all mistakes at once",
    arguments: [
      ("[]", [""]), ("{}", [""]), (#"{"order":"any"}"#, [""]),
      (#"{"order":"in_order"}"#, ["/order"]),
      (#"{"stopReasn":"success"}"#, ["/stopReasn"]), (#"{"stopReason":"sucess"}"#, ["/stopReason"]),
      (#"{"stopReason":["success","x"]}"#, ["/stopReason/1"]),
      (#"{"stopReason":[]}"#, ["/stopReason"]),
      (#"{"stopReason":1}"#, ["/stopReason"]), (#"{"toolsCalled":"a"}"#, ["/toolsCalled"]),
      (#"{"toolsCalled":[]}"#, ["/toolsCalled"]),
      (#"{"toolsCalled":[],"order":"in_order"}"#, ["/toolsCalled"]),
      (#"{"toolsNotCalled":[]}"#, ["/toolsNotCalled"]),
      (#"{"noRepeatedSideEffect":"yes"}"#, ["/noRepeatedSideEffect"]),
      (#"{"noRepeatedSideEffect":"On"}"#, ["/noRepeatedSideEffect"]),
      (#"{"noRepeatedSideEffect":"true"}"#, ["/noRepeatedSideEffect"]),
      (#"{"toolsProposed":[],"order":"exact"}"#, ["/toolsProposed"]),
      (
        #"{"toolsCalled":[1,{"input":{}},{"tool":"["},{"tool":5}]}"#,
        ["/toolsCalled/0", "/toolsCalled/1", "/toolsCalled/2/tool", "/toolsCalled/3/tool"]
      ),
      (#"{"toolsCalled":[{"tool":"a","inptu":{}}]}"#, ["/toolsCalled/0/inptu"]),
      (#"{"toolsCalled":["["]}"#, ["/toolsCalled/0"]),
      (
        #"{"toolsCalled":[{"tool":"a","input":{"b":{"$regx":"x"}}}]}"#,
        ["/toolsCalled/0/input/b/$regx"]
      ),
      (
        #"{"toolsCalled":[{"tool":"a","input":{"b":{"$regex":"("}}}]}"#,
        ["/toolsCalled/0/input/b/$regex"]
      ),
      (#"{"toolsCalled":[{"tool":"a","result":{"$from":1}}]}"#, ["/toolsCalled/0/result/$from"]),
      (#"{"toolsCalled":[{"tool":"a","status":"done"}]}"#, ["/toolsCalled/0/status"]),
      (#"{"toolsCalled":[{"tool":"a","status":"refused"}]}"#, ["/toolsCalled/0/status"]),
      (#"{"toolsCalled":[{"tool":"a","times":-1}]}"#, ["/toolsCalled/0/times"]),
      (
        #"{"toolsCalled":[{"tool":"a","input":{"x":1},"defaults":{"ab":1,"c":2},"ignore":["a*"]}]}"#,
        ["/toolsCalled/0/defaults/ab"]
      ),
      (#"{"toolsCalled":[{"tool":"a","times":1.5}]}"#, ["/toolsCalled/0/times"]),
      (#"{"toolsCalled":[{"tool":"a","times":{}}]}"#, ["/toolsCalled/0/times"]),
      (
        #"{"toolsCalled":[{"tool":"a","times":{"mn":1}}]}"#,
        ["/toolsCalled/0/times/mn", "/toolsCalled/0/times"]
      ),
      (#"{"toolsCalled":[{"tool":"a","times":{"min":3,"max":2}}]}"#, ["/toolsCalled/0/times"]),
      (#"{"toolsCalled":[{"tool":"a","times":{"min":"1"}}]}"#, ["/toolsCalled/0/times/min"]),
      (#"{"toolsCalled":[{"tool":"a","times":{"min":0}}]}"#, ["/toolsCalled/0/times/min"]),
      (#"{"toolsNotCalled":[{"tool":"a","times":{"min":0}}]}"#, ["/toolsNotCalled/0/times/min"]),
      (
        #"{"toolsProposed":["b",{"tool":"a","times":{"min":0}}],"order":"in_order"}"#,
        ["/toolsProposed/1/times/min"]
      ),
      (
        #"{"toolsNotProposed":[{"tool":"a","times":{"min":0}}],"toolsCalled":["a"],"extra":"forbid"}"#,
        ["/toolsNotProposed/0/times/min"]
      ),
      (#"{"policy":{"given":[{"times":{"min":0}}]}}"#, ["/policy/given/0/times/min"]),
      (#"{"memory":{"read":[{"key":"k","times":{"min":0}}]}}"#, ["/memory/read/0/times/min"]),
      (#"{"tasks":{"ran":[{"task":"a","times":{"min":0}}]}}"#, ["/tasks/ran/0/times/min"]),
      (#"{"tasks":{"attempts":{"a":{"min":0}}}}"#, ["/tasks/attempts/a/min"]),
      (#"{"context":{"steps":{"min":0},"contains":"x"}}"#, ["/context/steps/min"]),
      (#"{"toolsCalled":[{"tool":"a","times":99999999999}]}"#, ["/toolsCalled/0/times"]),
      (#"{"toolsCalled":[{"tool":"a","caller":1}]}"#, ["/toolsCalled/0/caller"]),
      (#"{"time":[{"only":"*"},{"only":["a","*"]}]}"#, ["/time/0"]),
      (#"{"time":[{"only":{"stop":true},"before":"a"}]}"#, ["/time/0"]),
      (#"{"time":[{"only":{"proposed":"*"},"after":"a"}]}"#, ["/time/0"]),
      (#"{"toolsCalled":["a"],"order":"in-order"}"#, ["/order"]),
      (#"{"toolsCalled":["a"],"order":["any"]}"#, ["/order"]),
      (#"{"maxSteps":-1,"maxToolCalls":"3"}"#, ["/maxSteps", "/maxToolCalls"]),
      (#"{"maxSteps":1.5}"#, ["/maxSteps"]),
      (#"{"answer":{"$foo":1},"maxStep":1}"#, ["/maxStep", "/answer/$foo"]),
    ] as [(String, [String])])
  func mistakes(text: String, pointers: [String]) throws {
    let value = try JSONValue(parsing: text)
    let errors = #expect(throws: ExpectationErrors.self) { try Expectations(parsing: value) }
    #expect(errors?.problems.map(\.pointer.description) == pointers)
    #expect(errors?.problems.allSatisfy { !$0.message.isEmpty } == true)
  }

  @Test(
    "how often may be left open where an order or what else may be called gives it a meaning",
    arguments: [
      #"{"toolsCalled":[{"tool":"a","times":{"min":0}}],"order":"exact"}"#,
      #"{"toolsCalled":[{"tool":"a","times":{"min":0}}],"extra":"forbid"}"#,
      #"{"toolsCalled":[{"tool":"a","times":{"min":0}},{"tool":"a","times":1}],"order":"in_order"}"#,
      #"{"toolsCalled":[{"tool":"a","times":{"min":0,"max":2}}]}"#,
      #"{"toolsCalled":[{"tool":"a","times":0}]}"#,
    ])
  func openNumbers(text: String) throws {
    #expect(throws: Never.self) { try Expectations(parsing: JSONValue(parsing: text)) }
  }

  @Test(
    "a misspelt word names the nearest right one",
    arguments: [
      (#"{"toolCalled":["a"]}"#, "did you mean “toolsCalled”?"),
      (#"{"stopReason":"aproval_required"}"#, "did you mean “approval_required”?"),
      (#"{"toolsCalled":["a"],"order":"inorder"}"#, "did you mean “in_order”?"),
      (#"{"answer":{"$contians":"x"}}"#, "did you mean “$contains”?"),
      (#"{"toolsCalled":[{"tool":"a","staus":"ok"}]}"#, "did you mean “status”?"),
    ])
  func hints(text: String, hint: String) throws {
    let value = try JSONValue(parsing: text)
    let errors = #expect(throws: ExpectationErrors.self) { try Expectations(parsing: value) }
    #expect(errors?.problems.first?.hint == hint)
  }

  @Test("too many entries are an error")
  func tooMany() {
    let entries = JSONValue(Array(repeating: "a", count: Expectations.entryLimit + 1))
    #expect(throws: ExpectationErrors.self) { try Expectations(parsing: ["toolsCalled": entries]) }
  }

  @Test(
    "what must not be is forbidden, however it is said",
    arguments: [
      (#"{"toolsNotCalled":["a"]}"#, true), (#"{"time":[{"never":"a"}]}"#, true),
      (#"{"time":[{"only":"a"}]}"#, true), (#"{"time":[{"eventually":"a"}]}"#, false),
      (#"{"policy":{"notGiven":[{"verdict":"deny"}]}}"#, true),
      (#"{"policy":{"given":[{"verdict":"deny"}]}}"#, false),
      (#"{"memory":{"notWritten":["key"]}}"#, true), (#"{"memory":{"read":["key"]}}"#, false),
      (#"{"callers":{"a":{"time":[{"never":"b"}]}}}"#, true),
      (#"{"answer":"never only notGiven"}"#, false),
    ])
  func forbids(expected: String, forbids: Bool) throws {
    #expect(try Expectations(parsing: JSONValue(parsing: expected)).forbids == forbids)
  }

  @Test("every form of every key is read")
  func everything() throws {
    let expectations = try Expectations(
      parsing: JSONValue(
        parsing: #"""
          {"stopReason":["success","blocked"],"toolsCalled":["look_*",{"tool":"draft","input":{"a":1},
          "status":"ok","result":{"b":2},"times":2,"caller":"helper"}],"toolsNotCalled":["x"],
          "toolsProposed":[{"tool":"y","status":["refused","error"],"times":{"max":3}}],
          "toolsNotProposed":["z"],"order":"in_order","maxSteps":5,"maxToolCalls":0,"answer":"hi"}
          """#))
    #expect(expectations.stopReasons == [.success, .blocked])
    let called = try #require(expectations.toolsCalled)
    #expect(called[0] == CallEntry(tool: try Glob("look_*")))
    #expect(called[1].statuses == [.ok])
    #expect(called[1].times == .init(minimum: 2, maximum: 2, isRange: false))
    #expect(called[1].caller == (try Glob("helper")))
    #expect(called[1].input == (try Matcher(compiling: ["a": 1])))
    #expect(called[1].result == (try Matcher(compiling: ["b": 2])))
    #expect(expectations.toolsProposed?[0].statuses == [.refused, .error])
    #expect(expectations.toolsProposed?[0].times == .init(minimum: 0, maximum: 3))
    #expect(expectations.order == .inOrder)
    #expect(expectations.maxSteps == 5)
    #expect(expectations.maxToolCalls == 0)
    #expect(expectations.answer?.source == "hi")
    #expect(called[1].description.contains("draft with input"))
  }
}
