import AgentTrace

/// Sessions of the Copilot CLI: lines of `{"type":"assistant.message","data":{…},"id","parentId"}`.
enum CopilotCli: AgentSessions {
  static let format = ImportFormat.copilot
  static let summary = FormatSummary(
    reads: "sessions of the Copilot CLI", tells: "calls, results, errors; no end")

  private static let silent: Set<String> = [
    "abort", "assistant.intent", "assistant.reasoning", "assistant.turn_end",
    "assistant.turn_start", "assistant.usage", "tool.execution_partial_result",
    "tool.execution_progress",
  ]

  static func isMark(_ line: JSONValue) -> Bool {
    guard let data = line["data"], data.objectValue != nil else { return false }
    switch line["type"]?.stringValue {
    case "session.start": return data["sessionId"] != nil && data["copilotVersion"] != nil
    case "assistant.message": return data["toolRequests"]?.arrayValue != nil
    case "tool.execution_start", "tool.execution_complete": return data["toolCallId"] != nil
    default: return false
    }
  }

  static func read(_ lines: SourceLines, into graph: inout CallGraph) {
    let asked = Set(
      lines.values.flatMap { _, line in
        (line["data"]?["toolRequests"]?.arrayValue ?? []).compactMap {
          $0["toolCallId"]?.stringValue
        }
      })
    // With what each call was begun, which may be less than the model gave.
    var starts: [String: JSONValue] = [:]
    for (pointer, line) in lines.values {
      let data = line["data"] ?? .null
      let place = pointer.appending("data")
      let time = line["timestamp"]?.sessionTime
      // What a sub-agent does has its own marks, and no name that is known.
      if data["parentToolCallId"]?.saysNothing == false { graph.unread.append(pointer) }
      switch line["type"]?.stringValue ?? "" {
      case "user.message":
        graph.add(ReadMessage(.user, data["content"], of: line, at: place, time: time))
      case "system.message":
        graph.add(ReadMessage(.system, data["content"], of: line, at: place, time: time))
      case "assistant.message":
        var message = ReadMessage(.assistant, data["content"], of: line, at: place, time: time)
        for (place, call) in data.elements("toolRequests", at: place) {
          MessageReader.read(call: call, at: place, into: &message)
        }
        message.responseId = data["messageId"]?.stringValue
        message.usage.outputTokens = data["outputTokens"]?.intValue
        graph.addPiece(message)
      case "tool.execution_start":
        let id = data["toolCallId"]?.stringValue
        if let id { starts[id] = data }
        if let id, asked.contains(id) { continue }
        var message = ReadMessage(.assistant, nil, of: line, at: place, time: time)
        message.isModelCall = false
        message.add(
          CallReader.call(
            name: data["toolName"]?.stringValue, input: data["arguments"], id: id), at: place)
        graph.add(message)
      case "tool.execution_complete":
        var result = result(data, at: place, time: time)
        if let start = result.id.flatMap({ starts[$0] }) {
          result.tool = start["toolName"]?.stringValue
          result.input = start["arguments"]
        }
        graph.items.append(.result(result))
      case "session.compaction_complete": graph.noteSummary(at: pointer)
      case let type
      where silent.contains(type)
        || ["hook.", "permission.", "session."].contains(where: type.hasPrefix):
        break
      default: if !line.saysNothing { graph.unread.append(pointer) }
      }
    }
  }

  private static func result(
    _ data: JSONValue, at place: JSONPointer, time: Timestamp?
  ) -> GraphResult {
    let told = data["result"]?["content"] ?? data["result"] ?? data["error"]
    var result = GraphResult(
      id: data["toolCallId"]?.stringValue, data: told.map { Told(text: $0) } ?? .absent,
      status: .returned, pointer: place)
    result.time = time
    if let isSuccess = data["success"]?.boolValue { result.status = isSuccess ? .ok : .error }
    if ["denied", "rejected"].contains(data["error"]?["code"]?.stringValue) {
      result.status = .refused
    }
    return result
  }
}
