import AgentRuntime
import AgentTrace

/// Tells the conversations of one process apart that go through a proxy, by what is said in them and by the ids
/// that providers gave to calls.
///
/// A request goes on with a conversation
/// 1. whose last reply it names (where the provider keeps conversations),
/// 2. or of which it holds the last request and its reply, or what came of a call that is open there. Of several
///    that fit, the one of which it names most calls, and of those one whose last request and reply it holds; one
///    of which it names none, though both have some, is another,
/// 3. or of which it begins with the same message under the same instructions, while no request of that
///    conversation is on its way: a context that was shortened, or a try that is made again. The very same
///    request, while calls of the last reply are open or others ask the same, is a conversation of its own.
///
/// Any other request begins a new one.
struct Conversations {
  /// What a request means for its conversation.
  struct Turn {
    /// Which request of all.
    var number: Int
    /// Which conversation, from 0, in the order in which they begin.
    var conversation: Int
    /// What the conversation is called where it is not the agent's own.
    var name: String
    /// Whoever took the conversation over; `nil` while nobody has.
    var successor: String?
    /// Whether it is the first request of the conversation.
    var isFirst: Bool
    /// What the model is given, with the ids of calls that are ours.
    var messages: [JSONValue]
    /// Results of calls that had none so far.
    var results: [Result]
    /// What people say that nobody had said before.
    var words: [JSONValue]
    /// The tools of calls that it tells of, and that no reply held.
    var unheld: [String]
    /// Whether the list of tools is another one than last time.
    var hasNewTools: Bool
    /// Whether the same was asked last time, and came to nothing.
    var isTriedAgain: Bool
    /// The digest of the request, and all that it asks for, what it goes on from included.
    var digest: String
    var request: ObservedRequest
    /// The request's fingerprints, for the reply to stand behind.
    fileprivate var prints: Prints
  }

  /// What came of a call.
  struct Result {
    var callId: String
    var tool: String
    var step: Int
    var data: JSONValue
    var isError: Bool
    /// Whether it was told as words of the user, so that nobody says whether it is an error.
    var isOfWords = false
  }

  private struct OpenCall {
    var callId: String
    var providerID: String
    var tool: String
    var step: Int
  }

  /// What is said in a request, instructions aside: after each message the digest of all so far.
  fileprivate struct Prints {
    private(set) var chain = [Digest(of: [])]

    init(of messages: [JSONValue]) {
      for print in Conversations.prints(of: messages) { chain.append(Digest(linking: end, print)) }
    }

    var end: Digest { chain[chain.count - 1] }
    /// How many messages there are; what a model says at once is one.
    var count: Int { chain.count - 1 }
    /// The first message; `nil` where there is none.
    var first: Digest? { count > 0 ? chain[1] : nil }

    /// Whether it begins with all of another one.
    func starts(with other: Prints) -> Bool {
      other.count <= count && chain[other.count] == other.end
    }
  }

  private struct Conversation {
    var name: String
    /// The last request.
    var prints = Prints(of: [])
    /// The last request together with its reply.
    var end: Digest?
    var replyID: String?
    var instructions: Digest
    /// The instructions and tools that it began with.
    var firstInstructions: Digest
    var firstTools: Digest?
    var tools: Digest?
    var successor: String?
    /// The whole of what was said, for requests that name what they go on from.
    var messages: [JSONValue] = []
    var open: [OpenCall] = []
    var callIDs: [String: String] = [:]
    var underWay = 0
    var requests = 0
    var replies = 0
    var hasTools = false
    var lastDigest = ""
    /// The step of the last reply that held calls.
    var lastStep = 0
    var hasFailed = false
    /// The number of the last request.
    var lastNumber = 0

    /// What those have in common that begin alike; `nil` where nothing was said.
    var beginning: Digest? { prints.first.map { Digest(linking: instructions, $0) } }
  }

  /// How many conversations are known at most; of more the ones that were silent longest are forgotten, and
  /// whoever goes on with one begins another.
  private static let limit = 8_192
  /// How many that begin alike are looked at.
  private static let alikeLimit = 64

