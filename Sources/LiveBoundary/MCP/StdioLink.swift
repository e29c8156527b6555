import AgentRuntime
import AgentTrace
import Synchronization

/// A server that is a process: a message a line, in both directions.
final class StdioLink: MCPLink {
  /// What a request waits for.
  private enum Word: Sendable {
    case reply(RPCReply)
    case progress(String)
    case failed(MCPFault)
  }

  private struct Waiting {
    var words: AsyncStream<Word>.Continuation
    /// When the server last said something of it.
    var heardAt = ContinuousClock.now
    var reports = 0
  }

  private struct State {
    var nextID = 1
    var waiting: [Int: Waiting] = [:]
    var end: String?
    var hasListChanged = false
    /// Lines that are no messages, and the beginning of the first.
    var strays = 0
    var firstStray = ""
    var isFirstStrayCut = false
    /// Replies to requests of the server's own.
    var ownReplies = 0
    var process: ServerProcess?
  }

  /// How much progress of one request is passed on.
  private static let reportLimit = 10_000
  /// How many requests of the server's own are replied to.
  private static let ownReplyLimit = 10_000

  private let state = Mutex(State())
  private let cancellation: Cancellation
  private let edges: CutEdges

  private init(_ cancellation: Cancellation, _ edges: CutEdges) {
    self.cancellation = cancellation
    self.edges = edges
  }

  /// Starts the server.
  ///
  /// - Throws: ``MCPFault``, where it cannot be started.
  static func open(
    _ program: ProgramStart, trimming edges: CutEdges, until cancellation: Cancellation
  ) async throws -> StdioLink {
    let link = StdioLink(cancellation, edges)
    let process = try await ServerProcess.start(
      program, receive: { link.take($0) }, ended: { link.finish($0, $1) })
    link.state.withLock { $0.process = process }
    return link
  }

  var end: String? { state.withLock { $0.end } }

  func takeListChange() -> Bool {
    state.withLock { state in
      defer { state.hasListChanged = false }
      return state.hasListChanged
    }
  }

  /// Each message of a modern server's says its version itself.
  func use(_ version: MCPVersion) async {}

  func close() async {
    await state.withLock { $0.process }?.close()
  }

  func abandon() async {
    await state.withLock { $0.process }?.close(atOnce: true)
  }

  // MARK: Out

  func notify(_ method: String, _ params: JSONObject) async {
    var message: JSONObject = ["jsonrpc": "2.0", "method": .string(method)]
    if !params.isEmpty { message["params"] = .object(params) }
    send(.object(message))
  }

  private func send(_ message: JSONValue) {
    state.withLock { $0.process }?.send(CanonicalJSON.encode(message, form: .plain))
  }

  func reply(to request: RPCRequest, within limits: ReplyLimits) async throws -> RPCReply {
    let (words, continuation) = AsyncStream<Word>.makeStream()
    let id = try state.withLock { state in
      if let end = state.end { throw MCPFault(.notSent, end) }
      defer { state.nextID += 1 }
      state.waiting[state.nextID] = Waiting(words: continuation)
      return state.nextID
    }
    defer { state.withLock { _ = $0.waiting.removeValue(forKey: id) } }
    var request = request
    if request.method == "tools/call" {
      var meta = request.params["_meta"]?.objectValue ?? [:]
      meta["progressToken"] = JSONValue(id)
      request.params["_meta"] = .object(meta)
    }
    send(request.message(id: id))
    let tellCancelled: @Sendable () -> Void = {
      let signal = self.cancellation.signal ?? "a signal"
      continuation.yield(.failed(MCPFault(.cancelled, "cancelled by \(signal)")))
    }
    let word = await cancellation.whileListening(tellCancelled) {
      await firstOf(words, id, limits)
    }
    switch word {
    case .reply(let reply): return reply
    case .failed(let fault):
      let isHandshake = ["initialize", "server/discover"].contains(request.method)
      switch fault.kind {
      case .timeout where !isHandshake, .cancelled where !isHandshake:
        await notify(
          "notifications/cancelled",
          ["requestId": JSONValue(id), "reason": .string(fault.description)])
      default: break
      }
      throw fault
    case .progress: throw MCPFault(.lost, "no reply")
    }
  }

  /// The reply, or why there is none, whichever is first.
  private func firstOf(_ words: AsyncStream<Word>, _ id: Int, _ limits: ReplyLimits) async -> Word {
    await withTaskGroup(of: Word.self) { group in
      group.addTask {
        for await word in words {
          guard case .progress(let text) = word else { return word }
          RunProgress.report(text)
        }
        return .failed(MCPFault(.cancelled, "cancelled"))
      }
      group.addTask { .failed(await self.timeout(of: id, limits)) }
      let first = await group.next() ?? .failed(MCPFault(.lost, "no reply"))
      group.cancelAll()
      return first
    }
  }

  private func timeout(of id: Int, _ limits: ReplyLimits) async -> MCPFault {
    let start = ContinuousClock.now
    let total = start + .microseconds(limits.totalMicroseconds)
    while !Task.isCancelled {
      let heardAt = state.withLock { $0.waiting[id]?.heardAt } ?? start
      let idle = limits.idleMicroseconds.map { heardAt + .microseconds($0) } ?? total
      let end = min(total, idle)
      if ContinuousClock.now >= end {
        let words =
          end == total
          ? "no reply in time"
          : "nothing was heard for \(Self.seconds(limits.idleMicroseconds ?? 0)) seconds"
        // A reply to a number that was sent as a text answers nothing: it is what to look at.
        return MCPFault(.timeout, words + state.withLock { strays($0) })
      }
      try? await Task.sleep(until: end, tolerance: .zero)
    }
    return MCPFault(.cancelled, "cancelled")
  }

