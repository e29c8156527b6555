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
  /// Whether a call that policy allows can be made here; asked before its start is recorded.
  func readiness(of call: ProposedCall, step: Int) -> CallReadiness
  /// A note that outlives runs, as it was kept last; `nil` where none was.
  func recall(_ address: MemoryAddress) async -> JSONValue?
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
}

extension Boundary {
  /// Nobody.
  public func simulatedPerson(step: Int, question: Int) -> SimulatedPerson? { nil }
}

/// A model is asked for its next decision, or for something else that a run needs.
public struct ModelRequest: Sendable, Hashable {
  /// What for.
  public var purpose: ModelPurpose
  /// The step that the decision opens, from 1.
  public var step: Int
  /// From 1; more after an invalid decision.
  public var tryNumber: Int
  /// From 1; more while the model is out of reach.
  public var attempt: Int
  /// How many model calls for this purpose the run has made, this one included.
  public var number: Int
  /// The run's goal.
  public var goal: JSONValue
  /// What the model is given; see ``ContextPacket/messages``.
  public var messages: [JSONValue]
  /// The tools that it is told of.
  public var tools: [ToolDefinition]

  /// Nothing is checked.
  public init(
    purpose: ModelPurpose = .decide, step: Int, tryNumber: Int, attempt: Int, number: Int,
    goal: JSONValue, messages: [JSONValue], tools: [ToolDefinition] = []
  ) {
    self.purpose = purpose
    self.step = step
    self.tryNumber = tryNumber
    self.attempt = attempt
    self.number = number
    self.goal = goal
    self.messages = messages
    self.tools = tools
  }

  /// SHA-256 of the canonical messages and tools: what the model is asked, and nothing else.
  public var digest: String {
    Digest(
      of: [
        "messages": .array(messages),
        "tools": .array(tools.map { .object($0.encoded) }),
      ]
    ).hex
  }
}

/// What a model sent back, or why it did not.
public struct ModelAnswer: Sendable, Hashable {
  /// The reply as it was received; see ``ModelReply`` for how it is read.
  public var reply: JSONValue?
  /// Why there is no reply, in words; `nil` where there is one.
  public var error: String?
  /// As the provider counted them; `nil` where it did not say.
  public var inputTokens: Int?
  /// As the provider counted them; `nil` where it did not say.
  public var outputTokens: Int?
  /// In the currency of the model's prices; `nil` when unknown.
  public var cost: Double?
  /// Why the reply ended, in the provider's own word; `nil` where it gave none.
  public var finishReason: String?
  /// From the request to the reply or the error; 0 where that is not known.
  public var elapsedMicroseconds = 0

  /// A reply.
  public init(reply: JSONValue) { self.reply = reply }

  /// No reply, and why.
  public init(error: String) { self.error = error }
}

/// A tool is to run.
public struct ToolRequest: Sendable, Hashable {
  /// Ours; see ``ProposedCall/callId``.
  public var callId: String
  /// The tool as it is registered.
  public var tool: ToolDefinition
  /// What the model gave it; already valid by the tool's input schema.
  public var input: JSONValue
  /// From 1.
  public var attempt: Int
  /// The step of the decision that proposed the call, from 1.
  public var step: Int
  /// The same for every attempt of the call.
  public var idempotencyKey: String
  /// When to cut the call off; `nil` for never.
  public var timeoutMicroseconds: Int?
  /// The notes that it may look at; only for tools of the kind `memory`.
  public var memory: MemoryView?

  /// Nothing is checked.
  public init(
    callId: String, tool: ToolDefinition, input: JSONValue, attempt: Int = 1, step: Int = 1,
    idempotencyKey: String, timeoutMicroseconds: Int? = nil
  ) {
    self.callId = callId
    self.tool = tool
    self.input = input
    self.attempt = attempt
    self.step = step
    self.idempotencyKey = idempotencyKey
    self.timeoutMicroseconds = timeoutMicroseconds
  }
}

/// Whether a call can be made.
public enum CallReadiness: Sendable, Hashable {
  /// It can, with the plain values that tokens in its input stand for.
  case needsValues
  /// It is answered from a record, by its tokens alone.
  case recorded
  /// It cannot: it is refused for this reason.
  case refused(reason: String)
}

