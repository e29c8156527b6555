import AgentRuntime
import AgentTrace

/// Tells the conversations of one process apart that go through a proxy, by what is said in them.
///
/// A request goes on with a conversation
/// 1. whose last reply it names (where the provider keeps conversations),
/// 2. or of which it holds the last request and its reply, or what came of a call that is open there,
/// 3. or of which it begins with the same message under the same instructions, while no request of that
///    conversation is on its way: a context that was shortened, or a try that is made again.
///
/// Any other request begins a new one. The first conversation is the agent's, the others are those of
/// `agent-2`, `agent-3` and so on, in the order in which they begin.
struct Conversations {
  /// What a request means for its conversation.
  struct Turn {
    /// Which conversation, from 0.
    var conversation: Int
    /// Who speaks in it; `nil` for the agent.
    var caller: String?
    /// What the model is given, with the ids of calls that are ours.
    var messages: [JSONValue]
    /// Results of calls that had none so far.
    var results: [Result]
    /// What people say that nobody had said before.
    var words: [JSONValue]
    /// Whether the list of tools is another one than last time.
    var hasNewTools: Bool
    /// Whether the same was asked last time, and came to nothing.
    var isTriedAgain: Bool
    /// The digest of the request, and all that it asks for, what it goes on from included.
    var digest: String
    var request: ObservedRequest
    /// The request's fingerprints, for the reply to stand behind.
    fileprivate var prints: [Digest]
  }

  /// What came of a call.
  struct Result {
    var callId: String
    var tool: String
    var step: Int
    var data: JSONValue
    var isError: Bool
  }

  private struct OpenCall {
    var callId: String
    var providerID: String
    var tool: String
    var step: Int
  }

  private struct Conversation {
    /// The messages of the last request, instructions aside, each by its digest.
    var prints: [Digest] = []
    /// The last reply.
    var replyPrint: Digest?
    var replyID: String?
    var instructions: Digest
    var tools: Digest?
    /// The whole of what was said, for requests that name what they go on from.
    var messages: [JSONValue] = []
    var open: [OpenCall] = []
    var callIDs: [String: String] = [:]
    var underWay = 0
    var lastDigest = ""
    var hasFailed = false
  }

  private var all: [Conversation] = []

  /// Takes in a request.
  mutating func begin(_ request: ObservedRequest) -> Turn {
    var request = request
    let instructions = Digest(of: .array(request.messages.filter { $0["role"] == "system" }))
    let index = place(of: request, instructions) ?? open(instructions)
    var own = all[index]
    if let previous = request.previousID, own.replyID == previous {
      request.messages =
        request.messages.filter { $0["role"] == "system" } + own.messages
        + request.messages.filter { $0["role"] != "system" }
    }
    let prints = Self.prints(of: request.messages)
    let tools = Digest(of: .array(request.tools))
    let digest = request.digest
    var turn = Turn(
      conversation: index, caller: index == 0 ? nil : "agent-\(index + 1)", messages: [],
      results: [], words: [],
      hasNewTools: own.tools != tools && !(own.tools == nil && request.tools.isEmpty),
      isTriedAgain: own.hasFailed && own.lastDigest == digest && own.underWay == 0,
      digest: digest, request: request, prints: prints)
    if let reply = own.replyPrint, prints.starts(with: own.prints + [reply]) {
      turn.words = Self.words(
        in: request.messages, behind: own.prints.count + 1)
    }
    turn.results = Self.takeResults(of: request.messages, in: &own)
    turn.messages = request.messages.map { Self.translated($0, own.callIDs) }
    own.instructions = instructions
    own.tools = tools
    own.underWay += 1
    own.lastDigest = digest
    own.hasFailed = false
    own.prints = prints
    own.replyPrint = nil
    own.messages = request.messages.filter { $0["role"] != "system" }
    all[index] = own
    return turn
  }

  /// Takes in that a request came to nothing.
  mutating func fail(_ turn: Turn) {
    all[turn.conversation].underWay -= 1
    all[turn.conversation].hasFailed = true
  }

  /// Takes in the reply to a request.
  mutating func end(_ turn: Turn, _ reply: ProviderReply, calls: [ProposedCall], step: Int) {
    let index = turn.conversation
    all[index].underWay -= 1
    let message = Self.message(reply, calls)
    // Of two replies at once the one that came last is gone on with, if either is.
    all[index].prints = turn.prints
    all[index].replyPrint = Self.prints(of: [message]).first
    all[index].replyID = reply.id
    all[index].messages.append(message)
    for call in calls {
      let id = call.providerCallId ?? ""
      all[index].open.append(
        OpenCall(callId: call.callId, providerID: id, tool: call.name, step: step))
      if !id.isEmpty { all[index].callIDs[id] = call.callId }
    }
  }

  /// Takes in that of the last reply only this was handed on.
  ///
  /// - Parameters:
  ///   - reply: `nil` where nothing was.
  ///   - calls: those that were.
  mutating func amend(
    _ turn: Turn, _ reply: ProviderReply?, calls: [ProposedCall], step: Int
  ) {
    let index = turn.conversation
    all[index].open.removeAll { open in
      open.step == step && !calls.contains { $0.callId.hasSameUTF8(as: open.callId) }
    }
    if all[index].messages.last?["role"] == "assistant" { all[index].messages.removeLast() }
    let message = reply.map { Self.message($0, calls) }
    all[index].replyPrint = message.flatMap { Self.prints(of: [$0]).first }
    if let message { all[index].messages.append(message) }
  }

