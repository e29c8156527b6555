import AgentTrace

/// Sessions of pi: lines of `{"type":"session"|"message"|…,"id","parentId"}`, in the order in which they were written,
/// branches that were left again among them.
enum Pi: FormatAdapter {
  static let summary = FormatSummary(
    reads: "sessions of pi",
    tells: "calls, results, errors, usage; no end")

  private static let silent: Set<String> = [
    "session", "model_change", "thinking_level_change", "compaction", "branch_summary", "label",
    "custom", "session_info", "custom_message", "leaf",
  ]

  static func recognizes(_ document: SourceDocument) -> Bool {
    guard case .lines = document else { return false }
    return SourceLines.begin(document) { value in
      value["type"] == "session" && value["id"] != nil
        && (value["version"] != nil || value["cwd"] != nil && value["timestamp"] != nil)
        || value["type"] == "message" && value["message"]?["role"] != nil
          && value.objectValue?["parentId"] != nil
    }
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "lines of a session")
    return [
      SourceRun(index: nil) { () throws(ImportError) in
        var graph = CallGraph(format: .pi)
        let lines = SourceLines(document).withoutRepeats
        graph.unread = lines.unread
        for (pointer, value) in lines.values { read(value, at: pointer, into: &graph) }
        graph.missing += missingLines(among: lines)
        graph.agentName = "pi"
        graph.modelName = graph.firstModel
        graph.ending = graph.endingByRefusal
        return graph
      }
    ]
  }

  /// The lines from which others go on and that are not there.
  private static func missingLines(among lines: SourceLines) -> [MissingPart] {
    let ids = Set(lines.values.compactMap { $0.value["id"]?.stringValue })
    return lines.values.compactMap { pointer, value in
      if value["type"] == "session", let parent = value["parentSession"]?.stringValue,
        !parent.isEmpty
      {
        return .session(parent, at: pointer)
      }
      if value["type"] == "branch_summary", let from = value["fromId"]?.stringValue,
        !ids.contains(from)
      {
        return .line(from, at: pointer)
      }
      guard value["type"] == "message", let parent = value["parentId"]?.stringValue,
        !parent.isEmpty, !ids.contains(parent)
      else { return nil }
      return .line(parent, at: pointer)
    }
  }

  private static func read(_ entry: JSONValue, at pointer: JSONPointer, into graph: inout CallGraph)
  {
    guard entry["type"] == "message", let body = entry["message"] else {
      let type = entry["type"]?.stringValue ?? ""
      if !silent.contains(type), !entry.saysNothing { graph.unread.append(pointer) }
      if type == "compaction" { graph.noteSummary(at: pointer) }
      if type == "session" {
        for key in ["id", "cwd", "version"] { graph.labels[key] = entry[key] }
      }
      return
    }
    if let message = commandOfPerson(body, at: pointer.appending("message")) {
      graph.items += MessageItems.items(of: [message])
      return
    }
    guard let messages = MessageReader.read(body, at: pointer.appending("message")) else {
      return graph.unread.append(pointer)
    }
    for var message in messages {
      message.time = entry["timestamp"]?.stringValue.flatMap(Timestamp.init)
      message.responseId = body["responseId"]?.stringValue ?? message.responseId
      graph.items += MessageItems.items(of: [message])
    }
  }

  /// A command that the person at the terminal ran, and what it printed: the model is shown both, and called nothing.
  private static func commandOfPerson(_ body: JSONValue, at pointer: JSONPointer) -> ReadMessage? {
    guard body["role"] == "bashExecution", let command = body["command"]?.stringValue,
      !body.mayHoldCall
    else { return nil }
    var message = ReadMessage(role: .other, roleName: "bashExecution", pointer: pointer, raw: body)
    message.add(text: .string("$ \(command)\n\(body["output"]?.stringValue ?? "")"))
    return message
  }
}
