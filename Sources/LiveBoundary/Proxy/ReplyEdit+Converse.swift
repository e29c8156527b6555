import AgentRuntime
import AgentTrace

// MARK: - Converse

extension ReplyEdit {
  /// Blocks that are no calls, and calls of functions or of the provider's own tools.
  private static let knownBlocks: Set<String> = [
    "audio", "cachePoint", "citationsContent", "document", "image", "reasoningContent", "text",
    "toolResult", "toolUse", "video",
  ]

  private static func blocks(ofConverse body: JSONValue) -> [JSONValue] {
    body["output"]?["message"]?["content"]?.arrayValue ?? [body["start"]].compactMap { $0 }
  }

  /// Whether a block is a call that nobody has run yet.
  private static func isCall(converse block: JSONValue) -> Bool {
    guard let call = block["toolUse"], !call.isNull else { return false }
    return call["type"] == nil || call["type"]?.isNull ?? false
  }

  /// A block of a kind that may be a call, in words; `nil` where none is.
  static func strangeBlock(ofConverse body: JSONValue) -> String? {
    for block in blocks(ofConverse: body) {
      for member in block.objectValue ?? [:] where !knownBlocks.contains(member.key) {
        return "it has a block of the kind “\(member.key)”"
      }
      let type = block["toolUse"]?["type"]?.stringValue ?? "server_tool_use"
      if type != "server_tool_use" { return "it has a call of the kind “\(type)”" }
    }
    return nil
  }

  static func callCount(ofConverse body: JSONValue) -> Int {
    blocks(ofConverse: body).count(where: isCall(converse:))
  }

  private static func finish(converse object: inout JSONObject, kept: Int) {
    if kept == 0, object["stopReason"] == "tool_use" { object["stopReason"] = "end_turn" }
  }

  func converse(_ body: JSONValue, _ notices: Notices) -> JSONValue? {
    guard var root = body.objectValue, var output = body["output"]?.objectValue,
      var message = output["message"]?.objectValue, let content = message["content"]?.arrayValue
    else { return nil }
    var (number, kept) = (0, 0)
    message["content"] = .array(
      content.map { block in
        guard Self.isCall(converse: block) else { return block }
        defer { number += 1 }
        guard let notice = notices[number] else {
          kept += 1
          return block
        }
        return ["text": .string(notice)]
      })
    output["message"] = .object(message)
    root["output"] = .object(output)
    Self.finish(converse: &root, kept: kept)
    return .object(root)
  }

  func converseEvents(_ notices: Notices) -> [(ServerSentEvent, JSONValue?)]? {
    var (number, kept) = (0, 0)
    var denied: Set<Int> = []
    var events: [(ServerSentEvent, JSONValue?)] = []
    for case (var event?, let value) in values {
      guard var root = value?.objectValue else {
        events.append((event, value))
        continue
      }
      let index = root["contentBlockIndex"]?.intValue
      switch event.name {
      case "contentBlockStart":
        guard let index else { return nil }
        // A block that begins again at the same place is another one.
        denied.remove(index)
        guard root["start"].map(Self.isCall(converse:)) ?? false else { break }
        defer { number += 1 }
        guard let notice = notices[number] else {
          kept += 1
          break
        }
        denied.insert(index)
        // A text has no beginning of its own.
        event.name = "contentBlockDelta"
        root = ["contentBlockIndex": JSONValue(index), "delta": ["text": .string(notice)]]
      case "contentBlockDelta":
        if let index, denied.contains(index) { continue }
      case "messageStop": Self.finish(converse: &root, kept: kept)
      default: break
      }
      events.append((event, .object(root)))
    }
    return events
  }
}
