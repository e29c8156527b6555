import AgentRuntime
import AgentTrace

/// A provider of models on loopback that speaks all dialects, and says what a test tells it to.
public final class FakeProvider: Sendable {
  /// What a model says.
  public struct Reply: Sendable {
    public struct Call: Sendable {
      public var id: String?
      public var name: String
      /// As the model wrote them; Messages needs them to be JSON where it does not stream.
      public var arguments: String

      public init(_ name: String, _ arguments: String, id: String? = "call_a") {
        self.name = name
        self.arguments = arguments
        self.id = id
      }
    }

    public var text: String
    public var calls: [Call]
    /// What it thinks before it speaks.
    public var reasoning: String?
    /// Why it ends, in the dialect's word; the usual one where it is left out.
    public var finish: String?

    public init(
      _ text: String = "", calls: [Call] = [], reasoning: String? = nil, finish: String? = nil
    ) {
      self.text = text
      self.calls = calls
      self.reasoning = reasoning
      self.finish = finish
    }
  }

  /// What is asked.
  public struct Asked: Sendable {
    public let request: FakeServer.Request
    public let dialect: Dialect
    public let streams: Bool
    public let body: JSONValue
    /// Which request it is, from 0.
    public var number: Int { request.number }
  }

  public let server: FakeServer
  public var url: String { server.url }
  /// The URL that an agent file names for a dialect.
  public func baseURL(_ dialect: Dialect) -> String {
    [.openai, .openaiResponses].contains(dialect) ? url + "/v1" : url
  }

  /// Input and output tokens that every reply is said to have used.
  public static let usage = (input: 20, output: 7)

  /// - Parameter handler: is called for each request, and answers it; see ``send(_:to:_:)``.
  public init(
    port: Int = 0, _ handler: @escaping @Sendable (Asked, FakeServer.Reply) -> Void
  ) throws {
    server = try FakeServer(port: port) { request, reply in
      let body = (try? JSONValue(parsing: request.body)) ?? .null
      let path = request.target.split(separator: "?").first ?? ""
      let dialect: Dialect? =
        switch path {
        case "/v1/chat/completions": .openai
        case _ where path.hasPrefix("/openai/deployments/") && path.hasSuffix("/chat/completions"):
          .openai
        case "/v1/messages": .anthropic
        case "/v1/responses": .openaiResponses
        case "/api/chat": .ollama
        case _ where path.hasPrefix("/model/") && path.contains("/converse"): .bedrock
        case _ where path.hasPrefix("/v1beta/models/") || path.hasPrefix("/v1/models/"): .gemini
        default: nil
        }
      guard let dialect else {
        reply.finish(404, body: "{\"error\":{\"message\":\"no such path\"}}")
        return
      }
      handler(
        Asked(
          request: request, dialect: dialect,
          streams: body["stream"] == true || path.hasSuffix(":streamGenerateContent")
            || path.hasSuffix("/converse-stream"), body: body),
        reply)
    }
  }

  public func stop() { server.stop() }

  /// Sends a whole reply, streamed where that was asked for.
  public static func send(_ spoken: Reply, to asked: Asked, _ reply: FakeServer.Reply) {
    guard asked.streams else {
      reply.finish(
        headers: [("x-request-id", "req_\(asked.number)")], body: body(spoken, asked.dialect))
      return
    }
    reply.beginChunks(
      type: streamType(asked.dialect),
      headers: [("x-request-id", "req_\(asked.number)")])
    for event in events(spoken, asked.dialect) { reply.chunk(event) }
    reply.endChunks()
  }

  /// What a streamed reply is called.
  public static func streamType(_ dialect: Dialect) -> String {
    switch dialect {
    case .ollama: "application/x-ndjson"
    case .bedrock: "application/vnd.amazon.eventstream"
    case .openai, .anthropic, .openaiResponses, .gemini: "text/event-stream"
    }
  }

  // MARK: Bodies

  private static let id = "msg_1"
  private static let model = "fake-1"

