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
      guard let read = try? reader.take(body) else { return nil }
      events = read
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
    if let strange { return strange }
    let found = callCount
    return found == count ? nil : "it holds \(found) calls, of which \(count) could be read"
  }

  /// A part of a kind that may be a call.
  private var strange: String? {
    for case (_, let value?) in values {
      switch dialect {
      case .openai:
        for choice in value["choices"]?.arrayValue ?? []
        where (choice["index"]?.intValue ?? 0) != 0 && Self.holdsCalls(Self.message(choice)) {
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
    ["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use"]
      .contains(type) || type.hasSuffix("_tool_result")
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
  private static func isCall(_ part: JSONValue) -> Bool {
    part["functionCall"].map { !$0.isNull } ?? false
  }

  private static func message(_ choice: JSONValue) -> JSONValue {
    choice["delta"] ?? choice["message"] ?? .null
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
        for choice in value["choices"]?.arrayValue ?? [] {
          let message = Self.message(choice)
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
      if !isStream { return Self.functionCalls(values.first?.value?["output"]) }
      var (places, last): (Set<Int>, Int) = ([], 0)
      for case (_, let value?) in values {
        if value["item"]?["type"] == "function_call" {
          places.insert(value["output_index"]?.intValue ?? -1)
        }
        last = max(last, Self.functionCalls(value["response"]?["output"]))
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

  private static func functionCalls(_ output: JSONValue?) -> Int {
    (output?.arrayValue ?? []).count { $0["type"] == "function_call" }
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
  private static func event(
    like event: ServerSentEvent, _ value: JSONObject
  ) -> (ServerSentEvent, JSONValue?) {
    var event = event
    if !event.name.isEmpty { event.name = value["type"]?.stringValue ?? event.name }
    return (event, .object(value))
  }
}

// MARK: - Chat Completions

extension ReplyEdit {
  private func chat(_ body: JSONValue, _ notices: Notices) -> JSONValue? {
    guard var root = body.objectValue, var choices = body["choices"]?.arrayValue,
      let place = choices.firstIndex(where: { ($0["index"]?.intValue ?? 0) == 0 }),
      var choice = choices[place].objectValue, var message = choice["message"]?.objectValue
    else { return nil }
    let calls = message["tool_calls"]?.arrayValue ?? []
    let kept = calls.indices.filter { notices[$0] == nil }.map { calls[$0] }
    message["tool_calls"] = kept.isEmpty ? nil : .array(kept)
    // The form before there were several calls, by itself or beside the same call.
    if calls.isEmpty || kept.isEmpty { message["function_call"] = nil }
    let words = notices.sorted { $0.key < $1.key }.map(\.value).joined(separator: "\n")
    switch message["content"] {
    case .array(let parts)?:
      message["content"] = .array(parts + [["type": "text", "text": .string(words)]])
    case .string(let text)? where !text.isEmpty: message["content"] = .string("\(text)\n\(words)")
    default: message["content"] = .string(words)
    }
    if kept.isEmpty { choice["finish_reason"] = Self.finish(choice["finish_reason"]) }
    choice["message"] = .object(message)
    choices[place] = .object(choice)
    root["choices"] = .array(choices)
    return .object(root)
  }

  private static func finish(_ reason: JSONValue?) -> JSONValue? {
    reason == "tool_calls" || reason == "function_call" ? "stop" : reason
  }

  /// Pieces of calls belong together by their index here; others are not told apart for certain.
  private func chatEvents(_ notices: Notices) -> [(ServerSentEvent, JSONValue?)]? {
    var places: [Int: (number: Int, id: String?)] = [:]
    var keptCount = 0
    var hasText = false
    var events: [(ServerSentEvent, JSONValue?)] = []
    for case (let event?, let value) in values {
      guard var root = value?.objectValue, var choices = value?["choices"]?.arrayValue,
        let index = choices.firstIndex(where: { ($0["index"]?.intValue ?? 0) == 0 }),
        var choice = choices[index].objectValue
      else {
        events.append((event, value))
        continue
      }
      let key = choice["delta"] == nil ? "message" : "delta"
      var delta = choice[key]?.objectValue ?? [:]
      guard delta["function_call"]?.objectValue == nil else { return nil }
      var (kept, words): ([JSONValue], [String]) = ([], [])
      for call in delta["tool_calls"]?.arrayValue ?? [] {
        guard let at = call["index"]?.intValue, var object = call.objectValue else { return nil }
        let id = call["id"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
        let isNew = places[at] == nil
        if isNew { places[at] = (places.count, id) }
        guard let place = places[at], id == nil || place.id == id else { return nil }
        if let notice = notices[place.number] {
          if isNew { words.append(notice) }
          continue
        }
        if isNew { keptCount += 1 }
        object["index"] = JSONValue(
          place.number - notices.keys.count { $0 < place.number })
        kept.append(.object(object))
      }
      if delta["tool_calls"] != nil { delta["tool_calls"] = kept.isEmpty ? nil : .array(kept) }
      if !words.isEmpty {
        let before = delta["content"]?.stringValue ?? ""
        let start = hasText || !before.isEmpty ? "\n" : ""
        delta["content"] = .string(before + start + words.joined(separator: "\n"))
      }
      hasText = hasText || delta["content"]?.stringValue?.isEmpty == false
      if keptCount == 0, choice["finish_reason"] != nil {
        choice["finish_reason"] = Self.finish(choice["finish_reason"])
      }
      choice[key] = .object(delta)
      choices[index] = .object(choice)
      root["choices"] = .array(choices)
      events.append((event, .object(root)))
    }
    return events
  }
}

// MARK: - Messages

extension ReplyEdit {
  private func messages(_ body: JSONValue, _ notices: Notices) -> JSONValue? {
    guard var root = body.objectValue, let content = body["content"]?.arrayValue else { return nil }
    var (number, kept) = (0, 0)
    root["content"] = .array(
      content.map { block in
        guard block["type"] == "tool_use" else { return block }
        defer { number += 1 }
        guard let notice = notices[number] else {
          kept += 1
          return block
        }
        return ["type": "text", "text": .string(notice)]
      })
    if kept == 0, body["stop_reason"] == "tool_use" { root["stop_reason"] = "end_turn" }
    return .object(root)
  }

  private func messageEvents(_ notices: Notices) -> [(ServerSentEvent, JSONValue?)]? {
    var (number, kept) = (0, 0)
    var denied: Set<Int> = []
    var events: [(ServerSentEvent, JSONValue?)] = []
    for case (let event?, let value) in values {
      guard var root = value?.objectValue else {
        events.append((event, value))
        continue
      }
      let index = root["index"]?.intValue
      switch root["type"]?.stringValue ?? event.name {
      case "content_block_start":
        guard let index else { return nil }
        // A block that begins again at the same place is another one.
        denied.remove(index)
        guard root["content_block"]?["type"] == "tool_use" else { break }
        defer { number += 1 }
        guard let notice = notices[number] else {
          kept += 1
          break
        }
        denied.insert(index)
        root["content_block"] = ["type": "text", "text": ""]
        events.append((event, .object(root)))
        events.append(
          Self.event(
            like: event,
            [
              "type": "content_block_delta", "index": JSONValue(index),
              "delta": ["type": "text_delta", "text": .string(notice)],
            ]))
        continue
      case "content_block_delta":
        if let index, denied.contains(index) { continue }
      case "message_delta":
        if kept == 0, root["delta"]?["stop_reason"] == "tool_use",
          var delta = root["delta"]?.objectValue
        {
          delta["stop_reason"] = "end_turn"
          root["delta"] = .object(delta)
        }
      default: break
      }
      events.append((event, .object(root)))
    }
    return events
  }
}

// MARK: - Responses

extension ReplyEdit {
  private func response(_ body: JSONValue, _ notices: Notices) -> JSONValue? {
    guard var root = body.objectValue, let output = body["output"]?.arrayValue else { return nil }
    var number = 0
    root["output"] = .array(
      output.map { item in
        guard item["type"] == "function_call" else { return item }
        defer { number += 1 }
        guard let notice = notices[number] else { return item }
        return .object(Self.message(notice, number, isDone: true))
      })
    return .object(root)
  }

  private static func message(_ notice: String, _ number: Int, isDone: Bool) -> JSONObject {
    [
      "type": "message", "id": .string("msg_agent_eval_\(number)"), "role": "assistant",
      "status": isDone ? "completed" : "in_progress",
      "content": isDone ? [.object(part(notice))] : [],
    ]
  }

  private static func part(_ text: String) -> JSONObject {
    ["type": "output_text", "text": .string(text), "annotations": [], "logprobs": []]
  }

  private func responseEvents(_ notices: Notices) -> [(ServerSentEvent, JSONValue?)]? {
    var (number, sequence) = (0, 0)
    var denied: Set<Int> = []
    var events: [(ServerSentEvent, JSONValue?)] = []
    func add(_ event: ServerSentEvent, _ value: JSONObject, isNumbered: Bool) {
      var value = value
      if isNumbered { value["sequence_number"] = JSONValue(sequence) }
      sequence += 1
      events.append(Self.event(like: event, value))
    }
    for case (let event?, let value) in values {
      guard var root = value?.objectValue else {
        events.append((event, value))
        continue
      }
      let isNumbered = root["sequence_number"] != nil
      let place = root["output_index"]?.intValue
      switch root["type"]?.stringValue ?? event.name {
      case "response.output_item.added" where root["item"]?["type"] == "function_call":
        guard let place else { return nil }
        defer { number += 1 }
        guard let notice = notices[number] else { break }
        denied.insert(place)
        for new in Self.events(of: notice, number, at: place) {
          add(event, new, isNumbered: isNumbered)
        }
        continue
      case "response.completed", "response.incomplete", "response.failed":
        guard let last = root["response"] else { return nil }
        if last["output"]?.arrayValue?.isEmpty == false {
          guard let edited = response(last, notices) else { return nil }
          root["response"] = edited
        }
      default:
        if let place, denied.contains(place) { continue }
      }
      add(event, root, isNumbered: isNumbered)
    }
    return events
  }

  /// The events of a message in the place of a call.
  private static func events(of notice: String, _ number: Int, at place: Int) -> [JSONObject] {
    let item: JSONObject = ["output_index": JSONValue(place)]
    var part = item
    part["item_id"] = message(notice, number, isDone: false)["id"]
    part["content_index"] = 0
    func event(_ type: String, _ rest: JSONObject, _ own: JSONObject) -> JSONObject {
      var event: JSONObject = ["type": .string("response.\(type)")]
      for member in rest { event[member.key] = member.value }
      for member in own { event[member.key] = member.value }
      return event
    }
    return [
      event(
        "output_item.added", item, ["item": .object(message(notice, number, isDone: false))]),
      event("content_part.added", part, ["part": .object(Self.part(""))]),
      event("output_text.delta", part, ["delta": .string(notice), "logprobs": []]),
      event("output_text.done", part, ["text": .string(notice), "logprobs": []]),
      event("content_part.done", part, ["part": .object(Self.part(notice))]),
      event("output_item.done", item, ["item": .object(message(notice, number, isDone: true))]),
    ]
  }
}

// MARK: - Pieces that are of the form of a whole reply

extension ReplyEdit {
  /// What was met in the pieces before.
  private struct Met {
    /// How many calls.
    var count = 0
    var hasText = false
  }

  /// Takes calls out of a piece; `nil` where it is of no known form.
  private typealias Take = (JSONValue, Notices, inout Met) -> JSONValue?

  private func pieces(_ body: JSONValue, _ notices: Notices, _ take: Take) -> JSONValue? {
    var met = Met()
    guard let list = body.arrayValue else { return take(body, notices, &met) }
    var edited: [JSONValue] = []
    for piece in list {
      guard let new = take(piece, notices, &met) else { return nil }
      edited.append(new)
    }
    return .array(edited)
  }

  private func pieces(
    _ notices: Notices, _ take: Take
  ) -> [(ServerSentEvent, JSONValue?)]? {
    var met = Met()
    var events: [(ServerSentEvent, JSONValue?)] = []
    for case (let event?, let value) in values {
      guard let value else {
        events.append((event, nil))
        continue
      }
      guard let new = take(value, notices, &met) else { return nil }
      events.append((event, new))
    }
    return events
  }

  private static func candidates(
    _ piece: JSONValue, _ notices: Notices, _ met: inout Met
  ) -> JSONValue? {
    guard var root = piece.objectValue else { return nil }
    guard var candidates = piece["candidates"]?.arrayValue else { return piece }
    for (place, candidate) in candidates.enumerated()
    where (candidate["index"]?.intValue ?? 0) == 0 {
      guard var object = candidate.objectValue, var content = candidate["content"]?.objectValue,
        let parts = content["parts"]?.arrayValue
      else { continue }
      var edited: [JSONValue] = []
      for part in parts {
        guard isCall(part), var fields = part.objectValue else {
          edited.append(part)
          continue
        }
        defer { met.count += 1 }
        if let notice = notices[met.count] {
          fields["functionCall"] = nil
          // What is said in its place is no thought.
          fields["thought"] = nil
          let said = part["text"]?.stringValue.map { $0.isEmpty ? "" : "\($0)\n" } ?? ""
          fields["text"] = .string(said + notice)
        }
        edited.append(.object(fields))
      }
      content["parts"] = .array(edited)
      object["content"] = .object(content)
      candidates[place] = .object(object)
    }
    root["candidates"] = .array(candidates)
    return .object(root)
  }

  private static func chatPiece(
    _ piece: JSONValue, _ notices: Notices, _ met: inout Met
  ) -> JSONValue? {
    guard var root = piece.objectValue else { return nil }
    guard var message = piece["message"]?.objectValue else { return piece }
    if let calls = message["tool_calls"]?.arrayValue {
      var (kept, words): ([JSONValue], [String]) = ([], [])
      for call in calls {
        if let notice = notices[met.count] { words.append(notice) } else { kept.append(call) }
        met.count += 1
      }
      message["tool_calls"] = kept.isEmpty ? nil : .array(kept)
      if !words.isEmpty {
        let before = message["content"]?.stringValue ?? ""
        let start = met.hasText || !before.isEmpty ? "\n" : ""
        message["content"] = .string(before + start + words.joined(separator: "\n"))
      }
    }
    met.hasText = met.hasText || message["content"]?.stringValue?.isEmpty == false
    root["message"] = .object(message)
    return .object(root)
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
