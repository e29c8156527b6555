import AgentTrace
import TraceStorage

/// Turns a run's messages into its events: only what the source holds, and nothing more.
///
/// Docs/importing.md has the table. In short: a user's message is a `human_replied`, an assistant's a
/// `context_built`, a `model_result` and a `decision`, a tool's a `tool_result`; messages of other
/// roles stand in the next context. Every decision is a step of its own, a simulated user's too, so
/// that call ids stay unique; what precedes the first decision's context has step 0.
///
/// Why: Docs/decisions/0004-context-of-imports.md
struct RunEvents {
  /// The most messages a run may have: every context repeats those before it.
  static let messageLimit = 25_000
  /// The most bytes of a text, an input or a result. A line of a log holds 8 MiB.
  static let valueLimitBytes = 1 << 20
  /// How many of the places are named that may hold calls.
  static let unreadLimit = 20
  /// The most bytes of a reply as it stood.
  static let replyLimitBytes = 4 << 20

  /// The most bytes that all contexts of a run may hold together.
  static let contextLimitBytes = 16 << 30

  private let run: ParsedRun
  private let identity: RunIdentity
  private let goal: JSONValue
  private let answerIndex: Int?
  /// The reply in which the model would not answer, and with which the run ends.
  private let refusedIndex: Int?
  private let pairing: CallPairing
  private let append: (Event) throws -> Void

  private var seq = 0
  private var step = 0
  private var t = 0
  private var start: Int?
  private var time: String?
  /// The message that is told.
  private var index = 0
  /// The calls of each message that was told, and their step.
  private var proposed: [Int: (step: Int, calls: [ProposedCall])] = [:]
  private var unmatchedResults = 0
  /// The messages that the model was shown so far, as a packet holds them.
  private var prompt: [JSONValue] = []
  private var promptBytes = 0
  private var contextBytes = 0
  /// Where those stand that no context has held yet.
  private var newPointers: [JSONPointer] = []

  private init(
    _ run: ParsedRun, _ identity: RunIdentity, append: @escaping (Event) throws -> Void
  ) {
    self.run = run
    self.identity = identity
    self.append = append
    pairing = CallPairing(of: run)
    goal = Self.input(of: run) ?? .null
    let last = run.messages.lastIndex { $0.role == .assistant && $0.caller == nil }
    let refused = last.flatMap { index in
      run.messages[index].refusal.flatMap { run.ending?.isRefusal($0) ?? false ? index : nil }
    }
    refusedIndex = refused
    let isQuestion = run.ending?.waitsForPerson ?? false
    answerIndex = last.flatMap {
      $0 != refused && !isQuestion && run.messages[$0].isAssistantText ? $0 : nil
    }
  }

  /// Hands on a run's events, in order.
  ///
  /// - Throws: what `append` throws.
  /// - Complexity: O(*n*²) in the number of messages, at most ``messageLimit``, as contexts repeat.
  static func emit(
    _ run: ParsedRun, as identity: RunIdentity, to append: @escaping (Event) throws -> Void
  ) throws {
    var events = RunEvents(run, identity, append: append)
    try events.emit()
  }

  private mutating func emit() throws {
    try emitRunStarted()
    for index in run.messages.indices {
      self.index = index
      let message = run.messages[index]
      switch message.role {
      case .assistant: try emitReply(message, isAnswer: index == answerIndex)
      case .user: try emitUser(message)
      case .tool: try emitResult(message)
      case .system, .other: show(message, extra: message.extra)
      }
    }
    // Messages that no event carried yet, for example instructions behind the last reply.
    if !newPointers.isEmpty, hasUncarriedMessage { try emitContext(pointers: newPointers) }
    try emitStop()
  }

  // MARK: One event

  /// Appends an event that carries the messages at some places. Returns its number.
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
      data["extra"] = .object(extra.mapValues { $0.cut(toBytes: Self.valueLimitBytes) })
    }
    let event = Event(
      seq: seq, step: step ?? self.step, type: type, runId: identity.runId, time: time, t: t,
      data: data)
    seq += 1
    try append(event)
    return event.seq
  }

  /// Time as the source tells it, in microseconds since its first message; it never runs backwards,
  /// nor beyond what a log can number.
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

