import AgentRuntime
import AgentTrace
import TestSupport
import Testing

@testable import LiveBoundary

@Suite("Dialects of models")
struct DialectTests {
  // MARK: Requests

  private static let tools = [
    ToolDefinition(
      name: "lookup", description: "Looks up.",
      inputSchema: ["type": "object", "properties": ["id": ["type": "string"]]]),
    ToolDefinition(name: "orders/löschen", inputSchema: true),
  ]

  private static let messages: [JSONValue] = [
    ["role": "system", "content": [["type": "text", "text": "Be kind."]]],
    ["role": "user", "content": [["type": "text", "text": "Hello"]]],
    ["role": "system", "content": [["type": "text", "text": "Memory run/a: 1"]]],
    [
      "role": "assistant",
      "content": [
        ["type": "reasoning", "block": ["type": "thinking", "thinking": "t", "signature": "s"]],
        [
          "type": "reasoning", "block": ["type": "reasoning", "id": "r", "encrypted_content": "e"],
        ],
        ["type": "reasoning", "block": ["reasoning_content": "c"]],
        ["type": "text", "text": "Looking."],
        ["type": "tool_call", "callId": "1.1.0", "name": "lookup", "input": ["id": "7"]],
        ["type": "tool_call", "callId": "1.1.1", "name": "orders/löschen", "input": [:]],
      ],
    ],
    [
      "role": "tool",
      "content": [["type": "tool_result", "callId": "1.1.1", "status": "error", "data": "no"]],
    ],
    ["role": "tool", "content": [["type": "tool_result", "callId": "1.1.0", "data": ["n": 1]]]],
    ["role": "user", "content": [["type": "text", "text": "And?"]]],
  ]

  private static func body(
    _ dialect: Dialect, _ messages: [JSONValue] = messages, tools: [ToolDefinition] = tools,
    _ settings: GenerationSettings = GenerationSettings(), stream: Bool = false
  ) -> JSONObject {
    dialect.body(
      of: ModelPrompt(packet: messages, tools: tools), model: "m", settings, stream: stream)
  }

  private static let deleteName = WireNames.wireName(ofTool: "orders/löschen")