  private var all: [Int: Conversation] = [:]
  /// How many there are, those included that were forgotten.
  private(set) var count = 0
  private var names: CallerNames
  /// How many requests there were.
  private var number = 0
  /// Of which replies are on their way.
  private var underWay: Set<Int> = []
  /// The fingerprints of requests of which the replies are being handed on to their ends, by their numbers.
  private var ending: [Int: Prints] = [:]
  /// Where to look for those that end so, whose last reply has this id, of which a call with this id is open, or
  /// that begin so.
  private var ends = Places<Digest>()
  private var replyIDs = Places<String>()
  private var openIDs = Places<String>()
  private var beginnings = Places<Digest>()
  /// All calls that replies held.
  private var calls = HeldCalls()

  /// Conversations by something that they have.
  private struct Places<Key: Hashable & Sendable>: Sendable {
    private var places: [Key: Set<Int>] = [:]

    func of(_ key: Key) -> Set<Int> { places[key] ?? [] }

    mutating func add(_ key: Key?, _ conversation: Int) {
      if let key { places[key, default: []].insert(conversation) }
    }

    mutating func remove(_ key: Key?, _ conversation: Int) {
      guard let key else { return }
      places[key]?.remove(conversation)
      if places[key]?.isEmpty == true { places[key] = nil }
    }
  }

  init(_ callers: [CallerName] = []) { names = CallerNames(callers) }

  /// How many replies a conversation has.
  func replies(of conversation: Int) -> Int { all[conversation]?.replies ?? 0 }

  /// Whether a conversation has tools of which its model may choose, or has called some.
  func hasTools(_ conversation: Int) -> Bool { all[conversation]?.hasTools ?? false }

  /// The requests as which one begins, and of which the replies are being handed on to their ends: whoever asks now
  /// may know them. Those that come to their ends later it does not know.
  func ending(before request: ObservedRequest) -> Set<Int> {
    guard !ending.isEmpty else { return [] }
    let prints = Prints(of: request.messages)
    return Set(ending.lazy.filter { prints.starts(with: $0.value) }.map(\.key))
  }

  /// Whether a request seems to be made in the knowledge of a reply that was not taken in yet: one of these, or
  /// one to a request that was not answered so far, as which it begins, and says more, while no conversation is
  /// known that it goes on with.
  func mayAnswerUnderWay(_ request: ObservedRequest, ending known: Set<Int>) -> Bool {
    guard !underWay.isEmpty else { return false }
    if known.contains(where: { ending[$0] != nil }) { return true }
    let prints = Prints(of: request.messages)
    if let previous = request.previousID { return replyIDs.of(previous).isEmpty }
    let isOpen = underWay.contains { index in
      guard let own = all[index] else { return false }
      return own.prints.count > 0 && own.prints.count < prints.count
        && prints.starts(with: own.prints)
    }
    return isOpen && goneOn(with: request, prints, byIDs: true) == nil
  }

  /// Takes in a request.
  mutating func begin(_ request: ObservedRequest) -> Turn {
    var request = request
    let instructions = Digest(of: .array(request.messages.filter { $0["role"] == "system" }))
    var prints = Prints(of: request.messages)
    let index = place(of: request, prints, instructions) ?? open(request, instructions)
    var own = take(index)
    if let previous = request.previousID, own.replyID == previous {
      request.messages =
        request.messages.filter { $0["role"] == "system" } + own.messages
        + request.messages.filter { $0["role"] != "system" }
      prints = Prints(of: request.messages)
    }
    let tools = Digest(of: .array(request.tools))
    let digest = request.digest
    handOver(&own, request, instructions, tools)
    number += 1
    var turn = Turn(
      number: number, conversation: index, name: own.name, successor: own.successor,
      isFirst: own.requests == 0, messages: [], results: [], words: [],
      unheld: calls.unheld(
        in: request.messages, isFirst: own.requests == 0 || own.underWay > 0),
      hasNewTools: own.tools != tools && !(own.tools == nil && request.tools.isEmpty),
      isTriedAgain: own.hasFailed && own.lastDigest == digest && own.underWay == 0,
      digest: digest, request: request, prints: prints)
    if let end = own.end, prints.count > own.prints.count,
      prints.chain[own.prints.count + 1] == end
    {
      turn.words = Self.words(
        in: request.messages, behind: own.prints.count + 1)
    }
    turn.results = Self.takeResults(of: request.messages, in: &own)
    // What tools returned is no word of a person.
    if turn.results.contains(where: \.isOfWords) { turn.words = [] }
    turn.messages = request.messages.map { Self.translated($0, own.callIDs) }
    own.instructions = instructions
    own.tools = tools
    own.requests += 1
    own.hasTools = own.hasTools || request.hasChoiceOfTools
    own.underWay += 1
    own.lastDigest = digest
    own.hasFailed = false
    own.prints = prints
    own.end = nil
    own.messages =
      request.keepsMessages ? request.messages.filter { $0["role"] != "system" } : []
    own.lastNumber = number
    put(own, at: index)
    return turn
  }

