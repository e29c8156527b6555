import AgentTrace

extension CallGraph {
  /// What a list of messages tells.
  init(_ list: ParsedRun) {
    self.init(format: list.format)
    agentName = list.agentName
    modelName = list.modelName
    labels = list.labels
    extra = list.extra
    ending = list.ending
    unread = list.unread
    endsInCalls = list.endsInCalls
    mayAnswerBeforeCalls = false
    mayCallInTexts = list.mayCallInTexts
    promptLimit = ImportLimits.messageLimit
    items = list.messages.flatMap(\.items)
    // What a benchmark's tools say is theirs.
    if mayCallInTexts { tellFates() }
  }
}

extension ParsedMessage {
  /// What happened by this message: one thing, or two where a simulated user says something and calls tools.
  fileprivate var items: [GraphItem] {
    switch role {
    case .assistant: return [.reply(reply(by: caller))]
    case .user where calls.isEmpty: return [.message(message)]
    case .user:
      var reply = reply(by: caller ?? SimulatedUser.name)
      guard content.text != nil else { return [.reply(reply)] }
      (reply.extra, reply.unread) = ([:], [])
      return [.message(message), .reply(reply)]
    case .tool: return [result.map { .result(graphResult($0)) } ?? .message(message)]
    case .system, .other: return [.message(message)]
    }
  }

  private var message: GraphMessage {
    GraphMessage(
      role: role, roleName: roleName, text: content.text, parts: content.parts, pointer: pointer,
      extra: extra, unread: unread, time: timestamp, isShown: isSeenByAgent)
  }

  /// - Parameter caller: who calls, where that is a simulated user and no model of the run.
  private func reply(by caller: String?) -> GraphReply {
    var reply = GraphReply(agent: caller, isModelCall: caller == nil, pointers: [pointer])
    reply.isOfUser = caller != nil
    reply.raw = raw
    reply.text = content.text.map(Told.init(text:)) ?? .absent
    reply.parts = content.parts
    reply.calls = calls.map { call in
      GraphCall(
        name: call.name, input: .there(call.input), id: call.providerCallId, problem: call.problem)
    }
    reply.finish = finish
    reply.isRefusal = isRefusal
    reply.inputTokens = usage.inputTokens
    reply.outputTokens = usage.outputTokens
    reply.cost = usage.cost
    // What a model answered stands there as it was; nothing else holds what belongs to others' calls.
    reply.extra = caller == nil ? [:] : extra
    reply.unread = unread
    reply.time = timestamp
    return reply
  }

  private func graphResult(_ result: ParsedResult) -> GraphResult {
    let status: GraphResult.Status =
      result.error != nil ? .error : result.isTold ? .ok : .returned
    var graph = GraphResult(
      id: result.providerCallId, tool: result.tool, data: .there(result.error ?? result.data),
      status: status, agent: caller, pointer: pointer, extra: extra, unread: unread,
      time: timestamp)
    graph.isOfUser = caller != nil
    return graph
  }
}
