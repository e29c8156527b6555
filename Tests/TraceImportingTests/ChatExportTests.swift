import AgentTrace
import Testing
import TraceImporting

@Suite("Conversations that chat programs export, and what Cursor prints")
struct ChatExportTests {
  private static let cursor = #"""
    {"type":"system","subtype":"init","apiKeySource":"login","cwd":"/x","session_id":"s","model":"Auto","permissionMode":"default"}
    {"type":"user","message":{"role":"user","content":[{"type":"text","text":"do"}]},"session_id":"s"}
    {"type":"thinking","subtype":"delta","text":"h","session_id":"s","timestamp_ms":1770823434041}
    {"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I "}]},"session_id":"s","timestamp_ms":1770823434042}
    {"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"look"}]},"session_id":"s","timestamp_ms":1770823434043}
    {"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I look"}]},"session_id":"s","model_call_id":"m"}
    {"type":"tool_call","subtype":"started","call_id":"c1\nx","tool_call":{"lsToolCall":{"args":{"path":"/a"}}},"session_id":"s","timestamp_ms":1770823449274}
    {"type":"tool_call","subtype":"started","call_id":"c2","tool_call":{"shellToolCall":{"args":{"command":"rm"}}},"session_id":"s"}
    {"type":"tool_call","subtype":"completed","call_id":"c2","tool_call":{"shellToolCall":{"args":{"command":"rm"},"result":{"rejected":{"command":"rm","reason":"no"}}}},"session_id":"s"}
    {"type":"tool_call","subtype":"completed","call_id":"c1\nx","tool_call":{"lsToolCall":{"args":{"path":"/a"},"result":{"success":{"a":1}}}},"session_id":"s"}
    {"type":"tool_call","subtype":"completed","call_id":"c3","tool_call":{"mcpToolCall":{"args":{"name":"srv-wipe","args":{"a":1},"toolName":"wipe","providerIdentifier":"srv"},"result":{"success":{"content":[{"text":{"text":"ok"}}],"isError":false}}}},"session_id":"s"}
    {"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"done"}]},"session_id":"s"}
    {"type":"result","subtype":"success","duration_ms":1,"duration_api_ms":1,"is_error":false,"result":"I lookdone","session_id":"s","request_id":"r"}
    """#

  private static let claudeAi = #"""
    [{"uuid":"u","name":"n","created_at":"2025-01-01T00:00:00Z","updated_at":"2025-01-01T00:00:00Z","account":{"uuid":"a"},"chat_messages":[
    {"uuid":"1","text":"q","content":[{"start_timestamp":"x","stop_timestamp":"y","type":"text","text":"q","citations":[]}],"sender":"human","created_at":"2025-01-01T00:00:00Z","updated_at":"2025-01-01T00:00:00Z","attachments":[],"files":[]},
    {"uuid":"2","text":"hm","content":[{"type":"thinking","thinking":"t","summaries":[{"summary":"s"}],"cut_off":false},{"type":"text","text":"hm","citations":[]},{"type":"tool_use","name":"web_search","input":{"query":"x"},"message":"Searching","integration_name":"w","integration_icon_url":null,"context":null,"display_content":null,"approval_options":null,"approval_key":null},{"type":"tool_result","name":"web_search","content":[{"type":"knowledge","title":"t","url":"u","text":"x"}],"is_error":false,"integration_name":"w","display_content":{"type":"rich_content","content":[{"title":"a"}]}},{"type":"tool_use","id":"toolu_1","name":"wipe","input":{},"message":"m"},{"type":"tool_result","tool_use_id":"toolu_1","name":"wipe","content":[{"type":"text","text":"bad"}],"is_error":true},{"type":"text","text":"Done."}],"sender":"assistant","created_at":"2025-01-01T00:00:02Z","updated_at":"2025-01-01T00:00:00Z","attachments":[],"files":[]}]}]
    """#

  private static let libreChat = #"""
    {"conversationId":"c","endpoint":"agents","title":"t","exportAt":"x","branches":false,"recursive":false,"options":{"model":"gpt-4o","agent_id":"a"},"messages":[
    {"messageId":"1","parentMessageId":"0","conversationId":"c","sender":"User","text":"q","isCreatedByUser":true,"createdAt":"2025-01-01T00:00:00Z"},
    {"messageId":"2","parentMessageId":"1","conversationId":"c","sender":"GPT","text":"","isCreatedByUser":false,"model":"gpt-4o","unfinished":false,"error":false,"content":[{"type":"text","text":"hm","tool_call_ids":["call_1"]},{"type":"tool_call","tool_call":{"id":"call_1","name":"wipe_mcp_srv","args":"{\"a\":1}","type":"tool_call","progress":1,"output":"ok"}},{"type":"text","text":"Done"}]}]}
    """#

  private static func unread(_ file: ImportedFile) -> JSONValue? {
    file.data(.runStarted).first?["source"]?["unread"]
  }

  private static func calls(_ file: ImportedFile) -> [JSONValue?] {
    file.data(.decision).flatMap { $0["calls"]?.arrayValue ?? [] }.map { $0["name"] }
  }

  @Test("Cursor's calls by the keys that name them, texts in pieces once, and a refusal by its key")
  func cursorStream() throws {
    let file = try ImportedFile(Self.cursor, name: "s.jsonl")
    #expect(file.reports.map(\.format) == [.cursor], "\(file.errors)")
    #expect(Self.calls(file) == ["ls", "shell", "wipe"])
    #expect(file.data(.toolResult).map { $0["status"] } == ["refused", "ok", "ok"])
    #expect(file.data(.decision).first?["question"] == "I look")
    #expect(Self.unread(file) == nil && file.stop == "success final_answer")
  }

  @Test(
    "what nobody knows in a stream of Cursor is marked, and what did not end well is no success",
    arguments: [
      (
        "\"lsToolCall\":{\"args\":{\"path\":\"/a\"}}}", "\"ls\":{\"args\":{\"path\":\"/a\"}}}",
        true, "success final_answer"
      ),
      ("\"subtype\":\"completed\"", "\"subtype\":\"odd\"", true, "success final_answer"),
      ("\"rejected\":", "\"odd\":", true, "success final_answer"),
      ("\"type\":\"tool_call\"", "\"type\":\"odd\"", true, "success final_answer"),
      ("\"is_error\":false", "\"is_error\":true", false, "model_failure error"),
      ("\"text\":\"done\"", "\"text\":\" \"", false, nil),
    ] as [(String, String, Bool, String?)])
  func damagedCursor(_ old: String, _ new: String, _ isUnread: Bool, _ stop: String?) throws {
    let parts = Self.cursor.split(separator: old, omittingEmptySubsequences: false)
    let file = try ImportedFile(parts.joined(separator: new), name: "s.jsonl")
    #expect(parts.count > 1 && file.reports.map(\.format) == [.cursor], "\(file.errors)")
    #expect((Self.unread(file) != nil) == isUnread, "\(file.outline)")
    #expect(file.stop == stop)
  }

  @Test("a message of Claude.ai is as many replies as its model saw results, with ids or without")
  func claude() throws {
    let file = try ImportedFile(Self.claudeAi, name: "conversations.json")
    #expect(file.reports.map(\.format) == [.claudeAi], "\(file.errors)")
    #expect(Self.calls(file) == ["web_search", "wipe"])
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok", "error"])
    #expect(file.data(.modelResult).count == 3)
    #expect(Self.unread(file) == nil && file.stop == "success final_answer")
    let renamed = Self.claudeAi.split(
      separator: "tool_use\",\"id", omittingEmptySubsequences: false)
    let odd = try ImportedFile(renamed.joined(separator: "tool_odd\",\"id"))
    #expect(odd.errors.isEmpty && Self.unread(odd) != nil, "\(odd.errors)")
  }

  @Test("a call of LibreChat and what it gave back are one part, in a list and in a tree")
  func libre() throws {
    let tree = Self.libreChat.split(separator: "\"messages\":[", omittingEmptySubsequences: false)
      .joined(separator: "\"messagesTree\":[")
    for text in [Self.libreChat, tree] {
      let file = try ImportedFile(text)
      #expect(file.reports.map(\.format) == [.libreChat], "\(file.errors)")
      #expect(Self.calls(file) == ["wipe_mcp_srv"])
      #expect(file.data(.toolResult).map { $0["data"] } == ["ok"])
      #expect(Self.unread(file) == nil && file.stop == "success final_answer")
    }
    let cut = Self.libreChat.split(
      separator: "\"unfinished\":false", omittingEmptySubsequences: false)
    #expect(try ImportedFile(cut.joined(separator: "\"unfinished\":true")).stop == nil)
  }
}
