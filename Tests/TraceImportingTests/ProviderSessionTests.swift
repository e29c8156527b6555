import AgentTrace
import Testing
import TraceImporting

@Suite("Sessions that providers keep: Anthropic's managed agents, Google's AI Studio")
struct ProviderSessionTests {
  private static let managed = #"""
    ["client.beta.sessions.create",{"id":"sesn_1","agent":{"model":{"id":"claude-sonnet-5"}}}]
    ["client.beta.sessions.events.send",["sesn_1",{"events":[{"type":"user.message","content":[{"type":"text","text":"q"}]}]}]]
    ["client.beta.sessions.events.stream",{"id":"e1","processed_at":"2026-07-06T17:00:44Z","type":"session.status_running"}]
    ["client.beta.sessions.events.stream",{"content":[{"text":"q","type":"text"}],"id":"e2","processed_at":"2026-07-06T17:00:44Z","type":"user.message"}]
    ["client.beta.sessions.events.stream",{"id":"r1","processed_at":"2026-07-06T17:00:45Z","type":"span.model_request_start"}]
    ["client.beta.sessions.events.stream",{"content":[{"text":"I look","type":"text"}],"id":"e3","processed_at":"2026-07-06T17:00:46Z","type":"agent.message"}]
    ["client.beta.sessions.events.stream",{"evaluated_permission":"ask","id":"t1","input":{"q":1},"mcp_server_name":"exa","name":"wipe","processed_at":"2026-07-06T17:00:46Z","type":"agent.mcp_tool_use"}]
    ["client.beta.sessions.events.stream",{"evaluated_permission":"allow","id":"t2","input":{"command":"date"},"name":"bash","processed_at":"2026-07-06T17:00:46Z","type":"agent.tool_use"}]
    ["client.beta.sessions.events.stream",{"id":"e4","is_error":false,"model_request_start_id":"r1","model_usage":{"cache_read_input_tokens":5,"input_tokens":2,"output_tokens":7},"processed_at":"2026-07-06T17:00:47Z","type":"span.model_request_end"}]
    ["client.beta.sessions.events.stream",{"id":"e5","processed_at":"2026-07-06T17:00:47Z","stop_reason":{"event_ids":["t1"],"type":"requires_action"},"type":"session.status_idle"}]
    ["client.beta.sessions.events.stream",{"deny_message":"no","id":"e6","processed_at":"2026-07-06T17:00:48Z","result":"deny","tool_use_id":"t1","type":"user.tool_confirmation"}]
    ["client.beta.sessions.events.stream",{"id":"e7","processed_at":"2026-07-06T17:00:48Z","type":"session.status_running"}]
    ["client.beta.sessions.events.stream",{"content":[{"text":"rejected","type":"text"}],"id":"e8","is_error":true,"mcp_tool_use_id":"t1","processed_at":"2026-07-06T17:00:48Z","type":"agent.mcp_tool_result"}]
    ["client.beta.sessions.events.stream",{"content":[{"text":"Mon","type":"text"}],"id":"e9","is_error":false,"tool_use_id":"t2","processed_at":"2026-07-06T17:00:48Z","type":"agent.tool_result"}]
    ["client.beta.sessions.events.stream",{"id":"r2","processed_at":"2026-07-06T17:00:49Z","type":"span.model_request_start"}]
    ["client.beta.sessions.events.stream",{"id":"e10","processed_at":"2026-07-06T17:00:49Z","type":"agent.thinking"}]
    ["client.beta.sessions.events.stream",{"content":[{"text":"Monday","type":"text"}],"id":"e11","processed_at":"2026-07-06T17:00:50Z","type":"agent.message"}]
    ["client.beta.sessions.events.stream",{"id":"e12","is_error":false,"model_request_start_id":"r2","model_usage":{"input_tokens":3,"output_tokens":4},"processed_at":"2026-07-06T17:00:50Z","type":"span.model_request_end"}]
    ["client.beta.sessions.events.stream",{"id":"e13","processed_at":"2026-07-06T17:00:51Z","stop_reason":{"type":"end_turn"},"type":"session.status_idle"}]
    """#

  /// The events alone, as the session's list answers them.
  private static var listed: String {
    let events = managed.split(separator: "\n").compactMap { line in
      line.contains("events.stream") ? line.dropFirst(38).dropLast() : nil
    }
    return #"{"data":["# + events.joined(separator: ",") + "]}"
  }

  private static func unread(_ file: ImportedFile) -> JSONValue? {
    file.data(.runStarted).first?["source"]?["unread"]
  }

  private static func calls(_ file: ImportedFile) -> [JSONValue?] {
    file.data(.decision).flatMap { $0["calls"]?.arrayValue ?? [] }.map { $0["name"] }
  }

  @Test("a request of a managed agent is one reply, and a call that was denied did not run")
  func managedAgents() throws {
    for text in [Self.managed, Self.listed] {
      let file = try ImportedFile(text, name: text == Self.listed ? "s.json" : "s.jsonl")
      #expect(file.reports.map(\.format) == [.managedAgents], "\(file.errors)")
      #expect(Self.calls(file) == ["wipe", "bash"])
      #expect(file.data(.toolResult).map { $0["status"] } == ["refused", "ok"])
      let models = file.data(.modelResult)
      #expect(models.count == 2)
      #expect(models.first?["usage"]?["outputTokens"] == 7)
      #expect(file.stop == "success final_answer")
      #expect(Self.unread(file) == nil)
    }
  }

  @Test(
    "what nobody knows among a managed agent's events is marked, and what did not end well is no success",
    arguments: [
      (#""type":"agent.tool_use""#, #""type":"agent.odd_use""#, true, "success final_answer"),
      (#""type":"end_turn""#, #""type":"retries_exhausted""#, false, "model_failure error"),
      (#""type":"end_turn""#, #""type":"odd""#, false, nil),
      (#""type":"agent.thinking""#, #""type":"agent.odd""#, true, "success final_answer"),
      (
        #""id":"e10","processed_at":"2026-07-06T17:00:49Z","type":"agent.thinking""#,
        #""id":"e10","type":"user.interrupt","processed_at":"2026-07-06T17:00:49Z""#, false,
        "success final_answer"
      ),
    ] as [(String, String, Bool, String?)])
  func damagedManaged(_ old: String, _ new: String, _ isUnread: Bool, _ stop: String?) throws {
    let parts = Self.managed.split(separator: old, omittingEmptySubsequences: false)
    let file = try ImportedFile(parts.joined(separator: new), name: "s.jsonl")
    #expect(parts.count > 1 && file.reports.map(\.format) == [.managedAgents], "\(file.errors)")
    #expect((Self.unread(file) != nil) == isUnread, "\(file.outline)")
    #expect(file.stop == stop)
  }

  @Test(
    "what a sub-agent did in a thread of its own is missing, so that calls may have gone unseen")
  func threads() throws {
    let thread =
      #"{"id":"e20","processed_at":"2026-07-06T17:00:49Z","type":"session.thread_created","agent_name":"helper","session_thread_id":"th"}"#
    let text = Self.managed + "\n" + #"["client.beta.sessions.events.stream","# + thread + "]"
    let file = try ImportedFile(text, name: "s.jsonl")
    let started = try #require(file.data(.runStarted).first)
    #expect(started["source"]?["missing"]?.arrayValue?.count == 1)
    #expect(started["recorded"]?["calls"] == "partial")
  }

  @Test(
    "what a request took counts although nothing came of it, and pages that are not there are missing"
  )
  func silentRequests() throws {
    let events = Self.listed.dropLast(2)
    let request =
      #"{"id":"r9","processed_at":"2026-07-06T17:00:52Z","type":"span.model_request_start"},{"id":"e30","processed_at":"2026-07-06T17:00:53Z","type":"agent.thinking"},{"id":"e31","is_error":false,"model_request_start_id":"r9","model_usage":{"input_tokens":1000,"output_tokens":900},"processed_at":"2026-07-06T17:00:54Z","type":"span.model_request_end"}"#
    let file = try ImportedFile(events + "," + request + "]}")
    let taken = file.data(.modelResult).compactMap { $0["usage"]?["outputTokens"]?.intValue }
    #expect(taken.reduce(0, +) == 911)
    let page = try ImportedFile(Self.listed.dropLast(1) + #","next_page":"p2"}"#)
    #expect(page.data(.runStarted).first?["recorded"]?["calls"] == "partial")
  }

  private static let studio = #"""
    {"runSettings":{"model":"models/gemini-3"},"systemInstruction":{"text":"be brief"},"chunkedPrompt":{"chunks":[
    {"role":"user","text":"2+2?","tokenCount":4},
    {"role":"model","isThought":true,"text":"code","thinkingBudget":-1},
    {"role":"model","executableCode":{"language":"PYTHON","code":"print(2+2)"}},
    {"role":"model","codeExecutionResult":{"outcome":"OUTCOME_OK","output":"4"}},
    {"role":"model","parts":[{"text":"It is 4."}],"finishReason":"STOP"}],
    "pendingInputs":[{"text":"not sent","role":"user"}]}}
    """#

  @Test(
    "what AI Studio's model said between two words of the user is one reply, with the code that ran"
  )
  func aiStudio() throws {
    let file = try ImportedFile(Self.studio)
    #expect(file.reports.map(\.format) == [.aiStudio], "\(file.errors)")
    #expect(Self.calls(file) == ["code_execution"])
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok"])
    #expect(file.stop == "success final_answer" && Self.unread(file) == nil)
  }

  @Test(
    "code that failed failed, what was cut off is no success, and a key that nobody knows is marked",
    arguments: [
      ("OUTCOME_OK", "OUTCOME_FAILED", "error", false, "success final_answer"),
      ("\"STOP\"", "\"MAX_TOKENS\"", "ok", false, nil),
      ("\"executableCode\":", "\"oddCode\":", "ok", true, "success final_answer"),
    ] as [(String, String, String, Bool, String?)])
  func damagedStudio(
    _ old: String, _ new: String, _ status: String, _ isUnread: Bool, _ stop: String?
  ) throws {
    let parts = Self.studio.split(separator: old, omittingEmptySubsequences: false)
    let file = try ImportedFile(parts.joined(separator: new))
    #expect(parts.count > 1 && file.errors.isEmpty, "\(file.errors)")
    #expect(file.data(.toolResult).first?["status"]?.stringValue == status)
    #expect((Self.unread(file) != nil) == isUnread, "\(file.outline)")
    #expect(file.stop == stop)
  }
}
