import AgentTrace
import Testing
import TraceImporting

/// Traces whose spans say what they are in words of their own makers: Logfire's lists of events and the OpenAI Agents SDK's
/// data of a span, LiveKit's nodes, the Gemini CLI's operations, Microsoft's loop.
struct ListedEventTests {
  private static let asked: JSONValue = [
    "role": "assistant",
    "tool_calls": [
      ["id": "c1", "type": "function", "function": ["name": "look", "arguments": "{\"id\":7}"]]
    ],
  ]

  private static func named(_ name: String, _ body: JSONValue) -> JSONValue {
    var object = body.objectValue ?? [:]
    object["event.name"] = .string("gen_ai.\(name)")
    return .object(object)
  }

  private static let question = named("user.message", ["role": "user", "content": "q"])
  private static let shown: [JSONValue] = [
    question, named("assistant.message", asked),
    named("tool.message", ["role": "tool", "id": "c1", "name": "look", "content": "r"]),
  ]

  private static func chat(_ events: [JSONValue]) -> JSONObject {
    [
      "gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "m",
      "gen_ai.usage.input_tokens": 10, "events": SpanSource.text(.array(events)),
    ]
  }

  @Test(
    "a reply in a list of events is the choice, else what stands last", arguments: [true, false])
  func listed(_ hasChoice: Bool) throws {
    func reply(_ message: JSONValue) -> JSONValue {
      hasChoice
        ? Self.named("choice", ["index": 0, "message": message])
        : Self.named("assistant.message", message)
    }
    var source = SpanSource.run()
    source.spans[1].attributes = Self.chat([Self.question, reply(Self.asked)])
    source.spans[3].attributes = Self.chat(
      Self.shown + [reply(["role": "assistant", "content": "done"])])
    let file = try source.imported()
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"], "\(file.errors)")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["id": 7])
    #expect(file.data(.toolResult).map { $0["data"] } == ["r"])
    #expect(file.stop == "success final_answer")
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test("a list of events without a reply tells none")
  func withoutReply() throws {
    var source = SpanSource.run()
    source.spans[3].attributes = Self.chat(Self.shown)
    let file = try source.imported()
    #expect(file.data(.decision).map { $0["kind"] } == ["tool"])
    #expect(file.stop == nil)
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == "partial")
  }

