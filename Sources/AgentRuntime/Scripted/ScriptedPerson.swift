public import AgentTrace
public import TraceMatching

/// A person written down: whom they are, which calls they approve, what they answer.
public struct ScriptedPerson: Sendable, Person {
  /// What the person says when a call waits for approval. The first rule that fits answers.
  public struct ApprovalRule: Sendable {
    /// Names or globs of tools; `nil` for every tool.
    public var tools: [Glob]?
    /// Looks at the call's input; `nil` fits always.
    public var input: Matcher?
    /// Whether the call may run.
    public var granted: Bool
    /// Who the log says it was.
    public var by: String
    /// Why, in words; `nil` where none is given.
    public var reason: String?
    /// What a yes covers.
    public var scope = ApprovalScope.once

    /// Without a condition, the rule fits every call; a yes covers that call alone.
    public init(
      tools: [Glob]? = nil, input: Matcher? = nil, granted: Bool, by: String,
      reason: String? = nil, scope: ApprovalScope = .once
    ) {
      self.tools = tools
      self.input = input
      self.granted = granted
      self.by = by
      self.reason = reason
      self.scope = scope
    }
  }

  /// What the person says to a question. The first rule that fits answers.
  public struct AnswerRule: Sendable {
    /// Looks at the question's text; `nil` fits always.
    public var question: Matcher?
    /// The answer.
    public var text: String
    /// Who the log says it was.
    public var by: String

    /// Without a condition, the rule fits every question.
    public init(question: Matcher? = nil, text: String, by: String) {
      self.question = question
      self.text = text
      self.by = by
    }
  }

  /// One thing that the person says in the course of a conversation.
  public enum Turn: Sendable, Hashable {
    /// Words, to a question or to an answer of the agent.
    case says(String, by: String)
    /// That a call may run or may not, why, and what a yes covers.
    case approves(Bool, by: String, reason: String?, scope: ApprovalScope = .once)
  }

  /// What the person says, in order: the n-th word of the run is the n-th that they say here, the n-th
  /// approval the n-th here, as counted in the run's log. The rules answer behind the last.
  public var turns: [Turn]
  /// In order; a call that none fits finds nobody there.
  public var approvals: [ApprovalRule]
  /// In order; a question that none fits finds nobody there.
  public var answers: [AnswerRule]
  /// Who speaks where nothing of all this does; `nil` for nobody.
  public var model: SimulatedPerson? {
    get { if case .model(let model) = simulation { model } else { nil } }
    set { simulation = newValue.map { .model($0) } ?? .none }
  }
  private var simulation: Simulation

  /// Kept apart from the rest: what describes a model is large, nearly no person has one, and thousands of
  /// cases have a person each.
  private indirect enum Simulation: Sendable {
    case none
    case model(SimulatedPerson)
  }

  /// Without rules, it is as if nobody were there.
  public init(
    turns: [Turn] = [], approvals: [ApprovalRule] = [], answers: [AnswerRule] = [],
    model: SimulatedPerson? = nil
  ) {
    self.turns = turns
    self.approvals = approvals
    self.answers = answers
    simulation = model.map { .model($0) } ?? .none
  }

  public func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
    let turns = turns.compactMap { turn -> ApprovalAnswer? in
      guard case .approves(let granted, let by, let reason, let scope) = turn else { return nil }
      return ApprovalAnswer(granted: granted, by: by, reason: reason, scope: scope)
    }
    if turns.indices.contains(request.number - 1) { return turns[request.number - 1] }
    let rule = approvals.first { rule in
      (rule.tools?.contains { $0.matches(request.call.name) } ?? true)
        && (rule.input?.match(request.call.input).isMatch ?? true)
    }
    return rule.map {
      ApprovalAnswer(granted: $0.granted, by: $0.by, reason: $0.reason, scope: $0.scope)
    }
  }

  /// To an answer only a turn says more: rules would say it for ever.
  public func answer(_ request: QuestionRequest) async -> PersonAnswer? {
    let turns = turns.compactMap { turn -> PersonAnswer? in
      guard case .says(let text, let by) = turn else { return nil }
      return PersonAnswer(text: text, by: by)
    }
    if turns.indices.contains(request.number - 1) { return turns[request.number - 1] }
    guard request.kind == .question else { return nil }
    let question = JSONValue.string(request.question)
    let rule = answers.first { $0.question?.match(question).isMatch ?? true }
    return rule.map { PersonAnswer(text: $0.text, by: $0.by) }
  }
}
