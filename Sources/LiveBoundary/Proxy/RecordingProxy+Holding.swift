#if Live
  import AgentRuntime
  import AgentTrace
  import NIOHTTP1
  import Synchronization

  /// Replies that wait until each of their calls has its verdict.
  extension RecordingProxy {
    /// What came back for a request that is held.
    private struct Fetched {
      var head: HTTPHead?
      /// `nil` where nothing came, or more than is kept.
      var reply: WireReply?
      /// Why nothing came.
      var error: String?
      /// Whether nothing came because nobody waited for it any more, or the recording ended.
      var isCancelled = false
      /// Whether the provider may have taken the request, though nothing of it came back.
      var isLost = false
      /// The provider's own id of the request.
      var requestId: String?
    }

    /// Asks the provider, has the reply judged, and hands on what is left of it; says whether the connection
    /// may be used again.
    func hold(
      _ request: ProxyRequest, _ observed: ObservedRequest, _ dialect: Dialect,
      _ route: ProxyRoute, _ turn: Conversations.Turn, _ client: Client
    ) async -> Bool {
      let start = ContinuousClock.now
      let fetched = await fetch(request, observed, route)
      var outcome = ExchangeRecorder.Outcome(
        fetched.reply, error: fetched.error, dialect,
        wire: WireRecord(
          upstream: route.upstream.name, method: request.method, path: route.path,
          dialect: dialect.rawValue, streams: observed.streams, parameters: observed.parameters,
          model: observed.model),
        requestId: fetched.requestId,
        elapsedMicroseconds: (ContinuousClock.now - start).wholeMicroseconds)
      outcome.isCutOff = fetched.isCancelled && !client.hasLeft()
      outcome.noteLoss(of: observed, isLost: fetched.isLost)
      if let error = fetched.error { outcome.wire.reply = .refusal(502, error) }
      let held = await recorder.end(turn, outcome)
      let isSent: Void? =
        if let head = fetched.head, let wire = fetched.reply {
          try? await hand(on: wire, head, held, dialect, client)
        } else {
          try? await client.refuse(
            .badGateway, fetched.error ?? "the reply is too large to be judged by the policy")
        }
      return isSent != nil
    }

    private func hand(
      on wire: WireReply, _ head: HTTPHead, _ held: ExchangeRecorder.HeldReply?,
      _ dialect: Dialect, _ client: Client
    ) async throws {
      if let words = await recorder.lossWords {
        return try await client.refuse(.forbidden, words, isFinal: true)
      }
      // An error is handed on where it plainly holds no call.
      guard await recorder.holdsReplies,
        wire.status < 400 || ReadReply(wire, dialect).unread != nil
      else { return try await send(wire, head.headers, client) }
      // Whoever follows a redirect would not come by here again.
      guard (200..<300).contains(wire.status) || wire.status >= 400 else {
        return try await client.refuse(
          .forbidden, "a policy is in force, and redirects lead around it", isFinal: true)
      }
      let handing = await recorder.judge(held, wire, dialect)
      // A verdict that stands in no log lets nothing run.
      if let words = await recorder.lossWords {
        return try await client.refuse(.forbidden, words, isFinal: true)
      }
      switch handing {
      case .whole: return try await send(wire, head.headers, client)
      case .edited(let edited):
        // It goes on as it was before it was compressed.
        let headers = head.headers.filter {
          !["content-length", "content-encoding"].contains($0.name.lowercased())
        }
        return try await send(edited, headers, client)
      case .refused(let words):
        return try await client.refuse(.forbidden, words, isFinal: true)
      case .failed(let words): return try await client.refuse(.badGateway, words)
      }
    }

    func send(_ wire: WireReply, _ headers: [HTTPHeader], _ client: Client) async throws {
      try await client.begin(wire.status, headers)
      for piece in wire.pieces { try await client.send(piece) }
      // What broke off breaks off here too.
      guard wire.ending == .whole else { throw CancellationError() }
      try await client.end()
    }

    private func fetch(
      _ request: ProxyRequest, _ observed: ObservedRequest, _ route: ProxyRoute
    ) async -> Fetched {
      let kept = KeptReply(limitBytes: Self.keptLimitBytes)
      let head = Mutex<HTTPHead?>(nil)
      do {
        try await ask(request, route, observed, kept) { found, body in
          head.withLock { $0 = found }
          kept.begin(found)
          while let piece = try await body.next() { kept.append(piece) }
          kept.end(.whole)
        }
      } catch let failure as HTTPFailure where failure.kind != .cancelled {
        kept.end(.cut)
        if !kept.hasBegun {
          return Fetched(
            error: "\(route.upstream.url): \(failure)", isLost: failure.mayHaveArrived)
        }
      } catch {
        kept.end(.dropped)
        if !kept.hasBegun {
          return Fetched(
            error: "whoever asked went away before there was a reply", isCancelled: true,
            isLost: true)
        }
      }
      return Fetched(
        head: head.withLock { $0 }, reply: kept.reply, requestId: kept.requestId)
    }
  }
#endif
