import AgentTrace

extension CallGraph {
  /// What a list of messages of the chat interface tells.
  init(format: ImportFormat, messages: [ReadMessage]) {
    self.init(format: format)
    mayAnswerBeforeCalls = false
    promptLimit = ImportLimits.messageLimit
    items = messages.flatMap(\.items)
  }

  /// The same for a benchmark: the program that ran tells of each call that it made, and it made those of the last message too.
  init(benchmark format: ImportFormat, messages: [ReadMessage]) {
    self.init(format: format, messages: messages)
    endsInCalls = true
    mayCallInTexts = false
  }
}

extension ReadMessage {
  /// What happened by this message: one thing, or two where a simulated user says something and calls tools.
  fileprivate var items: [GraphItem] {
    switch role {
    case .assistant: return [.reply(reply(by: caller))]
    case .user where !calls.isEmpty:
      var reply = reply(by: caller ?? SimulatedUser.name)
      guard text != nil else { return [.reply(reply)] }
      (reply.extra, reply.unread) = ([:], [])
      var said = self
      said.calls = []
      return [.message(MessageItems.message(said, agent: nil)), .reply(reply)]
    case .tool: return results.map { .result(told($0)) }
    default: return [.message(MessageItems.message(self, agent: nil))]
    }
  }

  /// - Parameter caller: who calls, where that is a simulated user and no model of the run.
  private func reply(by caller: String?) -> GraphReply {
    var reply = MessageItems.reply(of: self, agent: caller)
    reply.isModelCall = caller == nil
    reply.isOfUser = caller != nil
    // What a model answered stands there as it was; nothing else holds what belongs to others' calls.
    if caller == nil { reply.extra = [:] }
    return reply
  }

  /// A result with what its message says around it.
  private func told(_ result: GraphResult) -> GraphResult {
    var result = result
    (result.agent, result.isOfUser) = (caller, caller != nil)
    (result.extra, result.unread, result.time) = (extra, unread, time)
    return result
  }
}
