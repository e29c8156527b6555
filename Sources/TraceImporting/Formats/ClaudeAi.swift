import AgentTrace

/// Conversations as Claude.ai exports them (`conversations.json`): `[{"uuid","name","chat_messages":[{"uuid","sender":
/// "human"|"assistant","text","content":[…]}]}]`, one run each. What tools gave back stands in the assistant's own message.
///
/// Answers that were made anew stand in the list beside the others: all of it is read, as all of it ran.
enum ClaudeAi: FormatAdapter {
  static let summary = FormatSummary(
    reads: "conversations as Claude.ai exports them",
    tells: "calls, results, errors; no usage, ends by form")

  private static let keys = ["conversations"]
  private static let quietOfConversation: Set<String> = [
    "account", "settings", "project", "chat_messages", "current_leaf_message_uuid",
  ]
  private static let quietOfMessage: Set<String> = [
    "attachments", "files", "files_v2", "sync_sources", "metadata",
  ]
  /// Of a block, what its page shows.
  private static let shown: Set<String> = [
    "approval_options", "citations", "context", "display_content", "flags", "summaries",
    "structured_content", "meta",
  ]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: keys, with: isConversation)
  }

  private static func isConversation(_ value: JSONValue) -> Bool {
    value["chat_messages"]?.arrayValue != nil
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    try check(document, expecting: "conversations with `chat_messages`")
    return SourceRun.each(SourceLines(document, keys: keys), graph(of:at:))
  }

  private static func graph(
    of conversation: JSONValue, at pointer: JSONPointer
  ) throws(ImportError) -> CallGraph {
    guard let object = conversation.objectValue, let list = object["chat_messages"]?.arrayValue
    else {
      throw ImportError(.wrongShape(expected: "a conversation with `chat_messages`"), at: pointer)
    }
    var graph = CallGraph(format: .claudeAi)
    graph.unread = UnknownMember.places(
      in: object, besides: ["chat_messages"], quiet: quietOfConversation, at: pointer)
    var parents: Set<String> = []
    var hasBranches = false
    for (place, value) in list.placed(at: pointer.appending("chat_messages")) {
      let parent = value["parent_message_uuid"]?.stringValue
      if let parent, !parents.insert(parent).inserted { hasBranches = true }
      take(value, at: place, into: &graph)
    }
    guard !graph.items.isEmpty else { throw ImportError(.noMessages, at: pointer) }
    graph.agentName = "claude.ai"
    graph.modelName = object["model"]?.stringValue ?? graph.firstModel
    for key in ["uuid", "name", "model"] {
      if let word = object[key], word.stringValue != nil { graph.labels[key] = word }
    }
    // Of several last answers nobody knows which one counts.
    graph.ending = hasBranches ? graph.endingByRefusal : graph.endingByForm
    return graph
  }

  private static func take(
    _ value: JSONValue, at pointer: JSONPointer, into graph: inout CallGraph
  ) {
    guard let object = value.objectValue else { return graph.unread.append(pointer) }
    let sender = object["sender"]?.stringValue ?? ""
    let role: ReadMessage.Role =
      sender == "human" ? .user : sender == "assistant" ? .assistant : .other
    func message() -> ReadMessage {
      var message = ReadMessage(role: role, roleName: sender, pointer: pointer, raw: value)
      message.time = object["created_at"]?.stringValue.flatMap(Timestamp.init)
      return message
    }
    var pieces = [message()]
    let content = object["content"]?.arrayValue ?? []
    for (place, block) in content.placed(at: pointer.appending("content")) {
      if block["type"] == "tool_result" {
        read(result: block, at: place, into: &pieces[pieces.count - 1])
        continue
      }
      // What stands behind a result, the model said when it had seen that.
      if !pieces[pieces.count - 1].results.isEmpty { pieces.append(message()) }
      PartReader.take(withoutShown(block), at: place, into: &pieces[pieces.count - 1])
    }
    // Older exports have the text alone.
    if content.isEmpty, let text = object["text"], text != "" {
      pieces[0].add(text: text)
    }
    if role == .other { pieces[0].unread.append(pointer.appending("sender")) }
    pieces[0].unread += UnknownMember.places(
      in: object, besides: ["content", "text", "sender"], quiet: quietOfMessage, at: pointer)
    pieces[pieces.count - 1].finish = object["stop_reason"]?.stringValue
    graph.items += MessageItems.items(of: pieces)
  }

  /// A block without what a page shows of it.
  private static func withoutShown(_ block: JSONValue) -> JSONValue {
    guard let object = block.objectValue else { return block }
    return .object(
      JSONObject(
        object.filter { !shown.contains($0.key) || $0.value.mayHoldCall }.map { ($0.key, $0.value) }
      ))
  }

  private static func read(
    result block: JSONValue, at pointer: JSONPointer, into message: inout ReadMessage
  ) {
    guard let object = withoutShown(block).objectValue else { return }
    let data = object["content"]
    var result = GraphResult(
      id: object["tool_use_id"]?.stringValue, tool: object["name"]?.stringValue,
      data: data.map { Told(text: $0) } ?? .absent,
      status: ResultReader.status(of: object, data: data), pointer: pointer)
    result.unread = UnknownMember.places(
      in: object, besides: ["type", "name", "content", "tool_use_id", "is_error"], quiet: [],
      at: pointer)
    message.results.append(result)
  }
}
