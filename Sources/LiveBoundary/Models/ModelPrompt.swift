public import AgentRuntime
public import AgentTrace

/// What a model is asked, in no dialect: the messages of a context packet, laid out.
public struct ModelPrompt: Sendable, Hashable {
  /// Who speaks.
  public enum Role: String, Sendable, Hashable {
    case system, user, assistant
  }

  /// A part of a message.
  public enum Part: Sendable, Hashable {
    /// Words.
    case text(String)
    /// What a model thought, as its provider wrote it: sent back unchanged to a provider of the same
    /// dialect, and to no other.
    case reasoning(JSONObject)
    /// A call that the model proposed.
    case call(id: String, name: String, input: JSONValue)
    /// What came of a call.
    case result(id: String, data: JSONValue, isError: Bool)
  }

  /// One message. What tools returned stands in a message of the user.
  public struct Message: Sendable, Hashable {
    /// Who speaks.
    public var role: Role
    /// In the order in which they are said.
    public var parts: [Part]

    /// Parts in the order in which they are said.
    public init(_ role: Role, _ parts: [Part]) {
      self.role = role
      self.parts = parts
    }
  }

  /// Oldest first.
  public var messages: [Message]
  /// The tools that the model is told of, by their own names.
  public var tools: [ToolDefinition]

  /// Without tools, the model is told of none.
  public init(messages: [Message], tools: [ToolDefinition] = []) {
    self.messages = messages
    self.tools = tools
  }

  /// Lays out the messages of a request; see `ContextPacket`. What is none of the parts that
  /// packets hold is left out.
  public init(_ request: ModelRequest) {
    self.init(packet: request.messages, tools: request.tools)
  }

  /// Lays out the messages of a packet.
  public init(packet messages: [JSONValue], tools: [ToolDefinition] = []) {
    self.init(messages: messages.compactMap(Message.init(packet:)), tools: tools)
  }
}

// MARK: - Packets

extension ModelPrompt.Message {
  fileprivate init?(packet message: JSONValue) {
    let role: ModelPrompt.Role
    switch message["role"]?.stringValue {
    case "system": role = .system
    case "assistant": role = .assistant
    default: role = .user
    }
    let parts = (message["content"]?.arrayValue ?? []).compactMap(ModelPrompt.Part.init(packet:))
    guard !parts.isEmpty else { return nil }
    self.init(role, parts)
  }
}

extension ModelPrompt.Part {
  fileprivate init?(packet part: JSONValue) {
    switch part["type"]?.stringValue {
    case "text":
      guard let text = part["text"], !text.isNull else { return nil }
      self = .text(text.plainText)
    case "reasoning":
      guard let block = part["block"]?.objectValue else { return nil }
      self = .reasoning(block)
    case "tool_call":
      guard let id = part["callId"]?.stringValue, let name = part["name"]?.stringValue else {
        return nil
      }
      self = .call(id: id, name: name, input: part["input"] ?? .object([:]))
    case "tool_result":
      guard let id = part["callId"]?.stringValue else { return nil }
      let status = part["status"]?.stringValue ?? "ok"
      var data = part["data"] ?? .null
      // Servers do not show models the ids of calls.
      if part["cite"] == true { data = .string("[\(id)] \(data.plainText)") }
      self = .result(id: id, data: data, isError: !status.hasSameUTF8(as: "ok"))
    default: return nil
    }
  }
}

extension JSONValue {
  /// A text as it is, anything else as canonical JSON.
  var plainText: String { stringValue ?? CanonicalJSON.string(self, form: .plain) }
}

// MARK: - As dialects take it

extension ModelPrompt {
  /// A conversation that every dialect takes.
  struct Arranged {
    /// What stands before everything else; `nil` where nothing does.
    var system: String?
    /// The rest: user and assistant in turns, the user first; each call followed by its result, at the
    /// start of the next message.
    var messages: [Message]
  }

  /// The conversation as every dialect takes it.
  ///
  /// Instructions that come later are told by the user, because neither Messages nor the chat templates
  /// of most local models have a place for them. Without tools, calls and results are told in words: some
  /// servers refuse a request that has calls and no tools. A result without its call is told in words as
  /// well, and a call without its result gets one that says so.
  func arranged(keeping isKept: (JSONObject) -> Bool) -> Arranged {
    let leading = messages.prefix { $0.role == .system }
    let system = leading.flatMap(\.parts).compactMap(\.words).joined(separator: "\n\n")
    var arranged: [Message] = []
    var open: [String] = []
    for message in messages.dropFirst(leading.count) {
      let role = message.role == .assistant ? Role.assistant : .user
      if role == .assistant, arranged.last?.role == .user { Self.close(&open, in: &arranged) }
      let told = message.parts.compactMap { part in
        part.told(areCallsTold: tools.isEmpty, open: &open, isKept)
      }
      guard !told.isEmpty else { continue }
      if arranged.last?.role == role {
        arranged[arranged.count - 1].parts += told
      } else {
        arranged.append(Message(role, told))
      }
    }
    Self.close(&open, in: &arranged)
    if arranged.first?.role != .user { arranged.insert(Message(.user, [.text("Begin.")]), at: 0) }
    for index in arranged.indices where arranged[index].role == .user {
      let parts = arranged[index].parts
      arranged[index].parts = parts.filter(\.isResult) + parts.filter { !$0.isResult }
    }
    return Arranged(system: system.isEmpty ? nil : system, messages: arranged)
  }

  /// Gives the calls that have none a result, in the message behind theirs.
  private static func close(_ open: inout [String], in messages: inout [Message]) {
    guard !open.isEmpty, let last = messages.last else { return }
    let results = open.map { Part.result(id: $0, data: "[no result]", isError: true) }
    open = []
    if last.role == .user {
      messages[messages.count - 1].parts += results
    } else {
      messages.append(Message(.user, results))
    }
  }
}

extension ModelPrompt.Part {
  fileprivate var isResult: Bool { if case .result = self { true } else { false } }

  /// The words; `nil` where it is something else, or nothing is said.
  var words: String? {
    guard case .text(let text) = self, !text.isEmpty else { return nil }
    return text
  }

  /// The part as a provider is told it; `nil` where it is not.
  ///
  /// - Parameter open: the calls that still have no result.
  fileprivate func told(
    areCallsTold: Bool, open: inout [String], _ isKept: (JSONObject) -> Bool
  ) -> Self? {
    switch self {
    case .text: return words == nil ? nil : self
    case .reasoning(let block): return !areCallsTold && isKept(block) ? self : nil
    case .call(let id, let name, let input):
      if areCallsTold { return .text("[\(id): called \(name) with \(input.plainText)]") }
      open.append(id)
      return self
    case .result(let id, let data, let isError):
      if let index = open.firstIndex(where: { $0.hasSameUTF8(as: id) }) {
        open.remove(at: index)
        return self
      }
      return .text("[\(id): \(isError ? "failed" : "returned") \(data.plainText)]")
    }
  }
}
