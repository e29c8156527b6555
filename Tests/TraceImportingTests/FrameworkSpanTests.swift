import AgentTrace
import Testing
import TraceImporting

@Suite("Spans as frameworks write them")
struct FrameworkSpanTests {
  private static func call(_ name: String) -> JSONValue {
    [
      "role": "assistant",
      "tool_calls": [
        [
          "id": "c1", "type": "function",
          "function": ["name": .string(name), "arguments": "{\"id\":7}"],
        ]
      ],
    ]
  }

  /// A run whose models' replies stand in texts of JSON, of records or of events' one attribute.
  private static func told(inAttribute: Bool) -> SpanSource {
    var source = SpanSource()
    source.add(
      "a1", under: nil, "invoke_agent a", 0...100,
      ["gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"])
    func log(_ span: String, _ name: String, _ said: JSONValue, _ time: Int) {
      let text = SpanSource.text(said)
      let (body, attributes): (JSONObject, JSONObject) =
        inAttribute ? ([:], ["gen_ai.event.content": text]) : (["": text], [:])
      source.logs.append((span, name, body, attributes, time))
    }
    source.add("b1", under: "a1", "chat m", 10...20, SpanSource.chat([], nil, finish: "tool_calls"))
    log("b1", "gen_ai.user.message", ["role": "user", "content": "q"], 11)
    log(
      "b1", "gen_ai.choice",
      ["message": call("Plugin-look"), "finish_reason": "tool_calls", "index": 0], 19)
    source.add(
      "c1", under: "a1", "execute_tool Plugin-look", 30...40,
      [
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "Plugin-look",
        "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": "{\"id\":7}",
        "gen_ai.tool.call.result": "r",
      ])
    source.add("d1", under: "a1", "chat m", 50...60, SpanSource.chat([], nil))
    log("d1", "gen_ai.tool.message", ["role": "tool", "content": "r", "tool_call_id": "c1"], 51)
    log(
      "d1", "gen_ai.choice",
      ["message": ["role": "assistant", "content": "done"], "finish_reason": "stop"], 59)
    return source
  }

  @Test(
    "a message that a record or an attribute holds as one text of JSON is read",
    arguments: [true, false])
  func textsOfMessages(_ inAttribute: Bool) throws {
    let file = try Self.told(inAttribute: inAttribute).imported()
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"], "\(file.errors)")
    #expect(file.data(.decision).first?["calls"]?[0]?["name"] == "Plugin-look")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["id": 7])
    #expect(file.data(.toolResult).map { $0["data"] } == ["r"])
    #expect(file.data(.runStarted).first?["input"] == "q")
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
    #expect(file.stop == "success final_answer")
  }

