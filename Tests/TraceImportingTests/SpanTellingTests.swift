import AgentTrace
import Testing
import TraceImporting

@Suite("Spans and log records that share ids")
struct SpanTellingTests {
  @Test(
    "of two that ended and say different things the same one is kept in any order, and calls are marked"
  )
  func conflict() throws {
    let whole = SpanSource.run()
    var other = whole.spans[2]
    other.attributes["gen_ai.tool.call.result"] = "another"
    var results: [[JSONValue?]] = []
    for spans in [whole.spans + [other], [other] + whole.spans] {
      var source = whole
      source.spans = spans
      let file = try source.imported()
      #expect(file.events.first?.data["recorded"]?["calls"] == "partial")
      results.append(file.data(.toolResult).map { $0["data"] })
    }
    #expect(results[0] == results[1] && results[0].count == 1)
  }

  @Test("of two that ended each says what the other does not, in any order, and nothing is lost")
  func union() throws {
    let whole = SpanSource.run()
    var (first, second) = (whole.spans[2], whole.spans[2])
    first.attributes["gen_ai.tool.call.result"] = nil
    second.attributes["gen_ai.tool.call.arguments"] = nil
    let expected = try whole.imported()
    for pair in [[first, second], [second, first]] {
      var source = whole
      source.spans.remove(at: 2)
      source.spans += pair
      let file = try source.imported()
      #expect(file.events.first?.data["recorded"]?["calls"] == nil)
      #expect(file.outline == expected.outline)
      #expect(
        file.data(.toolResult).map { $0["data"] } == expected.data(.toolResult).map { $0["data"] })
    }
  }

  /// A trace whose only model's call is told by a log record.
  private static func trace(_ trace: String, asking tool: String, at time: Int) -> SpanSource {
    var source = SpanSource()
    source.add(
      "a1", under: nil, "invoke_agent a", time...(time + 50),
      ["gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"], trace: trace)
    source.add(
      "b1", under: "a1", "chat m", (time + 10)...(time + 20), SpanSource.chat([], nil), trace: trace
    )
    source.logs.append(
      (
        "b1", "gen_ai.client.inference.operation.details", [:],
        [
          "gen_ai.input.messages": SpanSource.text([SpanSource.user("q")]),
          "gen_ai.output.messages": SpanSource.text([
            SpanSource.call(tool, [:], id: "c-\(tool)")
          ]),
        ], time + 20
      ))
    return source
  }

  /// The requests of some traces whose spans have the same ids.
  private static func requests(namingTrace: Bool) -> [JSONValue] {
    ["look", "delete"].enumerated().flatMap { index, tool -> [JSONValue] in
      let trace = "5b8efff798038103d269b633813fc60\(index + 1)"
      let source = Self.trace(trace, asking: tool, at: index * 100)
      guard namingTrace else { return source.requests }
      return source.requests.map { request in
        let text = CanonicalJSON.string(request, form: .plain)
        let named = text.replacing(
          "\"logRecords\":[{", with: "\"logRecords\":[{\"traceId\":\"\(trace)\",")
        return (try? JSONValue(parsing: Array(named.utf8))) ?? .null
      }
    }
  }

  @Test("a record is of the span of its own trace, also where another has a span of that id")
  func records() throws {
    let file = try ImportedFile(
      SpanSource().lines(Self.requests(namingTrace: true)), name: "t.jsonl")
    let called = file.logs.map { log in
      log.filter { $0.type == .decision }.compactMap {
        $0.data["calls"]?[0]?["name"]?.stringValue
      }
    }
    #expect(called == [["look"], ["delete"]])
  }

  @Test("a record that tells of a call marks its trace where its span is not there")
  func recordsWithoutSpan() throws {
    let requests = Self.requests(namingTrace: true)
    // Those of the first trace: its agent, its model's call, and the record of that.
    for (kept, calls) in [([0, 1, 2], nil), ([0, 2], "partial")] as [([Int], JSONValue?)] {
      let file = try ImportedFile(
        SpanSource().lines(kept.map { requests[$0] }), name: "t.jsonl")
      #expect(file.logs.count == 1)
      #expect(file.data(.runStarted).first?["recorded"]?["calls"] == calls)
    }
  }

  @Test(
    "a record that names no trace is of nobody where several spans may be meant, and calls are marked"
  )
  func recordsOfNoTrace() throws {
    let file = try ImportedFile(
      SpanSource().lines(Self.requests(namingTrace: false)), name: "t.jsonl")
    #expect(file.logs.count == 2)
    for log in file.logs {
      #expect(!log.contains { $0.type == .decision && $0.data["calls"] != nil })
      #expect(log.first?.data["recorded"]?["calls"] == "partial")
    }
  }

  @Test(
    "lists of spans that a file has under names are runs of their own, though all name one conversation"
  )
  func lists() throws {
    let lists = ["accepted", "rejected"].enumerated().map { index, name in
      """
      "\(name)":[{"name":"look","context":{"trace_id":"t\(index)","span_id":"1"},"span_kind":"TOOL","parent_id":null,
       "start_time":"2026-01-01T00:00:0\(index)Z","end_time":"2026-01-01T00:00:0\(index)Z",
       "attributes":{"session.id":"redacted","tool.name":"look","input.value":"{}","output.value":"r"}}]
      """
    }
    let file = try ImportedFile("{\(lists.joined(separator: ","))}", format: .phoenix)
    #expect(file.logs.count == 2)
    for log in file.logs { #expect(log.count { $0.type == .toolResult } == 1) }
  }

  @Test("spans of a conversation whose traces share ids stand below those of their own trace alone")
  func sharedIds() throws {
    var source = SpanSource()
    func add(_ id: String, under parent: String?, _ start: Int, _ kind: JSONObject, _ trace: Int) {
      var attributes = kind
      attributes["session.id"] = "s"
      source.add(
        id, under: parent, "x", start...(start + 5), attributes,
        trace: "5b8efff798038103d269b633813fc60\(trace)")
    }
    let agent: JSONObject = ["gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"]
    let tool: JSONObject = [
      "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look",
      "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "r",
    ]
    add("a1", under: nil, 0, agent, 1)
    add("b1", under: "a1", 1, tool, 1)
    // The id that the first trace's tool has is that of an agent here.
    add("b1", under: nil, 100, agent, 2)
    add("c1", under: "b1", 101, tool, 2)
    let file = try source.imported()
    #expect(file.logs.count == 1 && file.data(.toolResult).count == 2, "\(file.errors)")
  }

  /// A run with the beginnings and ends of calls of one tool, each `word-number` with what it was given and what it tells.
  private static func halves(
    _ told: [(half: String, input: Int, output: String?, failure: String?)]
  ) throws -> ImportedFile {
    var source = SpanSource()
    source.add(
      "a1", under: nil, "agent", 0...100,
      ["openinference.span.kind": "AGENT", "input.value": "q"])
    for (index, half) in told.enumerated() {
      var attributes: JSONObject = [
        "openinference.span.kind": "TOOL", "tool.parameters": .string("{\"id\":\(half.input)}"),
      ]
      if let output = half.output { attributes["output.value"] = .string(output) }
      source.add(
        "b\(index)", under: "a1", "tool.look.\(half.half)", (10 + index)...99, attributes,
        failure: half.failure)
    }
    return try source.imported()
  }

  @Test("calls that were given the same are as many as began, whatever their numbers")
  func sameHalves() throws {
    let file = try Self.halves([
      ("start-1", 7, nil, nil), ("start-2", 7, nil, nil), ("success-6", 7, "r", nil),
      ("success-7", 7, "r", nil),
    ])
    #expect(file.data(.toolResult).map { $0["data"] } == ["r", "r"], "\(file.errors)")
  }

  @Test(
    "an end of a call that was given something else is another call, and of a beginning alone nobody knows the end"
  )
  func otherHalves() throws {
    let file = try Self.halves([("start-1", 7, nil, nil), ("success-1", 8, "r", nil)])
    let calls = file.data(.decision).flatMap { $0["calls"]?.arrayValue ?? [] }
    let inputs: Set<JSONValue> = [["id": 7], ["id": 8]]
    #expect(Set(calls.compactMap { $0["input"] }) == inputs)
    let statuses = file.data(.toolResult).compactMap { $0["status"]?.stringValue }
    #expect(statuses.sorted() == ["error", "ok"])
    #expect(file.stop == nil)
  }

  @Test("a call of which only its end says that it failed has failed")
  func failedFinish() throws {
    let file = try Self.halves([("start-1", 7, nil, nil), ("finish-1", 7, nil, "boom")])
    #expect(file.data(.toolResult).map { $0["status"] } == ["error"])
    #expect(file.data(.toolResult).map { $0["reason"] } == ["boom"])
  }

  @Test(
    "what stands under error says that there was one, unless it says nothing",
    arguments: [
      ("boom", true), ("{\"message\":\"boom\"}", true), ("true", true), ("false", false),
      ("{}", false), ("{\"message\":null,\"data\":null}", false), ("None", false), ("0", false),
    ])
  func errorAttribute(_ error: String, _ hasFailed: Bool) throws {
    var source = SpanSource.run()
    source.spans[2].attributes["error"] = .string(error)
    let file = try source.imported()
    #expect(file.data(.toolResult).map { $0["status"] } == [hasFailed ? "error" : "ok"], "\(error)")
  }

  @Test("what a tool was given is the same in a framework's wrapper under whichever attribute")
  func wrappedInput() throws {
    let wrapped = SpanSource.text([
      "input_str": "{'id': 7}", "tags": ["seq:step:1"], "metadata": ["step": 2],
      "inputs": ["id": 7], "kwargs": ["color": "green", "tool_call_id": "c1"],
    ])
    var source = SpanSource.run()
    source.spans[2].attributes["gen_ai.tool.call.arguments"] = wrapped
    let file = try source.imported()
    #expect(file.events.first?.data["recorded"]?["calls"] == nil)
    #expect(file.outline == (try SpanSource.run().imported().outline))
  }

  @Test(
    "a word for how a reply ended counts with the enumeration before it that Python prints",
    arguments: [
      ("FinishReason.STOP", "success"), ("FinishReason.LENGTH", "budget_exhausted"),
      ("FinishReason.CONTENT_FILTER", "blocked"), ("StopReason.max_tokens", "budget_exhausted"),
    ])
  func printedFinish(_ word: String, _ reason: String) throws {
    var source = SpanSource.run()
    source.spans[3].attributes["gen_ai.response.finish_reasons"] = nil
    source.spans[3].attributes["gen_ai.response.finish_reason"] = .string(word)
    #expect(try source.imported().stop?.hasPrefix(reason) == true, "\(word)")
  }

  @Test("a flattened result whose call's id stands in the payload beside it alone is that call's")
  func idInPayload() throws {
    let call: JSONValue = ["id": "c1", "function": ["name": "look", "arguments": "{}"]]
    let asked = "llm.output_messages.0.message."
    var first: JSONObject = ["openinference.span.kind": "LLM", "\(asked)role": "assistant"]
    first["llm.input_messages.0.message.role"] = "user"
    first["llm.input_messages.0.message.content"] = "q"
    first["\(asked)tool_calls.0.tool_call.id"] = "c1"
    first["\(asked)tool_calls.0.tool_call.function.name"] = "look"
    first["\(asked)tool_calls.0.tool_call.function.arguments"] = "{}"
    let shown = "llm.input_messages."
    let last: JSONObject = [
      "openinference.span.kind": "LLM", "\(shown)0.message.role": "user",
      "\(shown)0.message.content": "q", "\(shown)1.message.role": "assistant",
      "\(shown)1.message.tool_calls.0.tool_call.id": "c1",
      "\(shown)1.message.tool_calls.0.tool_call.function.name": "look",
      "\(shown)1.message.tool_calls.0.tool_call.function.arguments": "{}",
      "\(shown)2.message.role": "tool", "\(shown)2.message.content": "r",
      "input.value": SpanSource.text([
        "messages": [
          ["role": "user", "content": "q"], ["role": "assistant", "tool_calls": [call]],
          ["role": "tool", "tool_call_id": "c1", "content": "r"],
        ]
      ]), "\(asked)role": "assistant", "\(asked)content": "done",
    ]
    var source = SpanSource()
    source.add("a1", under: nil, "loop", 0...100, ["openinference.span.kind": "AGENT"])
    source.add("b1", under: "a1", "completion", 10...20, first)
    source.add("d1", under: "a1", "completion", 50...60, last)
    #expect(try source.imported().data(.toolResult).map { $0["data"] } == ["r"])
  }

  @Test(
    "results that name neither an id nor a tool are those of the calls before them, as many as these are"
  )
  func namelessResults() throws {
    let asking: JSONValue = [
      "role": "assistant",
      "parts": [
        ["type": "tool_call", "id": "", "name": "weather", "arguments": ["town": "Graz"]],
        ["type": "tool_call", "id": "", "name": "book", "arguments": ["town": "Graz"]],
      ],
    ]
    func answered(_ texts: [String]) -> JSONValue {
      [
        "role": "user",
        "parts": .array(
          texts.map { ["type": "tool_call_response", "id": "", "response": .string($0)] }),
      ]
    }
    func results(_ texts: [String]) throws -> [JSONValue?] {
      var source = SpanSource()
      source.add("a1", under: nil, "my agent", 0...100, [:])
      source.add(
        "b1", under: "a1", "chat m", 10...20, SpanSource.chat([SpanSource.user("q")], asking))
      source.add(
        "c1", under: "a1", "chat m", 30...40,
        SpanSource.chat(
          [SpanSource.user("q"), asking, answered(texts)], SpanSource.answer("done")))
      return try source.imported().data(.toolResult).map { $0["tool"] }
    }
    #expect(try results(["sunny", "sunny"]) == ["weather", "book"])
    #expect(try results(["sunny"]) == [])
  }
}
