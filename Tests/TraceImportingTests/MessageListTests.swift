import AgentTrace
import Testing
import TraceImporting

/// Lists of messages of every interface and framework: each names its calls, arguments, results and end alike.
struct MessageListTests {
  /// One question, one call, what came back, and an answer, in the shape of each.
  static let lists: [(String, String, String)] = [
    (
      "Anthropic", "returned",
      #"""
      {"system":"s","messages":[{"role":"user","content":"q"},
       {"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"tool_use","id":"c1","name":"look","input":{"id":7}}]},
       {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"r"}]},
       {"role":"assistant","content":[{"type":"text","text":"done"}]}],"stop_reason":"end_turn"}
      """#
    ),
    (
      "Responses", "returned",
      #"""
      {"input_items":[{"role":"user","content":"q"},
       {"type":"reasoning","id":"rs","summary":[]},
       {"type":"function_call","call_id":"c1","name":"look","arguments":"{\"id\":7}"},
       {"type":"function_call_output","call_id":"c1","output":"r"},
       {"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}]}
      """#
    ),
    (
      "Gemini", "returned",
      #"""
      {"contents":[{"role":"user","parts":[{"text":"q"}]},
       {"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"id":"c1","name":"look","args":{"id":7}}}]},
       {"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"r"}}}]},
       {"role":"model","parts":[{"text":"done"}]}]}
      """#
    ),
    (
      "Bedrock", "ok",
      #"""
      [{"role":"user","content":[{"text":"q"}]},
       {"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"look","input":{"id":7}}}]},
       {"role":"user","content":[{"toolResult":{"toolUseId":"c1","status":"success","content":[{"text":"r"}]}}]},
       {"role":"assistant","content":[{"text":"done"}]}]
      """#
    ),
    (
      "OpenTelemetry", "returned",
      #"""
      [{"role":"user","parts":[{"type":"text","content":"q"}]},
       {"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"look","arguments":{"id":7}}]},
       {"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"r"}]},
       {"role":"assistant","parts":[{"type":"text","content":"done"}],"finish_reason":"stop"}]
      """#
    ),
    (
      "LangChain", "ok",
      #"""
      [{"type":"human","content":"q"},
       {"type":"ai","content":"","tool_calls":[{"name":"look","args":{"id":7},"id":"c1","type":"tool_call"}],"invalid_tool_calls":[],
        "additional_kwargs":{"tool_calls":[{"id":"c1","function":{"name":"look","arguments":"{\"id\":7}"},"type":"function"}]}},
       {"type":"tool","content":"r","name":"look","tool_call_id":"c1","status":"success"},
       {"type":"ai","content":"done","tool_calls":[]}]
      """#
    ),
    (
      "LangChain's dumps", "ok",
      #"""
      {"messages":[[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"q"}},
       {"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"tool_calls":[{"name":"look","args":{"id":7},"id":"c1"}]}},
       {"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],"kwargs":{"content":"r","tool_call_id":"c1","status":"success"}},
       {"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"done"}}]]}
      """#
    ),
    (
      "pydantic-ai", "ok",
      #"""
      [{"kind":"request","parts":[{"part_kind":"system-prompt","content":"s"},{"part_kind":"user-prompt","content":"q"}]},
       {"kind":"response","parts":[{"part_kind":"tool-call","tool_name":"look","args":"{\"id\":7}","tool_call_id":"c1"}],"finish_reason":"tool_call"},
       {"kind":"request","parts":[{"part_kind":"tool-return","tool_name":"look","content":"r","tool_call_id":"c1","outcome":"success"}]},
       {"kind":"response","parts":[{"part_kind":"text","content":"done"}],"finish_reason":"stop"}]
      """#
    ),
    (
      "AutoGen", "ok",
      #"""
      [{"type":"TextMessage","source":"user","content":"q"},
       {"type":"ThoughtEvent","source":"a","content":"hm"},
       {"type":"ToolCallRequestEvent","source":"a","content":[{"id":"c1","name":"look","arguments":"{\"id\":7}"}],"models_usage":{"prompt_tokens":3,"completion_tokens":1}},
       {"type":"ToolCallExecutionEvent","source":"a","content":[{"call_id":"c1","name":"look","content":"r","is_error":false}]},
       {"type":"TextMessage","source":"a","content":"done","models_usage":{"prompt_tokens":5,"completion_tokens":1}}]
      """#
    ),
    (
      "the AI SDK", "ok",
      #"""
      [{"id":"1","role":"user","parts":[{"type":"text","text":"q"}]},
       {"id":"2","role":"assistant","parts":[{"type":"step-start"},
        {"type":"tool-look","toolCallId":"c1","state":"output-available","input":{"id":7},"output":"r"},
        {"type":"step-start"},{"type":"text","text":"done"}]}]
      """#
    ),
  ]

  @Test("Haystack's messages say what a result answers, whether it failed, and how a reply ended")
  func haystack() throws {
    let file = try ImportedFile(
      #"""
      [{"role":"user","meta":{},"name":null,"content":[{"text":"q"}]},
       {"role":"assistant","meta":{"model":"m","index":0,"finish_reason":"tool_calls","usage":{"completion_tokens":5,"prompt_tokens":10}},"name":null,
        "content":[{"tool_call":{"tool_name":"look","arguments":{"id":7},"id":"c1","extra":null}}]},
       {"role":"tool","meta":{},"name":null,
        "content":[{"tool_call_result":{"result":"no","origin":{"tool_name":"look","arguments":{"id":7},"id":"c1","extra":null},"error":true}}]},
       {"role":"assistant","meta":{"model":"m","index":0,"finish_reason":"length","usage":{"completion_tokens":5,"prompt_tokens":10}},"name":null,
        "content":[{"text":"I was"}]}]
      """#)
    #expect(file.errors.isEmpty, "\(file.errors)")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["id": 7])
    #expect(file.data(.toolResult).map { $0["status"] } == ["error"])
    #expect(file.data(.toolResult).map { $0["reason"] } == ["no"])
    #expect(file.data(.modelResult).map { $0["usage"]?["inputTokens"] } == [10, 10])
    #expect(file.stop?.hasPrefix("budget_exhausted") == true)
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test(
    "each list has one call with its arguments and result, an answer, and nothing unread",
    arguments: lists)
  func whole(_ name: String, _ status: String, _ text: String) throws {
    let file = try ImportedFile(text)
    #expect(file.errors.isEmpty, "\(name): \(file.errors)")
    let decisions = file.data(.decision)
    #expect(decisions.map { $0["kind"] } == ["tool", "answer"], "\(name)")
    #expect(decisions.first?["calls"]?[0]?["name"] == "look")
    #expect(decisions.first?["calls"]?[0]?["input"] == ["id": 7])
    let results = file.data(.toolResult)
    #expect(results.count == 1)
    #expect(results.first?["callId"] == decisions.first?["calls"]?[0]?["callId"])
    #expect(results.first?["status"] == .string(status), "\(name)")
    let data = results.first?["data"]?.description ?? ""
    #expect(data.contains("\"r\""), "\(name)")
    #expect(file.data(.modelResult).count == 2, "\(name)")
    #expect(file.stop == "success final_answer", "\(name)")
    #expect(file.data(.runStarted).first?["input"] == "q")
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil, "\(name)")
    #expect(file.data(.runStarted).first?["recorded"]?["policy"] == "none")
  }

  @Test(
    "a refusal, a limit and a call that nobody ran are no success",
    arguments: [
      (
        #"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"no"}]}],"stop_reason":"refusal"}"#,
        "blocked refusal"
      ),
      (
        #"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"text","text":"a long"}]}],"stop_reason":"max_tokens"}"#,
        "budget_exhausted max_tokens"
      ),
      (
        #"[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"look","args":{}}}]}]"#,
        nil
      ),
      (
        #"[{"type":"message","role":"user","content":"q"},{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}]"#,
        "blocked refusal"
      ),
    ])
  func ends(_ text: String, _ stop: String?) throws {
    let file = try ImportedFile(text)
    #expect(file.errors.isEmpty, "\(file.errors)")
    #expect(file.stop == stop, "\(text)")
    #expect((file.data(.runStarted).first?["recorded"]?["stop"] == "none") == (stop == nil))
  }

  @Test(
    "how a reply ended is read in the words of each of LangChain's providers",
    arguments: [
      (#""stopReason":"max_tokens""#, "budget_exhausted max_tokens"),
      (#""stopReason":"guardrail_intervened""#, "blocked content_filter"),
      (#""stopReason":"end_turn""#, "success final_answer"),
      (#""done":true,"done_reason":"length""#, "budget_exhausted max_tokens"),
      (
        #""status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}"#,
        "budget_exhausted max_tokens"
      ),
      (#""status":"completed""#, "success final_answer"), (#""status":"cancelled""#, nil),
    ] as [(String, String?)])
  func wordsOfProviders(_ metadata: String, _ stop: String?) throws {
    let file = try ImportedFile(
      #"[{"type":"human","content":"q"},{"type":"ai","content":"a","response_metadata":{\#(metadata)}}]"#
    )
    #expect(file.stop == stop, "\(file.errors)")
  }

  @Test("a response that had not ended, or was broken off, ends nothing")
  func unfinishedResponse() throws {
    for state in ["cancelled", "in_progress", "queued", "failed"] {
      let file = try ImportedFile(
        #"{"id":"resp_1","object":"response","status":"\#(state)","output":[{"type":"message","role":"assistant","status":"incomplete","content":[{"type":"output_text","text":"a"}]}]}"#
      )
      #expect(file.logs.count == 1 && file.stop == nil, "\(state) \(file.errors)")
    }
  }

  @Test(
    "a list whose last reply had not ended, or whose graph waits for somebody, ends nothing",
    arguments: [
      (
        #"[{"role":"user","content":"q"},{"type":"message","role":"assistant","status":"incomplete","content":[{"type":"output_text","text":"a"}]}]"#,
        false
      ),
      (
        #"{"messages":[{"type":"human","content":"q"},{"type":"ai","content":"a"}],"__interrupt__":[{"value":"Go on?","id":"z"}]}"#,
        false
      ),
      (
        #"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"__interrupt__":[{"value":"Go on?"}]}"#,
        false
      ),
      (
        #"[{"role":"user","parts":[{"type":"text","text":"q"}]},{"role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"a","state":"streaming"}]}]"#,
        false
      ),
      (
        #"[{"role":"user","parts":[{"type":"text","text":"q"}]},{"role":"assistant","parts":[{"type":"step-start"},{"type":"text","text":"a","state":"done"}]}]"#,
        true
      ),
    ])
  func unfinishedList(_ text: String, _ isOver: Bool) throws {
    let file = try ImportedFile(text)
    #expect(file.logs.count == 1 && file.stop == (isOver ? "success final_answer" : nil), "\(text)")
  }

  @Test("a checkpoint of LangGraph holds its messages, and says of no run that it is over")
  func checkpoint() throws {
    let file = try ImportedFile(
      #"""
      {"v":1,"ts":"2025-01-01T00:00:00+00:00","id":"x","channel_values":{"messages":[
       {"type":"human","content":"q"},
       {"type":"ai","content":"","tool_calls":[{"name":"look","args":{"id":7},"id":"c","type":"tool_call"}]},
       {"type":"tool","content":"r","tool_call_id":"c","name":"look"},{"type":"ai","content":"done"}]},
       "channel_versions":{"messages":"3"},"versions_seen":{"agent":{"messages":"2"}}}
      """#)
    #expect(file.reports.map(\.format) == [.messages], "\(file.errors)")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["id": 7])
    #expect(file.data(.toolResult).map { $0["data"] } == ["r"])
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
    #expect(file.stop == nil)
  }

  @Test(
    "what stands beside a list, or in an account of the run there, may say that it did not end by itself",
    arguments: [
      (#""exit_status":"RateLimitError""#, false), (#""info":{"exit_status":"Timeout"}"#, false),
      (#""exception":"TimeoutError""#, false), (#""exception_info":{"type":"X"}"#, false),
      (#""metadata":{"error":"boom"}"#, false), (#""timed_out":true"#, false),
      (#""completed":false"#, false), (#""terminated_by":"max_steps""#, false),
      (#""error":null,"timed_out":false,"completed":true"#, true), (#""info":{"task":"t"}"#, true),
      (#""exit_status":"submitted","error":0"#, true), (#""exit_code":1"#, false),
      (#""timed_out":"true""#, false), (#""completed":"false""#, false),
      (#""exit_code":0,"error":"None","exception":{"type":null}"#, true),
    ])
  func accountOfEnd(_ member: String, _ isOver: Bool) throws {
    for roles in ["user assistant", "human ai"] {
      let names = roles.split(separator: " ")
      let file = try ImportedFile(
        #"{\#(member),"messages":[{"role":"\#(names[0])","content":"q"},{"role":"\#(names[1])","content":"a"}]}"#
      )
      let stop = isOver ? "success final_answer" : nil
      #expect(file.logs.count == 1 && file.stop == stop, "\(member) \(file.errors)")
    }
  }

  @Test(
    "what nobody knows is marked as what may be a call, and where it stands",
    arguments: [
      (#"{"type":"hyper_call","name":"rm","input":{}}"#, "/1/content/0"),
      (#"{"type":"tool_use","id":"c","input":{}}"#, "/1/content/0"),
      (
        #"{"type":"text","text":"a","extra_calls":[{"name":"rm","args":{}}]}"#,
        "/1/content/0/extra_calls"
      ),
      (#"17"#, "/1/content/0"),
    ])
  func unread(_ part: String, _ place: String) throws {
    let file = try ImportedFile(
      #"[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[\#(part)]}]"#)
    #expect(file.errors.isEmpty)
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == "partial", "\(part)")
    #expect(file.data(.runStarted).first?["source"]?["unread"]?[0] == .string(place), "\(part)")
  }

  @Test("arguments that are no JSON stay as they stood, and the decision is invalid")
  func badArguments() throws {
    let file = try ImportedFile(
      #"[{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\": \"b"},{"type":"function_call_output","call_id":"c","output":"no"}]"#
    )
    #expect(file.data(.decision).first?["kind"] == "invalid")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == #"{"a": "b"#)
    #expect(file.data(.toolResult).count == 1)
  }

  @Test("the same id twice is told apart by the arguments, then by the order")
  func sameIds() throws {
    let file = try ImportedFile(
      #"""
      [{"role":"user","content":[{"text":"q"}]},
       {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"n":1}}]},
       {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"one"}]},
       {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"n":2}}]},
       {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"two"}]}]
      """#)
    #expect(file.data(.toolResult).map { $0["callId"] } == ["1.1.0", "2.1.0"])
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test("a call of a server's tool in pydantic-ai is one of that tool, and no call passes unseen")
  func toolOfServer() throws {
    let file = try ImportedFile(
      #"""
      [{"kind":"request","parts":[{"part_kind":"user-prompt","content":"q"}]},
       {"kind":"response","parts":[
        {"part_kind":"builtin-tool-call","tool_name":"mcp_server:mail","args":{"action":"call_tool","tool_name":"wipe","tool_args":{"n":1}},"tool_call_id":"m"},
        {"part_kind":"builtin-tool-return","tool_name":"mcp_server:mail","content":{"output":"ok","error":null},"tool_call_id":"m"},
        {"part_kind":"text","content":"done"}],"finish_reason":"stop"}]
      """#)
    #expect(file.data(.decision).first?["calls"]?[0]?["name"] == "wipe")
    #expect(file.data(.decision).first?["calls"]?[0]?["input"] == ["n": 1])
    #expect(file.data(.toolResult).map { $0["tool"] } == ["wipe"])
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test("a call of the AI SDK that somebody would not have run is refused")
  func executionDenied() throws {
    let file = try ImportedFile(
      #"""
      [{"role":"user","content":"q"},
       {"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"wipe","input":{}}]},
       {"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"wipe","output":{"type":"execution-denied","reason":"no"}}]},
       {"role":"assistant","content":[{"type":"text","text":"done"}]}]
      """#)
    #expect(file.data(.toolResult).map { $0["status"] } == ["refused"])
    // The same as what a tool gave back is the tool's own.
    let forged = try ImportedFile(
      #"""
      [{"role":"user","content":"q"},
       {"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"wipe","input":{}}]},
       {"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"wipe","output":{"type":"json","value":{"type":"execution-denied","reason":"no"}}}]},
       {"role":"assistant","content":[{"type":"text","text":"done"}]}]
      """#)
    #expect(forged.data(.toolResult).map { $0["status"] } == ["returned"])
  }

  /// What agents keep for a call and in the place of its result, and what became of it.
  static let agents: [(String, String, String)] = [
    (
      #"{"type":"tool_use","id":"c","name":"wipe","input":{}}"#,
      #"{"type":"tool_result","tool_use_id":"c","content":"The user denied this operation."}"#,
      "error unknown"
    ),
    (
      #"{"type":"tool_use","id":"c","name":"wipe","input":{}}"#,
      #"{"type":"tool_result","tool_use_id":"c","content":"It says: The user denied this operation."}"#,
      "returned"
    ),
    (
      #"{"type":"toolRequest","id":"c","toolCall":{"status":"success","value":{"name":"wipe","arguments":{}}}}"#,
      #"{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":[{"type":"text","text":"r"}]}}"#,
      "ok"
    ),
    (
      #"{"type":"toolRequest","id":"c","toolCall":{"status":"success","value":{"name":"wipe","arguments":{}}}}"#,
      #"{"type":"toolResponse","id":"c","toolResult":{"status":"error","error":"no"}}"#, "error"
    ),
    (
      #"{"type":"toolRequest","id":"c","toolCall":{"status":"success","value":{"name":"wipe","arguments":{}}}}"#,
      #"{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":[{"type":"text","text":"The user has declined to run this tool."}]}}"#,
      "error unknown"
    ),
    (
      #"{"type":"tool_use","id":"c","name":"wipe","input":{},"complete":true}"#,
      #"{"type":"tool_result","toolUseID":"c","run":{"status":"done","result":"r"}}"#, "ok"
    ),
    (
      #"{"type":"tool_use","id":"c","name":"wipe","input":{},"complete":true}"#,
      #"{"type":"tool_result","toolUseID":"c","run":{"status":"rejected-by-user","reason":"no"}}"#,
      "refused"
    ),
    (
      #"{"type":"tool_use","id":"c","name":"wipe","input":{},"complete":true}"#,
      #"{"type":"tool_result","toolUseID":"c","run":{"status":"cancelled"}}"#, "error unknown"
    ),
  ]

  @Test("Roo's, goose's and Amp's lists tell what became of a call", arguments: agents)
  func toldByAgents(_ call: String, _ result: String, _ outcome: String) throws {
    let file = try ImportedFile(
      """
      [{"role":"user","content":[{"type":"text","text":"q"}]},
       {"role":"assistant","content":[\(call)]},
       {"role":"user","content":[\(result)]}]
      """)
    #expect(file.data(.decision).first?["calls"]?[0]?["name"] == "wipe", "\(file.errors)")
    let told = try #require(file.data(.toolResult).first)
    #expect(told["callId"] == "1.1.0")
    let words = [told["status"]?.stringValue, told["effect"]?.stringValue].compactMap { $0 }
    #expect(words.joined(separator: " ") == outcome)
    #expect(file.data(.runStarted).first?["source"]?["unread"] == nil)
  }

  @Test(
    "Continue says beside a reply what became of its calls",
    arguments: [
      ("canceled", "refused"), ("errored", "error"), ("done", "ok"), ("calling", "returned"),
    ])
  func statesOfContinue(_ state: String, _ status: String) throws {
    let file = try ImportedFile(
      """
      {"sessionId":"s","history":[{"message":{"role":"user","content":"q"},"contextItems":[]},
       {"message":{"role":"assistant","content":"","toolCalls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}]},
        "contextItems":[],"toolCallStates":[{"toolCallId":"c","status":"\(state)"}]},
       {"message":{"role":"tool","content":"","toolCallId":"c"},"contextItems":[]}]}
      """)
    #expect(file.data(.toolResult).map { $0["status"] } == [.string(status)], "\(file.errors)")
    #expect(file.data(.runStarted).first?["source"]?["unread"] == nil)
  }

  @Test(
    "several runs of which one has what the chat interface has not are read each, as lines and as lists",
    arguments: [true, false])
  func severalRuns(_ areObjects: Bool) throws {
    let lists = [
      #"[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]"#,
      #"""
      [{"role":"user","content":"q"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"ls","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}]},{"role":"assistant","content":"done"}]
      """#,
    ]
    let runs = areObjects ? lists.map { "{\"messages\":\($0)}" } : lists
    let list = "[\(runs.joined(separator: ","))]"
    let files = [(list, "r.json"), (runs.joined(separator: "\n"), "r.jsonl")]
    for (text, name) in files {
      let file = try ImportedFile(text, name: name)
      #expect(file.reports.first?.format == .messages)
      #expect(file.errors.isEmpty, "\(file.errors)")
      let calls = file.logs.map { $0.filter { $0.type == .toolResult }.count }
      #expect(calls == [0, 1])
    }
  }

  @Test(
    "calls that stand as texts of JSON are calls: each, all, or in a reply that says that it ended with calls",
    arguments: [
      #""tool_calls":["{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}"]"#,
      #""tool_calls":"[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]""#,
      #""finish_reason":"tool_calls","content":"[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]""#,
    ])
  func callsAsTexts(_ told: String) throws {
    let file = try ImportedFile(
      """
      [{"role":"user","content":"q"},{"role":"assistant",\(told)},
       {"role":"tool","tool_call_id":"c","content":"r"}]
      """, format: .messages)
    #expect(file.errors.isEmpty, "\(file.errors)")
    #expect(file.data(.decision).map { $0["kind"] } == ["tool"])
    #expect(file.data(.decision).first?["calls"]?[0]?["providerCallId"] == "c")
    #expect(file.data(.toolResult).map { $0["data"] } == ["r"])
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == nil)
  }

  @Test("a session of goose in lines is one run behind its first line")
  func goose() throws {
    let file = try ImportedFile(
      #"""
      {"working_dir":"/x","description":"d"}
      {"role":"user","created":1,"content":[{"type":"text","text":"q"}]}
      {"role":"assistant","created":2,"content":[{"type":"toolRequest","id":"c","toolCall":{"status":"error","error":"bad"}}]}
      """#, name: "s.jsonl")
    #expect(file.errors.isEmpty && file.logs.count == 1, "\(file.errors)")
    #expect(file.data(.decision).map { $0["kind"] } == ["invalid"])
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == "partial")
  }

  @Test(
    "a message that LangGraph takes out of a list was there, or nobody knows what it said",
    arguments: [("2", false), ("x", true)])
  func removed(_ id: String, _ isUnknown: Bool) throws {
    let file = try ImportedFile(
      """
      {"messages":[{"type":"human","id":"1","content":"q"},{"type":"ai","id":"2","content":"a"},
       {"type":"remove","id":"\(id)","content":""}]}
      """)
    #expect(file.errors.isEmpty && file.data(.decision).count == 1, "\(file.errors)")
    let places = isUnknown ? [JSONValue.array(["/messages/2"])] : []
    #expect(file.data(.runStarted).compactMap { $0["source"]?["unread"] } == places)
  }

  @Test("a result of a call that is not there is kept apart, and one that names no tool is marked")
  func unmatched() throws {
    let file = try ImportedFile(
      #"""
      [{"role":"user","content":[{"type":"tool_result","tool_use_id":"gone","content":"r"}]},
       {"role":"assistant","content":[{"type":"text","text":"a"}]}]
      """#)
    #expect(file.data(.toolResult).first?["callId"] == "unmatched.1")
    #expect(file.data(.runStarted).first?["recorded"]?["calls"] == "partial")
  }

  @Test("what was redacted or cut is a cut value, and the channel of tools is partial")
  func redacted() throws {
    let file = try ImportedFile(
      #"""
      [{"role":"user","content":[{"text":"q"}]},
       {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"path":"<REDACTED>"}}]},
       {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"<redacted>"}]}]
      """#)
    #expect(file.data(.decision).first?["calls"]?[0]?["input"]?.typeName == "cut")
    #expect(file.data(.toolResult).first?["data"]?.typeName == "cut")
    #expect(file.data(.runStarted).first?["recorded"]?["tools"] == "partial")
  }
}