  @Test("a reply of which such a text is cut may have asked for more")
  func cutText() throws {
    var source = Self.told(inAttribute: false)
    source.logs[1].body[""] =
      "{\"message\": {\"role\": \"assistant\", \"tool_calls\": [{\"id\": \"c1\", \"ty"
    let file = try source.imported()
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == "partial")
  }

  /// Traceloop's spans of LlamaIndex's steps, of which one ran a tool.
  private static func llamaIndex(isError: Bool, describes: Bool = false) -> SpanSource {
    var source = SpanSource.run()
    source.spans[0].attributes = ["traceloop.span.kind": "workflow"]
    source.spans[2].name = "call_tool.task"
    source.spans[2].attributes = [
      "traceloop.span.kind": "task", "traceloop.entity.name": "call_tool.task",
      "tool.name": "look", "tool.arguments": "{\"id\": 7}",
      "traceloop.entity.input": SpanSource.text([
        "ev": ["tool_name": "look", "tool_kwargs": ["id": 7], "tool_id": "c1"]
      ]),
      "traceloop.entity.output": SpanSource.text([
        "tool_name": "look", "tool_kwargs": ["id": 7], "tool_id": "c1", "return_direct": false,
        "tool_output": [
          "blocks": [["block_type": "text", "text": "r"]], "tool_name": "look",
          "raw_input": ["kwargs": ["id": 7]], "raw_output": "r", "is_error": .bool(isError),
        ],
      ]),
    ]
    if describes { source.spans[2].attributes["tool.description"] = "looks" }
    return source
  }

  @Test(
    "a step of Traceloop's that says with what it ran which tool is its execution",
    arguments: [true, false])
  func stepOfCall(_ isError: Bool) throws {
    let file = try Self.llamaIndex(isError: isError).imported()
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"], "\(file.errors)")
    #expect(file.data(.toolResult).map { $0["status"] } == [isError ? "error" : "ok"])
    #expect(file.data(.toolResult).map { $0[isError ? "reason" : "data"] } == ["r"])
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test("a step of Traceloop's that nobody asked for is a call of its own")
  func unaskedStep() throws {
    var source = Self.llamaIndex(isError: false)
    source.spans[2].attributes["tool.name"] = "wipe"
    source.spans[2].attributes["traceloop.entity.output"] = nil
    let names = try source.imported().data(.decision).compactMap { $0["calls"]?[0]?["name"] }
    #expect(Set(names) == ["look", "wipe"])
  }

  @Test("a step that describes the tool too may have run several, and is none of them")
  func describedStep() throws {
    let file = try Self.llamaIndex(isError: false, describes: true).imported()
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"])
    #expect(file.data(.toolResult).map { $0["status"] } == ["returned"])
  }

  @Test(
    "a tool is called as it is offered, whatever method its span says that it was called by",
    arguments: [
      ("look.__call__", "openinference.span.kind", "TOOL"),
      ("look.acall", "openinference.span.kind", "TOOL"),
      ("Tool.look", "mlflow.spanType", "TOOL"), ("look.tool", "traceloop.span.kind", "tool"),
    ])
  func methods(_ name: String, _ key: String, _ kind: String) throws {
    var source = SpanSource.run()
    source.spans.remove(at: 3)
    source.spans.remove(at: 1)
    source.spans[1].name = name
    source.spans[1].attributes = [
      key: .string(kind), "output.value": "r",
      "input.value": name.contains("call") ? "{\"kwargs\": {\"id\": 7}}" : "{\"id\": 7}",
    ]
    let file = try source.imported()
    #expect(file.data(.decision).first?["calls"]?[0]?["name"] == "look")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["id": 7])
    #expect(file.data(.toolResult).map { $0["tool"] } == ["look"])
  }

  @Test("what Instructor tells as tools are steps of its own")
  func instructor() throws {
    var source = SpanSource.run()
    source.add(
      "e1", under: "b1", "handle_response_model", 11...12,
      ["openinference.span.kind": "TOOL", "input.value": "{}"],
      scope: "openinference.instrumentation.instructor")
    let file = try source.imported()
    #expect(file.data(.toolResult).map { $0["tool"] } == ["look"])
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test(
    "a span around another of the same call, of which not all was read, hides none of its calls")
  func aroundWhole() throws {
    var source = SpanSource()
    let call = SpanSource.call("weather", ["town": "Graz"], id: "c1")
    let told = SpanSource.text([
      "message": [
        "role": "assistant",
        "blocks": [
          ["tool_call_id": "c1", "tool_name": "weather", "tool_kwargs": #"{"town": "Graz"}"#]
        ],
      ], "raw": ["kind": ["x"]],
    ])
    source.add("a1", under: nil, "my agent", 0...100, [:])
    source.add(
      "b1", under: "a1", "achat", 10...20,
      ["openinference.span.kind": "LLM", "output.value": told])
    source.add(
      "b2", under: "b1", "chat m", 11...19, SpanSource.chat([SpanSource.user("q")], call))
    source.add(
      "d1", under: "a1", "chat m", 50...60,
      SpanSource.chat(
        [SpanSource.user("q"), call, SpanSource.result("r", id: "c1")], SpanSource.answer("done")))
    let file = try source.imported()
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"], "\(file.errors)")
    #expect(file.data(.modelResult).count == 2)
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test("a step that makes a model's request asks none, also where a limit cut what it gave back")
  func requestAlone() throws {
    var source = SpanSource.run()
    source.add(
      "b0", under: "a1", "OpenAILike._prepare_chat_with_tools", 8...9,
      ["openinference.span.kind": "LLM", "output.value": #"{"messages": ["ChatMessage(role=<Mes"#])
    let file = try source.imported()
    #expect(file.data(.modelResult).count == 2, "\(file.errors)")
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }
}