  @Test(
    "Chat Completions: roles, calls as text, each result in a message of its own, thoughts sent back"
  )
  func chat() {
    let body = Self.body(.openai)
    #expect(
      body["messages"] == [
        ["role": "system", "content": "Be kind."],
        ["role": "user", "content": "Hello\n\nMemory run/a: 1"],
        [
          "role": "assistant", "content": "Looking.", "reasoning_content": "c",
          "tool_calls": [
            [
              "id": "call_1_1_0", "type": "function",
              "function": ["name": "lookup", "arguments": "{\"id\":\"7\"}"],
            ],
            [
              "id": "call_1_1_1", "type": "function",
              "function": ["name": .string(Self.deleteName), "arguments": "{}"],
            ],
          ],
        ],
        ["role": "tool", "tool_call_id": "call_1_1_1", "content": "Error: no"],
        ["role": "tool", "tool_call_id": "call_1_1_0", "content": "{\"n\":1}"],
        ["role": "user", "content": "And?"],
      ])
    #expect(body["tools"]?[0]?["function"]?["description"] == "Looks up.")
    #expect(body["tools"]?[1]?["function"]?["parameters"] == ["type": "object"])
    #expect(body.keys == ["messages", "model", "tools"])
  }

  @Test("Messages: system on top, results first in one message of the user, thoughts sent back")
  func anthropic() {
    let body = Self.body(.anthropic)
    #expect(body["system"] == "Be kind.")
    #expect(
      body["messages"] == [
        [
          "role": "user",
          "content": [
            ["type": "text", "text": "Hello"], ["type": "text", "text": "Memory run/a: 1"],
          ],
        ],
        [
          "role": "assistant",
          "content": [
            ["type": "thinking", "thinking": "t", "signature": "s"],
            ["type": "text", "text": "Looking."],
            ["type": "tool_use", "id": "call_1_1_0", "name": "lookup", "input": ["id": "7"]],
            [
              "type": "tool_use", "id": "call_1_1_1", "name": .string(Self.deleteName),
              "input": [:],
            ],
          ],
        ],
        [
          "role": "user",
          "content": [
            [
              "type": "tool_result", "tool_use_id": "call_1_1_1", "content": "no",
              "is_error": true,
            ],
            ["type": "tool_result", "tool_use_id": "call_1_1_0", "content": "{\"n\":1}"],
            ["type": "text", "text": "And?"],
          ],
        ],
      ])
    #expect(body.keys == ["max_tokens", "messages", "model", "system", "tools"])
  }

  @Test("Responses: instructions on top, everything an item, nothing kept by the server")
  func responses() {
    let body = Self.body(.openaiResponses)
    #expect(body["instructions"] == "Be kind.")
    #expect(body["store"] == false)
    #expect(
      body["input"] == [
        ["role": "user", "content": "Hello"], ["role": "user", "content": "Memory run/a: 1"],
        ["type": "reasoning", "id": "r", "encrypted_content": "e"],
        ["role": "assistant", "content": "Looking."],
        [
          "type": "function_call", "call_id": "call_1_1_0", "name": "lookup",
          "arguments": "{\"id\":\"7\"}",
        ],
        [
          "type": "function_call", "call_id": "call_1_1_1", "name": .string(Self.deleteName),
          "arguments": "{}",
        ],
        ["type": "function_call_output", "call_id": "call_1_1_1", "output": "Error: no"],
        ["type": "function_call_output", "call_id": "call_1_1_0", "output": "{\"n\":1}"],
        ["role": "user", "content": "And?"],
      ])
    #expect(body.keys == ["input", "instructions", "model", "store", "tools"])
  }

  @Test("what is asked for beside the conversation has its own key in each dialect, or none")
  func settings() {
    let settings = GenerationSettings(
      maxOutputTokens: 9, temperature: 0.5, topP: 0.25, seed: 3, stop: ["x"],
      toolChoice: .tool("lookup"), parallelToolCalls: false,
      reasoning: .init(effort: "low", budgetTokens: 5, summary: "auto"), options: ["a": 1])
    let chat = Self.body(.openai, Self.messages, settings, stream: true)
    #expect(chat["max_tokens"] == 9)
    #expect(chat["seed"] == 3)
    #expect(chat["stop"] == ["x"])
    #expect(chat["reasoning_effort"] == "low")
    #expect(chat["tool_choice"] == ["type": "function", "function": ["name": "lookup"]])
    #expect(chat["parallel_tool_calls"] == false)
    #expect(chat["stream_options"] == ["include_usage": true])
    let anthropic = Self.body(.anthropic, Self.messages, settings, stream: true)
    #expect(anthropic["max_tokens"] == 9)
    #expect(anthropic["stop_sequences"] == ["x"])
    #expect(anthropic["thinking"] == ["type": "enabled", "budget_tokens": 5])
    #expect(anthropic["output_config"] == ["effort": "low"])
    #expect(
      anthropic["tool_choice"] == [
        "type": "tool", "name": "lookup", "disable_parallel_tool_use": true,
      ])
    #expect(anthropic["seed"] == nil)
    let responses = Self.body(.openaiResponses, Self.messages, settings, stream: true)
    #expect(responses["max_output_tokens"] == 9)
    #expect(responses["reasoning"] == ["effort": "low", "summary": "auto"])
    #expect(responses["include"] == ["reasoning.encrypted_content"])
    #expect(responses["tool_choice"] == ["type": "function", "name": "lookup"])
    for body in [chat, anthropic, responses] {
      #expect(body["temperature"] == 0.5)
      #expect(body["top_p"] == 0.25)
      #expect(body["stream"] == true)
      #expect(body["a"] == 1)
    }
    let official = Dialect.openai.body(
      of: ModelPrompt(packet: Self.messages), model: "m", settings, stream: false, isOpenAI: true)
    #expect(official["max_completion_tokens"] == 9)
    #expect(official["max_tokens"] == nil)
  }

  @Test(
    "a conversation that no provider would take is made one that each takes",
    arguments: Dialect.allCases)
  func odd(_ dialect: Dialect) {
    let call: JSONValue = ["type": "tool_call", "callId": "1.1.0", "name": "lookup", "input": [:]]
    let result: JSONValue = ["type": "tool_result", "callId": "9.1.0", "data": "late"]
    let text: JSONValue = ["type": "text", "text": "x"]
    let samples: [[JSONValue]] = [
      [], [["role": "system", "content": [text]]], [["role": "assistant", "content": [text]]],
      [["role": "assistant", "content": [call]]],
      [["role": "assistant", "content": [call]], ["role": "assistant", "content": [text]]],
      [["role": "assistant", "content": [call]], ["role": "user", "content": [text]]],
      [["role": "tool", "content": [result]]],
      [["role": "user", "content": [["type": "text", "text": ""]]]],
      [["role": "user", "content": [["type": "picture"]]], 7, ["role": 1]],
    ]
    for messages in samples {
      let arranged = ModelPrompt(packet: messages, tools: Self.tools).arranged { _ in true }
        .messages
      #expect(arranged.first?.role == .user)
      for (one, next) in zip(arranged, arranged.dropFirst()) { #expect(one.role != next.role) }
      let calls = arranged.flatMap(\.parts).filter { if case .call = $0 { true } else { false } }
      let results = arranged.flatMap(\.parts).filter {
        if case .result = $0 { true } else { false }
      }
      #expect(calls.count == results.count, "\(messages)")
      // Without tools there are neither.
      let told = Self.body(dialect, messages, tools: [])
      let words = CanonicalJSON.string(.object(told))
      #expect(
        !words.contains("tool_use") && !words.contains("tool_call\"")
          && !words.contains("function_call"))
    }
  }

  @Test("a block in which something was withheld is not sent, because its signature no longer fits")
  func withheld() {
    let token = RedactionToken(kind: "key", hex: String(repeating: "0a", count: 16)).description
    let messages: [JSONValue] = [
      ["role": "user", "content": [["type": "text", "text": "x"]]],
      [
        "role": "assistant",
        "content": [
          [
            "type": "reasoning",
            "block": ["type": "thinking", "thinking": .string("It is \(token)"), "signature": "s"],
          ],
          ["type": "tool_call", "callId": "1.1.0", "name": "lookup", "input": [:]],
        ],
      ],
    ]
    let content = Self.body(.anthropic, messages)["messages"]?[1]?["content"]?.arrayValue
    #expect(content?.count == 1)
  }

  @Test("names and ids are of a form that providers take, and names come back")
  func names() {
    let names = [
      "lookup", "orders/löschen", "orders.löschen", "a b", "a_b", "",
      String(repeating: "x", count: 64),
      String(repeating: "x", count: 65), String(repeating: "x", count: 66), "ё", "mcp__a.b",
    ]
    let wire = names.map(WireNames.wireName(ofTool:))
    #expect(Set(wire).count == names.count)
    for (name, wire) in zip(names, wire) {
      #expect(wire.wholeMatch(of: #/[A-Za-z0-9_-]{1,64}/#) != nil, "\(wire)")
      #expect(WireNames.toolName(of: wire, among: names).hasSameUTF8(as: name))
    }
    #expect(WireNames.toolName(of: "unknown", among: names) == "unknown")
    #expect(WireNames.wireID(ofCall: "12.3.0") == "call_12_3_0")
    #expect(WireNames.wireID(ofCall: "toolu_1") == "toolu_1")
    #expect(WireNames.wireID(ofCall: "a b") != WireNames.wireID(ofCall: "a.b"))
  }

  @Test("a packet that is laid out and put together again is the same")
  func packets() {
    #expect(ModelPrompt(packet: Self.messages).packetMessages == Self.messages)
  }

  // MARK: Replies

  private static func read(_ dialect: Dialect, _ text: String, tools: [String] = []) throws
    -> ProviderReply
  {
    var stream = ReplyStream(dialect, tools: tools)
    _ = try stream.take(Array(text.utf8))
    return try stream.reply()
  }

  private static func read(_ dialect: Dialect, _ bytes: [UInt8]) throws -> ProviderReply {
    var stream = ReplyStream(dialect)
    _ = try stream.take(bytes)
    return try stream.reply()
  }

  private static let spoken = FakeProvider.Reply(
    "Good day, €😀!",
    calls: [.init("lookup", "{\"id\":\"é😀\"}", id: "a"), .init("lookup", "{}", id: "b")],
    reasoning: "Two of them.")

  @Test("plain and streamed replies come to the same", arguments: Dialect.allCases)
  func both(_ dialect: Dialect) throws {
    let plain = try dialect.reply(from: Array(FakeProvider.body(Self.spoken, dialect).utf8))
    let streamed = try Self.read(
      dialect, Array(FakeProvider.events(Self.spoken, dialect).joined()))
    for reply in [plain, streamed] {
      #expect(reply.reply["text"] == .string(Self.spoken.text))
      let calls = reply.reply["calls"]?.arrayValue ?? []
      #expect(calls.map { $0["id"] } == ["a", "b"])
      for (call, known) in zip(calls, Self.spoken.calls) {
        let input = try call["input"] ?? JSONValue(parsing: call["arguments"]?.stringValue ?? "")
        #expect(try input == JSONValue(parsing: known.arguments))
      }
      #expect(reply.usage?.input == FakeProvider.usage.input)
      #expect(reply.usage?.output == FakeProvider.usage.output)
      #expect(reply.reply["reasoning"]?.arrayValue?.count == 1)
      #expect(reply.reply["parts"] == nil)
    }
    #expect(plain.reply["reasoning"] == streamed.reply["reasoning"])
    #expect(plain.finishReason == streamed.finishReason)
  }

  @Test(
    "a stream that is cut anywhere is an error, or holds the whole decision",
    arguments: Dialect.allCases)
  func cut(_ dialect: Dialect) throws {
    let bytes = Array(FakeProvider.events(Self.spoken, dialect).joined())
    let whole = try Self.read(dialect, bytes)
    var errors = 0
    for end in 0..<bytes.count {
      var stream = ReplyStream(dialect)
      _ = try stream.take(bytes[..<end])
      do {
        let reply = try stream.reply()
        #expect(reply.reply == whole.reply, "cut at \(end)")
        // The last line of one of them may have no end.
        #expect(stream.isWhole || dialect == .ollama)
      } catch {
        #expect(error == .cut)
        errors += 1
      }
    }
    #expect(errors > bytes.count / 2)
  }

  @Test(
    "a damaged byte never crashes, and never makes more calls than there were",
    arguments: Dialect.allCases)
  func damage(_ dialect: Dialect) throws {
    let events = FakeProvider.events(Self.spoken, dialect)
    let bytes = Array(events.joined())
    var random = Seeded(seed: 5)
    // Events of this one tell each call twice: one that was changed may be two.
    let most = dialect == .openaiResponses ? 6 : 3
    for _ in 0..<TestRun.count(400, long: 20_000) {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: 0..<damaged.count, using: &random)
        damaged[place] = UInt8.random(in: 0...255, using: &random)
      }
      var stream = ReplyStream(dialect)
      guard (try? stream.take(damaged)) != nil, let reply = try? stream.reply() else { continue }
      #expect((reply.reply["calls"]?.arrayValue ?? []).count <= most)
    }
  }

  private static func chat(_ chunks: String...) throws -> ProviderReply {
    try read(.openai, chunks.map { "data: \($0)\n\n" }.joined())
  }

  @Test("calls in pieces belong together by their index, or by their id where servers leave it out")
  func pieces() throws {
    func delta(_ calls: String) -> String {
      "{\"choices\":[{\"delta\":{\"tool_calls\":\(calls)},\"finish_reason\":null}]}"
    }
    let end = "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}"
    // In turns.
    var reply = try Self.chat(
      delta(#"[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]"#),
      delta(#"[{"index":1,"id":"b","function":{"name":"g","arguments":"["}}]"#),
      delta(
        #"[{"index":0,"function":{"arguments":"}"}},{"index":1,"function":{"arguments":"]"}}]"#),
      end)
    #expect(
      reply.reply["calls"] == [
        ["id": "a", "name": "f", "arguments": "{}"], ["id": "b", "name": "g", "arguments": "[]"],
      ])
    // Without index, with index 0 for all, with id and name repeated in each piece.
    for index in ["", #""index":0,"#] {
      reply = try Self.chat(
        delta(#"[{\#(index)"id":"a","function":{"name":"f","arguments":"{}"}}]"#),
        delta(#"[{\#(index)"id":"b","function":{"name":"g","arguments":"{}"}}]"#), end)
      #expect(reply.reply["calls"]?.arrayValue?.count == 2)
    }
    reply = try Self.chat(
      delta(
        #"[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}],"function_call":{"name":"f","arguments":"{"}"#
      ),
      delta(
        #"[{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}],"function_call":{"name":"f","arguments":"}"}"#
      ), end)
    #expect(reply.reply["calls"] == [["id": "a", "name": "f", "arguments": "{}"]])
    #expect(reply.reply["unread"] == nil)
    // Before there were several.
    reply = try Self.chat(
      #"{"choices":[{"delta":{"function_call":{"name":"f","arguments":"{"}}}]}"#,
      #"{"choices":[{"delta":{"function_call":{"arguments":"}"}},"finish_reason":"function_call"}]}"#
    )
    #expect(reply.reply["calls"] == [["name": "f", "arguments": "{}"]])
  }

  @Test("half characters that servers escape apart become whole ones")
  func halves() throws {
    let reply = try Self.chat(
      #"{"choices":[{"delta":{"content":"a\ud83d"}}]}"#,
      #"{"choices":[{"delta":{"content":"\ude00b"}}]}"#,
      #"{"choices":[{"delta":{"content":"\ud83d"},"finish_reason":"stop"}]}"#)
    #expect(reply.reply["text"]?.stringValue?.hasPrefix("a😀b\u{fffd}") == true)
  }

  @Test("usage that comes late, or not at all, is what was said, or unknown")
  func usage() throws {
    let end = #"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#
    #expect(try Self.chat(end, "[DONE]").usage == nil)
    let reply = try Self.chat(
      end,
      #"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4}}}"#
    )
    #expect(reply.usage == TokenUsage(input: 9, cachedInput: 4, output: 7))
    #expect(
      try Self.chat(end, #"{"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":1e99}}"#)
        .usage
        == TokenUsage())
    let message = try Dialect.anthropic.reply(
      from: Array(
        #"{"content":[],"usage":{"input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":4,"output_tokens":8}}"#
          .utf8))
    #expect(message.usage == TokenUsage(input: 7, cachedInput: 2, cacheWrite: 4, output: 8))
  }

  @Test("thoughts that stand between calls keep their places")
  func interleaved() throws {
    let reply = try Dialect.anthropic.reply(
      from: Array(
        #"""
        {"content":[
          {"type":"thinking","thinking":"one","signature":"s1"},{"type":"text","text":"A"},
          {"type":"redacted_thinking","data":"zz"},{"type":"tool_use","id":"x","name":"f","input":{"a":1}}],
         "stop_reason":"tool_use"}
        """#.utf8))
    #expect(
      reply.reply["reasoning"] == [
        ["type": "thinking", "thinking": "one", "signature": "s1"],
        ["type": "redacted_thinking", "data": "zz"],
      ])
    #expect(
      reply.reply["parts"] == [["reasoning": 0], ["text": "A"], ["reasoning": 1], ["call": 0]])
  }

  @Test("items that the last event leaves out are those that were done before")
  func itemsOfEvents() throws {
    let reply = try Self.read(
      .openaiResponses,
      #"""
      data: {"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}

      data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"x"}]}}

      data: {"type":"response.completed","response":{"status":"completed","output":[]}}


      """#)
    #expect(reply.reply["text"] == "x")
    #expect(reply.reply["calls"]?[0]?["id"] == "c")
  }

  @Test("what is no reply is a fault that says so")
  func faults() {
    let bodies = [
      "", "{", "[]", "null", "{\"choices\":1}", "{\"content\":{}}", "{\"output\":\"x\"}", "<html>",
      String(repeating: "[", count: 100_000),
    ]
    for dialect in Dialect.allCases {
      for body in bodies {
        #expect(throws: ReplyFault.self) { try dialect.reply(from: Array(body.utf8)) }
      }
    }
    for (dialect, event) in [
      (Dialect.openai, "data: {\n\n"), (.openai, "data: 1\n\n"), (.anthropic, "data: x\n\n"),
      (.anthropic, "data: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{}}\n\n"),
      (.openaiResponses, "data: {\"type\":\"response.completed\"}\n\n"),
    ] {
      #expect(throws: ReplyFault.self, "\(event)") { try Self.read(dialect, event) }
    }
  }

  @Test("errors are read in every form that servers tell them in", arguments: Dialect.allCases)
  func errors(_ dialect: Dialect) throws {
    let bodies: [(String, String)] = [
      (#"{"error":{"message":"m","type":"t","code":"c"}}"#, "m (t, c)"), (#"{"error":"m"}"#, "m"),
      (#"{"type":"error","error":{"type":"t","message":"m"}}"#, "m (t)"),
      (#"{"object":"error","message":"m","type":"t","code":400}"#, "m (t, 400)"),
      (#"{"detail":"m"}"#, "m"), (#"{"error":{"code":429}}"#, "429"),
    ]
    for (body, words) in bodies {
      let reply = try dialect.reply(from: Array(body.utf8))
      #expect(reply.error?.description == words)
    }
    #expect(dialect.error(in: ["error": .null, "choices": []]) == nil)
  }

  @Test(
    "events that nobody knows say nothing, and are noted",
    arguments: Dialect.allCases)
  func unknownEvents(_ dialect: Dialect) throws {
    // Lines have no events.
    guard dialect != .ollama else { return }
    let events = FakeProvider.events(Self.spoken, dialect)
    let strange =
      dialect == .bedrock
      ? EventFrames.event("later.thing", ["x": [1]])
      : Array(
        "event: later.thing\ndata: {\"type\":\"later.thing\",\"x\":[1]}\n\n: note\n\n".utf8)
    let whole = try Self.read(dialect, Array(events.joined()))
    #expect(whole.reply["unread"] == nil)
    var found = try Self.read(dialect, Array(events.map { strange + $0 }.joined()))
    #expect(found.reply["unread"] != nil)
    var reply = try #require(found.reply.objectValue)
    reply["unread"] = nil
    found.reply = .object(reply)
    #expect(found == whole)
  }

  // MARK: Pace and dates

  @Test("a pace lets a minute's worth through at once, then as it comes back, in order")
  func pace() {
    var bucket = PaceBucket(perMinute: 60, now: 0)
    for _ in 0..<60 { #expect(bucket.take(1, now: 0) == 0) }
    #expect(bucket.take(1, now: 0) == 1)
    #expect(bucket.take(1, now: 0) == 2)
    #expect(bucket.take(1, now: 10) == 0)
    bucket.settle(taken: 1, used: 31)
    #expect(bucket.take(1, now: 10) == 24)
    // Never more than a minute's worth, and a clock that goes back gives nothing.
    #expect(bucket.take(60, now: 10_000) == 0)
    #expect(bucket.take(1, now: 9_000) == 1)
  }

  @Test("moments of HTTP headers are read by the calendar")
  func dates() {
    #expect(HTTPDate.secondsSince1970("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
    #expect(HTTPDate.secondsSince1970("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
    #expect(HTTPDate.secondsSince1970("Thu, 29 Feb 2024 12:00:00 GMT") == 1_709_208_000)
    for text in [
      "", "soon", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
      "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nox 1994 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT",
      "Sun, 06 Nov 1994 8:49 GMT", "Sun, 06 Nov 1994 08:49:-7 GMT",
    ] {
      #expect(HTTPDate.secondsSince1970(text) == nil, "\(text)")
    }
  }

  @Test("cost is the sum of what is known, and unknown where a part of it is")
  func cost() {
    let prices = ProviderModel.Prices(input: 2, cachedInput: 0.5, output: 8)
    #expect(
      prices.cost(input: 1_000_000, cachedInput: 500_000, cacheWrite: 0, output: 250_000) == 3.25)
    #expect(prices.cost(input: 10, cachedInput: nil, cacheWrite: 1, output: 1) == nil)
    #expect(prices.cost(input: nil, cachedInput: nil, cacheWrite: nil, output: 1) == nil)
    #expect(prices.cost(input: 0, cachedInput: nil, cacheWrite: nil, output: 0) == 0)
    #expect(ProviderModel.Prices().cost(input: 1, cachedInput: 0, cacheWrite: 0, output: 0) == nil)
  }
}
