public import AgentTrace

/// A person is asked to approve one call.
public struct ApprovalRequest: Sendable, Hashable {
  /// The call that waits; what the answer covers beyond it, it says itself.
  public var call: ProposedCall
  /// Why policy asks, in words.
  public var reason: String
  /// The rule that asks; `nil` where none does.
  public var ruleId: String?
  /// How many approvals the run has seen, granted or denied, this one included.
  public var number: Int

  /// Without more, no rule asks, and it is the first of the run.
  public init(call: ProposedCall, reason: String, ruleId: String? = nil, number: Int = 1) {
    self.call = call
    self.reason = reason
    self.ruleId = ruleId
    self.number = number
  }
}

/// What the person said.
public struct ApprovalAnswer: Sendable, Hashable {
  /// Whether the call may run.
  public var granted: Bool
  /// Who said it.
  public var by: String
  /// Why, in the person's words; `nil` where none were given.
  public var reason: String?
  /// What it covers; `nil` as a log of before there was such a word has it.
  public var scope: ApprovalScope?
  /// When it runs out, as `UTC` writes it; `nil` for never. What is no such time has run out.
  public var until: String?

  /// Without more, it covers this one call.
  public init(
    granted: Bool, by: String, reason: String? = nil, scope: ApprovalScope? = .once,
    until: String? = nil
  ) {
    self.granted = granted
    self.by = by
    self.reason = reason
    self.scope = scope
    self.until = until
  }

  /// The answer that a recorded approval holds.
  public init(recorded approval: Approval) {
    self.init(
      granted: approval.granted, by: approval.by, reason: approval.reason, scope: approval.scope,
      until: approval.until)
  }
}

/// A person is asked a question, or told an answer.
public struct QuestionRequest: Sendable, Hashable {
  /// What the agent says to the person.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// It waits for an answer.
    case question
    /// It is done, unless the person says more.
    case answer
  }

  /// What it is to the person.
  public var kind: Kind
  /// The question, or the answer, in the model's words.
  public var question: String
  /// How many words of people the run has heard, this one included.
  public var number: Int

  /// Without more, a question that waits for an answer, the first of the run.
  public init(_ kind: Kind = .question, question: String, number: Int = 1) {
    self.kind = kind
    self.question = question
    self.number = number
  }
}

/// What the person said.
public struct PersonAnswer: Sendable, Hashable {
  /// The answer.
  public var text: String
  /// Who gave it.
  public var by: String

  /// Words of a person, and what logs call whoever said them.
  public init(text: String, by: String) {
    self.text = text
    self.by = by
  }
}

/// Someone who can be asked.
public protocol Person: Sendable {
  /// `nil` when nobody is there.
  func approve(_ request: ApprovalRequest) async -> ApprovalAnswer?
  /// `nil` when nobody is there, or has nothing to say to an answer.
  func answer(_ request: QuestionRequest) async -> PersonAnswer?
}
