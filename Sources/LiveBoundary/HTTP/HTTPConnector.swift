#if Live
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1
  import NIOHTTPCompression
  import NIOSSL
  import Synchronization

  /// Makes requests over HTTP/1.1 and HTTP/2. One for the whole process: connections are used again.
  public final class HTTPConnector: Sendable {
    /// The process's own.
    public static let shared = HTTPConnector()

    /// What tells two clients apart: the rest is said with each request.
    private struct Settings: Hashable {
      var connectMilliseconds: Int64
      var decodesBody: Bool
      var address: String?
      var host: String?
      var proxy: HTTPSurroundings.Proxy?
      /// What is trusted in place of the system's authorities, and besides them.
      var authorities: [String] = []
      var ownAuthority: String?
    }

    private let clients = Mutex<[Settings: HTTPClient]>([:])
    /// When each place replied last.
    let replied = Mutex<[String: ContinuousClock.Instant]>([:])
    /// How large a decoded body may become, whatever its reader takes.
    private static let decodedLimitBytes = 64 << 20

    private init() {}

    /// Makes a request and hands its reply over as it comes in.
    ///
    /// When `read` returns or throws, when a time is over, and when the task is cancelled, what is left of
    /// the reply is not waited for and its connection is closed.
    ///
    /// - Parameters:
    ///   - call: What is asked of whom, and how long each part of it may take.
    ///   - read: is given the head, and asks for the body piece by piece. While it works, no
    ///     timeout but `total` runs, and the other side is not read on.
    /// - Throws: `HTTPFailure`, or what `read` throws.
    public func perform<Result: Sendable>(
      _ call: HTTPCall,
      read: @escaping @Sendable (HTTPHead, inout HTTPBody) async throws -> Result
    ) async throws -> Result {
      let watch = HTTPWatch(call.timeouts)
      return try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await self.exchange(call, watch, read) }
        group.addTask {
          try await watch.run()
          return nil
        }
        defer { group.cancelAll() }
        while let result = try await group.next() {
          if let result { return result }
        }
        throw HTTPFailure(.cancelled, "cancelled")
      }
    }

    private func exchange<Result: Sendable>(
      _ call: HTTPCall, _ watch: HTTPWatch,
      _ read: @Sendable (HTTPHead, inout HTTPBody) async throws -> Result
    ) async throws -> Result {
      let (client, isOwn) = try client(for: call)
      let outcome: Swift.Result<Result, any Error>
      do {
        let response = try await HTTPFault.named {
          try await client.execute(try Self.request(call), deadline: .distantFuture)
        }
        let head = HTTPHead(
          status: Int(response.status.code),
          headers: response.headers.map { HTTPHeader($0.name, $0.value) })
        watch.enter(.reading)
        var body = HTTPBody(response.body.makeAsyncIterator(), watch)
        outcome = .success(try await read(head, &body))
        if !isOwn { note(aReplyTo: call) }
      } catch {
        outcome = .failure(error)
      }
      if isOwn { try? await client.shutdown() }
      // Whoever cancelled is told so; a time that is over is told by the watch.
      if case .failure = outcome, Task.isCancelled {
        throw watch.failure ?? HTTPFailure(.cancelled, "cancelled")
      }
      return try outcome.get()
    }

    private static func request(_ call: HTTPCall) throws -> HTTPClientRequest {
      var request = HTTPClientRequest(url: call.url)
      request.method = HTTPMethod(rawValue: call.method)
      for header in call.headers { request.headers.add(name: header.name, value: header.value) }
      if let body = call.body { request.body = .bytes(body) }
      return request
    }

    private func client(for call: HTTPCall) throws -> (HTTPClient, isOwn: Bool) {
      let connect = Int64(min(max(call.timeouts.connect, 0.001), 86_400) * 1_000)
      var settings = Settings(connectMilliseconds: connect, decodesBody: call.decodesBody)
      try Self.look(around: .ofThisProcess, call, &settings)
      guard let address = call.address else {
        return try clients.withLock { clients in
          if let client = clients[settings] { return (client, false) }
          let client = try Self.makeClient(settings)
          clients[settings] = client
          return (client, false)
        }
      }
      guard let host = HTTPAddress(call.url)?.host else {
        throw HTTPFailure(.invalidCall, "the URL names no host")
      }
      settings.address = address
      settings.host = host
      return (try Self.makeClient(settings), true)
    }

    /// By which proxy, and whose certificates count. What leads to one address alone goes there by itself.
    private static func look(
      around surroundings: HTTPSurroundings, _ call: HTTPCall, _ settings: inout Settings
    ) throws {
      guard let address = HTTPAddress(call.url) else { return }
      if call.address == nil {
        do { settings.proxy = try surroundings.proxy(for: address) } catch {
          throw HTTPFailure(.invalidCall, error.description)
        }
      }
      guard address.scheme == "https" else { return }
      settings.authorities = [surroundings.authorityFile, surroundings.authorityFolder].compactMap {
        $0
      }
      settings.ownAuthority = call.authorityFile
    }

    /// What is trusted; `nil` for what the system trusts.
    private static func encryption(_ settings: Settings) throws -> TLSConfiguration? {
      guard !settings.authorities.isEmpty || settings.ownAuthority != nil else { return nil }
      var configuration = TLSConfiguration.makeClientConfiguration()
      if !settings.authorities.isEmpty {
        configuration.trustRoots = .certificates(
          try settings.authorities.flatMap(HTTPAuthorities.certificates(at:)))
      }
      if let file = settings.ownAuthority {
        configuration.additionalTrustRoots = [
          .certificates(try HTTPAuthorities.certificates(at: file))
        ]
      }
      return configuration
    }

    private static func makeClient(_ settings: Settings) throws -> HTTPClient {
      var configuration = HTTPClient.Configuration()
      configuration.redirectConfiguration = .disallow
      configuration.tlsConfiguration = try encryption(settings)
      if let proxy = settings.proxy {
        configuration.proxy = .server(
          host: proxy.host, port: proxy.port,
          authorization: proxy.credentials.map { credentials in
            let colon = credentials.firstIndex(of: ":") ?? credentials.endIndex
            return .basic(
              username: String(credentials[..<colon]),
              password: String(credentials[colon...].dropFirst()))
          })
      }
      configuration.timeout = .init(connect: .milliseconds(settings.connectMilliseconds))
      // Whether to try again is for the caller to say, who records each try.
      configuration.connectionPool.retryConnectionEstablishment = false
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
      configuration.decompression =
        settings.decodesBody ? .enabled(limit: .size(decodedLimitBytes)) : .disabled
      if let host = settings.host, let address = settings.address {
        configuration.dnsOverride = [host: address]
      }
      return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }
  }

  /// The body of a reply, piece by piece.
  public struct HTTPBody {
    private var pieces: HTTPClientResponse.Body.AsyncIterator
    private let watch: HTTPWatch

    init(_ pieces: HTTPClientResponse.Body.AsyncIterator, _ watch: HTTPWatch) {
      self.pieces = pieces
      self.watch = watch
    }

    /// The next piece; `nil` behind the last.
    ///
    /// - Throws: `HTTPFailure` where the body breaks off.
    public mutating func next() async throws -> [UInt8]? {
      watch.enter(.idle)
      defer { watch.enter(.reading) }
      do {
        return try await pieces.next(isolation: #isolation).map { Array($0.readableBytesView) }
      } catch {
        throw HTTPFault.failure(error)
      }
    }

    /// Reads on to the end, for a second at most, and drops what comes: a connection whose reply was read
    /// to its end can be used again. Whatever goes wrong says nothing any more.
    public mutating func finish() async {
      watch.enter(.closing)
      for _ in 0..<16 {
        guard (try? await pieces.next(isolation: #isolation)) != nil else { break }
      }
      watch.enter(.reading)
    }

    /// What is left of the body.
    ///
    /// - Throws: `HTTPFailure`: ``HTTPFailure/Kind/tooLarge`` where it is longer than `limitBytes`.
    public mutating func rest(limitBytes: Int) async throws -> [UInt8] {
      var all: [UInt8] = []
      while let piece = try await next() {
        guard all.count + piece.count <= limitBytes else {
          throw HTTPFailure(.tooLarge, "the reply is longer than \(limitBytes) bytes")
        }
        all += piece
      }
      return all
    }
  }

  /// Ends a request whose time is over.
  final class HTTPWatch: Sendable {
    enum Phase {
      /// The request is made; its head has not come.
      case head
      /// The next piece of the body is waited for.
      case idle
      /// The reader works.
      case reading
      /// The end of the body is waited for, though nothing in it is needed any more.
      case closing
    }

    private struct State {
      var phase = Phase.head
      var since: ContinuousClock.Instant
      var failure: HTTPFailure?
    }

    private let timeouts: HTTPTimeouts
    private let start: ContinuousClock.Instant
    private let state: Mutex<State>

    init(_ timeouts: HTTPTimeouts) {
      self.timeouts = timeouts
      start = .now
      state = Mutex(State(since: start))
    }

    var failure: HTTPFailure? { state.withLock(\.failure) }

    func enter(_ phase: Phase) {
      state.withLock {
        $0.phase = phase
        $0.since = .now
      }
    }

    /// Returns when cancelled.
    ///
    /// - Throws: `HTTPFailure` when a time is over.
    func run() async throws {
      // Never longer than the shortest time: a phase that begins meanwhile ends after this wakes.
      let longest = Self.duration(
        min(timeouts.firstByte, timeouts.idle, timeouts.total, Self.closingSeconds))
      while !Task.isCancelled {
        let (end, failure) = state.withLock { limit(in: $0) }
        let left = end - .now
        if left <= .zero {
          state.withLock { $0.failure = failure }
          throw failure
        }
        try? await Task.sleep(for: min(left, longest), tolerance: .zero)
      }
    }

    private func limit(in state: State) -> (ContinuousClock.Instant, HTTPFailure) {
      let total = start + Self.duration(timeouts.total)
      let words =
        timeouts.isTotalLeftOver
        ? "not ended in the time that was left"
        : "not ended after \(Self.text(timeouts.total)) seconds"
      let late = HTTPFailure(.totalTimeout, words)
      switch state.phase {
      case .reading: return (total, late)
      case .closing:
        let words = "not ended, though nothing more was needed"
        return (
          state.since + Self.duration(Self.closingSeconds), HTTPFailure(.idleTimeout, words)
        )
      case .head:
        let end = start + Self.duration(timeouts.firstByte)
        let words = "no reply within \(Self.text(timeouts.firstByte)) seconds"
        return end < total ? (end, HTTPFailure(.firstByteTimeout, words)) : (total, late)
      case .idle:
        let end = state.since + Self.duration(timeouts.idle)
        let words = "nothing came for \(Self.text(timeouts.idle)) seconds"
        return end < total ? (end, HTTPFailure(.idleTimeout, words)) : (total, late)
      }
    }

    private static let closingSeconds = 1.0

    /// Bounded, so that no file's number can overflow it.
    private static func duration(_ seconds: Double) -> Duration {
      .milliseconds(Int64(min(max(seconds, 0.001), 1e8) * 1_000))
    }

    private static func text(_ seconds: Double) -> String {
      let isWhole = seconds == seconds.rounded() && abs(seconds) < 1e9
      return isWhole ? String(Int(seconds)) : String(seconds)
    }
  }
#endif
