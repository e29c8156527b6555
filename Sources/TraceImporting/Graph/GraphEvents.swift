import AgentTrace
import TraceStorage

/// Turns a call graph into events: the one place where that is done, whatever format filled the graph.
///
/// Docs/importing.md has the table. A reply is a `context_built`, a `model_result` where a model was asked, and
/// a `decision`; a result is a `tool_result`; what a user says is a `human_replied`. Every decision is a step of
/// its own, a simulated user's too, so that call ids stay unique; what precedes the first one has step 0.
///
/// Why contexts name only what is new: Docs/decisions/0004-context-of-imports.md
struct GraphEvents {
  /// The most items a graph may have: every context repeats those before it.
  static let itemLimit = 50_000
  private var graph: CallGraph
  private let identity: RunIdentity
  private let pairing: GraphPairing
  private let answerIndex: Int?
  /// The reply in which the model would not answer, and with which the run ends.
  private let refusedIndex: Int?
  /// The last reply of each sub-agent, where it is text.
  private let lastReplies: [String: Int]
  private let goal: JSONValue
  private let append: (Event) throws -> Void

  private var seq = 0
  private var step = 0
  /// Which try of its step a reply is: one that repairs another belongs to the step of that.
  private var attempt = 1
  /// Whose reply was told last; empty for the run's own agent.
  private var lastAgent: String?
  private var t = 0
  private var start: Int?
  private var time: String?
  private var unmatchedResults = 0
  /// The step and the calls of each reply that was told.
  private var proposed: [Int: (step: Int, calls: [ProposedCall])] = [:]
  /// What each agent's model was shown so far, and where it stands that no context of it held yet.
  private var prompts: [String: Prompt] = [:]
  private var contextBytes = 0

  private struct Prompt {
    var messages: [JSONValue] = []
    var bytes = 0
    var pointers: [JSONPointer] = []
    /// Whether one of those is of a message that no event of its own carries.
    var isUncarried = false
  }

  /// Hands on a graph's events, in order.
  ///
  /// - Throws: what `append` throws, and ``ImportError`` where the run is too long.
  /// - Complexity: O(*n*²) in the number of items where contexts are not told, as they repeat.
  static func emit(
    _ graph: CallGraph, as identity: RunIdentity, to append: @escaping (Event) throws -> Void
  ) throws {
    guard graph.items.count <= itemLimit else {
      throw ImportError(.tooManyMessages(limit: itemLimit))
    }
    var graph = graph
    graph.markRepliesWithoutTheirCalls()
    graph.markCallsWithoutName()
    graph.markCallsWithinCalls()
    graph.markCallsInTexts()
    graph.noteEarlierResponses()
    var events = GraphEvents(graph, identity, append: append)
    try events.emit()
  }

  private init(
    _ graph: CallGraph, _ identity: RunIdentity, append: @escaping (Event) throws -> Void
  ) {
    self.graph = graph
    self.identity = identity
    self.append = append
    pairing = GraphPairing(of: graph)
    goal = graph.input ?? .null
    let refused = graph.refusedIndex
    refusedIndex = refused
    let isNone = graph.hasNoAnswer || graph.ending?.waitsForPerson ?? false
    answerIndex = graph.answerIndex.flatMap { $0 == refused || isNone ? nil : $0 }
    lastReplies = graph.lastRepliesOfAgents
    if graph.cutsAnswer, let answerIndex, case .reply(var reply) = graph.items[answerIndex],
      let text = reply.text.value?.stringValue
    {
      reply.text = .cut(text)
      self.graph.items[answerIndex] = .reply(reply)
    }
  }

  private mutating func emit() throws {
    try emitRunStarted()
    for (index, item) in graph.items.enumerated() {
      switch item {
      case .message(let message): try emit(message)
      case .reply(let reply): try emit(reply, at: index)
      case .result(let result): try emit(result, at: index)
      }
    }
    // Messages that no event carried yet, for example instructions behind the last reply.
    if let prompt = prompts[""], prompt.isUncarried {
      try emitContext(prompt.messages, bytes: prompt.bytes, from: prompt.pointers)
    }
    try emitStop()
  }

  // MARK: One event

  @discardableResult
  private mutating func emit(
    _ type: EventType, _ data: JSONObject, from pointers: [JSONPointer], extra: JSONObject = [:],
    field: JSONPointer? = nil, step: Int? = nil, time: String? = nil
  ) throws -> Int {
    var data = data
    var source = data["source"]?.objectValue ?? [:]
    source["pointers"] = JSONValue(pointers.map(\.description))
    if let field { source["field"] = .string(field.description) }
    data["source"] = .object(source)
    if !extra.isEmpty {
      data["extra"] = .object(extra.mapValues { $0.cut(toBytes: ImportLimits.valueLimitBytes) })
    }
    let event = Event(
      seq: seq, step: step ?? self.step, type: type, runId: identity.runId, time: time, t: t,
      data: data)
    seq += 1
    try append(event)
    return event.seq
  }

