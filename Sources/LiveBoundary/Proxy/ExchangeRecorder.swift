public import AgentRuntime
public import AgentTrace

/// Where events go until the log is closed.
public protocol ClosableSink: EventSink {
  /// Closes the log.
  ///
  /// - Returns: its path.
  func closeLog() throws -> String
}

/// Turns what a proxy sees into the events of one run.
///
/// One command is one run. Each request with its reply is a step: a `context_built`, a `model_result` for
/// each try, and the `decision` that the reply is; they are appended together when the reply has ended, so
/// that requests side by side do not get in each other's way. What requests tell of earlier calls is
/// appended as they come in.
public actor ExchangeRecorder {
  /// What is recorded of the run itself.
  public struct Start: Sendable {
    /// The run's identifier.
    public var runId: String
    /// What the log calls the agent.
    public var name: String
    /// What the first event says; `nil` where only requests tell of it.
    public var started: RunStarted?
    /// The case that the run is for; `nil` where ``started`` says it, or there is none.
    public var caseId: String?
    /// What is let through; `nil` for everything.
    public var guarding: ProxyGuard?

    /// Nothing is checked.
    public init(runId: String, name: String) {
      self.runId = runId
      self.name = name
    }
  }

  /// What became of a request.
  struct Outcome: Sendable {
    /// What the codec made of the reply; `nil` where there is none.
    var reply: ProviderReply?
    /// Why there is none.
    var error: String?
    /// What was read of one that ended with an error.
    var failed: ProviderReply?
    /// Why something in it may have gone unread; `nil` where all was read.
    var unread: String?
    var wire: WireRecord
    /// The provider's own id of the request, as a header says it.
    var requestId: String?
    /// SHA-256 of the body as it came.
    var responseDigest: String?
    var elapsedMicroseconds: Int
  }

  /// What the recording may lack, in words: for whoever started the command.
  public struct Lack: Sendable, Hashable {
    /// Why each of the first was not seen, in the order in which they went by.
    public var reasons: [String] = []
    /// How many there were in all.
    public var count = 0
    /// Worth knowing, though nothing of the recording depends on it.
    public var notes: [String] = []
  }

  /// The most bytes of a value that enters the run.
  private static let valueLimitBytes = 1 << 20
  /// How many events are kept until the first request that asks a model.
  private static let waitingLimit = 1_000
  /// How many reasons are told of what was not seen.
  private static let reasonLimit = 20

  private let start: Start
  let clock: any RunClock
  let redactor: Redactor
  private let makeSink: @Sendable () throws -> any ClosableSink
  private var sink: (any ClosableSink)?
  var conversations = Conversations()
  private(set) var state = AgentState()
  private var seq = 0
  private(set) var lastStep = 0
  /// What is let through, and what is known of it; `nil` where everything is.
  var guarding: GuardState?
  /// What went by before the log was opened.
  private var waiting: [(type: EventType, data: JSONObject)] = []
  private var asked = 0
  /// What the recording may lack so far.
  public private(set) var lack = Lack()
  /// By conversation: the step that came to nothing last, and how often it was tried.
  private var failed: [Int: (step: Int, attempt: Int)] = [:]
  /// The last thing that the agent said, where it is an answer.
  private var answer: String?
  /// What the command itself says that its answer is; `nil` where that is not asked.
  private var spoken: String?
  private var hasFailedLast = false
  /// Why the run stopped; `nil` while it goes on.
  private(set) var stopReason: StopReason?
  /// Why nothing more is recorded; `nil` while all is.
  public private(set) var failure: (any Error)?

  /// - Parameter makeSink: opens the log; asked once there is something to record.
  public init(
    _ start: Start, clock: any RunClock, redactor: Redactor,
    makeSink: @escaping @Sendable () throws -> any ClosableSink
  ) {
    self.start = start
    self.clock = clock
    self.redactor = redactor
    self.makeSink = makeSink
    guarding = start.guarding.map(GuardState.init)
  }

  /// Learns keys that requests are sent with, so that they are withheld wherever they are said.
  func learn(_ secrets: [String]) {
    for secret in secrets where secret.utf8.count >= 8 {
      _ = redactor.redacted(.object(["api_key": .string(secret)]))
    }
  }

  // MARK: Requests

  /// Takes in a request as it comes in.
  func begin(_ request: ObservedRequest) -> Conversations.Turn {
    var request = request
    request.messages = request.messages.map { redactor.redacted($0) }
    request.tools = request.tools.map { redactor.redacted($0) }
    request.parameters = redactor.redacted(.object(request.parameters)).objectValue ?? [:]
    let turn = conversations.begin(request)
    asked += 1
    recording {
      try openIfNeeded(goal: Self.goal(of: request), request)
      if turn.hasNewTools {
        try append(.toolsListed, Self.listed(request.tools, by: turn.caller), step: lastStep)
      }
      for result in turn.results { try append(result, turn.caller) }
      guard turn.caller == nil else { return }
      for words in turn.words {
        try append(
          .humanReplied,
          HumanReplied(text: words.cut(toBytes: Self.valueLimitBytes), by: "user").encoded,
          step: lastStep)
      }
    }
    return turn
  }

  /// Takes in what became of a request.
  ///
  /// - Returns: the reply, where there is one that may wait to be handed on.
  @discardableResult
  func end(_ turn: Conversations.Turn, _ outcome: Outcome) -> HeldReply? {
    var outcome = outcome
    var held: HeldReply?
    outcome.error = outcome.error.map { redactor.redacted($0) }
    outcome.unread = outcome.unread.map { redactor.redacted($0) }
    if var reply = outcome.reply {
      reply.reply = redactor.redacted(reply.reply)
      outcome.reply = reply
    }
    outcome.wire = withheld(outcome.wire, outcome.reply)
    recording {
      let (step, attempt) = try beginStep(turn)
      let modelResult = try append(
        .modelResult, modelResult(turn, outcome, attempt: attempt), step: step)
      if let unread = outcome.unread {
        try note(
          Unseen(
            .reply, ["calls": "partial", "model": "partial"], reason: unread, caller: turn.caller,
            modelResult: modelResult), step: step)
      }
      guard let reply = outcome.reply else {
        failed[turn.conversation] = (step, attempt)
        if turn.caller == nil { hasFailedLast = true }
        return conversations.fail(turn)
      }
      failed[turn.conversation] = nil
      guard let decision = try decide(turn, reply, step: step, modelResult: modelResult) else {
        return
      }
      // What was not read of it may be a call that nobody judged: such a reply is not handed on.
      guard outcome.unread == nil else { return }
      held = HeldReply(
        turn: turn, step: step, modelResult: modelResult, decision: decision, wire: outcome.wire)
    }
    return held
  }

  /// Appends what a reply says: what the provider ran, and what is to be done next.
  ///
  /// - Returns: the latter; `nil` where the reply leaves that open.
  private func decide(
    _ turn: Conversations.Turn, _ reply: ProviderReply, step: Int, modelResult: Int
  ) throws -> Decision? {
    let read = ModelReply(reply.reply)
    let ran = read.ran(step: step, tryNumber: 1)
    if !ran.isEmpty {
      try append(
        .decision,
        DecisionPayload(
          .tool(ran.map(\.call)), caller: turn.caller, modelResult: modelResult
        ).encoded, step: step)
    }
    for (call, result) in ran.map({ ($0.call, $0.result) }) {
      var payload = ToolResultPayload(
        callId: call.callId, tool: call.name, caller: turn.caller, result: result)
      payload.executedBy = call.executedBy
      try append(.toolResult, payload.encoded, step: step)
    }
    if turn.caller == nil { hasFailedLast = false }
    guard read.decides else {
      conversations.end(turn, reply, calls: [], step: step)
      return nil
    }
    let decision = read.decision(step: step, tryNumber: 1) { _ in nil }
    try append(
      .decision,
      DecisionPayload(decision, caller: turn.caller, modelResult: modelResult).encoded, step: step)
    conversations.end(turn, reply, calls: decision.calls, step: step)
    if turn.caller == nil {
      if case .answer(let text, _) = decision { answer = text } else { answer = nil }
    }
    return decision
  }

  /// Takes in a request that is no call of a model.
  ///
  /// - Parameter unseen: what nobody can say of it; `nil` where it is known.
  func forwarded(_ request: RequestForwarded, _ unseen: Unseen? = nil) {
    var request = request
    request.path = redactor.redacted(request.path)
    request.error = request.error.map { redactor.redacted($0) }
    request.wire = redactor.redacted(.object(request.wire)).objectValue ?? [:]
    recording {
      try appendOrKeep(.requestForwarded, request.encoded)
      guard var unseen else { return }
      unseen.reason = redactor.redacted(unseen.reason)
      try note(unseen, step: lastStep)
    }
  }

  /// Takes in that something was not seen, or is worth knowing.
  public func notice(_ unseen: Unseen) { recording { try note(unseen, step: lastStep) } }

  private func note(_ unseen: Unseen, step: Int) throws {
    if unseen.channels.isEmpty {
      lack.notes.append(unseen.reason)
    } else {
      lack.count += 1
      if lack.reasons.count < Self.reasonLimit { lack.reasons.append(unseen.reason) }
    }
    try appendOrKeep(.unseen, unseen.encoded, step: step)
  }

  /// What the agent is asked to do is not known before its first request: until then events are kept.
  private func appendOrKeep(_ type: EventType, _ data: JSONObject, step: Int? = nil) throws {
    guard sink == nil else {
      try append(type, data, step: step ?? lastStep)
      return
    }
    if waiting.count < Self.waitingLimit {
      waiting.append((type, data))
    } else if waiting.count == Self.waitingLimit {
      lack.count += 1
      let unseen = Unseen(
        .forwarded, ["calls": "partial", "model": "partial"],
        reason: "more than \(Self.waitingLimit) requests went by before the first that asks a model"
      )
      lack.reasons.append(unseen.reason)
      waiting.append((.unseen, unseen.encoded))
    }
  }

  /// Takes in what the command itself says that its answer is, in place of what its model said.
  func answers(_ text: String) { spoken = redactor.redacted(text) }

  /// Takes in how the command ended, and closes the log.
  ///
  /// - Returns: the path of the log.
  /// - Throws: why something could not be recorded.
  public func finish(_ status: CommandEnd) throws -> String {
    if let failure { throw failure }
    if asked == 0 {
      try note(
        Unseen(
          .command, ["calls": "partial", "model": "none"],
          reason: "the command asked no model by way of the proxy: if it asked one, then past it"),
        step: 0)
    }
    try openIfNeeded(goal: .null, nil)
    if let spoken {
      answer = spoken
      let decision = Decision.answer(text: spoken, evidenceRefs: [])
      try append(.decision, DecisionPayload(decision).encoded, step: lastStep)
    }
    let (reason, detail) = (imposedEnd ?? status).stop(hasFailedModel: hasFailedLast)
    let stop = Stop(
      reason: reason, detail: detail, answer: answer, totals: state.totals,
      stateFormat: AgentState.format, stateDigest: state.digest.hex)
    try append(.stop, stop.encoded, step: lastStep)
    stopReason = reason
    guard let sink else { return "" }
    return try sink.closeLog()
  }

  // MARK: Events

  /// Remembers the first failure: a log that lacks something is not gone on with.
  func recording(_ work: () throws -> Void) {
    guard failure == nil else { return }
    do { try work() } catch { failure = error }
  }

  @discardableResult
  func append(_ type: EventType, _ data: JSONObject, step: Int) throws -> Int {
    let moment = clock.moment()
    let event = Event(
      seq: seq, step: step, type: type, runId: start.runId, time: moment.time, t: moment.t,
      data: data)
    try sink?.append(event, isEffectAhead: false)
    state.apply(event)
    guarding?.take(event)
    seq += 1
    return event.seq
  }

  private func openIfNeeded(goal: JSONValue, _ request: ObservedRequest?) throws {
    guard sink == nil else { return }
    sink = try makeSink()
    var started = start.started ?? RunStarted(agentName: start.name, goal: goal, input: goal)
    started.goal = redactor.redacted(started.goal)
    started.input = started.input.map { redactor.redacted($0) }
    started.caseId = started.caseId ?? start.caseId
    started.modelName = request?.model
    started.modelProvider = request?.dialect
    if let request {
      // Of the first request; what later ones ask for otherwise stands in their `wire`.
      started.models = [
        ModelPurpose.decide.rawValue: JSONValue.object(request.settings)
          .cut(toBytes: Self.valueLimitBytes)
      ]
    }
    // Verdicts are nobody's to see here, of tools only what is told to the model.
    started.recorded =
      holdsReplies
      ? ["context": "partial", "tools": "partial"]
      : ["context": "partial", "policy": "none", "tools": "partial"]
    started.source = RunSource(format: "proxy", file: start.name)
    var data = started.encoded
    for key in ["tools", "limits", "policyContext"]
    where start.started == nil || data[key] == [] || data[key] == [:] {
      data[key] = nil
    }
    try append(.runStarted, data, step: 0)
    for event in waiting { try append(event.type, event.data, step: 0) }
    waiting = []
  }

  private func beginStep(_ turn: Conversations.Turn) throws -> (step: Int, attempt: Int) {
    if turn.isTriedAgain, let last = failed[turn.conversation], last.step == lastStep {
      return (last.step, last.attempt + 1)
    }
    lastStep += 1
    let goal = Self.goal(of: turn.request)
    try append(
      .contextBuilt,
      [
        "runId": .string(start.runId), "goal": goal,
        "prompt": ["messages": .array(turn.messages.map(Self.bounded))],
        "toolsDisclosed": JSONValue(turn.request.tools.compactMap { $0["name"]?.stringValue }),
      ], step: lastStep)
    return (lastStep, 1)
  }

  private func modelResult(
    _ turn: Conversations.Turn, _ outcome: Outcome, attempt: Int
  ) -> JSONObject {
    let read = outcome.reply ?? outcome.failed
    var result = ModelResult(
      attempt: attempt, requestDigest: turn.digest,
      reply: outcome.reply?.reply.cut(toBytes: Self.valueLimitBytes), error: outcome.error,
      model: turn.request.model ?? read?.model)
    result.inputTokens = read?.usage?.input
    result.cachedInputTokens = read?.usage?.cachedInput
    result.cacheWriteTokens = read?.usage?.cacheWrite
    result.outputTokens = read?.usage?.output
    result.reasoningTokens = read?.usage?.reasoning
    result.finishReason = read?.finishReason
    result.cost = guarding?.rules.cost(
      of: read?.usage, model: read?.model ?? turn.request.model,
      status: outcome.wire.reply?.status)
    result.modelVersion = read?.model.flatMap { version in
      result.model?.hasSameUTF8(as: version) ?? false ? nil : version
    }
    result.requestId = outcome.requestId ?? read?.id
    result.status = outcome.wire.reply?.status
    result.responseDigest = outcome.responseDigest
    result.elapsedMicroseconds = outcome.elapsedMicroseconds
    result.wire = outcome.wire.encoded
    return result.encoded
  }

  private func append(_ result: Conversations.Result, _ caller: String?) throws {
    let data = result.data.cut(toBytes: Self.valueLimitBytes)
    let payload = ToolResultPayload(
      callId: result.callId, tool: result.tool, caller: caller,
      result: result.isError ? .error(reason: data, isEffectUnknown: false) : .ok(data: data))
    try append(.toolResult, payload.encoded, step: result.step)
  }

  /// The record without what is withheld. Where that leaves a body that no longer says the same, or a
  /// secret that came in pieces, the body is not kept.
  func withheld(_ wire: WireRecord, _ reply: ProviderReply?) -> WireRecord {
    var wire = wire
    wire.path = redactor.redacted(wire.path)
    wire.parameters = redactor.redacted(.object(wire.parameters)).objectValue ?? [:]
    if CanonicalJSON.encode(.object(wire.parameters)).count > Self.valueLimitBytes {
      wire.parameters = [:]
    }
    guard var kept = wire.reply else { return wire }
    let body = kept.body
    // Escapes make it longer.
    if body.count > WireReply.bodyLimitBytes
      || CanonicalJSON.encode(wire.encoded["body"] ?? .null).count > WireReply.bodyLimitBytes
    {
      wire.reply = nil
      wire.omitted = "its body has \(body.count) bytes"
      return wire
    }
    guard let text = String(validating: body, as: UTF8.self) else { return wire }
    let redacted = redactor.redacted(text)
    if !redacted.hasSameUTF8(as: text) {
      kept.pieces = [Array(redacted.utf8)]
      wire.reply = kept
    }
    guard let reply, let dialect = wire.dialect.flatMap(Dialect.init(rawValue:)),
      RedactionToken.isIn(reply.reply) || !redacted.hasSameUTF8(as: text)
    else { return wire }
    let again = ReadReply(kept, dialect)
    if again.reply?.reply != reply.reply {
      wire.reply = nil
      wire.omitted = "what it says is withheld in part"
    }
    return wire
  }

  private static func goal(of request: ObservedRequest) -> JSONValue {
    for message in request.messages where message["role"] == "user" {
      let texts = (message["content"]?.arrayValue ?? []).compactMap { $0["text"]?.stringValue }
      guard !texts.isEmpty else { continue }
      return JSONValue.string(texts.joined(separator: "\n")).cut(toBytes: valueLimitBytes)
    }
    return .null
  }

  /// A message with its parts within what a line of a log takes.
  private static func bounded(_ message: JSONValue) -> JSONValue {
    guard var object = message.objectValue, let parts = object["content"]?.arrayValue else {
      return message.cut(toBytes: valueLimitBytes)
    }
    object["content"] = .array(
      parts.map { part in
        guard CanonicalJSON.encode(part).count > valueLimitBytes, let fields = part.objectValue
        else { return part }
        return .object(fields.mapValues { $0.cut(toBytes: valueLimitBytes / 2) })
      })
    return .object(object)
  }

  private static func listed(_ tools: [JSONValue], by caller: String?) -> JSONObject {
    let bounded = tools.map { $0.cut(toBytes: valueLimitBytes) }
    return [
      "source": .string(caller ?? "agent"), "tools": .array(bounded),
      "digest": .string(Digest(of: .array(bounded)).hex),
    ]
  }
}
