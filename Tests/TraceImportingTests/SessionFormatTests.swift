import AgentTrace
import Testing
import TraceImporting

/// Sessions of coding agents, trajectories and logs of evaluations.
struct SessionFormatTests {
  @Test(
    "a reply split over lines is one model call with the usage of its last, and repeated lines count once"
  )
  func claudeCode() throws {
    let file = try ImportedFile(
      #"""
      {"type":"summary","summary":"s","leafUuid":"x"}
      {"type":"user","uuid":"1","sessionId":"s","isSidechain":false,"timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"q"}}
      {"type":"assistant","uuid":"2","sessionId":"s","isSidechain":false,"message":{"id":"m1","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"hm"}],"usage":{"input_tokens":3,"output_tokens":1}}}
      {"type":"assistant","uuid":"3","sessionId":"s","isSidechain":false,"message":{"id":"m1","type":"message","role":"assistant","model":"x","content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":3,"output_tokens":9}}}
      {"type":"user","uuid":"4","sessionId":"s","isSidechain":false,"toolUseResult":{"stdout":"a"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"a","is_error":false}]}}
      {"type":"user","uuid":"4","sessionId":"s","isSidechain":false,"toolUseResult":{"stdout":"a"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"a","is_error":false}]}}
      not json
      {"type":"assistant","uuid":"5","sessionId":"s","isSidechain":false,"message":{"id":"m2","role":"assistant","content":[{"type":"tool_use","id":"d","name":"Write","input":{}}]}}
      {"type":"user","uuid":"6","sessionId":"s","isSidechain":false,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"d","is_error":true,"content":"The user doesn't want to proceed with this tool use. Stop."}]}}
      """#, name: "s.jsonl")
    #expect(file.errors.isEmpty, "\(file.errors)")
    #expect(file.data(.modelResult).map { $0["usage"]?["outputTokens"] } == [9, nil])
    #expect(file.data(.decision).map { $0["calls"]?[0]?["name"] } == ["Bash", "Write"])
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok", "refused"])
    // The line that is no JSON may be one that nobody read.
    #expect(file.data(.runStarted).first?["source"]?["unread"] == ["/6"])
    #expect(file.stop == nil)
  }

  @Test(
    "calls of events that say not who spoke are seen; what nobody can tell is marked",
    arguments: [#""role":"model","#, ""])
  func nobodySpoke(role: String) throws {
    let file = try ImportedFile(
      """
      {"appName":"a","id":"1","events":[
      {"author":"user","invocationId":"i","content":{"role":"user","parts":[{"text":"q"}]}},
      {"invocationId":"i","content":{\(role)"parts":[{"functionCall":{"id":"c","name":"pay","args":{"n":1}}}]}},
      {"invocationId":"i","content":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"pay","response":{"ok":1}}}]}},
      {"invocationId":"i","author":"a","body":{"functionCall":{"name":"refund","args":{}}}}]}
      """)
    #expect(file.errors.isEmpty, "\(file.errors)")
    #expect(file.data(.decision).map { $0["calls"]?[0]?["name"] } == ["pay"])
    #expect(file.data(.toolResult).map { $0["callId"] } == ["1.1.0"])
    let started = try #require(file.data(.runStarted).first)
    #expect(started["recorded"]?["calls"] == "partial")
    #expect(started["source"]?["unread"]?.arrayValue?.contains("/events/3") == true)
    #expect(started["source"]?["unread"]?.arrayValue?.contains("/events/1") == role.isEmpty)
  }

  @Test(
    "a tool of ADK that a person must confirm runs once, or not at all",
    arguments: [
      (true, #"{"result":"gone"}"#), (false, #"{"error":"This tool call is rejected."}"#),
    ])
  func confirmed(_ answer: Bool, _ response: String) throws {
    let call = #"{"id":"c","name":"wipe","args":{}}"#
    let parts = [
      ("user", #"{"text":"q"}"#), ("a", #"{"functionCall":\#(call)}"#),
      (
        "a",
        #"{"functionCall":{"id":"r","name":"adk_request_confirmation","args":{"originalFunctionCall":\#(call)}}}"#
      ),
      (
        "a",
        #"{"functionResponse":{"id":"c","name":"wipe","response":{"error":"This tool call requires confirmation, please approve or reject."}}}"#
      ),
      (
        "user",
        #"{"functionResponse":{"id":"r","name":"adk_request_confirmation","response":{"confirmed":\#(answer)}}}"#
      ),
      ("a", #"{"functionResponse":{"id":"c","name":"wipe","response":\#(response)}}"#),
      ("a", #"{"text":"done"}"#),
    ]
    let events = parts.map { author, part in
      #"{"author":"\#(author)","invocationId":"i","content":{"parts":[\#(part)]}}"#
    }
    let file = try ImportedFile(
      #"{"appName":"a","id":"1","events":[\#(events.joined(separator: ","))]}"#)
    let results = file.data(.toolResult)
    #expect(results.map { $0["tool"] } == ["adk_request_confirmation", "wipe"])
    #expect(results.last?["callId"] == "1.1.0")
    #expect((results.last?["status"] == "refused") == !answer)
  }

  @Test(
    "a call that was kept from running did not run, and of one that was broken off nobody knows",
    arguments: [
      (
        #""content":"The user doesn't want to proceed with this tool use. Stop.""#,
        #""toolUseResult":"User rejected tool use","#, "refused"
      ),
      // What a program that Bash ran printed may say so as well, and what a server's tool gave back.
      (
        #""content":"The user doesn't want to proceed with this tool use. Stop.""#,
        #""toolUseResult":"Error: The user doesn't want to proceed with this tool use. Stop.","#,
        "error unknown"
      ),
      (
        #""content":[{"type":"text","text":"The user doesn't want to take this action right now."}]"#,
        "", "error unknown"
      ),
      (
        #""content":"Permission to use Bash with command rm has been denied.""#, "", "error unknown"
      ),
      (#""content":"PreToolUse:Bash hook error: [guard]: no""#, "", "error unknown"),
      (#""content":"no""#, #""toolDenialKind":"permission-rule","#, "refused"),
      (
        #""content":"no""#,
        #""tool_result_meta":[{"id":"c","non_execution_kind":"user-rejected"}],"#, "refused"
      ),
      (#""content":"[Request interrupted by user for tool use]""#, "", "error unknown"),
      (#""content":"no""#, #""toolDenialKind":"interrupted","#, "error unknown"),
      (#""content":"cat: Permission to use it was denied""#, "", "error"),
    ])
  func keptFromRunning(_ content: String, _ beside: String, _ outcome: String) throws {
    let file = try ImportedFile(
      """
      {"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"q"}}
      {"type":"assistant","uuid":"2","sessionId":"s","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":{}}]}}
      {"type":"user","uuid":"3","sessionId":"s",\(beside)"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true,\(content)}]}}
      """, name: "s.jsonl")
    let result = try #require(file.data(.toolResult).first, "\(file.errors)")
    let words = [result["status"]?.stringValue, result["effect"]?.stringValue].compactMap { $0 }
    #expect(words.joined(separator: " ") == outcome)
    #expect(file.data(.runStarted).first?["source"]?["unread"] == nil)
  }

  @Test(
    "what Claude Code prints as a stream tells its sub-agents apart, what was denied, and how it ended",
    arguments: [
      (#""subtype":"success","is_error":false"#, "success final_answer"),
      (#""subtype":"success","is_error":true"#, "model_failure error"),
      (#""subtype":"error_max_turns","is_error":true"#, "budget_exhausted error_max_turns"),
    ])
  func streamOfClaudeCode(_ end: String, _ stop: String) throws {
    let file = try ImportedFile(
      """
      {"type":"system","subtype":"init","session_id":"s","tools":["Bash"],"uuid":"0"}
      {"type":"rate_limit_event","rate_limit_info":{"status":"allowed"},"uuid":"1","session_id":"s"}
      {"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"Task","input":{}}},"session_id":"s","uuid":"2"}
      {"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Task","input":{"prompt":"go"}}]},"parent_tool_use_id":null,"session_id":"s","uuid":"3"}
      {"type":"user","message":{"role":"user","content":[{"type":"text","text":"go"}]},"parent_tool_use_id":"t","session_id":"s","uuid":"4"}
      {"type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"tool_use","id":"b","name":"Bash","input":{"command":"rm x"}}]},"parent_tool_use_id":"t","session_id":"s","uuid":"5"}
      {"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","is_error":true,"content":"no"}]},"parent_tool_use_id":"t","session_id":"s","uuid":"6"}
      {"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"done"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"7","tool_use_result":{"agentId":"a1","totalToolUseCount":1}}
      {"type":"assistant","message":{"id":"m3","role":"assistant","content":[{"type":"text","text":"all done"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"8"}
      {"type":"result",\(end),"result":"all done","session_id":"s","permission_denials":[{"tool_name":"Bash","tool_use_id":"b","tool_input":{"command":"rm x"}}],"uuid":"9"}
      """, name: "s.jsonl")
    #expect(file.reports.first?.format == .claudeCode, "\(file.errors)")
    #expect(file.data(.decision).map { $0["caller"] } == [nil, "t", nil])
    #expect(file.data(.toolResult).map { $0["status"] } == ["refused", "returned"])
    #expect(file.data(.humanReplied).isEmpty)
    #expect(file.data(.runStarted).first?["source"]?["unread"] == nil)
    #expect(file.stop == stop)
  }

  @Test(
    "a stream of an older Claude Code, whose lines have no ids, is one as well, and so is a list of its lines",
    arguments: ["s.jsonl", "s.json"])
  func olderStreamOfClaudeCode(_ name: String) throws {
    let lines = [
      #"{"type":"system","subtype":"init","session_id":"s","tools":["Bash"],"mcp_servers":[]}"#,
      #"{"type":"assistant","message":{"id":"m1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"b","name":"Bash","input":{"command":"ls"}}]},"session_id":"s"}"#,
      #"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"a"}]},"session_id":"s"}"#,
      #"{"type":"assistant","message":{"id":"m2","type":"message","role":"assistant","content":[{"type":"text","text":"one file"}]},"session_id":"s"}"#,
      #"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":2,"session_id":"s"}"#,
    ]
    let text =
      name.hasSuffix("l")
      ? lines.joined(separator: "\n") : "[\(lines.joined(separator: ","))]"
    let file = try ImportedFile(text, name: name)
    #expect(file.reports.first?.format == .claudeCode, "\(file.errors)")
    #expect(file.data(.toolResult).map { $0["tool"] } == ["Bash"])
    #expect(file.data(.runStarted).first?["source"]?["unread"] == nil)
    #expect(file.stop == "budget_exhausted error_max_turns")
  }

  @Test("a file of several sessions is several runs; what goes on from a line stays with it")
  func severalSessions() throws {
    let file = try ImportedFile(
      #"""
      {"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"q"}}
      {"type":"user","uuid":"2","sessionId":"t","message":{"role":"user","content":"other"}}
      {"type":"assistant","uuid":"3","parentUuid":"1","sessionId":"resumed","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":{}}]}}
      {"type":"assistant","uuid":"4","parentUuid":"2","sessionId":"t","message":{"id":"m2","role":"assistant","content":[{"type":"tool_use","id":"d","name":"Write","input":{}}]}}
      {"type":"user","parentUuid":"3","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"a"}]}}
      {"type":"assistant","uuid":"5","sessionId":"s","message":{"id":"m3","role":"assistant","content":"done"}}
      """#, name: "s.jsonl")
    #expect(file.errors.isEmpty && file.logs.count == 2, "\(file.errors)")
    let calls = file.logs.map { events in
      events.filter { $0.type == .decision }.map { $0.data["calls"]?[0]?["name"] }
    }
    #expect(calls == [["Bash", nil], ["Write"]])
    #expect(file.logs[0].filter { $0.type == .toolResult }.map { $0.data["tool"] } == ["Bash"])
  }

  @Test(
    "a sub-agent without a file of its own is read from the lines that show it at work, and is whole by the count of its calls",
    arguments: [
      (#""toolUseResult":{"agentId":"a1","status":"completed","totalToolUseCount":1},"#, nil),
      (
        #""toolUseResult":{"agentId":"a1","status":"completed","totalToolUseCount":2},"#,
        "what the sub-agent a1 did is not in the source"
      ), ("", "what the sub-agent a1 did is not in the source"),
    ] as [(String, String?)])
  func subAgentAtWork(_ summary: String, _ missing: String?) throws {
    let file = try ImportedFile(
      #"""
      {"type":"user","uuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"q"}}
      {"type":"assistant","uuid":"2","sessionId":"s","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Task","input":{}}]}}
      {"type":"progress","uuid":"3","sessionId":"s","parentToolUseID":"c","timestamp":"2026-01-01T00:00:02Z","data":{"type":"agent_progress","agentId":"a1","message":{"type":"user","uuid":"x1","timestamp":"2026-01-01T00:00:02Z","message":{"role":"user","content":[{"type":"text","text":"find"}]}}}}
      {"type":"progress","uuid":"4","sessionId":"s","parentToolUseID":"c","timestamp":"2026-01-01T00:00:03Z","data":{"type":"agent_progress","agentId":"a1","message":{"type":"assistant","uuid":"x2","timestamp":"2026-01-01T00:00:03Z","message":{"id":"n1","role":"assistant","content":[{"type":"tool_use","id":"x","name":"Grep","input":{"p":"a"}}]}}}}
      {"type":"progress","uuid":"5","sessionId":"s","parentToolUseID":"c","timestamp":"2026-01-01T00:00:04Z","data":{"type":"agent_progress","agentId":"a1","message":{"type":"user","uuid":"x3","timestamp":"2026-01-01T00:00:04Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"b","is_error":false}]}}}}
      {"type":"user","uuid":"6","sessionId":"s","timestamp":"2026-01-01T00:00:09Z",\#(summary)"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"found"}]}}
      {"type":"assistant","uuid":"7","sessionId":"s","timestamp":"2026-01-01T00:00:10Z","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"done"}]}}
      """#, name: "s.jsonl")
    #expect(file.errors.isEmpty, "\(file.errors)")
    #expect(file.data(.decision).map { $0["caller"] } == [nil, "a1", nil])
    #expect(file.data(.toolResult).map { $0["tool"] } == ["Grep", "Task"])
    let source = file.data(.runStarted).first?["source"]
    #expect(source?["missing"]?.arrayValue?.count == missing.map { _ in 1 })
    #expect(source?["missing"]?[0]?.stringValue?.contains(missing ?? "") != false)
    #expect((file.data(.runStarted).first?["recorded"]?["calls"] == nil) == (missing == nil))
  }

  @Test("a folder with a session and its sub-agents is one run, whose callers they are")
  func subAgents() throws {
    let folder = try TemporaryFolder()
    try folder.write(
      "in/s.jsonl",
      #"""
      {"type":"user","uuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"q"}}
      {"type":"assistant","uuid":"2","sessionId":"s","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Task","input":{}}]}}
      {"type":"user","uuid":"3","sessionId":"s","timestamp":"2026-01-01T00:00:09Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"found"}]}}
      {"type":"assistant","uuid":"4","sessionId":"s","timestamp":"2026-01-01T00:00:10Z","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"done"}]}}
      """#)
    try folder.write(
      "in/s/subagents/agent-a1.jsonl",
      #"""
      {"type":"user","uuid":"a","sessionId":"s","isSidechain":true,"timestamp":"2026-01-01T00:00:02Z","message":{"role":"user","content":"find"}}
      {"type":"assistant","uuid":"b","sessionId":"s","isSidechain":true,"timestamp":"2026-01-01T00:00:03Z","message":{"id":"n1","role":"assistant","content":[{"type":"tool_use","id":"x","name":"Grep","input":{}}]}}
      """#)
    try folder.write(
      "in/s/subagents/agent-a1.meta.json", #"{"agentType":"general-purpose","toolUseId":"c"}"#)
    try folder.write(
      "in/s/subagents/workflows/wf_1/agent-a2.jsonl",
      #"""
      {"type":"assistant","uuid":"d","sessionId":"s","isSidechain":true,"timestamp":"2026-01-01T00:00:04Z","message":{"id":"n2","role":"assistant","content":[{"type":"tool_use","id":"y","name":"Glob","input":{}}]}}
      """#)
    try folder.write(
      "in/s/subagents/workflows/wf_1/journal.jsonl",
      #"{"type":"started","key":"k","agentId":"a2"}"#)
    var reports: [ImportReport] = []
    try Importer(format: nil, output: "\(folder.path)/out").run(paths: ["\(folder.path)/in"]) {
      reports.append($0)
    }
    #expect(reports.count == 1 && reports[0].format == .claudeCode, "\(reports)")
    let events = try ImportedFile.events(of: "\(folder.path)/out/s.jsonl.gz")
    let decisions = events.filter { $0.type == .decision }
    #expect(decisions.map { $0.data["caller"] } == [nil, "agent-a1", "agent-a2", nil])
    #expect(decisions.map { $0.data["calls"]?[0]?["name"] } == ["Task", "Grep", "Glob", nil])
    #expect(events.first?.data["source"]?["unread"] == nil)
    #expect(events.filter { $0.type == .humanReplied }.count == 1)
  }

  @Test(
    "a turn of Codex that failed is no success, though it completes",
    arguments: [
      (["error"], "null", "model_failure error"), (["error"], #""look""#, "model_failure error"),
      ([], "null", nil), ([], #""look""#, "success final_answer"),
      (["error", "agent"], #""look""#, "success final_answer"),
    ] as [([String], String, String?)])
  func failedTurn(_ between: [String], _ last: String, _ stop: String?) throws {
    let reply =
      #"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"look"}]}}"#
    let error = #"{"type":"event_msg","payload":{"type":"error","message":"disconnected"}}"#
    var lines: [String] = [
      #"{"type":"session_meta","payload":{"id":"s","cwd":"/x","cli_version":"0.60.0"}}"#,
      #"{"type":"event_msg","payload":{"type":"task_started"}}"#,
      #"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}}"#,
      reply,
    ]
    for word in between { lines.append(word == "agent" ? reply : error) }
    lines.append(
      #"{"type":"event_msg","payload":{"type":"task_complete","last_agent_message":\#(last)}}"#)
    let file = try ImportedFile(lines.joined(separator: "\n"), name: "r.jsonl")
    #expect(file.reports.first?.format == .codex, "\(file.errors)")
    #expect(file.stop == stop)
  }

  @Test(
    "what Codex says of a call that did not run, of a limit and of a turn that was taken back is heard",
    arguments: [
      ("exec command rejected by user", [], "refused", nil),
      ("aborted by user after 2.0s", [], "error", nil),
      ("no", [#""exec_command_end","call_id":"c","status":"declined""#], "refused", nil),
      (
        "ok", [#""turn_aborted","reason":"budget_limited""#], "returned",
        "budget_exhausted budget_limited"
      ),
      ("ok", [#""turn_aborted","reason":"interrupted""#], "returned", "cancelled interrupted"),
      (
        "ok",
        [#""error","codex_error_info":"usage_limit_exceeded""#, #""task_complete""#], "returned",
        "budget_exhausted error"
      ),
      (
        "ok",
        [#""turn_aborted","reason":"interrupted""#, #""thread_rolled_back","num_turns":1"#],
        "returned", nil
      ),
    ] as [(String, [String], String, String?)])
  func heardOfCodex(
    _ output: String, _ events: [String], _ status: String, _ stop: String?
  ) throws {
    let items = [
      #""message","role":"user","content":[{"type":"input_text","text":"q"}]"#,
      #""function_call","name":"shell","arguments":"{}","call_id":"c""#,
      #""function_call_output","call_id":"c","output":"\#(output)""#,
    ]
    let lines =
      [#"{"type":"session_meta","payload":{"id":"s","cwd":"/x"}}"#]
      + items.map { #"{"type":"response_item","payload":{"type":\#($0)}}"# }
      + events.map { #"{"type":"event_msg","payload":{"type":\#($0)}}"# }
    let file = try ImportedFile(lines.joined(separator: "\n"), name: "r.jsonl")
    #expect(file.data(.toolResult).map { $0["status"] } == [.string(status)], "\(file.errors)")
    #expect(file.stop == stop)
  }

  @Test("rollouts of Codex: each generation, totals that grow, and what only events tell is marked")
  func codex() throws {
    let older = try ImportedFile(
      #"""
      {"id":"r","timestamp":"2025-06-01T00:00:00Z","instructions":null}
      {"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}
      {"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c"}
      {"type":"function_call_output","call_id":"c","output":"a"}
      """#, name: "r.jsonl")
    #expect(older.reports.first?.format == .codex, "\(older.errors)")
    #expect(older.data(.decision).first?["calls"]?[0]?["input"] == ["command": ["ls"]])
    let newer = try ImportedFile(
      #"""
      {"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"r","cwd":"/"}}
      {"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}}
      {"timestamp":"2026-01-01T00:00:01Z","type":"event_msg","payload":{"type":"user_message","message":"q"}}
      {"timestamp":"2026-01-01T00:00:02Z","type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"c"}}
      {"timestamp":"2026-01-01T00:00:03Z","type":"event_msg","payload":{"type":"token_count","info":null}}
      {"timestamp":"2026-01-01T00:00:03Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"output_tokens":4}}}}
      {"timestamp":"2026-01-01T00:00:03Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"output_tokens":4}}}}
      {"timestamp":"2026-01-01T00:00:04Z","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c","output":"ok"}}
      {"timestamp":"2026-01-01T00:00:05Z","type":"event_msg","payload":{"type":"exec_command_end","call_id":"unseen","exit_code":0}}
      {"timestamp":"2026-01-01T00:00:06Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}}
      {"timestamp":"2026-01-01T00:00:07Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":25,"output_tokens":6}}}}
      {"timestamp":"2026-01-01T00:00:08Z","type":"event_msg","payload":{"type":"task_complete"}}
      """#, name: "r.jsonl")
    #expect(newer.data(.modelResult).map { $0["usage"]?["inputTokens"] } == [10, 15])
    #expect(newer.data(.decision).first?["calls"]?[0]?["input"] == "*** Begin")
    #expect(newer.stop == "success final_answer")
    #expect(newer.data(.runStarted).first?["source"]?["unread"] == ["/8/payload"])
  }

  @Test(
    "a line of a session that stands there again is one, wherever it stands",
    arguments: [
      [
        #"{"type":"user","timestamp":"2026-01-01T00:00:00Z","message":{"content":"q"}}"#,
        #"{"type":"assistant","timestamp":"2026-01-01T00:00:01Z","message":{"content":[{"type":"tool_use","id":"c","name":"ls","input":{}}]}}"#,
      ],
      [
        #"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"r"}}"#,
        #"{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"function_call","name":"ls","arguments":"{}","call_id":"c"}}"#,
      ],
      [
        #"{"id":"1","kind":"MessageEvent","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"q"}]}}"#,
        #"{"id":"2","kind":"ActionEvent","source":"agent","tool_name":"ls","tool_call_id":"c","llm_response_id":"r","tool_call":{"id":"c","name":"ls","arguments":"{}"}}"#,
      ],
      [
        #"{"type":"session","version":3,"id":"s"}"#,
        #"{"type":"message","id":"1","parentId":null,"message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"ls","arguments":{}}]}}"#,
      ],
    ])
  func repeated(_ lines: [String]) throws {
    let twice = lines.flatMap { [$0, $0] }
    for text in [lines + lines, twice].map({ $0.joined(separator: "\n") }) {
      let file = try ImportedFile(text, name: "s.jsonl")
      #expect(file.errors.isEmpty && file.logs.count == 1, "\(file.errors)")
      let names = file.data(.decision).compactMap { $0["calls"]?[0]?["name"] }
      #expect(names == ["ls"], "\(text)")
    }
  }

  @Test(
    "OpenHands ends as its last state says, with nothing done behind it",
    arguments: [
      ("finished", "", "success final_answer"), ("error", "", "tool_failure error"),
      ("running", "", nil), ("waiting_for_confirmation", "", nil),
      (
        "finished",
        #"{"id":"9","kind":"MessageEvent","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"on"}]}}"#,
        nil
      ),
    ] as [(String, String, String?)])
  func stateOfOpenHands(_ state: String, _ behind: String, _ stop: String?) throws {
    let file = try ImportedFile(
      """
      {"id":"1","kind":"MessageEvent","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"q"}]}}
      {"id":"2","kind":"ActionEvent","source":"agent","tool_name":"finish","tool_call_id":"c","llm_response_id":"r","tool_call":{"id":"c","name":"finish","arguments":"{}"}}
      {"id":"3","kind":"ObservationEvent","source":"environment","tool_name":"finish","tool_call_id":"c","observation":{"content":[],"is_error":false}}
      {"id":"4","kind":"ConversationStateUpdateEvent","source":"environment","key":"execution_status","value":"\(state)"}
      \(behind)
      """, name: "s.jsonl")
    #expect(file.errors.isEmpty && file.stop == stop, "\(file.errors)")
  }

  /// Events of OpenHands before V1: a question, and what follows.
  private static func eventsBeforeV1(_ events: [String]) -> String {
    let first = #"{"id":1,"source":"user","action":"message","args":{"content":"q"}}"#
    return "[\(([first] + events).joined(separator: ","))]"
  }

  @Test(
    "OpenHands before V1: calls are those of the model's reply, results follow by what caused them")
  func beforeV1() throws {
    let response =
      #"{"id":"r","choices":[{"finish_reason":"tool_calls","message":{"role":"assistant","content":"look","tool_calls":[{"id":"c","type":"function","function":{"name":"execute_bash","arguments":"{\"command\":\"ls\"}"}},{"id":"d","type":"function","function":{"name":"editor","arguments":"{}"}}]}}]}"#
    let metadata = { (name: String, id: String) in
      #""tool_call_metadata":{"function_name":"\#(name)","tool_call_id":"\#(id)","model_response":\#(response)}"#
    }
    let history = Self.eventsBeforeV1([
      #"{"id":2,"source":"agent","action":"run","args":{"command":"ls"},\#(metadata("execute_bash", "c"))}"#,
      #"{"id":3,"source":"agent","observation":"run","content":"a","cause":2,"success":true,"extras":{}}"#,
      #"{"id":4,"source":"agent","action":"edit","args":{"path":"p"},\#(metadata("editor", "d"))}"#,
      #"{"id":5,"source":"user","observation":"user_rejected","content":"no","cause":4,"extras":{}}"#,
      #"{"id":6,"source":"agent","action":"write","args":{"path":"p","thought":"hm"}}"#,
      #"{"id":7,"source":"environment","observation":"error","content":"full","cause":6,"extras":{}}"#,
      #"{"id":8,"source":"agent","action":"finish","args":{"final_thought":"done"}}"#,
    ])
    let file = try ImportedFile(
      #"{"instance_id":"i","history":\#(history),"error":null}"#, name: "output.jsonl")
    #expect(file.errors.isEmpty && file.reports.first?.format == .openHands, "\(file.errors)")
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "tool", "answer"])
    #expect(file.data(.decision).first?["calls"]?.arrayValue?.count == 2)
    #expect(file.data(.decision).first?["calls"]?[0]?["name"] == "execute_bash")
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok", "refused", "error"])
    #expect(file.data(.toolResult).map { $0["callId"] } == ["1.1.0", "1.1.1", "2.1.0"])
    #expect(file.data(.runStarted).first?["source"]?["unread"] == nil)
    #expect(file.stop == "success final_answer")
    #expect(file.data(.stop).first?["answer"] == "done")
  }

  @Test(
    "OpenHands before V1 ends as its agent, its state or its error says",
    arguments: [
      (#"{"id":2,"source":"agent","action":"message","args":{"content":"hm"}}"#, "null", nil),
      (
        #"{"id":2,"source":"agent","action":"finish","args":{"task_completed":"true"}}"#, "null",
        "success final_answer"
      ),
      (
        #"{"id":2,"source":"agent","action":"finish","args":{"task_completed":"false"}}"#, "null",
        "success not completed"
      ),
      (
        #"{"id":2,"source":"agent","action":"finish","args":{}}"#,
        #""Agent reached maximum iteration""#, "budget_exhausted Agent reached maximum iteration"
      ),
      (
        #"{"id":2,"source":"environment","observation":"agent_state_changed","content":"","extras":{"agent_state":"error","reason":"litellm.RateLimitError"}}"#,
        "null", "model_failure litellm.RateLimitError"
      ),
      (
        #"{"id":2,"source":"agent","action":"finish","args":{}},{"id":3,"source":"user","action":"message","args":{"content":"on"}}"#,
        "null", nil
      ),
    ] as [(String, String, String?)])
  func endBeforeV1(_ event: String, _ error: String, _ stop: String?) throws {
    let file = try ImportedFile(
      #"{"history":\#(Self.eventsBeforeV1([event])),"error":\#(error)}"#)
    #expect(file.errors.isEmpty && file.stop == stop, "\(file.errors) \(file.stop ?? "")")
  }

  @Test("OpenHands before V1: what a sub-agent did is its own, or known to be missing")
  func delegatesBeforeV1() throws {
    let begin =
      #"{"id":2,"source":"agent","action":"delegate","args":{"agent":"BrowsingAgent","inputs":{}}}"#
    let end = #"{"id":5,"source":"agent","observation":"delegate","content":"x","extras":{}}"#
    let inner = [
      #"{"id":3,"source":"agent","action":"browse","args":{"url":"u"}}"#,
      #"{"id":4,"source":"agent","observation":"browse","content":"p","cause":3,"extras":{}}"#,
    ]
    let missing = try ImportedFile(Self.eventsBeforeV1([begin, end]))
    #expect(missing.data(.runStarted).first?["recorded"]?["calls"] == "partial")
    #expect(missing.data(.runStarted).first?["source"]?["missing"]?.arrayValue?.count == 1)
    let whole = try ImportedFile(Self.eventsBeforeV1([begin] + inner + [end]))
    #expect(whole.data(.runStarted).first?["source"]?["unread"] == nil)
    #expect(whole.data(.decision).map { $0["caller"] } == [nil, "BrowsingAgent"])
    #expect(whole.data(.toolResult).map { $0["data"] } == ["p", "x"])
    let byUser = try ImportedFile(
      Self.eventsBeforeV1([#"{"id":2,"source":"user","action":"run","args":{"command":"ls"}}"#]))
    #expect(byUser.data(.runStarted).first?["source"]?["unread"] == ["/1"])
  }

  @Test(
    "a search for tools has the one result that its own item tells; what other agents say is noted")
  func newerCodex() throws {
    let file = try ImportedFile(
      #"""
      {"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"r","cwd":"/"}}
      {"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"tool_search_call","call_id":"s","status":"completed","execution":"client","arguments":{"query":"x"}}}
      {"timestamp":"2026-01-01T00:00:02Z","type":"response_item","payload":{"type":"tool_search_output","call_id":"s","status":"completed","tools":[]}}
      {"timestamp":"2026-01-01T00:00:03Z","type":"token_usage_record","payload":{"total":3}}
      {"timestamp":"2026-01-01T00:00:04Z","type":"inter_agent_communication","payload":{"author":"a","content":"hello"}}
      """#, name: "r.jsonl")
    #expect(file.data(.toolResult).map { $0["tool"] } == ["tool_search"], "\(file.errors)")
    #expect(file.data(.runStarted).first?["source"]?["unread"] == ["/4/payload"])
  }

  @Test("what a later line of the same id tells is told once, and what it does not tell is marked")
  func toldAgain() throws {
    let line = { (uuid: String, id: String, name: String) in
      #"{"type":"assistant","uuid":"\#(uuid)","sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"\#(id)","name":"\#(name)","input":{}}]}}"#
    }
    let claude = try ImportedFile(
      [line("1", "c", "ls"), line("2", "c", "ls"), line("3", "d", "cat"), line("3", "e", "rm")]
        .joined(separator: "\n"), name: "s.jsonl")
    #expect(
      claude.data(.decision).map { $0["calls"]?.arrayValue?.count } == [2], "\(claude.errors)")
    #expect(claude.data(.runStarted).first?["source"]?["unread"] == ["/3"])
    let gemini = try ImportedFile(
      #"""
      {"sessionId":"s","projectHash":"h"}
      {"id":"1","type":"gemini","content":"","toolCalls":[{"id":"c","name":"rm","args":{},"status":"success","result":[]}]}
      {"id":"1","type":"gemini","content":"done"}
      """#, name: "s.jsonl")
    #expect(gemini.data(.runStarted).first?["source"]?["unread"] == ["/1"], "\(gemini.errors)")
  }

  @Test(
    "an exit of SWE-agent is what its word says, and no word within an exception's name",
    arguments: [
      ("RuntimeError", "tool_failure"), ("RateLimitError", "model_failure"),
      ("TimeExceeded", "budget_exhausted"), ("exit_cost", "budget_exhausted"),
      ("submitted", "success"),
    ])
  func exitStatus(_ status: String, _ reason: String) throws {
    let file = try ImportedFile(
      #"""
      {"trajectory":[{"action":"ls","observation":"a","response":"look","thought":"look","state":"{}"}],
       "history":[{"role":"user","content":"q"}],"info":{"exit_status":"\#(status)"}}
      """#, name: "t.traj")
    #expect(file.stop == "\(reason) \(status)", "\(file.errors)")
  }

  @Test("what a program says in a user's place is no word of the user")
  func interruptedByUser() throws {
    let file = try ImportedFile(
      #"""
      {"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"q"}}
      {"type":"user","uuid":"2","parentUuid":"1","sessionId":"s","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}}
      """#, name: "s.jsonl")
    #expect(file.data(.humanReplied).map { $0["text"] } == ["q"], "\(file.errors)")
  }

  @Test("lines that are records of a message each are a session, whoever wrote them")
  func records() throws {
    let qwen = try ImportedFile(
      #"""
      {"uuid":"1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00Z","type":"user","cwd":"/x","message":{"role":"user","parts":[{"text":"q"}]}}
      {"uuid":"2","parentUuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:01Z","type":"assistant","cwd":"/x","model":"m","message":{"role":"model","parts":[{"functionCall":{"id":"c","name":"rm","args":{"p":1}}}]}}
      {"uuid":"3","parentUuid":"2","sessionId":"s","timestamp":"2026-01-01T00:00:02Z","type":"tool_result","cwd":"/x","message":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"rm","response":{"error":"no"}}}]},"toolCallResult":{"callId":"c","status":"cancelled"}}
      {"uuid":"4","parentUuid":"3","sessionId":"s","timestamp":"2026-01-01T00:00:03Z","type":"system","subtype":"ui_telemetry","cwd":"/x","message":{"role":"system","parts":[]}}
      {"uuid":"5","parentUuid":"4","sessionId":"s","timestamp":"2026-01-01T00:00:04Z","type":"assistant","cwd":"/x","model":"m","message":{"role":"model","parts":[{"text":"done"}]}}
      """#, name: "s.jsonl")
    #expect(qwen.errors.isEmpty && qwen.logs.count == 1, "\(qwen.errors)")
    #expect(qwen.data(.decision).map { $0["calls"]?[0]?["name"] } == ["rm", nil])
    #expect(qwen.data(.toolResult).map { $0["status"] } == ["refused"])
    #expect(qwen.data(.runStarted).first?["source"]?["unread"] == nil)
    #expect(qwen.stop == nil)
    let cursor = try ImportedFile(
      #"""
      {"role":"user","message":{"content":[{"type":"text","text":"q"}]}}
      {"role":"assistant","message":{"content":[{"type":"tool_use","id":"c","name":"ls","input":{}}]}}
      {"role":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c","content":"a"}]}}
      """#, name: "s.jsonl")
    #expect(cursor.data(.decision).map { $0["calls"]?[0]?["name"] } == ["ls"], "\(cursor.errors)")
    #expect(cursor.data(.toolResult).map { $0["data"] } == ["a"])
  }

  @Test("the Gemini CLI, pi, OpenHands and SWE-agent tell their calls, results and ends")
  func others() throws {
    let gemini = try ImportedFile(
      #"""
      {"sessionId":"s","projectHash":"h","messages":[{"id":"1","type":"user","content":"q"},
       {"id":"2","type":"gemini","content":"","tokens":{"input":3,"output":1},"toolCalls":[
        {"id":"c","name":"ls","args":{},"status":"cancelled"},
        {"id":"e","name":"rm","args":{},"status":"cancelled","result":[{"functionResponse":{"id":"e","name":"rm","response":{"error":"[Operation Cancelled] Reason: User cancelled the operation."}}}]},
        {"id":"f","name":"rm","args":{},"status":"error","result":[{"functionResponse":{"id":"f","name":"rm","response":{"error":"Tool execution denied by policy."}}}]},
        {"id":"d","name":"cat","args":{"p":"a"},"status":"success","result":[{"functionResponse":{"id":"d","name":"cat","response":{"output":"x"}}}]}]}]}
      """#)
    #expect(
      gemini.data(.toolResult).map { $0["status"] } == ["refused", "error", "refused", "ok"])
    #expect(gemini.data(.toolResult).map { $0["effect"] } == [nil, "unknown", nil, nil])
    #expect(gemini.data(.toolResult).last?["data"] == ["output": "x"])
    let pi = try ImportedFile(
      #"""
      {"type":"session","version":3,"id":"s"}
      {"type":"message","id":"1","parentId":null,"message":{"role":"user","content":[{"type":"text","text":"q"}]}}
      {"type":"message","id":"2","parentId":"1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{"p":"a"}}]}}
      {"type":"message","id":"3","parentId":"2","message":{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"x"}],"isError":true}}
      """#, name: "s.jsonl")
    #expect(pi.reports.first?.format == .pi)
    #expect(pi.data(.toolResult).map { $0["status"] } == ["error"])
    let hands = try ImportedFile(
      #"""
      {"kind":"MessageEvent","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"q"}]}}
      {"kind":"ActionEvent","source":"agent","tool_name":"terminal","tool_call_id":"c","llm_response_id":"r","tool_call":{"id":"c","name":"terminal","arguments":"{\"command\":\"ls\"}"},"action":{"command":"ls"}}
      {"kind":"ActionEvent","source":"agent","tool_name":"think","tool_call_id":"d","llm_response_id":"r","tool_call":{"id":"d","name":"think","arguments":"{}"},"action":{}}
      {"kind":"ObservationEvent","source":"environment","tool_name":"terminal","tool_call_id":"c","observation":{"content":[{"type":"text","text":"a"}],"is_error":false}}
      {"kind":"AgentErrorEvent","source":"environment","tool_name":"think","tool_call_id":"d","error":"no"}
      {"kind":"SomethingNewEvent","source":"agent","tool_name":"rm"}
      """#, name: "s.jsonl")
    #expect(hands.data(.modelResult).count == 1)
    #expect(hands.data(.toolResult).map { $0["status"] } == ["ok", "error"])
    #expect(hands.data(.runStarted).first?["source"]?["unread"] == ["/5"])
    let swe = try ImportedFile(
      #"""
      {"environment":"e","trajectory":[{"action":"ls -F","observation":"a","response":"look","thought":"look","state":"{}"},
       {"action":"","observation":"","response":"hm"}],
       "history":[{"role":"system","content":"s"},{"role":"user","content":"demo","is_demo":true},{"role":"user","content":"q"}],
       "info":{"exit_status":"submitted (exit_cost)"}}
      """#, name: "t.traj")
    #expect(swe.data(.decision).map { $0["kind"] } == ["tool", "answer"])
    #expect(swe.data(.decision).first?["calls"]?[0]?["input"] == ["command": "ls -F"])
    #expect(swe.stop == "budget_exhausted submitted (exit_cost)")
    #expect(swe.data(.humanReplied).map { $0["text"] } == ["q"])
  }

  @Test(
    "a first mini-SWE-agent's actions stand in fences, what they gave back in the next message, and its end is told",
    arguments: [
      ("", "", false),
      (#""trajectory_format":"mini-swe-agent-1","#, "", false),
      (#""trajectory_format":"mini-swe-agent-1.1","#, "", true),
      ("", #""config":{"agent":{"action_regex":"<run>(.*?)</run>"}},"#, true),
    ])
  func firstMiniSweAgent(_ format: String, _ config: String, _ isUnread: Bool) throws {
    let file = try ImportedFile(
      #"""
      {\#(format)"info":{\#(config)"exit_status":"LimitsExceeded","submission":"","model_stats":{"instance_cost":0.1,"api_calls":3}},
       "messages":[{"role":"system","content":"s"},{"role":"user","content":"q"},
        {"role":"assistant","content":"look\n```bash\nls -F\n```"},
        {"role":"user","content":"<returncode>0</returncode>"},
        {"role":"assistant","content":"clean\n```bash \n\n rm x\n```\n"},
        {"role":"user","content":"Command not executed. The user rejected your command with the following message: no"},
        {"role":"assistant","content":"well"}]}
      """#, name: "t.traj.json")
    #expect(file.reports.first?.format == .sweAgent, "\(file.errors)")
    #expect(file.stop == "budget_exhausted LimitsExceeded")
    let calls = file.data(.decision).compactMap { $0["calls"]?[0]?["input"]?["command"] }
    #expect(calls == (isUnread ? [] : ["ls -F", "rm x"]))
    #expect(
      file.data(.toolResult).map { $0["status"] } == (isUnread ? [] : ["returned", "error"]))
    let unread: JSONValue? = isUnread ? ["/messages/2", "/messages/4"] : nil
    #expect(file.data(.runStarted).first?["source"]?["unread"] == unread)
  }

  @Test("a command that a person ran in pi is shown to the model and is no call of it")
  func commandOfPerson() throws {
    let file = try ImportedFile(
      #"""
      {"type":"session","version":3,"id":"s"}
      {"type":"message","id":"1","parentId":null,"message":{"role":"bashExecution","command":"ls","output":"a\n","exitCode":0,"cancelled":false,"truncated":false}}
      {"type":"message","id":"2","parentId":"1","message":{"role":"user","content":[{"type":"text","text":"q"}]}}
      {"type":"message","id":"3","parentId":"2","message":{"role":"assistant","content":[{"type":"text","text":"done"}]}}
      """#, name: "s.jsonl")
    #expect(file.reports.first?.format == .pi, "\(file.errors)")
    #expect(file.data(.decision).map { $0["kind"] } == ["answer"])
    #expect(file.data(.humanReplied).map { $0["text"] } == ["q"])
    #expect(file.data(.runStarted).first?["source"]?["unread"] == nil)
  }

  @Test("of several fences in a reply of mini-SWE-agent none is run: it is not read as a call")
  func severalFences() throws {
    let file = try ImportedFile(
      #"""
      {"info":{"exit_status":"Submitted","model_stats":{}},
       "messages":[{"role":"user","content":"q"},
        {"role":"assistant","content":"a\n```bash\nls\n```\n```bash\nrm x\n```"},
        {"role":"user","content":"Please always provide EXACTLY ONE action in triple backticks."}]}
      """#)
    #expect(file.data(.toolResult).isEmpty)
    #expect(file.data(.runStarted).first?["source"]?["unread"] == ["/messages/1"])
  }

  @Test(
    "a trajectory in ATIF: observations by their ids, copied steps of a continuation once, ends untold"
  )
  func atif() throws {
    let folder = try TemporaryFolder()
    func steps(_ inner: String) -> String {
      #"{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","version":"1"},"steps":[\#(inner)]}"#
    }
    try folder.write(
      "in/t.json",
      steps(
        #"""
        {"step_id":1,"source":"user","message":"q"},
        {"step_id":2,"source":"agent","message":"","tool_calls":[{"tool_call_id":"c","function_name":"f","arguments":{"n":1}},
         {"tool_call_id":"d","function_name":"g","arguments":{}}],
         "observation":{"results":[{"source_call_id":"d","content":"two"},{"source_call_id":"c","content":"one"}]},"metrics":{"prompt_tokens":5}}
        """#))
    try folder.write(
      "in/t.cont-1.json",
      steps(
        #"""
        {"step_id":1,"source":"agent","message":"","is_copied_context":true,"tool_calls":[{"tool_call_id":"c","function_name":"f","arguments":{"n":1}}]},
        {"step_id":2,"source":"agent","message":"done"}
        """#))
    var reports: [ImportReport] = []
    try Importer(format: nil, output: "\(folder.path)/out").run(paths: ["\(folder.path)/in"]) {
      reports.append($0)
    }
    #expect(reports.count == 1, "\(reports.map(\.json))")
    let events = try ImportedFile.events(of: "\(folder.path)/out/t.jsonl.gz")
    #expect(events.filter { $0.type == .decision }.map { $0.data["kind"] } == ["tool", "answer"])
    #expect(
      events.filter { $0.type == .toolResult }.map { $0.data["callId"] } == ["1.1.1", "1.1.0"])
    #expect(events.last?.type != .stop)
  }

  @Test(
    "samples of Inspect: a run each, attachments in their places, limits and errors are no success")
  func inspect() throws {
    let file = try ImportedFile(
      #"""
      {"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[
       {"id":1,"epoch":1,"attachments":{"abc":"long"},"messages":[{"role":"user","content":"attachment://abc"},
        {"id":"x","role":"assistant","content":"","tool_calls":[{"id":"c","function":"f","arguments":{"n":1},"type":"function"}]},
        {"role":"tool","tool_call_id":"c","function":"f","content":"","error":{"type":"approval","message":"no"}},
        {"id":"y","role":"assistant","content":"done"}],
        "output":{"choices":[{"stop_reason":"stop"}]},"events":[]},
       {"id":2,"epoch":1,"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"limit":{"type":"message","limit":2}},
       {"id":3,"epoch":1,"messages":[{"role":"user","content":"q"}],"error":{"message":"broke\nat"}}]}
      """#)
    #expect(file.logs.count == 3, "\(file.errors)")
    #expect(file.data(.runStarted).first?["input"] == "long")
    #expect(file.data(.toolResult).first?["status"] == "refused")
    let stops = file.logs.map { $0.last { $0.type == .stop }?.data["reason"] }
    #expect(stops == ["success", "budget_exhausted", "tool_failure"])
  }

  @Test(
    "what a format lacks is refused with what was expected",
    arguments: ImportFormat.allCases)
  func refused(_ format: ImportFormat) throws {
    for text in [
      "{}", "[]", "17", #"{"messages":7}"#, #"{"data":[]}"#, "[[[[]]]]", "{\"a\":1}\n{\"b\":2}",
    ] {
      let file = try ImportedFile(text, format: format)
      #expect(file.logs.isEmpty && !file.errors.isEmpty, "\(format): \(text)")
    }
  }
}