  /// Takes a conversation out to change it; see ``put(_:at:)``.
  private mutating func take(_ index: Int) -> Conversation {
    guard let own = all.removeValue(forKey: index) else {
      // It was forgotten meanwhile.
      let nothing = Digest(of: [])
      return Conversation(
        name: "agent-\(index)", instructions: nothing, firstInstructions: nothing)
    }
    ends.remove(own.end, index)
    replyIDs.remove(own.replyID, index)
    for call in own.open where !call.providerID.isEmpty { openIDs.remove(call.providerID, index) }
    beginnings.remove(own.beginning, index)
    return own
  }

  private mutating func put(_ own: Conversation, at index: Int) {
    all[index] = own
    ends.add(own.end, index)
    replyIDs.add(own.replyID, index)
    for call in own.open where !call.providerID.isEmpty { openIDs.add(call.providerID, index) }
    beginnings.add(own.beginning, index)
    if own.underWay > 0 { underWay.insert(index) } else { underWay.remove(index) }
  }

  private mutating func forgetSome() {
    guard all.count >= Self.limit else { return }
    let silent = all.filter { $0.value.underWay == 0 }.sorted {
      ($0.value.lastNumber, $0.key) < ($1.value.lastNumber, $1.key)
    }
    for (index, _) in silent.prefix(Self.limit / 2) {
      _ = take(index)
    }
  }

  /// Other instructions together with other tools, in a conversation that goes on, are another one's: it was
  /// handed over. Instructions alone may hold the time of day.
  private func handOver(
    _ own: inout Conversation, _ request: ObservedRequest, _ instructions: Digest, _ tools: Digest
  ) {
    guard own.requests > 0 else {
      own.firstTools = tools
      return
    }
    guard own.instructions != instructions, own.tools != tools else { return }
    let isBack = own.firstInstructions == instructions && own.firstTools == tools
    own.successor = isBack ? nil : names.successor(in: request)
  }

  /// Takes in that whoever asked may have all of the reply before it is taken in.
  mutating func willEnd(_ turn: Turn) { ending[turn.number] = turn.prints }

  /// Takes in that a request came to nothing.
  mutating func fail(_ turn: Turn) {
    ending[turn.number] = nil
    var own = take(turn.conversation)
    own.underWay -= 1
    own.hasFailed = true
    put(own, at: turn.conversation)
  }

  /// Takes in the reply to a request.
  mutating func end(_ turn: Turn, _ reply: ProviderReply, calls: [ProposedCall], step: Int) {
    ending[turn.number] = nil
    var own = take(turn.conversation)
    own.underWay -= 1
    own.replies += 1
    own.hasTools = own.hasTools || turn.request.tools.isEmpty && !calls.isEmpty
    let message = Self.message(reply, calls)
    // Of two replies at once the one that came last is gone on with, if either is.
    own.prints = turn.prints
    own.end = Self.prints(of: [message]).first.map { Digest(linking: turn.prints.end, $0) }
    if turn.request.keepsMessages {
      own.replyID = reply.id
      own.messages.append(message)
    }
    own.lastStep = step
    for call in calls {
      let id = call.providerCallId ?? ""
      own.open.append(OpenCall(callId: call.callId, providerID: id, tool: call.name, step: step))
      self.calls.add(id: id, name: call.name, input: call.input)
      if !id.isEmpty { own.callIDs[id] = call.callId }
    }
    put(own, at: turn.conversation)
  }

