import AgentRuntime
import AgentTrace

// MARK: - Messages

extension ReplyEdit {
  func messages(_ body: JSONValue, _ notices: Notices) -> JSONValue? {
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

  func messageEvents(_ notices: Notices) -> [(ServerSentEvent, JSONValue?)]? {
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
