public import AgentTrace

/// The one door to the outside: models, tools, people, clock and identifiers.
///
/// Two things implement it: the live one, and the replaying one, which answers from a log. What comes
/// in here is what an event records, so whatever was recorded can be replayed.
public protocol Boundary: Sendable {
  /// The clock that all of the run's times come from.
  var clock: any RunClock { get }
  /// Whether and by which signal the run is to end.
  var cancellation: Cancellation { get }
  /// What is known of secrets outside.
  var secrets: RunSecrets { get }
  /// An identifier for a new run.
  func makeRunID() -> String
  /// Asks the model. A failure is a value.
  func reply(to request: ModelRequest) async -> ModelAnswer
  /// Runs a tool. A failure is a value.
  func run(_ request: ToolRequest) async -> ToolAnswer
  /// Asks an authorizer of the policy about a call. That there is no answer is a value, and denies. Whoever asks fills
  /// in the digest of the question.
  func authorize(_ request: AuthorizationRequest) async -> Authorization
  /// Whether a call that policy allows can be made here; asked before its start is recorded.
  func readiness(of call: ProposedCall, step: Int) -> CallReadiness
  /// Why the run that a call of an agent is cannot begin on this machine as things are; `nil` where it can. Asked before
  /// its start is recorded: where there is a reason the run that calls it stops with that error.
  func reasonNotToBegin(_ child: ChildStart, as tool: String) -> String?
  /// Asks a source which tools it has; `nil` where there is nothing to say. A failure is a value.
  func tools(_ request: ToolListRequest) async -> ToolOffer?
  /// A note that outlives runs, as it was kept last; `nil` where none was, or it has run out.
  func recall(_ address: MemoryAddress) async -> KeptNote?
  /// Keeps a note that was recorded; says why it was not kept, or `nil`.
  func remember(_ request: MemoryRequest) async -> String?
  /// Asks a person to approve a call; `nil` when nobody is there.
  func approve(_ request: ApprovalRequest) async -> ApprovalAnswer?
  /// Asks a person a question, or tells them the agent's answer, to which they may say more; `nil` when
  /// nobody is there, or has nothing to say.
  func answer(_ request: QuestionRequest) async -> PersonAnswer?
  /// The person that a model plays, where nobody else spoke: asked for the n-th time in a step, from 1.
  /// `nil` where there is none. The model is reached through ``reply(to:)``.
  func simulatedPerson(step: Int, question: Int) -> SimulatedPerson?
  /// The run has ended or paused: what was started for it is ended.
  func close() async
}

extension Boundary {
  /// Nobody.
  public func simulatedPerson(step: Int, question: Int) -> SimulatedPerson? { nil }
}

extension Boundary {
  /// Nothing is known.
  public var secrets: RunSecrets { RunSecrets() }

  /// There is no such authorizer.
  public func authorize(_ request: AuthorizationRequest) async -> Authorization {
    await Authorizers().authorize(request)
  }

  /// Nothing is in the way.
  public func reasonNotToBegin(_ child: ChildStart, as tool: String) -> String? { nil }

  /// There is no such source.
  public func tools(_ request: ToolListRequest) async -> ToolOffer? { nil }

  /// Nothing was started.
  public func close() async {}

  /// Nothing was kept.
  public func recall(_ address: MemoryAddress) async -> KeptNote? { nil }

  /// Nothing is kept, and nobody is told.
  public func remember(_ request: MemoryRequest) async -> String? { nil }

  /// A boundary that reaches tools needs the plain values.
  public func readiness(of call: ProposedCall, step: Int) -> CallReadiness { .needsValues }
}
