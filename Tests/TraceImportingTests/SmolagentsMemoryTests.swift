import AgentTrace
import Testing
import TraceImporting

@Suite("The memory of smolagents' agents")
struct SmolagentsMemoryTests {
  private static let steps = #"""
    [{"task":"Plan","task_images":null},
    {"step_number":1,"timing":{"start_time":1.5,"end_time":2.5,"duration":1},"model_input_messages":[],"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":{"town":"Graz"}}},{"id":"c2","type":"function","function":{"name":"weather","arguments":{"town":"Linz"}}}],"error":null,"model_output_message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":{"town":"Graz"}}},{"id":"c2","type":"function","function":{"name":"weather","arguments":{"town":"Linz"}}}],"raw":{"model":"m"}},"observations":"sunny\nrain","token_usage":{"input_tokens":20,"output_tokens":5}},
    {"step_number":2,"tool_calls":[],"error":{"type":"AgentToolExecutionError","message":"Error executing tool 'book' with arguments {}: full"},"model_output_message":{"role":"assistant","content":"I book","tool_calls":[{"id":"c3","type":"function","function":{"name":"book","arguments":{}}}]},"observations":null},
    {"step_number":3,"tool_calls":[{"id":"c4","type":"function","function":{"name":"final_answer","arguments":{"answer":"Done."}}}],"error":null,"model_output_message":{"role":"assistant","content":null,"tool_calls":[{"id":"c4","type":"function","function":{"name":"final_answer","arguments":{"answer":"Done."}}}]},"observations":"Done.","is_final_answer":true}]
    """#

  private static func unread(_ file: ImportedFile) -> JSONValue? {
    file.data(.runStarted).first?["source"]?["unread"]
  }

  private static func calls(_ file: ImportedFile) -> [JSONValue?] {
    file.data(.decision).flatMap { $0["calls"]?.arrayValue ?? [] }.map { $0["name"] }
  }

  @Test("each step is a model's call, and its results are the lines of what it observed")
  func steps() throws {
    for text in [Self.steps, #"{"output":"Done.","state":"success","steps":"# + Self.steps + "}"] {
      let file = try ImportedFile(text)
      #expect(file.reports.map(\.format) == [.smolagents], "\(file.errors)")
      #expect(Self.calls(file) == ["weather", "weather", "book"])
      let results = file.data(.toolResult)
      #expect(results.map { $0["status"] } == ["ok", "ok", "error"])
      #expect(results.prefix(2).map { $0["data"] } == ["sunny", "rain"])
      #expect(file.data(.modelResult).count == 3)
      #expect(file.data(.decision).last?["text"] == "Done.")
      #expect(file.stop == "success final_answer" && Self.unread(file) == nil)
    }
  }

  @Test("what several calls observed in more lines than they are is the result of none of them")
  func linesThatBelongToNobody() throws {
    let parts = Self.steps.split(separator: #"sunny\nrain"#)
    let file = try ImportedFile(parts.joined(separator: #"sunny\nwarm\nrain"#))
    #expect(parts.count == 2)
    #expect(file.data(.toolResult).prefix(2).allSatisfy { $0["data"]?.stringValue == nil })
    #expect(file.data(.runStarted).first?["recorded"]?["tools"] == "partial")
  }

  @Test(
    "a model that failed and a run without steps left are no success, and calls within code are not known",
    arguments: [
      (
        #"{"step_number":4,"error":{"type":"AgentMaxStepsError","message":"x"},"model_output_message":null,"observations":null,"action_output":"I give up."}"#,
        "budget_exhausted max_steps", false
      ),
      (
        #"{"step_number":4,"error":{"type":"AgentGenerationError","message":"x"},"model_output_message":null,"observations":null}"#,
        nil, false
      ),
      (
        #"{"step_number":4,"tool_calls":[{"id":"call_4","type":"function","function":{"name":"python_interpreter","arguments":"wipe(1)"}}],"error":null,"model_output_message":{"role":"assistant","content":"<code>wipe(1)</code>"},"code_action":"wipe(1)","observations":"Execution logs:\nx"}"#,
        nil, true
      ),
      (#"{"step_number":4,"model_output_message":{},"odd":[{"name":"wipe"}]}"#, nil, true),
    ] as [(String, String?, Bool)])
  func otherEnds(_ step: String, _ stop: String?, _ isUnread: Bool) throws {
    let end = try #require(Self.steps.firstRange(of: ",\n{\"step_number\":3"))
    let file = try ImportedFile(Self.steps[..<end.lowerBound] + ",\n" + step + "]")
    #expect(file.reports.map(\.format) == [.smolagents], "\(file.errors)")
    #expect(file.stop == stop)
    #expect((Self.unread(file) != nil) == isUnread, "\(file.outline)")
  }
}
