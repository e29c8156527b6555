#if Live
  import NIOCore
  import NIOHTTP1

  /// Connections of a server of HTTP/1.1.
  ///
  /// What is accepted stands by unread until somebody takes it in hand. NIO ends the process over a connection that was
  /// made ready and that nobody came to, as where a server ends at the moment in which one comes in.
  enum ServedConnection {
    /// One that is read from.
    typealias Ready = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    /// What is done with a channel as it is accepted, by a server whose channels do not read by themselves (`autoRead`).
    static func accept(_ channel: any Channel) -> EventLoopFuture<any Channel> {
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
          withPipeliningAssistance: false)
        return channel
      }
    }

    /// Makes one ready. The caller sees it through, with `executeThenClose`.
    ///
    /// - Throws: where the other side has left.
    static func open(_ channel: any Channel) async throws -> Ready {
      try await channel.eventLoop.submit {
        guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
        let connection = try Ready(wrappingChannelSynchronously: channel)
        _ = channel.setOption(.autoRead, value: true)
        return connection
      }.get()
    }
  }
#endif