  /// Time as the source tells it, in microseconds since its first item; it never runs backwards.
  private mutating func advance(to timestamp: Timestamp?) {
    time = timestamp?.utc
    guard let timestamp else { return }
    let start = start ?? timestamp.microseconds
    self.start = start
    let (passed, overflows) = timestamp.microseconds.subtractingReportingOverflow(start)
    t = min(max(t, overflows ? 0 : passed), LogFormat.numberLimit)
  }
}

// MARK: - Beginning and end

extension GraphEvents {
  private mutating func emitRunStarted() throws {
    var started = RunStarted(
      agentName: graph.agentName ?? "", goal: goal, input: graph.input)
    started.modelName = graph.modelName
    started.recorded = recorded
    started.source = RunSource(
      format: graph.format.rawValue, file: identity.file, index: identity.index,
      labels: graph.labels.mapValues { $0.cut(toBytes: ImportLimits.valueLimitBytes) })
    var data = started.encoded
    if !unread.isEmpty, var source = data["source"]?.objectValue {
      source["unread"] = JSONValue(unread.prefix(ImportLimits.unreadLimit).map(\.description))
      if !graph.missing.isEmpty {
        source["missing"] = JSONValue(
          graph.missing.prefix(ImportLimits.unreadLimit).map(\.what))
      }
      data["source"] = .object(source)
    }
    // What the source is silent about is absent, not empty.
    for key in ["tools", "limits", "policyContext"] { data[key] = nil }
    if graph.agentName == nil { data["agent"] = nil }
    let first = graph.firstUserMessage
    try emit(.runStarted, data, from: first.map { [$0.pointer] } ?? [], extra: graph.extra)
  }

  private var unread: [JSONPointer] {
    graph.missing.map(\.pointer) + graph.unread + graph.items.flatMap(\.unread) + pairing.unread
  }

  /// The channels that are not whole. No source here holds verdicts, nor how its prompts were made up, nor all
  /// of how a model was asked.
  private var recorded: RecordedChannels {
    var recorded: RecordedChannels = ["context": "partial", "model": "partial", "policy": "none"]
    recorded["time"] = graph.items.contains { $0.time != nil } ? "partial" : "none"
    if lacksToolContent { recorded["tools"] = "partial" }
    if !unread.isEmpty || graph.mayGoOn { recorded["calls"] = "partial" }
    if graph.lacksPauses { recorded["stop"] = "partial" }
    // A run without its stop is one that did not end, where its source has stops.
    if graph.ending == nil, !graph.isOpen { recorded["stop"] = "none" }
    return recorded
  }

  private var lacksToolContent: Bool {
    let last = graph.items.indices.last
    let open = pairing.open.contains { !(graph.endsInCalls && $0.item == last) }
    return open || graph.mayHideInnerCalls
      || graph.items.contains { item in
        switch item {
        case .reply(let reply): reply.calls.contains { !$0.input.isWhole }
        case .result(let result): !result.data.isWhole
        case .message: false
        }
      }
  }

  private mutating func emitStop() throws {
    guard let ending = graph.ending else { return }
    var data = Stop(reason: ending.reason, detail: ending.detail).encoded
    var pointers: [JSONPointer] = []
    if let answerIndex, answerIndex == graph.lastReplyIndex,
      case .reply(let reply) = graph.items[answerIndex]
    {
      data["answer"] = reply.text.logged
      pointers = reply.pointers
    } else if let refusedIndex, case .reply(let reply) = graph.items[refusedIndex] {
      // No decision holds the words of a refusal, and they are the last that the run said.
      if reply.text != .absent, reply.text != .there("") { data["answer"] = reply.text.logged }
      pointers = reply.pointers
    }
    try emit(.stop, data, from: pointers, field: ending.field)
  }
}

// MARK: - Items

extension GraphEvents {
  private mutating func emit(_ message: GraphMessage) throws {
    if message.role == .user, message.agent == nil {
      advance(to: message.time)
      let reply = HumanReplied(
        text: (message.text ?? "").cut(toBytes: ImportLimits.valueLimitBytes), by: "user")
      try emit(
        .humanReplied, reply.encoded, from: [message.pointer], extra: message.extra, time: time)
    }
    guard message.isShown else { return }
    show(
      message.roleName, message.parts, to: message.agent, from: [message.pointer],
      extra: message.role == .user ? [:] : message.extra, isCarried: message.role == .user)
  }

