import AgentTrace

/// Conversations as ChatGPT exports them: `[{"title","current_node","mapping":{ID:{"message","parent","children"}}}]`, one run each.
///
/// A conversation is a tree: answers that were made anew and questions that were put otherwise stand beside the ones that
/// count, which lead up from `current_node`.
enum ChatGPT: FormatAdapter {
  static let summary = FormatSummary(
    reads: "conversations as ChatGPT exports them",
    tells: "calls of its tools, results, errors of its interpreter; no usage, ends by form")

  /// What the objects of a conversation may hold.
  private enum Keys {
    static let node = KnownKeys(read: ["message", "parent", "children"], words: ["id"])
    static let message = KnownKeys(
      read: ["author", "content", "recipient", "status", "end_turn", "metadata"],
      words: ["id", "create_time", "update_time", "weight", "channel"])
  }

  private static let keys = ["conversations"]

  static func recognizes(_ document: SourceDocument) -> Bool {
    SourceLines.begin(document, keys: keys, with: isConversation)
  }

  private static func isConversation(_ value: JSONValue) -> Bool {
    guard let nodes = value["mapping"]?.objectValue else { return false }
    return nodes.contains { node in
      node.value["message"] != nil && (node.value["parent"] ?? node.value["children"]) != nil
    }
  }

  static func runs(in document: SourceDocument) throws(ImportError) -> [SourceRun] {
    guard recognizes(document) else {
      throw ImportError(
        .wrongShape(expected: "conversations with a `mapping` of messages"), at: JSONPointer())
    }
    return SourceRun.each(SourceLines(document, keys: keys), graph(of:at:))
  }

  private static func graph(
    of conversation: JSONValue, at pointer: JSONPointer
  ) throws(ImportError) -> CallGraph {
    guard isConversation(conversation), let nodes = conversation["mapping"]?.objectValue else {
      throw ImportError(.wrongShape(expected: "a conversation with a `mapping`"), at: pointer)
    }
    let place = pointer.appending("mapping")
    guard let way = way(through: nodes, to: conversation["current_node"]?.stringValue) else {
      throw ImportError(
        .wrongShape(expected: "a `current_node` that leads up to the first one"), at: pointer)
    }
    var graph = CallGraph(format: .chatgpt)
    var turn = ChatTurn()
    for id in way {
      guard let node = nodes[id] else { continue }
      let nodePlace = place.appending(id)
      graph.unread += try MessageFields(node, at: nodePlace).unread(but: Keys.node)
      guard let message = node["message"], !message.isNull else { continue }
      let messagePlace = nodePlace.appending("message")
      graph.unread += try MessageFields(message, at: messagePlace).unread(but: Keys.message)
      turn.take(message, at: messagePlace)
    }
    turn.end()
    graph.items = MessageItems.items(of: turn.messages)
    graph.unread += callsBeside(Set(way), in: nodes, at: place)
    guard !graph.items.isEmpty else { throw ImportError(.noMessages, at: pointer) }
    graph.agentName = "chatgpt"
    graph.modelName = graph.firstModel
    for key in ["conversation_id", "id", "title", "default_model_slug", "gizmo_id"] {
      if let word = conversation[key], word.stringValue != nil { graph.labels[key] = word }
    }
    graph.ending = turn.isOver ? graph.endingByForm : graph.endingByRefusal
    return graph
  }

  /// The ids from the first node to one; to the only last one where none is named. `nil` where there is no such way.
  private static func way(through nodes: JSONObject, to last: String?) -> [String]? {
    var next = last
    if last == nil {
      let ends = nodes.filter { $0.value["children"]?.saysNothing ?? true }
      next = ends.count == 1 ? ends.first?.key : nil
    }
    guard var here = next, nodes[here] != nil else { return nil }
    var way: [String] = []
    var seen: Set<String> = []
    while seen.insert(here).inserted {
      way.append(here)
      guard let parent = nodes[here]?["parent"]?.stringValue, nodes[parent] != nil else {
        return way.reversed()
      }
      here = parent
    }
    return nil
  }

  /// Where calls stand on branches that were left: they ran all the same.
  private static func callsBeside(
    _ way: Set<String>, in nodes: JSONObject, at place: JSONPointer
  ) -> [JSONPointer] {
    nodes.compactMap { node in
      guard !way.contains(node.key), let message = node.value["message"], !message.isNull else {
        return nil
      }
      let isOfTool = message["author"]?["role"] == "tool" || ChatTurn.recipient(of: message) != nil
      return isOfTool || message["content"]?.mayHoldCall == true ? place.appending(node.key) : nil
    }
  }
}

/// Takes in the messages of a conversation, in their order.
private struct ChatTurn {
  /// What was said and given back.
  private(set) var messages: [ReadMessage] = []
  /// The call that waits for what its tool gives back.
  private var call: String?
  /// What the tool of the call has given back so far.
  private var result: GraphResult?
  private var contents: [JSONValue] = []
  /// Whether the last message of the model says that its turn is over.
  private(set) var isOver = false

  /// Whom a message of the model is for, unless that is the person.
  static func recipient(of message: JSONValue) -> String? {
    guard message["author"]?["role"] == "assistant",
      let recipient = message["recipient"]?.stringValue, !recipient.isEmpty, recipient != "all"
    else { return nil }
    return recipient
  }

