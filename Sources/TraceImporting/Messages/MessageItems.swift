import AgentTrace

/// Puts read messages into a call graph's items.
enum MessageItems {
  /// The items of a list of messages, in its order. Pieces of a reply that stand side by side become one.
  ///
  /// - Parameter agent: the sub-agent whose list it is; `nil` for the run's own.
  static func items(of messages: [ReadMessage], agent: String? = nil) -> [GraphItem] {
    var items: [GraphItem] = []
    var isOpen = false
    for message in messages {
      // A server's tool gives back in the middle of a reply.
      let results = message.results.map { result -> GraphItem in
        var result = result
        result.agent = agent
        result.time = result.time ?? message.time
        return .result(result)
      }
      if message.role != .assistant { items += results }
      switch message.role {
      case .assistant:
        if isOpen, let last = items.lastIndex(where: isReply), case .reply(var reply) = items[last],
          reply.responseId == nil || message.responseId == nil
            || reply.responseId == message.responseId
        {
          reply.merge(message)
          items[last] = .reply(reply)
        } else {
          items.append(.reply(reply(of: message, agent: agent)))
        }
        items += results
        isOpen = message.isPiece
        continue
      case .tool:
        if message.results.isEmpty || !message.texts.isEmpty || !message.parts.isEmpty {
          fallthrough
        }
        note(message, in: &items)
      default:
        if message.role == .user, !results.isEmpty, message.texts.isEmpty, message.parts.isEmpty {
          note(message, in: &items)
          break
        }
        items.append(.message(self.message(message, agent: agent)))
      }
      isOpen = false
    }
    return items
  }

  private static func isReply(_ item: GraphItem) -> Bool {
    if case .reply = item { true } else { false }
  }

  /// Keeps what was not read beside the last result of a message.
  private static func note(_ message: ReadMessage, in items: inout [GraphItem]) {
    guard let last = items.indices.last, case .result(var result) = items[last] else { return }
    result.unread += message.unread
    if result.extra.isEmpty { result.extra = message.extra }
    items[last] = .result(result)
  }

  static func message(_ message: ReadMessage, agent: String?) -> GraphMessage {
    var item = GraphMessage(
      role: message.role == .tool ? .other : message.role, roleName: message.roleName,
      text: message.text, parts: message.parts, agent: agent, pointer: message.pointer)
    item.extra = message.extra
    item.unread = message.unread
    item.time = message.time
    item.isShown = message.isShown
    // A call that a message of another role asks for is none that anybody knows.
    if !message.calls.isEmpty { item.unread.append(message.pointer) }
    return item
  }

  static func reply(of message: ReadMessage, agent: String?) -> GraphReply {
    var reply = GraphReply(agent: agent, pointers: [message.pointer], raw: message.raw)
    reply.isModelCall = message.isModelCall
    reply.text = message.text.map { Told(text: $0) } ?? .absent
    reply.parts = message.parts
    reply.calls = message.calls
    reply.finish = message.finish
    reply.isUnfinished = message.isUnfinished
    reply.isCommentary = message.isCommentary
    reply.isRefusal = message.isRefusal
    reply.model = message.model
    reply.responseId = message.responseId
    reply.goesOnFrom = message.goesOnFrom
    reply.take(message.usage)
    reply.extra = message.extra
    reply.unread = message.unread
    reply.time = message.time
    return reply
  }

  /// A list of messages as a context packet holds them.
  static func context(of messages: [ReadMessage]) -> [JSONValue] {
    messages.flatMap { message -> [JSONValue] in
      var parts = message.parts
      parts += message.calls.map { call in
        JSONValue.object(
          JSONObject(
            [
              ("type", "tool_call"), ("name", .string(call.name)), ("input", call.input.logged),
            ] + (call.id.map { [("providerCallId", JSONValue.string($0))] } ?? [])))
      }
      parts += message.results.map { result in
        JSONValue.object(
          JSONObject(
            [("type", "tool_result"), ("data", result.data.logged)]
              + (result.id.map { [("providerCallId", JSONValue.string($0))] } ?? [])))
      }
      return [
        [
          "role": .string(message.roleName),
          "content": .array(parts.map { $0.cut(toBytes: ImportLimits.valueLimitBytes) }),
        ]
      ]
    }
  }
}

extension GraphReply {
  mutating func take(_ usage: ReadUsage) {
    inputTokens = usage.inputTokens ?? inputTokens
    outputTokens = usage.outputTokens ?? outputTokens
    cachedTokens = usage.cachedTokens ?? cachedTokens
    reasoningTokens = usage.reasoningTokens ?? reasoningTokens
    cost = usage.cost ?? cost
    serverCalls = usage.serverCalls ?? serverCalls
  }

  /// Takes in another piece of the same reply.
  mutating func merge(_ piece: ReadMessage) {
    if let text = piece.text {
      isCommentary = piece.isCommentary
      switch self.text {
      case .there(let first):
        self.text = .there(
          .string(
            (first.stringValue ?? first.description) + "\n" + (text.stringValue ?? text.description)
          ))
      default: self.text = Told(text: text)
      }
    }
    parts += piece.parts
    calls += piece.calls
    finish = piece.finish ?? finish
    isUnfinished = isUnfinished || piece.isUnfinished
    isRefusal = isRefusal || piece.isRefusal
    model = model ?? piece.model
    responseId = responseId ?? piece.responseId
    goesOnFrom = goesOnFrom ?? piece.goesOnFrom
    isModelCall = isModelCall || piece.isModelCall
    take(piece.usage)
    pointers.append(piece.pointer)
    unread += piece.unread
    time = time ?? piece.time
    raw = raw.arrayValue.map { .array($0 + [piece.raw]) } ?? [raw, piece.raw]
  }
}