  /// The body of a plain reply.
  public static func body(_ reply: Reply, _ dialect: Dialect) -> String {
    switch dialect {
    case .openai:
      text([
        "id": .string(id), "object": "chat.completion", "model": .string(model),
        "choices": [
          [
            "index": 0, "message": chatMessage(reply),
            "finish_reason": .string(reply.finish ?? (reply.calls.isEmpty ? "stop" : "tool_calls")),
          ]
        ],
        "usage": chatUsage,
      ])
    case .anthropic: text(message(reply, content: blocks(reply)))
    case .openaiResponses: text(response(reply))
    case .gemini: text(candidates(geminiParts(reply), reply))
    case .ollama: text(ollamaLine(ollamaMessage(reply), reply))
    case .bedrock: text(converse(reply))
    }
  }

  /// The events of a streamed reply, each with its blank line, its line feed, or as a frame.
  public static func events(_ reply: Reply, _ dialect: Dialect) -> [[UInt8]] {
    switch dialect {
    case .openai: chatEvents(reply).map { Array($0.utf8) }
    case .anthropic: messageEvents(reply).map { Array($0.utf8) }
    case .openaiResponses: responseEvents(reply).map { Array($0.utf8) }
    case .gemini: geminiEvents(reply).map { Array($0.utf8) }
    case .ollama: ollamaLines(reply).map { Array($0.utf8) }
    case .bedrock: converseFrames(reply)
    }
  }

  private static func text(_ value: JSONValue) -> String {
    CanonicalJSON.string(value, form: .plain)
  }

  /// A text in pieces of a few characters, as models write them.
  private static func pieces(_ text: String) -> [String] {
    var pieces: [String] = []
    var rest = text[...]
    while !rest.isEmpty {
      pieces.append(String(rest.prefix(5)))
      rest = rest.dropFirst(5)
    }
    return pieces
  }

  // MARK: Chat Completions

  private static let chatUsage: JSONValue = [
    "prompt_tokens": JSONValue(usage.input), "completion_tokens": JSONValue(usage.output),
    "total_tokens": JSONValue(usage.input + usage.output),
  ]

  private static func chatMessage(_ reply: Reply) -> JSONValue {
    var message: JSONObject = [
      "role": "assistant", "content": reply.text.isEmpty ? .null : .string(reply.text),
    ]
    message["reasoning_content"] = reply.reasoning.map(JSONValue.string)
    if !reply.calls.isEmpty {
      message["tool_calls"] = .array(reply.calls.map { chatCall($0, arguments: $0.arguments) })
    }
    return .object(message)
  }

  private static func chatCall(_ call: Reply.Call, arguments: String) -> JSONValue {
    var wire: JSONObject = [
      "type": "function",
      "function": ["name": .string(call.name), "arguments": .string(arguments)],
    ]
    wire["id"] = call.id.map(JSONValue.string)
    return .object(wire)
  }

  private static func chatEvents(_ reply: Reply) -> [String] {
    func chunk(_ delta: JSONValue, finish: JSONValue = .null) -> JSONValue {
      [
        "id": .string(id), "object": "chat.completion.chunk", "model": .string(model),
        "choices": [["index": 0, "delta": delta, "finish_reason": finish]],
      ]
    }
    var chunks = [chunk(["role": "assistant", "content": ""])]
    chunks += pieces(reply.reasoning ?? "").map { chunk(["reasoning_content": .string($0)]) }
    chunks += pieces(reply.text).map { chunk(["content": .string($0)]) }
    for (index, call) in reply.calls.enumerated() {
      var first = chatCall(call, arguments: "").objectValue ?? [:]
      first["index"] = JSONValue(index)
      chunks.append(chunk(["tool_calls": [.object(first)]]))
      chunks += pieces(call.arguments).map {
        chunk([
          "tool_calls": [["index": JSONValue(index), "function": ["arguments": .string($0)]]]
        ])
      }
    }
    let finish = reply.finish ?? (reply.calls.isEmpty ? "stop" : "tool_calls")
    chunks.append(chunk([:], finish: .string(finish)))
    chunks.append([
      "id": .string(id), "object": "chat.completion.chunk", "model": .string(model), "choices": [],
      "usage": chatUsage,
    ])
    return chunks.map { "data: \(text($0))\n\n" } + ["data: [DONE]\n\n"]
  }