  private mutating func emit(_ reply: GraphReply, at index: Int) throws {
    begin(reply)
    var modelResult: Int?
    if reply.isModelCall {
      try emitContext(of: reply)
      advance(to: reply.time)
      modelResult = try emit(
        .modelResult, result(of: reply).encoded, from: reply.pointers, extra: reply.extra,
        time: time)
    } else {
      advance(to: reply.time)
    }
    // What a model answered that nobody recorded is no decision.
    guard reply.error == nil, reply.isTold || !reply.calls.isEmpty || index == refusedIndex else {
      return
    }
    try emitDecision(of: reply, at: index, modelResult: modelResult)
  }

  /// Goes to the step of a reply.
  private mutating func begin(_ reply: GraphReply) {
    let agent = reply.agent ?? ""
    let isRepair = reply.isRepair && lastAgent?.hasSameUTF8(as: agent) == true
    step += isRepair ? 0 : 1
    attempt = isRepair ? attempt + 1 : 1
    lastAgent = agent
  }

  private func result(of reply: GraphReply) -> ModelResult {
    var result = ModelResult(
      reply: reply.error == nil ? reply.raw.cut(toBytes: ImportLimits.replyLimitBytes) : nil)
    result.error = reply.error.map { $0.prefix(utf8Bytes: 64 << 10) }
    result.inputTokens = reply.inputTokens
    result.outputTokens = reply.outputTokens
    result.cachedInputTokens = reply.cachedTokens
    result.reasoningTokens = reply.reasoningTokens
    result.cost = reply.cost
    result.model = reply.model
    result.finishReason = reply.finish
    result.requestId = reply.responseId
    return result
  }

  private mutating func emitContext(of reply: GraphReply) throws {
    let key = reply.agent ?? ""
    var prompt = prompts[key] ?? Prompt()
    let pointers = prompt.pointers
    (prompt.pointers, prompt.isUncarried) = ([], false)
    prompts[key] = prompt
    try emitContext(
      reply.context ?? prompt.messages,
      bytes: reply.context.map { $0.reduce(0) { $0 + CanonicalJSON.byteCount(of: $1) } }
        ?? prompt.bytes, from: pointers)
  }

  private mutating func emitContext(
    _ messages: [JSONValue], bytes: Int, from pointers: [JSONPointer]
  ) throws {
    contextBytes += bytes
    guard contextBytes <= ImportLimits.contextLimitBytes else {
      throw ImportError(.tooLong(limitBytes: ImportLimits.contextLimitBytes))
    }
    let data: JSONObject = [
      "runId": .string(identity.runId), "goal": goal, "prompt": ["messages": .array(messages)],
    ]
    try emit(.contextBuilt, data, from: pointers)
  }

  private mutating func emitDecision(
    of reply: GraphReply, at index: Int, modelResult: Int?
  ) throws {
    let calls = reply.calls.enumerated().map { number, call in
      ProposedCall(
        callId: "\(step).\(attempt).\(number)", name: call.name, input: call.input.logged,
        providerCallId: call.id)
    }
    let (decision, textKey) = decision(of: reply, calls, at: index)
    var payload = DecisionPayload(decision, caller: reply.agent, modelResult: modelResult)
    payload.isOfUser = reply.isOfUser
    var data = payload.encoded
    // Text that is no proper string stands as the bytes it is.
    if let textKey { data[textKey] = reply.text.logged }
    try emit(
      .decision, data, from: reply.pointers, extra: reply.isModelCall ? [:] : reply.extra,
      time: time)
    if !calls.isEmpty { proposed[index] = (step, calls) }
    let parts = calls.map { call -> JSONValue in
      [
        "type": "tool_call", "callId": .string(call.callId), "name": .string(call.name),
        "input": call.input,
      ]
    }
    show(
      "assistant", reply.parts + parts, to: reply.agent,
      from: reply.isModelCall ? reply.pointers : [])
  }

  private func decision(
    of reply: GraphReply, _ calls: [ProposedCall], at index: Int
  ) -> (Decision, textKey: String?) {
    if let problem = reply.problem ?? reply.calls.lazy.compactMap(\.problem).first {
      return (.invalid(reason: problem, calls: calls), nil)
    }
    if !calls.isEmpty { return (.tool(calls), nil) }
    // What was said stands in the model's result, and in the stop.
    if index == refusedIndex { return (.stop(.blocked, detail: reply.refusal), nil) }
    guard reply.text != .absent else {
      return (.invalid(reason: "a reply with neither text nor calls", calls: []), nil)
    }
    let isAnswer =
      reply.agent.map { lastReplies[$0] == index } ?? (index == answerIndex)
    return isAnswer
      ? (.answer(text: "", evidenceRefs: []), "text") : (.askHuman(question: ""), "question")
  }