extension RunEvents {
  private mutating func emitRunStarted() throws {
    var started = RunStarted(agentName: run.agentName ?? "", goal: goal, input: Self.input(of: run))
    started.modelName = run.modelName
    started.recorded = recorded
    started.source = RunSource(
      format: run.format.rawValue, file: identity.file, index: identity.index,
      labels: run.labels.mapValues { $0.cut(toBytes: Self.valueLimitBytes) })
    var data = started.encoded
    if !unread.isEmpty, var source = data["source"]?.objectValue {
      source["unread"] = JSONValue(unread.prefix(Self.unreadLimit).map(\.description))
      data["source"] = .object(source)
    }
    // What the source is silent about is absent, not empty.
    for key in ["tools", "limits", "policyContext"] { data[key] = nil }
    if run.agentName == nil { data["agent"] = nil }
    let first = Self.firstUserMessage(of: run)
    try emit(.runStarted, data, from: first.map { [$0.pointer] } ?? [], extra: run.extra)
  }

  /// Where something stands that may be a call and was not read as one.
  private var unread: [JSONPointer] {
    let unnamed = run.messages.filter { $0.calls.contains { ToolWord.isOdd($0.name) } }
    return run.unread + run.messages.flatMap(\.unread) + unnamed.map(\.pointer) + pairing.unread
  }

  private static func firstUserMessage(of run: ParsedRun) -> ParsedMessage? {
    run.messages.first { $0.role == .user && $0.calls.isEmpty }
  }

  private static func input(of run: ParsedRun) -> JSONValue? {
    guard let message = firstUserMessage(of: run) else { return nil }
    return (message.content.text ?? message.content.original ?? "").cut(toBytes: valueLimitBytes)
  }

  /// The channels that are not whole. A message list never holds verdicts, nor how its prompts were
  /// made up, nor how a model was asked.
  private var recorded: RecordedChannels {
    var recorded: RecordedChannels = ["context": "partial", "model": "partial", "policy": "none"]
    recorded["time"] = run.messages.contains { $0.timestamp != nil } ? "partial" : "none"
    if !pairing.isWhole { recorded["tools"] = "partial" }
    if !unread.isEmpty { recorded["calls"] = "partial" }
    if run.ending == nil { recorded["stop"] = "none" }
    return recorded
  }

  private mutating func emitStop() throws {
    guard let ending = run.ending else { return }
    let said = (answerIndex ?? refusedIndex).map { run.messages[$0] }
    var data = Stop(reason: ending.reason, detail: ending.detail).encoded
    if let text = said?.content.text, answerIndex != nil || text != "" {
      data["answer"] = text.cut(toBytes: Self.valueLimitBytes)
    }
    try emit(.stop, data, from: said.map { [$0.pointer] } ?? [], field: ending.field)
  }
}

// MARK: - Messages

extension RunEvents {
  private mutating func emitReply(_ message: ParsedMessage, isAnswer: Bool) throws {
    step += 1
    if let caller = message.caller {
      advance(to: message.timestamp)
      return try emitDecision(message, caller: caller, modelResult: nil, isAnswer: false)
    }
    try emitContext(pointers: newPointers)
    newPointers = []
    advance(to: message.timestamp)
    var result = ModelResult(reply: message.raw.cut(toBytes: Self.replyLimitBytes))
    result.inputTokens = message.usage.inputTokens
    result.outputTokens = message.usage.outputTokens
    result.cost = message.usage.cost
    let modelResult = try emit(.modelResult, result.encoded, from: [message.pointer], time: time)
    try emitDecision(message, caller: nil, modelResult: modelResult, isAnswer: isAnswer)
  }

  private mutating func emitContext(pointers: [JSONPointer]) throws {
    contextBytes += promptBytes
    guard contextBytes <= Self.contextLimitBytes else {
      throw ImportError(.tooLong(limitBytes: Self.contextLimitBytes))
    }
    let data: JSONObject = [
      "runId": .string(identity.runId), "goal": goal, "prompt": ["messages": .array(prompt)],
    ]
    try emit(.contextBuilt, data, from: pointers)
  }

  private mutating func emitDecision(
    _ message: ParsedMessage, caller: String?, modelResult: Int?, isAnswer: Bool
  ) throws {
    let calls = message.calls.enumerated().map { index, call in
      ProposedCall(
        callId: "\(step).1.\(index)", name: call.name,
        input: call.input.cut(toBytes: Self.valueLimitBytes), providerCallId: call.providerCallId)
    }
    let text = message.content.text?.cut(toBytes: Self.valueLimitBytes)
    let (decision, textKey) =
      index == refusedIndex
      ? (.stop(.blocked, detail: message.refusal), nil)
      : Self.decision(message, calls, isAnswer: isAnswer)
    var payload = DecisionPayload(decision, caller: caller, modelResult: modelResult)
    // No agent has a name in these formats: another caller is a simulated user.
    payload.isOfUser = caller != nil
    var data = payload.encoded
    // Text that is no proper string stands as the bytes it is.
    if let textKey { data[textKey] = text }
    try emit(
      .decision, data, from: [message.pointer], extra: caller == nil ? [:] : message.extra,
      time: time)
    if !calls.isEmpty { proposed[index] = (step, calls) }
    show(message, calls: calls)
  }