  // MARK: Messages

  private static func blocks(_ reply: Reply) -> [JSONValue] {
    var blocks: [JSONValue] = []
    if let reasoning = reply.reasoning {
      blocks.append([
        "type": "thinking", "thinking": .string(reasoning), "signature": "c2lnbmVk",
      ])
    }
    if !reply.text.isEmpty { blocks.append(["type": "text", "text": .string(reply.text)]) }
    for call in reply.calls {
      blocks.append([
        "type": "tool_use", "id": .string(call.id ?? ""), "name": .string(call.name),
        "input": (try? JSONValue(parsing: call.arguments)) ?? .string(call.arguments),
      ])
    }
    return blocks
  }

  private static func message(_ reply: Reply, content: [JSONValue], isWhole: Bool = true)
    -> JSONValue
  {
    [
      "id": .string(id), "type": "message", "role": "assistant", "model": .string(model),
      "content": .array(content), "stop_sequence": .null,
      "stop_reason": isWhole ? .string(stopReason(reply)) : .null,
      "usage": [
        "input_tokens": JSONValue(usage.input),
        "output_tokens": JSONValue(isWhole ? usage.output : 1),
      ],
    ]
  }

  private static func stopReason(_ reply: Reply) -> String {
    reply.finish ?? (reply.calls.isEmpty ? "end_turn" : "tool_use")
  }

  private static func messageEvents(_ reply: Reply) -> [String] {
    var events: [JSONValue] = [
      ["type": "message_start", "message": message(reply, content: [], isWhole: false)],
      ["type": "ping"],
    ]
    let calls = reply.calls.map(\.arguments)
    var called = 0
    for (index, block) in blocks(reply).enumerated() {
      var start = block.objectValue ?? [:]
      var deltas: [JSONValue] = []
      switch start["type"] {
      case "text":
        start["text"] = ""
        deltas = pieces(reply.text).map { ["type": "text_delta", "text": .string($0)] }
      case "thinking":
        start["thinking"] = ""
        start["signature"] = ""
        deltas = pieces(reply.reasoning ?? "").map {
          ["type": "thinking_delta", "thinking": .string($0)]
        }
        deltas.append(["type": "signature_delta", "signature": "c2lnbmVk"])
      default:
        start["input"] = [:]
        deltas = pieces(calls[called]).map {
          ["type": "input_json_delta", "partial_json": .string($0)]
        }
        called += 1
      }
      let place = JSONValue(index)
      events.append([
        "type": "content_block_start", "index": place, "content_block": .object(start),
      ])
      events += deltas.map { ["type": "content_block_delta", "index": place, "delta": $0] }
      events.append(["type": "content_block_stop", "index": place])
    }
    events.append([
      "type": "message_delta",
      "delta": ["stop_reason": .string(stopReason(reply)), "stop_sequence": .null],
      "usage": ["output_tokens": JSONValue(usage.output)],
    ])
    events.append(["type": "message_stop"])
    return named(events)
  }

  private static func named(_ events: [JSONValue]) -> [String] {
    events.map { "event: \($0["type"]?.stringValue ?? "")\ndata: \(text($0))\n\n" }
  }

  // MARK: Responses

  private static func items(_ reply: Reply) -> [JSONValue] {
    var items: [JSONValue] = []
    if let reasoning = reply.reasoning {
      items.append([
        "id": "rs_1", "type": "reasoning",
        "summary": [["type": "summary_text", "text": .string(reasoning)]],
        "encrypted_content": "ZW5jcnlwdGVk",
      ])
    }
    if !reply.text.isEmpty {
      items.append([
        "id": "msg_2", "type": "message", "role": "assistant", "status": "completed",
        "content": [["type": "output_text", "text": .string(reply.text), "annotations": []]],
      ])
    }
    for (index, call) in reply.calls.enumerated() {
      var item: JSONObject = [
        "id": .string("fc_\(index)"), "type": "function_call", "status": "completed",
        "name": .string(call.name), "arguments": .string(call.arguments),
      ]
      item["call_id"] = call.id.map(JSONValue.string)
      items.append(.object(item))
    }
    return items
  }

