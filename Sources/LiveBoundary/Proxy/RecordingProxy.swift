#if Live
  public import AgentRuntime
  import AgentTrace
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import Synchronization

  /// A server on loopback that passes requests on to model providers, or answers them from a recording, and
  /// has what it sees recorded.
  public struct RecordingProxy: Sendable {
    private let routes: ProxyRoutes
    let recorder: ExchangeRecorder
    private let source: (any ReplySource)?

    /// The most bytes of a request; a larger one is refused.
    static let requestLimitBytes = 256 << 20
    /// The most bytes of a request that a codec looks at.
    static let readLimitBytes = 64 << 20
    /// The most bytes of a reply that are kept in memory to be read and recorded.
    static let keptLimitBytes = 64 << 20

    /// - Parameters:
    ///   - routes: the providers that are forwarded to, by the paths that name them.
    ///   - recorder: is told what is asked and answered.
    ///   - source: what answers in place of the providers; `nil` to ask them.
    public init(
      _ routes: ProxyRoutes, recordingTo recorder: ExchangeRecorder,
      source: (any ReplySource)? = nil
    ) {
      self.routes = routes
      self.recorder = recorder
      self.source = source
    }

    /// Serves on a port that the system picks while some work goes on.
    ///
    /// - Parameters:
    ///   - network: where it is reached; `nil` for the network of this process.
    ///   - work: is given the port. When it ends, connections are closed and what they were about is recorded.
    public func serve<Result: Sendable>(
      in network: IsolatedNetwork? = nil,
      while work: @escaping @Sendable (_ port: Int) async throws -> Result
    ) async throws -> Result {
      let connect: @Sendable (any Channel) -> EventLoopFuture<any Channel> = {
        ServedConnection.accept($0)
      }
      let server =
        if let listener = network?.takeListener() {
          try await ServedConnection.listener.bind(listener, childChannelInitializer: connect)
        } else {
          try await ServedConnection.listener.bind(
            host: "127.0.0.1", port: 0, childChannelInitializer: connect)
        }
      let tables = SocketTables(of: network)
      return try await ServedConnection.serve(
        server, handle: { await handle($0, $1, tables) }, while: work)
    }

    // MARK: Connections

    /// One request after the other; what breaks a connection is nobody else's concern.
    private func handle(_ channel: any Channel, _ port: Int, _ tables: SocketTables) async {
      let watch = ClientWatch()
      let client = channel.remoteAddress?.port ?? 0
      let isEnded: @Sendable () -> Void = {
        watch.look { tables.isHeld(client, connectedTo: port) }
      }
      guard let connection = try? await ServedConnection.open(channel, isEnded: isEnded)
      else { return }
      connection.channel.closeFuture.whenComplete { _ in watch.leave() }
      try? await connection.executeThenClose { inbound, outbound in
        var parts = inbound.makeAsyncIterator()
        while case .head(let head)? = try await parts.next(isolation: #isolation) {
          guard let request = try await read(head, &parts, outbound) else { break }
          let client = Client(outbound: outbound, head: head, hasLeft: { watch.hasLeft })
          guard isOurs(head, port) else {
            try await client.refuse(.forbidden, "this proxy is for one command alone")
            break
          }
          let isWhole = await watch.whilePresent { await self.answer(request, client) }
          guard isWhole, head.isKeepAlive else { break }
        }
      }
    }

    /// Pages in a browser may send requests anywhere, but not under this name.
    private func isOurs(_ head: HTTPRequestHead, _ port: Int) -> Bool {
      let host = head.headers.first(name: "host")
      return host == nil || host == "127.0.0.1:\(port)" || host == "localhost:\(port)"
    }

    private func read(
      _ head: HTTPRequestHead,
      _ parts: inout NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator,
      _ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
    ) async throws -> ProxyRequest? {
      if head.headers.contains(where: {
        $0.name.lowercased() == "expect" && $0.value.lowercased() == "100-continue"
      }) {
        try await outbound.write(.head(HTTPResponseHead(version: head.version, status: .continue)))
      }
      var body: [UInt8] = []
      while let part = try await parts.next(isolation: #isolation) {
        switch part {
        case .body(let buffer):
          guard body.count + buffer.readableBytes <= Self.requestLimitBytes else {
            try await Client(outbound: outbound, head: head)
              .refuse(.payloadTooLarge, "requests of more than 256 MiB are not passed on")
            return nil
          }
          body.append(contentsOf: buffer.readableBytesView)
        case .end:
          return ProxyRequest(
            method: head.method.rawValue, target: head.uri,
            headers: head.headers.map { HTTPHeader($0.name, $0.value) }, body: body)
        case .head: return nil
        }
      }
      return nil
    }

    // MARK: Requests

    /// Answers one request; says whether the connection may be used again.
    private func answer(_ request: ProxyRequest, _ client: Client) async -> Bool {
      guard let (upstream, path) = routes.route(request.target) else {
        let names = routes.upstreams.map { "/\($0.name)\($0.basePath)" }
        let words = "no upstream has this path; there are \(names.joined(separator: ", "))"
        return (try? await client.refuse(.notFound, words)) != nil
      }
      await recorder.learn(request.secrets)
      let route = ProxyRoute(upstream: upstream, path: path)
      guard request.method == "POST", let dialect = Dialect(path: path) else {
        return await forward(request, route, client)
      }
      switch request.observed(dialect, path: path) {
      case .success(let observed):
        return await converse(request, observed, dialect, route, client)
      case .failure(let fault):
        return await forward(request, route, client, unread: fault.description)
      }
    }

    private func converse(
      _ request: ProxyRequest, _ observed: ObservedRequest, _ dialect: Dialect, _ route: ProxyRoute,
      _ client: Client
    ) async -> Bool {
      let turn = await recorder.begin(observed)
      if let words = await recorder.refusal(of: turn) {
        await recorder.forwarded(refused(request, route, words, observed))
        return (try? await client.refuse(.forbidden, words, isFinal: true)) != nil
      }
      let digest = Digest(of: request.body).hex
      if let given = source?.refusal(
        upstream: route.upstream.name, path: route.plainPath, bodyDigest: digest)
      {
        await recorder.wasRefused(turn)
        await recorder.forwarded(
          refused(request, route, "it was refused when it was recorded", observed, given))
        return (try? await send(given, given.headers.map { HTTPHeader($0.name, $0.value) }, client))
          != nil
      }
      if source == nil, await recorder.isHeld(streams: observed.streams) {
        return await hold(request, observed, dialect, route, turn, client)
      }
      let start = ContinuousClock.now
      let passed = await exchange(
        request, observed, route, client, willEnd: { await recorder.willEnd(turn) },
        recorded: {
          source?.reply(to: turn.request, upstream: route.upstream.name, path: route.plainPath)
        })
      var outcome = ExchangeRecorder.Outcome(
        passed.reply, error: passed.error, dialect,
        wire: WireRecord(
          upstream: route.upstream.name, method: request.method, path: route.path,
          dialect: dialect.rawValue, streams: observed.streams, parameters: observed.parameters,
          model: observed.model),
        requestId: passed.requestId,
        elapsedMicroseconds: (ContinuousClock.now - start).wholeMicroseconds)
      outcome.wire.isLeft = passed.isLeft
      outcome.isCutOff = passed.isLeft && !client.hasLeft()
      outcome.noteLoss(of: observed, isLost: passed.isLost)
      await recorder.end(turn, outcome)
      return passed.isWhole
    }

    /// - Parameter unread: why a request to a model could not be read; `nil` where it is none.
    private func forward(
      _ request: ProxyRequest, _ route: ProxyRoute, _ client: Client, unread: String? = nil
    ) async -> Bool {
      let digest = Digest(of: request.body).hex
      if let words = await recorder.refusal(ofForwarded: request.method, route.path) {
        await recorder.forwarded(refused(request, route, words))
        return (try? await client.refuse(.forbidden, words, isFinal: true)) != nil
      }
      let start = ContinuousClock.now
      let passed = await exchange(request, nil, route, client) {
        source?.reply(
          toForwarded: request.method, upstream: route.upstream.name, path: route.path,
          bodyDigest: digest)
      }
      let wire = passed.reply
      var record = WireRecord(
        upstream: route.upstream.name, method: request.method, path: route.path, reply: wire)
      record.isLeft = passed.isLeft
      if let wire, wire.body.count > WireReply.bodyLimitBytes / 2 {
        record.reply = nil
        record.omitted = "its body has \(wire.body.count) bytes"
      }
      await recorder.forwarded(
        RequestForwarded(
          method: request.method, path: route.path, bodyDigest: digest, status: wire?.status,
          error: passed.error,
          elapsedMicroseconds: (ContinuousClock.now - start).wholeMicroseconds,
          wire: record.encoded), unseen(request, route, passed, unread))
      return passed.isWhole
    }

    /// A request that is not passed on, with what is said in place of a reply.
    private func refused(
      _ request: ProxyRequest, _ route: ProxyRoute, _ words: String,
      _ observed: ObservedRequest? = nil, _ given: WireReply? = nil
    ) -> RequestForwarded {
      let record = WireRecord(
        upstream: route.upstream.name, method: request.method, path: route.path,
        dialect: observed?.dialect, streams: observed?.streams ?? false, model: observed?.model,
        reply: given ?? .refusal(403, words, isFinal: true))
      return RequestForwarded(
        method: request.method, path: route.path, bodyDigest: Digest(of: request.body).hex,
        error: words, wire: record.encoded)
    }

    /// What nobody can say of a request that was passed on; `nil` where all is plain.
    private func unseen(
      _ request: ProxyRequest, _ route: ProxyRoute, _ passed: Passed, _ unread: String?
    ) -> Unseen? {
      let channels: RecordedChannels = ["calls": "partial", "model": "partial"]
      // Nobody was refused what the provider may have taken.
      let isTaken = passed.isLost || passed.error == nil && passed.reply == nil
      let status = isTaken ? 200 : passed.reply?.status
      if let unread, let status, status < 400 {
        return Unseen(
          .request, channels,
          reason: "a request to \(route.plainPath) could not be read: \(unread)")
      }
      return ForwardedRequest.unknown(request.method, route.path, status: status).map {
        Unseen(.forwarded, channels, reason: $0)
      }
    }

    /// What came back for a request.
    private struct Passed {
      var reply: WireReply?
      /// Why nothing came.
      var error: String?
      /// Whether the connection may be used again.
      var isWhole: Bool
      /// The provider's own id of the request.
      var requestId: String?
      /// Whether whoever asked went away before anything came.
      var isLeft = false
      /// Whether the provider may have taken the request, though nothing of it came back.
      var isLost = false
    }

    private static let leftWords = "whoever asked went away before there was a reply"
    /// How long a client is waited for that waited in vain when it was recorded.
    private static let longestWaitSeconds = 3_600

    /// Hands over what is recorded, or what the provider says as it says it.
    ///
    /// - Parameters:
    ///   - observed: the request as one to a model; `nil` where it is none.
    ///   - willEnd: is told before whoever asked may have all of it.
    private func exchange(
      _ request: ProxyRequest, _ observed: ObservedRequest?, _ route: ProxyRoute, _ client: Client,
      willEnd: @escaping @Sendable () async -> Void = {}, recorded: () -> WireReply?
    ) async -> Passed {
      guard source != nil else { return await pass(request, observed, route, client, willEnd) }
      guard let reply = recorded() else {
        let words =
          "the recording holds no reply to this request (\(request.method) \(route.plainPath)); "
          + "agent-eval tells what differs when the command has ended"
        await willEnd()
        let isSent = (try? await client.refuse(.badRequest, words, isFinal: true)) != nil
        return Passed(error: words, isWhole: isSent)
      }
      do {
        if reply.status > 0 {
          try await client.begin(
            reply.status, reply.headers.map { HTTPHeader($0.name, $0.value) } + Self.haste(reply))
        }
        if reply.ending != .dropped { await willEnd() }
        for piece in reply.pieces { try await client.send(piece) }
        if reply.ending == .dropped {
          // Whoever asked waited until its time was over: it does so again, and ends this.
          try await Task.sleep(for: .seconds(Self.longestWaitSeconds))
        }
        // A reply that broke off then breaks off now.
        guard reply.ending == .whole else { return Passed(reply: reply, isWhole: false) }
        try await client.end()
        return Passed(reply: reply, isWhole: true)
      } catch {
        guard reply.status > 0 else {
          return Passed(error: Self.leftWords, isWhole: false, isLeft: true, isLost: true)
        }
        var reply = reply
        reply.ending = .dropped
        return Passed(reply: reply, isWhole: false)
      }
    }

    /// A client that was told to try again need not wait for a recording.
    private static func haste(_ reply: WireReply) -> [HTTPHeader] {
      reply.status == 429 || reply.status >= 500 ? [HTTPHeader("retry-after-ms", "1")] : []
    }

    private func pass(
      _ request: ProxyRequest, _ observed: ObservedRequest?, _ route: ProxyRoute, _ client: Client,
      _ willEnd: @escaping @Sendable () async -> Void
    ) async -> Passed {
      let kept = KeptReply(limitBytes: Self.keptLimitBytes)
      do {
        try await ask(request, route, observed, kept) { head, body in
          kept.begin(head)
          let size = head.headers["content-length"].flatMap { Int($0) }
          var isEnding = head.status >= 400 || size == 0
          var marks = StreamEndMarks()
          if isEnding { await willEnd() }
          try await Self.tellingClient { try await client.begin(head.status, head.headers) }
          while let piece = try await body.next() {
            kept.append(piece)
            // Clients go on when they have read the last event, and wait for no end of the body.
            if !isEnding, size.map({ kept.count >= $0 }) ?? marks.isEnding(with: piece) {
              isEnding = true
              await willEnd()
            }
            try await Self.tellingClient { try await client.send(piece) }
          }
          kept.end(.whole)
          if !isEnding { await willEnd() }
          try await Self.tellingClient { try await client.end() }
        }
        return Passed(reply: kept.reply, isWhole: true, requestId: kept.requestId)
      } catch let failure as HTTPFailure where failure.kind != .cancelled {
        kept.end(.cut)
        guard kept.hasBegun else {
          let words = "\(route.upstream.url): \(failure)"
          await willEnd()
          let isSent = (try? await client.refuse(.badGateway, words)) != nil
          return Passed(
            reply: .refusal(502, words), isWhole: isSent, isLost: failure.mayHaveArrived)
        }
        return Passed(reply: kept.reply, isWhole: false, requestId: kept.requestId)
      } catch {
        kept.end(.dropped)
        return Passed(
          reply: kept.reply, error: kept.hasBegun ? nil : Self.leftWords, isWhole: false,
          requestId: kept.requestId, isLeft: !kept.hasBegun, isLost: !kept.hasBegun)
      }
    }

    private struct Gone: Error {}

    /// Failures of the client's side are not the provider's.
    private static func tellingClient(_ work: () async throws -> Void) async throws {
      do { try await work() } catch { throw Gone() }
    }
  }

  /// The side of a connection that is answered.
  struct Client: Sendable {
    let outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
    let head: HTTPRequestHead
    /// Whether whoever asked has closed the connection.
    var hasLeft: @Sendable () -> Bool = { false }

    func begin(_ status: Int, _ headers: [HTTPHeader]) async throws {
      var fields = HTTPHeaders()
      for header in headers
      where ProxyRoute.isPassedOn(header) || header.name.lowercased() == "content-length" {
        fields.add(name: header.name, value: header.value)
      }
      // Nothing follows, and no chunks shall say so.
      if head.method == .HEAD, !fields.contains(name: "content-length") {
        fields.add(name: "content-length", value: "0")
      }
      if !head.isKeepAlive { fields.add(name: "connection", value: "close") }
      try await outbound.write(
        .head(
          HTTPResponseHead(
            version: head.version, status: .init(statusCode: status), headers: fields)))
    }

    func send(_ piece: [UInt8]) async throws {
      guard !piece.isEmpty, head.method != .HEAD else { return }
      try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: piece))))
    }

    func end() async throws { try await outbound.write(.end(nil)) }

    /// Answers with an error of the proxy's own.
    func refuse(
      _ status: HTTPResponseStatus, _ words: String, isFinal: Bool = false
    ) async throws {
      let reply = WireReply.refusal(Int(status.code), words, isFinal: isFinal)
      try await begin(
        reply.status,
        reply.headers.map { HTTPHeader($0.name, $0.value) }
          + [HTTPHeader("content-length", "\(reply.body.count)")])
      try await send(reply.body)
      try await end()
    }
  }

  /// What came back so far.
  final class KeptReply: Sendable {
    private struct State {
      var head: HTTPHead?
      var pieces: [[UInt8]] = []
      var count = 0
      var ending = WireReply.Completeness.cut
    }

    private let state = Mutex(State())
    private let limitBytes: Int

    init(limitBytes: Int) { self.limitBytes = limitBytes }

    func begin(_ head: HTTPHead) { state.withLock { $0.head = head } }

    func append(_ piece: [UInt8]) {
      state.withLock { state in
        state.count += piece.count
        if state.count <= limitBytes { state.pieces.append(piece) }
      }
    }

    /// The first ending counts: what fails behind the last byte has lost nothing.
    func end(_ ending: WireReply.Completeness) {
      state.withLock { if $0.ending != .whole { $0.ending = ending } }
    }

    /// What the provider calls the request.
    var requestId: String? { state.withLock { $0.head?.requestID } }

    /// How many bytes came in.
    var count: Int { state.withLock { $0.count } }

    var hasBegun: Bool { state.withLock { $0.head != nil } }

    /// `nil` where nothing came, or more than is kept.
    var reply: WireReply? {
      state.withLock { state in
        guard let head = state.head, state.count <= limitBytes else { return nil }
        return WireReply(
          status: head.status,
          headers: head.headers.filter { WireReply.isKept(header: $0.name) }
            .map { ($0.name.lowercased(), $0.value) },
          pieces: state.pieces, ending: state.ending)
      }
    }
  }
#endif
