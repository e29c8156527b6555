import AgentRuntime
import AgentTrace

/// A reply as it went over the wire, out of which calls can be taken before whoever asked sees them.
///
/// In the place of a call stands a text that says why it is not there, so that the model reads of it in its
/// own words later. What is not understood is not changed: whoever asks learns that, and hands nothing on.
struct ReplyEdit {
  /// What stands in the place of a call, by its place among the calls of the reply, from 0.
  typealias Notices = [Int: String]

  /// How the values of a reply are told apart.
  private enum Form {
    case whole
    case events
    /// Each line is one.
    case lines
    /// Each frame is one.
    case frames
  }

  private let dialect: Dialect
  private let wire: WireReply
  private let form: Form
  var isStream: Bool { form != .whole }
  /// The body, or the data of the events of a stream.
  let values: [(event: ServerSentEvent?, value: JSONValue?)]

  /// Reads a whole reply; `nil` where it is no JSON, or no stream of it.
  init?(_ wire: WireReply, _ dialect: Dialect) {
    self.wire = wire
    self.dialect = dialect
    let body = wire.body
    let space: [UInt8] = [0x20, 0x09, 0x0a, 0x0d]
    let first = body.first { !space.contains($0) }
    if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
      if let value = try? JSONValue.wire(body) {
        (form, values) = (.whole, [(nil, value)])
        return
      }
      guard dialect == .ollama else { return nil }
      var lines: [(event: ServerSentEvent?, value: JSONValue?)] = []
      for line in body.split(separator: 0x0a) where !line.allSatisfy({ space.contains($0) }) {
        guard let value = try? JSONValue.wire(Array(line)) else { return nil }
        lines.append((ServerSentEvent(data: Array(line)), value))
      }
      (form, values) = (.lines, lines)
      return
    }
    let events: [ServerSentEvent]
    if dialect == .bedrock {
      form = .frames
      var reader = EventFrameReader(limits: EventStreamReader.Limits())
      guard let read = try? reader.take(body), !reader.isWithinFrame else { return nil }
      events = read
    } else {
      form = .events
      var reader = EventStreamReader()
      // What stands without its end is read all the same: there are clients that act on it.
      guard let read = try? reader.take(body), let last = try? [reader.end()] else {
        return nil
      }
      events = read + last.compactMap { $0 }
    }
    var values: [(event: ServerSentEvent?, value: JSONValue?)] = []
    for event in events {
      guard !event.data.elementsEqual("[DONE]".utf8) else {
        values.append((event, nil))
        continue
      }
      guard let value = try? JSONValue.wire(event.data) else { return nil }
      values.append((event, value))
    }
    self.values = values
  }

  // MARK: What may be a call

  /// What in the reply may be a call that nobody has judged, in words; `nil` where nothing is.
  ///
  /// - Parameter count: how many calls were judged.
  func unjudged(besides count: Int) -> String? {
    strange ?? difference(from: count)
  }

  /// How the number of calls differs from that of those that were read, in words; `nil` where it does not.
  func difference(from count: Int) -> String? {
    let found = callCount
    return found == count ? nil : "it holds \(found) calls, of which \(count) could be read"
  }

  /// A part of a kind that may be a call.
  private var strange: String? {
    for case (_, let value?) in values {
      switch dialect {
      case .openai:
        for choice in value["choices"]?.arrayValue ?? []
        where (choice["index"]?.intValue ?? 0) != 0
          && Self.messages(choice).contains(where: Self.holdsCalls)
        {
          return "it has several choices, and calls in others than the first"
        }
      case .anthropic:
        let blocks = value["content"]?.arrayValue ?? [value["content_block"]].compactMap { $0 }
        for block in blocks {
          let type = block["type"]?.stringValue ?? ""
          if !Self.isKnownBlock(type) { return "it has a block of the kind “\(type)”" }
        }
      case .openaiResponses:
        let items =
          (value["output"] ?? value["response"]?["output"])?.arrayValue
          ?? [value["item"]].compactMap { $0 }
        for item in items {
          let type = item["type"]?.stringValue ?? ""
          if !Self.knownItems.contains(type) { return "it has an item of the kind “\(type)”" }
        }
      case .gemini:
        for candidate in Self.candidates(value) where (candidate["index"]?.intValue ?? 0) != 0 {
          if Self.hasCalls(candidate: candidate) {
            return "it has several candidates, and calls in others than the first"
          }
        }
      case .ollama: break
      case .bedrock: if let strange = Self.strangeBlock(ofConverse: value) { return strange }
      }
    }
    return nil
  }

  private static func isKnownBlock(_ type: String) -> Bool {
    [
      "compaction", "container_upload", "fallback", "text", "thinking", "redacted_thinking",
      "tool_use", "server_tool_use",
      "mcp_tool_use",
    ].contains(type) || type.hasSuffix("_tool_result")
  }

  /// Items that are no calls, that are the calls of functions, and that the provider has run.
  private static let knownItems = [
    "message", "reasoning", "function_call", "web_search_call", "file_search_call",
    "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools",
    "tool_search_call", "tool_search_output", "compaction",
  ]

  /// Pieces of a reply stand in a list where they are streamed without being called so.
  private static func candidates(_ value: JSONValue) -> [JSONValue] {
    (value.arrayValue ?? [value]).flatMap { $0["candidates"]?.arrayValue ?? [] }
  }

  private static func hasCalls(candidate: JSONValue) -> Bool {
    (candidate["content"]?["parts"]?.arrayValue ?? []).contains(where: isCall)
  }

  /// Whether a part of generateContent is a call.
  static func isCall(_ part: JSONValue) -> Bool {
    part["functionCall"].map { !$0.isNull } ?? false
  }

  /// What stands in a choice: a message, or a piece of one. A client may act on either where there are both.
  private static func messages(_ choice: JSONValue) -> [JSONValue] {
    [choice["message"], choice["delta"]].compactMap { $0 }
  }

  private static func holdsCalls(_ message: JSONValue) -> Bool {
    message["tool_calls"]?.arrayValue?.isEmpty == false
      || message["function_call"]?.objectValue != nil
  }

  /// How many calls there are, by the plainest reading.
  private var callCount: Int {
    switch dialect {
    case .openai:
      var (indices, whole, isOld): (Set<String>, Int, Bool) = ([], 0, false)
      for case (_, let value?) in values {
        for message in (value["choices"]?.arrayValue ?? []).flatMap(Self.messages) {
          isOld = isOld || message["function_call"]?.objectValue != nil
          for call in message["tool_calls"]?.arrayValue ?? [] {
            if isStream, let index = call["index"]?.intValue {
              indices.insert("\(index)")
            } else if isStream {
              if call["function"]?["name"]?.stringValue?.isEmpty == false { whole += 1 }
            } else {
              whole += 1
            }
          }
        }
      }
      let count = indices.count + whole
      return count == 0 && isOld ? 1 : count
    case .anthropic:
      return values.reduce(0) { count, value in
        let blocks =
          value.value?["content"]?.arrayValue ?? [value.value?["content_block"]].compactMap { $0 }
        return count + blocks.count { $0["type"] == "tool_use" }
      }
    case .openaiResponses:
      if !isStream { return Self.clientCalls(values.first?.value?["output"]) }
      var (places, last): (Set<String>, Int) = ([], 0)
      for case (_, let value?) in values {
        if let item = value["item"], OpenAIResponses.isCallOfClient(item) {
          let place = value["output_index"]?.intValue.map { "\($0)" }
          places.insert(place ?? item["id"]?.stringValue ?? item["call_id"]?.stringValue ?? "")
        }
        last = max(last, Self.clientCalls(value["response"]?["output"]))
      }
      return max(places.count, last)
    case .gemini:
      return values.reduce(0) { count, value in
        let own = Self.candidates(value.value ?? .null).filter { ($0["index"]?.intValue ?? 0) == 0 }
        return count
          + own.reduce(0) { count, candidate in
            count + (candidate["content"]?["parts"]?.arrayValue ?? []).count(where: Self.isCall)
          }
      }
    case .ollama:
      return values.reduce(0) {
        $0 + ($1.value?["message"]?["tool_calls"]?.arrayValue?.count ?? 0)
      }
    case .bedrock:
      return values.reduce(0) { $0 + Self.callCount(ofConverse: $1.value ?? .null) }
    }
  }

  private static func clientCalls(_ output: JSONValue?) -> Int {
    (output?.arrayValue ?? []).count(where: OpenAIResponses.isCallOfClient)
  }

  // MARK: Taking out

  /// The reply without some of its calls; `nil` where they cannot be taken out of it for certain.
  func without(_ notices: Notices) -> WireReply? {
    guard !notices.isEmpty else { return wire }
    var edited = wire
    edited.ending = .whole
    guard isStream else {
      guard let body = values.first?.value, let new = whole(body, notices) else { return nil }
      edited.pieces = [CanonicalJSON.encode(new.asText, form: .plain)]
      return edited
    }
    let events: [(ServerSentEvent, JSONValue?)]?
    switch dialect {
    case .openai: events = chatEvents(notices)
    case .anthropic: events = messageEvents(notices)
    case .openaiResponses: events = responseEvents(notices)
    case .gemini: events = pieces(notices, Self.candidates)
    case .ollama: events = pieces(notices, Self.chatPiece)
    case .bedrock: events = converseEvents(notices)
    }
    guard let events else { return nil }
    edited.pieces = events.map { event, value in
      switch form {
      case .lines: Self.line(value)
      case .frames: Self.frame(event, value)
      case .whole, .events: Self.encoded(event, value)
      }
    }
    return edited
  }

  private func whole(_ body: JSONValue, _ notices: Notices) -> JSONValue? {
    switch dialect {
    case .openai: chat(body, notices)
    case .anthropic: messages(body, notices)
    case .openaiResponses: response(body, notices)
    case .gemini: pieces(body, notices, Self.candidates)
    case .ollama: pieces(body, notices, Self.chatPiece)
    case .bedrock: converse(body, notices)
    }
  }

  private static func line(_ value: JSONValue?) -> [UInt8] {
    (value.map { CanonicalJSON.encode($0.asText, form: .plain) } ?? []) + [0x0a]
  }

  private static func frame(_ event: ServerSentEvent, _ value: JSONValue?) -> [UInt8] {
    var event = event
    if let value { event.data = CanonicalJSON.encode(value.asText, form: .plain) }
    return EventFrame.encoded(event)
  }

  private static func encoded(_ event: ServerSentEvent, _ value: JSONValue?) -> [UInt8] {
    var bytes: [UInt8] = []
    if !event.name.isEmpty { bytes += Array("event: \(event.name)\n".utf8) }
    if !event.id.isEmpty { bytes += Array("id: \(event.id)\n".utf8) }
    let data = value.map { CanonicalJSON.encode($0.asText, form: .plain) } ?? event.data
    return bytes + Array("data: ".utf8) + data + Array("\n\n".utf8)
  }

  /// An event whose name is the type of its data, as the dialects that name events have it.
  static func event(
    like event: ServerSentEvent, _ value: JSONObject
  ) -> (ServerSentEvent, JSONValue?) {
    var event = event
    if !event.name.isEmpty { event.name = value["type"]?.stringValue ?? event.name }
    return (event, .object(value))
  }
}

extension JSONValue {
  /// The same with text that is no Unicode as U+FFFD, so that it can be sent.
  fileprivate var asText: JSONValue {
    switch self {
    case .bytes(let bytes): .string(String(decoding: bytes, as: UTF8.self))
    case .array(let elements): .array(elements.map(\.asText))
    case .object(let object): .object(object.mapValues(\.asText))
    default: self
    }
  }
}
