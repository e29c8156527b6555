import AgentTrace

/// What a run's plans, or its looks back, came to so far. A bounded fold over its events.
struct ThoughtHistory: Sendable, Hashable {
  /// The words of one.
  struct Thought: Sendable, Hashable {
    /// The number of the `model_result` that holds them.
    var seq: Int
    /// The step that they were said for.
    var step: Int
    var text: String
  }

  /// The last one; `nil` before the first.
  private(set) var latest: Thought?
  /// Calls of the model for it, failed ones too.
  private(set) var calls = 0
  /// Tokens that they used, as far as the provider said.
  private(set) var tokens = 0
  /// Tries for the packet that comes next.
  private(set) var attempts = 0
  /// Whether one of them gave words.
  private(set) var isDone = false
  /// What the last of them says about another one for the same packet.
  private(set) var retry = ModelAnswer.Retry.atOnce

  mutating func take(_ event: Event) {
    guard let result = try? ModelResult(decoding: event.data) else { return }
    calls += 1
    attempts += 1
    for used in [result.inputTokens, result.outputTokens] {
      let sum = tokens.addingReportingOverflow(max(0, used ?? 0))
      tokens = sum.overflow ? .max : sum.partialValue
    }
    guard let text = event.data["reply"]?["text"]?.stringValue, text.isSaid else {
      // A reply without words is not asked for again.
      retry = result.reply == nil ? ModelAnswer.Retry(of: result) : .never
      return
    }
    latest = Thought(seq: event.seq, step: event.step, text: text)
    isDone = true
  }

  /// A packet was made: what comes is about the next.
  mutating func takePacket() { (attempts, isDone, retry) = (0, false, .atOnce) }

  /// Whether another is due before the decision of a step.
  func isDue(_ settings: ThoughtSettings, step: Int) -> Bool {
    guard calls < settings.maxCalls, tokens < settings.maxTokens ?? .max, !isDone else {
      return false
    }
    guard let latest else { return true }
    return settings.everySteps > 0 && step - latest.step >= settings.everySteps
  }
}

extension String {
  /// Whether it holds more than white space.
  var isSaid: Bool { !unicodeScalars.allSatisfy(\.properties.isWhitespace) }
}
