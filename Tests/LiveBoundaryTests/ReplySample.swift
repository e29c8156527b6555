import AgentRuntime
import AgentTrace
import LiveBoundary
import TestSupport

/// A reply of some dialect that holds a call of `pay` among other things.
struct ReplySample: CustomStringConvertible {
  private let isStream: Bool
  /// The body, or the data of each event in turn, with the event's name.
  private var documents: [(name: String?, value: JSONValue)]
  private let hasDone: Bool
  /// What each document of a stream is.
  private let form: Form

  private enum Form { case events, lines, frames }

  var description: String { String(decoding: reply().body, as: UTF8.self) }

  init(_ dialect: Dialect, isStream: Bool, _ random: inout Seeded) {
    self.isStream = isStream
    var parts: [Part] = []
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      parts.append(Bool.random(using: &random) ? .text : .call("look", #"{"id":7}"#))
    }
    parts.insert(
      .call("pay", #"{"amount":250}"#), at: Int.random(in: 0...parts.count, using: &random))
    // In two of the dialects the text is one, and stands before the calls.
    switch dialect {
    case .openai:
      documents =
        isStream ? Self.chatStream(parts, &random) : [(nil, Self.chat(parts))]
      hasDone = isStream
    case .anthropic:
      documents =
        isStream ? Self.messagesStream(parts, &random) : [(nil, Self.messages(parts))]
      hasDone = false
    case .openaiResponses:
      documents = isStream ? Self.responsesStream(parts) : [(nil, Self.responses(parts))]
      hasDone = false
    case .gemini:
      let pieces = isStream ? parts.map { [$0] } : [parts]
      documents = pieces.enumerated().map { index, parts in
        (nil, Self.generated(parts, isLast: index == pieces.count - 1))
      }
      hasDone = false
    case .ollama:
      let pieces = isStream ? parts.map { [$0] } : [parts]
      documents = pieces.enumerated().map { index, parts in
        (nil, Self.line(parts, isLast: index == pieces.count - 1))
      }
      hasDone = false
    case .bedrock:
      documents =
        isStream ? Self.converseStream(parts, &random) : [(nil, Self.converse(parts))]
      hasDone = false
    }
    form =
      switch dialect {
      case .ollama: .lines
      case .bedrock: .frames
      case .openai, .anthropic, .openaiResponses, .gemini: .events
      }
  }

  private enum Part {
    case text
    case call(String, String)
  }

  /// The bytes of it, as one piece.
  func reply() -> WireReply { Self.wire(body, isStream ? "text/event-stream" : "application/json") }

  private static func wire(
    _ body: [UInt8], _ type: String, _ ending: WireReply.Completeness = .whole
  ) -> WireReply {
    WireReply(status: 200, headers: [("content-type", type)], pieces: [body], ending: ending)
  }

  private var body: [UInt8] {
    guard isStream else { return Self.bytes(documents[0].value) }
    switch form {
    case .lines: return documents.flatMap { Self.bytes($0.value) + [10] }
    case .frames: return documents.flatMap { EventFrames.event($0.name ?? "", $0.value) }
    case .events: break
    }
    var bytes: [UInt8] = []
    for document in documents {
      if let name = document.name { bytes += Array("event: \(name)\n".utf8) }
      bytes += Array("data: ".utf8) + Self.bytes(document.value) + [10, 10]
    }
    return bytes + (hasDone ? Array("data: [DONE]\n\n".utf8) : [])
  }

  private static func bytes(_ value: JSONValue) -> [UInt8] {
    CanonicalJSON.encode(value, form: .plain)
  }

  // MARK: Changes

  /// The reply with one change, and what was changed.
  func mutated(_ random: inout Seeded) -> (WireReply, String) {
    let type = isStream ? "text/event-stream" : "application/json"
    switch Int.random(in: 0..<10, using: &random) {
    case 0:
      let count = Int.random(in: 1..<body.count, using: &random)
      let ending =
        [WireReply.Completeness.cut, .dropped, .whole].randomElement(using: &random) ?? .cut
      return (Self.wire(Array(body.prefix(count)), type, ending), "cut behind \(count), \(ending)")
    case 1:
      let other =
        ["text/plain", "application/x-ndjson", "", "text/event-stream", "application/json"]
        .randomElement(using: &random) ?? ""
      return (Self.wire(body, other), "called “\(other)”")
    default:
      var copy = self
      let place = Int.random(in: 0..<documents.count, using: &random)
      var change = ""
      // A document without anything to change is left as it is.
      var left = Self.places(in: documents[place].value)
      if left > 0 {
        left = Int.random(in: 0..<left, using: &random)
        copy.documents[place].value = Self.changed(
          documents[place].value, &left, &change, &random)
      }
      return (copy.reply(), "document \(place): \(change)")
    }
  }

  /// How many members of objects there are, what goes into calls aside.
  private static func places(in value: JSONValue) -> Int {
    switch value {
    case .object(let object):
      object.reduce(0) { $0 + 1 + (isInput($1.key) ? 0 : places(in: $1.value)) }
    case .array(let elements): elements.reduce(0) { $0 + places(in: $1) }
    default: 0
    }
  }

  private static func isInput(_ key: String) -> Bool {
    ["args", "arguments", "input"].contains(key)
  }

  private static func changed(
    _ value: JSONValue, _ left: inout Int, _ change: inout String, _ random: inout Seeded
  ) -> JSONValue {
    switch value {
    case .array(let elements):
      return .array(elements.map { changed($0, &left, &change, &random) })
    case .object(let object):
      var copy = JSONObject()
      for member in object {
        guard left == 0 else {
          left -= 1
          copy[member.key] =
            isInput(member.key) ? member.value : changed(member.value, &left, &change, &random)
          continue
        }
        left -= 1
        change = "“\(member.key)” "
        let kind = Int.random(in: 0..<3, using: &random)
        switch (member.key, member.value) {
        case ("type", .string(let type)) where kind < 2:
          change += "is another one"
          copy["type"] = .string(kind == 0 ? "zz_\(type)" : "new_block")
        case ("index", .number) where kind < 2:
          change += "is 1 more"
          copy["index"] = JSONValue((member.value.intValue ?? 0) + 1)
        case (_, .object) where kind == 0, (_, .array) where kind == 0:
          change += "is in a list"
          copy[member.key] = [member.value]
        default:
          change += "is called otherwise"
          copy[member.key + "_new"] = member.value
        }
      }
      return .object(copy)
    default: return value
    }
  }

  // MARK: Chat Completions

  private static func chat(_ parts: [Part]) -> JSONValue {
    var calls: [JSONValue] = []
    var text: JSONValue = nil
    for part in parts {
      switch part {
      case .text: text = "Well."
      case .call(let name, let arguments):
        calls.append([
          "id": .string("c\(calls.count)"), "type": "function",
          "function": ["name": .string(name), "arguments": .string(arguments)],
        ])
      }
    }
    return [
      "id": "r", "object": "chat.completion", "model": "m-1",
      "choices": [
        [
          "index": 0,
          "message": ["role": "assistant", "content": text, "tool_calls": .array(calls)],
          "finish_reason": "tool_calls",
        ]
      ], "usage": ["prompt_tokens": 3, "completion_tokens": 2],
    ]
  }

  private static func chatStream(
    _ parts: [Part], _ random: inout Seeded
  ) -> [(name: String?, value: JSONValue)] {
    func chunk(_ delta: JSONValue, _ finish: JSONValue = nil) -> (name: String?, value: JSONValue) {
      (
        nil,
        [
          "id": "r", "object": "chat.completion.chunk", "model": "m-1",
          "choices": [["index": 0, "delta": delta, "finish_reason": finish]],
        ]
      )
    }
    var chunks = [chunk(["role": "assistant"])]
    var count = 0
    for part in parts {
      switch part {
      case .text: chunks.append(chunk(["content": "Well."]))
      case .call(let name, let arguments):
        chunks.append(
          chunk([
            "tool_calls": [
              [
                "index": JSONValue(count), "id": .string("c\(count)"), "type": "function",
                "function": ["name": .string(name), "arguments": ""],
              ]
            ]
          ]))
        let middle = arguments.index(
          arguments.startIndex,
          offsetBy: Int.random(in: 0...arguments.count, using: &random))
        for piece in [arguments[..<middle], arguments[middle...]] {
          chunks.append(
            chunk([
              "tool_calls": [
                ["index": JSONValue(count), "function": ["arguments": .string(String(piece))]]
              ]
            ]))
        }
        count += 1
      }
    }
    return chunks + [chunk([:], "tool_calls")]
  }

  // MARK: Messages

  private static func blocks(_ parts: [Part]) -> [(start: JSONValue, arguments: String?)] {
    parts.enumerated().map { index, part in
      switch part {
      case .text: return (["type": "text", "text": "Well."], nil)
      case .call(let name, let arguments):
        return (
          [
            "type": "tool_use", "id": .string("t\(index)"), "name": .string(name),
            "input": (try? JSONValue(parsing: arguments)) ?? nil,
          ], arguments
        )
      }
    }
  }

  private static func messages(_ parts: [Part]) -> JSONValue {
    [
      "id": "m", "type": "message", "role": "assistant", "model": "c",
      "content": .array(blocks(parts).map(\.start)), "stop_reason": "tool_use",
      "usage": ["input_tokens": 3, "output_tokens": 2],
    ]
  }

  private static func messagesStream(
    _ parts: [Part], _ random: inout Seeded
  ) -> [(name: String?, value: JSONValue)] {
    var events: [JSONValue] = [
      [
        "type": "message_start",
        "message": [
          "id": "m", "type": "message", "role": "assistant", "model": "c", "content": [],
          "usage": ["input_tokens": 3, "output_tokens": 1],
        ],
      ]
    ]
    for (index, block) in blocks(parts).enumerated() {
      var start = block.start.objectValue ?? [:]
      var delta: JSONValue = ["type": "text_delta", "text": "Well."]
      // Some servers say all at the beginning of a block.
      let isAtOnce = block.arguments != nil && Int.random(in: 0..<4, using: &random) == 0
      if let arguments = block.arguments {
        if !isAtOnce { start["input"] = [:] }
        delta = ["type": "input_json_delta", "partial_json": .string(arguments)]
      } else {
        start["text"] = ""
      }
      events.append([
        "type": "content_block_start", "index": JSONValue(index), "content_block": .object(start),
      ])
      if !isAtOnce {
        events.append(["type": "content_block_delta", "index": JSONValue(index), "delta": delta])
      }
      events.append(["type": "content_block_stop", "index": JSONValue(index)])
    }
    events += [
      [
        "type": "message_delta", "delta": ["stop_reason": "tool_use"],
        "usage": ["output_tokens": 2],
      ], ["type": "message_stop"],
    ]
    return events.map { ($0["type"]?.stringValue, $0) }
  }

  // MARK: generateContent

  private static func generated(_ parts: [Part], isLast: Bool) -> JSONValue {
    var candidate: JSONObject = [
      "index": 0,
      "content": [
        "role": "model",
        "parts": .array(
          parts.map { part in
            switch part {
            case .text: return ["text": "Well."]
            case .call(let name, let arguments):
              return [
                "functionCall": [
                  "name": .string(name), "args": (try? JSONValue(parsing: arguments)) ?? nil,
                ]
              ]
            }
          }),
      ],
    ]
    if isLast { candidate["finishReason"] = "STOP" }
    return [
      "candidates": [.object(candidate)], "modelVersion": "g-1",
      "usageMetadata": ["promptTokenCount": 3, "candidatesTokenCount": 2],
    ]
  }

  // MARK: Converse

  private static func call(_ name: String, _ index: Int, _ input: JSONValue?) -> JSONValue {
    var call: JSONObject = ["toolUseId": .string("t\(index)"), "name": .string(name)]
    call["input"] = input
    return ["toolUse": .object(call)]
  }

  private static func converse(_ parts: [Part]) -> JSONValue {
    let content: [JSONValue] = parts.enumerated().map { index, part in
      switch part {
      case .text: ["text": "Well."]
      case .call(let name, let arguments):
        call(name, index, (try? JSONValue(parsing: arguments)) ?? .null)
      }
    }
    return [
      "output": ["message": ["role": "assistant", "content": .array(content)]],
      "stopReason": "tool_use", "usage": ["inputTokens": 3, "outputTokens": 2],
    ]
  }

  private static func converseStream(
    _ parts: [Part], _ random: inout Seeded
  ) -> [(name: String?, value: JSONValue)] {
    var events: [(name: String?, value: JSONValue)] = [("messageStart", ["role": "assistant"])]
    for (index, part) in parts.enumerated() {
      let place = JSONValue(index)
      switch part {
      case .text:
        events.append(
          ("contentBlockDelta", ["contentBlockIndex": place, "delta": ["text": "Well."]]))
      case .call(let name, let arguments):
        events.append(
          ("contentBlockStart", ["contentBlockIndex": place, "start": call(name, index, nil)]))
        let middle = arguments.index(
          arguments.startIndex, offsetBy: Int.random(in: 0...arguments.count, using: &random))
        for piece in [arguments[..<middle], arguments[middle...]] {
          events.append(
            (
              "contentBlockDelta",
              [
                "contentBlockIndex": place,
                "delta": ["toolUse": ["input": .string(String(piece))]],
              ]
            ))
        }
      }
      events.append(("contentBlockStop", ["contentBlockIndex": place]))
    }
    events.append(("messageStop", ["stopReason": "tool_use"]))
    events.append(("metadata", ["usage": ["inputTokens": 3, "outputTokens": 2]]))
    return events
  }

  // MARK: Ollama's chat

  private static func line(_ parts: [Part], isLast: Bool) -> JSONValue {
    var message: JSONObject = ["role": "assistant", "content": ""]
    var calls: [JSONValue] = []
    for part in parts {
      switch part {
      case .text: message["content"] = "Well."
      case .call(let name, let arguments):
        calls.append([
          "function": [
            "name": .string(name), "arguments": (try? JSONValue(parsing: arguments)) ?? nil,
          ]
        ])
      }
    }
    if !calls.isEmpty { message["tool_calls"] = .array(calls) }
    var line: JSONObject = ["model": "l", "message": .object(message), "done": .bool(isLast)]
    if isLast { line["done_reason"] = "stop" }
    return .object(line)
  }

  // MARK: Responses

  private static func items(_ parts: [Part]) -> [JSONValue] {
    parts.enumerated().map { index, part in
      switch part {
      case .text:
        [
          "type": "message", "id": .string("i\(index)"), "role": "assistant",
          "status": "completed",
          "content": [["type": "output_text", "text": "Well.", "annotations": []]],
        ]
      case .call(let name, let arguments):
        [
          "type": "function_call", "id": .string("i\(index)"), "call_id": .string("c\(index)"),
          "name": .string(name), "arguments": .string(arguments), "status": "completed",
        ]
      }
    }
  }

  private static func responses(_ parts: [Part]) -> JSONValue {
    [
      "id": "r", "object": "response", "status": "completed", "model": "g",
      "output": .array(items(parts)), "usage": ["input_tokens": 3, "output_tokens": 2],
    ]
  }

  private static func responsesStream(_ parts: [Part]) -> [(name: String?, value: JSONValue)] {
    var events: [JSONValue] = [
      ["type": "response.created", "response": ["id": "r", "status": "in_progress", "output": []]]
    ]
    for (index, item) in items(parts).enumerated() {
      for word in ["added", "done"] {
        events.append([
          "type": .string("response.output_item.\(word)"), "output_index": JSONValue(index),
          "item": item,
        ])
      }
    }
    events.append(["type": "response.completed", "response": responses(parts)])
    return events.map { ($0["type"]?.stringValue, $0) }
  }
}