  private static func response(_ reply: Reply, isWhole: Bool = true) -> JSONValue {
    var response: JSONObject = [
      "id": "resp_1", "object": "response", "model": .string(model), "error": .null,
      "incomplete_details": .null, "status": isWhole ? "completed" : "in_progress",
      "output": .array(isWhole ? items(reply) : []),
    ]
    guard isWhole else { return .object(response) }
    if let finish = reply.finish {
      response["status"] = "incomplete"
      response["incomplete_details"] = ["reason": .string(finish)]
    }
    response["usage"] = [
      "input_tokens": JSONValue(usage.input), "output_tokens": JSONValue(usage.output),
      "total_tokens": JSONValue(usage.input + usage.output),
    ]
    return .object(response)
  }

  private static func responseEvents(_ reply: Reply) -> [String] {
    var events: [JSONValue] = [
      ["type": "response.created", "response": response(reply, isWhole: false)],
      ["type": "response.in_progress", "response": response(reply, isWhole: false)],
    ]
    for (index, item) in items(reply).enumerated() {
      let place = JSONValue(index)
      events.append(["type": "response.output_item.added", "output_index": place, "item": item])
      switch item["type"] {
      case "message":
        events += pieces(reply.text).map {
          ["type": "response.output_text.delta", "output_index": place, "delta": .string($0)]
        }
      case "function_call":
        events += pieces(item["arguments"]?.stringValue ?? "").map {
          [
            "type": "response.function_call_arguments.delta", "output_index": place,
            "delta": .string($0),
          ]
        }
      default: break
      }
      events.append(["type": "response.output_item.done", "output_index": place, "item": item])
    }
    let end = reply.finish == nil ? "response.completed" : "response.incomplete"
    events.append(["type": .string(end), "response": response(reply)])
    return named(
      events.enumerated().map { number, event in
        var event = event.objectValue ?? [:]
        event["sequence_number"] = JSONValue(number)
        return .object(event)
      })
  }

  // MARK: generateContent

  private static func input(_ call: Reply.Call) -> JSONValue {
    (try? JSONValue(parsing: call.arguments)) ?? .string(call.arguments)
  }

  private static func geminiParts(_ reply: Reply) -> [JSONValue] {
    var parts: [JSONValue] = []
    if let reasoning = reply.reasoning {
      parts.append(["text": .string(reasoning), "thought": true])
    }
    if !reply.text.isEmpty { parts.append(["text": .string(reply.text)]) }
    return parts
      + reply.calls.map { call in
        var wire: JSONObject = ["name": .string(call.name), "args": input(call)]
        wire["id"] = call.id.map(JSONValue.string)
        return ["functionCall": .object(wire)]
      }
  }

  /// A whole reply, or the last piece of one; without a reply a piece that others follow.
  private static func candidates(_ parts: [JSONValue], _ reply: Reply?) -> JSONValue {
    var candidate: JSONObject = [
      "index": 0, "content": ["role": "model", "parts": .array(parts)],
    ]
    if let reply { candidate["finishReason"] = .string(reply.finish ?? "STOP") }
    return [
      "candidates": [.object(candidate)], "modelVersion": .string(model), "responseId": .string(id),
      "usageMetadata": [
        "promptTokenCount": JSONValue(usage.input),
        "candidatesTokenCount": JSONValue(reply == nil ? 1 : usage.output),
      ],
    ]
  }

  private static func geminiEvents(_ reply: Reply) -> [String] {
    var events = pieces(reply.reasoning ?? "").map {
      candidates([["text": .string($0), "thought": true]], nil)
    }
    events += pieces(reply.text).map { candidates([["text": .string($0)]], nil) }
    events += geminiParts(Reply(calls: reply.calls)).map { candidates([$0], nil) }
    events.append(candidates([["text": ""]], reply))
    return events.map { "data: \(text($0))\r\n\r\n" }
  }

  // MARK: Ollama's chat

