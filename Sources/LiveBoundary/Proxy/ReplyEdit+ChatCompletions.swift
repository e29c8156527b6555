import AgentRuntime
import AgentTrace

// MARK: - Chat Completions

extension ReplyEdit {
  func chat(_ body: JSONValue, _ notices: Notices) -> JSONValue? {
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
  func chatEvents(_ notices: Notices) -> [(ServerSentEvent, JSONValue?)]? {
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
