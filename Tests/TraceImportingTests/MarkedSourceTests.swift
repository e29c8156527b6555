import AgentTrace
import Testing
import TraceImporting

/// Sources in which a call may stand that nobody read, as newer versions and other exporters write them.
struct MarkedSourceTests {
  /// A source, and whether all its calls are known.
  struct Source: Sendable, CustomTestStringConvertible {
    var what: String
    var name = "run.json"
    var text: String
    var isWhole = false

    var testDescription: String { what }
  }

  private static func span(
    _ id: String, _ name: String, parent: String? = nil, _ attributes: [(String, String)]
  ) -> String {
    let told = attributes.map { key, value in
      let text = CanonicalJSON.string(.string(value), form: .plain)
      return #"{"key":"\#(key)","value":{"stringValue":\#(text)}}"#
    }
    let above = parent.map { #","parentSpanId":"\#($0)""# } ?? ""
    return
      #"{"traceId":"t1","spanId":"\#(id)","name":"\#(name)"\#(above),"startTimeUnixNano":"1","endTimeUnixNano":"9","attributes":[\#(told.joined(separator: ","))]}"#
  }

  private static func otlp(_ spans: [String]) -> String {
    #"{"resourceSpans":[{"scopeSpans":[{"spans":[\#(spans.joined(separator: ","))]}]}]}"#
  }

  private static let agent = span(
    "a", "invoke_agent bot", [("gen_ai.operation.name", "invoke_agent")])
  private static let answer =
    #"[{"role":"assistant","parts":[{"type":"text","content":"Done."}],"finish_reason":"stop"}]"#
  private static func chat(_ id: String = "c", finish: String? = nil) -> String {
    span(
      id, "chat m", parent: "a",
      [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.input.messages", #"[{"role":"user","parts":[{"type":"text","content":"hi"}]}]"#),
        ("gen_ai.output.messages", answer.replacing(#","finish_reason":"stop""#, with: "")),
      ] + (finish.map { [("gen_ai.response.finish_reasons", $0)] } ?? []))
  }
  private static func tool(_ id: String, _ name: String, _ more: [(String, String)] = []) -> String
  {
    span(
      id, name, parent: "a",
      [("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.call.result", "ok")] + more)
  }

  private static func list(_ reply: String, beside: String = "") -> String {
    #"{"messages":[{"role":"user","content":"hi"},\#(reply)]\#(beside)}"#
  }
  private static let done = #"{"role":"assistant","content":"Done."}"#
  private static func called(_ name: String) -> String {
    #"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"\#(name)","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"ok"},"#
      + done
  }
  private static func codex(_ payload: String) -> String {
    [
      (
        "response_item",
        #"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#
      ), ("event_msg", payload),
      (
        "response_item",
        #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}"#
      ),
    ].map { #"{"timestamp":"2026-01-01T10:00:01Z","type":"\#($0.0)","payload":\#($0.1)}"# }
      .joined(separator: "\n")
  }
  private static func adk(_ parts: String) -> String {
    #"{"id":"s","appName":"a","userId":"u","events":[{"author":"user","content":{"role":"user","parts":[{"text":"hi"}]}},{"author":"bot","content":{"role":"model","parts":\#(parts)}}]}"#
  }

  static let sources: [Source] = [
    Source(
      what: "spans, whole", text: otlp([agent, chat(), tool("x", "execute_tool look")]),
      isWhole: true),
    Source(what: "a span told twice", text: otlp([agent, chat(), chat()]), isWhole: true),
    Source(
      what: "a tool's span without a name", text: otlp([agent, chat(), tool("x", "execute_tool")])),
    Source(
      what: "a tool's span with an empty name",
      text: otlp([agent, chat(), tool("x", "tool", [("gen_ai.tool.name", "")])])),
    Source(
      what: "a tool under a model's id",
      text: otlp([agent, chat(), tool("c", "execute_tool look")])),
    Source(
      what: "a tool under the root's id",
      text: otlp([agent, chat(), tool("a", "execute_tool look")])),
    Source(
      what: "an end with calls as a text", text: otlp([agent, chat(finish: #"["tool_calls"]"#)])),
    Source(
      what: "an end as a text", text: otlp([agent, chat(finish: #"["stop"]"#)]), isWhole: true),
    Source(what: "messages", text: list(called("look")), isWhole: true),
    Source(what: "a name that begins with a space", text: list(called(" delete_x"))),
    Source(what: "a name that ends with nothing visible", text: list(called(#"delete_x\u200b"#))),
    Source(what: "a name in which nothing shows", text: list(called(" "))),
    Source(what: "a page of several", text: list(done, beside: #","has_more":true"#)),
    Source(what: "the last page", text: list(done, beside: #","has_more":false"#), isWhole: true),
    Source(what: "a cursor", text: list(done, beside: #","next_cursor":"abc""#)),
    Source(what: "a cursor beside", text: list(done, beside: #","meta":{"cursor":"abc"}"#)),
    Source(
      what: "a page of numbered ones",
      text: list(done, beside: #","meta":{"page":1,"totalPages":3}"#)),
    Source(
      what: "a response without a message",
      text:
        #"{"messages":[{"role":"user","content":"hi"}],"response":{"object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls"}]}}"#
    ),
    Source(
      what: "a response without choices",
      text:
        #"{"messages":[{"role":"user","content":"hi"}],"response":{"object":"chat.completion","choices":[]}}"#
    ),
    Source(
      what: "calls that an interface could not make out",
      text:
        #"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"candidates":[{"content":{"role":"model","parts":[{"text":"so"}]},"finishReason":"UNEXPECTED_TOOL_CALL"}]}"#
    ),
    Source(what: "events", text: adk(#"[{"text":"done"}]"#), isWhole: true),
    Source(
      what: "parts as a text",
      text: adk(
        CanonicalJSON.string(.string(#"[{"functionCall":{"name":"x","args":{}}}]"#), form: .plain))),
    Source(
      what: "a session", name: "s.jsonl", text: codex(#"{"type":"agent_message","message":"so"}"#),
      isWhole: true),
    Source(
      what: "an event of an unknown type that names a tool", name: "s.jsonl",
      text: codex(#"{"type":"started","tool_name":"delete_x"}"#)),
    Source(
      what: "an event whose unknown type is of tools", name: "s.jsonl",
      text: codex(#"{"type":"tool_started","name":"delete_x"}"#)),
    Source(
      what: "code that calls tools", name: "s.jsonl",
      text: codex(#"{"type":"agent_message","message":"so"}"#) + "\n"
        + #"{"timestamp":"2026-01-01T10:00:01Z","type":"response_item","payload":{"type":"custom_tool_call","name":"exec","call_id":"c","input":"await tools.delete_x({})"}}"#
    ),
    Source(
      what: "ids of calls that nobody made",
      text: adk(#"[{"text":"done"}]"#).replacing(
        #""author":"bot","#, with: #""author":"bot","longRunningToolIds":["call-9"],"#)),
    Source(
      what: "a session that goes on from another", name: "s.jsonl",
      text:
        #"{"type":"session","version":3,"id":"s","timestamp":"2026-05-12T01:02:27Z","cwd":"/","parentSession":"/x/y.jsonl"}"#
        + "\n"
        + #"{"type":"message","id":"a","parentId":null,"timestamp":"2026-05-12T01:02:28Z","message":{"role":"user","content":[{"type":"text","text":"x"}]}}"#
    ),
    Source(
      what: "a version to come",
      text:
        #"{"schema_version":"ATIF-v2.0","session_id":"s","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"user","message":"hi"},{"step_id":2,"source":"agent","message":"so"}]}"#
    ),
    Source(
      what: "more steps than there are",
      text:
        #"{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1"},"final_metrics":{"total_steps":9},"steps":[{"step_id":1,"source":"user","message":"hi"},{"step_id":2,"source":"agent","message":"so"}]}"#
    ),
  ]

  @Test(
    "where a call may stand that nobody read, calls are partial, and else they are not",
    arguments: sources)
  func marked(_ source: Source) throws {
    let file = try ImportedFile(source.text, name: source.name)
    guard let started = file.data(.runStarted).first else {
      // Refusing is as good as marking.
      #expect(!source.isWhole && !file.errors.isEmpty, "\(file.errors)")
      return
    }
    #expect((started["recorded"]?["calls"] == "partial") != source.isWhole, "\(started)")
  }

  @Test("what stopped for another reason than its answer is no success")
  func endings() throws {
    for (reply, beside) in [
      (#"{"role":"assistant","content":"So","finish_reason":"length"}"#, ""),
      (#"{"role":"assistant","content":"So","stop_reason":"max_tokens"}"#, ""),
      (#"{"role":"assistant","content":"So","stop_reason":"pause_turn"}"#, ""),
      (Self.done, #","error":{"message":"gone"}"#),
    ] {
      let file = try ImportedFile(Self.list(reply, beside: beside))
      #expect(file.stop?.hasPrefix("success") != true, "\(reply) \(beside): \(file.stop ?? "")")
    }
    #expect(try ImportedFile(Self.list(Self.done)).stop == "success final_answer")
  }

  @Test("the text of a log of ours is no trace")
  func unpacked() throws {
    let file = try ImportedFile(
      #"{"seq":0,"step":0,"type":"run_started","runId":"r","t":0,"data":{}}"# + "\n",
      name: "run.jsonl")
    #expect(file.errors.contains { $0.contains("unpacked") })
  }
}
