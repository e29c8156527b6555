import AgentRuntime
import AgentTrace
import TestSupport
import Testing

@testable import LiveBoundary

/// Replies of every dialect, whole and streamed, out of which calls are taken.
@Suite("Taking calls out of replies")
struct ReplyEditTests {
  /// A reply as one of the dialects writes it: some text, and calls.
  struct Sample: Sendable, CustomStringConvertible {
    var dialect: Dialect
    var streams: Bool
    var text: String
    var calls: [(id: String, name: String, arguments: String)]

    var description: String {
      "\(dialect.rawValue) \(streams ? "streamed" : "whole") “\(text)” "
        + calls.map(\.name).joined(separator: " ")
    }

    init(_ dialect: Dialect, streams: Bool, _ random: inout SeededGenerator) {
      self.dialect = dialect
      self.streams = streams
      text = ["", "Let me see.", "“ü” \n 😀"].randomElement(using: &random) ?? ""
      calls = (0..<Int.random(in: 1...4, using: &random)).map { index in
        (
          "call_\(index)", ["look", "pay", "wipe"].randomElement(using: &random) ?? "look",
          ["{}", #"{"a":1,"b":"x y"}"#, #"{"ü":["😀",null]}"#].randomElement(using: &random) ?? "{}"
        )
      }
    }

    var wire: WireReply {
      let pieces =
        !streams
        ? [CanonicalJSON.encode(whole, form: .plain)]
        : dialect == .bedrock ? frames : events.map { Array("\($0)\n\n".utf8) }
      return WireReply(
        status: 200,
        headers: [("content-type", streams ? "text/event-stream" : "application/json")],
        pieces: pieces, ending: .whole)
    }

    private func json(_ value: JSONValue) -> String { CanonicalJSON.string(value, form: .plain) }

    private func input(_ text: String) -> JSONValue {
      (try? JSONValue(parsing: Array(text.utf8))) ?? .null
    }

    private var whole: JSONValue {
      switch dialect {
      case .openai:
        let calls: [JSONValue] = calls.map {
          [
            "id": .string($0.id), "type": "function",
            "function": ["name": .string($0.name), "arguments": .string($0.arguments)],
          ]
        }
        return [
          "id": "r", "model": "m", "usage": ["prompt_tokens": 3, "completion_tokens": 2],
          "choices": [
            [
              "index": 0, "finish_reason": "tool_calls",
              "message": [
                "role": "assistant", "content": text.isEmpty ? .null : .string(text),
                "tool_calls": .array(calls),
              ],
            ]
          ],
        ]
      case .anthropic:
        var content: [JSONValue] = text.isEmpty ? [] : [["type": "text", "text": .string(text)]]
        content += calls.map {
          [
            "type": "tool_use", "id": .string($0.id), "name": .string($0.name),
            "input": input($0.arguments),
          ]
        }
        return [
          "type": "message", "role": "assistant", "id": "r", "model": "m",
          "content": .array(content),
          "stop_reason": "tool_use", "usage": ["input_tokens": 3, "output_tokens": 2],
        ]
      case .gemini: return piece([.text] + calls.indices.map { .call($0) }, isLast: true)
      case .ollama: return line([.text] + calls.indices.map { .call($0) }, isLast: true)
      case .openaiResponses: return response
      case .bedrock:
        var content: [JSONValue] = text.isEmpty ? [] : [["text": .string(text)]]
        content += calls.map {
          [
            "toolUse": [
              "toolUseId": .string($0.id), "name": .string($0.name), "input": input($0.arguments),
            ]
          ]
        }
        return [
          "output": ["message": ["role": "assistant", "content": .array(content)]],
          "stopReason": "tool_use", "usage": ["inputTokens": 3, "outputTokens": 2],
        ]
      }
    }

    private var frames: [[UInt8]] {
      var frames = [EventFrames.event("messageStart", ["role": "assistant", "p": "ab"])]
      var index = 0
      func block(_ start: JSONValue?, _ delta: JSONValue) {
        let place = JSONValue(index)
        if let start {
          frames.append(
            EventFrames.event("contentBlockStart", ["contentBlockIndex": place, "start": start]))
        }
        frames.append(
          EventFrames.event("contentBlockDelta", ["contentBlockIndex": place, "delta": delta]))
        frames.append(EventFrames.event("contentBlockStop", ["contentBlockIndex": place]))
        index += 1
      }
      if !text.isEmpty { block(nil, ["text": .string(text)]) }
      for call in calls {
        block(
          ["toolUse": ["toolUseId": .string(call.id), "name": .string(call.name)]],
          ["toolUse": ["input": .string(call.arguments)]])
      }
      frames.append(EventFrames.event("messageStop", ["stopReason": "tool_use"]))
      frames.append(
        EventFrames.event("metadata", ["usage": ["inputTokens": 3, "outputTokens": 2]]))
      return frames
    }

    private enum Part {
      case text
      case call(Int)
    }

    private func piece(_ parts: [Part], isLast: Bool) -> JSONValue {
      let content: [JSONValue] = parts.compactMap { part in
        switch part {
        case .text: text.isEmpty ? nil : ["text": .string(text)]
        case .call(let index):
          [
            "functionCall": [
              "id": .string(calls[index].id), "name": .string(calls[index].name),
              "args": input(calls[index].arguments),
            ], "thoughtSignature": "c2ln",
          ]
        }
      }
      var candidate: JSONObject = [
        "index": 0, "content": ["role": "model", "parts": .array(content)],
      ]
      candidate["finishReason"] = isLast ? "STOP" : nil
      return [
        "responseId": "r", "modelVersion": "m", "candidates": [.object(candidate)],
        "usageMetadata": ["promptTokenCount": 3, "candidatesTokenCount": 2],
      ]
    }

    private func line(_ parts: [Part], isLast: Bool) -> JSONValue {
      var message: JSONObject = ["role": "assistant", "content": ""]
      var own: [JSONValue] = []
      for part in parts {
        switch part {
        case .text: message["content"] = .string(text)
        case .call(let index):
          own.append([
            "id": .string(calls[index].id),
            "function": [
              "name": .string(calls[index].name), "arguments": input(calls[index].arguments),
            ],
          ])
        }
      }
      if !own.isEmpty { message["tool_calls"] = .array(own) }
      var line: JSONObject = ["model": "m", "message": .object(message), "done": .bool(isLast)]
      if isLast { line["done_reason"] = "stop" }
      return .object(line)
    }

    private var items: [JSONValue] {
      var items: [JSONValue] =
        text.isEmpty
        ? []
        : [
          [
            "type": "message", "id": "msg", "role": "assistant", "status": "completed",
            "content": [["type": "output_text", "text": .string(text)]],
          ]
        ]
      items += calls.map {
        [
          "type": "function_call", "id": .string("f" + $0.id), "call_id": .string($0.id),
          "name": .string($0.name), "arguments": .string($0.arguments), "status": "completed",
        ]
      }
      return items
    }

    private var response: JSONValue {
      [
        "id": "r", "model": "m", "status": "completed", "output": .array(items),
        "usage": ["input_tokens": 3, "output_tokens": 2],
      ]
    }

    private var events: [String] {
      switch dialect {
      case .openai:
        func chunk(_ delta: JSONValue, _ finish: JSONValue = .null) -> String {
          let choice: JSONValue = ["index": 0, "delta": delta, "finish_reason": finish]
          return "data: " + json(["id": "r", "model": "m", "choices": [choice]])
        }
        var events = [
          chunk(["role": "assistant", "content": text.isEmpty ? .null : .string(text)])
        ]
        for (index, call) in calls.enumerated() {
          let number = JSONValue(index)
          events.append(
            chunk([
              "tool_calls": [
                [
                  "index": number, "id": .string(call.id), "type": "function",
                  "function": ["name": .string(call.name), "arguments": ""],
                ]
              ]
            ]))
          events.append(
            chunk([
              "tool_calls": [
                ["index": number, "function": ["arguments": .string(call.arguments)]]
              ]
            ]))
        }
        return events + [chunk([:], "tool_calls"), "data: [DONE]"]
      case .anthropic:
        func event(_ value: JSONObject) -> String {
          "event: \(value["type"]?.stringValue ?? "")\ndata: " + json(.object(value))
        }
        var events = [
          event([
            "type": "message_start",
            "message": ["id": "r", "model": "m", "content": [], "usage": ["input_tokens": 3]],
          ])
        ]
        var index = 0
        func block(_ start: JSONValue, _ delta: JSONValue) {
          let number = JSONValue(index)
          events.append(
            event(["type": "content_block_start", "index": number, "content_block": start]))
          events.append(event(["type": "content_block_delta", "index": number, "delta": delta]))
          events.append(event(["type": "content_block_stop", "index": number]))
          index += 1
        }
        if !text.isEmpty {
          block(["type": "text", "text": ""], ["type": "text_delta", "text": .string(text)])
        }
        for call in calls {
          block(
            [
              "type": "tool_use", "id": .string(call.id), "name": .string(call.name), "input": [:],
            ],
            ["type": "input_json_delta", "partial_json": .string(call.arguments)])
        }
        return events + [
          event([
            "type": "message_delta", "delta": ["stop_reason": "tool_use"],
            "usage": ["output_tokens": 2],
          ]),
          event(["type": "message_stop"]),
        ]
      case .gemini, .ollama:
        let parts: [[Part]] = [[.text]] + calls.indices.map { [.call($0)] }
        return parts.enumerated().map { index, parts in
          let isLast = index == calls.count
          return dialect == .gemini
            ? "data: " + json(piece(parts, isLast: isLast)) : json(line(parts, isLast: isLast))
        }
      case .bedrock: return []
      case .openaiResponses:
        var number = 0
        func event(_ value: JSONObject) -> String {
          var value = value
          value["sequence_number"] = JSONValue(number)
          number += 1
          return "event: \(value["type"]?.stringValue ?? "")\ndata: " + json(.object(value))
        }
        var events = [
          event(["type": "response.created", "response": ["id": "r", "output": []]])
        ]
        for (index, item) in items.enumerated() {
          let place = JSONValue(index)
          events.append(
            event(["type": "response.output_item.added", "output_index": place, "item": item]))
          if item["type"] == "function_call" {
            events.append(
              event([
                "type": "response.function_call_arguments.delta", "output_index": place,
                "delta": item["arguments"] ?? "",
              ]))
          }
          events.append(
            event(["type": "response.output_item.done", "output_index": place, "item": item]))
        }
        return events + [event(["type": "response.completed", "response": response])]
      }
    }
  }