  mutating func take(_ value: JSONValue, at pointer: JSONPointer) {
    let author = value["author"]?["role"]?.stringValue ?? ""
    if author == "tool" { return takeResult(value, at: pointer) }
    end()
    let content = ChatContent(value["content"], at: pointer.appending("content"))
    // What a person told once about all conversations stands as the person's first message.
    let role = content.isSetting ? .system : MessageReader.role(author) ?? .other
    var message = ReadMessage(role: role, roleName: author, pointer: pointer, raw: value)
    message.time = value["create_time"]?.doubleValue.flatMap { Timestamp(unix: $0) }
    if role == .other { message.unread.append(pointer.appending("author")) }
    message.unread += content.unread
    if let recipient = Self.recipient(of: value) {
      call = value["id"]?.stringValue ?? pointer.description
      message.add(
        CallReader.call(name: recipient, input: content.input, id: call, isText: true),
        at: pointer)
    } else {
      for text in content.texts { message.add(text: .string(text)) }
    }
    message.parts += content.parts
    guard !message.isEmpty || !message.parts.isEmpty || !message.unread.isEmpty else { return }
    if role == .assistant { tell(of: value, isThought: content.isThought, &message) }
    messages.append(message)
  }

  /// What a message of the model says of itself.
  private mutating func tell(
    of value: JSONValue, isThought: Bool, _ message: inout ReadMessage
  ) {
    let metadata = value["metadata"]
    message.model = metadata?["model_slug"]?.stringValue
    message.finish = metadata?["finish_details"]?["type"]?.stringValue
    message.isUnfinished =
      message.finish == "interrupted"
      || ["in_progress", "finished_partial_completion"].contains(value["status"]?.stringValue)
    isOver = value["end_turn"]?.boolValue == true
    // What it says before it goes on in the same turn.
    message.isPiece = message.calls.isEmpty && (isThought || value["end_turn"]?.boolValue == false)
  }

  private mutating func takeResult(_ value: JSONValue, at pointer: JSONPointer) {
    isOver = false
    let content = ChatContent(value["content"], at: pointer.appending("content"))
    contents.append(content.told)
    var result =
      self.result
      ?? GraphResult(
        id: call, tool: call == nil ? value["author"]?["name"]?.stringValue : nil, data: .absent,
        status: .returned, pointer: pointer)
    result.unread += content.unread
    let outcome = value["metadata"]?["aggregate_result"]
    let faults = ["in_kernel_exception", "system_exception", "timeout_triggered"]
    if content.isError || faults.contains(where: { outcome?[$0]?.saysNothing == false }) {
      result.status = .error
    } else if result.status != .error, outcome?["status"] == "success" {
      result.status = .ok
    }
    result.time = value["create_time"]?.doubleValue.flatMap { Timestamp(unix: $0) }
    self.result = result
  }

  /// Hands on what the tool of the last call gave back: mostly one message, of some tools several.
  mutating func end() {
    if var told = result {
      told.data = .there(contents.count == 1 ? contents[0] : .array(contents))
      var message = ReadMessage(
        role: .tool, roleName: "tool", pointer: told.pointer, raw: .array(contents))
      message.results = [told]
      messages.append(message)
    }
    (call, result, contents) = (nil, nil, [])
  }
}

/// The content of a message of ChatGPT.
private struct ChatContent {
  var texts: [String] = []
  /// What is no text: images, files, thoughts.
  var parts: [JSONValue] = []
  var isThought = false
  /// Whether it is what a person told, or a model kept, for all conversations.
  var isSetting = false
  /// Whether it says in the place of a result that there is none.
  var isError = false
  /// The content as a result holds it.
  let told: JSONValue
  var unread: [JSONPointer] = []

  init(_ value: JSONValue?, at pointer: JSONPointer) {
    var told = value ?? .null
    switch value?["content_type"]?.stringValue {
    case "text"?, "multimodal_text"?:
      for (index, part) in (value?["parts"]?.arrayValue ?? []).enumerated() {
        if let text = part.stringValue {
          if !text.isEmpty { texts.append(text) }
        } else if !part.saysNothing {
          parts.append(part)
          if part.mayHoldCall {
            unread.append(pointer.appending("parts").appending(String(index)))
          }
        }
      }
      if parts.isEmpty { told = .string(texts.joined(separator: "\n")) }
    case "code"?, "execution_output"?, "system_error"?:
      isError = value?["content_type"] == "system_error"
      if let text = value?["text"]?.stringValue {
        if !text.isEmpty { texts.append(text) }
        told = .string(text)
      } else {
        unread.append(pointer)
      }
    case "tether_browsing_display"?, "tether_quote"?:
      if let text = (value?["result"] ?? value?["text"])?.stringValue, !text.isEmpty {
        texts.append(text)
      }
    case "thoughts"?, "reasoning_recap"?:
      isThought = true
      if let value { parts.append(value) }
    case "user_editable_context"?, "model_editable_context"?:
      isSetting = true
      if let value { parts.append(value) }
    default:
      if let value, !value.saysNothing {
        parts.append(value)
        unread.append(pointer)
      }
    }
    self.told = told
  }

  /// What a call with this content gives its tool: JSON where the text is that, else the text.
  var input: JSONValue? {
    guard !texts.isEmpty else { return nil }
    let text = texts.joined(separator: "\n")
    return JSONText.parse(text) ?? .string(text)
  }
}
