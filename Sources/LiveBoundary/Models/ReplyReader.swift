import AgentRuntime
import AgentTrace

/// Reads what came back for a request of any dialect as it comes in: whole or streamed, by what it is and not
/// by what it is called. The one way in which replies are read, whether they came to an agent of an agent file
/// or went through a proxy.
struct ReplyReader: Sendable {
  private enum Form: Sendable {
    /// Too little has come in to tell.
    case unknown
    case whole
    case stream(ReplyStream)
  }

  private let dialect: Dialect
  private let tools: [String]
  private let limitBytes: Int
  private let isCalledStream: Bool
  private var form = Form.unknown
  private var body: [UInt8] = []
  /// How many bytes at the beginning of the body say nothing.
  private var passedOver = 0

  /// - Parameters:
  ///   - tools: what the model was told of, to call tools by their own names again.
  ///   - type: what the reply is called, where it is: a stream may begin with lines that are none.
  ///   - limitBytes: how much is read.
  init(_ dialect: Dialect, tools: [String] = [], type: String?, limitBytes: Int) {
    self.dialect = dialect
    isCalledStream = type?.lowercased().hasPrefix("text/event-stream") ?? false
    self.tools = tools
    self.limitBytes = limitBytes
  }

  /// Takes in more.
  ///
  /// - Returns: the text that it adds to the reply where that is streamed.
  /// - Throws: ``ReplyFault`` where it is no reply; nothing more can be read then.
  mutating func take(_ bytes: some Collection<UInt8>) throws(ReplyFault) -> String {
    switch form {
    case .stream(var stream):
      form = .unknown
      defer { form = .stream(stream) }
      return try stream.take(bytes)
    case .whole:
      try append(bytes)
      return ""
    case .unknown:
      try append(bytes)
      // From where it was left: a body that never ends may be white space alone.
      while passedOver < body.count, Self.isPassedOver(body[passedOver]) { passedOver += 1 }
      switch isStream(body[passedOver...]) {
      case nil: return ""
      case false?:
        form = .whole
        return ""
      case true?: break
      }
      var stream = ReplyStream(
        dialect, tools: tools, limits: EventStreamReader.Limits(totalBytes: limitBytes))
      defer { form = .stream(stream) }
      let held = body
      body = []
      return try stream.take(held)
    }
  }

  /// Takes in that nothing follows; see ``ReplyStream/end()``.
  mutating func end() {
    guard case .stream(var stream) = form else { return }
    form = .unknown
    stream.end()
    form = .stream(stream)
  }

  private static let fields = [":", "data", "event", "id", "retry"].map { Array($0.utf8) }

  /// Whether a body begins as a stream does; `nil` while that cannot be told.
  private func isStream(_ start: ArraySlice<UInt8>) -> Bool? {
    guard let first = start.first else { return nil }
    if dialect == .ollama { return first == UInt8(ascii: "{") }
    if dialect == .bedrock { return EventFrame.mayBegin(with: first) }
    if isCalledStream { return !"{[<".utf8.contains(first) }
    for field in Self.fields {
      if field.starts(with: start), start.count <= field.count, field != [UInt8(ascii: ":")] {
        return nil
      }
      guard start.starts(with: field) else { continue }
      return field.count == 1 || [0x3a, 0x0a, 0x0d].contains(start[start.startIndex + field.count])
    }
    return false
  }

  private mutating func append(_ bytes: some Collection<UInt8>) throws(ReplyFault) {
    guard body.count + bytes.count <= limitBytes else {
      throw .tooLarge(EventStreamReader.TooLarge(what: "the reply", limitBytes: limitBytes))
    }
    body.append(contentsOf: bytes)
  }

  /// White space, and a mark of byte order.
  private static func isPassedOver(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf: true
    default: false
    }
  }

  /// Whether a stream says that nothing follows.
  var isEnded: Bool { if case .stream(let stream) = form { stream.isEnded } else { false } }

  /// Whether a stream holds all that makes a reply.
  var isWhole: Bool { if case .stream(let stream) = form { stream.isWhole } else { false } }

  /// What the provider says within a stream that went wrong.
  var error: ProviderError? { if case .stream(let stream) = form { stream.error } else { nil } }

  /// The reply, once all of it has come in.
  ///
  /// - Throws: ``ReplyFault`` where it is none, or not whole.
  func reply() throws(ReplyFault) -> ProviderReply {
    if case .stream(let stream) = form { return try stream.reply() }
    return try dialect.reply(from: body, tools: tools)
  }
}