extension Boundary {
  /// Nothing is known.
  public var secrets: RunSecrets { RunSecrets() }

  /// Nothing was kept.
  public func recall(_ address: MemoryAddress) async -> JSONValue? { nil }

  /// Nothing is kept, and nobody is told.
  public func remember(_ request: MemoryRequest) async -> String? { nil }

  /// A boundary that reaches tools needs the plain values.
  public func readiness(of call: ProposedCall, step: Int) -> CallReadiness { .needsValues }
}

/// A note that was recorded is to be kept.
public struct MemoryRequest: Sendable, Hashable {
  /// What, and for which event.
  public var writing: MemoryWriting
  /// The call that wrote it.
  public var callId: String

  /// Nothing is checked.
  public init(writing: MemoryWriting, callId: String) {
    self.writing = writing
    self.callId = callId
  }
}

/// A note that a tool read or wrote.
public enum ToolNote: Sendable, Hashable {
  /// It was looked up.
  case read(MemoryNote)
  /// It is to be kept, or taken away.
  case written(MemoryNote)

  /// The note, whatever was done with it.
  public var note: MemoryNote {
    switch self {
    case .read(let note), .written(let note): note
    }
  }
}

/// What a tool returned.
public struct ToolAnswer: Sendable, Hashable {
  /// What became of the attempt.
  public var result: ToolResult
  /// From the start of the attempt to its end.
  public var elapsedMicroseconds: Int
  /// Only of a recorded answer, where it is known whether the call was made again: `true` where another
  /// attempt followed, up to which `elapsedMicroseconds` reaches, so that there was time left then;
  /// `false` where none did, and the record breaks off before it says why.
  public var wasTriedAgain: Bool?
  /// Notes that the tool read or wrote, in the order in which they are recorded, before the result.
  public var notes: [ToolNote] = []

  /// Nothing is checked.
  public init(result: ToolResult, elapsedMicroseconds: Int = 0) {
    self.result = result
    self.elapsedMicroseconds = elapsedMicroseconds
  }

  /// The answer of a tool that was cut off: its effect is unknown unless it only reads.
  public static func cutOff(
    _ request: ToolRequest, reason: String, afterMicroseconds elapsed: Int
  ) -> ToolAnswer {
    ToolAnswer(
      result: .error(reason, isEffectUnknown: request.tool.sideEffect != .read),
      elapsedMicroseconds: elapsed)
  }

  /// The answer of a tool that took too long.
  public static func timedOut(
    _ request: ToolRequest, afterMicroseconds elapsed: Int
  ) -> ToolAnswer {
    cutOff(
      request, reason: "timed out after \(JSONValue(Double(elapsed) / 1_000_000)) seconds",
      afterMicroseconds: elapsed)
  }
}

/// A person is asked to approve one call.
public struct ApprovalRequest: Sendable, Hashable {
  /// The call that waits; the answer covers its ``ProposedCall/actionId``.
  public var call: ProposedCall
  /// Why policy asks, in words.
  public var reason: String
  /// The rule that asks; `nil` where none does.
  public var ruleId: String?
  /// How many approvals the run has seen, granted or denied, this one included.
  public var number: Int

  /// Nothing is checked.
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

  /// Nothing is checked.
  public init(granted: Bool, by: String, reason: String? = nil) {
    self.granted = granted
    self.by = by
    self.reason = reason
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

  /// Nothing is checked.
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

  /// Nothing is checked.
  public init(text: String, by: String) {
    self.text = text
    self.by = by
  }
}

/// Something that replies to context packets.
public protocol Model: Sendable {
  /// The reply to one request. A failure is a value.
  func reply(to request: ModelRequest) async -> ModelAnswer
}

/// Something that can be called.
public protocol Tool: Sendable {
  /// The result of one call. A failure is a value.
  func run(_ request: ToolRequest) async -> ToolAnswer
}

/// Someone who can be asked.
public protocol Person: Sendable {
  /// `nil` when nobody is there.
  func approve(_ request: ApprovalRequest) async -> ApprovalAnswer?
  /// `nil` when nobody is there, or has nothing to say to an answer.
  func answer(_ request: QuestionRequest) async -> PersonAnswer?
}
