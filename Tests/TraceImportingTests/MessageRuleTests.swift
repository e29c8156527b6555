import AgentTrace
import Testing
import TraceImporting

/// What every format has in common: how a list of messages becomes events.
struct MessageRuleTests {
  private static let conversation = #"""
    [{"role":"system","content":"Be brief."},
     {"role":"user","content":"Refund order 7","name":"ada"},
     {"role":"assistant","content":"Which card?"},
     {"role":"user","content":"The blue one"},
     {"role":"assistant","content":"Looking.","tool_calls":[
       {"id":"x","type":"function","function":{"name":"look_up","arguments":"{\"order\": 7.0}"}},
       {"id":"y","type":"function","function":{"name":"refund","arguments":"{}"}}]},
     {"role":"tool","tool_call_id":"x","content":"found"},
     {"role":"tool","tool_call_id":"y","content":"Error: no"},
     {"role":"assistant","content":"Done.","reasoning":"easy"}]
    """#

  @Test("each message becomes its events, in order, each decision a step of its own")
  func outline() throws {
    let file = try ImportedFile(Self.conversation)
    #expect(
      file.outline == [
        "0 run_started", "0 human_replied", "1 context_built", "1 model_result", "1 decision",
        "1 human_replied", "2 context_built", "2 model_result", "2 decision", "2 tool_result",
        "2 tool_result", "3 context_built", "3 model_result", "3 decision", "3 stop",
      ])
    #expect(file.events.map(\.seq) == Array(file.events.indices))
    #expect(file.events.allSatisfy { $0.t == 0 && $0.time == nil })
    #expect(Set(file.events.map(\.runId)).count == 1)
  }

  @Test("every event points at the messages it carries, and all together at every message")
  func pointers() throws {
    let file = try ImportedFile(Self.conversation)
    let pointers = file.events.map { event in
      event.data["source"]?["pointers"]?.arrayValue?.compactMap(\.stringValue) ?? ["missing"]
    }
    #expect(
      pointers == [
        ["/1"], ["/1"], ["/0", "/1"], ["/2"], ["/2"], ["/3"], ["/2", "/3"], ["/4"], ["/4"], ["/5"],
        ["/6"], ["/4", "/5", "/6"], ["/7"], ["/7"], ["/7"],
      ])
    for pointer in pointers.joined() {
      let place = try #require(JSONPointer(pointer))
      #expect(file.source?[place]?["role"] != nil)
    }
    #expect(file.reports.first?.json["messages"] == 8)
  }

  @Test("the run starts with the first user message as input and goal, and names what it lacks")
  func runStarted() throws {
    let started = try #require(try ImportedFile(Self.conversation).data(.runStarted).first)
    #expect(started["input"] == "Refund order 7")
    #expect(started["goal"] == "Refund order 7")
    #expect(
      started["recorded"]
        == ["context": "partial", "model": "partial", "policy": "none", "time": "none"])
    #expect(
      started["source"] == [
        "format": "openai-messages", "file": "run.json", "pointers": ["/1"],
      ])
    #expect(started.keys == ["formatVersion", "goal", "input", "recorded", "source"])
  }

  @Test("a context holds the run, its goal and the messages so far, and nothing else")
  func contexts() throws {
    let contexts = try ImportedFile(Self.conversation).data(.contextBuilt)
    #expect(
      contexts.map(\.keys) == Array(repeating: ["goal", "prompt", "runId", "source"], count: 3))
    #expect(
      contexts.map { $0["prompt"]?.objectValue?.keys } == [
        ["messages"], ["messages"], ["messages"],
      ])
    #expect(
      contexts.last?["prompt"]?["messages"] == [
        ["role": "system", "content": [["type": "text", "text": "Be brief."]]],
        ["role": "user", "content": [["type": "text", "text": "Refund order 7"]]],
        ["role": "assistant", "content": [["type": "text", "text": "Which card?"]]],
        ["role": "user", "content": [["type": "text", "text": "The blue one"]]],
        [
          "role": "assistant",
          "content": [
            ["type": "text", "text": "Looking."],
            [
              "type": "tool_call", "callId": "2.1.0", "name": "look_up",
              "input": try JSONValue(parsing: #"{"order":7.0}"#),
            ],
            ["type": "tool_call", "callId": "2.1.1", "name": "refund", "input": [:]],
          ],
        ],
        [
          "role": "tool",
          "content": [["type": "tool_result", "callId": "2.1.0", "data": "found"]],
        ],
        [
          "role": "tool",
          "content": [["type": "tool_result", "callId": "2.1.1", "data": "Error: no"]],
        ],
      ])
  }

  @Test("a reply stands as it stood")
  func replies() throws {
    let file = try ImportedFile(Self.conversation)
    #expect(file.data(.modelResult).map { $0["reply"] } == [2, 4, 7].map { file.source?[$0] })
    #expect(
      file.data(.modelResult).allSatisfy { $0.keys == ["attempt", "purpose", "reply", "source"] })
  }

  @Test("the last text is the answer, an earlier one a question, text with calls a tool decision")
  func decisions() throws {
    let file = try ImportedFile(Self.conversation)
    let decisions = file.data(.decision).map { decision in
      var decision = decision
      decision["source"] = nil
      return decision
    }
    #expect(
      decisions == [
        ["kind": "ask_human", "question": "Which card?", "modelResult": 3],
        [
          "kind": "tool", "modelResult": 7,
          "calls": [
            [
              "callId": "2.1.0", "name": "look_up", "providerCallId": "x",
              "input": try JSONValue(parsing: #"{"order":7.0}"#),
            ],
            ["callId": "2.1.1", "name": "refund", "providerCallId": "y", "input": [:]],
          ],
        ],
        ["kind": "answer", "text": "Done.", "evidenceRefs": [], "modelResult": 12],
      ])
  }

  @Test("a stop has a reason, a detail, the answer and that it is final, and nothing else")
  func stop() throws {
    let file = try ImportedFile(Self.conversation)
    #expect(
      file.data(.stop) == [
        [
          "reason": "success", "detail": "final_answer", "answer": "Done.", "final": true,
          "source": ["pointers": ["/7"]],
        ]
      ])
  }

  @Test("a text that a user's message follows is the answer if no assistant's does")
  func answerBeforeUser() throws {
    let file = try ImportedFile(
      #"[{"role":"assistant","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]"#
    )
    #expect(file.data(.decision).map { $0["kind"] } == ["ask_human", "answer"])
    #expect(file.stop == nil)
    #expect(file.data(.runStarted).first?["recorded"]?["stop"] == "none")
  }

  @Test("no text is an answer where the last assistant message has calls")
  func noAnswer() throws {
    let file = try ImportedFile(
      #"""
      [{"role":"assistant","content":"a"},
       {"role":"assistant","content":"b","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]
      """#)
    #expect(file.data(.decision).map { $0["kind"] } == ["ask_human", "tool"])
  }

  @Test("members without a meaning here are kept: under extra, or in the reply as it stood")
  func extra() throws {
    let file = try ImportedFile(
      #"""
      {"id":"run-1","tools":[{"type":"function"}],"messages":[
        {"role":"system","content":"s","priority":1},
        {"role":"user","content":"u","name":"ada","n":null},
        {"role":"assistant","content":null,"audio":{"id":"a"},
         "tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"1","name":"f","content":"r","cached":true}]}
      """#)
    #expect(
      file.data(.runStarted).first?["extra"] == ["id": "run-1", "tools": [["type": "function"]]])
    #expect(file.data(.humanReplied).first?["extra"] == ["name": "ada", "n": .null])
    #expect(file.data(.contextBuilt).first?["prompt"]?["messages"]?[0]?["extra"] == ["priority": 1])
    #expect(file.data(.modelResult).first?["reply"] == file.source?["messages"]?[2])
    #expect(
      file.data(.toolResult).first?["extra"] == [
        "tool_call_id": "1", "name": "f", "cached": true,
      ])
  }

  @Test("a message of another role, or instructions behind the last reply, are still carried")
  func otherRoles() throws {
    let file = try ImportedFile(
      #"""
      [{"role":"critic","content":"hm"},{"role":"assistant","content":"a"},
       {"role":"user","content":"u"},{"role":"system","content":"s"}]
      """#)
    #expect(file.reports.first?.json["messages"] == 4)
    #expect(
      file.outline == [
        "0 run_started", "1 context_built", "1 model_result", "1 decision", "1 human_replied",
        "1 context_built",
      ])
  }

  @Test(
    "content in any shape keeps its text and what stood there",
    arguments: [
      (#""plain""#, "plain", nil),
      (#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#, "a\nb", 2),
      (#"["a",{"type":"input_text","text":"b"}]"#, "a\nb", 2),
      (#"[{"type":"text","content":"a"}]"#, "a", 1),
      (#"[{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"a"}]"#, "a", 2),
      (#"[{"type":"image_url","image_url":{"url":"x"}}]"#, "", 1),
      (#"[{"type":"text","text":""}]"#, "", 1),
      ("[]", "", 0),
      ("null", "", 0),
      (#""""#, "", nil),
      (#"{"odd":1}"#, "", 1),
      ("17", "", 1),
    ] as [(String, String, Int?)])
  func content(_ content: String, _ text: String, partCount: Int?) throws {
    let file = try ImportedFile(#"[{"role":"user","content":\#(content)},{"role":"assistant"}]"#)
    let reply = try #require(file.data(.humanReplied).first)
    #expect(reply["text"]?.stringValue == text)
    #expect(reply["extra"]?["content"] == (partCount == nil ? nil : file.source?[0]?["content"]))
    let parts = file.data(.contextBuilt).first?["prompt"]?["messages"]?[0]?["content"]
    #expect(parts?.arrayValue?.count == partCount ?? (text.isEmpty ? 0 : 1))
  }

  @Test("a message without content has empty text, and a reply without any is invalid")
  func noContent() throws {
    let file = try ImportedFile(#"[{"role":"user"},{"role":"assistant","content":""}]"#)
    #expect(file.data(.humanReplied).first?["text"] == "")
    #expect(file.data(.decision).first?["kind"] == "invalid")
    #expect(file.data(.decision).first?["reason"] == "a reply with neither text nor calls")
    #expect(file.stop == nil)
  }

  @Test("text that is no proper Unicode is kept as the bytes it is, from message to stop")
  func foreignText() throws {
    let file = try ImportedFile(
      #"[{"role":"user","content":"\ud800"},{"role":"assistant","content":"a\udfff"}]"#)
    #expect(file.data(.humanReplied).first?["text"] == .bytes([0xed, 0xa0, 0x80]))
    #expect(file.data(.decision).first?["text"] == .bytes([0x61, 0xed, 0xbf, 0xbf]))
    #expect(file.data(.stop).first?["answer"] == .bytes([0x61, 0xed, 0xbf, 0xbf]))
  }

  @Test("a failed call of Agno's run is an error, and whose run it is hides no call")
  func agno() throws {
    let file = try ImportedFile(
      #"""
      {"run_id":"r","agent_id":"traveller","agent_name":"T","session_id":"s","model":"m","status":"COMPLETED","metrics":{"input_tokens":1,"details":{"model":[{"id":"m"}]}},"input":{"input_content":"q"},"messages":[
      {"role":"user","content":"q","from_history":false},
      {"role":"assistant","tool_calls":[{"id":"c1","function":{"arguments":"{}","name":"book"},"type":"function"}]},
      {"role":"tool","content":"full","tool_call_id":"c1","tool_name":"book","tool_args":{"town":"Graz"},"tool_call_error":true},
      {"role":"assistant","content":"Done."}],
      "tools":[{"tool_call_id":"c1","tool_name":"book","tool_args":{},"tool_call_error":true,"result":"full"}]}
      """#)
    #expect(file.errors.isEmpty, "\(file.errors)")
    #expect(file.data(.toolResult).map { $0["status"] } == ["error"])
    #expect(file.data(.runStarted).first?["source"]?["unread"] == nil)
    #expect(file.stop == "success final_answer")
  }
}
