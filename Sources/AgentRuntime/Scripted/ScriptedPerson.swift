import AgentTrace
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

    /// Nothing is checked. Without a condition, the rule fits every call.
    public init(
      tools: [Glob]? = nil, input: Matcher? = nil, granted: Bool, by: String,
      reason: String? = nil
    ) {
      self.tools = tools
      self.input = input
      self.granted = granted
      self.by = by
      self.reason = reason
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

    /// Nothing is checked. Without a condition, the rule fits every question.
    public init(question: Matcher? = nil, text: String, by: String) {
      self.question = question
      self.text = text
      self.by = by
    }
  }

  /// In order; a call that none fits finds nobody there.
  public var approvals: [ApprovalRule]
  /// In order; a question that none fits finds nobody there.
  public var answers: [AnswerRule]

  /// Nothing is checked. Without rules, it is as if nobody were there.
  public init(approvals: [ApprovalRule] = [], answers: [AnswerRule] = []) {
    self.approvals = approvals
    self.answers = answers
  }

  public func approve(_ request: ApprovalRequest) async -> ApprovalAnswer? {
    let rule = approvals.first { rule in
      (rule.tools?.contains { $0.matches(request.call.name) } ?? true)
        && (rule.input?.match(request.call.input).isMatch ?? true)
    }
    return rule.map { ApprovalAnswer(granted: $0.granted, by: $0.by, reason: $0.reason) }
  }

  public func answer(_ request: QuestionRequest) async -> PersonAnswer? {
    let question = JSONValue.string(request.question)
    let rule = answers.first { $0.question?.match(question).isMatch ?? true }
    return rule.map { PersonAnswer(text: $0.text, by: $0.by) }
  }
}
