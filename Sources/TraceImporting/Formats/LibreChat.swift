import AgentTrace

/// Conversations as LibreChat exports them: `{"conversationId","endpoint","title","messages":[{"messageId",
/// "parentMessageId","sender","isCreatedByUser","text","content":[…]}]}`, or a tree of the same (`messagesTree`, `children`).
///
/// A call and what it gave back are one part, `{"type":"tool_call","tool_call":{"id","name","args","output"}}`. Where branches
/// were exported, all of them are read, as all of them ran.
enum LibreChat: FormatAdapter {
  static let summary = FormatSummary(
    reads: "conversations as LibreChat exports them",
    tells: "calls and results; no usage, ends by form")

  private static let quiet: Set<String> = [
    "options", "files", "attachments", "metadata", "feedback",
  ]
  private static let listKeys = ["messages", "messagesTree"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, with: isConversation)
  }

  private static func isConversation(_ value: JSONValue) -> Bool {
    guard value["conversationId"] != nil else { return false }
    return listKeys.contains { key in
      value[key]?.arrayValue?.first.map { $0["messageId"] != nil && $0["isCreatedByUser"] != nil }
        ?? false
    }
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "a conversation with `conversationId` and `messages`")
    return SourceRun.each(SourceLines(document), graph(of:at:))
  }

  private static func graph(
    of conversation: JSONValue, at pointer: JSONPointer
  ) throws(ImportError) -> CallGraph {
    guard isConversation(conversation), let object = conversation.objectValue else {
      throw ImportError(.wrongShape(expected: "a conversation with `messages`"), at: pointer)
    }
    var graph = CallGraph(format: .libreChat)
    graph.unread = UnknownMember.places(in: object, besides: listKeys, quiet: quiet, at: pointer)
    var open =
      listKeys.flatMap { key in
        (object[key]?.arrayValue ?? []).placed(at: pointer.appending(key))
      }.reversed() as [(JSONPointer, JSONValue)]
    var parents: Set<String> = []
    var hasBranches = false
    while let (place, value) = open.popLast() {
      open += (value["children"]?.arrayValue ?? []).placed(at: place.appending("children"))
        .reversed()
      if let parent = value["parentMessageId"]?.stringValue, !parents.insert(parent).inserted {
        hasBranches = true
      }
      take(value, at: place, into: &graph)
    }
    guard !graph.items.isEmpty else { throw ImportError(.noMessages, at: pointer) }
    graph.agentName = object["endpoint"]?.stringValue ?? "librechat"
    graph.modelName = graph.firstModel
    for key in ["conversationId", "title", "endpoint"] {
      if let word = object[key], word.stringValue != nil { graph.labels[key] = word }
    }
    // Of several last answers nobody knows which one counts.
    graph.ending = hasBranches ? graph.endingByRefusal : graph.endingByForm
    return graph
  }

  private static func take(
    _ value: JSONValue, at pointer: JSONPointer, into graph: inout CallGraph
  ) {
    guard let object = value.objectValue, let isUser = object["isCreatedByUser"]?.boolValue else {
      if !value.saysNothing { graph.unread.append(pointer) }
      return
    }
    var own = object
    own["children"] = nil
    func message() -> ReadMessage {
      var message = ReadMessage(
        role: isUser ? .user : .assistant, roleName: isUser ? "user" : "assistant",
        pointer: pointer, raw: .object(own))
      message.time = object["createdAt"]?.stringValue.flatMap(Timestamp.init)
      if !isUser { message.model = object["model"]?.stringValue }
      return message
    }
    var pieces = [message()]
    let content = object["content"]?.arrayValue ?? []
    for (place, part) in content.placed(at: pointer.appending("content")) {
      if !pieces[pieces.count - 1].results.isEmpty, part["type"] != "tool_call" {
        pieces.append(message())
      }
      read(part, at: place, into: &pieces[pieces.count - 1])
    }
    if pieces.allSatisfy(\.isEmpty), let text = object["text"], text != "" {
      pieces[0].add(text: text)
    }
    let last = pieces.count - 1
    pieces[last].finish = object["finish_reason"]?.stringValue
    let isCut = object["unfinished"]?.boolValue == true || object["error"]?.saysError == true
    pieces[last].isUnfinished = isCut || pieces[last].isUnfinished
    pieces[0].unread += UnknownMember.places(
      in: object, besides: ["content", "text", "children"], quiet: quiet, at: pointer)
    graph.items += MessageItems.items(of: pieces)
  }

  private static func read(
    _ part: JSONValue, at pointer: JSONPointer, into message: inout ReadMessage
  ) {
    switch part["type"]?.stringValue {
    case "think":
      message.parts.append(part)
      if part.mayHoldCall { message.unread.append(pointer) }
    case "error":
      message.parts.append(part)
      message.isUnfinished = true
      if part.mayHoldCall { message.unread.append(pointer) }
    case "tool_call":
      guard let told = part["tool_call"]?.objectValue else { return message.unread.append(pointer) }
      let inner = told["function"]?.objectValue ?? told
      let id = told["id"]?.stringValue
      let name = inner["name"]?.stringValue
      message.add(
        CallReader.call(name: name, input: inner["args"] ?? inner["arguments"], id: id),
        at: pointer)
      message.unread += UnknownMember.places(
        in: told, besides: ["function", "args", "arguments", "output", "input"], quiet: ["auth"],
        at: pointer.appending("tool_call"))
      guard let output = inner["output"] ?? told["output"], !output.isNull else { return }
      message.results.append(
        GraphResult(
          id: id, tool: name, data: Told(text: output), status: .returned, pointer: pointer))
    case "text":
      var text = part.objectValue ?? [:]
      // The ids of the calls behind it.
      if text["tool_call_ids"]?.arrayValue?.allSatisfy({ $0.stringValue != nil }) ?? false {
        text["tool_call_ids"] = nil
      }
      PartReader.take(.object(text), at: pointer, into: &message)
    default: PartReader.take(part, at: pointer, into: &message)
    }
  }
}
