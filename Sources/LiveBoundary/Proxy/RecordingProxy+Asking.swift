#if Live
  import AgentRuntime
  import AgentTrace

  /// How a provider is asked.
  extension RecordingProxy {
    /// The longest that a request has been on its way when it is lost to a connection that was closed already.
    private static let longestLossSeconds = 1.0

    /// Asks a provider; once more where the connection was lost at once, with nothing come back, to an address to which one
    /// may have been kept, and asking again does nothing more.
    ///
    /// Servers close connections that nobody uses when they like, and a request may be on its way to them just then. Whoever
    /// asks by way of the proxy kept none, and would meet a fault that it meets nowhere else.
    ///
    /// - Parameter observed: the request as one to a model; `nil` where it is none.
    func ask<Result: Sendable>(
      _ request: ProxyRequest, _ route: ProxyRoute, _ observed: ObservedRequest?, _ kept: KeptReply,
      read: @escaping @Sendable (HTTPHead, inout HTTPBody) async throws -> Result
    ) async throws -> Result {
      let call = route.call(request)
      let connector = HTTPConnector.shared
      let mayAskAgain =
        connector.mayHaveKept(aConnectionFor: call)
        && (observed?.changesNothing ?? ["GET", "HEAD", "OPTIONS"].contains(request.method))
      let start = ContinuousClock.now
      do {
        return try await connector.perform(call, read: read)
      } catch let failure as HTTPFailure
        where failure.kind == .connectionLost && mayAskAgain && !kept.hasBegun
        && .now - start < .seconds(Self.longestLossSeconds)
      {
        return try await connector.perform(route.call(request), read: read)
      }
    }
  }

  extension ExchangeRecorder.Outcome {
    /// Takes in that a provider was asked and that no reply can be read: tools of its own may have run all the same.
    ///
    /// - Parameter isLost: whether the provider may have taken the request, though nothing of it came back.
    mutating func noteLoss(of request: ObservedRequest, isLost: Bool) {
      let isAccepted = wire.reply.map { (200..<300).contains($0.status) } ?? false
      guard reply == nil, unread == nil, isLost || isAccepted, !request.changesNothing else {
        return
      }
      unread = "no reply came to a request for which the provider may have run tools of its own"
    }
  }

  extension ObservedRequest {
    /// Whether nothing is done where a provider takes it in but that a model replies: no tool is the provider's to run, no
    /// conversation of the provider grows, and nothing goes on behind the reply.
    var changesNothing: Bool {
      tools.allSatisfy { $0["inputSchema"] != nil }
        && !["background", "conversation", "mcp_servers"].contains { parameters[$0] != nil }
    }
  }
#endif
