public import AgentRuntime
public import AgentTrace

/// Where events go until the log is closed.
public protocol ClosableSink: EventSink {
  /// Closes the log.
  ///
  /// - Returns: its path.
  func closeLog() throws -> String

  /// Says that what was appended stays. Before that it may be taken back, and whoever looks on is told of nothing.
  func settle()

  /// Takes back the log with all that was appended: another one begins in its place.
  func takeBack()
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
    /// Names of those who speak beside the agent, the first that fits counts.
    public var callers: [CallerName] = []
    /// Which conversation is the agent's own; `nil` for the first that has tools, or goes on.
    public var main: CallerMatcher?
    /// A call that is the answer of an agent which answers by one; `nil` where none is.
    public var answerFrom: CommandAgent.AnswerCall?

    /// Without more, everything is let through, and no caller has a name.
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
    /// The status that came; `nil` where none did.
    var status: Int?
    /// The provider's own id of the request, as a header says it.
    var requestId: String?
    /// SHA-256 of the body as it came.
    var responseDigest: String?
    var elapsedMicroseconds: Int
    /// Whether there is no reply because the recording ended, while whoever asked still waited for it.
    var isCutOff = false
  }

  /// What a conversation came to.
  struct Answer {
    var text: String?
    var step: Int
    var modelResult: Int
    /// How much was said.
    var size: Int
    /// Whether it was said by a call.
    var isOfCall = false
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
  static let valueLimitBytes = 1 << 20
  /// The most bytes of what names a model or a request, and of a reason why something was not seen.
  static let nameLimitBytes = 4_096
  /// How long a request waits for a reply that it seems to hold, in milliseconds. The end of a stream is
  /// there at once once its client has all of it; whoever only asks alike is not held up for long.
  private static let longestWaitMilliseconds = 1_000
  /// How many reasons are told of what was not seen.
  private static let reasonLimit = 20

  let start: Start
  let clock: any RunClock
  let redactor: Redactor
  let makeSink: @Sendable () throws -> any ClosableSink
  var sink: (any ClosableSink)?
  /// What the log begins with.
  var beginning = Beginning()
  var conversations: Conversations
  /// All that happened so far; until the log is settled, as it stands if the guess is right.
  var state = AgentState()
  /// `run_started` is number 0.
  var seq = 1
  var lastStep = 0
  /// What is let through, and what is known of it; `nil` where everything is.
  var guarding: GuardState?
  /// What went by before the log was settled.
  var waiting: [Waiting] = []
  /// The agent's own conversation; `nil` while that is not known.
  var main: Int?
  /// Which large parts of messages stand in the packets so far.
  var shownParts = ShownParts()
  /// What each conversation was asked first.
  var firstRequests: [Int: ObservedRequest] = [:]
  /// What the recording may lack so far.
  public private(set) var lack = Lack()
  /// By conversation: the step that came to nothing last, and how often it was tried.
  var failed: [Int: (step: Int, attempt: Int)] = [:]
  /// By conversation: the last thing that was said, where it is an answer.
  var answers: [Int: Answer] = [:]
  /// Conversations of which the last request came to nothing.
  private var failedLast: Set<Int> = []
  /// What the command itself says that its answer is; `nil` where that is not asked.
  private var spoken: String?
  /// Why the run stopped; `nil` while it goes on.
  private(set) var stopReason: StopReason?
  /// Why nothing more is recorded; `nil` while all is.
  public private(set) var failure: (any Error)?

  /// - Parameters:
  ///   - start: names the run, and says what its command is held to.
  ///   - clock: Tells when what was said.
  ///   - redactor: Withholds what is not to stand in the log.
  ///   - makeSink: opens the log; asked once there is something to record.
  public init(
    _ start: Start, clock: any RunClock, redactor: Redactor,
    makeSink: @escaping @Sendable () throws -> any ClosableSink
  ) {
    self.start = start
    conversations = Conversations(start.callers)
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
  ///
  /// A quick client asks on, or again, before what it was told has been taken in: such a request waits for
  /// that.
  func begin(_ request: ObservedRequest) async -> Conversations.Turn {
    var request = request
    redactor.keep(toolNames: request.tools.compactMap { $0["name"]?.stringValue })
    request.messages = request.messages.map { redactor.redacted($0) }
    request.tools = request.tools.map { redactor.redacted($0) }
    request.parameters = redactor.redacted(.object(request.parameters)).objectValue ?? [:]
    let known = conversations.ending(before: request)
    var (waited, pause) = (0, 1)
    while waited < Self.longestWaitMilliseconds,
      conversations.mayAnswerUnderWay(request, ending: known)
    {
      guard (try? await Task.sleep(for: .milliseconds(pause))) != nil else { break }
      waited += pause
      pause = min(pause * 2, 16)
    }
    let turn = conversations.begin(request)
    if turn.isFirst, !beginning.isSettled { firstRequests[turn.conversation] = turn.request }
    recording {
      if main == nil, isMain(turn) { try settle(on: turn.conversation) }
      if sink == nil { try begin(about: turn.conversation) }
      if turn.hasNewTools {
        try append(.toolsListed, Self.listed(turn.request.tools), step: lastStep, of: turn)
      }
      if !turn.unheld.isEmpty {
        try note(
          Unseen(
            .request, ["calls": "partial", "model": "partial"],
            reason: "a request tells of calls that no reply held which went by "
              + "(\(turn.unheld.prefix(5).map { $0.prefix(100) }.joined(separator: ", "))): "
              + "a model may have been asked past the proxy"), step: lastStep, of: turn)
      }
      for result in turn.results { try append(result, turn) }
      guard main == turn.conversation else { return }
      for words in turn.words {
        try append(
          .humanReplied,
          HumanReplied(text: words.cut(toBytes: Self.valueLimitBytes), by: "user").encoded,
          step: lastStep)
      }
    }
    return turn
  }

  /// Takes in that whoever asked may have all of the reply from now on.
  func willEnd(_ turn: Conversations.Turn) { conversations.willEnd(turn) }

  /// Whether a request shows that its conversation is the agent's own: titles, classes and the like are asked
  /// for once, and without tools or by one that has to be called.
  private func isMain(_ turn: Conversations.Turn) -> Bool {
    if let matcher = start.main { return turn.isFirst && matcher.matches(turn.request) }
    return turn.request.hasChoiceOfTools || conversations.replies(of: turn.conversation) > 0
  }

  private static let cutOffWords = "the recording ended before there was a reply"

  /// Takes in what became of a request.
  ///
  /// - Returns: the reply, where there is one that may wait to be handed on.
  @discardableResult
  func end(_ turn: Conversations.Turn, _ outcome: Outcome) -> HeldReply? {
    var outcome = outcome
    var held: HeldReply?
    if outcome.isCutOff {
      // Whoever asked may go on, and ask again where nobody looks.
      outcome.error = Self.cutOffWords
      outcome.unread = outcome.unread ?? Self.cutOffWords
    }
    outcome.error = outcome.error.map { redactor.redacted($0) }
    outcome.unread = outcome.unread.map { redactor.redacted($0) }
    outcome.reply = outcome.reply.map(withheld)
    outcome.failed = outcome.failed.map(withheld)
    outcome.requestId = outcome.requestId.map { redactor.redacted($0) }
    outcome.status = outcome.wire.reply?.status
    outcome.wire = withheld(outcome.wire, outcome.reply)
    recording {
      let (step, attempt) = try beginStep(turn)
      let modelResult = try append(
        .modelResult, modelResult(turn, outcome, attempt: attempt), step: step)
      if let unread = outcome.unread {
        try note(
          Unseen(
            .reply, ["calls": "partial", "model": "partial"], reason: unread,
            modelResult: modelResult), step: step, of: turn)
      }
      guard let reply = outcome.reply else {
        failed[turn.conversation] = (step, attempt)
        failedLast.insert(turn.conversation)
        return conversations.fail(turn)
      }
      failed[turn.conversation] = nil
      let decision = try decide(turn, reply, step: step, modelResult: modelResult)
      held = HeldReply(
        turn: turn, step: step, modelResult: modelResult, decision: decision, wire: outcome.wire,
        isUnread: outcome.unread != nil)
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
      try append(.tool(ran.map(\.call)), turn, step: step, modelResult: modelResult)
    }
    for (call, result) in ran.map({ ($0.call, $0.result) }) {
      var payload = ToolResultPayload(callId: call.callId, tool: call.name, result: result)
      payload.executedBy = call.executedBy
      try append(.toolResult, payload.encoded, step: step, of: turn)
    }
    failedLast.remove(turn.conversation)
    guard read.decides else {
      conversations.end(turn, reply, calls: [], step: step)
      return nil
    }
    let decision = read.decision(step: step, tryNumber: 1) { _ in nil }
    try append(decision, turn, step: step, modelResult: modelResult)
    conversations.end(turn, reply, calls: decision.calls, step: step)
    var said = Answer(step: step, modelResult: modelResult, size: 0)
    if case .answer(let text, _) = decision {
      (said.text, said.size) = (text, text.utf8.count)
    } else if let text = start.answerFrom?.answer(in: decision) {
      (said.text, said.isOfCall) = (text, true)
    }
    // Once it is known whose answer counts, those of others need not be kept.
    if main == nil || main == turn.conversation { answers[turn.conversation] = said }
    // Whoever calls tools is told of some, wherever that was read.
    if main == nil, start.main == nil, turn.request.tools.isEmpty, !decision.calls.isEmpty {
      try settle(on: turn.conversation)
    }
    return decision
  }

  private func append(
    _ decision: Decision, _ turn: Conversations.Turn, step: Int, modelResult: Int
  ) throws {
    var payload = DecisionPayload(decision, modelResult: modelResult)
    payload.conversation = turn.conversation
    try append(.decision, payload.encoded, step: step, of: turn)
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
      try append(.requestForwarded, request.encoded, step: lastStep)
      guard var unseen else { return }
      unseen.reason = redactor.redacted(unseen.reason)
      try note(unseen, step: lastStep)
    }
  }

  /// Takes in that something was not seen, or is worth knowing.
  public func notice(_ unseen: Unseen) { recording { try note(unseen, step: lastStep) } }

  private func note(_ unseen: Unseen, step: Int, of turn: Conversations.Turn? = nil) throws {
    var unseen = unseen
    if unseen.reason.utf8.count > Self.nameLimitBytes {
      unseen.reason = unseen.reason.prefix(utf8Bytes: Self.nameLimitBytes) + "…"
    }
    if unseen.channels.isEmpty {
      lack.notes.append(unseen.reason)
    } else {
      lack.count += 1
      if lack.reasons.count < Self.reasonLimit { lack.reasons.append(unseen.reason) }
    }
    try append(.unseen, unseen.encoded, step: step, of: turn)
  }

  /// Takes in what the command itself says that its answer is, in place of what its model said.
  func answers(_ text: String) { spoken = redactor.redacted(text) }

  /// Takes in how the command ended, and closes the log.
  ///
  /// - Returns: the path of the log.
  /// - Throws: why something could not be recorded.
  public func finish(_ status: CommandEnd) throws -> String {
    if let failure { throw failure }
    if conversations.count == 0 {
      try note(
        Unseen(
          .command, ["calls": "partial", "model": "none"],
          reason: "the command asked no model by way of the proxy: if it asked one, then past it"),
        step: 0)
    }
    if start.main != nil, main == nil, conversations.count > 0 {
      lack.notes.append("no conversation is the one that --main asks for; another was taken")
    }
    if !beginning.isSettled { try settle(on: likelyMain) }
    let said = main.flatMap { answers[$0] }
    let answer = spoken ?? said?.text
    if let answer, spoken != nil || said?.isOfCall == true {
      var payload = DecisionPayload(
        .answer(text: answer, evidenceRefs: []),
        modelResult: spoken == nil ? said?.modelResult : nil)
      // It leaves no call behind.
      payload.conversation = conversations.count
      try append(
        .decision, payload.encoded, step: spoken == nil ? said?.step ?? lastStep : lastStep)
    }
    let (reason, detail) = (imposedEnd ?? status).stop(
      hasFailedModel: main.map(failedLast.contains) ?? false)
    let stop = Stop(
      reason: reason, detail: detail, answer: answer, totals: state.totals,
      stateFormat: AgentState.format, stateDigest: state.digest.hex)
    try append(.stop, stop.encoded, step: lastStep)
    stopReason = reason
    guard let sink else { return "" }
    return try sink.closeLog()
  }

  /// Where nothing has shown so far which conversation is the agent's own: the one that went on, then one that
  /// has tools, then the one that was told most.
  var likelyMain: Int? {
    (0..<conversations.count).max { Self.precedes(rank(of: $0), rank(of: $1)) }
  }

  private func rank(of conversation: Int) -> [Int] {
    let replies = conversations.replies(of: conversation)
    return [
      min(replies, 2), conversations.hasTools(conversation) ? 1 : 0, replies,
      // Of equals the first.
      answers[conversation]?.size ?? -1, -conversation,
    ]
  }

  private static func precedes(_ first: [Int], _ second: [Int]) -> Bool {
    first.lexicographicallyPrecedes(second)
  }

  /// Remembers the first failure: a log that lacks something is not gone on with.
  func recording(_ work: () throws -> Void) {
    guard failure == nil else { return }
    do { try work() } catch { failure = error }
  }
}
