public import AgentRuntime
public import AgentTrace

extension Dialect {
  /// The end of the URL that requests go to; a base URL stands before it.
  ///
  /// - Parameters:
  ///   - model: the model as the provider names it.
  ///   - streams: whether the reply is to be streamed.
  public func path(model: String, streams: Bool) -> String {
    switch self {
    case .openai: "/chat/completions"
    case .anthropic: "/v1/messages"
    case .openaiResponses: "/responses"
    case .gemini:
      "/v1beta/models/\(model):\(streams ? "streamGenerateContent?alt=sse" : "generateContent")"
    case .ollama: "/api/chat"
    case .bedrock: "/model/\(URLTemplate.escaped(model))/converse\(streams ? "-stream" : "")"
    }
  }

  /// The body of a request.
  ///
  /// - Parameters:
  ///   - prompt: what the model is shown.
  ///   - model: the model as the provider names it.
  ///   - settings: how the model is to generate.
  ///   - stream: whether the reply comes in pieces.
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
      case .gemini: GenerateContent.body(of: prompt, settings)
      case .ollama: OllamaChat.body(of: prompt, model: model, settings, stream: stream)
      case .bedrock: Converse.body(of: prompt, settings)
      }
    for option in settings.options {
      guard option.key == joinedKey, let more = option.value.objectValue,
        var made = body[option.key]?.objectValue
      else {
        body[option.key] = option.value
        continue
      }
      for member in more { made[member.key] = member.value }
      body[option.key] = .object(made)
    }
    return body
  }

  /// The key that nearly all settings stand below: what a file says of it is joined with them.
  private var joinedKey: String? {
    switch self {
    case .gemini: "generationConfig"
    case .ollama: "options"
    case .bedrock: "inferenceConfig"
    case .openai, .anthropic, .openaiResponses: nil
    }
  }

  /// Reads a whole body that came with a status of success.
  ///
  /// - Parameters:
  ///   - body: what the provider answered.
  ///   - tools: what the model was told of, to call tools by their own names again.
  /// - Throws: ``ReplyFault`` where it is no reply of this dialect. What the provider says went wrong is
  ///   a value: ``ProviderReply/error``.
  public func reply(
    from body: [UInt8], tools: [String] = []
  ) throws(ReplyFault) -> ProviderReply {
    let value = try JSONValue.wire(body)
    if let error = error(in: value),
      ["candidates", "choices", "content", "output"].allSatisfy({ value[$0] == nil })
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
      case .gemini: try GenerateContent.reply(value)
      case .ollama: try OllamaChat.reply(value)
      case .bedrock: try Converse.reply(value)
      }
    return reply.naming(tools)
  }

  /// What a body says went wrong; `nil` where it says nothing of the kind.
  public func error(in body: JSONValue) -> ProviderError? {
    if let error = ProviderError(body["error"]) { return error }
    if self == .bedrock, let error = Converse.error(in: body) { return error }
    // Some servers say it at the top, or in the way of the framework that they are made with.
    if body["object"] == "error" || body["type"] == "error" { return ProviderError(body) }
    return body["detail"].flatMap { $0.isNull ? nil : ProviderError(message: $0.plainText) }
  }
}

/// A reply in the making, of some dialect.
protocol ReplyAssembly: Sendable {
  /// Takes in an event; the text that it adds to the reply.
  mutating func take(_ event: ServerSentEvent) throws(ReplyFault) -> JSONValue?
  /// Whether everything is there that makes a reply: whatever comes behind it, a stream that is cut from
  /// now on has lost no part of the decision.
  var isWhole: Bool { get }
  /// Whether it says that nothing follows.
  var isEnded: Bool { get }
  /// What the provider says went wrong, as soon as it does; `nil` while nothing has.
  var error: ProviderError? { get }
  /// What has come in so far.
  var reply: ProviderReply { get }
}

extension ChatCompletions.Assembly: ReplyAssembly { var isEnded: Bool { isDone } }
extension AnthropicMessages.Assembly: ReplyAssembly { var isEnded: Bool { isStopped } }
extension OpenAIResponses.Assembly: ReplyAssembly { var isEnded: Bool { isWhole } }
extension GenerateContent.Assembly: ReplyAssembly { var isEnded: Bool { false } }
extension OllamaChat.Assembly: ReplyAssembly { var isEnded: Bool { isWhole } }
extension Converse.Assembly: ReplyAssembly {}

/// Reads a reply that is streamed, in any dialect, as its bytes come in.
public struct ReplyStream: Sendable {
  /// How its pieces are told apart.
  private enum Pieces: Sendable {
    case events(EventStreamReader)
    case frames(EventFrameReader)
    /// Each line is one.
    case lines([UInt8], limitBytes: Int)
  }

  private var pieces: Pieces
  private var assembly: any ReplyAssembly
  private let tools: [String]
  /// How many events came in.
  public private(set) var eventCount = 0
  /// Whether what stood without its end was no event of any known form.
  private var hasUnreadEnd = false

