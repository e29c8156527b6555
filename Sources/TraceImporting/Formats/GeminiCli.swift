import AgentTrace

/// Sessions of the Gemini CLI: `{"sessionId","projectHash","messages":[…]}` in one file, or, since 0.40, lines: the head, then a
/// message a line, a later line of the same id in place of the earlier, and patches `{"$set":…}`.
enum GeminiCli: FormatAdapter {
  static let summary = FormatSummary(
    reads: "sessions of the Gemini CLI, and what it prints as stream-json",
    tells: "calls, results, errors, refusals, usage; no end but of a printed stream")

  private static let quiet: Set<String> = [
    "thoughts", "tokens", "meta", "displayContent", "summary",
  ]
  /// The tools that begin one of its own sub-agents (packages/core/src/agents).
  static let agentTools: Set<String> = [
    "delegate_to_agent", "invoke_agent", "codebase_investigator", "generalist", "cli_help",
    "browser_agent",
  ]
  private static let callQuiet: Set<String> = ["resultDisplay", "result", "args", "error"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    switch document {
    case .value(let value): isHead(value) && value["messages"]?.arrayValue != nil
    case .lines: SourceLines.begin(document, with: isHead) || GeminiStream.recognizes(document)
    case .parts: false
    }
  }

  private static func isHead(_ value: JSONValue) -> Bool {
    value["sessionId"] != nil && value["projectHash"] != nil
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "a session with `sessionId` and `projectHash`")
    if !SourceLines.begin(document, with: isHead), GeminiStream.recognizes(document) {
      return try GeminiStream.runs(in: document)
    }
    return [SourceRun(index: nil, try graph(of: document))]
  }

  private static func graph(of document: SourceDocument) throws(ImportError) -> CallGraph {
    var graph = CallGraph(format: .geminiCli)
    let lines = SourceLines(document, keys: ["messages"])
    graph.unread = lines.unread
    var head: JSONObject = [:]
    if case .value(let value) = document { head = value.objectValue ?? [:] }
    var messages: [(JSONPointer, JSONValue)] = []
    var places: [String: Int] = [:]
    for (pointer, value) in lines.values {
      if value["$set"] != nil || value["$rewindTo"] != nil {
        // A patch of the head; one of messages changes what was read.
        if value.mayHoldCall || value["$rewindTo"] != nil || value["$set"]?["messages"] != nil {
          graph.unread.append(pointer)
        }
      } else if isHead(value) {
        head = value.objectValue ?? [:]
      } else if let id = value["id"]?.stringValue, let place = places[id] {
        // A call that the later line does not tell any more was made all the same.
        if !calls(of: messages[place].1).isSubset(of: calls(of: value)) {
          graph.unread.append(messages[place].0)
        }
        messages[place] = (pointer, value)
      } else {
        if let id = value["id"]?.stringValue { places[id] = messages.count }
        messages.append((pointer, value))
      }
    }
    for (pointer, value) in messages {
      graph.items += try items(of: try MessageFields(value, at: pointer))
      graph.missing += subAgents(of: value, at: pointer)
    }
    if graph.missing.isEmpty { graph.noteSubAgent(behindAnyOf: agentTools) }
    for key in ["sessionId", "projectHash", "kind"] { graph.labels[key] = head[key] }
    graph.agentName = "gemini-cli"
    graph.modelName = graph.firstModel
    graph.ending = graph.endingByRefusal
    return graph
  }

  private static func calls(of message: JSONValue) -> Set<JSONValue> {
    Set((message["toolCalls"]?.arrayValue ?? []).map { $0["id"] ?? $0 })
  }

  /// The sub-agents that calls were handed to: what they did stands in sessions of their own.
  private static func subAgents(of message: JSONValue, at pointer: JSONPointer) -> [MissingPart] {
    (message["toolCalls"]?.arrayValue ?? []).enumerated().compactMap { index, call in
      guard let name = call["agentId"]?.stringValue, !name.isEmpty else { return nil }
      let place = ["toolCalls", String(index), "agentId"]
      return .subAgent(name, at: JSONPointer(tokens: pointer.tokens + place))
    }
  }

  private static func items(of fields: MessageFields) throws(ImportError) -> [GraphItem] {
    let type = fields["type"]?.stringValue ?? ""
    let role: ReadMessage.Role =
      switch type {
      case "user": .user
      case "gemini", "model", "assistant": .assistant
      default: .other
      }
    var message = ReadMessage(
      role: role, roleName: type.isEmpty ? "other" : type, pointer: fields.pointer,
      raw: .object(fields.object))
    if role == .other, !["info", "error", "warning", "system"].contains(type) {
      message.unread.append(fields.pointer.appending("type"))
    }
    if let content = fields["content"], !content.saysNothing {
      let place = fields.pointer.appending("content")
      PartReader.take(content.arrayValue ?? [content], below: place, into: &message)
    }
    message.time = fields["timestamp"]?.stringValue.flatMap(Timestamp.init)
    message.model = fields["model"]?.stringValue
    message.usage = ReadUsage(fields["tokens"])
    if let thoughts = fields["thoughts"], !thoughts.saysNothing {
      message.parts.append(["type": "reasoning", "thoughts": thoughts])
    }
    for (place, value) in try fields.elements("toolCalls") {
      read(try MessageFields(value, at: place), into: &message)
    }
    let known: Set<String> = ["content", "toolCalls", "type"]
    message.unread += UnknownMember.places(
      in: fields.object, besides: known, quiet: quiet, at: fields.pointer)
    return MessageItems.items(of: [message])
  }

  private static func read(_ call: MessageFields, into message: inout ReadMessage) {
    let id = call["id"]?.stringValue
    let name = call["name"]?.stringValue
    message.add(CallReader.call(name: name, input: call.object["args"], id: id), at: call.pointer)
    message.unread += UnknownMember.places(
      in: call.object, besides: callQuiet, quiet: [], at: call.pointer)
    let answer = call["result"]?.arrayValue?.first?["functionResponse"]
    let response = answer?["response"]
    var result = GraphResult(
      id: id, tool: answer?["name"]?.stringValue ?? name, data: .absent, status: .ok,
      pointer: call.pointer)
    switch call["status"]?.stringValue {
    case "success": break
    case "error": result.status = .error
    case "cancelled": result.status = .refused
    case nil where response != nil: result.status = .returned
    // It has not come back yet.
    default: return
    }
    if let data = response ?? call["result"] ?? call["resultDisplay"] ?? call["error"] {
      result.data = Told(text: data)
    }
    // Who cancels may do so before a call runs, or while it does.
    FateWord.geminiCli.tellFailed(&result)
    message.results.append(result)
  }
}
