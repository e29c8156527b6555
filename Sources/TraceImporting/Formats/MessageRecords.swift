import AgentTrace

/// Sessions of coding agents that no format of their own is known for, whose lines are records of a message each, beside
/// its session or the line before it: `{"uuid","parentUuid","sessionId",…,"message":{"role",…}}`, as Qwen Code writes them.
///
/// They belong to ``MessageLists``. A session says nowhere that it is over.
enum MessageRecords {
  /// What tells that a line is one of a session.
  private static let bonds = ["sessionId", "session_id", "parentUuid", "parentId"]
  /// Members of a record that repeat what its message says.
  private static let repeated: Set<String> = ["message", "toolCallResult"]
  private static let quiet: Set<String> = ["usageMetadata", "usage", "tokens", "systemPayload"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    guard case .lines = document else { return false }
    return SourceLines.begin(document) { line in
      message(in: line) != nil && MessageReader.read(line, at: JSONPointer()) == nil
    }
  }

  /// The message of a record; `nil` for any other line.
  private static func message(in line: JSONValue) -> JSONValue? {
    guard let record = line.objectValue, record["role"] == nil, record["messages"] == nil,
      record["request"] == nil, bonds.contains(where: { record[$0] != nil }),
      let message = record["message"], message["role"]?.stringValue != nil,
      message["content"] != nil || message["parts"] != nil
    else { return nil }
    return message
  }

  /// A run for each session, in the order of their first lines.
  static func runs(in document: SourceDocument) -> [SourceRun] {
    let lines = SourceLines(document).withoutRepeats
    var sessions: [(name: String, lines: [(pointer: JSONPointer, value: JSONValue)])] = []
    for line in lines.values {
      let named = (line.value["sessionId"] ?? line.value["session_id"])?.stringValue
      let name = named ?? sessions.last?.name ?? ""
      if let place = sessions.firstIndex(where: { $0.name.hasSameUTF8(as: name) }) {
        sessions[place].lines.append(line)
      } else if sessions.count < limit {
        sessions.append((name, [line]))
      } else {
        sessions[limit - 1].lines.append(line)
      }
    }
    return sessions.enumerated().map { index, session in
      SourceRun(index: sessions.count > 1 ? index : nil) { () throws(ImportError) in
        var graph = CallGraph(format: .messages)
        graph.unread = index == 0 ? lines.unread : []
        if !session.name.isEmpty { graph.labels["sessionId"] = .string(session.name) }
        for (pointer, value) in session.lines { take(value, at: pointer, into: &graph) }
        guard !graph.items.isEmpty else { throw ImportError(.noMessages) }
        graph.tellFates()
        graph.modelName = graph.firstModel
        graph.ending = graph.endingByRefusal
        return graph
      }
    }
  }

  /// Each is a log of its own, and there are not so many in a file.
  private static let limit = 1_000

  private static func take(
    _ line: JSONValue, at pointer: JSONPointer, into graph: inout CallGraph
  ) {
    guard let record = line.objectValue, let inner = message(in: line),
      let messages = MessageReader.read(inner, at: pointer.appending("message"))
    else {
      if let messages = MessageReader.read(line, at: pointer) {
        graph.items += MessageItems.items(of: messages)
      } else if !line.saysNothing {
        graph.unread.append(pointer)
      }
      return
    }
    graph.unread += UnknownMember.places(
      in: record, besides: repeated, quiet: quiet, at: pointer)
    for var message in messages {
      message.time = message.time ?? record["timestamp"]?.stringValue.flatMap(Timestamp.init)
      message.model = message.model ?? record["model"]?.stringValue
      if message.usage.isEmpty {
        message.usage = ReadUsage(record["usageMetadata"] ?? record["usage"] ?? record["tokens"])
      }
      for index in message.results.indices { tell(record, &message.results[index]) }
      // Records of what a program says of itself hold no message.
      if message.isEmpty, message.role != .assistant, message.unread.isEmpty { continue }
      graph.items += MessageItems.items(of: [message])
    }
  }

  /// Tells a result what its record says became of the call.
  private static func tell(_ record: JSONObject, _ result: inout GraphResult) {
    guard let outcome = record["toolCallResult"],
      outcome["callId"]?.stringValue.map({ $0 == result.id }) ?? true
    else { return }
    switch outcome["status"]?.stringValue {
    case "success": result.status = .ok
    case "error": result.status = .error
    case "cancelled": result.status = .refused
    default: break
    }
    FateWord.geminiCli.tellFailed(&result)
  }
}
