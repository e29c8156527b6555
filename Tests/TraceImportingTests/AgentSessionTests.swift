import AgentTrace
import Testing
import TraceImporting

@Suite(
  "Sessions of further coding agents tell their calls, what became of them, and no more ends than they hold"
)
struct AgentSessionTests {
  /// A format, a session in which `ls` is called, what became of the call, and how the session ended.
  static let sessions: [(ImportFormat, String, String, String?)] = [
    (
      .copilot,
      #"""
      {"type":"session.start","data":{"sessionId":"s","copilotVersion":"1"},"id":"1"}
      {"type":"user.message","data":{"content":"q"},"id":"2"}
      {"type":"assistant.message","data":{"content":"","toolRequests":[{"toolCallId":"c","name":"ls","arguments":{"path":"a","why":"w"}}]},"id":"3"}
      {"type":"tool.execution_start","data":{"toolCallId":"c","toolName":"ls","arguments":{"path":"a"}},"id":"4"}
      {"type":"tool.execution_complete","data":{"toolCallId":"c","success":true,"result":{"content":"r"}},"id":"5"}
      {"type":"assistant.message","data":{"content":"done","toolRequests":[]},"id":"6"}
      """#, "ok", nil
    ),
    (
      .copilot,
      #"""
      {"type":"user.message","data":{"content":"q"},"id":"2"}
      {"type":"tool.execution_start","data":{"toolCallId":"c","toolName":"ls","arguments":{}},"id":"4"}
      {"type":"tool.execution_complete","data":{"toolCallId":"c","success":false,"error":{"message":"no","code":"rejected"}},"id":"5"}
      """#, "refused", nil
    ),
    (
      .kimi,
      #"""
      {"type":"metadata","protocol_version":"1.4"}
      {"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"q"}],"toolCalls":[],"origin":{"kind":"user"}},"time":1}
      {"type":"context.append_loop_event","event":{"type":"step.begin","uuid":"u","step":1},"time":2}
      {"type":"context.append_loop_event","event":{"type":"content.part","stepUuid":"u","part":{"type":"text","text":"hm"}},"time":3}
      {"type":"context.append_loop_event","event":{"type":"tool.call","stepUuid":"u","toolCallId":"c","name":"ls","args":{}},"time":4}
      {"type":"context.append_loop_event","event":{"type":"tool.result","toolCallId":"c","result":{"output":"r","isError":true}},"time":5}
      {"type":"context.append_loop_event","event":{"type":"step.end","uuid":"u","finishReason":"tool_use","usage":{"inputOther":3,"output":1}},"time":6}
      """#, "error", nil
    ),
    (
      .grok,
      #"""
      {"type":"system","content":"s"}
      {"type":"user","content":[{"type":"text","text":"q"}],"prompt_index":0}
      {"type":"assistant","content":"","tool_calls":[{"id":"c","name":"ls","arguments":"{}"}],"model_id":"g"}
      {"type":"tool_result","tool_call_id":"c","content":"r"}
      {"type":"assistant","content":"done","tool_calls":[],"model_id":"g"}
      """#, "returned", nil
    ),
    (
      .droid,
      #"""
      {"type":"system","session_id":"s","model":"m","id":"1"}
      {"type":"message","session_id":"s","role":"user","text":"q","id":"2"}
      {"type":"tool_call","session_id":"s","toolCallId":"c","toolName":"ls","parameters":{},"id":"3"}
      {"type":"tool_result","session_id":"s","toolCallId":"c","value":"r","isError":false,"id":"4"}
      {"type":"completion","session_id":"s","finalText":"done","id":"5"}
      """#, "ok", "success final_answer"
    ),
    (
      .droid,
      #"""
      {"type":"message","session_id":"s","role":"user","text":"q","id":"2"}
      {"type":"tool_call","session_id":"s","id":"c","toolName":"ls","parameters":{}}
      {"type":"tool_result","session_id":"s","id":"c","value":"r"}
      {"type":"error","session_id":"s","message":"no","id":"5"}
      """#, "returned", "tool_failure error"
    ),
    (
      .openCode,
      #"""
      {"info":{"id":"s"},"messages":[
       {"info":{"id":"1","role":"user"},"parts":[{"type":"text","text":"q"}]},
       {"info":{"id":"2","role":"assistant","modelID":"m","finish":"stop"},"parts":[{"type":"step-start"},
        {"type":"tool","callID":"c","tool":"ls","state":{"status":"completed","input":{},"output":"r"}},{"type":"step-finish"},
        {"type":"step-start"},{"type":"text","text":"done"}]}]}
      """#, "ok", nil
    ),
    (
      .openCode,
      #"""
      [{"info":{"id":"1","role":"user"},"parts":[{"type":"text","text":"q"}]},
       {"info":{"id":"2","role":"assistant","error":{"name":"MessageAbortedError"}},"parts":[
        {"type":"tool","callID":"c","tool":"ls","state":{"status":"error","input":{},"error":"The user rejected permission to use this specific tool call."}}]}]
      """#, "refused", "cancelled MessageAbortedError"
    ),
  ]

  @Test("each is known by its own marks", arguments: sessions)
  func told(_ format: ImportFormat, _ text: String, _ status: String, _ stop: String?) throws {
    let isOne = format == .openCode
    let file = try ImportedFile(text, name: isOne ? "s.json" : "s.jsonl")
    #expect(file.errors.isEmpty && file.reports.first?.format == format, "\(file.errors)")
    let calls = file.data(.decision).compactMap { $0["calls"]?[0]?["name"]?.stringValue }
    #expect(calls == ["ls"])
    #expect(file.data(.toolResult).map { $0["status"] } == [.string(status)])
    #expect(file.data(.toolResult).first?["callId"] == "1.1.0")
    #expect(file.data(.humanReplied).map { $0["text"] } == ["q"])
    #expect(file.data(.runStarted).first?["source"]?["unread"] == nil)
    #expect(file.stop == stop)
  }

  @Test(
    "what Codex prints tells each call once, what became of it, and how the turn ended",
    arguments: [
      (
        #"{"type":"turn.completed","usage":{"input_tokens":9,"output_tokens":2}}"#,
        "success final_answer"
      ),
      (#"{"type":"turn.failed","error":{"message":"boom"}}"#, "model_failure error"),
      (#"{"type":"error","message":"Reconnecting"}"#, nil),
    ] as [(String, String?)])
  func streamOfCodex(_ end: String, _ stop: String?) throws {
    let file = try ImportedFile(
      #"""
      {"type":"thread.started","thread_id":"t"}
      {"type":"turn.started"}
      {"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"hm"}}
      {"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}
      {"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"ls","aggregated_output":"a","exit_code":0,"status":"completed"}}
      {"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"rm x","aggregated_output":"no","exit_code":1,"status":"failed"}}
      {"type":"item.started","item":{"id":"item_3","type":"web_search","query":""}}
      {"type":"item.completed","item":{"id":"item_3","type":"web_search","query":"swift"}}
      {"type":"item.completed","item":{"id":"item_4","type":"mcp_tool_call","server":"docs","tool":"find","arguments":{"q":"a"},"result":{"content":[{"type":"text","text":"b"}]},"error":null,"status":"completed"}}
      {"type":"item.completed","item":{"id":"item_5","type":"mcp_tool_call","server":"docs","tool":"drop","arguments":{"q":"b"},"result":null,"error":{"message":"MCP tool call requires approval, but approval policy is never"},"status":"failed"}}
      {"type":"item.completed","item":{"id":"item_6","type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"declined"}}
      {"type":"item.completed","item":{"id":"item_7","type":"agent_message","text":"Done."}}
      \#(end)
      """#, name: "s.jsonl")
    #expect(file.reports.first?.format == .codex, "\(file.errors)")
    let calls = file.data(.decision).compactMap { $0["calls"]?[0] }
    #expect(
      calls.map { $0["name"] } == [
        "command_execution", "command_execution", "web_search", "mcp__docs__find",
        "mcp__docs__drop", "file_change",
      ])
    #expect(calls.count > 2 && calls[2]["input"] == ["query": "swift"])
    #expect(
      file.data(.toolResult).map { $0["status"] } == [
        "ok", "error", "returned", "ok", "refused", "refused",
      ])
    #expect(file.data(.runStarted).first?["source"]?["unread"] == nil)
    #expect(file.stop == stop)
  }

  @Test("a call that Codex began and whose end it did not print has no result")
  func streamOfCodexCutOff() throws {
    let file = try ImportedFile(
      #"""
      {"type":"thread.started","thread_id":"t"}
      {"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"ls","status":"in_progress"}}
      """#, name: "s.jsonl")
    #expect(file.data(.decision).count == 1 && file.data(.toolResult).isEmpty, "\(file.errors)")
    #expect(file.stop == nil)
  }

  @Test(
    "what the Gemini CLI prints tells texts that came in pieces, calls and results, and how it ended",
    arguments: [
      (
        #""status":"success","stats":{"input_tokens":9,"output_tokens":2,"tool_calls":2}"#,
        "success final_answer", nil
      ),
      (
        #""status":"success","stats":{"tool_calls":3}"#, "success final_answer",
        "/9/stats/tool_calls"
      ),
      (
        #""status":"error","error":{"type":"FatalTurnLimitedError","message":"m"}"#,
        "budget_exhausted FatalTurnLimitedError", nil
      ),
      (#""status":"error","error":{"type":"unknown","message":"m"}"#, "model_failure unknown", nil),
    ] as [(String, String, String?)])
  func streamOfGemini(_ end: String, _ stop: String, _ unread: String?) throws {
    let file = try ImportedFile(
      #"""
      {"type":"init","timestamp":"2025-10-10T12:00:00.000Z","session_id":"s","model":"g"}
      {"type":"message","role":"user","content":"q","timestamp":"2025-10-10T12:00:01.000Z"}
      {"type":"message","role":"assistant","content":"I lo","delta":true,"timestamp":"2025-10-10T12:00:02.000Z"}
      {"type":"message","role":"assistant","content":"ok.","delta":true,"timestamp":"2025-10-10T12:00:02.000Z"}
      {"type":"tool_use","tool_name":"ls","tool_id":"a","parameters":{"p":"x"},"timestamp":"2025-10-10T12:00:02.000Z"}
      {"type":"tool_use","tool_name":"rm","tool_id":"b","parameters":{"p":"x"},"timestamp":"2025-10-10T12:00:02.000Z"}
      {"type":"tool_result","tool_id":"b","status":"error","output":"","error":{"type":"t","message":"Tool execution denied by policy."},"timestamp":"2025-10-10T12:00:03.000Z"}
      {"type":"tool_result","tool_id":"a","status":"success","output":"x","timestamp":"2025-10-10T12:00:03.000Z"}
      {"type":"message","role":"assistant","content":"Done.","delta":true,"timestamp":"2025-10-10T12:00:04.000Z"}
      {"type":"result",\#(end),"timestamp":"2025-10-10T12:00:05.000Z"}
      """#, name: "s.jsonl")
    #expect(file.reports.first?.format == .geminiCli, "\(file.errors)")
    #expect(file.data(.humanReplied).map { $0["text"] } == ["q"])
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"])
    let calls = file.data(.decision).first?["calls"]?.arrayValue ?? []
    #expect(calls.map { $0["name"] } == ["ls", "rm"])
    #expect(file.data(.toolResult).map { $0["status"] } == ["refused", "ok"])
    #expect(file.data(.toolResult).map { $0["tool"] } == ["rm", "ls"])
    let places = file.data(.runStarted).first?["source"]?["unread"]?.arrayValue
    #expect(places?.first?.stringValue == unread)
    #expect(file.stop == stop)
  }

  @Test(
    "a call that is told while it runs and when it is done is one, and so is one whose end is told twice"
  )
  func toldTwice() throws {
    let part =
      #""sessionID":"s","part":{"messageID":"m","id":"2","type":"tool","callID":"c","tool":"bash""#
    let openCode = try ImportedFile(
      #"""
      {"type":"step_start","timestamp":1765000000000,"sessionID":"s","part":{"id":"1","messageID":"m","type":"step-start"}}
      {"type":"tool_use","timestamp":1765000001000,\#(part),"state":{"status":"running","input":{"command":"ls"}}}}
      {"type":"tool_use","timestamp":1765000002000,\#(part),"state":{"status":"completed","input":{"command":"ls"},"output":"a"}}}
      """#, name: "s.jsonl")
    let done =
      #"{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"ls","aggregated_output":"a","exit_code":0,"status":"completed"}}"#
    let codex = try ImportedFile(
      #"""
      {"type":"thread.started","thread_id":"t"}
      {"type":"turn.started"}
      \#(done)
      \#(done)
      """#, name: "s.jsonl")
    for file in [openCode, codex] {
      let calls = file.data(.decision).flatMap { $0["calls"]?.arrayValue ?? [] }
      #expect(calls.count == 1, "\(file.errors)")
      #expect(file.data(.toolResult).map { $0["status"] } == ["ok"])
    }
  }

  @Test("what Codex does behind the end of a turn takes back that the run had ended well")
  func behindTheEndOfATurn() throws {
    let file = try ImportedFile(
      #"""
      {"type":"thread.started","thread_id":"t"}
      {"type":"turn.started"}
      {"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Done."}}
      {"type":"turn.completed","usage":{"input_tokens":9,"output_tokens":2}}
      {"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"rm x","aggregated_output":"","exit_code":null,"status":"in_progress"}}
      """#, name: "s.jsonl")
    #expect(file.stop == nil, "\(file.errors)")
    #expect(file.data(.runStarted).first != nil)
  }

  @Test("what opencode prints is a reply for each step, with its calls and what they gave back")
  func streamOfOpenCode() throws {
    let part = #""sessionID":"s","messageID":"m""#
    let file = try ImportedFile(
      #"""
      {"type":"step_start","timestamp":1765000000000,"sessionID":"s","part":{"id":"1",\#(part),"type":"step-start"}}
      {"type":"tool_use","timestamp":1765000001000,"sessionID":"s","part":{"id":"2",\#(part),"type":"tool","callID":"c","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a","title":"ls","metadata":{"exit":0}}}}
      {"type":"step_finish","timestamp":1765000002000,"sessionID":"s","part":{"id":"3",\#(part),"type":"step-finish","reason":"tool-calls","cost":0.1,"tokens":{"input":10,"output":5,"cache":{"read":0,"write":0}}}}
      {"type":"step_start","timestamp":1765000003000,"sessionID":"s","part":{"id":"4",\#(part),"type":"step-start"}}
      {"type":"text","timestamp":1765000004000,"sessionID":"s","part":{"id":"5",\#(part),"type":"text","text":"Done."}}
      {"type":"error","timestamp":1765000005000,"sessionID":"s","error":{"name":"MessageAbortedError","data":{}}}
      """#, name: "s.jsonl")
    #expect(file.reports.first?.format == .openCode, "\(file.errors)")
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"])
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok"])
    #expect(file.data(.modelResult).count == 2)
    #expect(file.data(.runStarted).first?["source"]?["unread"] == nil)
    #expect(file.stop == "cancelled MessageAbortedError")
  }

  /// Sessions as opencode keeps them, a file for each message and part; the second one has lost the parts of its reply.
  private static let stored = [
    "session/p/ses_1.json":
      #"{"id":"ses_1","projectID":"p","directory":"/x","title":"t","time":{"created":1,"updated":9}}"#,
    "message/ses_1/msg_1.json":
      #"{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1760000000000}}"#,
    "message/ses_1/msg_2.json":
      #"{"id":"msg_2","sessionID":"ses_1","role":"assistant","time":{"created":1760000001000},"modelID":"m","tokens":{"input":10,"output":2,"cache":{"read":0}},"finish":"tool-calls"}"#,
    "message/ses_1/msg_3.json":
      #"{"id":"msg_3","sessionID":"ses_1","role":"assistant","time":{"created":1760000002000},"modelID":"m","finish":"stop"}"#,
    "part/msg_1/prt_1.json":
      #"{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"List it."}"#,
    "part/msg_2/prt_2.json":
      #"{"id":"prt_2","sessionID":"ses_1","messageID":"msg_2","type":"step-start"}"#,
    "part/msg_2/prt_3.json":
      #"{"id":"prt_3","sessionID":"ses_1","messageID":"msg_2","type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a","title":"ls","metadata":{}}}"#,
    "part/msg_3/prt_4.json":
      #"{"id":"prt_4","sessionID":"ses_1","messageID":"msg_3","type":"text","text":"There is a."}"#,
    "todo/ses_1.json": #"[{"id":"1","content":"call bash","status":"completed"}]"#,
    "message/ses_2/msg_5.json":
      #"{"id":"msg_5","sessionID":"ses_2","role":"user","time":{"created":1760000000000}}"#,
    "message/ses_2/msg_6.json":
      #"{"id":"msg_6","sessionID":"ses_2","role":"assistant","time":{"created":1760000001000}}"#,
    "part/msg_5/prt_6.json":
      #"{"id":"prt_6","sessionID":"ses_2","messageID":"msg_5","type":"text","text":"List it."}"#,
  ]

  @Test("sessions that opencode keeps as a file for each message and part are a run each")
  func storedByOpenCode() throws {
    let folder = try TemporaryFolder()
    for (name, text) in Self.stored { try folder.write("in/storage/\(name)", text) }
    // Of the project there is nothing to import.
    try folder.write(
      "in/storage/project/p.json", #"{"id":"p","worktree":"/x","time":{"created":1}}"#)
    var reports: [ImportReport] = []
    try Importer(format: nil, output: "\(folder.path)/out").run(paths: ["\(folder.path)/in"]) {
      reports.append($0)
    }
    #expect(reports.map(\.format) == [.openCode, .openCode])
    #expect(
      folder.files(below: "out") == ["storage/ses_1.jsonl.gz", "storage/ses_2.jsonl.gz"])
    let events = try ImportedFile.events(of: "\(folder.path)/out/storage/ses_1.jsonl.gz")
    let data = { (type: EventType) in events.filter { $0.type == type }.map(\.data) }
    #expect(data(.decision).map { $0["kind"] } == ["tool", "answer"])
    #expect(data(.decision).first?["calls"]?[0]?["input"] == ["command": "ls"])
    #expect(data(.toolResult).map { $0["data"] } == ["a"])
    #expect(data(.runStarted).first?["input"] == "List it.")
    #expect(data(.runStarted).first?["source"]?["unread"] == nil)
    let rest = try ImportedFile.events(of: "\(folder.path)/out/storage/ses_2.jsonl.gz")
    let started = rest.first { $0.type == .runStarted }?.data
    #expect(started?["recorded"]?["calls"] == "partial")
  }

  @Test(
    "what nobody knows in them is marked",
    arguments: [
      (
        #"{"type":"tool.execution_start","data":{"toolCallId":"c","toolName":"ls","arguments":{}},"id":"1"}"#,
        #"{"type":"something.new","data":{"a":1},"id":"2"}"#
      ),
      (
        #"{"type":"assistant","content":"a","model_id":"g"}"#,
        #"{"type":"something_new","content":"a"}"#
      ),
      (
        #"{"type":"message","session_id":"s","role":"user","text":"q"}"#,
        #"{"type":"something_new","session_id":"s"}"#
      ),
      (
        #"{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"a"}}"#,
        #"{"type":"item.completed","item":{"id":"1","type":"something_new"}}"#
      ),
      (
        #"{"type":"context.append_loop_event","event":{"type":"content.part","stepUuid":"u","part":{"type":"text","text":"a"}}}"#,
        #"{"type":"context.something_new","a":1}"#
      ),
    ])
  func marked(_ line: String, _ unknown: String) throws {
    let file = try ImportedFile("\(line)\n\(unknown)", name: "s.jsonl")
    #expect(file.data(.runStarted).first?["source"]?["unread"] == ["/1"], "\(file.errors)")
  }
}
