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
  /// What the model is given; see `ContextPacket.messages`.
  public var messages: [JSONValue]
  /// The tools that it is told of.
  public var tools: [ToolDefinition]
  /// What of the model's settings the request asks for (``ModelDefinition/settings``); `nil` where
  /// nobody knows, as in logs of before they were recorded.
  public var settings: JSONObject?
  /// When to give up, because the run's own time is over; `nil` for never.
  public var timeoutMicroseconds: Int?

  /// Settings, and when to give up, can be set afterwards.
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

  /// The digest of ``messages``, where whoever asks has it already; `nil` to make it when it is needed.
  var messagesDigest: ListDigest?

  /// The digest of ``tools``, in the same way.
  var toolsDigest: Digest?

  /// The SHA-256 of the whole request, as far as it tells what the model is asked: of canonical
  /// `{"messages":…,"settings":{…},"tools":…}`, the messages by their `ListDigest`, the tools by the
  /// SHA-256 of their list, the settings as they stand. Neither keys nor ids of the provider are in it,
  /// nor whether the reply is streamed. Docs/log-format.md, "The request's digest".
  public var digest: String { digest(ofMessages: messagesDigest ?? ListDigest(of: messages)) }

  /// ``digest``, where the digest of the messages is known.
  public func digest(ofMessages messages: ListDigest) -> String {
    guard let settings else { return contextDigest(ofMessages: messages) }
    let tools = toolsDigest ?? Self.digest(of: tools)
    return Digest(
      of: [
        "messages": .string(messages.value.hex), "settings": .object(settings),
        "tools": .string(tools.hex),
      ]
    ).hex
  }

  /// The same of settings and tools whose withheld values are said otherwise.
  ///
  /// - Parameters:
  ///   - messages: the digest of the request's messages, in which nothing is said otherwise.
  ///   - plain: gives a value as it is to be digested.
  public func digest(
    ofMessages messages: ListDigest, saying plain: (JSONValue) -> JSONValue
  ) -> String {
    guard let settings else { return contextDigest(ofMessages: messages) }
    let tools = Digest(of: plain(.array(tools.map { .object($0.encoded) })))
    return Digest(
      of: [
        "messages": .string(messages.value.hex), "settings": plain(.object(settings)),
        "tools": .string(tools.hex),
      ]
    ).hex
  }

  /// The SHA-256 of the list of some tools as a log has them.
  static func digest(of tools: [ToolDefinition]) -> Digest {
    Digest(of: .array(tools.map { .object($0.encoded) }))
  }

  /// What ``digest`` is in logs that say nothing of settings: of messages and tools alone.
  public func contextDigest(ofMessages messages: ListDigest) -> String {
    Digest(
      of: [
        "messages": .string(messages.value.hex),
        "tools": .array(tools.map { .object($0.encoded) }),
      ]
    ).hex
  }

  /// The same, of the messages as they stand.
  public var contextDigest: String {
    contextDigest(ofMessages: messagesDigest ?? ListDigest(of: messages))
  }

  /// What ``digest`` is in logs of format 1: of the messages as they stand.
  public var digestInFormat1: String {
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
  /// See `ModelResult.cachedInputTokens`.
  public var cachedInputTokens: Int?
  /// See `ModelResult.cacheWriteTokens`.
  public var cacheWriteTokens: Int?
  /// See `ModelResult.reasoningTokens`.
  public var reasoningTokens: Int?
  /// See `ModelResult.modelVersion`.
  public var modelVersion: String?
  /// See `ModelResult.requestId`.
  public var requestId: String?
  /// See `ModelResult.status`.
  public var status: Int?
  /// See `ModelResult.responseDigest`.
  public var responseDigest: String?
  /// Of an error, when the model is asked again, if there are tries left.
  public var retry = Retry.atOnce

  /// When a model is asked again that is out of reach.
  public enum Retry: Sendable, Hashable {
    /// Without a wait.
    case atOnce
    /// After so long.
    case after(microseconds: Int)
    /// Not at all: it would be in vain.
    case never
  }

  /// A reply.
  public init(reply: JSONValue) { self.reply = reply }

  /// No reply, and why.
  public init(error: String) { self.error = error }

  /// The answer that a recorded try holds.
  public init(recorded result: ModelResult) {
    reply = result.reply
    error = result.error
    if reply == nil { error = error ?? "the log holds neither a reply nor an error" }
    inputTokens = result.inputTokens
    outputTokens = result.outputTokens
    cachedInputTokens = result.cachedInputTokens
    cacheWriteTokens = result.cacheWriteTokens
    reasoningTokens = result.reasoningTokens
    cost = result.cost
    finishReason = result.finishReason
    elapsedMicroseconds = max(0, result.elapsedMicroseconds ?? 0)
    modelVersion = result.modelVersion
    requestId = result.requestId
    status = result.status
    responseDigest = result.responseDigest
    retry = Retry(of: result)
  }
}

extension ModelAnswer.Retry {
  /// What a recorded try says about the next one.
  init(of result: ModelResult) {
    if result.isFinal {
      self = .never
    } else if let wait = result.retryAfterMicroseconds {
      // What a log claims is kept within what can be added.
      self = .after(microseconds: min(max(0, wait), 1 << 50))
    } else {
      self = .atOnce
    }
  }
}

extension ModelResult {
  /// What is recorded of an answer to a request.
  init(_ answer: ModelAnswer, to request: ModelRequest, model: String) {
    self.init(
      purpose: request.purpose.rawValue, attempt: request.attempt, requestDigest: request.digest,
      reply: answer.reply?.admitted, error: answer.error, inputTokens: answer.inputTokens,
      outputTokens: answer.outputTokens, cost: answer.cost, model: model,
      finishReason: answer.finishReason, elapsedMicroseconds: answer.elapsedMicroseconds)
    cachedInputTokens = answer.cachedInputTokens
    cacheWriteTokens = answer.cacheWriteTokens
    reasoningTokens = answer.reasoningTokens
    modelVersion = answer.modelVersion.flatMap { $0.hasSameUTF8(as: model) ? nil : $0 }
    requestId = answer.requestId
    status = answer.status
    responseDigest = answer.responseDigest
    guard answer.reply == nil else { return }
    switch answer.retry {
    case .atOnce: break
    case .after(let microseconds): retryAfterMicroseconds = max(0, microseconds)
    case .never: isFinal = true
    }
  }
}

/// Something that replies to context packets.
public protocol Model: Sendable {
  /// The reply to one request. A failure is a value.
  func reply(to request: ModelRequest) async -> ModelAnswer
}