  private static func ollamaMessage(_ reply: Reply) -> JSONValue {
    var message: JSONObject = ["role": "assistant", "content": .string(reply.text)]
    message["thinking"] = reply.reasoning.map(JSONValue.string)
    if !reply.calls.isEmpty {
      message["tool_calls"] = .array(
        reply.calls.map { call in
          var wire: JSONObject = [
            "function": ["name": .string(call.name), "arguments": input(call)]
          ]
          wire["id"] = call.id.map(JSONValue.string)
          return .object(wire)
        })
    }
    return .object(message)
  }

  /// A whole reply, or its last line; without a reply a line that others follow.
  private static func ollamaLine(_ message: JSONValue, _ reply: Reply?) -> JSONValue {
    var line: JSONObject = [
      "model": .string(model), "created_at": "2026-11-24T00:00:00Z", "message": message,
      "done": .bool(reply != nil),
    ]
    guard let reply else { return .object(line) }
    line["done_reason"] = .string(reply.finish ?? "stop")
    line["prompt_eval_count"] = JSONValue(usage.input)
    line["eval_count"] = JSONValue(usage.output)
    return .object(line)
  }

  private static func ollamaLines(_ reply: Reply) -> [String] {
    var messages = pieces(reply.reasoning ?? "").map { ollamaMessage(Reply(reasoning: $0)) }
    messages += pieces(reply.text).map { ollamaMessage(Reply($0)) }
    messages += reply.calls.map { ollamaMessage(Reply(calls: [$0])) }
    var lines = messages.map { ollamaLine($0, nil) }
    lines.append(ollamaLine(ollamaMessage(Reply()), reply))
    return lines.map { text($0) + "\n" }
  }

  // MARK: Converse

  private static func converseBlocks(_ reply: Reply) -> [JSONValue] {
    var blocks: [JSONValue] = []
    if let reasoning = reply.reasoning {
      blocks.append([
        "reasoningContent": [
          "reasoningText": ["text": .string(reasoning), "signature": "c2lnbmVk"]
        ]
      ])
    }
    if !reply.text.isEmpty { blocks.append(["text": .string(reply.text)]) }
    return blocks
      + reply.calls.map { call in
        [
          "toolUse": [
            "toolUseId": .string(call.id ?? ""), "name": .string(call.name), "input": input(call),
          ]
        ]
      }
  }

  private static let converseUsage: JSONValue = [
    "inputTokens": JSONValue(usage.input), "outputTokens": JSONValue(usage.output),
    "totalTokens": JSONValue(usage.input + usage.output),
  ]

  private static func converse(_ reply: Reply) -> JSONValue {
    [
      "output": ["message": ["role": "assistant", "content": .array(converseBlocks(reply))]],
      "stopReason": .string(stopReason(reply)), "usage": converseUsage,
      "metrics": ["latencyMs": 12],
    ]
  }

  private static func converseFrames(_ reply: Reply) -> [[UInt8]] {
    var frames = [EventFrames.event("messageStart", ["role": "assistant"])]
    var index = 0
    func add(_ name: String, _ key: String? = nil, _ value: JSONValue = .null) {
      var data: JSONObject = ["contentBlockIndex": JSONValue(index), "p": "abcdef"]
      if let key { data[key] = value }
      frames.append(EventFrames.event(name, .object(data)))
    }
    func block(_ deltas: [JSONValue]) {
      for delta in deltas { add("contentBlockDelta", "delta", delta) }
      add("contentBlockStop")
      index += 1
    }
    if let reasoning = reply.reasoning {
      block(
        pieces(reasoning).map { ["reasoningContent": ["text": .string($0)]] }
          + [["reasoningContent": ["signature": "c2lnbmVk"]]])
    }
    if !reply.text.isEmpty { block(pieces(reply.text).map { ["text": .string($0)] }) }
    for call in reply.calls {
      add(
        "contentBlockStart", "start",
        ["toolUse": ["toolUseId": .string(call.id ?? ""), "name": .string(call.name)]])
      block(pieces(call.arguments).map { ["toolUse": ["input": .string($0)]] })
    }
    frames.append(EventFrames.event("messageStop", ["stopReason": .string(stopReason(reply))]))
    frames.append(
      EventFrames.event("metadata", ["usage": converseUsage, "metrics": ["latencyMs": 12]]))
    return frames
  }
}