  private static func decision(
    _ message: ParsedMessage, _ calls: [ProposedCall], isAnswer: Bool
  ) -> (Decision, textKey: String?) {
    if let problem = message.calls.lazy.compactMap(\.problem).first {
      return (.invalid(reason: problem, calls: calls), nil)
    }
    if !calls.isEmpty { return (.tool(calls), nil) }
    guard message.content.text != nil else {
      return (.invalid(reason: "a reply with neither text nor calls", calls: []), nil)
    }
    return isAnswer
      ? (.answer(text: "", evidenceRefs: []), "text") : (.askHuman(question: ""), "question")
  }

  private mutating func emitUser(_ message: ParsedMessage) throws {
    advance(to: message.timestamp)
    let isSpoken = message.content.text != nil || message.calls.isEmpty
    if isSpoken {
      let reply = HumanReplied(
        text: (message.content.text ?? "").cut(toBytes: Self.valueLimitBytes), by: "user")
      try emit(
        .humanReplied, reply.encoded, from: [message.pointer], extra: message.extra, time: time)
    }
    guard !message.calls.isEmpty else { return show(message) }
    step += 1
    var silent = message
    if isSpoken { silent.extra = [:] }
    try emitDecision(silent, caller: message.caller ?? "user", modelResult: nil, isAnswer: false)
  }

  private mutating func emitResult(_ message: ParsedMessage) throws {
    guard let result = message.result else { return show(message) }
    advance(to: message.timestamp)
    let answered = pairing.answers[index]
    let decision = answered.flatMap { proposed[$0.message] }
    let call = decision.flatMap { decision in answered.map { decision.calls[$0.call] } }
    if call == nil { unmatchedResults += 1 }
    let callId = call?.callId ?? "unmatched.\(unmatchedResults)"
    let data = result.data.cut(toBytes: Self.valueLimitBytes)
    let error = result.error?.cut(toBytes: Self.valueLimitBytes)
    var payload = ToolResultPayload(
      callId: callId, tool: call?.name ?? result.tool ?? "", caller: message.caller,
      result: error.map { .error(reason: $0, isEffectUnknown: false) }
        ?? (result.isTold ? .ok(data: data) : .returned(data: data)))
    payload.isOfUser = message.caller != nil
    try emit(
      .toolResult, payload.encoded, from: [message.pointer], extra: message.extra,
      step: decision?.step, time: time)
    guard message.isSeenByAgent else { return }
    let part: JSONValue = [
      "type": "tool_result", "callId": .string(callId), "data": error ?? data,
    ]
    add(["role": .string(message.roleName), "content": [part]], from: message)
  }
}

// MARK: - What the model was shown

extension RunEvents {
  /// Adds a message to the contexts to come.
  private mutating func show(
    _ message: ParsedMessage, calls: [ProposedCall] = [], extra: JSONObject = [:]
  ) {
    guard message.isSeenByAgent else { return }
    var parts = message.content.parts.map { $0.cut(toBytes: Self.valueLimitBytes) }
    parts += calls.map { call in
      [
        "type": "tool_call", "callId": .string(call.callId), "name": .string(call.name),
        "input": call.input,
      ]
    }
    var item: JSONObject = ["role": .string(message.roleName), "content": .array(parts)]
    if !extra.isEmpty {
      item["extra"] = .object(extra.mapValues { $0.cut(toBytes: Self.valueLimitBytes) })
    }
    add(item, from: message)
  }

  private mutating func add(_ item: JSONObject, from message: ParsedMessage) {
    prompt.append(.object(item))
    promptBytes += CanonicalJSON.byteCount(of: .object(item))
    newPointers.append(message.pointer)
  }

  /// Whether a message of a role without an event of its own stands behind the last reply.
  private var hasUncarriedMessage: Bool {
    run.messages.reversed().prefix { !($0.role == .assistant && $0.caller == nil) }
      .contains { $0.role == .system || $0.role == .other }
  }
}
