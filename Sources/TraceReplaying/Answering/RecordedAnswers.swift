public import AgentRuntime
public import AgentTrace

/// Answers requests from a recorded run where they are the same questions: for a run that is made
/// from an earlier one and goes its own way where it must.
///
/// Requests are found by step, try, attempt and call id, and have to come in the order of steps. None
/// is ever passed on to a live boundary; `nil` says that the question is a new one.
public struct RecordedAnswers: Sendable {
  private let steps: RecordedSteps

  /// Opens a log.
  ///
  /// - Throws: as `RecordedSteps.init(path:)`.
  public init(path: String) throws { steps = try RecordedSteps(path: path) }

  /// Shares the place of reading with others.
  public init(_ steps: RecordedSteps) { self.steps = steps }

  /// How the recorded run was started.
  public var started: RunStarted { steps.started }

  /// The recorded reply to the same question: the same messages, tools and settings of the model, at the
  /// same step, try and attempt (`ModelRequest.digest`).
  ///
  /// - Throws: `LogError` where the log is damaged, ``RecordingError`` where a step is too large.
  public func answer(to request: ModelRequest) throws -> ModelAnswer? {
    guard let step = try steps.step(request.step) else { return nil }
    func answer(withDigest digest: String) -> ModelAnswer? {
      step.reply(
        for: request.purpose, toTry: request.tryNumber, attempt: request.attempt,
        withDigest: digest)
    }
    if let answer = answer(withDigest: request.digest) { return answer }
    // Of a fork, what it took over of its parent may be older than it is.
    guard steps.started.models.isEmpty || steps.started.parent != nil else { return nil }
    return answer(withDigest: request.contextDigest)
      ?? answer(withDigest: request.digestInFormat1)
  }

  /// The recorded result of the same call: the same tool with the same input, under the same call id
  /// and at the same attempt.
  ///
  /// - Throws: as ``answer(to:)-(ModelRequest)``.
  public func answer(to request: ToolRequest) throws -> ToolAnswer? {
    guard let step = try steps.step(request.step), let call = step.call(request.callId),
      call.name.hasSameUTF8(as: request.tool.name), call.input == request.input
    else { return nil }
    return step.answer(toCall: request.callId, attempt: request.attempt)
  }

  /// What a person said to the same question, in the step that was asked about last.
  public func answer(to request: QuestionRequest) -> PersonAnswer? {
    guard let step = steps.current,
      step.events.contains(where: { event in
        let (kind, key): (JSONValue, String) =
          request.kind == .question ? ("ask_human", "question") : ("answer", "text")
        return event.type == .decision && event.data["kind"] == kind
          && event.data[key]?.stringValue?.hasSameUTF8(as: request.question) == true
      })
    else { return nil }
    return step.personAnswer
  }
}