  private static func calls(of reply: ProviderReply) -> [ProposedCall] {
    ModelReply(reply.reply).decision(step: 1, tryNumber: 1) { _ in nil }.calls
  }

  @Test(
    "whatever calls are taken out, the others are left as they were, and words say which are gone")
  func takingOut() throws {
    var random = SeededGenerator(seed: 11)
    let dialects = Dialect.allCases
    for round in 0..<1_000 {
      let sample = Sample(
        dialects[round % dialects.count], streams: Bool.random(using: &random), &random)
      let wire = sample.wire
      let edit = try #require(ReplyEdit(wire, sample.dialect), "\(sample)")
      #expect(edit.unjudged(besides: sample.calls.count) == nil, "\(sample)")
      #expect(edit.unjudged(besides: sample.calls.count - 1) != nil, "\(sample)")
      let denied = sample.calls.indices.filter { _ in Bool.random(using: &random) }
      let notices = Dictionary(uniqueKeysWithValues: denied.map { ($0, "no \($0)!") })
      let edited = try #require(edit.without(notices), "\(sample)")
      let before = try #require(ReadReply(wire, sample.dialect).reply)
      let after = try #require(ReadReply(edited, sample.dialect).reply, "\(sample) \(denied)")
      let all = Self.calls(of: before)
      let kept = all.indices.filter { !denied.contains($0) }.map { all[$0] }
      let found = Self.calls(of: after)
      #expect(found.map(\.name) == kept.map(\.name), "\(sample) \(denied)")
      #expect(found.map(\.input) == kept.map(\.input), "\(sample) \(denied)")
      #expect(found.map(\.providerCallId) == kept.map(\.providerCallId), "\(sample) \(denied)")
      let text = after.reply["text"]?.stringValue ?? ""
      #expect(text.hasPrefix(sample.text), "\(sample) \(denied)")
      for number in denied { #expect(text.contains("no \(number)!"), "\(sample) \(denied)") }
      let isOver = after.finishReason != "tool_calls" && after.finishReason != "tool_use"
      // Three dialects end with the same word, calls or none.
      let hasWord = [Dialect.openai, .anthropic, .bedrock].contains(sample.dialect)
      #expect(isOver == (kept.isEmpty || !hasWord), "\(sample) \(denied)")
      #expect(after.model == before.model && after.id == before.id)
      let seen = String(decoding: edited.body, as: UTF8.self)
      for number in denied {
        #expect(!seen.contains("call_\(number)\""), "\(sample) \(denied)")
      }
    }
  }

  @Test(
    "what may be a call and was not judged is seen",
    arguments: [
      (
        Dialect.openai,
        #"{"choices":[{"index":0,"message":{"content":"x"}},{"index":1,"message":{"tool_calls":[{"id":"a","function":{"name":"b","arguments":"{}"}}]}}]}"#
      ),
      (
        .openai,
        #"{"choices":[{"index":0,"message":{"function_call":{"name":"b","arguments":"{}"}}}]}"#
      ),
      (
        .anthropic,
        #"{"content":[{"type":"text","text":"x"},{"type":"new_tool_use","name":"b","input":{}}]}"#
      ),
      (.anthropic, #"{"content":[{"type":"tool_use","id":"a","name":"b","input":{}}]}"#),
      (.openaiResponses, #"{"output":[{"type":"computer_call","call_id":"a","action":{}}]}"#),
      (
        .openaiResponses,
        #"{"output":[{"type":"function_call","call_id":"a","name":"b","arguments":"{}"}]}"#
      ),
      (
        .gemini,
        #"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"b","args":{}}}]}}]}"#
      ),
      (
        .gemini,
        #"[{"candidates":[{"index":0}]},{"candidates":[{"index":1,"content":{"parts":[{"functionCall":{"name":"b"}}]}}]}]"#
      ),
      (.ollama, #"{"message":{"tool_calls":[{"function":{"name":"b"}}]},"done":true}"#),
      (
        .ollama,
        #"{"message":{"content":"x"}}"# + "\n" + #"{"message":{"tool_calls":[{}]},"done":true}"#
      ),
      (
        .bedrock,
        #"{"output":{"message":{"content":[{"toolUse":{"toolUseId":"a","name":"b","input":{}}}]}}}"#
      ),
      (
        .bedrock,
        #"{"output":{"message":{"content":[{"text":"x"},{"newToolUse":{"name":"b","input":{}}}]}}}"#
      ),
      (
        .bedrock,
        #"{"output":{"message":{"content":[{"toolUse":{"name":"b","input":{},"type":"computer_use"}}]}}}"#
      ),
    ])
  func unjudged(dialect: Dialect, body: String) throws {
    let wire = WireReply(
      status: 200, headers: [("content-type", "application/json")], pieces: [Array(body.utf8)],
      ending: .whole)
    let edit = try #require(ReplyEdit(wire, dialect))
    #expect(edit.unjudged(besides: 0) != nil)
  }

  private static func stream(_ dialect: Dialect, _ text: String) -> WireReply {
    let type = dialect == .ollama ? "application/x-ndjson" : "text/event-stream"
    return WireReply(
      status: 200, headers: [("content-type", type)], pieces: [Array(text.utf8)], ending: .whole)
  }

  /// Chat Completions with one message.
  private static func chat(_ message: String) -> String {
    #"{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant",\#(message)}}]}"#
  }

  /// A stream of the Responses interface.
  private static func responses(_ events: String...) -> String {
    events.map { "data: \($0)\n\n" }.joined()
  }

  /// An event of the Responses interface that tells of one call, or ends with it.
  private static func told(_ event: String, _ arguments: String) -> String {
    let item =
      #"{"type":"function_call","id":"f","call_id":"c","name":"b","arguments":"\#(arguments)"}"#
    return event == "completed"
      ? #"{"type":"response.completed","response":{"status":"completed","output":[\#(item)]}}"#
      : #"{"type":"response.output_item.\#(event)","output_index":0,"item":\#(item)}"#
  }

  /// A stream of Messages with one call: what it begins with, and a piece of its input.
  private static func block(_ input: String, _ piece: String) -> String {
    """
    data: {"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}

    data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"b","input":\(input)}}

    data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\(piece)"}}

    data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}

    data: {"type":"message_stop"}


    """
  }

  @Test(
    "a call that is said twice was read only where both say the same",
    arguments: [#"{\"n\":5}"#, #"{\"n\":5000}"#])
  func saidTwice(other: String) {
    let one = #"{\"n\":5}"#
    let value = other.replacing("\\", with: "")
    let call = #""type":"function","function":{"name":"b","arguments":"\#(one)""#
    let bodies: [(Dialect, String)] = [
      (
        .openai,
        Self.chat(
          #""tool_calls":[{"id":"a",\#(call)}}],"function_call":{"name":"b","arguments":"\#(other)"}"#
        )
      ),
      (.openai, Self.chat(#""tool_calls":[{"id":"a",\#(call),"input":"\#(other)"}}]"#)),
      (.anthropic, Self.block("{}", other)), (.anthropic, Self.block(value, one)),
      (
        .openaiResponses,
        Self.responses(
          Self.told("added", ""), Self.told("done", other), Self.told("done", one),
          Self.told("completed", one))
      ),
      (
        .openaiResponses, Self.responses(Self.told("added", other), Self.told("completed", one))
      ),
      (
        .openaiResponses,
        Self.responses(Self.told("completed", other), Self.told("completed", one))
      ),
    ]
    for (dialect, body) in bodies {
      let unread = ReadReply(Self.stream(dialect, body), dialect).unread
      // What a call begins with is not said where it is empty.
      let isOnce = dialect == .anthropic && body == Self.block("{}", other)
      #expect((unread == nil) == (other == one || isOnce), "\(body)")
    }
  }

  /// Streams that are whole, and a call that stands behind their end.
  private static let ended: [(Dialect, stream: String, call: String)] = [
    (
      .openai,
      "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n"
        + "data: [DONE]\n\n",
      #"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"b","arguments":"{}"}}]}}]}"#
    ),
    (
      .anthropic,
      """
      data: {"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}

      data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}

      data: {"type":"message_stop"}


      """,
      #"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"b","input":{}}}"#
    ),
    (
      .openaiResponses,
      "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n",
      #"data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"a","name":"b","arguments":"{}"}}"#
    ),
    (
      .gemini,
      "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"}]},\"finishReason\":\"STOP\"}]}\n\n",
      #"data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"b","args":{}}}]}}]}"#
    ),
    (
      .ollama, "{\"message\":{\"content\":\"x\"},\"done\":true}\n",
      #"{"message":{"tool_calls":[{"function":{"name":"b","arguments":{}}}]}}"#
    ),
  ]

  @Test("what stands at the end of a stream without its own is read, and judged, as if that came")
  func withoutEnd() throws {
    for (dialect, stream, call) in Self.ended {
      #expect(ReadReply(Self.stream(dialect, stream), dialect).unread == nil, "\(dialect)")
      for end in ["", "\n", "\r\n"] {
        let wire = Self.stream(dialect, stream + call + end)
        let read = ReadReply(wire, dialect)
        let calls = try #require(read.reply?.reply["calls"]?.arrayValue, "\(dialect)")
        #expect(calls.map { $0["name"] } == ["b"], "\(dialect)")
        let edit = try #require(ReplyEdit(wire, dialect), "\(dialect)")
        #expect(edit.unjudged(besides: 0) != nil, "\(dialect)")
        #expect(edit.unjudged(besides: 1) == nil, "\(dialect)")
      }
      for rest in ["data: {\"a", "dat", "x", "{\"error\":{\"message\":\"no"] {
        let read = ReadReply(Self.stream(dialect, stream + rest), dialect)
        #expect(read.unread != nil, "\(dialect): \(rest)")
      }
    }
  }

  @Test(
    "a reply that holds another number of calls, read as plainly as can be, is marked as unread",
    arguments: [
      #"{"choices":[{"index":0,"message":{"content":"x"},"delta":{"tool_calls":[{"id":"a","function":{"name":"b","arguments":"{}"}}]},"finish_reason":"stop"}]}"#,
      #"{"choices":[{"index":0,"message":{"tool_calls":[{"id":"a","function":{"name":"b","arguments":"{}"}}]},"delta":{"tool_calls":[{"id":"c","function":{"name":"d","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
      #"{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"},{"index":0,"message":{"tool_calls":[{"id":"a","function":{"name":"b","arguments":"{}"}}]}}]}"#,
    ])
  func counted(body: String) throws {
    let wire = WireReply(
      status: 200, headers: [("content-type", "application/json")], pieces: [Array(body.utf8)],
      ending: .whole)
    let read = ReadReply(wire, .openai)
    #expect(read.unread != nil)
    let count = read.reply?.reply["calls"]?.arrayValue?.count ?? 0
    #expect(ReplyEdit(wire, .openai)?.unjudged(besides: count) != nil)
  }

  @Test(
    "events of the Responses interface that are not known are marked as unread, those that are, are not",
    arguments: [
      ("response.foo.done", false), ("response.foo_call.done", false), ("foo", false),
      ("response.output_text.run", false), ("response.mcp_call.in_progress", true),
      ("response.reasoning_summary_text.delta", true), ("keepalive", true),
    ])
  func events(type: String, isKnown: Bool) {
    let wire = Self.stream(
      .openaiResponses,
      """
      data: {"type":"\(type)","name":"b"}

      data: {"type":"response.completed","response":{"status":"completed","output":[\
      {"type":"message","content":[{"type":"output_text","text":"x"}]}]}}


      """)
    #expect((ReadReply(wire, .openaiResponses).unread == nil) == isKnown)
  }

  @Test("streams whose pieces cannot be told apart are not changed")
  func strangeStreams() throws {
    let chunks = [
      #"{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{}"}}]}}]}"#,
      #"{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"b","function":{"name":"y","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
    ]
    let wire = WireReply(
      status: 200, headers: [("content-type", "text/event-stream")],
      pieces: chunks.map { Array("data: \($0)\n\n".utf8) }, ending: .whole)
    let edit = try #require(ReplyEdit(wire, .openai))
    #expect(edit.unjudged(besides: 2) == nil)
    #expect(edit.without([0: "no"]) == nil)
    #expect(
      ReplyEdit(
        WireReply(status: 200, headers: [], pieces: [Array("{".utf8)], ending: .whole), .openai)
        == nil)
  }

  @Test("a summary of the context, and word of another model that stood in, hold no call")
  func compaction() {
    let body =
      #"{"content":[{"type":"compaction","content":"s","encrypted_content":"e"},{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}},{"type":"text","text":"x"}],"stop_reason":"end_turn"}"#
    let whole = WireReply(
      status: 200, headers: [("content-type", "application/json")], pieces: [Array(body.utf8)],
      ending: .whole)
    let streamed = Self.stream(
      .anthropic,
      """
      data: {"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null}}

      data: {"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"s"}}

      data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":"x"}}

      data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}

      data: {"type":"message_stop"}


      """)
    for wire in [whole, streamed] {
      let read = ReadReply(wire, .anthropic)
      #expect(read.unread == nil && read.reply?.reply["text"] == "x")
      #expect(ReplyEdit(wire, .anthropic)?.unjudged(besides: 0) == nil)
    }
  }

  @Test(
    "blocks that do not begin in their order can be read in more than one way",
    arguments: [([0, 1], true), ([1, 2], true), ([0, 0], false), ([1, 0], false)])
  func order(indexes: [Int], isRead: Bool) {
    let blocks = zip(indexes, ["look", "pay"]).map { index, name in
      """
      data: {"type":"content_block_start","index":\(index),"content_block":\
      {"type":"tool_use","id":"\(name)","name":"\(name)","input":{}}}

      data: {"type":"content_block_delta","index":\(index),"delta":\
      {"type":"input_json_delta","partial_json":"{\\"a\\":1}"}}


      """
    }
    let start = """
      data: {"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}


      """
    let wire = Self.stream(
      .anthropic,
      start + blocks.joined() + """
        data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}

        data: {"type":"message_stop"}


        """)
    #expect((ReadReply(wire, .anthropic).unread == nil) == isRead)
  }

  @Test(
    "of requests in no dialect only those go through whose replies hold no call",
    arguments: [
      ("GET", "/v1/models", true), ("GET", "/models/x?y=1", true), ("POST", "/v1/embeddings", true),
      ("POST", "/v1/messages/count_tokens", true), ("HEAD", "/v1/models", true),
      ("GET", "/v1/responses/r", false), ("POST", "/v1/chat/completions", false),
      ("POST", "/v1/completions", false), ("GET", "/v1/realtime", false),
      ("DELETE", "/v1/models/x", false), ("POST", "/v1/models/x:generateContent", false),
      ("GET", "/v1/responses/r/models", false), ("POST", "/api/chat", false),
      ("GET", "/v1/models/org%2Fname", true), ("GET", "/v1/models/../chat/completions/c", false),
      ("GET", "/v1/chat/completions/c#/models/", false), ("GET", "/v1/models/%2E./threads", false),
      ("POST", "/v1/threads/t/runs#/embeddings", false),
    ])
  func forwarded(method: String, path: String, isHarmless: Bool) {
    #expect(HarmlessRequest.includes(method, path) == isHarmless)
  }
}
