/// What a server does with requests, each of which it reads whole.
public struct HTTPServing: Sendable {
  /// A request as it came in.
  public struct Request: Sendable {
    /// For example `POST`.
    public var method: String
    /// The path with its query.
    public var target: String
    /// In the order in which they came in.
    public var headers: [HTTPHeader]
    /// Empty while only the head is there.
    public var body: [UInt8] = []
  }

  /// What it is answered with.
  public struct Answer: Sendable {
    /// For example 200.
    public var status: Int
    /// Besides the length of the body, which is added.
    public var headers: [HTTPHeader]
    /// The whole body.
    public var body: [UInt8]

    /// The body is sent as it is.
    public init(status: Int, headers: [HTTPHeader], body: [UInt8]) {
      self.status = status
      self.headers = headers
      self.body = body
    }
  }

  /// Why a server itself refuses a request.
  public enum Refusal: Sendable {
    /// Its body is larger than the limit.
    case tooLarge
    /// The bodies of all requests together are.
    case busy
    /// There are as many connections as may be.
    case tooManyConnections
  }

  /// What one server may take.
  public struct Limits: Sendable {
    /// Connections at a time.
    public var connections = 256
    /// Bytes of a body as it is sent.
    public var bodyBytes = 32 << 20
    /// Bytes of all bodies that are being read or answered.
    public var heldBytes = 128 << 20
    /// Seconds that a connection may stand without a request, or a head take.
    public var headSeconds = 60.0
    /// Seconds that a body may take.
    public var bodySeconds = 60.0

    /// The defaults.
    public init() {}
  }

  /// What is taken.
  public var limits = Limits()
  /// Answers a request by its head alone; `nil` to read its body.
  public var refusal: @Sendable (Request) -> Answer?
  /// Answers a request.
  public var answer: @Sendable (Request) async -> Answer
  /// The answer for a request that the server itself refuses.
  public var refused: @Sendable (Request, Refusal) -> Answer

  /// With the limits that ``Limits`` has by default.
  public init(
    refusal: @escaping @Sendable (Request) -> Answer?,
    answer: @escaping @Sendable (Request) async -> Answer,
    refused: @escaping @Sendable (Request, Refusal) -> Answer
  ) {
    self.refusal = refusal
    self.answer = answer
    self.refused = refused
  }
}

