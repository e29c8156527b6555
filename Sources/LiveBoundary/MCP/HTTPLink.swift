#if Live
  import AgentRuntime
  import AgentTrace
  import Synchronization

  /// A server behind an address ("streamable HTTP"): each request a POST, each reply one JSON body or a
  /// stream of events. Nothing is resumed, and no stream of its own is opened for what a server might say.
  final class HTTPLink: MCPLink {
    private struct State {
      var nextID = 1
      var version = MCPVersion.modern
      var sessionID: String?
      var end: String?
      var hasListChanged = false
      /// Where it is: where the server sends requests on to, it says so.
      var url: String
    }

    /// A request is to be made again at another address.
    private struct SentOn: Error {
      var url: String
    }

    private static let replyLimitBytes = 16 << 20
    private static let quoteBytes = 2_048
    /// How long a server is waited for that is told something.
    private static let noticeSeconds = 2.0
    /// How many requests of the server's own are replied to, in one stream.
    private static let ownReplyLimit = 100

    private let headers: [HTTPHeader]
    private let cancellation: Cancellation
    private let edges: CutEdges
    private let state: Mutex<State>

    /// - Throws: ``MCPFault`` where a variable of its headers is not set.
    init(_ endpoint: ServerEndpoint, until cancellation: Cancellation) throws {
      state = Mutex(State(url: endpoint.url))
      do { headers = try endpoint.headers.resolved() } catch {
        throw MCPFault(.notSent, "not asked: \(error)")
      }
      edges = CutEdges(
        CommandEnvironment(pass: endpoint.headers.flatMap(\.value.variables)))
      self.cancellation = cancellation
    }

    var end: String? { state.withLock { $0.end } }

    func takeListChange() -> Bool {
      state.withLock { state in
        defer { state.hasListChanged = false }
        return state.hasListChanged
      }
    }

    func use(_ version: MCPVersion) async { state.withLock { $0.version = version } }

    // MARK: Requests

    private func call(
      _ message: JSONValue, method: String, name: String? = nil,
      extra: [(name: String, value: String)] = [], _ timeouts: HTTPTimeouts
    ) -> HTTPCall {
      let (version, sessionID, url) = state.withLock { ($0.version, $0.sessionID, $0.url) }
      var headers = headers
      func set(_ name: String, _ value: String) {
        headers.removeAll { $0.name.lowercased() == name.lowercased() }
        headers.append(HTTPHeader(name, value))
      }
      set("Content-Type", "application/json")
      set("Accept", "application/json, text/event-stream")
      if headers["User-Agent"] == nil { set("User-Agent", "agent-eval") }
      if version.isModern {
        set("Mcp-Method", method)
        if let name { set("Mcp-Name", MCPHeaders.encoded(name)) }
        for header in extra { set(header.name, header.value) }
      }
      // The version is part of the headers since 2025-06-18, once it is settled.
      if method != "initialize", !version.name.precedesByUTF8("2025-06-18") {
        set("MCP-Protocol-Version", version.name)
      }
      if let sessionID { set("Mcp-Session-Id", sessionID) }
      return HTTPCall(
        url: url, headers: headers, body: CanonicalJSON.encode(message, form: .plain),
        timeouts: timeouts)
    }

    func reply(to request: RPCRequest, within limits: ReplyLimits) async throws -> RPCReply {
      let id = try state.withLock { state in
        if let end = state.end { throw MCPFault(.notSent, end) }
        defer { state.nextID += 1 }
        return state.nextID
      }
      var request = request
      if request.method == "tools/call" {
        var meta = request.params["_meta"]?.objectValue ?? [:]
        meta["progressToken"] = JSONValue(id)
        request.params["_meta"] = .object(meta)
      }
      let isInitialize = request.method == "initialize"
      let total = Double(limits.totalMicroseconds) / 1_000_000
      let idle = limits.idleMicroseconds.map { Double($0) / 1_000_000 } ?? total
      var timeouts = HTTPTimeouts(
        connect: min(total, 10), firstByte: min(idle, total), idle: min(idle, total), total: total)
      timeouts.isTotalLeftOver = true
      var call = call(
        request.message(id: id), method: request.method,
        name: request.method == "tools/call" ? request.params["name"]?.stringValue : nil,
        extra: request.headers,
        timeouts)
      do {
        for _ in 0..<HTTPRedirect.limit {
          let made = call
          do {
            return try await HTTPConnector.shared.perform(made, until: cancellation) { head, body in
              if let url = try HTTPRedirect.next(after: head.status, head.headers, from: made.url) {
                throw SentOn(url: url)
              }
              return try await self.read(head, &body, id: id, isInitialize: isInitialize)
            }
          } catch let sentOn as SentOn {
            call.url = sentOn.url
            state.withLock { $0.url = sentOn.url }
          }
        }
        throw HTTPFailure(.invalidCall, "the server sends the request on and on")
      } catch let failure as HTTPFailure {
        let fault = self.fault(failure)
        switch fault.kind {
        case .timeout, .cancelled: await tellCancelled(id, request.method, fault.description)
        default: break
        }
        throw fault
      }
    }

    private func fault(_ failure: HTTPFailure) -> MCPFault {
      switch failure.kind {
      case .invalidCall, .unreachable, .connectTimeout: MCPFault(.notSent, "\(failure)")
      case .firstByteTimeout, .idleTimeout, .totalTimeout: MCPFault(.timeout, "\(failure)")
      case .connectionLost: MCPFault(.lost, "\(failure)")
      case .tooLarge: MCPFault(.unreadable, "\(failure)")
      case .cancelled:
        MCPFault(.cancelled, "cancelled by \(cancellation.signal ?? "the run's end")")
      }
    }

    /// A modern server knows by the connection that was closed.
    private func tellCancelled(_ id: Int, _ method: String, _ reason: String) async {
      guard !state.withLock({ $0.version.isModern }), method != "initialize" else { return }
      await notify(
        "notifications/cancelled", ["requestId": JSONValue(id), "reason": .string(reason)])
    }

    func notify(_ method: String, _ params: JSONObject) async {
      var message: JSONObject = ["jsonrpc": "2.0", "method": .string(method)]
      if !params.isEmpty { message["params"] = .object(params) }
      await send(.object(message), method: method)
    }

    /// Sends what has no reply. That nobody hears it is no failure.
    private func send(_ message: JSONValue, method: String) async {
      let seconds = Self.noticeSeconds
      let call = call(
        message, method: method,
        HTTPTimeouts(connect: seconds, firstByte: seconds, idle: seconds, total: seconds))
      _ = try? await HTTPConnector.shared.perform(call) { _, body in
        _ = try await body.rest(limitBytes: Self.replyLimitBytes)
      }
    }

    func close() async {
      let (sessionID, url) = state.withLock { state in
        defer { state.sessionID = nil }
        return (state.sessionID, state.url)
      }
      guard let sessionID else { return }
      let seconds = Self.noticeSeconds
      let call = HTTPCall(
        method: "DELETE", url: url, headers: headers + [HTTPHeader("Mcp-Session-Id", sessionID)],
        timeouts: HTTPTimeouts(connect: seconds, firstByte: seconds, idle: seconds, total: seconds))
      _ = try? await HTTPConnector.shared.perform(call) { _, body in
        _ = try await body.rest(limitBytes: Self.replyLimitBytes)
      }
    }

    // MARK: Replies

    private func read(
      _ head: HTTPHead, _ body: inout HTTPBody, id: Int, isInitialize: Bool
    ) async throws -> RPCReply {
      guard (200..<300).contains(head.status) else { return try await refusal(head, &body) }
      if isInitialize, let sessionID = head.headers["mcp-session-id"] {
        state.withLock { $0.sessionID = sessionID }
      }
      let type = head.headers["content-type"]?.lowercased() ?? ""
      if type.hasPrefix("text/event-stream") { return try await stream(&body, id: id) }
      let bytes = try await body.rest(limitBytes: Self.replyLimitBytes)
      guard let reply = try await take(bytes, id: id) else {
        throw MCPFault(.unreadable, "the server sent something else than a reply")
      }
      return reply
    }

    private func stream(_ body: inout HTTPBody, id: Int) async throws -> RPCReply {
      var reader = EventStreamReader(
        limits: .init(lineBytes: Self.replyLimitBytes, eventBytes: Self.replyLimitBytes))
      var ownReplies = 0
      while let piece = try await body.next() {
        let events: [ServerSentEvent]
        do { events = try reader.take(piece) } catch { throw MCPFault(.unreadable, "\(error)") }
        for event in events where !event.data.isEmpty {
          if let reply = try await take(event.data, id: id, ownReplies: &ownReplies) {
            return reply
          }
        }
      }
      throw MCPFault(.lost, "the server's stream ended before the reply")
    }

    private func take(_ bytes: [UInt8], id: Int) async throws -> RPCReply? {
      var ownReplies = 0
      return try await take(bytes, id: id, ownReplies: &ownReplies)
    }

    /// The reply to a request; `nil` for anything else.
    private func take(
      _ bytes: [UInt8], id: Int, ownReplies: inout Int
    ) async throws -> RPCReply? {
      let value: JSONValue
      do { value = try JSONValue(parsing: bytes.withoutByteOrderMark) } catch {
        throw MCPFault(.unreadable, "the server sent a message that cannot be read: \(error)")
      }
      var reply: RPCReply?
      for message in IncomingMessage.all(in: value) {
        if case .reply(id, let found) = message {
          reply = reply ?? found
        } else {
          await take(message, ownReplies: &ownReplies)
        }
      }
      return reply
    }

    /// What is no reply to the request that is waited for.
    private func take(_ message: IncomingMessage, ownReplies: inout Int) async {
      switch message {
      case .reply, .other: break
      case .notification(let method, let params):
        if method == "notifications/tools/list_changed" {
          state.withLock { $0.hasListChanged = true }
        } else if method == "notifications/progress", let text = params["message"]?.stringValue {
          RunProgress.report("\(text.prefix(utf8Bytes: 4_096))\n")
        }
      case .request(let own, let method):
        ownReplies += 1
        guard ownReplies <= Self.ownReplyLimit else { return }
        var reply: JSONObject = ["jsonrpc": "2.0", "id": own]
        if method == "ping" {
          reply["result"] = [:]
        } else {
          reply["error"] = [
            "code": JSONValue(RPCError.methodNotFound), "message": "this client offers nothing",
          ]
        }
        await send(.object(reply), method: method)
      }
    }

    /// A reply of HTTP that says no, with or without one of the protocol in its body.
    private func refusal(_ head: HTTPHead, _ body: inout HTTPBody) async throws -> RPCReply {
      var bytes: [UInt8] = []
      while bytes.count < 64 << 10, let piece = try await body.next() { bytes += piece }
      if head.status == 404, state.withLock({ $0.sessionID }) != nil {
        let end = "the server no longer knows the session"
        state.withLock { state in
          state.end = end
          state.sessionID = nil
        }
        throw MCPFault(.sessionGone, end)
      }
      if let value = try? JSONValue(parsing: bytes.withoutByteOrderMark),
        let error = value["error"],
        error["code"]?.intValue != nil
      {
        return .error(RPCError(error))
      }
      let text = edges.trimmed(
        String(decoding: bytes.prefix(Self.quoteBytes).withoutTornCharacter, as: UTF8.self),
        bytes.count > Self.quoteBytes ? .end : [])
      throw MCPFault(
        .status(head.status), text.isEmpty ? "\(head.status)" : "\(head.status): \(text)")
    }
  }
#endif