  // MARK: Which one

  private func place(of request: ObservedRequest, _ instructions: Digest) -> Int? {
    if let previous = request.previousID,
      let found = all.indices.last(where: { all[$0].replyID == previous })
    {
      return found
    }
    let prints = Self.prints(of: request.messages)
    let results = Self.resultIDs(in: request.messages)
    let goingOn = all.indices.filter { index in
      let own = all[index]
      if let reply = own.replyPrint, prints.starts(with: own.prints + [reply]) { return true }
      return own.open.contains { !$0.providerID.isEmpty && results.contains($0.providerID) }
    }
    // The one of which the request repeats most.
    let best = goingOn.max { all[$0].prints.count < all[$1].prints.count }
    if let best { return best }
    guard let first = prints.first else { return nil }
    return all.indices.last { index in
      all[index].underWay == 0 && all[index].instructions == instructions
        && all[index].prints.first == first
    }
  }

  private mutating func open(_ instructions: Digest) -> Int {
    all.append(Conversation(instructions: instructions))
    return all.count - 1
  }

  // MARK: What was said

  /// Messages without instructions, each by a digest of who speaks, the words, calls without their ids and
  /// results. What stands next to each other and is one speaker's is one: dialects differ in that. What a
  /// model thought is no part of it, because not everyone sends it back.
  private static func prints(of messages: [JSONValue]) -> [Digest] {
    var joined: [(role: String, parts: [JSONValue])] = []
    for message in messages {
      let role = message["role"]?.stringValue ?? ""
      guard role != "system" else { continue }
      let parts = (message["content"]?.arrayValue ?? []).filter { $0["type"] != "reasoning" }
        .map(mark(of:))
      if joined.last?.role == role, role == "assistant" {
        joined[joined.count - 1].parts += parts
      } else {
        joined.append((role, parts))
      }
    }
    return joined.map { Digest(of: .array([.string($0.role)] + $0.parts)) }
  }

  private static func mark(of part: JSONValue) -> JSONValue {
    guard var object = part.objectValue else { return part }
    object["callId"] = nil
    return .object(object)
  }

  private static func message(_ reply: ProviderReply, _ calls: [ProposedCall]) -> JSONValue {
    var parts: [JSONValue] = []
    if let text = reply.reply["text"], text.stringValue?.isEmpty == false {
      parts.append(["type": "text", "text": text])
    }
    parts += calls.map {
      [
        "type": "tool_call", "callId": .string($0.providerCallId ?? ""), "name": .string($0.name),
        "input": $0.input,
      ]
    }
    return ["role": "assistant", "content": .array(parts)]
  }

  private static func words(in messages: [JSONValue], behind count: Int) -> [JSONValue] {
    var (words, seen, lastRole): ([JSONValue], Int, String) = ([], 0, "")
    for message in messages {
      let role = message["role"]?.stringValue ?? ""
      guard role != "system" else { continue }
      if role != "assistant" || lastRole != "assistant" { seen += 1 }
      lastRole = role
      guard seen > count, role == "user" else { continue }
      let texts = (message["content"]?.arrayValue ?? []).compactMap { $0["text"]?.stringValue }
      if !texts.isEmpty { words.append(.string(texts.joined(separator: "\n"))) }
    }
    return words
  }

  private static func resultIDs(in messages: [JSONValue]) -> Set<String> {
    var ids: Set<String> = []
    for message in messages where message["role"] == "tool" {
      for part in message["content"]?.arrayValue ?? [] {
        if let id = part["callId"]?.stringValue { ids.insert(id) }
      }
    }
    return ids
  }

  /// Results of open calls: by their ids, and those without one in their order.
  private static func takeResults(
    of messages: [JSONValue], in own: inout Conversation
  ) -> [Result] {
    var results: [Result] = []
    // Results behind the last reply alone can be of open calls.
    let start = messages.lastIndex { $0["role"] == "assistant" } ?? 0
    for message in messages[start...] where message["role"] == "tool" {
      for part in message["content"]?.arrayValue ?? [] {
        let id = part["callId"]?.stringValue ?? ""
        let place =
          id.isEmpty
          ? own.open.firstIndex { $0.providerID.isEmpty }
          : own.open.firstIndex { $0.providerID.hasSameUTF8(as: id) }
        guard let place else { continue }
        let call = own.open.remove(at: place)
        results.append(
          Result(
            callId: call.callId, tool: call.tool, step: call.step, data: part["data"] ?? .null,
            isError: part["status"] == "error"))
      }
    }
    return results
  }

  private static func translated(_ message: JSONValue, _ ids: [String: String]) -> JSONValue {
    guard var object = message.objectValue, let parts = object["content"]?.arrayValue else {
      return message
    }
    object["content"] = .array(
      parts.map { part in
        guard var fields = part.objectValue, let id = fields["callId"]?.stringValue,
          let own = ids[id]
        else { return part }
        fields["callId"] = .string(own)
        return .object(fields)
      })
    return .object(object)
  }
}