  /// Takes in that of the last reply only this was handed on.
  ///
  /// - Parameters:
  ///   - reply: `nil` where nothing was.
  ///   - calls: those that were.
  mutating func amend(
    _ turn: Turn, _ reply: ProviderReply?, calls: [ProposedCall], step: Int
  ) {
    var own = take(turn.conversation)
    own.open.removeAll { open in
      open.step == step && !calls.contains { $0.callId.hasSameUTF8(as: open.callId) }
    }
    if own.messages.last?["role"] == "assistant" { own.messages.removeLast() }
    let message = reply.map { Self.message($0, calls) }
    own.end = message.flatMap { Self.prints(of: [$0]).first }.map {
      Digest(linking: turn.prints.end, $0)
    }
    if let message, turn.request.keepsMessages { own.messages.append(message) }
    put(own, at: turn.conversation)
  }

  // MARK: Which one

  private func place(
    of request: ObservedRequest, _ prints: Prints, _ instructions: Digest
  ) -> Int? {
    if let previous = request.previousID, let found = replyIDs.of(previous).max() { return found }
    return goneOn(with: request, prints, byIDs: true)
      ?? goneOn(with: request, prints, byIDs: false) ?? begunAgain(prints, instructions)
  }

  /// The conversation of which a request holds the end.
  ///
  /// - Parameter byIDs: whether one of which it names no call, though both have some, is another; not where
  ///   whoever asks makes up ids of its own.
  private func goneOn(
    with request: ObservedRequest, _ prints: Prints, byIDs: Bool
  ) -> Int? {
    let (ids, results) = Self.callIDs(in: request.messages)
    var ended: Set<Int> = []
    for end in prints.chain.dropFirst() { ended.formUnion(ends.of(end)) }
    var found = ended
    for id in results { found.formUnion(openIDs.of(id)) }
    var best: (index: Int, rank: (named: Int, isHeld: Int, length: Int))?
    for index in found.sorted() {
      guard let own = all[index] else { continue }
      let named = ids.count { own.callIDs[$0] != nil }
      if byIDs, named == 0, !ids.isEmpty, !own.callIDs.isEmpty { continue }
      // Some providers give every conversation the same ids: then what was said decides.
      let rank = (named: named, isHeld: ended.contains(index) ? 1 : 0, length: own.prints.count)
      // Of equals the first: it is gone on with, and the next one is the next request's.
      if let before = best, before.rank >= rank { continue }
      best = (index, rank)
    }
    return best?.index
  }

  private func begunAgain(_ prints: Prints, _ instructions: Digest) -> Int? {
    guard let first = prints.first else { return nil }
    let isAskedNow = underWay.contains { all[$0]?.prints.end == prints.end }
    let alike = beginnings.of(Digest(linking: instructions, first)).sorted(by: >)
    return alike.prefix(Self.alikeLimit).first { index in
      guard let own = all[index], own.underWay == 0 else { return false }
      guard own.prints.end == prints.end, !own.hasFailed else { return true }
      return !isAskedNow && !own.open.contains { $0.step == own.lastStep }
    }
  }

  private mutating func open(_ request: ObservedRequest, _ instructions: Digest) -> Int {
    forgetSome()
    defer { count += 1 }
    all[count] = Conversation(
      name: names.name(of: request), instructions: instructions,
      firstInstructions: instructions)
    return count
  }

  // MARK: What was said

  /// Messages without instructions, each by a digest of who speaks, the words, calls without their ids and
  /// results. What a model says at once is one: its words together, then its calls, whatever the dialect makes
  /// of it. What it thought is no part of it, nor what its provider ran, because not everyone sends it back.
  fileprivate static func prints(of messages: [JSONValue]) -> [Digest] {
    var joined: [(role: String, parts: [JSONValue])] = []
    for message in messages {
      let role = message["role"]?.stringValue ?? ""
      guard role != "system" else { continue }
      let parts = message["content"]?.arrayValue ?? []
      if joined.last?.role == role, role == "assistant" {
        joined[joined.count - 1].parts += parts
      } else {
        joined.append((role, parts))
      }
    }
    return joined.map { role, parts in
      let marks = role == "assistant" ? said(parts) : parts.map(mark(of:))
      return Digest(of: .array([.string(role)] + marks))
    }
  }