  private mutating func emit(_ result: GraphResult, at index: Int) throws {
    advance(to: result.time)
    let answer = pairing.answers[index]
    let decision = answer.flatMap { proposed[$0.place.item] }
    let call = decision.flatMap { decision in answer.map { decision.calls[$0.place.call] } }
    if call == nil { unmatchedResults += 1 }
    let callId = call?.callId ?? "unmatched.\(unmatchedResults)"
    var extra = result.extra
    if let means = answer?.means, means != .id { extra["pairedBy"] = .string(means.rawValue) }
    if let gap = result.data.gap { extra["resultIs"] = .string(gap) }
    try emit(
      .toolResult, payload(result, callId: callId, tool: call?.name ?? result.tool ?? "").encoded,
      from: [result.pointer], extra: extra, step: decision?.step, time: time)
    let part: JSONValue = [
      "type": "tool_result", "callId": .string(callId), "data": result.data.logged,
    ]
    show("tool", [part], to: result.agent, from: [result.pointer])
  }

  private func payload(
    _ result: GraphResult, callId: String, tool: String
  ) -> ToolResultPayload {
    let data = result.data.logged
    let outcome: ToolResult =
      switch result.status {
      case .ok: .ok(data: data)
      case .returned: .returned(data: data)
      case .error: .error(reason: data, isEffectUnknown: result.isEffectUnknown)
      case .refused: .refused(reason: data.stringValue ?? data.description)
      }
    var payload = ToolResultPayload(
      callId: callId, tool: tool, caller: result.agent, result: outcome)
    payload.isOfUser = result.isOfUser
    return payload
  }

  /// Adds what an agent's model was shown to the contexts to come.
  private mutating func show(
    _ role: String, _ parts: [JSONValue], to agent: String?, from pointers: [JSONPointer],
    extra: JSONObject = [:], isCarried: Bool = true
  ) {
    guard graph.items.count <= graph.promptLimit else { return }
    var item: JSONObject = [
      "role": .string(role),
      "content": .array(parts.map { $0.cut(toBytes: ImportLimits.valueLimitBytes) }),
    ]
    if !extra.isEmpty {
      item["extra"] = .object(extra.mapValues { $0.cut(toBytes: ImportLimits.valueLimitBytes) })
    }
    var prompt = prompts[agent ?? ""] ?? Prompt()
    prompts[agent ?? ""] = nil
    prompt.bytes += CanonicalJSON.byteCount(of: .object(item))
    prompt.messages.append(.object(item))
    prompt.pointers += pointers
    if !isCarried { prompt.isUncarried = true }
    prompts[agent ?? ""] = prompt
  }
}

// MARK: - What a graph says of itself

extension GraphItem {
  var unread: [JSONPointer] {
    switch self {
    case .message(let message): message.unread
    case .reply(let reply): reply.unread
    case .result(let result): result.unread
    }
  }

  var agent: String? {
    switch self {
    case .message(let message): message.agent
    case .reply(let reply): reply.agent
    case .result(let result): result.agent
    }
  }

  var time: Timestamp? {
    switch self {
    case .message(let message): message.time
    case .reply(let reply): reply.time
    case .result(let result): result.time
    }
  }
}

extension CallGraph {
  var firstUserMessage: GraphMessage? {
    for case .message(let message) in items where message.role == .user && message.agent == nil {
      return message
    }
    return nil
  }

  /// What the run was asked.
  var input: JSONValue? {
    firstUserMessage.map { ($0.text ?? "").cut(toBytes: ImportLimits.valueLimitBytes) }
  }

  /// The last reply of the run's own agent.
  var lastReplyIndex: Int? {
    items.lastIndex {
      if case .reply(let reply) = $0 { reply.agent == nil && reply.error == nil } else { false }
    }
  }

  /// The last thing that the run's own agent said and nothing else; none where a later reply is not told.
  var answerIndex: Int? {
    for index in items.indices.reversed() {
      guard case .reply(let reply) = items[index], reply.agent == nil else { continue }
      if reply.isText { return index }
      if reply.error == nil, reply.calls.isEmpty || !reply.isTold || !mayAnswerBeforeCalls {
        return nil
      }
    }
    return nil
  }

  /// The reply in which the run's own model would not answer, and with which the run ends.
  var refusedIndex: Int? {
    guard let index = lastReplyIndex, case .reply(let reply) = items[index], reply.isModelCall,
      reply.calls.isEmpty, let kind = reply.refusal, ending?.isRefusal(kind) ?? false
    else { return nil }
    return index
  }

  /// The last reply of each sub-agent, where it is text.
  var lastRepliesOfAgents: [String: Int] {
    var last: [String: Int] = [:]
    for (index, item) in items.enumerated() {
      if case .reply(let reply) = item, let agent = reply.agent {
        last[agent] = reply.isText ? index : nil
      }
    }
    return last
  }
}