  @Test("the OpenAI Agents SDK's data of a span says what it is", arguments: [true, false])
  func agentsData(_ hasFailed: Bool) throws {
    var source = SpanSource()
    source.add("a0", under: nil, "OpenAI Agents trace: {name}", 0...100, ["name": "Agent workflow"])
    source.add(
      "a1", under: "a0", "Agent run: {name!r}", 1...99,
      ["name": "helper", "handoffs": [], "tools": ["look"], "output_type": "str"])
    source.add(
      "b1", under: "a1", "Responses API with {gen_ai.request.model!r}", 10...20,
      Self.chat([Self.question, Self.named("assistant.message", Self.asked)]))
    var tool: JSONObject = [
      "name": "look", "input": "{\"id\":7}", "output": "r", "mcp_data": "null",
      "gen_ai.system": "openai",
    ]
    if hasFailed {
      tool["error"] = SpanSource.text(["message": "no", "data": ["tool_name": "look"]])
    }
    source.add("c1", under: "a1", "Function: {name}", 30...40, tool)
    source.add(
      "d1", under: "a1", "Responses API with {gen_ai.request.model!r}", 50...60,
      Self.chat(
        Self.shown
          + [Self.named("assistant.message", ["role": "assistant", "content": "done"])]))
    let file = try source.imported()
    #expect(file.data(.runStarted).first?["agent"]?["name"] == "helper")
    let calls = file.data(.decision).first?["calls"]?.arrayValue ?? []
    #expect(calls.map { $0["name"] } == ["look"])
    #expect(calls.first?["providerCallId"] == "c1")
    #expect(file.data(.toolResult).map { $0["status"] } == [hasFailed ? "error" : "ok"])
    #expect(file.stop == "success final_answer")
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test("LiveKit's nodes wrap the calls of their models, and its tools say what became of them")
  func liveKit() throws {
    let call = SpanSource.text([
      "id": "c1", "type": "function", "function": ["name": "look", "arguments": "{\"id\":7}"],
    ])
    var source = SpanSource()
    source.add("a1", under: nil, "agent_session", 0...100, ["lk.agent_name": "bot"])
    let models: [(String, ClosedRange<Int>, JSONObject)] = [
      ("b", 10...20, ["role": "assistant", "tool_calls": [call]]),
      ("d", 50...60, ["role": "assistant", "content": "done"]),
    ]
    for (id, times, reply) in models {
      let model: JSONObject = ["gen_ai.request.model": "m", "gen_ai.provider.name": "p"]
      var node = model
      node["lk.pii.chat_ctx"] = "{\"items\":[]}"
      source.add(id + "1", under: "a1", "llm_node", times, node)
      var request = model
      request["gen_ai.operation.name"] = "chat"
      source.add(id + "2", under: id + "1", "llm_request", times, request)
      source.logs.append((id + "2", "gen_ai.user.message", ["content": "q"], [:], times.lowerBound))
      source.logs.append((id + "2", "gen_ai.choice", reply, [:], times.upperBound))
    }
    source.add(
      "c1", under: "a1", "function_tool", 30...40,
      [
        "lk.function_tool.id": "c1", "lk.function_tool.name": "look",
        "lk.pii.function_tool.arguments": "{\"id\":7}", "lk.pii.function_tool.output": "no",
        "lk.function_tool.is_error": true,
      ])
    let file = try source.imported()
    #expect(file.data(.modelResult).count == 2, "\(file.errors)")
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"])
    #expect(file.data(.decision).first?["calls"]?[0]?["providerCallId"] == "c1")
    #expect(file.data(.toolResult).map { $0["status"] } == ["error"])
    #expect(file.data(.runStarted).first?["agent"] == ["name": "bot"])
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test(
    "the Gemini CLI's spans tell its calls, and what became of them",
    arguments: [("success", "ok"), ("error", "error"), ("cancelled", "refused")])
  func geminiCli(_ state: String, _ status: String) throws {
    var source = SpanSource.run()
    source.spans[0].attributes["gen_ai.operation.name"] = "user_prompt"
    for model in [1, 3] { source.spans[model].attributes["gen_ai.operation.name"] = "llm_call" }
    let request: JSONValue = ["callId": "c1", "name": "look", "args": ["id": 7]]
    source.spans[2].attributes = [
      "gen_ai.operation.name": "tool_call", "gen_ai.tool.name": "look",
      "gen_ai.tool.call_id": "c1", "gen_ai.input.messages": SpanSource.text(request),
      "gen_ai.output.messages": SpanSource.text([
        "status": .string(state), "request": request,
        "response": [
          "callId": "c1",
          "responseParts": [["functionResponse": ["id": "c1", "response": ["output": "r"]]]],
        ],
      ]),
    ]
    let file = try source.imported()
    #expect(file.data(.modelResult).count == 2, "\(file.errors)")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["id": 7])
    #expect(file.data(.toolResult).map { $0["status"] } == [.string(status)])
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test("the beginning and the end of a call that have spans of their own are one call")
  func halves() throws {
    var source = SpanSource()
    func add(
      _ id: String, _ name: String, _ times: ClosedRange<Int>, _ kind: String, _ told: JSONObject
    ) {
      var attributes = told
      attributes["openinference.span.kind"] = .string(kind)
      source.add(id, under: id == "a1" ? nil : "a1", name, times, attributes)
    }
    add("a1", "agent", 0...100, "AGENT", ["input.value": "q"])
    for (id, number, start) in [("b", 3, 10), ("c", 4, 12)] {
      let input = "{\"id\":\(number)}"
      add(
        id + "1", "tool.look.start-\(number)", start...99, "TOOL",
        ["tool.parameters": .string(input)])
      add(
        id + "2", "tool.look.success-\(9 - number)", (start + 20)...99, "TOOL",
        ["tool.parameters": .string(input), "output.value": .string("r\(number)")])
      add(id + "3", "tool.look.finish-\(number)", (start + 20)...99, "TOOL", [:])
    }
    let message: JSONObject = [
      "llm.output_messages.0.message.role": "assistant",
      "llm.output_messages.0.message.content": "done",
    ]
    add("d1", "chat.start-1", 50...99, "LLM", [:])
    add("d2", "chat.success-1", 60...99, "LLM", message)
    add("d3", "chat.finish-1", 60...99, "LLM", [:])
    let file = try source.imported()
    let calls = file.data(.decision).flatMap { $0["calls"]?.arrayValue ?? [] }
    #expect(calls.map { $0["name"] } == ["tool.look", "tool.look"], "\(file.errors)")
    #expect(calls.map { $0["input"] } == [["id": 3], ["id": 4]] as [JSONValue?])
    #expect(file.data(.toolResult).map { $0["data"] } == ["r3", "r4"])
    #expect(file.data(.modelResult).count == 1)
  }

  @Test(
    "what a tool asks of its server is its call, unless it is another",
    arguments: [("look", 7, true), ("look", 8, false), ("send", 7, false)])
  func askedOfServer(_ name: String, _ id: Int, _ isSame: Bool) throws {
    var source = SpanSource.run()
    let parameters: JSONValue = ["name": .string(name), "arguments": ["id": JSONValue(id)]]
    source.add(
      "e1", under: "c1", "MCP request: tools/call \(name)", 31...39,
      ["request": SpanSource.text(["method": "tools/call", "params": parameters])])
    let recorded = try source.imported().data(.runStarted).first?["recorded"]
    let calls: JSONValue? = isSame ? nil : "partial"
    #expect(recorded?["calls"] == calls)
  }

  @Test(
    "a guardrail that was triggered ends its run, unless an agent went on after it",
    arguments: [(true, false, true), (false, false, false), (true, true, false)])
  func guardrail(_ isTriggered: Bool, _ goesOn: Bool, _ isBlocked: Bool) throws {
    var source = SpanSource.run()
    source.add(
      "e1", under: "a1", "Guardrail", 11...12,
      ["name": "no homework", "triggered": .bool(isTriggered)])
    if goesOn {
      source.add(
        "f1", under: "a1", "invoke_agent b", 70...80,
        ["gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "b"])
    }
    let stop = try source.imported().stop
    #expect(stop == (isBlocked ? "blocked guardrail no homework" : "success final_answer"))
  }

  @Test("a loop around models and tools that counts their tokens is no call, and hides none")
  func loop() throws {
    var source = SpanSource.run()
    for index in source.spans.indices.dropFirst() { source.spans[index].parent = "e1" }
    source.add(
      "e1", under: "a1", "orchestrate_tools", 5...90,
      ["gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 4])
    let file = try source.imported()
    #expect(file.data(.modelResult).count == 2, "\(file.errors)")
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test("what came of a stream belongs to the call that began it, where it is told beside it")
  func streams() throws {
    var source = SpanSource.run()
    source.spans[3].attributes["request_data"] = SpanSource.text(["model": "m", "stream": true])
    source.spans[3].attributes["gen_ai.output.messages"] = nil
    source.add(
      "d2", under: "a1", "streaming response from m took 1s", 70...70, source.spans[3].attributes)
    source.spans[4].attributes["gen_ai.output.messages"] = SpanSource.text([
      SpanSource.answer("done")
    ])
    var file = try source.imported()
    #expect(file.data(.modelResult).count == 2)
    #expect(file.stop == "success final_answer")
    // Of another request it is a call of its own.
    source.spans[4].attributes["request_data"] = SpanSource.text(["model": "other"])
    file = try source.imported()
    #expect(file.data(.modelResult).count == 3)
  }
}