  private static func said(_ parts: [JSONValue]) -> [JSONValue] {
    let texts = parts.filter { $0["type"] == "text" }.compactMap { $0["text"]?.stringValue }
    let words = texts.joined().unicodeScalars.filter { !$0.properties.isWhitespace }
    let calls = parts.filter { $0["type"] == "tool_call" }.map(mark(of:))
    return [.string(String(String.UnicodeScalarView(words)))] + calls
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
      let text = Self.text(of: message)
      if !text.isEmpty { words.append(.string(text)) }
    }
    return words
  }

  private static func text(of message: JSONValue) -> String {
    (message["content"]?.arrayValue ?? []).compactMap { $0["text"]?.stringValue }
      .joined(separator: "\n")
  }

  /// The ids of all calls that a request speaks of, and of those of which it tells what came.
  private static func callIDs(in messages: [JSONValue]) -> (all: Set<String>, results: Set<String>)
  {
    var (ids, results): (Set<String>, Set<String>) = ([], [])
    for message in messages {
      for part in message["content"]?.arrayValue ?? [] {
        guard let id = part["callId"]?.stringValue, !id.isEmpty else { continue }
        ids.insert(id)
        if message["role"] == "tool" { results.insert(id) }
      }
    }
    return (ids, results)
  }

  /// Results of open calls: by their ids, and those without one by their tools, in their order.
  private static func takeResults(
    of messages: [JSONValue], in own: inout Conversation
  ) -> [Result] {
    var results: [Result] = []
    // Results behind the last reply alone can be of open calls.
    let start = messages.lastIndex { $0["role"] == "assistant" } ?? 0
    for message in messages[start...] where message["role"] == "tool" {
      for part in message["content"]?.arrayValue ?? [] {
        let id = part["callId"]?.stringValue ?? ""
        let name = part["name"]?.stringValue
        let place =
          id.isEmpty
          ? own.open.firstIndex {
            // Some dialects tell results by the names of their tools, though calls have ids.
            name.map($0.tool.hasSameUTF8(as:)) ?? $0.providerID.isEmpty
          } : own.open.firstIndex { $0.providerID.hasSameUTF8(as: id) }
        guard let place else { continue }
        let call = own.open.remove(at: place)
        results.append(
          Result(
            callId: call.callId, tool: call.tool, step: call.step, data: part["data"] ?? .null,
            isError: part["status"] == "error"))
      }
    }
    return results.isEmpty ? takeWords(messages[start...], in: &own) : results
  }

  /// Some frameworks tell in words what was called and what came of it: the assistant names the call, the user
  /// the result.
  private static func takeWords(
    _ messages: ArraySlice<JSONValue>, in own: inout Conversation
  ) -> [Result] {
    guard let said = messages.first, said["role"] == "assistant",
      !(said["content"]?.arrayValue ?? []).contains(where: { $0["type"] == "tool_call" })
    else { return [] }
    let last = own.open.filter { $0.step == own.lastStep }
    let words = text(of: said)
    let told = messages.dropFirst().filter { $0["role"] == "user" }.map(text(of:))
      .joined(separator: "\n")
    guard !last.isEmpty, !told.isEmpty,
      last.allSatisfy({
        words.contains($0.tool) || (!$0.providerID.isEmpty && words.contains($0.providerID))
      })
    else { return [] }
    own.open.removeAll { $0.step == own.lastStep }
    return last.map {
      Result(
        callId: $0.callId, tool: $0.tool, step: $0.step, data: .string(told), isError: false,
        isOfWords: true)
    }
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

extension Digest {
  /// A link of a chain.
  fileprivate init(linking first: Digest, _ second: Digest) {
    self.init(of: Array((first.hex + second.hex).utf8))
  }
}

extension ObservedRequest {
  /// Whether what is said in it may be left out of the next one, because the provider keeps it.
  fileprivate var keepsMessages: Bool {
    dialect.hasSameUTF8(as: Dialect.openaiResponses.rawValue)
  }
}
