import AgentTrace

/// What Droid prints as `stream-json`: lines of `{"type":"tool_call","toolName","parameters",…}`, a `completion` at the end.
enum DroidStream: AgentSessions {
  static let format = ImportFormat.droid
  static let summary = FormatSummary(
    reads: "what Droid prints as stream-json", tells: "calls, results, errors, the end")

  static func isMark(_ line: JSONValue) -> Bool {
    guard line["session_id"] != nil || line["sessionId"] != nil else { return false }
    return switch line["type"]?.stringValue {
    case "tool_call": line["toolName"] != nil && line["parameters"] != nil
    case "completion": line["finalText"] != nil
    case "message": line["role"]?.stringValue != nil && line["text"]?.stringValue != nil
    default: false
    }
  }

  static func read(_ lines: SourceLines, into graph: inout CallGraph) {
    for (pointer, line) in lines.values {
      let time = line["timestamp"]?.sessionTime
      switch line["type"]?.stringValue {
      case "system": graph.modelName = graph.modelName ?? line["model"]?.stringValue
      case "message":
        guard let role = line["role"]?.stringValue.flatMap(MessageReader.role), role != .tool else {
          graph.unread.append(pointer)
          continue
        }
        graph.ending = nil
        graph.add(ReadMessage(role, line["text"], of: line, at: pointer, time: time))
      case "tool_call":
        graph.ending = nil
        var message = ReadMessage(.assistant, nil, of: line, at: pointer, time: time)
        message.add(
          CallReader.call(
            name: line["toolName"]?.stringValue, input: line["parameters"], id: id(of: line)),
          at: pointer)
        graph.add(message)
      case "tool_result":
        var status = GraphResult.Status.returned
        if let isError = line["isError"]?.boolValue { status = isError ? .error : .ok }
        var result = GraphResult(
          id: id(of: line), data: line["value"].map { Told(text: $0) } ?? .absent, status: status,
          pointer: pointer)
        result.time = time
        graph.items.append(.result(result))
      case "completion":
        complete(line, at: pointer, time: time, &graph)
      case "error":
        graph.ending = ParsedEnding(
          reason: .toolFailure, detail: StopDetail.error, field: pointer.appending("type"))
      case "reasoning": if line.mayHoldCall { graph.unread.append(pointer) }
      default: if !line.saysNothing { graph.unread.append(pointer) }
      }
    }
  }

  private static func id(of line: JSONValue) -> String? {
    (line["toolCallId"] ?? line["id"])?.stringValue
  }

  /// The last words, which may stand there as a message before, and the end.
  private static func complete(
    _ line: JSONValue, at pointer: JSONPointer, time: Timestamp?, _ graph: inout CallGraph
  ) {
    var message = ReadMessage(.assistant, line["finalText"], of: line, at: pointer, time: time)
    message.usage = ReadUsage(line["usage"])
    var isTold = false
    if case .reply(let reply)? = graph.items.last, let text = message.text {
      isTold = reply.text == Told(text: text)
    }
    if !isTold, message.text != nil { graph.add(message) }
    guard case .reply(let reply)? = graph.items.last, reply.isText,
      line["isError"]?.boolValue != true, line["error"]?.saysNothing ?? true
    else { return }
    graph.ending = ParsedEnding(
      reason: .success, detail: StopDetail.finalAnswer, field: pointer.appending("type"))
  }
}
