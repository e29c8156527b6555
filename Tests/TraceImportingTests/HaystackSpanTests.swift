import AgentTrace
import Testing
import TraceImporting

/// As Haystack's agent traces itself with its own tracer for OpenTelemetry: no span says in a word of a convention what
/// it is, and a tool that failed has no status of an error.
@Suite("Spans of Haystack")
struct HaystackSpanTests {
  private static func call(_ name: String, _ id: String, _ arguments: JSONValue) -> JSONValue {
    ["tool_call": ["tool_name": .string(name), "arguments": arguments, "id": .string(id)]]
  }

  private static func message(_ role: String, _ content: [JSONValue]) -> JSONValue {
    ["role": .string(role), "meta": [:], "name": .null, "content": .array(content)]
  }

  private static let question = message("user", [["text": "Weather?"]])
  private static let asking = message(
    "assistant", [call("weather", "c1", ["city": "Oslo"]), call("fail", "c2", ["x": 1])])
  private static let answer: JSONValue = [
    "role": "assistant", "meta": ["finish_reason": "stop"], "content": [["text": "It rains."]],
  ]

  private static func result(_ name: String, _ id: String, _ text: String, isError: Bool)
    -> JSONValue
  {
    message(
      "tool",
      [
        [
          "tool_call_result": [
            "result": .string(text), "error": .bool(isError),
            "origin": ["tool_name": .string(name), "arguments": [:], "id": .string(id)],
          ]
        ]
      ])
  }

  private static let shown = [
    question, asking, result("weather", "c1", "rain", isError: false),
    result("fail", "c2", "boom", isError: true),
  ]

  /// - Parameter hasContent: whether what was said is traced too.
  private static func run(hasContent: Bool = true) -> SpanSource {
    var source = SpanSource()
    func content(_ attributes: JSONObject) -> JSONObject { hasContent ? attributes : [:] }
    func text(_ key: String, _ value: JSONValue) -> JSONValue { SpanSource.text([key: value]) }
    source.add(
      "a1", under: nil, "haystack.agent.run", 0...100,
      content([
        "haystack.agent.input": text("messages", [question]),
        "haystack.agent.output": text("messages", .array(shown + [answer])),
      ]))
    source.add("b1", under: "a1", "haystack.agent.step", 5...50, ["haystack.agent.step": 0])
    source.add(
      "b2", under: "b1", "haystack.agent.step.llm", 10...20,
      content([
        "haystack.agent.step.llm.input": text("messages", [question]),
        "haystack.agent.step.llm.output": text("replies", [asking]),
      ]))
    var weather = content([
      "haystack.agent.step.tool.input": "{\"city\": \"Oslo\"}",
      "haystack.agent.step.tool.output": "rain",
    ])
    weather["haystack.tool.name"] = "weather"
    source.add("c1", under: "b1", "haystack.agent.step.tool", 21...30, weather)
    var fail = content([
      "haystack.agent.step.tool.input": "{\"x\": 1}",
      "haystack.agent.step.tool.output": "{\"error\": \"boom\"}",
    ])
    fail["haystack.tool.name"] = "fail"
    fail["haystack.tool.error"] = true
    source.add("c2", under: "b1", "haystack.agent.step.tool", 31...40, fail)
    source.add("d1", under: "a1", "haystack.agent.step", 55...90, ["haystack.agent.step": 1])
    source.add(
      "d2", under: "d1", "haystack.agent.step.llm", 60...80,
      content([
        "haystack.agent.step.llm.input": text("messages", .array(shown)),
        "haystack.agent.step.llm.output": text("replies", [answer]),
      ]))
    return source
  }

  @Test("each call counts once, with its result, and one that failed is no success")
  func wholeRun() throws {
    let file = try Self.run().imported()
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"], "\(file.errors)")
    let calls = file.data(.decision).first?["calls"]
    #expect(calls?[0]?["name"] == "weather" && calls?[0]?["input"] == ["city": "Oslo"])
    #expect(calls?[1]?["name"] == "fail" && calls?[1]?["input"] == ["x": 1])
    #expect(calls?.arrayValue?.count == 2)
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok", "error"])
    #expect(file.data(.runStarted).first?["input"] == "Weather?")
    #expect(file.data(.stop).first?["reason"] == "success")
  }

  @Test("a failure that its span alone tells is one")
  func failureOfSpan() throws {
    var source = Self.run()
    source.spans.removeLast(2)
    let file = try source.imported()
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok", "error"])
  }

  @Test(
    "where nothing of what was said is traced, the tools that ran are seen, and what else was asked for is not known"
  )
  func withoutContent() throws {
    let file = try Self.run(hasContent: false).imported()
    #expect(Set(file.data(.toolResult).compactMap { $0["tool"] }) == ["weather", "fail"])
    #expect(
      file.data(.toolResult).filter { $0["status"] == "error" }.map { $0["tool"] } == ["fail"])
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == "partial")
  }

  @Test("a generator of a pipeline is a model's call, and what else a pipeline is made of is none")
  func pipeline() throws {
    var source = SpanSource()
    source.add("a1", under: nil, "haystack.pipeline.run", 0...100, [:])
    source.add(
      "b1", under: "a1", "haystack.component.run", 1...5,
      ["haystack.component.type": "ChatPromptBuilder", "haystack.component.name": "builder"])
    source.add(
      "c1", under: "a1", "haystack.component.run", 10...20,
      [
        "haystack.component.type": "OpenAIChatGenerator", "haystack.component.name": "llm",
        "haystack.component.input": SpanSource.text(["messages": [Self.question]]),
        "haystack.component.output": SpanSource.text(["replies": [Self.answer]]),
      ])
    let file = try source.imported()
    #expect(file.data(.decision).map { $0["kind"] } == ["answer"], "\(file.errors)")
    #expect(file.data(.modelResult).count == 1)
  }
}
