import AgentTrace

/// A format whose files are the lines of one session, each told by itself. A session that does not say how it ended has no
/// end.
protocol AgentSessions: FormatAdapter {
  /// The format.
  static var format: ImportFormat { get }
  /// The key under which one file may hold the lines.
  static var listKeys: [String] { get }
  /// Whether a line is one that only this format has.
  static func isMark(_ line: JSONValue) -> Bool
  /// Reads the lines of a session; what is not understood is marked.
  static func read(_ lines: SourceLines, into graph: inout CallGraph)
}

extension AgentSessions {
  static var listKeys: [String] { [] }

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: listKeys, with: isMark)
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    guard recognizes(document) else {
      throw ImportError(.wrongShape(expected: "a session of \(format.rawValue)"), at: JSONPointer())
    }
    return [
      SourceRun(index: nil) { () throws(ImportError) in
        var graph = CallGraph(format: format)
        let lines = SourceLines(document, keys: listKeys).withoutRepeats
        graph.unread = lines.unread
        read(lines, into: &graph)
        guard !graph.items.isEmpty else { throw ImportError(.noMessages) }
        graph.tellFates()
        graph.agentName = format.rawValue
        graph.modelName = graph.modelName ?? graph.firstModel
        graph.ending = graph.endingByRefusal ?? graph.ending
        return graph
      }
    ]
  }
}

extension CallGraph {
  /// Adds what a line says that is one message.
  fileprivate mutating func add(_ message: ReadMessage) {
    items += MessageItems.items(of: [message])
  }

  /// Adds a piece of a reply to those of the same response that stand there, or as a reply of its own.
  fileprivate mutating func addPiece(_ piece: ReadMessage) {
    let place = items.lastIndex { item in
      if case .reply(let reply) = item { reply.responseId == piece.responseId } else { false }
    }
    guard piece.responseId != nil, let place, case .reply(var reply) = items[place] else {
      return add(piece)
    }
    reply.merge(piece)
    items[place] = .reply(reply)
  }
}

extension ReadMessage {
  /// A message that a line says, with its parts or its text.
  fileprivate init(
    _ role: ParsedMessage.Role, _ content: JSONValue?, of line: JSONValue, at pointer: JSONPointer,
    time: Timestamp? = nil
  ) {
    self.init(role: role, roleName: "\(role)", pointer: pointer, raw: line)
    self.time = time
    if let parts = content?.arrayValue {
      for (index, part) in parts.enumerated() {
        PartReader.take(
          part, at: pointer.appending("content").appending(String(index)), into: &self)
      }
    } else if let content, !content.saysNothing {
      add(text: content)
    }
  }
}

extension JSONValue {
  /// A time in milliseconds since 1970, or in ISO 8601.
  fileprivate var time: Timestamp? {
    stringValue.flatMap(Timestamp.init) ?? intValue.flatMap { Timestamp(unix: Double($0) / 1000) }
  }
}

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
      let time = line["timestamp"]?.time
      // What a sub-agent does has its own marks, and no name that is known.
      if data["parentToolCallId"]?.saysNothing == false { graph.unread.append(pointer) }
      switch line["type"]?.stringValue ?? "" {
      case "user.message":
        graph.add(ReadMessage(.user, data["content"], of: line, at: place, time: time))
      case "system.message":
        graph.add(ReadMessage(.system, data["content"], of: line, at: place, time: time))
      case "assistant.message":
        var message = ReadMessage(.assistant, data["content"], of: line, at: place, time: time)
        for (index, call) in (data["toolRequests"]?.arrayValue ?? []).enumerated() {
          MessageReader.read(
            call: call, at: place.appending("toolRequests").appending(String(index)),
            into: &message)
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
          message.time = line["time"]?.time
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
    var piece = ReadMessage(.assistant, nil, of: line, at: place, time: line["time"]?.time)
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
      result.time = line["time"]?.time
      if let isError = told?["isError"]?.boolValue { result.status = isError ? .error : .ok }
      if let id = result.id, kept.contains(id) { result.status = .refused }
      graph.items.append(.result(result))
    default: graph.unread.append(place)
    }
  }
}

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
        for (index, call) in (line["tool_calls"]?.arrayValue ?? []).enumerated() {
          MessageReader.read(
            call: call, at: pointer.appending("tool_calls").appending(String(index)),
            into: &message)
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
      let time = line["timestamp"]?.time
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
        role, nil, of: line, at: pointer, time: info["time"]?["created"]?.time)
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
      step ?? ReadMessage(.assistant, nil, of: line, at: pointer, time: line["timestamp"]?.time)
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
