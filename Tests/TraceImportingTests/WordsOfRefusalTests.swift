import AgentTrace
import Testing
import TraceImporting

@Suite("Words in the place of a result do not say by themselves that a call did not run")
struct WordsOfRefusalTests {
  /// What became of the only call: its status, and whether nobody knows its effect.
  private static func outcome(_ text: String, _ name: String = "run.json") throws -> String {
    let file = try ImportedFile(text, name: name)
    let result = try #require(file.data(.toolResult).first, "\(file.errors)")
    return [result["status"]?.stringValue, result["effect"]?.stringValue].compactMap { $0 }
      .joined(separator: " ")
  }

  static let sentences = [
    "The user doesn't want to proceed with this tool use. STOP",
    "The user doesn't want to take this action right now.", "The user denied this operation.",
    "The user has declined to run this tool", "exec command rejected by user",
    "User did not allow tool call", "Skipping tool due to user rejecting a previous tool.",
    "The user rejected permission to use this specific tool call.",
  ]

  @Test("in a list of messages a tool may have said so itself", arguments: sentences)
  func lists(_ words: String) throws {
    let chat = """
      [{"role":"user","content":"q"},
       {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"wipe","arguments":"{}"}}]},
       {"role":"tool","tool_call_id":"c","content":"\(words)"},{"role":"assistant","content":"done"}]
      """
    #expect(try Self.outcome(chat) == "error unknown")
    let blocks = """
      [{"role":"user","content":"q"},
       {"role":"assistant","content":[{"type":"tool_use","id":"c","name":"wipe","input":{}}]},
       {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"\(words)"}]}]
      """
    #expect(try Self.outcome(blocks) == "error unknown")
    let langChain = """
      {"messages":[{"type":"human","content":"q"},
       {"type":"ai","content":"","tool_calls":[{"name":"wipe","args":{},"id":"c","type":"tool_call"}]},
       {"type":"tool","content":"\(words)","tool_call_id":"c","status":"success"}]}
      """
    #expect(try Self.outcome(langChain) == "error unknown")
  }

  @Test(
    "in a session a server's tool may have said so itself, and a tool of the program's own not",
    arguments: [
      ("mcp__docs__wipe", "error unknown"), ("Bash", "error unknown"), ("Write", "refused"),
    ])
  func claudeCode(_ tool: String, _ outcome: String) throws {
    let session = """
      {"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"q"}}
      {"type":"assistant","uuid":"2","sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"c","name":"\(tool)","input":{}}]}}
      {"type":"user","uuid":"3","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"\(Self.sentences[0])"}]}}
      """
    #expect(try Self.outcome(session, "s.jsonl") == outcome)
  }

  @Test(
    "so in Codex, by the tool's name",
    arguments: [
      ("shell", "exec command rejected by user", "refused"),
      ("mcp__docs__wipe", "exec command rejected by user", "error unknown"),
      ("mcp__docs__wipe", "user rejected MCP tool call", "error unknown"),
    ])
  func codex(_ tool: String, _ words: String, _ outcome: String) throws {
    let rollout = """
      {"type":"session_meta","payload":{"id":"s","cwd":"/x"}}
      {"type":"response_item","payload":{"type":"function_call","name":"\(tool)","arguments":"{}","call_id":"c"}}
      {"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"\(words)"}}
      """
    #expect(try Self.outcome(rollout, "r.jsonl") == outcome)
  }

  @Test(
    "so in opencode, and what a tool gave back that went well says nothing of the kind",
    arguments: [
      ("bash", "error", "refused"), ("docs_wipe", "error", "error unknown"),
      ("bash", "completed", "ok"), ("docs_wipe", "completed", "ok"),
    ])
  func openCode(_ tool: String, _ status: String, _ outcome: String) throws {
    let key = status == "error" ? "error" : "output"
    let session = """
      [{"info":{"id":"1","role":"user"},"parts":[{"type":"text","text":"q"}]},
       {"info":{"id":"2","role":"assistant"},"parts":[
        {"type":"tool","callID":"c","tool":"\(tool)","state":{"status":"\(status)","input":{},"\(key)":"\(Self.sentences[7])"}}]}]
      """
    #expect(try Self.outcome(session) == outcome)
  }
}
