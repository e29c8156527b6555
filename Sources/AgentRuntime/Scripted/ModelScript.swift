public import AgentTrace
public import TraceMatching

/// Decisions written down, in the order they are made.
///
/// The script keeps no place of its own: the n-th try of a model call takes the n-th turn, and
/// choices within a turn look only at the request. So a run that is replayed, resumed or forked
/// meets the same script.
///
/// Why: Docs/decisions/0003-scripts-keep-no-place.md
public struct ModelScript: Sendable {
  /// One turn: its first choice whose condition holds is made.
  public struct Turn: Sendable {
    /// In order: the first whose condition holds is made. Where none holds, the try fails.
    public var choices: [Choice]
    /// How many tries in a row the turn serves.
    public var repeats: Int

    /// Where no choice holds, a try fails. `repeats` is to be at least 1.
    public init(choices: [Choice], repeats: Int = 1) {
      self.choices = choices
      self.repeats = repeats
    }
  }

  /// A decision and when it is made.
  public struct Choice: Sendable {
    /// Looks at the `ScriptView` of the request; `nil` holds always.
    public var condition: Matcher?
    /// What is sent back, or that the model is out of reach.
    public var answer: Answer
    /// What the turn is said to cost.
    public var usage: Usage?

    /// Without a condition it is always made.
    public init(condition: Matcher? = nil, answer: Answer, usage: Usage? = nil) {
      self.condition = condition
      self.answer = answer
      self.usage = usage
    }
  }

  /// What a turn does.
  public enum Answer: Sendable {
    /// A reply as a model would send it (``ModelReply``), `${…}` filled in from the view.
    case reply(JSONValue)
    /// The try fails with this error, as if the model were out of reach.
    case unreachable(String)
  }

  /// Tokens and money of one try.
  public struct Usage: Sendable, Hashable {
    /// `nil` when unknown.
    public var inputTokens: Int?
    /// `nil` when unknown.
    public var outputTokens: Int?
    /// In the currency of the model's prices; `nil` when unknown.
    public var cost: Double?

    /// What is left out is unknown.
    public init(inputTokens: Int? = nil, outputTokens: Int? = nil, cost: Double? = nil) {
      self.inputTokens = inputTokens
      self.outputTokens = outputTokens
      self.cost = cost
    }
  }

  /// In the order they are played; a try behind the last fails.
  public var turns: [Turn]
  /// What is written where the prompt has no room for everything; counted by themselves.
  public var summaries: [Turn]
  /// What is planned; counted by itself.
  public var plans: [Turn] = []
  /// What is made of results; counted by itself.
  public var reflections: [Turn] = []

  /// A try behind the last turn fails.
  public init(turns: [Turn], summaries: [Turn] = []) {
    self.turns = turns
    self.summaries = summaries
  }

  /// The turns for a purpose, and what one is called.
  func turns(for purpose: ModelPurpose) -> (turns: [Turn], noun: String) {
    switch purpose {
    case .summarize: (summaries, "summary")
    case .plan: (plans, "plan")
    case .reflect: (reflections, "reflection")
    case .decide, .human, .judge: (turns, "turn")
    }
  }

  /// The script without its first tries.
  public func dropping(tries count: Int) -> ModelScript {
    var (left, rest) = (turns[...], count)
    while rest > 0, var turn = left.first {
      left = left.dropFirst()
      guard turn.repeats > rest else {
        rest -= max(1, turn.repeats)
        continue
      }
      turn.repeats -= rest
      left = [turn] + left
      rest = 0
    }
    var script = self
    script.turns = Array(left)
    return script
  }

  /// The turn that serves a try, from 1; `nil` behind the end.
  static func turn(of turns: [Turn], forTry number: Int) -> Turn? {
    var rest = number
    for turn in turns {
      if rest <= turn.repeats { return turn }
      rest -= turn.repeats
    }
    return nil
  }
}

/// The model that a script plays.
public struct ScriptedModel: Model {
  private let script: ModelScript

  /// A model that plays the script from its start, as often as it is asked.
  public init(_ script: ModelScript) { self.script = script }

  /// A script that ends too early, or whose turn fits nothing, counts as a model out of reach.
  public func reply(to request: ModelRequest) async -> ModelAnswer {
    let (turns, noun) = script.turns(for: request.purpose)
    guard let turn = ModelScript.turn(of: turns, forTry: request.number) else {
      return ModelAnswer(error: "the script has no \(noun) \(request.number)")
    }
    // Laid out only for who looks at it: it holds all that the model was shown.
    var laidOut: JSONValue?
    func view() -> JSONValue {
      if let laidOut { return laidOut }
      let made = ScriptView(request: request).value
      laidOut = made
      return made
    }
    for choice in turn.choices {
      if let condition = choice.condition, !condition.match(view()).isMatch { continue }
      var answer: ModelAnswer
      defer {
        // A model that writes its text as it goes is told of in the same way.
        if let text = answer.reply?["text"]?.stringValue { RunProgress.report(text) }
      }
      switch choice.answer {
      case .unreachable(let error): answer = ModelAnswer(error: error)
      case .reply(let reply): answer = ModelAnswer(reply: Template.fill(reply, from: view()))
      }
      answer.inputTokens = choice.usage?.inputTokens
      answer.outputTokens = choice.usage?.outputTokens
      answer.cost = choice.usage?.cost
      return answer
    }
    return ModelAnswer(error: "no choice of \(noun) \(request.number) of the script fits")
  }
}
