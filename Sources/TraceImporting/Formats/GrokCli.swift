import AgentTrace

/// Sessions of Grok's CLI: lines of `{"type":"assistant","content","tool_calls","model_id"}` and `{"type":"tool_result",…}`.
enum GrokCli: AgentSessions {
  static let format = ImportFormat.grok
  static let summary = FormatSummary(
    reads: "sessions of Grok's CLI", tells: "calls, results; no errors, no end")

  static func isMark(_ line: JSONValue) -> Bool {
    guard line["role"] == nil, line["message"] == nil else { return false }
    return line["type"] == "assistant" && line["model_id"] != nil && line["content"] != nil
      || line["type"] == "backend_tool_call" && line["kind"]?["tool_type"] != nil
      || line["type"] == "user" && line["prompt_index"] != nil && line["content"] != nil
  }

  static func read(_ lines: SourceLines, into graph: inout CallGraph) {
    for (pointer, line) in lines.values {
      switch line["type"]?.stringValue {
      case "system": graph.add(ReadMessage(.system, line["content"], of: line, at: pointer))
      case "user":
        // What its program says in a user's place is no word of a person.
        let isOfPerson = line["synthetic_reason"]?.saysNothing ?? true
        graph.add(ReadMessage(isOfPerson ? .user : .other, line["content"], of: line, at: pointer))
      case "assistant":
        var message = ReadMessage(.assistant, line["content"], of: line, at: pointer)
        for (place, call) in line.elements("tool_calls", at: pointer) {
          MessageReader.read(call: call, at: place, into: &message)
        }
        message.model = line["model_id"]?.stringValue
        graph.add(message)
      case "tool_result":
        graph.items.append(
          .result(
            GraphResult(
              id: line["tool_call_id"]?.stringValue,
              data: line["content"].map { Told(text: $0) } ?? .absent,
              status: ResultReader.status(of: line.objectValue ?? [:], data: nil),
              pointer: pointer)))
      case "backend_tool_call":
        // Grok's servers ran it, and what it gave back is told nowhere.
        var message = ReadMessage(.assistant, nil, of: line, at: pointer)
        message.isModelCall = false
        message.add(
          CallReader.call(
            name: line["kind"]?["tool_type"]?.stringValue, input: line["kind"]?["action"],
            id: line["kind"]?["id"]?.stringValue), at: pointer)
        graph.add(message)
      case "reasoning": if line.mayHoldCall { graph.unread.append(pointer) }
      default: if !line.saysNothing { graph.unread.append(pointer) }
      }
    }
    graph.noteSubAgent(behindAnyOf: ["task", "spawn_subagent"])
  }
}
