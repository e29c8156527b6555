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
    Source(
      what: "an attribute told twice",
      text: otlp([
        agent, chat(),
        tool(
          "x", "execute_tool", [("gen_ai.tool.name", "look"), ("gen_ai.tool.name", "delete_x")]),
      ])),
    Source(what: "runs of LangSmith", text: langSmith(#"["r1"]"#), isWhole: true),
    Source(what: "a child that is not there", text: langSmith(#"["r1","r2"]"#)),
    Source(
      what: "calls of a server's tools that were counted",
      text: list(
        #"{"role":"assistant","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":1,"output_tokens":1,"server_tool_use":{"web_search_requests":2}}}"#
      )),
    Source(
      what: "no call of a server's tools",
      text: list(
        #"{"role":"assistant","content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":1,"output_tokens":1,"server_tool_use":{"web_search_requests":0}}}"#
      ), isWhole: true),
    Source(
      what: "a call that a model began while it thought",
      text: list(
        #"{"role":"assistant","content":[{"type":"thinking","thinking":"So.\n<tool_call>{\"name\":\"delete_x\",\"arguments\":{}}</tool_call>","signature":"s"},{"type":"text","text":"Done."}]}"#
      )),
    Source(
      what: "a summary of calls that are not there",
      text:
        #"[{"source":"user","type":"TextMessage","content":"hi"},{"source":"bot","type":"ToolCallSummaryMessage","content":"deleted"}]"#
    ),
    Source(
      what: "a summary of calls",
      text:
        #"[{"source":"user","type":"TextMessage","content":"hi"},{"source":"bot","type":"ToolCallRequestEvent","content":[{"id":"c","name":"look","arguments":"{}"}]},{"source":"bot","type":"ToolCallExecutionEvent","content":[{"call_id":"c","name":"look","content":"ok","is_error":false}]},{"source":"bot","type":"ToolCallSummaryMessage","content":"ok"}]"#,
      isWhole: true),
    Source(
      what: "a sub-agent of the Gemini CLI",
      text:
        #"{"sessionId":"s","projectHash":"p","messages":[{"id":"a","type":"user","content":"hi"},{"id":"b","type":"gemini","content":"","toolCalls":[{"id":"c","name":"codebase_investigator","args":{},"status":"success","result":[{"functionResponse":{"id":"c","name":"codebase_investigator","response":{"output":"ok"}}}]}]},{"id":"d","type":"gemini","content":"Done."}]}"#
    ),
    Source(
      what: "a sub-agent of OpenHands", name: "e.jsonl",
      text: [
        #"{"kind":"MessageEvent","id":"1","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"hi"}]}}"#,
        #"{"kind":"ActionEvent","id":"2","source":"agent","thought":[],"tool_name":"delegate","tool_call_id":"c","llm_response_id":"r","tool_call":{"id":"c","name":"delegate","arguments":"{}"}}"#,
        #"{"kind":"ObservationEvent","id":"3","source":"environment","tool_name":"delegate","tool_call_id":"c","observation":{"content":[{"type":"text","text":"ok"}]}}"#,
      ].joined(separator: "\n")),
    Source(
      what: "an action that the history does not name",
      text: sweAgent(
        #",{"role":"assistant","content":"so","action":"look","tool_calls":[{"id":"c","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","content":"ok"}"#
      )),
    Source(
      what: "an action where functions are called",
      text: sweAgent(#",{"role":"tool","content":"ok"}"#)),
    Source(what: "an action that is a line", text: sweAgent(""), isWhole: true),
  ]

  private static func langSmith(_ children: String) -> String {
    #"[{"id":"r0","trace_id":"r0","run_type":"chain","name":"agent","start_time":"2026-01-01T10:00:00Z","end_time":"2026-01-01T10:00:09Z","inputs":{},"outputs":{},"child_run_ids":\#(children)},{"id":"r1","parent_run_id":"r0","trace_id":"r0","run_type":"tool","name":"look","start_time":"2026-01-01T10:00:01Z","end_time":"2026-01-01T10:00:02Z","inputs":{"input":"{}"},"outputs":{"output":"ok"}}]"#
  }

  private static func sweAgent(_ history: String) -> String {
    #"{"environment":"e","history":[{"role":"user","content":"hi"}\#(history)],"info":{"exit_status":"submitted"},"trajectory":[{"action":"remove a","observation":"ok","response":"hm","state":"{}"}]}"#
  }

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
      (
        #"{"role":"assistant","content":[{"type":"text","text":"So"}],"state":{"type":"cancelled"}}"#,
        #","system":"s""#
      ),
      (Self.done, #","error":{"message":"gone"}"#), (Self.done, #","finish_reason":"length""#),
      (Self.done, #","status":"failed""#), (Self.done, #","status":"running""#),
      (Self.done, #","truncated":true"#), (Self.done, #","exit_reason":"max_turns""#),
    ] {
      let file = try ImportedFile(Self.list(reply, beside: beside))
      #expect(file.stop?.hasPrefix("success") != true, "\(reply) \(beside): \(file.stop ?? "")")
    }
    for beside in ["", #","status":"completed""#, #","finish_reason":"stop""#] {
      let file = try ImportedFile(Self.list(Self.done, beside: beside))
      #expect(file.stop == "success final_answer", "\(beside)")
    }
  }

  @Test(
    "calls of servers' tools are read where a list has no others; what waits for approval is marked"
  )
  func callsOfServers() throws {
    let file = try ImportedFile(
      #"""
      [{"role":"user","content":"q"},{"role":"assistant","content":[
      {"type":"mcp_tool_use","id":"m","name":"look","server_name":"s","input":{"p":1}},
      {"type":"mcp_tool_result","tool_use_id":"m","is_error":true,"content":[{"type":"text","text":"e"}]},
      {"type":"text","text":"done"}]}]
      """#)
    #expect(file.data(.decision).first?["calls"]?[0]?["name"] == "look", "\(file.errors)")
    #expect(file.data(.toolResult).map { $0["status"] } == ["error"])
    let waiting = try ImportedFile(
      #"""
      [{"role":"user","content":"q"},
      {"type":"mcp_approval_request","id":"r","name":"wipe","server_label":"s","arguments":"{}"},
      {"type":"mcp_approval_response","approval_request_id":"r","approve":false}]
      """#)
    #expect(waiting.data(.decision).isEmpty, "\(waiting.errors)")
    #expect(waiting.data(.runStarted).first?["source"]?["unread"] == ["/1", "/2"])
  }

  @Test("what stands beside a message in its wrapper is no secret")
  func besideMessage() throws {
    let states =
      #""toolCallStates":[{"toolCallId":"c","status":"of a kind that nobody knows","toolCall":{"function":{"name":"rm","arguments":"{}"}}}]"#
    for (beside, isMarked) in [(states, true), (#""contextItems":[]"#, false)] {
      let file = try ImportedFile(
        """
        {"sessionId":"s","history":[{"message":{"role":"user","content":"q"}},
        {"message":{"role":"assistant","content":"","toolCalls":[{"id":"c","type":"function","function":{"name":"rm","arguments":"{}"}}]},\(beside)},
        {"message":{"role":"tool","content":"","toolCallId":"c"}},
        {"message":{"role":"assistant","content":"done"}}]}
        """)
      #expect(file.data(.decision).first?["calls"]?[0]?["name"] == "rm", "\(file.errors)")
      let recorded = file.data(.runStarted).first?["recorded"]
      #expect((recorded?["calls"] == "partial") == isMarked, "\(beside)")
    }
  }

  @Test("a reply that was broken off is no success")
  func brokenOff() throws {
    let kinds = { (state: String) in
      #"[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"hi"}]},{"kind":"response","parts":[{"part_kind":"text","content":"So"}]\#(state)}]"#
    }
    let interrupted = Self.adk(#"[{"text":"so"}]"#).replacing(
      #""author":"bot","#, with: #""author":"bot","interrupted":true,"#)
    for text in [kinds(#","state":"interrupted""#), interrupted] {
      let file = try ImportedFile(text)
      #expect(file.errors.isEmpty && file.stop?.hasPrefix("success") != true, "\(text)")
    }
    for text in [kinds(#","state":"complete""#), kinds(""), Self.adk(#"[{"text":"so"}]"#)] {
      #expect(try ImportedFile(text).stop == "success final_answer", "\(text)")
    }
  }

  @Test("the text of a log of ours is no trace")
  func unpacked() throws {
    let file = try ImportedFile(
      #"{"seq":0,"step":0,"type":"run_started","runId":"r","t":0,"data":{}}"# + "\n",
      name: "run.jsonl")
    #expect(file.errors.contains { $0.contains("unpacked") })
  }
}
