#if Live
  import NIOCore
  import NIOHTTP1
  import NIOPosix

  /// Connections of a server of HTTP/1.1.
  ///
  /// What is accepted stands by until somebody takes it in hand. NIO ends the process over a connection that was made ready
  /// and that nobody came to, as where a server ends at the moment in which one comes in.
  ///
  /// A client that has asked may close the half of the connection that it sends by, and wait for its reply by the other.
  enum ServedConnection {
    /// One that is read from.
    typealias Ready = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    /// A server as each of ours is, which is yet to be told where to listen.
    static var listener: ServerBootstrap {
      ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.backlog, value: 256)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelOption(.autoRead, value: false)
        .childChannelOption(.allowRemoteHalfClosure, value: true)
    }

    /// Serves while some work goes on. When that ends, connections are closed.
    ///
    /// - Parameters:
    ///   - handle: is given each connection, and the port.
    ///   - work: is given the port.
    ///   - finish: what is waited for between the end of the work and that of the connections.
    static func serve<Result: Sendable>(
      _ server: NIOAsyncChannel<any Channel, Never>,
      handle: @escaping @Sendable (_ channel: any Channel, _ port: Int) async -> Void,
      while work: @escaping @Sendable (_ port: Int) async throws -> Result,
      finish: () async -> Void = {}
    ) async throws -> Result {
      let port = server.channel.localAddress?.port ?? 0
      return try await server.executeThenClose { connections in
        try await withThrowingTaskGroup(of: Result?.self) { group in
          group.addTask { try await work(port) }
          group.addTask {
            try await withThrowingDiscardingTaskGroup { group in
              for try await connection in connections {
                group.addTask { await handle(connection, port) }
              }
            }
            return nil
          }
          defer { group.cancelAll() }
          while let result = try await group.next() {
            guard let result else { continue }
            await finish()
            return result
          }
          throw CancellationError()
        }
      }
    }

    /// What is done with a channel as it is accepted, by a server whose channels do not read by themselves (`autoRead`) and
    /// may be closed by half (`allowRemoteHalfClosure`).
    static func accept(_ channel: any Channel) -> EventLoopFuture<any Channel> {
      channel.eventLoop.makeCompletedFuture {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
        try pipeline.addHandler(EarlyParts())
        return channel
      }
    }

    /// Makes one ready. The caller sees it through, with `executeThenClose`.
    ///
    /// - Parameter isEnded: Is called once the other side will send nothing more; it may be gone, or wait.
    /// - Throws: where the other side has left.
    static func open(
      _ channel: any Channel, isEnded: @escaping @Sendable () -> Void = {}
    ) async throws -> Ready {
      try await channel.eventLoop.submit {
        guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
        let pipeline = channel.pipeline.syncOperations
        let connection = try Ready(wrappingChannelSynchronously: channel)
        try pipeline.handler(type: EarlyParts.self).handOn(isEnded)
        _ = channel.setOption(.autoRead, value: true)
        return connection
      }.get()
    }
  }

  /// Keeps what comes in before anybody is there to take it: NIO reads all that a client has sent once that is at its end,
  /// asked to or not.
  private final class EarlyParts: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private var context: ChannelHandlerContext?
    private var parts: [HTTPServerRequestPart] = []
    private var isAtEnd = false
    /// `nil` while nobody takes anything.
    private var isEnded: (@Sendable () -> Void)?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard isEnded == nil else { return context.fireChannelRead(data) }
      parts.append(Self.unwrapInboundIn(data))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      guard event as? ChannelEvent == .inputClosed else {
        return context.fireUserInboundEventTriggered(event)
      }
      isAtEnd = true
      if isEnded != nil { tellEnd(context) }
    }

    /// Hands on what was kept, and from now on what comes.
    func handOn(_ isEnded: @escaping @Sendable () -> Void) {
      guard let context else { return }
      self.isEnded = isEnded
      for part in parts { context.fireChannelRead(Self.wrapInboundOut(part)) }
      parts = []
      context.fireChannelReadComplete()
      if isAtEnd { tellEnd(context) }
    }

    private func tellEnd(_ context: ChannelHandlerContext) {
      isEnded?()
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }
  }
#endif