  private static func seconds(_ microseconds: Int) -> JSONValue {
    JSONValue(Double(microseconds) / 1_000_000)
  }

  // MARK: In

  private func take(_ line: LineSplitter.Line) {
    if line.isCut {
      return fail(
        line, "a message of \(line.count) bytes; \(ServerProcess.lineLimitBytes) are read at most")
    }
    let bytes = line.bytes.withoutByteOrderMark
    guard let first = bytes.first(where: { $0 > 0x20 }) else { return }
    let mayBeBatch = first == UInt8(ascii: "[")
    guard mayBeBatch || first == UInt8(ascii: "{") else { return noteStray(bytes) }
    let value: JSONValue
    do { value = try JSONValue(parsing: bytes) } catch {
      // Lines of a program's own log begin so, too, and may quote a message.
      if mayBeBatch { return noteStray(bytes) }
      return fail(line, "a message that cannot be read: \(error)")
    }
    for message in IncomingMessage.all(in: value) { take(message, in: bytes) }
  }

  private func take(_ message: IncomingMessage, in bytes: [UInt8]) {
    switch message {
    case .reply(let id, let reply): tell(id, .reply(reply))
    case .request(let id, let method): answer(method, id: id)
    case .notification(let method, let params): take(method, params)
    case .other: noteStray(bytes)
    }
  }

  /// A reply that comes twice, late or for nobody finds no one waiting.
  private func tell(_ id: Int, _ word: Word) {
    state.withLock { $0.waiting.removeValue(forKey: id) }?.words.yield(word)
  }

  private func take(_ method: String, _ params: JSONObject) {
    switch method {
    case "notifications/tools/list_changed": state.withLock { $0.hasListChanged = true }
    case "notifications/progress":
      guard let id = params["progressToken"]?.intValue else { return }
      let text = params["message"]?.stringValue
      state.withLock { state in
        guard var waiting = state.waiting[id] else { return }
        waiting.heardAt = .now
        if let text, waiting.reports < Self.reportLimit {
          waiting.reports += 1
          waiting.words.yield(.progress("\(text.prefix(utf8Bytes: 4_096))\n"))
        }
        state.waiting[id] = waiting
      }
    default: break
    }
  }

  /// No capability was declared, so that a server may ask for nothing but a sign of life.
  private func answer(_ method: String, id: JSONValue) {
    let mayAnswer = state.withLock { state in
      state.ownReplies += 1
      return state.ownReplies <= Self.ownReplyLimit
    }
    guard mayAnswer else { return }
    var reply: JSONObject = ["jsonrpc": "2.0", "id": id]
    if method.hasSameUTF8(as: "ping") {
      reply["result"] = [:]
    } else {
      reply["error"] = [
        "code": JSONValue(RPCError.methodNotFound), "message": "this client offers nothing",
      ]
    }
    send(.object(reply))
  }

  private func noteStray(_ bytes: [UInt8]) {
    state.withLock { state in
      state.strays += 1
      if state.strays == 1 {
        state.isFirstStrayCut = bytes.count > 200
        state.firstStray = String(decoding: bytes.prefix(200).withoutTornCharacter, as: UTF8.self)
      }
    }
  }

  /// A message that cannot be read. Whose reply it was to be its beginning may tell; else nobody's can be
  /// trusted to come any more.
  private func fail(_ line: LineSplitter.Line, _ words: String) {
    let fault = MCPFault(.unreadable, "the server sent \(words)")
    if let id = Self.idInHead(line.bytes) { return tell(id, .failed(fault)) }
    let waiting = state.withLock { state in
      defer { state.waiting = [:] }
      return state.waiting
    }
    for request in waiting.values { request.words.yield(.failed(fault)) }
  }

  /// The number behind the first `"id":` before any result.
  static func idInHead(_ bytes: [UInt8]) -> Int? {
    let head = bytes.prefix(LineSplitter.headBytes)
    guard let key = head.firstRange(of: Array("\"id\"".utf8)) else { return nil }
    for word in ["\"result\"", "\"error\"", "\"params\""] {
      if let other = head.firstRange(of: Array(word.utf8)), other.lowerBound < key.lowerBound {
        return nil
      }
    }
    var rest = head[key.upperBound...].drop { $0 <= 0x20 }
    guard rest.popFirst() == UInt8(ascii: ":") else { return nil }
    rest = rest.drop { $0 <= 0x20 }
    let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return Int(String(decoding: digits, as: UTF8.self))
  }

  /// The server has ended: nothing more comes.
  ///
  /// - Parameter errors: the end of what it wrote to standard error.
  private func finish(_ words: String, _ errors: Tail) {
    let said = edges.quote(errors)
    let (waiting, end) = state.withLock { state -> ([Int: Waiting], String) in
      let end = state.end ?? words + said + strays(state)
      state.end = end
      defer { state.waiting = [:] }
      return (state.waiting, end)
    }
    for request in waiting.values { request.words.yield(.failed(MCPFault(.lost, end))) }
  }

  private func strays(_ state: State) -> String {
    state.strays == 0
      ? ""
      : "; on standard output stood \(state.strays) \(state.strays == 1 ? "line" : "lines")"
        + " not to be understood, first "
        + "“\(edges.trimmed(state.firstStray, state.isFirstStrayCut ? .end : []))”"
  }
}
