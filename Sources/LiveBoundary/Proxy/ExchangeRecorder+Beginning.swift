import AgentRuntime
import AgentTrace

/// How the log begins.
///
/// Its first event says what the agent was asked, and every event who spoke; both depend on which conversation is the
/// agent's own, which may show late. Until then the log is about the one that looks most like it, so that a process that is
/// killed leaves what went by; where another one is the agent's own after all, the log is made anew.
extension ExchangeRecorder {
  /// What the log begins with.
  struct Beginning {
    /// The conversation that it is about; `nil` for none.
    var conversation: Int?
    /// What its first event says.
    var data: JSONObject = [:]
    /// When it began; `nil` before it has.
    var moment: ClockReading?
    /// Whether it stays as it is.
    var isSettled = false
  }

  /// Goes on with a log about the agent's own conversation.
  func settle(on conversation: Int?) throws {
    main = conversation
    if let conversation { answers = answers.filter { $0.key == conversation } }
    guard !beginning.isSettled else { return }
    // What was learned to be a secret since then is withheld from what it begins with as well.
    let isAsBegun =
      beginning.conversation == conversation && beginning.data == firstData(about: conversation)
    if sink == nil || !isAsBegun { try begin(about: conversation) }
    beginning.isSettled = true
    waiting = []
    firstRequests = [:]
    sink?.settle()
  }

  /// Begins the log, in place of one that was begun, and writes all that went by.
  func begin(about conversation: Int?) throws {
    sink?.takeBack()
    sink = nil
    sink = try makeSink()
    let moment = beginning.moment ?? waiting.first?.moment ?? clock.reading()
    beginning.conversation = conversation
    beginning.data = firstData(about: conversation)
    beginning.moment = moment
    // Folded once more, with those who spoke.
    state = AgentState()
    let first = Waiting(type: .runStarted, data: beginning.data, step: 0, moment: moment)
    try write(first, 0, in: conversation)
    for (index, event) in waiting.enumerated() { try write(event, index + 1, in: conversation) }
  }

  /// What the first event says where a conversation is the agent's own.
  private func firstData(about conversation: Int?) -> JSONObject {
    let request = conversation.flatMap { firstRequests[$0] }
    let goal = request.map { Self.goal(of: $0) } ?? .null
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
    return data
  }
}