#if Live
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import Synchronization

  /// A server of whole requests over HTTP/1.1.
  public struct HTTPServer: Sendable {
    private let serving: HTTPServing
    private let load = ServerLoad()

    /// Listens to nothing before ``serve(host:port:while:)``.
    public init(_ serving: HTTPServing) { self.serving = serving }

    private typealias Connection = ServedConnection.Ready

    /// Serves while some work goes on. When that ends, requests that are being answered are finished first.
    ///
    /// - Parameters:
    ///   - host: The address that is listened at.
    ///   - port: 0 for one that the system picks.
    ///   - work: is given the port.
    /// - Throws: what `work` throws, and why the address cannot be listened at.
    public func serve<Result: Sendable>(
      host: String, port: Int, while work: @escaping @Sendable (_ port: Int) async throws -> Result
    ) async throws -> Result {
      let server = try await HTTPFault.listening {
        try await ServedConnection.listener
          .bind(host: host, port: port) { ServedConnection.accept($0) }
      }
      return try await ServedConnection.serve(
        server, handle: { channel, _ in await handle(channel) }, while: work,
        finish: { await load.finish() })
    }

    /// One request after the other; what breaks a connection is nobody else's concern.
    private func handle(_ channel: any Channel) async {
      let isWelcome = load.enter(limit: serving.limits.connections)
      defer { load.leave() }
      guard let connection = try? await ServedConnection.open(channel) else { return }
      try? await connection.executeThenClose { inbound, outbound in
        guard isWelcome else {
          let request = HTTPServing.Request(method: "", target: "", headers: [])
          return try await send(
            serving.refused(request, .tooManyConnections), outbound, version: .http1_1,
            closes: true)
        }
        var parts = inbound.makeAsyncIterator()
        while true {
          let patience = deadline(serving.limits.headSeconds, connection)
          let next = try await parts.next(isolation: #isolation)
          patience.cancel()
          guard case .head(let head)? = next,
            try await serve(head, &parts, outbound, connection)
          else { return }
        }
      }
    }

    private func deadline(_ seconds: Double, _ connection: Connection) -> Scheduled<Void> {
      let channel = connection.channel
      return channel.eventLoop.scheduleTask(in: .milliseconds(Int64(seconds * 1_000))) {
        channel.close(promise: nil)
      }
    }

    /// Reads and answers one request; says whether the connection may be used again.
    private func serve(
      _ head: HTTPRequestHead,
      _ parts: inout NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator,
      _ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>, _ connection: Connection
    ) async throws -> Bool {
      var request = HTTPServing.Request(
        method: head.method.rawValue, target: head.uri,
        headers: head.headers.map { HTTPHeader($0.name, $0.value) })
      let waits = request.headers["expect"]?.lowercased() == "100-continue"
      let told = request.headers["content-length"].flatMap { Int($0) } ?? 0
      let refusal =
        serving.refusal(request)
        ?? (told > serving.limits.bodyBytes ? serving.refused(request, .tooLarge) : nil)
      if let refusal {
        try await send(refusal, outbound, version: head.version, closes: true)
        // Who waits for leave has sent nothing.
        if !waits { try await letBodyPass(&parts, connection) }
        return false
      }
      if waits {
        try await outbound.write(.head(HTTPResponseHead(version: head.version, status: .continue)))
      }
      var held = 0
      defer { load.give(back: held) }
      let patience = deadline(serving.limits.bodySeconds, connection)
      defer { patience.cancel() }
      reading: while let part = try await parts.next(isolation: #isolation) {
        switch part {
        case .body(let buffer):
          held += buffer.readableBytes
          let fits = load.take(buffer.readableBytes, limit: serving.limits.heldBytes)
          guard fits, held <= serving.limits.bodyBytes else {
            let refusal = serving.refused(
              request, held > serving.limits.bodyBytes ? .tooLarge : .busy)
            load.give(back: held)
            (held, request.body) = (0, [])
            try await send(refusal, outbound, version: head.version, closes: true)
            try await letBodyPass(&parts, connection)
            return false
          }
          request.body.append(contentsOf: buffer.readableBytesView)
        case .end:
          patience.cancel()
          load.begin()
          defer { load.end() }
          let answer = await serving.answer(request)
          let closes = !head.isKeepAlive || load.isClosing
          try await send(answer, outbound, version: head.version, closes: closes)
          return !closes
        case .head: return false
        }
      }
      return false
    }

    /// Reads what is left of a body that was refused, within limits, and keeps none of it: were the connection closed
    /// while its sender is at work, it would be reset, and the answer lost.
    private func letBodyPass(
      _ parts: inout NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator,
      _ connection: Connection
    ) async throws {
      let patience = deadline(serving.limits.bodySeconds, connection)
      defer { patience.cancel() }
      var room = 2 * serving.limits.bodyBytes
      while room >= 0, case .body(let buffer)? = try await parts.next(isolation: #isolation) {
        room -= buffer.readableBytes
      }
    }

    private func send(
      _ answer: HTTPServing.Answer,
      _ outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>, version: HTTPVersion,
      closes: Bool
    ) async throws {
      var fields = HTTPHeaders()
      for header in answer.headers { fields.add(name: header.name, value: header.value) }
      fields.add(name: "content-length", value: String(answer.body.count))
      if closes { fields.add(name: "connection", value: "close") }
      try await outbound.write(
        .head(
          HTTPResponseHead(
            version: version, status: .init(statusCode: answer.status), headers: fields)))
      if !answer.body.isEmpty {
        try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: answer.body))))
      }
      try await outbound.write(.end(nil))
    }
  }

  /// What a server has in hand.
  private final class ServerLoad: Sendable {
    private struct State {
      var connections = 0
      var heldBytes = 0
      var answering = 0
      var isClosing = false
    }

    private let state = Mutex(State())

    var isClosing: Bool { state.withLock { $0.isClosing } }

    func enter(limit: Int) -> Bool {
      state.withLock { state in
        state.connections += 1
        return state.connections <= limit
      }
    }

    func leave() { state.withLock { $0.connections -= 1 } }

    /// Counts bytes that are held; whether they are within the limit.
    func take(_ bytes: Int, limit: Int) -> Bool {
      state.withLock { state in
        state.heldBytes += bytes
        return state.heldBytes <= limit
      }
    }

    func give(back bytes: Int) { state.withLock { $0.heldBytes -= bytes } }

    func begin() { state.withLock { $0.answering += 1 } }

    func end() { state.withLock { $0.answering -= 1 } }

    /// Waits until everything that was read is answered; not for ever.
    func finish() async {
      state.withLock { $0.isClosing = true }
      for _ in 0..<1_000 where state.withLock({ $0.answering > 0 }) {
        try? await Task.sleep(for: .milliseconds(10))
      }
    }
  }
#endif
