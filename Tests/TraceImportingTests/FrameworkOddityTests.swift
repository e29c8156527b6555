import AgentTrace
import Testing
import TraceImporting

@Suite("What frameworks write that is no call, no result or no execution")
struct FrameworkOddityTests {
  private static func recorded(_ file: ImportedFile, _ channel: String) -> JSONValue? {
    file.data(.runStarted).first?["recorded"]?[channel]
  }

  // MARK: ADK

  @Test("members of ADK's sessions that are null say as little as those that are not there")
  func nulls() throws {
    func event(_ author: String, _ part: JSONObject, _ id: String) -> JSONValue {
      var members: JSONObject = [:]
      for key in [
        "mediaResolution", "codeExecutionResult", "executableCode", "functionCall",
        "functionResponse", "inlineData", "text", "thought", "toolCall", "toolResponse",
      ] { members[key] = .null }
      for member in part { members[member.key] = member.value }
      return [
        "id": .string(id), "author": .string(author), "invocationId": "e", "finishReason": .null,
        "content": ["role": author == "user" ? "user" : "model", "parts": [.object(members)]],
        "usageMetadata": .null, "errorCode": .null, "interrupted": .null,
      ]
    }
    let session: JSONValue = [
      "id": "s", "appName": "app", "userId": "u", "state": [:],
      "events": [
        event("user", ["text": "Plan"], "1"),
        event(
          "trip",
          ["functionCall": ["id": "c", "name": "weather", "args": ["town": "Graz", "by": .null]]],
          "2"),
        event(
          "trip",
          ["functionResponse": ["id": "c", "name": "weather", "response": ["result": "sunny"]]],
          "3"),
        event("trip", ["text": "Done."], "4"),
      ],
    ]
    let file = try ImportedFile("\(session)")
    #expect(file.data(.decision).map { $0["kind"] } == ["tool", "answer"], "\(file.errors)")
    let call = file.data(.decision).first?["calls"]?[0]
    #expect(call?["input"] == ["town": "Graz", "by": .null])
    #expect(file.data(.toolResult).count == 1)
    #expect(Self.recorded(file, "calls") == nil)
  }

  // MARK: The OpenAI Agents SDK

  private static let arguments = "{\"town\": \"Graz\"}"

  private static func asked(_ ids: [String]) -> JSONValue {
    let calls = ids.map { id -> JSONValue in
      [
        "id": .string(id), "type": "function",
        "function": ["name": "weather", "arguments": .string(arguments)],
      ]
    }
    return ["role": "assistant", "content": .null, "tool_calls": .array(calls)]
  }

  /// A run that asks for calls, and is asked again with what came of some of them.
  private static func agents(
    _ ids: [String], outputs: [JSONValue], shown: [(id: String, text: String)]
  ) throws -> ImportedFile {
    let lines = spans(of: "t", ids, outputs: outputs, shown: shown)
    return try ImportedFile(lines.map { "\($0)\n" }.joined(), name: "spans.jsonl")
  }

  private static func spans(
    of trace: String, _ ids: [String], outputs: [JSONValue], shown: [(id: String, text: String)]
  ) -> [JSONValue] {
    var lines: [JSONValue] = [["object": "trace", "id": .string(trace), "workflow_name": "w"]]
    func add(_ second: Int, _ data: JSONObject) {
      lines.append([
        "object": "trace.span", "id": .string("\(trace)\(lines.count)"), "trace_id": .string(trace),
        "parent_id": .null, "error": .null,
        "started_at": .string("2026-11-28T16:00:0\(second).100000+00:00"),
        "ended_at": .string("2026-11-28T16:00:0\(second).200000+00:00"),
        "span_data": .object(data),
      ])
    }
    let user: JSONValue = ["role": "user", "content": "Plan"]
    add(1, ["type": "generation", "model": "m", "input": [user], "output": [asked(ids)]])
    for (index, output) in outputs.enumerated() {
      add(
        2 + index,
        [
          "type": "function", "name": "weather", "input": .string(arguments), "output": output,
          "mcp_data": .null,
        ])
    }
    if !shown.isEmpty {
      let told = shown.map { id, text -> JSONValue in
        ["role": "tool", "tool_call_id": .string(id), "content": .string(text)]
      }
      add(
        8,
        [
          "type": "generation", "model": "m", "input": .array([user, asked(ids)] + told),
          "output": [["role": "assistant", "content": "Done."]],
        ])
    }
    return lines
  }

  @Test("a call that a person would not have is refused, and did not run")
  func refused() throws {
    let file = try Self.agents(
      ["c1"], outputs: [.null], shown: [("c1", "Tool execution was not approved.")])
    #expect(file.data(.toolResult).map { $0["status"] } == ["refused"], "\(file.errors)")
    #expect(Self.recorded(file, "calls") == nil)
  }

