import AgentTrace

/// Sessions of opencode, as `opencode export` writes them: `{"info","messages":[{"info":{"role",…},"parts":[…]}]}`, or the
/// messages alone; or the parts a line each, as `opencode run --format json` prints them.
enum OpenCode: AgentSessions {
  static let format = ImportFormat.openCode
  static let summary = FormatSummary(
    reads: "sessions of opencode, and what it prints as json",
    tells: "calls, results, errors, usage; ends that broke")
  static let listKeys = ["messages"]

  /// Parts by which nothing is called.
  private static let silent: Set<String> = [
    "agent", "file", "patch", "reasoning", "retry", "snapshot", "step-finish",
  ]

  static func isMark(_ line: JSONValue) -> Bool { isMessage(line) || isPrinted(line) }

  private static func isMessage(_ line: JSONValue) -> Bool {
    ["user", "assistant"].contains(line["info"]?["role"]?.stringValue)
      && line["parts"]?.arrayValue != nil
  }

  /// Whether it is a line of what `opencode run --format json` prints: a part of a reply, as soon as it is done.
  private static func isPrinted(_ line: JSONValue) -> Bool {
    line["sessionID"]?.stringValue != nil && line["part"]?["type"]?.stringValue != nil
      && line["part"]?["messageID"] != nil
  }

  static func read(_ lines: SourceLines, into graph: inout CallGraph) {
    var step: ReadMessage?
    for (pointer, line) in lines.values {
      if isPrinted(line), let part = line["part"] {
        take(printed: part, of: line, at: pointer, into: &step, &graph)
        continue
      }
      if line["sessionID"] != nil, line["type"] == "error", let error = line["error"] {
        graph.ending = ending(error, field: pointer.appending("error"))
        continue
      }
      guard isMessage(line), let parts = line["parts"]?.arrayValue else {
        if !line.saysNothing { graph.unread.append(pointer) }
        continue
      }
      let info = line["info"] ?? .null
      let role: ParsedMessage.Role = info["role"] == "user" ? .user : .assistant
      graph.ending = nil
      var message = ReadMessage(
        role, nil, of: line, at: pointer, time: info["time"]?["created"]?.sessionTime)
      message.model = info["modelID"]?.stringValue
      var replies: [ReadMessage] = []
      for (index, part) in parts.enumerated() {
        // Each step asks the model once.
        if part["type"] == "step-start", !message.isEmpty {
          replies.append(message)
          message = ReadMessage(role, nil, of: line, at: pointer)
          message.model = info["modelID"]?.stringValue
        }
        take(
          part, at: pointer.appending("parts").appending(String(index)), into: &message, &graph)
      }
      message.finish = info["finish"]?.stringValue
      message.usage = ReadUsage(info["tokens"])
      message.usage.cachedTokens = info["tokens"]?["cache"]?["read"]?.intValue
      message.usage.cost = info["cost"]?.doubleValue
      if let error = info["error"], !error.saysNothing {
        message.isUnfinished = true
        graph.ending = ending(error, field: pointer.appending("info").appending("error"))
      }
      for reply in replies + [message] { graph.add(reply) }
    }
    if let step { graph.add(step) }
    graph.noteSubAgent(behindAnyOf: ["task"])
  }

  /// Takes in a part that was printed by itself; a reply is what stands between the beginning of a step and its end.
  private static func take(
    printed part: JSONValue, of line: JSONValue, at pointer: JSONPointer,
    into step: inout ReadMessage?, _ graph: inout CallGraph
  ) {
    let type = part["type"]?.stringValue
    if type == "step-start" {
      if let step { graph.add(step) }
      step = nil
    }
    graph.ending = nil
    var message =
      step
      ?? ReadMessage(.assistant, nil, of: line, at: pointer, time: line["timestamp"]?.sessionTime)
    if type == "tool", let id = part["callID"]?.stringValue {
      // What was told of the call before it was done.
      message.calls.removeAll { $0.id == id }
      message.results.removeAll { $0.id == id }
    }
    take(part, at: pointer.appending("part"), into: &message, &graph)
    guard type == "step-finish" else {
      step = message
      return
    }
    message.finish = part["reason"]?.stringValue
    message.usage = ReadUsage(part["tokens"])
    message.usage.cachedTokens = part["tokens"]?["cache"]?["read"]?.intValue
    message.usage.cost = part["cost"]?.doubleValue
    graph.add(message)
    step = nil
  }

  private static func take(
    _ part: JSONValue, at place: JSONPointer, into message: inout ReadMessage,
    _ graph: inout CallGraph
  ) {
    switch part["type"]?.stringValue ?? "" {
    case "text": if let text = part["text"], !text.saysNothing { message.add(text: text) }
    case "tool":
      let state = part["state"] ?? .null
      let id = part["callID"]?.stringValue
      message.add(
        CallReader.call(name: part["tool"]?.stringValue, input: state["input"], id: id), at: place)
      let word = state["status"]?.stringValue ?? ""
      guard word != "pending", word != "running" else { return }
      let data = state["output"] ?? state["error"]
      var result = GraphResult(
        id: id, data: data.map { Told(text: $0) } ?? .absent,
        status: word == "completed" ? .ok : word == "error" ? .error : .returned, pointer: place)
      if result.status == .returned { result.unread.append(place) }
      fate.tell(&result)
      message.results.append(result)
    case "compaction": graph.noteSummary(at: place)
    case "step-start": break
    case let type where silent.contains(type) && !part.mayHoldCall: message.parts.append(part)
    default: message.unread.append(place)
    }
  }

  private static let fate = FateWord(
    kept: [
      ("The user rejected permission to use this specific tool call", ""),
      ("The user has specified a rule which prevents you from using this specific tool call", ""),
    ], brokenOff: [("Tool execution aborted", "")])

  /// How a reply ended that was broken off.
  private static func ending(_ error: JSONValue, field: JSONPointer) -> ParsedEnding {
    let word = error["name"]?.stringValue ?? "error"
    let reason: StopReason =
      switch word {
      case "MessageAbortedError": .cancelled
      case "MessageOutputLengthError", "ContextOverflowError": .budgetExhausted
      default: .modelFailure
      }
    return ParsedEnding(reason: reason, detail: word.prefix(utf8Bytes: 200), field: field)
  }
}
