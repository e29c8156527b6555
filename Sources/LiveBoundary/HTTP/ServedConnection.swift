#if Live
  import NIOCore
  import NIOHTTP1

  /// Connections of a server of HTTP/1.1.
  ///
  /// What is accepted stands by until somebody takes it in hand. NIO ends the process over a connection that was made ready
  /// and that nobody came to, as where a server ends at the moment in which one comes in.
  ///
  /// A client that has asked may close the half of the connection that it sends by, and wait for its reply by the other.
  enum ServedConnection {
    /// One that is read from.
    typealias Ready = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

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