  @Test("a tool that gave back nothing ran where a model was shown what came of it")
  func none() throws {
    let file = try Self.agents(["c1"], outputs: [.null], shown: [("c1", "None")])
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok"], "\(file.errors)")
    #expect(file.data(.toolResult).first?["data"] == "None")
    #expect(Self.recorded(file, "calls") == nil)
  }

  @Test("of equal calls, some with a word and some without, each is one")
  func mixed() throws {
    let file = try Self.agents(
      ["c1", "c2", "c3"], outputs: ["sunny", .null, "sunny"],
      shown: [("c1", "sunny"), ("c2", "None"), ("c3", "sunny")])
    #expect(
      file.data(.toolResult).map { $0["data"] } == ["sunny", "None", "sunny"], "\(file.errors)")
    #expect(Self.recorded(file, "calls") == nil)
  }

  @Test("a call that waited and then ran is one, whatever stands beside it")
  func approved() throws {
    let file = try Self.agents(
      ["c1", "c2"], outputs: [.null, .null, "sunny", "sunny"],
      shown: [("c1", "sunny"), ("c2", "sunny")])
    #expect(file.data(.toolResult).map { $0["status"] } == ["ok", "ok"], "\(file.errors)")
    #expect(Self.recorded(file, "calls") == nil)
  }

  @Test("of a call that waits nobody says that it ran, or that it did not")
  func waits() throws {
    let file = try Self.agents(["c1"], outputs: [.null], shown: [])
    #expect(file.data(.toolResult).isEmpty, "\(file.errors)")
    #expect(Self.recorded(file, "calls") == "partial")
  }

  @Test("that an equal call of another run ran says nothing of a call that waits")
  func otherRun() throws {
    let lines =
      Self.spans(of: "t", ["c1"], outputs: ["sunny"], shown: [("c1", "sunny")])
      + Self.spans(of: "u", ["c2"], outputs: [.null], shown: [])
    let file = try ImportedFile(lines.map { "\($0)\n" }.joined(), name: "spans.jsonl")
    let calls = file.data(.runStarted).map { $0["recorded"]?["calls"] }
    #expect(calls.last == "partial", "\(file.errors)")
  }

  // MARK: Spans

  private static func spans(_ more: (inout SpanSource) -> Void) throws -> ImportedFile {
    var source = SpanSource()
    source.add(
      "a1", under: nil, "invoke_agent a", 0...100, ["gen_ai.operation.name": "invoke_agent"])
    source.add(
      "b1", under: "a1", "chat m", 5...10,
      [
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
        "gen_ai.input.messages": SpanSource.text([SpanSource.user("Plan")]),
        "gen_ai.output.messages": SpanSource.text([SpanSource.answer("All is fine.")]),
        "gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 5,
      ])
    more(&source)
    return try source.imported()
  }

  @Test("what AG2 says once more of a call of a model is no other call")
  func usage() throws {
    let file = try Self.spans {
      $0.add(
        "c1", under: "a1", "record_usage model_call", 11...12,
        [
          "ag2.span.type": "usage", "ag2.usage.kind": "model_call", "gen_ai.response.model": "m",
          "gen_ai.provider.name": "openai", "gen_ai.usage.input_tokens": 20,
          "gen_ai.usage.output_tokens": 5,
        ])
    }
    #expect(file.data(.modelResult).count == 1, "\(file.errors)")
    #expect(file.data(.modelResult).first?["usage"]?["inputTokens"] == 20)
    #expect(Self.recorded(file, "calls") == nil && file.stop == "success final_answer")
  }

  @Test("a call that a person denied AG2 did not run; a tool that says so ran")
  func denied() throws {
    for isAsked in [true, false] {
      let file = try Self.spans {
        $0.add(
          "c1", under: "a1", "execute_tool pay", 12...20,
          [
            "ag2.span.type": "tool", "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "pay", "gen_ai.tool.call.arguments": "{}",
            "gen_ai.tool.call.result": "User denied the tool call request",
          ])
        guard isAsked else { return }
        $0.add(
          "d1", under: "c1", "await_human_input a", 13...19,
          ["ag2.span.type": "human_input", "gen_ai.operation.name": "await_human_input"])
      }
      let status: JSONValue = isAsked ? "refused" : "ok"
      #expect(file.data(.toolResult).map { $0["status"] } == [status], "\(file.errors)")
    }
  }

  @Test("a task of LangChain's is a step, and one that is called as a tool is told")
  func tasks() throws {
    func imported(_ task: String) throws -> ImportedFile {
      try Self.spans {
        $0.add(
          "c1", under: "a1", "execute_task \(task)", 12...14,
          [
            "gen_ai.operation.name": "execute_task",
            "gen_ai.tool.definitions": SpanSource.text([["name": "pay", "type": "function"]]),
          ])
      }
    }
    #expect(try Self.recorded(imported("before_model"), "calls") == nil)
    #expect(try Self.recorded(imported("pay"), "calls") == "partial")
  }
}
