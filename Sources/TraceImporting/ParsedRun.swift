import AgentTrace

/// One run's place in its file, and what was read there.
struct SourceRun {
  /// Its number in the file, from 0; `nil` in formats that hold one run a file.
  var index: Int?
  var content: Result<any EventSource, ImportError>

  /// Reads a run; an error stays with it.
  init(index: Int?, reading read: () throws(ImportError) -> any EventSource) {
    self.index = index
    content = Result { () throws(ImportError) in try read() }
  }

  /// Reads a run that is a list of messages; an error stays with it.
  init(index: Int?, list read: () throws(ImportError) -> ParsedRun) {
    self.init(index: index) { () throws(ImportError) in CallGraph(try read()) }
  }

  /// Reads a run by one expression; an error stays with it.
  init(index: Int?, _ read: @autoclosure () throws(ImportError) -> any EventSource) {
    self.index = index
    content = Result { () throws(ImportError) in try read() }
  }

  /// Reads a run that is a list of messages by one expression; an error stays with it.
  init(index: Int?, _ read: @autoclosure () throws(ImportError) -> ParsedRun) {
    self.index = index
    content = Result { () throws(ImportError) in CallGraph(try read()) }
  }

  typealias Reader = (JSONValue, JSONPointer) throws(ImportError) -> any EventSource

  /// A run for each element of a list.
  static func each(_ elements: [JSONValue], _ read: Reader) -> [SourceRun] {
    elements.placed(at: JSONPointer()).enumerated().map { index, entry in
      SourceRun(index: index) { () throws(ImportError) in try read(entry.1, entry.0) }
    }
  }

  /// A run for each line.
  static func each(_ lines: [SourceDocument.Line], _ read: Reader) -> [SourceRun] {
    lines.map { line in
      SourceRun(index: line.index) { () throws(ImportError) in
        try read(try line.content.get(), JSONPointer(tokens: [String(line.index)]))
      }
    }
  }
}

/// A run that can be told as events.
protocol EventSource {
  /// Hands on the run's events, in order.
  ///
  /// - Throws: what `append` throws, and ``ImportError`` where the run is too large for a log.
  func emitEvents(as identity: RunIdentity, to append: @escaping (Event) throws -> Void) throws

  /// The bytes of the run's own log, where the source carries that; then it is taken as it is.
  var carriedLog: [UInt8]? { get }
}

extension EventSource {
  /// None, unless a source says otherwise.
  var carriedLog: [UInt8]? { nil }
}

extension CallGraph: EventSource {
  func emitEvents(as identity: RunIdentity, to append: @escaping (Event) throws -> Void) throws {
    try GraphEvents.emit(self, as: identity, to: append)
  }
}

/// A list of messages in the manner of the chat-completion interface, and what the source says around it. Of it a
/// ``CallGraph`` is made.
struct ParsedRun {
  var format: ImportFormat
  var messages: [ParsedMessage]
  /// The agent's name, where the source gives one.
  var agentName: String?
  /// The model's name, where the source gives one.
  var modelName: String?
  /// What the source says about the run in a word or figure: task, trial, reward.
  var labels: JSONObject = [:]
  /// Everything else that the source holds about the run.
  var extra: JSONObject = [:]
  /// How the run ended, where the source says so.
  var ending: ParsedEnding?
  /// Whether a run of this format ends where its last message calls; else what became of such calls stands
  /// somewhere else.
  var endsInCalls = true
  /// Whether what a model says may be a call that its program read there.
  var mayCallInTexts = true
  /// Where something stands that no rule of the format covers, and that may be a call; messages have their
  /// own.
  var unread: [JSONPointer] = []
}

/// How a run ended, by its format's rule.
struct ParsedEnding: Hashable {
  var reason: StopReason
  var detail: String
  /// The field of the source that says so, where it is one outside the messages.
  var field: JSONPointer?

  /// Whether nothing says so but the form of the last reply.
  var isByForm: Bool {
    reason == .success && detail == StopDetail.finalAnswer && field == nil
  }

  /// Whether it waits for a person: what was said last is a question, and no answer.
  var waitsForPerson: Bool { reason == .blocked && detail == StopDetail.human }
}

/// One message, whatever tool wrote it.
struct ParsedMessage {
  enum Role: Hashable {
    case system
    case user
    case assistant
    case tool
    /// A role without a meaning here; the message is part of what the model saw.
    case other
  }

  var role: Role
  /// The role as the source calls it.
  var roleName: String
  /// Where it stands in the file.
  var pointer: JSONPointer
  /// The message as it stood.
  var raw: JSONValue
  var content: MessageContent
  var calls: [ParsedCall] = []
  /// The word for how the reply ended, as the source has it.
  var finish: String?
  /// Whether the model declined to answer, in the field that an interface has for it.
  var isRefusal = false
  /// What a tool gave back; for messages of that role.
  var result: ParsedResult?
  /// Who makes the calls, or made the one that is answered; `nil` means the agent.
  var caller: String?
  /// Whether the agent's model was shown it.
  var isSeenByAgent = true
  /// Members without a meaning here.
  var extra: JSONObject = [:]
  var usage = Usage()
  /// Where in it something stands that no rule of the format covers, and that may be a call.
  var unread: [JSONPointer] = []
  /// The source's time of the message.
  var timestamp: Timestamp?

  /// What a reply cost, where the source says so.
  struct Usage: Hashable {
    var inputTokens: Int?
    var outputTokens: Int?
    var cost: Double?
  }

  /// What kind of refusal it is, as a stop's detail; `nil` for none.
  var refusal: String? {
    guard role == .assistant, calls.isEmpty else { return nil }
    return isRefusal
      ? RefusalWord.detail(ofRefusal: finish) : RefusalWord.detail(ofFinish: finish)
  }

  /// Whether this is an assistant's text without calls.
  var isAssistantText: Bool { role == .assistant && calls.isEmpty && content.text != nil }
}

/// A call as a message proposes it.
struct ParsedCall: Hashable {
  var name: String
  var input: JSONValue
  /// The source's own id of the call.
  var providerCallId: String?
  /// Why the call cannot be taken as one.
  var problem: String?
  /// Whether its name or its arguments may stand where nobody looked.
  var lacksPart = false
}

/// What a tool gave back for one call.
struct ParsedResult: Hashable {
  /// The source's id of the call that it says it answers.
  var providerCallId: String?
  /// The tool's name, where the message gives one.
  var tool: String?
  /// The content as it stood.
  var data: JSONValue
  /// Why the call failed; `nil` where it did not.
  var error: JSONValue?
  /// Whether the format says of each result whether it is an error.
  var isTold = true

  /// Says that what came back is an error.
  mutating func markFailed() { error = data }
}
