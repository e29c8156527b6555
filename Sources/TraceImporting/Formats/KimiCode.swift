import AgentTrace

/// Sessions of Kimi Code: lines of `{"type":"context.append_message"|"context.append_loop_event",…,"time"}`.
enum KimiCode: AgentSessions {
  static let format = ImportFormat.kimi
  static let summary = FormatSummary(
    reads: "sessions of Kimi Code", tells: "calls, results, errors, usage; no end")

  private static let silent: Set<String> = [
    "full_compaction.begin", "full_compaction.complete", "llm.request", "llm.tools_snapshot",
    "metadata", "permission.record_approval_result", "plan_mode.enter", "plan_mode.exit",
    "tools.set_active_tools", "turn.prompt", "usage.record",
  ]

  static func isMark(_ line: JSONValue) -> Bool {
    line["type"] == "context.append_loop_event" && line["event"]?["type"]?.stringValue != nil
      || line["type"] == "metadata" && line["protocol_version"] != nil
  }

  static func read(_ lines: SourceLines, into graph: inout CallGraph) {
    let kept = Set(
      lines.values.compactMap { _, line -> String? in
        guard let word = line["result"]?["decision"]?.stringValue,
          line["type"] == "permission.record_approval_result", !word.hasPrefix("approved")
        else { return nil }
        return line["toolCallId"]?.stringValue
      })
    for (pointer, line) in lines.values {
      let type = line["type"]?.stringValue ?? ""
      switch type {
      case "config.update":
        guard let text = line["systemPrompt"], !text.saysNothing else { continue }
        graph.add(ReadMessage(.system, text, of: line, at: pointer))
      case "context.append_message":
        guard let body = line["message"],
          let messages = MessageReader.read(body, at: pointer.appending("message"))
        else {
          graph.unread.append(pointer)
          continue
        }
        for var message in messages {
          // Of where it came from, one word is of interest: whether a person wrote it.
          message.unread.removeAll { $0.tokens.last == "origin" }
          message.time = line["time"]?.sessionTime
          graph.add(message)
        }
      case "context.append_loop_event":
        take(line, line["event"] ?? .null, at: pointer.appending("event"), kept, into: &graph)
      case "context.apply_compaction": graph.noteSummary(at: pointer)
      default:
        if !silent.contains(type), !line.saysNothing { graph.unread.append(pointer) }
      }
    }
    graph.noteSubAgent(behindAnyOf: ["Agent", "AgentSwarm"])
  }

  private static func take(
    _ line: JSONValue, _ event: JSONValue, at place: JSONPointer, _ kept: Set<String>,
    into graph: inout CallGraph
  ) {
    var piece = ReadMessage(.assistant, nil, of: line, at: place, time: line["time"]?.sessionTime)
    piece.responseId = (event["stepUuid"] ?? event["uuid"])?.stringValue
    switch event["type"]?.stringValue {
    case "step.begin": break
    case "content.part":
      guard let part = event["part"] else { return graph.unread.append(place) }
      if part["type"] == "think", !part.mayHoldCall {
        piece.parts.append(part)
      } else {
        PartReader.take(part, at: place.appending("part"), into: &piece)
      }
      graph.addPiece(piece)
    case "tool.call":
      piece.add(
        CallReader.call(
          name: event["name"]?.stringValue, input: event["args"],
          id: event["toolCallId"]?.stringValue), at: place)
      graph.addPiece(piece)
    case "step.end":
      piece.finish = event["finishReason"]?.stringValue
      piece.usage.inputTokens = event["usage"]?["inputOther"]?.intValue
      piece.usage.outputTokens = event["usage"]?["output"]?.intValue
      piece.usage.cachedTokens = event["usage"]?["inputCacheRead"]?.intValue
      graph.addPiece(piece)
    case "tool.result":
      let told = event["result"]
      let data = told?["output"] ?? told
      var result = GraphResult(
        id: event["toolCallId"]?.stringValue, data: data.map { Told(text: $0) } ?? .absent,
        status: .returned, pointer: place)
      result.time = line["time"]?.sessionTime
      if let isError = told?["isError"]?.boolValue { result.status = isError ? .error : .ok }
      if let id = result.id, kept.contains(id) { result.status = .refused }
      graph.items.append(.result(result))
    default: graph.unread.append(place)
    }
  }
}
