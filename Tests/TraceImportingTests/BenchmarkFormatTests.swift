import AgentTrace
import Testing
import TraceImporting
import TraceStorage

struct Tau2Tests {
  private static func file(_ messages: [String], reason: String = "user_stop") -> String {
    #"""
    {"timestamp":"now","info":{"agent_info":{"implementation":"llm_agent","llm":"m-1"},
      "environment_info":{"domain_name":"telecom","policy":"Be kind."}},
     "tasks":[{"id":"t0","x":0},{"id":"t1","x":1}],
     "simulations":[{"id":"s","task_id":"t1","trial":0,"termination_reason":"\#(reason)",
       "reward_info":{"reward":0.5},"agent_cost":0.1,"messages":[\#(messages.joined(separator: ","))]}]}
    """#
  }

  private static let userCall =
    #"{"role":"user","content":null,"tool_calls":[{"id":"c","name":"toggle","arguments":{"on":true},"requestor":"user"}],"turn_idx":2}"#
  private static let userResult =
    #"{"role":"tool","id":"c","content":"toggled","requestor":"user","error":false}"#
  private static let agentCall =
    #"{"role":"assistant","content":null,"tool_calls":[{"id":"","name":"look","arguments":{},"requestor":"assistant"}]}"#
  private static let agentResult =
    #"{"role":"tool","id":"","content":"seen","requestor":"assistant","error":true}"#

  @Test("calls of the simulated user are decisions of their own, and the agent never sees them")
  func userCalls() throws {
    let file = try ImportedFile(
      Self.file([
        #"{"role":"assistant","content":"Toggle it."}"#, Self.userCall, Self.userResult,
        #"{"role":"user","content":"Did so."}"#, Self.agentCall, Self.agentResult,
        #"{"role":"assistant","content":"Bye."}"#, #"{"role":"user","content":"That is all."}"#,
      ]))
    #expect(file.errors.isEmpty)
    #expect(
      file.outline == [
        "0 run_started", "1 context_built", "1 model_result", "1 decision", "2 decision",
        "2 tool_result", "2 human_replied", "3 context_built", "3 model_result", "3 decision",
        "3 tool_result", "4 context_built", "4 model_result", "4 decision", "4 human_replied",
        "4 stop",
      ])
    let decision = file.data(.decision)[1]
    #expect(decision["caller"] == "user" && decision["ofUser"] == true)
    #expect(decision["calls"]?[0]?["callId"] == "2.1.0")
    #expect(decision["extra"] == ["content": .null, "turn_idx": 2])
    #expect(file.data(.toolResult).map { $0["caller"] } == ["user", nil])
    #expect(file.data(.toolResult).map { $0["ofUser"] } == [true, nil])
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok", "error"])
    let shown = file.data(.contextBuilt).last?["prompt"]?["messages"]?.arrayValue ?? []
    #expect(
      shown.compactMap { $0["role"]?.stringValue } == ["assistant", "user", "assistant", "tool"])
    let line = try #require(file.reports.first?.json)
    #expect(line["messages"] == 8)
    #expect(line["toolCalls"] == 1)
    #expect(line["userToolCalls"] == 1)
    #expect(line["toolErrors"] == 1)
  }

  @Test("results go to the calls of whoever asked, even in between")
  func interleaved() throws {
    let file = try ImportedFile(
      Self.file([Self.agentCall, Self.userCall, Self.agentResult, Self.userResult]))
    #expect(file.data(.toolResult).map { $0["callId"] } == ["1.1.0", "2.1.0"])
    #expect(file.data(.toolResult).map { $0["tool"] } == ["look", "toggle"])
    #expect(
      file.outline.filter { $0.hasSuffix("tool_result") } == ["1 tool_result", "2 tool_result"])
  }

  @Test("text of a user beside calls is what the user said, at the same place")
  func userTextAndCalls() throws {
    let file = try ImportedFile(
      Self.file([
        #"{"role":"user","content":"so","tool_calls":[{"name":"toggle","arguments":{},"requestor":"user"}]}"#
      ]))
    #expect(file.outline.dropFirst() == ["0 human_replied", "1 decision", "1 stop"])
    #expect(file.reports.first?.json["messages"] == 1)
  }

  @Test(
    "a run ends by its termination reason alone",
    arguments: [
      ("user_stop", "success user_stop"), ("agent_stop", "success agent_stop"),
      ("max_steps", "budget_exhausted max_steps"), ("timeout", "budget_exhausted timeout"),
      ("context_window_exceeded", "budget_exhausted max_tokens"),
      ("too_many_errors", "tool_failure too_many_errors"),
      ("agent_error", "invalid_decision agent_error"), ("infrastructure_error", nil),
      ("user_error", nil), ("unexpected_error", nil), ("something_new", nil),
    ] as [(String, String?)])
  func stops(_ reason: String, _ stop: String?) throws {
    let file = try ImportedFile(
      Self.file([#"{"role":"assistant","content":"transfer"}"#], reason: reason))
    #expect(file.stop == stop)
    #expect((file.data(.runStarted).first?["recorded"]?["stop"] == "none") == (stop == nil))
    if stop != nil {
      #expect(
        file.data(.stop).first?["source"] == [
          "pointers": ["/simulations/0/messages/0"], "field": "/simulations/0/termination_reason",
        ])
    }
  }

  @Test("task, trial, reward and domain are labels; the rest of the simulation is kept")
  func labels() throws {
    let started = try #require(
      try ImportedFile(Self.file([Self.agentCall])).data(.runStarted).first)
    #expect(
      started["source"]?["labels"] == [
        "id": "s", "task_id": "t1", "trial": 0, "termination_reason": "user_stop",
        "domain": "telecom", "reward": 0.5,
      ])
    #expect(started["agent"] == ["name": "llm_agent"])
    #expect(started["model"] == ["name": "m-1"])
    #expect(started["extra"]?["task"] == ["id": "t1", "x": 1])
    #expect(started["extra"]?["info"]?["environment_info"]?["policy"] == "Be kind.")
    #expect(started["extra"]?["agent_cost"] == 0.1)
  }

  @Test("time is what the messages' own times say, from the first, and never runs backwards")
  func times() throws {
    let stamps = [
      "2025-08-10T02:44:06.500000", "2025-08-10T02:44:08", "2025-08-10T02:44:07.25", "soon",
      "2025-08-10T02:44:09.000001",
    ]
    let file = try ImportedFile(
      Self.file(stamps.map { #"{"role":"user","content":"x","timestamp":"\#($0)"}"# }))
    let replies = file.events.filter { $0.type == .humanReplied }
    #expect(replies.map(\.t) == [0, 1_500_000, 1_500_000, 1_500_000, 2_500_001])
    // A time without a zone is nobody's UTC.
    #expect(file.events.allSatisfy { $0.time == nil })
    #expect(file.data(.runStarted).first?["recorded"]?["time"] == "partial")
    let zoned = try ImportedFile(
      Self.file([#"{"role":"user","content":"x","timestamp":"2025-08-10T02:44:08Z"}"#]))
    #expect(zoned.events.map(\.time) == [nil, "2025-08-10T02:44:08Z", nil])
  }

  @Test("times that lie millennia apart are as far apart as a log can say, and the log can be read")
  func farTimes() throws {
    let file = try ImportedFile(
      Self.file(
        ["0001-01-01T00:00:00Z", "2025-08-10T02:44:06Z", "9999-12-31T23:59:59Z"].map {
          #"{"role":"user","content":"x","timestamp":"\#($0)"}"#
        }))
    #expect(file.errors.isEmpty)
    #expect(
      file.events.map(\.t) == [
        0, 0, LogFormat.numberLimit, LogFormat.numberLimit, LogFormat.numberLimit,
      ])
  }

  @Test("what a reply used and cost is read; a user's is the simulator's own and kept aside")
  func usage() throws {
    let rest = #""content":"x","cost":0.25,"usage":{"prompt_tokens":9,"completion_tokens":4}"#
    let file = try ImportedFile(
      Self.file([#"{"role":"assistant",\#(rest)}"#, #"{"role":"user",\#(rest)}"#]))
    let result = try #require(file.data(.modelResult).first)
    #expect(result["usage"] == ["inputTokens": 9, "outputTokens": 4])
    #expect(result["cost"] == 0.25)
    #expect(file.data(.humanReplied).first?["extra"]?["cost"] == 0.25)
  }

  @Test("one simulation in a file of its own has no index")
  func single() throws {
    let file = try ImportedFile(
      #"{"id":"s","termination_reason":"max_steps","messages":[{"role":"user","content":"x"}]}"#)
    #expect(file.reports.first?.index == nil)
    #expect(file.data(.runStarted).first?["source"]?["format"] == "tau2")
    #expect(file.stop == "budget_exhausted max_steps")
  }
}

struct AgentDojoTests {
  private static func file(_ messages: [String], error: String = "null") -> String {
    #"""
    {"suite_name":"banking","pipeline_name":"p","user_task_id":"user_task_0",
     "injection_task_id":null,"injections":{"v":"text"},"error":\#(error),"utility":true,
     "duration":1.5,"messages":[\#(messages.joined(separator: ","))]}
    """#
  }

  private static let call =
    #"{"role":"assistant","content":null,"tool_calls":[{"function":"pay","args":{"n":1}},{"function":"pay","args":{"n":2},"id":null}]}"#
  private static let text =
    #"{"role":"assistant","content":[{"type":"text","content":"ok"}],"tool_calls":[]}"#

  @Test("calls without ids are paired by position, and a result with an error set is an error")
  func results() throws {
    let file = try ImportedFile(
      Self.file([
        Self.call,
        #"{"role":"tool","content":"paid","tool_call_id":null,"tool_call":{"function":"pay"},"error":""}"#,
        #"{"role":"tool","content":"","tool_call":{"function":"pay"},"error":"ValueError: no"}"#,
      ]))
    let results = file.data(.toolResult)
    #expect(results.map { $0["callId"] } == ["1.1.0", "1.1.1"])
    #expect(results.map { $0["status"] } == ["ok", "error"])
    #expect(results.first?["data"] == "paid")
    #expect(results.last?["reason"] == "ValueError: no")
    #expect(
      results.last?["extra"] == [
        "content": "", "pairedBy": "order", "tool_call": ["function": "pay"],
      ])
    #expect(file.reports.first?.json["parallelTurns"] == 1)
    #expect(file.reports.first?.json["index"] == .null)
  }

  @Test(
    "a run ends by its error, or by the form of its last message",
    arguments: [
      ([text], #""provider down""#, "tool_failure error"), ([text], "null", "success final_answer"),
      ([text], #""""#, "success final_answer"),
      ([text, call], "null", "budget_exhausted max_steps"),
      ([#"{"role":"assistant","content":""}"#], "null", nil),
      ([text, #"{"role":"user","content":"x"}"#], "null", nil),
      ([call, #"{"role":"tool","content":"x","error":null}"#], "null", nil),
    ] as [([String], String, String?)])
  func stops(_ messages: [String], _ error: String, _ stop: String?) throws {
    #expect(try ImportedFile(Self.file(messages, error: error)).stop == stop)
  }

  @Test("what the file says about the run is labels, and its injections are kept")
  func labels() throws {
    let started = try #require(try ImportedFile(Self.file([Self.text])).data(.runStarted).first)
    #expect(
      started["source"]?["labels"] == [
        "suite_name": "banking", "pipeline_name": "p", "user_task_id": "user_task_0",
        "utility": true, "duration": 1.5,
      ])
    #expect(started["extra"] == ["injections": ["v": "text"]])
    #expect(started["agent"] == ["name": "p"])
  }

  @Test("text parts that stand under content are text")
  func parts() throws {
    #expect(try ImportedFile(Self.file([Self.text])).data(.decision).first?["text"] == "ok")
  }
}

struct GuessingTests {
  @Test(
    "the format follows from the shape",
    arguments: [
      (#"{"simulations":[{"messages":[{"role":"user"}]}]}"#, "tau2"),
      (#"{"messages":[{"role":"user"}],"termination_reason":"timeout"}"#, "tau2"),
      (#"{"suite_name":"s","messages":[{"role":"user"}]}"#, "agentdojo"),
      (#"{"messages":[{"role":"user"}]}"#, "openai-messages"),
      (#"[{"role":"user"}]"#, "openai-messages"),
      (#"[{"traj":[{"role":"user"}],"reward":1}]"#, "openai-messages"),
    ])
  func guess(_ text: String, _ format: String) throws {
    let file = try ImportedFile(text)
    #expect(file.data(.runStarted).first?["source"]?["format"]?.stringValue == format)
    let named = try ImportedFile(text, format: ImportFormat(rawValue: format))
    #expect(named.events == file.events)
  }
}
