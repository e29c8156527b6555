import AgentTrace

/// Puts what spans tell in the order in which it happened.
struct SpanItems {
  private let models: [SpanGraph.ModelCall]
  private let executions: [SpanGraph.Execution]
  private let history: SpanHistory
  /// Where calls may stand that were not read.
  private(set) var unread: [JSONPointer] = []
  /// Whether the last reply of the run's own agent is told.
  private(set) var isComplete = true

  init(
    models: [SpanGraph.ModelCall], executions: [SpanGraph.Execution], history: SpanHistory
  ) {
    self.models = models
    self.executions = executions
    self.history = history
  }

  private struct Entry {
    var time: UInt64
    /// What comes first of what happened at once.
    var rank: Int
    var number: Int
    var item: GraphItem
  }

  /// The items.
  mutating func items(roots: [TraceSpan]) -> [GraphItem] {
    var entries: [Entry] = []
    func add(_ time: UInt64, _ rank: Int, _ item: GraphItem) {
      entries.append(Entry(time: time, rank: rank, number: entries.count, item: item))
    }
    var said: Set<SaidText> = []
    for (number, call) in models.enumerated() {
      if call.agent == nil {
        let told = messages(of: call, said: &said, isFirst: said.isEmpty)
        for message in told where !call.span.repairsReply {
          add(call.span.start, 1, message)
        }
      }
      for (result, before) in history.results where before == number {
        var result = result
        result.time = call.span.startTime
        add(call.span.start, 0, .result(result))
      }
      for (calls, before, pointer) in history.lost where before == number {
        var reply = GraphReply(agent: call.agent, pointers: [pointer])
        reply.isModelCall = false
        reply.isTold = false
        reply.calls = calls
        reply.time = call.span.startTime
        reply.extra["source"] = "what a later call of the model was shown"
        add(call.span.start, -1, .reply(reply))
      }
      let isLast = call.ranTools && call.span.end > call.span.start
      add(isLast ? call.span.end : call.span.start, 2, .reply(reply(of: call)))
    }
    for (number, execution) in executions.enumerated() {
      let orphan = history.orphans[number]
      if let orphan {
        var reply = GraphReply(agent: execution.agent, pointers: [execution.span.pointer])
        reply.isModelCall = false
        reply.isTold = false
        reply.calls = [orphan]
        reply.time = execution.span.startTime
        reply.extra["source"] = "the tool's own span"
        add(execution.span.start, 3, .reply(reply))
      }
      // What took no time still comes back behind its call.
      let isAtOnce = orphan != nil && execution.span.end <= execution.span.start
      add(
        max(execution.span.start, execution.span.end), isAtOnce ? 4 : 0,
        .result(result(of: execution)))
    }
    if said.isEmpty, let message = rootMessage(of: roots) { add(0, 0, message) }
    let ordered = entries.sorted { left, right in
      if left.time != right.time { return left.time < right.time }
      return left.rank != right.rank ? left.rank < right.rank : left.number < right.number
    }
    var items = Self.givingAnswers(ordered.map(\.item))
    complete(&items)
    return items
  }

  /// smolagents answers by a call of `final_answer`, of which no tool comes back: the call is the answer.
  private static func givingAnswers(_ items: [GraphItem]) -> [GraphItem] {
    var answered = false
    var kept: [GraphItem] = []
    for item in items {
      switch item {
      case .reply(var reply):
        if reply.calls.count == 1, let call = reply.calls.first, call.name == "final_answer",
          let answer = call.input.value?["answer"], answer.isText
        {
          reply.text = Told(text: answer)
          reply.extra["finalAnswerCall"] = ["name": .string(call.name), "input": call.input.logged]
          reply.calls = []
          answered = true
          kept.append(.reply(reply))
          continue
        }
      case .result(let result): if answered, result.tool == "final_answer" { continue }
      case .message: break
      }
      kept.append(item)
    }
    return kept
  }

  // MARK: One item

  /// What a model was told that it was not told before.
  private func messages(
    of call: SpanGraph.ModelCall, said: inout Set<SaidText>, isFirst: Bool
  ) -> [GraphItem] {
    var items: [GraphItem] = []
    for message in call.content.inputs ?? [] {
      guard message.role == .system || message.role == .user || message.role == .other,
        let text = message.text ?? message.parts.first, message.results.isEmpty
      else { continue }
      guard said.insert(SaidText(role: message.roleName, text: text)).inserted else { continue }
      // Instructions of later calls stand in their contexts.
      guard isFirst || message.role == .user else { continue }
      var item = MessageItems.message(message, agent: nil)
      item.extra = [:]
      item.time = call.span.startTime
      items.append(.message(item))
    }
    return items
  }

