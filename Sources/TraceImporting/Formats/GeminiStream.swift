import AgentTrace

/// What `gemini --output-format stream-json` prints: lines of `{"type":"init"|"message"|"tool_use"|"tool_result"|"result",…}`
/// (https://github.com/google-gemini/gemini-cli, docs/cli/headless.md).
///
/// A model's turn is its text, in pieces, and the calls behind that, all of them before the first result.
enum GeminiStream: AgentSessions {
  static let format = ImportFormat.geminiCli
  static let summary = GeminiCli.summary

  static func isMark(_ line: JSONValue) -> Bool {
    switch line["type"]?.stringValue {
    case "init": line["session_id"]?.stringValue != nil && line["model"] != nil
    case "tool_use": line["tool_name"] != nil && line["tool_id"] != nil
    case "tool_result": line["tool_id"] != nil && line["status"] != nil
    default: false
    }
  }

  static func read(_ lines: SourceLines, into graph: inout CallGraph) {
    var stream = Stream()
    for (pointer, line) in lines.values { stream.take(line, at: pointer, into: &graph) }
    stream.endReply(in: &graph)
    graph.noteSubAgent(behindAnyOf: GeminiCli.agentTools)
  }

  private struct Stream {
    /// What the model said so far in its turn.
    private var reply: ReadMessage?
    private var text = ""

    mutating func take(_ line: JSONValue, at pointer: JSONPointer, into graph: inout CallGraph) {
      let type = line["type"]?.stringValue ?? ""
      if !["error", "result"].contains(type) { graph.ending = nil }
      switch type {
      case "init":
        graph.labels["session_id"] = graph.labels["session_id"] ?? line["session_id"]
        graph.modelName = graph.modelName ?? line["model"]?.stringValue
      case "message": say(line, at: pointer, &graph)
      case "tool_use":
        begin(line, at: pointer)
        reply?.add(
          CallReader.call(
            name: line["tool_name"]?.stringValue, input: line["parameters"],
            id: line["tool_id"]?.stringValue), at: pointer)
      case "tool_result":
        endReply(in: &graph)
        graph.items.append(.result(Self.result(line, at: pointer)))
      case "error": if line.mayHoldCall { graph.unread.append(pointer) }
      case "result":
        endReply(in: &graph)
        end(line, at: pointer, &graph)
      default: if !line.saysNothing { graph.unread.append(pointer) }
      }
    }

    private mutating func say(
      _ line: JSONValue, at pointer: JSONPointer, _ graph: inout CallGraph
    ) {
      guard let role = line["role"]?.stringValue, let said = line["content"]?.stringValue,
        role == "user" || role == "assistant"
      else { return graph.unread.append(pointer) }
      if role == "user" || reply?.calls.isEmpty == false || line["delta"]?.boolValue != true {
        endReply(in: &graph)
      }
      guard role == "user" else {
        begin(line, at: pointer)
        text += said
        return
      }
      var message = ReadMessage(role: .user, roleName: role, pointer: pointer, raw: line)
      message.time = line["timestamp"]?.stringValue.flatMap(Timestamp.init)
      message.add(text: .string(said))
      graph.items += MessageItems.items(of: [message])
    }

    private mutating func begin(_ line: JSONValue, at pointer: JSONPointer) {
      guard reply == nil else { return }
      var message = ReadMessage(
        role: .assistant, roleName: "assistant", pointer: pointer, raw: line)
      message.time = line["timestamp"]?.stringValue.flatMap(Timestamp.init)
      reply = message
    }

    /// Adds what the model said to what happened.
    mutating func endReply(in graph: inout CallGraph) {
      guard var message = reply else { return }
      if !text.isEmpty { message.add(text: .string(text)) }
      graph.items += MessageItems.items(of: [message])
      (reply, text) = (nil, "")
    }

    private static func result(_ line: JSONValue, at pointer: JSONPointer) -> GraphResult {
      let data = line["output"].flatMap { $0.saysNothing ? nil : $0 } ?? line["error"]?["message"]
      var result = GraphResult(
        id: line["tool_id"]?.stringValue,
        data: (data ?? line["output"]).map { Told(text: $0) } ?? .absent, status: .returned,
        pointer: pointer)
      result.time = line["timestamp"]?.stringValue.flatMap(Timestamp.init)
      result.status = ResultReader.status(of: line.objectValue ?? [:], data: nil)
      FateWord.geminiCli.tellFailed(&result)
      return result
    }

    /// The last line: how it ended, and what all of it took, which is kept with the last reply. It counts the calls.
    private func end(_ line: JSONValue, at pointer: JSONPointer, _ graph: inout CallGraph) {
      let stats = line["stats"]
      let read = graph.items.reduce(0) { count, item in
        if case .reply(let reply) = item { count + reply.calls.count } else { count }
      }
      if let count = stats?["tool_calls"]?.intValue, count > read {
        graph.unread.append(pointer.appending("stats").appending("tool_calls"))
      }
      let last = graph.items.lastIndex { if case .reply = $0 { true } else { false } }
      if let last, case .reply(var reply) = graph.items[last] {
        reply.take(ReadUsage(stats))
        graph.items[last] = .reply(reply)
      }
      let field = pointer.appending("status")
      guard line["status"] != "success" else {
        if let last, last == graph.items.indices.last, case .reply(let reply) = graph.items[last],
          reply.isText
        {
          graph.ending = ParsedEnding(
            reason: .success, detail: StopDetail.finalAnswer, field: field)
        }
        return
      }
      let word = line["error"]?["type"]?.stringValue ?? StopDetail.error
      let reason: StopReason =
        if word.contains("Turn") {
          .budgetExhausted
        } else if word.contains("Cancel") {
          .cancelled
        } else if word.contains("Tool") {
          .toolFailure
        } else {
          .modelFailure
        }
      graph.ending = ParsedEnding(
        reason: reason, detail: word.prefix(utf8Bytes: 200), field: field)
    }
  }
}
