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
    var wire: WireRecord
    var elapsedMicroseconds: Int
  }

  /// The most bytes of a value that enters the run.
  private static let valueLimitBytes = 1 << 20
  /// How many requests that are no calls of a model are kept until the first that is one.
  private static let waitingLimit = 1_000

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
  private var waiting: [RequestForwarded] = []
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
    if var reply = outcome.reply {
      reply.reply = redactor.redacted(reply.reply)
      outcome.reply = reply
    }
    outcome.wire = withheld(outcome.wire, outcome.reply)
    recording {
      let (step, attempt) = try beginStep(turn)
      let modelResult = try append(
        .modelResult, modelResult(turn, outcome, attempt: attempt), step: step)
      guard let reply = outcome.reply else {
        failed[turn.conversation] = (step, attempt)
        if turn.caller == nil { hasFailedLast = true }
        return conversations.fail(turn)
      }
      failed[turn.conversation] = nil
      let decision = ModelReply(reply.reply).decision(step: step, tryNumber: 1) { _ in nil }
      try append(
        .decision,
        DecisionPayload(decision, caller: turn.caller, modelResult: modelResult).encoded,
        step: step)
      conversations.end(turn, reply, calls: decision.calls, step: step)
      held = HeldReply(
        turn: turn, step: step, modelResult: modelResult, decision: decision, wire: outcome.wire)
      guard turn.caller == nil else { return }
      hasFailedLast = false
      if case .answer(let text, _) = decision { answer = text } else { answer = nil }
    }
    return held
  }

  /// Takes in a request that is no call of a model.
  func forwarded(_ request: RequestForwarded) {
    var request = request
    request.path = redactor.redacted(request.path)
    request.error = request.error.map { redactor.redacted($0) }
    request.wire = redactor.redacted(.object(request.wire)).objectValue ?? [:]
    guard sink != nil else {
      // What the agent is asked to do is not known yet.
      if waiting.count < Self.waitingLimit { waiting.append(request) }
      return
    }
    recording { try append(.requestForwarded, request.encoded, step: lastStep) }
  }

  /// Takes in what the command itself says that its answer is, in place of what its model said.
  func answers(_ text: String) { spoken = redactor.redacted(text) }

  /// Takes in how the command ended, and closes the log.
  ///
  /// - Returns: the path of the log.
  /// - Throws: why something could not be recorded.
  public func finish(_ status: CommandEnd) throws -> String {
    if let failure { throw failure }
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
    for request in waiting { try append(.requestForwarded, request.encoded, step: 0) }
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
    let reply = outcome.reply
    var result = ModelResult(
      attempt: attempt, requestDigest: turn.digest,
      reply: reply?.reply.cut(toBytes: Self.valueLimitBytes), error: outcome.error,
      model: reply?.model ?? turn.request.model)
    result.inputTokens = reply?.usage?.input
    result.outputTokens = reply?.usage?.output
    result.finishReason = reply?.finishReason
    result.cost = guarding?.rules.cost(
      of: reply?.usage, model: reply?.model ?? turn.request.model,
      status: outcome.wire.reply?.status)
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

/// How a command ended.
public enum CommandEnd: Sendable, Hashable {
  /// By itself, with this code.
  case exited(Int32)
  /// By this signal.
  case killed(Int32)
  /// After this process was asked to end, by the signal of this name.
  case cancelled(signal: String)
  /// By this process, for this reason.
  case ended(StopReason, detail: String)

  /// The code that says the same to a shell.
  public var exitCode: Int32 {
    switch self {
    case .exited(let code): code
    case .killed(let signal): 128 + signal
    case .cancelled(let name): 128 + (SignalName.number(of: name) ?? 0)
    case .ended: 1
    }
  }

  /// Why the run stopped.
  func stop(hasFailedModel: Bool) -> (StopReason, detail: String) {
    switch self {
    case .exited(0): (.success, StopDetail.exit(0))
    case .exited(let code): (hasFailedModel ? .modelFailure : .toolFailure, StopDetail.exit(code))
    case .killed(let signal): (.toolFailure, StopDetail.signal(SignalName.name(of: signal)))
    case .cancelled(let name): (.cancelled, StopDetail.signal(name))
    case .ended(let reason, let detail): (reason, detail)
    }
  }
}

/// What a codec makes of a reply as it went over the wire.
struct ReadReply {
  var reply: ProviderReply?
  /// Why there is none.
  var error: String?

  /// The most bytes that are read.
  static let limitBytes = 64 << 20

  init(_ wire: WireReply, _ dialect: Dialect) {
    let body = wire.body
    func header(_ name: String) -> String? {
      wire.headers.first { $0.name.lowercased() == name }?.value.lowercased()
    }
    if let encoding = header("content-encoding"), encoding != "identity" {
      error = "the reply is encoded as \(encoding), and was not read"
      return
    }
    guard (200..<300).contains(wire.status) else {
      let value = try? JSONValue(parsing: body, options: .init(keepsForeignText: true))
      let words = value.flatMap { dialect.error(in: $0) }.map { "\($0)" } ?? ""
      error = words.isEmpty ? "status \(wire.status)" : "status \(wire.status): \(words)"
      return
    }
    do {
      let read: ProviderReply
      if header("content-type")?.hasPrefix("text/event-stream") == true {
        var stream = ReplyStream(dialect)
        for piece in wire.pieces { _ = try stream.take(piece) }
        read = try stream.reply()
      } else {
        do { read = try dialect.reply(from: body) } catch {
          throw wire.ending == .whole ? error : ReplyFault.cut
        }
      }
      if let fault = read.error {
        error = "\(fault)"
      } else {
        reply = read
      }
    } catch {
      self.error = "\(error)"
      if wire.ending == .dropped {
        self.error = "whoever asked went away before the reply was there"
      }
    }
  }
}