  /// - Parameters:
  ///   - dialect: The form in which the provider streams.
  ///   - tools: what the model was told of, to call tools by their own names again.
  ///   - limits: How long lines and events may be.
  public init(
    _ dialect: Dialect, tools: [String] = [],
    limits: EventStreamReader.Limits = EventStreamReader.Limits()
  ) {
    pieces =
      switch dialect {
      case .ollama: .lines([], limitBytes: limits.lineBytes)
      case .bedrock: .frames(EventFrameReader(limits: limits))
      case .openai, .anthropic, .openaiResponses, .gemini:
        .events(EventStreamReader(limits: limits))
      }
    self.tools = tools
    assembly =
      switch dialect {
      case .openai: ChatCompletions.Assembly()
      case .anthropic: AnthropicMessages.Assembly()
      case .openaiResponses: OpenAIResponses.Assembly()
      case .gemini: GenerateContent.Assembly()
      case .ollama: OllamaChat.Assembly()
      case .bedrock: Converse.Assembly()
      }
  }

  /// Takes in more of the stream.
  ///
  /// - Returns: the text that it adds to the reply; reasoning and calls are not told.
  /// - Throws: ``ReplyFault`` where it is no stream of the dialect; nothing more can be read then.
  public mutating func take(_ bytes: some Collection<UInt8>) throws(ReplyFault) -> String {
    var text = TextPieces()
    for event in try split(bytes) {
      eventCount += 1
      text.append(try assembly.take(event))
    }
    return text.text
  }

  /// Takes in that nothing follows: what stands without its end is read as if that came, for there are clients that
  /// act on it. What is not understood of it is told in the reply as unread.
  ///
  /// Whoever is the only one that acts on the reply, and has read what it acts on, need not tell it.
  public mutating func end() {
    do {
      guard let event = try rest() else { return }
      eventCount += 1
      _ = try assembly.take(event)
    } catch { hasUnreadEnd = true }
  }

  /// What stands without its end; `nil` where nothing does.
  private mutating func rest() throws(ReplyFault) -> ServerSentEvent? {
    switch pieces {
    case .events(var events):
      defer { pieces = .events(events) }
      do throws(EventStreamReader.TooLarge) { return try events.end() } catch {
        throw .tooLarge(error)
      }
    case .frames(let frames):
      if frames.isWithinFrame { throw .cut }
      return nil
    case .lines(let line, let limitBytes):
      pieces = .lines([], limitBytes: limitBytes)
      return Self.event(line)
    }
  }

  private mutating func split(
    _ bytes: some Collection<UInt8>
  ) throws(ReplyFault) -> [ServerSentEvent] {
    switch pieces {
    case .events(var events):
      // Moved out and in again: no buffer is copied.
      pieces = .lines([], limitBytes: 0)
      defer { pieces = .events(events) }
      do throws(EventStreamReader.TooLarge) { return try events.take(bytes) } catch {
        throw .tooLarge(error)
      }
    case .frames(var frames):
      pieces = .lines([], limitBytes: 0)
      defer { pieces = .frames(frames) }
      return try frames.take(bytes)
    case .lines(var line, let limitBytes):
      pieces = .lines([], limitBytes: 0)
      defer { pieces = .lines(line, limitBytes: limitBytes) }
      var found: [ServerSentEvent] = []
      for byte in bytes {
        guard byte == 0x0a else {
          line.append(byte)
          continue
        }
        if let event = Self.event(line) { found.append(event) }
        line.removeAll(keepingCapacity: true)
      }
      guard line.count <= limitBytes else {
        throw .tooLarge(EventStreamReader.TooLarge(what: "a line", limitBytes: limitBytes))
      }
      return found
    }
  }

  /// A line as an event; `nil` where it is blank.
  private static func event(_ line: [UInt8]) -> ServerSentEvent? {
    line.contains { ![0x09, 0x0d, 0x20].contains($0) } ? ServerSentEvent(data: line) : nil
  }

  /// Whether the reply has come to its end, as the dialect tells it.
  public var isWhole: Bool { assembly.isWhole }

  /// Whether the stream says that nothing follows.
  public var isEnded: Bool { assembly.isEnded }

  /// What the provider says went wrong, as soon as it does; `nil` while nothing has.
  public var error: ProviderError? { assembly.error }

  /// The reply, once the stream has ended.
  ///
  /// - Throws: ``ReplyFault/cut`` where the stream ended before the reply did, and no error was told.
  public func reply() throws(ReplyFault) -> ProviderReply {
    var assembly = assembly
    var hasUnknownLines = false
    switch pieces {
    case .events(let events): hasUnknownLines = events.hasUnknownLines
    case .frames: break
    case .lines(let line, limitBytes: _):
      // The last line may have no end.
      if let event = Self.event(line), !assembly.isWhole {
        do { _ = try assembly.take(event) } catch { throw .cut }
      }
    }
    guard assembly.isWhole || assembly.error != nil else { throw .cut }
    var named = assembly.reply.naming(tools)
    if hasUnknownLines { named = named.unread("a line of the stream") }
    return hasUnreadEnd ? named.unread("the end of the stream") : named
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
