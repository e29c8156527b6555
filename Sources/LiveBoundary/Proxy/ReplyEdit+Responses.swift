import AgentRuntime
import AgentTrace

// MARK: - Responses

extension ReplyEdit {
  func response(_ body: JSONValue, _ notices: Notices) -> JSONValue? {
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

  func responseEvents(_ notices: Notices) -> [(ServerSentEvent, JSONValue?)]? {
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
