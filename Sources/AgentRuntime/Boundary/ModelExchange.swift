public import AgentTrace

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

/// Something that replies to context packets.
public protocol Model: Sendable {
  /// The reply to one request. A failure is a value.
  func reply(to request: ModelRequest) async -> ModelAnswer
}