  private func rootMessage(of roots: [TraceSpan]) -> GraphItem? {
    for root in roots where root.kind != .model {
      guard let value = root.first(SpanContent.inputKeys) else { continue }
      if let found = MessageFinder.find(value, at: root.pointer),
        let message = found.messages.last(where: { $0.role == .user && !$0.isEmpty })
      {
        return .message(MessageItems.message(message, agent: nil))
      }
      guard let text = value.stringValue, !SpanContent.isObject(text) else { continue }
      return .message(
        GraphMessage(
          role: .user, roleName: "user", text: value, parts: [["type": "text", "text": value]],
          pointer: root.pointer))
    }
    return nil
  }

  private mutating func reply(of call: SpanGraph.ModelCall) -> GraphReply {
    let content = call.content
    var reply = GraphReply(agent: call.agent, pointers: [call.span.pointer])
    let outputs = (content.outputs ?? []).filter { $0.role == .assistant || !$0.calls.isEmpty }
    if let first = outputs.first {
      reply = MessageItems.reply(of: first, agent: call.agent)
      reply.pointers = [call.span.pointer]
      for piece in outputs.dropFirst() { reply.merge(piece) }
      reply.pointers = [call.span.pointer]
    }
    reply.isModelCall = true
    reply.isTold = content.outputs != nil
    reply.calls += call.foundCalls
    reply.extra = [:]
    reply.time = call.span.endTime
    reply.finish = content.finish
    reply.model = content.model
    reply.responseId = content.responseId
    (reply.inputTokens, reply.outputTokens) = (nil, nil)
    reply.take(content.usage)
    if let inputs = content.inputs { reply.context = MessageItems.context(of: inputs) }
    reply.take(call.span)
    if let failure = call.span.failure, outputs.allSatisfy(\.isEmpty) {
      reply.error = failure
      reply.calls = []
    } else if call.span["agent_eval.model.purpose"] != nil, call.agent != nil {
      // What was asked of a model but to decide, our own export says, is no decision.
      reply.isTold = false
    } else {
      reply.failure = call.span.failure
      // What it asked for beside what is known, nobody saw.
      if !reply.isTold { unread.append(call.span.pointer) }
      if reply.isTold, content.mayLackCalls { reply.unread.append(call.span.pointer) }
    }
    return reply
  }

  private func result(of execution: SpanGraph.Execution) -> GraphResult {
    var result = GraphResult(
      id: execution.tool.id, tool: execution.tool.name, input: execution.tool.input,
      data: execution.tool.data, status: execution.tool.status, agent: execution.agent,
      pointer: execution.span.pointer)
    result.time = execution.span.endTime
    result.isEffectUnknown = execution.tool.isEffectUnknown
    // What became of a call whose span has not ended nobody saw.
    if execution.span.isOpen, result.status == .ok, case .absent = result.data {
      (result.status, result.isEffectUnknown) = (.error, true)
    }
    return result
  }

  /// Tells the last reply what the run's own span says that it answered, where its own does not.
  private mutating func complete(_ items: inout [GraphItem]) {
    let last = items.lastIndex { item in
      if case .reply(let reply) = item { reply.agent == nil && reply.error == nil } else { false }
    }
    guard let last, case .reply(var reply) = items[last], !reply.isTold else { return }
    isComplete = false
    guard reply.calls.isEmpty, let text = answer else { return }
    reply.text = Told(text: text)
    reply.isTold = true
    reply.extra["source"] = "what the agent's span says that it answered"
    isComplete = true
    items[last] = .reply(reply)
  }

  /// What the run's agents say that they answered; see ``SpanAnswer``.
  var answer: JSONValue?
}

/// What somebody said.
private struct SaidText: Hashable {
  var role: String
  var text: JSONValue

  static func == (left: SaidText, right: SaidText) -> Bool {
    left.text == right.text && left.role.hasSameUTF8(as: right.role)
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(role)
    hasher.combine(text)
  }
}
