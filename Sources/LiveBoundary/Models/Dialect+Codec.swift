public import AgentRuntime
public import AgentTrace

extension Dialect {
  /// The end of the URL that requests go to; a base URL stands before it.
  public var path: String {
    switch self {
    case .openai: "/chat/completions"
    case .anthropic: "/v1/messages"
    case .openaiResponses: "/responses"
    }
  }

  /// The body of a request.
  ///
  /// - Parameters:
  ///   - model: the model as the provider names it.
  ///   - isOpenAI: whether OpenAI serves it: others know fewer keys.
  public func body(
    of prompt: ModelPrompt, model: String, _ settings: GenerationSettings = GenerationSettings(),
    stream: Bool, isOpenAI: Bool = false
  ) -> JSONObject {
    var body =
      switch self {
      case .openai:
        ChatCompletions.body(
          of: prompt, model: model, settings, stream: stream, isOpenAI: isOpenAI)
      case .anthropic:
        AnthropicMessages.body(of: prompt, model: model, settings, stream: stream)
      case .openaiResponses:
        OpenAIResponses.body(of: prompt, model: model, settings, stream: stream)
      }
    for option in settings.options { body[option.key] = option.value }
    return body
  }

  /// Reads a whole body that came with a status of success.
  ///
  /// - Parameter tools: what the model was told of, to call tools by their own names again.
  /// - Throws: ``ReplyFault`` where it is no reply of this dialect. What the provider says went wrong is
  ///   a value: ``ProviderReply/error``.
  public func reply(
    from body: [UInt8], tools: [String] = []
  ) throws(ReplyFault) -> ProviderReply {
    let value = try JSONValue.wire(body)
    if let error = error(in: value),
      ["choices", "content", "output"].allSatisfy({ value[$0] == nil })
    {
      var unread = UnreadPlaces()
      unread.check(
        value,
        knowing: ["detail", "details", "error", "message", "metadata", "object", "type"], at: "",
        texts: false)
      return ProviderReply(
        reply: unread.isEmpty ? .object([:]) : ["unread": JSONValue(unread.places)], error: error)
    }
    let reply =
      switch self {
      case .openai: try ChatCompletions.reply(value)
      case .anthropic: try AnthropicMessages.reply(value)
      case .openaiResponses: try OpenAIResponses.reply(value)
      }
    return reply.naming(tools)
  }

  /// What a body says went wrong; `nil` where it says nothing of the kind.
  public func error(in body: JSONValue) -> ProviderError? {
    if let error = ProviderError(body["error"]) { return error }
    // Some servers say it at the top, or in the way of the framework that they are made with.
    if body["object"] == "error" || body["type"] == "error" { return ProviderError(body) }
    return body["detail"].flatMap { $0.isNull ? nil : ProviderError(message: $0.plainText) }
  }
}

/// Reads a reply that is streamed, in any dialect, as its bytes come in.
public struct ReplyStream: Sendable {
  private enum Assembly: Sendable {
    case chat(ChatCompletions.Assembly)
    case messages(AnthropicMessages.Assembly)
    case responses(OpenAIResponses.Assembly)
  }

  private var events: EventStreamReader
  private var assembly: Assembly
  private let tools: [String]
  /// How many events came in.
  public private(set) var eventCount = 0

  /// - Parameter tools: what the model was told of, to call tools by their own names again.
  public init(
    _ dialect: Dialect, tools: [String] = [],
    limits: EventStreamReader.Limits = EventStreamReader.Limits()
  ) {
    events = EventStreamReader(limits: limits)
    self.tools = tools
    assembly =
      switch dialect {
      case .openai: .chat(ChatCompletions.Assembly())
      case .anthropic: .messages(AnthropicMessages.Assembly())
      case .openaiResponses: .responses(OpenAIResponses.Assembly())
      }
  }

  /// Takes in more of the stream.
  ///
  /// - Returns: the text that it adds to the reply; reasoning and calls are not told.
  /// - Throws: ``ReplyFault`` where it is no stream of the dialect; nothing more can be read then.
  public mutating func take(_ bytes: some Collection<UInt8>) throws(ReplyFault) -> String {
    let found: [ServerSentEvent]
    do throws(EventStreamReader.TooLarge) { found = try events.take(bytes) } catch {
      throw .tooLarge(error)
    }
    var text = TextPieces()
    for event in found {
      eventCount += 1
      text.append(try take(event))
    }
    return text.text
  }

  private mutating func take(_ event: ServerSentEvent) throws(ReplyFault) -> JSONValue? {
    switch assembly {
    case .chat(var chat):
      assembly = .messages(AnthropicMessages.Assembly())
      defer { assembly = .chat(chat) }
      return try chat.take(event)
    case .messages(var messages):
      assembly = .chat(ChatCompletions.Assembly())
      defer { assembly = .messages(messages) }
      return try messages.take(event)
    case .responses(var responses):
      assembly = .chat(ChatCompletions.Assembly())
      defer { assembly = .responses(responses) }
      return try responses.take(event)
    }
  }

  /// Whether everything is there that makes a reply: whatever comes behind it, a stream that is cut from
  /// now on has lost no part of the decision.
  public var isWhole: Bool {
    switch assembly {
    case .chat(let chat): chat.isWhole
    case .messages(let messages): messages.isWhole
    case .responses(let responses): responses.isWhole
    }
  }

  /// Whether the stream says that nothing follows.
  public var isEnded: Bool {
    switch assembly {
    case .chat(let chat): chat.isDone
    case .messages(let messages): messages.isStopped
    case .responses(let responses): responses.isWhole
    }
  }

  /// What the provider says went wrong, as soon as it does; `nil` while nothing has.
  public var error: ProviderError? {
    switch assembly {
    case .chat(let chat): chat.error
    case .messages(let messages): messages.error
    case .responses(let responses): responses.error
    }
  }

  /// The reply, once the stream has ended.
  ///
  /// - Throws: ``ReplyFault/cut`` where the stream ended before the reply did, and no error was told.
  public func reply() throws(ReplyFault) -> ProviderReply {
    guard isWhole || error != nil else { throw .cut }
    let reply =
      switch assembly {
      case .chat(let chat): chat.reply
      case .messages(let messages): messages.reply
      case .responses(let responses): responses.reply
      }
    let named = reply.naming(tools)
    return events.hasUnknownLines ? named.unread("a line of the stream") : named
  }
}

extension ProviderReply {
  /// The same with one more place that went unread.
  fileprivate func unread(_ place: String) -> ProviderReply {
    guard var object = reply.objectValue else { return self }
    object["unread"] = .array((object["unread"]?.arrayValue ?? []) + [.string(place)])
    var marked = self
    marked.reply = .object(object)
    return marked
  }

  /// The same with the tools called by their own names.
  fileprivate func naming(_ tools: [String]) -> ProviderReply {
    guard let calls = reply["calls"]?.arrayValue, var object = reply.objectValue else {
      return self
    }
    object["calls"] = .array(
      calls.map { call in
        guard var call = call.objectValue, let name = call["name"]?.stringValue else { return call }
        call["name"] = .string(WireNames.toolName(of: name, among: tools))
        return .object(call)
      })
    var named = self
    named.reply = .object(object)
    return named
  }
}
